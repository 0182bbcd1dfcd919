package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/cmd/swarm/internal/events"
	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/adapter/claudecode"
	"github.com/planswarm/swarm/teammate/adapter/script"
	"github.com/planswarm/swarm/teammate/gate"
	"github.com/planswarm/swarm/teammate/journal"
)

// ScriptOptions says what [Script] starts.
type ScriptOptions struct {
	Name           string // default: the program's base name
	Mode           string
	Tree           string
	NoPlan         bool
	NoPlanMode     bool // its client has none
	Plan           bool // it begins in plan mode, a session that is taken up too
	Dialect        string
	PlanFolder     string         // relative to Tree, or absolute
	Role           string         // that only reads: planner or explorer
	Guidance       string         // how readily it plans: eager or restrained
	Budget         map[string]int // turns, minutes, denials
	AllowedPrompts []string
	Unattended     bool
	Takeover       bool
	Worktree       bool // it works in a git worktree of its own
	Detach         bool // a signal leaves the journal to be resumed, instead of leaving the team
	Supervised     bool // the bundle is the first line of standard input, and its end is our end
	Rogue          bool // an attacker stands beside it (swarm run, expect: refused)
	Program        []string
	Claude         *ClaudeOptions // Claude Code instead of a program
}

// program is what a runner drives: a teammate's agent that runs and ends.
type program interface {
	teammate.Agent
	// Run starts it and returns its exit status when it has ended.
	Run(ctx context.Context) (int, error)
	// EnforcedBy says who holds it to plan mode.
	EnforcedBy() string
}

// supervised is the first line that `swarm run` writes to a runner.
type supervised struct {
	Bundle
	State string   `json:"state"` // of the run
	RunID string   `json:"runId"`
	Own   ownFiles `json:"own"`
	// Planning is what the document of the run says.
	Planning config.Planning `json:"planning"`
}

// Script runs a program as a teammate until it ends, and returns its exit status.
func Script(ctx context.Context, e Env, o ScriptOptions) (int, error) {
	if err := execute.Harden(); err != nil { // a seed comes into memory from here on
		return 0, err
	}
	staySmall()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	mode, err := o.check()
	if err != nil {
		return 0, err
	}
	if o.Claude != nil && o.Claude.Attach {
		if err := e.checkAttach(&o); err != nil {
			return 0, err
		}
	}
	p, err := e.place(o, cancel)
	if err != nil {
		return 0, err
	}
	p.planning = o.planning().Or(p.planning)
	r, err := e.assemble(ctx, o, p, mode)
	if err != nil {
		return 0, err
	}
	defer r.close()
	return r.run(ctx, o)
}

// staySmall has a runner collect its garbage earlier than other programs: it waits most of the time, beside dozens of its
// kind. Measured: 38 MiB resident in place of 43.
func staySmall() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

// check completes the options, and refuses what cannot be used before anything is made.
func (o *ScriptOptions) check() (permissions.Mode, error) {
	if o.Claude != nil {
		if err := o.Claude.check(o); err != nil {
			return "", err
		}
	}
	if o.Name == "" {
		base := filepath.Base(o.Program[len(o.Program)-1])
		o.Name = strings.Trim(notInName.ReplaceAllString(strings.ToLower(strings.TrimSuffix(base, filepath.Ext(base))), "-"), "-_")
	}
	if err := mailbox.CheckMember(o.Name); err != nil {
		return "", fail(exitUsage, "bad_name", strings.TrimSuffix(strings.TrimPrefix(err.Error(), "mailbox: "), ", choose another"), "choose one with --name")
	}
	if err := o.findProgram(); err != nil {
		return "", err
	}
	mode, err := permissions.ParseMode(o.Mode)
	if err != nil {
		return "", fail(exitUsage, "unknown_mode", plainText(err), "")
	}
	if err := o.checkPlanning(); err != nil {
		return "", err
	}
	tree, err := filepath.Abs(o.Tree)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return "", fail(exitUsage, "no_tree", fmt.Sprintf("working tree %s is not there", o.Tree), "name a folder with --tree")
	}
	o.Tree = real
	if info, err := os.Stat(o.Tree); err != nil || !info.IsDir() {
		return "", fail(exitUsage, "no_tree", fmt.Sprintf("working tree %s is no folder", o.Tree), "name one with --tree")
	}
	return mode, nil
}

// scriptRunner is a runner with everything that belongs to it.
type scriptRunner struct {
	env     Env
	place   place
	journal *journal.Journal
	store   *plandir.Store
	box     *natsbox.Conn
	runner  *teammate.Runner
	gate    *gate.Gate
	agent   program
	log     *os.File
	events  *eventWriter
	hooks   *events.Sender  // of the person's own configuration
	rogue   *rogue.Attacker // nil but for a rogue
	address *gate.Address   // nil but for a client that is started by hand
	tree    *worktree       // nil but for a teammate with a worktree of its own
	over    bool            // the session has ended, and nobody goes on with it
}

func (e Env) assemble(ctx context.Context, o ScriptOptions, p place, mode permissions.Mode) (r *scriptRunner, err error) {
	r = &scriptRunner{env: e, place: p, events: &eventWriter{env: e, name: o.Name, supervised: o.Supervised}}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return r, err
	}
	if r.log, err = os.OpenFile(filepath.Join(p.dir, "agent.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return r, err
	}
	if o.Claude != nil && o.Claude.Own { // the terminal is the client's
		r.env.Err, r.events.env.Err = r.log, r.log
	}
	log := r.logger(o)
	r.hooks = events.NewSender(e.Settings.Events, log)
	if r.journal, err = journal.Open(p.dir, journal.Config{SetAside: true, Logger: log}); err != nil {
		return r, journalError(o.Name, err)
	}
	if o.Worktree { // nobody else of this name runs: the journal is ours
		w, inside, err := openWorktree(o.Tree, p.bundle.Team, o.Name)
		if err != nil {
			return r, err
		}
		r.tree, o.Tree = &w, inside
		r.events.line(fmt.Sprintf("works in %s, branch %s", w.path, w.branch))
	}
	instance, err := state{dir: p.dir}.instance()
	if err != nil {
		return r, err
	}
	if err := r.openPlans(o, instance); err != nil {
		return r, err
	}
	socket := gate.SocketPath(p.state.dir, o.Name)
	forbidden := e.forbidden(p.state)
	if r.agent, err = r.program(o, mode, socket, forbidden, log); err != nil {
		return r, err
	}
	if r.box, err = connectRunner(ctx, e, p, o.Name, instance); err != nil {
		return r, err
	}
	home, _ := os.UserHomeDir()
	dialect, err := dialectOf(p.planning)
	if err != nil {
		return r, err
	}
	reader, err := planmode.ReaderOf(p.planning.Role)
	if err != nil {
		return r, err
	}
	r.runner, err = teammate.New(teammate.Config{
		Name: o.Name, Team: p.bundle.Team, Owner: p.bundle.OwnerKey, Handovers: p.bundle.Handovers, Tree: o.Tree, Mode: mode,
		StartInPlan: p.planning.StartInPlan == nil || *p.planning.StartInPlan, PlanAgain: o.Plan, Dialect: dialect, Budget: budgetOf(p.planning), Reader: reader, Guidance: planmode.Strength(p.planning.Guidance),
		AllowedPrompts: o.AllowedPrompts, Attended: !o.Unattended,
		Agent: r.agent, Box: r.mailbox(o), Journal: r.journal, Store: r.store,
		Engine: permissions.New(permissions.Config{
			Resolver: execute.Resolver{}, BaseEnv: os.Environ(), Path: execute.CleanPath(os.Getenv("PATH"), o.Tree), Tables: p.own.Tables,
		}),
		Rules: p.own.Rules(), Trusted: p.trusted, Tables: p.own.Tables,
		Home: home, Forbidden: forbidden, Dir: p.dir, Instance: instance, Takeover: o.Takeover,
		Capabilities: o.capabilities(), Client: o.client(), EnforcedBy: r.agent.EnforcedBy(), Progress: progressOf(r.agent), Observe: r.session, Logger: log,
	})
	if err != nil {
		return r, err
	}
	r.gate, err = gate.Listen(gate.Config{Runner: r.runner, Socket: socket, Observe: r.called, Attack: r.attack(), Hook: r.hook(), Attached: r.address, Logger: log})
	return r, err
}

// program makes the agent: any program, or a client that has an adapter of its own.
func (r *scriptRunner) program(o ScriptOptions, mode permissions.Mode, socket string, forbidden []string, log *slog.Logger) (program, error) {
	if o.Claude != nil {
		return r.claude(o, mode, socket, log)
	}
	return script.New(script.Config{
		Argv: o.Program, Name: o.Name, Team: r.place.bundle.Team, Tree: o.Tree, Socket: socket, PlanFile: r.store.WorkFile(), RunID: r.place.runID,
		Forbidden: forbidden, Stdout: r.output(os.Stdout, o), Stderr: r.output(r.env.Err, o), Logger: log,
		Crashed: func(again bool) { _ = r.runner.AgentLost(again) },
		Resumed: func() bool { return r.runner.Resumed() },
	})
}

// output is where the program's own output goes: its log, and this terminal when a person started it.
func (r *scriptRunner) output(terminal io.Writer, o ScriptOptions) io.Writer {
	if o.Supervised {
		return r.log
	}
	return io.MultiWriter(terminal, r.log)
}

func journalError(name string, err error) error {
	if errors.Is(err, journal.ErrLocked) {
		return fail(exitError, "locked", fmt.Sprintf("teammate %s is already running on this machine", name), "choose another --name, or stop that one")
	}
	return err
}

// run drives runner, gate and program until the program has ended, or the team has ended it.
func (r *scriptRunner) run(ctx context.Context, o ScriptOptions) (int, error) {
	var wg sync.WaitGroup
	defer wg.Wait()
	session, endSession := context.WithCancelCause(context.WithoutCancel(ctx))
	defer endSession(nil)
	told, endHooks := context.WithCancel(context.WithoutCancel(ctx))
	defer endHooks() // when everything has happened
	wg.Go(func() { _ = r.hooks.Run(told) })
	ended := make(chan error, 1)
	wg.Go(func() { ended <- r.runner.Run(session) })
	select {
	case <-r.runner.Ready():
	case err := <-ended:
		if known, ok := r.journal.Session(); ok && errors.Is(err, teammate.ErrOtherJournal) {
			return 0, fail(exitUsage, "other_tree", fmt.Sprintf("teammate %s works in %s, and this is %s", o.Name, plans.VisibleLine(known.Tree), plans.VisibleLine(o.Tree)),
				"start it there, or with --tree, or choose another --name")
		}
		return 0, runnerError(o.Name, err)
	case <-ctx.Done():
		endSession(teammate.ErrDetach) // nothing has begun
		return 0, context.Cause(ctx)
	}
	r.events.say("runner.ready", map[string]string{"enforcedBy": r.agent.EnforcedBy()})
	serving, endGate := context.WithCancel(session)
	defer endGate()
	wg.Go(func() { _ = r.gate.Run(serving) })

	status, err := r.agent.Run(ctx)
	cause := context.Cause(ctx)
	waits := errors.Is(err, claudecode.ErrDeferred)
	if waits {
		err = r.leaveWaiting(o)
	}
	if why := r.failure(o, status, err); why != "" && cause == nil && !waits {
		r.runner.Failed(why)
	}
	if cause == nil && err == nil && status == 0 {
		_ = r.runner.TurnEnded(session) // it may have left
	}
	switch {
	case errors.Is(cause, teammate.ErrDetach), cause != nil && o.Detach, waits:
		endSession(teammate.ErrDetach)
	default:
		endSession(errors.New("the program has ended"))
		r.over = true
	}
	rerr := <-ended
	if cause == nil && !waits {
		r.waitsNoMore()
	}
	if _, stopped := r.runner.Stopped(); stopped && cause == nil { // an order, and told as one: no failure of the program
		return 0, nil
	}
	if status != 0 && cause == nil && !o.Supervised && (err == nil || errors.Is(err, script.ErrCrashed)) { // else the error says it
		fmt.Fprintf(r.env.Err, "%s: %s ended with exit %d\n", o.Name, filepath.Base(o.Program[0]), status)
		if file := o.unreadable(); file != "" {
			fmt.Fprintf(r.env.Err, "%s: %s lies outside of the working tree %s: a confined program cannot read it; copy it into the tree\n", o.Name, plans.VisibleLine(file), o.Tree)
		}
	}
	switch {
	case cause != nil:
		return status, cause
	case err != nil && !errors.Is(err, script.ErrCrashed):
		return status, r.agentError(o, err)
	case errors.Is(rerr, natsbox.ErrFenced):
		return status, fail(exitAuth, "fenced", fmt.Sprintf("another runner has taken the name %s", o.Name), "choose another --name")
	}
	return status, nil
}

// failure says why the agent's end is none in order; "" where it is.
func (r *scriptRunner) failure(o ScriptOptions, status int, err error) string {
	var told *leader.Error
	switch {
	case err == nil && status == 0:
		return ""
	case err == nil:
		return fmt.Sprintf("%s ended with exit %d", filepath.Base(o.Program[0]), status)
	case errors.As(r.agentError(o, err), &told):
		return told.Message
	}
	return plainText(err)
}

func runnerError(name string, err error) error {
	var refused *natsbox.ServiceError
	switch {
	case errors.As(err, &refused) && refused.Code == natsbox.CodeAboveCap:
		return fail(exitUsage, "above_cap", refused.Message, refused.Next)
	case errors.Is(err, natsbox.ErrNameTaken):
		return fail(exitAuth, "name_taken", plainText(err), "choose another --name, or add --takeover")
	case errors.Is(err, planmode.ErrAboveCap):
		return fail(exitUsage, "above_cap", plainText(err), "start it with a narrower --mode, or change caps.mode in your configuration")
	}
	return fmt.Errorf("teammate %s: %w", name, err)
}

func (r *scriptRunner) close() {
	if r.box != nil {
		r.box.Close()
	}
	if r.tree != nil && r.over {
		r.events.line(r.tree.finish())
	}
	if r.journal != nil {
		_ = r.journal.Close() // every step is on disk already
	}
	if r.store != nil {
		_ = r.store.Close() // plans are on disk already
	}
	if r.log != nil {
		_ = r.log.Close()
	}
}

// eventWriter tells the supervisor, or the person at the terminal, what happens.
type eventWriter struct {
	env        Env
	name       string
	supervised bool
	mu         sync.Mutex
}

func (w *eventWriter) say(event string, fields map[string]string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.supervised {
		_ = json.NewEncoder(w.env.Out).Encode(report.RunnerEvent{Event: event, Fields: fields}) // it dies with its reader
		return
	}
	if text := report.Sentence(event, fields); text != "" {
		fmt.Fprintf(w.env.Err, "%s: %s\n", w.name, text)
	}
}

// line tells the person at the terminal something that is no event of the session.
func (w *eventWriter) line(text string) {
	if w.supervised {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.env.Err, "%s: %s\n", w.name, text)
}

func (w *eventWriter) session(e planmode.Emit) { w.say(e.Event, e.Fields) }

// call tells of a call that was carried out or refused.
func (w *eventWriter) call(o gate.Observation) {
	fields := map[string]string{"call": o.Input, "reason": o.Decision.Reason, "callHash": o.Decision.Hash}
	if o.Decision.Rule != "" {
		fields["rule"] = o.Decision.Rule
	}
	switch {
	case o.Verb == gate.VerbExec && o.Ran:
		fields["command"], fields["status"] = o.Input, strconv.Itoa(o.Status)
		if ids := o.Decision.GrantIDs(); len(ids) > 0 {
			fields["grantId"] = ids[0]
		}
		w.say("exec.ran", fields)
	case o.Verb == gate.VerbEdit && o.Ran:
		fields["path"] = o.Input
		w.say("edit.done", fields)
	case o.Decision.Verdict != permissions.Allow && (o.Verb == gate.VerbExec || o.Verb == gate.VerbEdit):
		w.say("gate.refused", fields)
	}
}
