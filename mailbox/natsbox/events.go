package natsbox

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
)

// Events calls fn for each hint that something has changed, until ctx ends. Leaders and observers only; [ErrForbidden]
// otherwise. Hints may be lost; read the coordinator's service for what is so, also after "connected", which is said
// whenever listening begins anew.
func (c *Conn) Events(ctx context.Context, fn func(kind string, data []byte)) error {
	for {
		l, err := c.connected(ctx)
		if err != nil {
			return err
		}
		if err := c.listen(ctx, l, fn); err != nil {
			return err
		}
		if !pause(ctx, 50*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// listen hands hints over as long as one link lasts.
func (c *Conn) listen(ctx context.Context, l link, fn func(kind string, data []byte)) error {
	subject := mailbox.EventSubject(c.cfg.Team, ">")
	denied, unwatch := c.denial(subject)
	defer unwatch()
	msgs := make(chan *nats.Msg, 1024)
	sub, err := l.nc.ChanSubscribe(subject, msgs)
	if err != nil {
		return nil // the link is ending
	}
	defer func() { _ = sub.Unsubscribe() }()
	fn("connected", nil)
	prefix := len(mailbox.EventSubject(c.cfg.Team, ""))
	for {
		select {
		case m := <-msgs:
			fn(m.Subject[prefix:], m.Data)
		case err := <-denied:
			return err
		case <-l.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
