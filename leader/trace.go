package leader

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// TraceDoc is what `swarm mail trace --json` prints: how far a piece of mail, a request or an order has come.
type TraceDoc struct {
	natsbox.Trace
	Handle string `json:"handle,omitempty"` // of a request
	Done   bool   `json:"done"`             // nothing more is waited for
	// Signatures say how many leaders have signed a request that waits, and how many must; for leaders, where several must.
	Signatures *SignaturesDoc `json:"signatures,omitempty"`
}

// NewTraceDoc is a trace as JSON.
func NewTraceDoc(t natsbox.Trace) TraceDoc {
	for i := range t.Steps {
		t.Steps[i].At = docTime(t.Steps[i].At)
	}
	return TraceDoc{Trace: t, Handle: traceHandle(t), Done: len(t.Waits) == 0}
}

func traceHandle(t natsbox.Trace) string {
	if !asks(t.Kind) {
		return ""
	}
	return mailbox.Handle(t.From, t.ID, minHandle)
}

func asks(k mailbox.Kind) bool {
	return k == mailbox.KindPlanApprovalRequest || k == mailbox.KindPermissionRequest || k == mailbox.KindQuestion
}

// TraceWriter writes a trace for people, and what is new in it whenever it is written again.
type TraceWriter struct {
	// Signatures say how many leaders have signed a request that waits, and how many must; zero where that is not known.
	Signatures SignaturesDoc

	begun bool
	told  map[string]bool
}

// Write writes the steps that were not written before, and what is waited for.
func (tw *TraceWriter) Write(w io.Writer, t natsbox.Trace, now time.Time) error {
	var b strings.Builder
	if !tw.begun {
		tw.begun, tw.told = true, map[string]bool{}
		b.WriteString(traceHead(t) + "\n")
	}
	lines := func(all ...string) {
		for _, l := range all {
			if !tw.told[l] {
				tw.told[l] = true
				b.WriteString(l + "\n")
			}
		}
	}
	for _, s := range t.Steps {
		lines(traceLine(s, now))
	}
	for _, wait := range t.Waits {
		lines(waitLine(t, wait, now))
	}
	if t.Gone != "" {
		lines("deleted     " + plans.VisibleLine(t.Gone))
	}
	if t.Expires != nil {
		lines("expires     " + stampOf(*t.Expires, now) + "  it will be rejected then, not approved")
	}
	if s := tw.Signatures; s.Need > 1 && len(t.Waits) > 0 {
		lines(fmt.Sprintf("%d of %d leaders have signed", s.Have, s.Need))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// traceHead says what it is that is traced.
func traceHead(t natsbox.Trace) string {
	what := plans.VisibleLine(strings.ReplaceAll(string(t.Kind), "_", " "))
	name := plans.VisibleLine(t.ID)
	if h := traceHandle(t); h != "" {
		name = plans.VisibleLine(h) + " (" + name + ")"
	}
	if t.Urgent {
		what = "urgent " + what
	}
	return fmt.Sprintf("%s %s, %s to %s", what, name, plans.VisibleLine(t.From), plans.VisibleLine(t.To))
}

// stampOf is a time of day, and another day's with its date.
func stampOf(at, now time.Time) string {
	at, now = at.Local(), now.Local()
	if at.YearDay() != now.YearDay() || at.Year() != now.Year() {
		return at.Format(time.DateTime)
	}
	return at.Format(time.TimeOnly)
}

// traceLine is one step: what, when, who, and what there is to say of it.
func traceLine(s natsbox.TraceStep, now time.Time) string {
	stamp := stampOf(s.At, now)
	parts := []string{}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if s.By != "" {
		add("%s", plans.VisibleLine(s.By))
	}
	switch {
	case s.State == natsbox.TraceDecided:
		add("%s", traceOutcome(s))
		if len(s.Signers) > 0 {
			add("signed by %s", strings.Join(visibleAll(s.Signers), " and "))
		}
	case s.Of == "decision":
		add("the decision")
	}
	if s.Mode != "" {
		add("mode %s", plans.VisibleLine(s.Mode))
	}
	if s.Stream != "" {
		add("%s %d", plans.VisibleLine(s.Stream), s.Seq)
	}
	if s.Reason != "" && s.State != natsbox.TraceDecided {
		add("%s", plans.Cut(plans.VisibleLine(s.Reason), 200))
	}
	if s.State == natsbox.TraceDead {
		add("swarm mail dead show %s", plans.VisibleLine(s.Other))
	}
	if s.State == natsbox.TraceSuperseded {
		add("by %s", mailbox.Handle(plans.VisibleLine(s.By), s.Other, minHandle))
	}
	return pad(plans.VisibleLine(s.State), 10) + "  " + stamp + "  " + strings.Join(parts, ", ")
}

func traceOutcome(s natsbox.TraceStep) string {
	if s.Outcome == "void" {
		return "void: " + plans.Cut(plans.VisibleLine(s.Reason), 200)
	}
	return plans.VisibleLine(s.Outcome)
}

// waitLine says what has not happened, and what is known of why.
func waitLine(t natsbox.Trace, w natsbox.TraceWait, now time.Time) string {
	who := plans.VisibleLine(w.Who)
	if w.Who == mailbox.Lead {
		who = "a leader"
	}
	not := "not " + plans.VisibleLine(w.For)
	if w.For == natsbox.TraceDecided {
		not = "not decided"
		if t.Kind == mailbox.KindQuestion {
			not = "not answered"
		}
	}
	switch {
	case w.Live && w.Who == mailbox.Lead:
		return not + " yet: leaders are connected"
	case w.Live:
		return not + " yet: " + who + " is connected"
	case w.Who == mailbox.Lead:
		return not + " yet: no leader is connected"
	case w.Seen.IsZero():
		return not + " yet: " + who + " is away"
	}
	return not + " yet: " + who + " is away since " + when(w.Seen, now)
}
