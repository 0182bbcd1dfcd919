package attacks_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// lyingBox is a mailbox at a broker that answers with a charter of its own choice.
type lyingBox struct {
	teammate.Box
	mu  sync.Mutex
	lie *charter.Signed
}

func (b *lyingBox) says(s *charter.Signed) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lie = s
}

func (b *lyingBox) said() *charter.Signed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lie
}

func (b *lyingBox) Join(ctx context.Context, q natsbox.JoinRequest) (natsbox.Welcome, error) {
	w, err := b.Box.Join(ctx, q)
	if lie := b.said(); lie != nil {
		w.Charter = *lie
	}
	return w, err
}

func (b *lyingBox) Call(ctx context.Context, verb string, in, out any) error {
	if lie := b.said(); lie != nil && verb == natsbox.VerbCharter {
		*out.(*charter.Signed) = *lie
		return nil
	}
	return b.Box.Call(ctx, verb, in, out)
}

// A broker that serves another charter than the owner's newest changes nothing of who decides: neither while the teammate runs,
// nor when it starts again.
func TestAttackCharters(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.team.Amend(func(*charter.Charter) {}) // so that the one in force has no additions
	now := r.team.Coordinator().Signed()
	box := &lyingBox{}
	m := r.start(func(c *teammate.Config) {
		box.Box = c.Box
		c.Box = box
	})
	sealed := func(owner nkeys.KeyPair, change func(*charter.Charter)) *charter.Signed {
		c := r.team.Charter()
		c.Members = slices.Clone(c.Members)
		change(&c)
		s, err := charter.Sign(owner, c)
		if err != nil {
			t.Fatal(err)
		}
		return &s
	}
	back := func(c *charter.Charter) {
		for i := range c.Members {
			c.Members[i].Retired = false
		}
	}
	stranger, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	tampered := now
	tampered.Payload = bytes.Replace(now.Payload, []byte(`,"retired":true`), nil, 1)
	if bytes.Equal(tampered.Payload, now.Payload) {
		t.Fatal("nobody is retired")
	}
	added := now
	enrol := r.team.Enrol()
	evil, err := charter.SignAddition(enrol, r.team.Charter(), charter.Member{Name: "friend", Role: charter.RoleTeammate, Kind: charter.KindAgent, Key: public(t, r.keys["stranger"])})
	if err != nil {
		t.Fatal(err)
	}
	evil.Payload = bytes.Replace(evil.Payload, []byte(`"role":"teammate"`), []byte(`"role":"leader"`), 1)
	added.Additions = append(slices.Clone(now.Additions), evil)
	for _, a := range []struct {
		name, want, signer string
		lie                *charter.Signed
	}{
		{"the charter from before a leader was removed", "serial", "eva", sealed(r.team.Owner(), func(c *charter.Charter) { c.Serial--; back(c) })},
		{"a charter that was altered", "not of the owner", "eva", &tampered},
		{"a charter of another owner", "not of the owner", "eva", sealed(stranger, func(c *charter.Charter) {
			c.Serial, c.TeamID = c.Serial+5, charter.TeamID(public(t, stranger))
			back(c)
		})},
		{"a leader added with the enrolment key", "enrolment key", "stranger", &added},
	} {
		t.Run(a.name, func(t *testing.T) {
			box.says(a.lie)
			row := r.plans(m, "run tests")
			d := r.approval(row, "bob")
			d.DecidedBy.Name = a.signer
			payload := r.wire(t, a.signer, "api", mailbox.KindPlanApprovalResponse, d.Epoch, d)
			subject := mailbox.DecisionSubject("shop", "api", row.EnvelopeID)
			r.said.take()
			r.store(t, subject, payload, sign(t, r.keys[a.signer], subject, payload))
			next := r.pending(m, row.EnvelopeID)
			m.is(t, planmode.AwaitingLeaderApproval, permissions.ModePlan, 0)
			m.end(teammate.ErrDetach)
			err := r.fails(func(c *teammate.Config) { c.Box = &lyingBox{Box: c.Box, lie: a.lie} })
			if err == nil || !strings.Contains(err.Error(), a.want) {
				t.Errorf("it starts under that charter: %v, want %q", err, a.want)
			}
			box = &lyingBox{}
			m = r.start(func(c *teammate.Config) {
				box.Box = c.Box
				c.Box = box
			})
			if err != nil {
				mailboxtest.Refused(t, a.name, operator, mailboxtest.ByTeammate, err.Error()+"; a decision by it: "+next.Request.Reason)
			}
		})
	}
	row := r.plans(m, "run tests")
	r.counts(t, m, row, "bob")
}

// fails starts api and returns why it does not run.
func (r *rig) fails(change func(*teammate.Config)) error {
	r.t.Helper()
	m := r.begin(change)
	defer m.end(teammate.ErrDetach)
	select {
	case <-m.Ready():
		return nil
	case err := <-m.ended:
		m.ended <- err
		return err
	}
}

// What was signed in one team is nothing in another one of the same name, with the same people and the same names: its owner is
// another.
func TestAttackTeamOfTheSameName(t *testing.T) {
	t.Parallel()
	here, there := newRig(t), newRig(t)
	bob := there.keys["bob"]
	here.team.Amend(func(c *charter.Charter) { // bob leads in both, under one key
		c.Members = slices.Clone(c.Members)
		for i := range c.Members {
			if c.Members[i].Name == "bob" {
				c.Members[i].Key = public(t, bob)
			}
		}
	})
	here.keys["bob"] = bob
	id := natsbox.NewRequestID()
	fixed := func(c *teammate.Config) {
		once := true
		c.NewRequestID = func() string {
			if once {
				once = false
				return id
			}
			return natsbox.NewRequestID()
		}
	}
	m, n := here.start(fixed), there.start(fixed)
	row, other := here.plans(m, "run tests"), there.plans(n, "run tests")
	if row.EnvelopeID != other.EnvelopeID {
		t.Fatalf("the requests are %s and %s", row.EnvelopeID, other.EnvelopeID)
	}
	d := there.approval(other, "bob")
	payload := there.wire(t, "bob", "api", mailbox.KindPlanApprovalResponse, d.Epoch, d)
	subject := mailbox.DecisionSubject("shop", "api", id)
	sig := sign(t, bob, subject, payload)
	t.Run("a decision of another team of this name", func(t *testing.T) {
		here.store(t, subject, payload, sig)
		next := here.pending(m, id)
		m.is(t, planmode.AwaitingLeaderApproval, permissions.ModePlan, 0)
		if !strings.Contains(next.Request.Reason, "is of another team") {
			t.Errorf("asked again because %q", next.Request.Reason)
		}
		mailboxtest.Refused(t, "a decision of another team of this name", operator, mailboxtest.ByTeammate, next.Request.Reason)
	})
	there.store(t, subject, payload, sig)
	if rec := there.receipt(t, id); rec.State != mailbox.Applied {
		t.Errorf("in its own team: %+v", rec)
	}
	t.Run("a mode order of another team of this name", func(t *testing.T) {
		subject, payload, sigs, id := there.made(t, order{kind: modeSet}, 3)
		here.said.take()
		here.store(t, subject, payload, sigs...)
		here.handled(t, "ORD_shop", "api")
		m.is(t, planmode.AwaitingLeaderApproval, permissions.ModePlan, 0)
		why := here.whyNot(t, id)
		there.store(t, subject, payload, sigs...)
		if rec := there.receipt(t, id); rec.State != mailbox.Applied {
			t.Errorf("in its own team: %+v", rec)
		}
		mailboxtest.Refused(t, "a mode order of another team of this name", operator, mailboxtest.ByTeammate, why)
	})
	t.Run("a plan of another team of this name", func(t *testing.T) {
		q := *other.Request
		q.RequestID = natsbox.NewRequestID()
		mate := here.team.Connect("mate")
		send(t, mate, "mate", mailbox.Lead, 1, q.RequestID, mailbox.KindPlanApprovalRequest, q)
		var got natsbox.Row
		until(t, "the request", func() (ok bool) {
			var err error
			got, err = here.anna.Request(t.Context(), q.RequestID)
			return err == nil
		})
		err := opened(here.team.Charter(), got)
		if err == nil || !strings.Contains(err.Error(), "its bytes give") {
			t.Errorf("the leader opens it: %v", err)
			return
		}
		mailboxtest.Refused(t, "a plan of another team of this name", "teammate", mailboxtest.ByLeader, err.Error())
	})
	t.Run("a member's key of another team of this name", func(t *testing.T) {
		cfg := here.team.Config("mate")
		cfg.Key = there.keys["mate"]
		box, err := natsbox.Connect(t.Context(), cfg)
		if err == nil {
			box.Close()
			t.Fatal("it is let in")
		}
		mailboxtest.Refused(t, "a member's key of another team of this name", "nobody", mailboxtest.ByDoor, err.Error())
	})
	here.counts(t, m, here.plans(m, "run tests"), "bob")
}
