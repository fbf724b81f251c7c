package toolcall

import (
	"encoding/json"
	"testing"
)

func checker() *Checker {
	return NewChecker([]Tool{
		{"weather", json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "integer", "minimum": 1}},
			"required": ["city"], "additionalProperties": false}`)},
		{"anything", nil},
		{"broken-schema", json.RawMessage(`{"type": 7}`)},
		{"elsewhere", json.RawMessage(`{"$ref": "https://example.com/schema.json"}`)},
		{"inside", json.RawMessage(`{"definitions": {"n": {"type": "number"}}, "properties": {"x": {"$ref": "#/definitions/n"}}}`)},
	})
}

// The published classes: InvalidJson, UnknownName, SchemaMismatch; a missing schema, or one that does not compile, takes anything.
func TestCheck(t *testing.T) {
	c := checker()
	for _, k := range []struct {
		name, arguments, want string
	}{
		{"weather", `{"city": "Bern", "days": 3}`, ""},
		{"weather", `{"city": "Bern", "days": 3.0}`, ""}, // draft 7: a number without a fraction is an integer
		{"weather", `{"city": "Bern"`, "InvalidJson"},
		{"weather", `{"city": "Bern"} and more`, "InvalidJson"},
		{"wheather", `{"city": "Bern"}`, "UnknownName"},
		{"wheather", `{`, "UnknownName"},
		{"weather", `{"days": 3}`, "SchemaMismatch"},
		{"weather", ``, "SchemaMismatch"},
		{"weather", `{"city": ""}`, "SchemaMismatch"},
		{"weather", `{"city": "Bern", "unit": "K"}`, "SchemaMismatch"},
		{"weather", `["Bern"]`, "SchemaMismatch"},
		{"anything", `{"a": [1, null]}`, ""},
		{"anything", ``, ""},
		{"anything", `nothing`, "InvalidJson"},
		{"broken-schema", `{"a": 1}`, ""},
		{"elsewhere", `{"a": 1}`, ""},
		{"inside", `{"x": 1}`, ""},
		{"inside", `{"x": "1"}`, "SchemaMismatch"},
	} {
		if got := c.Check(Call{k.name, k.arguments}).String(); got != k.want {
			t.Errorf("%s(%s): %q, want %q", k.name, k.arguments, got, k.want)
		}
	}
	if !c.WellFormed([]Call{{"anything", ""}, {"inside", "{}"}}) || c.WellFormed([]Call{{"anything", ""}, {"nobody", "{}"}}) {
		t.Error("an answer is well formed when all of its calls are")
	}
}

// Whatever a model writes as arguments, and a caller as schema, checking ends.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type": "object", "required": ["a"]}`, `{"a": 1}`)
	f.Add(`{"$ref": "#"}`, `{}`)
	f.Add(`{"pattern": "("}`, `"x"`)
	f.Fuzz(func(_ *testing.T, schema, arguments string) {
		NewChecker([]Tool{{"t", json.RawMessage(schema)}}).Check(Call{"t", arguments})
	})
}
