package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// allowed says which of our folders a folder may import; a folder may always import its own subfolders.
var allowed = map[string][]string{
	"router":     {},
	"stats":      {},
	"experiment": {"router"},
	"ingest":     {"experiment", "stats"},
	"reports":    {"experiment", "stats"},
	"cmd":        {"router", "stats", "experiment", "ingest", "reports"},
}

// only says which foreign modules are kept inside one folder and its subfolders.
var only = map[string]string{
	"github.com/apache/arrow":         "ingest",
	"github.com/marcboeker/go-duckdb": "ingest",
	"github.com/spf13/":               "cmd",
	"github.com/ClickHouse":           "ingest/warehouse",
}

type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImportDirections(t *testing.T) {
	out, err := exec.Command("go", "list", "-pgo=off", "-json=ImportPath,Imports,TestImports,XTestImports", "switchback/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(out)))
	seen := map[string]bool{}
	for {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		from := folder(p.ImportPath)
		if from == "" {
			continue
		}
		seen[from] = true
		if _, known := allowed[from]; !known {
			t.Errorf("%s: code folders at the root are %v", p.ImportPath, keys(allowed))
		}
		for _, imported := range p.Imports {
			if problem := breach(p.ImportPath, imported); problem != "" {
				t.Error(problem)
			}
		}
	}
	for name := range allowed {
		if !seen[name] {
			t.Errorf("folder %s is gone", name)
		}
	}
}

// breach says what is wrong with one import, "" when nothing is.
func breach(importer, imported string) string {
	from, to := folder(importer), folder(imported)
	if to != "" && to != from {
		for _, ok := range allowed[from] {
			if ok == to {
				return ""
			}
		}
		return importer + " imports " + imported + ": " + from + " may import " + strings.Join(allowed[from], ", ")
	}
	// The subfolders of experiment are its parts, so they do not import the whole.
	if from == "experiment" && importer != "switchback/experiment" && imported == "switchback/experiment" {
		return importer + " imports " + imported + ": the parts do not import the whole"
	}
	for module, home := range only {
		if strings.HasPrefix(imported, module) && !strings.HasPrefix(importer+"/", "switchback/"+home+"/") {
			return importer + " imports " + imported + ": only " + home + " may"
		}
	}
	return ""
}

// folder returns the top folder of one of our packages, "" for others and the root.
func folder(path string) string {
	rest, ours := strings.CutPrefix(path, "switchback/")
	if !ours {
		return ""
	}
	top, _, _ := strings.Cut(rest, "/")
	return top
}

func keys(m map[string][]string) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	return names
}

func TestBreachIsFound(t *testing.T) {
	for _, c := range [][2]string{
		{"switchback/stats", "switchback/experiment"},
		{"switchback/router", "switchback/stats"},
		{"switchback/reports", "switchback/ingest"},
		{"switchback/experiment/market", "switchback/experiment"},
		{"switchback/reports", "github.com/marcboeker/go-duckdb"},
		{"switchback/experiment", "github.com/apache/arrow/go/v17/arrow"},
		{"switchback/stats", "github.com/spf13/pflag"},
		{"switchback/ingest", "github.com/ClickHouse/clickhouse-go/v2"},
		{"switchback/cmd/switchback", "github.com/ClickHouse/clickhouse-go/v2"},
	} {
		if breach(c[0], c[1]) == "" {
			t.Errorf("%s may import %s", c[0], c[1])
		}
	}
}
