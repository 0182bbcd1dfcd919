package script_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	"github.com/planswarm/swarm/teammate/adapter/script"
	"github.com/planswarm/swarm/teammate/gate"
	"github.com/planswarm/swarm/teammate/journal"
)

func TestMain(m *testing.M) {
	execute.ChildMain()
	if filepath.Base(os.Args[0]) == "swarm" { // through the link that the adapter puts first in PATH
		os.Exit(client(os.Args[1:]))
	}
	goleak.VerifyTestMain(mailboxtest.Settled(m))
}

// client is `swarm VERB [JSON]`.
func client(args []string) int {
	var in any
	if len(args) > 1 {
		in = json.RawMessage(args[1])
	}
	a, err := gate.Call(context.Background(), os.Getenv("SWARM_SOCKET"), gate.Verb(args[0]), in, gate.Streams{Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "swarm:", err)
		var e *gate.Error
		if errors.As(err, &e) {
			return e.Exit
		}
		return 1
	}
	fmt.Fprintln(os.Stderr, string(a.Result))
	return a.Exit
}

// agentRig is an agent without a runner.
type agentRig struct {
	*script.Agent
	dir, tree string
	out       *output
}

// output is what a program prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// state makes a teammate's state folder with a secret in it.
func state(t *testing.T) (dir, planFile string) {
	t.Helper()
	dir = filepath.Join(realDir(t), "state")
	planFile = filepath.Join(dir, "work", "plan.md")
	write(t, filepath.Join(dir, "seed"), "SUSECRET")
	if err := os.Mkdir(filepath.Dir(planFile), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir, planFile
}

func newAgent(t *testing.T, line string, change ...func(*script.Config)) *agentRig {
	t.Helper()
	dir, planFile := state(t)
	r := &agentRig{dir: dir, tree: realDir(t), out: &output{}}
	sockets, err := os.MkdirTemp("", "script")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(sockets, "api.sock")) // a gate that nobody serves
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(ln.Close(), os.RemoveAll(sockets)) })
	cfg := script.Config{
		Argv: []string{"bash", "-c", line}, Name: "api", Team: "shop", Tree: r.tree, Socket: filepath.Join(sockets, "api.sock"),
		PlanFile: planFile, Forbidden: []string{dir}, Stdout: r.out, Stderr: r.out, RunID: "run7",
	}
	for _, c := range change {
		c(&cfg)
	}
	if r.Agent, err = script.New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// A confined program reads the tree and writes its plan and temporary files, and nothing else: not the tree, and not a
// byte of swarm's state.
func TestProgramIsConfined(t *testing.T) {
	if _, ok := execute.Supported(); !ok {
		t.Skip("this kernel has no landlock")
	}
	r := newAgent(t, `
		read_it() { cat "$1" >/dev/null 2>&1 && echo "read $2"; }
		write_it() { (echo x > "$1") 2>/dev/null && echo "wrote $2"; }
		read_it "$SWARM_TREE/main.go" tree
		read_it "$STATE/seed" seed
		read_it /etc/shadow shadow
		read_it "$HOME/.secret" home
		write_it "$SWARM_TREE/main.go" tree
		write_it "$SWARM_TREE/new.go" tree
		write_it "$SWARM_PLAN_FILE" plan
		write_it "$TMPDIR/x" temp
		write_it "$STATE/x" state
		write_it /tmp/swarm-script-test-escape /tmp
		rm -f "$SWARM_TREE/main.go" 2>/dev/null && echo removed
		command -v swarm >/dev/null && echo "has swarm"
		exit 0`,
		func(c *script.Config) {
			home := realDir(t)
			write(t, filepath.Join(home, ".secret"), "token")
			c.Env = []string{"STATE=" + c.Forbidden[0], "HOME=" + home}
		})
	write(t, filepath.Join(r.tree, "main.go"), "package main\n")
	status, err := r.Run(t.Context())
	if status != 0 || err != nil {
		t.Fatalf("Run = %d, %v: %s", status, err, r.out)
	}
	if got := strings.Split(strings.TrimSpace(r.out.String()), "\n"); !slices.Equal(got, []string{"read tree", "wrote plan", "wrote temp", "has swarm"}) {
		t.Errorf("the program could: %q", got)
	}
	if !strings.HasPrefix(r.EnforcedBy(), "kernel (landlock ABI ") {
		t.Errorf("EnforcedBy() = %q, want the kernel", r.EnforcedBy())
	}
}

func TestEnvironmentIsTheListAndNoMore(t *testing.T) {
	t.Setenv("SECRET_TOKEN", "hunter2")
	t.Setenv("SWARM_SERVER", "nats://127.0.0.1:1")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("PATH", "relative::"+os.Getenv("PATH"))
	r := newAgent(t, "env", func(c *script.Config) { c.Env = []string{"CI=1"} })
	if status, err := r.Run(t.Context()); status != 0 || err != nil {
		t.Fatalf("Run = %d, %v: %s", status, err, r.out)
	}
	allowed := []string{
		"CI", "HOME", "LANG", "PATH", "PWD", "SHLVL", "SWARM_NAME", "SWARM_PLAN_FILE", "SWARM_RUN", "SWARM_SOCKET",
		"SWARM_TEAM", "SWARM_TREE", "TERM", "TMPDIR", "_", "OLDPWD",
	}
	for _, kv := range strings.Split(strings.TrimSpace(r.out.String()), "\n") {
		name, value, _ := strings.Cut(kv, "=")
		if !slices.Contains(allowed, name) {
			t.Errorf("%s is in the environment", name)
		}
		if name == "PATH" && (strings.Contains(value, "relative") || strings.Contains(value, "::")) {
			t.Errorf("PATH is %q, want absolute entries only", value)
		}
	}
	if _, err := script.New(script.Config{Argv: []string{"true"}, Tree: "/", Socket: "/s", PlanFile: "/p", Env: []string{"SWARM_SOCKET=/other"}}); err == nil {
		t.Error("a configuration may set SWARM_SOCKET")
	}
}

// A program that exits has ended, whatever its status.
func TestExitIsTheEnd(t *testing.T) {
	crashes := 0
	r := newAgent(t, "echo run; exit 7", func(c *script.Config) { c.Crashed = func(bool) { crashes++ } })
	if status, err := r.Run(t.Context()); status != 7 || err != nil || crashes != 0 || r.out.String() != "run\n" {
		t.Errorf("Run = %d, %v after %d crashes: %q, want 7 at once", status, err, crashes, r.out)
	}
	missing := newAgent(t, "", func(c *script.Config) { c.Argv = []string{"no-such-program"} })
	if _, err := missing.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Run of a missing program: %v, want ErrNotExist", err)
	}
}

// One that was killed is started again, and told so; not for ever.
func TestCrashedProgramIsStartedAgain(t *testing.T) {
	r := newAgent(t, `echo "resumed=$SWARM_RESUMED"; [ -n "$SWARM_RESUMED" ] || kill -9 $$`)
	if status, err := r.Run(t.Context()); status != 0 || err != nil || r.out.String() != "resumed=\nresumed=1\n" {
		t.Errorf("Run = %d, %v: %q, want a second start that ends well", status, err, r.out)
	}
	r = newAgent(t, `echo "resumed=$SWARM_RESUMED"`, func(c *script.Config) { c.Resumed = func() bool { return true } })
	if status, err := r.Run(t.Context()); status != 0 || err != nil || r.out.String() != "resumed=1\n" {
		t.Errorf("Run on an earlier session = %d, %v: %q, want that the program is told", status, err, r.out)
	}
	var again []bool
	r = newAgent(t, "kill -9 $$", func(c *script.Config) { c.Crashed = func(a bool) { again = append(again, a) } })
	if status, err := r.Run(t.Context()); status != 137 || !errors.Is(err, script.ErrCrashed) {
		t.Errorf("Run = %d, %v, want ErrCrashed", status, err)
	}
	if !slices.Equal(again, []bool{true, true, true, false}) {
		t.Errorf("started again: %v, want three times", again)
	}
}

// Stopped: the program and all that it started are gone, and it is not started again.
func TestStopEndsEverything(t *testing.T) {
	r := newAgent(t, `cd "$TMPDIR"; setsid sh -c 'echo $$ > pid; sleep 60' & until [ -s pid ]; do sleep 0.01; done; cat pid; sleep 60`)
	ended := make(chan int, 1)
	go func() {
		status, _ := r.Run(t.Context())
		ended <- status
	}()
	until(t, "it runs", func() bool { return strings.HasSuffix(r.out.String(), "\n") })
	if err := r.StopAgent(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	<-ended
	if pid := strings.TrimSpace(r.out.String()); exists("/proc/" + pid) {
		t.Errorf("process %s, which the program had started, goes on", pid)
	}
	if status, err := r.Run(t.Context()); err != nil || status != -1 {
		t.Errorf("Run after StopAgent = %d, %v, want that nothing is started", status, err)
	}
}

func TestEndOfContextEndsTheProgram(t *testing.T) {
	r := newAgent(t, "echo up; sleep 60")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := r.Run(ctx)
		ended <- err
	}()
	until(t, "it runs", func() bool { return r.out.String() == "up\n" })
	cause := errors.New("enough")
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("Run = %v, want the cause", err)
	}
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never came: %s", what)
		}
	}
}

// The whole way of one plan: a script, its runner and gate, a broker, and a leader who asks for changes first.
func TestScriptWalksTheWayOfOnePlan(t *testing.T) {
	team := mailboxtest.Server(t, mailboxtest.Sync("1s"))
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	anna := team.Connect("anna")
	dir := filepath.Join(realDir(t), "state")
	tree := realDir(t)
	write(t, filepath.Join(tree, "total.go"), "package total // wrong\n")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(dir, journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store, err := plandir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := natsbox.Connect(t.Context(), team.Config("api"))
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := os.MkdirTemp("", "script")
	if err != nil {
		t.Fatal(err)
	}
	out := &output{}
	agent, err := script.New(script.Config{
		Argv: []string{"bash", "-euc", `
			swarm plan.enter
			! echo x > total.go
			echo '# Fix it' > "$SWARM_PLAN_FILE"
			swarm plan.submit
			swarm plan.wait && exit 91 || [ $? = 3 ]
			printf '# Fix it\n\n- [ ] edit total.go\n' > "$SWARM_PLAN_FILE"
			swarm plan.submit
			swarm exec '{"line":"touch early"}' && exit 92 || [ $? = 126 ]
			swarm plan.wait
			swarm edit '{"path":"total.go","replace":{"old":"wrong","new":"right"}}'
			swarm exec '{"line":"cat total.go"}'
			swarm plan.done`},
		Name: "api", Team: "shop", Tree: tree, Socket: filepath.Join(sockets, "api.sock"), PlanFile: store.WorkFile(),
		Forbidden: []string{dir}, Stdout: out, Stderr: out,
	})
	if err != nil {
		t.Fatal(err)
	}
	runner, err := teammate.New(teammate.Config{
		Name: "api", Team: "shop", Owner: team.OwnerKey, Tree: tree, Mode: permissions.ModeAcceptEdits,
		Agent: agent, Box: conn, Journal: j, Store: store, Instance: "api-test", EnforcedBy: agent.EnforcedBy(),
		Engine: permissions.New(permissions.Config{Resolver: execute.Resolver{}}), Home: "/nonexistent", Forbidden: []string{dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.Listen(gate.Config{Runner: runner, Socket: filepath.Join(sockets, "api.sock")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = runner.Run(ctx) })
	running.Go(func() { _ = g.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
		conn.Close()
		_ = errors.Join(j.Close(), store.Close(), os.RemoveAll(sockets))
	})
	<-runner.Ready()
	running.Go(func() { leads(ctx, team, anna) })
	status, err := agent.Run(t.Context())
	if status != 0 || err != nil {
		t.Fatalf("the script ended with %d, %v:\n%s", status, err, out)
	}
	if got, _ := os.ReadFile(filepath.Join(tree, "total.go")); string(got) != "package total // right\n" || exists(filepath.Join(tree, "early")) {
		t.Errorf("total.go holds %q; the script said:\n%s", got, out)
	}
	if s, err := runner.Status(); err != nil || s.Mode != permissions.ModeAcceptEdits || s.Approved != nil {
		t.Errorf("in the end %+v, %v, want acceptEdits and the plan done", s, err)
	}
}

// leads rejects first revisions and approves second ones.
func leads(ctx context.Context, team *mailboxtest.Team, anna *natsbox.Conn) {
	kp, c := team.Key("anna"), team.Charter()
	seen := map[string]bool{}
	for ctx.Err() == nil {
		rows, _ := anna.Pending(ctx)
		for _, row := range rows {
			if row.Request == nil || seen[row.EnvelopeID] {
				continue
			}
			seen[row.EnvelopeID] = true
			d := planmode.Decision{
				OrderHead: mailbox.OrderHead{
					TeamID: c.TeamID, CharterSerial: c.Serial, Epoch: row.Epoch, DecidedAt: time.Now().UTC(),
					DecidedBy: mailbox.DecidedBy{Name: "anna", Kind: "person", Via: "test"},
				},
				RequestID: row.EnvelopeID, Revision: row.Request.Revision, PlanDigest: row.Request.Digest,
				Outcome: planmode.OutcomeRejected, Feedback: "name the file",
			}
			if row.Request.Revision > 1 {
				d.Outcome, d.Approved, d.Mode, d.Feedback = planmode.OutcomeApproved, true, row.KnownMode, ""
			}
			env, err := mailbox.New(natsbox.NewID(), mailbox.KindPlanApprovalResponse, "shop", "anna", "api", row.Epoch, time.Now(), d)
			if err != nil {
				return
			}
			payload, _ := mailbox.Encode(env)
			sig, _ := charter.SignOrder(kp, mailbox.DecisionSubject("shop", "api", row.EnvelopeID), payload)
			_, _ = anna.PutDecision(ctx, "api", row.EnvelopeID, payload, []string{sig})
		}
		time.Sleep(5 * time.Millisecond)
	}
}
