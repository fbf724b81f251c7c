package reports

import (
	"context"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// harness shows a page in frames of several widths and writes what it measures into its own body. The pages themselves run no script.
const harness = `<!DOCTYPE html><meta charset="utf-8"><body><script>
const out = [];
const widths = [360, 800, 1400];
let left = widths.length;
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.style.cssText = "border:0;height:900px;width:" + width + "px";
  frame.onload = () => {
    const doc = frame.contentDocument, root = doc.documentElement;
    for (const d of doc.querySelectorAll("details")) d.open = true;
    const images = [...doc.images];
    out.push(["width=" + width, "overflow=" + (root.scrollWidth - root.clientWidth), "images=" + images.length,
      "broken=" + images.filter(i => !(i.complete && i.naturalWidth > 0)).length,
      "noalt=" + images.filter(i => !i.alt).length,
      "tables=" + doc.querySelectorAll("table").length, "scripts=" + doc.scripts.length,
      "elements=" + doc.querySelectorAll("b,i,script").length,
      "paper=" + getComputedStyle(doc.body).backgroundColor, "ink=" + getComputedStyle(doc.body).color].join(";"));
    if (--left === 0) document.body.textContent = "RESULT " + out.sort().join(" | ") + " END";
  };
  frame.srcdoc = document.getElementById("page").textContent;
  document.body.append(frame);
}
</script>`

// TestPageInBrowser opens the page in headless Chromium at the width of a phone, a column and a screen, in light and dark: nothing
// but tables and figures scrolls sideways, every figure loads, names from outside stay text. It needs Chromium and is skipped without.
func TestPageInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	chromium := ""
	for _, candidate := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(candidate); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		t.Skip("no Chromium on this machine")
	}
	nasty := withSeries(incompleteDocument())
	for _, page := range []struct {
		name   string
		doc    Document
		scheme string
		paper  string
	}{
		{"light", withNights(withSeries(normalDocument())), "1", "rgb(255, 255, 255)"},
		{"dark", nasty, "0", "rgb(13, 17, 23)"},
	} {
		t.Run(page.name, func(t *testing.T) {
			p := compose(page.doc)
			b, err := writeHTML(p)
			if err != nil {
				t.Fatal(err)
			}
			got := measureInBrowser(t, chromium, string(b), page.scheme)
			for _, frame := range got {
				for key, want := range map[string]string{
					"overflow": "0", "broken": "0", "noalt": "0", "scripts": "0", "elements": "0", "paper": page.paper,
					"images": strconv.Itoa(len(figures(p.blocks))), "tables": strconv.Itoa(countTables(p.blocks)),
				} {
					if frame[key] != want {
						t.Errorf("at width %s: %s is %q, want %q", frame["width"], key, frame[key], want)
					}
				}
			}
			if len(got) != 3 {
				t.Errorf("measured %d frames, want 3", len(got))
			}
		})
	}
}

// measureInBrowser returns what the harness wrote, a map for each frame.
func measureInBrowser(t *testing.T, chromium, page, scheme string) []map[string]string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "harness.html")
	content := `<!DOCTYPE html><script type="text/plain" id="page">` + strings.ReplaceAll(page, "</script", "<\\/script") + `</script>` + harness
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--blink-settings=preferredColorScheme="+scheme, "--window-size=1600,1000", "--virtual-time-budget=10000", "--dump-dom", "file://"+path)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	_, result, ok := strings.Cut(string(out), "RESULT ")
	if !ok {
		t.Fatalf("chromium measured nothing: %.500s", out)
	}
	result, _, _ = strings.Cut(result, " END")
	var frames []map[string]string
	for _, line := range strings.Split(html.UnescapeString(result), " | ") {
		frame := map[string]string{}
		for _, field := range strings.Split(line, ";") {
			key, value, _ := strings.Cut(field, "=")
			frame[key] = value
		}
		frames = append(frames, frame)
	}
	return frames
}

func countTables(blocks []block) int {
	n := 0
	for _, b := range blocks {
		if b.kind == tableBlock {
			n++
		}
		n += countTables(b.inside)
	}
	return n
}
