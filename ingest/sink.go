package ingest

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/experiment/prices"
)

// Reasons for a reject. They are counted by text, so a reason never names a value.
const (
	reasonNotJSON    = "not a JSON object"
	reasonFields     = "wrong number of fields"
	reasonQuote      = "quote is not closed"
	reasonLongLine   = "line longer than 16 MiB"
	reasonNoID       = "request_id: missing"
	reasonNoModel    = "model: missing"
	reasonNoTime     = "ts: missing"
	reasonBadTime    = "ts: unreadable"
	reasonNumberTime = "ts: a number, not RFC 3339"
	reasonTimeRange  = "timestamp out of range"
)

// Accepted says what can be read in the place of what was rejected, "" where there is nothing to say.
func Accepted(reason string) string {
	switch reason {
	case reasonBadTime, reasonNumberTime, reasonNoTime:
		return "a time is read as 2026-11-02T03:00:00Z or 2026-11-02 03:00:00.250; without a zone it is UTC"
	case reasonTimeRange:
		return "times lie between 2015 and tomorrow; check the unit of the log's times, and the clock"
	case reasonNotJSON:
		return "JSON lines have one whole object on each line"
	case reasonFields:
		return "every line has the fields of the header; text with commas stands in double quotes"
	case reasonQuote:
		return `a field that begins with " ends with one; inside, "" stands for "`
	case reasonNoID, reasonNoModel:
		return "every request has a request_id and a model"
	case reasonPending:
		return "export the records again when they are complete"
	}
	return ""
}

// sinkRows is the number of rows that a reader hands on at once.
const sinkRows = 512

// rowSink takes the rows and rejects of one file from its reader, checks the rows, counts, and hands them on.
type rowSink struct {
	file       string
	clock      clock
	costUnit   string // CostUnitUSD, CostUnitCents or "" for what the format says
	prices     priceMemo
	write      func(*experiment.Batch) error // may keep neither the rows nor their texts
	keepReject func(rejected) error
	keepJoined func([]joinedRecord) error // nil: nobody asks
	byTime     bool                       // sort all rows by time before attempts are joined
	folder     string                     // for a file to sort in; "" is the system's

	batch experiment.Batch
	tries []experiment.Attempt // of the last row, as the log lists them
	tally fileTally
	err   error // of write, keepReject or keepJoined; ends the reading

	unread []byte // the value of the next reject; nil: its whole line

	parser  bool       // keeps its rows and rejects: another sink hands them on
	rejects []rejected // of a parser

	unseen []column[request] // columns without any value so far
	unmet  []need            // of metrics that no row so far can be measured by
}

// fileTally counts what came out of a file.
type fileTally struct {
	rows, rejects, skipped int64
	records                int64 // of a gateway's format, attempts counted one by one
	reasons                map[string]int64
	first                  map[string]Reject      // of each reason, by line
	unread                 map[string]UnreadField // by column
	models                 map[string]int64
	from, to               experiment.Instant
	quality                int64 // all bits of all rows

	logged, booked experiment.NanoUSD // cost of the rows that log and price book both price
	priced         int64              // rows whose cost came from the book
}

// add adds the counts of other rows of the file.
func (t *fileTally) add(o *fileTally) {
	for reason, n := range o.reasons {
		t.reasons[reason] += n
	}
	for _, r := range o.first {
		t.noteFirst(r)
	}
	for _, u := range o.unread {
		t.addUnread(u)
	}
	for model, n := range o.models {
		t.models[model] += n
	}
	if o.rows > 0 && (t.rows == 0 || o.from < t.from) {
		t.from = o.from
	}
	t.to = max(t.to, o.to)
	t.rows += o.rows
	t.rejects += o.rejects
	t.skipped += o.skipped
	t.records += o.records
	t.quality |= o.quality
	t.logged += o.logged
	t.booked += o.booked
	t.priced += o.priced
}

// noteFirst keeps a reject if it is the first of its reason in the file.
func (t *fileTally) noteFirst(r Reject) {
	if first, known := t.first[r.Reason]; !known || r.Line < first.Line {
		t.first[r.Reason] = r
	}
}

// examples are the first reject of each reason, the most frequent reason first.
func (t *fileTally) examples() []Reject {
	var all []Reject
	for _, reason := range counts(t.reasons) {
		all = append(all, t.first[reason.Name])
	}
	return all
}

// Reject is something in a log that cannot be read.
type Reject struct {
	Reason string
	Line   int64
	Text   string // the value that cannot be read, or the line; cut, and escaped for a terminal
}

// String is the reason with what it is about, as errors show it.
func (r Reject) String() string {
	if r.Text == "" {
		return fmt.Sprintf("%s in line %d", r.Reason, r.Line)
	}
	return fmt.Sprintf("%s in line %d, %q", r.Reason, r.Line, r.Text)
}

func newFileTally() fileTally {
	return fileTally{reasons: map[string]int64{}, first: map[string]Reject{}, unread: map[string]UnreadField{}, models: map[string]int64{}}
}

func newRowSink(file string, c clock, write func(*experiment.Batch) error, reject func(rejected) error) *rowSink {
	return &rowSink{
		file: file, clock: c, write: write, keepReject: reject, unseen: requestColumns(), unmet: needs(),
		tally: newFileTally(),
	}
}

// forParser returns an empty sink for the rows of some chunks of the file.
func (s *rowSink) forParser() *rowSink {
	own := newRowSink(s.file, s.clock, nil, nil)
	own.costUnit, own.prices.book = s.costUnit, s.prices.book
	own.keepReject = func(r rejected) error {
		own.rejects = append(own.rejects, r)
		return nil
	}
	own.parser = true
	return own
}

// take hands the rows and rejects of a chunk on. They are counted by addCounts.
func (s *rowSink) take(c *logChunk) {
	for _, r := range c.rejects {
		if s.err == nil {
			s.err = s.keepReject(r)
		}
	}
	if s.err == nil && len(c.batch.Requests)+len(c.batch.Attempts) > 0 {
		s.err = s.write(&c.batch)
	}
}

// addCounts adds what a parser's sink counted.
func (s *rowSink) addCounts(own *rowSink) {
	s.tally.add(&own.tally)
	s.unseen = slices.DeleteFunc(s.unseen, func(c column[request]) bool {
		return !slices.ContainsFunc(own.unseen, func(o column[request]) bool { return o.name == c.name })
	})
	s.unmet = slices.DeleteFunc(s.unmet, func(n need) bool {
		return !slices.ContainsFunc(own.unmet, func(o need) bool { return o.metrics[0] == n.metrics[0] })
	})
}

// row returns a new empty row. It counts when keep is called.
func (s *rowSink) row() *experiment.Request {
	s.batch.Requests = append(s.batch.Requests, experiment.Request{})
	return &s.batch.Requests[len(s.batch.Requests)-1]
}

// drop takes the last row back.
func (s *rowSink) drop() {
	s.batch.Requests = s.batch.Requests[:len(s.batch.Requests)-1]
	s.tries = s.tries[:0]
}

// keep finishes the last row, or rejects it when something required is missing, and tells which.
func (s *rowSink) keep(line int64, text []byte) (kept bool) {
	r := &s.batch.Requests[len(s.batch.Requests)-1]
	if reason := s.missing(r); reason != "" {
		s.drop()
		s.reject(line, reason, text)
		return false
	}
	checkRow(r)
	s.price(r)
	s.count(r)
	s.keepAttempts(r)
	if len(s.batch.Requests) >= sinkRows && !s.parser {
		s.flush()
	}
	return true
}

// join keeps which records the last row was put together from.
func (s *rowSink) join(records []joinedRecord) {
	if s.err == nil && s.keepJoined != nil {
		s.err = s.keepJoined(records)
	}
}

// keepAttempts puts the attempts of the last row beside it.
func (s *rowSink) keepAttempts(r *experiment.Request) {
	if worthKeeping(s.tries) {
		for i := range s.tries {
			s.tries[i].RequestID = r.RequestID
		}
		s.batch.Attempts = append(s.batch.Attempts, s.tries...)
	}
	s.tries = s.tries[:0]
}

// price gives a row without a cost the one of the price book, and compares the others with it. Where a log does
// not say how much of the input was cached, a list price would be too high by an amount that depends on the arm:
// such rows stay without a cost.
func (s *rowSink) price(r *experiment.Request) {
	if s.prices.book == nil || r.Provider == "" || !r.InputTokens.Known || !r.CachedTokens.Known || !r.OutputTokens.Known || r.Quality&experiment.QualityCachedOverInput != 0 {
		return
	}
	price, ok := s.prices.lookup(r)
	if !ok {
		return
	}
	cost := experiment.NanoUSD(price.Cost(r.InputTokens.Value, r.CachedTokens.Value, r.CacheWriteTokens.Value, r.OutputTokens.Value))
	if r.Cost.Known {
		s.tally.logged += r.Cost.Value
		s.tally.booked += cost
		return
	}
	r.Cost, r.CostSource = experiment.Some(cost), experiment.CostBook
	s.tally.priced++
}

// priceMemo remembers what a price book answered: the rows of a log ask for few prices, and a book takes longer to
// answer than a row to read.
type priceMemo struct {
	book  *prices.Book
	known map[priceKey]priceAnswer
}

// priceKey is an offer on a day. Prices change at midnight.
type priceKey struct {
	provider, model string
	day             int64
}

type priceAnswer struct {
	price prices.Price
	ok    bool
}

// mostPrices bounds the memory for a log of made-up names.
const mostPrices = 1 << 14

func (m *priceMemo) lookup(r *experiment.Request) (prices.Price, bool) {
	key := priceKey{r.Provider, r.Model, int64(r.TS) / int64(24*time.Hour/time.Microsecond)}
	if a, ok := m.known[key]; ok {
		return a.price, a.ok
	}
	if m.known == nil || len(m.known) >= mostPrices {
		m.known = map[priceKey]priceAnswer{}
	}
	var a priceAnswer
	a.price, a.ok = m.book.Lookup(r.Provider, r.Model, r.TS.Time())
	key.provider, key.model = strings.Clone(key.provider), strings.Clone(key.model)
	m.known[key] = a
	return a.price, a.ok
}

func (s *rowSink) missing(r *experiment.Request) string {
	switch {
	case r.RequestID == "":
		return reasonNoID
	case r.TS == 0:
		return reasonNoTime
	case !s.clock.plausible(int64(r.TS)):
		s.unread = r.TS.Time().AppendFormat(nil, time.RFC3339Nano)
		return reasonTimeRange
	case r.Model == "" && r.Status != experiment.StatusError:
		return reasonNoModel
	}
	return ""
}

func (s *rowSink) count(r *experiment.Request) {
	s.tally.rows++
	s.tally.models[r.Model]++
	s.tally.quality |= r.Quality
	if s.tally.from == 0 || r.TS < s.tally.from {
		s.tally.from = r.TS
	}
	s.tally.to = max(s.tally.to, r.TS)
	for i := 0; i < len(s.unseen); i++ {
		c := s.unseen[i]
		seen := false
		if c.text != nil {
			seen = *c.text(r) != ""
		} else {
			_, seen = c.number(r)
		}
		if seen {
			s.unseen = append(s.unseen[:i], s.unseen[i+1:]...)
			i--
		}
	}
	for i := 0; i < len(s.unmet) && r.Status != experiment.StatusGatewayCache; i++ { // the analysis leaves cache hits out
		if s.unmet[i].met(r) {
			s.unmet = append(s.unmet[:i], s.unmet[i+1:]...)
			i--
		}
	}
}

// reject keeps a line that cannot be read.
func (s *rowSink) reject(line int64, reason string, text []byte) {
	s.tally.rejects++
	s.tally.reasons[reason]++
	if _, known := s.tally.first[reason]; !known {
		value := text
		if s.unread != nil {
			value = s.unread
		}
		s.tally.first[reason] = Reject{reason, line, clip(value)}
	}
	s.unread = nil
	if s.err == nil {
		s.err = s.keepReject(rejected{file: s.file, line: line, reason: reason, text: rejectText(text)})
	}
}

// skip counts a record that is no request.
func (s *rowSink) skip() { s.tally.skipped++ }

func (s *rowSink) flush() {
	if s.err == nil && len(s.batch.Requests)+len(s.batch.Attempts) > 0 {
		s.err = s.write(&s.batch)
	}
	s.batch.Requests = s.batch.Requests[:0]
	s.batch.Attempts = s.batch.Attempts[:0]
}

// missingColumns names the columns without any value.
func (s *rowSink) missingColumns() []string {
	var names []string
	for _, c := range s.unseen {
		names = append(names, c.name)
	}
	return names
}

func (t *fileTally) span() (from, to time.Time) {
	if t.rows == 0 {
		return time.Time{}, time.Time{}
	}
	return t.from.Time(), t.to.Time()
}

// counts lists a map by falling count, then name.
func counts(m map[string]int64) []Count {
	out := make([]Count, 0, len(m))
	for name, n := range m {
		out = append(out, Count{name, n})
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].N != out[j].N {
			return out[i].N > out[j].N
		}
		return out[i].Name < out[j].Name
	})
	return out
}

// checkRow sets the quality bits that follow from the row itself. Times below zero become unknown; other odd
// values stay.
func checkRow(r *experiment.Request) {
	for _, t := range []*experiment.Opt[experiment.Micros]{&r.TTFT, &r.CallerTTFT, &r.Total, &r.Failed} {
		if t.Known && t.Value < 0 {
			*t = experiment.Opt[experiment.Micros]{}
			r.Quality |= experiment.QualityNegativeTime
		}
	}
	if exceeds(r.TTFT, r.CallerTTFT) || exceeds(r.CallerTTFT, r.Total) || exceeds(r.TTFT, r.Total) {
		r.Quality |= experiment.QualityTTFTOverTotal
	}
	if exceeds(r.CachedTokens, r.InputTokens) {
		r.Quality |= experiment.QualityCachedOverInput
	}
	if exceeds(r.N429, r.Attempts) {
		r.Quality |= experiment.QualityBadValue
	}
	if r.Status == experiment.StatusOK && r.OutputTokens.Known && r.OutputTokens.Value == 0 {
		r.Quality |= experiment.QualityEmptySuccess
	}
}

func exceeds[T ~int32 | ~int64](a, b experiment.Opt[T]) bool {
	return a.Known && b.Known && a.Value > b.Value
}
