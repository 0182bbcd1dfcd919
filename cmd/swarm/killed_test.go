//go:build linux

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var (
	soak     = flag.Duration("soak", 0, "how long TestKilledProcesses goes on killing; 0: 20 kills (see make soak)")
	killSeed = flag.Uint64("killseed", 0, "the moments of TestKilledProcesses; 0: others each time")
)

// laborious is a teammate's program: one plan after the other, wherever the session stands, and mail to the other one. What
// it was told is appended to files by whoever was told it, so that a kill in between hides nothing.
const laborious = `
out=$(dirname "$SWARM_PLAN_FILE"); peer=$1
n=0; [ -e "$out/n" ] && n=$(cat "$out/n")
while :; do
	s=$(swarm plan status --json 2>/dev/null) || { sleep 0.1; continue; }
	case $s in
	*'"state":"awaitingLeaderApproval"'*)
		swarm plan wait >/dev/null 2>&1 && [ -n "$begin" ] && echo $(( ($(date +%s%N) - begin) / 1000000 )) >>"$out/trips"
		begin= ;;
	*'"state":"planning"'*)
		printf '# Plan %s of %s\n' $n "$SWARM_NAME" >"$SWARM_PLAN_FILE"
		begin=$(date +%s%N)
		swarm plan submit --prompt "run tests" >/dev/null 2>&1 ;;
	*'"approved":{'*)
		swarm plan done >/dev/null 2>&1 && n=$((n+1)) && echo $n >"$out/n"
		swarm mail send "$peer" "after plan $n" >>"$out/sent" 2>/dev/null ;;
	*)
		if [ -e "$SWARM_TREE/stop" ]; then touch "$out/idle"; sleep 0.2; else swarm plan enter >/dev/null 2>&1; fi ;;
	esac
	case $s in
	*'"mail":'*) swarm mail recv >>"$out/got" 2>/dev/null ;;
	esac
done
`

// town is a team of real processes on a machine of its own: up, two teammates, and the commands of a leader.
type town struct {
	t       *testing.T
	swarm   string
	env     []string
	dir     string // of state, runtime files and everything else
	tree    string
	rand    *rand.Rand
	mu      sync.Mutex
	procs   map[string]*proc
	leading *exec.Cmd // the leader's command that runs now
	kills   map[string]int
	memory  map[string][2]int // of each process in KiB: at the beginning, at the end
}

func newTown(t *testing.T, seed uint64) *town {
	tn := &town{
		t: t, swarm: binary(t), env: append(own(t), "SWARM_TEAM=t"), tree: t.TempDir(), procs: map[string]*proc{},
		rand: rand.New(rand.NewPCG(seed, 1)), kills: map[string]int{}, memory: map[string][2]int{},
	}
	for _, kv := range tn.env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			tn.dir = dir
		}
	}
	t.Cleanup(tn.end)
	if err := os.WriteFile(filepath.Join(tn.tree, "work.sh"), []byte(laborious), 0o600); err != nil {
		t.Fatal(err)
	}
	return tn
}

func (tn *town) state(parts ...string) string {
	return filepath.Join(append([]string{tn.dir, "state", "swarm", "t"}, parts...)...)
}

func (tn *town) mate(name string) string { return tn.state("teammates", name, "work") }

// start starts a process that is not there, and waits until it is ready.
func (tn *town) start(name string) {
	tn.t.Helper()
	args := []string{"up", "--as", "mia"}
	ready := func(p *proc) bool { return strings.Contains(p.stderr.String(), "\nnext ") }
	if peer := map[string]string{"api": "db", "db": "api"}[name]; peer != "" {
		args = []string{"teammate", "script", "--name", name, "--tree", tn.tree, "--", "bash", filepath.Join(tn.tree, "work.sh"), peer}
		ready = func(p *proc) bool { return strings.Contains(p.stderr.String(), "in the team") }
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		p := &proc{cmd: exec.Command(tn.swarm, args...), done: make(chan struct{}), stderr: &syncBuffer{}}
		p.cmd.Env, p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = tn.env, tn.tree, p.stderr, p.stderr
		if err := p.cmd.Start(); err != nil {
			tn.t.Fatal(err)
		}
		go func() { _ = p.cmd.Wait(); close(p.done) }()
		tn.mu.Lock()
		tn.procs[name] = p
		tn.mu.Unlock()
		if p.comesUp(ready) {
			tn.measure(name)
			return
		}
		if p.end(syscall.SIGKILL); time.Now().After(deadline) {
			tn.t.Fatalf("%s does not start:\n%s", name, p.stderr)
		}
	}
}

// comesUp waits until a process is ready. One that ends before may have come too early: whoever started it tries again.
func (p *proc) comesUp(ready func(*proc) bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if ready(p) {
			return true
		}
		select {
		case <-p.done:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

// lead decides whatever waits, with one command after the other, until ctx ends.
func (tn *town) lead(ctx context.Context) {
	for ctx.Err() == nil {
		out, err := tn.command(ctx, "inbox")
		if err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		for line := range strings.Lines(out) {
			handle, _, isRow := strings.Cut(line, "\t")
			if isRow && ctx.Err() == nil {
				_, _ = tn.command(ctx, "approve", handle, "--no-wait")
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (tn *town) command(ctx context.Context, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, tn.swarm, append([]string{"--as", "mia"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = tn.env, tn.tree, &out, &errs
	tn.mu.Lock()
	err := cmd.Start()
	if tn.leading = cmd; err != nil {
		tn.leading = nil
	}
	tn.mu.Unlock()
	if err != nil {
		return "", err
	}
	err = cmd.Wait()
	tn.mu.Lock()
	tn.leading = nil
	tn.mu.Unlock()
	if err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, &errs)
	}
	return out.String(), nil
}

// kill ends one process, as kill -9 does, and starts it again. Nothing that it had started outlives it.
func (tn *town) kill(name string) {
	tn.t.Helper()
	if name == "leader" {
		for range 200 { // until a command runs
			tn.mu.Lock()
			cmd := tn.leading
			if cmd != nil {
				_ = cmd.Process.Kill()
				tn.kills[name]++
			}
			tn.mu.Unlock()
			if cmd != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
		return
	}
	tn.mu.Lock()
	p := tn.procs[name]
	tn.kills[name]++
	tn.mu.Unlock()
	tn.measure(name)
	p.end(syscall.SIGKILL)
	if name != "up" {
		tn.gone("SWARM_NAME=" + name)
	}
	time.Sleep(time.Duration(tn.rand.IntN(400)) * time.Millisecond)
	tn.start(name)
}

// gone waits until no process of the town has a variable in its environment.
func (tn *town) gone(variable string) {
	tn.t.Helper()
	var left []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = tn.running(variable); len(left) == 0 {
			return
		}
	}
	tn.t.Errorf("left behind with %s: %v", variable, left)
}

// running are the processes with a variable in their environment that have the town's home.
func (tn *town) running(variable string) []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		vars := "\x00" + string(env)
		if err == nil && strings.Contains(vars, "\x00"+variable) && (strings.Contains(vars, tn.dir) || strings.Contains(vars, tn.tree)) {
			line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// measure notes how much memory a process has.
func (tn *town) measure(name string) {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tn.procs[name].cmd.Process.Pid))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(data)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			m := tn.memory[name]
			if m[0] == 0 {
				m[0] = kib
			}
			m[1] = kib
			tn.memory[name] = m
		}
	}
}

// end ends what runs.
func (tn *town) end() {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	for _, name := range []string{"api", "db", "up"} {
		if p := tn.procs[name]; p != nil {
			p.end(syscall.SIGTERM)
		}
	}
}

// Killed with -9 at random moments, real processes keep every promise that the simulation in mailbox/crashtest holds them
// to, and leave no process and no socket behind. With -soak it goes on, and prints a table.
func TestKilledProcesses(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("the moments again: -killseed %d", seed)
	tn := newTown(t, seed)
	tn.start("up")
	ctx, stop := context.WithCancel(context.Background())
	led := make(chan struct{})
	go func() { defer close(led); tn.lead(ctx) }()
	defer func() { stop(); <-led }()
	tn.start("api")
	tn.start("db")
	kinds := []string{"up", "api", "db", "leader", "leader"}
	begin, n := time.Now(), 0
	for ; n < 20 || time.Since(begin) < *soak; n++ {
		time.Sleep(time.Duration(tn.rand.IntN(1200)) * time.Millisecond)
		tn.kill(kinds[tn.rand.IntN(len(kinds))])
	}
	if err := os.WriteFile(filepath.Join(tn.tree, "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"api", "db"} {
		tn.until(name+" is idle", func() bool { _, err := os.Stat(filepath.Join(tn.mate(name), "idle")); return err == nil })
		tn.measure(name)
	}
	tn.measure("up")
	// One that was on its way to a runner that was killed comes again when its time to be acknowledged is over.
	tn.until("every letter has come", func() bool { return len(tn.missing("api", "db"))+len(tn.missing("db", "api")) == 0 })
	r := tn.ledger()
	stop()
	<-led
	tn.end()
	tn.verify(&r)
	tn.gone("HOME=" + tn.dir)
	tn.gone("SWARM_TEAM=t")
	tn.sockets()
	r.kills, r.took = n, time.Since(begin)
	t.Logf("\n%s", r.table(tn))
}

func (tn *town) until(what string, ok func() bool) {
	tn.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			tn.t.Fatalf("never came: %s\nup:\n%s", what, tn.procs["up"].stderr)
		}
	}
}

// sockets looks for those that nobody listens on any more.
func (tn *town) sockets() {
	err := filepath.WalkDir(tn.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type()&os.ModeSocket != 0 {
			tn.t.Errorf("left behind: socket %s", path)
		}
		return err
	})
	if err != nil {
		tn.t.Error(err)
	}
}
