package planmode

import (
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// RequestKind says what a teammate asks of its leader.
type RequestKind string

// The kinds of an approval request.
const (
	AskPlan  RequestKind = "plan"  // approve this plan
	AskLeave RequestKind = "leave" // let me out of plan mode without one
)

// Outcome is what a leader decided.
type Outcome string

// The outcomes. Only [Approved] and [RejectedAndExit] end plan mode.
const (
	OutcomeApproved        Outcome = "approved"
	OutcomeRejected        Outcome = "rejected"
	OutcomeRejectedAndExit Outcome = "rejectedAndExit"
	OutcomeExpired         Outcome = "expired"
)

// ApprovalRequest is the body of plan_approval_request: everything that a leader sees and everything that is decided on.
type ApprovalRequest struct {
	RequestID      string               `json:"requestId"`
	PlanID         string               `json:"planId"`
	Revision       int                  `json:"revision"`
	Kind           RequestKind          `json:"kind"`
	Digest         string               `json:"digest"` // of PROTOCOL.md "Digest"; readers compute it again
	Plan           plans.Plan           `json:"plan"`
	AllowedPrompts []permissions.Prompt `json:"allowedPrompts"`
	Options        []plans.Option       `json:"options,omitempty"`
	Tasks          []plans.Task         `json:"tasks,omitempty"`
	SavedMode      permissions.Mode     `json:"savedMode"` // the teammate's claim
	RequestedMode  permissions.Mode     `json:"requestedMode,omitempty"`
	Reason         string               `json:"reason,omitempty"` // of a leave request, or why it is asked again
	Facts          []plans.Fact         `json:"facts,omitempty"`
	Base           plans.Base           `json:"base"`
	Reads          []plans.Read         `json:"reads,omitempty"`
	Addresses      []Addressed          `json:"addresses,omitempty"`
	Deadline       *time.Time           `json:"deadline,omitempty"`
	Supersedes     string               `json:"supersedes,omitempty"`
	Unchanged      bool                 `json:"unchanged,omitempty"` // the same bytes as the revision that was rejected
}

// Addressed says which comment of the last decision a revision answers.
type Addressed struct {
	Comment string `json:"comment"`
	Line    int    `json:"line,omitempty"`
	Text    string `json:"text,omitempty"`
}

// Comment is a leader's remark on one line of the plan.
type Comment struct {
	ID    string `json:"id"`
	Line  int    `json:"line"`
	Quote string `json:"quote,omitempty"`
	Text  string `json:"text"`
}

// Ledger is the head of the audit chain when a decision was made. Zero until there is a ledger.
type Ledger struct {
	Seq  uint64 `json:"seq"`
	Hash string `json:"hash"`
}

// Decision is the body of plan_approval_response: a signed order that answers one request, stored once.
type Decision struct {
	mailbox.OrderHead
	RequestID      string                   `json:"requestId"`
	Revision       int                      `json:"revision"`
	Ledger         *Ledger                  `json:"ledger,omitempty"`
	Outcome        Outcome                  `json:"outcome"`
	Approved       bool                     `json:"approved"` // = outcome approved; anything else is refused
	Feedback       string                   `json:"feedback,omitempty"`
	Comments       []Comment                `json:"comments,omitempty"`
	Mode           permissions.Mode         `json:"mode,omitempty"` // always named on approval and exit: what the leader saw
	Option         string                   `json:"option,omitempty"`
	Grants         []permissions.GrantTerms `json:"grants,omitempty"`
	PlanDigest     string                   `json:"planDigest"`
	ApprovedDigest string                   `json:"approvedDigest,omitempty"`
	EditedPlan     []byte                   `json:"editedPlan,omitempty"`
	PlanWasEdited  bool                     `json:"planWasEdited"`
	MovedSeen      string                   `json:"movedSeen,omitempty"`
	PolicyDigest   string                   `json:"policyDigest,omitempty"`
}

// Withdrawn is the body of plan_withdrawn: a plan or permission request that is asked no more.
type Withdrawn struct {
	RequestID string         `json:"requestId"`
	Reason    WithdrawReason `json:"reason"`
}

// WithdrawReason says why a request is asked no more.
type WithdrawReason string

// The reasons.
const (
	WithdrawnByAgent   WithdrawReason = "withdrawn"
	WithdrawnInterrupt WithdrawReason = "interrupted"
	WithdrawnReplanned WithdrawReason = "replanned"
	WithdrawnExit      WithdrawReason = "exit"
	WithdrawnAgentLost WithdrawReason = "agentLost"
	WithdrawnNewTeam   WithdrawReason = "newTeam"
)

// PermissionAnswer is the body of permission_response: a signed order that answers one permission request.
type PermissionAnswer struct {
	mailbox.OrderHead
	RequestID string `json:"requestId"`
	permissions.PermissionResponse
}

// ModeSet is the body of mode_set_request (on ord.).
type ModeSet struct {
	mailbox.OrderHead
	Counter uint64           `json:"counter"`
	Mode    permissions.Mode `json:"mode"`
	Reason  string           `json:"reason,omitempty"`
}

// ModeChanged tells the leaders that a teammate's mode is another one now.
type ModeChanged struct {
	From  permissions.Mode `json:"from"`
	To    permissions.Mode `json:"to"`
	Cause string           `json:"cause"`
}

// GrantRevoked is the body of grant_revoked (on ord.): one grant, or all of them.
type GrantRevoked struct {
	mailbox.OrderHead
	Counter uint64 `json:"counter"`
	GrantID string `json:"grantId,omitempty"`
	All     bool   `json:"all,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Status is a member's last word about itself, on stat. It is what the member says, and proves nothing.
type Status struct {
	State        State               `json:"state"`
	Mode         permissions.Mode    `json:"mode"`
	SavedMode    permissions.Mode    `json:"savedMode,omitempty"`
	PlanID       string              `json:"planId,omitempty"`
	RequestID    string              `json:"requestId,omitempty"` // pending
	ApprovedPlan string              `json:"approvedPlan,omitempty"`
	Task         string              `json:"task,omitempty"`
	Turns        int                 `json:"turns,omitempty"`
	Tokens       int                 `json:"tokens,omitempty"`
	Tool         string              `json:"tool,omitempty"` // that is used now
	Moved        *Moved              `json:"moved,omitempty"`
	EnforcedBy   string              `json:"enforcedBy"` // kernel, client, or nobody
	Agent        string              `json:"agent,omitempty"`
	Grants       []permissions.Grant `json:"grants,omitempty"`
	Heartbeat    time.Time           `json:"heartbeat"`
	Reading      string              `json:"reading,omitempty"` // leaders: the request that is open
	Held         string              `json:"held,omitempty"`
	// ExpireAfterMS is what the desk says of the team's deadline: a request that nobody decides expires so many milliseconds
	// after it was stored. Zero: never.
	ExpireAfterMS int64 `json:"expireAfterMs,omitempty"`
	// Idle reports whether the agent has nothing to do: no plan is asked for or carried out, and it has ended its turn or
	// its plan, or waits for mail.
	Idle bool `json:"idle,omitempty"`
	// Failed says why the agent ended with an error, or why its runner could not go on; only in the last word, of one that
	// has left.
	Failed string `json:"failed,omitempty"`
	// Ended are the grants that ended last, the newest last; at most 32.
	Ended []EndedGrant `json:"ended,omitempty"`
	// Asks are the calls that wait for a leader's word.
	Asks []string `json:"asks,omitempty"` // request ids
	// ForPlan reports whether an answer can allow a call for the plan now: one is carried out, and its grants may live on.
	ForPlan bool `json:"forPlan"`
	// Blocked are the calls of this round of planning, and of what follows it, that were refused more than once; at most five.
	Blocked []BlockedCall `json:"blocked,omitempty"`
	// OnceOnly says, for each of Asks that can be allowed only once, why.
	OnceOnly map[string]string `json:"onceOnly,omitempty"`
}

// BlockedCall is a call that was not let through, and how often exactly this one was not.
type BlockedCall struct {
	Tool  string `json:"tool"`
	Input string `json:"input"` // the author's: make it visible
	Times int    `json:"times"`
}

// EndedGrant is a grant that is over, and why.
type EndedGrant struct {
	permissions.Grant
	EndedBy string    `json:"endedBy"` // completed, revoked, expired, exhausted, replanned, recalled, ...
	EndedAt time.Time `json:"endedAt"`
}

// Moved tells how many of the files that a pending plan rests on have changed since.
type Moved struct {
	Of      int      `json:"of"`
	Changed []string `json:"changed"`
	Head    string   `json:"head,omitempty"`
}
