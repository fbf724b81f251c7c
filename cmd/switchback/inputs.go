package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// expand turns names and glob patterns into files, sorted and without repetition. A name that exists wins over its
// reading as a pattern; what a pattern finds besides regular files is skipped and returned in skipped.
func expand(patterns []string) (files, skipped []string, err error) {
	for _, pattern := range patterns {
		info, statErr := os.Stat(pattern)
		switch {
		case pattern == stdinName:
			files = append(files, pattern)
			continue
		case statErr == nil && info.IsDir():
			return nil, nil, usageError("name the files, such as "+filepath.Join(pattern, "*.jsonl"), "read %s: is a folder", pattern)
		case statErr == nil && !info.Mode().IsRegular():
			return nil, nil, usageError("name a regular file, or - for the standard input", "read %s: is %s", pattern, kindOf(info.Mode()))
		case statErr == nil:
			files = append(files, pattern)
			continue
		case !errors.Is(statErr, fs.ErrNotExist):
			return nil, nil, usageError("", "read %w", statErr)
		}
		found, globErr := filepath.Glob(pattern)
		if globErr != nil {
			return nil, nil, usageError("", "read %s: %w", pattern, globErr)
		}
		before := len(files)
		for _, path := range found {
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
				skipped = append(skipped, path)
				continue
			}
			files = append(files, path)
		}
		if len(files) == before {
			if strings.ContainsAny(pattern, "*?[") {
				return nil, nil, usageError("check the pattern and the folder that it is relative to", "read %s: no file matches", pattern)
			}
			return nil, nil, usageError("check the name and the folder that it is relative to", "read %s: no such file", pattern)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), skipped, nil
}

// inputFile is one file of the input with what it holds.
type inputFile struct {
	Path   string
	SHA256 string
}

// stdinName names the standard input among files.
const stdinName = "-"

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}
