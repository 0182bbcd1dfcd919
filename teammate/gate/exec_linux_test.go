package gate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/gate"
)

func startSleep(t *testing.T) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd.Process.Pid
}

func startImpostor(t *testing.T, socket string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), impostorVar+"="+socket)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	until(t, "the impostor listens", func() bool { return exists(socket) })
}

func run(line string) gate.ExecArgs { return gate.ExecArgs{Line: line} }

// A command's output comes as it is made, and its status is the client's.
func TestExecIsTheCommandItself(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeBypass})
	s := r.ask(gate.VerbExec, run("echo out; echo err >&2; pwd; exit 3"))
	s.want(t, 3, "")
	if !strings.Contains(string(s.Out), "out\n"+r.tree+"\n") && !strings.HasPrefix(string(s.Out), "out\n") || !strings.Contains(string(s.Out), "err\n") || !strings.Contains(string(s.Out), r.tree+"\n") {
		t.Errorf("output %q, want both streams and the tree", string(s.Out))
	}
	if res := result[gate.ExecResult](t, s); !res.Ran {
		t.Errorf("result %+v, want that it ran", res)
	}
	s = r.ask(gate.VerbExec, run("head -c 300000 /dev/zero | tr '\\0' x; cat"))
	s.want(t, 0, "")
	if len(s.Out) != 300000 {
		t.Errorf("%d bytes of output, want 300000, and no input", len(s.Out))
	}
	s = r.ask(gate.VerbExec, run("env"))
	if strings.Contains(string(s.Out), "SWARM_") || strings.Contains(string(s.Out), askVar) {
		t.Errorf("the command has the client's environment:\n%s", string(s.Out))
	}
	if len(r.seen) != 3 || !r.seen[0].Ran || r.seen[0].Status != 3 {
		t.Errorf("observed %+v, want three commands", r.seen)
	}
}

// While planning nothing is changed by any way through the gate.
func TestPlanModeRefuses(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeBypass, unattended: true})
	write(t, filepath.Join(r.tree, "main.go"), "package main\n")
	r.ask(gate.VerbEnter, nil).want(t, 0, "")
	for _, line := range []string{"touch x", "echo x > main.go", "go test ./...", "rm main.go", "git push", "swarm approve api-1", "python3 -c 'open(\"x\",\"w\")'"} {
		s := r.ask(gate.VerbExec, run(line))
		s.want(t, 126, "denied")
		if s.Error.Message == "" {
			t.Errorf("%s is refused without a reason", line)
		}
	}
	r.ask(gate.VerbExec, run("cat main.go")).want(t, 0, "")
	r.ask(gate.VerbEdit, gate.EditArgs{Path: "main.go", Content: []byte("x")}).want(t, 11, "denied")
	r.ask(gate.VerbEdit, gate.EditArgs{Path: "new.go", Content: []byte("x")}).want(t, 11, "denied")
	if got := read(t, filepath.Join(r.tree, "main.go")); got != "package main\n" || exists(filepath.Join(r.tree, "x")) || exists(filepath.Join(r.tree, "new.go")) {
		t.Error("something was changed")
	}
	r.ask(gate.VerbEdit, gate.EditArgs{Path: r.store.WorkFile(), Content: []byte("# A plan\n")}).want(t, 0, "")
	if got := read(t, r.store.WorkFile()); got != "# A plan\n" {
		t.Errorf("the plan file holds %q, want the plan", got)
	}
	r.ask(gate.VerbEdit, gate.EditArgs{Path: filepath.Join(r.dir, "journal.jsonl"), Content: []byte("x")}).want(t, 11, "outside")
}

// A granted command runs as often as it was granted; each use is in the journal before it runs.
func TestGrantedCommandRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{unattended: true})
	r.works(2)
	write(t, filepath.Join(r.tree, "a_test.go"), "package m\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Log(\"it ran\") }\n")
	r.ask(gate.VerbExec, run("git push --force")).want(t, 126, "denied")
	r.ask(gate.VerbExec, run("go test ./... ; touch x")).want(t, 126, "denied")
	for n := 1; n <= 2; n++ {
		s := r.ask(gate.VerbExec, run("go test -v ./..."))
		s.want(t, 0, "")
		if !strings.Contains(string(s.Out), "it ran") {
			t.Fatalf("output %q, want that of the test", string(s.Out))
		}
	}
	r.ask(gate.VerbExec, run("go test ./...")).want(t, 126, "denied")
	if exists(filepath.Join(r.tree, "x")) {
		t.Error("a part of a refused line ran")
	}
}

// inOwnSession is a line that leaves a process behind in a session of its own, whose id is in the file "pid".
const inOwnSession = "setsid sh -c 'echo $$ > pid.new; mv pid.new pid; sleep 60' >/dev/null 2>&1 & until [ -e pid ]; do sleep 0.01; done"

// dead fails unless the process that inOwnSession left behind is gone.
func (r *rig) dead() {
	r.t.Helper()
	pid := strings.TrimSpace(read(r.t, filepath.Join(r.tree, "pid")))
	until(r.t, "process "+pid+" is gone", func() bool { return !exists("/proc/" + pid) })
}

// What a command leaves running ends with it, even in a session of its own (THREATS 10).
func TestNothingStaysBehind(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeBypass})
	r.ask(gate.VerbExec, run(inOwnSession)).want(t, 0, "")
	r.dead()
}

// Entering plan mode ends what runs, whoever it is that enters.
func TestWhatRunsIsEnded(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig){
		"entered": func(r *rig) { r.ask(gate.VerbEnter, nil).want(r.t, 0, "") },
		"recalled": func(r *rig) {
			r.put("", mailbox.KindModeSetRequest, 0, planmode.ModeSet{OrderHead: r.head(0), Counter: 1, Mode: permissions.ModePlan})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, options{mode: permissions.ModeBypass})
			ran := make(chan said)
			go func() {
				ran <- r.ask(gate.VerbExec, run(inOwnSession+"; touch started; sleep 60"))
			}()
			until(t, "it runs", func() bool { return exists(filepath.Join(r.tree, "started")) })
			end(r)
			(<-ran).want(t, 137, "stopped")
			until(t, "planning", func() bool { v, ok := r.runner.View(); return ok && v.State == planmode.Planning })
			r.dead()
		})
	}
}

func TestClientThatGoesAwayTakesItsCommandWithIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeBypass})
	p := r.newProcess()
	p.send(t, r.socket, gate.VerbExec, run(inOwnSession+"; touch started; sleep 60"))
	until(t, "it runs", func() bool { return exists(filepath.Join(r.tree, "started")) })
	p.end()
	r.dead()
}

// A call that is asked waits for a leader and then is what was asked: once, or for the plan.
func TestAskedCommandRunsWhenALeaderAllowsIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	for _, tc := range []struct {
		behavior permissions.Behavior
		exit     int
		code     string
	}{{permissions.BehaviorAllow, 0, ""}, {permissions.BehaviorDeny, 126, "denied"}} {
		_ = os.Remove(filepath.Join(r.tree, "x"))
		ran := make(chan said)
		go func() { ran <- r.ask(gate.VerbExec, run("touch x")) }()
		r.answer(tc.behavior, permissions.ScopeOnce)
		(<-ran).want(t, tc.exit, tc.code)
		if got := exists(filepath.Join(r.tree, "x")); got != (tc.exit == 0) {
			t.Errorf("after %s the file is there: %t", tc.behavior, got)
		}
	}
	// A leader's word does not lift what nothing lifts.
	r.ask(gate.VerbExec, run("swarm approve api-1234")).want(t, 126, "denied")
}

func TestEdit(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeAcceptEdits, unattended: true})
	file := filepath.Join(r.tree, "a.go")
	write(t, file, "package a // old\n")
	if err := os.Chmod(file, 0o750); err != nil {
		t.Fatal(err)
	}
	s := r.ask(gate.VerbEdit, gate.EditArgs{Path: "a.go", Replace: &gate.Replace{Old: "old", New: "new"}})
	s.want(t, 0, "")
	if res := result[gate.EditResult](t, s); res.Path != file || read(t, file) != "package a // new\n" {
		t.Errorf("edit = %+v, and the file holds %q", res, read(t, file))
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v (%v), want it kept", info.Mode(), err)
	}
	r.ask(gate.VerbEdit, gate.EditArgs{Path: "sub/dir/b.go", Content: []byte("package b\n")}).want(t, 0, "")
	if got := read(t, filepath.Join(r.tree, "sub/dir/b.go")); got != "package b\n" {
		t.Errorf("the new file holds %q", got)
	}
	r.ask(gate.VerbEdit, gate.EditArgs{Path: "a.go", Replace: &gate.Replace{Old: "gone", New: "x"}}).want(t, 2, "bad_replace")
	r.ask(gate.VerbEdit, gate.EditArgs{Path: "a.go", Replace: &gate.Replace{Old: "a", New: "x"}}).want(t, 2, "bad_replace")
	r.ask(gate.VerbEdit, gate.EditArgs{Path: "none.go", Replace: &gate.Replace{Old: "a", New: "x"}}).want(t, 15, "no_file")
	outside := realDir(t)
	write(t, filepath.Join(outside, "o.txt"), "safe")
	if err := os.Symlink(outside, filepath.Join(r.tree, "out")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]struct {
		exit int
		code string
	}{
		filepath.Join(outside, "o.txt"): {11, "outside"}, "../o.txt": {11, "outside"}, "out/o.txt": {11, "outside"},
		"/etc/passwd": {11, "outside"}, ".git/config": {11, "denied"}, "CLAUDE.md": {11, "denied"}, "sub": {2, "bad_path"}, "": {2, "bad_path"},
	} {
		r.ask(gate.VerbEdit, gate.EditArgs{Path: path, Content: []byte("x")}).want(t, want.exit, want.code)
	}
	if read(t, filepath.Join(outside, "o.txt")) != "safe" || exists(filepath.Join(r.tree, ".git")) {
		t.Error("something outside was written")
	}
	if left, _ := filepath.Glob(filepath.Join(r.tree, ".swarm-edit-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// A link inside the tree is followed to its file, which keeps its name.
	if err := os.Symlink("a.go", filepath.Join(r.tree, "l.go")); err != nil {
		t.Fatal(err)
	}
	r.ask(gate.VerbEdit, gate.EditArgs{Path: "l.go", Content: []byte("package l\n")}).want(t, 0, "")
	if info, err := os.Lstat(filepath.Join(r.tree, "l.go")); err != nil || info.Mode()&os.ModeSymlink == 0 || read(t, file) != "package l\n" {
		t.Error("the link was replaced, or its file not written")
	}
}

// The end of the runner is the end of everything: nothing is answered, nothing runs.
func TestNothingIsAllowedAfterTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeBypass})
	ran := make(chan said)
	go func() { ran <- r.ask(gate.VerbExec, run("touch started; sleep 30")) }()
	until(t, "it runs", func() bool { return exists(filepath.Join(r.tree, "started")) })
	r.put("", mailbox.KindShutdownRequest, 0, mailbox.ShutdownRequest{OrderHead: r.head(0), Counter: 1})
	(<-ran).want(t, 137, "stopped")
	until(t, "left", func() bool { _, ok := r.runner.View(); return !ok })
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "ls"}).want(t, 11, "not_ready")
	r.ask(gate.VerbExec, run("ls")).want(t, 126, "not_ready")
	r.ask(gate.VerbStatus, nil).want(t, 4, "left")
}

func TestLine(t *testing.T) {
	t.Parallel()
	for want, words := range map[string][]string{
		"go test ./...":                 {"go", "test", "./..."},
		"go test ./... ; touch x":       {"go test ./... ; touch x"},
		"echo 'a b' '$x' '' 'it'\\''s'": {"echo", "a b", "$x", "", "it's"},
		"git log '--format=%H'":         {"git", "log", "--format=%H"},
	} {
		if got := gate.Line(words); got != want {
			t.Errorf("Line(%q) = %s, want %s", words, got, want)
		}
	}
	out, err := exec.Command("bash", "-c", gate.Line([]string{"printf", "%s|", "a b", "$x", "", "it's", "*", "~", "a\nb"})).Output()
	if err != nil || string(out) != "a b|$x||it's|*|~|a\nb|" {
		t.Errorf("bash reads %q (%v)", out, err)
	}
}
