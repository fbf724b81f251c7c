package ingest

import (
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"switchback/experiment"
)

// Canonical logs are read in three steps that run beside each other. One goroutine reads the file and cuts it into chunks
// of whole records (logChunk); parsers turn chunks into rows, each on its own; and the caller's goroutine hands the rows on,
// chunk by chunk in the order of the file. So rows, rejects and counts are those of one reader that goes from line to line.

const (
	// chunkBytes is about how much text a chunk has: enough to make the handing over cheap, little enough for a cache.
	chunkBytes = 160 << 10
	// mostParsers bounds the memory. A few parsers are faster than what takes their rows.
	mostParsers = 4
)

// logChunk is a part of a log: its records, and then what a parser made of them. Chunks are used again when their rows have
// been handed on, since rows share the texts of their records.
type logChunk struct {
	text    []byte // of the records, one after the other
	records []logRecord
	places  []int // columns of the fields of its records, in CSV

	batch   experiment.Batch
	rejects []rejected
	unknown []string      // columns
	parsed  chan struct{} // gets a value when a parser is done
}

// logRecord is one record of a chunk.
type logRecord struct {
	end    int // of its text in the chunk's
	line   int64
	reason string // why it cannot be read, "" when it can
}

func newLogChunk() *logChunk {
	return &logChunk{parsed: make(chan struct{}, 1)}
}

func (c *logChunk) empty() {
	if cap(c.text) > 2*chunkBytes {
		c.text = nil // one long line does not hold memory to the end of the file
	}
	c.text, c.records, c.places = c.text[:0], c.records[:0], nil
	c.batch.Requests, c.batch.Attempts = c.batch.Requests[:0], c.batch.Attempts[:0]
	c.rejects, c.unknown = c.rejects[:0], nil
}

func (c *logChunk) add(line int64, reason string, text []byte) {
	if c.text == nil {
		c.text = make([]byte, 0, chunkBytes+chunkBytes/8)
	}
	c.text = append(c.text, text...)
	c.records = append(c.records, logRecord{len(c.text), line, reason})
}

func (c *logChunk) full() bool { return len(c.text) >= chunkBytes }

// parse calls record for every record that can be read and rejects the others. What sink gets of them is the chunk's.
func (c *logChunk) parse(sink *rowSink, record func(line int64, text []byte)) {
	sink.batch, sink.rejects = c.batch, c.rejects
	start := 0
	for _, r := range c.records {
		text := c.text[start:r.end:r.end]
		start = r.end
		if r.reason != "" {
			sink.reject(r.line, r.reason, text)
			continue
		}
		record(r.line, text)
	}
	c.batch, c.rejects = sink.batch, sink.rejects
}

// readChunks reads a file into sink and returns the names of columns that no parser knows. next fills an empty chunk with
// what comes next in the file; its error, io.EOF at the end, comes with the last one. newParser returns a function that
// parses chunks into the sink that it is given.
func readChunks(sink *rowSink, next func(*logChunk) error, newParser func(*rowSink) func(*logChunk)) (unknown []string, err error) {
	sinks := make([]*rowSink, min(runtime.GOMAXPROCS(0), mostParsers))
	toParse := make(chan *logChunk, len(sinks))
	inOrder := make(chan *logChunk, 2*len(sinks))
	unused := make(chan *logChunk, 2*cap(inOrder))
	for range cap(unused) {
		unused <- newLogChunk()
	}
	var stop atomic.Bool
	var running sync.WaitGroup
	running.Go(func() {
		defer close(toParse)
		defer close(inOrder)
		for err == nil && !stop.Load() {
			c := <-unused
			err = next(c)
			inOrder <- c
			toParse <- c
		}
	})
	for i := range sinks {
		sinks[i] = sink.forParser()
		running.Go(func() {
			parse := newParser(sinks[i])
			for c := range toParse {
				parse(c)
				c.parsed <- struct{}{}
			}
		})
	}
	for c := range inOrder {
		<-c.parsed
		sink.take(c)
		unknown = addUnknown(unknown, c.unknown)
		stop.Store(sink.err != nil)
		c.empty()
		unused <- c
	}
	running.Wait()
	for _, s := range sinks {
		sink.addCounts(s)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return unknown, err
	}
	return unknown, sink.err
}

// addUnknown adds names to those that are listed, up to a bound.
func addUnknown(names, more []string) []string {
	for _, name := range more {
		if len(names) < maxUnknown && !contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
