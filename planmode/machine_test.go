package planmode_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// machine is one teammate, and three others that must not differ from it: one that is read back from its journal before
// each step, one that is resumed again and again, and one that was granted less.
type machine struct {
	s        planmode.Session
	restored planmode.Session
	resumed  planmode.Session
	lesser   *planmode.Session // since lesserID was approved with one grant less
	lesserID string

	now     time.Time
	ids     int
	serial  uint64
	journal [][]byte // events, as written

	shown    map[string]planmode.ApprovalRequest // what the leaders were asked, by request id
	decided  map[string]bool                     // request ids that were applied
	granted  map[string]bool                     // grant ids that were ever in force
	released map[string]bool                     // permission requests that let their call through
	ended    int                                 // steps since the teammate has left
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		now: now, serial: 4, shown: map[string]planmode.ApprovalRequest{},
		decided: map[string]bool{}, granted: map[string]bool{}, released: map[string]bool{},
	}
	ev := start(teamCharter())
	ev.Charter.Caps.PlanRequired = rapid.Bool().Draw(t, "planRequired")
	ev.Plan = rapid.IntRange(0, 3).Draw(t, "starts planning") == 0
	ev.PlanID, ev.PlanFile = "p0", file
	ev.Mode = rapid.SampledFrom(permissions.Modes()[:5]).Draw(t, "own mode")
	m.take(t, ev)
	return m
}

// Section 4 of the table: what holds after every step, whatever comes in whatever order, through restarts and resumes.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		actions := map[string]func(*rapid.T){
			"":        func(t *rapid.T) { m.renew(t) },
			"Spoiled": func(t *rapid.T) { m.spoil(t) },
		}
		for name, make := range makers {
			actions[name] = func(t *rapid.T) { m.take(t, make(m, t)) }
		}
		t.Repeat(actions)
		m.replay(t)
	})
}

// renew starts another teammate in place of one that has been gone for some steps.
func (m *machine) renew(t *rapid.T) {
	if m.s.State != planmode.Left {
		return
	}
	if m.ended++; m.ended > 4 {
		m.replay(t)
		*m = *newMachine(t)
	}
}

// spoil is somebody who takes the slots of one request before its leader can.
func (m *machine) spoil(t *rapid.T) {
	for range rapid.IntRange(1, planmode.MaxAttempts).Draw(t, "slots") {
		if m.s.Pending != nil {
			m.take(t, planmode.Reissued{Old: m.s.Pending.RequestID, New: m.freshID(), Cause: "not signed", Epoch: m.s.Epoch})
		}
	}
}

// take is one step of all four, and everything that has to hold after it.
func (m *machine) take(t *rapid.T, ev planmode.Event) {
	before := m.s
	next, effects, err := step(t, before, ev)
	m.s = next
	m.followRestored(t, ev, effects, err)
	m.followResumed(t, ev, err)
	m.followLesser(t, before, ev, err)
	if err != nil {
		return
	}
	m.journal = append(m.journal, written(t, ev))
	for _, e := range effects {
		m.carryOut(t, e)
	}
	m.checkModes(t)
	m.checkWayOut(t, before, ev)
	m.checkSaved(t, before, ev)
	m.checkOnce(t, before, ev)
}

func written(t tb, ev planmode.Event) []byte {
	data, err := planmode.MarshalEvent(ev)
	if err != nil {
		t.Fatalf("MarshalEvent(%T): %v", ev, err)
	}
	return data
}

func read(t tb, data []byte) planmode.Event {
	ev, err := planmode.UnmarshalEvent(data)
	if err != nil {
		t.Fatalf("UnmarshalEvent(%s): %v", data, err)
	}
	return ev
}

// carryOut stands for the world: it remembers what a leader is shown, and that nothing is given twice.
func (m *machine) carryOut(t *rapid.T, e planmode.Effect) {
	switch e := e.(type) {
	case planmode.PublishRequest:
		m.shown[e.Pending.RequestID] = planmode.NewRequest(e, contentOf(&e.Pending))
	case planmode.AddGrants:
		for _, g := range e.Grants {
			if m.granted[g.ID] {
				t.Fatalf("grant %s is given twice", g.ID)
			}
			m.granted[g.ID] = true
		}
	case planmode.ReleaseCall:
		if m.released[e.RequestID] {
			t.Fatalf("call of %s is released twice", e.RequestID)
		}
		m.released[e.RequestID] = true
	}
}

// checkModes is a, b, c, d and f, by other words than Check's.
func (m *machine) checkModes(t *rapid.T) {
	s := m.s
	planning := s.State == planmode.Planning || s.State == planmode.AwaitingLeaderApproval
	switch {
	case planning != (s.Mode == permissions.ModePlan):
		t.Fatalf("a: %s in mode %s", s.State, s.Mode)
	case planning != (s.Saved != ""):
		t.Fatalf("b: %s with saved mode %q", s.State, s.Saved)
	case (s.State == planmode.AwaitingLeaderApproval) != (s.Pending != nil):
		t.Fatalf("c: %s with pending %v", s.State, s.Pending)
	case len(s.Grants) > 0 && s.Approved == nil, s.Approved != nil && s.State != planmode.Working:
		t.Fatalf("d: %s with grants %v under %v", s.State, s.Grants, s.Approved)
	case s.State == planmode.Working && s.Charter.TeamID != s.Team:
		t.Fatalf("working under the charter of team %s in %s", s.Charter.TeamID, s.Team)
	case s.State != planmode.Left && s.Mode.Above(s.Charter.Caps.Mode):
		t.Fatalf("f: mode %s above %s", s.Mode, s.Charter.Caps.Mode)
	case s.State == planmode.Working && s.Mode == permissions.ModePlan:
		t.Fatalf("working in plan mode")
	case len(s.Asks) > planmode.MaxAsks || len(s.Settled) > planmode.MaxSettled:
		t.Fatalf("%d asks and %d settled", len(s.Asks), len(s.Settled))
	}
	for _, g := range s.Grants {
		if g.Digest != s.Approved.Digest || g.Teammate != mate || g.Root != tree || g.ExpiresAt.IsZero() {
			t.Fatalf("d: grant %+v is not bound to %+v", g, s.Approved)
		}
	}
}

// checkWayOut is e: one step out of plan mode, one cause.
func (m *machine) checkWayOut(t *rapid.T, before planmode.Session, ev planmode.Event) {
	if before.Mode != permissions.ModePlan || m.s.State != planmode.Working {
		return
	}
	free := !before.Charter.Caps.PlanRequired && before.State == planmode.Planning
	switch ev := ev.(type) {
	case planmode.Decided:
		m.checkDecided(t, before, ev)
		return
	case planmode.LeaveAsked:
		if free && before.Cycle.EnteredBy == planmode.ByAgent && !m.s.Mode.Above(before.Saved) {
			return
		}
	case planmode.ModeObserved:
		if free && before.Cycle.EnteredBy == planmode.ByClient && m.s.Mode == ev.Mode {
			return
		}
	}
	t.Fatalf("e: %T leads from %s (entered by %s) to work in %s", ev, before.State, before.Cycle.EnteredBy, m.s.Mode)
}

// checkDecided judges a decision that was applied once more: against what the leader was shown, not against the session.
func (m *machine) checkDecided(t *rapid.T, before planmode.Session, ev planmode.Decided) {
	d, shown := ev.Decision, m.shown[ev.Decision.RequestID]
	digest := func(content []byte, prompts []permissions.Prompt) string {
		return byHand(planmode.DigestInput{
			TeamID: m.s.Team, Teammate: mate, PlanID: shown.PlanID, Revision: shown.Revision,
			Content: content, Prompts: prompts, Options: shown.Options, RequestedMode: shown.RequestedMode,
		})
	}
	a := ev.Authority
	switch {
	case !a.Leader || a.NeedsPerson || a.WeakKey || !a.QuorumMet:
		t.Fatalf("e: applied under authority %+v", a)
	case ev.Team != m.s.Team || ev.To != mate || d.TeamID != m.s.Team:
		t.Fatalf("e: applied for %s in %s", ev.To, ev.Team)
	case shown.RequestID == "" || d.PlanDigest != digest(shown.Plan.Content, shown.AllowedPrompts):
		t.Fatalf("e: %s is decided, and shown was something else", d.RequestID)
	case d.Outcome != yes && d.Outcome != exit:
		t.Fatalf("e: %s leads to work", d.Outcome)
	case m.s.Mode.Above(d.Mode) || d.Outcome == exit && m.s.Mode.Above(before.Saved):
		t.Fatalf("5: mode %s, and the decision names %s", m.s.Mode, d.Mode)
	case d.Outcome == yes && m.s.Mode != d.Mode:
		t.Fatalf("5: mode %s, and the leader saw %s", m.s.Mode, d.Mode)
	}
	m.checkGranted(t, ev, shown, digest)
}

func (m *machine) checkGranted(t *rapid.T, ev planmode.Decided, shown planmode.ApprovalRequest, digest func([]byte, []permissions.Prompt) string) {
	d := ev.Decision
	if d.Outcome != yes || shown.Kind != planmode.AskPlan {
		if m.s.Approved != nil || len(m.s.Grants) > 0 {
			t.Fatalf("6: %s of a %s request approves %+v", d.Outcome, shown.Kind, m.s.Approved)
		}
		return
	}
	content := shown.Plan.Content
	if d.EditedPlan != nil {
		content = d.EditedPlan
	}
	var granted []permissions.Prompt
	for _, p := range shown.AllowedPrompts {
		i := slices.IndexFunc(m.s.Grants, func(g permissions.Grant) bool { return g.Prompt == p.Prompt && g.Intent == p.Intent })
		if i < 0 {
			continue
		}
		granted = append(granted, p)
		if g := m.s.Grants[i]; p.Intent == "" || !slices.Contains(d.Grants, g.GrantTerms) || !g.Live(ev.Now) {
			t.Fatalf("6: grant %+v is not what was asked and given", g)
		}
	}
	if len(granted) != len(m.s.Grants) || len(granted) != len(d.Grants) || m.s.Approved.Digest != digest(content, granted) {
		t.Fatalf("2: %+v with %d grants is not what was decided: %+v", m.s.Approved, len(m.s.Grants), d)
	}
}

// checkSaved is invariant 5: the saved mode is the mode before, until a leader orders another.
func (m *machine) checkSaved(t *rapid.T, before planmode.Session, ev planmode.Event) {
	if m.s.Mode != permissions.ModePlan {
		return
	}
	ordered, isOrder := ev.(planmode.ModeOrdered)
	was := before.Mode
	if limit := m.s.Charter.Caps.Mode; limit != permissions.ModePlan { // a charter that voids may lower it in the same step
		was = permissions.MinMode(was, limit)
	}
	switch {
	case before.State == planmode.Working && m.s.Saved != was:
		t.Fatalf("5: saved is %s, and the mode was %s", m.s.Saved, before.Mode)
	case before.Mode != permissions.ModePlan || before.Saved == m.s.Saved:
	case !isOrder || !ordered.Authority.Leader || ordered.Mode != m.s.Saved:
		t.Fatalf("5: %T changes the saved mode from %s to %s", ev, before.Saved, m.s.Saved)
	}
}

// checkOnce is g.
func (m *machine) checkOnce(t *rapid.T, before planmode.Session, ev planmode.Event) {
	d, ok := ev.(planmode.Decided)
	if !ok || asJSON(t, before) == asJSON(t, m.s) {
		return
	}
	id := d.Decision.RequestID
	if m.decided[id] || before.Pending == nil || before.Pending.RequestID != id {
		t.Fatalf("g: request %s is applied, and pending was %+v", id, before.Pending)
	}
	m.decided[id] = true
}

// followRestored is h for a runner that is killed after every step: its journal is all that it has.
func (m *machine) followRestored(t *rapid.T, ev planmode.Event, effects []planmode.Effect, want error) {
	var s planmode.Session
	if err := json.Unmarshal([]byte(asJSON(t, m.restored)), &s); err != nil {
		t.Fatalf("the session cannot be read back: %v", err)
	}
	next, got, err := s.Apply(read(t, written(t, ev)))
	if !sameError(err, want) || asJSON(t, next) != asJSON(t, m.s) {
		t.Fatalf("h: %T after a restart: %v, %s\nwant %v, %s", ev, err, asJSON(t, next), want, asJSON(t, m.s))
	}
	a, errA := planmode.MarshalEffects(effects)
	b, errB := planmode.MarshalEffects(got)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Fatalf("h: effects of %T after a restart are %s (%v), want %s (%v)", ev, b, errB, a, errA)
	}
	m.restored = next
}

// followResumed is h: a resume between any two events changes nothing but that expired grants end at once.
func (m *machine) followResumed(t *rapid.T, ev planmode.Event, want error) {
	if m.resumed.State != "" && m.resumed.State != planmode.Left && rapid.Bool().Draw(t, "resume") {
		m.resumed = must(t, m.resumed, planmode.Resumed{Team: m.resumed.Team, Epoch: m.resumed.Epoch, Now: m.now})
	}
	next, _, err := m.resumed.Apply(ev)
	if !sameError(err, want) {
		t.Fatalf("h: %T after a resume: %v, want %v", ev, err, want)
	}
	m.resumed = next
	if got, want := asJSON(t, unexpired(next, m.now)), asJSON(t, unexpired(m.s, m.now)); got != want {
		t.Fatalf("h: %T after a resume leads to\n%s, want\n%s", ev, got, want)
	}
}

func unexpired(s planmode.Session, now time.Time) planmode.Session {
	s.Grants = slices.DeleteFunc(slices.Clone(s.Grants), func(g permissions.Grant) bool { return !g.ExpiresAt.After(now) })
	return s
}

func sameError(a, b error) bool {
	return fmt.Sprint(a) == fmt.Sprint(b)
}

// followLesser is i: with one grant less, nothing later is more permissive.
func (m *machine) followLesser(t *rapid.T, before planmode.Session, ev planmode.Event, err error) {
	if d, ok := ev.(planmode.Decided); ok && err == nil && before.Pending != nil && m.s.Approved != nil && len(d.Decision.Grants) > 0 {
		i := rapid.IntRange(0, len(d.Decision.Grants)-1).Draw(t, "withheld")
		d.Decision.Grants = slices.Delete(slices.Clone(d.Decision.Grants), i, i+1)
		next := must(t, before, seal(before, d))
		m.lesser, m.lesserID = &next, m.s.Approved.RequestID
	} else if m.lesser != nil {
		next, _, lerr := m.lesser.Apply(ev)
		if _, uses := ev.(planmode.GrantUsed); uses && lerr == nil && err != nil {
			t.Fatalf("i: %+v is allowed with fewer grants only", ev)
		}
		m.lesser = &next
	}
	if m.lesser == nil {
		return
	}
	if m.s.Approved == nil || m.s.Approved.RequestID != m.lesserID {
		m.lesser = nil
		return
	}
	if m.lesser.Mode != m.s.Mode || m.lesser.State != m.s.State {
		t.Fatalf("i: %s in %s with fewer grants, %s in %s with more", m.lesser.State, m.lesser.Mode, m.s.State, m.s.Mode)
	}
	for _, g := range m.lesser.Grants {
		within := func(o permissions.Grant) bool {
			return o.ID == g.ID && !g.ExpiresAt.After(o.ExpiresAt) && g.MaxUses == o.MaxUses && g.Uses >= o.Uses && g.Tree == o.Tree && slices.Equal(g.Argv, o.Argv)
		}
		if !slices.ContainsFunc(m.s.Grants, within) {
			t.Fatalf("i: %+v is in force with fewer grants only", g)
		}
	}
}

// replay is h: the whole journal, from nothing, leads to the same session.
func (m *machine) replay(t *rapid.T) {
	var s planmode.Session
	for _, line := range m.journal {
		s = must(t, s, read(t, line))
	}
	if got, want := asJSON(t, s), asJSON(t, m.s); got != want {
		t.Fatalf("h: the journal leads to\n%s, want\n%s", got, want)
	}
}
