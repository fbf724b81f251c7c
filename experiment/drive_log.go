package experiment

import (
	"context"
	"strings"
)

// rowLog collects the rows of one unit and hands them on in batches.
type rowLog struct {
	over  *handover
	batch *Batch          // the one that is being filled
	text  strings.Builder // its ids
}

// begin takes the first batch.
func (l *rowLog) begin(ctx context.Context) (err error) {
	l.batch, err = l.over.take(ctx)
	l.text = strings.Builder{}
	return err
}

// full reports whether the batch should be handed on before the next row.
func (l *rowLog) full() bool { return len(l.batch.Requests) >= batchRows }

// next hands the batch on and takes another one.
func (l *rowLog) next(ctx context.Context) error {
	l.end()
	return l.begin(ctx)
}

// end hands the last batch on.
func (l *rowLog) end() {
	l.over.give(l.batch)
	l.batch = nil
}

// request adds an empty row.
func (l *rowLog) request() *Request {
	b := l.batch
	if b.Requests == nil {
		b.Requests = make([]Request, 0, batchRows)
	}
	if l.text.Len() == 0 {
		l.text.Grow(batchRows * idLength)
	}
	b.Requests = b.Requests[:len(b.Requests)+1]
	r := &b.Requests[len(b.Requests)-1]
	*r = Request{} // the batch has been used before
	return r
}

// Ids are base 32: two digits of the model, five of the conversation, two of the turn. Of the same length they sort by
// conversation and turn. A conversation from number 2²⁵ on has seven digits, a turn from 1,024 on three, so that ids of
// different parts have different lengths.
const (
	idDigits = "0123456789abcdefghjkmnpqrstvwxyz"
	idLength = 9 // of nearly all
)

// ids returns the ids of a request and its session. Those of one batch share their memory.
func (l *rowLog) ids(model int, session uint32, turn int32) (request, conversation string) {
	start, sessionDigits, turnDigits := l.text.Len(), 5, 2
	if session >= 1<<25 {
		sessionDigits = 7
	}
	if turn >= 1<<10 {
		turnDigits = 3
	}
	l.digits(uint32(model), 2)
	l.digits(session, sessionDigits)
	end := l.text.Len()
	l.digits(uint32(turn), turnDigits)
	all := l.text.String()
	return all[start:], all[start:end]
}

// digits writes the last digits of a number.
func (l *rowLog) digits(n uint32, count int) {
	for shift := 5 * (count - 1); shift >= 0; shift -= 5 {
		l.text.WriteByte(idDigits[n>>shift&31])
	}
}
