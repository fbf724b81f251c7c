package ingest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"switchback/experiment"
)

// someStart is where the rows of these tests begin.
var someStart = time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)

// someRequests returns n rows like those of a drive: spread over a week, with failed attempts and unknown values.
func someRequests(n int, seed uint64) []experiment.Request {
	rng := rand.New(rand.NewPCG(seed, 1))
	models := []string{"z-ai/glm-4.7", "deepseek/deepseek-chat-v3-0324", "qwen/qwen3-coder", "meta-llama/llama-3.3-70b"}
	providers := []string{"deepinfra/fp8", "novita", "fireworks", "together", "atlas-cloud/fp8"}
	arms := []string{"price", "routing-cost"}
	step := 7 * 24 * time.Hour / time.Duration(n)
	rows := make([]experiment.Request, n)
	for i := range rows {
		at := time.Duration(i) * step
		block := int(at / (3 * time.Hour))
		failed := rng.IntN(10) == 0
		r := experiment.Request{
			RequestID: fmt.Sprintf("r%x", i), SessionID: fmt.Sprintf("s%x", i/3), ClientID: fmt.Sprintf("c%d", i%50),
			TS:    experiment.InstantOf(someStart.Add(at)),
			Model: models[rng.IntN(len(models))], Provider: providers[rng.IntN(len(providers))],
			Arm: arms[block%2], BlockID: fmt.Sprint(block + 1), InBurnIn: experiment.Some(at%(3*time.Hour) < time.Hour),
			Attempts: experiment.Some[int32](1), N429: experiment.Some[int32](0), Retries: experiment.Some[int32](0),
			TTFT:             experiment.Some(experiment.Micros(200_000 + rng.IntN(2_000_000))),
			Failed:           experiment.Some(experiment.Micros(0)),
			InputTokens:      experiment.Some(int64(rng.IntN(9000) + 1)),
			CachedTokens:     experiment.Some(int64(0)),
			CacheWriteTokens: experiment.Some(int64(0)),
			OutputTokens:     experiment.Some(int64(rng.IntN(900) + 1)),
			ReasoningTokens:  experiment.Some(int64(0)),
			Cost:             experiment.Some(experiment.NanoUSD(rng.IntN(5_000_000))),
			CostSource:       experiment.CostBilled, Status: experiment.StatusOK,
			Streamed: experiment.Some(rng.IntN(4) > 0), BYOK: experiment.Some(false),
			Source: SourceDrive, SourceRowID: fmt.Sprintf("r%x", i),
		}
		if i%5 == 0 {
			r.PinnedFromBlock = r.BlockID
			r.ToolCallOK = experiment.Some(rng.IntN(20) > 0)
		}
		if failed {
			r.Attempts, r.N429, r.Retries = experiment.Some[int32](2), experiment.Some[int32](1), experiment.Some[int32](1)
			r.Failed = experiment.Some(experiment.Micros(rng.IntN(900_000)))
		}
		r.CallerTTFT = experiment.Some(r.TTFT.Value + r.Failed.Value + 20_000)
		r.Total = experiment.Some(r.CallerTTFT.Value + experiment.Micros(rng.IntN(20_000_000)))
		if rng.IntN(50) == 0 {
			r.Status, r.Provider = experiment.StatusError, ""
			r.TTFT, r.CallerTTFT, r.OutputTokens = experiment.Opt[experiment.Micros]{}, experiment.Opt[experiment.Micros]{}, experiment.Opt[int64]{}
			r.Cost = experiment.Some(experiment.NanoUSD(0))
		} else if i%4 > 0 {
			r.CheapestCost = experiment.Some(r.Cost.Value * experiment.NanoUSD(i%4) / 3)
		}
		rows[i] = r
	}
	return rows
}

// attemptsOf returns the attempt rows that go with requests.
func attemptsOf(requests []experiment.Request) []experiment.Attempt {
	var out []experiment.Attempt
	for _, r := range requests {
		for n := int32(1); r.Attempts.Value > 1 && n <= r.Attempts.Value; n++ {
			a := experiment.Attempt{RequestID: r.RequestID, N: n, Provider: "novita", Start: experiment.Some(experiment.Micros(0)), Latency: r.Failed, HTTPStatus: experiment.Some[int32](429), ErrorType: "rate_limit"}
			if n == r.Attempts.Value {
				a.Provider, a.HTTPStatus, a.ErrorType, a.Cost = r.Provider, experiment.Some[int32](200), "", r.Cost
			}
			out = append(out, a)
		}
	}
	return out
}

func openTemp(tb testing.TB) *Store {
	tb.Helper()
	return openFor(tb, filepath.Join(tb.TempDir(), "test.duckdb"))
}

// openInMemory returns a store that takes less time to open.
func openInMemory(tb testing.TB) *Store {
	tb.Helper()
	return openFor(tb, InMemory)
}

func openFor(tb testing.TB, path string) *Store {
	tb.Helper()
	s, err := Open(context.Background(), path, DefaultOptions())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// load puts requests and their attempts into the store as one load of the drive.
func load(tb testing.TB, s *Store, requests []experiment.Request) LoadRow {
	tb.Helper()
	l, err := s.NewLoader(context.Background(), LoadInfo{File: DriveFile, Format: SourceDrive, Now: someStart})
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.Write(&experiment.Batch{Requests: requests, Attempts: attemptsOf(requests)}); err != nil {
		tb.Fatal(err)
	}
	row, err := l.Commit()
	if err != nil {
		tb.Fatal(err)
	}
	return row
}

// scalar returns the single value of a query as text.
func scalar(tb testing.TB, s *Store, query string, args ...any) string {
	tb.Helper()
	var v any
	if err := s.db.QueryRowContext(context.Background(), query, args...).Scan(&v); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return fmt.Sprint(v)
}
