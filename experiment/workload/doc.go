// Package workload makes the demand of the simulated week: who sends a conversation when, how many turns it
// has, and how many tokens go in and come out.
//
// The way of the data, in order:
//
//  1. [Traces] reads the real per-client arrival rates and token quantiles.
//  2. [New] divides the clients over the models, whole, and scales the flow to [Params].RequestsPerWeek, with the hours of
//     another week where [Params].Shape names one.
//  3. [Arrivals] draws the starts of conversations: one renewal process per client, with the client's own
//     rate and burstiness in every 10-minute window.
//  4. [Model.NextTurn] draws the turns of a conversation: tokens keep the client's rank among all clients and
//     take their size from the laws in [Params], or from those of recorded agents and conversations where [Params].Agents and [Params].Chats name them.
//
// A draw decides what stays from week to week (clients and token scales of the models), a seed what happens.
package workload
