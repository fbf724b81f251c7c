package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Exit codes. Any other code is a failure.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitIncomplete  = 3
	exitGuardrail   = 4
	exitLocked      = 75 // EX_TEMPFAIL of sysexits
	exitInterrupted = 130
)

// exitCode is one row of the exit-code table, which the help and the README show.
type exitCode struct {
	Code    int
	Meaning string
}

// exitCodes returns the table in ascending order.
func exitCodes() []exitCode {
	return []exitCode{
		{exitDone, "done (any verdict)"},
		{exitFailed, "failed"},
		{exitUsage, "usage or configuration error: do not retry"},
		{exitIncomplete, "report written, inputs incomplete (missing blocks, rejects over --max-rejects)"},
		{exitGuardrail, "a guardrail metric breached and --fail-on-guardrail was given"},
		{exitLocked, "another run holds the lock: retry later"},
		{exitInterrupted, "interrupted"},
	}
}

// exitCodeHelp renders the table for the help text.
func exitCodeHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n")
	for _, c := range exitCodes() {
		fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.Meaning)
	}
	return b.String()
}

// ExitError is an error with the exit code that it ends the program with, and what the user can do about it.
type ExitError struct {
	Code int
	Err  error
	Hint string // "" when there is nothing to say
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap returns the error without code and hint.
func (e *ExitError) Unwrap() error { return e.Err }

// usageError returns an ExitError with exit code 2.
func usageError(hint, format string, args ...any) error {
	return &ExitError{Code: exitUsage, Err: fmt.Errorf(format, args...), Hint: hint}
}

// codeOf returns the exit code of an error: the one it carries, 130 after an interrupt, else 1.
func codeOf(err error) int {
	var coded *ExitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitFailed
}

// complaint is one error line and its hint, as they are shown.
type complaint struct {
	text string
	hint string
}

// reported says whether a command that ended with err has written its results.
func reported(err error) bool {
	switch codeOf(err) {
	case exitDone, exitIncomplete, exitGuardrail:
		return true
	}
	return false
}

// manyErrors are errors that are told one by one, such as all problems of a configuration.
type manyErrors []error

func (m manyErrors) Error() string { return errors.Join(m...).Error() }

// Unwrap returns the parts.
func (m manyErrors) Unwrap() []error { return m }

// complaints splits an error into the lines it is told in, each with its own hint.
func complaints(err error) []complaint {
	var many manyErrors
	if errors.As(err, &many) {
		var all []complaint
		for _, part := range many {
			all = append(all, complaints(part)...)
		}
		return all
	}
	line := complaint{text: err.Error()}
	var coded *ExitError
	if errors.As(err, &coded) {
		line.hint = coded.Hint
	}
	return []complaint{line}
}
