// Package toolcall tells whether the tool calls of an answer are well formed, which is what the quality term of Routing Cost and the tiers of
// Auto Exacto are about.
//
// The definition is the published one of Auto Exacto: a call is bad when its arguments are not JSON, when it names a tool that the request does
// not have, or when the arguments do not match the tool's JSON Schema (draft 7). A tool without a schema, or with one that does not
// compile, takes any arguments.
package toolcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Fault is what is wrong with a call.
type Fault uint8

// Faults, by the names that they were published under.
const (
	None           Fault = iota
	InvalidJSON          // InvalidJson
	UnknownName          // UnknownName
	SchemaMismatch       // SchemaMismatch
)

// String is the published name, empty for None.
func (f Fault) String() string {
	return [...]string{"", "InvalidJson", "UnknownName", "SchemaMismatch"}[f]
}

// Tool is a tool of a request.
type Tool struct {
	Name   string
	Schema json.RawMessage // of its arguments; nil = none
}

// Call is a tool call of an answer.
type Call struct {
	Name      string
	Arguments string // JSON text; empty counts as {}
}

// Checker checks the calls of answers to one request. It may be used by many goroutines.
type Checker struct {
	schemas map[string]*jsonschema.Schema // nil = any arguments
}

// NewChecker compiles the schemas of a request's tools.
func NewChecker(tools []Tool) *Checker {
	c := &Checker{map[string]*jsonschema.Schema{}}
	for _, t := range tools {
		c.schemas[t.Name] = compile(t.Schema)
	}
	return c
}

// compile returns nil for a schema that is absent or does not compile. References to other documents are not followed.
func compile(schema json.RawMessage) *jsonschema.Schema {
	if len(bytes.TrimSpace(schema)) == 0 {
		return nil
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	compiler.UseLoader(nothing{})
	const here = "tool:arguments"
	if err := compiler.AddResource(here, document); err != nil {
		return nil
	}
	compiled, err := compiler.Compile(here)
	if err != nil {
		return nil
	}
	return compiled
}

// nothing refuses to load other documents.
type nothing struct{}

// Load fails.
func (nothing) Load(string) (any, error) { return nil, errors.New("other documents are not loaded") }

// Check tells what is wrong with a call.
func (c *Checker) Check(call Call) Fault {
	schema, known := c.schemas[call.Name]
	if !known {
		return UnknownName
	}
	text := call.Arguments
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	arguments, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return InvalidJSON
	}
	if schema != nil && schema.Validate(arguments) != nil {
		return SchemaMismatch
	}
	return None
}

// WellFormed says whether all calls of an answer are well formed. An answer counts once, however many of its calls are bad.
func (c *Checker) WellFormed(calls []Call) bool {
	for _, call := range calls {
		if c.Check(call) != None {
			return false
		}
	}
	return true
}
