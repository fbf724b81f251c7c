package ingest

import (
	"bufio"
	"cmp"
	"container/heap"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"switchback/experiment"
)

// errUnsorted asks for the file again with its rows put into the order of time first: attempts of one request may stand so
// far apart that a buffer does not bring them together.
var errUnsorted = errors.New("attempts need the order of time")

// spoolRows is the number of rows that are sorted in memory.
const spoolRows = 32 << 10

// spool sorts any number of rows by their start, and rows of one instant by their line: parts that fit the memory are
// sorted there, laid into a file, and merged. The file has no name from the moment it is made, so nothing is left of it
// whatever ends the program.
type spool struct {
	folder string // of the file; "" is the system's for temporary files
	most   int    // rows that are sorted in memory
	file   *os.File
	parts  []int64 // where each ends
	buffer []mappedRow
}

// spooledRow is a mappedRow as it lies in the file.
type spooledRow struct {
	Request  experiment.Request
	Attempts []experiment.Attempt
	Line     int64
	Text     []byte
	Unread   []UnreadField
	Key      string
	Open     bool
	Gap      experiment.Micros
	Sums     bool
}

func (s *spool) add(row *mappedRow) error {
	s.buffer = append(s.buffer, *row)
	if len(s.buffer) < s.most {
		return nil
	}
	return s.layDown()
}

func inTime(a, b mappedRow) int {
	return cmp.Or(cmp.Compare(a.TS, b.TS), cmp.Compare(a.line, b.line))
}

// layDown writes the buffer as a sorted part.
func (s *spool) layDown() error {
	slices.SortStableFunc(s.buffer, inTime)
	if s.file == nil {
		file, err := os.CreateTemp(s.folder, "switchback-sort-*")
		if err != nil {
			return fmt.Errorf("sort by time: %w", err)
		}
		if err := os.Remove(file.Name()); err != nil {
			return errors.Join(fmt.Errorf("sort by time: %w", err), file.Close())
		}
		s.file = file
	}
	out := bufio.NewWriterSize(s.file, 1<<20)
	encoder := gob.NewEncoder(out)
	for i := range s.buffer {
		r := &s.buffer[i]
		if err := encoder.Encode(spooledRow{r.Request, r.attempts, r.line, r.text, r.unread, r.link.key, r.link.open, r.link.gap, r.link.sums}); err != nil {
			return fmt.Errorf("sort by time: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("sort by time: %w", err)
	}
	end, err := s.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("sort by time: %w", err)
	}
	s.parts = append(s.parts, end)
	clear(s.buffer)
	s.buffer = s.buffer[:0]
	return nil
}

// each calls do with all rows in the order of time.
func (s *spool) each(do func(*mappedRow)) error {
	if s.file == nil {
		slices.SortStableFunc(s.buffer, inTime)
		for i := range s.buffer {
			do(&s.buffer[i])
		}
		return nil
	}
	if len(s.buffer) > 0 {
		if err := s.layDown(); err != nil {
			return err
		}
	}
	var parts partHeap
	from := int64(0)
	for _, end := range s.parts {
		p := &part{decoder: gob.NewDecoder(bufio.NewReaderSize(io.NewSectionReader(s.file, from, end-from), 64<<10))}
		from = end
		if ok, err := p.next(); err != nil {
			return err
		} else if ok {
			parts = append(parts, p)
		}
	}
	heap.Init(&parts)
	for len(parts) > 0 {
		first := parts[0]
		row := first.row
		do(&row)
		ok, err := first.next()
		switch {
		case err != nil:
			return err
		case ok:
			heap.Fix(&parts, 0)
		default:
			heap.Pop(&parts)
		}
	}
	return nil
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// part is a sorted part that is being read.
type part struct {
	decoder *gob.Decoder
	row     mappedRow
}

func (p *part) next() (bool, error) {
	var r spooledRow // a decoder leaves alone what is zero in the file
	if err := p.decoder.Decode(&r); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("sort by time: %w", err)
	}
	p.row = mappedRow{Request: r.Request, attempts: r.Attempts, line: r.Line, text: r.Text, unread: r.Unread, link: link{r.Key, r.Open, r.Gap, r.Sums}}
	return true, nil
}

// partHeap has the part with the earliest row first.
type partHeap []*part

func (h partHeap) Len() int           { return len(h) }
func (h partHeap) Less(i, j int) bool { return inTime(h[i].row, h[j].row) < 0 }
func (h partHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *partHeap) Push(x any)        { *h = append(*h, x.(*part)) }
func (h *partHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
