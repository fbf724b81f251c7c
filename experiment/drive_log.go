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

// Ids are base 32: two digits of the model, five of the conversation, two of the turn. They sort by conversation and turn.
const (
	idDigits      = "0123456789abcdefghjkmnpqrstvwxyz"
	sessionLength = 7
	idLength      = 9
)

// ids returns the ids of a request and its session. Those of one batch share their memory.
func (l *rowLog) ids(model int, session uint32, turn int32) (request, conversation string) {
	m, t := uint32(model), uint32(turn)
	for _, n := range [idLength]uint32{m >> 5, m, session >> 20, session >> 15, session >> 10, session >> 5, session, t >> 5, t} {
		l.text.WriteByte(idDigits[n&31])
	}
	all := l.text.String()
	request = all[len(all)-idLength:]
	return request, request[:sessionLength]
}
