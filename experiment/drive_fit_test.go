package experiment

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func weekPlan(t testing.TB, days int, seed uint64) Plan {
	t.Helper()
	p, err := Draw(Design{Start: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), Days: days, Block: 3 * time.Hour, BurnIn: time.Hour,
		BurnInScope: BurnInBlock, Order: OrderSlotBalanced, Seed: seed}, Arms{Control: "price", Treatment: "routing-cost"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLook prints the levels of a week beside the published ones, with parameters changed by hand. With SWITCHBACK_WORLDS
// set it compares all-control with all-treatment, which is the true effect, instead of the arms of a switchback. SWITCHBACK_SEED is 7 unless it is set;
// with SWITCHBACK_REDRAW the seed has a market of its own. The word legacy stands for the market that is fitted to
// the legacy column alone; with SameArms=1 the legacy router is compared with itself.
//
//	SWITCHBACK_LOOK=Market.Headroom=30 SWITCHBACK_WORLDS=1 go test ./experiment -run TestLook -v -timeout 1h
func TestLook(t *testing.T) {
	if os.Getenv("SWITCHBACK_LOOK") == "" {
		t.Skip("SWITCHBACK_LOOK is not set")
	}
	days := 7
	if n, err := strconv.Atoi(os.Getenv("SWITCHBACK_DAYS")); err == nil {
		days = n
	}
	scenario, err := ScenarioByName("")
	if err != nil {
		t.Fatal(err)
	}
	adjust(t, &scenario, strings.Replace(os.Getenv("SWITCHBACK_LOOK"), "legacy", neutral+" "+legacyFitted, 1))
	if os.Getenv("SWITCHBACK_REDRAW") != "" {
		scenario.Draw = 0
	}
	began := time.Now()
	seed := uint64(7)
	if n, err := strconv.ParseUint(os.Getenv("SWITCHBACK_SEED"), 10, 64); err == nil {
		seed = n
	}
	cfg := DriveConfig{Plan: weekPlan(t, days, seed), Seed: seed}
	var l *levels
	var s DriveSummary
	if os.Getenv("SWITCHBACK_WORLDS") == "" {
		l, s = measure(t, cfg, scenario, false)
	} else { // the true effect: everything by one arm against everything by the other
		cfg.World = WorldControl
		l, s = measure(t, cfg, scenario, true)
		cfg.World = WorldTreatment
		other, _ := measure(t, cfg, scenario, true)
		maps.Copy(l.cells, other.cells)
	}
	took := time.Since(began)
	table := l.table("price", "routing-cost")
	t.Logf("%d requests in %v, %.2f M/s\n%v", s.Requests, took, float64(s.Requests)/took.Seconds()/1e6, table)
	var sd []float64
	if cfg.World == "" {
		sd = l.pairSD(cfg.Plan)
	}
	if sd != nil {
		for i, want := range publishedSD {
			t.Logf("pair SD %-8s %.3f published %.3f", levelNames[i], sd[i], want)
		}
		t.Logf("pair SD of the cost at a fixed mix %.3f", sd[len(levelNames)])
	}
	t.Log("\n" + table.perModelTable())
}

// A fit moves parameters towards the published table. market/CALIBRATION.md says what the two are for.
type fit struct {
	start  string   // what it starts from beside the defaults; all that it moves is here, so that the defaults, which come of it, have no part in it
	levels []string // moved together, for the levels and, with the new column in view, the effects
	spread []string // moved one by one, for the pair-to-pair spread as well
	effect bool     // has the new column in view
}

func fits() map[string]fit {
	levels := []string{"Market.LatencyScale", "Market.ThroughputScale", "Market.PriceScale", "Market.TTFTSigma", "Market.Background", "Market.ErrorMean", "Market.HangS",
		"Workload.GeoOutput", "Workload.ShortMedian", "Workload.LongSigma", "Workload.GeoMeanInput"}
	structure := []string{"Market.BackgroundSpread", "Market.BackgroundCheap", "Market.BackgroundModel", "Market.TTFTLoad", "Market.DecodeLoad", "Market.PriceSpread", "Market.RejectS",
		"Market.ErrorSigma", "Market.HangWithErrors", "Market.ScarceRejects", "Market.ScarceErrors", "Router.Cost.Throughput", "Router.Cost.TTFT"}
	waves := []string{"Workload.MixDrift", "Workload.MixNoise", "Market.BackgroundWave", "Market.FailWave"}
	const start = "Market.LatencyScale=0.99 Market.ThroughputScale=2.4 Market.TTFTSigma=0.75 Market.ErrorMean=0.049 Market.HangS=2.5 " +
		"Workload.GeoOutput=1000 Workload.LongSigma=1.7 Workload.GeoMeanInput=3200 Workload.MixDrift=0.55 Workload.MixNoise=0.2 Market.FailWave=0.25 "
	return map[string]fit{
		"legacy": {
			start:  start + neutral + " Market.PriceScale=1.9 Market.Background=0.5 Workload.ShortMedian=300 Market.BackgroundWave=0.18",
			levels: levels, spread: waves,
		},
		"both": {
			start: start + "Market.PriceScale=1.6 Market.Background=0.38 Workload.ShortMedian=350 Market.BackgroundWave=0.2 Market.BackgroundSpread=0.21 Market.BackgroundCheap=0.27 " +
				"Market.BackgroundModel=0.15 Market.TTFTLoad=0.88 Market.DecodeLoad=0.45 Market.PriceSpread=0.73 Market.RejectS=1.6 Market.ErrorSigma=1.7 Market.HangWithErrors=1.1 " +
				"Market.ScarceRejects=0.2 Market.ScarceErrors=0.065 Router.Cost.Throughput=0.19 Router.Cost.TTFT=0.45",
			levels: slices.Concat(levels, structure), spread: append(waves, "Market.PriceSpread"), effect: true,
		},
	}
}

// neutral is a market whose structure is not fitted with the new column in view: what a fit could set is nothing, or has the value of an earlier
// calibration where nothing would make no market; and the router has its default wait rates.
const neutral = "Market.BackgroundSpread=0 Market.BackgroundCheap=0 Market.BackgroundModel=0 Market.ScarceModels=0 Market.PriceSpread=1 Market.ErrorSigma=0.7 " +
	"Market.TTFTLoad=0.923 Market.DecodeLoad=0.43 Market.RejectS=1.35 Market.HangWithErrors=1.144 Router.Cost.Throughput=0.475 Router.Cost.TTFT=0.2"

// legacyFitted is what the fit to the legacy column ends at, in the neutral market.
const legacyFitted = "Market.LatencyScale=0.8072 Market.ThroughputScale=2.606 Market.PriceScale=1.886 Market.TTFTSigma=0.6929 Market.Background=0.6046 Market.ErrorMean=0.04059" +
	" Market.HangS=4.646 Workload.GeoOutput=971.9 Workload.ShortMedian=336.7 Workload.LongSigma=1.651 Workload.GeoMeanInput=3263" +
	" Workload.MixDrift=0.5958 Workload.MixNoise=0.1883 Market.BackgroundWave=0.18 Market.FailWave=0.2708"

// fitted is how a set of parameters does.
type fitted struct {
	residuals []float64 // weighted logarithms of measured over published values: the legacy levels and, with the new column in view, the effects
	aims      []aim     // nil where no switchback was run
	text      string
}

// loss is the sum of squares of the residuals, and of how near the aims are to their edges or beyond.
func (f fitted) loss() float64 {
	sum := floats.Dot(f.residuals, f.residuals)
	for _, a := range f.aims {
		over := max(0, a.used-0.8)
		sum += 0.1 * over * over
	}
	return sum
}

// try drives the weeks that a fit looks at. The legacy column alone is seen in the levels of an all-control world and in the spread over
// the pairs of a switchback between the legacy router and itself.
func (f fit) try(t testing.TB, scenario Scenario, days int, spread bool) fitted {
	t.Helper()
	drive := func(world string, burnIn bool) *levels {
		l, _ := measure(t, DriveConfig{Plan: weekPlan(t, days, 7), Seed: 7, World: world}, scenario, burnIn)
		return l
	}
	truth := drive(WorldControl, true)
	if f.effect {
		maps.Copy(truth.cells, drive(WorldTreatment, true).cells)
	} else {
		for key, cell := range maps.Clone(truth.cells) {
			key.arm = "routing-cost"
			truth.cells[key] = cell
		}
	}
	table := truth.table("price", "routing-cost")
	out := fitted{residuals: residuals(table, f.effect), text: table.String()}
	if !spread {
		return out
	}
	scenario.SameArms = !f.effect
	found := drive(WorldSwitchback, false)
	out.aims = spreadAims(found, weekPlan(t, days, 7))
	if f.effect {
		out.aims = slices.Concat(out.aims, levelAims(table), effectAims("true", table, 1), effectAims("the switchback's", found.table("price", "routing-cost"), 1.25))
	}
	slices.SortStableFunc(out.aims, func(a, b aim) int { return cmp.Compare(b.used, a.used) })
	for _, a := range out.aims[:10] {
		out.text += fmt.Sprintln(a)
	}
	return out
}

func residuals(table levelTable, effect bool) []float64 {
	var r []float64
	for i, want := range published.control {
		x := math.Log(table.control[i] / want)
		if math.IsInf(x, 0) || x > 1 {
			x = 1
		}
		weight := 1.0
		if i == 12 { // input tokens
			weight = 0.7
		}
		r = append(r, weight*x)
	}
	r = append(r, 0.02*math.Log(table.control[15]/0.2)) // final errors should be rare
	if effect {
		for i, want := range published.effect {
			x := math.Log1p(table.effect[i]/100) - math.Log1p(want/100)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				x = 1
			}
			weight := []float64{2, 1.5, 2, 3, 2, 1.5, 1.5, 1.5, 1.5, .6, .6, .8}[i]
			r = append(r, weight*x)
		}
		for i, want := range published.treatment[9:12] {
			r = append(r, 0.3*math.Log(table.treatment[9+i]/want))
		}
	}
	return r
}

// TestFit moves parameters towards the published table, in four digits: by Levenberg–Marquardt on their logarithms, with one Jacobian by
// forward differences over two days and Broyden's updates; then one by one, up or down; and both again, with smaller steps. It is to end at
// the defaults or at legacyFitted. SWITCHBACK_LOOK changes what it starts from.
//
//	SWITCHBACK_FIT=legacy go test ./experiment -run TestFit -v -timeout 2h
func TestFit(t *testing.T) {
	mode := os.Getenv("SWITCHBACK_FIT")
	if mode == "" {
		t.Skip("SWITCHBACK_FIT is not set")
	}
	f, known := fits()[mode]
	if !known {
		t.Fatalf("SWITCHBACK_FIT=%s: known are legacy and both", mode)
	}
	scenario, err := ScenarioByName("")
	if err != nil {
		t.Fatal(err)
	}
	defaults := scenario
	adjust(t, &scenario, f.start)
	adjust(t, &scenario, os.Getenv("SWITCHBACK_LOOK"))

	const days, slopeDays = 7, 2 // slopes need less precision than levels
	jac := f.slopes(t, scenario, slopeDays)
	scenario = f.together(t, scenario, jac, 6, days, false)
	scenario = f.oneByOne(t, scenario, 0.08, days)
	scenario = f.together(t, scenario, jac, 3, days, true)
	scenario = f.oneByOne(t, scenario, 0.04, days)
	scenario = f.oneByOne(t, scenario, 0.02, days)

	end := f.try(t, scenario, days, true)
	fmt.Printf("end: loss %.4f\n%s\n%s", end.loss(), f.settings(t, &scenario), end.text)
	if f.effect {
		if at := f.settings(t, &defaults); at != f.settings(t, &scenario) {
			t.Errorf("the defaults are others: %s", at)
		}
	} else if legacyFitted != f.settings(t, &scenario) {
		t.Errorf("legacyFitted is another: %s", legacyFitted)
	}
}

// settings lists what a fit moves, as it is in a scenario.
func (f fit) settings(t testing.TB, s *Scenario) string {
	names := slices.Clone(f.levels)
	for _, name := range f.spread {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s=%v", name, setting(t, s, name).Float())
	}
	return strings.Join(names, " ")
}

// slopes are those of the residuals by the logarithms of the levels' parameters.
func (f fit) slopes(t testing.TB, scenario Scenario, days int) *mat.Dense {
	base := f.try(t, scenario, days, false)
	jac := mat.NewDense(len(base.residuals), len(f.levels), nil)
	for j, name := range f.levels {
		s := scenario
		step := move(t, &s, name, 0.12)
		next := f.try(t, s, days, false)
		for i := range next.residuals {
			jac.Set(i, j, (next.residuals[i]-base.residuals[i])/step)
		}
		fmt.Printf("slope of %s: loss %.4f -> %.4f\n", name, base.loss(), next.loss())
	}
	return jac
}

// together moves the levels' parameters by so many steps of Levenberg–Marquardt.
func (f fit) together(t testing.TB, scenario Scenario, jac *mat.Dense, steps, days int, spread bool) Scenario {
	best := f.try(t, scenario, days, spread)
	fmt.Printf("together: loss %.4f\n%s", best.loss(), best.text)
	damping := 0.03
	for n := range steps {
		s := scenario
		step := levenberg(jac, best.residuals, damping)
		for j, name := range f.levels {
			step[j] = move(t, &s, name, min(max(step[j], -0.4), 0.4))
		}
		next := f.try(t, s, days, spread)
		broyden(jac, step, best.residuals, next.residuals)
		fmt.Printf("step %d: loss %.4f -> %.4f damping %.3g\n", n, best.loss(), next.loss(), damping)
		if next.loss() < best.loss() {
			scenario, best = s, next
			damping /= 3
		} else {
			damping *= 5
		}
	}
	return scenario
}

// oneByOne moves each of the parameters of the spread up or down, if that is better.
func (f fit) oneByOne(t testing.TB, scenario Scenario, step float64, days int) Scenario {
	best := f.try(t, scenario, days, true)
	fmt.Printf("one by one: loss %.4f\n%s", best.loss(), best.text)
	for _, name := range f.spread {
		for _, by := range []float64{step, -step} {
			s := scenario
			move(t, &s, name, by)
			next := f.try(t, s, days, true)
			fmt.Printf("%s: %.4g: loss %.4f\n", name, setting(t, &s, name).Float(), next.loss())
			if next.loss() < best.loss() {
				scenario, best = s, next
				break
			}
		}
	}
	return scenario
}

// move moves the logarithm of a parameter, which has four digits, and returns by how much it came to be.
func move(t testing.TB, s *Scenario, name string, by float64) float64 {
	v := setting(t, s, name)
	before := v.Float()
	after, err := strconv.ParseFloat(strconv.FormatFloat(before*math.Exp(by), 'g', 4, 64), 64)
	if err != nil {
		t.Fatal(err)
	}
	v.SetFloat(after)
	return math.Log(after / before)
}

// broyden updates slopes by what a step did: J += ((Δr − J·Δx)·Δxᵀ) / |Δx|².
func broyden(jac *mat.Dense, step, before, after []float64) {
	norm := floats.Dot(step, step)
	for i := range before {
		want := after[i] - before[i]
		for j := range step {
			want -= jac.At(i, j) * step[j]
		}
		for j := range step {
			jac.Set(i, j, jac.At(i, j)+want*step[j]/norm)
		}
	}
}

// levenberg solves (JᵀJ + damping·I)·step = −Jᵀr.
func levenberg(jac *mat.Dense, r []float64, damping float64) []float64 {
	_, n := jac.Dims()
	var a mat.Dense
	a.Mul(jac.T(), jac)
	for i := range n {
		a.Set(i, i, a.At(i, i)+damping)
	}
	var g, step mat.VecDense
	g.MulVec(jac.T(), mat.NewVecDense(len(r), r))
	g.ScaleVec(-1, &g)
	if err := step.SolveVec(&a, &g); err != nil {
		return make([]float64, n)
	}
	return step.RawVector().Data
}

// setting points at a parameter of a scenario by a path such as Market.Headroom or Market.Storm.EveryH.
func setting(t testing.TB, s *Scenario, path string) reflect.Value {
	v := reflect.ValueOf(s).Elem()
	for _, name := range strings.Split(path, ".") {
		if v = v.FieldByName(name); !v.IsValid() {
			t.Fatalf("scenario has no parameter %s", path)
		}
	}
	return v
}

// adjust sets parameters from a list such as "Market.Headroom=6 Workload.MaxCV=1".
func adjust(t testing.TB, s *Scenario, list string) {
	for _, item := range strings.Fields(list) {
		path, text, _ := strings.Cut(item, "=")
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %v", item, err)
		}
		switch v := setting(t, s, path); v.Kind() {
		case reflect.Float64:
			v.SetFloat(x)
		case reflect.Bool:
			v.SetBool(x != 0)
		default:
			v.SetInt(int64(x))
		}
	}
}

// measure drives a scenario and returns the levels of what is kept.
func measure(t testing.TB, cfg DriveConfig, scenario Scenario, burnIn bool) (*levels, DriveSummary) {
	t.Helper()
	scene, err := newSceneOf(cfg, scenario)
	if err != nil {
		t.Fatal(err)
	}
	l := newLevels()
	summary, err := scene.drive(context.Background(), cfg, func(b *Batch) error {
		l.add(b, burnIn)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, summary
}
