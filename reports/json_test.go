package reports

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"switchback/stats"
)

func TestJSONRoundTrip(t *testing.T) {
	for name, doc := range map[string]Document{
		"normal": normalDocument(), "provisional": provisionalDocument(), "incomplete": incompleteDocument(), "degenerate": degenerateDocument(),
	} {
		first, err := Encode(doc)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		back, err := Decode(bytes.NewReader(first))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(listsOf(doc), back); diff != "" {
			t.Errorf("%s: read back differently (-written +read):\n%s", name, diff)
		}
		second, err := Encode(back)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(first, second) {
			t.Errorf("%s: written again, the bytes differ", name)
		}
	}
}

func TestListsAreNeverNull(t *testing.T) {
	b, err := Encode(degenerateDocument())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"metrics", "warnings", "notes", "excluded", "checks", "inputs", "guardrails", "missing_blocks", "rejects"} {
		if bytes.Contains(b, []byte(`"`+key+`": null`)) {
			t.Errorf("%s is null", key)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := Encode(normalDocument())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, in, want string }{
		{"unknown field", strings.Replace(string(good), `"experiment"`, `"experimnt"`, 1), `unknown field "experimnt"`},
		{"other schema", strings.Replace(string(good), `"schema_version": 1`, `"schema_version": 9`, 1), "schema_version: is 9"},
		{"two documents", string(good) + "{}", "more data after the document"},
		{"cut off", string(good[:len(good)/2]), "decode results"},
		{"empty", "", "decode results"},
		{"row twice", strings.Replace(string(good), `"id": "ttft_p95"`, `"id": "ttft_p50"`, 1), "ttft_p50 in scope overall comes twice"},
		{"verdict", strings.Replace(string(good), `"verdict": "better"`, `"verdict": "no effect"`, 1), `unknown verdict "no effect"`},
	} {
		if _, err := Decode(strings.NewReader(c.in)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestRenderNamesWhatIsNotFinite(t *testing.T) {
	doc := normalDocument()
	doc.Metrics[3].Relative.Lo = ptr(math.NaN())
	doc.Diagnostics.Health.Nulls[0].Control = ptr(math.Inf(-1))
	files, err := Render(doc, Options{})
	if err == nil || files != nil {
		t.Fatalf("rendered %d files, error %v", len(files), err)
	}
	for _, want := range []string{"Metrics[3].Relative.Lo", "Diagnostics.Health.Nulls[0].Control"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}

func TestValidateListsAllProblems(t *testing.T) {
	doc := Document{Metrics: []stats.Estimate{{}}}
	err := doc.Validate()
	if err == nil {
		t.Fatal("an empty document passed")
	}
	for _, want := range []string{"schema_version", "arms", "report_date", "method.confidence", "metrics[0]"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not name %s", err, want)
		}
	}
}
