package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrInput is wrapped by errors about the files themselves: missing, refused, of another format than asked for.
var ErrInput = errors.New("input refused")

// inputError is an error about one file.
type inputError struct {
	path   string
	reason string
}

func (e inputError) Error() string { return "load " + e.path + ": " + e.reason }
func (e inputError) Unwrap() error { return ErrInput }

// expand turns paths and glob patterns into files, each once, in the order given and sorted inside a pattern.
// An existing name wins over a pattern. Pipes, devices and folders that a pattern meets are left out with a
// warning; named outright they are refused.
func expand(patterns []string) (paths, warnings []string, err error) {
	add := func(path string) {
		if !slices.Contains(paths, path) {
			paths = append(paths, path)
		}
	}
	for _, pattern := range patterns {
		if pattern == "-" {
			add(pattern)
			continue
		}
		info, statErr := os.Stat(pattern)
		switch {
		case statErr == nil && info.Mode().IsRegular():
			add(pattern)
			continue
		case statErr == nil:
			return nil, nil, inputError{pattern, kindOfFile(info.Mode()) + ", not a file"}
		case !errors.Is(statErr, fs.ErrNotExist) && !strings.ContainsAny(pattern, "*?["):
			return nil, nil, inputError{pattern, statErr.Error()}
		}
		matches, globErr := filepath.Glob(pattern)
		if globErr != nil {
			return nil, nil, inputError{pattern, "bad pattern"}
		}
		if len(matches) == 0 {
			if strings.ContainsAny(pattern, "*?[") {
				return nil, nil, inputError{pattern, "no file matches"}
			}
			return nil, nil, inputError{pattern, "no such file"}
		}
		for _, m := range matches {
			info, err := os.Stat(m)
			if err != nil { // a link to nowhere, or gone since
				warnings = append(warnings, fmt.Sprintf("%s: %s, skipped", m, cause(err)))
				continue
			}
			if !info.Mode().IsRegular() {
				warnings = append(warnings, fmt.Sprintf("%s: %s, skipped", m, kindOfFile(info.Mode())))
				continue
			}
			add(m)
		}
	}
	return paths, warnings, nil
}

// cause is an error without the operation and the path.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func kindOfFile(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
