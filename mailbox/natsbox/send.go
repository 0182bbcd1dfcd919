package natsbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// MaxMail is the largest piece of mail that a mailbox takes: a plan of 2 MiB in base64, with everything around it.
const MaxMail = 3 << 20

// MaxPerSender is how much mail of one kind from one sender a mailbox takes.
const MaxPerSender = 10000

// recipientFor is how long a recipient that the coordinator knew is not asked for again.
const recipientFor = time.Minute

// Stored is where a message lies. It is on disk, as far as the broker's sync setting says so.
type Stored struct {
	Stream string
	Seq    uint64
}

// Send puts an envelope into its recipient's mailbox and returns when it is stored there.
//
// Errors: [ErrNoRecipient] with the nearest names, [ErrMailboxFull], [ErrStoreFull], [ErrTooLarge] before anything is
// sent, [ErrForbidden] for a kind or a sender that is not ours to use, [ErrMuted] while our mail is not taken, [ErrUnreachable] when the broker did not answer
// within Config.Wait: then it may have been stored, and sending the same envelope again is safe.
func (c *Conn) Send(ctx context.Context, e mailbox.Envelope) (Stored, error) {
	if e.Team != c.cfg.Team || e.From != c.cfg.Me {
		return Stored{}, fmt.Errorf("%w: an envelope of %s in %s: send as %s in %s", ErrForbidden, e.From, e.Team, c.cfg.Me, c.cfg.Team)
	}
	data, err := mailbox.Encode(e)
	if err == nil {
		err = checkMail(e.Kind, data)
	}
	if errors.Is(err, mailbox.ErrTooLarge) {
		return Stored{}, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	if err != nil {
		return Stored{}, fmt.Errorf("natsbox: send: %w", err)
	}
	ctx, cancel := c.limit(ctx)
	defer cancel()
	if err := c.recipient(ctx, e.To); err != nil {
		return Stored{}, err
	}
	stored, err := c.store(ctx, mailbox.MailSubject(e.Team, e.To, e.From, e.Kind), nil, data)
	if errors.Is(err, ErrForbidden) {
		err = c.muted(ctx, err)
	}
	return stored, err
}

// checkMail refuses what is larger than its mailbox takes. Only kinds that carry a plan may be larger than text.
func checkMail(k mailbox.Kind, data []byte) error {
	most := MaxMail - headroom
	if k != mailbox.KindPlanApprovalRequest && k != mailbox.KindEndorsement {
		most = mailbox.MaxText
	}
	if len(data) > most {
		return fmt.Errorf("%w: a %s of %d bytes, at most %d: send less in one piece", ErrTooLarge, k, len(data), most)
	}
	return nil
}

// recipient makes sure that somebody of this name is in the team. When the coordinator is away, who was known stays
// known.
func (c *Conn) recipient(ctx context.Context, name string) error {
	if name == mailbox.Lead || name == mailbox.All {
		return nil
	}
	c.mu.Lock()
	at, known := c.members[name]
	c.mu.Unlock()
	if known && time.Since(at) < recipientFor {
		return nil
	}
	look, cancel := ctx, context.CancelFunc(func() {})
	if known = known || c.inCharter(name); known {
		look, cancel = context.WithTimeout(ctx, 500*time.Millisecond) // no need to wait for what we believe already
	}
	defer cancel()
	var r Resolved
	err := c.Call(look, VerbResolve, ResolveRequest{Name: name}, &r)
	if err == nil || known && errors.Is(err, ErrUnreachable) && ctx.Err() == nil {
		c.remember(name)
		return nil
	}
	return err
}

func (c *Conn) remember(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[name] = time.Now()
}

// inCharter looks a name up in the charter that came with the welcome. It decides nothing but whether mail goes out.
func (c *Conn) inCharter(name string) bool {
	c.mu.Lock()
	w := c.welcome
	c.mu.Unlock()
	if w == nil {
		return false
	}
	var ch charter.Charter
	if json.Unmarshal(w.Charter.Payload, &ch) != nil {
		return false
	}
	for _, a := range w.Charter.Additions {
		var m charter.AddedMember
		if json.Unmarshal(a.Payload, &m) == nil {
			ch.Members = append(ch.Members, m.Member)
		}
	}
	return slices.ContainsFunc(ch.Members, func(m charter.Member) bool { return m.Name == name && !m.Retired })
}

// PutOrder stores a signed order that answers no request. The payload is the whole envelope, exactly as it was signed.
// Errors are those of [Conn.Send].
func (c *Conn) PutOrder(ctx context.Context, to string, kind mailbox.Kind, payload []byte, sigs []string) (Stored, error) {
	ctx, cancel := c.limit(ctx)
	defer cancel()
	if err := c.recipient(ctx, to); err != nil {
		return Stored{}, err
	}
	return c.store(ctx, mailbox.OrderSubject(c.cfg.Team, to, c.cfg.Me, kind), sigHeader(sigs), payload)
}

func sigHeader(sigs []string) nats.Header { return nats.Header{charter.SigHeader: slices.Clone(sigs)} }

// maxStatus bounds what a member says about itself.
const maxStatus = 64 << 10

// SetStatus replaces this member's last word about itself. It is not stored on disk, and is lost without an error when
// the connection breaks meanwhile: say it again.
func (c *Conn) SetStatus(ctx context.Context, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("natsbox: status: %w", err)
	}
	if len(data) > maxStatus {
		return fmt.Errorf("%w: a status of %d bytes, at most %d: say less", ErrTooLarge, len(data), maxStatus)
	}
	ctx, cancel := c.limit(ctx)
	defer cancel()
	l, err := c.connected(ctx)
	if err != nil {
		return err
	}
	if err := l.nc.Publish(mailbox.StatusSubject(c.cfg.Team, c.cfg.Me), data); err != nil {
		return fmt.Errorf("%w: status: %w", ErrUnreachable, err)
	}
	return nil
}
