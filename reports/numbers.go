package reports

import (
	"math"
	"strconv"
	"strings"
	"time"

	"switchback/experiment"
)

const (
	minus       = "−" // U+2212, as wide as a plus
	maxDecimals = 6
	notKnown    = "n/a"
)

func day(t time.Time) string     { return t.UTC().Format(time.DateOnly) }
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// minuteOf prints an instant as people read it in a table: 2026-11-02 03:00.
func minuteOf(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// seconds prints a length of time as people say it: 3 h, 1 h 30 min, 45 s.
func seconds(s int64) string { return experiment.Length(time.Duration(s) * time.Second) }

// decimals returns how many decimals show that many significant digits of a width: the two-digit rule gives 13.9 for a
// number whose interval is 5.9 wide, and 67 for one whose interval is 10 wide. Zero and unknown widths give fallback.
func decimals(width float64, digits, fallback int) int {
	width = math.Abs(width)
	if width == 0 || math.IsInf(width, 0) || math.IsNaN(width) {
		return fallback
	}
	d := digits - 1 - int(math.Floor(math.Log10(width)+1e-9))
	return min(max(d, 0), maxDecimals)
}

// fixed prints x with that many decimals, thousands separated by commas and a typographic minus. It never prints minus zero.
func fixed(x float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(x), 'f', decimals, 64)
	whole, fraction, _ := strings.Cut(s, ".")
	out := thousands(whole)
	if fraction != "" {
		out += "." + fraction
	}
	if x < 0 && strings.Trim(s, "0.") != "" {
		out = minus + out
	}
	return out
}

// signed is fixed with a plus before positive numbers.
func signed(x float64, decimals int) string {
	s := fixed(x, decimals)
	if x > 0 && strings.Trim(s, "0.,") != "" {
		return "+" + s
	}
	return s
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// whole prints a count.
func whole(n int64) string {
	if n < 0 {
		return minus + thousands(strconv.FormatUint(uint64(-n), 10))
	}
	return thousands(strconv.FormatInt(n, 10))
}

// threeDigits returns the decimals that show three significant digits of x.
func threeDigits(x float64) int { return decimals(x, 3, 2) }

// visible raises decimals until x does not print as zero, up to maxDecimals.
func visible(x float64, decimals int) int {
	for x != 0 && decimals < maxDecimals && strings.Trim(fixed(x, decimals), "0.,"+minus) == "" {
		decimals++
	}
	return decimals
}

// share prints a fraction as a percentage with one decimal, more when it would print as zero.
func share(x *float64) string {
	if x == nil {
		return notKnown
	}
	return fixed(100**x, visible(100**x, 1)) + "%"
}

// portion prints n of total as a percentage.
func portion(n, total int64) string {
	if total == 0 {
		return notKnown
	}
	f := float64(n) / float64(total)
	return share(&f)
}

// probability prints a p-value with two significant digits, and never as zero.
func probability(p *float64) string {
	switch {
	case p == nil:
		return notKnown
	case *p < 0.0001:
		return "< 0.0001"
	default:
		return fixed(*p, max(2, decimals(*p, 2, 2)))
	}
}

// opt prints a number that may be unknown.
func opt[T any](x *T, print func(T) string) string {
	if x == nil {
		return notKnown
	}
	return print(*x)
}

// percentOf prints a fraction as a percentage with the decimals it needs: 0.95 is "95%", 0.995 is "99.5%".
func percentOf(fraction float64) string {
	return strconv.FormatFloat(math.Round(fraction*1e8)/1e6, 'f', -1, 64) + "%"
}
