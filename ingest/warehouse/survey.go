package warehouse

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"

	"switchback/ingest"
	"switchback/ingest/rules"
)

// survey is what is known of a window before the schedule is: how many rows there are, of which models, and what they say.
type survey struct {
	warehouse *Warehouse
	window    rules.Window
	layout    layout
	models    []ingest.Count // rows by model as the table writes it, "" for those without
	rows      int64          // with all that a request must have, before duplicates
	rejects   []ingest.Count // rows without, by reason
	known     map[string]int64
	digest    uint64 // of the rows, in whatever order
	first     int64  // arrival of the first and last row, microseconds
	last      int64
	duplicateFacts
}

// Reasons of rows that are left out, as loads give them.
const (
	reasonNoID    = "request_id: missing"
	reasonNoModel = "model: missing"
	reasonNoTime  = "ts: unreadable"
)

// markedColumns are those whose absence from a whole log matters.
func markedColumns() []string { return []string{"streamed", "caller_ttft_ms", "total_ms"} }

// kept is the number of records.
func (s *survey) kept() int64 { return s.rows - s.duplicates }

func (s *survey) rejected() int64 {
	var n int64
	for _, r := range s.rejects {
		n += r.N
	}
	return n
}

// fingerprint names the rows of the window: another row, or another value in one, gives another.
func (s *survey) fingerprint() string {
	return fmt.Sprintf("%d-%d-%016x", s.rows, s.rejected(), s.digest)
}

func (s *survey) dialect() rules.ClickHouse {
	return rules.ClickHouse{Has: func(column string) bool { return s.known[column] > 0 }}
}

// surveyOf returns the survey of a window, which is asked once.
func (w *Warehouse) surveyOf(ctx context.Context, window ingest.Window) (*survey, error) {
	window.BornInBlock, window.PooledModels = false, false
	if w.survey != nil && ingest.Window(w.survey.window) == window {
		return w.survey, nil
	}
	s := &survey{warehouse: w, window: rules.Window(window), known: map[string]int64{}}
	if err := s.countModels(ctx); err != nil {
		return nil, err
	}
	if err := s.countUnreadable(ctx); err != nil {
		return nil, err
	}
	if err := s.findDuplicates(ctx); err != nil {
		return nil, err
	}
	s.layout = layout{index: map[string]int{}, name: func(raw string) string { return raw }}
	if w.options.Mapping.Names {
		s.layout.name = ingest.CanonicalModel
	}
	for _, m := range s.models {
		s.layout.raw = append(s.layout.raw, m.Name)
		if m.Name != "" {
			s.layout.models = append(s.layout.models, s.layout.name(m.Name))
		}
	}
	slices.Sort(s.layout.models)
	s.layout.models = slices.Compact(s.layout.models)
	for i, m := range s.layout.models {
		s.layout.index[m] = i
	}
	w.survey = s
	return s, nil
}

func (s *survey) countModels(ctx context.Context) error {
	q := s.modelsQuestion()
	type found struct {
		model               string
		rows, noID, noModel int64
		known               [3]int64
		digest              uint64
		first, last         int64
	}
	rows, err := collect(ctx, s.warehouse, q, nil, func(scan func(...any) error) (f found, err error) {
		return f, scan(&f.model, &f.rows, &f.noID, &f.noModel, &f.known[0], &f.known[1], &f.known[2], &f.digest, &f.first, &f.last)
	})
	if err != nil {
		return err
	}
	var noID, noModel int64
	for _, f := range rows {
		noID, noModel = noID+f.noID, noModel+f.noModel
		s.rows += f.rows
		s.digest += f.digest
		for i, name := range markedColumns() {
			s.known[name] += f.known[i]
		}
		if f.rows == 0 {
			continue
		}
		s.models = append(s.models, ingest.Count{Name: f.model, N: f.rows})
		if s.first == 0 || f.first < s.first {
			s.first = f.first
		}
		s.last = max(s.last, f.last)
	}
	slices.SortFunc(s.models, func(a, b ingest.Count) int { return strings.Compare(a.Name, b.Name) })
	s.reject(reasonNoID, noID)
	s.reject(reasonNoModel, noModel)
	return nil
}

func (s *survey) reject(reason string, n int64) {
	if n > 0 {
		s.rejects = append(s.rejects, ingest.Count{Name: reason, N: n})
	}
}

func (s *survey) modelsQuestion() Question {
	t, c := s.warehouse.table, rules.ClickHouseName
	defs := append(append([]definition{}, t.defs...), definition{namePlace, "ifNull(" + c(columnModel) + ", '')"})
	selects := []string{
		namePlace,
		number("countIf(" + nameValid + ")"),
		number("countIf(" + c(columnID) + " IS NULL)"),
		number("countIf(" + c(columnID) + " IS NOT NULL AND " + nameValid + " = 0)"),
	}
	for _, name := range markedColumns() {
		selects = append(selects, number("count("+c(name)+")"))
	}
	selects = append(selects,
		"sum("+nameContent+")",
		number("minIf("+nameTime+", "+nameValid+")"),
		number("maxIf("+nameTime+", "+nameValid+")"),
	)
	body := "SELECT " + strings.Join(selects, ", ") + "\nFROM " + t.name + "\nWHERE " + t.within(s.window) + "\nGROUP BY " + namePlace
	return Question{"rows by model", with(defs, body) + body}
}

// countUnreadable counts the rows whose arrival cannot be read. They lie in no window, so all of the table is looked at, or
// the window's days where the table says which these are.
func (s *survey) countUnreadable(ctx context.Context) error {
	q, needed := s.unreadableQuestion()
	if !needed {
		return nil
	}
	found, err := collect(ctx, s.warehouse, q, nil, func(scan func(...any) error) (n int64, err error) { return n, scan(&n) })
	if err == nil && len(found) > 0 {
		s.reject(reasonNoTime, found[0])
	}
	return err
}

func (s *survey) unreadableQuestion() (Question, bool) {
	t := s.warehouse.table
	for _, r := range t.readings {
		if r.column.kind == instant && !r.typ.nullable && !r.typ.text() {
			return Question{}, false
		}
	}
	conditions := append(t.ofDays(s.window), nameTime+" IS NULL")
	body := "SELECT " + number("count()") + "\nFROM " + t.name + "\nWHERE " + strings.Join(conditions, "\n  AND ")
	return Question{"rows without a readable arrival", with(t.defs, body) + body}, true
}

// duplicateFacts say which records stand in the table more often.
type duplicateFacts struct {
	repeated   []uint64 // hashes of ids that several rows have
	duplicates int64    // rows that are left out
	conflicts  int64    // of them: they differ from the row that is taken
	reusedIDs  int64    // request ids of several records
}

// maxRepeated is how many ids may stand for several rows.
const maxRepeated = 20_000_000

// rowsPerPass bounds the ids that a server holds in memory at once.
const rowsPerPass = 30_000_000

// maxPasses bounds how often all rows are read for one answer. Beyond it a server needs more memory, or what
// logs.max_memory lets it spill to its disk.
const maxPasses = 64

// findDuplicates finds ids that several rows have, some ids at a time.
func (s *survey) findDuplicates(ctx context.Context) error {
	if !s.warehouse.options.Dedupe {
		return nil
	}
	passes := int(min(maxPasses, 1+s.rows/rowsPerPass))
	var rows int64
	for pass := range passes {
		type id struct {
			hash uint64
			n    int64
		}
		found, err := collect(ctx, s.warehouse, s.repeatedQuestion(pass, passes), nil, func(scan func(...any) error) (i id, err error) {
			return i, scan(&i.hash, &i.n)
		})
		if err != nil {
			return err
		}
		for _, i := range found {
			s.repeated = append(s.repeated, i.hash)
			rows += i.n
		}
		if len(s.repeated) > maxRepeated {
			err := fmt.Errorf("more than %d ids stand for several rows", maxRepeated)
			return &Error{Question: "repeated ids", Cause: err.Error(), config: true, err: err,
				Hint: `merge the table (OPTIMIZE … FINAL), or name it with FINAL in logs.table and write dedupe = "off"`}
		}
	}
	if len(s.repeated) == 0 {
		return nil
	}
	slices.Sort(s.repeated)
	type facts struct{ records, same, reused int64 }
	t, err := s.externalRepeated()
	if err != nil {
		return err
	}
	found, err := collect(ctx, s.warehouse, s.recordsQuestion(), []*ext.Table{t}, func(scan func(...any) error) (f facts, err error) {
		return f, scan(&f.records, &f.same, &f.reused)
	})
	if err != nil || len(found) == 0 {
		return err
	}
	s.duplicates, s.conflicts, s.reusedIDs = rows-found[0].records, rows-found[0].same, found[0].reused
	return nil
}

func (s *survey) externalRepeated() (*ext.Table, error) {
	t, err := ext.NewTable(repeatedTable, ext.Column("id_hash", column.Type("UInt64")))
	if err != nil {
		return nil, err
	}
	for _, h := range s.repeated {
		if err := t.Append(h); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (s *survey) repeatedQuestion(pass, passes int) Question {
	t := s.warehouse.table
	conditions := []string{t.within(s.window), nameValid}
	if passes > 1 {
		conditions = append(conditions, fmt.Sprintf("%s %% %d = %d", nameIDHash, passes, pass))
	}
	body := "SELECT " + nameIDHash + ", " + number("count()") + "\nFROM " + t.name + "\nWHERE " + strings.Join(conditions, "\n  AND ") +
		"\nGROUP BY " + nameIDHash + "\nHAVING count() > 1"
	return Question{fmt.Sprintf("repeated ids, pass %d of %d", pass+1, passes), with(t.defs, body) + body}
}

// recordsQuestion asks how many records the repeated ids stand for, how many rows are the same as the one that is taken of
// their record, and how many request ids stand for several records.
func (s *survey) recordsQuestion() Question {
	t, c := s.warehouse.table, rules.ClickHouseName
	record := []string{"sb_of_source", "sb_of_row", "sb_of_at", "sb_of_model"}
	key := strings.Join(record, ", ")
	defs := append(append([]definition{}, t.defs...),
		definition{record[0], "ifNull(" + c("source") + ", '')"},
		definition{record[1], nameRowID},
		definition{record[2], "intDiv(" + nameTime + ", 1000)"},
		definition{record[3], "ifNull(" + c(columnModel) + ", '')"},
		definition{"sb_of_version", "ifNull(" + c(columnVersion) + ", '')"},
	)
	group := key + ", " + nameComplete + ", sb_of_version, " + nameContent
	inner := "SELECT " + group + ", any(" + c(columnID) + ") AS sb_of_id, count() AS sb_rows\nFROM " + t.name +
		"\nWHERE " + strings.Join([]string{t.within(s.window), nameValid, nameIDHash + " GLOBAL IN " + repeatedTable}, "\n  AND ") +
		"\nGROUP BY " + group
	best := "SELECT " + key + ", sb_of_id, sb_rows\nFROM (\n" + with(defs, inner) + inner + "\n)\nORDER BY " + key + ", " + nameComplete + " DESC, sb_of_version DESC, " + nameContent + " DESC\nLIMIT 1 BY " + key
	byID := "SELECT sb_of_source, sb_of_id, count() AS sb_records, sum(sb_rows) AS sb_same\nFROM (\n" + best + "\n)\nGROUP BY sb_of_source, sb_of_id"
	return Question{"repeated records", "SELECT " + number("sum(sb_records)") + ", " + number("sum(sb_same)") + ", " +
		number("countIf(sb_records > 1 AND sb_of_source <> "+quote(ingest.SourceDrive)+")") + "\nFROM (\n" + byID + "\n)"}
}
