package warehouse

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
)

// What servers of 2018 and of today tell of a lost shard names it, in one line, and may be asked again.
func TestWhatServersTellOfALostShard(t *testing.T) {
	for message, want := range map[string]string{
		"All connection tries failed. Log: \n\nCode: 32, e.displayText() = DB::Exception: Attempt to read after eof, e.what() = DB::Exception\nCode: 210, e.displayText() = DB::NetException: Connection refused (10.0.0.2:9000), e.what() = DB::NetException\nCode: 210, e.displayText() = DB::NetException: Connection refused (10.0.0.2:9000), e.what() = DB::NetException": "All connection tries failed: Connection refused (10.0.0.2:9000) (code 279)",
		"All connection tries failed. Log: \n\nCode: 210. DB::NetException: Connection refused (shard-2:9000). (NETWORK_ERROR) (version 26.9.2.1)\nCode: 209. DB::NetException: Timeout exceeded while reading from socket (peer: shard-3:9000, local: 10.0.0.1:5, 3000 ms). (SOCKET_TIMEOUT)":                                                                                 "All connection tries failed: Connection refused (shard-2:9000): Timeout exceeded while reading from socket (peer: shard-3:9000, local: 10.0.0.1:5, 3000 ms) (code 279)",
		"Attempt to read after eof: while receiving packet from 10.0.0.2:9000: While executing Remote. Stack trace:\n0x1": "Attempt to read after eof: while receiving packet from 10.0.0.2:9000: While executing Remote (code 279)",
	} {
		var e *Error
		err := explain("sums", &clickhouse.Exception{Code: codeNoReplica, Message: message})
		if !errors.As(err, &e) || !e.lost || !strings.HasPrefix(e.Cause, strings.TrimSuffix(want, " (code 279)")) || strings.Contains(e.Cause, "\n") || !strings.HasSuffix(e.Cause, "(code 279)") {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
	for _, code := range []int32{codeReadAfterEnd, codeCannotReadAll, codeSocketTimeout, codeNetwork} {
		var e *Error
		if err := explain("sums", &clickhouse.Exception{Code: code, Message: "lost"}); !errors.As(err, &e) || !e.lost || errors.Is(err, ErrConfig) {
			t.Errorf("code %d: %v", code, err)
		}
	}
	if err := explain("sums", context.Canceled); !errors.Is(err, context.Canceled) || errors.As(err, new(*Error)) {
		t.Errorf("interrupted: %v", err)
	}
}
