package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/plans"
)

// lineHandler writes a log for the person at the terminal, beside the other lines there: the time, how bad it is, what
// happened, and what is known of it. Everything foreign in it is made visible.
type lineHandler struct {
	out   io.Writer
	mu    *sync.Mutex
	level slog.Level
	attrs []string // "key value", in order
	group string   // prefix of the keys
}

func newLineHandler(out io.Writer, level slog.Level) *lineHandler {
	return &lineHandler{out: out, mu: &sync.Mutex{}, level: level}
}

// Enabled reports whether a level is written.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle writes one line.
func (h *lineHandler) Handle(_ context.Context, r slog.Record) error {
	attrs := slices.Clone(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, h.texts(h.group, a)...)
		return true
	})
	at := r.Time
	if at.IsZero() {
		at = time.Now()
	}
	text := r.Message
	if len(attrs) > 0 {
		text += " (" + strings.Join(attrs, ", ") + ")"
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := fmt.Fprintf(h.out, "%s %-16s %s\n", at.Local().Format(time.TimeOnly), levelWord(r.Level), plans.VisibleLine(text))
	return err
}

// WithAttrs returns a handler that writes these with every line.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		with.attrs = append(with.attrs, h.texts(h.group, a)...)
	}
	return &with
}

// WithGroup returns a handler whose keys begin with a name.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.group = h.group + name + "."
	return &with
}

func (h *lineHandler) texts(prefix string, a slog.Attr) []string {
	v := a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
		return nil
	case v.Kind() != slog.KindGroup:
		return []string{prefix + a.Key + " " + v.String()}
	case a.Key != "":
		prefix += a.Key + "."
	}
	var out []string
	for _, one := range v.Group() {
		out = append(out, h.texts(prefix, one)...)
	}
	return out
}

func levelWord(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "ERROR"
	case l >= slog.LevelWarn:
		return "warning"
	case l >= slog.LevelInfo:
		return "note"
	}
	return "debug"
}
