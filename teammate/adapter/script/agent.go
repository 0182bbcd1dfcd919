package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
)

// ErrCrashed means that the program was ended by a signal more often than it is started again.
var ErrCrashed = errors.New("script: the program crashed again and again")

// Agent runs one program. It is a teammate.Agent.
type Agent struct {
	cfg Config

	mu      sync.Mutex
	proc    *execute.Proc
	stopped bool
	mode    permissions.Mode
}

// New makes an agent. The program starts with [Agent.Run].
func New(cfg Config) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Agent{cfg: cfg}, nil
}

// EnforcedBy says who holds programs of this kind to plan mode on this machine.
func EnforcedBy() string {
	abi, ok := execute.Supported()
	if !ok {
		return "nobody: NOT ENFORCED"
	}
	return fmt.Sprintf("kernel (landlock ABI %d)", abi)
}

// EnforcedBy is [EnforcedBy], and what the kernel has said about the program that runs, once it does.
func (a *Agent) EnforcedBy() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.proc == nil {
		return EnforcedBy()
	}
	e := a.proc.Enforcement()
	if !e.Enforced {
		return "nobody: NOT ENFORCED"
	}
	return fmt.Sprintf("kernel (landlock ABI %d)", e.ABI)
}

// Open lists what the confinement leaves open on this machine, in words for people.
func (a *Agent) Open() []string {
	abi, _ := execute.Supported()
	return execute.Open(abi, false)
}

// Run starts the program, starts it again when it crashes, and returns its exit status when it has ended with all that it
// had started. The error is nil when it ended by itself; [ErrCrashed]; or the cause of ctx, whose end kills it.
func (a *Agent) Run(ctx context.Context) (status int, err error) {
	dirs, err := a.makeDirs()
	if err != nil {
		return -1, err
	}
	defer dirs.remove()
	var crashes []time.Time
	for resumed := a.cfg.Resumed(); ; resumed = true {
		status, err := a.once(ctx, dirs, resumed)
		switch {
		case ctx.Err() != nil:
			return status, context.Cause(ctx)
		case a.isStopped() || !crashed(status, err):
			return status, err
		}
		crashes = append(crashes, time.Now())
		again := a.cfg.Restarts > 0 && within(crashes, a.cfg.Window) <= a.cfg.Restarts
		a.cfg.Logger.Warn("script: the program was ended by a signal", "status", status, "again", again)
		a.cfg.Crashed(again)
		if !again {
			return status, fmt.Errorf("%w: %d times in %s, last with status %d", ErrCrashed, within(crashes, a.cfg.Window), a.cfg.Window, status)
		}
	}
}

// crashed reports whether a program was ended by a signal, and not by itself.
func crashed(status int, err error) bool {
	return status > 128 || errors.Is(err, execute.ErrLost)
}

// within counts the times in the last while.
func within(times []time.Time, d time.Duration) int {
	n := 0
	for _, t := range times {
		if time.Since(t) < d {
			n++
		}
	}
	return n
}

// dirs are folders of the program's own: one with a link named swarm, for PATH, and one to write to. The lock is held for as
// long as they are in use.
type dirs struct {
	base, bin, tmp string
	lock           *os.File
}

func (d dirs) remove() {
	_ = os.RemoveAll(d.base) // whoever comes next sweeps what is left
	if d.lock != nil {
		_ = d.lock.Close()
	}
}

func (a *Agent) makeDirs() (dirs, error) {
	sweep(os.TempDir(), a.cfg.Name)
	base, err := os.MkdirTemp("", "swarm-"+a.cfg.Name+"-")
	if err != nil {
		return dirs{}, fmt.Errorf("script: %w", err)
	}
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	d := dirs{base: base, bin: filepath.Join(base, "bin"), tmp: filepath.Join(base, "tmp")}
	d.lock, err = takeLock(base)
	err = errors.Join(err, os.Mkdir(d.bin, 0o700), os.Mkdir(d.tmp, 0o700))
	if err == nil {
		err = os.Symlink(a.cfg.Executable, filepath.Join(d.bin, "swarm"))
	}
	if err != nil {
		d.remove()
		return dirs{}, fmt.Errorf("script: %w", err)
	}
	return d, nil
}

// once runs the program to its end.
func (a *Agent) once(ctx context.Context, d dirs, resumed bool) (int, error) {
	if a.isStopped() {
		return -1, nil
	}
	p, err := execute.Start(ctx, execute.Spec{
		Argv: a.cfg.Argv, Dir: a.cfg.Tree, Env: a.cfg.environment(d.bin, d.tmp, resumed),
		Stdout: a.cfg.Stdout, Stderr: a.cfg.Stderr, Confine: a.confine(d),
	})
	if err != nil {
		return -1, fmt.Errorf("script: start %q: %w", a.cfg.Argv[0], err)
	}
	if !a.started(p) { // stopped meanwhile
		_ = p.Kill()
	}
	status, err := p.Wait()
	if errors.Is(err, execute.ErrKilled) && a.isStopped() {
		return status, nil
	}
	return status, err
}

// confine is what the program may reach. Nothing here depends on the mode: it changes nothing by itself in any.
func (a *Agent) confine(d dirs) *execute.Confine {
	if _, ok := execute.Supported(); !ok {
		return nil
	}
	return &execute.Confine{
		Read:      append([]string{a.cfg.Tree, a.cfg.Executable, d.bin}, a.cfg.Read...),
		Write:     []string{filepath.Dir(a.cfg.PlanFile), d.tmp},
		Connect:   []string{a.cfg.Socket},
		Forbidden: a.cfg.Forbidden,
		Require:   true,
	}
}

func (a *Agent) started(p *execute.Proc) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.proc = p
	return !a.stopped
}

func (a *Agent) isStopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped
}

// SetMode notes the mode. The kernel and the gate hold the program to it, not the program itself.
func (a *Agent) SetMode(_ context.Context, m permissions.Mode) (permissions.Mode, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mode = m
	return a.mode, nil
}

// Notify hands the notice to Config.Notified: a script reads how it stands when it wants to.
func (a *Agent) Notify(_ context.Context, n planmode.Notify) error {
	a.cfg.Notified(n)
	return nil
}

// StopAgent kills the program and all that it has started, and has it not started again.
func (a *Agent) StopAgent(_ context.Context, cause string) error {
	a.mu.Lock()
	a.stopped = true
	p := a.proc
	a.mu.Unlock()
	if p == nil {
		return nil
	}
	a.cfg.Logger.Info("script: stopped", "cause", cause)
	return p.Kill()
}

// KillStarted does nothing: what the program started by itself is confined as it is, and what changes anything was
// started by the gate.
func (a *Agent) KillStarted(context.Context, []string, string) error { return nil }
