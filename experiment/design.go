package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Order names how the arm order inside the pairs is drawn.
type Order string

// Orders. Each names the set of assignments that the schedule is drawn from.
const (
	OrderSlotBalanced Order = "slot-balanced" // each daily position is treatment-first on ⌊D/2⌋ or ⌈D/2⌉ days
	OrderDayBalanced  Order = "day-balanced"  // ⌊P/2⌋ or ⌈P/2⌉ of each day's P pairs are treatment-first
	OrderCoin         Order = "coin"          // a fair coin for each pair
	OrderAlternating  Order = "alternating"   // arms simply alternate; two mirror members, no p-value
)

// Orders returns every order, the default first.
func Orders() []Order {
	return []Order{OrderSlotBalanced, OrderDayBalanced, OrderCoin, OrderAlternating}
}

// BurnInScope says which blocks lose their burn-in.
type BurnInScope string

// Scopes of the burn-in.
const (
	BurnInBlock      BurnInScope = "block"      // every block
	BurnInChangeover BurnInScope = "changeover" // only blocks that follow another arm, the first block, and blocks after a gap
)

// BurnInScopes returns every scope, the default first.
func BurnInScopes() []BurnInScope { return []BurnInScope{BurnInBlock, BurnInChangeover} }

// Arms names the two arms of an experiment.
type Arms struct {
	Control   string
	Treatment string
}

// Validate reports arms that are empty or the same.
func (a Arms) Validate() error {
	switch {
	case a.Control == "" || a.Treatment == "":
		return errors.New("arms: control and treatment must both be named")
	case a.Control == a.Treatment:
		return fmt.Errorf("arms: control and treatment are both %q; even an A/A experiment has two names", a.Control)
	}
	return nil
}

// Bounds of a design: reports tell effects by minutes since the switch, and every replicate of an analysis has a weight
// for every pair.
const (
	MinBlock  = time.Minute
	MinBurnIn = time.Second // unless there is none
	MaxBlocks = 100_000     // of one model's schedule

	MinScheduled = time.Second // a block that really ran may have been cut short
)

// Design is what the plan is drawn from. Blocks divide a day, pairs are adjacent blocks of one day.
type Design struct {
	Start       time.Time     // UTC midnight
	Days        int           // 1 to 3660
	Block       time.Duration // ≥ MinBlock; a day has an even number of blocks
	BurnIn      time.Duration // 0, or from MinBurnIn to below Block
	BurnInScope BurnInScope
	Order       Order
	PerModel    []string // models with a schedule of their own; empty: one schedule for all
	Seed        uint64
}

// DefaultDesign returns the published design: one week of 3-hour blocks with one hour of burn-in.
func DefaultDesign() Design {
	return Design{
		Start:       time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC),
		Days:        7,
		Block:       3 * time.Hour,
		BurnIn:      time.Hour,
		BurnInScope: BurnInBlock,
		Order:       OrderSlotBalanced,
		Seed:        1,
	}
}

const day = 24 * time.Hour

// End returns the instant after the last block.
func (d Design) End() time.Time { return d.Start.UTC().AddDate(0, 0, d.Days) }

// Slots returns the number of blocks in a day.
func (d Design) Slots() int { return int(day / d.Block) }

// Problem is one fault of a design, with the field that has it.
type Problem struct {
	Field  string // start, days, block, burn_in, burn_in_scope, order
	Reason string
}

func (p Problem) Error() string { return "design: " + p.Field + ": " + p.Reason }

// Problems returns everything that is wrong with the design.
func (d Design) Problems() []Problem {
	var ps []Problem
	add := func(field, format string, args ...any) {
		ps = append(ps, Problem{field, fmt.Sprintf(format, args...)})
	}
	if start := d.Start.UTC(); !start.Equal(start.Truncate(day)) {
		add("start", "%s is not a UTC midnight", start.Format(time.RFC3339))
	}
	if d.Days < 1 || d.Days > 3660 {
		add("days", "%d is not in 1…3660", d.Days)
	}
	before := len(ps)
	switch {
	case d.Block <= 0:
		add("block", "%s is not positive", Length(d.Block))
	case d.Block < MinBlock:
		add("block", "%s is shorter than %s", Length(d.Block), Length(MinBlock))
	case day%d.Block != 0:
		add("block", "%s does not divide a day", Length(d.Block))
	case (day/d.Block)%2 != 0:
		add("block", "%s gives %d blocks a day, which cannot be matched in pairs", Length(d.Block), day/d.Block)
	case d.Days <= 3660 && d.Days > MaxBlocks/d.Slots():
		add("block", "%s gives %d blocks in %d days, more than %d", Length(d.Block), d.Days*d.Slots(), d.Days, MaxBlocks)
	}
	blockIsWell := len(ps) == before
	switch {
	case d.BurnIn < 0:
		add("burn_in", "%s is negative", Length(d.BurnIn))
	case d.BurnIn > 0 && d.BurnIn < MinBurnIn:
		add("burn_in", "%s is shorter than %s", Length(d.BurnIn), Length(MinBurnIn))
	case blockIsWell && d.BurnIn >= d.Block:
		add("burn_in", "%s leaves nothing of a block of %s", Length(d.BurnIn), Length(d.Block))
	}
	if !slices.Contains(BurnInScopes(), d.BurnInScope) {
		add("burn_in_scope", "%q is unknown; known: %s", d.BurnInScope, list(BurnInScopes()))
	}
	if !slices.Contains(Orders(), d.Order) {
		add("order", "%q is unknown; known: %s", d.Order, list(Orders()))
	}
	return ps
}

func list[T ~string](words []T) string {
	var texts []string
	for _, w := range words {
		texts = append(texts, string(w))
	}
	return strings.Join(texts, ", ")
}

// Validate returns all Problems joined, or nil.
func (d Design) Validate() error {
	var errs []error
	for _, p := range d.Problems() {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}
