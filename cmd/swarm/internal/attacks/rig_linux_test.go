package attacks_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/journal"
)

// rig is a team whose teammate api runs: anna and bob lead, bot is an agent that leads, wall observes, mate is another
// teammate, and eva led until she was removed.
type rig struct {
	t     *testing.T
	team  *mailboxtest.Team
	anna  *natsbox.Conn
	bob   *natsbox.Conn
	root  *nats.Conn
	js    jetstream.JetStream
	keys  map[string]nkeys.KeyPair // of people outside the charter too
	said  *hearsay
	dir   string
	tree  string
	asked string // the call that was asked last
}

func newRig(t *testing.T, opts ...mailboxtest.Option) *rig {
	t.Helper()
	caps := charter.Caps{Mode: permissions.ModeAcceptEdits, PlanRequired: true, Grants: charter.GrantCaps{Uses: 50}}
	r := &rig{t: t, said: &hearsay{Handler: slog.DiscardHandler}, team: mailboxtest.Server(t, append([]mailboxtest.Option{mailboxtest.Audited(), mailboxtest.Caps(caps)}, opts...)...), dir: t.TempDir(), tree: t.TempDir()}
	r.team.AddLeader("anna", charter.KindPerson)
	r.team.AddLeader("bob", charter.KindPerson)
	r.team.AddLeader("bot", charter.KindAgent)
	r.team.AddMember(charter.Member{Name: "wall", Role: charter.RoleObserver, Kind: charter.KindPerson})
	r.team.AddTeammate("api")
	r.team.AddTeammate("mate")
	r.team.AddLeader("eva", charter.KindPerson)
	r.keys = map[string]nkeys.KeyPair{"eva": r.team.Key("eva"), "stranger": userKey(t), "owner": r.team.Owner()}
	r.team.Retire("eva")
	for _, name := range []string{"anna", "bob", "bot", "wall", "api", "mate", "policy"} {
		r.keys[name] = r.team.Key(name)
	}
	r.anna, r.bob = r.team.Connect("anna"), r.team.Connect("bob")
	r.root, r.js = root(t, r.team)
	return r
}

// runner is one run of api.
type runner struct {
	*teammate.Runner
	t       *testing.T
	conn    *natsbox.Conn
	journal *journal.Journal
	store   *plandir.Store
	agent   agent
	stop    context.CancelCauseFunc
	ended   chan error
	once    sync.Once

	mu     sync.Mutex
	events []planmode.Emit
}

// start runs api until it is ready. Change adjusts what it runs with.
func (r *rig) start(change ...func(*teammate.Config)) *runner {
	r.t.Helper()
	m := r.begin(change...)
	select {
	case <-m.Ready():
	case err := <-m.ended:
		m.ended <- err
		r.t.Fatalf("Run: %v", err)
	case <-time.After(patience):
		r.t.Fatal("the runner is not ready")
	}
	return m
}

// begin runs api, which need not become ready.
func (r *rig) begin(change ...func(*teammate.Config)) *runner {
	r.t.Helper()
	j, err := journal.Open(r.dir, journal.Config{SetAside: true})
	if err != nil {
		r.t.Fatal(err)
	}
	m := &runner{t: r.t, journal: j, ended: make(chan error, 1)}
	if m.store, err = plandir.Open(r.dir); err != nil {
		r.t.Fatal(err)
	}
	if m.conn, err = natsbox.Connect(context.Background(), r.team.Config("api")); err != nil {
		r.t.Fatal(err)
	}
	cfg := teammate.Config{
		Name: "api", Team: r.team.Name, Owner: r.team.OwnerKey, Tree: r.tree, Mode: permissions.ModeDefault,
		Agent: &m.agent, Box: m.conn, Journal: j, Store: m.store,
		Engine: permissions.New(permissions.Config{Resolver: execute.Resolver{}, BaseEnv: os.Environ()}), Home: "/nonexistent",
		Attended: true, Dir: r.dir, Instance: "api-test", Client: "test", EnforcedBy: "nobody", Heartbeat: time.Minute, Logger: slog.New(r.said),
		Observe: func(e planmode.Emit) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.events = append(m.events, e)
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	if m.Runner, err = teammate.New(cfg); err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancelCause(context.Background())
	m.stop = stop
	go func() { m.ended <- m.Run(ctx) }()
	r.t.Cleanup(func() { m.end(teammate.ErrDetach) })
	return m
}

// end stops the runner as a crash does. Its journal can be opened again then.
func (m *runner) end(cause error) {
	m.once.Do(func() {
		m.stop(cause)
		select {
		case <-m.ended:
		case <-time.After(time.Minute):
			m.t.Error("Run does not end")
		}
		m.conn.Close()
		_ = m.journal.Close()
		_ = m.store.Close()
	})
}

// agent is a client that does what it is told.
type agent struct{}

func (*agent) SetMode(_ context.Context, m permissions.Mode) (permissions.Mode, error) { return m, nil }

func (*agent) Notify(context.Context, planmode.Notify) error { return nil }

func (*agent) StopAgent(context.Context, string) error { return nil }

func (*agent) KillStarted(context.Context, []string, string) error { return nil }

func (m *runner) status() teammate.Status {
	m.t.Helper()
	s, err := m.Status()
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// is fails unless the session is in a state and a mode, with so many grants.
func (m *runner) is(t *testing.T, state planmode.State, mode permissions.Mode, grants int) {
	t.Helper()
	if s := m.status(); s.State != state || s.Mode != mode || len(s.Grants) != grants {
		t.Errorf("the session is %s in mode %s with %d grants, want %s in %s with %d", s.State, s.Mode, len(s.Grants), state, mode, grants)
	}
}

// plans enters plan mode and submits a plan that asks for prompts. It returns the request as a leader reads it.
func (r *rig) plans(m *runner, prompts ...string) natsbox.Row {
	r.t.Helper()
	switch m.status().State {
	case planmode.Working:
		if err := m.Enter(r.t.Context(), planmode.ByAgent); err != nil {
			r.t.Fatal(err)
		}
	case planmode.AwaitingLeaderApproval:
		if err := m.Withdraw(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
	write(r.t, m.store.WorkFile(), "# Fix it\n\n- [ ] change `a.go`\n")
	if _, err := m.Submit(r.t.Context(), teammate.Submission{Prompts: prompts}); err != nil {
		r.t.Fatal(err)
	}
	return r.pending(m, "")
}

// pending waits until api's plan is asked under another id than before, and returns the request.
func (r *rig) pending(m *runner, before string) natsbox.Row {
	r.t.Helper()
	var row natsbox.Row
	until(r.t, "the request under a new id", func() bool {
		p := m.status().Pending
		if p == nil || p.RequestID == before {
			return false
		}
		var err error
		if row, err = r.anna.Request(context.Background(), p.RequestID); err != nil && !errors.Is(err, natsbox.ErrNotFound) {
			r.t.Fatal(err)
		}
		return err == nil && row.Open()
	})
	return row
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// head begins an order of a leader's.
func (r *rig) head(leader string) mailbox.OrderHead {
	c := r.team.Charter()
	m, _ := c.Member(leader)
	return mailbox.OrderHead{
		TeamID: c.TeamID, CharterSerial: c.Serial, DecidedAt: time.Now().UTC(),
		DecidedBy: mailbox.DecidedBy{Name: leader, Kind: string(m.Kind), Via: "test", Assurance: string(m.Assurance)},
	}
}

// approval is the decision of a leader that gives what was asked.
func (r *rig) approval(row natsbox.Row, leader string) planmode.Decision {
	d := planmode.Decision{
		OrderHead: r.head(leader), RequestID: row.EnvelopeID, Revision: row.Request.Revision, Outcome: planmode.OutcomeApproved, Approved: true,
		Mode: row.KnownMode, PlanDigest: row.Request.ComputeDigest(r.team.Charter().TeamID, row.From),
	}
	d.Epoch = row.Epoch
	for _, p := range row.Request.AllowedPrompts {
		d.Grants = append(d.Grants, permissions.GrantTerms{Prompt: p.Prompt, Intent: p.Intent, Tree: ".", ExpiresAt: time.Now().Add(time.Hour).UTC(), MaxUses: 3})
	}
	return d
}

// wire is an order as it goes over the wire.
func (r *rig) wire(t testing.TB, from, to string, kind mailbox.Kind, epoch uint64, body any) []byte {
	t.Helper()
	env, err := mailbox.New(natsbox.NewID(), kind, r.team.Name, from, to, epoch, time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := mailbox.Marshal(env)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func sign(t testing.TB, kp nkeys.KeyPair, subject string, payload []byte) string {
	t.Helper()
	sig, err := charter.SignOrder(kp, subject, payload)
	if err != nil {
		t.Fatal(err)
	}
	return sig
}

// store puts an order where it is for, with the rights of the broker's operator.
func (r *rig) store(t testing.TB, subject string, payload []byte, sigs ...string) {
	t.Helper()
	m := &nats.Msg{Subject: subject, Data: payload, Header: nats.Header{charter.SigHeader: slices.Clone(sigs)}}
	if _, err := answered(r.root, m); err != nil {
		t.Fatal(err)
	}
}

// receipt waits for api's last word about an order.
func (r *rig) receipt(t testing.TB, of string) mailbox.Receipt {
	t.Helper()
	var last mailbox.Receipt
	until(t, "the receipt of "+of, func() bool {
		var all []natsbox.ReceiptInfo
		if err := r.anna.Call(context.Background(), natsbox.VerbReceipts, natsbox.IDRequest{ID: of}, &all); err != nil && !errors.Is(err, natsbox.ErrNotFound) {
			t.Fatal(err)
		}
		for _, i := range all {
			if i.From == "api" && (i.Receipt.State == mailbox.Applied || i.Receipt.State == mailbox.Refused) {
				last = i.Receipt
				return true
			}
		}
		return false
	})
	return last
}

// hearsay keeps the cause of the last thing that the teammate has logged.
type hearsay struct {
	slog.Handler
	mu   sync.Mutex
	last string
}

func (h *hearsay) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (h *hearsay) WithAttrs([]slog.Attr) slog.Handler { return h }

func (h *hearsay) Handle(_ context.Context, rec slog.Record) error {
	rec.Attrs(func(a slog.Attr) bool {
		if a.Key == "cause" {
			h.mu.Lock()
			h.last = a.Value.String()
			h.mu.Unlock()
		}
		return true
	})
	return nil
}

// take returns what was logged, and forgets it.
func (h *hearsay) take() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	last := h.last
	h.last = ""
	return last
}

func orderMsg(subject string, payload []byte, sigs ...string) *nats.Msg {
	return &nats.Msg{Subject: subject, Data: payload, Header: nats.Header{charter.SigHeader: sigs}}
}

// handled waits until a member has acknowledged, or given up, all that a stream holds for it.
func (r *rig) handled(t testing.TB, stream, name string) {
	t.Helper()
	until(t, name+" has read "+stream, func() bool {
		st, err := r.js.Stream(context.Background(), stream)
		if err != nil {
			t.Fatal(err)
		}
		c, err := st.Consumer(context.Background(), r.team.Server().Auth().Durable(name, name+"-test"))
		if err != nil {
			t.Fatal(err)
		}
		i := c.CachedInfo()
		return i.NumPending == 0 && i.NumAckPending == 0
	})
}

// slotAhead has somebody who can foretell a teammate's next request id fill its slot before the request is stored: the teammate
// finds it spent and asks again.
func (r *rig) slotAhead(t *testing.T) {
	t.Helper()
	ids := []string{natsbox.NewRequestID(), natsbox.NewRequestID()}
	team := mailboxtest.Server(t)
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	o := &rig{t: t, said: &hearsay{Handler: slog.DiscardHandler}, team: team, dir: t.TempDir(), tree: t.TempDir(), keys: map[string]nkeys.KeyPair{}}
	o.anna = team.Connect("anna")
	o.root, o.js = root(t, team)
	n := 0
	m := o.start(func(c *teammate.Config) {
		c.NewRequestID = func() string { n++; return ids[(n-1)%2] }
	})
	o.store(t, mailbox.DecisionSubject("shop", "api", ids[0]), []byte("approved"), "x")
	row := o.plans(m, "run tests")
	next := row
	if row.EnvelopeID == ids[0] {
		next = o.pending(m, ids[0])
	}
	if next.EnvelopeID != ids[1] {
		t.Errorf("it is asked as %s, want %s", next.EnvelopeID, ids[1])
	}
	m.is(t, planmode.AwaitingLeaderApproval, permissions.ModePlan, 0)
	m.end(teammate.ErrDetach)
	mailboxtest.Refused(t, "the slot of the next request", "leader", mailboxtest.ByTeammate, next.Request.Reason)
}
