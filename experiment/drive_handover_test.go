package experiment

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// reading starts a reader of batches for worlds that run without a drive; wait ends it.
func reading(emit func(*Batch) error) (over *handover, wait func() error) {
	over = newHandover(2)
	read := make(chan error, 1)
	go func() { read <- over.read(emit, func() {}) }()
	return over, func() error {
		close(over.full)
		return <-read
	}
}

// Whatever the number of threads, one batch is read at a time, and none after the first that fails.
func TestDriveReadsOneBatchAtATime(t *testing.T) {
	cfg := small(t)
	cfg.Threads = 2
	most, now := int32(0), atomic.Int32{}
	summary, err := Drive(context.Background(), cfg, func(b *Batch) error {
		most = max(most, now.Add(1))
		if len(b.Requests) > batchRows {
			t.Errorf("a batch of %d requests", len(b.Requests))
		}
		now.Add(-1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if most != 1 || summary.Logged == 0 {
		t.Errorf("%d batches read at a time, %d rows", most, summary.Logged)
	}
	full := errors.New("disk full")
	calls := 0
	_, err = Drive(context.Background(), cfg, func(*Batch) error {
		calls++
		return full
	})
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("error %v after %d calls", err, calls)
	}
}
