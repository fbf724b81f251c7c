package experiment

import (
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
// with SWITCHBACK_REDRAW the seed has a market of its own.
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
	adjust(t, &scenario, os.Getenv("SWITCHBACK_LOOK"))
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

// fitParameters are what a fit moves, by mode. The legacy fit leaves alone what the legacy arm can't identify.
var fitParameters = map[string][]string{
	"legacy": {"Market.LatencyScale", "Market.ThroughputScale", "Market.PriceScale", "Market.TTFTSigma", "Market.Background", "Market.ErrorMean", "Market.HangS",
		"Workload.GeoOutput", "Workload.ShortMedian", "Workload.LongSigma", "Workload.GeoMeanInput"},
	"both": {"Market.LatencyScale", "Market.ThroughputScale", "Market.PriceScale", "Market.TTFTSigma", "Market.Background", "Market.ErrorMean", "Market.HangS",
		"Workload.GeoOutput", "Workload.ShortMedian", "Workload.LongSigma", "Workload.GeoMeanInput",
		"Market.BackgroundSpread", "Market.BackgroundCheap", "Market.BackgroundModel", "Market.TTFTLoad", "Market.DecodeLoad", "Market.PriceSpread", "Market.RejectS", "Market.ErrorSigma",
		"Market.HangWithErrors", "Router.Cost.Throughput", "Router.Cost.TTFT"},
}

// residuals are the weighted logarithms of measured over published values: the legacy levels and, in mode "both", the effects.
func residuals(t testing.TB, scenario Scenario, mode string, days int) ([]float64, string) {
	t.Helper()
	run := func(world string) *levels {
		l, _ := measure(t, DriveConfig{Plan: weekPlan(t, days, 7), Seed: 7, World: world}, scenario, true)
		return l
	}
	l := run(WorldControl)
	if mode == "both" {
		maps.Copy(l.cells, run(WorldTreatment).cells)
	} else {
		for key, cell := range maps.Clone(l.cells) {
			key.arm = "routing-cost"
			l.cells[key] = cell
		}
	}
	table := l.table("price", "routing-cost")
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
	if mode == "both" {
		for i, want := range published.effect {
			x := math.Log1p(table.effect[i]/100) - math.Log1p(want/100)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				x = 1
			}
			weight := []float64{2, 1.5, 2, 3, 2, 1.5, 1, 1.5, 1.5, .6, .6, .8}[i]
			r = append(r, weight*x)
		}
		for i, want := range published.treatment[9:12] {
			r = append(r, 0.3*math.Log(table.treatment[9+i]/want))
		}
	}
	return r, table.String()
}

// TestFit moves parameters towards the published table, by Levenberg–Marquardt on their logarithms: one Jacobian by forward
// differences over two days, then Broyden's updates. It prints every better point, ready for SWITCHBACK_LOOK.
//
//	SWITCHBACK_FIT=legacy SWITCHBACK_DAYS=7 go test ./experiment -run TestFit -v -timeout 2h
func TestFit(t *testing.T) {
	mode := os.Getenv("SWITCHBACK_FIT")
	if mode == "" {
		t.Skip("SWITCHBACK_FIT is not set")
	}
	days, iterations := 7, 6
	if n, err := strconv.Atoi(os.Getenv("SWITCHBACK_DAYS")); err == nil {
		days = n
	}
	scenario, err := ScenarioByName("")
	if err != nil {
		t.Fatal(err)
	}
	adjust(t, &scenario, os.Getenv("SWITCHBACK_LOOK"))
	names := fitParameters[mode]
	x := make([]float64, len(names))
	for i, name := range names {
		x[i] = math.Log(setting(t, &scenario, name).Float())
	}
	slopeDays := min(2, days) // slopes need less precision than levels
	eval := func(x []float64, days int) ([]float64, string) {
		s := scenario
		for i, name := range names {
			setting(t, &s, name).SetFloat(math.Exp(x[i]))
		}
		return residuals(t, s, mode, days)
	}
	show := func(x []float64) string {
		var b strings.Builder
		for i, name := range names {
			fmt.Fprintf(&b, "%s=%.4g ", name, math.Exp(x[i]))
		}
		return b.String()
	}
	loss := func(r []float64) float64 { return floats.Dot(r, r) }
	r, text := eval(x, days)
	fmt.Printf("start loss %.4f\n%s", loss(r), text)
	base, _ := eval(x, slopeDays)
	jac := mat.NewDense(len(r), len(x), nil)
	for j := range x {
		const h = 0.12
		y := slices.Clone(x)
		y[j] += h
		s, _ := eval(y, slopeDays)
		for i := range r {
			jac.Set(i, j, (s[i]-base[i])/h)
		}
		fmt.Printf("difference %s: loss %.4f\n", names[j], loss(s))
	}
	damping := 0.03
	for it := range iterations {
		step := levenberg(jac, r, damping)
		y := slices.Clone(x)
		for i := range y {
			y[i] += min(max(step[i], -0.4), 0.4)
			step[i] = y[i] - x[i]
		}
		s, text := eval(y, days)
		// Broyden: J += ((Δr − J·Δx)·Δxᵀ) / |Δx|²
		norm := floats.Dot(step, step)
		for i := range r {
			want := s[i] - r[i]
			for j := range step {
				want -= jac.At(i, j) * step[j]
			}
			for j := range step {
				jac.Set(i, j, jac.At(i, j)+want*step[j]/norm)
			}
		}
		fmt.Printf("iteration %d: loss %.4f -> %.4f damping %.3g\n", it, loss(r), loss(s), damping)
		if loss(s) < loss(r) {
			x, r = y, s
			damping /= 3
			fmt.Printf("%s\n%s", show(x), text)
		} else {
			damping *= 5
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
