package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// The errors of changing the roster.
var (
	// ErrNoEnrolment means that this coordinator holds no enrolment key: the owner must add the member.
	ErrNoEnrolment = errors.New("coordinator: nobody can be enrolled here")
	// ErrNameInUse means that another key has this name already.
	ErrNameInUse = errors.New("coordinator: the name belongs to another key")
)

// Enrol adds a teammate under the enrolment key and lets it in. The same name with the same key again changes nothing.
// The charter is saved before it counts. It works while Run does not.
func (c *Coordinator) Enrol(ctx context.Context, name, key string, kind charter.Kind) (charter.Signed, error) {
	if err := mailbox.CheckMember(name); err != nil {
		return charter.Signed{}, err
	}
	c.enrolling.Lock()
	defer c.enrolling.Unlock()
	now := c.now.Load()
	if m, ok := now.open.Member(name); ok {
		if m.Key == key && m.Role == charter.RoleTeammate && !m.Retired {
			return now.signed, nil
		}
		return charter.Signed{}, fmt.Errorf("%w (%s is in the team as %s): choose another name", ErrNameInUse, name, m.Role)
	}
	if c.cfg.Enrol == nil {
		return charter.Signed{}, fmt.Errorf("%w: ask the team's owner to add %s", ErrNoEnrolment, name)
	}
	m := charter.Member{Name: name, Role: charter.RoleTeammate, Kind: kind, Key: key}
	a, err := charter.SignAddition(c.cfg.Enrol, now.open, m)
	if err != nil {
		return charter.Signed{}, err
	}
	next := now.signed
	next.Additions = append(slices.Clone(next.Additions), a)
	return next, c.adopt(ctx, next, name)
}

// SetCharter puts a newer charter of the owner in force: one that is older than the present one is refused. Members
// that it retires or leaves out are cut off at once.
func (c *Coordinator) SetCharter(ctx context.Context, s charter.Signed) error {
	c.enrolling.Lock()
	defer c.enrolling.Unlock()
	return c.replace(ctx, s)
}

// replace puts a newer charter of the owner in force. The caller holds the lock.
func (c *Coordinator) replace(ctx context.Context, s charter.Signed) error {
	ch, err := c.root().Open(s)
	if err != nil {
		return fmt.Errorf("coordinator: new charter: %w", err)
	}
	if now := c.Charter().Serial; ch.Serial <= now { // the same serial again would lose who was enrolled under it
		return fmt.Errorf("coordinator: new charter: %w: serial %d, and %d is in force: sign it with a higher one",
			charter.ErrOldCharter, ch.Serial, now)
	}
	return c.adopt(ctx, s, "")
}

// amend is [Coordinator.SetCharter] for a charter that was made from the one in force. A leader brings it; that the owner
// has signed it is what counts.
func (r *running) amend(ctx context.Context, who charter.Member, data []byte) (any, error) {
	if who.Role != charter.RoleLeader {
		return nil, refusal(natsbox.CodeForbidden, "", "a charter is brought by a leader")
	}
	q, err := read[natsbox.AmendRequest](data)
	if err != nil {
		return nil, err
	}
	c := r.co
	c.enrolling.Lock()
	defer c.enrolling.Unlock()
	if now := c.Signed(); now.Sig != q.FromSig || len(now.Additions) != q.FromAdditions {
		return nil, refusal(natsbox.CodeMoved, "do it again", "the charter of team %s has changed meanwhile", r.team)
	}
	if err := c.replace(ctx, q.Charter); err != nil {
		return nil, refusal(natsbox.CodeForbidden, "sign it with the owner's key", "%v", err)
	}
	return struct{}{}, nil
}

// voidText tells the leaders what a hand-over of a compromised key means.
const voidText = "The team has another owner, because the key of the one before was in other hands. Every request that waits and every grant is void: all teammates are in plan mode and submit again. Look at swarm team list: whoever does not belong there was let in by a thief."

// root is what charters are checked with: the first owner's key, and how the team was handed over since.
func (c *Coordinator) root() charter.Root {
	return charter.Root{Founder: c.cfg.OwnerKey, Known: c.Signed().Handovers}
}

// adopt opens, saves, and then puts a charter in force.
func (c *Coordinator) adopt(ctx context.Context, s charter.Signed, name string) error {
	root := c.root()
	ch, err := root.Open(s)
	if err != nil {
		return fmt.Errorf("coordinator: new charter: %w", err)
	}
	owner, err := root.Owner(s.Handovers)
	if err != nil {
		return fmt.Errorf("coordinator: new charter: %w", err)
	}
	was := c.Charter()
	if c.cfg.Save != nil {
		if err := c.cfg.Save(s); err != nil {
			return fmt.Errorf("coordinator: save the charter: %w", err)
		}
	}
	r := c.running.Load()
	if r != nil {
		if err := r.noteSinces(ctx, ch); err != nil {
			c.cfg.Logger.Warn("a new member gets old mail to all", "error", err)
		}
	}
	c.now.Store(&constitution{signed: s, open: ch})
	c.auth.Update(ch)
	c.cfg.Logger.Info("charter in force", "serial", ch.Serial, "members", len(ch.Members))
	if r != nil {
		r.ledger.note(audit.EventCharter, name, changes(was, ch, owner))
		if owner.Voided > was.Serial {
			for _, to := range []string{mailbox.Lead, mailbox.All} {
				r.tellByMail(ctx, to, voidText)
			}
		}
		r.nudge(ctx, event{Kind: "charter", From: name})
	}
	return nil
}

// nudge tells consoles something, if we run. Inside of a request, whoever closes waits for that request: nobody waits for
// it here, and nobody is told.
func (r *running) nudge(ctx context.Context, ev event) {
	if !r.gate.TryRLock() {
		return
	}
	defer r.gate.RUnlock()
	if !r.closed {
		_ = r.owner.ask(ctx, func(*index) { r.owner.tell(ev) })
	}
}
