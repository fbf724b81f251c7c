package main

import (
	"errors"
	"os"
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
		return experiment.Plan{}, usageError("columns: "+strings.Join(experiment.ScheduleColumns(), ","), "schedule %w", err)
	case err != nil:
		return experiment.Plan{}, err
	}
	if err := plan.Member(experiment.Order(c.Design.Order)); err != nil {
		return experiment.Plan{}, usageError(memberHint(plan), "schedule %s: %w", path, err)
	}
	return plan, nil
}

// memberHint names the orders whose sets hold the schedule.
func memberHint(plan experiment.Plan) string {
	var fitting []string
	for _, order := range experiment.Orders() {
		if plan.Member(order) == nil {
			fitting = append(fitting, string(order))
		}
	}
	return "set design.order to how it was drawn; it fits " + strings.Join(fitting, ", ")
}
