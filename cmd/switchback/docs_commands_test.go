package main

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The commands of the documents. A block fenced as "console" holds commands, lines that begin with "$ ", each with
// the output that it prints. All of a document's commands run in order, in one folder that holds a copy of docs and
// deploy, with this program as switchback. What they leave there git ignores and make clean takes away.
//
//   - What stands below a command must be what it prints to stdout, or to stderr when it fails. A line "…" stands for
//     any number of lines. Nothing below it: the output is not compared.
//   - A command that fails is followed by "$ echo $?" with its exit code, else the test fails.
//   - "$ make TARGET" and "$ git clone" are not run; the target must be in the Makefile.
//   - A block fenced as "console slow" runs with SWITCHBACK_SLOW=1 only.
//   - A block fenced as "console cluster" is not run here: it needs a warehouse, and TestReportFromAWarehouse runs its commands.
//   - A block fenced as "python" runs, in its turn, where python3, or the interpreter that SWITCHBACK_PYTHON names, has the package duckdb.
//
// No other block may hold a command line of this program, so that no command goes untested.

// shown is one command line of a document with the output below it.
type shown struct {
	command string
	line    int    // in the document, from 1
	inset   string // spaces before it in the document
	output  []string
}

const prompt = "$ "

// shownCommands takes the command lines out of a block.
func shownCommands(f fence) []shown {
	var all []shown
	for i, line := range f.lines {
		if command, ok := strings.CutPrefix(line, prompt); ok {
			all = append(all, shown{command: command, line: f.line + 1 + i, inset: f.inset})
		} else if len(all) > 0 {
			last := &all[len(all)-1]
			last.output = append(last.output, line)
		}
	}
	return all
}

func TestDocumentCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("runs every command of the documents")
	}
	for _, name := range documents(t) {
		blocks, _ := fences(readDocument(t, name))
		blocks = slices.DeleteFunc(blocks, func(f fence) bool { return !strings.HasPrefix(f.info, "console") && f.info != "python" })
		if len(blocks) == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := newSession(t, name)
			for _, f := range blocks {
				if f.info == "console cluster" || f.info == "console slow" && os.Getenv("SWITCHBACK_SLOW") == "" {
					continue
				}
				if f.info == "python" {
					session.python(t, f)
					continue
				}
				for _, s := range shownCommands(f) {
					session.run(t, s)
				}
			}
			session.finish(t)
		})
	}
}

// session runs the commands of one document one after the other.
type session struct {
	document string
	home     string   // folder of the copies
	copied   []string // files in it
	folder   string   // current one
	status   string   // exit code of the command before, as text
	failed   int      // line of a command whose failure is not yet accounted for, 0 = none
	stderr   string   // of that command
	text     []string
	changed  bool
	shift    int // lines that the updated text has more than the document
}

func newSession(t *testing.T, document string) *session {
	t.Helper()
	home := t.TempDir()
	return &session{document: document, home: home, copied: copyDocuments(t, home), folder: home, status: "0", text: strings.Split(readDocument(t, document), "\n")}
}

// copyDocuments copies docs and deploy and returns the names. Folders that the commands made in docs/tutorial, when
// somebody tried them there, stay behind: a run would find its own output in them.
func copyDocuments(t *testing.T, to string) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"docs/*", "docs/example/*", "docs/tutorial/*", "docs/tutorial/logs/*", "deploy/*", "deploy/*/*"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err != nil {
				t.Fatal(err)
			} else if info.IsDir() {
				continue
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
			names = append(names, name)
		}
	}
	return names
}

func (s *session) run(t *testing.T, c shown) {
	t.Helper()
	if s.failed > 0 && c.command != "echo $?" {
		t.Fatalf("%s:%d: exit code %s:\n%s", s.document, s.failed, s.status, s.stderr)
	}
	word, rest, _ := strings.Cut(c.command, " ")
	switch word {
	case "cd":
		s.folder = filepath.Join(s.folder, rest)
		return
	case "git":
		return
	case "make":
		checkMakeTarget(t, s.document, rest)
		return
	}
	cmd := exec.Command("sh", "-c", "(exit "+s.status+"); "+c.command)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "COLUMNS=200", "SWITCHBACK_QUIET=true")
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	printed := stdout.String()
	s.status, s.failed = "0", 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		s.status, s.failed, s.stderr = strconv.Itoa(exit.ExitCode()), c.line, stderr.String()
		printed += stderr.String()
	case err != nil:
		t.Fatalf("%s:%d: %v", s.document, c.line, err)
	}
	s.compare(t, c, printed)
}

// python runs a block of Python.
func (s *session) python(t *testing.T, f fence) {
	t.Helper()
	python := cmp.Or(os.Getenv("SWITCHBACK_PYTHON"), "python3")
	if exec.Command(python, "-c", "import duckdb").Run() != nil {
		t.Logf("%s:%d: not run: no %s with the package duckdb", s.document, f.line, python)
		return
	}
	cmd := exec.Command(python, "-c", strings.Join(f.lines, "\n"))
	cmd.Dir = s.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s:%d: %v\n%s", s.document, f.line, err, out)
	}
}

// compare holds the output of a command against what the document shows of it.
func (s *session) compare(t *testing.T, c shown, printed string) {
	t.Helper()
	want := trimmed(c.output)
	if len(want) == 0 {
		return
	}
	got := trimmed(strings.Split(printed, "\n"))
	if matchLines(want, got) {
		return
	}
	if !*update || slices.Contains(want, "…") {
		t.Errorf("%s:%d: $ %s\nprints\n%s\nnot what the document shows", s.document, c.line, c.command, strings.Join(got, "\n"))
		return
	}
	for i := range got {
		got[i] = strings.TrimRight(c.inset+got[i], " ")
	}
	at := c.line + s.shift // the lines of the output follow the command's
	s.text = slices.Replace(s.text, at, at+len(want), got...)
	s.shift += len(got) - len(want)
	s.changed = true
}

func (s *session) finish(t *testing.T) {
	t.Helper()
	if s.failed > 0 {
		t.Fatalf("%s:%d: exit code %s:\n%s", s.document, s.failed, s.status, s.stderr)
	}
	if s.changed {
		writeDocument(t, s.document, strings.Join(s.text, "\n"), "commands print something else")
	}
	s.leftovers(t)
}

// leftovers asks git whether it ignores what the commands left in docs, and make clean to take it away.
func (s *session) leftovers(t *testing.T) {
	t.Helper()
	left := s.left(t)
	if len(left) == 0 {
		return
	}
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		cmd := exec.Command("git", "-C", root, "check-ignore", "--stdin")
		cmd.Stdin = strings.NewReader(strings.Join(left, "\n"))
		ignored, err := cmd.Output() // fails when none is
		for _, name := range left {
			if !slices.Contains(strings.Split(string(ignored), "\n"), name) {
				t.Errorf("%s: its commands leave %s, which .gitignore does not name (%v)", s.document, name, err)
			}
		}
	}
	makefile, err := filepath.Abs(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("make", "-s", "-f", makefile, "clean")
	cmd.Dir = s.home
	if out, err := cmd.CombinedOutput(); errors.Is(err, exec.ErrNotFound) {
		t.Log("no make here to clean up with")
		return
	} else if err != nil {
		t.Fatalf("make clean: %v\n%s", err, out)
	}
	for _, name := range s.left(t) {
		t.Errorf("%s: its commands leave %s, which make clean does not remove", s.document, name)
	}
}

// left returns what is in the copy of docs and was not copied. A folder of which nothing was ends with "/" and stands for
// all that is in it.
func (s *session) left(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join(s.home, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.home, path)
		switch {
		case err != nil:
			return err
		case !entry.IsDir() && !slices.Contains(s.copied, name):
			names = append(names, name)
		case entry.IsDir() && !slices.ContainsFunc(s.copied, func(c string) bool { return strings.HasPrefix(c, name+"/") }):
			names = append(names, name+"/")
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// trimmed cuts trailing spaces and trailing empty lines.
func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimRight(line, " ")
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// matchLines reports whether lines are those of a pattern in which "…" stands for any number of lines.
func matchLines(pattern, lines []string) bool {
	for i, want := range pattern {
		if want == "…" {
			for skip := range len(lines) - i + 1 {
				if matchLines(pattern[i+1:], lines[i+skip:]) {
					return true
				}
			}
			return false
		}
		if i >= len(lines) || lines[i] != want {
			return false
		}
	}
	return len(pattern) == len(lines)
}

func TestMatchLines(t *testing.T) {
	for _, c := range []struct {
		pattern, lines string
		want           bool
	}{
		{"a b", "a b", true}, {"a", "a b", false}, {"a b", "a", false}, {"a …", "a", true}, {"a …", "a b c", true},
		{"… c", "a b c", true}, {"a … c", "a b c", true}, {"a … c", "a b", false}, {"…", "", true}, {"a … b … c", "a x b y z c", true},
	} {
		if got := matchLines(strings.Fields(c.pattern), strings.Fields(c.lines)); got != c.want {
			t.Errorf("pattern %q, lines %q: %v", c.pattern, c.lines, got)
		}
	}
}

func checkMakeTarget(t *testing.T, document, target string) {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	target, _, _ = strings.Cut(target, " ")
	if !strings.Contains("\n"+string(makefile), "\n"+target+":") {
		t.Errorf("%s: the Makefile has no target %s", document, target)
	}
}

// TestCommandsStandInConsoleBlocks finds command lines that the test above does not run.
func TestCommandsStandInConsoleBlocks(t *testing.T) {
	for _, name := range documents(t) {
		if strings.HasPrefix(name, exampleFolder) || name == "docs/validation.md" {
			continue // written by the program; they name the command that made them
		}
		blocks, prose := fences(readDocument(t, name))
		for _, f := range blocks {
			for i, line := range f.lines {
				line = strings.TrimSpace(line)
				isCommand := strings.HasPrefix(strings.TrimPrefix(line, prompt), "switchback ")
				if f.info == "console" || f.info == "console slow" || f.info == "console cluster" {
					continue
				}
				if isCommand || strings.HasPrefix(line, prompt) {
					t.Errorf("%s:%d: a command outside a console block: %s", name, f.line+1+i, line)
				}
			}
		}
		for i, line := range prose {
			if strings.HasPrefix(line, "    switchback ") || strings.HasPrefix(line, "    $ ") {
				t.Errorf("%s:%d: a command outside a console block: %s", name, i+1, line)
			}
		}
	}
}

// TestMakeRunIsTheDocumentedRun: the documents say "switchback run" of what make run does.
func TestMakeRunIsTheDocumentedRun(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(makefile), "\nrun: build") || !strings.Contains(string(makefile), "\n\t$(BIN) run\n") {
		t.Error("make run does not build and run the built-in experiment")
	}
}
