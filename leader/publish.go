package leader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/facts"
)

// Slots stores an order that answers a request, write-once. [*natsbox.Conn] is one.
type Slots interface {
	PutDecision(ctx context.Context, to, requestID string, payload []byte, sigs []string) (charter.Order, error)
}

// Signer signs for one leader.
type Signer struct {
	Key    nkeys.KeyPair
	Member charter.Member // as the charter has it
	Via    string         // command, console, web; a rule's decision says policy:<rule> by itself
}

// Ledger knows the end of the team's audit ledger. A [Slots] that is one has it named in each decision: who cuts the ledger
// later contradicts the signature.
type Ledger interface {
	LedgerHead(ctx context.Context) (audit.Head, error)
}

// ledger is the end of the audit ledger now, nil where there is none, or where nobody answers: that delays no decision.
func ledger(ctx context.Context, box Slots) *planmode.Ledger {
	l, ok := box.(Ledger)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	h, err := l.LedgerHead(ctx)
	if err != nil || h.Seq == 0 {
		return nil
	}
	head := planmode.Ledger(h)
	return &head
}

// Publish makes a decision: it is the one place where that happens. It checks what the teammate will check, with the same
// functions and on the bytes that it signed: the request's digest, the decision's terms, and what the charter lets these
// signers decide. Only then it stores them, write-once, and reads the slot back. The decision is returned as it is stored.
//
// A decision that was stored before is a [DecidedError], which names its maker. Other refusals are [Error]s; nothing was
// stored then. With [natsbox.ErrUnreachable] it is not known whether it was: publish again, the slot takes one.
func Publish(ctx context.Context, box Slots, s Signer, c charter.Charter, r Row, d planmode.Decision) (planmode.Decision, error) {
	v, err := s.decide(ctx, box, c, &r, d)
	if err == nil {
		err = s.explain(r.judge(c, v, time.Now()), &r, c)
	}
	if err != nil {
		return planmode.Decision{}, err
	}
	return store[planmode.Decision](ctx, box, c, s.Member.Name, &r, v.Order)
}

// decide makes a decision and signs it, when it could be applied. Whether this signature is enough is for [Row.judge].
func (s Signer) decide(ctx context.Context, box Slots, c charter.Charter, r *Row, d planmode.Decision) (*Vote, error) {
	if err := r.mayBeAnswered(c, s.Member.Name); err != nil {
		return nil, err
	}
	if r.Request == nil {
		return nil, errNotAPlan(r)
	}
	if err := s.mayReject(c, r, !ends(d)); err != nil {
		return nil, err
	}
	d.OrderHead = s.head(c, r, d.OrderHead)
	if err := r.checkTerms(c, d, time.Now()); err != nil { // nothing is signed that could not be applied
		return nil, s.explain(err, r, c)
	}
	d.Ledger = ledger(ctx, box) // as late as can be: another leader may be deciding
	order, err := s.sign(c, r, mailbox.KindPlanApprovalResponse, d)
	return &Vote{Order: order, By: []charter.Member{s.Member}, Decision: &d}, err
}

// checkTerms says what the teammate would refuse of a decision, whoever signs it.
func (r *Row) checkTerms(c charter.Charter, d planmode.Decision, now time.Time) error {
	check := planmode.NewCheck(*r.Request, r.From, r.Epoch, c)
	check.Decision, check.Now = d, now
	return planmode.CheckTerms(check)
}

// judgeDecision says what the teammate would refuse of a signed decision.
func (r *Row) judgeDecision(c charter.Charter, o charter.Order, d planmode.Decision, now time.Time) error {
	check := planmode.NewCheck(*r.Request, r.From, r.Epoch, c)
	check.Decision, check.Now = d, now
	all, listed := r.asked(d)
	for _, asked := range all {
		check.Authority = charter.Judge(c, o, asked, ends(d), now)
		if err := planmode.CheckDecision(check); err != nil {
			return err
		}
	}
	if ends(d) && !listed && !slices.ContainsFunc(check.Authority.Signers, isPerson) {
		return errNeedsPerson(r, "it names more files than can be listed")
	}
	return nil
}

// PublishAnswer answers a permission request, as [Publish] decides a plan. Request id and call hash are filled in.
func PublishAnswer(ctx context.Context, box Slots, s Signer, c charter.Charter, r Row, a planmode.PermissionAnswer) (planmode.PermissionAnswer, error) {
	v, err := s.answer(c, &r, a)
	if err == nil {
		err = s.explain(r.judge(c, v, time.Now()), &r, c)
	}
	if err != nil {
		return planmode.PermissionAnswer{}, err
	}
	return store[planmode.PermissionAnswer](ctx, box, c, s.Member.Name, &r, v.Order)
}

// answer makes the answer to a call and signs it. Whether this signature is enough is for [Row.judge].
func (s Signer) answer(c charter.Charter, r *Row, a planmode.PermissionAnswer) (*Vote, error) {
	if err := r.mayBeAnswered(c, s.Member.Name); err != nil {
		return nil, err
	}
	if r.Permission == nil {
		return nil, errNotACall(r)
	}
	if err := s.mayReject(c, r, a.Behavior != permissions.BehaviorAllow); err != nil {
		return nil, err
	}
	a.RequestID, a.CallHash = r.Permission.RequestID, r.Permission.CallHash
	a.OrderHead = s.head(c, r, a.OrderHead)
	order, err := s.sign(c, r, mailbox.KindPermissionResponse, a)
	return &Vote{Order: order, By: []charter.Member{s.Member}, Answer: &a}, err
}

// judgeAnswer says what the teammate would refuse of a signed answer.
func (r *Row) judgeAnswer(c charter.Charter, o charter.Order, a planmode.PermissionAnswer, now time.Time) error {
	for _, asked := range r.askedOfCall() {
		who := charter.Judge(c, o, asked, a.Behavior == permissions.BehaviorAllow, now)
		switch {
		case !who.Leader:
			return planmode.ErrNotLeader
		case who.NeedsPerson:
			return errNeedsPerson(r, who.Reason)
		case who.WeakKey:
			return errWeakKey(r, who.Reason)
		case !who.QuorumMet:
			return errNeedsSignatures(r, who.Reason)
		}
	}
	return nil
}

// mayBeAnswered refuses what cannot be decided any more, or never could.
func (r *Row) mayBeAnswered(c charter.Charter, me string) error {
	if !r.Open() {
		return settledError(c, me, r, nil)
	}
	if err := checkRequest(r.Row, c.TeamID); err != nil {
		return errOdd(r, err)
	}
	return nil
}

// asked are all the ways in which the charter may look at a decision on this request: as the teammate has it, as this
// leader computed it again, and as the leader edited it. The signers must be able to decide each. When listed is false, there are more files than these.
func (r *Row) asked(d planmode.Decision) (all []charter.Asked, listed bool) {
	files, listed := r.FilesNamed()
	all = []charter.Asked{
		planmode.AskedOf(r.Request.AllowedPrompts, facts.Paths(r.Request.Facts), d.Mode),
		planmode.AskedOf(r.Prompts, files, d.Mode),
	}
	if d.PlanWasEdited {
		edited := facts.Compute(d.EditedPlan, r.Request.AllowedPrompts, facts.Tree{})
		all = append(all, planmode.AskedOf(r.Request.AllowedPrompts, facts.Paths(edited), d.Mode))
		listed = listed && facts.Complete(edited)
	}
	return all, listed
}

// ends reports whether a decision would end plan mode. Saying no needs one leader.
func ends(d planmode.Decision) bool {
	return d.Outcome != planmode.OutcomeRejected && d.Outcome != planmode.OutcomeExpired
}

// mayReject keeps a lead agent that its owner does not let reject from doing so. A teammate would take it: it widens nothing.
func (s Signer) mayReject(c charter.Charter, r *Row, rejects bool) error {
	l, limited := c.Limit(s.Member.Name)
	if rejects && limited && !l.Reject && s.Member.Kind == charter.KindAgent {
		return errNeedsPerson(r, s.Member.Name+" may not reject")
	}
	return nil
}

func isPerson(m charter.Member) bool { return m.Kind == charter.KindPerson }

// askedOfCall is [Row.asked] for one call: as the teammate judges it, and with the files that the line names.
func (r *Row) askedOfCall() []charter.Asked {
	p := r.Permission
	all := []charter.Asked{planmode.AskedOfCall(p.Tool, p.Input, p.Cwd, nil)}
	if files := facts.Paths(r.Facts); len(files) > 0 {
		all = append(all, planmode.AskedOfCall(p.Tool, p.Input, p.Cwd, files))
	}
	return all
}

// head completes an order's head. What was decided when, and by which rule, comes from the choice.
func (s Signer) head(c charter.Charter, r *Row, chosen mailbox.OrderHead) mailbox.OrderHead {
	h := mailbox.OrderHead{
		TeamID: c.TeamID, CharterSerial: c.Serial, Epoch: r.Epoch, DecidedAt: chosen.DecidedAt,
		DecidedBy: mailbox.DecidedBy{
			Name: s.Member.Name, Kind: string(s.Member.Kind), Via: orElse(chosen.DecidedBy.Via, s.Via), Assurance: string(s.Member.Assurance),
		},
	}
	if h.DecidedAt.IsZero() {
		h.DecidedAt = time.Now().UTC()
	}
	return h
}

// sign makes the order that answers a request: its bytes, and this leader's signature over them and their slot.
func (s Signer) sign(c charter.Charter, r *Row, kind mailbox.Kind, body any) (charter.Order, error) {
	env, err := mailbox.New(natsbox.NewID(), kind, c.Team, s.Member.Name, r.From, r.Epoch, time.Now(), body)
	if err != nil {
		return charter.Order{}, fmt.Errorf("leader: write the decision: %w", err)
	}
	env.InReplyTo = r.ID()
	o := charter.Order{Subject: mailbox.DecisionSubject(c.Team, r.From, r.ID())}
	if o.Payload, err = mailbox.Encode(env); err != nil {
		return charter.Order{}, fmt.Errorf("leader: write the decision: %w", err)
	}
	sig, err := charter.SignOrder(s.Key, o.Subject, o.Payload)
	if err != nil {
		return charter.Order{}, err
	}
	o.Sigs = []string{sig}
	return o, nil
}

// store reads the order as the teammate will, puts it into its slot, and returns what lies there: ours, or an error that
// names the winner.
func store[T any](ctx context.Context, box Slots, c charter.Charter, me string, r *Row, o charter.Order) (T, error) {
	var none T
	_, body, err := charter.OpenOrder[T](c, o)
	if err != nil {
		return none, fmt.Errorf("leader: the decision would not be readable: %w", err)
	}
	stored, err := box.PutDecision(ctx, r.From, r.ID(), o.Payload, o.Sigs)
	var lost *natsbox.AlreadyDecided
	switch {
	case errors.As(err, &lost) && bytes.Equal(lost.Winner.Payload, o.Payload): // stored by another who had the signatures
		return body, nil
	case errors.As(err, &lost):
		return none, winner(c, me, r, lost.Winner)
	case err != nil:
		return none, err
	case !bytes.Equal(stored.Payload, o.Payload):
		return none, winner(c, me, r, stored)
	}
	return body, nil
}

// settledError says to me why a request waits no more; by is what took its place, where that is known.
func settledError(c charter.Charter, me string, r, by *Row) error {
	switch {
	case r.Answer != nil:
		return errAnswered(r, *r.Answer)
	case r.Decision != nil:
		return winner(c, me, r, r.Decision.Order)
	case r.Withdrawn != "":
		return errWithdrawn(r)
	default:
		return errSuperseded(r, by)
	}
}

// winner names who decided before us: [charter.OpenStored] proves that name by the signature. What no leader signed
// decides nothing: the teammate asks again.
func winner(c charter.Charter, me string, r *Row, o charter.Order) error {
	if r.Permission != nil {
		_, a, err := charter.OpenStored[planmode.PermissionAnswer](c, o)
		if err != nil {
			return errVoid(r, err)
		}
		return errAlreadyDecided(r, me, a.DecidedBy, "answered", a.DecidedAt)
	}
	_, d, err := charter.OpenStored[planmode.Decision](c, o)
	if err != nil {
		return errVoid(r, err)
	}
	return errAlreadyDecided(r, me, d.DecidedBy, verbOf(d.Outcome), d.DecidedAt)
}

const verbApproved = "approved"

func verbOf(o planmode.Outcome) string {
	switch o {
	case planmode.OutcomeApproved:
		return verbApproved
	case planmode.OutcomeExpired:
		return "expired"
	default:
		return "rejected"
	}
}

// explain says what the teammate would refuse in the words of a person's errors.
func (s Signer) explain(err error, r *Row, c charter.Charter) error {
	var said *Error
	if err == nil || errors.As(err, &said) {
		return err
	}
	if errors.Is(err, planmode.ErrNotLeader) {
		return s.notALeader(c)
	}
	return explain(err, r, c)
}

func (s Signer) notALeader(c charter.Charter) error {
	key, err := s.Key.PublicKey()
	if err != nil {
		return fmt.Errorf("leader: the key of %s: %w", s.Member.Name, err)
	}
	m, known := c.ByKey(key)
	return errNotALeader(key, m, known, c.Team)
}
