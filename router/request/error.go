package request

import (
	"fmt"
	"strings"
)

// FieldError is a mistake in a market, request or trace file.
type FieldError struct {
	File    string
	Line    int    // 0 = unknown
	Field   string // "models[0].endpoints[2].price.input"; empty = the whole file
	Problem string
	Hint    string // what to do about it; may be empty
}

// Error names file, line and field.
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Problem)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// StatusError is the answer to a request that can't be routed, with the HTTP status that callers know it by.
type StatusError struct {
	Status  int
	Message string
	Out     []Exclusion // one reason per endpoint that could have served
}

// Error gives the status and the message, and the reasons for the endpoints.
func (e *StatusError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d: %s", e.Status, e.Message)
	for i, x := range e.Out {
		if i == 0 {
			b.WriteString(": ")
		} else {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s %s: %s", x.Model, x.Endpoint, x.Reason)
	}
	return b.String()
}

// Exclusion says why an endpoint is out.
type Exclusion struct {
	Model    string `json:"model"`
	Endpoint string `json:"endpoint"`
	Reason   string `json:"reason"`
}
