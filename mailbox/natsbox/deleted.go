package natsbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
)

// KeepMail is for how long mail is kept that everybody has handled.
const KeepMail = 14 * 24 * time.Hour

// minDeleted is how much of an id names a letter that was deleted, in characters.
const minDeleted = 6

// Deleted returns what the audit ledger, and receipts that are still there, know of a letter that is not in the store any
// more, by its id or the beginning of that; of several the last one. It is for leaders, for after [Conn.Trace] has found
// nothing. [ErrNotFound] when the ledger knows none either.
func (c *Conn) Deleted(ctx context.Context, id string) (Trace, error) {
	none := fmt.Errorf("%w: no letter %q", ErrNotFound, id)
	if id = strings.TrimSpace(id); len(id) < minDeleted {
		return Trace{}, none
	}
	var found *audit.Entry
	err := c.Audit(ctx, func(l audit.Line) error {
		e, err := audit.Read(l.Entry)
		if err == nil && e.Event == audit.EventMail && e.Source != nil && strings.HasPrefix(e.Note, id) {
			found = &e
		}
		return nil // one that cannot be read is for swarm audit verify
	})
	switch {
	case err != nil:
		return Trace{}, err
	case found == nil:
		return Trace{}, none
	}
	s, err := mailbox.ParseSubject(found.Source.Subject)
	if err != nil {
		return Trace{}, none
	}
	t := Trace{ID: found.Note, Kind: s.Kind, From: s.From, To: s.To, Gone: goneWhy}
	t.Steps = []TraceStep{{State: TraceStored, At: found.At, By: s.From, Stream: found.Source.Stream, Seq: found.Source.Seq}}
	var receipts []ReceiptInfo
	if err := c.Call(ctx, VerbReceipts, IDRequest{ID: t.ID}, &receipts); err != nil {
		return Trace{}, err
	}
	for _, r := range receipts {
		t.Steps = append(t.Steps, TraceStep{State: string(r.Receipt.State), At: r.StoredAt, By: r.From, Reason: r.Receipt.Reason})
	}
	return t, nil
}

var goneWhy = fmt.Sprintf("it is not in the store any more: mail that everybody has handled is deleted after %d days, or sooner where a mailbox is half full", int(KeepMail.Hours()/24))
