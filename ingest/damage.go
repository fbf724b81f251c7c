package ingest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Hints for files that cannot be read to their end.
const (
	cutShortHint = "load it again when it is whole"
	damagedHint  = "write or fetch it anew; nothing of it was loaded"
)

// damaged is the error of a file of columns that cannot be read to its end. What is the fault of the machine, or the wish of
// who interrupts, stays what it is.
func damaged(path string, err error) error {
	var disk *fs.PathError
	switch {
	case errors.As(err, &disk), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, errCutShort):
		return err
	case errors.Is(err, errEndMissing):
		return inputError{path, errEndMissing.Error(), cutShortHint}
	}
	return inputError{path, "damaged: " + strings.TrimPrefix(plainMessage(err.Error()), "arrow/ipc: "), damagedHint}
}

// recoverDamage turns a panic of a reader over a damaged file into an error.
func recoverDamage(path string, err *error) {
	if p := recover(); p != nil {
		*err = damaged(path, fmt.Errorf("%v", p))
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
