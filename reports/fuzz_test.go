package reports

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"switchback/stats"
)

// smallDocument has one of everything, so that its JSON is short.
func smallDocument() Document {
	doc := withSeries(normalDocument())
	doc.Metrics = append(doc.Metrics[:2:2], doc.Metrics[16], doc.Metrics[17])
	doc.Blocks, doc.Spend, doc.SinceSwitch, doc.Providers = doc.Blocks[:2], doc.Spend[:2], doc.SinceSwitch[:2], doc.Providers[:2]
	doc.Diagnostics.Checks = doc.Diagnostics.Checks[:1]
	doc.History = []HistoryPoint{{ReportDate: "2026-11-07", Metric: "ttft_p50", Relative: effect(-.1, -.2, .1)}, {ReportDate: "2026-11-08", Metric: "ttft_p50"}}
	return doc
}

var notNumber = regexp.MustCompile(`NaN|[^a-zA-Z]Inf`)

// mustRender renders a valid document and fails on a panic, an error, or a figure with a number that is none.
func mustRender(t interface{ Fatalf(string, ...any) }, doc Document) {
	files, err := Render(doc, Options{})
	if err != nil {
		t.Fatalf("valid but not rendered: %v", err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name, ".svg") {
			if found := notNumber.Find(f.Bytes); found != nil {
				t.Fatalf("%s holds %q", f.Name, found)
			}
		}
	}
	if _, err := writeHTML(compose(doc)); err != nil {
		t.Fatalf("%v", err)
	}
}

// FuzzDecode checks that whatever Decode accepts can be rendered.
func FuzzDecode(f *testing.F) {
	for _, doc := range []Document{degenerateDocument(), smallDocument()} {
		b, err := Encode(doc)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"schema_version":1,"report_date":"2026-11-08","arms":{"control":"a","treatment":"b"},"method":{"confidence":0.5}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if doc, err := Decode(bytes.NewReader(b)); err == nil {
			mustRender(t, doc)
		}
	})
}

// TestRenderSurvivesOddNumbers replaces numbers, names and counts of a full document at random by missing, tiny, huge and odd ones:
// whatever Validate lets through is rendered.
func TestRenderSurvivesOddNumbers(t *testing.T) {
	full, err := Encode(withNights(withSeries(normalDocument())))
	if err != nil {
		t.Fatal(err)
	}
	seeds := uint64(10)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		doc, err := Decode(bytes.NewReader(full))
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 0))
		distort(random, reflect.ValueOf(&doc).Elem(), 2+random.IntN(60))
		mend(&doc)
		if err := doc.Validate(); err != nil {
			t.Fatalf("seed %d: mended, and yet: %v", seed, err)
		}
		mustRender(t, doc)
	}
}

// mend undoes what Validate would refuse, so that every distorted document is rendered.
func mend(doc *Document) {
	doc.SchemaVersion, doc.ReportDate, doc.Arms = SchemaVersion, "2026-11-08", Arms{"price", "routing-cost"}
	if c := doc.Method.Confidence; c <= 0 || c >= 1 {
		doc.Method.Confidence = .9
	}
	if doc.Window.End.Before(doc.Window.Start) {
		doc.Window.Start, doc.Window.End = doc.Window.End, doc.Window.Start
	}
	seen := map[[2]string]bool{}
	doc.Metrics = slices.DeleteFunc(doc.Metrics, func(e stats.Estimate) bool {
		key := [2]string{e.ID, e.Scope}
		defer func() { seen[key] = true }()
		return e.ID == "" || e.Scope == "" || seen[key]
	})
	for i := range doc.Metrics {
		if !knownVerdict(doc.Metrics[i].Verdict) {
			doc.Metrics[i].Verdict = stats.VerdictHigher
		}
	}
	doc.Blocks = slices.DeleteFunc(doc.Blocks, func(b BlockPoint) bool {
		return !b.Starts.Before(b.Ends) || b.BurnInEnds.Before(b.Starts) || b.BurnInEnds.After(b.Ends)
	})
	doc.SinceSwitch = slices.DeleteFunc(doc.SinceSwitch, func(p SinceSwitchPoint) bool {
		return p.FromMinute < 0 || p.FromMinute >= p.ToMinute || p.ToMinute > longestWindow.Minutes()
	})
	doc.History = slices.DeleteFunc(doc.History, func(h HistoryPoint) bool {
		_, err := time.Parse(time.DateOnly, h.ReportDate)
		return err != nil
	})
}

// distort changes about one in n of the values under v.
func distort(r *rand.Rand, v reflect.Value, n int) {
	hit := func() bool { return r.IntN(n) == 0 }
	switch v.Kind() {
	case reflect.Pointer:
		switch {
		case v.IsNil():
		case hit():
			v.SetZero()
		default:
			distort(r, v.Elem(), n)
		}
	case reflect.Float64:
		if hit() {
			v.SetFloat(pick(r, []float64{0, -1, 1, 1e-300, -1e-9, 3, 1e6, 1e18, -1e18, .5}))
		}
	case reflect.Int, reflect.Int64:
		if hit() {
			v.SetInt(pick(r, []int64{0, -1, 1, 7, 1 << 40}))
		}
	case reflect.String:
		if hit() && v.Type() == reflect.TypeFor[string]() {
			v.SetString(pick(r, append([]string{"hit_429", "overall", stats.VerdictNone, "model:", "2026-11-03", "ttft_p50_pooled_models"}, nastyNames...)))
		}
	case reflect.Bool:
		if hit() {
			v.SetBool(!v.Bool())
		}
	case reflect.Slice:
		if v.Len() > 8 && hit() {
			v.Set(v.Slice(0, v.Len()/3))
		}
		for i := range v.Len() {
			if i%7 == 0 || v.Len() < 20 {
				distort(r, v.Index(i), n)
			}
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			if hit() {
				at := v.Interface().(time.Time)
				v.Set(reflect.ValueOf(at.Add(time.Duration(r.IntN(801)-400) * time.Hour)))
			}
			return
		}
		for i := range v.NumField() {
			distort(r, v.Field(i), n)
		}
	}
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }
