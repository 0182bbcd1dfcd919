package gate_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

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
	"github.com/planswarm/swarm/teammate/gate"
	"github.com/planswarm/swarm/teammate/journal"
)

// The test program is its own thin client, and its own impostor.
const (
	askVar      = "GATE_TEST_ASK"      // set: ask gates what comes on standard input
	impostorVar = "GATE_TEST_IMPOSTOR" // a socket: answer whoever asks that all is well
)

func TestMain(m *testing.M) {
	execute.ChildMain()
	if os.Getenv(askVar) != "" {
		os.Exit(client())
	}
	if socket := os.Getenv(impostorVar); socket != "" {
		os.Exit(impostor(socket))
	}
	_ = flag.Set("test.parallel", "8") // tests wait for the disk and for processes
	goleak.VerifyTestMain(mailboxtest.Settled(m))
}

// call is what the client process is told to ask, one line each; said is what it prints about the answer.
type call struct {
	Socket string
	Verb   gate.Verb
	Args   json.RawMessage
	Dies   bool // before it has handed the answer on
}

type said struct {
	Urgent string
	Exit   int
	Result json.RawMessage
	Error  *gate.Error
	Out    []byte
}

// client asks, as the thin client does, whatever comes on its standard input.
func client() int {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var c call
		if err := in.Decode(&c); err != nil {
			return 0
		}
		_ = out.Encode(asks(c))
	}
}

func asks(c call) said {
	var args any
	if len(c.Args) > 0 {
		args = c.Args
	}
	if c.Verb == gate.VerbCheck {
		var a gate.CheckArgs
		_ = json.Unmarshal(c.Args, &a)
		args = a
	}
	var out bytes.Buffer
	a, err := gate.CallAnd(context.Background(), c.Socket, c.Verb, args, gate.Streams{Stdout: &out, Stderr: &out}, func(gate.Answer) error {
		if c.Dies {
			return errors.New("the client dies")
		}
		return nil
	})
	s := said{Urgent: a.Urgent, Exit: a.Exit, Result: a.Result, Out: out.Bytes()}
	if err != nil {
		s.Error = &gate.Error{Code: "untyped", Message: err.Error()}
		if errors.As(err, &s.Error) {
			s.Exit = s.Error.Exit
		}
	}
	return s
}

// impostor is a gate that allows everything.
func impostor(socket string) int {
	ln, err := net.Listen("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		conn, err := ln.Accept()
		if err != nil {
			return 1
		}
		fmt.Fprintln(conn, `{"exit":0,"result":{"decision":"allow"}}`)
		_ = conn.Close()
	}
}

// rig is a teammate with a gate, and its leader anna.
type rig struct {
	lives  time.Duration // of the grants that it gives; zero is an hour
	t      testing.TB
	team   *mailboxtest.Team
	anna   *natsbox.Conn
	runner *teammate.Runner
	gate   *gate.Gate
	store  *plandir.Store
	dir    string
	tree   string
	socket string

	mu      sync.Mutex
	seen    []gate.Observation
	idle    []*process
	decided []string // requests that were answered here
}

type options struct {
	mode       permissions.Mode
	unattended bool
	required   bool
	roots      func() []int
	resolver   permissions.Resolver // nil: the disk
	attack     func(context.Context, gate.AttackArgs) (gate.AttackResult, error)
	hook       func(context.Context, gate.HookArgs) (any, error)
	attached   string // the address file of a client that was started by hand
}

func newRig(t testing.TB, o options) *rig {
	t.Helper()
	if o.mode == "" {
		o.mode = permissions.ModeDefault
	}
	r := &rig{t: t, dir: t.TempDir(), tree: realDir(t)}
	r.team = mailboxtest.Server(t, mailboxtest.Sync("1s"), mailboxtest.Caps(charter.Caps{Mode: permissions.ModeBypass, PlanRequired: o.required}))
	r.team.AddLeader("anna", charter.KindPerson)
	r.team.AddTeammate("api")
	r.anna = r.team.Connect("anna")
	r.socket = filepath.Join(socketDir(t), "api.sock")
	j, err := journal.Open(r.dir, journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if r.store, err = plandir.Open(r.dir); err != nil {
		t.Fatal(err)
	}
	conn, err := natsbox.Connect(t.Context(), r.team.Config("api"))
	if err != nil {
		t.Fatal(err)
	}
	r.runner, err = teammate.New(teammate.Config{
		Name: "api", Team: r.team.Name, Owner: r.team.OwnerKey, Tree: r.tree, Mode: o.mode,
		Agent: agent{}, Box: conn, Journal: j, Store: r.store, Attended: !o.unattended,
		Engine: permissions.New(permissions.Config{
			Resolver: cmp.Or[permissions.Resolver](o.resolver, execute.Resolver{}), BaseEnv: os.Environ(), Path: execute.CleanPath(os.Getenv("PATH"), r.tree),
		}),
		Home: "/nonexistent", Forbidden: []string{r.dir}, Instance: "api-test", Dir: r.dir,
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.Listen(gate.Config{Runner: r.runner, Socket: r.socket, Roots: o.roots, Observe: r.observe, Attack: o.attack, Hook: o.hook, Attached: o.address(t, r.socket)})
	if err != nil {
		t.Fatal(err)
	}
	r.gate = g
	ctx, stop := context.WithCancelCause(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = r.runner.Run(ctx) })
	running.Go(func() { _ = g.Run(ctx) })
	t.Cleanup(func() {
		stop(teammate.ErrDetach)
		running.Wait()
		conn.Close()
		_ = j.Close()
		_ = r.store.Close()
	})
	select {
	case <-r.runner.Ready():
	case <-time.After(time.Minute):
		t.Fatal("the runner is not ready")
	}
	return r
}

// address writes the address file that an attached client finds its gate by.
func (o options) address(t testing.TB, socket string) *gate.Address {
	t.Helper()
	if o.attached == "" {
		return nil
	}
	a, err := gate.NewAddress(socket)
	if err == nil {
		err = a.Write(o.attached)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &a
}

func (r *rig) observe(o gate.Observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, o)
}

// agent is a client that does what it is told.
type agent struct{}

func (agent) SetMode(_ context.Context, m permissions.Mode) (permissions.Mode, error) { return m, nil }
func (agent) Notify(context.Context, planmode.Notify) error                           { return nil }
func (agent) StopAgent(context.Context, string) error                                 { return nil }
func (agent) KillStarted(context.Context, []string, string) error                     { return nil }

func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// socketDir is a folder for sockets: short, and closed to others.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "gate") // 0700
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// process is a client process, which asks one thing after the other.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func (r *rig) newProcess() *process { return r.newProcessIn(r.tree) }

func (r *rig) newProcessIn(dir string) *process {
	r.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	p := &process{cmd: exec.Command(exe, "-test.run=^$")}
	p.cmd.Dir, p.cmd.Stderr = dir, os.Stderr
	p.cmd.Env = append(os.Environ(), askVar+"=1", "PWD="+dir)
	in, ierr := p.cmd.StdinPipe()
	out, oerr := p.cmd.StdoutPipe()
	if err := errors.Join(ierr, oerr, p.cmd.Start()); err != nil {
		r.t.Fatal(err)
	}
	p.in, p.out = in, json.NewDecoder(out)
	return p
}

func (p *process) end() {
	_ = p.in.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// dies has the client die before it has handed the answer on.
type dies struct{ args any }

// send asks without waiting for the answer.
func (p *process) send(t testing.TB, socket string, verb gate.Verb, args any) {
	t.Helper()
	c := call{Socket: socket, Verb: verb}
	if d, ok := args.(dies); ok {
		c.Dies, args = true, d.args
	}
	if args != nil {
		raw, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		c.Args = raw
	}
	if err := json.NewEncoder(p.in).Encode(c); err != nil {
		t.Fatal(err)
	}
}

// ask asks the gate in another process.
func (r *rig) ask(verb gate.Verb, args any) said { return r.askAt(r.socket, verb, args) }

func (r *rig) askAt(socket string, verb gate.Verb, args any) said {
	r.t.Helper()
	p := r.take()
	p.send(r.t, socket, verb, args)
	var s said
	if err := p.out.Decode(&s); err != nil {
		r.t.Errorf("the client has ended: %v", err)
		return said{Exit: -1}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, p)
	return s
}

// take returns a client process that asks nothing.
func (r *rig) take() *process {
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		p := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return p
	}
	r.mu.Unlock()
	p := r.newProcess()
	r.t.Cleanup(p.end)
	return p
}

// want fails unless the client ended with an exit code and, besides 0, a word about why.
func (s said) want(t testing.TB, exit int, code string) {
	t.Helper()
	got := ""
	if s.Error != nil {
		got = s.Error.Code
	}
	if s.Exit != exit || got != code {
		t.Fatalf("exit %d, error %+v, want %d, %q (result %s)", s.Exit, s.Error, exit, code, s.Result)
	}
}

func result[T any](t testing.TB, s said) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(s.Result, &v); err != nil {
		t.Fatalf("result %q: %v", s.Result, err)
	}
	return v
}

// approve approves the open plan, with its grants in a mode.
func (r *rig) approve(uses int) { r.t.Helper(); r.approves(r.open(), uses) }

func (r *rig) approves(row natsbox.Row, uses int) {
	r.t.Helper()
	d := planmode.Decision{
		RequestID: row.EnvelopeID, Revision: row.Request.Revision, Outcome: planmode.OutcomeApproved, Approved: true,
		Mode: row.KnownMode, PlanDigest: row.Request.Digest, OrderHead: r.head(row.Epoch),
	}
	for _, p := range row.Request.AllowedPrompts {
		d.Grants = append(d.Grants, permissions.GrantTerms{
			Prompt: p.Prompt, Intent: p.Intent, Tree: ".", ExpiresAt: time.Now().Add(cmp.Or(r.lives, time.Hour)).UTC(), MaxUses: uses,
		})
	}
	r.put(row.EnvelopeID, mailbox.KindPlanApprovalResponse, row.Epoch, d)
}

func (r *rig) head(epoch uint64) mailbox.OrderHead {
	c := r.team.Charter()
	return mailbox.OrderHead{
		TeamID: c.TeamID, CharterSerial: c.Serial, Epoch: epoch, DecidedAt: time.Now().UTC(),
		DecidedBy: mailbox.DecidedBy{Name: "anna", Kind: "person", Via: "test"},
	}
}

func (r *rig) put(id string, kind mailbox.Kind, epoch uint64, body any) {
	r.t.Helper()
	env, err := mailbox.New(natsbox.NewID(), kind, r.team.Name, "anna", "api", epoch, time.Now(), body)
	if err != nil {
		r.t.Fatal(err)
	}
	payload, err := mailbox.Encode(env)
	if err != nil {
		r.t.Fatal(err)
	}
	subject := mailbox.DecisionSubject(r.team.Name, "api", id)
	if kind.Orders() {
		subject = mailbox.OrderSubject(r.team.Name, "api", "anna", kind)
	}
	sig, err := charter.SignOrder(r.team.Key("anna"), subject, payload)
	if err != nil {
		r.t.Fatal(err)
	}
	if kind.Orders() {
		_, err = r.anna.PutOrder(context.Background(), "api", kind, payload, []string{sig})
	} else {
		_, err = r.anna.PutDecision(context.Background(), "api", id, payload, []string{sig})
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.decided = append(r.decided, id)
}

func (r *rig) open() natsbox.Row {
	r.t.Helper()
	var rows []natsbox.Row
	until(r.t, "one open request", func() bool {
		rows = r.pending()
		return len(rows) == 1
	})
	return rows[0]
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(15 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
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

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (r *rig) status() teammate.Status {
	r.t.Helper()
	s := r.ask(gate.VerbStatus, nil)
	s.want(r.t, 0, "")
	return result[teammate.Status](r.t, s)
}

// works brings the teammate to work on an approved plan that may run tests.
func (r *rig) works(uses int) {
	r.t.Helper()
	write(r.t, filepath.Join(r.tree, "go.mod"), "module example.com/m\n\ngo 1.26\n")
	r.ask(gate.VerbEnter, nil).want(r.t, 0, "")
	write(r.t, r.store.WorkFile(), "# Fix it\n")
	r.ask(gate.VerbSubmit, gate.SubmitArgs{Prompts: []string{"run tests"}}).want(r.t, 0, "")
	r.approve(uses)
	r.ask(gate.VerbWait, gate.WaitArgs{}).want(r.t, 0, "")
}
