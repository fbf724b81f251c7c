package experiment

import (
	"math/bits"

	"switchback/experiment/workload"
)

// event is something that will happen in a world.
type event struct {
	at   int64 // µs since the start of the experiment
	what int32 // ≥ 0: the attempt of this flight ends; < 0: the next turn of session ^what starts
}

// before is the order of events. No two have the same what, so it does not depend on the way they are kept.
func (e *event) before(f *event) bool { return e.at < f.at || e.at == f.at && e.what < f.what }

const (
	slotBits  = 20 // a slot lasts 2²⁰ µs, about a second
	slotCount = 256
	slotWords = slotCount / 64
)

// eventQueue holds the events of a world, the next one first. Those of the current slot of time are sorted, those of the
// next four minutes wait in their slots, unsorted, and the few that lie further ahead in a heap. So most events move twice.
type eventQueue struct {
	now   []event // of the slot, the next one last; empty only when the queue is
	slot  int64   // number of the current slot
	slots [slotCount][]event
	busy  [slotWords]uint64 // which of the slots hold events
	far   eventHeap
}

// next is the instant of the next event, workload.Never when there is none.
func (q *eventQueue) next() int64 {
	if n := len(q.now); n > 0 {
		return q.now[n-1].at
	}
	return workload.Never
}

// push adds an event.
func (q *eventQueue) push(e event) {
	slot := e.at >> slotBits
	switch ahead := slot - q.slot; {
	case ahead <= 0:
		q.insert(e)
		return
	case ahead < slotCount:
		at := slot % slotCount
		q.slots[at] = append(q.slots[at], e)
		q.busy[at/64] |= 1 << (at % 64)
	default:
		q.far.push(e)
	}
	if len(q.now) == 0 {
		q.advance()
	}
}

// pop takes the next event. There must be one.
func (q *eventQueue) pop() event {
	n := len(q.now) - 1
	e := q.now[n]
	q.now = q.now[:n]
	if n == 0 {
		q.advance()
	}
	return e
}

// insert sorts an event into the current slot.
func (q *eventQueue) insert(e event) {
	s := append(q.now, e)
	i := len(s) - 1
	for ; i > 0 && s[i-1].before(&e); i-- {
		s[i] = s[i-1]
	}
	s[i] = e
	q.now = s
}

// advance moves on to the next slot with an event, if there is any.
func (q *eventQueue) advance() {
	next := q.nextBusy()
	if len(q.far) > 0 {
		next = min(next, q.far[0].at>>slotBits)
	}
	if next == workload.Never {
		return
	}
	q.slot = next
	if at := next % slotCount; q.busy[at/64]>>(at%64)&1 != 0 {
		for _, e := range q.slots[at] {
			q.insert(e)
		}
		q.slots[at] = q.slots[at][:0]
		q.busy[at/64] &^= 1 << (at % 64)
	}
	for len(q.far) > 0 && q.far[0].at>>slotBits == next {
		q.insert(q.far.pop())
	}
}

// nextBusy is the number of the first slot after the current one that holds events, workload.Never when none does.
func (q *eventQueue) nextBusy() int64 {
	first := q.slot + 1
	word := first / 64
	b := q.busy[word%slotWords] & (^uint64(0) << (first % 64))
	for range slotWords + 1 { // the last word is the first one, whose lower slots lie a whole round ahead
		if b != 0 {
			return word*64 + int64(bits.TrailingZeros64(b))
		}
		word++
		b = q.busy[word%slotWords]
	}
	return workload.Never
}

// eventHeap is a min-heap of events with four children per node.
type eventHeap []event

func (h *eventHeap) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if s[parent].before(&e) {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = e
	*h = s
}

func (h *eventHeap) pop() event {
	s := *h
	top := s[0]
	last := s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	n := len(s)
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 4*i + 1
		if child >= n {
			break
		}
		least := child
		for c := child + 1; c < min(child+4, n); c++ {
			if s[c].before(&s[least]) {
				least = c
			}
		}
		if last.before(&s[least]) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = last
	return top
}
