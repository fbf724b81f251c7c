package main

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
)

// Set by the linker in builds of a release (.ci/dist), which have no version control beside them: -X main.version=1.2.3.
var (
	version string // of the release
	commit  string // of its source, "" for a work tree with changes
)

// program says which build of switchback runs.
type program struct {
	Version  string `json:"version"`  // module version, "(devel)" for a build from a working tree
	Commit   string `json:"commit"`   // of the source, "" when unknown
	Modified bool   `json:"modified"` // the working tree differed from the commit
	Go       string `json:"go"`
	DuckDB   string `json:"duckdb"`
	Platform string `json:"platform"`
}

// thisProgram reads the build information of the running binary.
func thisProgram() program {
	p := program{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if version != "" {
		p.Version, p.Commit = version, commit
		return p
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	if v := info.Main.Version; v != "" {
		p.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.Commit = s.Value
		case "vcs.modified":
			p.Modified = s.Value == "true"
		}
	}
	return p
}

// label names the build in one line.
func (p program) label() string {
	label := p.Version
	if p.Commit != "" && !strings.Contains(label, p.Commit[:min(12, len(p.Commit))]) {
		label += " " + p.Commit[:min(12, len(p.Commit))]
	}
	if p.Modified && !strings.Contains(label, "dirty") {
		label += " (modified)"
	}
	return label
}

// identity returns what must be the same for an earlier result to count as up to date: the commit of a clean build, else
// the executable's build id, which holds a hash of its content, else its SHA-256.
func (p program) identity() (string, error) {
	if p.Commit != "" && !p.Modified {
		return p.Commit + " " + p.Go + " " + p.Platform, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program's own file: %w", err)
	}
	if id := buildID(path); id != "" {
		return id + " " + p.Platform, nil
	}
	return hashFile(path)
}

// buildID returns the id that the go command gave an ELF executable, "" when there is none.
func buildID(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	section := f.Section(".note.go.buildid")
	if section == nil {
		return ""
	}
	note, err := section.Data() // lengths of name and text, a kind, the name "Go", the text
	const text = 16
	if err != nil || len(note) < text {
		return ""
	}
	end := text + uint64(f.ByteOrder.Uint32(note[4:]))
	return string(note[text:min(end, uint64(len(note)))])
}

// hashFile returns the SHA-256 of a file in hex.
func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// hashBytes returns the SHA-256 of data in hex.
func hashBytes(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
