package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"switchback/stats"
)

// TestTrialsAreReadBack: an experiment comes back from the file as it was, to the last bit.
func TestTrialsAreReadBack(t *testing.T) {
	base, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(base, strconv.Itoa(n))
		number := rapid.Custom(func(t *rapid.T) *float64 {
			if rapid.Bool().Draw(t, "unknown") {
				return nil
			}
			x := rapid.Float64().Draw(t, "x")
			return &x
		})
		bounds := rapid.Custom(func(t *rapid.T) stats.Bounds { return stats.Bounds{Lo: number.Draw(t, "lo"), Hi: number.Draw(t, "hi")} })
		effect := rapid.Custom(func(t *rapid.T) stats.Effect {
			return stats.Effect{Estimate: number.Draw(t, "estimate"), Lo: number.Draw(t, "lo"), Hi: number.Draw(t, "hi")}
		})
		rows := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) finding {
			return finding{effect.Draw(t, "relative"), bounds.Draw(t, "half"), effect.Draw(t, "slot"), map[string]stats.Bounds{"t": bounds.Draw(t, "t")}, number.Draw(t, "p")}
		}), 1, 3)
		want := map[int]trial{}
		for i := range rapid.IntRange(0, 4).Draw(t, "trials") {
			want[7*i] = trial{Requests: int64(i), Truth: rows.Draw(t, "truth"), ByBurnIn: [][]finding{rows.Draw(t, "burn-in")}, Same: [2][]finding{rows.Draw(t, "same"), rows.Draw(t, "same")}}
		}
		head := keptHead{"f", "switchback validate"}
		k, found, err := keepTrials(dir, head)
		if err != nil || len(found) != 0 {
			t.Fatal(found, err)
		}
		for i := range want {
			if err := k.add(i, want[i]); err != nil {
				t.Fatal(err)
			}
		}
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
		k, found, err = keepTrials(dir, head)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.close(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestKeptTrialsRefuse: experiments of other settings are not mixed in, and nothing of a file is lost that is none of ours.
func TestKeptTrialsRefuse(t *testing.T) {
	dir := t.TempDir()
	k, _, err := keepTrials(dir, keptHead{"one", "switchback validate --seed 1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := keepTrials(dir, keptHead{"one", "switchback validate --seed 1"}); codeOf(err) != exitLocked {
		t.Errorf("a file in use: %v", err)
	}
	if err := k.close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keepTrials(dir, keptHead{"two", ""}); codeOf(err) != exitUsage || !strings.Contains(err.Error(), "other settings or another build: switchback validate --seed 1") {
		t.Errorf("other settings: %v", err)
	}
	const foreign = "somebody's notes\n"
	if err := os.WriteFile(k.path, []byte(foreign), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := keepTrials(dir, keptHead{"one", ""}); codeOf(err) != exitUsage {
		t.Errorf("a foreign file: %v", err)
	}
	if text, err := os.ReadFile(k.path); err != nil || string(text) != foreign {
		t.Errorf("the foreign file is now %q (%v)", text, err)
	}
}

// TestValidateGoesOn: a validation that is interrupted, its last line cut at any byte, ends with the very files of one
// that was not, and simulates no finished experiment twice.
func TestValidateGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates four short experiments")
	}
	const experiments, abTests = 3, 1
	v := small(t, experiments, abTests)
	fingerprint, err := v.fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	head := keptHead{fingerprint, "switchback validate"}
	whole, broken := validateSettings{write: t.TempDir()}, validateSettings{write: t.TempDir()}
	k, _, err := keepTrials(broken.write, head)
	if err != nil {
		t.Fatal(err)
	}
	p := quietProcess(new(bytes.Buffer))
	result, err := p.validate(t.Context(), v, &settings{quiet: true, threads: 1}, head.Command, k, nil)
	if err := errors.Join(err, k.close()); err != nil {
		t.Fatal(err)
	}
	if err := p.writeValidation(result, &whole); err != nil {
		t.Fatal(err)
	}
	// All experiments are in the file now. What follows takes some of the last one away.
	text, err := os.ReadFile(k.path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n")) // the head, three experiments, nothing
	for cut := 1; cut <= len(lines[3]); cut += 1 + len(lines[3])/40 {
		if err := os.WriteFile(k.path, text[:len(text)-cut], 0o600); err != nil {
			t.Fatal(err)
		}
		again, found, err := keepTrials(broken.write, head)
		if err != nil || len(found) != experiments-1 {
			t.Fatalf("cut by %d bytes: %d experiments, %v", cut, len(found), err)
		}
		if err := again.close(); err != nil {
			t.Fatal(err)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := p.validateAndWrite(stopped, v, &broken, head.Command); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	p = quietProcess(new(bytes.Buffer))
	if err := p.validateAndWrite(t.Context(), v, &broken, head.Command); err != nil {
		t.Fatal(err)
	}
	if log := p.stderr.(*bytes.Buffer).String(); !strings.Contains(log, "validate goes on") || !strings.Contains(log, "experiments=2 of=3") {
		t.Errorf("does not say that it goes on:\n%s", log)
	}
	for _, name := range []string{"validation.json", "validation.md", "coverage.svg"} {
		a, errA := os.ReadFile(filepath.Join(whole.write, name))
		b, errB := os.ReadFile(filepath.Join(broken.write, name))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs after an interruption (%v, %v)", name, errA, errB)
		}
	}
	if _, err := os.Stat(k.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", k.path, err)
	}
}
