package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"switchback/experiment"
)

func TestLooks(t *testing.T) {
	arms := experiment.Arms{Control: "old", Treatment: "new"}
	design := experiment.DefaultDesign()
	plan, err := experiment.Draw(design, arms)
	if err != nil {
		t.Fatal(err)
	}
	night := func(n int, provisional bool) window {
		return window{since: design.Start, until: design.Start.Add(time.Duration(n) * day), provisional: provisional}
	}
	for name, c := range map[string]struct {
		window
		want []float64
	}{
		"first night":  {night(1, true), []float64{1. / 7}},
		"third night":  {night(3, true), []float64{1. / 7, 2. / 7, 3. / 7}},
		"finished":     {night(7, false), nil},
		"half a day":   {window{since: design.Start, until: design.Start.Add(12 * time.Hour), provisional: true}, []float64{2. / 28}},
		"before pairs": {window{since: design.Start, until: design.Start.Add(time.Hour), provisional: true}, nil},
	} {
		if diff := cmp.Diff(c.want, looks(plan, 28, c.window)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSliceWidth(t *testing.T) {
	for length, want := range map[int]int{180: 10, 60: 10, 30: 5, 5: 1, 360: 20, 720: 30, 240: 10} {
		if got := sliceWidth(length); got != want {
			t.Errorf("blocks of %d minutes: slices of %d, want %d", length, got, want)
		}
	}
}
