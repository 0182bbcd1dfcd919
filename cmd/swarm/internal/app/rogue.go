package app

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/events"
	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// mailbox is the runner's mailbox. A rogue's is the one of an attacker beside it.
func (r *scriptRunner) mailbox(o ScriptOptions) teammate.Box {
	if !o.Rogue {
		return r.box
	}
	r.rogue = rogue.New(rogue.Config{
		Name: o.Name, Team: r.place.bundle.Team, Owner: r.place.bundle.OwnerKey, Key: r.place.key, Tree: o.Tree, Conn: r.box, Tell: r.events.say,
	})
	return r.rogue.Box()
}

// logger drops what a rogue's runner warns of: that is what is expected here, and told with each attack.
func (r *scriptRunner) logger(o ScriptOptions) *slog.Logger {
	if o.Rogue {
		return slog.New(slog.DiscardHandler)
	}
	return r.env.logger()
}

// session takes an event of the session. The report has it before the attacker goes on.
func (r *scriptRunner) session(e planmode.Emit) {
	r.events.session(e)
	r.hooks.Send(events.New(r.place.bundle.Team, r.events.name, time.Now(), e))
	if r.rogue != nil {
		r.rogue.Happened(e)
	}
}

// called takes what the gate did with a call. What an attack had refused is told with the attack.
func (r *scriptRunner) called(o gate.Observation) {
	if r.rogue != nil && r.rogue.Called(o) {
		return
	}
	r.events.call(o)
}

// attack is the gate's verb of that name; nil, which knows none, but for a rogue.
func (r *scriptRunner) attack() func(context.Context, gate.AttackArgs) (gate.AttackResult, error) {
	if r.rogue == nil {
		return nil
	}
	r.rogue.Attacks(r.runner)
	return r.rogue.Attack
}

// logger is the hub's. What the broker says of a rogue's attempts is told with the attacks.
func (r *run) logger() *slog.Logger {
	var rogues []string
	for _, t := range r.env.Document.Teammates {
		if t.Expect == report.ExpectRefused {
			rogues = append(rogues, t.Name)
		}
	}
	log := r.env.logger()
	if rogues == nil {
		return log
	}
	return slog.New(without{log.Handler(), rogues})
}

// without is a handler that leaves out what the broker says of refusing some members.
type without struct {
	slog.Handler
	names []string
}

// Handle passes a record on, or not.
func (h without) Handle(ctx context.Context, rec slog.Record) error {
	drop := false
	rec.Attrs(func(a slog.Attr) bool {
		text := a.Value.String()
		drop = drop || a.Key == "message" && strings.Contains(text, " Violation - ") &&
			slices.ContainsFunc(h.names, func(n string) bool { return strings.Contains(text, ":go:"+n+`"`) })
		return !drop
	})
	if drop {
		return nil
	}
	return h.Handler.Handle(ctx, rec)
}

// WithAttrs keeps leaving them out.
func (h without) WithAttrs(attrs []slog.Attr) slog.Handler {
	return without{h.Handler.WithAttrs(attrs), h.names}
}

// WithGroup keeps leaving them out.
func (h without) WithGroup(name string) slog.Handler {
	return without{h.Handler.WithGroup(name), h.names}
}
