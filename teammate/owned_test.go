//go:build linux

package teammate_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// granted has the teammate work with a grant that a leader gave.
func (m *mate) granted(r *rig) {
	r.t.Helper()
	p := m.plans()
	until(r.t, "published", func() bool { s := m.status(); return s.Pending != nil && s.Pending.Published })
	r.decide(r.approval(r.request(p.RequestID)))
	m.wait()
	m.wantState(planmode.Working, permissions.ModeDefault)
	if v, _ := m.View(); len(v.Grants) == 0 {
		r.t.Fatal("no grant is in force")
	}
}

// leadersMail is what leaders were told.
func (r *rig) leadersMail() string {
	r.t.Helper()
	var all []natsbox.MailInfo
	if err := r.anna.Call(r.t.Context(), natsbox.VerbMail, natsbox.MailRequest{}, &all); err != nil {
		r.t.Fatal(err)
	}
	var texts []string
	for _, m := range all {
		texts = append(texts, m.From+": "+m.Text)
	}
	return strings.Join(texts, "\n")
}

// A team that is handed over goes on: grants stay, and the new owner's charter counts.
func TestTeammateFollowsAHandover(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	m.granted(r)
	r.team.HandOver(r.team.Owner(), charter.NewOwner{})
	r.team.Amend(func(c *charter.Charter) { c.Caps.Mode = permissions.ModeAcceptEdits })
	r.refresh(m)
	m.wantState(planmode.Working, permissions.ModeDefault)
	if v, _ := m.View(); len(v.Grants) == 0 {
		t.Error("the grant has ended")
	}
}

// Where the owner's key was in other hands, a teammate is in plan mode without grants at once, and its leaders are told; one
// that was away is so when it is back, and what it waited for is asked no more.
func TestAttackCompromisedOwnerVoidsWhatWasDecided(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		for _, waits := range []bool{false, true} {
			r := newRig(t)
			m := r.start()
			pending := ""
			if waits {
				pending = m.plans().RequestID
				until(t, "published", func() bool { s := m.status(); return s.Pending != nil && s.Pending.Published })
			} else {
				m.granted(r)
			}
			if away {
				m.end(teammate.ErrDetach)
			}
			r.team.HandOver(r.team.Owner(), charter.NewOwner{Compromised: true})
			if waits && away { // a leader decides before it is back
				r.decide(r.approval(r.request(pending)))
			}
			if away {
				m = r.start()
			}
			until(t, "plan mode", func() bool { s := m.status(); return s.State == planmode.Planning && s.Pending == nil })
			if v, _ := m.View(); len(v.Grants) != 0 || v.Mode != permissions.ModePlan {
				t.Errorf("away %v, waits %v: %d grants in mode %s", away, waits, len(v.Grants), v.Mode)
			}
			until(t, "leaders are told", func() bool {
				mail := r.leadersMail()
				return strings.Contains(mail, "broker: The team has another owner") && strings.Contains(mail, "api: api is in plan mode")
			})
			until(t, "the agent is told", func() bool {
				return slices.ContainsFunc(m.agent.all(), func(s string) bool { return strings.Contains(s, string(planmode.NotifyResubmit)) })
			})
			if waits {
				until(t, "asked no more", func() bool {
					row := r.request(pending)
					return row.Withdrawn == string(planmode.WithdrawnNewTeam)
				})
			}
			m.submit("# Again\n") // and it goes on from there
			r.team.Amend(func(*charter.Charter) {})
			m.RefreshCharter(t.Context())
			if s := m.status(); s.State != planmode.AwaitingLeaderApproval {
				t.Errorf("the next charter voids again: %s", s.State)
			}
			m.end(teammate.ErrDetach)
		}
	}
	mailboxtest.Refused(t, "decide with keys of a team that was compromised", "thief", mailboxtest.ByTeammate, "what was decided is void: plan mode, no grants, and all are told")
}

// served has the broker answer with a charter of somebody's choice.
type served struct {
	teammate.Box
	signed atomic.Pointer[charter.Signed] // the runner asks by itself too
}

func (s *served) Call(ctx context.Context, verb string, in, out any) error {
	if signed := s.signed.Load(); verb == natsbox.VerbCharter && signed != nil {
		*out.(*charter.Signed) = *signed
		return nil
	}
	return s.Box.Call(ctx, verb, in, out)
}

// The broker itself serves what a thief has signed, or what the old owner had signed: none of it is followed, also after a
// restart. With the recovery key the team is taken back from a thief who had come first.
func TestAttackBrokerServesAnotherOwner(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	recovery, thief := someKey(t), someKey(t)
	old := r.team.Owner()
	sign := func(by nkeys.KeyPair, serial uint64, chain []charter.Handover) charter.Signed {
		c := r.team.Charter()
		c.Serial = serial
		c.Members = append(slices.Clone(c.Members), charter.Member{Name: "eve", Role: charter.RoleLeader, Kind: charter.KindPerson, Key: public(t, someKey(t))})
		s, err := charter.Sign(by, c, chain...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := sign(old, 50, nil)
	owner := r.team.HandOver(old, charter.NewOwner{RecoveryKey: public(t, recovery)})
	chain := r.team.Coordinator().Signed().Handovers
	handOver := func(by nkeys.KeyPair, chain []charter.Handover, to nkeys.KeyPair, serial uint64) []charter.Handover {
		out, err := charter.SignHandover(by, r.team.Charter().TeamID, chain, charter.NewOwner{To: public(t, to), Serial: serial, Compromised: true})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	forged := sign(thief, 51, handOver(old, nil, thief, 3))
	unsigned := sign(owner, 52, chain)
	unsigned.Handovers = nil
	box := &served{}
	begin := func(c *teammate.Config) { box.Box, c.Box = c.Box, box }
	m := r.start(begin)
	for name, s := range map[string]charter.Signed{"the old owner's": first, "a thief with the old key": forged, "no hand-over": unsigned} {
		box.signed.Store(&s)
		if m.RefreshCharter(t.Context()) {
			t.Errorf("%s: taken", name)
		}
	}
	box.signed.Store(nil)
	m.end(teammate.ErrDetach)
	m = r.start(begin)
	box.signed.Store(&first)
	if m.RefreshCharter(t.Context()) {
		t.Error("the old owner's after a restart: taken")
	}
	stolen := sign(thief, 53, handOver(owner, chain, thief, 53))
	taken := func(what string, signed charter.Signed, serial uint64) {
		box.signed.Store(&signed)
		until(t, what, func() bool {
			m.RefreshCharter(t.Context()) // or the runner by itself
			v, ok := m.View()
			return ok && v.Charter.Serial == serial
		})
	}
	taken("a thief with the key of now is the owner, for all that anybody knows", stolen, 53)
	back := sign(old, 54, handOver(recovery, chain, old, 54))
	taken("the recovery key takes the team back", back, 54)
	again := sign(thief, 99, stolen.Handovers)
	box.signed.Store(&again)
	if m.RefreshCharter(t.Context()) {
		t.Error("the thief comes again")
	}
	mailboxtest.Refused(t, "serve the charter of an owner that was replaced", "broker's operator", mailboxtest.ByTeammate, "it is not taken, over a restart neither")
}

func someKey(t *testing.T) nkeys.KeyPair {
	t.Helper()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	return kp
}

func public(t *testing.T, kp nkeys.KeyPair) string {
	t.Helper()
	pub, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pub
}
