package ingest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// source is one input, decompressed as it is read. Its hash and size are of the decompressed bytes.
type source struct {
	name       string // path, or "-"
	file       *os.File
	raw        *countingReader // compressed bytes read so far, for the progress
	size       int64           // compressed size, 0 when unknown
	plain      io.Reader
	compressed bool
	close      func()
	digest     hash.Hash
	bytes      int64
	marks      []mark
	last       byte // read so far
}

// mark asks for the hash of the first at bytes, and whether they end a line.
type mark struct {
	at      int64
	sum     string
	lineEnd bool
}

type countingReader struct {
	r io.Reader
	n atomic.Int64 // the progress is told while a file is read
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// errCutShort is wrapped by the error of a compressed file that ends too early.
var errCutShort = errors.New("compressed file is cut short or damaged")

// openSource opens a path, or stdin when it is "-", and looks through gzip and zstd by their first bytes.
func openSource(path string, stdin io.Reader) (*source, error) {
	s := &source{name: path, digest: sha256.New(), close: func() {}}
	var in io.Reader
	if path == "-" {
		if stdin == nil {
			return nil, errors.New("no standard input")
		}
		in = stdin
	} else {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err == nil {
			s.size = info.Size()
		}
		s.file, in = f, f
	}
	s.raw = &countingReader{r: in}
	if err := s.decompress(bufio.NewReaderSize(s.raw, 256<<10)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *source) decompress(in *bufio.Reader) error {
	magic, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.plain = in
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%w: %w", errCutShort, err)
		}
		s.plain, s.close, s.compressed = z, func() { z.Close() }, true //nolint:errcheck // only read
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return fmt.Errorf("%w: %w", errCutShort, err)
		}
		s.plain, s.close, s.compressed = z, z.Close, true
	}
	return nil
}

// Read reads decompressed bytes and adds them to the hash.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.plain.Read(p)
	s.hash(p[:n])
	if err != nil && !errors.Is(err, io.EOF) && s.compressed && !errors.As(err, new(*os.PathError)) {
		err = fmt.Errorf("%w: %w", errCutShort, err)
	}
	return n, err
}

func (s *source) hash(p []byte) {
	for i := range s.marks {
		m := &s.marks[i]
		if s.bytes <= m.at && m.at <= s.bytes+int64(len(p)) && m.sum == "" {
			cut := m.at - s.bytes
			s.add(p[:cut])
			p = p[cut:]
			m.sum = s.sum()
			m.lineEnd = s.last == '\n'
		}
	}
	s.add(p)
}

func (s *source) add(p []byte) {
	if len(p) > 0 {
		s.digest.Write(p)
		s.bytes += int64(len(p))
		s.last = p[len(p)-1]
	}
}

// sum is the hash of what was read so far.
func (s *source) sum() string { return hex.EncodeToString(s.digest.Sum(nil)) }

// Close closes the file.
func (s *source) Close() error {
	s.close()
	if s.file != nil {
		return s.file.Close()
	}
	return nil
}
