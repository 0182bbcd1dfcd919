package gate

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// A call is judged again when something happened between judging and beginning it: after a breath at first, more and more
// seldom later, and for as long as an agent's client may take to change its mode.
const (
	breath     = 5 * time.Millisecond
	longBreath = 200 * time.Millisecond
	judged     = 35 * time.Second
)

// maxVoid is how often one call is asked again because the answer that was stored for it cannot be applied.
const maxVoid = 5

// again reports whether a call whose question has ended with an error is to be judged, and asked, again.
func again(err error, void *int) bool {
	if errors.Is(err, teammate.ErrAskVoid) {
		*void++
		return *void < maxVoid
	}
	return errors.Is(err, teammate.ErrMoved) // it was allowed for another who asked the same
}

// killedStatus is what a command's status is when it was ended from outside, as for signal 9.
const killedStatus = 128 + 9

// decide judges a call against the present view, or says why nothing can be judged: then it is denied.
func (g *Gate) decide(call permissions.Call) (teammate.View, permissions.Decision, error) {
	v, ok := g.cfg.Runner.View()
	if !ok {
		return v, permissions.Decision{Verdict: permissions.Deny}, teammate.ErrNotReady
	}
	return v, g.cfg.Runner.Decide(v, call), nil
}

// check judges a call and carries nothing out. It never uses a grant up: it says which one allows. With wait, a leader is
// asked where that is what it takes.
func (g *Gate) check(ctx context.Context, cwd string, a CheckArgs) (*result, error) {
	if a.Tool == "" {
		return nil, fail(exitUsage, "bad_request", "name one, such as Bash or Edit", "no tool is named")
	}
	call := permissions.Call{Tool: a.Tool, Command: a.Command, Path: a.Path, Args: a.Args, Server: a.Server, Hints: a.Hints, Cwd: cwd, Foreign: a.Foreign}
	j, err := g.Judge(ctx, call, a.Wait)
	if err != nil {
		return nil, denied(err)
	}
	d := j.Decision
	d.Contract = nil
	exit := exitDenied
	switch d.Verdict {
	case permissions.Allow:
		exit = exitOK
	case permissions.Ask:
		exit = exitAsk
	}
	return &result{value: d, exit: exit}, nil
}

// A Judgement is what was decided about a call that is carried out elsewhere, or later.
type Judgement struct {
	Call     permissions.Call
	Decision permissions.Decision
	answered *answeredCall // by a leader
}

// Judge decides a call that somebody else carries out. With wait, a leader is asked where that is what it takes, for as
// long as ctx lives, and the answer counts for exactly the call that was asked. On an error nothing is allowed. It may be
// called by any number of goroutines.
func (g *Gate) Judge(ctx context.Context, call permissions.Call, wait bool) (Judgement, error) {
	for void := 0; ; {
		v, d, err := g.decide(call)
		if err != nil || d.Verdict != permissions.Ask || !wait {
			return Judgement{Call: call, Decision: d}, err
		}
		answer, err := g.cfg.Runner.Ask(ctx, teammate.Asking{Call: call, Decision: d})
		switch {
		case again(err, &void):
			continue
		case err != nil:
			d.Verdict = permissions.Deny
			return Judgement{Call: call, Decision: d}, err
		case answer.Behavior != permissions.BehaviorAllow:
			d.Verdict, d.Reason = permissions.Deny, because("a leader denies it", answer.Message)
			return Judgement{Call: call, Decision: d}, nil
		}
		allowed := &answeredCall{hash: d.Hash, planning: planning(v)}
		if v, now, err := g.decide(call); err != nil || now.Verdict != permissions.Ask || !allowed.covers(v, now) {
			continue // a grant covers it now, or what was asked is not what it would be now
		}
		d.Verdict, d.Reason = permissions.Allow, because("a leader allows it", answer.Message)
		return Judgement{Call: call, Decision: d, answered: allowed}, nil
	}
}

// denied is the answer where nobody could answer.
func denied(err error) *Error {
	e := *explain(err)
	e.Exit = exitDenied
	return &e
}

func because(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// begun is a call that was allowed and may begin: its uses are in the journal, and it counts as running until end.
type begun struct {
	ctx      context.Context
	end      func()
	decision permissions.Decision
}

// begin judges a call until it is decided: against one and the same view it is allowed, its grants are used, and it is
// known as running. What has to be asked is asked once; an answer from before plan mode counts for nothing in it.
//
// What has a permit was asked before: where that does not suffice any more it is refused, and nobody waits for a person
// inside of a client's own time limit.
func (g *Gate) begin(ctx context.Context, call permissions.Call, p *permit) (begun, error) {
	var answered *answeredCall // what a leader has allowed
	if p != nil {
		answered = p.answered
	}
	wait, void := breath, 0
	for deadline := time.Now().Add(judged); time.Now().Before(deadline); wait = min(2*wait, longBreath) {
		v, d, err := g.decide(call)
		if err != nil {
			return begun{decision: d}, err
		}
		if d.Verdict == permissions.Ask && answered.covers(v, d) {
			obeyed := d.Obeyed
			d = g.cfg.Runner.DecideAnswered(v, call)
			if d.Contract != nil {
				d.Contract.Obey(obeyed)
			}
			if d.Verdict == permissions.Ask {
				return begun{decision: d}, denied(fmt.Errorf("%w: %s", teammate.ErrNotLifted, d.Reason))
			}
		}
		switch d.Verdict {
		case permissions.Allow:
		case permissions.Ask:
			if p != nil {
				d.Verdict = permissions.Deny
				return begun{decision: d}, fail(exitDenied, "denied", "call it again", "it was allowed, and would have to be asked now: %s", d.Reason)
			}
			err := g.ask(ctx, call, &d)
			if err != nil && !again(err, &void) {
				return begun{decision: d}, denied(err)
			}
			if err == nil {
				answered = &answeredCall{hash: d.Hash, planning: planning(v)}
			}
			deadline, wait = time.Now().Add(judged), breath // an answer may take days
			continue                                        // against the view of now
		default:
			return begun{decision: d}, fail(exitDenied, "denied", "", "%s", d.Reason)
		}
		running, end, err := g.cfg.Runner.Begin(ctx, v, d)
		if err == nil {
			return begun{running, end, d}, nil
		}
		if !errors.Is(err, teammate.ErrMoved) && !errors.Is(err, planmode.ErrNoGrant) {
			return begun{decision: d}, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return begun{decision: d}, context.Cause(ctx)
		}
	}
	return begun{}, fail(exitDenied, "busy", "try again", "the session is changing")
}

// answeredCall is what a leader has allowed: exactly this call, inside of plan mode or outside.
type answeredCall struct {
	hash     string
	planning bool
}

// covers reports whether the answer is about a call as it is judged now. What it obeys may have changed meanwhile: the
// hash covers that, and it is asked anew.
func (a *answeredCall) covers(v teammate.View, d permissions.Decision) bool {
	return a != nil && a.hash == d.Hash && a.planning == planning(v)
}

func planning(v teammate.View) bool { return v.State != planmode.Working }

// ask asks a leader about a call, and returns nil when it may go on.
func (g *Gate) ask(ctx context.Context, call permissions.Call, d *permissions.Decision) error {
	answer, err := g.cfg.Runner.Ask(ctx, teammate.Asking{Call: call, Decision: *d})
	if errors.Is(err, teammate.ErrMoved) || errors.Is(err, teammate.ErrAskVoid) {
		return err
	}
	if err != nil {
		d.Verdict = permissions.Deny
		return denied(err)
	}
	if answer.Behavior != permissions.BehaviorAllow {
		d.Verdict, d.Reason = permissions.Deny, because("a leader denies it", answer.Message)
		return fail(exitDenied, "denied", "", "%s", d.Reason)
	}
	return nil
}

// exec judges a line and carries it out, exactly as it was judged. Its status is the command's own; 126 when it was
// refused before it ran.
func (g *Gate) exec(ctx context.Context, cwd string, a ExecArgs, out *answers) (*result, error) {
	call := permissions.Call{Tool: "Bash", Command: a.Line, Cwd: cwd}
	p, err := g.permits.take(a, time.Now())
	if err != nil {
		return nil, err
	}
	if p != nil {
		call = p.call
		a.Line = call.Command
	}
	b, err := g.begin(ctx, call, p)
	if err != nil {
		return g.refused(VerbExec, call, a.Line, b.decision, err)
	}
	defer b.end()
	res, err := execute.Run(b.ctx, b.decision.Contract, execute.Options{Stdout: out.stdout(), Stderr: out.stderr()})
	b.decision.Contract = nil
	if errors.Is(err, execute.ErrRefused) {
		return g.refused(VerbExec, call, a.Line, b.decision, err)
	}
	stopped := (*teammate.StoppedError)(nil)
	if errors.As(context.Cause(b.ctx), &stopped) {
		res.Status = killedStatus
		err = fail(killedStatus, "stopped", "", "the command was ended: %s", stopped.Cause)
	} else if err != nil {
		err = fail(max(res.Status, exitError), "lost", "", "%s", explain(err).Message)
	}
	g.cfg.Observe(Observation{Verb: VerbExec, Input: a.Line, Decision: b.decision, Ran: true, Status: res.Status})
	return &result{value: ExecResult{Decision: b.decision, Ran: true}, exit: res.Status}, err
}

// refused is the answer to what did not run. The journal keeps what was judged and refused.
func (g *Gate) refused(verb Verb, call permissions.Call, input string, d permissions.Decision, err error) (*result, error) {
	d.Contract = nil
	e := *explain(err)
	if verb == VerbExec {
		e.Exit = exitRefusedRun
	}
	if d.Reason == "" {
		d.Reason = e.Message
	}
	var line uint64
	if !slices.Contains(unjudged, e.Code) {
		line = g.cfg.Runner.Refused(call, d, e.Message)
		e.Message += g.cfg.Runner.Again(call, d)
	}
	g.log.Info("gate: refused", "verb", string(verb), "code", e.Code, "line", line)
	g.cfg.Observe(Observation{Verb: verb, Input: input, Decision: d, Line: line})
	return &result{value: ExecResult{Decision: d, Line: line}, exit: e.Exit}, &e
}

// unjudged are the ends of a call that nobody has refused: its client is gone, or there is nothing to judge by.
var unjudged = []string{"gone", "ended", "not_ready", "left", "busy"}

// edit judges a change of one file and makes it.
func (g *Gate) edit(ctx context.Context, cwd string, a EditArgs) (*result, error) {
	v, ok := g.cfg.Runner.View()
	if !ok {
		return nil, teammate.ErrNotReady
	}
	target, err := findTarget(a.Path, cwd, v.Tree, v.PlanFile)
	if e := (*Error)(nil); errors.As(err, &e) && e.Exit == exitDenied {
		call := permissions.Call{Tool: "Edit", Path: a.Path, Cwd: cwd}
		return g.refused(VerbEdit, call, a.Path, permissions.Decision{Verdict: permissions.Deny, Reason: e.Message}, err)
	}
	if err != nil {
		return nil, err
	}
	call := permissions.Call{Tool: "Edit", Path: target.path(), Cwd: filepath.Dir(target.path()), Change: a.Shown()}
	b, err := g.begin(ctx, call, nil)
	if err != nil {
		return g.refused(VerbEdit, call, a.Path, b.decision, err)
	}
	defer b.end()
	n, err := target.change(b.ctx, a)
	if err != nil {
		return nil, err
	}
	g.cfg.Observe(Observation{Verb: VerbEdit, Input: a.Path, Decision: b.decision, Ran: true})
	return &result{value: EditResult{Decision: b.decision, Path: target.path(), Bytes: n}}, nil
}

// notFound is a path of which nothing is there.
func notFound(path string) *Error {
	return fail(exitNotFound, "no_file", "check the name", "%s does not exist", fmt.Sprintf("%q", path))
}
