package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"switchback/ingest/rules"
	"switchback/stats"
)

// requests is the metric that counts kept rows.
const requests = "requests"

// foundSums are the sums of one class of requests (rules.MixClass, noClass for others) of one model in one block.
type foundSums struct {
	model, block string
	hash         uint64 // of both
	class        int64
	values       []int64 // Y and N of every metric of summed, in turn
}

const noClass = -1

// placeOf hashes what tells a row's cell. DuckDB does so at a fraction of the time of a join on the names.
const placeOf = "hash(r.model, r.block_id)"

// summed lists the metrics that are ratios of sums.
func summed() []measure {
	list := []measure{{id: requests, y: "count(*)", n: "count(*)"}}
	for _, m := range measures() {
		if m.n != "" {
			list = append(list, m)
		}
	}
	return list
}

// readSums adds up every ratio in one pass over the table.
func (s *Summaries) readSums(ctx context.Context) ([]foundSums, error) {
	class, where := rules.MixClass(rules.DuckDB{})
	metrics := summed()
	var sums []string
	types := []arrow.Type{arrow.STRING, arrow.STRING, arrow.INT64, arrow.UINT64}
	for _, m := range metrics {
		sums = append(sums, "CAST(coalesce("+m.y+", 0) AS BIGINT)", "CAST(coalesce("+m.n+", 0) AS BIGINT)")
		types = append(types, arrow.INT64, arrow.INT64)
	}
	query := fmt.Sprintf(`SELECT model, block_id, class, %s, * EXCLUDE (model, block_id, class) FROM (
		SELECT r.model, r.block_id, CAST(CASE WHEN %s THEN %s ELSE %d END AS BIGINT) AS class, %s
		FROM requests r WHERE r.model IS NOT NULL AND r.block_id IS NOT NULL AND %s GROUP BY r.model, r.block_id, class) r`,
		placeOf, where, class, noClass, strings.Join(sums, ", "), s.window.kept())
	var out []foundSums
	err := s.store.queryRecords(ctx, query, types, len(types), func(fetched []records) error {
		for _, r := range fetched {
			models, blocks, classes, hashes := r.texts(0), r.texts(1), r.int64s(2), r.uint64s(3)
			for i := range hashes {
				f := foundSums{model: strings.Clone(models.Value(i)), block: strings.Clone(blocks.Value(i)), class: classes[i], hash: hashes[i]}
				for k := range 2 * len(metrics) {
					f.values = append(f.values, r.int64s(4 + k)[i])
				}
				out = append(out, f)
			}
		}
		return nil
	})
	return out, err
}

// placeCells lists the models that have a kept row in a block with a partner, and gives their blocks cells.
func (s *Summaries) placeCells(found []foundSums) {
	columns := map[string]map[string]int{} // by model and block
	columnOf := func(f foundSums) (int, bool) {
		of, known := columns[f.model]
		if !known {
			of = map[string]int{}
			for _, b := range s.columns.plan.ForModel(f.model) {
				if column, ok := s.columns.column[blockKey{b.Model, b.ID}]; ok {
					of[b.ID] = column
				}
			}
			columns[f.model] = of
		}
		column, ok := of[f.block]
		return column, ok
	}
	for _, f := range found {
		if _, ok := columnOf(f); ok && !slices.Contains(s.models, f.model) {
			s.models = append(s.models, f.model)
		}
	}
	slices.Sort(s.models)
	for _, f := range found {
		if column, ok := columnOf(f); ok {
			model, _ := slices.BinarySearch(s.models, f.model)
			if s.window.PooledModels {
				model = 0
			}
			s.cells[f.hash] = model*s.width() + column
		}
	}
	if s.window.PooledModels && len(s.models) > 0 {
		s.models = []string{AllModels}
	}
}

// addSums fills in the sums of every ratio, and those of the cost of tokens by class of requests.
func (s *Summaries) addSums(found []foundSums) {
	metrics := summed()
	cells := len(s.models) * s.width()
	totals := make([]int64, cells*2*len(metrics))
	s.sums[FixedMix] = nil
	for _, f := range found {
		cell, ok := s.cells[f.hash]
		if !ok {
			continue
		}
		for k, v := range f.values {
			totals[cell*2*len(metrics)+k] += v
		}
		if f.class == noClass {
			continue
		}
		at := 2 * slices.IndexFunc(metrics, func(m measure) bool { return m.id == costOfTokens })
		sum := stats.Sum{Stratum: int(f.class), Y: f.values[at], N: f.values[at+1]}
		sum.Model, sum.Column = s.place(cell)
		s.sums[FixedMix] = append(s.sums[FixedMix], sum)
	}
	for i, m := range metrics {
		s.sums[m.id] = nil
		for cell := range cells {
			if y, n := totals[cell*2*len(metrics)+2*i], totals[cell*2*len(metrics)+2*i+1]; n > 0 {
				sum := stats.Sum{Y: y, N: n}
				sum.Model, sum.Column = s.place(cell)
				s.sums[m.id] = append(s.sums[m.id], sum)
			}
		}
	}
}
