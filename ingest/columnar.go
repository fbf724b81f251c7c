package ingest

import (
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"switchback/experiment"
)

// recordReader is what files of columns are read through.
type recordReader interface {
	Schema() *arrow.Schema
	Next() bool
	Record() arrow.Record
	Err() error
}

// readRecords turns the records of a file of columns into rows. Lines of rejects are row numbers.
func readRecords(path string, records recordReader, sink *rowSink) ([]string, error) {
	rows := columnarRows{canonicalRows: newCanonicalRows(sink)}
	unknown, err := rows.setSchema(path, records.Schema())
	if err != nil {
		return nil, err
	}
	for sink.err == nil && records.Next() {
		rows.record(records.Record())
	}
	if err := records.Err(); err != nil {
		return unknown, damaged(path, err)
	}
	sink.flush()
	return unknown, sink.err
}

type columnarRows struct {
	*canonicalRows
	places []int
	text   []byte
}

func (c *columnarRows) setSchema(path string, schema *arrow.Schema) (unknown []string, err error) {
	var names []string
	for _, f := range schema.Fields() {
		place := c.find([]byte(f.Name))
		c.places = append(c.places, place)
		names = append(names, f.Name)
		switch {
		case place == columnUnknown:
			unknown = append(unknown, f.Name)
		case place >= 0 && !holdsValues(f.Type, f.Name == "request_id" || f.Name == "ts"):
			return unknown, inputError{path, "column " + f.Name + " is " + f.Type.String() + ", which is not one value a row", ""}
		}
	}
	return unknown, refuseColumns(path, names)
}

// holdsValues tells whether a type is of single values, one a row. Those of a column that every row needs take room in the
// file, so that a damaged number of rows is not believed.
func holdsValues(t arrow.DataType, required bool) bool {
	switch t := t.(type) {
	case arrow.ExtensionType:
		return holdsValues(t.StorageType(), required)
	case arrow.NestedType, arrow.EncodedType: // lists, structs, unions; run-end encoding
		return false
	case *arrow.NullType:
		return !required
	case *arrow.FixedSizeBinaryType:
		return t.ByteWidth > 0
	}
	return true
}

func (c *columnarRows) record(record arrow.Record) {
	n := int(record.NumRows())
	for i := range n {
		c.begin(c.line + 1)
		r := c.sink.row()
		reason := ""
		for col, place := range c.places {
			if place == columnList && record.Column(col).IsValid(i) {
				c.setAttempts(r, []byte(record.Column(col).ValueStr(i)))
			}
			if place < 0 || reason != "" {
				continue
			}
			if a := record.Column(col); a.IsValid(i) {
				reason = c.setValue(r, place, a, i)
			}
		}
		if reason != "" {
			c.sink.unread = slices.Clone(c.sink.unread) // the text of the row goes where it may lie
			text := c.rowText(r)
			c.sink.drop()
			c.sink.reject(c.line, reason, text)
			continue
		}
		c.finish(r, c.rowText(r))
	}
}

// rowText stands for the line that a row of columns does not have. It is only needed when a row is rejected
// or has no id.
func (c *columnarRows) rowText(r *request) []byte {
	if r.RequestID != "" && r.Model != "" && r.TS != 0 && !isNone(r.RequestID) && c.sink.clock.plausible(int64(r.TS)) {
		return nil
	}
	c.text = appendJSONRow(c.text[:0], c.columns, r)
	return c.text
}

// setValue gives a row the i-th value of a column.
func (c *columnarRows) setValue(r *request, place int, a arrow.Array, i int) (reason string) {
	col := &c.columns[place]
	switch a := a.(type) {
	case *array.Decimal128:
		if scale := a.DataType().(*arrow.Decimal128Type).Scale; int(scale) == col.kind.scale() && col.set != nil {
			v := a.Value(i)
			if v.HighBits() == int64(v.LowBits())>>63 && abs(int64(v.LowBits())) < decimalLimit {
				col.set(r, int64(v.LowBits()))
				return ""
			}
		}
	case *array.Timestamp:
		if col.kind == kindTime {
			return setTime(r, a, i)
		}
	case *array.Int32:
		return c.setInteger(r, place, int64(a.Value(i)))
	case *array.Int64:
		return c.setInteger(r, place, a.Value(i))
	case *array.Boolean:
		if col.kind == kindBool {
			v := int64(0)
			if a.Value(i) {
				v = 1
			}
			col.set(r, v)
			return ""
		}
	case *array.Float64:
		// The shortest text of a double is the decimal number that was meant.
		c.text = strconv.AppendFloat(c.text[:0], a.Value(i), 'f', -1, 64)
		return c.setNumber(r, place, c.text)
	}
	text := a.ValueStr(i)
	if d, ok := a.(*array.Dictionary); ok {
		text = d.Dictionary().ValueStr(d.GetValueIndex(i))
	}
	c.text = append(c.text[:0], text...)
	switch a.DataType().ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.DICTIONARY, arrow.STRING_VIEW, arrow.BINARY:
		return c.set(r, place, c.text)
	}
	return c.setNumber(r, place, c.text)
}

// setInteger sets a whole number in the unit of the column.
func (c *columnarRows) setInteger(r *request, place int, v int64) string {
	if col := &c.columns[place]; (col.kind == kindInt || col.kind == kindBigint) && v >= 0 && v <= maxTokens {
		col.set(r, v)
		return ""
	}
	c.text = strconv.AppendInt(c.text[:0], v, 10)
	return c.setNumber(r, place, c.text)
}

func (c *columnarRows) setNumber(r *request, place int, text []byte) string {
	if c.columns[place].kind == kindTime {
		c.sink.unread = text
		return reasonNumberTime
	}
	return c.set(r, place, text)
}

func setTime(r *request, a *array.Timestamp, i int) string {
	v := int64(a.Value(i))
	switch a.DataType().(*arrow.TimestampType).Unit {
	case arrow.Second:
		if abs(v) > decimalLimit/1_000_000 {
			return reasonTimeRange
		}
		v *= 1_000_000
	case arrow.Millisecond:
		if abs(v) > decimalLimit/1000 {
			return reasonTimeRange
		}
		v *= 1000
	case arrow.Nanosecond:
		v = floorDiv(v, 1000)
	}
	r.TS = experiment.Instant(v)
	return ""
}

// scale is the number of decimals of a kind.
func (k columnKind) scale() int {
	switch k {
	case kindMillis:
		return 3
	case kindMoney:
		return 9
	}
	return 0
}

func abs(v int64) int64 {
	if v < 0 {
		return -v
	}
	return v
}
