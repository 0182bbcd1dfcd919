package crashtest

import (
	"context"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// post is a mailbox whose owner may be killed with a letter in its hand: before it handles it, while it does, and when it
// has. To handle it takes a while, as disks do: what was sent before is with the broker by then. An acknowledgement that is
// sent too early would be, too.
type post struct {
	*natsbox.Conn
	l *life
}

// handling is how long a process is at a letter at least.
const handling = time.Millisecond

func (p post) while(handle func() error) error {
	if !p.l.cross() {
		return errKilled
	}
	select {
	case <-time.After(handling):
	case <-p.l.dead: // while the dead are buried, the clock may stand still
	}
	if !p.l.cross() {
		return errKilled
	}
	err := handle()
	if !p.l.cross() {
		return errKilled
	}
	return err
}

// ReceiveMail implements teammate.Box and leader.Box.
func (p post) ReceiveMail(ctx context.Context, handle func(context.Context, natsbox.Mail) error) error {
	return p.Conn.ReceiveMail(ctx, func(ctx context.Context, m natsbox.Mail) error {
		return p.while(func() error { return handle(ctx, m) })
	})
}

// ReceiveOrders implements teammate.Box.
func (p post) ReceiveOrders(ctx context.Context, handle func(context.Context, charter.Order, natsbox.StoredInfo) error) error {
	return p.Conn.ReceiveOrders(ctx, func(ctx context.Context, o charter.Order, at natsbox.StoredInfo) error {
		return p.while(func() error { return handle(ctx, o, at) })
	})
}
