package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/google/flatbuffers/go"
)

// Most bytes of one part of an Arrow IPC message. The library allocates what a message claims to hold; these
// bounds, and reading no more than there is, keep a damaged file from claiming gigabytes.
const (
	maxIPCMetadata = 16 << 20
	maxIPCBody     = 1 << 30
)

var errIPCSize = errors.New("a message claims an impossible size")

// ipcMessages reads the messages of an Arrow IPC stream. It implements ipc.MessageReader.
type ipcMessages struct {
	in      io.Reader
	current *ipc.Message
}

// Retain and Release do nothing: the messages are Go memory.
func (m *ipcMessages) Retain()  {}
func (m *ipcMessages) Release() {}

// Message returns the next message, valid until the next call; io.EOF at the end of the stream.
func (m *ipcMessages) Message() (*ipc.Message, error) {
	size, err := m.size()
	if err != nil {
		return nil, err
	}
	meta, err := readUpTo(m.in, size, maxIPCMetadata)
	if err != nil {
		return nil, err
	}
	bodySize, err := bodyLength(meta)
	if err != nil {
		return nil, err
	}
	body, err := readUpTo(m.in, bodySize, maxIPCBody)
	if err != nil {
		return nil, err
	}
	if m.current != nil {
		m.current.Release()
	}
	m.current = ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body))
	return m.current, nil
}

// size reads the length of a message's metadata, with or without the marker that newer versions put before it.
func (m *ipcMessages) size() (int64, error) {
	var word [4]byte
	if _, err := io.ReadFull(m.in, word[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		return 0, err
	}
	if binary.LittleEndian.Uint32(word[:]) == 0xffffffff {
		if _, err := io.ReadFull(m.in, word[:]); err != nil {
			return 0, io.ErrUnexpectedEOF
		}
	}
	size := int64(int32(binary.LittleEndian.Uint32(word[:])))
	if size == 0 {
		return 0, io.EOF
	}
	return size, nil
}

// readUpTo reads exactly n bytes, allocating no faster than they come.
func readUpTo(in io.Reader, n, limit int64) ([]byte, error) {
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: %d bytes", errIPCSize, n)
	}
	var b bytes.Buffer
	if got, err := io.CopyN(&b, in, n); err != nil {
		return nil, fmt.Errorf("message ends after %d of %d bytes", got, n)
	}
	return b.Bytes(), nil
}

// bodyLength reads the field bodyLength of a Message (fourth of its table in Arrow's Message.fbs).
func bodyLength(meta []byte) (n int64, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("metadata of a message is damaged")
		}
	}()
	table := flatbuffers.Table{Bytes: meta, Pos: flatbuffers.GetUOffsetT(meta)}
	const bodyLengthSlot = 10
	if at := table.Offset(bodyLengthSlot); at != 0 {
		n = table.GetInt64(flatbuffers.UOffsetT(at) + table.Pos)
	}
	return n, nil
}

// boundedAllocator refuses what no honest record needs: lengths inside compressed messages are claims too.
type boundedAllocator struct{ memory.Allocator }

func (b boundedAllocator) Allocate(size int) []byte {
	checkAllocation(size)
	return b.Allocator.Allocate(size)
}

func (b boundedAllocator) Reallocate(size int, old []byte) []byte {
	checkAllocation(size)
	return b.Allocator.Reallocate(size, old)
}

func checkAllocation(size int) {
	if size < 0 || size > maxIPCBody {
		panic(errIPCSize) // recovered by recoverDamage
	}
}
