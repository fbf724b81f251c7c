package ingest

import (
	"unsafe"

	"switchback/experiment"
)

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

// column ties one column of a table to the field of a row that it holds. text and texts are set for the two string kinds,
// number, numbers and set for the others.
type column[Row any] struct {
	name   string
	kind   columnKind
	text   func(*Row) *string
	number func(*Row) (value int64, known bool)
	set    func(*Row, int64)

	// The same of several rows at once, which saves a call for every value.
	texts   func([]Row) texts
	numbers func(rows []Row, values []int64) (known uint64) // of at most 64 rows, with a bit for each; what is unknown is 0
}

// texts are the texts of a column in rows that lie one after the other.
type texts struct {
	first unsafe.Pointer
	step  uintptr // from one to the next, 0 when all rows have the same
}

func (t texts) at(i int) string { return *(*string)(unsafe.Add(t.first, uintptr(i)*t.step)) }

type (
	request = experiment.Request
	attempt = experiment.Attempt
)

func textColumn[Row any](name string, kind columnKind, field func(*Row) *string) column[Row] {
	return column[Row]{
		name: name, kind: kind, text: field,
		texts: func(rows []Row) texts { return texts{unsafe.Pointer(field(&rows[0])), unsafe.Sizeof(rows[0])} },
	}
}

// sameColumn has one text in all rows.
func sameColumn[Row any](name, text string) column[Row] {
	return column[Row]{
		name: name, kind: kindDict, text: func(*Row) *string { return &text },
		texts: func([]Row) texts { return texts{first: unsafe.Pointer(&text)} },
	}
}

func optColumn[Row any, T ~int32 | ~int64](name string, kind columnKind, field func(*Row) *experiment.Opt[T]) column[Row] {
	return column[Row]{
		name: name, kind: kind,
		number: func(r *Row) (int64, bool) { o := field(r); return int64(o.Value), o.Known },
		set:    func(r *Row, v int64) { *field(r) = experiment.Some(T(v)) },
		numbers: func(rows []Row, values []int64) (known uint64) {
			first, step := unsafe.Pointer(field(&rows[0])), unsafe.Sizeof(rows[0])
			for i := range values {
				o := (*experiment.Opt[T])(unsafe.Add(first, uintptr(i)*step))
				values[i] = 0
				if o.Known {
					values[i] = int64(o.Value)
					known |= 1 << i
				}
			}
			return known
		},
	}
}

func boolColumn[Row any](name string, field func(*Row) *experiment.Opt[bool]) column[Row] {
	number := func(r *Row) (int64, bool) {
		o := field(r)
		if o.Value {
			return 1, o.Known
		}
		return 0, o.Known
	}
	return column[Row]{
		name: name, kind: kindBool, number: number, numbers: oneByOne(number),
		set: func(r *Row, v int64) { *field(r) = experiment.Some(v != 0) },
	}
}

// oneByOne makes the numbers of rows from the number of one.
func oneByOne[Row any](number func(*Row) (int64, bool)) func([]Row, []int64) uint64 {
	return func(rows []Row, values []int64) (known uint64) {
		for i := range values {
			v, ok := number(&rows[i])
			values[i] = 0
			if ok {
				values[i] = v
				known |= 1 << i
			}
		}
		return known
	}
}

// plainColumn is a number that is always known.
func plainColumn[Row any, T ~int32 | ~int64](name string, kind columnKind, field func(*Row) *T) column[Row] {
	return column[Row]{
		name: name, kind: kind,
		number: func(r *Row) (int64, bool) { return int64(*field(r)), true },
		set:    func(r *Row, v int64) { *field(r) = T(v) },
		numbers: func(rows []Row, values []int64) uint64 {
			for i := range values {
				values[i] = int64(*field(&rows[i]))
			}
			return 1<<len(values) - 1
		},
	}
}

// requestColumns returns the columns of the canonical log, in table order. The table has two more: load_id
// before quality, and arm_logged behind it.
func requestColumns() []column[request] {
	type micros = experiment.Opt[experiment.Micros]
	type count = experiment.Opt[int32]
	type tokens = experiment.Opt[int64]
	type flag = experiment.Opt[bool]
	return []column[request]{
		textColumn("request_id", kindText, func(r *request) *string { return &r.RequestID }),
		textColumn("session_id", kindText, func(r *request) *string { return &r.SessionID }),
		textColumn("client_id", kindText, func(r *request) *string { return &r.ClientID }),
		plainColumn("ts", kindTime, func(r *request) *experiment.Instant { return &r.TS }),
		textColumn("model", kindDict, func(r *request) *string { return &r.Model }),
		textColumn("provider", kindDict, func(r *request) *string { return &r.Provider }),
		textColumn("arm", kindDict, func(r *request) *string { return &r.Arm }),
		textColumn("block_id", kindDict, func(r *request) *string { return &r.BlockID }),
		boolColumn("in_burn_in", func(r *request) *flag { return &r.InBurnIn }),
		optColumn("attempts", kindInt, func(r *request) *count { return &r.Attempts }),
		optColumn("n_429", kindInt, func(r *request) *count { return &r.N429 }),
		optColumn("n_retries", kindInt, func(r *request) *count { return &r.Retries }),
		optColumn("ttft_ms", kindMillis, func(r *request) *micros { return &r.TTFT }),
		optColumn("caller_ttft_ms", kindMillis, func(r *request) *micros { return &r.CallerTTFT }),
		optColumn("total_ms", kindMillis, func(r *request) *micros { return &r.Total }),
		optColumn("failed_ms", kindMillis, func(r *request) *micros { return &r.Failed }),
		optColumn("input_tokens", kindBigint, func(r *request) *tokens { return &r.InputTokens }),
		optColumn("cached_tokens", kindBigint, func(r *request) *tokens { return &r.CachedTokens }),
		optColumn("cache_write_tokens", kindBigint, func(r *request) *tokens { return &r.CacheWriteTokens }),
		optColumn("output_tokens", kindBigint, func(r *request) *tokens { return &r.OutputTokens }),
		optColumn("reasoning_tokens", kindBigint, func(r *request) *tokens { return &r.ReasoningTokens }),
		optColumn("cost_usd", kindMoney, func(r *request) *experiment.Opt[experiment.NanoUSD] { return &r.Cost }),
		textColumn("cost_source", kindDict, func(r *request) *string { return &r.CostSource }),
		textColumn("status", kindDict, func(r *request) *string { return &r.Status }),
		boolColumn("streamed", func(r *request) *flag { return &r.Streamed }),
		boolColumn("is_byok", func(r *request) *flag { return &r.BYOK }),
		boolColumn("tool_call_ok", func(r *request) *flag { return &r.ToolCallOK }),
		textColumn("pinned_from_block", kindDict, func(r *request) *string { return &r.PinnedFromBlock }),
		textColumn("source", kindDict, func(r *request) *string { return &r.Source }),
		textColumn("source_row_id", kindText, func(r *request) *string { return &r.SourceRowID }),
		textColumn("model_raw", kindDict, func(r *request) *string { return &r.ModelRaw }),
		textColumn("provider_raw", kindDict, func(r *request) *string { return &r.ProviderRaw }),
		plainColumn("quality", kindBigint, func(r *request) *int64 { return &r.Quality }),
		optColumn(cheapestCost, kindMoney, func(r *request) *experiment.Opt[experiment.NanoUSD] { return &r.CheapestCost }),
	}
}

// cheapestCost is the last column: files of version 1 of the tables get it behind their others.
const cheapestCost = "cheapest_cost_usd"

// attemptColumns returns the columns of `attempts` that come from a row; the loader adds load_id at the end.
func attemptColumns() []column[attempt] {
	return []column[attempt]{
		textColumn("request_id", kindText, func(a *attempt) *string { return &a.RequestID }),
		plainColumn("attempt", kindInt, func(a *attempt) *int32 { return &a.N }),
		textColumn("provider", kindDict, func(a *attempt) *string { return &a.Provider }),
		optColumn("start_ms", kindMillis, func(a *attempt) *experiment.Opt[experiment.Micros] { return &a.Start }),
		optColumn("latency_ms", kindMillis, func(a *attempt) *experiment.Opt[experiment.Micros] { return &a.Latency }),
		optColumn("http_status", kindInt, func(a *attempt) *experiment.Opt[int32] { return &a.HTTPStatus }),
		textColumn("error_type", kindDict, func(a *attempt) *string { return &a.ErrorType }),
		optColumn("cost_usd", kindMoney, func(a *attempt) *experiment.Opt[experiment.NanoUSD] { return &a.Cost }),
	}
}

// loadedRequestColumns returns all columns of `requests` for one load. Rows of a log keep the arm label that
// they came with in arm_logged, so that a corrected schedule can be checked against it again.
func loadedRequestColumns(loadID string, fromLog bool) []column[request] {
	load, logged := sameColumn[request]("load_id", loadID), sameColumn[request]("arm_logged", "")
	if fromLog {
		logged = textColumn("arm_logged", kindDict, func(r *request) *string { return &r.Arm })
	}
	cols := requestColumns()
	quality := len(cols) - 2
	return append(append(cols[:quality:quality], load), cols[quality], logged, cols[quality+1])
}

// loadedAttemptColumns returns all columns of `attempts` for one load.
func loadedAttemptColumns(loadID string) []column[attempt] {
	return append(attemptColumns(), sameColumn[attempt]("load_id", loadID))
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
