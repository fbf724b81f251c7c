package warehouse

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/quick"

	"switchback/ingest/rules"
	"switchback/stats"
)

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"clickhouse://localhost/gateway":                   "clickhouse://localhost:9000/gateway?secure=false",
		"clickhouse://127.0.0.1:29000":                     "clickhouse://127.0.0.1:29000/default?secure=false",
		"clickhouse://[::1]/logs":                          "clickhouse://[::1]:9000/logs?secure=false",
		"clickhouse://ch.example/logs":                     "clickhouse://ch.example:9440/logs?secure=true",
		"clickhouse://ch.example:9000/logs?secure=false":   "clickhouse://ch.example:9000/logs?secure=false",
		"clickhouse://localhost/logs?secure=true":          "clickhouse://localhost:9440/logs?secure=true",
		"clickhouse://a.example:9440,b.example:9440/logs":  "clickhouse://a.example:9440,b.example:9440/logs?secure=true",
		"clickhouse://localhost:9000,ch.example:9000/logs": "clickhouse://localhost:9000,ch.example:9000/logs?secure=true",
		"clickhouse://10.0.0.7":                            "clickhouse://10.0.0.7:9440/default?secure=true",
		"http://ch.example":                                "scheme",
		"clickhouse://me:secret@ch.example/logs":           "environment",
		"clickhouse://ch.example/logs?compress=lz4":        "only parameter",
		"clickhouse://ch.example/logs?secure=perhaps":      "only parameter",
		"clickhouse:///logs":                               "no host",
		"clickhouse://ch.example/a/b":                      "one database",
		"clickhouse://ch.example:port/a":                   "not an address",
		"clickhouse://ch.example,/a":                       "no name",
		"clickhouse://me:secret%ch.example/logs":           "not an address",
	} {
		a, err := ParseAddress(text)
		got := a.String()
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != want || err != nil && !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestNewMapping(t *testing.T) {
	for _, c := range []struct {
		ready   string
		columns map[string]string
		says    string // "" is no error
	}{
		{"", map[string]string{"request_id": "id", "ts": "at", "model": "m"}, ""},
		{"langfuse", nil, ""},
		{"helicone", map[string]string{"session_id": "", "arm": "properties['experiment']"}, ""},
		{"langfuze", nil, "there are helicone and langfuse"},
		{"", map[string]string{"request_id": "id", "ts": "at"}, "column model: needs an expression"},
		{"langfuse", map[string]string{"ts": ""}, "column ts: needs an expression"},
		{"langfuse", map[string]string{"latency": "x"}, "column latency: not a column"},
		{"langfuse", map[string]string{"arm": "a) FROM secrets"}, "unbalanced"},
		{"langfuse", map[string]string{"arm": "a -- b"}, "comment"},
		{"langfuse", map[string]string{"arm": "a, b"}, "more than one expression"},
		{"langfuse", map[string]string{"arm": "a; DROP TABLE b"}, "more than one expression"},
		{"langfuse", map[string]string{"arm": "a)"}, "unbalanced"},
		{"langfuse", map[string]string{"arm": "f(a"}, "unbalanced"},
		{"langfuse", map[string]string{"arm": "'a"}, "no closing"},
		{"langfuse", map[string]string{"arm": `concat('(;,--\'', b)`}, ""},
	} {
		_, err := NewMapping(c.ready, c.columns)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %v: %v, want %q", c.ready, c.columns, err, c.says)
		}
	}
}

// Every bin is the same number in Go as its SQL makes it, equal values share one, and a larger value never has a smaller one.
func TestBinsKeepTheOrder(t *testing.T) {
	d := rules.ClickHouse{}
	ordered := func(a, b int64) bool {
		const most = 1 << 56 // µs: two thousand years
		a, b = min(a%most, b%most), max(a%most, b%most)
		return d.BinOf(a) <= d.BinOf(b)
	}
	if err := quick.Check(ordered, &quick.Config{MaxCount: 20_000}); err != nil {
		t.Error(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		v := rng.Int64N(1 << rng.IntN(50) << 1)
		if !ordered(v, v+1) || v > 0 && d.BinOf(v) < 1 {
			t.Fatalf("bins of %d and the next: %d, %d", v, d.BinOf(v), d.BinOf(v+1))
		}
	}
	for v, want := range map[int64]int32{-5: stats.BinZero, 0: stats.BinZero, 1: 1, 2: 33, 3: 49, 4: 65, stats.Inf: stats.BinInf} {
		if got := d.BinOf(v); got != want {
			t.Errorf("bin of %d: %d, want %d", v, got, want)
		}
	}
}

func TestWrappersOfTypes(t *testing.T) {
	for typ, want := range map[string]plainType{
		"String": {"String", false}, "LowCardinality(String)": {"String", false}, "LowCardinality(Nullable(String))": {"String", true},
		"Nullable(Decimal(18, 3))": {"Decimal(18, 3)", true}, "DateTime64(3, 'UTC')": {"DateTime64(3, 'UTC')", false}, "Nullable(Nothing)": {"Nothing", true},
	} {
		if got := plain(typ); got != want {
			t.Errorf("%s is %+v", typ, got)
		}
	}
}
