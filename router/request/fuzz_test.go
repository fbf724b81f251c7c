package request

import (
	"encoding/json"
	"testing"
)

// Whatever the bytes, parsing ends with a request or an error, and a provider object that was read prints to one that reads the same.
func FuzzParseRequest(f *testing.F) {
	for _, name := range []string{"request.json", "request-auto.toml", "request-order.json"} {
		f.Add(read(f, name))
	}
	f.Add([]byte(`{"model":"m","provider":{"sort":{"by":"price","partition":"none"},"max_price":{"prompt":"1e3"},"preferred_max_latency":{"p99":3}}}`))
	f.Add([]byte("model = 'm'\n[provider]\nonly = ['a/b']\n"))
	market, err := ParseMarket(read(f, "market.toml"), "market.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := ParseRequest(data, "fuzz")
		if err != nil {
			return
		}
		text, err := json.Marshal(b.Provider)
		if err != nil {
			t.Fatal(err)
		}
		p, err := ParsePreferences(text, "printed")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, err := json.Marshal(p); err != nil || string(again) != string(text) {
			t.Fatalf("printed %s, then %s (%v)", text, again, err)
		}
		if x, err := Explain(market, b, 1); err == nil {
			if _, err := json.Marshal(x); err != nil {
				t.Fatalf("explanation does not print: %v", err)
			}
		}
	})
}

// Whatever the bytes, parsing ends with a market or an error, and a market that was read can be explained without NaN or Inf.
func FuzzParseMarket(f *testing.F) {
	f.Add(read(f, "market.toml"))
	f.Add([]byte(shop))
	f.Add([]byte(`{"schema_version":1,"router":{"share":{"floor":0}},"models":[{"id":"m","endpoints":[{"slug":"a","price":{"input":0,"output":0}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMarket(data, "fuzz")
		if err != nil {
			return
		}
		for i := range m.Models {
			x, err := Explain(m, &Body{Model: m.Models[i].ID}, 1)
			if err != nil {
				continue
			}
			if _, err := json.Marshal(x); err != nil {
				t.Fatalf("explanation does not print: %v", err)
			}
		}
	})
}

// A trace from elsewhere is an error or replays; it never panics.
func FuzzReplay(f *testing.F) {
	trace, err := Record(read(f, "market.toml"), "market.toml", read(f, "request.json"), "request.json", 7)
	if err != nil {
		f.Fatal(err)
	}
	text, err := json.Marshal(trace)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema_version":1}`))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = Replay(data, "fuzz") })
}
