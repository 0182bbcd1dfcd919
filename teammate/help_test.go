//go:build linux

package teammate_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"go.uber.org/goleak"

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

func TestMain(m *testing.M) {
	execute.ChildMain()
	if dir := os.Getenv(victimDir); dir != "" {
		os.Exit(victim(dir))
	}
	_ = flag.Set("test.parallel", "8") // tests wait for the disk and for each other, not for the processor
	goleak.VerifyTestMain(mailboxtest.Settled(m))
}

// patience is how long a test waits for what must come.
const patience = time.Minute

// rig is a team with a leader, anna, and one teammate, api, that can be started, stopped and started again on its journal.
type rig struct {
	t    testing.TB
	team *mailboxtest.Team
	anna *natsbox.Conn
	dir  string // the teammate's state folder
	tree string

	mu      sync.Mutex
	decided []string // requests that were answered here
}

func newRig(t testing.TB, opts ...mailboxtest.Option) *rig {
	t.Helper()
	r := &rig{t: t, team: mailboxtest.Server(t, append(opts, mailboxtest.Sync("1s"))...), dir: t.TempDir(), tree: t.TempDir()}
	r.team.AddLeader("anna", charter.KindPerson)
	r.team.AddTeammate("api")
	r.anna = r.team.Connect("anna")
	return r
}

// mate is one run of the teammate's runner.
type mate struct {
	*teammate.Runner
	t       testing.TB
	conn    *natsbox.Conn
	journal *journal.Journal
	store   *plandir.Store
	agent   *agent
	stop    context.CancelCauseFunc
	ended   chan error
	once    sync.Once
	err     error
	log     *recorder
}

// recorder keeps the events of a session.
type recorder struct {
	mu     sync.Mutex
	events []planmode.Emit
}

func (r *recorder) add(e planmode.Emit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *recorder) count(event string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, e := range r.events {
		if e.Event == event {
			n++
		}
	}
	return n
}

// config is what the rig's teammate starts with; change adjusts it.
func (r *rig) config(m *mate) teammate.Config {
	return teammate.Config{
		Name: "api", Team: r.team.Name, Owner: r.team.OwnerKey, Tree: r.tree, Mode: permissions.ModeDefault,
		Agent: m.agent, Box: m.conn, Journal: m.journal, Store: m.store,
		Engine:   permissions.New(permissions.Config{Resolver: execute.Resolver{}, BaseEnv: os.Environ()}),
		Home:     "/nonexistent",
		Attended: true, Dir: r.dir, Instance: "api-test", Client: "test", EnforcedBy: "nobody",
		Heartbeat: 200 * time.Millisecond, Observe: m.log.add, Logger: testLogger(),
	}
}

func testLogger() *slog.Logger {
	if os.Getenv("TEAMMATE_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// begin opens the journal and runs a runner on it, which need not become ready.
func (r *rig) begin(change ...func(*teammate.Config)) *mate {
	r.t.Helper()
	j, err := journal.Open(r.dir, journal.Config{SetAside: true})
	if err != nil {
		r.t.Fatal(err)
	}
	m := &mate{t: r.t, journal: j, agent: &agent{}, ended: make(chan error, 1), log: &recorder{}}
	if m.store, err = plandir.Open(r.dir); err != nil {
		r.t.Fatal(err)
	}
	m.conn = r.dial("api")
	cfg := r.config(m)
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

// start begins a runner and waits until it is ready.
func (r *rig) start(change ...func(*teammate.Config)) *mate {
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

func (r *rig) dial(name string) *natsbox.Conn {
	r.t.Helper()
	conn, err := natsbox.Connect(context.Background(), r.team.Config(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return conn
}

// end stops the runner with a cause and returns what Run returned. The journal can be opened again then.
func (m *mate) end(cause error) error {
	m.once.Do(func() {
		m.stop(cause)
		select {
		case m.err = <-m.ended:
		case <-time.After(time.Minute):
			m.t.Error("Run does not end")
		}
		m.conn.Close()
		_ = m.journal.Close()
		_ = m.store.Close()
	})
	return m.err
}

// again ends the runner as a crash does, and starts another on its journal.
func (r *rig) again(m *mate, change ...func(*teammate.Config)) *mate {
	r.t.Helper()
	m.end(teammate.ErrDetach)
	return r.start(change...)
}

// agent is a client that does what it is told, and keeps what that was.
type agent struct {
	mu      sync.Mutex
	did     []string
	mode    permissions.Mode
	notices []planmode.Notify
	answer  func(permissions.Mode) (permissions.Mode, error) // what SetMode returns
}

func (a *agent) note(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.did = append(a.did, fmt.Sprintf(format, args...))
}

func (a *agent) SetMode(_ context.Context, m permissions.Mode) (permissions.Mode, error) {
	a.note("mode %s", m)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mode = m
	if a.answer != nil {
		return a.answer(m)
	}
	return m, nil
}

func (a *agent) Notify(_ context.Context, n planmode.Notify) error {
	a.note("notify %s", n.Kind)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notices = append(a.notices, n)
	return nil
}

func (a *agent) StopAgent(_ context.Context, cause string) error {
	a.note("stop %s", cause)
	return nil
}

func (a *agent) KillStarted(_ context.Context, ids []string, cause string) error {
	a.note("kill %d %s", len(ids), cause)
	return nil
}

func (a *agent) all() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.did)
}

// until waits until ok holds.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(12 * time.Millisecond) { // the coordinator answers 100 times a second
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
	}
}

func (m *mate) status() teammate.Status {
	m.t.Helper()
	s, err := m.Status()
	if err != nil {
		m.t.Fatal(err)
	}
	return s
}

// wantState fails unless the session is in a state and a mode.
func (m *mate) wantState(state planmode.State, mode permissions.Mode) {
	m.t.Helper()
	if s := m.status(); s.State != state || s.Mode != mode {
		m.t.Fatalf("the session is %s in mode %s, want %s in %s", s.State, s.Mode, state, mode)
	}
}

func (m *mate) enter() {
	m.t.Helper()
	if err := m.Enter(m.t.Context(), planmode.ByAgent); err != nil {
		m.t.Fatal(err)
	}
}

// submit writes a plan and hands it in, with prompts.
func (m *mate) submit(plan string, prompts ...string) teammate.PendingStatus {
	m.t.Helper()
	write(m.t, m.store.WorkFile(), plan)
	p, err := m.Submit(m.t.Context(), teammate.Submission{Prompts: prompts})
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

// plans enters plan mode and submits a plan that asks to run tests.
func (m *mate) plans() teammate.PendingStatus {
	m.t.Helper()
	m.enter()
	return m.submit("# Fix it\n\n- [ ] change `a.go`\n", "run tests")
}

func (m *mate) wait() teammate.Answer {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	a, err := m.WaitDecision(ctx, 0)
	if err != nil {
		m.t.Fatalf("WaitDecision: %v", err)
	}
	return a
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

func read(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// request is the open plan request as a leader reads it.
func (r *rig) request(id string) natsbox.Row {
	r.t.Helper()
	var row natsbox.Row
	until(r.t, "request "+id, func() bool {
		var err error
		row, err = r.anna.Request(context.Background(), id)
		if err != nil && !errors.Is(err, natsbox.ErrNotFound) {
			r.t.Fatal(err)
		}
		return err == nil
	})
	return row
}

// open waits for the one request that is open. The coordinator follows the stores, and may show one yet that was answered
// here a moment ago.
func (r *rig) open() natsbox.Row {
	r.t.Helper()
	var rows []natsbox.Row
	until(r.t, "one open request", func() bool {
		var err error
		if rows, err = r.anna.Pending(context.Background()); err != nil {
			r.t.Fatal(err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		rows = slices.DeleteFunc(rows, func(row natsbox.Row) bool { return slices.Contains(r.decided, row.EnvelopeID) })
		return len(rows) == 1
	})
	return rows[0]
}

// approval is the decision that gives what was asked.
func (r *rig) approval(row natsbox.Row) planmode.Decision {
	c := r.team.Charter()
	d := planmode.Decision{
		RequestID: row.EnvelopeID, Revision: row.Request.Revision, Outcome: planmode.OutcomeApproved, Approved: true,
		Mode: row.KnownMode, PlanDigest: row.Request.ComputeDigest(c.TeamID, row.From),
	}
	for _, p := range row.Request.AllowedPrompts {
		if p.Intent != "" {
			d.Grants = append(d.Grants, permissions.GrantTerms{
				Prompt: p.Prompt, Intent: p.Intent, Tree: ".", ExpiresAt: time.Now().Add(time.Hour).UTC(), MaxUses: 3,
			})
		}
	}
	d.OrderHead = mailbox.OrderHead{
		TeamID: c.TeamID, CharterSerial: c.Serial, Epoch: row.Epoch, DecidedAt: time.Now().UTC(),
		DecidedBy: mailbox.DecidedBy{Name: "anna", Kind: "person", Via: "test", Assurance: "plain"},
	}
	return d
}

// rejection asks for changes.
func (r *rig) rejection(row natsbox.Row, feedback string) planmode.Decision {
	d := r.approval(row)
	d.Outcome, d.Approved, d.Mode, d.Grants, d.Feedback = planmode.OutcomeRejected, false, "", nil, feedback
	return d
}

// order is an envelope as it is signed, and its signature.
func (r *rig) sign(kp nkeys.KeyPair, from, subject string, kind mailbox.Kind, epoch uint64, body any) ([]byte, string) {
	r.t.Helper()
	env, err := mailbox.New(natsbox.NewID(), kind, r.team.Name, from, "api", epoch, time.Now(), body)
	if err != nil {
		r.t.Fatal(err)
	}
	payload, err := mailbox.Encode(env)
	if err != nil {
		r.t.Fatal(err)
	}
	sig, err := charter.SignOrder(kp, subject, payload)
	if err != nil {
		r.t.Fatal(err)
	}
	return payload, sig
}

// decide signs a decision as anna and puts it into its slot.
func (r *rig) decide(d planmode.Decision) {
	r.t.Helper()
	subject := mailbox.DecisionSubject(r.team.Name, "api", d.RequestID)
	payload, sig := r.sign(r.team.Key("anna"), "anna", subject, mailbox.KindPlanApprovalResponse, d.Epoch, d)
	r.put(d.RequestID, payload, sig)
}

// put puts whatever it is into a slot.
func (r *rig) put(id string, payload []byte, sigs ...string) {
	r.t.Helper()
	if _, err := r.anna.PutDecision(context.Background(), "api", id, payload, sigs); err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = append(r.decided, id)
}

// receipt waits for a receipt in one of the final states.
func (r *rig) receipt(of string) mailbox.Receipt {
	r.t.Helper()
	var last mailbox.Receipt
	until(r.t, "receipt of "+of, func() bool {
		var all []natsbox.ReceiptInfo
		if err := r.anna.Call(context.Background(), natsbox.VerbReceipts, natsbox.IDRequest{ID: of}, &all); err != nil && !errors.Is(err, natsbox.ErrNotFound) {
			r.t.Fatal(err)
		}
		for _, i := range all {
			last = i.Receipt
			if last.State == mailbox.Applied || last.State == mailbox.Refused {
				return true
			}
		}
		return false
	})
	return last
}

// order gives an order on ord. as anna and returns its id.
func (r *rig) order(kind mailbox.Kind, body any) string {
	r.t.Helper()
	subject := mailbox.OrderSubject(r.team.Name, "api", "anna", kind)
	payload, sig := r.sign(r.team.Key("anna"), "anna", subject, kind, 0, body)
	env, err := mailbox.Decode(payload)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.anna.PutOrder(context.Background(), "api", kind, payload, []string{sig}); err != nil {
		r.t.Fatal(err)
	}
	return env.ID
}

func (r *rig) head() mailbox.OrderHead {
	c := r.team.Charter()
	return mailbox.OrderHead{
		TeamID: c.TeamID, CharterSerial: c.Serial, DecidedAt: time.Now().UTC(),
		DecidedBy: mailbox.DecidedBy{Name: "anna", Kind: "person", Via: "test", Assurance: "plain"},
	}
}

var errFull = errors.New("no space left on device")

// fullJournal is a journal whose disk can be full.
type fullJournal struct {
	teammate.Journal
	full atomic.Bool
}

func (j *fullJournal) Append(ev planmode.Event, next planmode.Session, effects []planmode.Effect, at time.Time) (uint64, error) {
	if j.full.Load() {
		return 0, errFull
	}
	return j.Journal.Append(ev, next, effects, at)
}
