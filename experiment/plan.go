package experiment

import "time"

// Block is a half-open span of time [Starts, Ends) in which one arm routes all requests (of Model, when set).
type Block struct {
	ID         string
	PairID     string
	Day        int // from 1
	Slot       int // position in the day, from 0
	Arm        string
	Starts     time.Time
	Ends       time.Time
	BurnInEnds time.Time // rows before it are dropped; Starts when the block has no burn-in
	Model      string    // "" unless the schedule is per model
}

// Plan is a schedule of blocks, sorted by (model, start).
type Plan struct {
	Arms   Arms
	Blocks []Block
}
