package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Most bytes of one part of an Arrow IPC message. The library allocates what a message claims to hold; these
// bounds, and reading no more than there is, keep a damaged file from claiming gigabytes.
const (
	maxIPCMetadata = 16 << 20
	maxIPCBody     = 1 << 30
	maxIPCRecord   = 4 << 30 // decompressed
)

var (
	errIPCSize    = errors.New("a message claims an impossible size")
	errEndMissing = errors.New("cut short: the end of the file is missing")
)

// ended is the error of reading what should be there.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errEndMissing
	}
	return err
}

// ipcMessages reads the messages of an Arrow IPC stream, or of a file behind its magic word. It implements
// ipc.MessageReader.
type ipcMessages struct {
	in       io.Reader
	isFile   bool
	metadata ipcMetadata
	current  *ipc.Message
	given    int64 // bytes of memory for what the current message holds
	marked   bool  // messages begin with a marker
	footer   int64 // bytes of a file's footer that were read already
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
	bodySize, err := m.metadata.check(meta)
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
	m.given = 0
	m.current = ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body))
	return m.current, nil
}

// size reads the length of a message's metadata, with or without the marker that newer versions put before it. Where
// messages have one, a word without it is the beginning of a file's footer.
func (m *ipcMessages) size() (int64, error) {
	word, err := m.word()
	if err != nil {
		return 0, err
	}
	switch {
	case word == ipcMarker:
		m.marked = true
		if word, err = m.word(); err != nil {
			return 0, ended(err)
		}
	case m.marked && m.isFile && word != 0:
		m.footer = 4
		word = 0
	}
	if word == 0 {
		return 0, io.EOF
	}
	return int64(int32(word)), nil
}

const ipcMarker = 0xffffffff

func (m *ipcMessages) word() (uint32, error) {
	var word [4]byte
	if _, err := io.ReadFull(m.in, word[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errEndMissing
		}
		return 0, err
	}
	return binary.LittleEndian.Uint32(word[:]), nil
}

// ipcPadding is more than a writer puts between the messages of a file and its footer, to align it.
const ipcPadding = 64

// end reads what follows the messages: nothing behind those of a stream, and a footer of the length that it states behind
// those of a file. Anything else are messages that were not read.
func (m *ipcMessages) end() error {
	var rest lastBytes
	if _, err := io.Copy(&rest, m.in); err != nil {
		return err
	}
	if !m.isFile {
		if rest.n > 0 {
			return fmt.Errorf("%d bytes follow the end of the messages", rest.n)
		}
		return nil
	}
	if !bytes.HasSuffix(rest.last, []byte(arrowMagic)) || len(rest.last) < footerEnd {
		return errEndMissing
	}
	footer := int64(binary.LittleEndian.Uint32(rest.last)) + int64(footerEnd)
	if over := m.footer + rest.n - footer; over < 0 || over >= ipcPadding {
		return errors.New("the footer does not follow the messages")
	}
	return nil
}

// footerEnd is the length of a file's last part: the length of its footer, and the magic word.
const footerEnd = 4 + len(arrowMagic)

// lastBytes counts the bytes that are written to it and keeps the last of them.
type lastBytes struct {
	n    int64
	last []byte // at most footerEnd
}

func (l *lastBytes) Write(p []byte) (int, error) {
	l.n += int64(len(p))
	l.last = append(l.last, p[max(0, len(p)-footerEnd):]...)
	l.last = l.last[max(0, len(l.last)-footerEnd):]
	return len(p), nil
}

// readUpTo reads exactly n bytes, allocating no faster than they come.
func readUpTo(in io.Reader, n, limit int64) ([]byte, error) {
	if n < 0 || n > limit {
		return nil, fmt.Errorf("%w: %d bytes", errIPCSize, n)
	}
	var b bytes.Buffer
	if _, err := io.CopyN(&b, in, n); err != nil {
		return nil, ended(err)
	}
	return b.Bytes(), nil
}

// ipcAllocator gives out what the records of a stream take in memory. It refuses what no honest record needs: lengths inside
// compressed messages are claims too, and bytes of one compressed message may stand for millions.
type ipcAllocator struct {
	memory.Allocator
	messages *ipcMessages
}

// Allocate gives out memory, as the interface says, or panics with errIPCSize, which recoverDamage turns into an error.
func (a ipcAllocator) Allocate(size int) []byte {
	a.claim(size)
	return a.Allocator.Allocate(size)
}

// Reallocate is Allocate for memory that grows.
func (a ipcAllocator) Reallocate(size int, old []byte) []byte {
	a.claim(size)
	return a.Allocator.Reallocate(size, old)
}

func (a ipcAllocator) claim(size int) {
	if size < 0 || size > maxIPCBody {
		panic(errIPCSize)
	}
	if a.messages.given += int64(size); a.messages.given > maxIPCRecord {
		panic(errIPCSize)
	}
}
