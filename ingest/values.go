package ingest

import (
	"bytes"
	"math"
	"time"
)

// parsed says what became of the text of a value.
type parsed uint8

const (
	parsedValue  parsed = iota
	parsedFiller        // a word for "no value": unknown
	parsedBad           // unreadable: unknown, and worth a quality bit
)

// isFiller tells whether a text stands for a missing value in some log.
func isFiller(b []byte) bool {
	switch len(b) {
	case 0:
		return true
	case 1:
		return b[0] == '-'
	case 3:
		return bytes.EqualFold(b, []byte("nan")) || bytes.EqualFold(b, []byte("n/a"))
	case 4:
		return bytes.EqualFold(b, []byte("null")) || bytes.EqualFold(b, []byte("none"))
	case 8:
		return bytes.EqualFold(b, []byte("infinity"))
	case 9:
		return bytes.EqualFold(b, []byte("-infinity"))
	}
	return false
}

// parseDecimal reads a decimal number as a whole number of 10^-scale, exactly, rounding further digits half
// away from zero. It takes an exponent and never passes through a floating-point number. Its values stay below
// decimalLimit.
func parseDecimal(b []byte, scale int) (int64, parsed) {
	if v, n := leadingDecimal(b, scale); n > 0 && n == len(b) {
		return v, parsedValue
	}
	if isFiller(b) {
		return 0, parsedFiller
	}
	i, negative := 0, false
	if b[0] == '-' || b[0] == '+' {
		negative = b[0] == '-'
		i = 1
	}
	var mantissa int64 // of the digits so far
	digits, point, dropped := 0, 0, byte('0')
	exponent := 0
	seenPoint, seenDropped := false, false
	for ; i < len(b); i++ {
		c := b[i]
		switch {
		case c >= '0' && c <= '9':
			digits++
			if mantissa > decimalLimit/10 {
				// Beyond what fits: keep the first dropped digit for rounding, and count the others before the point.
				if !seenDropped {
					seenDropped, dropped = true, c
				}
				if !seenPoint {
					exponent++
				}
				continue
			}
			mantissa = mantissa*10 + int64(c-'0')
			if seenPoint {
				point++
			}
		case c == '.' && !seenPoint:
			seenPoint = true
		case (c == 'e' || c == 'E') && digits > 0:
			e, ok := parseExponent(b[i+1:])
			if !ok {
				return 0, parsedBad
			}
			exponent += e
			i = len(b)
		default:
			return 0, parsedBad
		}
	}
	if digits == 0 {
		return 0, parsedBad
	}
	v, ok := shift(mantissa, scale-point+exponent, dropped)
	if !ok {
		return 0, parsedBad
	}
	if negative {
		v = -v
	}
	return v, parsedValue
}

// leadingDecimal reads the digits at the beginning of a text, with up to scale decimals, as a whole number of 10^-scale, and
// tells how many bytes they have: none when there are more decimals, or more digits than fit.
func leadingDecimal(b []byte, scale int) (v int64, n int) {
	for n < len(b) && b[n]-'0' <= 9 {
		v = v*10 + int64(b[n]-'0')
		n++
	}
	if n == 0 || n+scale > 18 {
		return 0, 0
	}
	decimals := 0
	if n < len(b) && b[n] == '.' {
		whole := n + 1
		for n = whole; n < len(b) && b[n]-'0' <= 9; n++ {
			v = v*10 + int64(b[n]-'0')
		}
		if decimals = n - whole; decimals == 0 || decimals > scale {
			return 0, 0
		}
	}
	for ; decimals < scale; decimals++ {
		v *= 10
	}
	return v, n
}

// parseExponent reads the digits after an e. Absurd sizes are cut to a bound that overflows later.
func parseExponent(b []byte) (int, bool) {
	i, negative := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		i = 1
	}
	if i == len(b) {
		return 0, false
	}
	e := 0
	for ; i < len(b); i++ {
		if b[i] < '0' || b[i] > '9' {
			return 0, false
		}
		e = min(e*10+int(b[i]-'0'), 10_000)
	}
	if negative {
		e = -e
	}
	return e, true
}

// shift multiplies by a power of ten and rounds half away from zero; next is the digit that follows v.
func shift(v int64, power int, next byte) (int64, bool) {
	if v == 0 && next == '0' {
		return 0, true
	}
	for ; power > 0; power-- {
		if v >= decimalLimit/10 {
			return 0, false
		}
		v *= 10
	}
	for ; power < 0 && v != 0; power++ {
		next = byte('0' + v%10)
		v /= 10
	}
	if power < 0 { // even the first digit is far below the unit
		next = '0'
	}
	if next >= '5' {
		v++
	}
	return v, v < decimalLimit
}

// parseWhole reads a whole number; 832.0 is one, 1.5 is not.
func parseWhole(b []byte) (int64, parsed) {
	if n := len(b); n > 0 && n <= 18 {
		var v int64
		for _, c := range b {
			if c < '0' || c > '9' {
				return parseWholeSlow(b)
			}
			v = v*10 + int64(c-'0')
		}
		return v, parsedValue
	}
	return parseWholeSlow(b)
}

func parseWholeSlow(b []byte) (int64, parsed) {
	v, p := parseDecimal(b, 0)
	if p != parsedValue {
		return v, p
	}
	if tenths, q := parseDecimal(b, 1); q != parsedValue || tenths != v*10 {
		return 0, parsedBad
	}
	return v, parsedValue
}

// parseBool reads true, false, 1, 0 and their spellings with capitals.
func parseBool(b []byte) (int64, parsed) {
	switch {
	case len(b) == 1 && b[0] == '1', bytes.EqualFold(b, []byte("true")):
		return 1, parsedValue
	case len(b) == 1 && b[0] == '0', bytes.EqualFold(b, []byte("false")):
		return 0, parsedValue
	case isFiller(b):
		return 0, parsedFiller
	}
	return 0, parsedBad
}

// parseInstant reads RFC 3339 and `YYYY-MM-DD HH:MM:SS[.f]` as microseconds since the epoch. Without a zone it
// is UTC; digits past the microsecond are cut.
func parseInstant(b []byte) (int64, bool) {
	if len(b) < 19 || b[4] != '-' || b[7] != '-' || b[10] != 'T' && b[10] != ' ' && b[10] != 't' || b[13] != ':' || b[16] != ':' {
		return 0, false
	}
	year, ok1 := twoDigits(b[0:])
	year2, ok2 := twoDigits(b[2:])
	month, ok3 := twoDigits(b[5:])
	day, ok4 := twoDigits(b[8:])
	hour, ok5 := twoDigits(b[11:])
	minute, ok6 := twoDigits(b[14:])
	second, ok7 := twoDigits(b[17:])
	year = year*100 + year2
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6 && ok7) || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	rest := b[19:]
	micros := int64(0)
	if len(rest) > 0 && (rest[0] == '.' || rest[0] == ',') {
		n := 1
		for unit := int64(100_000); n < len(rest) && rest[n] >= '0' && rest[n] <= '9'; n++ {
			micros += unit * int64(rest[n]-'0')
			unit /= 10
		}
		if n == 1 {
			return 0, false
		}
		rest = rest[n:]
	}
	offset, ok := parseZone(rest)
	if !ok {
		return 0, false
	}
	seconds := daysSinceEpoch(year, month, day)*86_400 + int64(hour*3600+minute*60+second) - offset
	return seconds*1e6 + micros, true
}

func twoDigits(b []byte) (int, bool) {
	tens, ones := b[0]-'0', b[1]-'0'
	return int(tens)*10 + int(ones), tens <= 9 && ones <= 9
}

// parseZone reads what follows the seconds: nothing, Z, +HH:MM, +HHMM or +HH, in seconds east of UTC.
func parseZone(b []byte) (int64, bool) {
	if len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) == 1 && (b[0] == 'Z' || b[0] == 'z') || string(b) == "UTC" {
		return 0, true
	}
	if b[0] != '+' && b[0] != '-' {
		return 0, false
	}
	sign := int64(1)
	if b[0] == '-' {
		sign = -1
	}
	digits := b[1:]
	if len(digits) == 5 && digits[2] == ':' {
		digits = []byte{digits[0], digits[1], digits[3], digits[4]}
	}
	if len(digits) != 2 && len(digits) != 4 {
		return 0, false
	}
	hours, ok := twoDigits(digits)
	minutes := 0
	if ok && len(digits) == 4 {
		minutes, ok = twoDigits(digits[2:])
	}
	return sign * int64(hours*3600+minutes*60), ok && hours <= 23 && minutes <= 59
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSinceEpoch counts days since 1970-01-01 in the Gregorian calendar, by counting years from March so that
// the leap day is the last one.
func daysSinceEpoch(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	leaps := year/4 - year/100 + year/400
	return int64(year*365+leaps+(153*(month-3)+2)/5+day) - 719_469
}

// clock tells which arrival times are plausible.
type clock struct{ earliest, latest int64 }

// newClock accepts 2015 up to one day after now. Without a now, up to the year 2200.
func newClock(now time.Time) clock {
	c := clock{earliest: time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro(), latest: math.MaxInt64}
	if now.IsZero() {
		now = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	c.latest = now.Add(24 * time.Hour).UnixMicro()
	return c
}

func (c clock) plausible(micros int64) bool { return micros >= c.earliest && micros <= c.latest }
