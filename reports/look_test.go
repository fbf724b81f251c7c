package reports

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLook writes the figures of the fixtures as PNG into the folder named by SWITCHBACK_LOOK, for a look at them.
func TestLook(t *testing.T) {
	dir := os.Getenv("SWITCHBACK_LOOK")
	if dir == "" {
		t.Skip("set SWITCHBACK_LOOK to a folder to see the figures")
	}
	for name, doc := range map[string]Document{
		"normal": withNights(withSeries(normalDocument())), "provisional": withSeries(provisionalDocument()),
		"incomplete": incompleteDocument(), "models": manyModelsDocument(100),
	} {
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
