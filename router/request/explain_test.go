package request

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// The example market and requests, explained.
func TestExplainGolden(t *testing.T) {
	for _, request := range []string{"request.json", "request-auto.toml", "request-order.json"} {
		trace, err := Record(read(t, "market.toml"), "market.toml", read(t, request), request, 7)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for i := range trace.Answer.Stages {
			s := &trace.Answer.Stages[i]
			fmt.Fprintf(&b, "%s, about %.0f tokens in and %.0f out, router applied: %v\n", s.Model, s.InputTokens, s.OutputTokens, s.RouterApplied)
			header, rows := s.Table()
			for _, row := range append([][]string{header}, rows...) {
				b.WriteString("  " + strings.Join(row, " | ") + "\n")
			}
		}
		for i, try := range trace.Answer.Tries {
			fmt.Fprintf(&b, "%d. %s at %s (%s)\n", i+1, try.Endpoint, try.Model, try.How)
		}
		fmt.Fprintf(&b, "pinned %v, left %q, notes %v\n", trace.Answer.Pinned, trace.Answer.Left, trace.Answer.Notes)
		golden := strings.SplitN(request, ".", 2)[0] + ".golden"
		if *update {
			if err := os.WriteFile("testdata/"+golden, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if d := cmp.Diff(string(read(t, golden)), b.String()); d != "" {
			t.Errorf("%s (-update writes it):\n%s", golden, d)
		}
	}
}

// The terms of a row add up to its Routing Cost, and the shares to 1.
func TestExplainAddsUp(t *testing.T) {
	trace, err := Record(read(t, "market.toml"), "market.toml", read(t, "request.json"), "request.json", 7)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range trace.Answer.Stages {
		total := 0.0
		for _, e := range s.Endpoints {
			total += e.Share
			if got := (e.PriceUSD + e.WaitUSD + e.TTFTUSD + e.RateLimitUSD) * e.Reliability / e.Quality; math.Abs(got-e.CostUSD) > 1e-12 {
				t.Errorf("%s: terms make %v, Routing Cost is %v", e.Slug, got, e.CostUSD)
			}
			if !e.Eligible && (e.Share != 0 || e.Out == "") {
				t.Errorf("%s is out with share %v and reason %q", e.Slug, e.Share, e.Out)
			}
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("%s: shares sum to %v", s.Model, total)
		}
	}
}

// A trace replays to the same answer; a changed one doesn't go unnoticed.
func TestReplay(t *testing.T) {
	trace, err := Record(read(t, "market.toml"), "market.toml", read(t, "request.json"), "request.json", 12345)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(trace, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Replay(text, "trace.json")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(trace.Answer, again); d != "" {
		t.Error(d)
	}
	for name, c := range map[string][3]string{
		"other seed":    {`"seed": 12345`, `"seed": 12346`, "the answer differs"},
		"other price":   {`input = 0.30, output = 1.20`, `input = 0.31, output = 1.20`, "the answer differs"},
		"other version": {`"schema_version": 1,` + "\n" + `  "seed"`, `"schema_version": 9,` + "\n" + `  "seed"`, "9 is not known"},
		"unknown key":   {`"market_file"`, `"market_fill"`, "unknown field"},
		"not JSON":      {`"market_file":`, `"market_file"`, "not valid JSON"},
	} {
		changed := bytes.Replace(text, []byte(c[0]), []byte(c[1]), 1)
		if bytes.Equal(changed, text) {
			t.Fatalf("%s: nothing changed", name)
		}
		if _, err := Replay(changed, "trace.json"); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s: got %v, want %q", name, err, c[2])
		}
	}
}

// That nobody can serve is recorded and replayed too.
func TestReplayOfNobody(t *testing.T) {
	trace, err := Record(read(t, "market.toml"), "market.toml", []byte(`{"model": "qwen/qwen3-235b", "provider": {"zdr": true}}`), "r.json", 1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(trace.Error, "404: ") || trace.Answer != nil {
		t.Errorf("trace %+v, want a 404", trace)
	}
	text, err := json.Marshal(trace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(text, "trace.json"); err != nil {
		t.Error(err)
	}
}

// Every try that costs more than the one before is marked and counted.
func TestExplainStepUps(t *testing.T) {
	trace, err := Record(read(t, "market.toml"), "market.toml", []byte(`{"model": "minimax/minimax-m3", "provider": {"order": ["together", "gmicloud", "novita"]}}`), "r.json", 1)
	if err != nil {
		t.Fatal(err)
	}
	up := 0
	for i, try := range trace.Answer.Tries {
		dearer := i > 0 && try.PriceUSD > trace.Answer.Tries[i-1].PriceUSD
		if try.StepUp != dearer {
			t.Errorf("try %d at %s: step up %v, want %v", i+1, try.Endpoint, try.StepUp, dearer)
		}
		if dearer {
			up++
		}
	}
	if up == 0 || trace.Answer.StepUps != up || trace.Answer.Tries[1].StepUp || !trace.Answer.Tries[2].StepUp {
		t.Errorf("%d steps up counted, %d seen", trace.Answer.StepUps, up)
	}
}

// A conversation stays where it was, and says why when it leaves.
func TestExplainConversation(t *testing.T) {
	for conversation, want := range map[string]string{
		`{"endpoint": "together", "idle_s": 30, "warm": true}`:                             "true ",
		`{"endpoint": "together", "idle_s": 30, "warm": false}`:                            "false cold",
		`{"endpoint": "together", "idle_s": 700, "warm": true}`:                            "false idle",
		`{"endpoint": "streamlake", "idle_s": 30, "warm": true}`:                           "false rate-limited",
		`{"endpoint": "gmicloud/fp8", "idle_s": 30, "warm": true}`:                         "false filtered",
		`{"endpoint": "closed-down", "idle_s": 30, "warm": true}`:                          "false gone",
		`{"model": "qwen/qwen3-235b", "endpoint": "cerebras", "idle_s": 30, "warm": true}`: "false other-model",
	} {
		request := `{"model": "minimax/minimax-m3", "provider": {"data_collection": "deny"}, "conversation": ` + conversation + `}`
		trace, err := Record(read(t, "market.toml"), "market.toml", []byte(request), "r.json", 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(trace.Answer.Pinned, " ", trace.Answer.Left); got != want {
			t.Errorf("%s: %q, want %q", conversation, got, want)
		}
	}
}
