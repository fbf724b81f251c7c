package experiment

import "unsafe"

// rowLog collects the rows of one world and hands them on in batches. Its memory is reused after every batch.
type rowLog struct {
	hand  func(*Batch) error
	batch Batch
	text  []byte // ids of the current batch
	rows  int64
}

func newRowLog(hand func(*Batch) error) *rowLog {
	return &rowLog{hand: hand}
}

// full reports whether the batch should be flushed before the next row.
func (l *rowLog) full() bool {
	return len(l.batch.Requests) >= batchRows
}

// flush hands the batch on.
func (l *rowLog) flush() error {
	if len(l.batch.Requests) == 0 {
		return nil
	}
	err := l.hand(&l.batch)
	l.batch.Requests = l.batch.Requests[:0]
	l.batch.Attempts = l.batch.Attempts[:0]
	l.text = l.text[:0]
	return err
}

// request adds an empty row.
func (l *rowLog) request() *Request {
	if l.batch.Requests == nil {
		l.batch.Requests = make([]Request, 0, batchRows)
		l.text = make([]byte, 0, batchRows*idLength)
	}
	l.rows++
	l.batch.Requests = append(l.batch.Requests, Request{})
	return &l.batch.Requests[len(l.batch.Requests)-1]
}

// Ids are base 32: two digits of the model, five of the conversation, two of the turn. They sort by conversation and turn.
const (
	idDigits      = "0123456789abcdefghjkmnpqrstvwxyz"
	sessionLength = 7
	idLength      = 9
)

// ids returns the ids of a request and its session. They live until the flush.
func (l *rowLog) ids(model int, session uint32, turn int32) (request, conversation string) {
	from := len(l.text)
	digit := func(n uint32) byte { return idDigits[n&31] }
	m, t := uint32(model), uint32(turn)
	l.text = append(l.text, digit(m>>5), digit(m),
		digit(session>>20), digit(session>>15), digit(session>>10), digit(session>>5), digit(session),
		digit(t>>5), digit(t))
	request = unsafe.String(&l.text[from], idLength) // the text is not written again before the flush
	return request, request[:sessionLength]
}
