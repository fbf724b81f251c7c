package ingest

import (
	"sync"
	"sync/atomic"
)

// parallel calls do(0) … do(n-1) on up to threads goroutines. Each call must write only to places of its own.
func parallel(threads, n int, do func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(threads, n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wg.Wait()
}
