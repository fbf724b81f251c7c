package experiment

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// LogHash is a fingerprint of a request log that does not depend on the order of its rows: the 128-bit sum of
// the rows' hashes. The zero LogHash is that of an empty log.
type LogHash struct {
	hi, lo uint64
	buf    []byte
}

// Add adds all rows of a batch.
func (h *LogHash) Add(b *Batch) {
	for i := range b.Requests {
		h.buf = appendRequest(h.buf[:0], &b.Requests[i])
		h.sum()
	}
	for i := range b.Attempts {
		h.buf = appendAttempt(h.buf[:0], &b.Attempts[i])
		h.sum()
	}
}

func (h *LogHash) sum() {
	x := xxh3.Hash128(h.buf)
	var carry uint64
	h.lo, carry = bits.Add64(h.lo, x.Lo, 0)
	h.hi, _ = bits.Add64(h.hi, x.Hi, carry)
}

// String returns the fingerprint as 32 hexadecimal digits.
func (h *LogHash) String() string { return fmt.Sprintf("%016x%016x", h.hi, h.lo) }

func appendRequest(b []byte, r *Request) []byte {
	for _, s := range [...]string{r.RequestID, r.SessionID, r.ClientID, r.Model, r.Provider, r.Arm, r.BlockID, r.PinnedFromBlock,
		r.CostSource, r.Status, r.Source, r.SourceRowID, r.ModelRaw, r.ProviderRaw} {
		b = appendText(b, s)
	}
	b = appendInt(b, int64(r.TS))
	b = appendInt(b, r.Quality)
	for _, o := range [...]Opt[bool]{r.InBurnIn, r.Streamed, r.BYOK, r.ToolCallOK} {
		n := int64(0)
		if o.Value {
			n = 1
		}
		b = appendOpt(b, o.Known, n)
	}
	for _, o := range [...]Opt[int32]{r.Attempts, r.N429, r.Retries} {
		b = appendOpt(b, o.Known, int64(o.Value))
	}
	for _, o := range [...]Opt[Micros]{r.TTFT, r.CallerTTFT, r.Total, r.Failed} {
		b = appendOpt(b, o.Known, int64(o.Value))
	}
	for _, o := range [...]Opt[int64]{r.InputTokens, r.CachedTokens, r.CacheWriteTokens, r.OutputTokens, r.ReasoningTokens} {
		b = appendOpt(b, o.Known, o.Value)
	}
	b = appendOpt(b, r.Cost.Known, int64(r.Cost.Value))
	return appendOpt(b, r.CheapestCost.Known, int64(r.CheapestCost.Value))
}

func appendAttempt(b []byte, a *Attempt) []byte {
	b = appendText(b, a.RequestID)
	b = appendText(b, a.Provider)
	b = appendText(b, a.ErrorType)
	b = appendInt(b, int64(a.N))
	b = appendOpt(b, a.Start.Known, int64(a.Start.Value))
	b = appendOpt(b, a.Latency.Known, int64(a.Latency.Value))
	b = appendOpt(b, a.HTTPStatus.Known, int64(a.HTTPStatus.Value))
	return appendOpt(b, a.Cost.Known, int64(a.Cost.Value))
}

func appendText(b []byte, s string) []byte {
	b = appendInt(b, int64(len(s)))
	return append(b, s...)
}

func appendInt(b []byte, n int64) []byte { return binary.LittleEndian.AppendUint64(b, uint64(n)) }

func appendOpt(b []byte, known bool, n int64) []byte {
	if !known {
		return append(b, 0)
	}
	return appendInt(append(b, 1), n)
}
