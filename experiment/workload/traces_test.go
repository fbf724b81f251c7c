package workload

import (
	"math"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func traceMap(t *testing.T) map[string]*Trace {
	t.Helper()
	traces, err := Traces()
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]*Trace{}
	for i := range traces {
		m[traces[i].Name] = &traces[i]
	}
	return m
}

// The figures were computed from the published files: arrivals.csv.gz and tokens.csv.gz derived from ServeGen's
// data folder at commit f891d118.
func TestTraceFigures(t *testing.T) {
	traces := traceMap(t)
	for _, want := range []struct {
		name             string
		windows, covered int
		clients, mute    int
		rate             float64 // requests/s
		largest, topFive float64 // shares of all requests
		arrivals         int     // client-windows with requests
	}{
		{"m-large", 2016, 2016, 162, 15, 195.8442, 0.160466, 0.427613, 99_839},
		{"m-mid", 2016, 1932, 108, 35, 1867.8869, 0.522833, 0.673088, 106_385},
		{"m-small", 2016, 1979, 43, 5, 1196.3606, 0.298767, 0.769918, 40_095},
		{"deepseek-r1", 144, 144, 73, 0, 16.0147, 0.285884, 0.524681, 3_111},
	} {
		trace := traces[want.name]
		if trace == nil {
			t.Errorf("%s: missing", want.name)
			continue
		}
		if trace.Windows != want.windows || trace.CoveredWindows() != want.covered || len(trace.Clients) != want.clients {
			t.Errorf("%s: %d windows, %d covered, %d clients; want %d, %d, %d", want.name,
				trace.Windows, trace.CoveredWindows(), len(trace.Clients), want.windows, want.covered, want.clients)
		}
		if r := trace.MeanRate(); math.Abs(r/want.rate-1) > 1e-5 {
			t.Errorf("%s: mean rate %.4f, want %.4f", want.name, r, want.rate)
		}
		var shares []float64
		total, mute, arrivals := 0.0, 0, 0
		for i := range trace.Clients {
			c := &trace.Clients[i]
			shares = append(shares, c.Requests())
			total += c.Requests()
			if !c.HasTokens {
				mute++
			}
			for _, r := range c.Rate {
				if r > 0 {
					arrivals++
				}
			}
		}
		if mute != want.mute || arrivals != want.arrivals {
			t.Errorf("%s: %d clients without tokens, %d client-windows; want %d, %d", want.name, mute, arrivals, want.mute, want.arrivals)
		}
		top := 0.0
		for k := range 5 {
			best := 0
			for i := range shares {
				if shares[i] > shares[best] {
					best = i
				}
			}
			top += shares[best] / total
			shares[best] = 0
			if k == 0 && math.Abs(top-want.largest) > 1e-5 {
				t.Errorf("%s: largest client has %.6f, want %.6f", want.name, top, want.largest)
			}
		}
		if math.Abs(top-want.topFive) > 1e-5 {
			t.Errorf("%s: five largest clients have %.6f, want %.6f", want.name, top, want.topFive)
		}
	}
}

// First rows of the published tables.
func TestTraceValues(t *testing.T) {
	traces := traceMap(t)
	c := &traces["m-large"].Clients[0]
	// client 0, t_s 0: rate_rps 1.332, cv 8.598, Weibull of shape 0.3753; t_s 600 is silent; t_s 1800: Gamma, cv 4.068.
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"rate at 0 s", float64(c.Rate[0]), 1.332},
		{"cv at 0 s", float64(c.CV[0]), 8.598},
		{"shape at 0 s", float64(c.WeibullK[0]), 0.3753},
		{"rate at 600 s", float64(c.Rate[1]), 0},
		{"cv at 600 s", float64(c.CV[1]), 0},
		{"rate at 1800 s", float64(c.Rate[3]), 0.15},
		{"cv at 1800 s", float64(c.CV[3]), 4.068},
		{"shape at 1800 s", float64(c.WeibullK[3]), 0},
		{"mean input at 6 h", float64(c.Input[1].Mean), 353.3},
		{"p99 input at 0 h", float64(c.Input[0].P99), 4826},
		{"p5 output at 6 h", float64(c.Output[1].P5), 53},
	} {
		if math.Abs(v.got-v.want) > 0.005*v.want {
			t.Errorf("m-large client 0, %s: %g, want %g", v.name, v.got, v.want)
		}
	}
	if c.ReasonRatio != nil {
		t.Error("m-large has a reasoning share, the source has none")
	}
	if r1 := traces["deepseek-r1"].Clients[0]; len(r1.ReasonRatio) != 4 {
		t.Errorf("deepseek-r1: %d windows of reasoning share, want 4", len(r1.ReasonRatio))
	}
}

// What generators rely on: equal lengths, a CV wherever there is a rate, rising quantiles, no NaN.
func TestTraceShape(t *testing.T) {
	for name, trace := range traceMap(t) {
		for i := range trace.Clients {
			c := &trace.Clients[i]
			if i > 0 && trace.Clients[i-1].ID >= c.ID {
				t.Errorf("%s: client %d after %d", name, c.ID, trace.Clients[i-1].ID)
			}
			if len(c.Rate) != trace.Windows || len(c.CV) != trace.Windows || len(c.WeibullK) != trace.Windows {
				t.Fatalf("%s client %d: series of other lengths than %d", name, c.ID, trace.Windows)
			}
			for w := range c.Rate {
				if !(c.Rate[w] >= 0) || (c.Rate[w] > 0) != (c.CV[w] > 0) || !(c.WeibullK[w] >= 0) || float64(c.CV[w]) > 1.01*math.Sqrt(float64(c.Rate[w])*WindowSeconds)+1 {
					t.Fatalf("%s client %d window %d: rate %g, cv %g, shape %g", name, c.ID, w, c.Rate[w], c.CV[w], c.WeibullK[w])
				}
				if c.WeibullK[w] > 0 && c.Rate[w] == 0 {
					t.Fatalf("%s client %d window %d: a shape without a rate", name, c.ID, w)
				}
			}
			if c.HasTokens != (c.Input != nil) || c.HasTokens != (c.Output != nil) {
				t.Errorf("%s client %d: HasTokens %v, %d windows of input", name, c.ID, c.HasTokens, len(c.Input))
			}
			for _, series := range [][]Quantiles{c.Input, c.Output, c.ReasonRatio} {
				if series != nil && len(series) != trace.Windows*WindowSeconds/TokenWindowSeconds {
					t.Errorf("%s client %d: %d windows of tokens", name, c.ID, len(series))
				}
				for w, q := range series {
					rising := []float32{0, q.P5, q.P25, q.P50, q.P75, q.P90, q.P95, q.P99}
					for k := range rising[1:] {
						if !(rising[k] <= rising[k+1]) {
							t.Fatalf("%s client %d token window %d: quantiles fall: %+v", name, c.ID, w, q)
						}
					}
				}
			}
			for w := range c.Rate {
				i, ok := c.TokensAt(w)
				if ok != c.HasTokens || ok && !(c.Input[i].Mean > 0 && c.Output[i].Mean > 0) {
					t.Fatalf("%s client %d window %d: TokensAt gives %d, %v", name, c.ID, w, i, ok)
				}
			}
		}
	}
}

func TestTokensAtTakesTheNearest(t *testing.T) {
	c := Client{HasTokens: true, Input: make([]Quantiles, 10)}
	c.Input[2].Mean, c.Input[6].Mean = 5, 5
	for window, want := range map[int]int{0: 2, 2 * 36: 2, 4 * 36: 2, 4*36 + 35: 2, 5 * 36: 6, 359: 6} {
		if got, ok := c.TokensAt(window); !ok || got != want {
			t.Errorf("window %d: %d, %v; want %d", window, got, ok, want)
		}
	}
	if _, ok := (&Client{}).TokensAt(3); ok {
		t.Error("a client without tokens has some")
	}
}

func BenchmarkTraces(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Traces(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestParseCell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(rapid.StringMatching(`[0-9]{0,9}(\.[0-9]{0,12})?`), rapid.StringMatching(`[-+0-9.eE]{1,6}`)).Draw(t, "cell")
		got, err := parseCell(cell)
		want, wantErr := strconv.ParseFloat(cell, 32)
		if cell == "" {
			return // never asked: an empty cell is a window without requests
		}
		if (err != nil) != (wantErr != nil) || err == nil && got != float32(want) {
			t.Fatalf("%q is %v (%v), want %v (%v)", cell, got, err, float32(want), wantErr)
		}
	})
}
