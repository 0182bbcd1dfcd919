package leader_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/journal"
)

// quiet is a client that does what it is told.
type quiet struct{}

func (quiet) SetMode(_ context.Context, m permissions.Mode) (permissions.Mode, error) { return m, nil }
func (quiet) Notify(context.Context, planmode.Notify) error                           { return nil }
func (quiet) StopAgent(context.Context, string) error                                 { return nil }
func (quiet) KillStarted(context.Context, []string, string) error                     { return nil }

// mate is a real runner of a teammate.
type mate struct {
	*teammate.Runner
	t     testing.TB
	c     *crew
	name  string
	store *plandir.Store
	ended chan error
}

// startMate runs a teammate, with its own journal and working tree, until the test is over.
func (c *crew) startMate(name string) *mate {
	c.t.Helper()
	dir := c.t.TempDir()
	j, err := journal.Open(dir, journal.Config{SetAside: true})
	if err != nil {
		c.t.Fatal(err)
	}
	m := &mate{t: c.t, c: c, name: name, ended: make(chan error, 1)}
	if m.store, err = plandir.Open(dir); err != nil {
		c.t.Fatal(err)
	}
	conn, err := natsbox.Connect(context.Background(), c.Config(name))
	if err != nil {
		c.t.Fatal(err)
	}
	m.Runner, err = teammate.New(teammate.Config{
		Name: name, Team: c.Name, Owner: c.OwnerKey, Tree: c.t.TempDir(), Mode: permissions.ModeDefault,
		Agent: quiet{}, Box: conn, Journal: j, Store: m.store, Home: "/nonexistent",
		Engine:   permissions.New(permissions.Config{Resolver: execute.Resolver{}, BaseEnv: os.Environ()}),
		Attended: true, Dir: dir, Instance: name + "-test", Client: "test", EnforcedBy: "nobody", Heartbeat: 100 * time.Millisecond,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	go func() { m.ended <- m.Run(ctx) }()
	c.t.Cleanup(func() {
		stop(teammate.ErrDetach)
		<-m.ended
		conn.Close()
		_ = j.Close()
		_ = m.store.Close()
	})
	select {
	case <-m.Ready():
	case <-time.After(time.Minute):
		c.t.Fatal("the runner is not ready")
	}
	return m
}

// submit hands a plan in, and returns its request as the coordinator has it.
func (m *mate) submit(plan string, prompts ...string) leader.Row {
	m.t.Helper()
	if err := m.Enter(context.Background(), planmode.ByAgent); err != nil {
		m.t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(m.store.WorkFile()), 0o700); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(m.store.WorkFile(), []byte(plan), 0o600); err != nil {
		m.t.Fatal(err)
	}
	p, err := m.Submit(context.Background(), teammate.Submission{Prompts: prompts})
	if err != nil {
		m.t.Fatal(err)
	}
	return m.row(p.RequestID)
}

func (m *mate) row(id string) leader.Row {
	m.t.Helper()
	return m.c.find(m.c.Dial("mia"), id)
}

// approve approves a row as a leader does from a shell, and waits until the teammate has applied it.
func (m *mate) approve(r leader.Row, ch leader.Choice) (planmode.Decision, mailbox.Receipt) {
	m.t.Helper()
	ch.Outcome = planmode.OutcomeApproved
	box := m.c.Dial("mia")
	d, err := leader.Prepare(r, ch, m.c.Charter(), time.Now())
	if err == nil {
		d, err = leader.Publish(context.Background(), box, m.c.signer("mia"), m.c.Charter(), r, d)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	return d, m.receipt(r.ID())
}

// receipt is what the teammate says became of an order or a decision.
func (m *mate) receipt(of string) mailbox.Receipt {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := leader.WaitReceipt(ctx, m.c.Dial("mia"), m.name, of)
	if err != nil {
		m.t.Fatal(err)
	}
	return r
}

func (m *mate) status() teammate.Status {
	m.t.Helper()
	s, err := m.Status()
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

const twoGrants = "# Fix rounding of invoices\n\n- [ ] `invoice/total.go`: use integer cents, then run the tests\n"

// Everything that a leader orders is applied by a real runner, and its receipt says so.
func TestARunnerObeysOrders(t *testing.T) {
	c := newCrew(t)
	m, mia := c.startMate("api"), c.Connect("mia")
	ctx, ch, by := context.Background(), c.Charter(), c.signer("mia")
	do := func(o leader.Ordered, err error) mailbox.Receipt {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		r := m.receipt(o.ID)
		if r.State != mailbox.Applied {
			t.Fatalf("%s is %s: %s", o.Kind, r.State, r.Reason)
		}
		return r
	}
	m.approve(m.submit(twoGrants, "run tests", "run the tests again"), leader.Choice{})
	grants := m.status().Grants
	if len(grants) == 0 {
		t.Fatal("no grants after an approval")
	}
	if r := do(leader.OrderRevoke(ctx, mia, by, ch, "api", grants[0].ID, "one")); r.Count == nil || *r.Count != 1 {
		t.Errorf("revoking one: %+v, want a count of 1", r)
	}
	if left := m.status().Grants; len(left) != len(grants)-1 {
		t.Errorf("%d grants are left of %d", len(left), len(grants))
	}
	if r := do(leader.OrderRevoke(ctx, mia, by, ch, "api", grants[0].ID, "again")); r.Count == nil || *r.Count != 0 {
		t.Errorf("revoking it again: %+v, want a count of 0", r)
	}
	do(leader.OrderMode(ctx, mia, by, ch, "api", "acceptEdits", ""))
	if s := m.status(); s.Mode != permissions.ModeAcceptEdits || s.State != planmode.Working {
		t.Errorf("after the order it is %s in %s", s.State, s.Mode)
	}
	do(leader.OrderMode(ctx, mia, by, ch, "api", permissions.ModePlan, "wrong table")) // the recall
	if s := m.status(); s.State != planmode.Planning || s.Mode != permissions.ModePlan || len(s.Grants) != 0 || s.Saved != permissions.ModeAcceptEdits {
		t.Errorf("recalled: %s in %s, %d grants, saved %s", s.State, s.Mode, len(s.Grants), s.Saved)
	}
	m.approve(m.submit(twoGrants, "run tests"), leader.Choice{})
	if r := do(leader.OrderRevoke(ctx, mia, by, ch, "api", "", "all")); r.Count == nil || *r.Count != 1 {
		t.Errorf("revoking all: %+v, want a count of 1", r)
	}
	if n := len(m.status().Grants); n != 0 {
		t.Errorf("%d grants are left after revoking all", n)
	}
	do(leader.OrderStop(ctx, mia, by, ch, "api", "enough"))
	select {
	case err := <-m.ended:
		m.ended <- err
	case <-time.After(time.Minute):
		t.Error("the runner does not end")
	}
}

// An order with a counter that was used is refused by the runner, which says why; two leaders count by themselves.
func TestARunnerRefusesOldOrders(t *testing.T) {
	c := newCrew(t)
	m, mia, tom := c.startMate("api"), c.Connect("mia"), c.Connect("tom")
	for _, box := range []struct {
		name string
		conn *natsbox.Conn
	}{{"mia", mia}, {"tom", tom}, {"mia", mia}} {
		o, err := leader.OrderRevoke(context.Background(), box.conn, c.signer(box.name), c.Charter(), "api", "", "")
		if err != nil {
			t.Fatal(err)
		}
		if r := m.receipt(o.ID); r.State != mailbox.Applied {
			t.Errorf("%s's order %d is %s: %s", box.name, o.Counter, r.State, r.Reason)
		}
	}
	o, err := leader.OrderMode(context.Background(), stale{mia}, c.signer("mia"), c.Charter(), "api", permissions.ModePlan, "")
	if err != nil {
		t.Fatal(err)
	}
	if r := m.receipt(o.ID); r.State != mailbox.Refused || m.status().State != planmode.Working {
		t.Errorf("an order with counter %d is %s (%s), and the teammate %s", o.Counter, r.State, r.Reason, m.status().State)
	}
}

// stale is a connection whose coordinator has forgotten every order.
type stale struct{ *natsbox.Conn }

func (stale) Call(_ context.Context, _ string, _, out any) error {
	out.(*natsbox.CounterInfo).Counter = 0
	return nil
}

// A leader's edit is what the teammate works by: the very bytes, in its file, with both digests in its hands. A second
// leader who approves the old bytes at the same moment loses, and is told.
func TestARunnerWorksByTheLeadersEdit(t *testing.T) {
	c := newCrew(t)
	m := c.startMate("api")
	boxes := map[string]*natsbox.Conn{"mia": c.Connect("mia"), "tom": c.Connect("tom")}
	for round := range 5 {
		row := m.submit(twoGrants+"\nround\n", "run tests")
		edited := []byte("# Fix rounding of invoices\n\n- [ ] `invoice/total.go`: use decimals, then run the tests\n")
		choices := map[string]leader.Choice{
			"mia": {Outcome: planmode.OutcomeApproved, Edited: edited}, "tom": {Outcome: planmode.OutcomeApproved},
		}
		type result struct {
			name string
			d    planmode.Decision
			err  error
		}
		results := make(chan result, 2)
		for name, choice := range choices {
			go func() {
				d, err := leader.Prepare(row, choice, c.Charter(), time.Now())
				if err == nil {
					d, err = leader.Publish(context.Background(), boxes[name], c.signer(name), c.Charter(), row, d)
				}
				results <- result{name, d, err}
			}()
		}
		var winner, loser result
		for range 2 {
			if r := <-results; r.err == nil {
				winner = r
			} else {
				loser = r
			}
		}
		var e *leader.Error
		if winner.name == "" || !errors.As(loser.err, &e) || e.Code != 13 && e.Code != 6 {
			t.Fatalf("round %d: %q won, the other has %v; want one winner and exit 13 or 6", round, winner.name, loser.err)
		}
		receipt := m.receipt(row.ID())
		content, err := os.ReadFile(m.store.WorkFile())
		if err != nil {
			t.Fatal(err)
		}
		want, digest := row.Request.Plan.Content, row.Request.Digest
		if winner.name == "mia" {
			want, digest = edited, winner.d.ApprovedDigest
			if !winner.d.PlanWasEdited || digest == row.Request.Digest || winner.d.PlanDigest != row.Request.Digest {
				t.Errorf("mia's decision: edited %t, digests %.12s and %.12s", winner.d.PlanWasEdited, winner.d.PlanDigest, digest)
			}
		}
		if receipt.State != mailbox.Applied || receipt.Digest != digest {
			t.Errorf("round %d: receipt %+v, want applied with digest %.12s", round, receipt, digest)
		}
		if !slices.Equal(content, want) {
			t.Errorf("round %d: %s won, and the plan file holds\n%s", round, winner.name, content)
		}
		if err := m.Done(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// call asks a leader about one call, as a client's gate does.
func (m *mate) call(line string) (chan permissions.PermissionResponse, permissions.Decision) {
	m.t.Helper()
	v, ok := m.View()
	if !ok {
		m.t.Fatal("the runner is not ready")
	}
	call := permissions.Call{Tool: "Bash", Command: line, Cwd: v.Tree}
	d := m.Decide(v, call)
	answer := make(chan permissions.PermissionResponse, 1)
	if d.Verdict == permissions.Ask {
		go func() {
			a, err := m.Ask(context.Background(), teammate.Asking{Call: call, Decision: d})
			if err != nil {
				m.t.Errorf("Ask(%s) = %v", line, err)
			}
			answer <- a
		}()
	}
	return answer, d
}

// waitFor returns the one request that waits.
func (m *mate) waitFor(kind leader.RowKind) leader.Row {
	m.t.Helper()
	box := m.c.Dial("mia")
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
		q, err := leader.Read(context.Background(), box, leader.QueueConfig{Charter: m.c.Charter()})
		if err != nil {
			m.t.Fatal(err)
		}
		if len(q.Rows) == 1 && q.Rows[0].Kind == kind {
			return q.Rows[0]
		}
	}
	m.t.Fatalf("no %s waits", kind)
	return leader.Row{}
}

// A command that is allowed for the plan runs again unasked, and only it; the board shows the grant, and revoking it ends
// it.
func TestARunnerIsAllowedACommandForItsPlan(t *testing.T) {
	c := newCrew(t)
	m, mia := c.startMate("api"), c.Connect("mia")
	m.approve(m.submit(twoGrants, "run tests"), leader.Choice{})
	const line = "touch one"
	answer, d := m.call(line)
	if d.Verdict != permissions.Ask {
		t.Fatalf("%s: %s (%s), want it asked", line, d.Verdict, d.Reason)
	}
	row := m.waitFor(leader.RowRun)
	a, err := leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeApproved, Scope: permissions.ScopePlan, Confirm: "api"}, time.Now())
	if err == nil {
		_, err = leader.PublishAnswer(context.Background(), mia, c.signer("mia"), c.Charter(), row, a)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got.Behavior != permissions.BehaviorAllow {
		t.Fatalf("answer = %+v", got)
	}
	if r := m.receipt(row.ID()); r.State != mailbox.Applied {
		t.Fatalf("the answer is %s: %s", r.State, r.Reason)
	}
	verdict := func(line string) permissions.Verdict {
		v, _ := m.View()
		return m.Decide(v, permissions.Call{Tool: "Bash", Command: line, Cwd: v.Tree}).Verdict
	}
	if verdict(line) != permissions.Allow || verdict("touch two") != permissions.Ask || verdict("touch one two") != permissions.Ask {
		t.Errorf("%s: %s, touch two: %s; want it allowed, and nothing else", line, verdict(line), verdict("touch two"))
	}
	var g []leader.GrantRow
	for end := time.Now().Add(time.Minute); len(g) != 1 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var presence []natsbox.Presence
		if err := mia.Call(context.Background(), natsbox.VerbPresence, nil, &presence); err != nil {
			t.Fatal(err)
		}
		g, _ = leader.FindGrant(leader.Grants(presence, true, time.Now()), row.ID()+"/1")
	}
	if len(g) != 1 || !slices.Equal(g[0].Argv, []string{"touch", "one"}) || g[0].GrantedBy != "mia" || g[0].Teammate != "api" {
		t.Fatalf("the board has %+v", g)
	}
	o, err := leader.OrderRevoke(context.Background(), mia, c.signer("mia"), c.Charter(), g[0].Teammate, g[0].ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if r := m.receipt(o.ID); r.Count == nil || *r.Count != 1 || verdict(line) != permissions.Ask {
		t.Errorf("revoked: %+v, and %s is %s; want one ended, and it asked again", r, line, verdict(line))
	}
}

// A question reaches a leader, and its answer the one who asked; of two answers the teammate takes the first.
func TestARunnerHearsTheFirstAnswer(t *testing.T) {
	leader.LookLonger(t)
	c := newCrew(t)
	m, mia, tom := c.startMate("api"), c.Connect("mia"), c.Connect("tom")
	for range 5 {
		heard := make(chan teammate.QuestionReply, 1)
		go func() {
			r, err := m.AskQuestion(context.Background(), "Which currency?", []string{"EUR", "USD"})
			if err != nil {
				t.Errorf("AskQuestion = %v", err)
			}
			heard <- r
		}()
		row := m.waitFor(leader.RowQuestion)
		results := make(chan error, 2)
		for name, box := range map[string]*natsbox.Conn{"mia": mia, "tom": tom} {
			go func() {
				_, err := leader.Reply(context.Background(), box, c.Charter(), name, row, "2", "from "+name, time.Now())
				results <- err
			}()
		}
		r := <-heard
		if !r.Answered || r.Option != "USD" || r.Text != "from "+r.By {
			t.Errorf("heard %+v", r)
		}
		var lost *leader.DecidedError
		if one, two := <-results, <-results; (one == nil) == (two == nil) || !errors.As(errors.Join(one, two), &lost) || lost.By != r.By {
			t.Errorf("heard was %s; the leaders were told %v and %v", r.By, one, two)
		}
	}
}
