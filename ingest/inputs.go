package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ErrInput is wrapped by errors about the files themselves: missing, refused, of another format than asked for.
var ErrInput = errors.New("input refused")

// inputError is an error about one file.
type inputError struct {
	path   string
	reason string
	hint   string
}

func (e inputError) Error() string { return "load " + e.path + ": " + e.reason }
func (e inputError) Unwrap() error { return ErrInput }

// Hint returns what can be done about an error that wraps ErrInput, "" when it does not say.
func Hint(err error) string {
	var input inputError
	errors.As(err, &input)
	return input.hint
}

// input is a file to load, or what is wrong with the name that was to give one.
type input struct {
	path  string
	fault error // an inputError, nil for a file
}

// expand turns paths and glob patterns into files, each once, in the order given and sorted inside a pattern.
// An existing name wins over a pattern. Pipes, devices and folders that a pattern meets are left out with a
// warning; named outright they are faults, as are names and patterns of no file. A name that is no UTF-8 is a fault: the
// table of loads could not hold it, and so not tell the file from another one.
func expand(patterns []string) (inputs []input, warnings []string) {
	add := func(path string, fault error) {
		if !utf8.ValidString(path) {
			path = strings.Trim(strconv.Quote(path), `"`)
			fault = inputError{path, "the name is not UTF-8", "rename it, or load it through a pipe with -"}
		}
		if !slices.ContainsFunc(inputs, func(in input) bool { return in.path == path }) {
			inputs = append(inputs, input{path, fault})
		}
	}
	for _, pattern := range patterns {
		matches, reason, hint := matching(pattern)
		if reason != "" {
			add(pattern, inputError{pattern, reason, hint})
			continue
		}
		for _, m := range matches {
			if m == pattern { // named outright
				add(m, nil)
				continue
			}
			info, err := os.Stat(m)
			switch {
			case err != nil: // a link to nowhere, or gone since
				warnings = append(warnings, fmt.Sprintf("%s: %s, skipped", m, cause(err)))
			case !info.Mode().IsRegular():
				warnings = append(warnings, fmt.Sprintf("%s: %s, skipped", m, kindOfFile(info.Mode())))
			default:
				add(m, nil)
			}
		}
	}
	return inputs, warnings
}

// matching returns what a name or pattern stands for, or why it stands for nothing and what to do about it.
func matching(pattern string) (matches []string, reason, hint string) {
	if pattern == "-" {
		return []string{pattern}, "", ""
	}
	isPattern := strings.ContainsAny(pattern, "*?[")
	info, err := os.Stat(pattern)
	switch {
	case err == nil && info.Mode().IsRegular():
		return []string{pattern}, "", ""
	case err == nil && info.IsDir():
		return nil, kindOfFile(info.Mode()) + ", not a file", "name the files in it, such as " + filepath.Join(pattern, "*")
	case err == nil:
		return nil, kindOfFile(info.Mode()) + ", not a file", "- reads the standard input"
	case !isPattern && errors.Is(err, fs.ErrNotExist):
		return nil, "no such file", lookedIn(pattern)
	case !isPattern:
		return nil, err.Error(), ""
	}
	matches, err = filepath.Glob(pattern)
	switch {
	case err != nil:
		return nil, "bad pattern", `* stands for any text, ? for one letter, [ab] for one of these; \ takes the next sign as it is`
	case len(matches) == 0:
		return nil, "no file matches", lookedIn(pattern)
	}
	return matches, "", ""
}

// lookedIn names the folder of a name that gave no file, and what is there instead.
func lookedIn(name string) string {
	folder := filepath.Dir(name)
	if whole, err := filepath.Abs(folder); err == nil && !strings.ContainsAny(folder, "*?[") {
		folder = whole
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "looked in " + folder + ", which is no folder that can be read"
	}
	base := filepath.Base(name)
	for _, e := range entries {
		if near := e.Name(); oneLetterOff(near, base) || near == base+".gz" || near == base+".zst" || near+".gz" == base {
			return "looked in " + folder + "; did you mean " + near + "?"
		}
	}
	return "looked in " + folder
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
