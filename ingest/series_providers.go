package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"switchback/stats"
)

// ProviderSeries is what one provider did in one arm. nil is unknown.
type ProviderSeries struct {
	Provider      string
	Arm           string
	Requests      int64 // kept requests that it served
	USDPerMTokens *float64
	TTFTp50       *float64 // ms
	ThroughputP50 *float64 // tokens/s
	Attempts      *int64   // of kept requests, at this provider
	Limited       *int64   // of Attempts: answered with 429
	Failed        *int64   // of Attempts: failed otherwise
}

// Providers returns what each provider did in each arm, by name and arm. Attempts are unknown when the log does not list
// the attempts of requests that needed more than one.
func (s *Store) Providers(ctx context.Context, w Window) ([]ProviderSeries, error) {
	found, err := s.servedByProviders(ctx, w)
	if err != nil {
		return nil, fmt.Errorf("requests by provider: %w", err)
	}
	if err := s.attemptsOfProviders(ctx, w, found); err != nil {
		return nil, fmt.Errorf("attempts by provider: %w", err)
	}
	return found, nil
}

func (s *Store) servedByProviders(ctx context.Context, w Window) ([]ProviderSeries, error) {
	value := map[string]string{}
	for _, q := range quantitiesBy(servingTime) {
		value[q.name] = q.value
	}
	var cost measure
	for _, m := range measures() {
		if m.id == costOfTokens {
			cost = m
		}
	}
	rows, err := s.db.QueryContext(ctx, fmt.Sprintf(`SELECT r.provider, r.arm, count(*), CAST(%s AS BIGINT), CAST(%s AS BIGINT), quantile_disc(%s, 0.500), quantile_disc(%s, 0.500)
		FROM %s WHERE r.provider IS NOT NULL AND r.arm IN (?, ?) AND %s GROUP BY r.provider, r.arm ORDER BY r.provider, r.arm`,
		cost.y, cost.n, value["ttft"], value["throughput"], requestsServing(), w.kept()), w.Arms.Control, w.Arms.Treatment)
	if err != nil {
		return nil, err
	}
	return collect(rows, func(scan func(...any) error) (p ProviderSeries, err error) {
		var nanoUSD, tokens, ttft, throughput sql.NullInt64
		err = scan(&p.Provider, &p.Arm, &p.Requests, &nanoUSD, &tokens, &ttft, &throughput)
		if nanoUSD.Valid && tokens.Int64 > 0 {
			v := float64(nanoUSD.Int64) / float64(tokens.Int64) * cost.scale
			p.USDPerMTokens = &v
		}
		p.TTFTp50, p.ThroughputP50 = scaled(ttft, microsToMillis), scaled(throughput, milliToUnit)
		return p, err
	})
}

func scaled(v sql.NullInt64, scale float64) *float64 {
	if !v.Valid || v.Int64 == stats.Inf {
		return nil
	}
	x := float64(v.Int64) * scale
	return &x
}

// attemptsOfProviders counts the attempts that have rows, and one successful attempt for each request without such rows.
func (s *Store) attemptsOfProviders(ctx context.Context, w Window, found []ProviderSeries) error {
	rows, err := s.db.QueryContext(ctx, `SELECT coalesce(a.provider, ''), coalesce(r.provider, ''), r.arm, count(*), count(*) FILTER (a.http_status = 429),
			count(*) FILTER (a.http_status IS DISTINCT FROM 429 AND (a.error_type <> '' OR a.http_status >= 400)), count(*) FILTER (a.attempt = 1)
		FROM attempts a JOIN requests r ON r.request_id = a.request_id AND r.load_id = a.load_id WHERE `+w.kept()+` GROUP BY ALL`)
	if err != nil {
		return err
	}
	type key struct{ provider, arm string }
	type counts struct{ attempts, limited, failed, served int64 } // served: requests with rows that the provider ended
	listed := map[key]counts{}
	_, err = collect(rows, func(scan func(...any) error) (struct{}, error) {
		var at, served, arm string
		var n counts
		err := scan(&at, &served, &arm, &n.attempts, &n.limited, &n.failed, &n.served)
		c, end := listed[key{at, arm}], n.served
		c.attempts, c.limited, c.failed = c.attempts+n.attempts, c.limited+n.limited, c.failed+n.failed
		listed[key{at, arm}] = c
		c = listed[key{served, arm}]
		c.served += end
		listed[key{served, arm}] = c
		return struct{}{}, err
	})
	if err != nil || len(listed) == 0 {
		return err
	}
	for i := range found {
		n := listed[key{found[i].Provider, found[i].Arm}]
		attempts := n.attempts + max(0, found[i].Requests-n.served)
		found[i].Attempts, found[i].Limited, found[i].Failed = &attempts, &n.limited, &n.failed
	}
	return nil
}

// HourSpend is what one hour cost in one arm, burn-in included.
type HourSpend struct {
	Hour     time.Time
	Arm      string
	USD      *float64 // nil when no cost is known
	Requests int64
}

// Spend returns the spend of the window by hour and arm, in order of time.
func (s *Store) Spend(ctx context.Context, w Window) ([]HourSpend, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT make_timestamp(hour * 3600000000), CASE WHEN control THEN ? ELSE ? END AS arm, usd, n FROM (
		SELECT epoch_us(r.ts) // 3600000000 AS hour, r.arm = ? AS control, CAST(sum(r.cost_usd) * 1000000000 AS BIGINT) AS usd, count(*) AS n
		FROM requests r WHERE r.block_id IS NOT NULL AND r.arm IN (?, ?) AND `+w.inside()+` GROUP BY ALL) ORDER BY hour, arm`,
		w.Arms.Control, w.Arms.Treatment, w.Arms.Control, w.Arms.Control, w.Arms.Treatment)
	if err != nil {
		return nil, fmt.Errorf("spend by hour: %w", err)
	}
	found, err := collect(rows, func(scan func(...any) error) (h HourSpend, err error) {
		var nanoUSD sql.NullInt64
		err = scan(&h.Hour, &h.Arm, &nanoUSD, &h.Requests)
		h.Hour, h.USD = h.Hour.UTC(), scaled(nanoUSD, 1e-9)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("spend by hour: %w", err)
	}
	return found, nil
}
