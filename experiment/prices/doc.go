// Package prices is a dated book of what providers charge for the tokens of their models.
//
// The way of the data, in order:
//
//  1. [Embedded] returns the book inside the program; [Read] reads one of the user's, as CSV or as the JSON of a
//     published price list, each in its own unit.
//  2. [Book.Lookup] finds the [Price] of a provider's model at an instant, whatever the names look like.
//  3. [Price.Cost] tells what a request costs, exact to the nano-dollar.
//
// What a list doesn't say stays unknown: a missing price is no price of zero.
package prices
