package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Trace is a recorded decision: its inputs as they were read, and its answer.
type Trace struct {
	SchemaVersion int          `json:"schema_version"`
	Seed          uint64       `json:"seed"`
	MarketFile    string       `json:"market_file"`
	Market        string       `json:"market"` // text of the file
	RequestFile   string       `json:"request_file"`
	Request       string       `json:"request"` // text of the file
	Answer        *Explanation `json:"answer,omitempty"`
	Error         string       `json:"error,omitempty"` // when nobody could serve
}

// Record explains a request and keeps what is needed to do it again. The error says what is wrong with the inputs; that nobody can serve is
// part of the trace.
func Record(market []byte, marketFile string, request []byte, requestFile string, seed uint64) (*Trace, error) {
	m, err := ParseMarket(market, marketFile)
	if err != nil {
		return nil, err
	}
	b, err := ParseRequest(request, requestFile)
	if err != nil {
		return nil, err
	}
	t := &Trace{SchemaVersion: schemaVersion, Seed: seed, MarketFile: marketFile, Market: string(market), RequestFile: requestFile, Request: string(request)}
	t.Answer, err = Explain(m, b, seed)
	if s, ok := AsStatus(err); ok {
		t.Error = s.Error()
		return t, nil
	}
	return t, err
}

// Replay runs a recorded decision again and compares it with the record, to the bit. It returns the answer, and an error that names the
// first difference, or what is wrong with the trace.
func Replay(trace []byte, file string) (*Explanation, error) {
	if _, err := parseJSON(trace, file); err != nil {
		return nil, err
	}
	var t Trace
	d := json.NewDecoder(bytes.NewReader(trace))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return nil, &FieldError{File: file, Problem: "not a trace: " + err.Error()}
	}
	if t.SchemaVersion != schemaVersion {
		return nil, &FieldError{File: file, Field: "schema_version", Problem: strconv.Itoa(t.SchemaVersion) + " is not known", Hint: "this program reads version 1"}
	}
	again, err := Record([]byte(t.Market), t.MarketFile, []byte(t.Request), t.RequestFile, t.Seed)
	if err != nil {
		return nil, fmt.Errorf("replay %s: %w", file, err)
	}
	if again.Error != t.Error {
		return again.Answer, fmt.Errorf("replay %s: error: %q now, %q recorded", file, again.Error, t.Error)
	}
	return again.Answer, differ(file, t.Answer, again.Answer)
}

// differ names the first line in which two answers differ.
func differ(file string, recorded, now *Explanation) error {
	a, err := json.MarshalIndent(recorded, "", " ")
	if err != nil {
		return fmt.Errorf("replay %s: %w", file, err)
	}
	b, err := json.MarshalIndent(now, "", " ")
	if err != nil {
		return fmt.Errorf("replay %s: %w", file, err)
	}
	if bytes.Equal(a, b) {
		return nil
	}
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Errorf("replay %s: the answer differs: %s now, %s recorded", file, bytes.TrimSpace(y[i]), bytes.TrimSpace(x[i]))
		}
	}
	return fmt.Errorf("replay %s: the answer differs in length: %d lines now, %d recorded", file, len(y), len(x))
}
