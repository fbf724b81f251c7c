package ingest

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"switchback/experiment"
)

// unit says what the value at a path is.
type unit uint8

const (
	plainUnit    unit = iota // as in the canonical log: ms, USD, counts, RFC 3339
	secondsUnit              // of a time, decimal
	unixSeconds              // of an instant, decimal
	unixNanos                // of an instant
	nanoDollars              // USD · 10⁹ as a whole number
	optionalUnit             // plainUnit whose zero stands for "unknown"
)

// field maps one value of a record to a canonical column. Alternatives are separated by "|": the first that is
// not null counts. Keys of a path are separated by "/"; a "!" at the end of a key reads the string there as JSON.
type field struct {
	column string
	path   string
	unit   unit
}

// mapping describes a log format: which records it is recognised by, which value goes where, and the rules that
// a table cannot say.
type mapping struct {
	name string
	csv  bool
	// keys recognise the format: a record has all of them. A key may be a path.
	keys []string
	// known are the other keys that records have, read by convert or of no use here. Any key beyond these is
	// listed in the report: it may be a new column that matters.
	known  string
	fields []field
	// unwrap returns the records inside a JSON value, nil when it is one record itself.
	unwrap func(node) []member
	// convert sets what the fields cannot. It may skip a record or name the reason to reject it.
	convert func(rec node, r *request, in *mappedRows) outcome
	// compose, when set, lets the format be written: it adds to a record what convert reads from it.
	compose func(r *request, tries []attempt, rec *node)
	// perAttempt tells that a written record is an attempt, of which compose gets one at a time.
	perAttempt bool
	// fold, when set, joins attempts into requests.
	fold folder
	// perFile is a caveat about every file of the format.
	caveat string
	// sessionIsTrace tells that a session id is made up when it looks like a UUID and stands once.
	sessionIsTrace bool
	// costInCents tells that costs are read as cents unless the user says otherwise.
	costInCents bool
	// mostExported is the number of records at which an export of the gateway ends without saying so.
	mostExported int64
}

// outcome says what becomes of a record. The zero outcome keeps it.
type outcome struct {
	skip   bool
	reason string
}

const reasonPending = "pending"

func keep() outcome                { return outcome{} }
func skip() outcome                { return outcome{skip: true} }
func reject(reason string) outcome { return outcome{reason: reason} }
func (o outcome) kept() bool       { return !o.skip && o.reason == "" }
func (m mapping) noFolding() bool  { return m.fold == nil }
func (m mapping) asFormat() format {
	recognise := m.recognisesJSON
	if m.csv {
		recognise = m.recognisesCSV
	}
	return format{
		name: m.name, recognises: recognise, appends: m.noFolding(), folds: !m.noFolding(), sessionIsTrace: m.sessionIsTrace, caveat: m.caveat, costInCents: m.costInCents, mostExported: m.mostExported,
		read: func(in io.Reader, from int64, sink *rowSink) ([]string, error) { return m.read(in, from, sink) },
	}
}

func (m mapping) recognisesCSV(lines [][]byte) bool {
	c := csvReader{}
	if !c.split(trimBOM(lines[0])) {
		return false
	}
	names := map[string]bool{}
	for _, f := range c.fields {
		names[string(f)] = true
	}
	for _, k := range m.keys {
		if !names[k] {
			return false
		}
	}
	return true
}

// recognisesJSON looks at whole lines first, then at all lines as one document.
func (m mapping) recognisesJSON(lines [][]byte) bool {
	for _, line := range lines {
		if v, ok := parseJSON(line); ok {
			if m.holds(v) {
				return true
			}
			continue
		}
		break
	}
	// A document over several lines may be longer than the sample: look for its keys as text.
	text := joinLines(lines)
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return false
	}
	if v, ok := parseJSON(text); ok {
		return m.holds(v)
	}
	if len(lines) > 1 && lines[0][len(lines[0])-1] == '}' {
		return false // lines of their own, of another format
	}
	for _, k := range m.keys {
		last := k[strings.LastIndexByte(k, '/')+1:]
		if !strings.Contains(string(text), `"`+last+`"`) {
			return false
		}
	}
	return true
}

func joinLines(lines [][]byte) []byte {
	var text []byte
	for _, l := range lines {
		text = append(append(text, l...), '\n')
	}
	return text
}

// holds tells whether a value, or a record inside it, has the keys.
func (m mapping) holds(v node) bool {
	for _, rec := range m.records(v) {
		found := true
		for _, k := range m.keys {
			at := strings.LastIndexByte(k, '/')
			parent := rec.value
			if at >= 0 {
				parent = rec.value.get(strings.Split(k[:at], "/")...)
			}
			found = found && parent.has(k[at+1:])
		}
		if found {
			return true
		}
	}
	return false
}

// records returns what a JSON value holds.
func (m mapping) records(v node) []member {
	if m.unwrap != nil {
		if inner := m.unwrap(v); inner != nil {
			return inner
		}
	}
	if v.array {
		return v.members
	}
	return []member{{value: v}}
}

// mappedRows reads the records of one file by a mapping.
type mappedRows struct {
	*canonicalRows
	mapping mapping
	paths   [][]alternative // by field
	places  []int           // of the fields
	seen    map[string]bool // keys of records: those of the format, and unknown ones that are listed
	unknown []string
	folding *chains
}

// alternative is one path of keys; a key that ends in "!" is read as JSON.
type alternative []string

func (m mapping) read(in io.Reader, from int64, sink *rowSink) ([]string, error) {
	rows := &mappedRows{canonicalRows: newCanonicalRows(sink), mapping: m, seen: map[string]bool{}}
	for _, key := range strings.Fields(m.known) {
		rows.seen[key] = true
	}
	for _, f := range m.fields {
		var paths []alternative
		for _, p := range strings.Split(f.path, "|") {
			keys := strings.Split(p, "/")
			paths = append(paths, keys)
			rows.seen[strings.TrimSuffix(keys[0], "!")] = true
		}
		rows.paths = append(rows.paths, paths)
		place := rows.find([]byte(f.column))
		if place < 0 {
			return nil, fmt.Errorf("format %s maps to %q, which is no column", m.name, f.column)
		}
		rows.places = append(rows.places, place)
	}
	rows.folding = newChains(m.fold, rows.emit)
	if m.fold != nil && sink.byTime {
		rows.folding.spool = &spool{folder: sink.folder, most: spoolRows}
		defer rows.folding.spool.close() //nolint:errcheck // it has no name and was read
	}
	var err error
	if m.csv {
		err = rows.readCSV(in, from)
	} else {
		err = rows.readJSON(in, from)
	}
	if err == nil {
		err = rows.folding.flush()
	}
	sink.flush()
	if err == nil {
		err = sink.err
	}
	if err == nil && rows.folding.unsorted {
		err = errUnsorted
	}
	return rows.unknown, err
}

func (c *mappedRows) readCSV(in io.Reader, from int64) error {
	lines := newLineReader(in)
	csv := csvReader{lines: lines}
	var names []string
	for c.sink.err == nil {
		record, err := csv.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case names == nil && record.reason != "":
			return inputError{c.sink.file, "header: " + record.reason, ""}
		case names == nil:
			record.fields[0] = trimBOM(record.fields[0])
			names = columnNames(record.fields)
		case lines.bytes <= from:
		case record.reason != "":
			c.sink.reject(record.line, record.reason, record.text)
		case string(record.fields[0]) == names[0] && len(record.fields) > 1:
			names = columnNames(record.fields) // files put one after the other
		case len(record.fields) != len(names):
			c.sink.reject(record.line, reasonFields, record.text)
		default:
			c.record(record.line, record.text, csvNode(names, record.fields))
		}
	}
	return nil
}

func columnNames(fields [][]byte) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = validText(f)
	}
	return names
}

func csvNode(names []string, fields [][]byte) node {
	n := node{kind: jsonNested, members: make([]member, len(names))}
	for i, name := range names {
		v := node{kind: jsonString, text: fields[i]}
		if len(fields[i]) == 0 {
			v = node{}
		}
		n.members[i] = member{name, v}
	}
	return n
}

// readJSON reads JSON lines; a first line that is no whole value begins a document over several lines.
func (c *mappedRows) readJSON(in io.Reader, from int64) error {
	lines := newLineReader(in)
	for c.sink.err == nil {
		text, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errLongLine) {
			c.sink.reject(lines.line, reasonLongLine, text)
			continue
		}
		if err != nil {
			return err
		}
		if lines.line == 1 {
			text = trimBOM(text)
		}
		if lines.bytes <= from || len(strings.TrimSpace(string(text))) == 0 {
			continue
		}
		v, ok := parseJSON(text)
		if !ok && c.sink.tally.rows+c.sink.tally.rejects+c.sink.tally.skipped == 0 && isDocumentStart(text) {
			return c.readDocument(lines, text)
		}
		if !ok || v.kind != jsonNested {
			c.sink.reject(lines.line, reasonNotJSON, text)
			continue
		}
		for _, rec := range c.mapping.records(v) {
			c.record(lines.line, text, rec.value)
		}
	}
	return nil
}

// isDocumentStart tells a line that opens a document from a broken record.
func isDocumentStart(text []byte) bool {
	line := strings.TrimSpace(string(text))
	return line == "{" || line == "[" || strings.HasSuffix(line, "{") || strings.HasSuffix(line, "[") || strings.HasSuffix(line, ",")
}

// readDocument reads a JSON document over many lines, up to maxLine bytes.
func (c *mappedRows) readDocument(lines *lineReader, first []byte) error {
	text := append([]byte(nil), first...)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return err
		}
		text = append(append(text, '\n'), line...)
		if len(text) > 16*maxLine {
			return inputError{c.sink.file, "a JSON document over 256 MiB; write one record a line", ""}
		}
	}
	v, ok := parseJSON(text)
	if !ok || v.kind != jsonNested {
		c.sink.reject(1, reasonNotJSON, first)
		return nil
	}
	for i, rec := range c.mapping.records(v) {
		c.record(int64(i+1), nil, rec.value)
	}
	return nil
}

// record maps one record to a row.
func (c *mappedRows) record(line int64, text []byte, rec node) {
	c.noteUnknown(rec)
	c.sink.tally.records++
	c.begin(line)
	row := mappedRow{Request: request{Source: c.mapping.name}}
	r := &row.Request
	reason := ""
	for i, f := range c.mapping.fields {
		v := first(rec, c.paths[i])
		if v.kind == jsonNull || reason != "" {
			continue
		}
		reason = c.setUnit(r, c.places[i], f.unit, v)
	}
	if c.mapping.convert != nil {
		// A record that is no request is skipped, however odd its values are.
		if o := c.mapping.convert(rec, r, c); !o.kept() || reason == "" {
			if o.skip {
				c.sink.unread = nil
				c.sink.skip()
				return
			}
			if o.reason != "" {
				reason, c.sink.unread = o.reason, nil
			}
		}
	}
	if reason != "" {
		c.sink.reject(line, reason, text)
		return
	}
	if c.isUnread("status") {
		r.Status = "" // what follows from the rest would be a guess
	}
	c.names(r)
	if isNone(r.RequestID) {
		r.RequestID = recordHash(rec, text)
	}
	if isNone(r.SourceRowID) {
		r.SourceRowID = r.RequestID
	}
	row.rec, row.line, row.unread = rec, line, c.unread
	row.text = text
	if err := c.folding.add(&row); err != nil && c.sink.err == nil {
		c.sink.err = err
	}
	if c.folding.unsorted && c.sink.err == nil {
		c.sink.err = errUnsorted
	}
}

// noteUnknown lists the keys that the format is not known to have.
func (c *mappedRows) noteUnknown(rec node) {
	for _, m := range rec.members {
		if !c.seen[m.key] && len(c.unknown) < maxUnknown {
			c.seen[m.key] = true
			c.unknown = append(c.unknown, m.key)
		}
	}
}

// recordHash names a record without an id by its text, or by what it holds when it is part of a document.
func recordHash(rec node, text []byte) string {
	if text == nil {
		text = rec.appendText(nil)
	}
	return rowHash(text)
}

// appendText writes what a node holds, for a hash.
func (n node) appendText(b []byte) []byte {
	b = append(append(b, byte('0'+n.kind)), n.text...)
	for _, m := range n.members {
		b = append(append(b, m.key...), ':')
		b = m.value.appendText(b)
	}
	return append(b, ';')
}

// first returns the first value of the paths that is not null.
func first(rec node, paths []alternative) node {
	for _, path := range paths {
		n := rec
		for _, key := range path {
			if inner, ok := strings.CutSuffix(key, "!"); ok {
				n = n.get(inner).inner()
			} else {
				n = n.get(key)
			}
		}
		if n.kind != jsonNull {
			return n
		}
	}
	return node{}
}

// setUnit gives a row a value in its unit.
func (c *mappedRows) setUnit(r *request, place int, u unit, v node) (reason string) {
	col := &c.columns[place]
	if v.kind == jsonNested {
		c.unreadable(r, col.name, v.appendJSON(nil))
		return ""
	}
	var value int64
	state := parsedValue
	switch u {
	case secondsUnit:
		value, state = parseDecimal(v.text, 6)
	case nanoDollars:
		value, state = parseWhole(v.text)
	case unixSeconds:
		if value, state = parseDecimal(v.text, 6); state != parsedValue {
			return c.badTime(v)
		}
	case unixNanos:
		if value, state = parseWhole(v.text); state != parsedValue {
			// Beyond 18 digits: still exact, cut to the microsecond.
			if len(v.text) < 4 || len(v.text) > 20 {
				return c.badTime(v)
			}
			if value, state = parseWhole(v.text[:len(v.text)-3]); state != parsedValue {
				return c.badTime(v)
			}
		} else {
			value = floorDiv(value, 1000)
		}
	case optionalUnit:
		if zero, s := parseDecimal(v.text, 9); s == parsedValue && zero == 0 {
			return ""
		}
		return c.set(r, place, v.text)
	default:
		if v.kind == jsonNumber && col.kind == kindTime {
			c.sink.unread = v.text
			return reasonNumberTime
		}
		return c.set(r, place, v.text)
	}
	if !setParsed(r, col, value, state) {
		c.unreadable(r, col.name, v.text)
	}
	return ""
}

func (c *mappedRows) badTime(v node) string {
	c.sink.unread = v.text
	return reasonBadTime
}

// names makes the names of model and provider canonical and keeps what the log said.
func (c *mappedRows) names(r *request) {
	r.ModelRaw, r.ProviderRaw = r.Model, r.Provider
	r.Model = canonicalModel(r.Model)
	r.Provider = canonicalProvider(r.Provider)
	if r.Status == experiment.StatusGatewayCache || r.Status == experiment.StatusError {
		r.Provider = "" // no endpoint served it
	}
	if isNone(r.SessionID) {
		r.SessionID = ""
	}
}

// emit hands a finished request to the sink.
func (c *mappedRows) emit(row *mappedRow) {
	r := c.sink.row()
	*r = row.Request
	c.sink.tries = append(c.sink.tries[:0], row.attempts...)
	if !c.sink.keep(row.line, row.text) {
		return
	}
	c.sink.tally.addUnread(row.unread...)
	if len(row.records) == 0 {
		return
	}
	joined := make([]joinedRecord, len(row.records))
	for i, key := range row.records {
		joined[i] = joinedRecord{key, row.Source, row.RequestID, row.TS}
	}
	c.sink.join(joined)
}
