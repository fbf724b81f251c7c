package stats

// Draws returns the pair weights of the bootstrap (or half-sample) draws of an analysis.
func Draws(half bool, seed uint64, pairs, draws int) [][]uint32 {
	set := bootstrapSet(seed, pairs, draws)
	if half {
		set = halfSampleSet(seed, pairs, draws)
	}
	var out [][]uint32
	for d := range draws {
		out = append(out, set.weights(0, d))
	}
	return out
}

// SetSize returns the number of members of an order's set.
func SetSize(order string, pairs []Pair) (float64, error) {
	set, err := newAssignments(order, "", pairs, 0)
	if err != nil {
		return 0, err
	}
	return set.size(), nil
}
