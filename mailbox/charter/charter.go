package charter

import (
	"time"

	"github.com/planswarm/swarm/permissions"
)

// Role is what a member may do in the team.
type Role string

// The roles.
const (
	RoleTeammate Role = "teammate"
	RoleLeader   Role = "leader"
	RoleObserver Role = "observer"
)

// Kind is what a member is. Person-only classes look at it.
type Kind string

// The kinds.
const (
	KindPerson Kind = "person"
	KindAgent  Kind = "agent"
	KindPolicy Kind = "policy"
)

// Assurance is how well a leader's key is kept.
type Assurance string

// The assurances, from the weakest to the strongest.
const (
	Plain   Assurance = "plain"   // a 0600 file
	Memory  Assurance = "memory"  // made for this run, never written
	Sealed  Assurance = "sealed"  // passphrase or keyring
	Confirm Assurance = "confirm" // a confirmation for each signature
)

// Member is one entry of the roster.
type Member struct {
	Name      string     `json:"name"`
	Role      Role       `json:"role"`
	Kind      Kind       `json:"kind"`
	Key       string     `json:"key"` // public nkey (U...)
	Assurance Assurance  `json:"assurance,omitempty"`
	NotAfter  *time.Time `json:"notAfter,omitempty"`
	Retired   bool       `json:"retired,omitempty"`
}

// GrantCaps bounds every grant of the team.
type GrantCaps struct {
	TTLSeconds int64 `json:"ttlSeconds"` // longest life of a grant; 0 means 24 h
	Uses       int   `json:"uses"`       // most uses of a grant; 0 is any number
}

// TTL returns the longest life of a grant.
func (g GrantCaps) TTL() time.Duration {
	if g.TTLSeconds <= 0 {
		return 24 * time.Hour
	}
	return time.Duration(g.TTLSeconds) * time.Second
}

// Caps is what nothing in the team exceeds.
type Caps struct {
	Mode         permissions.Mode `json:"mode"`
	PlanRequired bool             `json:"planRequired"`
	Grants       GrantCaps        `json:"grants"`
}

// Match names requests: those that ask for one of the intents or classes, name one of the paths, or ask for the mode.
type Match struct {
	Intents []string            `json:"intents,omitempty" yaml:"intents"`
	Classes []permissions.Class `json:"classes,omitempty" yaml:"classes"`
	Paths   []string            `json:"paths,omitempty" yaml:"paths"`
	Mode    permissions.Mode    `json:"mode,omitempty" yaml:"mode"`
}

// Quorum demands several distinct leaders for the requests that it matches.
type Quorum struct {
	Match Match    `json:"match" yaml:"match"`
	Need  int      `json:"need" yaml:"need"`
	Of    []string `json:"of,omitempty" yaml:"of"` // empty: any persons who lead
}

// AssuranceRule demands that a key be kept well for the requests that it matches: a weaker one does not count.
type AssuranceRule struct {
	Match Match     `json:"match" yaml:"match"`
	Least Assurance `json:"least" yaml:"least"`
}

// AgentLimit bounds what one lead agent may approve.
type AgentLimit struct {
	Name     string   `json:"name"`
	Intents  []string `json:"intents,omitempty"` // every asked intent must be one of these
	MaxFiles int      `json:"maxFiles,omitempty"`
	Reject   bool     `json:"reject"` // may it reject
}

// Charter is the team's constitution. Serial grows with each signing; a lower one than seen before is refused.
type Charter struct {
	V           int             `json:"v"`
	Serial      uint64          `json:"serial"`
	TeamID      string          `json:"teamId"`
	Team        string          `json:"team"`
	EnrolKey    string          `json:"enrolKey,omitempty"` // may add members of role teammate, and nothing else
	Members     []Member        `json:"members"`
	Caps        Caps            `json:"caps"`
	PersonOnly  []Match         `json:"personOnly,omitempty"`
	Quorum      []Quorum        `json:"quorum,omitempty"`
	AgentLimits []AgentLimit    `json:"agentLimits,omitempty"`
	Assurance   []AssuranceRule `json:"assurance,omitempty"`
}

// Signed is a charter as it is stored and sent: the exact bytes that the owner signed, the hand-overs that prove who the
// owner is, and the teammates that the enrolment key has added since.
type Signed struct {
	Payload   []byte     `json:"payload"`
	Sig       string     `json:"sig"`
	Handovers []Handover `json:"handovers,omitempty"` // empty: it is signed by the team's first owner
	Additions []Addition `json:"additions,omitempty"`
}

// Addition is one teammate added under the enrolment key; Payload is the JSON of an [AddedMember].
type Addition struct {
	Payload []byte `json:"payload"`
	Sig     string `json:"sig"`
}

// AddedMember is what an addition's payload says.
type AddedMember struct {
	V      int    `json:"v"`
	TeamID string `json:"teamId"`
	Serial uint64 `json:"serial"` // of the charter it is added to
	Member Member `json:"member"`
}

// Authority is what [Judge] found out about the signatures of an order. The zero Authority is nobody's.
type Authority struct {
	Signers     []Member `json:"signers,omitempty"` // active leaders with a valid signature, each once
	Leader      bool     `json:"leader"`            // at least one
	NeedsPerson bool     `json:"needsPerson"`       // these signers may not approve this: a person must (or an agent's limit is exceeded)
	QuorumMet   bool     `json:"quorumMet"`
	WeakKey     bool     `json:"weakKey,omitempty"` // none of their keys is kept well enough to approve this
	Reason      string   `json:"reason,omitempty"`  // why not
}

// Asked is what the teammate's own copy of a request asks for: what the classes of the charter are matched against.
type Asked struct {
	Intents []string
	Classes []permissions.Class
	Paths   []string
	Mode    permissions.Mode // that the decision would restore
	Files   int              // files named

	// Named is what the line of a call may change: files and folders with everything below them, more of them rather than
	// fewer. With Unlisted there is more that cannot be told.
	Named    []string
	Unlisted bool
}
