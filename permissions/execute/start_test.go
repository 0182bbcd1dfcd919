//go:build linux

package execute_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions/execute"
)

// strays is a line that leaves behind what is hard to kill: a setsid child, a double fork, one that ignores signals, and
// one that keeps the output open. Each writes its process id to pids, and "late" when it is told to go on.
const strays = `
late() { echo $BASHPID >>pids; for i in {1..1200}; do [ -e go ] && touch late; sleep 0.05; done; }
export -f late
setsid bash -c late &
( ( late & ) & )
( trap '' TERM HUP INT; late ) &
setsid bash -c '( setsid bash -c "late" & )' &
until [ "$(wc -w <pids 2>/dev/null)" = 4 ]; do sleep 0.01; done
`

// wantNobodyGoesOn tells strays to go on, and fails when one does.
func wantNobodyGoesOn(t testing.TB, dir string) {
	t.Helper()
	writeFile(t, dir+"/go", "")
	time.Sleep(500 * time.Millisecond)
	if _, err := os.Stat(dir + "/late"); err == nil {
		t.Error("a stray goes on")
	}
}

func TestNothingIsLeftWhenTheTargetEnds(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	_, status, err := output(t, execute.Spec{Argv: shell(strays + "exit 7"), Dir: dir})
	if status != 7 || err != nil {
		t.Errorf("Wait() = %d, %v, want 7, nil", status, err)
	}
	wantDead(t, numbers(t, filepath.Join(dir, "pids"), 4)...)
	wantNobodyGoesOn(t, dir)
}

func TestKillEndsEverything(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	p := start(t, execute.Spec{Argv: shell(strays + "sleep 60"), Dir: dir})
	pids := numbers(t, filepath.Join(dir, "pids"), 4)
	if err := p.Kill(); err != nil {
		t.Errorf("Kill() = %v, want nil", err)
	}
	wantDead(t, append(pids, p.Pid())...)
	if status, err := p.Wait(); status != 137 || !errors.Is(err, execute.ErrKilled) {
		t.Errorf("Wait() = %d, %v, want 137, ErrKilled", status, err)
	}
	if err := p.Kill(); err != nil {
		t.Errorf("second Kill() = %v, want nil", err)
	}
}

func TestCancelKills(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := execute.Start(ctx, execute.Spec{Argv: shell(strays + "sleep 60"), Dir: dir, Env: path})
	if err != nil {
		t.Fatal(err)
	}
	pids := numbers(t, filepath.Join(dir, "pids"), 4)
	why := errors.New("plan mode was entered")
	cancel(why)
	_, err = p.Wait()
	if !errors.Is(err, execute.ErrKilled) || !errors.Is(err, why) {
		t.Errorf("Wait() = %v, want ErrKilled and the cause", err)
	}
	wantDead(t, append(pids, p.Pid())...)
	if _, err := execute.Start(ctx, execute.Spec{Argv: shell("true"), Dir: dir}); !errors.Is(err, why) {
		t.Errorf("Start with a cancelled context = %v, want the cause", err)
	}
}

// A program that forks and exits as fast as it can is never the process that was seen a moment ago.
func TestKillCatchesWhatRunsAway(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	p := start(t, execute.Spec{Argv: []string{"/usr/bin/perl", "-e", "while (1) { exit if fork; open F, '>', 'beat'; close F }"}, Dir: dir})
	eventually(t, "the target gone", func() bool { return !alive(p.Pid()) })
	if _, err := p.Wait(); err != nil {
		t.Errorf("Wait() = %v, want nil", err)
	}
	beat := filepath.Join(dir, "beat")
	_ = os.Remove(beat)
	time.Sleep(50 * time.Millisecond)
	if _, err := os.Stat(beat); err == nil {
		t.Error("the runaway still forks")
	}
}

func TestKillOfAStoppedReaper(t *testing.T) {
	t.Parallel()
	p := start(t, execute.Spec{Argv: shell("sleep 60"), Dir: "/"})
	if err := syscall.Kill(parent(t, p.Pid()), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = p.Kill()
	wantDead(t, p.Pid())
	if _, err := p.Wait(); !p.ReaperExited() {
		t.Errorf("Wait() = %v: the reaper was not woken, and was killed in the end", err)
	}
}

// parent is the parent of a process: the reaper of a target.
func parent(t testing.TB, pid int) int {
	t.Helper()
	stat := readFile(t, "/proc/"+strconv.Itoa(pid)+"/stat")
	ppid, err := strconv.Atoi(strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])[1])
	if err != nil {
		t.Fatal(err)
	}
	return ppid
}

func TestKilledReaperLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	p := start(t, execute.Spec{Argv: shell(strays + "sleep 60"), Dir: dir})
	other := start(t, execute.Spec{Argv: shell("sleep 60"), Dir: dir})
	pids := numbers(t, filepath.Join(dir, "pids"), 4)
	if err := syscall.Kill(parent(t, p.Pid()), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status, err := p.Wait(); status != 137 || !errors.Is(err, execute.ErrLost) {
		t.Errorf("Wait() = %d, %v, want 137, ErrLost", status, err)
	}
	wantDead(t, append(pids, p.Pid())...)
	if !alive(other.Pid()) {
		t.Error("another target died with it")
	}
}

// runnerHelper stands in for a runner: it starts a target and waits to be killed.
func runnerHelper() {
	p, err := execute.Start(background, execute.Spec{Argv: shell(strays + "sleep 60"), Dir: os.Getenv("DIR"), Env: path})
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(filepath.Join(os.Getenv("DIR"), "target"), []byte(strconv.Itoa(p.Pid())), 0o600); err != nil {
		panic(err)
	}
	_, _ = p.Wait()
}

func TestKilledRunnerLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	runner := exec.Command("/proc/self/exe")
	runner.Env = []string{helperVar + "=runner", "DIR=" + dir}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	pids := numbers(t, filepath.Join(dir, "pids"), 4)
	target := numbers(t, filepath.Join(dir, "target"), 1)[0]
	reaper := parent(t, target)
	if got := parent(t, reaper); got != runner.Process.Pid {
		t.Fatalf("the reaper's parent = %d, want the runner %d", got, runner.Process.Pid)
	}
	pids = append(pids, target, reaper)
	_ = runner.Process.Kill()
	_ = runner.Wait()
	eventually(t, "everything dead", func() bool {
		for _, pid := range pids {
			if alive(pid) {
				return false
			}
		}
		return true
	})
	wantNobodyGoesOn(t, dir)
}

// The target dies with its reaper even when its runner can do nothing.
func TestKilledReaperOfAStoppedRunner(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	runner := exec.Command("/proc/self/exe")
	runner.Env = []string{helperVar + "=runner", "DIR=" + dir}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = runner.Process.Kill(); _ = runner.Wait() }()
	target := numbers(t, filepath.Join(dir, "target"), 1)[0]
	_ = runner.Process.Signal(syscall.SIGSTOP)
	if err := syscall.Kill(parent(t, target), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the target dead", func() bool { return !alive(target) })
	_ = runner.Process.Signal(syscall.SIGCONT)
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"exit 0": 0, "exit 1": 1, "exit 126": 126, "exit 255": 255, "exit 256": 0,
		"kill -TERM $$": 128 + 15, "kill -KILL $$": 128 + 9, "kill -SEGV $$": 128 + 11,
	} {
		if _, status, err := output(t, execute.Spec{Argv: shell(line), Dir: "/"}); status != want || err != nil {
			t.Errorf("%q = %d, %v, want %d, nil", line, status, err, want)
		}
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	writeFile(t, dir+"/text", "no program")
	for name, c := range map[string]struct {
		spec execute.Spec
		is   error
	}{
		"no program":         {execute.Spec{Dir: dir}, nil},
		"missing program":    {execute.Spec{Argv: []string{"/nowhere/x"}, Dir: dir}, fs.ErrNotExist},
		"not in PATH":        {execute.Spec{Argv: []string{"bash"}, Dir: dir}, fs.ErrNotExist},
		"only relative PATH": {execute.Spec{Argv: []string{"bash"}, Dir: "/usr/bin", Env: []string{"PATH=.::bin"}}, fs.ErrNotExist},
		"not executable":     {execute.Spec{Argv: []string{dir + "/text"}, Dir: dir}, fs.ErrPermission},
		"no directory":       {execute.Spec{Argv: shell("true"), Dir: dir + "/none"}, fs.ErrNotExist},
		"relative directory": {execute.Spec{Argv: shell("true"), Dir: "x"}, nil},
		"NUL":                {execute.Spec{Argv: shell("a\x00b"), Dir: dir}, nil},
		"bad environment":    {execute.Spec{Argv: shell("true"), Dir: dir, Env: []string{"x"}}, nil},
		"twice":              {execute.Spec{Argv: shell("true"), Dir: dir, Env: []string{"A=1", "A=2"}}, nil},
	} {
		p, err := execute.Start(t.Context(), c.spec)
		if err == nil {
			_ = p.Kill()
			t.Errorf("%s: Start = nil, want an error", name)
		} else if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: Start = %v, want %v", name, err, c.is)
		}
	}
}

func TestSurroundings(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	inherited, err := os.Open("/dev/null") // open here, not to be open there
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, inherited.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno)
	}
	extra, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	out, _, err := output(t, execute.Spec{
		Argv: []string{"bash", "-c", `
			pwd; ls -m /proc/$$/fd; readlink /proc/$$/fd/3
			grep NoNewPrivs /proc/$$/status; cat`},
		Dir: dir, Env: path, Stdin: strings.NewReader("from a reader"), ExtraFiles: []*os.File{extra},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := dir + "\n0, 1, 2, 3\n/dev/zero\nNoNewPrivs:\t1\nfrom a reader"
	if out != want {
		t.Errorf("the target saw %q, want %q", out, want)
	}
}

// The reaper knows nothing, and tells nobody.
func TestReaperIsClosed(t *testing.T) {
	t.Parallel()
	p := start(t, execute.Spec{Argv: shell("sleep 60"), Dir: "/"})
	reaper := parent(t, p.Pid())
	wantClosed(t, reaper)
	if env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(reaper), "environ")); err == nil && len(env) > 0 {
		t.Errorf("environment of the reaper = %q, want none", env)
	}
}

func TestOwnGroupAndSession(t *testing.T) {
	t.Parallel()
	p := start(t, execute.Spec{Argv: shell("sleep 60"), Dir: "/"})
	if pgid, err := syscall.Getpgid(p.Pid()); pgid != p.Pid() {
		t.Errorf("process group of %d = %d, %v, want its own", p.Pid(), pgid, err)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("Signal = %v", err)
	}
	if status, err := p.Wait(); status != 143 || err != nil {
		t.Errorf("Wait after SIGTERM = %d, %v, want 143, nil", status, err)
	}
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("Signal at the end = %v, want ErrProcessDone", err)
	}
}

// A reader of standard input that never ends, as a person's terminal, holds nothing up.
func TestEndlessInput(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	began := time.Now()
	_, status, err := output(t, execute.Spec{Argv: shell("exit 3"), Dir: "/", Stdin: r})
	if status != 3 || err != nil || time.Since(began) > time.Minute {
		t.Errorf("Wait() = %d, %v after %v, want 3 at once", status, err, time.Since(began))
	}
}

// Output comes while the target runs, not at its end.
func TestOutputStreams(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p := start(t, execute.Spec{Argv: shell("echo now; sleep 60"), Dir: "/", Stdout: w})
	w.Close()
	buf := make([]byte, 16)
	n, err := r.Read(buf)
	if !bytes.Equal(buf[:n], []byte("now\n")) || !alive(p.Pid()) {
		t.Errorf("read %q, %v, want now while it runs", buf[:n], err)
	}
	_ = p.Kill()
	if n, err := r.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("after Kill: read %d bytes, %v, want the end", n, err)
	}
}
