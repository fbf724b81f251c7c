package ingest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow/array"

	"switchback/stats"
)

// numbers is a column of whole numbers, in four bytes each: a row has its value plus one, or one of the codes below. Few
// values need more than that.
type numbers struct {
	codes []uint32
	mu    sync.Mutex    // guards long
	long  map[int]int64 // by row
}

const (
	codeUnknown  = 0
	codeLong     = math.MaxUint32 - 1
	codeInfinite = math.MaxUint32 // stats.Inf
)

func newNumbers(rows int) *numbers {
	return &numbers{codes: make([]uint32, rows), long: map[int]int64{}}
}

// set writes the value of a row that is unknown so far. Several goroutines may set rows of their own.
func (n *numbers) set(row int, value int64) {
	switch {
	case value >= 0 && value < codeLong-1:
		n.codes[row] = uint32(value + 1)
	case value == stats.Inf:
		n.codes[row] = codeInfinite
	default:
		n.codes[row] = codeLong
		n.mu.Lock()
		n.long[row] = value
		n.mu.Unlock()
	}
}

// at returns the value of a row, false when it is unknown.
func (n *numbers) at(row int) (value int64, known bool) {
	switch code := n.codes[row]; code {
	case codeUnknown:
		return 0, false
	case codeInfinite:
		return stats.Inf, true
	case codeLong:
		return n.long[row], true
	default:
		return int64(code) - 1, true
	}
}

// read writes what is known in a column of a result to the rows at its places, none where that is negative.
func (n *numbers) read(column *array.Int64, places []int) {
	values := column.Int64Values()
	if column.NullN() == 0 {
		for i, row := range places {
			if row >= 0 {
				n.set(row, values[i])
			}
		}
		return
	}
	for i, row := range places {
		if row >= 0 && column.IsValid(i) {
			n.set(row, values[i])
		}
	}
}

// readFrom writes a column of a result to the rows from first on.
func (n *numbers) readFrom(first int, column *array.Int64) {
	for i, v := range column.Int64Values() {
		if column.IsValid(i) {
			n.set(first+i, v)
		}
	}
}

// fromRequests is the FROM clause of queries that take quantities from rows r: with what each row's log has at all, in m.
// That is one row for all when the logs agree, and spares a join.
func (s *Store) fromRequests(ctx context.Context) (string, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT load_id IS NULL, streamed, caller_ttft, total FROM ("+measurable+")")
	if err != nil {
		return "", err
	}
	type has struct{ none, streamed, callerTTFT, total bool }
	loads, err := collect(rows, func(scan func(...any) error) (h has, err error) {
		return h, scan(&h.none, &h.streamed, &h.callerTTFT, &h.total)
	})
	if err != nil {
		return "", err
	}
	if loads = slices.Compact(loads); len(loads) == 1 && !loads[0].none {
		h := loads[0]
		return fmt.Sprintf(" FROM %s, (SELECT %t AS streamed, %t AS caller_ttft, %t AS total) m ", requestsServing(), h.streamed, h.callerTTFT, h.total), nil
	}
	return " FROM " + requestsServing() + " JOIN (" + measurable + ") m ON m.load_id = r.load_id ", nil
}
