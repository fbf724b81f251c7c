package warehouse

import (
	"fmt"
	"math"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"

	"switchback/experiment"
	"switchback/ingest"
)

// bucketing divides time so that an equality finds the block of a row: a block has a place in every bucket that it touches.
type bucketing struct {
	first, width int64 // microseconds
}

func bucketsOf(blocks []experiment.Block) bucketing {
	b := bucketing{first: math.MaxInt64, width: (24 * time.Hour).Microseconds()}
	for _, block := range blocks {
		b.first = min(b.first, block.Starts.UnixMicro())
		b.width = min(b.width, block.Ends.Sub(block.Starts).Microseconds())
	}
	if len(blocks) == 0 {
		b.first = 0
	}
	b.width = max(b.width, time.Second.Microseconds())
	return b
}

// place is a row of the external table that the cluster joins with rows of logs.
type place struct {
	model        string // as the table writes it; "" without one
	bucket       int64
	cell         int32
	block        int32
	blockID      string
	schedule     string
	arm          string
	role         int8 // of the arm: 0 control, 1 treatment, −1 another
	starts, ends int64
	burnInEnds   int64
	lo, hi       int32 // bins around a quantile, of series
}

const placesTable = "places"

// externalPlaces makes the table that travels with a query.
func externalPlaces(places []place) (*ext.Table, error) {
	columns := []struct{ name, typ string }{
		{"place_model", "String"},
		{"place_bucket", "Int64"},
		{nameCell, "Int32"},
		{nameBlock, "Int32"},
		{"place_block_id", "String"},
		{"place_schedule", "String"},
		{"place_arm", "String"},
		{"place_role", "Int8"},
		{"place_starts", "Int64"},
		{"place_ends", "Int64"},
		{"place_burn_in_ends", "Int64"},
		{"place_lo", "Int32"},
		{"place_hi", "Int32"},
	}
	var options []func(*ext.Table) error
	for _, c := range columns {
		options = append(options, ext.Column(c.name, column.Type(c.typ)))
	}
	t, err := ext.NewTable(placesTable, options...)
	if err != nil {
		return nil, err
	}
	for _, p := range places {
		if err := t.Append(p.model, p.bucket, p.cell, p.block, p.blockID, p.schedule, p.arm, p.role, p.starts, p.ends, p.burnInEnds, p.lo, p.hi); err != nil {
			return nil, fmt.Errorf("place of block %s: %w", p.blockID, err)
		}
	}
	return t, nil
}

// layout numbers the cells of the models of a window.
type layout struct {
	columns ingest.Columns
	buckets bucketing
	models  []string       // canonical names, sorted
	index   map[string]int // of models
	raw     []string       // names as the table writes them; "" among them when rows have none
	name    func(raw string) string
}

// width is the number of columns of a model: cell = model·width + column.
func (l layout) width() int { return max(1, 2*len(l.columns.Pairs())) }

func (l layout) place(cell int) (model, column int) { return cell / l.width(), cell % l.width() }

// places lists where every model's blocks are.
func (l layout) places() []place {
	plan := l.columns.Plan()
	index := map[[2]string]int32{}
	for i, b := range plan.Blocks {
		index[[2]string{b.Model, b.ID}] = int32(i)
	}
	var all []place
	for _, raw := range l.raw {
		name := l.name(raw)
		for _, b := range plan.ForModel(name) {
			p := place{
				model: raw, cell: -1, block: index[[2]string{b.Model, b.ID}], blockID: b.ID, schedule: b.Model, arm: b.Arm, role: roleOf(plan.Arms, b.Arm),
				starts: b.Starts.UnixMicro(), ends: b.Ends.UnixMicro(), burnInEnds: b.BurnInEnds.UnixMicro(),
			}
			if column, ok := l.columns.Of(b); ok && raw != "" {
				p.cell = int32(l.index[name]*l.width() + column)
			}
			for bucket := (p.starts - l.buckets.first) / l.buckets.width; bucket <= (p.ends-1-l.buckets.first)/l.buckets.width; bucket++ {
				p.bucket = bucket
				all = append(all, p)
			}
		}
	}
	return all
}

func roleOf(arms experiment.Arms, name string) int8 {
	switch name {
	case arms.Control:
		return 0
	case arms.Treatment:
		return 1
	}
	return -1
}
