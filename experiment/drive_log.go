package experiment

import "context"

// rowLog collects the rows of one world and hands them on in batches.
type rowLog struct {
	over  *handover
	batch *Batch // the one that is being filled
	rows  int64
}

// begin takes the first batch.
func (l *rowLog) begin(ctx context.Context) (err error) {
	l.batch, err = l.over.take(ctx)
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
	l.rows++
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

// ids returns the ids of a request and its session.
func ids(model int, session uint32, turn int32) (request, conversation string) {
	m, t := uint32(model), uint32(turn)
	var text [idLength]byte
	for i, n := range [idLength]uint32{m >> 5, m, session >> 20, session >> 15, session >> 10, session >> 5, session, t >> 5, t} {
		text[i] = idDigits[n&31]
	}
	request = string(text[:])
	return request, request[:sessionLength]
}
