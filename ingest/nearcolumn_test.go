package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNearColumn(t *testing.T) {
	for name, want := range map[string]string{
		"ttft": "ttft_ms", "TTFT_MS": "ttft_ms", "cost": "cost_usd", "timestamp": "ts", "created_at": "ts", "Request-ID": "request_id", "ouput_tokens": "output_tokens", "model": "model",
		"caller_ttft": "caller_ttft_ms", "input": "input_tokens", "modle": "model", "stats": "status", "x": "", "": "", "tz": "", "note": "", "ttft_s": "", "région": "",
	} {
		if got := nearColumn(name); got != want {
			t.Errorf("%q is taken for %q, want %q", name, got, want)
		}
	}
	for _, to := range otherNames() {
		if newCanonicalColumns().find([]byte(to)) < 0 {
			t.Errorf("%s is no column", to)
		}
	}
	for _, name := range []string{"a", "ab", "abc"} {
		if oneLetterOff(name, name+"xy") || !oneLetterOff(name, name+"x") || !oneLetterOff("x"+name, name) {
			t.Errorf("distances from %s", name)
		}
	}
}

// What a file almost is, is said, and what to do about it.
func TestUnrecognisedFilesSayWhatTheyLookLike(t *testing.T) {
	const record = `"request_id":"a","ts":"2026-11-16T00:01:00Z"`
	for _, c := range []struct{ name, text, format, reason, hint string }{
		{"renamed", "request_id,timestamp,model,ttft\na,2026-11-16T00:01:00Z,m,1\n", FormatAuto, "looks canonical, but column ts is missing (it has timestamp); its first line", "rename timestamp to ts"},
		{"forced", "request_id,timestamp,model,ttft\na,2026-11-16T00:01:00Z,m,1\n", FormatCanonical, "not in the format canonical: looks canonical, but column ts is missing", "rename timestamp to ts"},
		{"among many of its own", "id,Model,time,x,y,z,w,v\n1,m,3\n", FormatAuto, "column request_id is missing (it has id), column ts is missing (it has time), column model is missing (it has Model)", "rename id to request_id, time to ts, Model to model"},
		{"without a column", "request_id,ts,ttft_ms\na,2026-11-16T00:01:00Z,1\n", FormatAuto, "column model is missing;", "at least request_id, ts, model"},
		{"semicolons", "request_id;ts;model\na;2026-11-16T00:01:00Z;m\n", FormatAuto, "its fields are separated by semicolons, not by commas", "CSV with commas"},
		{"tabs", "request_id\tts\tmodel\na\t2026-11-16T00:01:00Z\tm\n", FormatAuto, "its fields are separated by tabs", "CSV with commas"},
		{"array", "[{" + record + `,"model":"m"}]`, FormatAuto, "a JSON array; canonical JSON has one object per line", "jq -c"},
		{"keys", "{" + record + `,"model_name":"m"}`, FormatAuto, "key model is missing (it has model_name)", "rename model_name to model"},
		{"nothing alike", "a,b\n1,2\n", FormatAuto, `no known log format; its first line is "a,b"`, "a canonical log has at least"},
		{"another format", "request_id,ts,model\na,2026-11-16T00:01:00Z,m\n", "helicone", "not in the format helicone; its first line", "it looks like canonical"},
	} {
		o := loadOptions()
		o.Format = c.format
		path := writeFile(t, filepath.Join(t.TempDir(), "log"), []byte(c.text))
		_, loadErr := LoadFiles(t.Context(), openTemp(t), []string{path}, o)
		_, faults, err := Inspect(t.Context(), []string{path}, o)
		if err != nil || len(faults) != 1 {
			t.Errorf("%s: faults %v, %v", c.name, faults, err)
			continue
		}
		for _, err := range []error{loadErr, faults[0]} {
			if !strings.Contains(err.Error(), c.reason) || !strings.Contains(Hint(err), c.hint) {
				t.Errorf("%s: %v, hint %q; want %s, %s", c.name, err, Hint(err), c.reason, c.hint)
			}
		}
	}
}

// Columns that are not read are named with the ones that may be meant, unless those are there too.
func TestUnknownColumnsOfCanonicalLogs(t *testing.T) {
	const header, row = "request_id,ts,model,ttft,cost,cost_usd,foo", "a,2026-11-03T00:01:00Z,m,1,2,3,4"
	dir := t.TempDir()
	text := writeFile(t, filepath.Join(dir, "a.csv"), []byte(header+"\n"+row+"\n"))
	columns := filepath.Join(dir, "a.parquet")
	if _, err := openTemp(t).db.Exec("COPY (FROM read_csv(" + quote(text) + ")) TO " + quote(columns) + " (FORMAT parquet)"); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, columns} {
		const want = "ttft (did you mean ttft_ms?), cost, foo"
		if warnings := mustLoad(t, openTemp(t), path).Files[0].Warnings; len(warnings) != 1 || warnings[0] != "unknown columns: "+want {
			t.Errorf("%s: warnings %q", path, warnings)
		}
		heads, faults, err := Inspect(t.Context(), []string{path}, loadOptions())
		if err != nil || len(faults) > 0 || heads[0].Unknown != want {
			t.Errorf("%s: %+v, %v, %v", path, heads, faults, err)
		}
	}
}

// A name without a file says where it was looked for.
func TestNamesWithoutAFile(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "log-1.csv"), nil)
	writeFile(t, filepath.Join(dir, "b.csv.gz"), nil)
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"lgo-1.csv": "looked in " + dir + "; did you mean log-1.csv?", "b.csv": "did you mean b.csv.gz?", "nothing.csv": "looked in " + dir, "none-*": "looked in " + dir,
		"absent/a.csv": "absent, which is no folder that can be read", "logs": "name the files in it, such as " + filepath.Join(dir, "logs", "*"), "a[": "* stands for any text",
	} {
		_, err := LoadFiles(t.Context(), openTemp(t), []string{filepath.Join(dir, name)}, loadOptions())
		if !strings.Contains(Hint(err), want) {
			t.Errorf("%s: %v, hint %q, want %q", name, err, Hint(err), want)
		}
	}
}
