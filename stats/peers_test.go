package stats_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"switchback/stats"
)

// TestPeers bootstraps a million rows with scipy too and compares answers and times. It runs with SWITCHBACK_PEERS=1 and needs
// python3 with scipy ≥ 1.15, or another interpreter named by PYTHON; make bench-peers runs it. Both draw 10,000 replicates,
// which takes scipy a minute or two for each metric.
func TestPeers(t *testing.T) {
	if os.Getenv("SWITCHBACK_PEERS") == "" {
		t.Skip("compares with scipy: set SWITCHBACK_PEERS=1")
	}
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import scipy").CombinedOutput(); err != nil {
		t.Skipf("%s has no scipy: %v %s", python, err, out)
	}
	const rows, models, pairs, peerReplicates = 1_000_000, 30, 28, 10_000
	src := newBigSource(rows, models, pairs)
	path := filepath.Join(t.TempDir(), "rows")
	writeRows(t, path, src)
	metrics := []stats.Metric{
		{ID: "p50", Kind: stats.Quantile, PerMille: 500, Quantity: "v", Scale: 1},
		{ID: "p95", Kind: stats.Quantile, PerMille: 950, Quantity: "v", Scale: 1},
	}
	opts := stats.DefaultOptions()
	opts.Interval, opts.Replicates = stats.IntervalPercentile, peerReplicates
	for _, metric := range metrics {
		started, worked := time.Now(), processorTime(t)
		got, err := stats.Analyze(context.Background(), src, []stats.Metric{metric}, testPairs(7, 4), opts)
		if err != nil {
			t.Fatal(err)
		}
		own, ownCPU := time.Since(started).Seconds(), (processorTime(t) - worked).Seconds()
		cmd := exec.Command(python, filepath.Join("testdata", "peers.py"), path, strconv.Itoa(pairs), strconv.Itoa(models),
			strconv.FormatFloat(float64(metric.PerMille)/1000, 'f', -1, 64), strconv.Itoa(peerReplicates))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var peer struct{ Estimate, Lo, Hi, SE, Seconds, CPU float64 }
		if err := json.Unmarshal(out, &peer); err != nil {
			t.Fatal(err)
		}
		e := got.Estimates[0].Relative
		if !near(math.Log1p(*e.Estimate), peer.Estimate, 1e-12) {
			t.Errorf("%s: estimate %v, scipy %v", metric.ID, math.Log1p(*e.Estimate), peer.Estimate)
		}
		// Four standard errors of the difference between two ends, each with its own replicates.
		tolerance := 4 * math.Sqrt2 * peer.SE * math.Sqrt(.025*.975/peerReplicates) / distuv.UnitNormal.Prob(1.96)
		if !near(math.Log1p(*e.Lo), peer.Lo, tolerance) || !near(math.Log1p(*e.Hi), peer.Hi, tolerance) {
			t.Errorf("%s: interval (%v, %v), scipy (%v, %v) ± %v", metric.ID, math.Log1p(*e.Lo), math.Log1p(*e.Hi), peer.Lo, peer.Hi, tolerance)
		}
		t.Logf("%s of %d rows, %d models: log effect %.5f in (%.5f, %.5f) here, (%.5f, %.5f) in scipy, whose ends may differ by %.5f", metric.ID, rows, models,
			peer.Estimate, math.Log1p(*e.Lo), math.Log1p(*e.Hi), peer.Lo, peer.Hi, tolerance)
		t.Logf("%s: %d replicates took %.2f s (%.2f s of the processors) here, with half-samples beside them and the source, and %.1f s (%.1f s) in scipy: %.0f times as long, %.0f times the work",
			metric.ID, peerReplicates, own, ownCPU, peer.Seconds, peer.CPU, peer.Seconds/own, peer.CPU/ownCPU)
	}
}

// processorTime is what this process has used of the processors.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// writeRows writes model, pair, arm and value of every row.
func writeRows(t *testing.T, path string, src *bigSource) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	var row [32]byte
	for i, cell := range src.values {
		column := i % (2 * src.pairs)
		for _, v := range cell {
			for k, n := range []int64{int64(i / (2 * src.pairs)), int64(column / 2), int64(column % 2), v} {
				binary.LittleEndian.PutUint64(row[8*k:], uint64(n))
			}
			if _, err := w.Write(row[:]); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
