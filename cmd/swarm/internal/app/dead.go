package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// Dead are the dead letters that nobody has seen to, or all that are remembered.
func (l *Leader) Dead(ctx context.Context, all bool) ([]natsbox.DeadLetter, error) {
	list, err := l.box.Dead(ctx, all)
	return list, l.refusedBy(ctx, err)
}

// DeadDo shows one dead letter, has it put to its recipient again, or marks it as seen to.
func (l *Leader) DeadDo(ctx context.Context, do natsbox.DeadAction, id, note string) (natsbox.DeadLetter, error) {
	if len(id) > maxID {
		id = id[:maxID]
	}
	d, err := l.box.DeadDo(ctx, do, id, note)
	return d, l.refusedBy(ctx, err)
}

// Mute takes a member's right to send mail: for a time, or with zero until somebody ends it.
func (l *Leader) Mute(ctx context.Context, name string, life time.Duration, why string) (natsbox.MuteInfo, error) {
	if life < 0 || life > 0 && life < time.Millisecond {
		return natsbox.MuteInfo{}, fail(exitUsage, "bad_time", fmt.Sprintf("--for %v: a mute lasts some time", life), "write a time such as 30m, or leave it out")
	}
	return l.muteVerb(ctx, natsbox.MuteRequest{Action: natsbox.MuteSet, Name: name, ForMS: life.Milliseconds(), Reason: why})
}

// Unmute gives it back, and returns what was in force.
func (l *Leader) Unmute(ctx context.Context, name string) (natsbox.MuteInfo, error) {
	return l.muteVerb(ctx, natsbox.MuteRequest{Action: natsbox.MuteEnd, Name: name})
}

func (l *Leader) muteVerb(ctx context.Context, q natsbox.MuteRequest) (natsbox.MuteInfo, error) {
	if len(q.Name) > maxID {
		q.Name = q.Name[:maxID]
	}
	list, err := l.box.Mute(ctx, q)
	if err != nil || len(list) != 1 {
		return natsbox.MuteInfo{}, l.refusedBy(ctx, err)
	}
	return list[0], nil
}

// Health is how the broker and its store are.
func (l *Leader) Health(ctx context.Context) (natsbox.Health, error) {
	var h natsbox.Health
	return h, l.call(ctx, natsbox.VerbHealth, nil, &h)
}

// refusedBy gives what the coordinator does not do the exit code and the next step that people see.
func (l *Leader) refusedBy(ctx context.Context, err error) error {
	var e *natsbox.ServiceError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !errors.As(err, &e):
		return l.explain(err)
	}
	code := exitUsage
	switch e.Code {
	case natsbox.CodeForbidden:
		code = exitAuth
	case natsbox.CodeNotFound:
		code = exitNotFound
	case natsbox.CodeUnavailable, natsbox.CodeBusy:
		code = exitError
	}
	next := e.Next
	if len(e.Near) > 0 {
		next = "did you mean " + e.Near[0] + "? " + next
	}
	return fail(code, string(e.Code), plans.VisibleLine(e.Message), plans.VisibleLine(next))
}
