package main

import (
	"context"

	"switchback/experiment"
	"switchback/ingest"
	"switchback/reports"
)

// dearerRows says how many requests were served dearer than at the cheapest eligible endpoint; nil where no row tells.
func dearerRows(ctx context.Context, source rowSource, arms experiment.Arms) (*reports.Dearer, error) {
	found, err := source.dearer(ctx)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var all [2]ingest.DearerCount // control, treatment
	var out reports.Dearer
	for _, c := range found { // by model
		if n := len(out.Models); n == 0 || out.Models[n-1].Model != c.Model {
			out.Models = append(out.Models, reports.DearerModel{Model: c.Model})
		}
		m, sum, arm := &out.Models[len(out.Models)-1], &all[0], dearerArm(c)
		if c.Arm == arms.Control {
			m.Control = arm
		} else {
			m.Treatment, sum = arm, &all[1]
		}
		sum.Requests += c.Requests
		sum.Dearer += c.Dearer
		sum.ExtraNanoUSD += c.ExtraNanoUSD
		sum.CostNanoUSD += c.CostNanoUSD
	}
	out.Control, out.Treatment = dearerArm(all[0]), dearerArm(all[1])
	return &out, nil
}

func dearerArm(c ingest.DearerCount) reports.DearerArm {
	arm := reports.DearerArm{Requests: c.Requests, Dearer: c.Dearer, Share: shareOfAll(c.Dearer, c.Requests), ExtraShare: shareOfAll(c.ExtraNanoUSD, c.CostNanoUSD)}
	if c.Requests > 0 {
		usd := float64(c.ExtraNanoUSD) * 1e-9
		per1K := usd / float64(c.Requests) * 1000
		arm.ExtraUSD, arm.ExtraPer1K = &usd, &per1K
	}
	return arm
}
