package ingest

import "switchback/experiment"

// columnKind says how a column is stored in Arrow. The DuckDB type follows from it.
type columnKind uint8

const (
	kindText   columnKind = iota // plain strings, "" is NULL
	kindDict                     // strings that repeat, sent as a dictionary, "" is NULL
	kindBool                     // Opt[bool]
	kindInt                      // Opt[int32]
	kindBigint                   // Opt[int64]
	kindTime                     // microseconds since the epoch
	kindMillis                   // Opt[Micros] as decimal milliseconds
	kindMoney                    // Opt[NanoUSD] as decimal dollars
)

func (k columnKind) sqlType() string {
	switch k {
	case kindBool:
		return sqlBool
	case kindInt:
		return sqlInt
	case kindBigint:
		return sqlBigint
	case kindTime:
		return sqlTime
	case kindMillis:
		return sqlMillis
	case kindMoney:
		return sqlMoney
	default:
		return sqlText
	}
}

// column ties one column of a table to the field of a row that it holds. text is set for the two string kinds,
// number for the others.
type column[Row any] struct {
	name   string
	kind   columnKind
	text   func(*Row) string
	number func(*Row) (value int64, known bool)
}

func opt[T ~int32 | ~int64](o experiment.Opt[T]) (int64, bool) { return int64(o.Value), o.Known }

func optBool(o experiment.Opt[bool]) (int64, bool) {
	if o.Value {
		return 1, o.Known
	}
	return 0, o.Known
}

type request = experiment.Request

func textColumn(name string, f func(*request) string) column[request] {
	return column[request]{name: name, kind: kindText, text: f}
}

func dictColumn(name string, f func(*request) string) column[request] {
	return column[request]{name: name, kind: kindDict, text: f}
}

func numberColumn(name string, kind columnKind, f func(*request) (int64, bool)) column[request] {
	return column[request]{name: name, kind: kind, number: f}
}

// requestColumns returns the columns of `requests` that come from a row of the canonical log, in table order.
// The loader adds load_id between provider_raw and quality, and arm_logged at the end.
func requestColumns() []column[request] {
	return []column[request]{
		textColumn("request_id", func(r *request) string { return r.RequestID }),
		textColumn("session_id", func(r *request) string { return r.SessionID }),
		textColumn("client_id", func(r *request) string { return r.ClientID }),
		numberColumn("ts", kindTime, func(r *request) (int64, bool) { return int64(r.TS), true }),
		dictColumn("model", func(r *request) string { return r.Model }),
		dictColumn("provider", func(r *request) string { return r.Provider }),
		dictColumn("arm", func(r *request) string { return r.Arm }),
		dictColumn("block_id", func(r *request) string { return r.BlockID }),
		numberColumn("in_burn_in", kindBool, func(r *request) (int64, bool) { return optBool(r.InBurnIn) }),
		numberColumn("attempts", kindInt, func(r *request) (int64, bool) { return opt(r.Attempts) }),
		numberColumn("n_429", kindInt, func(r *request) (int64, bool) { return opt(r.N429) }),
		numberColumn("n_retries", kindInt, func(r *request) (int64, bool) { return opt(r.Retries) }),
		numberColumn("ttft_ms", kindMillis, func(r *request) (int64, bool) { return opt(r.TTFT) }),
		numberColumn("caller_ttft_ms", kindMillis, func(r *request) (int64, bool) { return opt(r.CallerTTFT) }),
		numberColumn("total_ms", kindMillis, func(r *request) (int64, bool) { return opt(r.Total) }),
		numberColumn("failed_ms", kindMillis, func(r *request) (int64, bool) { return opt(r.Failed) }),
		numberColumn("input_tokens", kindBigint, func(r *request) (int64, bool) { return opt(r.InputTokens) }),
		numberColumn("cached_tokens", kindBigint, func(r *request) (int64, bool) { return opt(r.CachedTokens) }),
		numberColumn("cache_write_tokens", kindBigint, func(r *request) (int64, bool) { return opt(r.CacheWriteTokens) }),
		numberColumn("output_tokens", kindBigint, func(r *request) (int64, bool) { return opt(r.OutputTokens) }),
		numberColumn("reasoning_tokens", kindBigint, func(r *request) (int64, bool) { return opt(r.ReasoningTokens) }),
		numberColumn("cost_usd", kindMoney, func(r *request) (int64, bool) { return opt(r.Cost) }),
		dictColumn("cost_source", func(r *request) string { return r.CostSource }),
		dictColumn("status", func(r *request) string { return r.Status }),
		numberColumn("streamed", kindBool, func(r *request) (int64, bool) { return optBool(r.Streamed) }),
		numberColumn("is_byok", kindBool, func(r *request) (int64, bool) { return optBool(r.BYOK) }),
		numberColumn("tool_call_ok", kindBool, func(r *request) (int64, bool) { return optBool(r.ToolCallOK) }),
		dictColumn("pinned_from_block", func(r *request) string { return r.PinnedFromBlock }),
		dictColumn("source", func(r *request) string { return r.Source }),
		textColumn("source_row_id", func(r *request) string { return r.SourceRowID }),
		dictColumn("model_raw", func(r *request) string { return r.ModelRaw }),
		dictColumn("provider_raw", func(r *request) string { return r.ProviderRaw }),
		numberColumn("quality", kindBigint, func(r *request) (int64, bool) { return r.Quality, true }),
	}
}

// attemptColumns returns the columns of `attempts` that come from a row; the loader adds load_id at the end.
func attemptColumns() []column[experiment.Attempt] {
	type attempt = experiment.Attempt
	text := func(name string, kind columnKind, f func(*attempt) string) column[attempt] {
		return column[attempt]{name: name, kind: kind, text: f}
	}
	number := func(name string, kind columnKind, f func(*attempt) (int64, bool)) column[attempt] {
		return column[attempt]{name: name, kind: kind, number: f}
	}
	return []column[attempt]{
		text("request_id", kindText, func(a *attempt) string { return a.RequestID }),
		number("attempt", kindInt, func(a *attempt) (int64, bool) { return int64(a.N), true }),
		text("provider", kindDict, func(a *attempt) string { return a.Provider }),
		number("start_ms", kindMillis, func(a *attempt) (int64, bool) { return opt(a.Start) }),
		number("latency_ms", kindMillis, func(a *attempt) (int64, bool) { return opt(a.Latency) }),
		number("http_status", kindInt, func(a *attempt) (int64, bool) { return opt(a.HTTPStatus) }),
		text("error_type", kindDict, func(a *attempt) string { return a.ErrorType }),
		number("cost_usd", kindMoney, func(a *attempt) (int64, bool) { return opt(a.Cost) }),
	}
}

// loadedRequestColumns returns all columns of `requests` for one load. Rows of a log keep the arm label that
// they came with in arm_logged, so that a corrected schedule can be checked against it again.
func loadedRequestColumns(loadID string, fromLog bool) []column[request] {
	load := dictColumn("load_id", func(*request) string { return loadID })
	logged := dictColumn("arm_logged", func(*request) string { return "" })
	if fromLog {
		logged.text = func(r *request) string { return r.Arm }
	}
	cols := requestColumns()
	quality := len(cols) - 1
	return append(append(cols[:quality:quality], load), cols[quality], logged)
}

// loadedAttemptColumns returns all columns of `attempts` for one load.
func loadedAttemptColumns(loadID string) []column[experiment.Attempt] {
	load := column[experiment.Attempt]{name: "load_id", kind: kindDict, text: func(*experiment.Attempt) string { return loadID }}
	return append(attemptColumns(), load)
}

func sqlColumns[Row any](cols []column[Row]) []sqlColumn {
	out := make([]sqlColumn, len(cols))
	for i, c := range cols {
		out[i] = sqlColumn{c.name, c.kind.sqlType()}
	}
	return out
}

func requestTableColumns() []sqlColumn { return sqlColumns(loadedRequestColumns("", true)) }
func attemptTableColumns() []sqlColumn { return sqlColumns(loadedAttemptColumns("")) }
