package ingest

import (
	"errors"
	"fmt"

	"github.com/google/flatbuffers/go"
)

// The metadata of a message is a flatbuffer, tables and vectors that point to each other. Of what Arrow's Message.fbs and
// Schema.fbs lay down, this is what decides how much memory and how many steps the library spends on it: a table's field is
// named by its slot, four plus twice its number.
const (
	slotHeaderType = 6 // of a Message
	slotHeader     = 8
	slotBodyLength = 10

	slotFields         = 6 // of a Schema
	slotSchemaMetadata = 8

	slotName          = 4 // of a Field
	slotType          = 8
	slotTypeTable     = 10
	slotDictionary    = 12
	slotChildren      = 14
	slotFieldMetadata = 16

	slotKey   = 4 // of a KeyValue
	slotValue = 6

	slotTypeIDs = 6 // of a Union

	slotNodes         = 6 // of a RecordBatch
	slotBuffers       = 8
	slotVariadicCount = 12

	slotDictionaryID   = 4 // of a DictionaryEncoding and of a DictionaryBatch
	slotDictionaryRows = 6
)

// Kinds of messages and of types, as far as they matter here.
const (
	headerSchema, headerDictionary, headerRecord = 1, 2, 3
	typeUnion, typeBinaryView, typeTextView      = 14, 23, 24
)

// maxIPCDepth is how deep types may be nested; the library reads no record of deeper ones.
const maxIPCDepth = 64

var errIPCMetadata = errors.New("metadata of a message is damaged")

// ipcMetadata checks the metadata of a stream's messages: no vector is longer than the bytes that are there, and no part is
// pointed to so often that reading it would take much more than the metadata's own size.
type ipcMetadata struct {
	views     int           // of a record's columns: those that have as many buffers as the message says
	dictViews map[int64]int // the same of the values of a dictionary
}

// check checks a message, of which a schema must come first, and returns the length of its body.
func (m *ipcMetadata) check(meta []byte) (bodyLength int64, err error) {
	defer func() {
		if recover() != nil { // an offset that leads out of the bytes
			err = errIPCMetadata
		}
	}()
	c := ipcCheck{metadata: m, left: 4 * len(meta)}
	message := ipcTable{flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}}
	if header, ok := message.table(slotHeader); ok {
		switch message.GetByteSlot(slotHeaderType, 0) {
		case headerSchema:
			m.views, m.dictViews = 0, map[int64]int{}
			c.schema(header)
		case headerDictionary:
			if rows, ok := header.table(slotDictionaryRows); ok {
				c.record(rows, m.dictViews[header.GetInt64Slot(slotDictionaryID, 0)])
			}
		case headerRecord:
			c.record(header, m.views)
		}
	}
	return message.GetInt64Slot(slotBodyLength, 0), c.err
}

// ipcTable is a table of a flatbuffer. Reading out of its bytes panics.
type ipcTable struct{ flatbuffers.Table }

func (t ipcTable) table(slot flatbuffers.VOffsetT) (ipcTable, bool) {
	at := t.Offset(slot)
	if at == 0 {
		return ipcTable{}, false
	}
	return ipcTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(t.Pos + flatbuffers.UOffsetT(at))}}, true
}

// element is the i-th table of a vector of them.
func (t ipcTable) element(start flatbuffers.UOffsetT, i int) ipcTable {
	return ipcTable{flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(start + 4*flatbuffers.UOffsetT(i))}}
}

// ipcCheck is the check of one message.
type ipcCheck struct {
	metadata *ipcMetadata
	left     int // bytes that may still be read; honest metadata is read once
	err      error
}

// spend takes from what may be read.
func (c *ipcCheck) spend(bytes int) {
	if c.left -= bytes; c.left < 0 && c.err == nil {
		c.err = errIPCMetadata
	}
}

// vector is the start and the length of a vector whose elements have so many bytes. After an error it is empty.
func (c *ipcCheck) vector(t ipcTable, slot flatbuffers.VOffsetT, size int) (start flatbuffers.UOffsetT, n int) {
	at := flatbuffers.UOffsetT(t.Offset(slot))
	if at == 0 || c.err != nil {
		return 0, 0
	}
	start, n = t.Vector(at), t.VectorLen(at)
	if there := len(t.Bytes) - int(start); n*size > there {
		c.err = fmt.Errorf("metadata of a message is damaged: %d elements in %d bytes", n, max(there, 0))
		return 0, 0
	}
	if c.spend(n * size); c.err != nil {
		return 0, 0
	}
	return start, n
}

// tableBytes is less than what a table of a vector takes with all that belongs to it.
const tableBytes = 16

func (c *ipcCheck) tables(t ipcTable, slot flatbuffers.VOffsetT, each func(ipcTable)) {
	start, n := c.vector(t, slot, 4)
	for i := 0; i < n && c.err == nil; i++ {
		c.spend(tableBytes)
		each(t.element(start, i))
	}
}

func (c *ipcCheck) schema(schema ipcTable) {
	c.tables(schema, slotFields, func(field ipcTable) { c.metadata.views += c.field(field, maxIPCDepth) })
	c.keyValues(schema, slotSchemaMetadata)
}

func (c *ipcCheck) keyValues(t ipcTable, slot flatbuffers.VOffsetT) {
	c.tables(t, slot, func(pair ipcTable) {
		c.vector(pair, slotKey, 1)
		c.vector(pair, slotValue, 1)
	})
}

// field returns how many columns with a stated number of buffers a field has. A column with a dictionary has none: its
// values come in messages of their own.
func (c *ipcCheck) field(field ipcTable, depth int) (views int) {
	if depth == 0 {
		c.err = errors.New("types are nested too deep")
		return 0
	}
	c.vector(field, slotName, 1)
	c.keyValues(field, slotFieldMetadata)
	switch field.GetByteSlot(slotType, 0) {
	case typeBinaryView, typeTextView:
		views++
	case typeUnion:
		if union, ok := field.table(slotTypeTable); ok {
			c.vector(union, slotTypeIDs, 4)
		}
	}
	c.tables(field, slotChildren, func(child ipcTable) { views += c.field(child, depth-1) })
	if encoding, ok := field.table(slotDictionary); ok {
		c.metadata.dictViews[encoding.GetInt64Slot(slotDictionaryID, 0)] = views
		return 0
	}
	return views
}

// record checks a batch of rows, so many of whose columns have as many buffers as the batch says.
func (c *ipcCheck) record(rows ipcTable, views int) {
	c.vector(rows, slotNodes, 16)
	_, buffers := c.vector(rows, slotBuffers, 16)
	start, n := c.vector(rows, slotVariadicCount, 8)
	if n < views && c.err == nil {
		c.err = errIPCMetadata
	}
	for i := range n {
		if count := rows.GetInt64(start + 8*flatbuffers.UOffsetT(i)); count < 0 || count > int64(buffers) {
			c.err = errIPCMetadata
		}
	}
}
