package stats

// verdict reads a headline effect: only an interval that excludes 0 says something.
func verdict(e Effect, better int) string {
	if e.Estimate == nil || e.Lo == nil || e.Hi == nil {
		return VerdictNotMeasurable
	}
	sign := 0
	switch {
	case *e.Lo > 0:
		sign = 1
	case *e.Hi < 0:
		sign = -1
	default:
		return VerdictNone
	}
	switch {
	case better == 0 && sign > 0:
		return VerdictHigher
	case better == 0:
		return VerdictLower
	case sign == better:
		return VerdictBetter
	}
	return VerdictWorse
}
