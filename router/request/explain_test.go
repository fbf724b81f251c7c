package request

import (
	"os"
	"testing"
)

func TestPrintExplain(t *testing.T) {
	mt, _ := os.ReadFile("testdata/market.toml")
	rt, _ := os.ReadFile("testdata/request.json")
	tr, err := Record(mt, "market.toml", rt, "request.json", 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(tr.Error)
	for _, s := range tr.Answer.Stages {
		h, rows := s.Table()
		t.Log(s.Model, s.RouterApplied, s.InputTokens, s.OutputTokens)
		t.Log(h)
		for _, r := range rows {
			t.Log(r)
		}
	}
	t.Logf("%+v", tr.Answer.Tries)
}
