package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"switchback/stats"
)

// Encode returns doc as results.json: indented, full precision, lists never null, unknown numbers null.
// A document that Validate refuses is an error.
func Encode(doc Document) ([]byte, error) {
	if err := doc.Validate(); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(listsOf(doc)); err != nil {
		return nil, fmt.Errorf("encode results: %w", err)
	}
	return out.Bytes(), nil
}

// Decode reads results.json back. Unknown fields, another schema version and anything after the document are errors.
func Decode(r io.Reader) (Document, error) {
	dec := json.NewDecoder(r)
	dec.DisallowUnknownFields()
	var doc Document
	if err := dec.Decode(&doc); err != nil {
		return Document{}, fmt.Errorf("decode results: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Document{}, fmt.Errorf("decode results: more data after the document")
	}
	if err := doc.Validate(); err != nil {
		return Document{}, err
	}
	return listsOf(doc), nil
}

// listsOf returns doc with empty lists in place of nil ones, so that readers of the JSON never meet null for a list.
func listsOf(doc Document) Document {
	doc.Decision.Metrics = list(doc.Decision.Metrics)
	doc.Decision.Guardrails = list(doc.Decision.Guardrails)
	doc.Metrics = append([]stats.Estimate{}, doc.Metrics...)
	for i := range doc.Metrics {
		doc.Metrics[i].Warnings = list(doc.Metrics[i].Warnings)
	}
	doc.Diagnostics.Excluded = list(doc.Diagnostics.Excluded)
	doc.Diagnostics.Checks = list(doc.Diagnostics.Checks)
	h := &doc.Diagnostics.Health
	h.ByStatus, h.Quality, h.Rejects = list(h.ByStatus), list(h.Quality), list(h.Rejects)
	h.Nulls = list(h.Nulls)
	h.NotMeasurable = list(h.NotMeasurable)
	h.MissingBlocks, h.LoneBlocks = list(h.MissingBlocks), list(h.LoneBlocks)
	doc.Warnings = list(doc.Warnings)
	doc.Notes = list(doc.Notes)
	doc.Provenance.Inputs = list(doc.Provenance.Inputs)
	doc.Blocks = append([]BlockPoint(nil), doc.Blocks...)
	for i := range doc.Blocks {
		doc.Blocks[i].Values = list(doc.Blocks[i].Values)
	}
	if doc.Comparison != nil {
		c := *doc.Comparison
		c.Rows, c.Different = list(c.Rows), list(c.Different)
		doc.Comparison = &c
	}
	return doc
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
