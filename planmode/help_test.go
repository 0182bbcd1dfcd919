package planmode_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

const (
	team = "3f0c"
	mate = "api"
	lead = "UALICE"
	tree = "/work/shop"
	file = "/state/plans/plan.md"
)

var (
	now    = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	alice  = charter.Member{Name: "alice", Role: charter.RoleLeader, Kind: charter.KindPerson, Key: lead, Assurance: charter.Sealed}
	signed = charter.Authority{Signers: []charter.Member{alice}, Leader: true, QuorumMet: true}
	planA  = []byte("# Fix the rounding\n\n- [ ] totals as cents\n")
	planB  = []byte("# Fix the rounding in cents\n\n- [ ] totals as cents\n- [ ] a test\n")
	tests  = permissions.Prompt{Tool: "Bash", Prompt: "run tests", Intent: "run-tests", Classes: []permissions.Class{permissions.ClassRunsProjectCode}, Examples: []string{"go test ./..."}}
	lint   = permissions.Prompt{Tool: "Bash", Prompt: "lint the code", Intent: "lint"}
	murky  = permissions.Prompt{Tool: "Bash", Prompt: "clean up old data"}
	ways   = []plans.Option{{Label: "Cents", Recommended: true}, {Label: "Decimal"}}
)

func teamCharter() charter.Charter {
	return charter.Charter{
		V: 1, Serial: 4, TeamID: team, Team: "shop", Members: []charter.Member{alice},
		Caps: charter.Caps{Mode: permissions.ModeAuto, PlanRequired: true, Grants: charter.GrantCaps{Uses: 10}},
	}
}

// freely is a charter that does not require a plan.
func freely() charter.Charter {
	c := teamCharter()
	c.Caps.PlanRequired = false
	return c
}

func ref(content []byte) plans.Ref {
	sum := sha256.Sum256(content)
	return plans.Ref{Name: "plan.md", Path: file, Bytes: len(content), Digest: hex.EncodeToString(sum[:]), Title: "Fix the rounding"}
}

// tb is what testing.T and rapid.T have in common.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// must takes events that are all possible.
func must(t tb, s planmode.Session, events ...planmode.Event) planmode.Session {
	t.Helper()
	for _, ev := range events {
		next, _, err := s.Apply(ev)
		if err != nil {
			t.Fatalf("Apply(%T) in %q: %v", ev, s.State, err)
		}
		s = next
	}
	return s
}

func start(c charter.Charter) planmode.Started {
	return planmode.Started{Team: team, Teammate: mate, Tree: tree, Mode: permissions.ModeAcceptEdits, Epoch: 3, Charter: c}
}

func enter(by planmode.EnteredBy) planmode.Entered {
	return planmode.Entered{From: permissions.ModeAcceptEdits, By: by, PlanID: "p1", PlanFile: file}
}

func submit(id string, content []byte, mods ...func(*planmode.Submitted)) planmode.Submitted {
	ev := planmode.Submitted{RequestID: id, Content: content, Plan: ref(content), Prompts: []permissions.Prompt{tests, lint, murky}}
	for _, mod := range mods {
		mod(&ev)
	}
	return ev
}

func working(t tb) planmode.Session {
	return must(t, planmode.Session{}, start(teamCharter()))
}

func planning(t tb) planmode.Session { return must(t, working(t), enter(planmode.ByAgent)) }

// planningFreely is plan mode of a teammate that entered it by the given side, in a team that requires no plan.
func planningFreely(t tb, by planmode.EnteredBy) planmode.Session {
	return must(t, planmode.Session{}, start(freely()), enter(by))
}

func awaiting(t tb, mods ...func(*planmode.Submitted)) planmode.Session {
	return must(t, planning(t), submit("r1", planA, mods...), planmode.Published{RequestID: "r1"})
}

func awaitingLeave(t tb) planmode.Session {
	return must(t, planning(t), planmode.LeaveAsked{RequestID: "r1", Reason: "only a question"})
}

func carrying(t tb) planmode.Session {
	s := awaiting(t)
	return must(t, s, approve(s))
}

func left(t tb) planmode.Session { return must(t, working(t), planmode.Exited{}) }

func withAsk(t tb, s planmode.Session) planmode.Session {
	return must(t, s, planmode.Asked{Ask: ask("a1", "h1")})
}

func ask(id, hash string) planmode.Ask {
	return planmode.Ask{RequestID: id, CallHash: hash, Tool: "Bash", Input: "make deps", Cwd: tree + "/backend", Argv: []string{"make", "deps"}}
}

// decide answers the pending request.
func decide(s planmode.Session, outcome planmode.Outcome, mods ...func(*planmode.Decided)) planmode.Decided {
	p := s.Pending
	if p == nil {
		p = &planmode.Pending{RequestID: "r1"}
	}
	ev := planmode.Decided{
		Decision: planmode.Decision{
			OrderHead: mailbox.OrderHead{TeamID: team, CharterSerial: 4, Epoch: p.Epoch, DecidedBy: mailbox.DecidedBy{Name: "alice", Via: "command"}, DecidedAt: now},
			RequestID: p.RequestID, Revision: p.Revision, Outcome: outcome, Approved: outcome == planmode.OutcomeApproved, PlanDigest: p.Digest,
		},
		Authority: signed, V: mailbox.Version, Team: team, To: mate, Now: now,
	}
	if p.Kind == planmode.AskPlan {
		ev.Content = contentOf(p)
	}
	if outcome == planmode.OutcomeApproved || outcome == planmode.OutcomeRejectedAndExit {
		ev.Decision.Mode = permissions.ModeAcceptEdits
	}
	for _, mod := range mods {
		mod(&ev)
	}
	return ev
}

// contentOf stands for the plan store.
func contentOf(p *planmode.Pending) []byte {
	for _, c := range [][]byte{planA, planB} {
		if ref(c).Digest == p.Plan.Digest {
			return c
		}
	}
	return nil
}

// approve gives what was asked and can be given.
func approve(s planmode.Session, mods ...func(*planmode.Decided)) planmode.Decided {
	ev := decide(s, planmode.OutcomeApproved)
	if s.Pending != nil && s.Pending.Kind == planmode.AskPlan {
		for _, p := range s.Pending.Prompts {
			if p.Intent != "" {
				ev.Decision.Grants = append(ev.Decision.Grants, terms(p))
			}
		}
		ev = seal(s, ev)
	}
	for _, mod := range mods {
		mod(&ev)
	}
	return ev
}

func terms(p permissions.Prompt) permissions.GrantTerms {
	return permissions.GrantTerms{Prompt: p.Prompt, Intent: p.Intent, Tree: ".", ExpiresAt: now.Add(time.Hour), MaxUses: 2}
}

// seal names the digest of what the decision approves, as a leader does.
func seal(s planmode.Session, ev planmode.Decided) planmode.Decided {
	ev.Decision.PlanWasEdited = ev.Decision.EditedPlan != nil
	ev.Decision.ApprovedDigest = ""
	if digest, needed := checkInput(s, ev).ApprovedDigest(); needed {
		ev.Decision.ApprovedDigest = digest
	}
	return ev
}

func checkInput(s planmode.Session, ev planmode.Decided) planmode.CheckInput {
	p := s.Pending
	return planmode.CheckInput{
		TeamID: s.Team, Teammate: s.Teammate, RequestID: p.RequestID, Epoch: p.Epoch, Kind: p.Kind, PlanID: s.Cycle.PlanID,
		Revision: p.Revision, Digest: p.Digest, Content: ev.Content, Prompts: p.Prompts, Options: p.Options, RequestedMode: p.RequestedMode,
		Cap: s.Charter.Caps.Mode, Grants: s.Charter.Caps.Grants, Decision: ev.Decision, Authority: ev.Authority, Now: ev.Now,
	}
}

func order(m permissions.Mode, counter uint64, mods ...func(*planmode.ModeOrdered)) planmode.ModeOrdered {
	ev := planmode.ModeOrdered{Mode: m, Authority: signed, OrderID: "o1", Signer: lead, Counter: counter, PlanID: "p2", PlanFile: file, Reason: "first the tests"}
	for _, mod := range mods {
		mod(&ev)
	}
	return ev
}

func answer(b permissions.Behavior, scope permissions.Scope, mods ...func(*planmode.PermissionAnswered)) planmode.PermissionAnswered {
	ev := planmode.PermissionAnswered{
		Answer: planmode.PermissionAnswer{
			OrderHead: mailbox.OrderHead{TeamID: team, DecidedBy: mailbox.DecidedBy{Name: "alice"}, DecidedAt: now}, RequestID: "a1",
			PermissionResponse: permissions.PermissionResponse{CallHash: "h1", Behavior: b, Scope: scope, Message: "fine"},
		},
		Authority: signed, Now: now,
	}
	for _, mod := range mods {
		mod(&ev)
	}
	return ev
}

// brief says an effect in a line: its type, and what matters about it.
func brief(e planmode.Effect) string {
	var detail []string
	add := func(s ...string) { detail = append(detail, s...) }
	switch e := e.(type) {
	case planmode.SetMode:
		add(string(e.Mode))
	case planmode.PublishRequest:
		add(e.Pending.RequestID)
		if e.Supersedes != "" {
			add("over " + e.Supersedes)
		}
	case planmode.PublishAsk:
		add(e.Ask.RequestID)
	case planmode.PublishWithdrawn:
		add(e.RequestID, string(e.Reason))
	case planmode.WatchDecision:
		add(e.RequestID)
	case planmode.StopWatch:
		add(e.RequestID)
	case planmode.AskLedger:
		add(e.RequestID)
	case planmode.AddGrants:
		for _, g := range e.Grants {
			add(g.ID)
		}
	case planmode.EndGrants:
		add(e.Cause)
		add(e.IDs...)
		if e.All {
			add("and all")
		}
	case planmode.Notify:
		add(string(e.Kind))
	case planmode.SendReceipt:
		add(e.Receipt.Of, string(e.Receipt.State))
		if reason := e.Receipt.Reason; reason != "" {
			add("(" + strings.SplitN(reason, ":", 2)[0] + ")")
		}
		if e.Receipt.Count != nil {
			add(fmt.Sprint(*e.Receipt.Count))
		}
	case planmode.ReleaseCall:
		add(e.RequestID, fmt.Sprint(e.Allow))
	case planmode.Emit:
		add(e.Event)
	case planmode.StopAgent:
		add(e.Cause)
	}
	name := strings.TrimPrefix(fmt.Sprintf("%T", e), "planmode.")
	return strings.Join(append([]string{name}, detail...), " ")
}

// asJSON is the session as the journal has it: what two sessions are compared by.
func asJSON(t tb, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("json.Marshal(%T): %v", v, err)
	}
	return string(data)
}

// step applies ev and holds what every step has to hold, whatever the event.
func step(t tb, s planmode.Session, ev planmode.Event) (planmode.Session, []planmode.Effect, error) {
	t.Helper()
	before, evBefore := asJSON(t, s), asJSON(t, ev)
	next, effects, err := s.Apply(ev)
	if err != nil && (!reflect.DeepEqual(s, next) || effects != nil) {
		t.Fatalf("Apply(%T) failed (%v) and left %d effects, or another session:\n%s\nwas\n%s", ev, err, len(effects), asJSON(t, next), before)
	}
	after := asJSON(t, next)
	if err == nil {
		scrambleAll(&next, effects)
	}
	if got := asJSON(t, s); got != before {
		t.Fatalf("Apply(%T) shares memory with the session it was called on:\n%s\nwas\n%s", ev, got, before)
	}
	if got := asJSON(t, ev); got != evBefore {
		t.Fatalf("Apply(%T) shares memory with its event:\n%s\nwas\n%s", ev, got, evBefore)
	}
	next, effects, _ = s.Apply(ev)
	if got := asJSON(t, next); got != after {
		t.Fatalf("Apply(%T) is not the same twice, or shares memory with its effects:\n%s\nwas\n%s", ev, got, after)
	}
	if cerr := next.Check(); cerr != nil && s.Check() == nil {
		t.Fatalf("after Apply(%T): %v", ev, cerr)
	}
	return next, effects, err
}

// scrambleAll overwrites everything that a caller could reach from what Apply returned, but the shared charter.
func scrambleAll(s *planmode.Session, effects []planmode.Effect) {
	s.Charter = charter.Charter{}
	scramble(reflect.ValueOf(s).Elem())
	for _, e := range effects {
		v := reflect.New(reflect.TypeOf(e)).Elem()
		v.Set(reflect.ValueOf(e))
		scramble(v)
	}
}

func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			scramble(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			scramble(v.Elem())
			v.Elem().SetZero()
		}
	case reflect.Slice:
		for i := range v.Len() {
			scramble(v.Index(i))
			v.Index(i).SetZero()
		}
		for i := v.Len(); i < v.Cap(); i++ { // and what an append would write to
			v.Slice(0, v.Cap()).Index(i).SetZero()
		}
	case reflect.Map:
		v.Clear()
	}
}

func wantErr(t tb, got, want error) {
	t.Helper()
	if !errors.Is(got, want) || (got == nil) != (want == nil) {
		t.Fatalf("error is %v, want %v", got, want)
	}
}
