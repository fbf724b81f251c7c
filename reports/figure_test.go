package reports

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"gonum.org/v1/plot/vg/vgimg"

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
					if wide := letters(a.String) - utf8.RuneCountInString(a.String); wide > 0 { // a viewer's font has squares
						right = left + face.Width(withoutWide(a.String)) + vg.Length(wide)*a.Size
					}
					if left < 0 || right > vg.Length(f.width) || a.Point.Y < 0 || a.Point.Y+a.Size*.8 > vg.Length(f.height) {
						t.Errorf("%s, %s: %q from (%.0f, %.0f) to %.0f leaves the canvas of %.0f × %.0f", state, f.name, a.String, left, a.Point.Y, right, f.width, f.height)
					}
				}
			}
		}
	}
}

func withoutWide(s string) string {
	return strings.Map(func(r rune) rune {
		if isWide(r) {
			return -1
		}
		return r
	}, s)
}

// Names of models and arms in scripts that the embedded fonts lack stand beside their rows as others do, and are not cut.
func TestWideNamesHaveTheirRoom(t *testing.T) {
	doc := withSeries(normalDocument())
	for i := range doc.Metrics {
		if model, ok := strings.CutPrefix(doc.Metrics[i].Scope, scopeModelPrefix); ok {
			doc.Metrics[i].Scope = scopeModelPrefix + "模型/" + model[strings.LastIndexByte(model, '/')+1:]
		}
	}
	found := false
	for _, f := range figures(compose(doc).blocks) {
		if f.name != "models" {
			continue
		}
		var rec recorder.Canvas
		f.draw(draw.NewCanvas(&rec, vg.Length(f.width), vg.Length(f.height)))
		ends := map[string]bool{}
		for _, action := range rec.Actions {
			if a, ok := action.(*recorder.FillString); ok && strings.HasPrefix(a.String, "模型/") {
				face := plotfont.DefaultCache.Lookup(a.Font, a.Size)
				ends[fmt.Sprintf("%.1f", a.Point.X+face.Width(withoutWide(a.String))+2*a.Size)] = true
				found = true
			}
		}
		if len(ends) != 1 {
			t.Errorf("right-aligned names end at %v", ends)
		}
		if _, err := f.png(); err != nil {
			t.Errorf("as PNG: %v", err)
		}
	}
	if !found {
		t.Error("no wide name is drawn")
	}
	for s, want := range map[string]string{"日本語モデル": "日…ル", "abcdefgh": "abc…gh", "日本": "日本", "ab日本cd": "ab…cd"} {
		if got := clip(s, 6); got != want || letters(got) > 6 {
			t.Errorf("clip(%s, 6) = %s, want %s", s, got, want)
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

// TestPNGIsOpaque decodes every figure: 1600 pixels wide, as high as its SVG, nowhere transparent, on white, and not empty.
func TestPNGIsOpaque(t *testing.T) {
	for _, f := range figures(compose(withNights(withSeries(normalDocument()))).blocks) {
		b, err := f.png()
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		size := img.Bounds()
		if got, want := size.Max, (image.Point{1600, int(math.Round(f.height * pngDPI / 72))}); got.X != want.X || got.Y < want.Y-1 || got.Y > want.Y+1 {
			t.Errorf("%s: %v pixels, want %v", f.name, got, want)
		}
		drawn := 0
		for y := range size.Max.Y {
			for x := range size.Max.X {
				switch c := color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA); {
				case c.A != 0xff:
					t.Fatalf("%s: transparent at %d, %d", f.name, x, y)
				case c != paper:
					drawn++
				}
			}
		}
		if share := float64(drawn) / float64(size.Dx()*size.Dy()); share < 0.005 || share > 0.6 {
			t.Errorf("%s: %.1f%% of it is drawn on", f.name, 100*share)
		}
		for _, at := range [][2]int{{0, 0}, {size.Dx() - 1, size.Dy() - 1}} {
			if c := color.NRGBAModel.Convert(img.At(at[0], at[1])); c != paper {
				t.Errorf("%s: corner %v is %v, want white", f.name, at, c)
			}
		}
	}
}

// TestPNGBoxesWhatTheFontLacks: a name in a script that the embedded fonts do not have is seen.
func TestPNGBoxesWhatTheFontLacks(t *testing.T) {
	drawn := func(s string) (n int) {
		canvas := vgimg.NewWith(vgimg.UseWH(100, 20), vgimg.UseDPI(pngDPI))
		lettering(9, ink, draw.XLeft, draw.YBottom).Handler.Draw(boxing{canvas}, s, lettering(9, ink, draw.XLeft, draw.YBottom), vg.Point{X: 2, Y: 2})
		img := canvas.Image()
		for y := range img.Bounds().Dy() {
			for x := range img.Bounds().Dx() {
				if color.NRGBAModel.Convert(img.At(x, y)) != paper {
					n++
				}
			}
		}
		return n
	}
	one := drawn("模")
	if one == 0 {
		t.Error("a lone ideograph is drawn as nothing")
	}
	if two, mixed, letters := drawn("模型"), drawn("ab模型c"), drawn("abc"); two <= one || mixed <= two || mixed <= letters {
		t.Errorf("pixels: %d for one ideograph, %d for two, %d with letters, %d for the letters", one, two, mixed, letters)
	}
	if drawn("\ufffd") == 0 {
		t.Error("a replacement character is drawn as nothing")
	}
}

// TestLabelsOfPanelsStayApart: the labels of neighbouring axes in the figure of models do not touch.
func TestLabelsOfPanelsStayApart(t *testing.T) {
	for state, doc := range allStates() {
		for _, f := range figures(compose(doc).blocks) {
			if f.name != "models" {
				continue
			}
			var rec recorder.Canvas
			f.draw(draw.NewCanvas(&rec, vg.Length(f.width), vg.Length(f.height)))
			last := map[vg.Length]vg.Length{} // where the label before ends, by height
			for _, action := range rec.Actions {
				a, ok := action.(*recorder.FillString)
				if !ok || !strings.HasSuffix(a.String, "%") {
					continue
				}
				if end, ok := last[a.Point.Y]; ok && a.Point.X < end+3 {
					t.Errorf("%s: %q begins at %.1f, the label before ends at %.1f", state, a.String, a.Point.X, end)
				}
				face := plotfont.DefaultCache.Lookup(a.Font, a.Size)
				last[a.Point.Y] = a.Point.X + face.Width(a.String)
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
