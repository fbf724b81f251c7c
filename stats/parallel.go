package stats

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// parallel calls do(0) … do(n-1) on up to threads goroutines (≤ 0: all processors) and stops early when ctx ends.
// Each call must write only to places of its own, which keeps results the same at any number of threads.
func parallel(ctx context.Context, threads, n int, do func(i int)) error {
	return parallelWith(ctx, threads, n, func(_ *struct{}, i int) { do(i) })
}

// parallelWith is parallel where every goroutine has something of its own, zero at first, that its calls share: space to work
// in, which new for every call would take longer to clear than some calls to do their work.
func parallelWith[Own any](ctx context.Context, threads, n int, do func(own *Own, i int)) error {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(threads, n) {
		wg.Go(func() {
			var own Own
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(&own, i)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// chunk is a run of draws that one goroutine works on.
const chunk = 2048

// chunks returns the number of chunks in n draws.
func chunks(n int) int { return (n + chunk - 1) / chunk }

// chunkOf returns the bounds of the i-th chunk of n draws.
func chunkOf(i, n int) (lo, hi int) { return i * chunk, min((i+1)*chunk, n) }
