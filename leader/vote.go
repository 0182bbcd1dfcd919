package leader

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// Vote is a decision that needs several leaders, as far as they have signed it: all of them the same bytes.
type Vote struct {
	Order    charter.Order              // with the signatures so far, its maker's first
	By       []charter.Member           // who they are, in that order
	Decision *planmode.Decision         // of a plan or leave request
	Answer   *planmode.PermissionAnswer // of a call
	At       time.Time                  // when the first signature was stored
	Void     []natsbox.EndorsementInfo  // signatures for something else that somebody wants since
	votes    []natsbox.EndorsementInfo  // those of Order
}

// openVote reads what leaders have signed together of a request that waits. Of several decisions the one that was proposed
// last counts, since whoever proposes another one has seen those before; of those that say the same, the first. Signatures
// that do not verify, and what could not be applied any more, are no votes.
func (r *Row) openVote(c charter.Charter, now time.Time) {
	if !r.Open() {
		return
	}
	var live *Vote
	var void []natsbox.EndorsementInfo
	for _, v := range r.proposals(c, now) {
		switch {
		case live == nil:
			live = v
		case !live.says(v):
			void = append(void, live.votes...)
			live = v
		}
	}
	if live != nil {
		live.Void = void
	}
	r.Vote = live
}

// proposals are the different bytes that leaders have signed, the first first.
func (r *Row) proposals(c charter.Charter, now time.Time) (list []*Vote) {
	sorted := slices.SortedFunc(slices.Values(r.Endorsements), func(a, b natsbox.EndorsementInfo) int { return cmp.Compare(a.Seq, b.Seq) })
	slot := mailbox.DecisionSubject(c.Team, r.From, r.ID())
	for _, e := range sorted {
		o := charter.Order{Subject: slot, Payload: e.Payload}
		m, err := c.SignedBy(o, e.Sig, now)
		if err != nil || m.Name != e.From || e.Request != r.ID() || e.To != r.From {
			continue
		}
		i := slices.IndexFunc(list, func(v *Vote) bool { return string(v.Order.Payload) == string(e.Payload) })
		if i < 0 {
			list, i = append(list, &Vote{Order: o, At: e.StoredAt}), len(list)
		}
		v := list[i]
		v.Order.Sigs, v.By, v.votes = append(v.Order.Sigs, e.Sig), append(v.By, m), append(v.votes, e)
	}
	return slices.DeleteFunc(list, func(v *Vote) bool { return r.read(c, v, now) != nil })
}

// read reads the bytes of a vote, puts its maker's signature first, and checks that they can still be applied.
func (r *Row) read(c charter.Charter, v *Vote, now time.Time) (err error) {
	if r.Permission != nil {
		_, a, err := charter.OpenOrder[planmode.PermissionAnswer](c, v.Order)
		if err == nil {
			v.Answer = &a
			v.order(a.DecidedBy.Name)
		}
		return err
	}
	_, d, err := charter.OpenOrder[planmode.Decision](c, v.Order)
	if err != nil {
		return err
	}
	v.Decision = &d
	v.order(d.DecidedBy.Name)
	return r.checkTerms(c, d, now)
}

// order sorts the signatures: the maker's first, the others by name, so that whoever stores them stores the same.
func (v *Vote) order(maker string) {
	type signed struct {
		m   charter.Member
		sig string
	}
	all := make([]signed, len(v.By))
	for i, m := range v.By {
		all[i] = signed{m, v.Order.Sigs[i]}
	}
	slices.SortFunc(all, func(a, b signed) int {
		if (a.m.Name == maker) != (b.m.Name == maker) {
			if a.m.Name == maker {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.m.Name, b.m.Name)
	})
	for i, s := range all {
		v.By[i], v.Order.Sigs[i] = s.m, s.sig
	}
}

// Code names the bytes of a vote, for people to type.
func (v *Vote) Code() string {
	sum := sha256.Sum256(v.Order.Payload)
	return hex.EncodeToString(sum[:4])
}

// has reports whether a leader has signed.
func (v *Vote) has(name string) bool {
	return slices.ContainsFunc(v.By, func(m charter.Member) bool { return m.Name == name })
}

// with is the vote with one more signature.
func (v *Vote) with(m charter.Member, sig string) *Vote {
	w := *v
	w.By, w.Order.Sigs = append(slices.Clone(v.By), m), append(slices.Clone(v.Order.Sigs), sig)
	w.order(w.maker().Name)
	return &w
}

func (v *Vote) maker() mailbox.DecidedBy {
	if v.Answer != nil {
		return v.Answer.DecidedBy
	}
	return v.Decision.DecidedBy
}

// Outcome is what the vote would decide.
func (v *Vote) Outcome() planmode.Outcome {
	switch {
	case v.Decision != nil:
		return v.Decision.Outcome
	case v.Answer != nil && v.Answer.Behavior == permissions.BehaviorAllow:
		return planmode.OutcomeApproved
	}
	return planmode.OutcomeRejected
}

// says reports whether two votes decide the same, whoever has made them and when.
func (v *Vote) says(w *Vote) bool {
	a, errA := json.Marshal(v.terms())
	b, errB := json.Marshal(w.terms())
	return errA == nil && errB == nil && string(a) == string(b)
}

// terms are what a vote decides, without what differs from one maker to the next.
func (v *Vote) terms() any {
	if v.Answer != nil {
		a := *v.Answer
		a.OrderHead = mailbox.OrderHead{}
		return a
	}
	d := *v.Decision
	d.Grants = slices.Clone(d.Grants)
	for i, g := range d.Grants { // a grant lives as long as its maker says, counted from when that was
		d.Grants[i].ExpiresAt = time.Unix(0, 0).Add(g.ExpiresAt.Sub(d.DecidedAt).Round(time.Second)).UTC()
	}
	d.OrderHead, d.Ledger, d.PolicyDigest, d.MovedSeen = mailbox.OrderHead{}, nil, "", ""
	return d
}

// signatures says how many of those who signed count, and how many must: for the way of looking at the request that lacks
// most.
func (r *Row) signatures(c charter.Charter, v *Vote) (have, need int) {
	var all []charter.Asked
	var by []charter.Member
	if v != nil {
		by = v.By
	}
	switch {
	case r.Permission != nil:
		all = r.askedOfCall()
	case r.Request == nil:
		return 0, 1
	case v != nil:
		all, _ = r.asked(*v.Decision)
	default:
		all, _ = r.asked(planmode.Decision{Mode: r.ModeBack})
	}
	need = 1
	for i, asked := range all {
		h, n := c.Signatures(by, asked)
		if i == 0 || n-h > need-have || n-h == need-have && n > need {
			have, need = h, n
		}
	}
	return have, need
}

// judge says what the teammate would refuse of a vote: who may not decide, or that too few have signed.
func (r *Row) judge(c charter.Charter, v *Vote, now time.Time) error {
	if v.Answer != nil {
		return r.judgeAnswer(c, v.Order, *v.Answer, now)
	}
	return r.judgeDecision(c, v.Order, *v.Decision, now)
}
