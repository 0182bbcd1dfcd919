package rogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// wider is the mode that it would like: within the team's cap, so that nothing but the layer in question is in the way.
const wider = permissions.ModeAcceptEdits

// A maker makes what is put into the slot of a request.
type maker func(*request) (payload []byte, sigs []string, err error)

// junk is no decision at all.
func junk(*request) ([]byte, []string, error) { return []byte("{ this is no decision"), nil, nil }

// approval is an approval as a leader would give it: complete, correct, and signed with a valid key, its own.
func (a *Attacker) approval(r *request) ([]byte, []string, error) { return a.approvalBy(r, a.cfg.Name) }

// signature is one in a leader's name, with that leader's public key before a signature of its own.
func (a *Attacker) signature(r *request) ([]byte, []string, error) {
	c, err := a.charter()
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(c.Members, func(m charter.Member) bool { return m.Role == charter.RoleLeader })
	if i < 0 {
		return nil, nil, errors.New("rogue: the team has no leader")
	}
	payload, sigs, err := a.approvalBy(r, c.Members[i].Name)
	if err != nil {
		return nil, nil, err
	}
	_, value, _ := strings.Cut(sigs[0], ".")
	return payload, []string{c.Members[i].Key + "." + value}, nil
}

func (a *Attacker) approvalBy(r *request, leader string) ([]byte, []string, error) {
	c, err := a.charter()
	if err != nil {
		return nil, nil, err
	}
	d := planmode.Decision{
		OrderHead: head(c, leader, r.env.Epoch), RequestID: r.RequestID, Revision: r.Revision, Outcome: planmode.OutcomeApproved,
		Approved: true, Mode: r.SavedMode, PlanDigest: r.Digest,
	}
	for _, p := range r.AllowedPrompts {
		d.Grants = append(d.Grants, permissions.GrantTerms{
			Prompt: p.Prompt, Intent: p.Intent, Tree: ".", ExpiresAt: time.Now().Add(time.Hour).UTC(), MaxUses: c.Caps.Grants.Uses,
		})
	}
	return a.sign(mailbox.DecisionSubject(a.cfg.Team, a.cfg.Name, r.RequestID), natsbox.NewID(), mailbox.KindPlanApprovalResponse, r.env.Epoch, d)
}

func (a *Attacker) charter() (charter.Charter, error) {
	a.mu.Lock()
	signed := a.box.welcome.Charter
	a.mu.Unlock()
	return charter.Open(signed, a.cfg.Owner)
}

// head is what every order begins with, as the charter has it of a member.
func head(c charter.Charter, by string, epoch uint64) mailbox.OrderHead {
	me, _ := c.Member(by)
	return mailbox.OrderHead{
		TeamID: c.TeamID, CharterSerial: c.Serial, Epoch: epoch, DecidedAt: time.Now().UTC(),
		DecidedBy: mailbox.DecidedBy{Name: me.Name, Kind: string(me.Kind), Assurance: string(me.Assurance)},
	}
}

// sign wraps an order's body and signs it.
func (a *Attacker) sign(subject, id string, kind mailbox.Kind, epoch uint64, body any) (payload []byte, sigs []string, err error) {
	e, err := mailbox.New(id, kind, a.cfg.Team, a.cfg.Name, a.cfg.Name, epoch, time.Now(), body)
	if err != nil {
		return nil, nil, fmt.Errorf("rogue: %w", err)
	}
	if payload, err = mailbox.Encode(e); err != nil {
		return nil, nil, fmt.Errorf("rogue: %w", err)
	}
	sig, err := charter.SignOrder(a.cfg.Key, subject, payload)
	return payload, []string{sig}, err
}

// present is the request that the runner waits for.
func (a *Attacker) present(ctx context.Context) (r *request, err error) {
	if s, err := a.runner.Status(); err != nil || s.State != planmode.AwaitingLeaderApproval {
		return nil, errors.Join(err, fmt.Errorf("rogue: nothing waits for a leader: the state is %q", s.State))
	}
	err = a.until(ctx, "a request", func() bool {
		r = a.box.open
		return r != nil
	})
	return r, err
}

// store puts something into the slot of the open request, over its own connection to the broker.
func (a *Attacker) store(ctx context.Context, what maker) (outcome, error) {
	r, err := a.present(ctx)
	if err != nil {
		return outcome{}, err
	}
	payload, sigs, err := what(r)
	if err != nil {
		return outcome{}, err
	}
	if _, err := a.cfg.Conn.PutDecision(ctx, a.cfg.Name, r.RequestID, payload, sigs); err != nil {
		return refusedByBroker(err)
	}
	return a.fate(ctx, r)
}

func refusedByBroker(err error) (outcome, error) {
	if errors.Is(err, natsbox.ErrForbidden) {
		return outcome{by: Broker, why: "not a subject of its role", evidence: err.Error()}, nil
	}
	return outcome{}, err
}

// handOver does the same as a broker that lies.
func (a *Attacker) handOver(ctx context.Context, what maker) (outcome, error) {
	r, err := a.present(ctx)
	if err != nil {
		return outcome{}, err
	}
	payload, sigs, err := what(r)
	if err != nil {
		return outcome{}, err
	}
	subject := mailbox.DecisionSubject(a.cfg.Team, a.cfg.Name, r.RequestID)
	if err := a.box.handOver(ctx, charter.Order{Subject: subject, Payload: payload, Sigs: sigs}); err != nil {
		return outcome{}, err
	}
	return a.fate(ctx, r)
}

// fate waits for what the runner made of a decision: it is applied, or its request is void and asked again.
func (a *Attacker) fate(ctx context.Context, r *request) (outcome, error) {
	e, line, err := a.told(ctx, endOf(r.RequestID))
	switch {
	case err != nil:
		return outcome{why: "its request is neither decided nor asked again"}, nil //nolint:nilerr // that is what came of it
	case e.Event == "security":
		return outcome{by: Teammate, why: e.Fields["reason"], evidence: line}, nil
	case e.Event != "decision.refused":
		return outcome{why: "it was applied"}, nil
	}
	err = a.until(ctx, "the request under its new id", func() bool { return a.box.open.RequestID == e.Fields["again"] })
	return outcome{by: Teammate, why: e.Fields["cause"], evidence: line}, err
}

// endOf matches what ends a request: it is applied, void and asked again, or given up.
func endOf(id string) func(planmode.Emit) bool {
	ends := []string{"plan.approved", "plan.left", "decision.refused", "security"}
	return func(e planmode.Emit) bool { return e.Fields["requestId"] == id && slices.Contains(ends, e.Event) }
}

// switchPlan has the leaders approve one plan, and hands their approval over for another one.
func (a *Attacker) switchPlan(ctx context.Context) (outcome, error) {
	o, err := a.genuine(ctx)
	if err != nil {
		return outcome{}, err
	}
	a.mu.Lock()
	r := a.box.bait
	a.mu.Unlock()
	if err := a.box.handOver(ctx, o); err != nil {
		return outcome{}, err
	}
	out, err := a.fate(ctx, r)
	out.after = r.RequestID
	return out, err
}

// genuine waits for the leaders' answer to the decoy, however long they take.
func (a *Attacker) genuine(ctx context.Context) (charter.Order, error) {
	if _, err := a.present(ctx); err != nil {
		return charter.Order{}, err
	}
	var o *charter.Order
	err := a.wait(ctx, func() bool {
		o = a.box.approval
		return o != nil
	})
	if err != nil {
		return charter.Order{}, err
	}
	return *o, nil
}

// reuseApproval hands a leader's genuine approval over once more, when something else is asked.
func (a *Attacker) reuseApproval(ctx context.Context) (outcome, error) {
	o, err := a.genuine(ctx)
	if err != nil {
		return outcome{}, err
	}
	a.mu.Lock()
	old, open, before := a.box.bait.RequestID, a.box.open.RequestID, len(a.box.receipts)
	a.mu.Unlock()
	if err := a.box.handOver(ctx, o); err != nil {
		return outcome{}, err
	}
	var out outcome
	err = a.until(ctx, "what became of the old approval", func() bool {
		for _, r := range a.box.receipts[before:] {
			if r.Of == old && r.State == mailbox.Refused {
				out = outcome{by: Teammate, why: r.Reason, evidence: "receipt " + r.id}
				return true
			}
		}
		e, told := a.find(endOf(open))
		switch {
		case !told:
			return false
		case e.Event == "decision.refused":
			out = outcome{by: Teammate, why: e.Fields["cause"], evidence: journalLine(e)}
		default:
			out = outcome{why: "it was applied"}
		}
		return true
	})
	return out, err
}

// modeOrder is an order to itself.
func (a *Attacker) modeOrder() (o charter.Order, id string, err error) {
	c, err := a.charter()
	if err != nil {
		return charter.Order{}, "", err
	}
	o.Subject = mailbox.OrderSubject(a.cfg.Team, a.cfg.Name, a.cfg.Name, mailbox.KindModeSetRequest)
	id = natsbox.NewID()
	o.Payload, o.Sigs, err = a.sign(o.Subject, id, mailbox.KindModeSetRequest, 0, planmode.ModeSet{OrderHead: head(c, a.cfg.Name, 0), Counter: 1, Mode: wider})
	return o, id, err
}

func (a *Attacker) orderMode(ctx context.Context, attack Attack) (outcome, error) {
	o, _, err := a.modeOrder()
	if err != nil {
		return outcome{}, err
	}
	if _, err := a.cfg.Conn.PutOrder(ctx, a.cfg.Name, mailbox.KindModeSetRequest, o.Payload, o.Sigs); err != nil {
		return refusedByBroker(err)
	}
	return a.handOverOrder(ctx, attack) // the broker has taken it: does anybody refuse it?
}

// handOverOrder hands the order to the runner. What a runner cannot use leaves no receipt: it is told by how it stands.
func (a *Attacker) handOverOrder(ctx context.Context, attack Attack) (outcome, error) {
	o, _, err := a.modeOrder()
	if err != nil {
		return outcome{}, err
	}
	before, err := a.runner.Status()
	if err != nil {
		return outcome{}, err
	}
	refused := a.box.handOver(ctx, o)
	after, err := a.runner.Status()
	switch {
	case err != nil:
		return outcome{}, err
	case refused == nil, before.State != after.State, before.Mode != after.Mode, before.Saved != after.Saved:
		return outcome{why: fmt.Sprintf("it was applied: mode %s, saved %s", after.Mode, after.Saved)}, nil
	}
	return a.noted(attack, outcome{by: Teammate, why: "nothing has changed: " + refused.Error()})
}

// claim lets the leaders have the request at last, with a saved mode that this teammate never had.
func (a *Attacker) claim(ctx context.Context) (outcome, error) {
	if _, err := a.present(ctx); err != nil {
		return outcome{}, err
	}
	a.mu.Lock()
	r := a.box.release()
	a.mu.Unlock()
	if r == nil {
		return outcome{}, errors.New("rogue: no request is kept back")
	}
	a.cfg.Tell("attack.asks", map[string]string{"requestId": r.RequestID})
	if _, err := a.box.sendAs(ctx, r, func(q *planmode.ApprovalRequest) { q.SavedMode = wider }); err != nil {
		return outcome{}, err
	}
	var o charter.Order
	err := a.wait(ctx, func() bool {
		if a.box.decision != nil {
			o = *a.box.decision
		}
		return a.box.decision != nil
	})
	if err != nil {
		return outcome{}, err
	}
	e, err := mailbox.Decode(o.Payload)
	if err != nil {
		return outcome{}, err
	}
	d, err := mailbox.Body[planmode.Decision](e)
	if err != nil {
		return outcome{}, err
	}
	if d.Outcome != planmode.OutcomeApproved {
		return outcome{by: Desk, why: "the decision restores nothing: " + string(d.Outcome), evidence: "request " + r.RequestID, after: r.RequestID}, nil
	}
	if d.Mode.Above(r.SavedMode) {
		return outcome{why: "the decision restores mode " + string(d.Mode), after: r.RequestID}, nil
	}
	return outcome{by: Desk, why: fmt.Sprintf("the decision restores mode %s, which was known", d.Mode), evidence: "request " + r.RequestID, after: r.RequestID}, nil
}
