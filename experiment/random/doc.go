// Package random gives the simulation its randomness: streams named by their purpose, and tables of
// quantiles that turn one draw into a value of a distribution with one load.
//
// A stream depends on the seed and its name only, so that adding a purpose changes no other draw.
package random
