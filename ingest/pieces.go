package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"switchback/experiment"
)

// recordColumns name a record of a log that attempts are put together from, in `requests` and in `joined`. The model is
// not among them: an attempt may go to another one than the request ends with.
const recordColumns = "source, source_row_id, epoch_ms(ts)"

// chainReach is longer than the attempts of a request take.
const chainReach = time.Hour

// dropPieces leaves one row of every request of which several loads hold different attempts, since the edge of an export
// went between them. Rows are of one request when a record is in both, or, where the log's records name their request, when
// the first row of a name was not the end of it. The row stays that tells how the request ended, else that of more
// records, else the more complete one, else the later one. Rows of a span are looked at.
func dropPieces(ctx context.Context, conn *sql.Conn, loadID, source, span string) (duplicates, error) {
	rows := "requests WHERE source = " + quote(source) + " AND " + span
	open := quote(experiment.StatusError)
	for _, statement := range []string{
		"CREATE OR REPLACE TEMP TABLE chained AS SELECT source_row_id AS record, epoch_ms(ts) AS at, load_id, request_id, request_ts FROM joined WHERE source = " +
			quote(source) + " AND " + span,
		"CREATE OR REPLACE TEMP TABLE named AS SELECT request_id FROM " + rows + " AND request_id IN (SELECT request_id FROM " + rows +
			" AND request_id <> source_row_id) GROUP BY request_id HAVING count(*) > 1 AND first(status ORDER BY ts, rowid) = " + open,
		`CREATE OR REPLACE TEMP TABLE pieces AS SELECT DISTINCT * FROM (
			SELECT rowid AS id, source_row_id AS record, epoch_ms(ts) AS at FROM ` + rows + ` AND source_row_id IN (SELECT record FROM temp.chained)
			UNION ALL SELECT r.id, c.record, c.at FROM temp.chained c
				JOIN (SELECT rowid AS id, load_id, request_id, ts FROM ` + rows + `) r ON r.load_id = c.load_id AND r.request_id = c.request_id AND r.ts = c.request_ts
			UNION ALL SELECT rowid, request_id, -1 FROM ` + rows + ` AND request_id IN (SELECT request_id FROM temp.named))`,
		`CREATE OR REPLACE TEMP TABLE ranked AS SELECT id, load_id, request_id, max(place) AS place, bool_or(differs) AS differs FROM (
			SELECT id, load_id, request_id, row_number() OVER best AS place, content <> first_value(content) OVER best AS differs
			FROM temp.pieces JOIN (SELECT rowid AS id, load_id, request_id, ts AS request_ts, status, ` + completeness() + " AS complete, " + contents() + ` AS content
				FROM requests WHERE rowid IN (SELECT id FROM temp.pieces)) USING (id)
			LEFT JOIN (SELECT load_id, request_id, request_ts, count(*) AS records FROM temp.chained GROUP BY ALL) USING (load_id, request_id, request_ts)
			WHERE at = -1 OR (record, at) IN (SELECT (record, at) FROM temp.chained)
			WINDOW best AS (PARTITION BY record, at ORDER BY status IS DISTINCT FROM ` + open + ` DESC, coalesce(records, 1) DESC, complete DESC, CAST(load_id AS BIGINT) DESC, id DESC))
			GROUP BY id, load_id, request_id`,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return duplicates{}, fmt.Errorf("find parts of requests: %w", err)
		}
	}
	var lost int64
	err := conn.QueryRowContext(ctx, "SELECT count(*) FROM temp.ranked WHERE place > 1").Scan(&lost)
	if err != nil {
		return duplicates{}, fmt.Errorf("find parts of requests: %w", err)
	}
	if lost == 0 {
		return duplicates{}, nil
	}
	return dropRanked(ctx, conn, loadID, span)
}
