// Package router decides which endpoint serves a request, learns from outcomes, and explains its decisions.
//
// The data's way, in order:
//
//  1. Observe adds the outcome of an attempt to the telemetry of its endpoint (telemetry.go): sums that fade with elapsed time.
//  2. A snapshot turns the sums into signals: what each endpoint charges, how long it makes wait, how often it rejects, fails or answers
//     badly, shrunk towards the model's typical endpoint (signals.go).
//  3. A policy turns the signals into shares of traffic and an order of tries (policy_*.go). routing-cost prices a good answer (cost.go),
//     shares traffic inside the competitive edge (shares.go) and applies the guardrails: breaker, back-off, learned cap, floor.
//  4. Decide keeps a conversation where its prompt cache is warm (pin.go), or draws an endpoint from the shares (choose.go, table.go);
//     Retry draws again among those not tried; Try does both within a budget and says why it stops (retry.go).
//
// Around this core, Shared makes a router safe for concurrent use, Recall starts one from what is already known, Rows explains its view of
// every endpoint, Ledger keeps what was billed apart from what was lost, and AttemptLog keeps why each attempt failed. Package request reads what callers ask for and explains
// whole requests; package toolcall tells well-formed tool calls from bad ones.
//
// The package has no clock, no I/O, no goroutines and no randomness of its own: instants and random sources come from the caller, so the
// same calls give the same answers.
package router
