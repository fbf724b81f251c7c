package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"

	"switchback/stats"
)

// allStates are documents that between them draw every figure, from empty to crowded.
func allStates() map[string]Document {
	long := withNights(withSeries(normalDocument()))
	long.Arms = Arms{strings.Repeat("a-very-long-name-of-an-arm/", 6), strings.Repeat("W", 200)}
	for i := range long.Blocks {
		if long.Blocks[i].Arm == "price" {
			long.Blocks[i].Arm = long.Arms.Control
		} else {
			long.Blocks[i].Arm = long.Arms.Treatment
		}
	}
	for i := range long.Providers {
		long.Providers[i].Provider = strings.Repeat("Ẅ", 100) + long.Providers[i].Provider
	}
	for i := range long.Metrics {
		if model, ok := strings.CutPrefix(long.Metrics[i].Scope, scopeModelPrefix); ok {
			long.Metrics[i].Scope = scopeModelPrefix + strings.Repeat("日本語", 40) + model
		}
	}
	wild := withSeries(normalDocument())
	for i := range wild.Metrics {
		wild.Metrics[i].Relative = effect(float64(i*i)-1, -1, 1e6)
	}
	for i := range wild.SinceSwitch {
		wild.SinceSwitch[i].Relative = effect(0, -.999, 1e9)
	}
	perModel := withSeries(normalDocument())
	perModel.Design.PerModel = true
	for i := range perModel.Blocks {
		perModel.Blocks[i].Model = []string{"deepseek/deepseek-chat-v3", "qwen/qwen3-235b-a22b"}[i%2]
		perModel.Blocks[i].Rows *= int64(i % 5) // every fifth block has no rows
	}
	flat := withSeries(normalDocument())
	for i := range flat.Metrics {
		flat.Metrics[i].Relative = effect(0, 0, 0)
		flat.Metrics[i].Verdict = stats.VerdictNone
	}
	for i := range flat.Blocks {
		for k := range flat.Blocks[i].Values {
			flat.Blocks[i].Values[k].Value = ptr(0.0)
		}
	}
	for i := range flat.Spend {
		flat.Spend[i].USD = ptr(0.0)
	}
	return map[string]Document{
		"normal": withNights(withSeries(normalDocument())), "provisional": withSeries(provisionalDocument()),
		"incomplete": incompleteDocument(), "degenerate": degenerateDocument(),
		"models": manyModelsDocument(100), "long names": long, "wild": wild, "flat": flat, "per model": perModel,
	}
}

// TestNothingIsCut checks that every word of every figure lies inside its canvas. Rotated axis labels are left out.
func TestNothingIsCut(t *testing.T) {
	for state, doc := range allStates() {
		for _, f := range figures(compose(doc).blocks) {
			var rec recorder.Canvas
			f.draw(draw.NewCanvas(&rec, vg.Length(f.width), vg.Length(f.height)))
			turned := 0
			for _, action := range rec.Actions {
				switch a := action.(type) {
				case *recorder.Rotate:
					turned++
				case *recorder.Pop:
					turned = 0
				case *recorder.FillString:
					if turned > 0 {
						continue
					}
					face := plotfont.DefaultCache.Lookup(a.Font, a.Size)
					left, right := a.Point.X, a.Point.X+face.Width(a.String)
					if left < 0 || right > vg.Length(f.width) || a.Point.Y < 0 || a.Point.Y+a.Size*.8 > vg.Length(f.height) {
						t.Errorf("%s, %s: %q from (%.0f, %.0f) to %.0f leaves the canvas of %.0f × %.0f", state, f.name, a.String, left, a.Point.Y, right, f.width, f.height)
					}
				}
			}
		}
	}
}

// TestFiguresAreXML checks that each figure is well-formed, opaque, without numbers that are none, and described.
func TestFiguresAreXML(t *testing.T) {
	for state, doc := range allStates() {
		for _, f := range figures(compose(doc).blocks) {
			svg, err := f.svg()
			if err != nil {
				t.Fatal(err)
			}
			dec := xml.NewDecoder(bytes.NewReader(svg))
			for {
				if _, err := dec.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s, %s: %v", state, f.name, err)
				}
			}
			for _, bad := range []string{"NaN", "Inf"} {
				if bytes.Contains(svg, []byte(bad)) {
					t.Errorf("%s, %s: holds %s", state, f.name, bad)
				}
			}
			if !bytes.Contains(svg, []byte(`role="img" aria-label="`)) || len(f.alt) < 40 {
				t.Errorf("%s, %s: is not described", state, f.name)
			}
		}
	}
}

func TestPNGIsOpaque(t *testing.T) {
	for _, f := range figures(compose(normalDocument()).blocks)[:1] {
		b, err := f.png()
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := img.Bounds().Dx(), 1600; got != want {
			t.Errorf("%s: %d pixels wide, want %d", f.name, got, want)
		}
		for _, at := range [][2]int{{0, 0}, {img.Bounds().Dx() - 1, img.Bounds().Dy() - 1}} {
			if c := color.NRGBAModel.Convert(img.At(at[0], at[1])); c != paper {
				t.Errorf("%s: corner %v is %v, want white", f.name, at, c)
			}
		}
	}
}

// TestFiguresTellMarksApart checks that verdicts and arms differ in shape and not only in colour.
func TestFiguresTellMarksApart(t *testing.T) {
	seen := map[draw.GlyphDrawer]string{}
	for _, v := range []string{stats.VerdictBetter, stats.VerdictWorse, stats.VerdictHigher, stats.VerdictNone} {
		shape := markOf(v).glyph.Shape
		if other, ok := seen[shape]; ok {
			t.Errorf("%s and %s have one shape", v, other)
		}
		seen[shape] = v
	}
	control, treatment := armMarks(Arms{"a", "b"})
	if control.glyph.Shape == treatment.glyph.Shape {
		t.Error("the arms have one shape")
	}
}

func TestRoundTicks(t *testing.T) {
	for _, span := range []float64{1e-6, .013, .2, 1, 7, 99, 12345} {
		for _, lo := range []float64{-span / 3, 0, span} {
			ticks := percentTicks{4}.Ticks(lo, lo+span)
			if len(ticks) < 4 || len(ticks) > 11 {
				t.Errorf("[%v, %v]: %d ticks", lo, lo+span, len(ticks))
			}
			for i, tick := range ticks {
				if tick.Value < lo-1e-9*span || tick.Value > lo+span*(1+1e-9) {
					t.Errorf("tick %v outside [%v, %v]", tick.Value, lo, lo+span)
				}
				if i > 0 && tick.Label == ticks[i-1].Label && span > 1e-5 {
					t.Errorf("[%v, %v]: label %q twice", lo, lo+span, tick.Label)
				}
			}
		}
	}
	if got := roundStep(0, 4); got != 1 || math.IsNaN(got) {
		t.Errorf("step of an empty span is %v", got)
	}
}

// TestReportOfManyModels checks that a report of 100 models is quick and stays readable: its first screen is as short as any,
// and the long tables are folded away.
func TestReportOfManyModels(t *testing.T) {
	doc := manyModelsDocument(100)
	start := time.Now()
	files, err := Render(doc, Options{HTML: true})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 2*time.Second && !testing.Short() {
		t.Errorf("took %v, more than 2 s", took)
	}
	md := string(files[0].Bytes)
	before, _, _ := strings.Cut(md, "<details>")
	if lines := strings.Count(before, "\n"); lines > 120 {
		t.Errorf("%d lines before the first fold", lines)
	}
	if !strings.Contains(md, "All 100 models, one row each") {
		t.Error("the rows of 100 models are not folded")
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	states := allStates()
	if testing.Short() {
		states = map[string]Document{"normal": states["normal"]}
	}
	for state, doc := range states {
		first, err := Render(doc, Options{HTML: true})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Render(doc, Options{HTML: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range first {
			if f.Name != again[i].Name || !bytes.Equal(f.Bytes, again[i].Bytes) {
				t.Errorf("%s: %s differs from one rendering to the next", state, f.Name)
			}
		}
	}
}
