package experiment

// event is something that will happen in a world.
type event struct {
	at   int64 // µs since the start of the experiment
	what int32 // ≥ 0: the attempt of this flight ends; < 0: the next turn of session ^what starts
}

// eventHeap is a min-heap of events with four children per node: a node and its children share cache lines,
// and a few hundred entries are only four or five levels deep.
type eventHeap []event

func (h *eventHeap) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if s[parent].at <= e.at {
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
			if s[c].at < s[least].at {
				least = c
			}
		}
		if s[least].at >= last.at {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = last
	return top
}
