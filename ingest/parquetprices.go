package ingest

import (
	"fmt"
	"time"

	"switchback/experiment"
	"switchback/experiment/prices"
)

// priceLoaded does in SQL, for the rows of a load that DuckDB read by itself, what rowSink.price does for a row: those
// without a cost get the one of the price book, the others are compared with it.
func priceLoaded(l *Loader, book *prices.Book, t *fileTally) error {
	if book == nil {
		return nil
	}
	priceable := fmt.Sprintf(`load_id = %s AND provider IS NOT NULL AND model IS NOT NULL AND input_tokens IS NOT NULL AND cached_tokens IS NOT NULL
		AND output_tokens IS NOT NULL AND quality & %d = 0`, quote(l.row.LoadID), experiment.QualityCachedOverInput)
	if err := l.listPrices(book, priceable); err != nil {
		return fmt.Errorf("price rows: %w", err)
	}
	// 1e-12 USD, then rounded half up to 1e-9, as Price.Cost does.
	const nano = `(greatest(r.input_tokens - r.cached_tokens - coalesce(r.cache_write_tokens, 0), 0)::HUGEINT * p.input + r.cached_tokens::HUGEINT * p.cached +
		coalesce(r.cache_write_tokens, 0)::HUGEINT * p.written + r.output_tokens::HUGEINT * p.output + 500) // 1000`
	joined := " FROM (SELECT rowid AS id, * FROM requests WHERE " + priceable +
		") r JOIN temp.listed p ON p.provider = r.provider AND p.model = r.model AND p.day = CAST(r.ts AS DATE)"
	err := l.conn.QueryRowContext(l.ctx, "SELECT CAST(coalesce(sum(r.cost_usd), 0) * 1000000000 AS BIGINT), CAST(coalesce(sum("+nano+"), 0) AS BIGINT)"+
		joined+" WHERE r.cost_usd IS NOT NULL").Scan(&t.logged, &t.booked)
	if err != nil {
		return fmt.Errorf("compare costs with the price book: %w", err)
	}
	result, err := l.conn.ExecContext(l.ctx, "UPDATE requests SET cost_usd = priced.cost, cost_source = "+quote(experiment.CostBook)+
		" FROM (SELECT r.id, CAST(CAST("+nano+" AS DECIMAL(27,0)) * CAST(0.000000001 AS DECIMAL(10,9)) AS DECIMAL(18,9)) AS cost"+
		joined+" WHERE r.cost_usd IS NULL) priced WHERE requests.rowid = priced.id")
	if err != nil {
		return fmt.Errorf("price rows: %w", err)
	}
	t.priced, err = result.RowsAffected()
	return err
}

// listPrices fills a temporary table with what the book says of every provider, model and day of some rows. Prices
// change at midnight.
func (l *Loader) listPrices(book *prices.Book, condition string) error {
	type offer struct {
		provider, model string
		day             time.Time
	}
	rows, err := l.conn.QueryContext(l.ctx, "SELECT DISTINCT provider, model, CAST(ts AS DATE) FROM requests WHERE "+condition)
	if err != nil {
		return err
	}
	offers, err := collect(rows, func(scan func(...any) error) (o offer, err error) { return o, scan(&o.provider, &o.model, &o.day) })
	if err != nil {
		return err
	}
	const table = "CREATE OR REPLACE TEMP TABLE listed (provider VARCHAR, model VARCHAR, day DATE, input BIGINT, cached BIGINT, written BIGINT, output BIGINT)"
	if _, err := l.conn.ExecContext(l.ctx, table); err != nil {
		return err
	}
	for _, o := range offers {
		price, ok := book.Lookup(o.provider, o.model, o.day)
		if !ok {
			continue
		}
		if _, err := l.conn.ExecContext(l.ctx, "INSERT INTO temp.listed VALUES (?, ?, ?, ?, ?, ?, ?)", o.provider, o.model, o.day,
			int64(price.Input), int64(price.CacheReadRate()), int64(price.CacheWriteRate()), int64(price.Output)); err != nil {
			return err
		}
	}
	return nil
}
