//go:build linux

package teammate_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/journal"
)

// asksNobody is an entry that begins at once.
func asksNobody(dialect string, mode permissions.Mode) func(*testing.T) {
	return func(t *testing.T) {
		m := newRig(t).start(speaks(t, dialect), func(c *teammate.Config) { c.Mode = mode })
		if err := m.enterPlan(teammate.Entry{CanAsk: true}); err != nil {
			t.Errorf("entry: %v, want that nobody is asked", err)
		}
		m.wantState(planmode.Planning, permissions.ModePlan)
		m.wantEvent("plan.entered", "resolved", "auto")
	}
}

// submits hands in a plan file of a content, and wants an error.
func submits(dialect, content string, want error, rules ...func(*teammate.Config)) func(*testing.T) {
	return func(t *testing.T) {
		m := newRig(t).start(append(rules, speaks(t, dialect))...)
		m.enter()
		if content != "absent" {
			write(t, m.store.WorkFile(), content)
		}
		if _, err := m.Submit(t.Context(), teammate.Submission{}); !errors.Is(err, want) {
			t.Errorf("Submit: %v, want %v", err, want)
		}
		m.wantState(planmode.Planning, permissions.ModePlan)
	}
}

func away(c *teammate.Config) { c.Attended = false }

func notPlanning(t *testing.T) {
	s := works(t, "kimi", permissions.ModeDefault)
	s.fails(s.submitted("r1", corpusPlan), planmode.ErrNotPlanning, "not in plan mode")
}

func kimiPlanClaims() claims {
	return claims{
		"pm-327": is(func(t *testing.T) {
			dir := t.TempDir()
			name := plandir.HeroName([3]byte{})
			write(t, filepath.Join(dir, "work", name), "# Taken")
			s, err := plandir.OpenWith(dir, plandir.Config{Random: bytes.NewReader(make([]byte, 60)), Session: "0190f1c2-0000"})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if want := strings.TrimSuffix(name, ".md") + "-0190f1c2.md"; filepath.Base(s.WorkFile()) != want {
				t.Errorf("%q, want %q", filepath.Base(s.WorkFile()), want)
			}
		}),
		"pm-330": onFolder(func(f planFolder) {
			if p, err := f.reads("test.md"); err != nil || string(p.Content) != "# Plan" {
				f.t.Errorf("%q, %v", p.Content, err)
			}
		}),
		"pm-333": is(func(t *testing.T) {
			m := newRig(t).start(speaks(t, "kimi"))
			m.enter()
			id, file := m.status().PlanID, m.status().PlanFile
			m.enter()
			if s := m.status(); s.PlanID != id || s.PlanFile != file || id == "" {
				t.Errorf("plan %s in %s, want %s in %s", s.PlanID, s.PlanFile, id, file)
			}
		}),
		"pm-335": is(restarted),
		"pm-337": is(func(t *testing.T) {
			f := newPlanFolder(t, "")
			write(t, f.WorkFile(), "# Plan")
			if err := f.Clear(); err != nil {
				t.Fatal(err)
			}
			f.refuses("", plandir.ErrNotExist, "does not exist")
		}),
		"pm-338": is(func(t *testing.T) {
			if err := newPlanFolder(t, "").Clear(); err != nil {
				t.Error(err)
			}
		}),
		"pm-339": is(toggled),

		"pm-341": is(entersTwice("kimi", planmode.ErrPlanning)),
		"pm-342": is(func(t *testing.T) {
			var s planmode.Session
			if _, _, err := s.Apply(planmode.Entered{From: permissions.ModeDefault}); !errors.Is(err, planmode.ErrWrongState) {
				t.Errorf("Entered before the session was started: %v, want ErrWrongState", err)
			}
		}),
		"pm-343": is(enters("kimi", planmode.ResolvedAsked, planmode.Planning, "")),
		"pm-344": is(enters("kimi", planmode.ResolvedRefused, planmode.Working, "ask your leader")),
		"pm-345": is(enters("kimi", planmode.ResolvedDismissed, planmode.Working, "implement directly")),
		"pm-346": adapter("issue 7: a client that cannot ask is said at join, and the tools are not offered"),
		"pm-347": adapter("issue 7: a client without a channel to its person"),
		"pm-348": adapter("issue 7: a client whose question fails"),
		"pm-349": is(asksNobody("kimi", permissions.ModeBypass)),
		"pm-350": is(func(t *testing.T) {
			m := newRig(t).start(speaks(t, "kimi"), func(c *teammate.Config) { c.Mode = permissions.ModeBypass })
			m.enter()
			if err := m.enterPlan(teammate.Entry{CanAsk: true}); !errors.Is(err, planmode.ErrPlanning) {
				t.Errorf("entry: %v, want ErrPlanning before anybody is asked", err)
			}
		}),
		"pm-352": is(confirms("kimi", permissions.ModeDefault, true, "", planmode.ConfirmPerson)),
		"pm-353": is(func(t *testing.T) { // a dialect is data: nothing in it depends on the mode
			a, _ := planmode.DialectOf("kimi")
			m := newRig(t).start(speaks(t, "kimi"))
			m.enter()
			if b, _ := planmode.DialectOf("kimi"); a.Tools.Enter != b.Tools.Enter || a.Tools.Exit != b.Tools.Exit {
				t.Errorf("tools %+v, before %+v", b.Tools, a.Tools)
			}
		}),

		"pm-354": is(notPlanning),
		"pm-357": is(submits("kimi", "", plans.ErrEmpty)),
		"pm-359": is(func(t *testing.T) {
			s := waits(t, "kimi")
			s.must(s.decision(planmode.OutcomeApproved))
			s.stands(planmode.Working, permissions.ModeDefault)
			if n := s.told(); n.Kind != planmode.NotifyApproved || n.Data.PlanFile == "" || !strings.Contains(n.Data.Next, "strictly") {
				t.Errorf("the agent is told %+v, want to follow the plan strictly, with its path", n.Data)
			}
			if !wrote(s, plans.Digest([]byte(corpusPlan))) {
				t.Error("the approved bytes are not written to the plan file")
			}
		}),
		"pm-361": is(leaves("kimi")),
		"pm-364": is(dismissed("kimi", planmode.Interrupted{})),
		"pm-365": adapter("issue 7: a client that cannot ask is said at join, and the tools are not offered"),
		"pm-367": adapter("issue 7: a client without a channel to its person"),
		"pm-369": not(11, waitsFor("kimi", false)),
		"pm-371": is(submits("kimi", "absent", plandir.ErrNotExist, away)),
		"pm-372": is(notPlanning),
		"pm-374": is(func(t *testing.T) {
			d, _ := planmode.DialectOf("kimi")
			if a := d.Answers; a.Approve != "Approve" || a.Reject != "Reject" || a.RejectAndExit != "Reject and Exit" || a.Revise != "Revise" {
				t.Errorf("answers %+v", a)
			}
		}),
		"pm-375": is(stays("kimi", "", "ask your leader")),
	}
}

func wrote(s *sess, digest string) bool {
	for _, e := range s.effects {
		if w, ok := e.(planmode.WritePlan); ok && w.Digest == digest {
			return true
		}
	}
	return false
}

// restarted plans, restarts, and goes on: mode, plan and file are as before.
func restarted(t *testing.T) {
	r := newRig(t)
	m := r.start(speaks(t, "kimi"))
	m.enter()
	before := m.status()
	m = r.again(m, speaks(t, "kimi"))
	if s := m.status(); s.State != planmode.Planning || s.PlanFile != before.PlanFile || s.PlanID != before.PlanID || s.Saved != before.Saved {
		t.Errorf("after a restart %+v, before %+v", s, before)
	}
}

// toggled turns plan mode on and off again, and looks at what a process that starts after a crash would find.
func toggled(t *testing.T) {
	r := newRig(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeBypass}))
	m := r.start(speaks(t, "kimi"), inMode(permissions.ModeAcceptEdits))
	onDisk := func() (planmode.Session, string) {
		m.end(teammate.ErrDetach)
		j, err := journal.Open(r.dir, journal.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		store, err := plandir.Open(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		s, _ := j.Session()
		return s, store.WorkFile()
	}
	m.enter()
	want := m.status()
	if s, file := onDisk(); s.Mode != permissions.ModePlan || s.Saved != permissions.ModeAcceptEdits || s.Cycle.PlanID != want.PlanID || want.PlanID == "" ||
		s.Cycle.PlanFile != want.PlanFile || file != want.PlanFile {
		t.Errorf("on: the journal has mode %s over %s, plan %s in %s, and the folder %s; want plan %s in %s", s.Mode, s.Saved, s.Cycle.PlanID, s.Cycle.PlanFile, file, want.PlanID, want.PlanFile)
	}
	m = r.start(speaks(t, "kimi"), inMode(permissions.ModeAcceptEdits))
	if err := m.Leave(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if s, _ := onDisk(); s.State != planmode.Working || s.Mode != permissions.ModeAcceptEdits || s.Saved != "" {
		t.Errorf("off: the journal has %s in %s over %q", s.State, s.Mode, s.Saved)
	}
}

// chosen approves one approach, or what there is of a choice.
func chosen(option string, labels []string, want error, text string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		s := waits(t, "kimi", labels...)
		d := s.decision(planmode.OutcomeApproved, func(d *planmode.Decision) { d.Option = option })
		if want != nil {
			s.fails(d, want, text)
			return
		}
		s.must(d)
		s.stands(planmode.Working, permissions.ModeDefault)
		if n := s.told(); n.Data.Option != option || !strings.Contains(n.Data.Next, text) {
			t.Errorf("the agent is told %+v, want approach %q and %q", n.Data, option, text)
		}
	}
}

// labels are options that a plan may offer, or not.
func labels(dialect string, ok bool, names ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		s := plansIn(t, dialect)
		ev := s.submitted("r1", corpusPlan, names...)
		if !ok {
			s.fails(ev, planmode.ErrBadOptions, "")
			return
		}
		s.must(ev)
	}
}

func kimiOptionClaims() claims {
	two := []string{"A", "B"}
	out := claims{
		"pm-376": is(chosen("A", two, nil, `only "A"`)),
		"pm-378": is(func(t *testing.T) {
			s := waits(t, "kimi", two...)
			s.must(s.decision(planmode.OutcomeRejected))
			s.stands(planmode.Planning, permissions.ModePlan)
		}),
		"pm-379": is(func(t *testing.T) {
			s := waits(t, "kimi", two...)
			s.must(s.decision(planmode.OutcomeRejected, saying("neither: use integers")))
			if n := s.told(); n.Kind != planmode.NotifyRejected || n.Data.Feedback != "neither: use integers" {
				t.Errorf("the agent is told %+v", n)
			}
		}),
		"pm-381": is(chosen("", nil, nil, "")),
		"pm-382": is(chosen("", []string{"X"}, nil, "")),
		"pm-383": is(chosen("", two, planmode.ErrUnknownOption, `choose one of "A", "B"`)),
		"pm-391": is(labels("kimi", true, "A", "B", "C")),
		"pm-392": is(labels("kimi", false, "A", "B", "C", "D")),
		"pm-393": is(labels("kimi", false, "A", "A")),
		"pm-394": is(both(labels("kimi", true, "A", "a"), labels("swarm", false, "A", "a"))),
	}
	for id, word := range map[string]string{"pm-384": "Reject", "pm-385": "reject", "pm-386": "Revise", "pm-387": "Approve", "pm-389": "Reject and Exit"} {
		out[id] = is(func(t *testing.T) {
			s := plansIn(t, "kimi")
			s.fails(s.submitted("r1", corpusPlan, "A", word), planmode.ErrBadOptions, "approve, reject, reject and exit, revise")
		})
	}
	return out
}

func guardClaims() claims {
	plan := permissions.ModePlan
	return claims{
		"pm-417": is(gives(permissions.Deny, fileTool("WriteFile", "/state/work/plan.md"), planAt(""))),
		"pm-420": is(gives(permissions.Allow, fileTool("WriteFile", "/state/work/plan.md"), in(plan))),
		"pm-421": is(gives(permissions.Deny, fileTool("WriteFile", "main.go"))),
		"pm-422": is(gives(permissions.Allow, permissions.Call{Tool: "WriteFile", Path: "/state/work/plan.md", Args: `{"path":"/state/work/plan.md","mode":"append"}`})),
		"pm-423": is(func(t *testing.T) {
			f := newPlanFolder(t, "deep/er/plans")
			if err := f.WriteWork([]byte(corpusPlan)); err != nil {
				t.Error(err)
			}
		}),
		"pm-425": is(gives(permissions.Deny, fileTool("StrReplaceFile", "main.go"))),
		"pm-426": adapter("teammate/gate TestEdit: one place of a file that is not there, and what to do"),
		"pm-427": not(7, both(gives(permissions.Deny, bash("touch x"), unattended), gives(permissions.Deny, bash("rm x")))),
		"pm-428": not(7, both(gives(permissions.Deny, bash("touch x")), gives(permissions.Deny, bash("rm x"), unattended))),
	}
}

func wireClaims() claims {
	return claims{
		"pm-467": adapter("issue 7: what the client can do is said at join"),
		"pm-471": is(func(t *testing.T) { // a leader's signed order; the state is on status
			r := newRig(t)
			m := r.start()
			id := r.order(mailbox.KindModeSetRequest, planmode.ModeSet{OrderHead: r.head(), Counter: 1, Mode: permissions.ModePlan})
			if rec := r.receipt(id); rec.State != mailbox.Applied {
				t.Errorf("receipt %+v, want applied", rec)
			}
			m.wantState(planmode.Planning, permissions.ModePlan)
		}),
		"pm-472": is(func(t *testing.T) {
			s := plansIn(t, "kimi")
			s.must(planmode.ModeOrdered{Mode: permissions.ModePlan, Authority: corpusSigned, OrderID: "o1", Signer: "UALICE", Counter: 1})
			s.stands(planmode.Planning, permissions.ModePlan)
			if s.Saved != permissions.ModeDefault {
				t.Errorf("saved is %s", s.Saved)
			}
		}),
		"pm-473": adapter("issue 7: plan tools are not offered to a client without plan mode"),
		"pm-476": adapter("issue 7: the client's handshake during a turn"),
		"pm-477": is(func(t *testing.T) { // whoever connects again sees what waits
			r := newRig(t)
			m := r.start()
			p := m.plans()
			m = r.again(m)
			if row := r.open(); row.EnvelopeID != p.RequestID || m.status().Pending == nil || m.status().Pending.RequestID != p.RequestID {
				t.Errorf("after a restart %s is open, want %s", row.EnvelopeID, p.RequestID)
			}
		}),
		"pm-478": adapter("issue 7: answers of the client's question are keyed by its text"),
		"pm-480": adapter("issue 7: the client's ask tool is hidden without question support"),
		"pm-481": adapter("issue 7: a client that prompts without a handshake"),
		"pm-482": adapter("issue 7: an external tool with the name of a builtin one"),
		"pm-483": not(3, dismissed("kimi", planmode.AgentLost{})), // the adapter's error withdraws; nothing is dismissed for the leader

		"pm-485": is(func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			got := m.ask(t.Context(), "git push")
			r.answer(r.open(), permissions.BehaviorDeny, permissions.ScopeOnce)
			if a := <-got; a.err != nil || a.answer.Behavior != permissions.BehaviorDeny {
				t.Errorf("%+v, want the leader's answer", a)
			}
		}),
		"pm-487": is(func(t *testing.T) {
			m := newRig(t).start()
			ctx, cancel := context.WithTimeoutCause(t.Context(), 50_000_000, errors.New("approval timed out"))
			defer cancel()
			if _, err := m.Ask(ctx, m.asking("git push")); err == nil || !strings.Contains(err.Error(), "timed out") {
				t.Errorf("Ask: %v, want that it timed out", err)
			}
			if len(m.status().Asks) > 0 {
				t.Error("the question is still open")
			}
		}),
		"pm-488": is(func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			ctx, cancel := context.WithCancel(t.Context())
			first, second := m.ask(ctx, "git push"), m.ask(t.Context(), "git push")
			row := r.open()
			until(t, "both wait", func() bool { return m.Waiting(row.EnvelopeID) == 2 })
			cancel()
			<-first
			r.answer(row, permissions.BehaviorAllow, permissions.ScopeOnce)
			if a := <-second; a.err != nil || a.answer.Behavior != permissions.BehaviorAllow {
				t.Errorf("%+v, want the other one served", a)
			}
		}),
		"pm-489": is(func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			got := m.ask(t.Context(), "git push")
			r.open()
			m.enter() // what was asked for outside of plan mode ends here
			if a := <-got; !errors.Is(a.err, teammate.ErrAskEnded) {
				t.Errorf("%+v, want that it is asked no more", a)
			}
			until(t, "nothing open", func() bool { rows, err := r.anna.Pending(t.Context()); return err == nil && len(rows) == 0 })
		}),
		"pm-490": is(func(t *testing.T) {
			s := waits(t, "kimi")
			approve := s.decision(planmode.OutcomeApproved)
			s.must(s.decision(planmode.OutcomeRejected))
			s.must(approve) // the receipt of the first is sent again, and nothing else happens
			s.stands(planmode.Planning, permissions.ModePlan)
		}),
		"pm-491": not(6, func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			first := m.ask(t.Context(), "git push")
			row := r.open()
			ctx, cancel := context.WithCancel(t.Context())
			second := m.ask(ctx, "git push origin main")
			until(t, "two asks", func() bool { return len(m.status().Asks) == 2 })
			r.answer(row, permissions.BehaviorAllow, permissions.ScopeOnce)
			<-first
			if asks := m.status().Asks; len(asks) != 1 || asks[0].Input != "git push origin main" {
				t.Errorf("open are %+v, want the other call still", asks)
			}
			cancel()
			<-second
		}),
		"pm-492": is(func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			got := m.ask(t.Context(), "git push")
			r.answer(r.open(), permissions.BehaviorDeny, permissions.ScopeOnce)
			if a := <-got; a.answer.Message != "well" {
				t.Errorf("%+v, want the leader's words", a)
			}
		}),
	}
}
