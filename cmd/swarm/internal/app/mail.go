package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// Send writes to a member, to the leaders, or to all, and returns the message's id when it is stored.
func (l *Leader) Send(ctx context.Context, to string, m mailbox.Message) (string, error) {
	id, err := leader.Write(ctx, l.box, l.charter, l.bundle.Me, to, m, time.Now())
	return id, l.explain(err)
}

// Trace tells how far a piece of mail, a request or an order has come.
func (l *Leader) Trace(ctx context.Context, id string) (natsbox.Trace, error) {
	if len(id) > maxID {
		return natsbox.Trace{}, fail(exitNotFound, "not_found", "no mail, request or order "+strconv.Quote(plans.Cut(plans.VisibleLine(id), 60)), "swarm inbox and swarm inbox --mail list what there is")
	}
	t, err := l.box.Trace(ctx, id)
	if errors.Is(err, natsbox.ErrNotFound) { // handled mail is deleted some day
		if old, derr := l.box.Deleted(ctx, id); derr == nil {
			return old, nil
		}
	}
	return t, l.serviceError(ctx, err)
}

// serviceError is the coordinator's refusal as a person reads it.
func (l *Leader) serviceError(ctx context.Context, err error) error {
	var refused *natsbox.ServiceError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, natsbox.ErrUnreachable):
		return l.inTime(ctx, err)
	case !errors.As(err, &refused):
		return err
	}
	code := map[natsbox.Code]int{natsbox.CodeNotFound: exitNotFound, natsbox.CodeBadRequest: exitUsage, natsbox.CodeForbidden: exitAuth}[refused.Code]
	next := refused.Next
	if len(refused.Near) > 0 {
		next = "did you mean " + strings.Join(refused.Near, " or ") + "? " + next
	}
	return fail(cmp.Or(code, exitError), string(refused.Code), plans.VisibleLine(refused.Message), plans.VisibleLine(next))
}

// Unread is mail to the leaders, to this one and to all that this one has not seen, at most n. With wait it waits for the
// first one, until ctx ends.
func (l *Leader) Unread(ctx context.Context, n int, wait bool) ([]natsbox.MailInfo, error) {
	for {
		mail, err := l.box.Unread(ctx, n)
		if err != nil || len(mail) > 0 || !wait {
			return mail, l.serviceError(ctx, err)
		}
		select {
		case <-time.After(unreadEvery):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// unreadEvery is how often mail that is waited for is looked for.
const unreadEvery = 250 * time.Millisecond

// Letter is one message to the leaders, to this one or to all, by its id or the beginning of it.
func (l *Leader) Letter(ctx context.Context, id string) (natsbox.MailInfo, error) {
	if id == "" || len(id) > maxID {
		return natsbox.MailInfo{}, fail(exitNotFound, "not_found", "no message "+strconv.Quote(plans.Cut(plans.VisibleLine(id), 60)), "swarm inbox --mail lists what has come")
	}
	m, err := l.box.Letter(ctx, id)
	return m, l.serviceError(ctx, err)
}

// seenWait bounds how long telling may take that something was seen.
const seenWait = 3 * time.Second

// SawMail tells the senders that this leader has had their messages before its eyes. Call it when that is so. What cannot
// be told is told the next time.
func (l *Leader) SawMail(ctx context.Context, mail ...natsbox.MailInfo) {
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	for _, m := range mail {
		if !m.Seen && !l.saw(ctx, m.From, m.ID) {
			return
		}
	}
}

// SawRequest is [Leader.SawMail] for a request that waits.
func (l *Leader) SawRequest(ctx context.Context, row *leader.Row) {
	if !row.Open() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, seenWait)
	defer cancel()
	var told []natsbox.ReceiptInfo
	err := l.box.Call(ctx, natsbox.VerbReceipts, natsbox.IDRequest{ID: row.ID()}, &told)
	mine := func(r natsbox.ReceiptInfo) bool { return r.From == l.bundle.Me && r.Receipt.State == mailbox.Seen }
	if err == nil && !slices.ContainsFunc(told, mine) {
		l.saw(ctx, row.From, row.ID())
	}
}

// saw tells it, and reports whether that is stored. Observers see, and have nothing to tell.
func (l *Leader) saw(ctx context.Context, from, id string) bool {
	if m, ok := l.charter.Member(l.bundle.Me); !ok || m.Role != charter.RoleLeader {
		return false
	}
	return leader.Tell(ctx, l.box, l.charter, l.bundle.Me, from, mailbox.Receipt{Of: id, State: mailbox.Seen}, time.Now()) == nil
}
