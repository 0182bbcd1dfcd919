package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// Own drives a Claude Code that a person sits at. It is a teammate.Agent. The client is known by its hooks only: its mode
// is what it says in them, and what the gate enforces does not rest on it.
//
// A person at that terminal is no leader. Their no to a plan takes the request back, since it narrows. Their yes closes the
// client's dialog and decides nothing: the request waits on, and nothing but reading is let through until a leader's word.
type Own struct {
	*Agent

	mu      sync.Mutex
	shown   string             // the mode that the client said last
	dialogs map[string]*dialog // open at the terminal, by tool and session
	allowed map[string]bool    // uses of tools that were judged, and may be asked again by the client's own rules
	begun   map[string]bool    // ids of uses of tools that came to our hook
	watched bool               // the client's session has come to our hook before any use of a tool
}

// NewOwn makes an agent for a person's own session.
func NewOwn(cfg Config) (*Own, error) {
	cfg.own = true
	a, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return &Own{Agent: a, dialogs: map[string]*dialog{}, allowed: map[string]bool{}, begun: map[string]bool{}}, nil
}

// Terminal is where a person sits: the three files are handed to the client, and what comes on Resized is handed on.
type Terminal struct {
	In, Out, Err *os.File
	Resized      <-chan os.Signal
}

// Run starts the client in a terminal and returns its exit status when the person has closed it. The end of ctx kills it.
func (o *Own) Run(ctx context.Context, r *teammate.Runner, g *gate.Gate, t Terminal) (int, error) {
	o.serveWith(r, g)
	resume := ""
	if r.Resumed() {
		if err := r.AgentLost(false); err != nil {
			return -1, err
		}
		resume = o.lastSession()
	}
	status, err := o.sit(ctx, t, resume)
	if resume != "" && err == nil && status != 0 && ctx.Err() == nil && !o.isStopped() && !o.began() {
		o.cfg.Logger.Warn("claudecode: the session cannot be resumed, and a new one begins", "session", resume)
		status, err = o.sit(ctx, t, "")
	}
	return status, err
}

func (o *Own) serveWith(r *teammate.Runner, g *gate.Gate) { o.runner, o.gate = r, g }

// Attend serves a client that a person starts by hand, until ctx ends. The client is not ours to kill: a leader's order to
// end has everything but reading denied until then.
func (o *Own) Attend(ctx context.Context, r *teammate.Runner, g *gate.Gate) (int, error) {
	o.serveWith(r, g)
	if r.Resumed() {
		if err := r.AgentLost(false); err != nil {
			return -1, err
		}
	}
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// standing is the mode that the session begins with, as soon as it stands.
func (o *Own) standing(ctx context.Context) (permissions.Mode, error) {
	select {
	case <-o.runner.Ready():
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	v, ok := o.runner.View()
	if !ok {
		return "", teammate.ErrLeft
	}
	return v.Mode, nil
}

// sit runs the client once.
func (o *Own) sit(ctx context.Context, t Terminal, resume string) (int, error) {
	mode, err := o.standing(ctx)
	if err != nil {
		return -1, err
	}
	a := o.Agent
	a.mu.Lock()
	p, err := execute.Start(ctx, execute.Spec{
		Argv: o.cfg.ownArgv(clientMode(mode), resume), Dir: o.cfg.Tree, Env: o.cfg.environment(), Stdin: t.In, Stdout: t.Out, Stderr: t.Err,
	})
	if err == nil {
		a.proc = p
		if a.stopped {
			_ = p.Kill()
		}
	}
	a.mu.Unlock()
	if err != nil {
		return -1, fmt.Errorf("claudecode: start %s: %w", o.cfg.Client, err)
	}
	over := make(chan struct{})
	defer close(over)
	go func() {
		for {
			select {
			case s := <-t.Resized:
				if number, ok := s.(syscall.Signal); ok {
					_ = p.Signal(number) // its terminal is another session's: the kernel does not tell it
				}
			case <-over:
				return
			}
		}
	}()
	status, err := p.Wait()
	switch {
	case ctx.Err() != nil:
		return status, context.Cause(ctx)
	case o.isStopped():
		return status, nil
	}
	return status, err
}

// Hook answers one event of the client. What has to be asked is asked of a leader while the hook waits: the client's own
// dialogs are shown for plans and questions only. It may be called by several at once.
func (o *Own) Hook(ctx context.Context, args gate.HookArgs) (any, error) {
	var in hookInput
	if args.Client != "claude" {
		return nil, fmt.Errorf("claudecode: a hook of %q asks here", args.Client)
	}
	if err := json.Unmarshal(args.Payload, &in); err != nil || in.Event == "" {
		return nil, fmt.Errorf("claudecode: no event of a hook: %.80q", args.Payload)
	}
	if err := o.follow(ctx, in); err != nil {
		return Refuse(in.Event, why(err)), nil
	}
	switch in.Event {
	case "PermissionRequest", "PostToolUse", "SubagentStart":
	default: // the client goes on
		o.dialogOver(in, errTerminal)
	}
	switch in.Event {
	case "PreToolUse":
		o.begin(in)
		answer, err := o.before(ctx, in)
		if in.AgentID == "" {
			remind(answer, o.runner.Remind(handIn, o.ownPlan()))
			o.runner.Turned(planmode.RoleAssistant) // as far as hooks can tell
		}
		return answer, err
	case "PermissionRequest":
		return o.permission(ctx, in), nil
	case "PostToolUse":
		return o.after(ctx, in), nil
	case "UserPromptSubmit", "SessionStart", "SubagentStart":
		return o.greet(in), nil
	case "Stop":
		return o.turnOver(ctx, in)
	}
	return nil, fmt.Errorf("claudecode: swarm has no answer to %q", in.Event)
}

// follow takes the client's own way into plan mode over, such as a key of the person: that narrows. Its way out counts for
// nothing. A child's mode is the one that it began with.
func (o *Own) follow(ctx context.Context, in hookInput) error {
	if in.AgentID != "" || in.Mode == "" {
		return nil
	}
	o.mu.Lock()
	before := o.shown
	o.shown = in.Mode
	o.mu.Unlock()
	if v, ok := o.runner.View(); !ok || in.Mode != string(permissions.ModePlan) || before == in.Mode || v.State != planmode.Working {
		return nil
	}
	return o.runner.Enter(ctx, planmode.ByClient)
}

// before judges one use of a tool, and has a leader asked where that is what it takes.
func (o *Own) before(ctx context.Context, in hookInput) (any, error) {
	v, ok := o.runner.View()
	switch {
	case !ok || o.isStopped():
		return Deny("this teammate has ended"), nil
	case in.ToolName == "ExitPlanMode" && in.AgentID != "" && v.State != planmode.Working:
		return Deny("only the teammate itself hands a plan in, not its children"), nil
	}
	if answer, done := o.ungated(ctx, in); done {
		return answer, nil
	}
	call := callOf(in.ToolName, in.ToolInput, in.Cwd)
	if d, decided := o.ownPlanFile(call); decided {
		o.noteOwnPlan(in, d)
		return verdict(string(d.Verdict), d.Reason, in.ToolInput), nil
	}
	j, err := o.gate.Judge(ctx, call, true)
	switch {
	case err != nil:
		return Deny(why(err)), nil
	case j.Decision.Verdict != permissions.Allow:
		o.runner.Refused(call, j.Decision, j.Decision.Reason)
		return Deny(o.reason(j.Decision) + o.runner.Again(call, j.Decision)), nil
	}
	input := o.rewritten(call, in.ToolInput, o.permit(call, j))
	o.allow(in.ToolName, input)
	return verdict("allow", j.Decision.Reason, input), nil
}

// reason says besides why something is denied how to hand a plan in, where the client itself has left its plan mode.
func (o *Own) reason(d permissions.Decision) string {
	v, ok := o.runner.View()
	o.mu.Lock()
	defer o.mu.Unlock()
	if ok && v.State != planmode.Working && o.shown != string(permissions.ModePlan) {
		return d.Reason + " " + wordsAnew
	}
	return d.Reason
}

// permission answers where the client would ask its person. What was judged is not asked again.
func (o *Own) permission(ctx context.Context, in hookInput) any {
	if o.isStopped() {
		return permissionAnswer(denies("this teammate has ended"), "")
	}
	switch in.ToolName {
	case "ExitPlanMode":
		return o.handIn(ctx, in)
	case "AskUserQuestion":
		d, ctx := o.openDialog(ctx, in)
		defer d.close()
		return permissionAnswer(o.question(ctx, in.ToolInput), "")
	case "EnterPlanMode":
		return permissionAnswer(allows(in.ToolInput), "")
	}
	if o.wasAllowed(in.ToolName, in.ToolInput) {
		return permissionAnswer(allows(in.ToolInput), "")
	}
	return permissionAnswer(denies("swarm has not judged this use of %s: call it again", in.ToolName), "")
}

// turnOver is the end of the model's turn: what it was not told yet is a reason to go on.
func (o *Own) turnOver(ctx context.Context, in hookInput) (any, error) {
	if err := o.runner.TurnEnded(ctx); err != nil && !errors.Is(err, teammate.ErrLeft) {
		o.cfg.Logger.Warn("claudecode: the end of a turn was not taken over", "cause", err)
	}
	if text := o.untold(); text != "" && !in.StopHookActive {
		return object{"decision": "block", "reason": text}, nil
	}
	return object{}, nil
}

// greet hands over what the agent was not told yet.
func (o *Own) greet(in hookInput) any {
	text := ""
	if in.Event == "SessionStart" {
		o.Agent.mu.Lock()
		o.session = in.SessionID
		o.Agent.mu.Unlock()
		o.keepSession(in.SessionID) // a person may begin another one
		o.mu.Lock()
		o.watched = true
		o.mu.Unlock()
		text = fmt.Sprintf(wordsOwn, o.cfg.Name)
	}
	if in.Event != "SubagentStart" {
		text = join(text, o.untold())
	} else if v, ok := o.runner.View(); !ok || v.State != planmode.Working {
		text = "Your teammate is in plan mode, and so are you: read, and change nothing."
	}
	return withContext(in.Event, text)
}

// untold takes what the agent was not told yet.
func (o *Own) untold() string {
	a := o.Agent
	a.mu.Lock()
	defer a.mu.Unlock()
	text := join(a.early...)
	a.early = nil
	return text
}

// Notify keeps a notice for the next event of the client.
func (o *Own) Notify(ctx context.Context, n planmode.Notify) error {
	o.mu.Lock()
	client := o.shown
	o.mu.Unlock()
	if n.Kind == planmode.NotifyHowToPlan && client != "" && client != string(permissions.ModePlan) {
		o.toTell(n, "You are in plan mode from now on, by a leader's order: nothing but reading is let through. "+wordsAnew)
		return nil
	}
	return o.Agent.Notify(ctx, n)
}
