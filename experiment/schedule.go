package experiment

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ScheduleColumns returns the columns of a schedule file. Model stands last and only in per-model schedules.
func ScheduleColumns() []string {
	return []string{"block_id", "pair_id", "day", "slot", "arm", "starts", "ends", "burn_in_ends", "model"}
}

// Record returns the block as the values of ScheduleColumns.
func (b Block) Record() []string {
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
	return []string{b.ID, b.PairID, strconv.Itoa(b.Day), strconv.Itoa(b.Slot), b.Arm, stamp(b.Starts), stamp(b.Ends), stamp(b.BurnInEnds), b.Model}
}

// WriteCSV writes the plan as a schedule file.
func (p Plan) WriteCSV(w io.Writer) error {
	width := len(ScheduleColumns())
	if models := p.Models(); len(models) == 1 && models[0] == "" {
		width--
	}
	out := csv.NewWriter(w)
	if err := out.Write(ScheduleColumns()[:width]); err != nil {
		return fmt.Errorf("write schedule: %w", err)
	}
	for _, b := range p.Blocks {
		if err := out.Write(b.Record()[:width]); err != nil {
			return fmt.Errorf("write schedule: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write schedule: %w", err)
	}
	return nil
}

// ScheduleError is a fault in a schedule file.
type ScheduleError struct {
	File   string
	Line   int    // 0 when the fault is not in one line
	Column string // "" when the fault is not in one column
	Reason string
}

func (e *ScheduleError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	if e.Column != "" {
		b.WriteString(": " + e.Column)
	}
	return b.String() + ": " + e.Reason
}

// ReadPlan reads a schedule that really ran: a CSV file with a header and the columns of ScheduleColumns in any
// order, of which block_id, pair_id, arm, starts and ends are required. Days count from the first block's UTC day,
// slots number a day's blocks by start, and the burn-in is that of d, unless the file has these columns. name is
// used in errors, which are of type *ScheduleError.
func ReadPlan(r io.Reader, name string, arms Arms, d Design) (Plan, error) {
	fail := func(line int, column, format string, args ...any) (Plan, error) {
		return Plan{}, &ScheduleError{name, line, column, fmt.Sprintf(format, args...)}
	}
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	header, err := in.Read()
	if errors.Is(err, io.EOF) {
		return fail(0, "", "is empty")
	}
	if err != nil {
		return fail(1, "", "%v", csvReason(err))
	}
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	at := map[string]int{}
	for i, column := range header {
		column = strings.TrimSpace(column)
		if !slices.Contains(ScheduleColumns(), column) {
			return fail(1, column, "is not a column of a schedule; columns are %s", strings.Join(ScheduleColumns(), ", "))
		}
		if _, twice := at[column]; twice {
			return fail(1, column, "stands twice in the header")
		}
		at[column] = i
	}
	for _, column := range []string{"block_id", "pair_id", "arm", "starts", "ends"} {
		if _, ok := at[column]; !ok {
			return fail(1, column, "column is missing")
		}
	}

	plan := Plan{Arms: arms}
	lines := map[string]int{} // model + block id → line
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail(csvLine(err), "", "%v", csvReason(err))
		}
		line, _ := in.FieldPos(0)
		if len(record) != len(header) {
			return fail(line, "", "has %d fields, the header has %d", len(record), len(header))
		}
		b, bad := parseBlock(func(column string) string {
			if i, ok := at[column]; ok {
				return strings.TrimSpace(record[i])
			}
			return ""
		})
		switch {
		case bad != nil:
			return fail(line, bad.Field, "%s", bad.Reason)
		case b.Arm != arms.Control && b.Arm != arms.Treatment:
			return fail(line, "arm", "%q is neither the control %q nor the treatment %q", b.Arm, arms.Control, arms.Treatment)
		}
		key := b.Model + "\x00" + b.ID
		if first := lines[key]; first > 0 {
			return fail(line, "block_id", "%q stands in line %d already", b.ID, first)
		}
		lines[key] = line
		plan.Blocks = append(plan.Blocks, b)
	}
	if len(plan.Blocks) == 0 {
		return fail(0, "", "has no blocks")
	}
	lineOf := func(b Block) int { return lines[b.Model+"\x00"+b.ID] }
	slices.SortStableFunc(plan.Blocks, func(a, b Block) int {
		if c := strings.Compare(a.Model, b.Model); c != 0 {
			return c
		}
		return a.Starts.Compare(b.Starts)
	})
	origin, _ := plan.Window()
	for _, model := range plan.Models() {
		blocks := plan.ofModel(model)
		completeBlocks(blocks, origin.UTC().Truncate(day), d)
		for i := 1; i < len(blocks); i++ {
			if before := blocks[i-1]; blocks[i].Starts.Before(before.Ends) {
				return fail(lineOf(blocks[i]), "starts", "block %q starts before block %q of line %d ends", blocks[i].ID, before.ID, lineOf(before))
			}
		}
		members := map[string][]Block{}
		for _, b := range blocks {
			ms := append(members[b.PairID], b)
			members[b.PairID] = ms
			switch {
			case len(ms) > 2:
				return fail(lineOf(b), "pair_id", "pair %q has a third block", b.PairID)
			case len(ms) == 2 && ms[0].Arm == ms[1].Arm:
				return fail(lineOf(b), "arm", "both blocks of pair %q are of arm %q", b.PairID, b.Arm)
			}
		}
	}
	return plan, nil
}

// unset marks a day or slot that the file does not give.
const unset = -1

func parseBlock(field func(string) string) (Block, *Problem) {
	b := Block{ID: field("block_id"), PairID: field("pair_id"), Arm: field("arm"), Model: field("model"), Day: unset, Slot: unset}
	for _, required := range []struct{ column, value string }{{"block_id", b.ID}, {"pair_id", b.PairID}, {"arm", b.Arm}} {
		if required.value == "" {
			return b, &Problem{required.column, "is empty"}
		}
	}
	for _, number := range []struct {
		column string
		least  int
		to     *int
	}{{"day", 1, &b.Day}, {"slot", 0, &b.Slot}} {
		if text := field(number.column); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < number.least {
				return b, &Problem{number.column, fmt.Sprintf("%q is not a whole number from %d", text, number.least)}
			}
			*number.to = n
		}
	}
	for _, instant := range []struct {
		column   string
		required bool
		to       *time.Time
	}{{"starts", true, &b.Starts}, {"ends", true, &b.Ends}, {"burn_in_ends", false, &b.BurnInEnds}} {
		text := field(instant.column)
		if text == "" && !instant.required {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return b, &Problem{instant.column, fmt.Sprintf("%q is not an RFC 3339 instant such as 2026-11-02T03:00:00Z", text)}
		}
		*instant.to = t.UTC()
	}
	switch {
	case !b.Starts.Before(b.Ends):
		return b, &Problem{"ends", "is not after starts"}
	case b.Ends.Sub(b.Starts) < MinScheduled:
		return b, &Problem{"ends", fmt.Sprintf("is %s after starts; a block has at least %s", Length(b.Ends.Sub(b.Starts)), Length(MinScheduled))}
	case !b.BurnInEnds.IsZero() && (b.BurnInEnds.Before(b.Starts) || b.BurnInEnds.After(b.Ends)):
		return b, &Problem{"burn_in_ends", "is outside the block"}
	}
	return b, nil
}

// completeBlocks fills in days, slots and burn-ins that the file does not give. blocks are of one model, sorted by start.
// Slots are those of the time of day, so that a block that is missing moves no other one to another slot; where blocks do
// not divide the day evenly they are counted.
func completeBlocks(blocks []Block, origin time.Time, d Design) {
	given := slices.Clone(blocks)
	SetBurnIn(blocks, d.BurnIn, d.BurnInScope)
	length, even := evenLength(blocks)
	slot := 0
	for i := range blocks {
		b := &blocks[i]
		if even {
			slot = int(b.Starts.Sub(b.Starts.Truncate(day)) / length)
		} else if i > 0 && b.Starts.Truncate(day).After(blocks[i-1].Starts.Truncate(day)) {
			slot = 0
		}
		if b.Day == unset {
			b.Day = int(b.Starts.Sub(origin)/day) + 1
		}
		if b.Slot == unset {
			b.Slot = slot
		}
		if !given[i].BurnInEnds.IsZero() {
			b.BurnInEnds = given[i].BurnInEnds
		}
		slot++
	}
}

// evenLength is the length of the blocks, and whether they are all as long and stand where they divide their days.
func evenLength(blocks []Block) (length time.Duration, even bool) {
	for i, b := range blocks {
		if i == 0 {
			length = b.Ends.Sub(b.Starts)
		}
		if length <= 0 || day%length != 0 || b.Ends.Sub(b.Starts) != length || b.Starts.Sub(b.Starts.Truncate(day))%length != 0 {
			return 0, false
		}
	}
	return length, len(blocks) > 0
}

func csvLine(err error) int {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return parse.Line
	}
	return 0
}

func csvReason(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return parse.Err
	}
	return err
}
