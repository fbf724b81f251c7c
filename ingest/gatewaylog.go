package ingest

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"switchback/experiment"
)

// GatewayWriter writes requests in the log format of a gateway, as far as the format can carry them. It inverts
// the mapping that the format is read by, so that writing and reading cannot drift apart.
type GatewayWriter struct {
	w       *bufio.Writer
	mapping mapping
	columns []column[request]
	places  []int
	line    []byte
}

// WritableFormats returns the names of the log formats of gateways that can be written.
func WritableFormats() []string {
	var names []string
	for _, m := range mappings() {
		if m.compose != nil {
			names = append(names, m.name)
		}
	}
	return names
}

// NewGatewayWriter returns a writer of a gateway's log format, one of WritableFormats. Close flushes it and leaves
// w open.
func NewGatewayWriter(w io.Writer, name string) (*GatewayWriter, error) {
	for _, m := range mappings() {
		if m.name != name || m.compose == nil {
			continue
		}
		g := &GatewayWriter{w: bufio.NewWriterSize(w, 1<<20), mapping: m, columns: requestColumns()}
		canonical := newCanonicalColumns()
		for _, f := range m.fields {
			g.places = append(g.places, canonical.find([]byte(f.column)))
		}
		return g, nil
	}
	return nil, fmt.Errorf("log format %q cannot be written; these can: %s", name, strings.Join(WritableFormats(), ", "))
}

// Write appends the requests of a batch, one a line, or their attempts, where these are the records of the format.
func (g *GatewayWriter) Write(b *experiment.Batch) error {
	left := triesOf{b.Attempts}
	for i := range b.Requests {
		r := &b.Requests[i]
		tries := left.next(r.RequestID)
		if !g.mapping.perAttempt {
			if err := g.writeLine(r, tries); err != nil {
				return err
			}
			continue
		}
		for _, row := range attemptRecords(r, tries) {
			if err := g.writeLine(&row.Request, row.attempts); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *GatewayWriter) writeLine(r *request, tries []attempt) error {
	rec := g.record(r, tries)
	g.line = append(rec.appendJSON(g.line[:0]), '\n')
	_, err := g.w.Write(g.line)
	return err
}

// attemptRecords takes a request apart into one row for each attempt: the last one has what the request has, those before
// it failed and have an id of their own. The gateway's own time before the first attempt counts to that one. A request
// whose attempts are not listed is one row.
func attemptRecords(r *request, tries []attempt) []mappedRow {
	if len(tries) == 0 {
		tries = []attempt{{N: 1, Provider: r.Provider, Latency: r.Total, HTTPStatus: experiment.Some(int32(httpStatus(r.Status)))}}
	}
	var rows []mappedRow
	for i, try := range tries {
		row := mappedRow{Request: *r}
		row.SourceRowID = r.RequestID // what the attempts share
		if i == 0 {
			try.Latency, try.Start = experiment.Some(try.Start.Value+try.Latency.Value), experiment.Some[experiment.Micros](0)
		}
		row.TS += experiment.Instant(try.Start.Value)
		row.attempts = []attempt{try}
		if i < len(tries)-1 {
			row.RequestID += "-" + strconv.Itoa(i+1)
			row.Status = experiment.StatusError
			row.TTFT, row.CallerTTFT = experiment.Opt[experiment.Micros]{}, experiment.Opt[experiment.Micros]{}
			noTokens(&row.Request)
			noCost(&row.Request)
		} else if row.CallerTTFT.Known {
			row.TTFT = experiment.Some(row.CallerTTFT.Value - try.Start.Value)
		}
		rows = append(rows, row)
	}
	return rows
}

// composeLiteLLM writes an attempt as LiteLLM's standard logging payload does.
func composeLiteLLM(r *request, tries []attempt, rec *node) {
	try := tries[0]
	rec.put(textNode("trace-"+r.SourceRowID), "trace_id")
	rec.put(textNode(r.Model), "model_group")
	seconds := func(after experiment.Micros) node {
		return numberNode(appendDecimal(nil, int64(r.TS)+int64(after), 6))
	}
	if try.Latency.Known {
		rec.put(seconds(try.Latency.Value), "endTime")
	}
	if r.TTFT.Known {
		rec.put(seconds(r.TTFT.Value), "completionStartTime")
	}
	status, code := "success", int64(try.HTTPStatus.Value)
	if r.Status == experiment.StatusCancelled {
		code = 499
	}
	if r.Status == experiment.StatusError || r.Status == experiment.StatusErrorMidstream || code == 499 {
		status = "failure"
		rec.put(textNode(strconv.FormatInt(code, 10)), "error_information", "error_code")
		rec.put(textNode(try.ErrorType), "error_information", "error_class")
	}
	rec.put(textNode(status), "status")
	rec.put(textNode(status), "status_fields", "llm_api_status")
	rec.put(moneyNode(r.Cost), "response_cost")
	rec.put(textNode("dep-"+try.Provider), "model_id")
	rec.put(node{kind: jsonBool, text: strconv.AppendBool(nil, r.Status == experiment.StatusGatewayCache)}, "cache_hit")
	if r.Arm != "" {
		rec.put(node{kind: jsonNested, array: true, members: []member{{value: textNode("arm:" + r.Arm)}}}, "request_tags")
	}
}

// Close writes what is buffered.
func (g *GatewayWriter) Close() error { return g.w.Flush() }

// record sets every field of the mapping, then what the format derives, then keys that recognise it.
func (g *GatewayWriter) record(r *request, tries []attempt) node {
	rec := node{kind: jsonNested}
	for i, f := range g.mapping.fields {
		path := strings.Split(strings.Split(f.path, "|")[0], "/")
		if v := fieldValue(&g.columns[g.places[i]], f.unit, r); v.kind != jsonNull {
			rec.put(v, path...)
		}
	}
	g.mapping.compose(r, tries, &rec)
	for _, key := range g.mapping.keys {
		if path := strings.Split(key, "/"); rec.get(path...).kind == jsonNull {
			rec.put(node{}, path...)
		}
	}
	return rec
}

func fieldValue(c *column[request], u unit, r *request) node {
	if c.text != nil {
		return textNode(*c.text(r))
	}
	v, known := c.number(r)
	if !known {
		return node{}
	}
	switch {
	case u == secondsUnit || u == unixSeconds:
		return numberNode(appendDecimal(nil, v, 6))
	case c.kind == kindTime:
		return textNode(string(appendNumber(nil, kindTime, v)))
	case c.kind == kindBool:
		return node{kind: jsonBool, text: strconv.AppendBool(nil, v != 0)}
	}
	return numberNode(appendNumber(nil, c.kind, v))
}

func textNode(s string) node {
	if s == "" {
		return node{}
	}
	return node{kind: jsonString, text: []byte(s)}
}

func numberNode(text []byte) node { return node{kind: jsonNumber, text: text} }

func wholeNode(v int64) node { return numberNode(strconv.AppendInt(nil, v, 10)) }

// moneyNode is a known amount in USD, or null.
func moneyNode(o experiment.Opt[experiment.NanoUSD]) node {
	if !o.Known {
		return node{}
	}
	return numberNode(appendDecimal(nil, int64(o.Value), 9))
}

func millisNode(o experiment.Opt[experiment.Micros]) node {
	if !o.Known {
		return node{}
	}
	return numberNode(appendDecimal(nil, int64(o.Value), 3))
}

// put sets the value at a path. A key that ends in "!" holds JSON in a string.
func (n *node) put(v node, path ...string) {
	key, inString := strings.CutSuffix(path[0], "!")
	at := slices.IndexFunc(n.members, func(m member) bool { return m.key == key })
	if at < 0 {
		at = len(n.members)
		n.members = append(n.members, member{key: key})
	}
	slot := &n.members[at].value
	if len(path) == 1 {
		*slot = v
		return
	}
	inner := *slot
	if inString {
		inner = slot.inner()
	}
	inner.kind = jsonNested
	inner.put(v, path[1:]...)
	if inString {
		inner = node{kind: jsonString, text: inner.appendJSON(nil)}
	}
	*slot = inner
}

// appendJSON writes a value as JSON.
func (n node) appendJSON(b []byte) []byte {
	switch n.kind {
	case jsonNull:
		return append(b, "null"...)
	case jsonString:
		return appendJSONString(b, string(n.text))
	case jsonNested:
		open, end := byte('{'), byte('}')
		if n.array {
			open, end = '[', ']'
		}
		b = append(b, open)
		for i, m := range n.members {
			if i > 0 {
				b = append(b, ',')
			}
			if !n.array {
				b = append(appendJSONString(b, m.key), ':')
			}
			b = m.value.appendJSON(b)
		}
		return append(b, end)
	}
	return append(b, n.text...)
}

// httpStatus is the code that a gateway logs for a status.
func httpStatus(status string) int64 {
	switch status {
	case experiment.StatusError:
		return 502
	case experiment.StatusCancelled:
		return 499
	}
	return 200
}

func composeGeneration(r *request, tries []attempt, rec *node) {
	rec.put(node{kind: jsonBool, text: strconv.AppendBool(nil, r.Status == experiment.StatusCancelled)}, "cancelled")
	reason := "stop"
	if r.Status == experiment.StatusError || r.Status == experiment.StatusErrorMidstream {
		reason = "error"
	}
	rec.put(textNode(reason), "finish_reason")
	rec.put(moneyNode(r.Cost), map[bool]string{true: "upstream_inference_cost", false: "total_cost"}[r.BYOK.Value])
	rec.put(millisNode(r.CallerTTFT), "latency")
	if r.Total.Known {
		rec.put(millisNode(experiment.Some(r.Total.Value-r.Failed.Value)), "generation_time")
	}
	rec.put(providerResponses(r, tries), "provider_responses")
}

// providerResponses lists the attempts. Those of a request that the batch does not list follow from its counts.
func providerResponses(r *request, tries []attempt) node {
	if len(tries) == 0 {
		for n := range r.Attempts.Value {
			try := attempt{Latency: experiment.Some[experiment.Micros](0), HTTPStatus: experiment.Some(map[bool]int32{true: 429, false: 503}[r.N429.Value > n])}
			switch n {
			case r.Attempts.Value - 1:
				try.Provider, try.HTTPStatus = r.Provider, experiment.Some[int32](200)
			case 0:
				try.Latency = r.Failed
			}
			tries = append(tries, try)
		}
	}
	list := node{kind: jsonNested, array: true}
	for i := range tries {
		try := node{kind: jsonNested}
		try.put(textNode(tries[i].Provider), "provider_name")
		status, latency := tries[i].HTTPStatus, tries[i].Latency
		if i == len(tries)-1 && (status.Value == 200 || status.Value == 499) { // 499 is the caller's, not the provider's
			status, latency = experiment.Some[int32](200), r.TTFT
		}
		if status.Known {
			try.put(wholeNode(int64(status.Value)), "status")
		}
		try.put(millisNode(latency), "latency")
		list.members = append(list.members, member{value: try})
	}
	return list
}

func composeHelicone(r *request, _ []attempt, rec *node) {
	if r.InputTokens.Known {
		rec.put(wholeNode(r.InputTokens.Value-r.CachedTokens.Value-r.CacheWriteTokens.Value), "prompt_tokens")
	}
	rec.put(wholeNode(httpStatus(r.Status)), "response_status")
	rec.put(moneyNode(r.Cost), "costUSD")
}

func composeCloudflare(r *request, _ []attempt, rec *node) {
	rec.put(wholeNode(httpStatus(r.Status)), "status_code")
	rec.put(node{kind: jsonBool, text: strconv.AppendBool(nil, r.Status == experiment.StatusGatewayCache)}, "cached")
	rec.put(moneyNode(r.Cost), "cost")
	if r.Attempts.Known {
		rec.put(wholeNode(int64(r.Attempts.Value)-1), "step")
	}
	if r.Streamed.Known {
		rec.put(textNode(map[bool]string{true: "text/event-stream", false: "application/json"}[r.Streamed.Value]), "response_content_type")
	}
}

func composeBifrost(r *request, _ []attempt, rec *node) {
	status := "success"
	switch r.Status {
	case experiment.StatusError, experiment.StatusErrorMidstream:
		status = "error"
	case experiment.StatusCancelled:
		status = "cancelled"
	}
	rec.put(textNode(status), "status")
	rec.put(moneyNode(r.Cost), "cost")
	if r.Attempts.Known {
		rec.put(wholeNode(int64(r.Retries.Value)), "number_of_retries")
	}
	trail := node{kind: jsonNested, array: true}
	for range r.N429.Value {
		try := node{kind: jsonNested}
		try.put(wholeNode(429), "status_code")
		trail.members = append(trail.members, member{value: try})
	}
	rec.put(trail, "attempt_trail")
}

func composePortkey(r *request, _ []attempt, rec *node) {
	rec.put(wholeNode(httpStatus(r.Status)), "response_status_code")
	if r.Cost.Known {
		rec.put(numberNode(appendDecimal(nil, int64(r.Cost.Value), 7)), "cost") // cents
	}
	if r.Retries.Known {
		rec.put(textNode(strconv.Itoa(int(r.Retries.Value))), "retry_success_count")
	}
	rec.put(textNode(r.SessionID), "metadata", "session_id")
}

func composeLangfuse(r *request, _ []attempt, rec *node) {
	rec.put(textNode("GENERATION"), "type")
	rec.put(textNode("trace-"+r.RequestID), "trace_id")
	level := "DEFAULT"
	if r.Status == experiment.StatusError || r.Status == experiment.StatusErrorMidstream {
		level = "ERROR"
	}
	rec.put(textNode(level), "level")
	if r.Status != experiment.StatusCancelled && r.Total.Known {
		rec.put(textNode(string(appendNumber(nil, kindTime, int64(r.TS)+int64(r.Total.Value)))), "end_time")
	}
	rec.put(moneyNode(r.Cost), "total_cost")
	if r.InputTokens.Known {
		rec.put(wholeNode(r.InputTokens.Value-r.CachedTokens.Value), "usage_details", "input")
	}
	if r.CachedTokens.Known {
		rec.put(wholeNode(r.CachedTokens.Value), "usage_details", "input_cached_tokens")
	}
	if r.OutputTokens.Known {
		rec.put(wholeNode(r.OutputTokens.Value), "usage_details", "output")
	}
}
