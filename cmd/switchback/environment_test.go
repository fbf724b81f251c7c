package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every variable that this repository names is known: a test or a script that sets one gets no warning about it.
func TestNoVariableOfOursIsStrange(t *testing.T) {
	name := regexp.MustCompile(`SWITCHBACK_[A-Z0-9_]*[A-Z0-9]`)
	found := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			built := d.Name() == "dist" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".ci" && path != root
			if built || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".sh", ".md", ".toml", ".yaml", ".py", "":
		default:
			return nil
		}
		if strings.HasSuffix(path, "environment_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, n := range name.FindAllString(string(text), -1) {
			found[n] = true
		}
		return err
	})
	if err != nil || len(found) < 30 {
		t.Fatalf("%d variables found: %v", len(found), err)
	}
	var environ []string
	for n := range found {
		environ = append(environ, n+"=1")
	}
	p := &process{}
	commands := p.root(new(bool))
	for _, warning := range strangeVariables(environ, commands) {
		t.Error(warning)
	}
	if w := strangeVariables([]string{"SWITCHBACK_MAX_REJECT=5", "SWITCHBACKS=1", "PATH=/bin"}, commands); len(w) != 1 || !strings.HasSuffix(w[0], "SWITCHBACK_MAX_REJECT; did you mean SWITCHBACK_MAX_REJECTS?") {
		t.Errorf("warnings %q", w)
	}
}
