package experiment

import "time"

// Order names how the arm order inside the pairs is drawn.
type Order string

// Orders. Each names the set of assignments that the schedule is drawn from.
const (
	OrderSlotBalanced Order = "slot-balanced" // each daily position is treatment-first on ⌊D/2⌋ or ⌈D/2⌉ days
	OrderDayBalanced  Order = "day-balanced"  // half of each day's pairs are treatment-first
	OrderCoin         Order = "coin"          // a fair coin for each pair
	OrderAlternating  Order = "alternating"   // arms simply alternate; two mirror members, no p-value
)

// BurnInScope says which blocks lose their burn-in.
type BurnInScope string

// Scopes of the burn-in.
const (
	BurnInBlock      BurnInScope = "block"      // every block
	BurnInChangeover BurnInScope = "changeover" // only blocks that follow another arm, the first block, and blocks after a gap
)

// Arms names the two arms of an experiment.
type Arms struct {
	Control   string
	Treatment string
}

// Design is what the plan is drawn from. Blocks divide a day, pairs are adjacent blocks of one day.
type Design struct {
	Start       time.Time // UTC midnight
	Days        int       // ≥ 1
	Block       time.Duration
	BurnIn      time.Duration // < Block
	BurnInScope BurnInScope
	Order       Order
	PerModel    []string // models with a schedule of their own; empty: one schedule for all
	Seed        uint64
}
