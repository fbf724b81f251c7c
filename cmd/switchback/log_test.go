package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLogLines(t *testing.T) {
	var b bytes.Buffer
	log := newLogger(&b, &settings{}).With("run_id", "r1")
	log.Debug("hidden")
	log.Info("drive and load", "requests", 24, "what", "two words")
	log.Warn("skipped")
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	if want := `switchback: drive and load requests=24 what="two words" run_id=r1 time=`; !strings.HasPrefix(lines[0], want) {
		t.Errorf("%q, want %q…", lines[0], want)
	}
	if want := `switchback: warn: skipped run_id=r1 time=`; !strings.HasPrefix(lines[1], want) {
		t.Errorf("%q, want %q…", lines[1], want)
	}
}

func TestLogLevels(t *testing.T) {
	for _, tc := range []struct {
		s     settings
		lines int
	}{{settings{}, 2}, {settings{quiet: true}, 1}, {settings{verbose: true}, 3}, {settings{quiet: true, verbose: true}, 1}} {
		var b bytes.Buffer
		log := newLogger(&b, &tc.s)
		log.Debug("a")
		log.Info("b")
		log.Error("c")
		if got := strings.Count(b.String(), "\n"); got != tc.lines {
			t.Errorf("quiet %v, verbose %v: %d lines, want %d", tc.s.quiet, tc.s.verbose, got, tc.lines)
		}
	}
}

// With --log-json errors are JSON lines too, one for each complaint.
func TestComplainAsJSON(t *testing.T) {
	var b bytes.Buffer
	p := &process{stderr: &b}
	p.complain(&ExitError{Code: exitUsage, Err: manyErrors{usageError("do this", "x"), errors.New("y")}}, true)
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	var first struct {
		Level, Msg, Hint string
		ExitCode         int `json:"exit_code"`
	}
	if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
		t.Fatal(err)
	}
	if first.Level != "ERROR" || first.Msg != "x" || first.Hint != "do this" || first.ExitCode != exitUsage {
		t.Errorf("%s", lines[0])
	}
}

// Where nobody watches, a line now and then says how far a stage is; a quiet run says nothing.
func TestStageTellsHowFarItIs(t *testing.T) {
	if lineEvery != 30*time.Second {
		t.Errorf("a line appears every %s", lineEvery)
	}
	for _, quiet := range []bool{false, true} {
		lines := make(chan string, 100)
		p := &progress{w: writerFunc(func(line []byte) { lines <- string(line) }), now: time.Now, every: time.Millisecond, quiet: quiet}
		p.log = newLogger(p, &settings{quiet: quiet})
		s := p.begin("drive", "requests")
		if quiet {
			s.end()
			if len(lines) > 0 {
				t.Errorf("a quiet run says %q", <-lines)
			}
			continue
		}
		if line := <-lines; !strings.HasPrefix(line, "switchback: drive goes on seconds=") {
			t.Errorf("without counts: %q", line)
		}
		s.set(1500, 24_000)
		<-lines // may have been begun before
		if line := <-lines; !strings.HasPrefix(line, "switchback: drive goes on requests=1500 of=24000 per_second=") {
			t.Errorf("with counts: %q", line)
		}
		s.end()
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

func TestStageThatEndsAtOnceShowsNothing(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, now: time.Now, every: lineEvery}
	p.log = newLogger(p, &settings{})
	for _, p.bars = range []bool{true, false} {
		s := p.begin("drive", "requests")
		s.set(1, 2)
		s.end()
	}
	if b.Len() > 0 {
		t.Errorf("it shows %q", b.String())
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 24_000_000: "24,000,000", -1234: "-1,234", -123: "-123"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is printed as %q, want %q", n, got, want)
		}
	}
}
