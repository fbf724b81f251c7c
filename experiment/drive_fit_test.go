package experiment

import (
	"context"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

func weekPlan(t testing.TB, days int) Plan {
	t.Helper()
	p, err := Draw(Design{Start: time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC), Days: days, Block: 3 * time.Hour, BurnIn: time.Hour,
		BurnInScope: BurnInBlock, Order: OrderSlotBalanced, Seed: 7}, Arms{Control: "price", Treatment: "routing-cost"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLook prints the levels of a week, for calibration by hand: SWITCHBACK_LOOK=Market.Headroom=6 go test -run TestLook -v ./experiment
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
	began := time.Now()
	l, s := measure(t, DriveConfig{Plan: weekPlan(t, days), Seed: 7}, scenario, false)
	took := time.Since(began)
	table := l.table("price", "routing-cost")
	t.Logf("%d requests in %v, %.2f M/s\n%v", s.Requests, took, float64(s.Requests)/took.Seconds()/1e6, table)
	t.Log("\n" + table.perModelTable())
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
