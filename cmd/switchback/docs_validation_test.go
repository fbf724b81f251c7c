package main

import (
	"testing"

	"switchback/reports"
)

// The validation in the repository: docs/validation.json is what a command wrote, and the page, its figure and the copy
// that every report tells of follow from it.

// TestGeneratedValidation: page, figure and copy are those of docs/validation.json.
func TestGeneratedValidation(t *testing.T) {
	const data = "docs/validation.json"
	text := readDocument(t, data)
	v, err := reports.DecodeValidation([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	files, err := reports.RenderValidation(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := "docs/" + f.Name; name != data && string(f.Bytes) != readDocument(t, name) {
			writeDocument(t, name, string(f.Bytes), "does not follow from "+data)
		}
	}
	if readDocument(t, "reports/validation.json") != text {
		writeDocument(t, "reports/validation.json", text, "is no copy of "+data)
	}
}
