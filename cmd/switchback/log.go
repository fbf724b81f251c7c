package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// newLogger returns the log of a command: JSON lines with --log-json, else lines that people read.
func newLogger(w io.Writer, s *settings) *slog.Logger {
	level := slog.LevelInfo
	switch {
	case s.quiet:
		level = slog.LevelError
	case s.verbose:
		level = slog.LevelDebug
	}
	if s.logJSON {
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: utcTime}))
	}
	return slog.New(&lineHandler{w: w, mu: new(sync.Mutex), level: level, stamped: !isTerminal(w)})
}

func utcTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	if p, ok := w.(*progress); ok {
		w = p.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) //nolint:gosec // a file descriptor fits an int
}

// lineHandler writes "switchback: message key=value …". Where nobody watches, lines carry their time and the run's id.
type lineHandler struct {
	w       io.Writer
	mu      *sync.Mutex
	level   slog.Level
	stamped bool
	attrs   []slog.Attr
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("switchback: ")
	if r.Level >= slog.LevelWarn {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(r.Message)
	write := func(a slog.Attr) bool {
		if h.stamped || a.Key != "run_id" {
			fmt.Fprintf(&b, " %s=%s", a.Key, quoted(a.Value.String()))
		}
		return true
	}
	r.Attrs(write)
	for _, a := range h.attrs {
		write(a)
	}
	if h.stamped {
		fmt.Fprintf(&b, " time=%s", r.Time.UTC().Format(time.RFC3339))
	}
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.w, b.String())
	return err
}

func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \"\n\t=") {
		return fmt.Sprintf("%q", s)
	}
	return s
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.attrs = append(h.attrs[:len(h.attrs):len(h.attrs)], attrs...)
	return &c
}

// WithGroup implements slog.Handler; the lines are flat.
func (h *lineHandler) WithGroup(string) slog.Handler { return h }
