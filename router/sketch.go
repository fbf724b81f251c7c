package router

import "math"

// sketch is a fading histogram on a logarithmic scale: eight buckets per doubling, so a percentile is
// within 13 % of the true one. Weights are those of the telemetry's usual memory.
type sketch [sketchBuckets]float32

const (
	sketchBuckets = 192
	sketchSpare   = 49               // mantissa bits that do not tell the bucket: 3 of 52 do
	sketchFirst   = (1023 - 11) << 3 // the bucket of 2⁻¹¹, about half a millisecond or half a token per 1000 s
)

// bucket is the bucket of x > 0.
func bucket(x float64) int {
	b := int(math.Float64bits(x)>>sketchSpare) - sketchFirst
	return min(max(b, 0), sketchBuckets-1)
}

// bound is the lower bound of a bucket.
func bound(b int) float64 { return math.Float64frombits(uint64(b+sketchFirst) << sketchSpare) }

func (s *sketch) add(weight, x float64) { s[bucket(x)] += float32(weight) }

// quantile is the q-quantile and the weight behind it; 0 when there is none.
func (s *sketch) quantile(q float64) (value, weight float64) {
	for _, w := range s {
		weight += float64(w)
	}
	if weight == 0 {
		return 0, 0
	}
	rank := q * weight
	for b, w := range s {
		if rank -= float64(w); rank <= 0 && w > 0 {
			lo, hi := bound(b), bound(b+1)
			return hi + (hi-lo)*rank/float64(w), weight
		}
	}
	return bound(sketchBuckets), weight
}

// Percentiles are p50, p75, p90 and p99 of a measure. For throughput they descend: p99 is what 99 % of the requests exceed.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P75 float64 `json:"p75"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
}

// Latency returns the percentiles of an endpoint's recent TTFT in seconds, and of how many requests (fading) they are. They need
// TelemetryConfig.Percentiles.
func (r *Router) Latency(now Instant, endpoint int32) (Percentiles, float64) {
	if r.telemetry.latency == nil {
		return Percentiles{}, 0
	}
	return r.telemetry.percentiles(now, &r.telemetry.latency[endpoint], func(q float64) float64 { return q })
}

// Throughput returns the percentiles of an endpoint's recent output tokens per second, as Latency does.
func (r *Router) Throughput(now Instant, endpoint int32) (Percentiles, float64) {
	if r.telemetry.speed == nil {
		return Percentiles{}, 0
	}
	return r.telemetry.percentiles(now, &r.telemetry.speed[endpoint], func(q float64) float64 { return 1 - q })
}

func (t *telemetry) percentiles(now Instant, s *sketch, at func(q float64) float64) (Percentiles, float64) {
	usual := t.weigh(now).usual // may scale the sketch
	read := func(q float64) float64 {
		v, _ := s.quantile(at(q))
		return v
	}
	_, weight := s.quantile(0.5)
	return Percentiles{read(0.50), read(0.75), read(0.90), read(0.99)}, weight / usual
}
