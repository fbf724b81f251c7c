package ingest

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/marcboeker/go-duckdb"
)

// QueryError is what DuckDB has against a query.
type QueryError struct {
	Path     string
	Kind     QueryFault
	Text     string   // one line
	Line     string   // "line 2: SELECT ttft": where in the query, "" when DuckDB does not say
	Meant    []string // names like the one that it did not find, the likeliest first
	original error
}

// QueryFault says what kind of fault a QueryError is.
type QueryFault string

// Kinds of QueryError.
const (
	FaultSyntax   QueryFault = "syntax"    // no SQL
	FaultTable    QueryFault = "table"     // no such table or view
	FaultName     QueryFault = "name"      // no such column
	FaultFunction QueryFault = "function"  // no such function
	FaultMany     QueryFault = "many"      // more than one statement
	FaultReadOnly QueryFault = "read-only" // it would write
	FaultSealed   QueryFault = "sealed"    // it would reach beyond the file, or change how the file is opened
	FaultMemory   QueryFault = "memory"    // it needs more memory than it may take
	FaultDamaged  QueryFault = "damaged"   // the file cannot be read
	FaultOther    QueryFault = "other"
)

func (e *QueryError) Error() string {
	text := "query " + e.Path + ": " + e.Text
	if e.Line != "" {
		text += ", in " + e.Line
	}
	return text
}

// Unwrap returns the driver's error.
func (e *QueryError) Unwrap() error { return e.original }

var (
	errorPrefix = regexp.MustCompile(`^[A-Za-z ]+ Error: `)
	errorLine   = regexp.MustCompile(`(?m)^LINE (\d+): (.*)$`)
	errorMeant  = regexp.MustCompile(`(?m)^(?:Did you mean|Candidate bindings:|Candidate tables:) (.*)$`)
	// missingColumn is how DuckDB says that there is no column or table of a name.
	missingColumn = regexp.MustCompile(`not found|does not have a column|does not exist on (left|right) side`)
	quotedName    = regexp.MustCompile(`"([^"]+)"`)
)

// queryError takes DuckDB's message apart. Errors that are not DuckDB's, such as that of a context, stay in the chain.
func queryError(path string, err error) error {
	var fault *duckdb.Error
	if !errors.As(err, &fault) {
		return fmt.Errorf("query %s: %w", path, err)
	}
	e := &QueryError{Path: path, Kind: faultOf(fault), Text: plainMessage(fault.Msg), original: err}
	if m := errorLine.FindStringSubmatch(fault.Msg); m != nil {
		e.Line = "line " + m[1] + ": " + strings.TrimSpace(m[2])
	}
	if m := errorMeant.FindStringSubmatch(fault.Msg); m != nil {
		for _, name := range quotedName.FindAllStringSubmatch(m[1], -1) {
			e.Meant = append(e.Meant, name[1])
		}
	}
	return e
}

// linesUp takes the line off that stands before the user's own.
func linesUp(err error) error {
	var fault *duckdb.Error
	if !errors.As(err, &fault) {
		return err
	}
	own := *fault
	own.Msg = errorLine.ReplaceAllStringFunc(fault.Msg, func(line string) string {
		m := errorLine.FindStringSubmatch(line)
		n, _ := strconv.Atoi(m[1])
		return fmt.Sprintf("LINE %d: %s", n-1, m[2])
	})
	return &own
}

func faultOf(e *duckdb.Error) QueryFault {
	switch {
	case strings.Contains(e.Msg, "Corrupt database file") || strings.Contains(e.Msg, "Could not read enough bytes"):
		return FaultDamaged
	case strings.Contains(e.Msg, "read-only mode"):
		return FaultReadOnly
	case strings.Contains(e.Msg, "configuration has been locked"), e.Type == duckdb.ErrorTypePermission:
		return FaultSealed
	case e.Type == duckdb.ErrorTypeParser:
		return FaultSyntax
	case e.Type == duckdb.ErrorTypeOutOfMemory:
		return FaultMemory
	case e.Type == duckdb.ErrorTypeCatalog && strings.Contains(e.Msg, "Table with name"):
		return FaultTable
	case e.Type == duckdb.ErrorTypeCatalog && strings.Contains(e.Msg, "Function with name"):
		return FaultFunction
	case e.Type == duckdb.ErrorTypeCatalog, e.Type == duckdb.ErrorTypeBinder && missingColumn.MatchString(e.Msg):
		return FaultName
	case strings.Contains(e.Msg, "Cannot prepare multiple statements"):
		return FaultMany
	}
	return FaultOther
}

// plainMessage is the first line of a message of DuckDB, without the words of the driver and without the kind of error.
func plainMessage(message string) string {
	_, own, found := strings.Cut(message, "duckdb error: ")
	if !found {
		own = message
	}
	text := strings.TrimRight(errorPrefix.ReplaceAllString(firstLine(own), ""), "!. ")
	if text == "" {
		return message
	}
	if len(text) > 1 && unicode.IsUpper(rune(text[1])) { // "COPY TO"
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}
