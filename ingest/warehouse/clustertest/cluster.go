// Package clustertest runs a ClickHouse cluster of two shards on loopback ports for tests.
//
// The servers are the machine's own: Debian's package clickhouse-server, or any clickhouse-server in PATH. They get
// configurations, ports and data folders of their own and end with the test.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Environment names the variable without which tests of a cluster are skipped.
const Environment = "SWITCHBACK_CLUSTER"

// Names and password of the cluster. Each shard has the database; Cluster is what Distributed tables are made with. The
// profile of User has settings that make answers of a part of the rows, which whoever asks has to set right.
const (
	Cluster  = "two"
	Database = "gateway"
	User     = "reader"
	Password = "not-a-secret"
)

// MostRows is how many rows of a table the profile of User lets a query read on a shard, without an error where that is not asked for.
const MostRows = 500_000

// Shards is a running cluster.
type Shards struct {
	Ports  [2]int
	Secure [2]int         // ports that speak TLS
	CA     string         // file of the certificate that both show, for 127.0.0.1
	Conns  [2]driver.Conn // of a user who may write

	folder  string
	threads int    // of a query on each
	key     string // file
	servers [2]*exec.Cmd
}

// Start starts two servers and makes the database on both. It skips the test unless the environment asks for it; a missing
// server is an error then.
func Start(tb testing.TB) *Shards {
	tb.Helper()
	if os.Getenv(Environment) == "" {
		tb.Skip("set " + Environment + "=1 to run ClickHouse servers (make test-cluster)")
	}
	if _, err := exec.LookPath("clickhouse-server"); err != nil {
		tb.Fatal("no clickhouse-server in PATH (Debian: apt-get install clickhouse-server)")
	}
	s := &Shards{folder: tb.TempDir(), threads: 1}
	tb.Cleanup(func() {
		for i := range s.servers {
			s.Stop(tb, i)
		}
	})
	var err error
	if s.CA, s.key, err = certify(s.folder); err != nil {
		tb.Fatal(err)
	}
	others := freePorts(tb, 8)
	copy(s.Ports[:], others[:2])
	copy(s.Secure[:], others[2:4])
	for i := range s.servers {
		if err := s.configure(i, others[4+2*i], others[5+2*i]); err != nil {
			tb.Fatal(err)
		}
		s.Run(tb, i)
	}
	for i := range s.Conns {
		s.Exec(tb, i, "CREATE DATABASE "+Database)
	}
	return s
}

// freePorts returns ports that nobody listens on.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close() //nolint:errcheck // only held so that the ports differ
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

func (s *Shards) dir(i int) string { return filepath.Join(s.folder, fmt.Sprint("shard", i+1)) }

func (s *Shards) configure(i, http, interserver int) error {
	if err := os.MkdirAll(filepath.Join(s.dir(i), "tmp"), 0o755); err != nil {
		return err
	}
	var shards strings.Builder
	for _, port := range s.Ports {
		fmt.Fprintf(&shards, "<shard><replica><host>127.0.0.1</host><port>%d</port><user>default</user><password>%s</password></replica></shard>", port, Password)
	}
	config := fmt.Sprintf(`<yandex>
  <logger><level>error</level><log>%[1]s/log</log><errorlog>%[1]s/err</errorlog></logger>
  <listen_host>127.0.0.1</listen_host><tcp_port>%[2]d</tcp_port><http_port>%[3]d</http_port><interserver_http_port>%[4]d</interserver_http_port>
  <tcp_port_secure>%[7]d</tcp_port_secure><openSSL><server><certificateFile>%[8]s</certificateFile><privateKeyFile>%[9]s</privateKeyFile>
    <verificationMode>none</verificationMode><cacheSessions>true</cacheSessions><disableProtocols>sslv2,sslv3</disableProtocols></server></openSSL>
  <path>%[1]s/</path><tmp_path>%[1]s/tmp/</tmp_path><users_config>users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>104857600</mark_cache_size>
  <remote_servers><%[5]s>%[6]s</%[5]s></remote_servers>
</yandex>
`, s.dir(i), s.Ports[i], http, interserver, Cluster, shards.String(), s.Secure[i], s.CA, s.key)
	return errors.Join(os.WriteFile(filepath.Join(s.dir(i), "config.xml"), []byte(config), 0o644), s.writeUsers(i))
}

// writeUsers writes who may ask a shard, and how.
func (s *Shards) writeUsers(i int) error {
	users := fmt.Sprintf(`<yandex>
  <profiles>
    <default><allow_experimental_low_cardinality_type>1</allow_experimental_low_cardinality_type><max_threads>%[4]d</max_threads></default>
    <careless><profile>default</profile><distributed_group_by_no_merge>1</distributed_group_by_no_merge><skip_unavailable_shards>1</skip_unavailable_shards>
      <timeout_overflow_mode>break</timeout_overflow_mode><max_rows_to_read>%[3]d</max_rows_to_read><read_overflow_mode>break</read_overflow_mode><group_by_overflow_mode>any</group_by_overflow_mode></careless>
  </profiles>
  <quotas><default></default></quotas>
  <users>
    <default><password>%[1]s</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
    <%[2]s><password>%[1]s</password><networks><ip>127.0.0.1</ip></networks><profile>careless</profile><quota>default</quota></%[2]s>
  </users>
</yandex>
`, Password, User, MostRows, s.threads)
	return os.WriteFile(filepath.Join(s.dir(i), "users.xml"), []byte(users), 0o644)
}

// Threads starts both shards anew, with so many threads for a query on each. They begin with one.
func (s *Shards) Threads(tb testing.TB, n int) {
	tb.Helper()
	s.threads = n
	for i := range s.servers {
		s.Stop(tb, i)
		if err := s.writeUsers(i); err != nil {
			tb.Fatal(err)
		}
		s.Run(tb, i)
	}
}

// Process is that of a shard that runs.
func (s *Shards) Process(i int) *os.Process { return s.servers[i].Process }

// Run starts a shard that does not run and waits until it answers.
func (s *Shards) Run(tb testing.TB, i int) {
	tb.Helper()
	server := exec.Command("clickhouse-server", "--config-file=config.xml")
	server.Dir = s.dir(i)
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		tb.Fatal(err)
	}
	s.servers[i] = server
	conn, err := clickhouse.Open(&clickhouse.Options{
		Addr: []string{fmt.Sprintf("127.0.0.1:%d", s.Ports[i])}, Auth: clickhouse.Auth{Username: "default", Password: Password},
		Compression: &clickhouse.Compression{Method: clickhouse.CompressionLZ4},
	})
	if err != nil {
		tb.Fatal(err)
	}
	for try := 0; ; try++ {
		if err = conn.Ping(context.Background()); err == nil {
			break
		}
		if try == 300 {
			tb.Fatalf("shard %d does not answer: %v", i+1, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.Conns[i] = conn
}

// Stop ends a shard; Run starts it again with the same data.
func (s *Shards) Stop(tb testing.TB, i int) {
	tb.Helper()
	server := s.servers[i]
	if server == nil {
		return
	}
	s.servers[i] = nil
	if s.Conns[i] != nil {
		if err := s.Conns[i].Close(); err != nil {
			tb.Error(err)
		}
	}
	if err := server.Process.Kill(); err != nil {
		tb.Error(err)
	}
	server.Wait() //nolint:errcheck // it was killed
}

// Break ends a shard while it is at work: it does nothing more from now on, and is gone a moment later, when whoever asked it
// waits for its answer. gone is closed then.
func (s *Shards) Break(tb testing.TB, i int) (gone chan struct{}) {
	tb.Helper()
	gone = make(chan struct{})
	if err := s.servers[i].Process.Signal(syscall.SIGSTOP); err != nil {
		tb.Error(err)
	}
	time.AfterFunc(100*time.Millisecond, func() {
		s.Stop(tb, i)
		close(gone)
	})
	return gone
}

// Exec runs a statement on a shard.
func (s *Shards) Exec(tb testing.TB, i int, sql string) {
	tb.Helper()
	if err := s.Conns[i].Exec(context.Background(), sql); err != nil {
		tb.Fatalf("shard %d: %.300s\n%.500v", i+1, sql, err)
	}
}

// SecureAddress is the URL of a shard's port that speaks TLS.
func (s *Shards) SecureAddress(i int) string {
	return fmt.Sprintf("clickhouse://127.0.0.1:%d/%s?secure=true", s.Secure[i], Database)
}

// Address is the URL of a shard.
func (s *Shards) Address(i int) string {
	return fmt.Sprintf("clickhouse://127.0.0.1:%d/%s", s.Ports[i], Database)
}
