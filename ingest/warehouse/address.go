package warehouse

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Address says where a warehouse is. It never holds a user or a password.
type Address struct {
	Hosts    []string // host:port of the native protocol; the first that answers is used
	Database string
	Secure   bool // TLS
}

// Ports of the native protocol.
const (
	plainPort  = "9000"
	securePort = "9440"
)

// ParseAddress reads clickhouse://host:port,host:port/database?secure=true. TLS is on unless every host is a loopback
// address or secure=false says otherwise; the port is 9440 with TLS and else 9000.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil { // whose text would repeat what stands where a password may
		return Address{}, errors.New("not an address like clickhouse://host:9000/database")
	}
	switch {
	case u.Scheme != "clickhouse":
		return Address{}, fmt.Errorf("scheme %q: must be clickhouse://", u.Scheme)
	case u.User != nil:
		return Address{}, errors.New("holds a user or a password, which belong into the environment")
	case u.Host == "":
		return Address{}, errors.New("names no host")
	case u.Fragment != "" || strings.Contains(strings.Trim(u.Path, "/"), "/"):
		return Address{}, errors.New("must end with one database, as in clickhouse://host:9000/database")
	}
	a := Address{Database: strings.Trim(u.Path, "/")}
	if a.Database == "" {
		a.Database = "default"
	}
	hosts := strings.Split(u.Host, ",")
	a.Secure = !allLoopback(hosts)
	for key, values := range u.Query() {
		if key != "secure" || len(values) != 1 || values[0] != "true" && values[0] != "false" {
			return Address{}, fmt.Errorf("%s=%s: the only parameter is secure=true or secure=false", key, strings.Join(values, ","))
		}
		a.Secure = values[0] == "true"
	}
	port := plainPort
	if a.Secure {
		port = securePort
	}
	for _, h := range hosts {
		name, given := split(h)
		if name == "" {
			return Address{}, errors.New("a host has no name")
		}
		if given == "" {
			given = port
		}
		a.Hosts = append(a.Hosts, net.JoinHostPort(name, given))
	}
	return a, nil
}

// split takes the port off a host.
func split(host string) (name, port string) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return strings.Trim(host, "[]"), ""
}

func allLoopback(hosts []string) bool {
	for _, h := range hosts {
		name, _ := split(h)
		ip, err := netip.ParseAddr(name)
		if name != "localhost" && (err != nil || !ip.IsLoopback()) {
			return false
		}
	}
	return true
}

// String returns the address as it may be shown and recorded.
func (a Address) String() string {
	return fmt.Sprintf("clickhouse://%s/%s?secure=%t", strings.Join(a.Hosts, ","), a.Database, a.Secure)
}
