package reports

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
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
			files, err := Render(state.doc, Options{HTML: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if f.Name == "report.html" {
					f.Bytes = normalised(f.Bytes)
				}
				golden(t, state.name+"/"+f.Name, f.Bytes)
			}
		})
	}
}

// normalised takes out of an HTML page what has goldens of its own, its figures, and what is the same on every page, its
// styles; and begins a line with each element that does.
func normalised(html []byte) []byte {
	html = regexp.MustCompile(`data:image/svg\+xml;base64,[A-Za-z0-9+/=]+`).ReplaceAll(html, []byte("FIGURE"))
	html = regexp.MustCompile(`(?s)<style>.*?</style>`).ReplaceAll(html, []byte("<style></style>"))
	html = regexp.MustCompile(`<(h[1-6]|p|table|tr|ul|li|details|summary|figure|img|pre|div)\b`).ReplaceAll(html, []byte("\n$0"))
	return append(regexp.MustCompile(`\s*\n\s*`).ReplaceAll(html, []byte("\n")), '\n')
}
