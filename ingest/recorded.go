package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"switchback/experiment"
	"switchback/experiment/workload"
)

// Recorded are the requests of a log that can be played again, and how many cannot.
type Recorded struct {
	Requests    []workload.Recorded // by time, then request id
	Outside     int64               // before the start or from the end on
	FromCache   int64               // answered from the gateway's own cache: no router was asked
	NoTokens    int64               // without the number of input or output tokens, as failed requests are
	Unreadable  int64               // without it, and with a field that could not be read
	First, Last time.Time           // of all rows; zero when there are none
	Lacking     string              // the first request of NoTokens or Unreadable and the number that it lacks: "a in log.csv has input_tokens unknown", "… output_tokens 0"
}

// Recorded returns the requests of the store that came from start on and before end. Times are counted from start.
func (s *Store) Recorded(ctx context.Context, start, end time.Time) (Recorded, error) {
	r, err := s.countRecorded(ctx, start, end)
	if err != nil {
		return Recorded{}, fmt.Errorf("requests to replay: %w", err)
	}
	if r.Requests, err = s.readRecorded(ctx, start, end); err != nil {
		return Recorded{}, fmt.Errorf("requests to replay: %w", err)
	}
	if r.NoTokens+r.Unreadable > 0 {
		if r.Lacking, err = s.firstLacking(ctx, start, end); err != nil {
			return Recorded{}, fmt.Errorf("requests to replay: %w", err)
		}
	}
	return r, nil
}

// firstLacking returns the first request that is counted as NoTokens or Unreadable, with its file and the number that it lacks.
func (s *Store) firstLacking(ctx context.Context, start, end time.Time) (which string, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT request_id || coalesce(' in ' || file, '') || ' has ' ||
			CASE WHEN input_tokens >= 1 THEN 'output_tokens ' || coalesce(CAST(output_tokens AS VARCHAR), 'unknown') ELSE 'input_tokens ' || coalesce(CAST(input_tokens AS VARCHAR), 'unknown') END
		FROM requests LEFT JOIN loads USING (load_id) WHERE ts >= ? AND ts < ? AND status IS DISTINCT FROM ? AND NOT coalesce(input_tokens >= 1 AND output_tokens >= 1, false)
		ORDER BY ts, request_id, source LIMIT 1`, start.UTC(), end.UTC(), experiment.StatusGatewayCache).Scan(&which)
	return which, err
}

// unreadable tells whether a request is counted as Recorded.Unreadable, if it is in time.
func unreadable(r *request) bool {
	return r.Quality&experiment.QualityBadValue != 0 && r.Status != experiment.StatusGatewayCache && !(r.InputTokens.Known && r.InputTokens.Value >= 1 && r.OutputTokens.Known && r.OutputTokens.Value >= 1)
}

func (s *Store) countRecorded(ctx context.Context, start, end time.Time) (Recorded, error) {
	var r Recorded
	var first, last sql.NullTime
	err := s.db.QueryRowContext(ctx, `SELECT
			count(*) FILTER (NOT inside),
			count(*) FILTER (inside AND cached),
			count(*) FILTER (inside AND NOT cached AND NOT tokens AND NOT bad),
			count(*) FILTER (inside AND NOT cached AND NOT tokens AND bad),
			min(ts), max(ts)
		FROM (SELECT ts, ts >= ? AND ts < ? AS inside, status IS NOT DISTINCT FROM ? AS cached,
			coalesce(input_tokens >= 1 AND output_tokens >= 1, false) AS tokens, coalesce(quality, 0) & ? <> 0 AS bad FROM requests)`,
		start.UTC(), end.UTC(), experiment.StatusGatewayCache, experiment.QualityBadValue).Scan(&r.Outside, &r.FromCache, &r.NoTokens, &r.Unreadable, &first, &last)
	r.First, r.Last = first.Time.UTC(), last.Time.UTC()
	if !first.Valid {
		r.First, r.Last = time.Time{}, time.Time{}
	}
	return r, err
}

func (s *Store) readRecorded(ctx context.Context, start, end time.Time) ([]workload.Recorded, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT ts, model, session_id, client_id, input_tokens, output_tokens, tool_call_ok IS NOT NULL
		FROM requests WHERE ts >= ? AND ts < ? AND status IS DISTINCT FROM ? AND input_tokens >= 1 AND output_tokens >= 1
		ORDER BY ts, request_id, source`, start.UTC(), end.UTC(), experiment.StatusGatewayCache)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // one copy of each model and client
	one := func(name sql.NullString) string {
		if _, seen := names[name.String]; !seen {
			names[name.String] = name.String
		}
		return names[name.String]
	}
	return collect(rows, func(scan func(...any) error) (workload.Recorded, error) {
		var ts time.Time
		var model, session, client sql.NullString
		var r experiment.Request
		if err := scan(&ts, &model, &session, &client, &r.InputTokens.Value, &r.OutputTokens.Value, &r.ToolCallOK.Known); err != nil {
			return workload.Recorded{}, err
		}
		r.TS, r.Model, r.SessionID, r.ClientID = experiment.InstantOf(ts), one(model), session.String, one(client)
		recorded, ok := experiment.Recorded(&r, start, end)
		if !ok {
			return recorded, fmt.Errorf("request of %s at %s cannot be played", r.Model, ts.Format(time.RFC3339Nano))
		}
		return recorded, nil
	})
}
