package ingest

import (
	"context"
	"database/sql"
	"fmt"
)

// dedupeKey names a record: its source, its id there, its arrival to the millisecond and its model. An id alone
// is reused by some gateways.
const dedupeKey = "source, source_row_id, epoch_ms(ts), model"

// completeness counts what a record says. The most complete of several records with one key is kept.
func completeness() string {
	sum := "0"
	for _, c := range requestColumns() {
		switch c.name {
		case "request_id", "ts", "model", "source", "source_row_id", "arm", "block_id", "in_burn_in", "quality":
		default:
			sum += " + (" + c.name + " IS NOT NULL)::INTEGER"
		}
	}
	return sum
}

// contents is everything a record says, to tell equal duplicates from conflicting ones.
func contents() string {
	list := ""
	for _, c := range requestColumns() {
		switch c.name {
		case "arm", "block_id", "in_burn_in", "quality":
		default:
			list += ", " + c.name
		}
	}
	return "hash(" + list[2:] + ")"
}

// duplicates says what a load found twice.
type duplicates struct {
	removed     int64 // rows deleted
	ours        int64 // of removed: rows of this load, not of an earlier one
	conflicting int64 // of removed: rows that differ from the row that is kept
}

func (d *duplicates) add(o duplicates) {
	d.removed += o.removed
	d.ours += o.ours
	d.conflicting += o.conflicting
}

// dedupe deletes all but one of the rows with one key, looking at the span of time that a load covers. The
// most complete row stays, else the later one.
func dedupe(ctx context.Context, conn *sql.Conn, loadID, span string) (duplicates, error) {
	var d duplicates
	var twice int64
	_, err := conn.ExecContext(ctx, "CREATE OR REPLACE TEMP TABLE twice AS SELECT h FROM (SELECT hash("+dedupeKey+") AS h FROM requests WHERE "+span+
		") GROUP BY h HAVING count(*) > 1")
	if err == nil {
		err = conn.QueryRowContext(ctx, "SELECT count(*) FROM temp.twice").Scan(&twice)
	}
	if err != nil {
		return d, fmt.Errorf("find duplicates: %w", err)
	}
	if twice == 0 {
		return d, nil
	}
	_, err = conn.ExecContext(ctx, `CREATE OR REPLACE TEMP TABLE ranked AS SELECT id, load_id, request_id,
		row_number() OVER best AS place, content <> first_value(content) OVER best AS differs
		FROM (SELECT rowid AS id, *, `+completeness()+" AS complete, "+contents()+` AS content FROM requests
			WHERE `+span+" AND hash("+dedupeKey+`) IN (SELECT h FROM temp.twice))
		WINDOW best AS (PARTITION BY `+dedupeKey+" ORDER BY complete DESC, CAST(load_id AS BIGINT) DESC, id DESC)")
	if err != nil {
		return d, fmt.Errorf("compare duplicates: %w", err)
	}
	return dropRanked(ctx, conn, loadID, span)
}

// dropRanked deletes the rows that have another place than the first in the table ranked, with what belongs to them, and
// counts them.
func dropRanked(ctx context.Context, conn *sql.Conn, loadID, span string) (duplicates, error) {
	var d duplicates
	err := conn.QueryRowContext(ctx, `SELECT count(*) FILTER (place > 1), count(*) FILTER (place > 1 AND load_id = ?), count(*) FILTER (differs)
		FROM temp.ranked`, loadID).Scan(&d.removed, &d.ours, &d.conflicting)
	if err != nil {
		return d, fmt.Errorf("compare duplicates: %w", err)
	}
	const lost = "(SELECT (load_id, request_id) FROM temp.ranked WHERE place > 1)"
	for _, statement := range []string{
		"DELETE FROM requests WHERE rowid IN (SELECT id FROM temp.ranked WHERE place > 1)",
		// Attempts go with the last row of their request in the load.
		"DELETE FROM attempts WHERE (load_id, request_id) IN " + lost + `
			AND (load_id, request_id) NOT IN (SELECT (load_id, request_id) FROM requests WHERE ` + span + `)`,
		// Of those of a record that stood more than once in its load, each counts once.
		`DELETE FROM attempts WHERE rowid IN (SELECT id FROM (SELECT rowid AS id, row_number() OVER (PARTITION BY load_id, request_id, attempt ORDER BY rowid DESC) AS place
			FROM attempts WHERE (load_id, request_id) IN ` + lost + `) WHERE place > 1)`,
		"DELETE FROM joined WHERE (load_id, request_id) IN " + lost + `
			AND (load_id, request_id, request_ts) NOT IN (SELECT (load_id, request_id, ts) FROM requests WHERE ` + span + `)`,
		`UPDATE loads SET duplicates = duplicates + lost.n FROM (SELECT load_id, count(*) AS n FROM temp.ranked WHERE place > 1 GROUP BY load_id) lost
			WHERE loads.load_id = lost.load_id`,
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return d, fmt.Errorf("drop duplicates: %w", err)
		}
	}
	return d, nil
}

// staleHash marks a load whose file is to be read again when it is seen next.
const staleHash = "stale"

// rememberReplaced keeps the keys of the rows that a load replaces, and of the records that they were put together from.
func (l *Loader) rememberReplaced() error {
	if l.info.Format == SourceDrive {
		return nil // no other file holds rows of a drive
	}
	const ours = "WHERE load_id IN (SELECT load_id FROM loads WHERE file = ?)"
	for _, table := range []string{
		"replaced AS SELECT DISTINCT hash(" + dedupeKey + ") AS h, hash(" + recordColumns + ") AS record, ts FROM requests ",
		"replaced_parts AS SELECT DISTINCT hash(" + recordColumns + ") AS record, ts FROM joined ",
	} {
		if _, err := l.conn.ExecContext(l.ctx, "CREATE OR REPLACE TEMP TABLE "+table+ours, l.info.File); err != nil {
			return fmt.Errorf("replace earlier rows: %w", err)
		}
	}
	return nil
}

// reviveDuplicates makes sure that no row is lost with a file that changed: a row that the file no longer has, or a part of
// one, may have been dropped from another file as its duplicate. Such files are read again.
func (l *Loader) reviveDuplicates() error {
	if !l.info.Replace || l.info.Format == SourceDrive {
		return nil
	}
	const (
		between = " WHERE ts >= (SELECT min(ts) FROM temp.%[1]s) AND ts <= (SELECT max(ts) FROM temp.%[1]s)"
		parts   = "record NOT IN (SELECT hash(" + recordColumns + ") FROM joined)"
	)
	var gone int64
	err := l.conn.QueryRowContext(l.ctx, "SELECT (SELECT count(*) FROM temp.replaced WHERE h NOT IN (SELECT hash("+dedupeKey+") FROM requests"+
		fmt.Sprintf(between, "replaced")+") AND "+parts+") + (SELECT count(*) FROM temp.replaced_parts WHERE "+parts+
		" AND record NOT IN (SELECT hash("+recordColumns+") FROM requests"+fmt.Sprintf(between, "replaced_parts")+"))").Scan(&gone)
	if err == nil && gone > 0 {
		_, err = l.conn.ExecContext(l.ctx, "UPDATE loads SET hash = ? WHERE duplicates > 0 AND file <> ?", staleHash, l.info.File)
	}
	if err != nil {
		return fmt.Errorf("find rows that other files hold: %w", err)
	}
	return nil
}

// countLate counts the rows of this load that belong to days before the newest day of earlier loads.
func (l *Loader) countLate() error {
	if l.from.IsZero() || l.alone {
		return nil
	}
	err := l.conn.QueryRowContext(l.ctx, `SELECT count(*), coalesce(string_agg(DISTINCT strftime(ts, '%Y-%m-%d'), ', ' ORDER BY strftime(ts, '%Y-%m-%d')), '')
		FROM requests WHERE load_id = ? AND ts < (SELECT date_trunc('day', max(ts)) FROM requests WHERE load_id <> ?)`, l.row.LoadID, l.row.LoadID).
		Scan(&l.late, &l.lateDays)
	if err != nil {
		return fmt.Errorf("count late rows: %w", err)
	}
	return nil
}
