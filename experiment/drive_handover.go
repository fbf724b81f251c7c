package experiment

import "context"

// handover takes full batches from the worlds to one reader and empty ones back, so that a world goes on while its rows
// are read, and memory stays bounded: there are only so many batches.
type handover struct {
	full  chan *Batch // has room for all batches, so nobody waits to hand one on
	empty chan *Batch
}

// spareBatches wait to be read while the worlds fill others.
const spareBatches = 4

func newHandover(batches int) *handover {
	h := &handover{full: make(chan *Batch, batches), empty: make(chan *Batch, batches)}
	for range batches {
		h.empty <- new(Batch)
	}
	return h
}

// take waits for an empty batch.
func (h *handover) take(ctx context.Context) (*Batch, error) {
	select {
	case b := <-h.empty:
		return b, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// give hands a batch on. The world must not touch it any more.
func (h *handover) give(b *Batch) { h.full <- b }

// read calls emit for every batch until the handover is closed, or until emit fails, after which stop is called.
func (h *handover) read(emit func(*Batch) error, stop func()) error {
	for b := range h.full {
		if len(b.Requests) > 0 {
			if err := emit(b); err != nil {
				stop()
				return err
			}
		}
		b.Requests, b.Attempts = b.Requests[:0], b.Attempts[:0]
		h.empty <- b
	}
	return nil
}
