package main

import (
	"context"
	"time"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/stats"
)

// rowSource answers the questions about the rows of one window under one schedule: the DuckDB file that they were loaded
// into, or the warehouse that they lie in.
type rowSource interface {
	// inside counts the rows of the window, and all that there are.
	inside(ctx context.Context) (inside, all int64, err error)
	// rejects counts the lines that could not be read by their reasons, the most frequent first.
	rejects(ctx context.Context) ([]ingest.Count, error)
	// apply says what the schedule does to the rows, and does it unless accept returns an error.
	apply(ctx context.Context, accept func(ingest.PlanReport) error) (ingest.PlanReport, error)
	pairs(ctx context.Context) ([]stats.Pair, ingest.BlockHealth, error)
	summaries(ctx context.Context) (rowSummaries, error)
	health(ctx context.Context) (ingest.Health, [2]ingest.ArmCounts, error)
	// series is asked after summaries, for the models that these found.
	series(ctx context.Context, models, metrics []string, step time.Duration, clients int) (rowSeries, error)
	providers(ctx context.Context) ([]ingest.ProviderSeries, error)
	spend(ctx context.Context) ([]ingest.HourSpend, error)
	dearer(ctx context.Context) ([]ingest.DearerCount, error)
}

// rowSummaries is a stats.Source that holds something until it is closed.
type rowSummaries interface {
	stats.Source
	Close() error
}

// rowSeries answers stats.Analyze about parts of the rows, for one metric each.
type rowSeries interface {
	Has(metric string) bool
	Minutes(metric string, from, to int) stats.Source
	BurnIn(metric string, minutes int) stats.Source
	BornInBlock(metric string) stats.Source
	WithoutClient(metric, client string) stats.Source
	Clients() []string
	// Fetch is told of all parts before the first is analysed, and which bins the analysis of a part touches, by its index.
	Fetch(ctx context.Context, parts []stats.Source, touched func(part int) ([]stats.ModelBin, error)) error
	Gaps() (minutes int, block string)
	Blocks(ctx context.Context, metrics []string) ([]ingest.BlockSeries, error)
	Close() error
}

// storeRows are rows in a DuckDB file.
type storeRows struct {
	store  *ingest.Store
	plan   experiment.Plan
	window ingest.Window
}

func newStoreRows(store *ingest.Store, plan experiment.Plan, w window) storeRows {
	return storeRows{store, plan, w.rows(plan.Arms)}
}

// rows is the window as package ingest takes it.
func (w window) rows(arms experiment.Arms) ingest.Window {
	return ingest.Window{Since: w.since, Until: w.until, Arms: arms}
}

func (r storeRows) inside(ctx context.Context) (inside, all int64, err error) {
	return r.store.CountInside(ctx, r.window)
}

func (r storeRows) rejects(ctx context.Context) ([]ingest.Count, error) {
	return r.store.Rejects(ctx)
}

func (r storeRows) apply(ctx context.Context, accept func(ingest.PlanReport) error) (ingest.PlanReport, error) {
	return r.store.ApplyPlanIf(ctx, r.plan, accept)
}

func (r storeRows) pairs(ctx context.Context) ([]stats.Pair, ingest.BlockHealth, error) {
	return r.store.Pairs(ctx, r.window)
}

func (r storeRows) summaries(ctx context.Context) (rowSummaries, error) {
	return r.store.Summaries(ctx, r.window)
}

func (r storeRows) health(ctx context.Context) (ingest.Health, [2]ingest.ArmCounts, error) {
	return r.store.Census(ctx, r.window)
}

func (r storeRows) series(ctx context.Context, models, metrics []string, step time.Duration, clients int) (rowSeries, error) {
	s, err := r.store.Series(ctx, r.window, models, metrics, step, clients)
	return storeSeries{s}, err
}

func (r storeRows) providers(ctx context.Context) ([]ingest.ProviderSeries, error) {
	return r.store.Providers(ctx, r.window)
}

func (r storeRows) spend(ctx context.Context) ([]ingest.HourSpend, error) {
	return r.store.Spend(ctx, r.window)
}

func (r storeRows) dearer(ctx context.Context) ([]ingest.DearerCount, error) {
	return r.store.Dearer(ctx, r.window)
}

// storeSeries names the parts of a series for one metric each.
type storeSeries struct{ *ingest.Series }

// Fetch does nothing: the rows are at hand.
func (storeSeries) Fetch(context.Context, []stats.Source, func(int) ([]stats.ModelBin, error)) error {
	return nil
}

func (s storeSeries) Minutes(metric string, from, to int) stats.Source {
	return s.Source(metric, s.Series.Minutes(from, to))
}

func (s storeSeries) BurnIn(metric string, minutes int) stats.Source {
	return s.Source(metric, s.Series.BurnIn(minutes))
}

func (s storeSeries) BornInBlock(metric string) stats.Source {
	return s.Source(metric, s.Series.BornInBlock())
}

func (s storeSeries) WithoutClient(metric, client string) stats.Source {
	return s.Source(metric, s.Series.WithoutClient(client))
}
