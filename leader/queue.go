package leader

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// The lengths of a handle's hash: at least 4 characters, and 52 is all there is.
const (
	minHandle = 4
	maxHandle = 52
)

// dueSoon is how near a deadline puts a row before every risk.
const dueSoon = 10 * time.Minute

// QueueConfig is what is known besides the requests.
type QueueConfig struct {
	Charter     charter.Charter
	Me          string // the leader who looks: what it decided itself is said so
	Now         time.Time
	Presence    []natsbox.Presence
	Seen        map[string]Seen     // by plan id: the last revision that this leader saw
	Adviser     Adviser             // nil: no advice
	Tables      *permissions.Tables // the person's own intents; nil: built in alone
	OldestFirst bool                // oldest first, instead of due, riskiest, oldest
}

// Queue is what waits for a leader, in the order in which it should be looked at, and what a handle may still mean.
type Queue struct {
	Rows []Row // waiting; due within ten minutes, then HIGH, med, low, then oldest
	Odd  []Row // cannot be what they say they are: never decidable. Each has its [Row.Problem]

	settled   []Row
	teammates []string
	charter   charter.Charter
	me        string
	now       time.Time
}

// NewQueue sorts rows into what waits, what is odd, and what is settled and only answers to its handle.
func NewQueue(rows []natsbox.Row, cfg QueueConfig) *Queue {
	q := &Queue{charter: cfg.Charter, me: cfg.Me, now: cfg.Now}
	for _, m := range cfg.Charter.Members {
		if m.Role == charter.RoleTeammate && !m.Retired {
			q.teammates = append(q.teammates, m.Name)
		}
	}
	for _, from := range rows {
		row, err := NewRow(from, cfg.rowConfig(from))
		cfg.others(&row)
		switch {
		case !row.Open():
			q.settled = append(q.settled, row)
		case err != nil:
			q.Odd = append(q.Odd, row)
		default:
			q.Rows = append(q.Rows, row)
		}
	}
	q.nameHandles()
	slices.SortFunc(q.Rows, cfg.order)
	return q
}

// speaksFor is how long a leader's status tells what it has open.
const speaksFor = 15 * time.Second

// others notes which other leaders have a request open.
func (cfg QueueConfig) others(r *Row) {
	for _, p := range cfg.Presence {
		var s planmode.Status
		if p.Role != charter.RoleLeader || p.Name == cfg.Me || len(p.Status) == 0 || cfg.Now.Sub(p.Seen) > speaksFor || json.Unmarshal(p.Status, &s) != nil {
			continue
		}
		if s.Held == r.ID() {
			r.Holders = append(r.Holders, p.Name)
		} else if s.Reading == r.ID() {
			r.Readers = append(r.Readers, p.Name)
		}
	}
}

func (cfg QueueConfig) rowConfig(from natsbox.Row) RowConfig {
	rc := RowConfig{Charter: cfg.Charter, Now: cfg.Now, Adviser: cfg.Adviser, Tables: cfg.Tables}
	if i := slices.IndexFunc(cfg.Presence, func(p natsbox.Presence) bool { return p.Name == from.From }); i >= 0 {
		rc.Presence = cfg.Presence[i]
	}
	if from.Request != nil {
		rc.Seen = cfg.Seen[from.Request.PlanID]
	}
	return rc
}

// order is D6 of UX.md.
func (cfg QueueConfig) order(a, b Row) int {
	byAge := cmp.Or(stored(a.Row, b.Row), cmp.Compare(a.From, b.From), cmp.Compare(a.EnvelopeID, b.EnvelopeID))
	if cfg.OldestFirst {
		return byAge
	}
	return cmp.Or(cmp.Compare(dueRank(b, cfg.Now), dueRank(a, cfg.Now)), cmp.Compare(rank(b.Risk.Level), rank(a.Risk.Level)), byAge)
}

// stored orders two requests by when they were stored.
func stored(a, b natsbox.Row) int {
	if a.Seq > 0 && b.Seq > 0 {
		return cmp.Compare(a.Seq, b.Seq)
	}
	return a.StoredAt.Compare(b.StoredAt)
}

func dueRank(r Row, now time.Time) int {
	if at, ok := r.deadline(); ok && at.Sub(now) <= dueSoon {
		return 1
	}
	return 0
}

// nameHandles lengthens the handles that would be equal.
func (q *Queue) nameHandles() {
	var all []*Row
	for _, list := range [][]Row{q.Rows, q.Odd, q.settled} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	for n := minHandle; n < maxHandle; n++ {
		count := map[string]int{}
		for _, r := range all {
			count[r.Handle]++
		}
		equal := false
		for _, r := range all {
			if count[r.Handle] > 1 {
				r.Handle, equal = handle(r.Row, n+1), true
			}
		}
		if !equal {
			return
		}
	}
}

func handle(r natsbox.Row, n int) string { return mailbox.Handle(r.From, r.EnvelopeID, n) }

// Oldest is how long the oldest row has waited.
func (q *Queue) Oldest() time.Duration {
	var oldest time.Duration
	for _, r := range q.Rows {
		oldest = max(oldest, q.now.Sub(r.StoredAt))
	}
	return oldest
}

// Find returns the waiting request that a handle or a full id names: what may be decided. A teammate's name names
// nothing that can be decided, since another revision might answer to it. The errors are [Error]s.
func (q *Queue) Find(id string) (*Row, error) { return q.FindFor("approve", id) }

// FindFor is [Queue.Find] for the verb that was typed, which the errors name: approve, reject, answer.
func (q *Queue) FindFor(verb, id string) (*Row, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	row, err := q.anyNamed(id)
	switch {
	case err != nil:
		return nil, err
	case row == nil:
	case !row.Open():
		return nil, q.errSettled(row)
	case row.Problem != nil:
		return nil, errOdd(row, row.Problem)
	default:
		return row, nil
	}
	if slices.Contains(q.teammates, id) || q.waitingOf(id) != nil {
		return nil, errNameNotID(verb, id, q.waitingOf(id))
	}
	return nil, errUnknownRequest(id, q.near(id), mailbox.Nearest(id, q.teammates))
}

// FindAny is [Queue.Find] for reading: what is settled is found too, and a teammate's name is its waiting request, or else
// the last one that was settled.
func (q *Queue) FindAny(id string) (*Row, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if row, err := q.anyNamed(id); row != nil || err != nil {
		return row, err
	}
	if row := q.waitingOf(id); row != nil {
		return row, nil
	}
	if row := q.settledOf(id); row != nil {
		return row, nil
	}
	return q.Find(id)
}

// Awaited is the request that somebody who waits for id waits for. A teammate's name is its waiting request; while it asks
// nothing there is none, and the row is nil: read again, since its next request is meant.
func (q *Queue) Awaited(id string) (*Row, error) {
	id = strings.ToLower(strings.TrimSpace(id))
	if row, err := q.anyNamed(id); row != nil || err != nil {
		return row, err
	}
	if row := q.waitingOf(id); row != nil || slices.Contains(q.teammates, id) {
		return row, nil
	}
	return q.Find(id)
}

// Also are the other waiting requests of the teammate that asks r, in the order of the queue.
func (q *Queue) Also(r *Row) []Row {
	var others []Row
	for _, o := range q.Rows {
		if o.From == r.From && o.ID() != r.ID() {
			others = append(others, o)
		}
	}
	return others
}

// settledOf is the settled request of a teammate that was asked last, of those that were read.
func (q *Queue) settledOf(teammate string) (last *Row) {
	for i := range q.settled {
		if r := &q.settled[i]; r.From == teammate && (last == nil || stored(r.Row, last.Row) > 0) {
			last = r
		}
	}
	return last
}

// anyNamed looks among what waits first, then among what is odd and what is settled. Nothing found is nil, nil.
func (q *Queue) anyNamed(id string) (*Row, error) {
	for _, list := range [][]Row{q.Rows, q.Odd, q.settled} {
		if row, err := named(list, id); row != nil || err != nil {
			return row, err
		}
	}
	return nil, nil
}

// named returns the row of a list that answers to a full id, or to a handle of any length.
func named(list []Row, id string) (*Row, error) {
	var found []*Row
	for i := range list {
		r := &list[i]
		if r.EnvelopeID == id || r.Handle == id {
			return r, nil
		}
		if hash, ok := strings.CutPrefix(id, r.From+"-"); ok && len(hash) >= minHandle && handle(r.Row, len(hash)) == id {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	default:
		return nil, errAmbiguous(id, found)
	}
}

// waitingOf is a teammate's waiting plan, or else its first waiting request.
func (q *Queue) waitingOf(teammate string) *Row {
	var first *Row
	for i := range q.Rows {
		switch r := &q.Rows[i]; {
		case r.From != teammate:
		case r.Request != nil:
			return r
		case first == nil:
			first = r
		}
	}
	return first
}

// near are the waiting handles that somebody who wrote id may have meant, and the teammates who wait.
func (q *Queue) near(id string) []string {
	var names []string
	for _, r := range q.Rows {
		names = append(names, r.Handle, r.From)
	}
	return mailbox.Nearest(id, names)
}

// errSettled says what became of a request that waits no more.
func (q *Queue) errSettled(r *Row) error {
	if r.SupersededBy == "" {
		return settledError(q.charter, q.me, r, nil)
	}
	for _, list := range [][]Row{q.Rows, q.settled} {
		for i := range list {
			if list[i].EnvelopeID == r.SupersededBy && list[i].From == r.From {
				return errSuperseded(r, &list[i])
			}
		}
	}
	return errSuperseded(r, nil)
}
