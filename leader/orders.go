package leader

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// Orders stores orders that answer nothing, and asks for the counter that the next one needs. [*natsbox.Conn] is one.
type Orders interface {
	Caller
	PutOrder(ctx context.Context, to string, kind mailbox.Kind, payload []byte, sigs []string) (natsbox.Stored, error)
}

// Ordered is an order that is stored. Wait for what became of it with [WaitReceipt] and its ID.
type Ordered struct {
	ID      string // of its envelope: what the teammate's receipt names
	To      string
	Kind    mailbox.Kind
	Counter uint64 // above that of every earlier order of this leader to this teammate
	At      time.Time
}

// OrderMode orders a teammate another permission mode. Mode plan is the recall: it ends the teammate's grants and sends it
// back to planning, and any leader may order it. While a teammate plans, another mode is what an approval restores.
//
// Like every order it is checked before it is signed, with what the teammate checks when it arrives: the mode, the cap,
// and what the charter lets this signer decide. The errors are [Error]s, and nothing was stored then. With
// [natsbox.ErrUnreachable] it is not known whether it was; ordering again is safe.
func OrderMode(ctx context.Context, box Orders, s Signer, c charter.Charter, to string, m permissions.Mode, reason string) (Ordered, error) {
	mode, err := permissions.ParseMode(string(m))
	switch {
	case err != nil:
		return Ordered{}, errBadChoice("choose "+orderable(c.Caps.Mode), "unknown mode %s", quote(string(m)))
	case mode != permissions.ModePlan && (!c.Caps.Mode.Known() || mode.Above(c.Caps.Mode)):
		return Ordered{}, errAboveCap(string(m), mode, c.Caps.Mode, orderable(c.Caps.Mode), planmode.ErrAboveCap)
	}
	o := order{box: box, signer: s, charter: c, to: to, reason: reason, asked: charter.Asked{Mode: mode}, widens: mode != permissions.ModePlan}
	return give(ctx, o, mailbox.KindModeSetRequest, func(h mailbox.OrderHead, counter uint64) planmode.ModeSet {
		return planmode.ModeSet{OrderHead: h, Counter: counter, Mode: mode, Reason: reason}
	})
}

// OrderRevoke ends one grant of a teammate, or all of them when grantID is empty, and what runs under them. It is checked
// as [OrderMode] says. A grant that has ended already is no error: the receipt's count says how many were ended.
func OrderRevoke(ctx context.Context, box Orders, s Signer, c charter.Charter, to, grantID, reason string) (Ordered, error) {
	o := order{box: box, signer: s, charter: c, to: to, reason: reason}
	return give(ctx, o, mailbox.KindGrantRevoked, func(h mailbox.OrderHead, counter uint64) planmode.GrantRevoked {
		return planmode.GrantRevoked{OrderHead: h, Counter: counter, GrantID: grantID, All: grantID == "", Reason: reason}
	})
}

// OrderStop orders a teammate to leave the team. It is checked as [OrderMode] says.
func OrderStop(ctx context.Context, box Orders, s Signer, c charter.Charter, to, reason string) (Ordered, error) {
	o := order{box: box, signer: s, charter: c, to: to, reason: reason}
	return give(ctx, o, mailbox.KindShutdownRequest, func(h mailbox.OrderHead, counter uint64) mailbox.ShutdownRequest {
		return mailbox.ShutdownRequest{OrderHead: h, Counter: counter, Reason: reason}
	})
}

// order is what all orders have in common.
type order struct {
	box     Orders
	signer  Signer
	charter charter.Charter
	to      string
	reason  string
	asked   charter.Asked
	widens  bool // gives more than the teammate has: the charter may reserve it
}

// give checks, signs and stores an order with the next counter.
func give[T any](ctx context.Context, o order, kind mailbox.Kind, body func(mailbox.OrderHead, uint64) T) (Ordered, error) {
	if err := o.check(); err != nil {
		return Ordered{}, err
	}
	counter, err := o.next(ctx)
	if err != nil {
		return Ordered{}, err
	}
	now := time.Now()
	head := o.signer.head(o.charter, &Row{}, mailbox.OrderHead{DecidedAt: now.UTC()})
	env, err := mailbox.New(natsbox.NewID(), kind, o.charter.Team, o.signer.Member.Name, o.to, 0, now, body(head, counter))
	if err != nil {
		return Ordered{}, fmt.Errorf("leader: write the order: %w", err)
	}
	signed, err := o.signer.seal(mailbox.OrderSubject(o.charter.Team, o.to, env.From, kind), env)
	if err != nil {
		return Ordered{}, err
	}
	if err := o.judge(signed, now); err != nil {
		return Ordered{}, err
	}
	if _, _, err := charter.OpenOrder[T](o.charter, signed); err != nil {
		return Ordered{}, fmt.Errorf("leader: the order would not be readable: %w", err)
	}
	if _, err := o.box.PutOrder(ctx, o.to, kind, signed.Payload, signed.Sigs); err != nil {
		return Ordered{}, err
	}
	return Ordered{ID: env.ID, To: o.to, Kind: kind, Counter: counter, At: now}, nil
}

// check refuses an order by no leader or to nobody, and a reason that is too long or no text.
func (o order) check() error {
	key, err := o.signer.Key.PublicKey()
	if err != nil {
		return fmt.Errorf("leader: the key of %s: %w", o.signer.Member.Name, err)
	}
	signer, known := o.charter.ByKey(key)
	m, ok := o.charter.Member(o.to)
	switch {
	case !known || signer.Role != charter.RoleLeader || signer.Retired:
		return errNotALeader(key, signer, known, o.charter.Team)
	case !ok || m.Retired:
		return errNoTeammate(o.to, o.charter)
	case m.Role != charter.RoleTeammate:
		return errBadChoice("name a teammate: "+teammateNames(o.charter), "%s is %s, and takes no orders", quote(o.to), article(string(m.Role)))
	case len(o.reason) > maxText:
		return errBadChoice(fmt.Sprintf("at most %d are sent", maxText), "the reason has %d bytes", len(o.reason))
	}
	return checkUTF8("the reason", o.reason)
}

// next is the counter above that of this leader's last order to the teammate.
func (o order) next(ctx context.Context) (uint64, error) {
	var info natsbox.CounterInfo
	if err := o.box.Call(ctx, natsbox.VerbCounter, natsbox.CounterRequest{To: o.to}, &info); err != nil {
		return 0, err
	}
	if info.Counter >= math.MaxInt64 { // beyond it JSON readers differ
		return 0, errBadChoice("have the owner give you a new key", "the counter of your orders to %s is used up", quote(o.to))
	}
	return info.Counter + 1, nil
}

// judge is what the teammate's session checks about the signatures of an order.
func (o order) judge(signed charter.Order, now time.Time) error {
	who := charter.Judge(o.charter, signed, o.asked, o.widens, now)
	switch {
	case !who.Leader:
		return o.signer.notALeader(o.charter)
	case !o.widens:
		return nil
	case who.NeedsPerson:
		return errOrderReserved(o.to, NameNeedsPerson, planmode.ErrNeedsPerson, who.Reason, "ask a person among the leaders")
	case who.WeakKey:
		return errOrderReserved(o.to, NameWeakKey, planmode.ErrWeakKey, who.Reason, "ask a leader whose key is kept better")
	case !who.QuorumMet:
		return errOrderReserved(o.to, NameNeedsSignatures, planmode.ErrQuorum, who.Reason, "ask another leader to sign with you")
	}
	return nil
}

// seal writes an envelope and signs it for its subject.
func (s Signer) seal(subject string, env mailbox.Envelope) (charter.Order, error) {
	o := charter.Order{Subject: subject}
	var err error
	if o.Payload, err = mailbox.Encode(env); err != nil {
		return charter.Order{}, fmt.Errorf("leader: write the order: %w", err)
	}
	sig, err := charter.SignOrder(s.Key, o.Subject, o.Payload)
	if err != nil {
		return charter.Order{}, err
	}
	o.Sigs = []string{sig}
	return o, nil
}

// teammatesOf are the names of the teammates of today.
func teammatesOf(c charter.Charter) []string {
	var names []string
	for _, m := range c.Members {
		if m.Role == charter.RoleTeammate && !m.Retired {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

func teammateNames(c charter.Charter) string {
	names := teammatesOf(c)
	if len(names) == 0 {
		return "there is none yet"
	}
	return plans.Cut(strings.Join(names, ", "), 200)
}
