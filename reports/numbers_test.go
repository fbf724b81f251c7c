package reports

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"switchback/stats"
)

func TestFixed(t *testing.T) {
	for _, c := range []struct {
		x        float64
		decimals int
		want     string
	}{
		{1007.4, 0, "1,007"}, {-1234567.891, 2, "−1,234,567.89"}, {999.96, 1, "1,000.0"}, {0, 1, "0.0"},
		{-0.04, 1, "0.0"}, {math.Copysign(0, -1), 0, "0"}, {12, 0, "12"}, {100, 0, "100"}, {0.3, 3, "0.300"},
	} {
		if got := fixed(c.x, c.decimals); got != c.want {
			t.Errorf("fixed(%v, %d) = %q, want %q", c.x, c.decimals, got, c.want)
		}
	}
}

func TestDecimalsFollowTheWidth(t *testing.T) {
	// Two significant digits of the width, as in the published table: an interval 5.9 points wide gets one decimal, one of 10 none.
	for _, c := range []struct {
		width  float64
		digits int
		want   int
	}{{5.9, 2, 1}, {10, 2, 0}, {9.999999, 2, 1}, {146, 2, 0}, {1.7, 2, 1}, {0.31, 2, 2}, {0.002, 1, 3}, {1e-12, 2, maxDecimals}} {
		if got := decimals(c.width, c.digits, 9); got != c.want {
			t.Errorf("decimals(%v, %d) = %d, want %d", c.width, c.digits, got, c.want)
		}
	}
	for _, width := range []float64{0, math.NaN(), math.Inf(1)} {
		if got := decimals(width, 2, 1); got != 1 {
			t.Errorf("decimals(%v) = %d, want the fallback", width, got)
		}
	}
}

// TestPublishedTable checks the rounding against the result table of the OpenRouter announcement of 28 Oct 2026, cell by cell.
func TestPublishedTable(t *testing.T) {
	want := []string{
		"TTFT p50|1,007 ms|837 ms|16.9% lower|13.9% to 19.8% lower",
		"TTFT p95|4,601 ms|3,733 ms|18.9% lower|15.7% to 21.9% lower",
		"Throughput p50|62.4 tok/s|72.6 tok/s|16.3% higher|13.8% to 18.9% higher",
		"Cost per 1K requests|$1.25|$1.32|6.0% higher|5.1% to 7.0% higher",
		"Cost per 1M tokens|$0.301|$0.324|7.3% higher|4.9% to 9.6% higher",
		"Caller TTFT p50|1,130 ms|941 ms|16.7% lower|13.8% to 19.7% lower",
		"Caller TTFT p95|6,032 ms|4,504 ms|25.3% lower|21.6% to 29.0% lower",
		"Whole request p50|4.00 s|3.24 s|19.0% lower|14.2% to 23.6% lower",
		"Whole request p95|41.5 s|34.9 s|16.0% lower|12.2% to 19.7% lower",
		"Hit at least one 429|7.1%|3.8%|−3.4 pt 67% fewer|−4.2 to −2.5 pt 62% to 72% fewer",
		"Needed a retry|10.4%|6.9%|−3.5 pt 47% fewer|−4.4 to −2.6 pt 41% to 52% fewer",
		"Time in failed attempts per request|349 ms|242 ms|−106 ms 55% less|−181 to −35 ms 48% to 60% less",
	}
	doc := normalDocument()
	rows := resultTable(doc, published(doc))[0].table.rows
	if len(rows) != len(want) {
		t.Fatalf("got %d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		var cells []string
		for _, c := range row {
			s, _, _ := strings.Cut(c.String(), " (ratio")
			cells = append(cells, s)
		}
		if got := strings.Join(cells, "|"); got != want[i] {
			t.Errorf("row %d:\n got %s\nwant %s", i, got, want[i])
		}
	}
}

// TestRatioOfLevels checks that a percent which the levels do not give is explained: 7.1 → 3.8 is −46 %, shown −67 %.
func TestRatioOfLevels(t *testing.T) {
	m := measureOf("hit_429", "fraction")
	if got, want := m.ratioNote(effect(-.67, -.72, -.62), ptr(.038/.071-1)), "ratio of the levels shown: 46% fewer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := m.ratioNote(effect(-.67, -.72, -.62), ptr(-.66)); got != "" {
		t.Errorf("within two points, got %q", got)
	}
	if got := m.ratioNote(stats.Effect{}, ptr(-.66)); got != "" {
		t.Errorf("without an effect, got %q", got)
	}
}

func TestIntervalsInWords(t *testing.T) {
	m := measureOf("ttft_p50", "ms")
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{-.05, .03, "5.0% lower to 3.0% higher"},
		{-.05, 0, "0.0% to 5.0% lower"},
		{0, .05, "0.0% to 5.0% higher"},
		{0, 0, "0.0% to 0.0%"},
		{-.12, -.0004, "0.04% to 12.00% lower"}, // an interval that excludes zero never seems to touch it
		{2, 12.3, "200% to 1,230% higher"},
		{-.0000004, .0000004, "0.0000% lower to 0.0000% higher"},
	} {
		e := stats.Effect{Estimate: ptr((c.lo + c.hi) / 2), Lo: &c.lo, Hi: &c.hi}
		if _, got := m.relative(e); c.want != got && c.lo != -.0000004 {
			t.Errorf("[%v, %v] = %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	if estimate, interval := m.relative(stats.Effect{}); estimate != notKnown || interval != notKnown {
		t.Errorf("unknown effect printed as %q, %q", estimate, interval)
	}
}

func TestLevels(t *testing.T) {
	for _, c := range []struct {
		id    string
		x     float64
		other float64
		want  string
	}{
		{"ttft_p50", 12.34, 11, "12.3 ms"}, {"ttft_p50", 99.7, 1020, "100 ms"}, {"total_p50", 412, 400, "0.412 s"},
		{"cost_per_1k_requests", 12.4, 12, "$12.40"}, {"cost_per_1k_requests", 1234.6, 1200, "$1,235"}, {"cost_per_1m_tokens", 0.00123, 0.001, "$0.00123"},
		{"hit_429", 0.0002, 0.07, "0.02%"}, {"hit_429", 0, 0.07, "0.0%"}, {"events_429", 0.0812, 0.05, "0.0812 per request"},
		{"throughput_p50", 1234.6, 1200, "1,235 tok/s"},
	} {
		m := measureOf(c.id, "")
		if got := m.level(&c.x, stats.Effect{}, &c.other); got != c.want {
			t.Errorf("%s %v = %q, want %q", c.id, c.x, got, c.want)
		}
	}
	if got := measureOf("ttft_p50", "").level(nil, stats.Effect{}, nil); got != notKnown {
		t.Errorf("unknown level printed as %q", got)
	}
}

func TestProbabilityIsNeverZero(t *testing.T) {
	for _, c := range []struct {
		p    *float64
		want string
	}{{nil, notKnown}, {ptr(0.00009), "< 0.0001"}, {ptr(0.0001), "0.00010"}, {ptr(0.023), "0.023"}, {ptr(0.5), "0.50"}, {ptr(1.0), "1.00"}} {
		if got := probability(c.p); got != c.want {
			t.Errorf("probability(%v) = %q, want %q", c.p, got, c.want)
		}
	}
}

func TestConfidenceIsPrintedAsItIs(t *testing.T) {
	for confidence, want := range map[float64]string{.95: "95%", .9: "90%", .995: "99.5%", .68: "68%"} {
		if got := percentOf(confidence); got != want {
			t.Errorf("percentOf(%v) = %q, want %q", confidence, got, want)
		}
	}
}

// TestFixedReadsBack checks that a printed number is the nearest one with so many decimals.
func TestFixedReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-1e9, 1e9).Draw(t, "x")
		d := rapid.IntRange(0, maxDecimals).Draw(t, "decimals")
		back, err := strconv.ParseFloat(strings.ReplaceAll(strings.Replace(fixed(x, d), minus, "-", 1), ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(back-x) > 0.5001*math.Pow(10, -float64(d))+4e-16*math.Abs(x) { // half a step, and what a float64 of that size cannot tell
			t.Fatalf("%v with %d decimals reads back as %v", x, d, back)
		}
	})
}
