package gate

import (
	"context"
	"errors"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
)

// answer does what is asked. The list of verbs is closed: what is not here cannot be asked.
func (g *Gate) answer(ctx context.Context, req Request, out *answers) (*result, error) {
	r := g.cfg.Runner
	switch req.Verb {
	case VerbEnter:
		return with(req, func(a EnterArgs) (*result, error) {
			return g.then(r.EnterPlan(ctx, teammate.Entry{Reason: a.Reason}))
		})
	case VerbPath:
		v, ok := r.View()
		if !ok {
			return nil, teammate.ErrNotReady
		}
		return &result{value: PathResult{v.PlanFile}}, nil
	case VerbStatus:
		return g.then(nil)
	case VerbDone:
		return g.then(r.Done(ctx))
	case VerbWithdraw:
		return g.then(r.Withdraw(ctx))
	case VerbView:
		return valueOf(r.ViewPlan())
	case VerbClear:
		return g.then(r.ClearPlan())
	case VerbTasks:
		return valueOf(r.Tasks())
	case VerbTask:
		return with(req, func(a TaskArgs) (*result, error) {
			if err := r.MarkTask(ctx, a.ID, a.Status, a.Note); err != nil {
				return nil, err
			}
			return valueOf(r.Tasks())
		})
	case VerbLeave:
		return with(req, func(a LeaveArgs) (*result, error) { return g.then(r.Leave(ctx, a.Reason)) })
	case VerbSubmit:
		return with(req, func(a SubmitArgs) (*result, error) { return g.submit(ctx, req.Cwd, a) })
	case VerbWait:
		return with(req, func(a WaitArgs) (*result, error) { return g.wait(ctx, a) })
	case VerbCheck:
		return with(req, func(a CheckArgs) (*result, error) { return g.check(ctx, req.Cwd, a) })
	case VerbExec:
		return with(req, func(a ExecArgs) (*result, error) { return g.exec(ctx, req.Cwd, a, out) })
	case VerbEdit:
		return with(req, func(a EditArgs) (*result, error) { return g.edit(ctx, req.Cwd, a) })
	case VerbSend, VerbRecv, VerbRead, VerbTrace:
		return g.mail(ctx, req)
	case VerbAsk:
		return with(req, func(a AskArgs) (*result, error) { return g.question(ctx, a) })
	case VerbHook:
		if g.cfg.Hook != nil {
			return with(req, func(a HookArgs) (*result, error) { return g.hook(ctx, a) })
		}
	case VerbAttack:
		if g.cfg.Attack != nil {
			return with(req, func(a AttackArgs) (*result, error) { return g.attack(ctx, a) })
		}
	}
	return nil, fail(exitUsage, "unknown_verb", "see `swarm --help`", "a gate does not know %q", req.Verb)
}

// valueOf answers with a value, or why there is none.
func valueOf[T any](v T, err error) (*result, error) {
	if err != nil {
		return nil, err
	}
	return &result{value: v}, nil
}

// question asks the leaders something, and has no limit but the client's own. A question that nobody waits for any more is
// withdrawn.
func (g *Gate) question(ctx context.Context, a AskArgs) (*result, error) {
	ctx, cancel := limited(ctx, a.TimeoutMS)
	defer cancel()
	reply, err := g.cfg.Runner.AskQuestion(ctx, a.Text, a.Options)
	if errors.Is(err, errTimeout) {
		return nil, fail(exitPending, "pending", "ask again, or decide from what you have", "nobody has answered, and the question was withdrawn")
	}
	if err != nil {
		return nil, err
	}
	return &result{value: askResult(reply), handed: func(yes bool) error {
		if yes {
			g.cfg.Runner.ReplySeen(reply)
		}
		return nil
	}}, nil
}

func (g *Gate) hook(ctx context.Context, a HookArgs) (*result, error) {
	answer, err := g.cfg.Hook(ctx, a)
	if err != nil {
		return nil, denied(err)
	}
	return &result{value: answer}, nil
}

func (g *Gate) attack(ctx context.Context, a AttackArgs) (*result, error) {
	r, err := g.cfg.Attack(ctx, a)
	if err != nil {
		return nil, err
	}
	return &result{value: r}, nil
}

// with reads a verb's arguments strictly.
func with[T any](req Request, do func(T) (*result, error)) (*result, error) {
	var args T
	if len(req.Args) > 0 && string(req.Args) != "null" {
		if err := mailbox.DecodeStrict(req.Args, &args); err != nil {
			return nil, fail(exitUsage, "bad_request", "", "%s: %v", req.Verb, err)
		}
	}
	return do(args)
}

// then answers with how the teammate stands after a verb.
func (g *Gate) then(err error) (*result, error) {
	if err != nil {
		return nil, err
	}
	s, err := g.cfg.Runner.Status()
	if err != nil {
		return nil, err
	}
	return &result{value: s}, nil
}

func (g *Gate) submit(ctx context.Context, cwd string, a SubmitArgs) (*result, error) {
	p, err := g.cfg.Runner.Submit(ctx, teammate.Submission{
		Path: a.Path, Cwd: cwd, Prompts: a.Prompts, Options: a.Options, RequestedMode: a.RequestedMode, Deadline: a.Deadline, Addresses: a.Addresses,
	})
	if err != nil {
		return nil, err
	}
	return &result{value: p}, nil
}

// wait holds no lock and has no limit but the client's own.
func (g *Gate) wait(ctx context.Context, a WaitArgs) (*result, error) {
	ctx, cancel := limited(ctx, a.TimeoutMS)
	defer cancel()
	answer, err := g.cfg.Runner.WaitDecision(ctx, a.Revision)
	if err != nil {
		return nil, err
	}
	return &result{value: answer, exit: exitOf(answer.Outcome), handed: func(yes bool) error {
		if yes {
			g.cfg.Runner.AnswerSeen(answer)
		}
		return nil
	}}, nil
}

func exitOf(o planmode.Outcome) int {
	switch o {
	case planmode.OutcomeApproved:
		return exitOK
	case planmode.OutcomeRejected, planmode.OutcomeRejectedAndExit:
		return exitRejected
	case planmode.OutcomeExpired:
		return exitExpired
	}
	return exitStale // withdrawn, superseded, undecidable
}

// errTimeout is a client's own limit that ran out.
var errTimeout = errors.New("gate: nothing has come yet: wait again")

// limited bounds a wait to the client's milliseconds; 0 and less is no limit.
func limited(ctx context.Context, ms int64) (context.Context, context.CancelFunc) {
	if ms <= 0 {
		return context.WithCancel(ctx)
	}
	ms = min(ms, int64(365*24*time.Hour/time.Millisecond))
	return context.WithTimeoutCause(ctx, time.Duration(ms)*time.Millisecond, errTimeout)
}

func (g *Gate) mail(ctx context.Context, req Request) (*result, error) {
	r := g.cfg.Runner
	switch req.Verb {
	case VerbSend:
		return with(req, func(a SendArgs) (*result, error) {
			id, err := r.SendMail(ctx, a.To, mailbox.Message{Text: a.Text, Summary: a.Summary, Urgent: a.Urgent})
			if err != nil {
				return nil, err
			}
			return &result{value: SendResult{id, a.To}}, nil
		})
	case VerbRecv:
		return with(req, func(a RecvArgs) (*result, error) { return g.recv(ctx, a) })
	case VerbTrace:
		return with(req, func(a ReadArgs) (*result, error) {
			t, err := r.Trace(ctx, plans.Cut(a.ID, maxTraced))
			if err != nil {
				return nil, err
			}
			return &result{value: t}, nil
		})
	}
	return with(req, func(a ReadArgs) (*result, error) {
		l, done, err := r.ReadMail(a.ID)
		if err != nil {
			return nil, err
		}
		return &result{value: l, handed: done}, nil
	})
}

// maxTraced is more than the longest id or handle, in characters.
const maxTraced = 200

// recv takes unread mail. Nothing there is an empty list, and exit code 8 where it was waited for.
func (g *Gate) recv(ctx context.Context, a RecvArgs) (*result, error) {
	if a.Max <= 0 {
		a.Max = 100
	}
	if a.TimeoutMS == 0 {
		at, cancel := context.WithCancel(ctx)
		cancel()
		letters, done, err := g.cfg.Runner.OfferMail(at, a.Max)
		if err != nil && !errors.Is(err, context.Canceled) {
			return nil, err
		}
		return &result{value: append([]teammate.Letter{}, letters...), handed: done}, nil
	}
	ctx, cancel := limited(ctx, a.TimeoutMS)
	defer cancel()
	letters, done, err := g.cfg.Runner.OfferMail(ctx, a.Max)
	if err != nil {
		return nil, err
	}
	return &result{value: letters, handed: done}, nil
}
