package ingest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/marcboeker/go-duckdb"

	"switchback/experiment"
	"switchback/experiment/prices"
)

// parquetMagic is what Parquet files begin with.
const parquetMagic = "PAR1"

// Parquet goes through DuckDB's own reader and writer: they know every codec and need no second library. The
// rules of a canonical row, which Go code applies to rows of text, are SQL here.

// parquetColumn is a column of a Parquet file.
type parquetColumn struct{ name, typ string }

func (p parquetColumn) ident() string { return `"` + strings.ReplaceAll(p.name, `"`, `""`) + `"` }
func (p parquetColumn) isText() bool  { return p.typ == sqlText }

// loadParquet inserts the rows of a canonical Parquet file into the loader's transaction, and its rejects. It
// returns what the file held and the names of columns that are not canonical.
func loadParquet(l *Loader, path string, c clock, book *prices.Book) (fileTally, []string, []string, error) {
	p := parquetLoad{loader: l, from: parquetRows(path), clock: c, prices: book}
	unknown, err := p.describe(path)
	if err != nil {
		return fileTally{}, nil, nil, err
	}
	tally, missing, err := p.run(path)
	if err != nil {
		return tally, nil, nil, storeFault(path, err)
	}
	l.row.Rows, l.row.Rejects = tally.rows, tally.rejects
	return tally, unknown, missing, nil
}

// parquetRows is the SQL of a file's rows and their numbers.
func parquetRows(path string) string {
	return "read_parquet(" + quote(globSafe(path)) + ", file_row_number = true)"
}

// tryParquet reads a file to its end before it is loaded.
func (o LoadOptions) tryParquet(ctx context.Context, path string) error {
	read := o.ReadParquet
	if read == nil {
		read = ReadParquet
	}
	damage, err := read(ctx, path)
	switch {
	case err != nil:
		return fmt.Errorf("load %s: %w", path, err)
	case damage != "":
		return damaged(path, errors.New(damage))
	}
	return nil
}

// ReadParquet reads a Parquet file to its end and returns what is wrong with it, "" when it is whole. It does so in a database
// of its own: DuckDB shuts a database for good when its reader meets some kinds of damage, and elsewhere does not tell a fault
// of the file from one of the store.
func ReadParquet(ctx context.Context, path string) (damage string, err error) {
	alone, err := Open(ctx, InMemory, DefaultOptions())
	if err != nil {
		return "", err
	}
	defer alone.Close() //nolint:errcheck // it holds nothing
	var rows int64
	err = alone.db.QueryRowContext(ctx, "SELECT count(hash(row)) FROM "+parquetRows(path)+" AS row").Scan(&rows)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return plainMessage(err.Error()), nil
	}
	return "", nil
}

// storeFault is the error of loading a file that can be read to its end: most often the store's fault or the machine's, but
// a value that no calculation bears is the file's.
func storeFault(path string, err error) error {
	var fault *duckdb.Error
	if errors.As(err, &fault) && slices.Contains([]duckdb.ErrorType{duckdb.ErrorTypeOutOfRange, duckdb.ErrorTypeConversion, duckdb.ErrorTypeDecimal}, fault.Type) {
		return damaged(path, err)
	}
	return fmt.Errorf("load %s: %w", path, err)
}

// globSafe keeps DuckDB from taking a path for a pattern.
func globSafe(path string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

type parquetLoad struct {
	loader  *Loader
	from    string
	clock   clock
	prices  *prices.Book
	columns map[string]parquetColumn
}

func (p *parquetLoad) describe(path string) (unknown []string, err error) {
	rows, err := p.loader.conn.QueryContext(p.loader.ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+p.from+")")
	if err != nil {
		return nil, damaged(path, err)
	}
	columns, err := collect(rows, func(scan func(...any) error) (c parquetColumn, err error) { return c, scan(&c.name, &c.typ) })
	if err != nil {
		return nil, err
	}
	canonical := newCanonicalColumns()
	p.columns = map[string]parquetColumn{}
	var names []string
	for _, c := range columns {
		if c.name == "file_row_number" {
			continue
		}
		if canonical.find([]byte(c.name)) == columnUnknown {
			unknown = append(unknown, c.name)
		}
		p.columns[c.name] = c
		names = append(names, c.name)
	}
	if err := refuseColumns(path, names); err != nil {
		return nil, err
	}
	if ts := p.columns["ts"]; !ts.isText() && !strings.HasPrefix(ts.typ, "TIMESTAMP") {
		return nil, inputError{path, "column ts is " + ts.typ + ", not a timestamp", ""}
	}
	return unknown, nil
}

// fillers are the words for "no value" in SQL.
const fillers = "('', '-', 'nan', 'n/a', 'null', 'none', 'infinity', '-infinity')"

// Words that the columns status and cost_source may have, in SQL.
const (
	statuses    = "'ok', 'error', 'error_midstream', 'cancelled', 'ok_gateway_cache'"
	costSources = "'billed', 'upstream', 'breakdown', 'book'"
)

// value is the SQL of a column's parsed value and of the condition that it could not be read.
func (p *parquetLoad) value(c column[request]) (value, bad string) {
	in, ok := p.columns[c.name]
	if !ok {
		return "CAST(NULL AS " + c.kind.sqlType() + ")", "false"
	}
	x := in.ident()
	if value, bad, ok := asIs(c.kind, in.typ, x); ok {
		return value, bad
	}
	if in.isText() && c.text == nil {
		x = "CASE WHEN lower(" + x + ") NOT IN " + fillers + " THEN " + x + " END"
	}
	if in.typ == "DOUBLE" || in.typ == "FLOAT" {
		x = "CASE WHEN isfinite(" + x + ") THEN " + x + " END"
	}
	switch c.kind {
	case kindText, kindDict:
		return "nullif(CAST(" + x + " AS VARCHAR), '')", "false"
	case kindTime:
		if in.isText() {
			return "TRY_CAST(" + x + " AS TIMESTAMP)", "false"
		}
		return "make_timestamp(epoch_us(" + x + "))", "false"
	case kindInt, kindBigint:
		whole := "TRY_CAST(" + x + " AS DECIMAL(38,6))"
		value = fmt.Sprintf("CASE WHEN %[1]s BETWEEN 0 AND %[2]d AND %[1]s = floor(%[1]s) THEN CAST(%[1]s AS %[3]s) END", whole, maxTokens, c.kind.sqlType())
		return value, fmt.Sprintf("(%s IS NOT NULL AND %s IS NULL AND %s IS DISTINCT FROM -1)", x, value, whole)
	}
	value = "TRY_CAST(" + x + " AS " + c.kind.sqlType() + ")"
	return value, fmt.Sprintf("(%s IS NOT NULL AND %s IS NULL)", x, value)
}

// asIs is value for columns that have the right type already, which files of our own have: casts of every value
// would triple the time of a load.
func asIs(kind columnKind, typ, x string) (value, bad string, ok bool) {
	switch {
	case (kind == kindInt || kind == kindBigint) && (typ == sqlInt || typ == sqlBigint):
		value = fmt.Sprintf("CAST(CASE WHEN %[1]s >= 0 AND %[1]s <= %[2]d THEN %[1]s END AS %[3]s)", x, maxTokens, kind.sqlType())
		return value, fmt.Sprintf("(%[1]s < -1 OR %[1]s > %[2]d)", x, maxTokens), true
	case (kind == kindText || kind == kindDict) && typ == sqlText:
		return "nullif(" + x + ", '')", "false", true
	case (kind == kindMillis || kind == kindMoney) && kind.sqlType() == typ: // damage makes numbers of more digits than the type has
		digits := strings.Repeat("9", 18-kind.scale()) + "." + strings.Repeat("9", kind.scale())
		within := fmt.Sprintf("%s BETWEEN -%s AND %s", x, digits, digits)
		return "CASE WHEN " + within + " THEN " + x + " END", "NOT (" + within + ")", true
	case kind != kindText && kind != kindDict && kind.sqlType() == typ:
		return x, "false", true
	}
	return "", "", false
}

// run loads rows and rejects, and counts.
func (p *parquetLoad) run(path string) (fileTally, []string, error) {
	t := newFileTally()
	if err := p.rejects(path, &t); err != nil {
		return t, nil, err
	}
	result, err := p.loader.conn.ExecContext(p.loader.ctx, "INSERT INTO requests "+p.rows())
	if err != nil {
		return t, nil, err
	}
	if t.rows, err = result.RowsAffected(); err != nil {
		return t, nil, err
	}
	if err := p.loadAttempts(); err != nil {
		return t, nil, err
	}
	if err := priceLoaded(p.loader, p.prices, &t); err != nil {
		return t, nil, err
	}
	missing, err := p.count(&t)
	if err == nil && t.quality&experiment.QualityBadValue != 0 {
		err = p.countUnread(&t)
	}
	return t, missing, err
}

// countUnread counts the values of kept rows that could not be read, by column. It reads the file once more.
func (p *parquetLoad) countUnread(t *fileTally) error {
	words := map[string]string{"status": statuses, "cost_source": costSources}
	var found []string
	for _, c := range requestColumns() {
		value, bad := p.value(c)
		if list, ok := words[c.name]; ok {
			bad = value + " NOT IN (" + list + ")"
		}
		in, there := p.columns[c.name]
		if !there || bad == "false" {
			continue
		}
		found = append(found, fmt.Sprintf("CASE WHEN %s THEN {'name': %s, 'text': left(CAST(%s AS VARCHAR), 200)} END", bad, quote(c.name), in.ident()))
	}
	if len(found) == 0 {
		return nil
	}
	rows, err := p.loader.conn.QueryContext(p.loader.ctx, "SELECT bad.name, count(*), min(line), arg_min(bad.text, line) FROM (SELECT file_row_number + 1 AS line, unnest(["+
		strings.Join(found, ", ")+"]) AS bad FROM "+p.from+" WHERE "+p.reason()+" IS NULL) WHERE bad IS NOT NULL GROUP BY 1")
	if err != nil {
		return err
	}
	_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
		var u UnreadField
		err := scan(&u.Column, &u.N, &u.Line, &u.Text)
		u.Text = clip([]byte(u.Text))
		t.addUnread(u)
		return struct{}{}, err
	})
	return err
}

// reason is the SQL of why a row is rejected, NULL when it is not.
func (p *parquetLoad) reason() string {
	id, _ := p.value(p.column("request_id"))
	ts, _ := p.value(p.column("ts"))
	model, _ := p.value(p.column("model"))
	status, _ := p.value(p.column("status"))
	raw := p.columns["ts"].ident()
	return fmt.Sprintf(`CASE WHEN %s IS NULL AND %s IS NOT NULL THEN %s WHEN %s IS NULL THEN %s WHEN %s IS NULL THEN %s
		WHEN (epoch_us(%s) BETWEEN %d AND %d) IS NOT TRUE THEN %s WHEN %s IS NULL AND %s IS DISTINCT FROM 'error' THEN %s END`,
		ts, raw, quote(reasonBadTime), id, quote(reasonNoID), ts, quote(reasonNoTime),
		ts, p.clock.earliest, p.clock.latest, quote(reasonTimeRange), model, status, quote(reasonNoModel))
}

func (p *parquetLoad) column(name string) column[request] {
	for _, c := range requestColumns() {
		if c.name == name {
			return c
		}
	}
	return column[request]{}
}

func (p *parquetLoad) rejects(path string, t *fileTally) error {
	_, err := p.loader.conn.ExecContext(p.loader.ctx, "INSERT INTO rejects SELECT ?, line, reason, text, ? FROM "+p.rejected(p.from)+" WHERE reason IS NOT NULL", path, p.loader.row.LoadID)
	if err != nil {
		return err
	}
	return p.countRejects(t, "rejects WHERE load_id = "+quote(p.loader.row.LoadID))
}

// rejected is the SQL of every row's line, text, and reason to reject it.
func (p *parquetLoad) rejected(from string) string {
	return "(SELECT file_row_number + 1 AS line, " + p.reason() + " AS reason, left(" + p.rawText() + ", 200) AS text FROM " + from + ")"
}

// countRejects counts lines by reason in a table of them.
func (p *parquetLoad) countRejects(t *fileTally, from string) error {
	rows, err := p.loader.conn.QueryContext(p.loader.ctx, "SELECT reason, count(*), min(line), arg_min(text, line) FROM "+from+" GROUP BY reason")
	if err != nil {
		return err
	}
	_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
		var r Reject
		var n int64
		err := scan(&r.Reason, &n, &r.Line, &r.Text)
		t.reasons[r.Reason], t.first[r.Reason] = n, r
		t.rejects += n
		return struct{}{}, err
	})
	return err
}

// rawText stands for the line that a row of columns does not have.
func (p *parquetLoad) rawText() string {
	var parts []string
	for _, name := range requiredColumns() {
		parts = append(parts, "'"+name+"=' || coalesce(CAST("+p.columns[name].ident()+" AS VARCHAR), 'NULL')")
	}
	return "regexp_replace(" + strings.Join(parts, " || ', ' || ") + `, '[\x00-\x1f\x7f]', '\\x', 'g')`
}

// rows is the SELECT of the table's columns for every row that is not rejected: values, then what contradicts
// itself becomes NULL, with the same quality bits as checkRow sets.
func (p *parquetLoad) rows() string {
	var values []string
	bad := []string{"false"}
	for _, c := range requestColumns() {
		value, unreadable := p.value(c)
		values = append(values, value+" AS "+c.name)
		if unreadable != "false" {
			bad = append(bad, unreadable)
		}
	}
	parsed := "SELECT " + strings.Join(values, ", ") + ", " + p.wholeRow() + " AS row_text, (" + strings.Join(bad, " OR ") + ") AS bad FROM " + p.from + " WHERE " + p.reason() + " IS NULL"
	known := func(name, list string) string {
		return "CASE WHEN " + name + " IN (" + list + ") THEN " + name + " END"
	}
	bit := func(condition string, b int64) string {
		return fmt.Sprintf("CASE WHEN %s THEN %d ELSE 0 END", condition, b)
	}
	quality := strings.Join([]string{
		"coalesce(quality, 0)",
		bit("bad OR n_429 > attempts OR status NOT IN ("+statuses+") OR cost_source NOT IN ("+costSources+")", experiment.QualityBadValue),
		bit("ttft_ms < 0 OR caller_ttft_ms < 0 OR total_ms < 0 OR failed_ms < 0", experiment.QualityNegativeTime),
		bit("greatest(ttft_ms, 0) > caller_ttft_ms AND ttft_ms >= 0 AND caller_ttft_ms >= 0 OR caller_ttft_ms > total_ms AND total_ms >= 0 OR ttft_ms > total_ms AND total_ms >= 0", experiment.QualityTTFTOverTotal),
		bit("cached_tokens > input_tokens", experiment.QualityCachedOverInput),
		bit("status = 'ok' AND output_tokens = 0", experiment.QualityEmptySuccess),
	}, " | ")
	id := p.id()
	var selected []string
	for _, c := range loadedRequestColumns(p.loader.row.LoadID, true) {
		switch {
		case c.name == "load_id":
			selected = append(selected, quote(p.loader.row.LoadID))
		case c.name == "arm_logged":
			selected = append(selected, "arm")
		case c.name == "request_id":
			selected = append(selected, id)
		case c.name == "source":
			selected = append(selected, "coalesce(source, '"+FormatCanonical+"')")
		case c.name == "source_row_id":
			selected = append(selected, "CASE WHEN source_row_id IN ('None', 'null') OR source_row_id IS NULL THEN "+id+" ELSE source_row_id END")
		case c.name == "status":
			selected = append(selected, known("status", statuses))
		case c.name == "cost_source":
			selected = append(selected, known("cost_source", costSources))
		case c.name == "quality":
			selected = append(selected, quality)
		case c.kind == kindMillis:
			selected = append(selected, "CASE WHEN "+c.name+" >= 0 THEN "+c.name+" END")
		default:
			selected = append(selected, c.name)
		}
	}
	return "SELECT " + strings.Join(selected, ", ") + " FROM (" + parsed + ")"
}

// id is the SQL of a row's id: one that stands for none is a hash of the row.
func (p *parquetLoad) id() string {
	return "CASE WHEN request_id IN ('None', 'null') THEN 'row-' || left(md5(row_text), 16) ELSE request_id END"
}

// wholeRow is the text of every column of the file, which names a row that has no id. Of other rows it is NULL: it takes
// longer than all else of a row.
func (p *parquetLoad) wholeRow() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(p.columns)) {
		parts = append(parts, "coalesce(CAST("+p.columns[name].ident()+" AS VARCHAR), '')")
	}
	id, _ := p.value(p.column("request_id"))
	return "CASE WHEN " + id + " IN ('None', 'null') THEN concat_ws('|', " + strings.Join(parts, ", ") + ") END"
}

// count fills the tally from the rows that were inserted, and names the columns without a value.
func (p *parquetLoad) count(t *fileTally) (missing []string, err error) {
	mine := " FROM requests WHERE load_id = " + quote(p.loader.row.LoadID)
	rows, err := p.loader.conn.QueryContext(p.loader.ctx, "SELECT coalesce(model, ''), count(*)"+mine+" GROUP BY 1")
	if err != nil {
		return nil, err
	}
	models, err := collect(rows, func(scan func(...any) error) (c Count, err error) { return c, scan(&c.Name, &c.N) })
	if err != nil {
		return nil, err
	}
	for _, m := range models {
		t.models[m.Name] = m.N
	}
	columns := requestColumns()
	selected := []string{"coalesce(min(epoch_us(ts)), 0)", "coalesce(max(epoch_us(ts)), 0)", "coalesce(bit_or(quality), 0)"}
	known := make([]int64, len(columns))
	targets := []any{&t.from, &t.to, &t.quality}
	for i, c := range columns {
		selected = append(selected, "count("+c.name+")")
		targets = append(targets, &known[i])
	}
	if err := p.loader.conn.QueryRowContext(p.loader.ctx, "SELECT "+strings.Join(selected, ", ")+mine).Scan(targets...); err != nil {
		return nil, err
	}
	for i, c := range columns {
		if known[i] == 0 {
			missing = append(missing, c.name)
		}
	}
	return missing, nil
}

// WriteParquet writes every request of the store with its attempts as a canonical Parquet file, sorted by arrival and id.
func (s *Store) WriteParquet(ctx context.Context, path string) error {
	var names []string
	for _, c := range requestColumns() {
		names = append(names, c.name)
	}
	_, err := s.db.ExecContext(ctx, "COPY (SELECT "+strings.Join(names, ", ")+", "+attemptList+" FROM requests LEFT JOIN (SELECT load_id, request_id, "+listValue()+" AS "+attemptList+
		" FROM attempts GROUP BY ALL) USING (load_id, request_id) ORDER BY ts, request_id) TO "+quote(path)+" (FORMAT parquet, COMPRESSION zstd)")
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), removeIfThere(path))
	}
	return nil
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
