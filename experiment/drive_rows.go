package experiment

import (
	"switchback/experiment/market"
	"switchback/router"
)

// record counts a request that ended and writes its row when its conversation is logged. out is nil unless it was served.
func (w *world) record(fi int32, out *router.Outcome, now int64, status string) {
	f := &w.flights[fi]
	s := &w.sessions[f.session]
	switch status {
	case StatusOK:
		w.summary.Served++
		if f.turn > 0 {
			w.summary.FellBack++
		}
		w.summary.InputTokens += int64(f.work.Input)
		w.summary.OutputTokens += int64(f.work.Output)
	case StatusError:
		w.summary.Errors++
	case StatusErrorMidstream:
		w.summary.Midstream++
	case StatusCancelled:
		w.summary.Cancelled++
	}
	if !s.logged {
		return
	}
	w.summary.Logged++
	r := w.log.request()
	r.RequestID, r.SessionID = w.log.ids(w.job.number, s.Number, s.Turn)
	r.ClientID = w.demand.ClientIDs[s.Client]
	r.TS = InstantOf(w.scene.start) + Instant(f.arrival)
	r.Model = w.demand.Name
	r.Arm = w.scene.arms[f.arm]
	if f.block >= 0 {
		b := &w.blocks[f.block]
		r.BlockID = b.ID
		r.InBurnIn = Some(f.arrival < b.burnInEnds)
		if now >= b.ends {
			r.Quality |= QualityStraddlesBlock
		}
	}
	if f.pinBlock >= 0 {
		r.PinnedFromBlock = w.blocks[f.pinBlock].ID
	}
	r.Attempts, r.N429 = Some(int32(f.attempts)), Some(int32(f.n429))
	r.Retries = Some(max(int32(f.attempts)-1, 0))
	r.Total, r.Failed = Some(Micros(now-f.arrival)), Some(Micros(f.failed))
	r.InputTokens, r.CacheWriteTokens = Some(int64(f.work.Input)), Some[int64](0)
	r.Status, r.Streamed, r.BYOK, r.Source = status, Some(true), Some(false), "switchback"
	r.CostSource = CostBilled
	w.serveRow(r, f, out, now)
	if status == StatusOK {
		r.CheapestCost = Some(w.cheapest[fi])
	}
	w.attemptRows(r.RequestID, fi)
}

// serveRow fills what depends on how far the last attempt came.
func (w *world) serveRow(r *Request, f *flight, out *router.Outcome, now int64) {
	a := &f.answer
	h := w.hosts[f.host]
	e := &h.market.Endpoints[f.endpoint]
	spent := now - f.started
	firstToken := (a.Kind == market.Served || a.Kind == market.Broken) && spent >= a.TTFT
	if firstToken {
		r.TTFT, r.CallerTTFT = Some(Micros(a.TTFT)), Some(Micros(f.started-f.arrival+a.TTFT))
		r.Provider = e.Offer.Slug
		if h != w.host {
			r.ModelRaw = h.model // the caller asked for another one
		}
	}
	r.CachedTokens, r.OutputTokens, r.Cost = Some[int64](0), Some[int64](0), Some[NanoUSD](0)
	switch r.Status {
	case StatusOK:
		r.CachedTokens, r.OutputTokens = Some(int64(a.Cached)), Some(int64(a.Output))
		r.Cost = Some(NanoUSD(e.Bill(f.work.Input, a.Cached, a.Output)))
		if out.ToolCall {
			r.ToolCallOK = Some(out.ToolCallOK)
		}
	case StatusErrorMidstream: // broken answers are not billed
		r.CachedTokens, r.OutputTokens = Some(int64(a.Cached)), Some(int64(a.Output))
	case StatusCancelled:
		if a.Kind == market.RateLimited || a.Kind == market.Failed {
			return // nothing was running that could be billed
		}
		made := int32(0)
		if firstToken {
			made = int32(float64(a.Output) * float64(spent-a.TTFT) / float64(a.Duration-a.TTFT))
		}
		r.CachedTokens, r.OutputTokens = Some(int64(a.Cached)), Some(int64(made))
		r.Cost = Some(NanoUSD(e.BillCancelled(f.work.Input, a.Cached, made, a.Output)))
	}
}

// attemptRow describes an attempt that ended. Its request id is filled in later.
func (w *world) attemptRow(f *flight, out *router.Outcome, spent int64, cancelled bool) Attempt {
	status, problem := int32(200), ""
	switch {
	case cancelled:
		status, problem = 499, "cancelled"
	case out.Kind == router.OutcomeRateLimited:
		status, problem = 429, "rate_limited"
	case f.answer.Kind == market.Failed && f.answer.Timeout:
		status, problem = 504, "timeout"
	case f.answer.Kind == market.Failed:
		status, problem = 502, "upstream_error"
	case f.answer.Kind == market.Broken:
		problem = "midstream"
	}
	return Attempt{
		N: int32(f.attempts), Provider: w.hosts[f.host].market.Endpoints[f.endpoint].Offer.Slug,
		Start: Some(Micros(f.started - f.arrival)), Latency: Some(Micros(spent)),
		HTTPStatus: Some(status), ErrorType: problem,
	}
}

// attemptRows writes the attempts that were kept: all, unless the first one served.
func (w *world) attemptRows(id string, fi int32) {
	tries := w.tries[fi]
	w.tries[fi] = tries[:0]
	for i := range tries {
		tries[i].RequestID = id
	}
	w.log.batch.Attempts = append(w.log.batch.Attempts, tries...)
}
