package leader_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// crew is a running team: rules is the desk's own member, mia and tom are persons, api and db are teammates.
type crew struct {
	*mailboxtest.Team
	t testing.TB
}

func newCrew(t testing.TB, opts ...mailboxtest.Option) *crew {
	t.Helper()
	c := &crew{Team: mailboxtest.Server(t, opts...), t: t}
	c.AddLeader("rules", charter.KindPolicy)
	c.AddLeader("mia", charter.KindPerson)
	c.AddLeader("tom", charter.KindPerson)
	c.AddTeammate("api")
	c.AddTeammate("db")
	return c
}

func (c *crew) signer(name string) leader.Signer {
	c.t.Helper()
	m, ok := c.Charter().Member(name)
	if !ok {
		c.t.Fatalf("no member %q", name)
	}
	return leader.Signer{Key: c.Key(name), Member: m, Via: "command"}
}

// desk is a running desk, and what it told.
type desk struct {
	*leader.Desk
	t      testing.TB
	events chan leader.Event
	stop   func()
}

func (c *crew) startDesk(cfg leader.Config) *desk {
	c.t.Helper()
	box := c.Connect("rules")
	return c.startDeskOn(box, box.Close, cfg)
}

func (c *crew) startDeskOn(box leader.Box, closeBox func(), cfg leader.Config) *desk {
	c.t.Helper()
	d := &desk{t: c.t, events: make(chan leader.Event, 1000)}
	c.runDesk(d, "rules", box, closeBox, cfg)
	return d
}

// startSecondDesk starts a desk of another member.
func (c *crew) startSecondDesk(d *desk, who string, cfg leader.Config) {
	c.t.Helper()
	box := c.Connect(who)
	c.runDesk(d, who, box, box.Close, cfg)
}

func (c *crew) runDesk(d *desk, who string, box leader.Box, closeBox func(), cfg leader.Config) {
	c.t.Helper()
	cfg.OnEvent = func(e leader.Event) { d.events <- e }
	if cfg.Every == 0 {
		cfg.Every = 50 * time.Millisecond
	}
	d.Desk = leader.NewDesk(box, c.Charter, c.signer(who), cfg)
	ctx, cancel := context.WithCancelCause(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	d.stop = sync.OnceFunc(func() {
		cancel(errStop)
		if err := <-done; !errors.Is(err, errStop) {
			c.t.Errorf("Run = %v, want the context's cause", err)
		}
		closeBox()
	})
	c.t.Cleanup(d.stop)
}

var errStop = errors.New("the test is over")

// wait returns the next event of a kind; others in between are dropped.
func (d *desk) wait(kind leader.EventKind) leader.Event {
	d.t.Helper()
	var seen []leader.EventKind
	limit := time.After(time.Minute)
	for {
		select {
		case e := <-d.events:
			if e.Kind == kind {
				return e
			}
			seen = append(seen, e.Kind)
		case <-limit:
			d.t.Fatalf("no event %q; there were %v", kind, seen)
		}
	}
}

// next returns the next event of any kind.
func (d *desk) next() leader.Event {
	d.t.Helper()
	select {
	case e := <-d.events:
		return e
	case <-time.After(time.Minute):
		d.t.Fatal("no event")
		return leader.Event{}
	}
}

// submit sends a plan as its teammate does, and returns the request's id.
func (c *crew) submit(box *natsbox.Conn, a ask) string {
	c.t.Helper()
	if a.id == "" {
		a.id = natsbox.NewRequestID()
	}
	if a.saved == "" {
		a.saved = permissions.ModeDefault // as it joined
	}
	c.send(box, a.from, a.id, mailbox.KindPlanApprovalRequest, newRequest(a, c.Charter().TeamID))
	return a.id
}

func (c *crew) send(box *natsbox.Conn, from, id string, kind mailbox.Kind, body any) {
	c.t.Helper()
	env, err := mailbox.New(id, kind, c.Name, from, mailbox.Lead, 1, time.Now(), body)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := box.Send(context.Background(), env); err != nil {
		c.t.Fatal(err)
	}
}

// stored is what lies in a slot, opened as the teammate opens it.
func (c *crew) stored(box *natsbox.Conn, to, id string) planmode.Decision {
	c.t.Helper()
	o, err := box.ReadDecision(context.Background(), to, id)
	if err != nil {
		c.t.Fatal(err)
	}
	_, d, err := charter.OpenOrder[planmode.Decision](c.Charter(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	return d
}

// decide is what `swarm approve` and `swarm reject` do.
func (c *crew) decide(who, id string, ch leader.Choice) (planmode.Decision, error) {
	c.t.Helper()
	box := c.Connect(who)
	defer box.Close()
	q, err := leader.Read(context.Background(), box, leader.QueueConfig{Charter: c.Charter()}, id)
	if err != nil {
		c.t.Fatal(err)
	}
	row, err := q.Find(id)
	if err != nil {
		return planmode.Decision{}, err
	}
	d, err := leader.Prepare(*row, ch, c.Charter(), time.Now())
	if err != nil {
		return planmode.Decision{}, err
	}
	return leader.Publish(context.Background(), box, c.signer(who), c.Charter(), *row, d)
}
