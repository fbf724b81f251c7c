package ingest

import (
	"sync"

	"github.com/apache/arrow/go/v17/arrow/memory/mallocator"
)

// recycler allocates the buffers of Arrow records outside Go's heap and hands out freed ones again: the records of a load
// are alike, and fresh memory costs a page fault every 4 KiB. What is in a buffer is not zeroed.
type recycler struct {
	mallocator.Mallocator
	lock   sync.Mutex // DuckDB's threads free what the loader allocates
	free   map[int][][]byte
	closed bool
}

func newRecycler() *recycler { return &recycler{free: map[int][][]byte{}} }

// Allocate returns a buffer of a size.
func (r *recycler) Allocate(size int) []byte {
	r.lock.Lock()
	defer r.lock.Unlock()
	if same := r.free[size]; len(same) > 0 {
		r.free[size] = same[:len(same)-1]
		return same[len(same)-1]
	}
	return r.Mallocator.Allocate(size)
}

// Free keeps a buffer until the next that asks for its size.
func (r *recycler) Free(b []byte) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.closed {
		r.Mallocator.Free(b)
		return
	}
	r.free[len(b)] = append(r.free[len(b)], b)
}

// close gives everything back that was freed, now and from now on.
func (r *recycler) close() {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.closed = true
	for _, same := range r.free {
		for _, b := range same {
			r.Mallocator.Free(b)
		}
	}
	clear(r.free)
}
