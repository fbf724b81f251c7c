package main

import (
	"encoding/csv"
	"errors"
	"os"
	"slices"
	"strings"

	"switchback/experiment"
)

// readSchedule reads the schedule file that design.schedule names. It must be a member of the set that design.order
// names, because the p-values swap arms over that set.
func (c *config) readSchedule() (experiment.Plan, error) {
	path := c.file.resolve(c.Design.Schedule)
	f, err := os.Open(path)
	if err != nil {
		return experiment.Plan{}, usageError("paths are relative to the configuration's folder", "%s: design.schedule: %w", c.file.place("design.schedule"), err)
	}
	defer f.Close() //nolint:errcheck // only read
	plan, err := experiment.ReadPlan(f, path, c.arms(), c.design())
	var fault *experiment.ScheduleError
	switch {
	case errors.As(err, &fault):
		return experiment.Plan{}, usageError(scheduleHint(fault, path, c.arms()), "schedule %w", err)
	case err != nil:
		return experiment.Plan{}, err
	}
	if err := plan.Member(experiment.Order(c.Design.Order), c.days(plan)); err != nil {
		return experiment.Plan{}, usageError(memberHint(plan, c.days(plan)), "schedule %s: %w", path, err)
	}
	return plan, nil
}

// scheduleHint says what to do about a fault of a schedule file.
func scheduleHint(fault *experiment.ScheduleError, path string, arms experiment.Arms) string {
	if fault.Line > 1 {
		switch fault.Column {
		case "starts", "ends", "burn_in_ends":
			return "blocks follow one another without overlap, in instants with their zone such as 2026-11-02T03:00:00Z"
		case "arm":
			labels := armsOf(path)
			if unknown := slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return l == arms.Control || l == arms.Treatment }); len(unknown) > 0 {
				return "arms.control and arms.treatment in the configuration are the names that the schedule has: " + some(labels)
			}
			return "a pair is two blocks, one of each arm"
		case "pair_id":
			return "a pair is two blocks, one of each arm"
		case "block_id":
			return "every block has an id of its own"
		case "day", "slot":
			return "days count from 1, slots from 0; without these columns they follow the clock"
		}
	}
	return "columns: " + strings.Join(experiment.ScheduleColumns(), ",")
}

// armsOf lists the arms that a schedule file names, as far as it can be read.
func armsOf(path string) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() //nolint:errcheck // only read
	in := csv.NewReader(f)
	header, err := in.Read()
	at := slices.IndexFunc(header, func(column string) bool { return strings.TrimSpace(column) == "arm" })
	var arms []string
	for err == nil && at >= 0 {
		var record []string
		if record, err = in.Read(); err == nil && at < len(record) && !slices.Contains(arms, strings.TrimSpace(record[at])) {
			arms = append(arms, strings.TrimSpace(record[at]))
		}
	}
	slices.Sort(arms)
	return arms
}

// memberHint names the orders whose sets hold the schedule.
func memberHint(plan experiment.Plan, days int) string {
	var fitting []string
	for _, order := range experiment.Orders() {
		if plan.Member(order, days) == nil {
			fitting = append(fitting, string(order))
		}
	}
	return "set design.order to how it was drawn; it fits " + strings.Join(fitting, ", ")
}
