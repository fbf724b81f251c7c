package warehouse

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// ErrConfig marks errors that asking again does not mend: a table, column, type, user or password that is wrong.
var ErrConfig = errors.New("warehouse configuration")

// Error is what a warehouse did not do.
type Error struct {
	Question string // what was asked, "" for the connection itself
	Cause    string // one line
	Hint     string
	config   bool
	lost     bool // the connection or a shard; asking again may help
	err      error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Question == "" {
		return "warehouse: " + e.Cause
	}
	return "warehouse: " + e.Question + ": " + e.Cause
}

// Unwrap returns the cause, ErrConfig among them where it applies.
func (e *Error) Unwrap() []error {
	if e.config {
		return []error{e.err, ErrConfig}
	}
	return []error{e.err}
}

// Codes of ClickHouse's exceptions.
const (
	codeUnknownColumn    = 47
	codeUnknownTable     = 60
	codeSyntax           = 62
	codeUnknownDatabase  = 81
	codeTypeMismatch     = 53
	codeIllegalType      = 43
	codeUnknownFunction  = 46
	codeUnknownSetting   = 115
	codeTooManyRows      = 158
	codeTimeout          = 159
	codeReadonly         = 164
	codeTooSlow          = 160
	codeUnknownUser      = 192
	codeWrongPassword    = 193
	codeRequiredPassword = 194
	codeReadAfterEnd     = 32
	codeCannotReadAll    = 33
	codeSocketTimeout    = 209
	codeNetwork          = 210
	codeMemory           = 241
	codeNoReplica        = 279
	codeTooManyBytes     = 307
	codeConstraint       = 452
	codeAccessDenied     = 497
	codeAuthentication   = 516
)

// explain makes an Error of what the driver returned.
func explain(question string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) {
		return err
	}
	e := &Error{Question: question, Cause: oneLine(err.Error()), err: err}
	var server *clickhouse.Exception
	if e.explainTLS(err) {
		return e
	}
	if !errors.As(err, &server) {
		e.lost = isLost(err)
		if e.lost {
			e.Hint = "is the server running, and does the address say whether this port speaks TLS (secure=true or secure=false)?"
		}
		return e
	}
	e.Cause = fmt.Sprintf("%s (code %d)", oneLine(server.Message), server.Code)
	switch server.Code {
	case codeUnknownUser, codeWrongPassword, codeRequiredPassword, codeAuthentication:
		e.config, e.Cause = true, fmt.Sprintf("user or password refused (code %d)", server.Code)
		e.Hint = "set SWITCHBACK_WAREHOUSE_USER and SWITCHBACK_WAREHOUSE_PASSWORD"
	case codeUnknownTable, codeUnknownDatabase:
		e.config, e.Hint = true, "check logs.table and the database in logs.warehouse"
	case codeUnknownColumn, codeSyntax, codeTypeMismatch, codeIllegalType, codeUnknownFunction:
		e.config, e.Hint = true, "check the expressions of logs.columns"
	case codeAccessDenied:
		e.config, e.Hint = true, "the user needs SELECT on the table"
	case codeReadonly, codeUnknownSetting, codeConstraint:
		e.config, e.Hint = true, "the user's profile must let queries set limits and how answers are merged: readonly = 2, and no constraint on the settings in docs/cluster.md"
	case codeTimeout, codeTooSlow:
		e.Hint = "raise logs.max_time, or shorten the window"
	case codeTooManyRows:
		e.Hint = "the user's profile limits how many rows a query reads (max_rows_to_read)"
	case codeMemory, codeTooManyBytes:
		e.Hint = "raise logs.max_memory"
	case codeNetwork, codeSocketTimeout, codeNoReplica, codeReadAfterEnd, codeCannotReadAll:
		e.lost, e.Hint = true, "a part of the cluster does not answer; nothing was written"
		e.Cause = fmt.Sprintf("%s (code %d)", strings.Join(append([]string{oneLine(server.Message)}, unreached(server.Message)...), ": "), server.Code)
	}
	return e
}

// explainTLS says what a TLS handshake lacks, which asking again does not mend; false when that is not what failed.
func (e *Error) explainTLS(err error) bool {
	var unverified *tls.CertificateVerificationError
	var name x509.HostnameError
	var plain tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		e.Hint = "name the host in logs.warehouse as its certificate does"
	case errors.As(err, &unverified):
		e.Hint = "if a private authority signed the server's certificate, name the file of the authority's certificate in the environment: SSL_CERT_FILE=ca.pem"
	case errors.As(err, &plain):
		e.Hint = "this port does not speak TLS: name the one that does, which is 9440 as a rule, or write secure=false behind the address"
	default:
		return false
	}
	e.config = true
	return true
}

// isLost tells whether an error is that of a connection.
func isLost(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrDeadlineExceeded) ||
		errors.Is(err, clickhouse.ErrAcquireConnTimeout)
}

var broken = regexp.MustCompile(`NetException: ([^\n]*?\((?:peer: )?[^()\s]+:\d+[^()]*\))`)

// unreached lists which servers the one that was asked did not reach, and why, as its log of tries tells; each once.
func unreached(message string) []string {
	_, tries, _ := strings.Cut(message, " Log:")
	var list []string
	for _, m := range broken.FindAllStringSubmatch(tries, -1) {
		if !slices.Contains(list, m[1]) {
			list = append(list, m[1])
		}
	}
	return list
}

// oneLine cuts the server's stack trace and version off.
func oneLine(message string) string {
	message, _, _ = strings.Cut(message, "Stack trace:")
	message, _, _ = strings.Cut(message, "\n")
	message, _, _ = strings.Cut(message, " Log:")
	return strings.TrimRight(strings.TrimSpace(message), ". ")
}
