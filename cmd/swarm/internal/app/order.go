package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// OrderDone is one signed order, and what the teammate said of it.
type OrderDone struct {
	leader.Ordered
	Receipt *mailbox.Receipt // nil: none came in time
	Took    time.Duration
}

// Teammate returns the name of the teammate that a word names: its own name, or the handle or id of one of its requests.
func (l *Leader) Teammate(ctx context.Context, word string) (string, error) {
	var names []string
	for _, m := range l.charter.Members {
		if m.Role != charter.RoleTeammate || m.Retired {
			continue
		}
		if m.Name == word {
			return word, nil
		}
		names = append(names, m.Name)
	}
	if strings.Contains(word, "-") {
		if q, err := l.Queue(ctx, word); err == nil {
			if row, err := q.FindAny(word); err == nil && slices.Contains(names, row.From) {
				return row.From, nil
			}
		}
	}
	next := "swarm status lists them"
	if near := mailbox.Nearest(word, names); len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "? " + next
	}
	return "", fail(exitNotFound, "unknown_teammate", fmt.Sprintf("no teammate %q in team %s", plans.VisibleLine(word), l.team), next)
}

// SetMode orders a mode and waits for the teammate's receipt. Plan mode is the recall: grants end with it.
func (l *Leader) SetMode(ctx context.Context, name string, m permissions.Mode, reason string, wait time.Duration) (OrderDone, error) {
	return l.order(ctx, wait, func(s leader.Signer) (leader.Ordered, error) {
		return leader.OrderMode(ctx, l.box, s, l.charter, name, m, reason)
	})
}

// Revoke ends one grant of a teammate, or with an empty id all of them.
func (l *Leader) Revoke(ctx context.Context, name, grantID, reason string, wait time.Duration) (OrderDone, error) {
	return l.order(ctx, wait, func(s leader.Signer) (leader.Ordered, error) {
		return leader.OrderRevoke(ctx, l.box, s, l.charter, name, grantID, reason)
	})
}

// Stop ends a teammate in order: its grants end, its open requests are withdrawn, its program is stopped.
func (l *Leader) Stop(ctx context.Context, name, reason string, wait time.Duration) (OrderDone, error) {
	return l.order(ctx, wait, func(s leader.Signer) (leader.Ordered, error) {
		return leader.OrderStop(ctx, l.box, s, l.charter, name, reason)
	})
}

func (l *Leader) order(ctx context.Context, wait time.Duration, give func(leader.Signer) (leader.Ordered, error)) (OrderDone, error) {
	s, err := l.signer("command")
	if err != nil {
		return OrderDone{}, err
	}
	begin := time.Now()
	o, err := give(s)
	if err != nil {
		return OrderDone{}, l.explain(err)
	}
	out := OrderDone{Ordered: o}
	if wait == 0 {
		return out, nil
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	rec, err := leader.WaitReceipt(waiting, l.box, o.To, o.ID)
	if err != nil {
		return out, nil //nolint:nilerr // stored is what counts; the teammate may be away
	}
	out.Receipt, out.Took = &rec, time.Since(begin)
	return out, nil
}

func (l *Leader) explain(err error) error {
	if errors.Is(err, natsbox.ErrUnreachable) {
		return l.connectError(err)
	}
	if errors.Is(err, natsbox.ErrMuted) {
		message, next, _ := strings.Cut(strings.TrimPrefix(err.Error(), natsbox.ErrMuted.Error()+": "), "; ")
		return fail(exitAuth, "muted", message, next)
	}
	return err
}

// Recalled is what a recall did.
type Recalled struct {
	Revoked, Planning OrderDone
	Told              string // id of the message with the reason
}

// Recall takes an approval back: every grant ends, the teammate plans again, and it is told why. What it has changed
// stays. The three are given whether or not the teammate confirms the one before.
func (l *Leader) Recall(ctx context.Context, name, reason string, wait time.Duration) (Recalled, error) {
	var r Recalled
	var err error
	if r.Revoked, err = l.Revoke(ctx, name, "", reason, 0); err != nil {
		return r, err
	}
	if r.Planning, err = l.SetMode(ctx, name, permissions.ModePlan, reason, wait); err != nil {
		return r, err
	}
	if r.Told, err = l.Message(ctx, name, "Your approval was recalled; you are in plan mode again. Reason: "+reason, true); err != nil {
		return r, err
	}
	if r.Planning.Receipt != nil { // orders are taken in turn, so this one has its receipt by now
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if rec, err := leader.WaitReceipt(soon, l.box, name, r.Revoked.ID); err == nil {
			r.Revoked.Receipt = &rec
		}
	}
	return r, nil
}

// Message writes to a member, or to all; it returns the message's id when it is stored.
func (l *Leader) Message(ctx context.Context, to, text string, urgent bool) (string, error) {
	id, err := leader.Write(ctx, l.box, l.charter, l.bundle.Me, to, mailbox.Message{Text: text, Urgent: urgent}, time.Now())
	return id, l.explain(err)
}

// Reply answers a question.
func (l *Leader) Reply(ctx context.Context, handle, option, text string) (*leader.Row, mailbox.Answer, error) {
	q, err := l.Queue(ctx, handle)
	if err != nil {
		return nil, mailbox.Answer{}, err
	}
	row, err := q.FindAny(handle)
	if err != nil {
		return nil, mailbox.Answer{}, err
	}
	a, err := leader.Reply(ctx, l.box, l.charter, l.bundle.Me, *row, option, text, time.Now())
	return row, a, l.explain(err)
}

// Past are the requests that were settled last, newest first.
func (l *Leader) Past(ctx context.Context) ([]natsbox.Past, error) {
	past, err := l.box.Past(ctx)
	return past, l.explain(err)
}

// Mail is what teammates wrote to the leaders, or to this one.
func (l *Leader) Mail(ctx context.Context) ([]natsbox.MailInfo, error) {
	mail, err := l.box.Mail(ctx)
	return mail, l.explain(err)
}

// Grants are the grants of every teammate, as they last told of them; with all also those that have ended.
func (l *Leader) Grants(ctx context.Context, all bool) ([]leader.GrantRow, error) {
	members, err := l.Presence(ctx)
	if err != nil {
		return nil, err
	}
	return leader.Grants(members, all, time.Now()), nil
}

// Away reports whether the coordinator has heard nothing of a teammate for a while.
func (l *Leader) Away(ctx context.Context, name string) bool {
	members, err := l.Presence(ctx)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(members, func(p natsbox.Presence) bool { return p.Name == name && !p.Live })
}

// lostAfter is how long the coordinator may take before a person is told that the broker is lost.
const lostAfter = 3 * time.Second

// Follow calls fn with the queue, now and whenever something may have changed, until fn says that it is done or ctx
// ends. Ids names requests that are read also when they wait no more. A broker that goes away is waited for; lost is
// called once each time.
func (l *Leader) Follow(ctx context.Context, ids func() []string, lost func(error), fn func(*leader.Queue) (done bool, err error)) error {
	hint := make(chan struct{}, 1)
	hints, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = l.box.Events(hints, func(string, []byte) { // hints only: the queue is read again in any case
			select {
			case hint <- struct{}{}:
			default:
			}
		})
	}()
	defer func() { stop(); <-ended }()
	away := false
	for {
		reading, cancel := context.WithTimeout(ctx, lostAfter)
		q, err := l.Queue(reading, ids()...)
		slow := reading.Err() != nil
		cancel()
		var e *leader.Error
		switch {
		case err == nil:
			away = false
			done, err := fn(q)
			if done || err != nil {
				return err
			}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case slow || errors.As(err, &e) && e.Code == exitNoBroker:
			if !away {
				lost(err)
			}
			away = true
		default:
			return err
		}
		select {
		case <-hint:
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
