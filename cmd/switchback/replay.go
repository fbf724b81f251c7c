package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"switchback/experiment"
	"switchback/experiment/workload"
	"switchback/ingest"
	"switchback/reports"
)

// Sources of the arrivals of a simulated experiment.
const (
	sourceBuiltIn  = "built-in" // the scenario's own demand
	sourceLog      = "log"      // a request log, replayed
	sourceAzure    = "azure"    // a public trace, replayed
	sourceMooncake = "mooncake" // another
)

func sources() []string { return []string{sourceBuiltIn, sourceLog, sourceAzure, sourceMooncake} }

// replay is the demand of a simulated experiment that plays recorded requests again. A zero replay leaves the demand to
// the scenario.
type replay struct {
	store  *ingest.Store // holds the rows of the log; nil without one
	path   string        // of the store
	inputs []reports.Input
	load   ingest.LoadReport
}

// played is what a replay asks, nothing when the demand is the scenario's own.
type played struct {
	requests []workload.Recorded // nil when nothing is replayed
	notes    []string            // sentences about it for the report
	unread   string              // that more of the log cannot be read than is allowed; "" when not
}

// openReplay loads the log to replay, if there is one, into a database of its own in the output folder.
func (j *job) openReplay(ctx context.Context) (replay, error) {
	if j.config.Workload.Source != sourceLog {
		return replay{}, nil
	}
	r := replay{path: j.out.aside("replay-" + newRunID(j.p.now()))}
	store, err := openStore(ctx, r.path, j.config.storeOptions())
	if err != nil {
		return r, errors.Join(err, removeDatabase(r.path))
	}
	r.store = store
	o := ingest.DefaultLoadOptions()
	o.Now, o.MaxRejects = j.p.now(), j.config.Workload.MaxRejects
	r.load, err = j.loadFiles(ctx, store, []string{j.config.file.resolve(j.config.Workload.Trace)}, o, j.config.file.placeOf("workload.trace"))
	if err == nil && r.load.CutShort {
		err = usageError("replay it when it is whole", "%s: a file of %s is cut short", j.config.file.placeOf("workload.trace"), j.config.Workload.Trace)
	}
	if err == nil && r.load.Rows == 0 {
		err = unreadError(r.load, j.config.file.placeOf("workload.trace"))
	}
	if err != nil {
		return r, errors.Join(err, r.close())
	}
	for _, f := range r.load.Files {
		r.inputs = append(r.inputs, reports.Input{Path: f.Path, Format: f.Format, SHA256: f.Hash, Bytes: f.Bytes, Rows: f.Rows, Rejects: f.Rejects})
	}
	return r, nil
}

// close removes the database of the log.
func (r replay) close() error {
	if r.store == nil {
		return nil
	}
	return errors.Join(r.store.Close(), removeDatabase(r.path))
}

// replayed returns what is played in the time of the plan.
func (j *job) replayed(ctx context.Context, r replay, plan experiment.Plan) (played, error) {
	start, end := plan.Window()
	switch c := j.config.Workload; c.Source {
	case sourceLog:
		return j.replayedLog(ctx, r, start, end)
	case sourceAzure, sourceMooncake:
		trace := map[string]string{sourceAzure: workload.TraceAzure, sourceMooncake: workload.TraceMooncake}[c.Source]
		requests, err := workload.PublicTrace(trace, c.Models[0], end.Sub(start).Microseconds())
		return played{requests: requests, notes: []string{fmt.Sprintf("The arrivals are replayed: the public trace %s, repeated over the whole plan, %s requests, all for %s.",
			trace, thousands(int64(len(requests))), c.Models[0])}}, err
	}
	return played{}, nil
}

// replayedLog is replayed for a log.
func (j *job) replayedLog(ctx context.Context, r replay, start, end time.Time) (played, error) {
	found, err := r.store.Recorded(ctx, start, end)
	if err != nil {
		return played{}, err
	}
	unreadable := lackingTokens(r.load, found.Unreadable)
	found.NoTokens, found.Unreadable = found.NoTokens+found.Unreadable-unreadable, unreadable
	c := &j.config
	window := fmt.Sprintf("%s to %s", start.UTC().Format(time.RFC3339), end.UTC().Format(time.RFC3339))
	var left []string
	for _, l := range []struct {
		n    int64
		what string
	}{
		{found.Outside, "outside " + window}, {found.NoTokens, "without token counts, as failed requests are"}, {found.Unreadable, "whose token counts cannot be read"},
		{found.FromCache, "answered from the gateway's cache"}, {r.load.Rejects, "on lines that cannot be read"},
	} {
		if l.n > 0 {
			left = append(left, thousands(l.n)+" "+l.what)
		}
	}
	if len(found.Requests) == 0 {
		span := fmt.Sprintf("it has rows from %s to %s; not usable: %s", found.First.Format(time.RFC3339), found.Last.Format(time.RFC3339), strings.Join(left, ", "))
		hint := "design.start and design.days say which days of the log are played"
		if found.NoTokens+found.Unreadable > found.Outside {
			lacking := "request " + found.Lacking
			if value := unreadTokens(r.load); found.Unreadable > 0 && value != "" {
				lacking = value
			}
			span += "; " + lacking
			hint = tokensHint
		}
		return played{}, usageError(hint, "%s: no usable row in %s: %s", c.file.placeOf("workload.trace"), c.Workload.Trace, span)
	}
	note := fmt.Sprintf("The arrivals are replayed from %s: %s %s, with times, models, conversations and tokens of the log. Endpoints, prices and outcomes are those of the simulated market, in both arms.",
		c.Workload.Trace, thousands(int64(len(found.Requests))), plural(len(found.Requests), "request", "requests"))
	if n := substitute(found.Requests, c.Workload.StandIns); n > 0 {
		note += fmt.Sprintf(" Requests for a model that another one stands in for: %s (%s).", thousands(n), strings.Join(c.Workload.StandIns, ", "))
	}
	if len(left) > 0 {
		note += " Left out: " + strings.Join(left, ", ") + "."
	}
	return played{found.Requests, []string{note}, unreadReplay(r.load, found.Unreadable, c.Workload.MaxRejects)}, nil
}

const tokensHint = "a replay needs input_tokens and output_tokens of at least 1; docs/log-format.md says which columns they are read from"

// standIns reads the models that stand in for others, by the name in the log.
func standIns(texts []string) (map[string]string, error) {
	models := map[string]string{}
	for _, text := range texts {
		from, to, found := strings.Cut(text, "=")
		from, to = strings.TrimSpace(from), strings.TrimSpace(to)
		if !found || from == "" || to == "" {
			return nil, fmt.Errorf("%q does not name two models", text)
		}
		if _, twice := models[from]; twice {
			return nil, fmt.Errorf("%q has two stand-ins", from)
		}
		models[from] = to
	}
	return models, nil
}

// substitute gives requests the models that stand in for theirs, and returns how many it changed. The texts were checked.
func substitute(requests []workload.Recorded, texts []string) int64 {
	models, _ := standIns(texts)
	n := int64(0)
	for i := range requests {
		if to, found := models[requests[i].Model]; found {
			requests[i].Model = to
			n++
		}
	}
	return n
}
