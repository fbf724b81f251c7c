package ingest

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDecimal(t *testing.T) {
	for _, c := range []struct {
		text  string
		scale int
		want  int64
		state parsed
	}{
		{"0", 3, 0, parsedValue}, {"812", 3, 812_000, parsedValue}, {"0.0005", 3, 1, parsedValue}, {"0.00049", 3, 0, parsedValue},
		{"-0.0005", 3, -1, parsedValue}, {"1.2345678905", 9, 1_234_567_891, parsedValue}, {"1e3", 3, 1_000_000, parsedValue},
		{"1.5E-3", 6, 1500, parsedValue}, {".5", 3, 500, parsedValue}, {"5.", 3, 5000, parsedValue}, {"+7", 0, 7, parsedValue},
		{"0.00127978", 9, 1_279_780, parsedValue}, {"1793696398.25", 6, 1_793_696_398_250_000, parsedValue},
		{"999999999999999.999", 3, 999_999_999_999_999_999, parsedValue},
		{"1000000000000000", 3, 0, parsedBad}, {"1e400", 3, 0, parsedBad}, {"1e-400", 3, 0, parsedValue},
		{"0e400", 3, 0, parsedValue}, {"9223372036854775808", 0, 0, parsedBad}, {"1e", 3, 0, parsedBad},
		{"1.2.3", 3, 0, parsedBad}, {"abc", 3, 0, parsedBad}, {".", 3, 0, parsedBad}, {"1 2", 3, 0, parsedBad},
		{"", 3, 0, parsedFiller}, {"N/A", 3, 0, parsedFiller}, {"None", 3, 0, parsedFiller}, {"Infinity", 3, 0, parsedFiller},
		{"NaN", 3, 0, parsedFiller}, {"null", 3, 0, parsedFiller},
		{"123456789012345678901234567890e-20", 3, 1_234_567_890_123, parsedValue},
	} {
		if got, state := parseDecimal([]byte(c.text), c.scale); got != c.want || state != c.state {
			t.Errorf("parseDecimal(%q, %d) = %d, %d, want %d, %d", c.text, c.scale, got, state, c.want, c.state)
		}
	}
}

// The rational number that the text says, rounded half away from zero, is the truth.
func TestParseDecimalIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,12}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,2})?`).Draw(t, "text")
		scale := rapid.SampledFrom([]int{0, 3, 6, 9}).Draw(t, "scale")
		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Skip("not a number of package big")
		}
		exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)))
		half := big.NewRat(1, 2)
		if exact.Sign() < 0 {
			half.Neg(half)
		}
		exact.Add(exact, half)
		want := new(big.Int).Quo(exact.Num(), exact.Denom()) // cut towards zero
		got, state := parseDecimal([]byte(text), scale)
		if want.CmpAbs(big.NewInt(decimalLimit)) >= 0 {
			if state != parsedBad {
				t.Fatalf("parseDecimal(%q, %d) = %d, want it refused", text, scale, got)
			}
		} else if state != parsedValue || got != want.Int64() {
			t.Fatalf("parseDecimal(%q, %d) = %d (%d), want %v", text, scale, got, state, want)
		}
	})
}

func TestParseWhole(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "832": 832, "832.0": 832, "-3": -3, "1e3": 1000, "999999999999999999": 999999999999999999} {
		if got, state := parseWhole([]byte(text)); got != want || state != parsedValue {
			t.Errorf("parseWhole(%q) = %d, %d", text, got, state)
		}
	}
	for _, text := range []string{"1.5", "9223372036854775808", "12a", "1e400", "0x10"} {
		if got, state := parseWhole([]byte(text)); state != parsedBad {
			t.Errorf("parseWhole(%q) = %d, %d, want it refused", text, got, state)
		}
	}
}

func TestParseInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-03T08:59:58.250Z":         "2026-11-03T08:59:58.25Z",
		"2026-11-03T08:59:58.250000+00:00": "2026-11-03T08:59:58.25Z",
		"2026-11-03 08:59:58.250":          "2026-11-03T08:59:58.25Z",
		"2023-11-16 18:17:03.9799600":      "2023-11-16T18:17:03.97996Z",
		"2026-11-03T08:59:58.1234567Z":     "2026-11-03T08:59:58.123456Z",
		"2026-10-25T02:30:00+02:00":        "2026-10-25T00:30:00Z", // the hour that summer time repeats
		"2026-10-25T02:30:00+01:00":        "2026-10-25T01:30:00Z",
		"2024-02-29T00:00:00-0530":         "2024-02-29T05:30:00Z",
		"2026-11-03T08:59:58 UTC":          "2026-11-03T08:59:58Z",
		"2026-11-03t08:59:58z":             "2026-11-03T08:59:58Z",
	} {
		got, ok := parseInstant([]byte(text))
		if s := time.UnixMicro(got).UTC().Format(time.RFC3339Nano); !ok || s != want {
			t.Errorf("parseInstant(%q) = %s, %v, want %s", text, s, ok, want)
		}
	}
	for _, text := range []string{"", "2026-11-03", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-11-03T24:00:00Z", "2026-11-03T08:59:60Z",
		"1793696398", "2026-11-03T08:59:58.Z", "2026-11-03T08:59:58Zjunk", "2026-11-03T08:59:58+2", "20x6-11-03T08:59:58Z"} {
		if got, ok := parseInstant([]byte(text)); ok {
			t.Errorf("parseInstant(%q) = %d, want it refused", text, got)
		}
	}
}

// Package time is the truth for every instant that both read.
func TestParseInstantAgreesWithPackageTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-2_000_000_000_000_000, 7_000_000_000_000_000).Draw(t, "micros"))
		zone := time.FixedZone("", 60*rapid.IntRange(-14*60, 14*60).Draw(t, "minutes"))
		text := at.In(zone).Format(time.RFC3339Nano)
		if got, ok := parseInstant([]byte(text)); !ok || got != at.UnixMicro() {
			t.Fatalf("parseInstant(%q) = %d, %v, want %d", text, got, ok, at.UnixMicro())
		}
	})
}
