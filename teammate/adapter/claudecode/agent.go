package claudecode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// EnforcedBy says who holds the client to plan mode: our hook in it, and the gate that every command runs through. What
// the client writes by itself is not confined by the kernel.
const EnforcedBy = "client (hook on every tool)"

// ErrPlanning means that the client ended its work while it was still planning.
var ErrPlanning = errors.New("claudecode: the agent ended its turn without a plan that was approved")

// ErrTurn means that the client gave a turn up, in its own words: no key, no login, or its model does not answer.
var ErrTurn = errors.New("claudecode: the client's turn failed")

// ErrEnded means that the client ended by itself in the midst of its work.
var ErrEnded = errors.New("claudecode: the client ended")

// ErrCrashed means that the client was ended by a signal more often than it is started again.
var ErrCrashed = errors.New("claudecode: the client crashed again and again")

// nudges is how often an agent that ends its turn while planning is told to hand its plan in.
const nudges = 2

// Agent drives one Claude Code. It is a teammate.Agent.
type Agent struct {
	cfg Config

	runner *teammate.Runner // both are set by Run, before the client starts
	gate   *gate.Gate

	mu       sync.Mutex
	proc     *execute.Proc
	wire     *wire // nil before the client runs
	mode     permissions.Mode
	stopped  bool
	deciding int // plans that wait for a leader inside of a tool's call
	told     map[string]bool
	spoken   bool                         // the client has its first message
	early    []string                     // what was to be told before that
	untaken  map[string]func(handed bool) // what the client was told and the model does not have yet, by its id
	done     progress
	stands   map[string]string // the folder of each use of a tool that will be asked about
	beginsIn string            // the client's name of the mode that it was started in
	working  bool              // it is in a turn
	// interrupted says that the turn that runs is to end.
	interrupted bool
	asked       map[string]context.CancelCauseFunc // by the client's request id
	session     string
	version     string
	planPath    string // the client's own plan file, where it is known
	// lastMessage is the id of the root agent's last message.
	lastMessage string
	handedIn    *deferral        // a plan that was handed in and put off
	answer      *teammate.Answer // to what an earlier client has put off, until it has asked again
	putOffID    string           // of that use of a tool
	stillPlan   bool             // the client was started in plan mode to ask again, and has not shown another mode yet
	turns       chan incoming    // results, one for each turn that ended
}

// New makes an agent. The client starts with [Agent.Run].
func New(cfg Config) (*Agent, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	return &Agent{cfg: cfg, mode: permissions.ModeDefault, told: map[string]bool{}, untaken: map[string]func(bool){}, asked: map[string]context.CancelCauseFunc{}}, nil
}

// Run starts the client with its task, and returns its exit status when the work has ended: the turn is over, and nothing
// is planned any more. The error is nil then; [ErrPlanning]; [ErrCrashed]; or the cause of ctx, whose end kills the client.
// A client that was ended by a signal, and one whose runner took up an earlier session, resumes its own session: what it
// had asked for is taken back first, and it is told to ask again.
func (a *Agent) Run(ctx context.Context, r *teammate.Runner, g *gate.Gate) (status int, err error) {
	a.runner, a.gate = r, g
	again := r.Resumed()
	for crashes := []time.Time(nil); ; {
		resume := ""
		if again {
			if resume, err = a.takeUp(ctx); err != nil {
				return 0, err
			}
		}
		status, err = a.once(ctx, resume)
		if errors.Is(err, ErrDeferred) {
			if v, ok := r.View(); ok && v.Pending == nil { // a leader was quick
				again = true
				continue
			}
			return 0, err
		}
		if resume != "" && err != nil && ctx.Err() == nil && !a.isStopped() && !a.began() {
			a.cfg.Logger.Warn("claudecode: the session cannot be resumed, and a new one begins", "session", resume, "cause", err)
			a.answerInWords()
			status, err = a.once(ctx, "")
		}
		if ctx.Err() != nil || a.isStopped() || status <= 128 && !errors.Is(err, execute.ErrLost) {
			return status, err
		}
		now := time.Now()
		crashes = append(slices.DeleteFunc(crashes, func(t time.Time) bool { return now.Sub(t) > crashWindow }), now)
		if len(crashes) > maxCrashes {
			return status, fmt.Errorf("%w: %d times in %s, last with status %d", ErrCrashed, len(crashes), crashWindow, status)
		}
		a.cfg.Logger.Warn("claudecode: the client was ended by a signal, and is started again", "status", status)
		again = true
	}
}

// takeUp is the session that goes on. What its client had asked for is taken back, but for a plan that it has put off: that
// is waited for, and its answer is ready when the client asks again.
func (a *Agent) takeUp(ctx context.Context) (session string, err error) {
	d := a.putOffBefore()
	var answer *teammate.Answer
	if d != nil {
		if err := a.runner.AgentLost(true); err != nil {
			return "", err
		}
		if answer, err = a.decidedMeanwhile(ctx, d); err != nil {
			return "", err
		}
	}
	if answer == nil {
		_ = os.Remove(a.cfg.DeferFile) // there may be none; what it has is about no plan of now
		return a.lastSession(), a.runner.AgentLost(false)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer, a.putOffID, a.handedIn = answer, d.ToolUseID, nil
	return d.Session, nil
}

// answerInWords tells a new session what was decided about a plan that an earlier one has put off.
func (a *Agent) answerInWords() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer != nil {
		a.early = append(a.early, answerWords(*a.answer))
		a.answer = nil
	}
}

// How often a client that crashes is started again, and within which time.
const (
	maxCrashes  = 3
	crashWindow = 10 * time.Minute
)

// once runs the client to its end.
func (a *Agent) once(ctx context.Context, resume string) (status int, err error) {
	p, out, err := a.start(ctx, resume)
	if err != nil {
		return -1, err
	}
	defer out.Close()
	serving, stop := context.WithCancelCause(ctx)
	var asks sync.WaitGroup
	read := make(chan error, 1)
	go func() { read <- a.wire.read(out, func(m incoming) { a.message(serving, &asks, m) }) }()
	w := a.wire
	err = a.converse(ctx, resume != "", func() { asks.Go(func() { a.deliverUrgent(serving, w) }) })
	fault := err != nil && !errors.Is(err, ErrDeferred) && !errors.Is(err, ErrPlanning) && !errors.Is(err, ErrTurn) && !errors.Is(err, errGone)
	if fault || a.isStopped() {
		_ = p.Kill()
	}
	_ = a.wire.in.Close() // the end of its input is the end of its work
	status, werr := p.Wait()
	stop(errGone)
	rerr := <-read
	asks.Wait()
	a.ended()
	a.dropUntaken()
	switch {
	case ctx.Err() != nil:
		return status, context.Cause(ctx)
	case a.isStopped():
		return status, nil
	case fault: // no crash of the client's
		return -1, err
	case err != nil && !errors.Is(err, errGone):
		return status, err
	case rerr != nil:
		return status, rerr
	case status != 0:
		return status, fmt.Errorf("%w with exit %d", ErrEnded, status)
	}
	return status, werr
}

// ended notes that no client runs: modes and notices are kept for the next one.
func (a *Agent) ended() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wire, a.proc, a.spoken = nil, nil, false
}

// began reports whether the client of now, or the last one, said that its session has begun.
func (a *Agent) began() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.session != ""
}

// maxSession bounds a session's id, in bytes.
const maxSession = 100

// lastSession is the session of an earlier client, or "" where none is known.
func (a *Agent) lastSession() string {
	data, err := os.ReadFile(a.cfg.SessionFile)
	id := strings.TrimSpace(string(data))
	if err != nil || len(id) > maxSession || !sessionID.MatchString(id) {
		return ""
	}
	return id
}

var sessionID = regexp.MustCompile(`^[0-9a-f][0-9a-f-]*$`)

// start starts the client in its mode. Its two pipes are the control protocol.
func (a *Agent) start(ctx context.Context, resume string) (*execute.Proc, *os.File, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("claudecode: %w", err)
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("claudecode: %w", err), in.Close())
	}
	defer childOut.Close()
	a.mu.Lock()
	defer a.mu.Unlock()
	mode := a.mode
	if a.stillPlan = a.answer != nil; a.stillPlan {
		mode = permissions.ModePlan // in which it asks again
	}
	p, err := execute.Start(ctx, execute.Spec{
		Argv: a.cfg.argv(clientMode(mode), resume), Dir: a.cfg.Tree, Env: a.cfg.environment(), Stdin: childIn, Stdout: childOut, Stderr: a.cfg.Stderr,
	})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("claudecode: start %s: %w", a.cfg.Client, err), in.Close(), out.Close())
	}
	a.spoken, a.session, a.beginsIn = false, "", clientMode(mode)
	a.proc, a.wire, a.turns = p, newWire(in), make(chan incoming, 16) // what an earlier client said is no turn of this one
	if a.stopped {                                                    // meanwhile
		_ = p.Kill()
	}
	return p, out, nil
}

// converse tells the client its task, and goes on until its work has ended. Begun is called when it has its task.
func (a *Agent) converse(ctx context.Context, resumed bool, begun func()) error {
	initialize := map[string]any{"subtype": "initialize", "hooks": nil}
	if text := a.memory(); text != "" {
		initialize["appendSystemPrompt"] = text
	}
	if _, err := a.wire.ask(ctx, initialize); err != nil {
		return err
	}
	if !a.asksAgain() {
		if err := a.say(a.wire, a.task(resumed), nil); err != nil {
			return err
		}
	}
	begun()
	var late <-chan time.Time // of what the client should begin its next turn with
	for left := nudges; ; {
		var turn incoming
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-a.wire.ended:
			return errGone
		case <-late:
			if late = nil; a.works() {
				continue
			}
			a.cfg.Logger.Warn("claudecode: the client does not take what it was told")
			a.dropUntaken()
		case turn = <-a.turns:
			if err := a.deferred(turn); err != nil {
				return err
			}
			if turn.IsError && !a.wasInterrupted(turn) {
				return fmt.Errorf("%w: %s", ErrTurn, cut(turn.Result))
			}
		}
		if late = nil; a.anyUntaken() {
			late = time.After(takenWithin)
			continue
		}
		more, err := a.turnEnded(ctx, &left)
		if err != nil || !more {
			return err
		}
	}
}

// asksAgain reports whether the client begins with what it had put off, and is told nothing before.
func (a *Agent) asksAgain() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answer == nil {
		return false
	}
	a.spoken, a.early = true, nil // the answer says it
	return true
}

// task is the first message: the task, or that it goes on, and what the agent was told before the client ran.
func (a *Agent) task(resumed bool) string {
	first := a.cfg.Task
	if resumed {
		first = wordsResumed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spoken = true
	return strings.Join(append([]string{first}, a.early...), "\n\n")
}

// turnEnded says whether the client has more to do.
func (a *Agent) turnEnded(ctx context.Context, left *int) (more bool, err error) {
	a.runner.Rest(true)
	v, ok := a.runner.View()
	if ok {
		if told, err := a.deliverBetweenTurns(a.wire); told || err != nil {
			return true, err
		}
	}
	switch {
	case !ok:
		return false, nil
	case v.State == planmode.Working:
		if v.Approved != nil {
			return false, a.runner.Done(ctx)
		}
		return false, nil
	case *left == 0:
		return false, ErrPlanning
	}
	*left--
	a.runner.Rest(false)
	words := wordsNudge
	if again := a.runner.Remind(handIn, a.ownPlan()); again != "" {
		words += "\n\n" + again
	}
	return true, a.say(a.wire, words, nil)
}

// message takes one message of the client.
func (a *Agent) message(ctx context.Context, asks *sync.WaitGroup, m incoming) {
	a.mu.Lock()
	a.done.note(m)
	a.mu.Unlock()
	switch {
	case m.Type == "control_request" && m.Request != nil:
		asks.Go(func() { a.serve(ctx, m.RequestID, *m.Request) })
	case m.Type == "user" && m.IsReplay:
		a.taken(m.UUID, true)
	case m.Type == "control_cancel_request":
		a.cancel(m.RequestID)
	case m.Type == "system" && m.Subtype == "init": // of each turn
		if want := a.begun(m); m.PermissionMode != "" && m.PermissionMode != want {
			asks.Go(func() { a.observed(ctx, m.PermissionMode) })
		}
	case m.Type == "system" && m.Subtype == "compact_boundary":
		a.runner.Compacted()
	case m.Type == "system" && m.PermissionMode != "":
		asks.Go(func() { a.observed(ctx, m.PermissionMode) })
	case m.Type == "assistant" && m.Message != nil:
		a.turned(m)
		a.said(m)
	case m.Type == "result":
		a.rests()
		select {
		case a.turns <- m:
		case <-ctx.Done():
		}
	}
}

// works reports whether the client is in a turn.
func (a *Agent) works() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.working
}

func (a *Agent) rests() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.working = false
}

// begun notes that a turn has begun, and returns the mode that it should be in: a client begins in the one that it was
// started in.
func (a *Agent) begun(m incoming) (want string) {
	a.mu.Lock()
	first := a.session == ""
	want = clientMode(a.mode)
	if first {
		want = a.beginsIn
	}
	a.session, a.version, a.working = m.SessionID, m.Version, true
	a.mu.Unlock()
	if first {
		a.keepSession(m.SessionID)
		a.cfg.Logger.Info("claudecode: the client runs", "version", m.Version, "session", m.SessionID, "mode", m.PermissionMode)
	}
	return want
}

// keepSession notes the session that a later client resumes.
func (a *Agent) keepSession(id string) {
	if a.cfg.SessionFile == "" {
		return
	}
	if err := os.WriteFile(a.cfg.SessionFile, []byte(id+"\n"), 0o600); err != nil {
		a.cfg.Logger.Warn("claudecode: the session's id is not kept", "cause", err)
	}
}

// said writes the model's words for people.
func (a *Agent) said(m incoming) {
	for _, text := range textsOf(m.Message.Content) {
		_, _ = io.WriteString(a.cfg.Said, text+"\n") // a log, or a terminal
	}
}

// StopAgent kills the client and all that it has started.
func (a *Agent) StopAgent(_ context.Context, cause string) error {
	a.mu.Lock()
	a.stopped = true
	p := a.proc
	a.mu.Unlock()
	if p == nil {
		return nil
	}
	a.cfg.Logger.Info("claudecode: stopped", "cause", cause)
	return p.Kill()
}

func (a *Agent) isStopped() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stopped
}

// KillStarted does nothing: every command is carried out by the runner, and ends with its grant.
func (a *Agent) KillStarted(context.Context, []string, string) error { return nil }
