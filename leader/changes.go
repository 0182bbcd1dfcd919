package leader

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
)

// Changes of the queue, as `swarm inbox --watch` tells them.
const (
	ChangeNew       = "new"
	ChangeReplaced  = "replaced"
	ChangeWithdrawn = "withdrawn"
	ChangeExpired   = "expired"
	ChangeDecided   = "decided" // By
	ChangeApplied   = "applied" // the teammate applied the decision
	ChangeGone      = "gone"    // the teammate of a waiting request is not there
	ChangeBack      = "back"
)

// EventDoc is one change of the queue: one JSON object a line of `swarm inbox --watch --json`.
type EventDoc struct {
	Event   string     `json:"event"`
	At      time.Time  `json:"at"`
	Request RequestDoc `json:"request"`
	By      string     `json:"by,omitempty"`     // who decided, or the handle of what replaced it
	Reason  string     `json:"reason,omitempty"` // the outcome, why it was withdrawn
}

// Watching are the ids to read again beside what waits, so that [Changes] can say what became of it: what waits now, and
// what was decided and not applied yet.
func (q *Queue) Watching() []string {
	var ids []string
	for _, r := range q.Rows {
		ids = append(ids, r.ID())
	}
	for i := range q.settled {
		if r := &q.settled[i]; r.decidedNotApplied() {
			ids = append(ids, r.ID())
		}
	}
	return ids
}

// Changes says what happened to requests between two reads of the queue, the earliest first. old is nil at the start, when
// everything that waits is new. What left the queue is looked up in now: read it with old.Watching().
func Changes(old, now *Queue) []EventDoc {
	var events []EventDoc
	if old == nil {
		old = &Queue{}
	}
	for i := range now.Rows {
		r := &now.Rows[i]
		was := old.row(r)
		if was == nil {
			events = append(events, r.event(ChangeNew, r.StoredAt, "", ""))
		}
		isGone, wasGone := r.Presence == presenceGone, was != nil && was.Presence == presenceGone
		switch {
		case isGone && !wasGone:
			events = append(events, r.event(ChangeGone, now.now, "", ""))
		case wasGone && !isGone:
			events = append(events, r.event(ChangeBack, now.now, "", ""))
		}
	}
	for i := range now.settled {
		r := &now.settled[i]
		was := old.row(r)
		if was == nil {
			continue
		}
		if was.Open() {
			events = append(events, now.ending(r))
		}
		if r.applied() && !was.applied() {
			events = append(events, r.event(ChangeApplied, now.now, "", r.appliedMode()))
		}
	}
	slices.SortStableFunc(events, func(a, b EventDoc) int { return a.At.Compare(b.At) })
	return events
}

// row is what the queue has of the same request, or nil.
func (q *Queue) row(like *Row) *Row {
	for _, list := range [][]Row{q.Rows, q.Odd, q.settled} {
		for i := range list {
			if list[i].From == like.From && list[i].ID() == like.ID() {
				return &list[i]
			}
		}
	}
	return nil
}

// ending says why a request waits no more.
func (q *Queue) ending(r *Row) EventDoc {
	switch d := r.Decision; {
	case d != nil && d.Valid && d.Outcome == string(planmode.OutcomeExpired):
		return r.event(ChangeExpired, d.StoredAt, "", "nobody decided")
	case d != nil && d.Valid && d.By != nil:
		return r.event(ChangeDecided, d.StoredAt, d.By.Name, d.Outcome)
	case d != nil:
		return r.event(ChangeWithdrawn, d.StoredAt, "", "its slot holds what no leader signed: it is asked again")
	case r.Answer != nil:
		return r.event(ChangeDecided, r.Answer.StoredAt, r.Answer.By, "answered")
	case r.SupersededBy != "":
		for i := range q.Rows {
			if n := &q.Rows[i]; n.From == r.From && n.ID() == r.SupersededBy {
				return r.event(ChangeReplaced, n.StoredAt, n.Label(), "")
			}
		}
		return r.event(ChangeReplaced, q.now, mailbox.Handle(r.From, r.SupersededBy, minHandle), "")
	}
	return r.event(ChangeWithdrawn, q.now, "", r.Withdrawn)
}

func (r *Row) event(kind string, at time.Time, by, reason string) EventDoc {
	return EventDoc{Event: kind, At: docTime(at), Request: r.Doc(), By: by, Reason: reason}
}

// applied reports whether the teammate says that it has carried out what was decided.
func (r *Row) applied() bool {
	return slices.ContainsFunc(r.Receipts, func(rec mailbox.Receipt) bool { return rec.State == mailbox.Applied })
}

func (r *Row) appliedMode() string {
	for _, rec := range r.Receipts {
		if rec.State == mailbox.Applied && rec.Mode != "" {
			return "mode " + rec.Mode
		}
	}
	return ""
}

func (r *Row) decidedNotApplied() bool {
	return r.Decision != nil && r.Decision.Valid && !r.applied()
}

// EventLine is one change as a line for people: 14:02:40 new db-7k2m HIGH "Store order totals as cents".
func EventLine(e EventDoc) string {
	r := e.Request
	words := []string{e.At.Local().Format("15:04:05"), e.Event, plans.VisibleLine(r.Handle)}
	if e.Event == ChangeNew {
		words = append(words, Risk{Level: facts.Level(r.Risk.Level)}.Word(), `"`+plans.Cut(plans.VisibleLine(r.Goal), 60)+`"`)
	}
	if e.Reason != "" {
		words = append(words, plans.Cut(plans.VisibleLine(e.Reason), 80))
	}
	if e.By != "" {
		words = append(words, "by "+plans.VisibleLine(e.By))
	}
	if e.Event == ChangeGone || e.Event == ChangeBack {
		words = append(words, fmt.Sprintf("(%s)", plans.VisibleLine(r.Teammate)))
	}
	return strings.Join(words, " ")
}
