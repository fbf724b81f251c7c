package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"

	"switchback/router/request"
)

// explainSettings are the flags of explain.
type explainSettings struct {
	settings
	market  string
	request string
	trace   string
	format  string
}

// explainCommand shows one routing decision with everything behind it.
func (p *process) explainCommand() command {
	var s explainSettings
	fs := pflag.NewFlagSet("explain", pflag.ContinueOnError)
	fs.StringVar(&s.market, "market", "", "endpoints on offer with what is known of them, a TOML or JSON `file`")
	fs.StringVar(&s.request, "request", "", "request body, a JSON or TOML `file`; - reads the standard input")
	fs.StringVar(&s.trace, "trace", "", "run a recorded decision again, a `file` made with --format trace, and compare")
	fs.Uint64Var(&s.seed, "seed", defaultSeed, "`seed` of the draw")
	fs.StringVar(&s.format, "format", "table", "table, json or trace, a `word`; a trace holds its inputs")
	s.logFlags(fs)
	return command{
		use:   "explain",
		short: "Explain one routing decision",
		long: "Shows every term of every endpoint's Routing Cost, the reasons of those that are out, and the order of tries.\n" +
			"Money is in USD per 1,000 requests of the estimated size.",
		example: "  switchback explain --market market.toml --request request.json\n" +
			"  switchback explain --market market.toml --request request.json --format trace > decision.json\n" +
			"  switchback explain --trace decision.json",
		args:  noArguments,
		flags: fs,
		run: func(context.Context, []string) error {
			if err := checkWords("format", s.format, []string{"table", "json", "trace"}); err != nil {
				return err
			}
			trace, err := p.trace(&s)
			if err != nil {
				return fieldError(err)
			}
			return writeTrace(p.stdout, trace, s.format)
		},
	}
}

// trace decides the request, or decides a recorded one again.
func (p *process) trace(s *explainSettings) (*request.Trace, error) {
	if s.trace != "" {
		if s.market != "" || s.request != "" || s.format == "trace" {
			return nil, usageError("a trace holds its market and request", "--trace stands alone")
		}
		text, err := readInput(s.trace, p.stdin)
		if err != nil {
			return nil, err
		}
		answer, err := request.Replay(text, s.trace)
		return &request.Trace{Answer: answer}, err
	}
	if s.market == "" || s.request == "" {
		return nil, usageError("or --trace a recorded decision", "--market and --request must both be given")
	}
	if s.market == stdinName && s.request == stdinName {
		return nil, usageError("one of them has to be a file", "--market and --request both read the standard input")
	}
	market, err := readInput(s.market, p.stdin)
	if err != nil {
		return nil, err
	}
	body, err := readInput(s.request, p.stdin)
	if err != nil {
		return nil, err
	}
	return request.Record(market, s.market, body, s.request, s.seed)
}

// stdinName names the standard input among files.
const stdinName = "-"

// readInput reads a whole file, or the standard input when it is named "-".
func readInput(name string, stdin io.Reader) ([]byte, error) {
	if name == stdinName {
		return io.ReadAll(stdin)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, usageError("", "%w", err)
	}
	return text, nil
}

// fieldError makes usage errors of the mistakes in a file, each with its hint.
func fieldError(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var told manyErrors
		for _, one := range all.Unwrap() {
			told = append(told, fieldError(one))
		}
		return told
	}
	var field *request.FieldError
	switch {
	case !errors.As(err, &field):
		return err
	case err != error(field): //nolint:errorlint // the error itself, not what it wraps
		return usageError("", "%w", err) // says what was done with the file too
	}
	bare := *field
	bare.Hint = ""
	return usageError(field.Hint, "%w", &bare)
}

func writeTrace(w io.Writer, t *request.Trace, format string) error {
	if format == "trace" {
		return writeJSON(w, t)
	}
	if t.Error != "" {
		return &ExitError{Code: exitFailed, Err: fmt.Errorf("explain: nobody can serve the request: %s", t.Error)}
	}
	if format == "json" {
		return writeJSON(w, t.Answer)
	}
	_, err := w.Write(explanationText(t.Answer))
	return err
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// explanationText lays an explanation out for people.
func explanationText(x *request.Explanation) []byte {
	var b bytes.Buffer
	for i := range x.Stages {
		s := &x.Stages[i]
		fmt.Fprintf(&b, "%s, policy %s, about %.0f input and %.0f output tokens\n\n", s.Model, policyOf(x, s), s.InputTokens, s.OutputTokens)
		header, rows := s.Table()
		t := table.NewWriter()
		t.SetStyle(plainTable())
		t.AppendHeader(rowOf(header))
		right := make([]bool, len(header))
		for j := 1; j+1 < len(right); j++ {
			right[j] = true
		}
		t.SetColumnConfigs(aligned(right))
		for _, row := range rows {
			t.AppendRow(rowOf(row))
		}
		b.WriteString(rendered(t) + "\n\n")
	}
	for _, note := range x.Notes {
		fmt.Fprintf(&b, "Note: %s.\n", strings.TrimSuffix(note, "."))
	}
	if x.Left != "" {
		fmt.Fprintf(&b, "The conversation does not stay where it was: %s.\n", x.Left)
	}
	b.WriteString("Tries, as if each one failed:\n")
	for i, try := range x.Tries {
		fmt.Fprintf(&b, "%4d. %s at %s: %s\n", i+1, try.Model, try.Endpoint, try.How)
	}
	return b.Bytes()
}

func policyOf(x *request.Explanation, s *request.StageReport) string {
	if s.RouterApplied {
		return x.Policy
	}
	return x.Policy + " overruled by the request"
}
