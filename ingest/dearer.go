package ingest

import (
	"context"
	"fmt"

	"switchback/ingest/rules"
)

// DearerCount says how many kept requests of one model in one arm were served by an endpoint dearer than the cheapest one
// that was eligible, of those where this is known.
type DearerCount struct {
	Model        string
	Arm          string
	Requests     int64 // with a known cost there and here
	Dearer       int64 // of Requests
	ExtraNanoUSD int64 // what Dearer cost above the cheapest
	CostNanoUSD  int64 // what Requests cost
}

// Dearer returns the counts of the window by model and arm, in this order. It is empty where no row says what the cheapest
// eligible endpoint would have charged: a gateway's log does not.
func (s *Store) Dearer(ctx context.Context, w Window) ([]DearerCount, error) {
	d := rules.DearerOf(rules.DuckDB{})
	rows, err := s.db.QueryContext(ctx, fmt.Sprintf(`SELECT r.model, r.arm, %s, %s, CAST(coalesce(%s, 0) AS BIGINT), CAST(%s AS BIGINT)
		FROM requests r WHERE r.cheapest_cost_usd IS NOT NULL AND r.cost_usd IS NOT NULL AND r.model IS NOT NULL AND r.arm IN (?, ?) AND %s
		GROUP BY r.model, r.arm ORDER BY r.model, r.arm`, d.Requests, d.Dearer, d.Extra, d.Cost, w.kept()), w.Arms.Control, w.Arms.Treatment)
	if err != nil {
		return nil, fmt.Errorf("requests served dearer than needed: %w", err)
	}
	found, err := collect(rows, func(scan func(...any) error) (c DearerCount, err error) {
		return c, scan(&c.Model, &c.Arm, &c.Requests, &c.Dearer, &c.ExtraNanoUSD, &c.CostNanoUSD)
	})
	if err != nil {
		return nil, fmt.Errorf("requests served dearer than needed: %w", err)
	}
	return found, nil
}
