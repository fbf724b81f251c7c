package experiment

// rowLog collects the rows of one world and hands them on in batches. Its memory is reused after every batch.
type rowLog struct {
	hand  func(*Batch) error
	batch Batch
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
	return err
}

// request adds an empty row.
func (l *rowLog) request() *Request {
	if l.batch.Requests == nil {
		l.batch.Requests = make([]Request, 0, batchRows)
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
