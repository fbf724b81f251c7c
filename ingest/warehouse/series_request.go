package warehouse

import (
	"fmt"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/ext"
	"github.com/ClickHouse/clickhouse-go/v2/lib/column"

	"switchback/ingest/rules"
	"switchback/stats"
)

// clientsRequest asks for the largest clients. Those of rows that are taken of several are added before.
func (r *Rows) clientsRequest(n int) request {
	client := rules.ClickHouseName("client_id")
	return request{
		name: "largest clients", selects: []string{"ifNull(" + client + ", '') AS sb_by_client", number("count()") + " AS sb_n"},
		where: append(r.keptRows(), client+" IS NOT NULL"), groupBy: []string{"sb_by_client"}, places: r.layout.places(),
		from: "SELECT sb_by_client, toInt64(sum(sb_n)) FROM %s GROUP BY sb_by_client ORDER BY sum(sb_n) DESC, sb_by_client LIMIT " + fmt.Sprint(n),
	}
}

// request begins a request about fragments.
func (s *Series) request(name string) request {
	return request{
		name: name, selects: []string{"toInt64(" + nameCell + ")"}, where: []string{nameCell + " >= 0", rules.NoCacheHit(s.rows.dialect())},
		groupBy: []string{nameCell}, places: s.rows.layout.places(), step: int64(s.step) * time.Minute.Microseconds(), clients: s.clients,
	}
}

// ratiosRequest counts every row by its time, and a kept one once more by its origin.
func (s *Series) ratiosRequest() request {
	r := s.request("sums by cell, minutes since the switch, and client")
	r.selects, r.groupBy = append(r.selects, nameSlice, number("count()")), append(r.groupBy, nameSlice)
	for _, m := range s.ratioMetrics() {
		r.selects = append(r.selects, number(m.Y), number(m.N))
	}
	return r
}

const byFragment = " by minutes since the switch and client"

// histogramRequest counts rows by clipped bin and fragment. The fragments stand last: what is worked out before them is
// worked out once for a row.
func (s *Series) histogramRequest(c *counted, m rules.Measure) (request, error) {
	r, err := s.numbersRequest("histogram of "+m.ID+byFragment, c, m)
	r.selects, r.groupBy = append(r.selects, number(nameClipped), nameSlice, number("count()")), append(r.groupBy, nameClipped, nameSlice)
	return r, err
}

// valuesRequest counts rows by value, time and origin, of the slices and bins that are touched.
func (s *Series) valuesRequest(c *counted, m rules.Measure, inside []touch) (request, error) {
	r, err := s.numbersRequest("values of "+m.ID+byFragment+" inside the touched bins", c, m)
	r.touched = inside
	var either []string
	for _, slice := range []string{nameStep, nameOrigin} {
		either = append(either, fmt.Sprintf("(toInt64(intDiv(%s, %d)), %s, %s) GLOBAL IN %s", nameCell, s.rows.layout.width(), slice, number(nameClipped), touchedTable))
	}
	r.where = append(r.where, "("+strings.Join(either, " OR ")+")")
	r.selects, r.groupBy = append(r.selects, nameStep, nameOrigin, number(nameValue), number("count()")), append(r.groupBy, nameStep, nameOrigin, nameValue)
	return r, err
}

// numbersRequest begins a request about the quantity of a metric.
func (s *Series) numbersRequest(name string, c *counted, m rules.Measure) (r request, err error) {
	r = s.request(name)
	if r.value, err = s.rows.quantity(m.Quantity); err != nil {
		return r, err
	}
	r.where = append(r.where, nameValue+" IS NOT NULL")
	for i := range r.places {
		if cell := r.places[i].cell; cell >= 0 {
			model, _ := s.rows.layout.place(int(cell))
			r.places[i].lo, r.places[i].hi = c.lo[model], c.hi[model]
		}
	}
	return r, nil
}

// touch names a clipped bin of one slice of a model of the window.
type touch struct {
	model int
	slice int64
	bin   int64
}

const touchedTable = "touched"

// externalTouched makes the table that travels with a query for values.
func externalTouched(touched []touch) (*ext.Table, error) {
	t, err := ext.NewTable(touchedTable, ext.Column("touched_model", column.Type("Int64")), ext.Column("touched_slice", column.Type("Int64")), ext.Column("touched_bin", column.Type("Int64")))
	if err != nil {
		return nil, err
	}
	for _, b := range touched {
		if err := t.Append(int64(b.model), b.slice, b.bin); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// coarse is how many bins are counted as one outside of a place's window.
const coarse = 8

// clipped is nameClipped in SQL. Values up to 0 and infinite ones keep their bins.
var clipped = rules.Let([]string{"b", "lo", "hi"}, []string{nameBin, "place_lo", "place_hi"},
	fmt.Sprintf("multiIf(b < 1 OR b = %[1]d, b, b < lo, greatest(1, intDiv(b, %[2]d) * %[2]d), b > hi, intDiv(b, %[2]d) * %[2]d + %[3]d, b)", stats.BinInf, coarse, coarse-1))

// clip is nameClipped of a bin. A larger bin never has a smaller one, and none outside of the window has one inside.
func clip(bin, lo, hi int32) int32 {
	switch {
	case bin < 1 || bin == stats.BinInf:
		return bin
	case bin < lo:
		return max(1, bin/coarse*coarse)
	case bin > hi:
		return bin/coarse*coarse + coarse - 1
	}
	return bin
}
