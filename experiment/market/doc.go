// Package market simulates the endpoints of one model: capacity shared with other customers, queueing and 429s,
// quotas, incidents, prompt caches and billing.
//
// The way of the data, in order:
//
//  1. [Offers] reads the real public offers: prices, latency and throughput.
//  2. [New] makes endpoints of them for one model's [Demand], and draws their incidents for the whole experiment: a draw
//     decides what the endpoints are like, a seed what happens to them.
//  3. [Market.Tick] moves other customers' load and the incidents along.
//  4. [Market.Try] admits, serves, rejects or fails one attempt and tells how it will end; [Market.Finish] frees its place.
//  5. [Endpoint.Bill] prices what was served.
//
// CALIBRATION.md says where the parameters come from and how well the whole meets the published levels.
package market
