package clustertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"switchback/experiment"
)

// Columns are the columns of a table of Create, with their types: what a gateway could log of a request.
func Columns() [][2]string {
	return [][2]string{
		{"request_id", "String"}, {"session_id", "Nullable(String)"}, {"client_id", "String"}, {"ts_us", "Int64"},
		{"model", "LowCardinality(String)"}, {"provider", "LowCardinality(Nullable(String))"}, {"arm", "String"},
		{"attempts", "Nullable(Int32)"}, {"n_429", "Nullable(UInt8)"}, {"n_retries", "Nullable(Int32)"},
		{"ttft_us", "Nullable(Int64)"}, {"caller_ttft_us", "Nullable(Int64)"}, {"total_us", "Nullable(Int64)"}, {"failed_us", "Nullable(Int64)"},
		{"input_tokens", "Nullable(Int64)"}, {"cached_tokens", "Nullable(Int64)"}, {"output_tokens", "Nullable(UInt32)"},
		{"cost_nano", "Nullable(Int64)"}, {"cost_source", "String"}, {"status", "LowCardinality(String)"},
		{"streamed", "Nullable(UInt8)"}, {"is_byok", "Nullable(UInt8)"}, {"tool_call_ok", "Nullable(UInt8)"},
		{"pinned_from_block", "String"}, {"source", "String"}, {"quality", "Int64"},
		{"cheapest_nano", "Nullable(Int64)"},
	}
}

// Mapping gives the canonical columns of a table of Create, TSUnit being us.
func Mapping() map[string]string {
	m := map[string]string{}
	for _, c := range Columns() {
		m[c[0]] = c[0]
	}
	for column, expr := range map[string]string{
		"ts": "ts_us", "ttft_ms": "toDecimal64(ttft_us, 3) / 1000", "caller_ttft_ms": "caller_ttft_us / 1000", "total_ms": "total_us / 1000",
		"failed_ms": "failed_us / 1000", "cost_usd": "cost_nano / 1000000000", "cheapest_cost_usd": "cheapest_nano / 1000000000",
	} {
		m[column] = expr
	}
	for _, name := range []string{"ts_us", "ttft_us", "caller_ttft_us", "total_us", "failed_us", "cost_nano", "cheapest_nano"} {
		delete(m, name)
	}
	return m
}

// Create makes a table on both shards and a Distributed one with _all added to its name, and deals the rows out.
// The sharding key is that of a gateway's session, which the rows do not follow.
func (s *Shards) Create(tb testing.TB, table string, rows []experiment.Request) {
	tb.Helper()
	list := ""
	for i, c := range Columns() {
		if i > 0 {
			list += ", "
		}
		list += c[0] + " " + c[1]
	}
	for i := range s.Conns {
		s.Exec(tb, i, fmt.Sprintf("CREATE TABLE %s.%s (%s) ENGINE = MergeTree PARTITION BY intDiv(ts_us, 86400000000) ORDER BY (model, ts_us)", Database, table, list))
		s.Exec(tb, i, fmt.Sprintf("CREATE TABLE %s.%s_all AS %[1]s.%[2]s ENGINE = Distributed(%s, %[1]s, %[2]s, cityHash64(ifNull(session_id, '')))", Database, table, Cluster))
	}
	s.Insert(tb, table, rows)
}

// Insert deals rows out to both shards, every other one to each. They travel as an external table: releases of 2018 answer
// the driver's own batches with an empty block.
func (s *Shards) Insert(tb testing.TB, table string, rows []experiment.Request) {
	tb.Helper()
	const batchRows = 200_000
	for lo := 0; lo < len(rows); lo += batchRows {
		for i, conn := range s.Conns {
			if err := insert(conn, table, rows[lo:min(len(rows), lo+batchRows)], i); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

func insert(conn driver.Conn, table string, rows []experiment.Request, shard int) error {
	var options []func(*ext.Table) error
	for _, c := range Columns() {
		typ := c[1]
		if inner, ok := strings.CutPrefix(typ, "LowCardinality("); ok {
			typ = strings.TrimSuffix(inner, ")")
		}
		options = append(options, ext.Column(c[0], column.Type(typ)))
	}
	batch, err := ext.NewTable("batch", options...)
	if err != nil {
		return err
	}
	n := 0
	for k := range rows {
		if k%2 != shard {
			continue
		}
		if err := batch.Append(values(&rows[k])...); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return nil
	}
	return conn.Exec(clickhouse.Context(context.Background(), clickhouse.WithExternalTable(batch)), "INSERT INTO "+Database+"."+table+" SELECT * FROM batch")
}

func values(r *experiment.Request) []any {
	return []any{
		r.RequestID, text(r.SessionID), r.ClientID, int64(r.TS), r.Model, text(r.Provider), r.Arm,
		number[int32](r.Attempts), number[uint8](r.N429), number[int32](r.Retries),
		number[int64](r.TTFT), number[int64](r.CallerTTFT), number[int64](r.Total), number[int64](r.Failed),
		number[int64](r.InputTokens), number[int64](r.CachedTokens), number[uint32](r.OutputTokens),
		number[int64](r.Cost), r.CostSource, r.Status,
		boolean(r.Streamed), boolean(r.BYOK), boolean(r.ToolCallOK),
		r.PinnedFromBlock, r.Source, r.Quality,
		number[int64](r.CheapestCost),
	}
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func number[To, From ~int32 | ~int64 | ~uint8 | ~uint32](o experiment.Opt[From]) *To {
	if !o.Known {
		return nil
	}
	v := To(o.Value)
	return &v
}

func boolean(o experiment.Opt[bool]) *uint8 {
	if !o.Known {
		return nil
	}
	var v uint8
	if o.Value {
		v = 1
	}
	return &v
}
