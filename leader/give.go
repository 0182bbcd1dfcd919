package leader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// Votes is what a leader calls who may have to decide together with others. [*natsbox.Conn] is one.
type Votes interface {
	Slots
	Send(context.Context, mailbox.Envelope) (natsbox.Stored, error)
	Request(ctx context.Context, id string) (natsbox.Row, error)
}

// Given is what came of one leader's word: a stored decision or answer, or with neither of them signed, a signature that
// waits for others.
type Given struct {
	Decision *planmode.Decision
	Answer   *planmode.PermissionAnswer
	Signed   *Vote // not stored yet
	Have     int   // signatures that count
	Need     int
	Joined   bool // the bytes that were signed are another leader's
	Already  bool // this leader had signed those bytes before: nothing was sent
}

// Give gives one leader's word on a plan, a leave request or a call. Where the charter wants several leaders, it signs and
// sends the signature to the leaders as an endorsement; the one whose signature is the last to be needed stores the
// decision with all of them. A choice that says nothing but yes signs exactly what others have signed before, where that is no more than was asked for; one that
// says the same does too; another takes the place of theirs, which count no more. Saying no never needs more than one.
//
// Whoever stops between signing and storing loses nothing: the signature is in the leaders' mailbox, and the next leader,
// or the desk, stores what has enough of them. The errors are those of [Prepare], [Publish] and [PublishAnswer].
func Give(ctx context.Context, box Votes, s Signer, c charter.Charter, r Row, ch Choice) (Given, error) {
	if ch.Signed != "" && (r.Vote == nil || ch.Signed != r.Vote.Code() || ch.Outcome != r.Vote.Outcome() || !ch.plain()) {
		return Given{}, errNotSigned(&r, ch)
	}
	joined := r.joins(ch)
	if joined {
		signed := r.asSigned(r.Vote)
		if err := ch.confirmed(&signed); err != nil {
			return Given{}, err
		}
		v, err := s.join(r.Vote)
		if err != nil {
			return Given{}, err
		}
		return s.give(ctx, box, c, r, v, true)
	}
	v, err := s.choose(ctx, box, c, &r, ch)
	if err != nil {
		return Given{}, err
	}
	if r.Vote != nil && ch.plain() && ch.Outcome == r.Vote.Outcome() && !r.Vote.says(v) && r.judge(c, v, time.Now()) != nil {
		return Given{}, errSignedOther(&r)
	}
	if r.Vote != nil && r.Vote.says(v) {
		joined = true
		if v, err = s.join(r.Vote); err != nil {
			return Given{}, err
		}
	}
	return s.give(ctx, box, c, r, v, joined)
}

// joins reports whether a choice is a yes to what others have signed: the same outcome, and nothing else named. Where that is
// more than the request asks for, it takes their code: who says yes to a plan has read the plan, and another leader may have
// signed something else since.
func (r *Row) joins(ch Choice) bool {
	if r.Vote == nil || r.Vote.Outcome() != ch.Outcome || ch.Outcome == planmode.OutcomeRejected {
		return false
	}
	return ch.plain() && (ch.Signed != "" || r.Vote.asAsked(r))
}

// asAsked reports whether a vote gives no more than a yes that names nothing would: the plan as it was handed in, no wider
// mode, a call once. What it lets the request have of that, and the words with it, are its maker's.
func (v *Vote) asAsked(r *Row) bool {
	if v.Answer != nil {
		return orElse(v.Answer.Scope, permissions.ScopeOnce) == permissions.ScopeOnce
	}
	return !v.Decision.PlanWasEdited && !v.Decision.Mode.Above(r.ModeBack)
}

// plain reports whether nothing is chosen but the outcome.
func (ch Choice) plain() bool {
	plain := ch.Mode == "" && len(ch.Grants) == 0 && !ch.NoGrants && len(ch.Limits) == 0 && ch.TTL == 0 && ch.Uses == 0 &&
		ch.Option == "" && ch.Note == "" && len(ch.Comments) == 0 && ch.Edited == nil && ch.Scope == ""
	return plain && (ch.Feedback == "" || ch.Outcome == planmode.OutcomeRejectedAndExit)
}

// choose makes and signs what was chosen.
func (s Signer) choose(ctx context.Context, box Votes, c charter.Charter, r *Row, ch Choice) (*Vote, error) {
	if r.Kind == RowRun {
		a, err := PrepareAnswer(*r, ch, time.Now())
		if err != nil {
			return nil, err
		}
		return s.answer(c, r, a)
	}
	d, err := Prepare(*r, ch, c, time.Now())
	if err != nil {
		return nil, err
	}
	return s.decide(ctx, box, c, r, d)
}

// join signs what others have signed.
func (s Signer) join(v *Vote) (*Vote, error) {
	if v.has(s.Member.Name) {
		return v, nil
	}
	sig, err := charter.SignOrder(s.Key, v.Order.Subject, v.Order.Payload)
	if err != nil {
		return nil, err
	}
	return v.with(s.Member, sig), nil
}

// rounds bounds how often another leader's word may come between.
const rounds = 8

// give stores what is signed when that is enough, and else sends the signature to the leaders. What others have sent
// meanwhile is looked at then: two who sign at the same moment end with one decision.
func (s Signer) give(ctx context.Context, box Votes, c charter.Charter, r Row, v *Vote, joined bool) (Given, error) {
	already := r.Vote != nil && string(r.Vote.Order.Payload) == string(v.Order.Payload) && r.Vote.has(s.Member.Name)
	for range rounds {
		err := r.judge(c, v, time.Now())
		if err == nil {
			return s.put(ctx, box, c, &r, v, joined)
		}
		if err = s.explain(err, &r, c); !IsError(err, NameNeedsSignatures) {
			return Given{}, err
		}
		if r.Vote == nil || string(r.Vote.Order.Payload) != string(v.Order.Payload) || !r.Vote.has(s.Member.Name) {
			if err := s.endorse(ctx, box, c, &r, v); err != nil {
				return v.storedBy(&r, joined, err)
			}
		}
		live := r.Vote
		switch {
		case live == nil || string(live.Order.Payload) == string(v.Order.Payload) && len(live.By) <= len(v.By):
			g := Given{Signed: v, Joined: joined, Already: already}
			g.Have, g.Need = r.signatures(c, v)
			return g, nil
		case string(live.Order.Payload) == string(v.Order.Payload):
			v = live
		case live.says(v):
			joined = true
			if v, err = s.join(live); err != nil {
				return Given{}, err
			}
		default:
			return Given{}, errOutvoted(&r, live)
		}
	}
	return Given{}, errOutvoted(&r, r.Vote)
}

// storedBy is what came of a signature that could not be counted by its leader: the bytes may have been stored with it by
// another one.
func (v *Vote) storedBy(r *Row, joined bool, err error) (Given, error) {
	if r.Decision == nil || string(r.Decision.Order.Payload) != string(v.Order.Payload) {
		return Given{}, err
	}
	return Given{Decision: v.Decision, Answer: v.Answer, Joined: joined, Have: r.Need, Need: r.Need}, nil
}

func (s Signer) put(ctx context.Context, box Slots, c charter.Charter, r *Row, v *Vote, joined bool) (g Given, err error) {
	g = Given{Joined: joined}
	g.Have, g.Need = r.signatures(c, v)
	if v.Answer != nil {
		var a planmode.PermissionAnswer
		a, err = store[planmode.PermissionAnswer](ctx, box, c, s.Member.Name, r, v.Order)
		g.Answer = &a
	} else {
		var d planmode.Decision
		d, err = store[planmode.Decision](ctx, box, c, s.Member.Name, r, v.Order)
		g.Decision = &d
	}
	if err != nil {
		return Given{}, err
	}
	return g, nil
}

// seenWithin is how long the coordinator may take to have read what was stored.
var seenWithin = 5 * time.Second // tests on a busy machine wait longer

// endorse sends this leader's signature to the leaders, and reads the request again when it is among theirs.
func (s Signer) endorse(ctx context.Context, box Votes, c charter.Charter, r *Row, v *Vote) error {
	sig, err := charter.SignOrder(s.Key, v.Order.Subject, v.Order.Payload)
	if err != nil {
		return err
	}
	body := mailbox.Endorsement{Request: r.ID(), To: r.From, Payload: v.Order.Payload, Sig: sig}
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindEndorsement, c.Team, s.Member.Name, mailbox.Lead, 0, time.Now(), body)
	if err != nil {
		return fmt.Errorf("leader: endorse: %w", err)
	}
	env.InReplyTo = r.ID()
	if _, err := box.Send(ctx, env); err != nil {
		return err
	}
	for begin := time.Now(); ; {
		row, err := box.Request(ctx, r.ID())
		switch {
		case err != nil && !errors.Is(err, natsbox.ErrNotFound):
			return err
		case err == nil && row.From == r.From && (!row.Open() || endorsed(row, s.Member.Name, env.ID)):
			r.Row = row
			if !row.Open() {
				return settledError(c, s.Member.Name, r, nil)
			}
			r.openVote(c, time.Now())
			return nil
		case time.Since(begin) > seenWithin: // it is stored, and will be seen
			return nil
		}
		if err := sleep(ctx, askAgain); err != nil {
			return err
		}
	}
}

func endorsed(r natsbox.Row, by, id string) bool {
	for _, e := range r.Endorsements {
		if e.From == by && e.EnvelopeID == id {
			return true
		}
	}
	return false
}

// names are the signers of a vote, in words.
func (v *Vote) names() string {
	names := make([]string, len(v.By))
	for i, m := range v.By {
		names[i] = plans.VisibleLine(m.Name)
	}
	return strings.Join(names, ", ")
}

// errSignedOther says that a yes does not sign what others have, since that is more than was asked for.
func errSignedOther(r *Row) error {
	return &Error{
		Code: exitStale, Name: NameOutvoted, err: planmode.ErrQuorum,
		Message: fmt.Sprintf("%s signed something else for %s than it asks for: another plan, a wider mode or a longer permission", r.Vote.names(), r.Handle),
		Next:    fmt.Sprintf("look: swarm show %s; then %s signs it too, or say what you want of it", r.Handle, r.signToo(r.Vote)),
	}
}

// errNotSigned says that a code is not that of what others have signed now.
func errNotSigned(r *Row, ch Choice) error {
	return &Error{
		Code: exitStale, Name: NameOutvoted, err: planmode.ErrQuorum,
		Message: fmt.Sprintf("nobody has signed %s for %s, or something else was signed since", quote(ch.Signed), r.Handle),
		Next:    "look at it: swarm show " + r.Handle,
	}
}

// errOutvoted says that somebody has proposed something else in the same moment.
func errOutvoted(r *Row, v *Vote) error {
	who := "another leader"
	if v != nil {
		who = v.names()
	}
	return &Error{
		Code: exitStale, Name: NameOutvoted, err: planmode.ErrQuorum,
		Message: fmt.Sprintf("%s signed something else for %s in this moment: your signature counts no more", who, r.Handle),
		Next:    "look at it, and sign it or reject it: swarm show " + r.Handle,
	}
}
