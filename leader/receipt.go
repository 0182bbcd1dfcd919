package leader

import (
	"context"
	"errors"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Caller asks the coordinator's service. [*natsbox.Conn] is one.
type Caller interface {
	Call(ctx context.Context, verb string, in, out any) error
}

// How often a receipt is asked for: often at first, since most come within a second.
const (
	receiptEvery    = 25 * time.Millisecond
	receiptEveryMax = 500 * time.Millisecond
)

// WaitReceipt waits until the teammate has applied or refused the decision of its request, and returns that receipt. When
// ctx ends first it returns the furthest receipt there was, which may be none, and the context's cause. A service that
// is away is waited for. Receipts are what a teammate says; they prove nothing.
func WaitReceipt(ctx context.Context, box Caller, teammate, requestID string) (mailbox.Receipt, error) {
	var last mailbox.Receipt
	for every := receiptEvery; ; every = min(2*every, receiptEveryMax) {
		var receipts []natsbox.ReceiptInfo
		err := box.Call(ctx, natsbox.VerbReceipts, natsbox.IDRequest{ID: requestID}, &receipts)
		if err != nil && ctx.Err() == nil && !errors.Is(err, natsbox.ErrUnreachable) {
			return last, err
		}
		for _, r := range receipts {
			if r.From != teammate {
				continue // about somebody else's request: worth nothing
			}
			if r.Receipt.State == mailbox.Applied || r.Receipt.State == mailbox.Refused {
				return r.Receipt, nil
			}
			last = r.Receipt
		}
		if err := sleep(ctx, every); err != nil {
			return last, err
		}
	}
}

// sleep waits, and returns the context's cause when that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
