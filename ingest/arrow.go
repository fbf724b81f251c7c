package ingest

import (
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// recordRows is the number of rows of one Arrow record: those of a row group of DuckDB, which then writes every record as it
// comes instead of putting pieces together.
const recordRows = 120 << 10

// decimalLimit bounds what DECIMAL(18, …) holds, in its smallest unit.
const decimalLimit = 1_000_000_000_000_000_000

func (k columnKind) arrowType() arrow.DataType {
	switch k {
	case kindDict:
		return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: arrow.BinaryTypes.String}
	case kindBool:
		return arrow.FixedWidthTypes.Boolean
	case kindInt:
		return arrow.PrimitiveTypes.Int32
	case kindBigint:
		return arrow.PrimitiveTypes.Int64
	case kindTime:
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case kindMillis:
		return &arrow.Decimal128Type{Precision: 18, Scale: 3}
	case kindMoney:
		return &arrow.Decimal128Type{Precision: 18, Scale: 9}
	default:
		return arrow.BinaryTypes.String
	}
}

func arrowSchema[Row any](cols []column[Row]) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.name, Type: c.kind.arrowType(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// recordBuilder collects rows column by column until they make an Arrow record.
type recordBuilder[Row any] struct {
	schema *arrow.Schema
	cols   []columnBuilder[Row]
	rows   int
}

func newRecordBuilder[Row any](alloc memory.Allocator, cols []column[Row]) *recordBuilder[Row] {
	b := &recordBuilder[Row]{schema: arrowSchema(cols), cols: make([]columnBuilder[Row], len(cols))}
	for i, c := range cols {
		b.cols[i] = columnBuilder[Row]{column: c, alloc: alloc}
	}
	return b
}

// append adds as many of rows as fit the record and returns the rest.
func (b *recordBuilder[Row]) append(rows []Row) (rest []Row, err error) {
	n := min(len(rows), recordRows-b.rows)
	for part := range slices.Chunk(rows[:n], 256) { // a part stays in the cache while the columns walk over it
		for i := range b.cols {
			if err := b.cols[i].append(part, b.rows); err != nil {
				return nil, err
			}
		}
		b.rows += len(part)
	}
	return rows[n:], nil
}

func (b *recordBuilder[Row]) full() bool { return b.rows == recordRows }

// finish returns the collected rows as a record and starts a new one.
func (b *recordBuilder[Row]) finish() arrow.Record {
	arrays := make([]arrow.Array, len(b.cols))
	for i := range b.cols {
		arrays[i] = b.cols[i].finish(b.rows)
	}
	record := array.NewRecord(b.schema, arrays, int64(b.rows))
	for _, a := range arrays {
		a.Release()
	}
	b.rows = 0
	return record
}

// release frees what was collected and not finished.
func (b *recordBuilder[Row]) release() { b.finish().Release() }

// columnBuilder holds one column of the record that is being built. Its buffers live outside Go's heap, since
// DuckDB reads them from C.
type columnBuilder[Row any] struct {
	column[Row]
	alloc memory.Allocator
	valid *memory.Buffer // one bit a row
	fixed *memory.Buffer // values, or offsets of text, or indices of a dictionary
	chars *memory.Buffer // of text
	most  int            // bytes that chars ever had room for
	nulls int

	words map[string]uint32 // of a dictionary
	order []string          // words by index
	last  string            // word of the row before
	index uint32            // of last
}

func (c *columnBuilder[Row]) start() {
	c.valid, c.fixed = memory.NewResizableBuffer(c.alloc), memory.NewResizableBuffer(c.alloc)
	c.valid.Resize(recordRows / 8)
	memory.Set(c.valid.Bytes(), 0)
	c.nulls = 0
	switch c.kind {
	case kindText:
		c.fixed.Resize(4 * (recordRows + 1))
		arrow.Int32Traits.CastFromBytes(c.fixed.Bytes())[0] = 0
		c.chars = memory.NewResizableBuffer(c.alloc)
		c.chars.Reserve(max(c.most, 16*recordRows))
	case kindDict:
		c.fixed.Resize(4 * recordRows)
		if c.words == nil {
			c.words = map[string]uint32{}
		}
		clear(c.words)
		c.order, c.last = c.order[:0], ""
	case kindBool:
		c.fixed.Resize(recordRows / 8)
		memory.Set(c.fixed.Bytes(), 0)
	case kindInt:
		c.fixed.Resize(4 * recordRows)
	case kindMillis, kindMoney:
		c.fixed.Resize(16 * recordRows)
	default:
		c.fixed.Resize(8 * recordRows)
	}
}

func (c *columnBuilder[Row]) append(rows []Row, at int) error {
	if c.fixed == nil {
		c.start()
	}
	valid := c.valid.Bytes()
	switch c.kind {
	case kindText:
		return c.appendText(rows, at, valid)
	case kindDict:
		c.appendWords(rows, at, valid)
		return nil
	default:
		return c.appendNumbers(rows, at, valid)
	}
}

func (c *columnBuilder[Row]) appendText(rows []Row, at int, valid []byte) error {
	offsets := arrow.Int32Traits.CastFromBytes(c.fixed.Bytes())
	end := int(offsets[at])
	for i := range rows {
		s := *c.text(&rows[i])
		if end+len(s) > math.MaxInt32 {
			return fmt.Errorf("column %s: more than 2 GiB of text in one record", c.name)
		}
		if s == "" {
			c.nulls++
		} else {
			bitutil.SetBit(valid, at+i)
			if end+len(s) > c.chars.Cap() {
				c.chars.Reserve(2 * (end + len(s)))
				c.most = c.chars.Cap()
			}
			c.chars.ResizeNoShrink(end + len(s))
			copy(c.chars.Bytes()[end:], s)
			end += len(s)
		}
		offsets[at+i+1] = int32(end)
	}
	return nil
}

func (c *columnBuilder[Row]) appendWords(rows []Row, at int, valid []byte) {
	indices := arrow.Uint32Traits.CastFromBytes(c.fixed.Bytes())
	for i := range rows {
		s := *c.text(&rows[i])
		if s == "" {
			c.nulls++
			indices[at+i] = 0
			continue
		}
		if s != c.last {
			k, ok := c.words[s]
			if !ok {
				k = uint32(len(c.order))
				c.words[s] = k
				c.order = append(c.order, s)
			}
			c.last, c.index = s, k
		}
		bitutil.SetBit(valid, at+i)
		indices[at+i] = c.index
	}
}

func (c *columnBuilder[Row]) appendNumbers(rows []Row, at int, valid []byte) error {
	fixed := c.fixed.Bytes()
	for i := range rows {
		v, known := c.number(&rows[i])
		if !known {
			c.nulls++
			v = 0
		} else {
			bitutil.SetBit(valid, at+i)
		}
		switch c.kind {
		case kindBool:
			if v != 0 {
				bitutil.SetBit(fixed, at+i)
			}
		case kindInt:
			arrow.Int32Traits.CastFromBytes(fixed)[at+i] = int32(v)
		case kindMillis, kindMoney:
			if v >= decimalLimit || v <= -decimalLimit {
				return fmt.Errorf("column %s: %d is out of the range of %s", c.name, v, c.kind.sqlType())
			}
			arrow.Decimal128Traits.CastFromBytes(fixed)[at+i] = decimal128.FromI64(v)
		default:
			arrow.Int64Traits.CastFromBytes(fixed)[at+i] = v
		}
	}
	return nil
}

// finish returns the column's array of n rows and leaves the builder empty.
func (c *columnBuilder[Row]) finish(n int) arrow.Array {
	if c.fixed == nil {
		c.start()
	}
	buffers := []*memory.Buffer{c.valid, c.fixed}
	if c.nulls == 0 {
		buffers[0] = nil
	}
	var words arrow.ArrayData
	switch c.kind {
	case kindText:
		buffers = append(buffers, c.chars)
	case kindDict:
		words = c.dictionary()
		defer words.Release()
	}
	data := newData(c.kind.arrowType(), n, buffers, words, c.nulls)
	defer data.Release()
	for _, b := range []*memory.Buffer{c.valid, c.fixed, c.chars} {
		if b != nil {
			b.Release()
		}
	}
	c.valid, c.fixed, c.chars = nil, nil, nil
	return array.MakeFromData(data)
}

func newData(t arrow.DataType, n int, buffers []*memory.Buffer, words arrow.ArrayData, nulls int) *array.Data {
	if words == nil {
		return array.NewData(t, n, buffers, nil, nulls, 0)
	}
	return array.NewDataWithDictionary(t, n, buffers, nulls, 0, words.(*array.Data))
}

func (c *columnBuilder[Row]) dictionary() arrow.ArrayData {
	b := array.NewStringBuilder(c.alloc)
	defer b.Release()
	b.AppendValues(c.order, nil)
	words := b.NewArray()
	defer words.Release()
	words.Data().Retain()
	return words.Data()
}
