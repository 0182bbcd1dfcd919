package charter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

// New returns the first charter of a team, with what is safe where nothing is said: [DefaultPersonOnly], and
// [DefaultCaps] for zero caps or a missing mode. An empty enrolKey means that only the owner adds members.
// The charter is not signed yet, and not checked: [Sign] does both.
func New(team, ownerPublicKey string, members []Member, caps Caps, enrolKey string) Charter {
	if caps == (Caps{}) {
		caps = DefaultCaps()
	}
	if caps.Mode == "" {
		caps.Mode = DefaultCaps().Mode
	}
	return Charter{
		V:          mailbox.Version,
		Serial:     1,
		TeamID:     TeamID(ownerPublicKey),
		Team:       team,
		EnrolKey:   enrolKey,
		Members:    slices.Clone(members),
		Caps:       caps,
		PersonOnly: DefaultPersonOnly(),
	}
}

// DefaultPersonOnly returns what only a person may approve unless the owner says otherwise: requests that ask for
// something that publishes, that is as good as root, or that touches data.
func DefaultPersonOnly() []Match {
	return []Match{{Classes: []permissions.Class{
		permissions.ClassPublishes, permissions.ClassRootEquivalent, permissions.ClassTouchesData,
	}}}
}

// DefaultCaps returns the ceiling of a team whose owner names none: acceptEdits, no leaving plan mode without a leader's
// word, and grants that live for at most 24 hours.
func DefaultCaps() Caps {
	return Caps{Mode: permissions.ModeAcceptEdits, PlanRequired: true, Grants: GrantCaps{TTLSeconds: int64(24 * time.Hour / time.Second)}}
}

// Member returns the member of that name, retired or not.
func (c Charter) Member(name string) (Member, bool) {
	return c.find(func(m Member) bool { return m.Name == name })
}

// ByKey returns the member with that public key, retired or not.
func (c Charter) ByKey(key string) (Member, bool) {
	return c.find(func(m Member) bool { return m.Key == key })
}

func (c Charter) find(is func(Member) bool) (Member, bool) {
	if i := slices.IndexFunc(c.Members, is); i >= 0 {
		return c.Members[i], true
	}
	return Member{}, false
}

// Limit returns what bounds the lead agent of that name. An agent without a limit may approve whatever is not for persons
// only. Whether it may reject is for its own side to keep: a teammate takes a rejection of any leader, since it widens
// nothing.
func (c Charter) Limit(name string) (AgentLimit, bool) {
	i := slices.IndexFunc(c.AgentLimits, func(l AgentLimit) bool { return l.Name == name })
	if i < 0 {
		return AgentLimit{}, false
	}
	return c.AgentLimits[i], true
}

// Active reports whether the member's key still counts at now: it is not retired, and its last moment is not over.
func (m Member) Active(now time.Time) bool {
	return !m.Retired && (m.NotAfter == nil || !now.After(*m.NotAfter))
}

// equal compares members as they are written: times by their instant.
func (m Member) equal(n Member) bool {
	if (m.NotAfter == nil) != (n.NotAfter == nil) || m.NotAfter != nil && !m.NotAfter.Equal(*n.NotAfter) {
		return false
	}
	m.NotAfter, n.NotAfter = nil, nil
	return m == n
}

// order of the assurances, from the weakest.
var order = []Assurance{"", Plain, Memory, Sealed, Confirm}

// AtLeast reports whether a key that is kept like a is kept as well as least demands, or better. How a key is kept that
// nobody knows of is the weakest.
func (a Assurance) AtLeast(least Assurance) bool {
	return max(slices.Index(order, a), 0) >= slices.Index(order, least)
}

// orBetter is the assurance in words.
func (a Assurance) orBetter() string {
	if a == Confirm {
		return string(a)
	}
	return string(a) + " or better"
}

// Least is how well a key must be kept to approve what is asked. Empty: in any way.
func (c Charter) Least(asked Asked) (least Assurance) {
	for _, r := range c.Assurance {
		if r.Match.Matches(asked) && !least.AtLeast(r.Least) {
			least = r.Least
		}
	}
	return least
}

// Unmet says, for people, which rules of the charter nobody can meet at now, and what to do: a quorum that has too few
// leaders, a limit of somebody who does not lead. Until then what they are about can only be rejected.
func (c Charter) Unmet(now time.Time) []string {
	var out []string
	for _, q := range c.Quorum {
		able := slices.DeleteFunc(slices.Clone(c.Members), func(m Member) bool {
			return m.Role != RoleLeader || !m.Active(now) || !q.counts(m)
		})
		if len(able) < q.Need {
			out = append(out, fmt.Sprintf("%s needs %d of %s, and %d lead: swarm team invite NAME --role leader", q.Match, q.Need, q.who(), len(able)))
		}
	}
	for _, r := range c.Assurance {
		if !slices.ContainsFunc(c.Members, func(m Member) bool { return m.Role == RoleLeader && m.Active(now) && m.Assurance.AtLeast(r.Least) }) {
			out = append(out, fmt.Sprintf("%s needs a key that is kept %s, and no leader has one", r.Match, r.Least.orBetter()))
		}
	}
	return out
}

// String names in words what a match is about: "push, deploy/**".
func (m Match) String() string {
	words := slices.Clone(m.Intents)
	for _, c := range m.Classes {
		words = append(words, string(c))
	}
	words = append(words, m.Paths...)
	if m.Mode != "" {
		words = append(words, "mode "+string(m.Mode))
	}
	return strings.Join(words, ", ")
}
