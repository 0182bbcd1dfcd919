package planmode_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// A session that contradicts itself takes no step but the last one.
func TestDamagedSessions(t *testing.T) {
	for name, damage := range map[string]func(*planmode.Session){
		"unknown state":             func(s *planmode.Session) { s.State = "approved" },
		"working in plan mode":      func(s *planmode.Session) { s.Mode = permissions.ModePlan },
		"working in no mode":        func(s *planmode.Session) { s.Mode = "" },
		"working with saved mode":   func(s *planmode.Session) { s.Saved = permissions.ModeBypass },
		"planning in another mode":  func(s *planmode.Session) { *s = planning(t); s.Mode = permissions.ModeAuto },
		"planning with saved plan":  func(s *planmode.Session) { *s = planning(t); s.Saved = permissions.ModePlan },
		"planning with no saved":    func(s *planmode.Session) { *s = planning(t); s.Saved = "" },
		"planning with approved":    func(s *planmode.Session) { *s = planning(t); s.Approved = &planmode.Approval{} },
		"awaiting nothing":          func(s *planmode.Session) { *s = awaiting(t); s.Pending = nil },
		"working with a request":    func(s *planmode.Session) { s.Pending = &planmode.Pending{RequestID: "r1"} },
		"grants without a plan":     func(s *planmode.Session) { s.Approved = nil },
		"grants of another plan":    func(s *planmode.Session) { s.Approved.Digest = "00" },
		"one grant of another plan": func(s *planmode.Session) { s.Grants[1].Digest = "00" },
	} {
		s := carrying(t)
		damage(&s)
		wantErr(t, s.Check(), planmode.ErrDamaged)
		for _, n := range eventNames(t) {
			ev := zeroEvent(t, n)
			next, _, err := step(t, s, ev)
			switch ev.(type) {
			case planmode.Exited, planmode.Fenced:
				if err != nil || next.State != planmode.Left {
					t.Errorf("%s: %s leads to %q (%v), want left", name, n, next.State, err)
				}
			case planmode.Started:
				wantErr(t, err, planmode.ErrWrongState)
			default:
				wantErr(t, err, planmode.ErrDamaged)
			}
		}
	}
}

func TestApplyNothing(t *testing.T) {
	for _, s := range []planmode.Session{{}, working(t), left(t)} {
		_, _, err := s.Apply(nil)
		wantErr(t, err, planmode.ErrWrongState)
		_, _, err = s.Apply(&planmode.Interrupted{})
		wantErr(t, err, planmode.ErrWrongState)
	}
}

// What a session remembers is bounded, and what is open is never forgotten.
func TestSettledIsBounded(t *testing.T) {
	s := awaiting(t)
	for i := range planmode.MaxSettled + 44 {
		id := fmt.Sprint("x", i)
		s = must(t, s, planmode.Asked{Ask: ask(id, "h"+id)}, planmode.AskWithdrawn{RequestID: id})
	}
	if len(s.Settled) != planmode.MaxSettled || s.Settled[0].RequestID != "x44" || s.Settled[planmode.MaxSettled-1].RequestID != "x299" {
		t.Errorf("%d are settled, %s to %s", len(s.Settled), s.Settled[0].RequestID, s.Settled[len(s.Settled)-1].RequestID)
	}
	if s = must(t, s, approve(s)); s.State != planmode.Working {
		t.Errorf("the pending request is not decided: %s", s.State)
	}
}

func TestOrdersAreBounded(t *testing.T) {
	leader := func(i int) charter.Member {
		return charter.Member{Name: fmt.Sprint("l", i), Role: charter.RoleLeader, Kind: charter.KindPerson, Key: fmt.Sprintf("U%03d", i)}
	}
	by := func(i int) planmode.ModeOrdered {
		a := charter.Authority{Signers: []charter.Member{leader(i)}, Leader: true, QuorumMet: true}
		return order(permissions.ModeDefault, 1, func(ev *planmode.ModeOrdered) { ev.Authority, ev.Signer = a, leader(i).Key })
	}
	c := teamCharter()
	for i := range planmode.MaxSigners + 1 {
		c.Members = append(c.Members, leader(i))
	}
	s := must(t, planmode.Session{}, start(c))
	for i := range planmode.MaxSigners {
		s = must(t, s, by(i))
	}
	_, _, err := step(t, s, by(planmode.MaxSigners))
	wantErr(t, err, planmode.ErrWrongState) // all are leaders: an old order of one that is forgotten would be taken

	c.Serial++
	c.Members[8].Retired = true // l7
	s = must(t, s, planmode.CharterChanged{Charter: c, Now: now}, by(planmode.MaxSigners))
	if _, kept := s.Orders["U007"]; kept || len(s.Orders) != planmode.MaxSigners || s.Orders["U006"] != 1 {
		t.Errorf("%d counters, the retired leader's among them: %t", len(s.Orders), kept)
	}
}

// A plan mode that is entered again under the same plan id goes on counting: no two requests have one digest.
func TestRevisionsOfOnePlanGoOn(t *testing.T) {
	s := carrying(t)
	first := s.Approved.Digest
	s = must(t, s, enter(planmode.ByAgent), submit("r2", planA))
	if s.Pending.Revision != 2 || s.Pending.Digest == first {
		t.Errorf("pending is %+v", s.Pending)
	}
}

// Between a new team and its charter nothing can be restored.
func TestNewTeamNeedsItsCharter(t *testing.T) {
	s := must(t, working(t), planmode.Resumed{Team: "ab12", Epoch: 1, Now: now}, submit("r1", planA))
	ev := approve(s, func(d *planmode.Decided) { d.Decision.TeamID, d.Team = "ab12", "ab12" })
	_, _, err := step(t, s, ev)
	wantErr(t, err, planmode.ErrAboveCap)
	c := teamCharter()
	c.TeamID, c.Serial = "ab12", 1
	if s = must(t, s, planmode.CharterChanged{Charter: c, Now: now}, ev); s.State != planmode.Working || s.Mode != permissions.ModeAcceptEdits {
		t.Errorf("%s in %s, want working in acceptEdits", s.State, s.Mode)
	}
}

// Who is told to have decided is who signed, whatever the order says of itself.
func TestDecidedByIsTheSigner(t *testing.T) {
	a := awaiting(t)
	s := must(t, a, approve(a, func(d *planmode.Decided) { d.Decision.DecidedBy.Name = "owner" }))
	if got := s.Grants[0].GrantedBy; got != "alice" {
		t.Errorf("granted by %q, want the signer", got)
	}
}

// Whatever stands in a journal, a step neither panics nor half happens.
func FuzzApply(f *testing.F) {
	sessions := []planmode.Session{{}, working(f), planning(f), withAsk(f, awaiting(f)), awaitingLeave(f), withAsk(f, carrying(f)), left(f)}
	evs := []planmode.Event{approve(awaiting(f)), decide(awaiting(f), no), submit("r2", planB), order(permissions.ModePlan, 1), use("r1/1"), planmode.Fenced{}}
	for _, s := range sessions {
		for _, ev := range evs {
			data, _ := planmode.MarshalEvent(ev)
			f.Add([]byte(asJSON(f, s)), data)
		}
	}
	f.Fuzz(func(t *testing.T, session, event []byte) {
		var s planmode.Session
		if json.Unmarshal(session, &s) != nil {
			return
		}
		if ev, err := planmode.UnmarshalEvent(event); err == nil {
			step(t, s, ev)
		}
	})
}
