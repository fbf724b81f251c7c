package warehouse

import (
	"context"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/ext"

	"switchback/ingest/rules"
)

// request is what is asked of the rows of a window: aggregates by keys. from makes one query of it even where some rows are
// taken of several.
type request struct {
	name    string
	selects []string
	where   []string
	groupBy []string
	from    string // what encloses the answers, with one %s for them; "" is nothing
	value   string // of nameValue and nameBin
	places  []place
	step    int64    // of nameStep, microseconds
	clients []string // of nameClient
	touched []touch  // what travels as touchedTable
}

const joinPlaces = "\nGLOBAL ALL INNER JOIN " + placesTable + " ON " + namePlace + " = place_model AND " + nameBucket + " = place_bucket"

const repeatedTable = "repeated"

// questions returns the queries of a request: one over the rows whose ids are there once, and, when some are there more
// often, one over the rows that are taken of those. Their answers are added.
func (s *survey) questions(r request) []Question {
	t := s.warehouse.table
	later := derived(s.layout.buckets, r.step, r.clients)
	if r.value != "" {
		later = append(later, definition{nameValue, r.value}, definition{nameBin, s.dialect().Bin(nameValue)}, definition{nameClipped, clipped})
	}
	join, where := "", append([]string{}, r.where...)
	if r.places != nil {
		join = joinPlaces
		where = append([]string{nameTime + " >= place_starts", nameTime + " < place_ends"}, where...)
	}
	tail := func(conditions []string) string {
		sql := ""
		if len(conditions) > 0 {
			sql = "\nWHERE " + strings.Join(conditions, "\n  AND ")
		}
		if len(r.groupBy) > 0 {
			sql += "\nGROUP BY " + strings.Join(r.groupBy, ", ")
		}
		return sql
	}
	head := "SELECT " + strings.Join(r.selects, ", ")
	once := []string{t.within(s.window), nameValid}
	if len(s.repeated) > 0 {
		once = append(once, nameIDHash+" GLOBAL NOT IN "+repeatedTable)
	}
	body := head + "\nFROM " + t.name + join + tail(append(once, where...))
	all := append(append([]definition{}, t.defs...), later...)
	parts := []string{with(all, body) + body}
	if len(s.repeated) > 0 {
		body := head + "\nFROM (\n" + s.taken() + "\n)" + join + tail(where)
		parts = append(parts, with(later, head+join+tail(where))+body)
	}
	if r.from != "" {
		return []Question{{r.name, strings.Replace(r.from, "%s", "(\n"+strings.Join(parts, "\nUNION ALL\n")+"\n)", 1)}}
	}
	questions := []Question{{r.name, parts[0]}}
	if len(parts) > 1 {
		questions = append(questions, Question{r.name + ", of rows taken of several", parts[1]})
	}
	return questions
}

// recordKey names a record, as a load into DuckDB does: source, row id, arrival to the millisecond, model.
var recordKey = "ifNull(" + rules.ClickHouseName("source") + ", ''), " + nameRowID + ", intDiv(" + nameTime + ", 1000), ifNull(" + rules.ClickHouseName(columnModel) + ", '')"

// taken selects one row of each record among the rows whose ids are there more often: the most complete, else the later.
func (s *survey) taken() string {
	t := s.warehouse.table
	body := "SELECT " + strings.Join(t.baseNames(), ", ") + "\nFROM " + t.name +
		"\nWHERE " + strings.Join([]string{t.within(s.window), nameValid, nameIDHash + " GLOBAL IN " + repeatedTable}, "\n  AND ") +
		"\nORDER BY " + recordKey + ", " + nameComplete + " DESC, ifNull(" + rules.ClickHouseName(columnVersion) + ", '') DESC, " + nameContent + " DESC\nLIMIT 1 BY " + recordKey
	return with(t.defs, body) + body
}

// ask returns the rows of a request's questions.
func ask[T any](ctx context.Context, s *survey, r request, read func(scan func(...any) error) (T, error)) ([]T, error) {
	var tables []*ext.Table
	if r.places != nil {
		t, err := externalPlaces(r.places)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	if len(s.repeated) > 0 {
		t, err := s.externalRepeated()
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	if r.touched != nil {
		t, err := externalTouched(r.touched)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	var all []T
	for _, q := range s.questions(r) {
		found, err := collect(ctx, s.warehouse, q, tables, read)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// number makes a selected expression a whole number that is never unknown.
func number(sql string) string { return "toInt64(ifNull(" + sql + ", 0))" }
