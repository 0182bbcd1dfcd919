package teammatetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A Swarm is a team as a person would run it: the swarm program, a broker with its leader, and folders that are thrown
// away. Every part is a process of its own.
type Swarm struct {
	T    testing.TB
	Bin  string   // the swarm program
	Home string   // HOME of everything
	Tree string   // a git repository, where commands are run
	Env  []string // the whole environment
	Up   *Process // the broker with its leader
}

// patience bounds what a test waits for: a client starts in seconds.
const patience = time.Minute

// Build builds the swarm program for a test.
func Build(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "swarm")
	if out, err := exec.Command("go", "build", "-o", bin, "github.com/planswarm/swarm/cmd/swarm").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// StartSwarm starts a broker with its leader. What before does to the folders is done first; env is added to a clean
// environment.
func StartSwarm(t testing.TB, bin string, before []func(Swarm), env ...string) *Swarm {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &Swarm{T: t, Bin: bin, Home: home, Tree: filepath.Join(home, "repo")}
	s.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "SWARM_TEAM=shop", "GOFLAGS=-mod=mod", "GOTOOLCHAIN=local"}, env...)
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT"} { // a test's compiler starts warm
		if out, err := exec.Command("go", "env", name).Output(); err == nil {
			s.Env = append(s.Env, name+"="+strings.TrimSpace(string(out)))
		}
	}
	s.Write("go.mod", "module m\n\ngo 1.21\n")
	s.Write("a_test.go", "package m\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Log(\"it ran\") }\n")
	if out, err := exec.Command("git", "-C", s.Tree, "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("git: %v: %s", err, out)
	}
	for _, do := range before {
		do(*s)
	}
	s.Broker()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("swarm up: %s", s.Up.Output())
		}
	})
	return s
}

// Broker starts the broker with its leader, also again after [Process.Kill].
func (s *Swarm) Broker() {
	s.T.Helper()
	s.Up = s.Start("up")
	s.Until("the broker is there", func() bool { s.Up.alive(); return s.Run("status").Code == 0 })
}

// Write writes a file of the tree, with its folders.
func (s *Swarm) Write(name, content string) {
	s.T.Helper()
	path := filepath.Join(s.Tree, name)
	// It may be a program that is started next: no child that another test forks meanwhile may hold it open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o755))
	if err != nil {
		s.T.Fatal(err)
	}
}

// Has reports whether a file of the tree is there.
func (s *Swarm) Has(name string) bool {
	_, err := os.Lstat(filepath.Join(s.Tree, name))
	return err == nil
}

// Done is how a command ended.
type Done struct {
	Out, Err string
	Code     int
}

// Run runs one command of swarm to its end.
func (s *Swarm) Run(args ...string) Done {
	s.T.Helper()
	var out, errs bytes.Buffer
	cmd := s.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.T.Fatal(err)
	}
	return Done{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// Must runs one command that has to succeed.
func (s *Swarm) Must(args ...string) string {
	s.T.Helper()
	d := s.Run(args...)
	if d.Code != 0 {
		s.T.Fatalf("swarm %q: exit %d: %s%s", args, d.Code, d.Out, d.Err)
	}
	return d.Out
}

func (s *Swarm) command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.Bin, args...)
	cmd.Dir, cmd.Env = s.Tree, s.Env
	return cmd
}

// Process is a command that runs beside the test.
type Process struct {
	Cmd   *exec.Cmd
	s     *Swarm
	ended chan struct{}
	mu    sync.Mutex
	out   bytes.Buffer
}

func (p *Process) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(data)
}

// Output is what it has printed so far, on both streams.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// Start starts a command that ends with the test, by an interrupt.
func (s *Swarm) Start(args ...string) *Process {
	s.T.Helper()
	p := &Process{Cmd: s.command(args...), s: s, ended: make(chan struct{})}
	p.Cmd.Stdout, p.Cmd.Stderr = p, p
	if err := p.Cmd.Start(); err != nil {
		s.T.Fatal(err)
	}
	go func() {
		_ = p.Cmd.Wait() // its state says how
		close(p.ended)
	}()
	s.T.Cleanup(func() {
		if s.T.Failed() {
			s.T.Logf("swarm %q: %s", args, p.Output())
		}
		_ = p.Cmd.Process.Signal(os.Interrupt)
		select {
		case <-p.ended:
		case <-time.After(time.Minute):
			_ = p.Cmd.Process.Kill()
			<-p.ended
			s.T.Errorf("swarm %q did not end by itself: %s", args, p.Output())
		}
	})
	return p
}

// End waits for its end, and returns its exit code.
func (p *Process) End() int {
	p.s.T.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.s.T.Fatalf("swarm %q goes on: %s", p.Cmd.Args[1:], p.Output())
	}
	return p.Cmd.ProcessState.ExitCode()
}

// Kill kills it, and waits until it is gone.
func (p *Process) Kill() {
	p.s.T.Helper()
	_ = p.Cmd.Process.Kill() // it may have ended
	p.End()
}

// alive fails the test when it has ended.
func (p *Process) alive() {
	p.s.T.Helper()
	select {
	case <-p.ended:
		p.s.T.Fatalf("swarm %q has ended with %d: %s", p.Cmd.Args[1:], p.Cmd.ProcessState.ExitCode(), p.Output())
	default:
	}
}

// Row is one row of the leader's inbox.
type Row struct {
	Handle, Kind, Goal, ModeBack string
	Teammate                     string
	Revision                     int
}

// Inbox is what waits for the leader.
func (s *Swarm) Inbox() []Row {
	s.T.Helper()
	var doc struct{ Requests []Row }
	if err := json.Unmarshal([]byte(s.Must("inbox", "--json")), &doc); err != nil {
		s.T.Fatal(err)
	}
	return doc.Requests
}

// Await returns the row of [Mate] that waits, when it is the only one of it and is of that kind: plan, run or question.
func (s *Swarm) Await(kind string, p *Process) Row {
	s.T.Helper()
	return s.AwaitOther(kind, p, Row{})
}

// AwaitOther is Await for a row that is not an old one.
func (s *Swarm) AwaitOther(kind string, p *Process, old Row) Row {
	s.T.Helper()
	return s.await(kind, p, func(r Row) bool { return r.Teammate == Mate && r.Handle != old.Handle })
}

func (s *Swarm) await(kind string, p *Process, which func(Row) bool) Row {
	s.T.Helper()
	var rows []Row
	s.Until("a row of kind "+kind, func() bool {
		p.alive()
		rows = slices.DeleteFunc(s.Inbox(), func(r Row) bool { return !which(r) })
		return len(rows) == 1 && rows[0].Kind == kind
	})
	return rows[0]
}

// Mode is the mode that a teammate says it has.
func (s *Swarm) Mode(name string) string {
	s.T.Helper()
	return s.Standing(name).Mode
}

// Standing is how a teammate says it stands.
type Standing struct {
	Name, State, Mode, Tool string
	Turns, Tokens           int
}

// Standing is how a teammate stands. One that is not there has no name.
func (s *Swarm) Standing(name string) Standing {
	s.T.Helper()
	var doc struct{ Teammates []Standing }
	if err := json.Unmarshal([]byte(s.Must("status", "--json")), &doc); err != nil {
		s.T.Fatal(err)
	}
	for _, m := range doc.Teammates {
		if m.Name == name {
			return m
		}
	}
	return Standing{}
}

// Until waits until something holds, and fails the test when that never comes. What names it for the failure.
func (s *Swarm) Until(what string, ok func() bool) {
	s.T.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.T.Fatalf("never came: %s", what)
		}
	}
}
