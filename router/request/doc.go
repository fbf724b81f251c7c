// Package request reads what callers ask of a router and turns it into decisions of package router.
//
// The data's way, in order:
//
//  1. ParseMarket reads the models and endpoints on offer with what is known of them; ParseRequest reads a request body with its provider
//     object. Both take JSON or TOML and are strict: an unknown key is an error that names file, line, field and the nearest known key.
//  2. Plan turns a body and the account's settings into stages, one per model to try: hard filters with one reason per endpoint that is out,
//     which endpoints go first and last, strict orders (filter.go, tiers.go, models.go, auto.go).
//  3. Explain runs the plan on routers made from the market and shows every term of every endpoint, the draw and the order of tries; Replay
//     runs a recorded explanation again and compares.
package request
