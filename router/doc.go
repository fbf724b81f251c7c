// Package router decides which endpoint serves a request, learns from outcomes, and explains its decisions.
package router
