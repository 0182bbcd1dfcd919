package teammate

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// beat has the status sent soon.
func (r *Runner) beat() {
	select {
	case r.beats <- struct{}{}:
	default:
	}
}

// heartbeat sends the status whenever it has changed and every few seconds besides. It is the last word and nothing else:
// what could not be sent is not sent later.
func (r *Runner) heartbeat(ctx context.Context) {
	for {
		if v := r.view.Load(); v != nil {
			r.sendStatus(ctx, *v)
		}
		select {
		case <-r.beats:
		case <-time.After(r.cfg.Heartbeat):
		case <-ctx.Done():
			return
		}
	}
}

func (r *Runner) sendStatus(ctx context.Context, v View) {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Heartbeat)
	defer cancel()
	err := r.cfg.Box.SetStatus(ctx, r.status(v))
	if err != nil && !errors.Is(err, context.Canceled) {
		r.log.Debug("teammate: status not sent", "cause", err)
	}
	r.noteBroker(err)
}

// sayFailed is the last word of a runner that has joined the team and cannot go on. One that is told to end says nothing.
func (r *Runner) sayFailed(ctx context.Context, why error) {
	r.Failed(strings.TrimPrefix(why.Error(), "teammate: "))
	r.sendStatus(ctx, View{State: planmode.Left})
}

// noteBroker tells when the broker is gone, and when it is there again. It is known by the statuses, which are sent all the
// time.
func (r *Runner) noteBroker(err error) {
	lost := errors.Is(err, natsbox.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)
	if lost == r.away || err != nil && !lost {
		return
	}
	r.away = lost
	r.look() // when it is back: another one may stand in its place
	event := planmode.Emit{Event: "broker.back"}
	if lost {
		event = planmode.Emit{Event: "broker.lost", Fields: map[string]string{"cause": err.Error()}}
	}
	r.work.push(&record{effects: []planmode.Effect{event}, local: make(chan struct{})})
}

// Progress is how far an agent's work has come, as its client says it: nothing that is decided rests on it.
type Progress struct {
	Tool   string // that is used now
	Turns  int    // of the model
	Tokens int
}

// maxTool bounds the name of a tool, in characters.
const maxTool = 100

// maxFailed bounds what is told of a failure, in characters.
const maxFailed = 300

func (r *Runner) status(v View) planmode.Status {
	now := r.clock.now()
	s := planmode.Status{
		State: v.State, Mode: v.Mode, SavedMode: v.Saved, PlanID: v.PlanID, EnforcedBy: r.cfg.EnforcedBy,
		Agent: r.cfg.Client, Grants: v.Grants, Heartbeat: now, Ended: r.ended.all(),
		ForPlan: planmode.Session{State: v.State, Approved: v.Approved}.ForPlan(now),
	}
	s.Idle = r.isIdle(v)
	if r.cfg.Progress != nil {
		p := r.cfg.Progress()
		s.Tool, s.Turns, s.Tokens = plans.Cut(p.Tool, maxTool), p.Turns, p.Tokens
	}
	_, ordered := r.Stopped() // then the agent was killed, and has not failed
	if why := r.failed.Load(); why != nil && !ordered && v.State == planmode.Left {
		s.Failed = plans.Cut(*why, maxFailed)
	}
	s.Blocked = r.planning.blockedCalls()
	for _, a := range v.Asks {
		s.Asks = append(s.Asks, a.RequestID)
		if a.OnceOnly != "" {
			if s.OnceOnly == nil {
				s.OnceOnly = map[string]string{}
			}
			s.OnceOnly[a.RequestID] = a.OnceOnly
		}
	}
	if v.Pending != nil {
		s.RequestID = v.Pending.RequestID
	}
	if v.Approved != nil {
		s.ApprovedPlan, s.Task = v.Approved.PlanID, taskLine(*v.Approved)
	}
	return s
}
