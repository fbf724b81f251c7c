package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestCodeOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{usageError("", "x"), 2},
		{fmt.Errorf("more: %w", usageError("", "x")), 2},
		{errors.Join(&ExitError{Code: exitLocked, Err: errors.New("x")}, errors.New("y")), 75},
		{fmt.Errorf("drive: %w", context.Canceled), 130},
		{&ExitError{Code: exitUsage, Err: manyErrors{usageError("a", "x"), usageError("b", "y")}}, 2},
	} {
		if got := codeOf(tc.err); got != tc.want {
			t.Errorf("%v: exit code %d, want %d", tc.err, got, tc.want)
		}
	}
}

func TestComplaintsTellEachProblemWithItsHint(t *testing.T) {
	err := fmt.Errorf("load: %w", &ExitError{Code: exitUsage, Err: manyErrors{usageError("a", "x"), errors.New("y")}})
	got := complaints(err)
	if want := []complaint{{"x", "a"}, {"y", ""}}; len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("complaints %v, want %v", got, want)
	}
}

func TestHelpShowsEveryExitCode(t *testing.T) {
	help := exitCodeHelp()
	for _, c := range exitCodes() {
		if !strings.Contains(help, fmt.Sprintf("%3d  %s\n", c.Code, c.Meaning)) {
			t.Errorf("help misses %d", c.Code)
		}
	}
}
