package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLook writes the reports of the fixtures, with PNG figures and the HTML page, into the folder named by SWITCHBACK_LOOK, for a
// look at them. SWITCHBACK_LOOK_AT names a results.json to show beside them.
func TestLook(t *testing.T) {
	dir := os.Getenv("SWITCHBACK_LOOK")
	if dir == "" {
		t.Skip("set SWITCHBACK_LOOK to a folder to see the figures")
	}
	states := allStates()
	if path := os.Getenv("SWITCHBACK_LOOK_AT"); path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		states["results"] = doc
	}
	for name, doc := range states {
		files, err := Render(doc, Options{PNG: true, HTML: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, name, f.Name), f.Bytes, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
