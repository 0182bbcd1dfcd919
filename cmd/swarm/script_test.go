//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "4") // scripts wait for processes and for the disk, not for the processor
	testscript.Main(m, map[string]func(){"swarm": main})
}

// TestScripts is what users type and see. Each script has a machine of its own: home, state, configuration, a working
// tree, and one command for each person:
//
//	up [FLAG...]         start `swarm up` as mia, and wait until it is ready; kill9 up and term up end it
//	lead ARG...          swarm, as mia, the leader
//	start NAME [FLAG...] start a teammate that is a shell; kill9 NAME and term NAME end its runner
//	mate NAME LINE       have that shell run a line, confined as it is
//	row-of VAR NAME TEXT the handle of NAME's waiting request whose row has TEXT
//	mail-id VAR          the id of the message that was sent just before
//	background-lead N ARG... swarm, as mia, beside the script; until-output N RE waits for its output, ended N CODE RE for
//	                     its end, and term-lead N ends it
//	mate-file NAME F RE  wait until a file in NAME's plan folder matches; until-file F RE any other one
//	until TEXT ARG...    run swarm as mia until it prints a text; ! until: until it prints it no more
//	mallory WHAT ARG...  a member with a valid teammate key (attack_test.go)
//	stranger WHAT ARG... somebody without a key
//	rogue-leader WHAT    a second leader who stores what no honest desk would
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"up": cmdUp, "lead": cmdLead, "start": cmdStart, "mate": cmdMate, "kill9": cmdKill, "term": cmdTerm,
			"mallory": cmdMallory, "stranger": cmdStranger, "rogue-leader": cmdRogueLeader, "handle": cmdHandle, "handle-other": cmdHandle, "until": cmdUntil,
			"sleep3": func(*testscript.TestScript, bool, []string) { time.Sleep(3 * time.Second) }, "is-status": cmdIsStatus,
			"row-of": cmdRowOf, "mail-id": cmdMailID, "background-lead": cmdBackground, "until-output": cmdUntilOutput, "ended": cmdEnded, "term-lead": cmdTerm, "mate-file": cmdMateFile, "until-file": cmdUntilFile, "free-port": cmdFreePort,
			"nobody": cmdNobody, "admin-socket": cmdAdminSocket, "server-url": cmdServerURL, "until-exists": cmdUntilExists, "chmod-all": cmdChmodAll,
			"recovery-input": cmdRecoveryInput, "replace": cmdReplace, "first-charter": cmdFirstCharter,
		},
		Setup: setup,
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

// machine is what a script has running.
type machine struct {
	mu    sync.Mutex
	procs map[string]*proc
	turn  map[string]int // of each teammate's shell
}

type proc struct {
	cmd    *exec.Cmd
	done   chan struct{}
	stderr *syncBuffer
}

type machineKey struct{}

func setup(env *testscript.Env) error {
	m := &machine{procs: map[string]*proc{}, turn: map[string]int{}}
	env.Values[machineKey{}] = m
	env.Defer(m.stop)
	work := env.WorkDir
	for _, d := range []string{"home", "state", "config", "run", "tree", "tmp"} {
		if err := os.MkdirAll(filepath.Join(work, d), 0o700); err != nil {
			return err
		}
	}
	env.Setenv("HOME", filepath.Join(work, "home"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(work, "state"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(work, "config"))
	env.Setenv("XDG_RUNTIME_DIR", filepath.Join(work, "run"))
	env.Setenv("TMPDIR", filepath.Join(work, "tmp"))
	env.Setenv("SWARM_TEAM", "t")
	env.Setenv("GORACE", strings.TrimPrefix(raceExit, "GORACE="))
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT"} { // so that go test in a tree compiles nothing twice
		if v, err := exec.Command("go", "env", name).Output(); err == nil {
			env.Setenv(name, strings.TrimSpace(string(v)))
		}
	}
	return nil
}

func (m *machine) stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, p := range m.procs {
		if name != "up" {
			p.end(syscall.SIGKILL)
		}
	}
	if p := m.procs["up"]; p != nil {
		p.end(syscall.SIGTERM)
	}
}

func (p *proc) end(sig syscall.Signal) {
	_ = p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

func machineOf(ts *testscript.TestScript) *machine { return ts.Value(machineKey{}).(*machine) }

// background starts a program of the script's environment.
func background(ts *testscript.TestScript, args ...string) *proc {
	cmd := exec.Command(swarmPath(ts), args...)
	if limit := ts.Getenv("FSIZE"); limit != "" { // in KiB
		cmd = exec.Command("bash", append([]string{"-c", "ulimit -f " + limit + `; exec "$@"`, "bash", swarmPath(ts)}, args...)...)
	}
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = environment(ts)
	p := &proc{cmd: cmd, done: make(chan struct{}), stderr: &syncBuffer{}}
	cmd.Stdout, cmd.Stderr = p.stderr, p.stderr
	ts.Check(cmd.Start())
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	return p
}

// keep has the script's end, kill9 and term end a program.
func (m *machine) keep(name string, p *proc) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.procs[name] = p
}

// mustEnd waits for a program that is expected to fail.
func mustEnd(ts *testscript.TestScript, what string, p *proc) {
	select {
	case <-p.done:
		fmt.Fprint(ts.Stderr(), p.stderr)
		ts.Setenv("status", strconv.Itoa(p.cmd.ProcessState.ExitCode()))
	case <-time.After(time.Minute):
		p.end(syscall.SIGKILL)
		ts.Fatalf("%s did not fail", what)
	}
}

func swarmPath(ts *testscript.TestScript) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, "swarm"); filepath.IsAbs(path) {
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	ts.Fatalf("swarm is not on PATH")
	return ""
}

// raceExit has a program that was built with the race detector end at once, and not a second later.
const raceExit = "GORACE=atexit_sleep_ms=0"

var passed = []string{
	"GORACE", "HOME", "PATH", "TMPDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SWARM_TEAM", "EDITOR", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT",
}

func environment(ts *testscript.TestScript) []string {
	var env []string
	for _, name := range passed {
		if v := ts.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// waitFor polls until ok, and fails the script with the program's output when it does not come or the program ends.
func waitFor(ts *testscript.TestScript, what string, p *proc, ok func() bool) {
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		ended := false
		select {
		case <-p.done:
			ended = true
		default:
		}
		if ended && !ok() || time.Now().After(deadline) {
			ts.Fatalf("%s did not come; output:\n%s", what, p.stderr)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func cmdUp(ts *testscript.TestScript, neg bool, args []string) {
	address := filepath.Join(ts.Getenv("XDG_STATE_HOME"), "swarm", ts.Getenv("SWARM_TEAM"), "up.json")
	before, _ := os.ReadFile(address)
	p := background(ts, append([]string{"up", "--as", "mia"}, args...)...)
	if neg {
		mustEnd(ts, "swarm up", p)
		return
	}
	machineOf(ts).keep("up", p)
	waitFor(ts, "swarm up", p, func() bool {
		now, err := os.ReadFile(address)
		return err == nil && !bytes.Equal(now, before)
	})
}

func cmdLead(ts *testscript.TestScript, neg bool, args []string) {
	runAs(ts, neg, append([]string{"--as", "mia"}, args...)...)
}

func runAs(ts *testscript.TestScript, neg bool, args ...string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, swarmPath(ts), args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), environment(ts), ts.Stdout(), ts.Stderr()
	finished(ts, neg, cmd.Run())
}

// finished checks a command's end, and leaves its exit code in $status.
func finished(ts *testscript.TestScript, neg bool, err error) {
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	result(ts, neg, code)
}

func result(ts *testscript.TestScript, neg bool, code int) {
	ts.Setenv("status", strconv.Itoa(code))
	if neg == (code == 0) {
		ts.Fatalf("exit %d", code)
	}
}

// shellProgram runs the lines that the script hands it, one file each, and leaves what they print where it may write.
const shellProgram = `
out=$(dirname "$SWARM_PLAN_FILE"); n=0
[ -e "$out/turn" ] && n=$(cat "$out/turn")
while :; do
	next=$((n+1))
	if [ -e "$SWARM_TREE/.turns/$SWARM_NAME.$next" ]; then
		n=$next
		echo $n >"$out/turn"
		bash "$SWARM_TREE/.turns/$SWARM_NAME.$n" >"$out/$n.out" 2>"$out/$n.err" </dev/null
		echo $? >"$out/$n.rc.new"; mv "$out/$n.rc.new" "$out/$n.rc"
	else
		sleep 0.02
	fi
done
`

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: start NAME [FLAG...]")
	}
	name := args[0]
	shell := filepath.Join(ts.MkAbs("tree"), ".shell."+name+".sh") // bash reads on in it: another teammate's start must not touch it
	ts.Check(os.WriteFile(shell, []byte(shellProgram), 0o600))
	ts.Check(os.MkdirAll(filepath.Join(ts.MkAbs("tree"), ".turns"), 0o700))
	flags := append([]string{"teammate", "script", "--name", name, "--tree", ts.MkAbs("tree")}, args[1:]...)
	p := background(ts, append(flags, "--", "bash", shell)...)
	if neg {
		mustEnd(ts, "teammate "+name, p)
		return
	}
	machineOf(ts).keep(name, p)
	waitFor(ts, "teammate "+name, p, func() bool { return strings.Contains(p.stderr.String(), "in the team") })
}

func cmdMate(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: mate NAME LINE")
	}
	name, line := args[0], strings.Join(args[1:], " ")
	m := machineOf(ts)
	m.mu.Lock()
	m.turn[name]++
	n, p := m.turn[name], m.procs[name]
	m.mu.Unlock()
	turn := filepath.Join(ts.MkAbs("tree"), ".turns", fmt.Sprintf("%s.%d", name, n))
	ts.Check(os.WriteFile(turn+".new", []byte(line+"\n"), 0o600))
	ts.Check(os.Rename(turn+".new", turn))
	work := filepath.Join(mateDir(ts, name), "work")
	rc := filepath.Join(work, fmt.Sprintf("%d.rc", n))
	waitFor(ts, "the end of "+line, p, func() bool { _, err := os.Stat(rc); return err == nil })
	for file, to := range map[string]interface{ Write([]byte) (int, error) }{"out": ts.Stdout(), "err": ts.Stderr()} {
		data, err := os.ReadFile(filepath.Join(work, fmt.Sprintf("%d.%s", n, file)))
		ts.Check(err)
		_, err = to.Write(data)
		ts.Check(err)
	}
	data, err := os.ReadFile(rc)
	ts.Check(err)
	code, err := strconv.Atoi(strings.TrimSpace(string(data)))
	ts.Check(err)
	result(ts, neg, code)
}

// mateDir is a teammate's folder in the team's state.
func mateDir(ts *testscript.TestScript, name string) string {
	return filepath.Join(ts.Getenv("XDG_STATE_HOME"), "swarm", ts.Getenv("SWARM_TEAM"), "teammates", name)
}

func cmdKill(ts *testscript.TestScript, _ bool, args []string) { endProc(ts, args, syscall.SIGKILL) }

func cmdTerm(ts *testscript.TestScript, _ bool, args []string) { endProc(ts, args, syscall.SIGTERM) }

func endProc(ts *testscript.TestScript, args []string, sig syscall.Signal) {
	m := machineOf(ts)
	m.mu.Lock()
	p := m.procs[args[0]]
	m.mu.Unlock()
	if p == nil {
		ts.Fatalf("%s does not run", args[0])
	}
	p.end(sig)
}

// syncBuffer is a buffer that a program writes while a test reads.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// cmdIsStatus checks the exit code of the last command of a person.
func cmdIsStatus(ts *testscript.TestScript, _ bool, args []string) {
	if got := ts.Getenv("status"); got != args[0] {
		ts.Fatalf("exit %s, want %s", got, args[0])
	}
}

// cmdNobody runs a command as user nobody, with a home of its own.
func cmdNobody(ts *testscript.TestScript, neg bool, args []string) {
	if args[0] == "swarm" {
		args[0] = swarmPath(ts)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = ts.MkAbs("."), environment(ts), ts.Stdout(), ts.Stderr()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	finished(ts, neg, cmd.Run())
}

// cmdChmodAll lets others into the script's folder, but for the files that a script wants to be unreadable.
func cmdChmodAll(ts *testscript.TestScript, _ bool, _ []string) {
	work := ts.MkAbs(".")
	for dir := work; strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		ts.Check(os.Chmod(dir, 0o755))
	}
	for _, d := range []string{"home", "state", "config", "run", "tmp"} {
		ts.Check(os.Chown(filepath.Join(work, d), 65534, 65534))
	}
	ts.Check(os.Chown(work, 65534, 65534))
	ts.Check(os.Chmod(filepath.Join(work, "unreadable", "swarm.yaml"), 0))
	for dir := filepath.Dir(swarmPath(ts)); strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		ts.Check(os.Chmod(dir, 0o755))
	}
}

func cmdUntilExists(ts *testscript.TestScript, _ bool, args []string) {
	poll(ts, args[0], func() bool { _, err := os.Stat(ts.MkAbs(args[0])); return err == nil })
}

// cmdAdminSocket puts the path of the enrolment socket into a variable.
func cmdAdminSocket(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "swarm", ts.Getenv("SWARM_TEAM"), "up.json"))
	ts.Check(err)
	var a struct {
		AdminSocket string `json:"adminSocket"`
	}
	ts.Check(json.Unmarshal(data, &a))
	ts.Setenv(args[0], a.AdminSocket)
}

// cmdServerURL puts the address of the broker into a variable.
func cmdServerURL(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "swarm", ts.Getenv("SWARM_TEAM"), "up.json"))
	ts.Check(err)
	var a struct {
		URL string `json:"url"`
	}
	ts.Check(json.Unmarshal(data, &a))
	ts.Setenv(args[0], a.URL)
}
