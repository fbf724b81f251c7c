package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"switchback/experiment"
)

func at(text string) experiment.Instant {
	t, err := time.Parse("2006-01-02 15:04:05.999999", text)
	if err != nil {
		panic(err)
	}
	return experiment.InstantOf(t)
}

// twoBlocks is a schedule of one pair on 2 November: price from 00:00, routing-cost from 03:00, an hour of burn-in.
func twoBlocks() experiment.Plan {
	block := func(id, arm string, slot int, start time.Time) experiment.Block {
		return experiment.Block{ID: id, PairID: "p", Day: 1, Slot: slot, Arm: arm, Starts: start, Ends: start.Add(3 * time.Hour), BurnInEnds: start.Add(time.Hour)}
	}
	return experiment.Plan{Arms: testArms, Blocks: []experiment.Block{
		block("a", testArms.Control, 0, someStart), block("b", testArms.Treatment, 1, someStart.Add(3*time.Hour)),
	}}
}

const labels = "SELECT string_agg(concat_ws(' ', request_id, coalesce(block_id, '-'), coalesce(arm, '-'), coalesce(in_burn_in::VARCHAR, '-'), quality), ', ' ORDER BY request_id) FROM requests"

// A request that straddles a switch belongs to its start and is kept, with a mark; dropping such rows, as was asked for
// elsewhere (cluster-experiments #146), would select on the outcome.
func TestApplyPlan(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	long := experiment.Some(experiment.Micros(2_000_000))
	loadLog(t, s, []experiment.Request{
		{RequestID: "0", TS: at("2026-11-01 23:59:59.999999"), Model: "m"},
		{RequestID: "1", TS: at("2026-11-02 00:00:00"), Model: "m"},
		{RequestID: "2", TS: at("2026-11-02 00:59:59.999999"), Model: "m"},
		{RequestID: "3", TS: at("2026-11-02 01:00:00"), Model: "m", Arm: testArms.Control},
		{RequestID: "4", TS: at("2026-11-02 02:59:59"), Model: "m", Total: long}, // ends in the other arm's block, belongs to its start
		{RequestID: "5", TS: at("2026-11-02 03:00:00"), Model: "m", Arm: testArms.Control},
		{RequestID: "6", TS: at("2026-11-02 06:00:00"), Model: "m", Arm: testArms.Treatment},
	})
	report, err := s.ApplyPlan(ctx, twoBlocks())
	if err != nil {
		t.Fatal(err)
	}
	want := PlanReport{Rows: 7, Updated: 5, Outside: 2, InBurnIn: 3, Straddling: 1, Labelled: 2, Mismatches: 1}
	if diff := gocmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	const once = "0 - - - 0, 1 a price true 0, 2 a price true 0, 3 a price false 0, 4 a price false 1024, 5 b routing-cost true 512, 6 - routing-cost - 0"
	if got := scalar(t, s, labels); got != once {
		t.Errorf("rows:\n%s, want\n%s", got, once)
	}
	report, err = s.ApplyPlan(ctx, twoBlocks())
	if err != nil || report.Updated != 0 || report.Mismatches != 1 {
		t.Errorf("again: %+v, %v", report, err)
	}
	// A corrected schedule is checked against what the log said, not against the schedule before it.
	swapped := twoBlocks()
	swapped.Blocks[0].Arm, swapped.Blocks[1].Arm = testArms.Treatment, testArms.Control
	report, err = s.ApplyPlan(ctx, swapped)
	if err != nil || report.Mismatches != 1 || report.Labelled != 2 {
		t.Errorf("swapped: %+v, %v", report, err)
	}
	if got := scalar(t, s, labels); got != "0 - - - 0, 1 a routing-cost true 0, 2 a routing-cost true 0, 3 a routing-cost false 512, 4 a routing-cost false 1024, 5 b price true 0, 6 - routing-cost - 0" {
		t.Errorf("rows after the swap:\n%s", got)
	}
	// A schedule that is refused changes nothing.
	before, refusal := scalar(t, s, labels), errors.New("refused")
	if report, err = s.ApplyPlanIf(ctx, twoBlocks(), func(PlanReport) error { return refusal }); !errors.Is(err, refusal) || report.Updated == 0 {
		t.Errorf("refused: %+v, %v", report, err)
	}
	if got := scalar(t, s, labels); got != before {
		t.Errorf("rows after a refusal:\n%s", got)
	}
	if got := scalar(t, s, "SELECT string_agg(arm, ' ' ORDER BY starts) FROM blocks"); got != testArms.Treatment+" "+testArms.Control {
		t.Errorf("blocks after a refusal: %s", got)
	}
	// A shorter schedule takes its mark off the rows it no longer covers.
	short := twoBlocks()
	short.Blocks = short.Blocks[:1]
	if report, err = s.ApplyPlan(ctx, short); err != nil || report.Outside != 3 {
		t.Errorf("short: %+v, %v", report, err)
	}
	if got := scalar(t, s, labels+" WHERE request_id >= '4'"); got != "4 a price false 1024, 5 - price - 0, 6 - routing-cost - 0" {
		t.Errorf("rows after the cut:\n%s", got)
	}
}

// The burn-in counts from the start of the block, not from the hour of the day (cluster-experiments #150).
func TestBurnInCountsFromTheBlock(t *testing.T) {
	s := openTemp(t)
	start := someStart.Add(40 * time.Minute)
	plan := experiment.Plan{Arms: testArms}
	for i, arm := range []string{testArms.Control, testArms.Treatment} {
		b := experiment.Block{ID: fmt.Sprint(i), PairID: "p", Day: 1, Slot: i, Arm: arm, Starts: start.Add(time.Duration(i) * 90 * time.Minute)}
		b.Ends, b.BurnInEnds = b.Starts.Add(90*time.Minute), b.Starts.Add(25*time.Minute)
		plan.Blocks = append(plan.Blocks, b)
	}
	var rows []experiment.Request
	for minute := range 180 {
		rows = append(rows, experiment.Request{RequestID: fmt.Sprint(minute), TS: experiment.InstantOf(start.Add(time.Duration(minute) * time.Minute)), Model: "m"})
	}
	loadLog(t, s, rows)
	if _, err := s.ApplyPlan(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	const query = "SELECT count(*) || ' ' || count(*) FILTER (in_burn_in = (CAST(request_id AS INTEGER) % 90 < 25) AND block_id = CAST(CAST(request_id AS INTEGER) // 90 AS VARCHAR)) FROM requests"
	if got := scalar(t, s, query); got != "180 180" {
		t.Errorf("rows, and those with the right mark: %s", got)
	}
}

func TestApplyPlanPerModel(t *testing.T) {
	ctx := context.Background()
	s := openTemp(t)
	loadLog(t, s, []experiment.Request{
		{RequestID: "1", TS: at("2026-11-02 02:00:00"), Model: "own'model"},
		{RequestID: "2", TS: at("2026-11-02 02:00:00"), Model: "other"},
	})
	plan := twoBlocks()
	for _, b := range twoBlocks().Blocks {
		b.Model = "own'model"
		b.Arm = map[string]string{testArms.Control: testArms.Treatment, testArms.Treatment: testArms.Control}[b.Arm]
		plan.Blocks = append(plan.Blocks, b)
	}
	if _, err := s.ApplyPlan(ctx, plan); err != nil {
		t.Fatal(err)
	}
	if got := scalar(t, s, labels); got != "1 a routing-cost false 0, 2 a price false 0" {
		t.Errorf("rows: %s", got)
	}
	read, err := s.Plan(ctx, testArms)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(plan, read); diff != "" {
		t.Errorf("schedule read back (-want +got):\n%s", diff)
	}
	sum, err := s.Summaries(ctx, Window{Arms: testArms})
	if err != nil {
		t.Fatal(err)
	}
	defer sum.Close()
	sums, err := sum.Sums(ctx, "requests")
	if err != nil || len(sums) != 2 || sums[0].Column+sums[1].Column != 1 {
		t.Errorf("sums: %+v, %v", sums, err)
	}
}

// The drive labels its rows itself: applying its own plan writes nothing.
func TestApplyPlanSkipsLabelledRows(t *testing.T) {
	s := openTemp(t)
	requests := someRequests(2000, 5)
	plan := weekPlan(t)
	for i := range requests {
		r := &requests[i]
		b := experiment.BlockAt(plan.Blocks, r.TS.Time())
		r.Arm, r.BlockID, r.InBurnIn = b.Arm, b.ID, experiment.Some(r.TS.Time().Before(b.BurnInEnds))
		if r.TS.Time().Add(time.Duration(r.Total.Value)*time.Microsecond).After(b.Ends) && r.Total.Known {
			r.Quality |= experiment.QualityStraddlesBlock
		}
	}
	load(t, s, requests)
	if report, err := s.ApplyPlan(context.Background(), plan); err != nil || report.Updated != 0 || report.Rows != 2000 {
		t.Errorf("report: %+v, %v", report, err)
	}
}

func TestPlanFromLabels(t *testing.T) {
	ctx := context.Background()
	design := experiment.DefaultDesign()
	design.Days = 2
	drawn, err := experiment.Draw(design, testArms)
	if err != nil {
		t.Fatal(err)
	}
	other := design
	other.Seed = 100 // the schedule that ran
	ran, err := experiment.Draw(other, testArms)
	if err != nil {
		t.Fatal(err)
	}
	var rows []experiment.Request
	for i, b := range ran.Blocks {
		if i == 5 || i >= 14 { // one block and the last pair have no rows
			continue
		}
		for k := range 200 {
			rows = append(rows, experiment.Request{RequestID: b.ID + "-" + string(rune('a'+k%26)), TS: experiment.InstantOf(b.Starts.Add(time.Duration(k) * time.Minute / 2)), Model: "m", Arm: b.Arm})
		}
	}
	s := openTemp(t)
	loadLog(t, s, rows)
	plan, report, err := s.PlanFromLabels(ctx, design, testArms)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(ran.Blocks[:14], plan.Blocks); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
	if report.Rows != 13*200 || report.Mixed != 0 || len(report.Empty) != 1 {
		t.Errorf("report: %+v", report)
	}
	if gocmp.Equal(drawn.Blocks, ran.Blocks) {
		t.Error("the two seeds draw one schedule: the test shows nothing")
	}
	wrong := design
	wrong.Block = 6 * time.Hour
	if _, _, err := s.PlanFromLabels(ctx, wrong, testArms); err == nil {
		t.Error("blocks of another length were accepted")
	}
	_, _, err = s.PlanFromLabels(ctx, design, experiment.Arms{Control: "x", Treatment: "y"})
	if err == nil || !strings.Contains(err.Error(), `neither "x" nor "y"`) {
		t.Errorf("other arms: %v", err)
	}
}
