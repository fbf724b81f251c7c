package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// levels measures the published metrics of rows as they come, per (arm, model, block), with histograms of 1 % wide bins.
// It is a coarse stand-in for the analysis, good enough to steer a calibration.
type levels struct {
	cells map[levelKey]*levelCell
}

type levelKey struct {
	arm, model, block string
}

const levelBins = 2048

// mixClasses is the number of classes by the share of the answer in the tokens, over which the cost of a token is standardised.
const mixClasses = 10

type levelCell struct {
	n, hit429, retried, events429, retries    float64
	failed, cost, in, out, cached, errs, pins float64
	tools, toolsOK                            float64
	ttft, caller, total, rate                 [levelBins]float32
	mixTokens, mixCost                        [mixClasses]float64
}

func newLevels() *levels { return &levels{cells: map[levelKey]*levelCell{}} }

func levelBin(v float64) int {
	if math.IsInf(v, 1) {
		return levelBins - 1
	}
	return min(max(int(math.Log(max(v, 1e-3))*100)+700, 0), levelBins-2)
}

func levelValue(bin int) float64 {
	if bin == levelBins-1 {
		return math.Inf(1)
	}
	return math.Exp((float64(bin) - 700 + 0.5) / 100)
}

// add adds the rows of a batch, those in burn-in only when asked to.
func (l *levels) add(b *Batch, burnIn bool) {
	l.addIf(b, func(r *Request) bool { return burnIn || !r.InBurnIn.Value })
}

// addIf adds the rows that are to be kept.
func (l *levels) addIf(b *Batch, keep func(*Request) bool) {
	var last levelKey
	var c *levelCell
	for i := range b.Requests {
		r := &b.Requests[i]
		if !keep(r) {
			continue
		}
		if key := (levelKey{r.Arm, r.Model, r.BlockID}); c == nil || key != last {
			last = key
			if c = l.cells[key]; c == nil {
				c = new(levelCell)
				l.cells[key] = c
			}
		}
		c.add(r)
	}
}

func (c *levelCell) add(r *Request) {
	c.n++
	ms := func(m Micros) float64 { return float64(m) / 1000 }
	if r.N429.Value > 0 {
		c.hit429++
	}
	if r.Retries.Value > 0 {
		c.retried++
	}
	c.events429 += float64(r.N429.Value)
	c.retries += float64(r.Retries.Value)
	c.failed += ms(r.Failed.Value)
	c.cost += float64(r.Cost.Value) / 1e9
	in, out := r.InputTokens.Value, r.OutputTokens.Value
	if in+out > 0 {
		class := min(mixClasses-1, mixClasses*out/(in+out))
		c.mixTokens[class] += float64(in + out)
		c.mixCost[class] += float64(r.Cost.Value) / 1e9
	}
	c.in += float64(r.InputTokens.Value)
	c.out += float64(r.OutputTokens.Value)
	c.cached += float64(r.CachedTokens.Value)
	if r.PinnedFromBlock != "" {
		c.pins++
	}
	if r.ToolCallOK.Known {
		c.tools++
		if r.ToolCallOK.Value {
			c.toolsOK++
		}
	}
	if r.TTFT.Known {
		c.ttft[levelBin(ms(r.TTFT.Value))]++
		c.caller[levelBin(ms(r.CallerTTFT.Value))]++
	}
	switch r.Status {
	case StatusOK:
		c.total[levelBin(ms(r.Total.Value))]++
		c.rate[levelBin(float64(r.OutputTokens.Value)*1000/ms(r.Total.Value-r.CallerTTFT.Value+r.TTFT.Value))]++
	case StatusError:
		c.errs++
		c.caller[levelBins-1]++
		c.total[levelBins-1]++
	case StatusErrorMidstream:
		c.errs++
		c.total[levelBins-1]++
	}
}

func (c *levelCell) sum(d *levelCell) {
	for _, p := range [][2]*float64{{&c.n, &d.n}, {&c.hit429, &d.hit429}, {&c.retried, &d.retried}, {&c.events429, &d.events429}, {&c.retries, &d.retries},
		{&c.failed, &d.failed}, {&c.cost, &d.cost}, {&c.in, &d.in}, {&c.out, &d.out}, {&c.cached, &d.cached}, {&c.errs, &d.errs}, {&c.pins, &d.pins},
		{&c.tools, &d.tools}, {&c.toolsOK, &d.toolsOK}} {
		*p[0] += *p[1]
	}
	for i := range c.mixTokens {
		c.mixTokens[i] += d.mixTokens[i]
		c.mixCost[i] += d.mixCost[i]
	}
	for i := range c.ttft {
		c.ttft[i] += d.ttft[i]
		c.caller[i] += d.caller[i]
		c.total[i] += d.total[i]
		c.rate[i] += d.rate[i]
	}
}

func quantileOf(h *[levelBins]float32, q float64) float64 {
	total := 0.0
	for _, n := range h {
		total += float64(n)
	}
	rank, seen := math.Ceil(q*total), 0.0
	for i, n := range h {
		if seen += float64(n); seen >= rank {
			return levelValue(i)
		}
	}
	return math.NaN()
}

// metrics of one cell, in the order of levelNames.
func (c *levelCell) metrics() []float64 {
	return []float64{
		quantileOf(&c.ttft, .5), quantileOf(&c.ttft, .95), quantileOf(&c.rate, .5), 1000 * c.cost / c.n, 1e6 * c.cost / (c.in + c.out),
		quantileOf(&c.caller, .5), quantileOf(&c.caller, .95), quantileOf(&c.total, .5) / 1000, quantileOf(&c.total, .95) / 1000,
		100 * c.hit429 / c.n, 100 * c.retried / c.n, c.failed / c.n,
		c.in / c.n, c.out / c.n, 100 * c.cached / c.in, 100 * c.errs / c.n, 100 * c.pins / c.n,
	}
}

var levelNames = []string{"TTFT50", "TTFT95", "tput", "cost/K", "cost/M", "cTTFT50", "cTTFT95", "tot50", "tot95", "429%", "retry%", "failms", "in", "out", "cached%", "err%", "pin%"}

// geometric tells which metrics are averaged geometrically over models with equal weights; the others by traffic.
func geometric(i int) bool { return i < 9 }

// table is levels and relative effects of two arms, over all kept cells, weighted per pair block by w (nil: all 1).
type levelTable struct {
	control, treatment, effect []float64
	fixedMix                   float64 // effect on the cost of a token at a fixed mix, %
	models                     []string
	perModel                   map[string][2][]float64
}

func (l *levels) of(arm, model string) *levelCell {
	var blocks []string
	for k := range l.cells {
		if k.arm == arm && k.model == model {
			blocks = append(blocks, k.block)
		}
	}
	slices.Sort(blocks)
	sum := new(levelCell)
	for _, block := range blocks {
		sum.sum(l.cells[levelKey{arm, model, block}])
	}
	return sum
}

func (l *levels) models() []string {
	var names []string
	for k := range l.cells {
		if !slices.Contains(names, k.model) {
			names = append(names, k.model)
		}
	}
	slices.Sort(names)
	return names
}

func (l *levels) table(control, treatment string) levelTable {
	t := levelTable{models: l.models(), perModel: map[string][2][]float64{}}
	n := len(levelNames)
	t.control, t.treatment, t.effect = make([]float64, n), make([]float64, n), make([]float64, n)
	weight := 0.0
	for _, m := range t.models {
		a, b := l.of(control, m), l.of(treatment, m)
		va, vb := a.metrics(), b.metrics()
		t.perModel[m] = [2][]float64{va, vb}
		w := a.n + b.n
		weight += w
		t.fixedMix += fixedMixEffect(a, b, mix(a, b)) / float64(len(t.models))
		for i := range n {
			if geometric(i) {
				t.control[i] += math.Log(va[i]) / float64(len(t.models))
				t.treatment[i] += math.Log(vb[i]) / float64(len(t.models))
			} else {
				t.control[i] += w * va[i]
				t.treatment[i] += w * vb[i]
			}
			if i >= 9 && i <= 10 {
				va[i] = (a.n*va[i] + 50) / (a.n + 1)
				vb[i] = (b.n*vb[i] + 50) / (b.n + 1)
			}
			t.effect[i] += math.Log(vb[i]/va[i]) / float64(len(t.models))
		}
	}
	for i := range n {
		if geometric(i) {
			t.control[i], t.treatment[i] = math.Exp(t.control[i]), math.Exp(t.treatment[i])
		} else {
			t.control[i] /= weight
			t.treatment[i] /= weight
		}
		t.effect[i] = 100 * math.Expm1(t.effect[i])
	}
	t.fixedMix = 100 * math.Expm1(t.fixedMix)
	return t
}

// costPerRequest is the place of the cost per request among the levels.
const costPerRequest = 3

// published is the result table of the announcement of 28 Oct 2026: levels, effects in % and their 95 % intervals.
var published = struct {
	control, treatment, effect []float64
	intervals                  [][2]float64
}{
	[]float64{1007, 4601, 62.4, 1.25, .301, 1130, 6032, 4.00, 41.5, 7.1, 10.4, 349, 4292},
	[]float64{837, 3733, 72.6, 1.32, .324, 941, 4504, 3.24, 34.9, 3.8, 6.9, 242},
	[]float64{-16.9, -18.9, 16.3, 6.0, 7.3, -16.7, -25.3, -19.0, -16.0, -67, -47, -55},
	[][2]float64{{-19.8, -13.9}, {-21.9, -15.7}, {13.8, 18.9}, {5.1, 7.0}, {4.9, 9.6}, {-19.7, -13.8}, {-29.0, -21.6}, {-23.6, -14.2}, {-19.7, -12.2},
		{-72, -62}, {-52, -41}, {-60, -48}},
}

func (t levelTable) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-8s %9s %9s %6s | %9s %9s | %7s %7s\n", "", "control", "publ.", "miss%", "treatm.", "publ.", "effect%", "publ.")
	for i, name := range levelNames {
		at := func(v []float64) float64 {
			if i < len(v) {
				return v[i]
			}
			return math.NaN()
		}
		fmt.Fprintf(&b, "%-8s %9.4g %9.4g %+6.1f | %9.4g %9.4g | %+7.1f %+7.1f\n", name, t.control[i], at(published.control), 100*(t.control[i]/at(published.control)-1),
			t.treatment[i], at(published.treatment), t.effect[i], at(published.effect))
	}
	fmt.Fprintf(&b, "%-8s %57s %+7.1f\n", "cost/M at a fixed mix", "|", t.fixedMix)
	return b.String()
}

// perModelTable prints chosen metrics of every model.
func (t levelTable) perModelTable() string {
	var b strings.Builder
	for _, m := range t.models {
		v := t.perModel[m]
		fmt.Fprintf(&b, "%-46s", m)
		for _, i := range []int{0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16} {
			fmt.Fprintf(&b, " %s %.3g>%.3g", levelNames[i], v[0][i], v[1][i])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// fixedMixEffect is the log effect on the cost of a token at a fixed mix of answers and prompts: that of both arms together.
func fixedMixEffect(control, treatment *levelCell, both *[mixClasses]float64) float64 {
	var costs [2]float64
	for class, tokens := range both {
		if control.mixTokens[class] > 0 && treatment.mixTokens[class] > 0 {
			costs[0] += tokens * control.mixCost[class] / control.mixTokens[class]
			costs[1] += tokens * treatment.mixCost[class] / treatment.mixTokens[class]
		}
	}
	return math.Log(costs[1] / costs[0])
}

// mix is the tokens of two cells by class.
func mix(a, b *levelCell) *[mixClasses]float64 {
	both := a.mixTokens
	for class, tokens := range b.mixTokens {
		both[class] += tokens
	}
	return &both
}

// pairSD is the standard error of each log effect, by the jackknife over pairs, times the root of the number of pairs;
// that of the cost of a token at a fixed mix comes last.
func (l *levels) pairSD(plan Plan) []float64 {
	pairs, _ := plan.Pairs("")
	n, k := len(levelNames), float64(len(pairs))
	control, treatment := map[string]*levelCell{}, map[string]*levelCell{}
	for _, m := range l.models() {
		control[m], treatment[m] = l.of(plan.Arms.Control, m), l.of(plan.Arms.Treatment, m)
	}
	sum, squares := make([]float64, n+1), make([]float64, n+1)
	for _, p := range pairs {
		effect := make([]float64, n+1)
		for _, m := range l.models() {
			a := control[m].without(l.cells[levelKey{plan.Arms.Control, m, p.Control.ID}])
			b := treatment[m].without(l.cells[levelKey{plan.Arms.Treatment, m, p.Treatment.ID}])
			va, vb := a.effectMetrics(), b.effectMetrics()
			effect[n] += fixedMixEffect(a, b, mix(control[m], treatment[m])) / float64(len(control))
			for i := range n {
				effect[i] += math.Log(vb[i]/va[i]) / float64(len(control))
			}
		}
		for i, x := range effect {
			sum[i] += x
			squares[i] += x * x
		}
	}
	for i := range sum {
		sum[i] = math.Sqrt((k - 1) * (squares[i] - sum[i]*sum[i]/k))
	}
	return sum
}

// without returns the cell less another one.
func (c *levelCell) without(d *levelCell) *levelCell {
	rest := *c
	if d == nil {
		return &rest
	}
	minus := levelCell{}
	minus.sum(d)
	for _, p := range []*float64{&minus.n, &minus.hit429, &minus.retried, &minus.events429, &minus.retries, &minus.failed, &minus.cost, &minus.in, &minus.out,
		&minus.cached, &minus.errs, &minus.pins, &minus.tools, &minus.toolsOK} {
		*p = -*p
	}
	for i := range minus.mixTokens {
		minus.mixTokens[i], minus.mixCost[i] = -minus.mixTokens[i], -minus.mixCost[i]
	}
	for i := range minus.ttft {
		minus.ttft[i], minus.caller[i], minus.total[i], minus.rate[i] = -minus.ttft[i], -minus.caller[i], -minus.total[i], -minus.rate[i]
	}
	rest.sum(&minus)
	return &rest
}

// effectMetrics is metrics with half an event more in the event rows.
func (c *levelCell) effectMetrics() []float64 {
	v := c.metrics()
	for _, i := range []int{9, 10} {
		v[i] = (c.n*v[i] + 50) / (c.n + 1)
	}
	return v
}

// publishedSD is the pair-to-pair standard deviation of each log effect that the published intervals imply.
var publishedSD = impliedSD()

// impliedSD takes the intervals for what 28 pairs give: the mean of the logarithms ± the quantile of Student's t × SD ÷ √28.
func impliedSD() []float64 {
	const pairs = 28
	t := distuv.StudentsT{Sigma: 1, Nu: pairs - 1}.Quantile(0.975)
	sd := make([]float64, len(published.intervals))
	for i, interval := range published.intervals {
		sd[i] = (math.Log1p(interval[1]/100) - math.Log1p(interval[0]/100)) / (2 * t) * math.Sqrt(pairs)
	}
	return sd
}
