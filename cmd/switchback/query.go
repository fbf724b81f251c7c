package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"switchback/experiment"
	"switchback/ingest"
)

// querySettings are the flags of query.
type querySettings struct {
	settings
	format  string
	list    bool
	timeout time.Duration
}

// defaultTimeout is how long a query may take.
const defaultTimeout = 5 * time.Minute

// queryMemory is how much memory DuckDB takes for a query unless something else is asked for. A result that is larger waits in a
// temporary folder.
const queryMemory = "192MiB"

// queryFormats are the forms of a result.
func queryFormats() []string { return []string{"table", "markdown", "csv", "json", formatParquet} }

// queryCommand runs read-only SQL on the DuckDB file.
func (p *process) queryCommand() command {
	var s querySettings
	fs := pflag.NewFlagSet("query", pflag.ContinueOnError)
	s.configFlag(fs)
	s.outputFlags(fs)
	fs.StringVar(&s.format, "format", "table", "table, markdown, csv, json or parquet, a `word`")
	fs.BoolVar(&s.list, "list", false, "show the tables, the views and examples")
	fs.DurationVar(&s.timeout, "timeout", defaultTimeout, "end a query that takes longer than this `time`, such as 30s; 0: no limit")
	fs.Lookup("memory").Usage = "DuckDB's memory limit, a `size` such as 2GB (default " + queryMemory + ")"
	fs.Lookup("timeout").DefValue = "5m" // as it is written, not 5m0s
	s.logFlags(fs)
	return command{
		use:   "query SQL",
		short: "Run read-only SQL on the DuckDB file",
		long: "--list shows what there is to ask. Views with plain names stand over the tables: effects, per_model, by_block,\n" +
			"by_provider and requests_in_analysis. csv, json and parquet have full precision and leave unknown values empty (null);\n" +
			"table and markdown round to six digits. A query reads this file and nothing else, and writes nothing.",
		example: "  switchback query --list\n  switchback query 'FROM effects'\n  switchback query --format csv 'FROM requests LIMIT 10'\n" +
			"  switchback query --format parquet 'FROM requests_in_analysis' > requests.parquet",
		args:  cobra.MaximumNArgs(1),
		flags: fs,
		run: func(ctx context.Context, args []string) error {
			if err := s.check(args, p); err != nil {
				return err
			}
			c, err := s.load(fs, knownNames())
			if err != nil {
				return err
			}
			options := c.storeOptions()
			options.ReadOnly = true
			if c.Memory == "" {
				options.Memory = queryMemory
			}
			// What does not fit waits here: the folder of the file may be one that nobody can write to.
			if options.TempDir, err = os.MkdirTemp("", "switchback-query-"); err != nil {
				return fmt.Errorf("query: %w", err)
			}
			store, err := openFilled(ctx, outDir{c.Out}.database(), options)
			if err == nil {
				err = errors.Join(p.query(ctx, store, &s, args), store.Close())
			}
			return errors.Join(err, os.RemoveAll(options.TempDir))
		},
	}
}

// check refuses what cannot be asked.
func (s *querySettings) check(args []string, p *process) error {
	if err := checkWords("format", s.format, queryFormats()); err != nil {
		return err
	}
	switch {
	case s.list && len(args) > 0:
		return usageError("leave one of them out", "--list beside a query")
	case !s.list && (len(args) == 0 || strings.Trim(args[0], "; \t\r\n") == ""):
		return usageError("switchback query --list shows what there is to ask", "no query")
	case s.timeout < 0:
		return usageError("such as 30s; 0 sets no limit", "--timeout: %s is negative", experiment.Length(s.timeout))
	case s.format == formatParquet && isTerminal(p.stdout):
		return usageError("write it to a file: … > result.parquet", "--format parquet is not for a terminal")
	}
	return nil
}

func (p *process) query(ctx context.Context, store *ingest.Store, s *querySettings, args []string) error {
	within := ctx
	if s.timeout > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, s.timeout)
		defer cancel()
	}
	buffered := bufio.NewWriter(p.stdout)
	var err error
	if s.list {
		err = writeCatalog(within, buffered, store)
	} else {
		err = runQuery(within, buffered, store, args[0], s.format)
	}
	switch {
	case err == nil:
		if err := buffered.Flush(); err != nil {
			return fmt.Errorf("write result: %w", err)
		}
		return p.tellElsewhere(ctx, store, s, args)
	case ctx.Err() != nil:
		return ctx.Err()
	case within.Err() != nil:
		return &ExitError{Code: exitFailed, Err: fmt.Errorf("query %s: not done after %s", store.Path(), experiment.Length(s.timeout)), Hint: "--timeout sets another limit; 0 sets none"}
	}
	return queryError(err)
}

// namesRows finds what is empty in a file whose rows lie in a warehouse.
var namesRows = regexp.MustCompile(`(?i)\brequests_in_analysis\b|\b(from|join)\s+"?(requests|attempts)\b`)

// tellElsewhere says where the rows are that a query looked for, or that the list of tables lacks.
func (p *process) tellElsewhere(ctx context.Context, store *ingest.Store, s *querySettings, args []string) error {
	if !s.list && !namesRows.MatchString(args[0]) {
		return nil
	}
	place, err := store.RowsElsewhere(ctx)
	if err == nil && place != "" {
		newLogger(p.stderr, &s.settings).Warn("the requests of the latest report lie in "+place+" and not in this file",
			"hint", "switchback run --dry-run prints the SQL that asks there; by_block and by_provider are filled")
	}
	return err
}

// runQuery runs a query and writes its result in a format.
func runQuery(ctx context.Context, w *bufio.Writer, store *ingest.Store, sql, format string) error {
	rows, err := store.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // only read
	switch format {
	case "csv":
		return writeRowsCSV(w, rows)
	case "json":
		return writeRowsJSON(w, rows)
	case formatParquet:
		err := rows.WriteParquet(ctx, w, "")
		if errors.Is(err, ingest.ErrNoTable) {
			return usageError("the other formats show it", "%w", err)
		}
		return err
	case "markdown":
		return writeRowsMarkdown(w, rows)
	}
	return writeRowsTable(w, rows)
}

// queryError gives DuckDB's objection to a query its exit code, and a hint where there is one.
func queryError(err error) error {
	var fault *ingest.QueryError
	if !errors.As(err, &fault) {
		return err
	}
	const list = "switchback query --list shows tables, views and examples"
	meant := ""
	if n := len(fault.Meant); n > 0 {
		meant = "did you mean " + strings.Join(fault.Meant[:min(n, 3)], ", ") + "? "
	}
	switch fault.Kind {
	case ingest.FaultMemory:
		return &ExitError{Code: exitFailed, Err: err, Hint: "--memory gives the query more"}
	case ingest.FaultDamaged:
		return &ExitError{Code: exitFailed, Err: err, Hint: damagedHint}
	case ingest.FaultTable:
		return usageError(meant+list, "%w", err)
	case ingest.FaultName:
		return usageError(meant+"DESCRIBE and the name of a table or view shows its columns", "%w", err)
	case ingest.FaultFunction:
		return usageError(meant+`query "SELECT DISTINCT function_name FROM duckdb_functions()" lists them all`, "%w", err)
	case ingest.FaultMany:
		return usageError("ask one after the other; WITH … SELECT makes one statement of several steps", "%w", err)
	case ingest.FaultSyntax:
		return usageError("the SQL is DuckDB's; "+list, "%w", err)
	case ingest.FaultReadOnly:
		return usageError("the file is opened for reading only", "%w", err)
	case ingest.FaultSealed:
		return usageError("a query reads this file and nothing else; --format writes its result to stdout", "%w", err)
	}
	return usageError("", "%w", err)
}
