package experiment

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"time"
)

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

// Plan is a schedule of blocks, sorted by (model, start). A block's ID is unique inside its model.
type Plan struct {
	Arms   Arms
	Blocks []Block
}

// Pair is two matched blocks of one plan, one per arm.
type Pair struct {
	ID             string
	Day            int // from 1
	Position       int // place in the day, from 0
	TreatmentFirst bool
	Control        Block
	Treatment      Block
}

// Draw draws a plan from the design. The same design gives the same plan.
func Draw(d Design, arms Arms) (Plan, error) {
	if err := d.Validate(); err != nil {
		return Plan{}, err
	}
	if err := arms.Validate(); err != nil {
		return Plan{}, err
	}
	models := slices.Clone(d.PerModel)
	slices.Sort(models)
	if len(models) == 0 {
		models = []string{""}
	}
	plan := Plan{Arms: arms}
	for _, model := range models {
		blocks := d.blocks(arms, model, d.drawOrder(model))
		SetBurnIn(blocks, d.BurnIn, d.BurnInScope)
		plan.Blocks = append(plan.Blocks, blocks...)
	}
	return plan, nil
}

// drawOrder says for each pair, days outermost, whether the treatment comes first.
func (d Design) drawOrder(model string) []bool {
	positions := d.Slots() / 2
	first := make([]bool, d.Days*positions)
	rng := stream(d.Seed, "plan/order/"+model)
	switch d.Order {
	case OrderSlotBalanced:
		for pos := range positions {
			for i, day := range balanced(rng, d.Days) {
				first[i*positions+pos] = day
			}
		}
	case OrderDayBalanced:
		for day := range d.Days {
			copy(first[day*positions:], balanced(rng, positions))
		}
	case OrderCoin:
		for i := range first {
			first[i] = rng.IntN(2) == 1
		}
	case OrderAlternating:
		side := rng.IntN(2) == 1
		for i := range first {
			first[i] = side
		}
	}
	return first
}

// balanced draws uniformly among the 0/1 vectors of length n that have ⌊n/2⌋ or ⌈n/2⌉ ones.
func balanced(rng *rand.Rand, n int) []bool {
	ones := n / 2
	if n%2 == 1 {
		ones += rng.IntN(2)
	}
	v := make([]bool, n)
	for i := range ones {
		v[i] = true
	}
	rng.Shuffle(n, func(i, j int) { v[i], v[j] = v[j], v[i] })
	return v
}

func (d Design) blocks(arms Arms, model string, first []bool) []Block {
	slots := d.Slots()
	blocks := make([]Block, 0, d.Days*slots)
	for i := range d.Days * slots {
		pair := i / 2
		arm := arms.Control
		if first[pair] == (i%2 == 0) {
			arm = arms.Treatment
		}
		starts := d.Start.UTC().Add(time.Duration(i) * d.Block)
		blocks = append(blocks, Block{
			ID:     strconv.Itoa(i + 1),
			PairID: strconv.Itoa(pair + 1),
			Day:    i/slots + 1,
			Slot:   i % slots,
			Arm:    arm,
			Starts: starts,
			Ends:   starts.Add(d.Block),
			Model:  model,
		})
	}
	return blocks
}

// SetBurnIn sets the end of the burn-in of blocks, which are of one model and sorted by start. Under the scope
// "changeover" only the first block, a block after a gap and a block after another arm have one.
func SetBurnIn(blocks []Block, burnIn time.Duration, scope BurnInScope) {
	for i := range blocks {
		b := &blocks[i]
		b.BurnInEnds = b.Starts.Add(burnIn)
		if b.BurnInEnds.After(b.Ends) {
			b.BurnInEnds = b.Ends
		}
		same := i > 0 && blocks[i-1].Arm == b.Arm && blocks[i-1].Ends.Equal(b.Starts)
		if scope == BurnInChangeover && same {
			b.BurnInEnds = b.Starts
		}
	}
}

// stream returns the random stream of a purpose. Streams of different purposes are independent.
func stream(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// ForModel returns the blocks that apply to a model: its own schedule where the plan has one, else the common one.
func (p Plan) ForModel(model string) []Block {
	own := p.ofModel(model)
	if len(own) == 0 && model != "" {
		return p.ofModel("")
	}
	return own
}

func (p Plan) ofModel(model string) []Block {
	lo := sort.Search(len(p.Blocks), func(i int) bool { return p.Blocks[i].Model >= model })
	hi := lo
	for hi < len(p.Blocks) && p.Blocks[hi].Model == model {
		hi++
	}
	return p.Blocks[lo:hi]
}

// Models returns the models that have a schedule of their own, or one empty name when all share one schedule.
func (p Plan) Models() []string {
	var models []string
	for _, b := range p.Blocks {
		if len(models) == 0 || models[len(models)-1] != b.Model {
			models = append(models, b.Model)
		}
	}
	return models
}

// BlockAt returns the block of blocks (sorted by start) that holds t, or nil.
func BlockAt(blocks []Block, t time.Time) *Block {
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].Ends.After(t) })
	if i < len(blocks) && !blocks[i].Starts.After(t) {
		return &blocks[i]
	}
	return nil
}

// Window returns the start of the first and the end of the last block. The plan has at least one block.
func (p Plan) Window() (starts, ends time.Time) {
	starts, ends = p.Blocks[0].Starts, p.Blocks[0].Ends
	for _, b := range p.Blocks {
		if b.Starts.Before(starts) {
			starts = b.Starts
		}
		if b.Ends.After(ends) {
			ends = b.Ends
		}
	}
	return starts, ends
}

// Pairs matches the blocks that apply to a model, sorted by the start of the pair. Blocks without a partner are
// returned as lone. Position is half of the slot of the pair's first block.
func (p Plan) Pairs(model string) (pairs []Pair, lone []Block) {
	byID := map[string][]Block{}
	var ids []string
	for _, b := range p.ForModel(model) {
		if len(byID[b.PairID]) == 0 {
			ids = append(ids, b.PairID)
		}
		byID[b.PairID] = append(byID[b.PairID], b)
	}
	for _, id := range ids {
		bs := byID[id]
		if len(bs) != 2 || bs[0].Arm == bs[1].Arm {
			lone = append(lone, bs...)
			continue
		}
		pair := Pair{ID: id, Day: bs[0].Day, Position: bs[0].Slot / 2, Control: bs[0], Treatment: bs[1]}
		if bs[0].Arm == p.Arms.Treatment {
			pair.TreatmentFirst = true
			pair.Control, pair.Treatment = bs[1], bs[0]
		}
		pairs = append(pairs, pair)
	}
	return pairs, lone
}

// Member reports whether the plan is in the set of assignments that the order draws from for a design of so many days; the
// error says why not. The plan may lack pairs: a daily position with fewer than the design's days, or a day with fewer pairs
// than another, may have any share of them treatment-first.
func (p Plan) Member(order Order, days int) error {
	for _, model := range p.Models() {
		pairs, _ := p.Pairs(model)
		if err := member(pairs, order, days); err != nil {
			if model != "" {
				return fmt.Errorf("model %s: %w", model, err)
			}
			return err
		}
	}
	return nil
}

func member(pairs []Pair, order Order, days int) error {
	type count struct{ pairs, first int }
	tally := func(key func(Pair) int) (keys []int, counts map[int]*count) {
		counts = map[int]*count{}
		for _, p := range pairs {
			c := counts[key(p)]
			if c == nil {
				c = &count{}
				counts[key(p)] = c
				keys = append(keys, key(p))
			}
			c.pairs++
			if p.TreatmentFirst {
				c.first++
			}
		}
		slices.SortFunc(keys, cmp.Compare[int])
		return keys, counts
	}
	check := func(what string, full int, key func(Pair) int) error {
		keys, counts := tally(key)
		for _, c := range counts {
			full = max(full, c.pairs)
		}
		for _, k := range keys {
			c := counts[k]
			if lo, hi := c.pairs/2, (c.pairs+1)/2; c.pairs == full && (c.first < lo || c.first > hi) {
				return fmt.Errorf("%s %d is treatment-first in %d of %d pairs, not %d or %d, so the schedule is not a member of the %s set", what, k, c.first, c.pairs, lo, hi, order)
			}
		}
		return nil
	}
	switch order {
	case OrderSlotBalanced:
		return check("daily position", days, func(p Pair) int { return p.Position })
	case OrderDayBalanced:
		return check("day", 0, func(p Pair) int { return p.Day })
	case OrderAlternating:
		for _, p := range pairs {
			if p.TreatmentFirst != pairs[0].TreatmentFirst {
				return fmt.Errorf("pair %s is ordered against pair %s, so the schedule is not a member of the %s set", p.ID, pairs[0].ID, order)
			}
		}
	}
	return nil
}
