package charter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxSigs is how many signatures of an order are looked at, and maxReasons how many bad ones are explained.
const (
	maxSigs    = 64
	maxReasons = 3
)

// Judge says whose word an order is, and whether they may give it. Signatures that do not verify, that are by unknown or
// retired keys, by keys whose last moment is over at now, or by teammates and observers, do not count; two of one leader
// count once.
//
// One leader's word is enough for an order that does not approve. One that approves (approved and rejectedAndExit; allow)
// is judged by what the teammate's own copy of the request asks for: keys that are not kept well enough for it do not
// count; what is for persons only needs a person among the signers; where only agents have signed, one of them must be
// within its limit; a quorum that matches needs that many distinct leaders of its list, or that many persons.
// What the order says is not looked at: see [OpenOrder].
func Judge(c Charter, o Order, asked Asked, approves bool, now time.Time) Authority {
	signers, reason := c.signers(o, func(m Member) bool { return m.Active(now) })
	a := Authority{Signers: signers, Leader: len(signers) > 0}
	if !a.Leader {
		a.Reason = reason
		return a
	}
	a.QuorumMet = true
	if !approves {
		return a
	}
	strong, weak := c.strong(signers, asked)
	var why []string
	if len(strong) == 0 {
		a.WeakKey = true
	} else if r := c.needsPerson(strong, asked); r != "" {
		a.NeedsPerson = true
		why = append(why, r)
	}
	if r := c.lacksQuorum(strong, asked); r != "" {
		a.QuorumMet = false
		why = append(why, r)
	}
	if weak != "" && (a.WeakKey || a.NeedsPerson || !a.QuorumMet) {
		why = append([]string{weak}, why...)
	}
	a.Reason = strings.Join(why, "; ")
	return a
}

// SignedBy returns the active leader behind one signature of an order. The error is [ErrNotLeader], with the reason.
func (c Charter) SignedBy(o Order, sig string, now time.Time) (Member, error) {
	if strings.Contains(o.Subject, "\n") {
		return Member{}, fmt.Errorf("%w: the subject is none", ErrNotLeader)
	}
	m, reason := c.signer(o, sig, func(m Member) bool { return m.Active(now) })
	if reason != "" {
		return Member{}, fmt.Errorf("%w: %s", ErrNotLeader, reason)
	}
	return m, nil
}

// signers returns the leaders that counts lets through whose signature is good, each once, in the order of the
// signatures; with none of them, why each signature does not count.
func (c Charter) signers(o Order, counts func(Member) bool) ([]Member, string) {
	if strings.Contains(o.Subject, "\n") { // else subject and payload could be cut elsewhere
		return nil, "the subject is none"
	}
	var signers []Member
	var why []string
	for _, sig := range o.Sigs[:min(len(o.Sigs), maxSigs)] {
		m, reason := c.signer(o, sig, counts)
		if reason != "" {
			why = append(why, reason)
		} else if !slices.ContainsFunc(signers, func(s Member) bool { return s.Key == m.Key || s.Name == m.Name }) {
			signers = append(signers, m)
		}
	}
	switch {
	case len(signers) > 0:
		return signers, ""
	case len(why) == 0:
		return nil, "it is not signed"
	}
	return nil, strings.Join(why[:min(len(why), maxReasons)], "; ")
}

// signer returns the leader behind one signature, or why it does not count. Names and keys in the reason are the charter's.
func (c Charter) signer(o Order, sig string, counts func(Member) bool) (Member, string) {
	key, value, ok := strings.Cut(sig, ".")
	if !ok || checkUserKey(key) != nil {
		return Member{}, "a signature cannot be read"
	}
	m, known := c.ByKey(key)
	switch {
	case !known:
		return Member{}, "key " + key + " is no member's"
	case m.Role != RoleLeader:
		return Member{}, fmt.Sprintf("%s is %s, not a leader of team %s", m.Name, m.Role, c.Team)
	case m.Retired:
		return Member{}, m.Name + " is retired"
	case !counts(m):
		return Member{}, fmt.Sprintf("the key of %s ended at %s", m.Name, m.NotAfter.UTC().Format(time.RFC3339))
	case !verify(key, orderStart(o.Subject), o.Payload, value):
		return Member{}, "the signature of " + m.Name + " is not over this order"
	}
	return m, ""
}

// needsPerson says why these leaders may not approve this without a person, "" when they may.
func (c Charter) needsPerson(signers []Member, asked Asked) string {
	isKind := func(kinds ...Kind) bool {
		return slices.ContainsFunc(signers, func(m Member) bool { return slices.Contains(kinds, m.Kind) })
	}
	if isKind(KindPerson) {
		return ""
	}
	if slices.ContainsFunc(c.PersonOnly, func(m Match) bool { return m.Matches(asked) }) {
		return "only a person may approve this"
	}
	if isKind(KindPolicy) {
		return ""
	}
	var why []string
	for _, m := range signers {
		limit, limited := c.Limit(m.Name)
		if !limited {
			return ""
		}
		r := limit.exceeded(asked)
		if r == "" {
			return ""
		}
		why = append(why, r)
	}
	return strings.Join(why[:min(len(why), maxReasons)], "; ")
}

// exceeded says how a request is beyond the limit, "" when it is within.
func (l AgentLimit) exceeded(asked Asked) string {
	for _, intent := range asked.Intents {
		if !slices.Contains(l.Intents, intent) {
			return fmt.Sprintf("%s may not approve %q", l.Name, intent)
		}
	}
	if l.MaxFiles > 0 && max(asked.Files, len(asked.Paths)) > l.MaxFiles {
		return fmt.Sprintf("%s may approve at most %d files", l.Name, l.MaxFiles)
	}
	return ""
}

// strong returns the signers whose keys are kept well enough for what is asked, and why the others do not count.
func (c Charter) strong(signers []Member, asked Asked) (strong []Member, why string) {
	least := c.Least(asked)
	var weak []string
	for _, m := range signers {
		if m.Assurance.AtLeast(least) {
			strong = append(strong, m)
		} else {
			weak = append(weak, fmt.Sprintf("that of %s is %s", m.Name, cmp.Or(m.Assurance, "not known")))
		}
	}
	if len(weak) == 0 {
		return strong, ""
	}
	return strong, fmt.Sprintf("only a key that is kept %s may approve this, and %s", least.orBetter(), strings.Join(weak[:min(len(weak), maxReasons)], ", "))
}

// lacksQuorum says which quorum is not met, "" when all are.
func (c Charter) lacksQuorum(signers []Member, asked Asked) string {
	for _, q := range c.Quorum {
		if !q.Match.Matches(asked) {
			continue
		}
		if have := q.count(signers); have < q.Need {
			return fmt.Sprintf("%d of %s must approve this, %d did", q.Need, q.who(), have)
		}
	}
	return ""
}

// Signatures says how many of the signers count for the quorum that lacks most for what is asked, and how many it needs.
// Without a quorum one is enough.
func (c Charter) Signatures(signers []Member, asked Asked) (have, need int) {
	strong, _ := c.strong(signers, asked)
	have, need = min(len(strong), 1), 1
	for _, q := range c.Quorum {
		if n := q.count(strong); q.Match.Matches(asked) && (q.Need-n > need-have || q.Need-n == need-have && q.Need > need) {
			have, need = n, q.Need
		}
	}
	return have, need
}

// count is how many of these leaders the quorum counts.
func (q Quorum) count(signers []Member) (n int) {
	for _, m := range signers {
		if q.counts(m) {
			n++
		}
	}
	return n
}

// counts reports whether a leader is one of those whom the quorum wants: of its list, else any person.
func (q Quorum) counts(m Member) bool {
	if len(q.Of) == 0 {
		return m.Kind == KindPerson
	}
	return slices.Contains(q.Of, m.Name)
}

func (q Quorum) who() string {
	if len(q.Of) == 0 {
		return "the persons who lead"
	}
	return strings.Join(q.Of, ", ")
}
