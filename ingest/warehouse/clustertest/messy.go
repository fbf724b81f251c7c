package clustertest

import (
	"fmt"
	"math/rand/v2"

	"switchback/experiment"
)

// Messy returns rows of a log with every status and unknown values everywhere, sessions with several requests in one
// microsecond, and clients of very different sizes.
func Messy(plan experiment.Plan, n int, seed uint64) []experiment.Request {
	rng := rand.New(rand.NewPCG(seed, 2))
	starts, ends := plan.Window()
	statuses := []string{"ok", "ok", "ok", "ok", "error", "error_midstream", "cancelled", "ok_gateway_cache", ""}
	rows := make([]experiment.Request, n)
	for i := range rows {
		r := &rows[i]
		r.RequestID = fmt.Sprint("m", i)
		r.TS = experiment.Instant(starts.UnixMicro() + rng.Int64N(ends.Sub(starts).Microseconds()))
		r.Model = fmt.Sprint("model-", rng.IntN(3))
		if rng.IntN(4) > 0 {
			r.SessionID = fmt.Sprint("s", rng.IntN(n/4))
		}
		if i > 0 && rng.IntN(10) == 0 {
			r.TS, r.SessionID = rows[i-1].TS, rows[i-1].SessionID
		}
		if c := i % 40; c < 36 {
			r.ClientID = fmt.Sprint("c", c/6*c/6)
		}
		if rng.IntN(8) > 0 {
			r.Provider = fmt.Sprint("provider-", rng.IntN(3))
		}
		if rng.IntN(3) == 0 {
			r.Arm = []string{plan.Arms.Control, plan.Arms.Treatment}[rng.IntN(2)]
		}
		r.PinnedFromBlock = []string{"", "3", "4"}[rng.IntN(3)]
		r.Attempts, r.N429, r.Retries = opt[int32](rng, 1, 4), opt[int32](rng, 0, 3), opt[int32](rng, 0, 3)
		r.TTFT, r.CallerTTFT = opt[experiment.Micros](rng, 0, 3_000_000), opt[experiment.Micros](rng, 0, 4_000_000)
		r.Total, r.Failed = opt[experiment.Micros](rng, 0, 60_000_000), opt[experiment.Micros](rng, 0, 900_000)
		r.InputTokens, r.CachedTokens, r.OutputTokens = opt[int64](rng, 0, 9000), opt[int64](rng, 0, 4000), opt[int64](rng, 0, 800)
		r.Cost = opt[experiment.NanoUSD](rng, 0, 9_000_000)
		r.CheapestCost = opt[experiment.NanoUSD](rng, 0, 9_000_000)
		r.Status = statuses[rng.IntN(len(statuses))]
		r.Streamed, r.ToolCallOK = flag(rng), flag(rng)
		r.Source = "canonical"
	}
	return rows
}

func opt[T ~int32 | ~int64](rng *rand.Rand, lo, hi int64) experiment.Opt[T] {
	if rng.IntN(6) == 0 {
		return experiment.Opt[T]{}
	}
	return experiment.Some(T(lo + rng.Int64N(hi-lo)))
}

func flag(rng *rand.Rand) experiment.Opt[bool] {
	return experiment.Opt[bool]{Value: rng.IntN(2) == 0, Known: rng.IntN(3) > 0}
}

// WithRepeats adds rows of the same records: equal ones, and ones that say less.
func WithRepeats(rows []experiment.Request) []experiment.Request {
	for i := range 3000 {
		again := rows[i]
		if i%3 == 0 {
			again.Cost, again.TTFT, again.Provider = experiment.Opt[experiment.NanoUSD]{}, experiment.Opt[experiment.Micros]{}, ""
		}
		rows = append(rows, again)
		if i%5 == 0 {
			rows = append(rows, again)
		}
	}
	return rows
}
