package ingest

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
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
	for part := range slices.Chunk(rows[:n], 64) { // a part stays in the cache while the columns walk over it
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
func (b *recordBuilder[Row]) release() {
	for i := range b.cols {
		b.cols[i].release()
	}
	b.rows = 0
}

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

	values [64]int64 // of a few rows

	words  map[string]uint32 // of a dictionary
	order  []string          // words by index
	recent [32]word          // some of them, by where the text lies
}

// word is a word of a dictionary.
type word struct {
	text  string
	index uint32
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
		c.order, c.recent = c.order[:0], [len(c.recent)]word{}
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

// append adds at most 64 rows behind at others.
func (c *columnBuilder[Row]) append(rows []Row, at int) error {
	if c.fixed == nil {
		c.start()
	}
	var known uint64
	var err error
	switch c.kind {
	case kindText:
		known, err = c.appendText(c.texts(rows), len(rows), at)
	case kindDict:
		known = c.appendWords(c.texts(rows), len(rows), at)
	default:
		known, err = c.appendNumbers(rows, at)
	}
	setBits(c.valid.Bytes(), at, known)
	c.nulls += len(rows) - bits.OnesCount64(known)
	return err
}

// setBits sets the bits of mask in a bitmap, from bit at.
func setBits(bitmap []byte, at int, mask uint64) {
	words := arrow.Uint64Traits.CastFromBytes(bitmap)
	word, shift := at/64, at%64
	words[word] |= mask << shift
	if over := mask >> 1 >> (63 - shift); over != 0 {
		words[word+1] |= over
	}
}

func (c *columnBuilder[Row]) appendText(rows texts, n, at int) (known uint64, err error) {
	offsets := arrow.Int32Traits.CastFromBytes(c.fixed.Bytes())[at:]
	chars, end := c.chars.Buf(), int(offsets[0])
	for i := range n {
		if s := rows.at(i); s != "" {
			known |= 1 << i
			if end+len(s) > len(chars) {
				if end+len(s) > math.MaxInt32 {
					return 0, fmt.Errorf("column %s: more than 2 GiB of text in one record", c.name)
				}
				c.chars.ResizeNoShrink(end)
				c.chars.Reserve(2 * (end + len(s)))
				chars = c.chars.Buf()
				c.most = len(chars)
			}
			end += copy(chars[end:], s)
		}
		offsets[i+1] = int32(end)
	}
	c.chars.ResizeNoShrink(end)
	return known, nil
}

func (c *columnBuilder[Row]) appendWords(rows texts, n, at int) (known uint64) {
	indices := arrow.Uint32Traits.CastFromBytes(c.fixed.Bytes())[at : at+n]
	for i := range indices {
		s := rows.at(i)
		if s == "" {
			indices[i] = 0
			continue
		}
		known |= 1 << i
		indices[i] = c.word(s)
	}
	return known
}

// word is the index of a text in the dictionary. Equal texts of rows most often lie at one place.
func (c *columnBuilder[Row]) word(s string) uint32 {
	r := &c.recent[(uintptr(unsafe.Pointer(unsafe.StringData(s)))>>3+uintptr(len(s)))%uintptr(len(c.recent))]
	if r.text == s {
		return r.index
	}
	k, ok := c.words[s]
	if !ok {
		k = uint32(len(c.order))
		c.words[s] = k
		c.order = append(c.order, s)
	}
	*r = word{s, k}
	return k
}

func (c *columnBuilder[Row]) appendNumbers(rows []Row, at int) (known uint64, err error) {
	fixed, n := c.fixed.Bytes(), len(rows)
	values := c.values[:n]
	switch c.kind {
	case kindBool:
		known = c.numbers(rows, values)
		var set uint64
		for i, v := range values {
			set |= uint64(v) << i
		}
		setBits(fixed, at, set)
	case kindInt:
		known = c.numbers(rows, values)
		out := arrow.Int32Traits.CastFromBytes(fixed)[at : at+n]
		for i, v := range values {
			out[i] = int32(v)
		}
	case kindMillis, kindMoney:
		known = c.numbers(rows, values)
		out := arrow.Decimal128Traits.CastFromBytes(fixed)[at : at+n]
		for i, v := range values {
			if v >= decimalLimit || v <= -decimalLimit {
				return 0, fmt.Errorf("column %s: %d is out of the range of %s", c.name, v, c.kind.sqlType())
			}
			out[i] = decimal128.FromI64(v)
		}
	default:
		known = c.numbers(rows, arrow.Int64Traits.CastFromBytes(fixed)[at:at+n])
	}
	return known, nil
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
	c.release()
	return array.MakeFromData(data)
}

// release lets go of the buffers.
func (c *columnBuilder[Row]) release() {
	for _, b := range []*memory.Buffer{c.valid, c.fixed, c.chars} {
		if b != nil {
			b.Release()
		}
	}
	c.valid, c.fixed, c.chars = nil, nil, nil
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
