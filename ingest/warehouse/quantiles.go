package warehouse

import (
	"context"
	"fmt"
	"strings"

	"switchback/stats"
)

// byGroup are counts of rows by a group and a number: a bin or a value.
type byGroup map[string]map[int64]int64

func (b byGroup) add(group string, number, n int64) {
	if b[group] == nil {
		b[group] = map[int64]int64{}
	}
	b[group][number] += n
}

// byGroupRequest counts kept rows by group and value inside one bin of each group.
func (r *Rows) byGroupRequest(name, group, value string, bins map[string]int64) request {
	var pairs []string
	for _, g := range sortedNames(bins) {
		pairs = append(pairs, fmt.Sprintf("(%s, %d)", quote(g), bins[g]))
	}
	return request{
		name: name, selects: []string{group + " AS sb_group", number(nameValue), number("count()")},
		where: append(r.keptRows(), nameValue+" IS NOT NULL",
			fmt.Sprintf("(%s, toInt64(ifNull(%s, 0))) IN (%s)", group, nameBin, strings.Join(pairs, ", "))),
		groupBy: []string{"sb_group", nameValue}, places: r.layout.places(), value: value,
	}
}

func (r *Rows) askByGroup(ctx context.Context, q request) (byGroup, error) {
	type row struct {
		group     string
		number, n int64
	}
	found, err := ask(ctx, r.survey, q, func(scan func(...any) error) (f row, err error) { return f, scan(&f.group, &f.number, &f.n) })
	if err != nil {
		return nil, err
	}
	counts := byGroup{}
	for _, f := range found {
		counts.add(f.group, f.number, f.n)
	}
	return counts, nil
}

// quantiles returns the quantile of each group, of type 1, from the rows by group and bin. An infinite one is left out.
func (r *Rows) quantiles(ctx context.Context, name, group, value string, perMille int, bins byGroup) (map[string]int64, error) {
	inside, ranks, out := map[string]int64{}, map[string]int64{}, map[string]int64{}
	for _, g := range sortedNames(bins) {
		bin, rank := locate(bins[g], perMille)
		switch bin {
		case int64(stats.BinInf):
		case int64(stats.BinZero):
			out[g] = 0
			inside[g], ranks[g] = bin, rank // values up to 0 may be below it
		default:
			inside[g], ranks[g] = bin, rank
		}
	}
	if len(inside) == 0 {
		return out, nil
	}
	values, err := r.askByGroup(ctx, r.byGroupRequest(name+", values inside the touched bins", group, value, inside))
	if err != nil {
		return nil, err
	}
	for _, g := range sortedNames(inside) {
		rank := ranks[g]
		for _, v := range sortedKeys(values[g]) {
			if rank -= values[g][v]; rank <= 0 {
				out[g] = v
				break
			}
		}
	}
	return out, nil
}

// locate finds the bin of a quantile and the quantile's rank among the bin's rows.
func locate(bins map[int64]int64, perMille int) (bin, rank int64) {
	var n int64
	for _, count := range bins {
		n += count
	}
	rank = (n*int64(perMille) + 999) / 1000
	for _, bin = range sortedKeys(bins) {
		if rank <= bins[bin] {
			break
		}
		rank -= bins[bin]
	}
	return bin, rank
}
