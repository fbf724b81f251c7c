package workload

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Arrival is one request of a recorded trace.
type Arrival struct {
	AtUS         int64 // since the first request of the trace, in microseconds
	InputTokens  int
	OutputTokens int

	// Blocks are the ids of the prompt's blocks of BlockTokens: two prompts whose first n ids are equal have their
	// first n blocks in common. Nil where the trace doesn't say.
	Blocks []int32
}

// BlockTokens is the length of the blocks of the Mooncake trace, tokens. Its 12,031 prompts, of 7,373 conversations, all begin with the same block:
// the instructions of the service. Prompts that have more in common count as one conversation's: see [MooncakeStats].
const BlockTokens = 512

// AzureConversation returns one hour of a conversation service of November 2023: 19,366 requests in 3,502 s, by
// rising time. Source: Azure public dataset (Patel et al., ISCA 2024).
func AzureConversation() ([]Arrival, error) {
	var trace []Arrival
	at := int64(0)
	err := readTable("azure-conversation.csv.zst", func(r row) {
		at += r.integer("gap_us")
		trace = append(trace, Arrival{
			AtUS:         at,
			InputTokens:  int(r.integer("input_tokens")),
			OutputTokens: int(r.integer("output_tokens")),
		})
	})
	return trace, err
}

// MooncakeConversation returns the first 1,000 requests (330 s) of an hour of a conversation service with the
// blocks of their prompts, by rising time. Times have a resolution of about 3 s. Source: Mooncake (Qin et al.,
// FAST 2025).
func MooncakeConversation() ([]Arrival, error) {
	var trace []Arrival
	err := readTable("mooncake-conversation.csv.zst", func(r row) {
		trace = append(trace, Arrival{
			AtUS:         r.integer("timestamp_ms") * 1000,
			InputTokens:  int(r.integer("input_tokens")),
			OutputTokens: int(r.integer("output_tokens")),
			Blocks:       r.runs("blocks"),
		})
	})
	return trace, err
}

// ConversationStats describes the conversations of the whole hour of which [MooncakeConversation] is the beginning.
type ConversationStats struct {
	Requests      int
	Conversations int
	Blocks        int     // of all prompts
	BlockHitShare float64 // share of them that a cache without limits would hold

	Turns        Quantiles // requests of a conversation
	MaxTurns     int
	GapSeconds   Quantiles // between the starts of two neighbouring requests of a conversation
	FirstInput   Quantiles // input tokens of the first request
	AddedInput   Quantiles // input tokens of a later request beyond input and output of the one before
	OutputTokens Quantiles
}

// MooncakeStats returns the statistics of 12,031 requests in 7,373 conversations. A request belongs to the
// conversation that used the last of its known blocks most recently; the first block of a prompt doesn't count.
func MooncakeStats() (ConversationStats, error) {
	var s ConversationStats
	err := readTable("mooncake-sessions.csv", func(r row) {
		count := int(r.integer("count"))
		switch name := r.cell("quantity"); name {
		case "turns":
			s.Conversations, s.Turns, s.MaxTurns = count, r.quantiles(), int(r.integer("max"))
		case "gap_s":
			s.GapSeconds = r.quantiles()
		case "first_input_tokens":
			s.FirstInput = r.quantiles()
		case "added_input_tokens":
			s.AddedInput = r.quantiles()
		case "output_tokens":
			s.Requests, s.OutputTokens = count, r.quantiles()
		case "block_hit_share":
			s.Blocks, s.BlockHitShare = count, r.float("mean")
		default:
			r.fail(fmt.Errorf("quantity: unknown %q", name))
		}
	})
	return s, err
}

// AgentSession is one recorded run of an agent that calls tools.
type AgentSession struct {
	StartSeconds int // since the start of the recording
	Rounds       []AgentRound
}

// AgentRound is one request of an [AgentSession]. Its prompt is what was there before and what the tools added.
type AgentRound struct {
	PrefixTokens int // the prompt's part that the round before sent or received
	NewTokens    int // appended since
	OutputTokens int
	ToolWaitMS   int // from the end of the answer to the next round; 0 in the last one
}

// AgentSessions returns 48 sessions with 303 rounds, by rising start. Source: TraceLab (arXiv 2606.30560).
func AgentSessions() ([]AgentSession, error) {
	var sessions []AgentSession
	last := int64(-1)
	err := readTable("tracelab-replay.csv.zst", func(r row) {
		if id := r.integer("session_id"); id != last {
			sessions = append(sessions, AgentSession{StartSeconds: int(r.integer("arrival_time"))})
			last = id
		}
		s := &sessions[len(sessions)-1]
		s.Rounds = append(s.Rounds, AgentRound{
			PrefixTokens: int(r.integer("prefix_len")),
			NewTokens:    int(r.integer("input_len")),
			OutputTokens: int(r.integer("output_len")),
			ToolWaitMS:   int(r.integer("tool_wait_after_ms")),
		})
	})
	return sessions, err
}

// HoursOfDay returns the requests per hour of a campus chat service for each hour of the (local) day, the mean of 61
// days: from 153 at 7 to 1,796 at 14 o'clock. It is a harsher shape than the traces of [Traces] have. Source:
// BurstGPT (Wang et al., 2024).
func HoursOfDay() ([24]float64, error) {
	var hours [24]float64
	err := readTable("burstgpt-hour-of-day.csv", func(r row) {
		hour := r.integer("hour_local")
		if hour > 23 {
			r.fail(fmt.Errorf("hour_local: %d is outside 0 … 23", hour))
			return
		}
		hours[hour] = r.float("avg_requests_per_hour")
	})
	return hours, err
}

// row is one line of an embedded table. Its first problem ends the reading.
type row struct {
	column  map[string]int
	cells   []string
	problem *error
}

// readTable reads an embedded CSV file with a header and hands on its rows.
func readTable(name string, each func(row)) error {
	text, err := content(name)
	if err != nil {
		return err
	}
	records := csv.NewReader(bytes.NewReader(text))
	records.ReuseRecord = true
	header, err := records.Read()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	column := map[string]int{}
	for i, c := range header {
		column[c] = i
	}
	for {
		cells, err := records.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			each(row{column, cells, &err})
		}
		if err != nil {
			line, _ := records.FieldPos(0)
			return fmt.Errorf("read %s:%d: %w", name, line, err)
		}
	}
}

func (r row) fail(err error) {
	if *r.problem == nil {
		*r.problem = err
	}
}

func (r row) cell(column string) string { return r.cells[r.column[column]] }

// integer returns a whole number of at least 0.
func (r row) integer(column string) int64 {
	x, err := strconv.ParseInt(r.cell(column), 10, 64)
	if err != nil || x < 0 {
		r.fail(fmt.Errorf("%s: %q is not a count", column, r.cell(column)))
		return 0
	}
	return x
}

// float returns a number.
func (r row) float(column string) float64 {
	x, err := strconv.ParseFloat(r.cell(column), 64)
	if err != nil {
		r.fail(fmt.Errorf("%s: %q is not a number", column, r.cell(column)))
	}
	return x
}

// quantiles returns the columns mean, p5, … p99.
func (r row) quantiles() Quantiles {
	q := func(column string) float32 { return float32(r.float(column)) }
	return Quantiles{q("mean"), q("p5"), q("p25"), q("p50"), q("p75"), q("p90"), q("p95"), q("p99")}
}

// runs returns ids written as runs: "0 46-58" is 0, 46, 47, … 58.
func (r row) runs(column string) []int32 {
	var ids []int32
	for run := range strings.FieldsSeq(r.cell(column)) {
		from, to, isRun := strings.Cut(run, "-")
		first, err := strconv.ParseInt(from, 10, 32)
		last := first
		if isRun && err == nil {
			last, err = strconv.ParseInt(to, 10, 32)
		}
		if err != nil {
			r.fail(fmt.Errorf("%s: %q is not a run of ids", column, run))
			return nil
		}
		for id := first; id <= last; id++ {
			ids = append(ids, int32(id))
		}
	}
	return ids
}
