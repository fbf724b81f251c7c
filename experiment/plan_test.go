package experiment

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var arms = Arms{Control: "price", Treatment: "routing-cost"}

func TestDrawPublishedDesign(t *testing.T) {
	d := DefaultDesign()
	p, err := Draw(d, arms)
	if err != nil {
		t.Fatal(err)
	}
	pairs, lone := p.Pairs("any/model")
	if len(p.Blocks) != 56 || len(pairs) != 28 || len(lone) != 0 {
		t.Fatalf("a week of 3-hour blocks has %d blocks, %d pairs, %d lone; want 56, 28, 0", len(p.Blocks), len(pairs), len(lone))
	}
	first := map[int]int{}
	for _, pair := range pairs {
		if pair.TreatmentFirst {
			first[pair.Position]++
		}
	}
	for pos := range 4 {
		if first[pos] != 3 && first[pos] != 4 {
			t.Errorf("daily position %d is treatment-first on %d of 7 days, want 3 or 4", pos, first[pos])
		}
	}
	if got := p.Blocks[0].BurnInEnds.Sub(p.Blocks[0].Starts); got != time.Hour {
		t.Errorf("burn-in %s, want 1h", got)
	}
}

// designs draws any valid design.
func designs(t *rapid.T) Design {
	return Design{
		Start:       DefaultDesign().Start.AddDate(0, 0, rapid.IntRange(-400, 400).Draw(t, "start")),
		Days:        rapid.IntRange(1, 15).Draw(t, "days"),
		Block:       rapid.SampledFrom([]time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour}).Draw(t, "block"),
		BurnIn:      rapid.SampledFrom([]time.Duration{0, 10 * time.Minute, 29 * time.Minute}).Draw(t, "burn-in"),
		BurnInScope: rapid.SampledFrom(BurnInScopes()).Draw(t, "scope"),
		Order:       rapid.SampledFrom(Orders()).Draw(t, "order"),
		PerModel:    rapid.SampledFrom([][]string{nil, {"b", "a"}}).Draw(t, "models"),
		Seed:        rapid.Uint64().Draw(t, "seed"),
	}
}

func TestPlanCoversTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := designs(t)
		p, err := Draw(d, arms)
		if err != nil {
			t.Fatal(err)
		}
		for _, model := range p.Models() {
			at := d.Start
			for i, b := range p.ForModel(model) {
				if !b.Starts.Equal(at) {
					t.Fatalf("block %s starts at %s, want %s", b.ID, b.Starts, at)
				}
				at = b.Ends
				if got := BlockAt(p.ForModel(model), b.Starts); got == nil || got.ID != b.ID {
					t.Fatalf("the start of block %d belongs to %v", i, got)
				}
			}
			if !at.Equal(d.End()) {
				t.Fatalf("plan ends at %s, want %s", at, d.End())
			}
			if got := BlockAt(p.ForModel(model), d.End()); got != nil {
				t.Fatalf("the end of the plan belongs to block %s", got.ID)
			}
			pairs, lone := p.Pairs(model)
			if len(lone) > 0 || len(pairs)*2 != len(p.ForModel(model)) {
				t.Fatalf("%d pairs and %d lone blocks of %d", len(pairs), len(lone), len(p.ForModel(model)))
			}
			for _, pair := range pairs {
				if pair.Control.Arm != arms.Control || pair.Treatment.Arm != arms.Treatment {
					t.Fatalf("pair %s has arms %s and %s", pair.ID, pair.Control.Arm, pair.Treatment.Arm)
				}
				if !pair.Control.Ends.Equal(pair.Treatment.Starts) && !pair.Treatment.Ends.Equal(pair.Control.Starts) {
					t.Fatalf("blocks of pair %s are not adjacent", pair.ID)
				}
				if pair.Control.Day != pair.Treatment.Day {
					t.Fatalf("pair %s lies on two days", pair.ID)
				}
			}
		}
		if err := p.Member(d.Order, d.Days); err != nil {
			t.Fatalf("a drawn plan is not in its own set: %v", err)
		}
	})
}

func TestScheduleRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := designs(t)
		p, err := Draw(d, arms)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := p.WriteCSV(&file); err != nil {
			t.Fatal(err)
		}
		got, err := ReadPlan(&file, "plan.csv", arms, Design{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatal(diff)
		}
	})
}

// A schedule that gives only what is required gets the same days, slots and burn-in as the drawn one.
func TestScheduleOfRequiredColumns(t *testing.T) {
	d := DefaultDesign()
	want, err := Draw(d, arms)
	if err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	file.WriteString("arm,ends,starts,pair_id,block_id\n")
	for _, b := range want.Blocks {
		file.WriteString(strings.Join([]string{b.Arm, b.Ends.Format(time.RFC3339), b.Starts.Format(time.RFC3339), b.PairID, b.ID}, ",") + "\n")
	}
	got, err := ReadPlan(strings.NewReader(file.String()), "s.csv", arms, d)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestBurnInOfChangeovers(t *testing.T) {
	at := DefaultDesign().Start
	block := func(hour int, arm string) Block {
		s := at.Add(time.Duration(hour) * time.Hour)
		return Block{Arm: arm, Starts: s, Ends: s.Add(3 * time.Hour)}
	}
	blocks := []Block{block(0, "a"), block(3, "a"), block(6, "b"), block(12, "b")}
	SetBurnIn(blocks, time.Hour, BurnInChangeover)
	var got []time.Duration
	for _, b := range blocks {
		got = append(got, b.BurnInEnds.Sub(b.Starts))
	}
	// The first block, a change of arm, and a block after a gap have a burn-in.
	if diff := cmp.Diff([]time.Duration{time.Hour, 0, time.Hour, time.Hour}, got); diff != "" {
		t.Fatal(diff)
	}
}

func TestReadPlanRefuses(t *testing.T) {
	const header = "block_id,pair_id,arm,starts,ends\n"
	const first = "1,1,price,2026-11-02T00:00:00Z,2026-11-02T03:00:00Z\n"
	for name, c := range map[string]struct{ file, want string }{
		"empty":          {"", "s.csv: is empty"},
		"header only":    {header, "s.csv: has no blocks"},
		"unknown column": {"block_id,pair_id,arm,start,ends\n", "s.csv:1: start: is not a column"},
		"missing column": {"block_id,pair_id,arm,starts\n", "s.csv:1: ends: column is missing"},
		"double column":  {"block_id,block_id\n", "s.csv:1: block_id: stands twice"},
		"short line":     {header + "1,1,price\n", "s.csv:2: has 3 fields, the header has 5"},
		"unknown arm":    {header + "1,1,old,2026-11-02T00:00:00Z,2026-11-02T03:00:00Z\n", `s.csv:2: arm: "old" is neither`},
		"no instant":     {header + "1,1,price,2026-11-02 00:00:00,2026-11-02T03:00:00Z\n", "s.csv:2: starts: "},
		"backwards":      {header + "1,1,price,2026-11-02T03:00:00Z,2026-11-02T03:00:00Z\n", "s.csv:2: ends: is not after starts"},
		"a blink":        {header + "1,1,price,2026-11-02T03:00:00Z,2026-11-02T03:00:00.5Z\n", "s.csv:2: ends: is 500 ms after starts; a block has at least 1 s"},
		"same id":        {header + first + "1,1,routing-cost,2026-11-02T03:00:00Z,2026-11-02T06:00:00Z\n", `s.csv:3: block_id: "1" stands in line 2`},
		"overlap":        {header + first + "2,1,routing-cost,2026-11-02T02:00:00Z,2026-11-02T05:00:00Z\n", "s.csv:3: starts: "},
		"one arm":        {header + first + "2,1,price,2026-11-02T03:00:00Z,2026-11-02T06:00:00Z\n", `s.csv:3: arm: both blocks of pair "1"`},
		"three blocks": {
			header + first + "2,1,routing-cost,2026-11-02T03:00:00Z,2026-11-02T06:00:00Z\n3,1,price,2026-11-02T06:00:00Z,2026-11-02T09:00:00Z\n",
			`s.csv:4: pair_id: pair "1" has a third block`,
		},
		"burn-in outside": {
			"block_id,pair_id,arm,starts,ends,burn_in_ends\n1,1,price,2026-11-02T00:00:00Z,2026-11-02T03:00:00Z,2026-11-02T04:00:00Z\n",
			"s.csv:2: burn_in_ends: is outside the block",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadPlan(strings.NewReader(c.file), "s.csv", arms, DefaultDesign())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestMemberRefuses(t *testing.T) {
	d := DefaultDesign()
	d.Order = OrderAlternating
	fixed, err := Draw(d, arms)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range []Order{OrderSlotBalanced, OrderDayBalanced} {
		if fixed.Member(order, d.Days) == nil {
			t.Errorf("a fixed order counts as %s", order)
		}
	}
	if err := fixed.Member(OrderCoin, d.Days); err != nil {
		t.Errorf("a fixed order is a possible outcome of coins: %v", err)
	}
}

// A drawn plan stays a member whatever pairs it lost, and so does every beginning of it: what is left need not be balanced.
func TestMemberLacksPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := designs(t)
		p, err := Draw(d, arms)
		if err != nil {
			t.Fatal(err)
		}
		gone := rapid.IntRange(0, len(p.Blocks)-1).Draw(t, "lost block")
		lost := p
		lost.Blocks = slices.Delete(slices.Clone(p.Blocks), gone, gone+1)
		if err := lost.Member(d.Order, d.Days); err != nil {
			t.Fatalf("without block %s: %v", p.Blocks[gone].ID, err)
		}
		days := rapid.IntRange(1, d.Days).Draw(t, "days so far")
		sofar := p
		sofar.Blocks = slices.DeleteFunc(slices.Clone(p.Blocks), func(b Block) bool { return b.Day > days })
		if err := sofar.Member(d.Order, d.Days); err != nil {
			t.Fatalf("after day %d: %v", days, err)
		}
	})
}

// A schedule file without slots keeps the position of every pair when blocks are missing, and also when it begins in the afternoon.
func TestSlotsFollowTheTimeOfDay(t *testing.T) {
	const header = "block_id,pair_id,arm,starts,ends\n"
	at := func(id, pair, arm string, day, from, to int) string {
		end := time.Date(2026, 11, day, to, 0, 0, 0, time.UTC)
		return fmt.Sprintf("%s,%s,%s,%s,%s\n", id, pair, arm, time.Date(2026, 11, day, from, 0, 0, 0, time.UTC).Format(time.RFC3339), end.Format(time.RFC3339))
	}
	file := header + at("a", "1", "price", 2, 12, 18) + at("b", "1", "routing-cost", 2, 18, 24) +
		at("c", "2", "routing-cost", 3, 6, 12) + // its partner is missing
		at("d", "3", "routing-cost", 3, 12, 18) + at("e", "3", "price", 3, 18, 24)
	plan, err := ReadPlan(strings.NewReader(file), "s.csv", arms, DefaultDesign())
	if err != nil {
		t.Fatal(err)
	}
	pairs, lone := plan.Pairs("")
	if len(pairs) != 2 || len(lone) != 1 || pairs[0].Position != 1 || pairs[1].Position != 1 {
		t.Errorf("pairs %+v, lone %+v: want both pairs of the afternoon in position 1", pairs, lone)
	}
	// Blocks of other lengths are counted.
	uneven := header + at("a", "1", "price", 2, 1, 5) + at("b", "1", "routing-cost", 2, 5, 12)
	if plan, err = ReadPlan(strings.NewReader(uneven), "s.csv", arms, DefaultDesign()); err != nil {
		t.Fatal(err)
	}
	if plan.Blocks[0].Slot != 0 || plan.Blocks[1].Slot != 1 {
		t.Errorf("slots %d and %d of uneven blocks, want 0 and 1", plan.Blocks[0].Slot, plan.Blocks[1].Slot)
	}
}

func TestDesignProblems(t *testing.T) {
	for field, change := range map[string]func(*Design){
		"start":         func(d *Design) { d.Start = d.Start.Add(time.Hour) },
		"days":          func(d *Design) { d.Days = 0 },
		"block":         func(d *Design) { d.Block = 5 * time.Hour },
		"burn_in":       func(d *Design) { d.BurnIn = d.Block },
		"burn_in_scope": func(d *Design) { d.BurnInScope = "" },
		"order":         func(d *Design) { d.Order = "random" },
	} {
		d := DefaultDesign()
		change(&d)
		ps := d.Problems()
		if len(ps) != 1 || ps[0].Field != field {
			t.Errorf("%s: problems %v", field, ps)
		}
		if _, err := Draw(d, arms); err == nil {
			t.Errorf("%s: drawn all the same", field)
		}
	}
	for field, change := range map[string]func(*Design){
		"block":   func(d *Design) { d.Block, d.BurnIn = 3, 0 },
		"block ":  func(d *Design) { d.Block, d.BurnIn = time.Millisecond, 0 },
		"block  ": func(d *Design) { d.Block, d.BurnIn, d.Days = MinBlock, MinBurnIn, MaxBlocks/1440+1 },
		"burn_in": func(d *Design) { d.BurnIn = MinBurnIn - 1 },
	} {
		d := DefaultDesign()
		change(&d)
		if ps := d.Problems(); len(ps) != 1 || ps[0].Field != strings.TrimSpace(field) {
			t.Errorf("%+v: problems %v", d, ps)
		}
	}
	least := DefaultDesign()
	least.Block, least.BurnIn, least.Days = MinBlock, MinBurnIn, MaxBlocks/1440
	if p, err := Draw(least, arms); err != nil || len(p.Blocks) != 1440*least.Days {
		t.Errorf("the shortest blocks, %d days: %d blocks, %v", least.Days, len(p.Blocks), err)
	}
	odd := DefaultDesign()
	odd.Block = 24 * time.Hour
	if ps := odd.Problems(); len(ps) != 1 || !strings.Contains(ps[0].Reason, "pairs") {
		t.Errorf("a day of one block: %v", ps)
	}
	if _, err := Draw(DefaultDesign(), Arms{Control: "price", Treatment: "price"}); err == nil {
		t.Error("two arms of one name were drawn")
	}
}

func FuzzReadPlan(f *testing.F) {
	p, err := Draw(DefaultDesign(), arms)
	if err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	if err := p.WriteCSV(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.String())
	f.Add("block_id,pair_id,arm,starts,ends,model\n\"1\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadPlan(strings.NewReader(text), "s.csv", arms, DefaultDesign())
		if err != nil {
			return
		}
		for _, model := range p.Models() {
			if pairs, lone := p.Pairs(model); 2*len(pairs)+len(lone) != len(p.ForModel(model)) {
				t.Fatalf("blocks lost: %d pairs, %d lone, %d blocks", len(pairs), len(lone), len(p.ForModel(model)))
			}
		}
	})
}
