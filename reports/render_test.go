package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares got with testdata/name. A mismatch leaves testdata/name.got for a look.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		if err := os.WriteFile(path+".got", got, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Errorf("%s: differs from the golden file; see %s.got, or run the test with -update", name, path)
	}
}

func TestRenderGolden(t *testing.T) {
	for _, state := range []struct {
		name string
		doc  Document
	}{
		{"normal", withNights(withSeries(normalDocument()))},
		{"provisional", withSeries(provisionalDocument())},
		{"incomplete", incompleteDocument()},
		{"degenerate", degenerateDocument()},
	} {
		t.Run(state.name, func(t *testing.T) {
			files, err := Render(state.doc, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				golden(t, state.name+"/"+f.Name, f.Bytes)
			}
		})
	}
}
