package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/adapter/claudecode"
	"github.com/planswarm/swarm/teammate/adapter/mcpserver"
	"github.com/planswarm/swarm/teammate/gate"
)

// ClaudeOptions says how Claude Code is started.
type ClaudeOptions struct {
	Task   string
	Args   []string // more arguments for the client
	Binary string   // name or path of the client; empty is claude
	Own    bool     // a person sits at it, in this terminal
	Attach bool     // a person starts it by hand, elsewhere
	Detach bool     // it ends while its plan waits
	Watch  bool     // a plan that waits is waited for, without a client
	path   string   // absolute
}

// versionWithin is how long a client may take to say its version.
const versionWithin = 20 * time.Second

var versionWord = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`)

// check finds the client, and asks for its version: a client that cannot start is told here, before anything is made.
func (c *ClaudeOptions) check(o *ScriptOptions) error {
	if err := claudecode.CheckArgs(c.Args); err != nil {
		return fail(exitUsage, "client_flag", plans.VisibleLine(strings.TrimPrefix(err.Error(), claudecode.ErrFlag.Error()+": ")), "")
	}
	if c.Attach {
		o.Name, o.Program = cmp.Or(o.Name, "claude"), []string{"/bin/sh"} // nothing is started
		return nil
	}
	name := cmp.Or(c.Binary, "claude")
	path, err := exec.LookPath(name)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return fail(exitUsage, "no_client", fmt.Sprintf("Claude Code (%s) is not on this machine", name), "install it (npm install -g @anthropic-ai/claude-code), or name it with --client PATH")
	}
	if c.Own {
		if err := needTerminal(); err != nil {
			return err
		}
		if err := switchedOff(claudecode.CheckManaged("")); err != nil {
			return err
		}
	}
	c.path = path
	o.Name = cmp.Or(o.Name, "claude")
	o.Program = []string{path}
	return nil
}

// version asks the client for its version. One that no test has seen is told, and started all the same.
func (c *ClaudeOptions) version(ctx context.Context) (version string, tested bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, versionWithin)
	defer cancel()
	out, err := exec.CommandContext(ctx, c.path, "--version").Output()
	version = versionWord.FindString(string(out))
	if err != nil || version == "" {
		return "", false, fail(exitUsage, "bad_client", fmt.Sprintf("%s does not say its version (%v)", c.path, cmp.Or(err, errors.New("no version in what it prints"))), "check that it is Claude Code, and that it starts")
	}
	return version, slices.Contains(claudecode.Tested, version), nil
}

// switchedOff is the error of settings that keep our hooks from running.
func switchedOff(err error) error {
	if err == nil {
		return nil
	}
	return fail(exitUsage, "hooks_off", strings.TrimPrefix(err.Error(), "claudecode: "), "")
}

// claudeProgram is Claude Code as a runner's program.
type claudeProgram struct {
	*claudecode.Agent
	r *scriptRunner
}

// ownProgram is a Claude Code that a person sits at.
type ownProgram struct {
	*claudecode.Own
	r *scriptRunner
}

func (p ownProgram) EnforcedBy() string { return claudecode.EnforcedBy }

func (p ownProgram) Run(ctx context.Context) (int, error) {
	t, back, err := takeTerminal()
	if err != nil {
		return -1, err
	}
	defer back()
	return p.Own.Run(ctx, p.r.runner, p.r.gate, t)
}

func (p claudeProgram) EnforcedBy() string { return claudecode.EnforcedBy }

func (p claudeProgram) Run(ctx context.Context) (int, error) {
	return p.Agent.Run(ctx, p.r.runner, p.r.gate)
}

func (r *scriptRunner) claude(o ScriptOptions, mode permissions.Mode, socket string, log *slog.Logger) (program, error) {
	if !o.Claude.Attach {
		version, tested, err := o.Claude.version(context.Background())
		if err != nil {
			return nil, err
		}
		if !tested {
			fmt.Fprintf(r.env.Err, "%s: Claude Code %s has not been tested with this swarm (tested: %s)\n", o.Name, version, strings.Join(claudecode.Tested, ", "))
		}
	}
	cfg := claudecode.Config{
		Client: o.Claude.path, Task: o.Claude.Task, Args: o.Claude.Args, Name: o.Name, Team: r.place.bundle.Team, Tree: o.Tree, Socket: socket,
		PlanFile: r.store.WorkFile(), RunID: r.place.runID, Tools: mcpserver.Names(), Mode: mode, Memory: r.memories(o.Tree), SessionFile: filepath.Join(r.place.dir, "claude-session"),
		Stderr: r.output(r.env.Err, o), Said: r.output(os.Stdout, o), Logger: log,
	}
	cfg.Detach, cfg.Watch, cfg.DeferFile = o.Claude.Detach, o.Claude.Watch, filepath.Join(r.place.dir, "claude-deferred.json")
	if o.Claude.Attach {
		return r.attached(o, cfg)
	}
	if o.Claude.Own {
		a, err := claudecode.NewOwn(cfg)
		if err != nil {
			return nil, err
		}
		return ownProgram{a, r}, nil
	}
	a, err := claudecode.New(cfg)
	if err != nil {
		return nil, err
	}
	return claudeProgram{a, r}, nil
}

// progressOf is what a program says of its own work, where it does.
func progressOf(p program) func() teammate.Progress {
	if says, ok := p.(interface{ Progress() teammate.Progress }); ok {
		return says.Progress
	}
	return nil
}

// hook is what the client's hook asks, where there is a client that has one.
func (r *scriptRunner) hook() func(context.Context, gate.HookArgs) (any, error) {
	if p, ok := r.agent.(interface {
		Hook(context.Context, gate.HookArgs) (any, error)
	}); ok {
		return p.Hook
	}
	return nil
}

func (o ScriptOptions) client() string {
	if o.Claude != nil {
		return "claude"
	}
	return "script"
}

// agentError is the end of an agent in one line.
func (r *scriptRunner) agentError(o ScriptOptions, err error) error {
	if errors.Is(err, claudecode.ErrPlanning) {
		return fail(exitNoPlan, "no_plan", fmt.Sprintf("%s ended its work without a plan that was approved", o.Name), fmt.Sprintf("read what it said: swarm logs %s", o.Name))
	}
	if words, failed := strings.CutPrefix(err.Error(), claudecode.ErrTurn.Error()+": "); failed {
		next := "start it by itself once in a terminal, or set ANTHROPIC_API_KEY, then try again"
		if strings.HasPrefix(words, "API Error") {
			next = "check that its model can be reached (the network, ANTHROPIC_BASE_URL, the key's limits), then start it again"
		}
		return fail(exitError, "client_failed", fmt.Sprintf("Claude Code gave up: %s", plans.VisibleLine(words)), next)
	}
	if errors.Is(err, claudecode.ErrEnded) || errors.Is(err, claudecode.ErrCrashed) {
		why := strings.TrimPrefix(err.Error(), "claudecode: the client ")
		return fail(exitError, "client_ended", "Claude Code "+plans.VisibleLine(why), fmt.Sprintf("read its last words: swarm logs %s", o.Name))
	}
	return o.startError(err)
}

// maxMemory is the most that is handed over of one CLAUDE.md, in bytes.
const maxMemory = 256 << 10

// memories are what the client's model is told besides: the CLAUDE.md files, and when to plan where that is said.
func (r *scriptRunner) memories(tree string) []string {
	all := memories(tree)
	if guide, err := planmode.Guide(planmode.Strength(r.place.planning.Guidance)); err == nil {
		all = append(all, "When to plan, and how:\n\n"+guide)
	}
	return all
}

// memories are the CLAUDE.md files that the client does not read itself without its settings' sources: the person's own,
// and the working tree's. They are text for the model, and nothing else.
func memories(tree string) []string {
	var out []string
	home, _ := os.UserHomeDir()
	for _, m := range []struct {
		path, what string
		read       func(string, int64) ([]byte, error)
	}{
		{filepath.Join(home, ".claude", "CLAUDE.md"), "The user's own instructions for all projects", readRegular},
		{filepath.Join(tree, "CLAUDE.md"), "The project's instructions", readInside},
	} {
		data, err := m.read(m.path, maxMemory)
		if err == nil && len(data) > 0 {
			out = append(out, fmt.Sprintf("%s (%s):\n\n%s", m.what, m.path, strings.ToValidUTF8(string(data), "?")))
		}
	}
	return out
}

// readInside is readRegular of a project's file: where it is a link, to another text file of the project only. The model is
// told what it says, and a link is not a way around what the model may read.
func readInside(path string, limit int64) ([]byte, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(dir, real)
	if err != nil || !filepath.IsLocal(rel) || !strings.EqualFold(filepath.Ext(rel), ".md") {
		return nil, fmt.Errorf("%s leads to %s, which is no text of the project", path, real)
	}
	root, err := os.OpenRoot(dir) // a link that is put there meanwhile leads out of it for nobody
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(rel)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no plain file of at most %d bytes", path, limit)
	}
	return root.ReadFile(rel)
}

// readRegular reads a plain file of a bounded size.
func readRegular(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > limit {
		return nil, fmt.Errorf("%s is no plain file of at most %d bytes", path, limit)
	}
	return os.ReadFile(path)
}
