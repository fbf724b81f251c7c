package main

import (
	"bytes"
	"path/filepath"
	"testing"
)

// BenchmarkRun is the command run without a configuration: 24 million requests are simulated, 2 million logged, loaded,
// analysed and reported.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		p := quietProcess(new(bytes.Buffer), "run", "--quiet", "--out", filepath.Join(b.TempDir(), "out"))
		if code := p.execute(b.Context()); code != 0 {
			b.Fatalf("exit code %d: %s", code, p.stderr)
		}
	}
}
