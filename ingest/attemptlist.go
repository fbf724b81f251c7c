package ingest

import (
	"strings"

	"switchback/experiment"
)

// attemptList is the column of a canonical log that carries the attempts of a request: a list of objects with the columns
// of `attempts` but request_id. In JSON lines and Parquet it is nested, in CSV and Arrow it is JSON in a text. The table
// `requests` does not have it: a load takes the list apart into `attempts`.
const attemptList = "attempt_list"

// listedColumns are the columns of `attempts` that the objects of a list have.
func listedColumns() []column[attempt] { return attemptColumns()[1:] }

// appendAttempts writes attempts as a JSON list.
func appendAttempts(b []byte, cols []column[attempt], tries []attempt) []byte {
	b = append(b, '[')
	for i := range tries {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSONRow(b, cols, &tries[i])
		b = b[:len(b)-1] // the end of the line
	}
	return append(b, ']')
}

// triesOf hands out the attempts of a batch request by request: they stand in the order of their requests.
type triesOf struct {
	attempts []attempt
}

// next returns the attempts of the next request, which is that with the given id, or none.
func (t *triesOf) next(id string) []attempt {
	n := 0
	for n < len(t.attempts) && t.attempts[n].RequestID == id {
		n++
	}
	found := t.attempts[:n:n]
	t.attempts = t.attempts[n:]
	return found
}

// listReader reads the attempts of a request from JSON.
type listReader struct {
	columns []column[attempt]
	words   interner
}

// read adds the attempts of a list to tries. It is false for what is no list or holds a value that cannot be read, which
// becomes unknown. A number of the attempt that is missing is its place in the list.
func (l *listReader) read(tries []attempt, text []byte) ([]attempt, bool) {
	if isFiller(text) {
		return tries, true
	}
	list, ok := parseJSON(text)
	if !ok || !list.array {
		return tries, false
	}
	for i, m := range list.members {
		if m.value.kind != jsonNested || m.value.array {
			ok = false
			continue
		}
		a := attempt{N: int32(i + 1)}
		for c := range l.columns {
			ok = l.set(&a, &l.columns[c], m.value.get(l.columns[c].name)) && ok
		}
		if a.N < 1 {
			a.N, ok = int32(i+1), false
		}
		tries = append(tries, a)
	}
	return tries, ok
}

func (l *listReader) set(a *attempt, col *column[attempt], v node) bool {
	switch {
	case v.kind == jsonNull:
		return true
	case v.kind == jsonNested:
		return false
	case col.text != nil:
		*col.text(a) = l.words.intern(v.text)
		return true
	}
	value, state := parseKind(col.kind, v.text)
	if state == parsedValue && (value >= 0 || col.kind == kindMoney) {
		col.set(a, value)
		return true
	}
	return state == parsedFiller
}

// worthKeeping tells whether the attempts of a request stand in the table `attempts`: one that served at once says no
// more than the request does.
func worthKeeping(tries []attempt) bool {
	return len(tries) > 1 || len(tries) == 1 && failedAttempt(tries[0])
}

func failedAttempt(a attempt) bool {
	return a.ErrorType != "" || a.HTTPStatus.Known && a.HTTPStatus.Value >= 400
}

// listType is the type of the column in a Parquet file of ours.
func listType() string {
	var fields []string
	for _, c := range listedColumns() {
		fields = append(fields, c.name+" "+c.kind.sqlType())
	}
	return "STRUCT(" + strings.Join(fields, ", ") + ")[]"
}

// listValue is the SQL that gathers the attempts of a request into a list.
func listValue() string {
	var fields []string
	for _, c := range listedColumns() {
		fields = append(fields, c.name+" := "+c.name)
	}
	return "list(struct_pack(" + strings.Join(fields, ", ") + ") ORDER BY attempt)"
}

// loadAttempts inserts the attempts that the rows of a Parquet file list. A list of another type than ours goes through
// JSON, which takes the fields by their names.
func (p *parquetLoad) loadAttempts() error {
	in, ok := p.columns[attemptList]
	if !ok {
		return nil
	}
	var shape, listed []string
	for _, c := range listedColumns() {
		shape = append(shape, `"`+c.name+`":"`+c.kind.sqlType()+`"`)
		switch {
		case c.name == "attempt":
			listed = append(listed, "CASE WHEN t.attempt >= 1 THEN t.attempt ELSE place END")
		case c.kind == kindMillis || c.kind == kindInt:
			listed = append(listed, "CASE WHEN t."+c.name+" >= 0 THEN t."+c.name+" END")
		default:
			listed = append(listed, "t."+c.name)
		}
	}
	list := in.ident()
	switch {
	case in.isText():
		list = "json_transform(TRY_CAST(" + list + " AS JSON), '[{" + strings.Join(shape, ",") + "}]')"
	case in.typ != listType():
		list = "json_transform(to_json(" + list + "), '[{" + strings.Join(shape, ",") + "}]')"
	}
	id, _ := p.value(p.column("request_id"))
	_, err := p.loader.conn.ExecContext(p.loader.ctx, "INSERT INTO attempts SELECT "+p.id()+", "+strings.Join(listed, ", ")+", "+quote(p.loader.row.LoadID)+
		" FROM (SELECT *, unnest(list) AS t, generate_subscripts(list, 1) AS place FROM (SELECT "+id+" AS request_id, "+p.wholeRow()+" AS row_text, "+list+" AS list FROM "+p.from+
		" WHERE "+p.reason()+" IS NULL) WHERE len(list) > 1 OR list[1].http_status >= 400 OR list[1].error_type <> '')")
	return err
}

// listedRequest is a request with its attempts as a text.
type listedRequest struct {
	request
	list string
}

// listedRequestColumns are the columns of a canonical log that holds the attempts in a text, all texts of one kind.
func listedRequestColumns() []column[listedRequest] {
	var cols []column[listedRequest]
	for _, c := range requestColumns() {
		if c.text != nil { // all of one kind, since an Arrow stream cannot replace the dictionary of a column in every record
			cols = append(cols, textColumn(c.name, kindText, func(r *listedRequest) *string { return c.text(&r.request) }))
			continue
		}
		number := func(r *listedRequest) (int64, bool) { return c.number(&r.request) }
		cols = append(cols, column[listedRequest]{name: c.name, kind: c.kind, number: number, numbers: oneByOne(number)})
	}
	return append(cols, textColumn(attemptList, kindText, func(r *listedRequest) *string { return &r.list }))
}

// lister puts the attempts of a batch beside its requests.
type lister struct {
	columns []column[attempt]
	rows    []listedRequest
	text    []byte
}

// list returns the requests of a batch, which are valid until the next call.
func (l *lister) list(b *experiment.Batch) []listedRequest {
	l.rows = l.rows[:0]
	left := triesOf{b.Attempts}
	for i := range b.Requests {
		row := listedRequest{request: b.Requests[i]}
		if tries := left.next(row.RequestID); len(tries) > 0 {
			l.text = appendAttempts(l.text[:0], l.columns, tries)
			row.list = string(l.text)
		}
		l.rows = append(l.rows, row)
	}
	return l.rows
}
