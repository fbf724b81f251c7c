package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated parts of the documents and the outputs of their commands anew")

// root is the folder of the documents, as seen from this package.
const root = "../.."

// documents returns the paths of all documents, relative to root.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "deploy/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, name)
		}
	}
	return found
}

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeDocument replaces a document when -update is given and fails the test otherwise.
func writeDocument(t *testing.T, name, text, why string) {
	t.Helper()
	if !*update {
		t.Errorf("%s: %s; go test ./cmd/switchback -update writes it anew", name, why)
		return
	}
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// fence is a fenced block of a document.
type fence struct {
	info  string // what stands behind the opening fence, such as "console slow"
	line  int    // of the opening fence, from 1
	inset string // spaces before the opening fence, which the lines have lost
	lines []string
}

var fenceMark = regexp.MustCompile("^( *)(```+)(.*)$")

// fences takes the fenced blocks out of a document; prose is the rest, with empty lines in their place.
func fences(text string) (blocks []fence, prose []string) {
	var open string
	for i, line := range strings.Split(text, "\n") {
		mark := fenceMark.FindStringSubmatch(line)
		switch {
		case open == "" && mark != nil:
			open = mark[2]
			blocks = append(blocks, fence{info: strings.TrimSpace(mark[3]), line: i + 1, inset: mark[1]})
			prose = append(prose, "")
		case open != "" && mark != nil && mark[2] == open && mark[3] == "":
			open = ""
			prose = append(prose, "")
		case open != "":
			last := &blocks[len(blocks)-1]
			last.lines = append(last.lines, strings.TrimPrefix(line, last.inset))
			prose = append(prose, "")
		default:
			prose = append(prose, line)
		}
	}
	return blocks, prose
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`^#+ +(.*)$`)
	notInSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// slug is the anchor that a forge gives to a heading.
func slug(title string) string {
	plain := notInSlug.ReplaceAllString(strings.ToLower(title), "")
	return strings.ReplaceAll(plain, " ", "-")
}

func TestDocumentLinksResolve(t *testing.T) {
	for _, name := range documents(t) {
		_, prose := fences(readDocument(t, name))
		for i, line := range prose {
			for _, m := range link.FindAllStringSubmatch(inlineCode.ReplaceAllString(line, ""), -1) {
				if problem := brokenLink(t, name, m[1]); problem != "" {
					t.Errorf("%s:%d: link %s: %s", name, i+1, m[1], problem)
				}
			}
		}
	}
}

// brokenLink says what is wrong with a link of a document, "" when nothing is. Links to the web are not followed.
func brokenLink(t *testing.T, document, target string) string {
	t.Helper()
	if strings.Contains(target, "://") {
		return ""
	}
	path, anchor, _ := strings.Cut(target, "#")
	name := document
	if path != "" {
		name = filepath.Join(filepath.Dir(document), path)
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			return "no such file"
		}
	}
	if anchor == "" || !strings.HasSuffix(name, ".md") {
		return ""
	}
	_, prose := fences(readDocument(t, name))
	for _, line := range prose {
		if m := heading.FindStringSubmatch(line); m != nil && slug(m[1]) == anchor {
			return ""
		}
	}
	return "no such heading in " + name
}

// pathLike is what reads as a file of the repository: a word with a slash and an extension that we use.
var pathLike = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.*-]+)*\.(go|md|yml|toml|csv|sql|json|py|svg|service|timer|yaml)$`)

// TestDocumentsNameWhatExists checks the files and identifiers that the developers' documents name in code letters.
func TestDocumentsNameWhatExists(t *testing.T) {
	packages := identifiers(t)
	known := map[string]bool{}
	for _, names := range packages {
		for name := range names {
			known[name] = true
		}
	}
	for _, name := range []string{"ARCHITECTURE.md", "CONTRIBUTING.md"} {
		_, prose := fences(readDocument(t, name))
		for i, line := range prose {
			for _, code := range inlineCode.FindAllString(line, -1) {
				code = strings.Trim(code, "`")
				if strings.Contains(code, "/") && pathLike.MatchString(code) {
					if found, err := filepath.Glob(filepath.Join(root, code)); err != nil || len(found) == 0 {
						t.Errorf("%s:%d: no file %s", name, i+1, code)
					}
					continue
				}
				pkg, member, dotted := strings.Cut(code, ".")
				if names, ours := packages[pkg]; dotted && ours {
					if !names[member] {
						t.Errorf("%s:%d: package %s has no %s", name, i+1, pkg, member)
					}
					continue
				}
				if function.MatchString(code) && !known[code] {
					t.Errorf("%s:%d: no package declares %s", name, i+1, code)
				}
			}
		}
	}
}

// function is what reads as a name of our code: one word with a capital inside, or two such words with a dot.
var function = regexp.MustCompile(`^[A-Za-z]+[a-z][A-Z][A-Za-z]*$|^[A-Z][A-Za-z]+\.[A-Z][A-Za-z]+$`)

// identifiers returns what each of our packages declares: names, and methods as Type.Method.
func identifiers(t *testing.T) map[string]map[string]bool {
	t.Helper()
	packages := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != root {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		names := packages[file.Name.Name]
		if names == nil {
			names = map[string]bool{}
			packages[file.Name.Name] = names
		}
		for _, declared := range file.Decls {
			declare(names, declared)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return packages
}

func declare(names map[string]bool, declared ast.Decl) {
	switch d := declared.(type) {
	case *ast.FuncDecl:
		names[d.Name.Name] = true
		if d.Recv != nil {
			receiver := d.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			names[fmt.Sprint(receiver)+"."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			}
		}
	}
}

// TestNamesAreFound guards the test above against finding nothing.
func TestNamesAreFound(t *testing.T) {
	packages := identifiers(t)
	for pkg, name := range map[string]string{"stats": "Analyze", "ingest": "Store.ApplyPlan", "experiment": "Drive", "main": "exitCodes"} {
		if !packages[pkg][name] {
			t.Errorf("package %s: %s is not found", pkg, name)
		}
	}
	if packages["stats"]["Analyse"] || function.MatchString("results.json") || !function.MatchString("compareColumns") {
		t.Error("names are told apart badly")
	}
}

// TestArchitectureNamesPackagesAndDependencies: every package of ours, and every module that is imported, stands in a table.
func TestArchitectureNamesPackagesAndDependencies(t *testing.T) {
	text := readDocument(t, "ARCHITECTURE.md")
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}`, "switchback/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		own := strings.TrimPrefix(words[0], "switchback/")
		if !strings.HasSuffix(own, "test") && !strings.HasSuffix(own, "/data") && !strings.Contains(text, "| `"+own+"` |") {
			t.Errorf("ARCHITECTURE.md does not list the package %s", own)
		}
		for _, imported := range words[1:] {
			host, rest, _ := strings.Cut(imported, "/")
			parts := strings.SplitN(rest, "/", 3)
			switch {
			case !strings.Contains(host, "."): // ours or the standard library's
			case host == "github.com":
				modules[parts[0]+"/"+parts[1]] = true
			case len(parts) > 1:
				modules[host+"/"+parts[0]+"/"+parts[1]] = true
			default:
				modules[imported] = true
			}
		}
	}
	if len(modules) < 10 {
		t.Errorf("only %d modules are imported", len(modules))
	}
	for module := range modules {
		module = strings.TrimSuffix(module, "/v3")
		if !strings.Contains(text, "`"+module) {
			t.Errorf("ARCHITECTURE.md does not say why %s is there", module)
		}
	}
}

var generated = regexp.MustCompile(`(?s)(<!-- generated: ([a-z-]+) -->\n)(.*?)(<!-- end of [a-z-]+ -->)`)

// TestGeneratedPartsAreCurrent compares the parts of the documents that follow from the code with what they follow from.
func TestGeneratedPartsAreCurrent(t *testing.T) {
	parts := map[string]func(*testing.T) string{
		"exit-codes":         exitCodeTable,
		"commands":           commandTable,
		"configuration-keys": configurationTables,
		"flags":              flagTable,
		"first-screen":       exampleFirstScreen,
		"metrics":            metricTable,
		"scenarios":          scenarioTable,
		"formats":            formatTable,
		"format-fields":      formatFieldTables,
	}
	used := map[string]bool{}
	for _, name := range documents(t) {
		text := readDocument(t, name)
		current := generated.ReplaceAllStringFunc(text, func(whole string) string {
			m := generated.FindStringSubmatch(whole)
			part := parts[m[2]]
			if part == nil {
				t.Errorf("%s: nothing generates %s", name, m[2])
				return whole
			}
			used[m[2]] = true
			return m[1] + "\n" + part(t) + "\n" + m[4]
		})
		if current != text {
			writeDocument(t, name, current, "a generated part is out of date")
		}
	}
	for part := range parts {
		if !used[part] {
			t.Errorf("no document has the generated part %s", part)
		}
	}
}

// markdownTable renders rows of cells, the first being the header.
func markdownTable(rows [][]string) string {
	var b strings.Builder
	for i, cells := range rows {
		escaped := slices.Clone(cells)
		for j := range escaped {
			escaped[j] = strings.ReplaceAll(escaped[j], "|", `\|`)
		}
		b.WriteString("| " + strings.Join(escaped, " | ") + " |\n")
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(cells)) + "|\n")
		}
	}
	return b.String()
}
