package planmode

import (
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// State is where a session stands. The words are the wire's.
type State string

// The states. The zero State is a session that has not started; only [Started] leads out of it.
const (
	Working                State = "working"                // out of plan mode; leads out: Entered, ModeOrdered(plan), ModeObserved(plan), Exited, Fenced
	Planning               State = "planning"               // plan mode, nothing asked; leads out: Submitted, LeaveAsked, ModeObserved, Exited, Fenced
	AwaitingLeaderApproval State = "awaitingLeaderApproval" // plan mode, one request open; leads out: Decided, Reissued, Withdrawn, Interrupted, AgentLost, Exited, Fenced
	Left                   State = "left"                   // final
)

// EnteredBy says whose wish it was to plan. Only the side that entered may leave by itself, and only where the charter
// does not require a plan.
type EnteredBy string

// Who enters plan mode.
const (
	ByAgent  EnteredBy = "agent"
	ByLeader EnteredBy = "leader"
	ByClient EnteredBy = "client"
	ByFlag   EnteredBy = "flag"
)

// MaxAsks is how many permission requests of one teammate may be open.
const MaxAsks = 5

// MaxAttempts is how often one request is asked again after its slot was spent on something unusable.
const MaxAttempts = 5

// Session is the life of one teammate's plans: a value, changed by [Session.Apply] alone, and written to the journal
// whole after each step.
type Session struct {
	V        int                 `json:"v"`
	Team     string              `json:"team"` // team id (hash of the owner's key), not its name
	Teammate string              `json:"teammate"`
	Tree     string              `json:"tree"`  // absolute working tree; grants are bound to it
	Epoch    uint64              `json:"epoch"` // set by the coordinator at join; fences
	State    State               `json:"state"`
	Mode     permissions.Mode    `json:"mode"`            // in force. ModePlan iff planning or awaiting
	Saved    permissions.Mode    `json:"saved,omitempty"` // mode before planning. "" iff working or left
	Cycle    Cycle               `json:"cycle"`
	Pending  *Pending            `json:"pending,omitempty"`  // non-nil iff awaiting
	Approved *Approval           `json:"approved,omitempty"` // only while working; nil after completion
	Grants   []permissions.Grant `json:"grants,omitempty"`   // only if Approved != nil, each bound to its digest
	Asks     []Ask               `json:"asks,omitempty"`     // open permission requests, at most MaxAsks
	Orders   map[string]uint64   `json:"orders,omitempty"`   // highest counter applied, by signer key
	Drift    int                 `json:"drift,omitempty"`    // rows 49, 49b
	Settled  []Settled           `json:"settled,omitempty"`  // last 256 ids of requests and orders
	Charter  charter.Charter     `json:"charter"`            // verified by the caller
	// Dialect is the name of the way in which the agent's system speaks of plan mode; "" is swarm's own.
	Dialect string `json:"dialect,omitempty"`
}

// Cycle is one round of planning. It is kept over rejection and resubmission.
type Cycle struct {
	PlanID    string    `json:"planId,omitempty"`
	Revision  int       `json:"revision,omitempty"` // last submitted; the first is 1
	PlanFile  string    `json:"planFile,omitempty"`
	EnteredBy EnteredBy `json:"enteredBy,omitempty"`
	// Rejected is the content digest of the last rejected revision: the same bytes again are marked unchanged.
	Rejected string `json:"rejected,omitempty"`
}

// Pending is the one open approval request.
type Pending struct {
	RequestID     string               `json:"requestId"`
	Epoch         uint64               `json:"epoch"` // kept over Resumed, set anew by Reissued and by a revision
	Kind          RequestKind          `json:"kind"`
	Revision      int                  `json:"revision"`
	Digest        string               `json:"digest"`
	Plan          plans.Ref            `json:"plan"`
	Prompts       []permissions.Prompt `json:"prompts,omitempty"`
	Options       []plans.Option       `json:"options,omitempty"`
	Facts         []plans.Fact         `json:"facts,omitempty"`
	Tasks         []plans.Task         `json:"tasks,omitempty"`
	Base          plans.Base           `json:"base"`
	Reads         []plans.Read         `json:"reads,omitempty"`
	RequestedMode permissions.Mode     `json:"requestedMode,omitempty"`
	Reason        string               `json:"reason,omitempty"` // of a leave request
	Unchanged     bool                 `json:"unchanged,omitempty"`
	Published     bool                 `json:"published"`
	Attempt       int                  `json:"attempt"` // 1 for the first
	Supersedes    string               `json:"supersedes,omitempty"`
	Why           string               `json:"why,omitempty"` // it is asked again: what was wrong with the last answer
	Addresses     []Addressed          `json:"addresses,omitempty"`
	Deadline      *time.Time           `json:"deadline,omitempty"`
	// Runners are the runner files of the prompts' intents, as they were at submit.
	Runners []permissions.RunnerFile `json:"runners,omitempty"`
}

// Approval is the plan that is being carried out.
type Approval struct {
	PlanID    string `json:"planId"`
	Revision  int    `json:"revision"`
	Digest    string `json:"digest"`            // grants are bound to it
	Content   string `json:"content,omitempty"` // hex SHA-256 of the approved bytes alone: the key into the plan store
	RequestID string `json:"requestId"`
	Option    string `json:"option,omitempty"`
	Title     string `json:"title,omitempty"`
	// Tasks are the checkboxes of the approved bytes, and how far each is. They are no part of what was hashed.
	Tasks []TaskState `json:"tasks,omitempty"`
	// Until is when the last of the grants in its decision ends: a permission given for the rest of the plan lives no
	// longer, and without grants (zero) there is none.
	Until time.Time `json:"until,omitzero"`
}

// Ask is one open permission request.
type Ask struct {
	RequestID string   `json:"requestId"`
	CallHash  string   `json:"callHash"`
	Tool      string   `json:"tool"`
	Input     string   `json:"input"`
	Cwd       string   `json:"cwd"`
	Change    string   `json:"change,omitempty"` // of an edit: what it would write
	Argv      []string `json:"argv,omitempty"`   // when the line is one simple command
	// Runners are the runner files that have changed, as they are now: a grant would have covered the call.
	Runners []permissions.RunnerFile `json:"runners,omitempty"`
	// Obeys are the runner files of the exact command, as they were when it was asked. A grant for it remembers them.
	Obeys []permissions.RunnerFile `json:"obeys,omitempty"`
	// OnceOnly says why no grant for exactly this call would let it pass; empty: one would.
	OnceOnly string `json:"onceOnly,omitempty"`
}

// Settled is a request that has had its answer, or an order that was applied, and the receipt that was sent for it.
type Settled struct {
	RequestID string          `json:"requestId"`
	Outcome   SettledOutcome  `json:"outcome"`
	Receipt   mailbox.Receipt `json:"receipt"`
}

// SettledOutcome says how a request ended.
type SettledOutcome string

// The ways a request ends.
const (
	SettledApplied    SettledOutcome = "applied"
	SettledSuperseded SettledOutcome = "superseded"
	SettledWithdrawn  SettledOutcome = "withdrawn"
	SettledRefused    SettledOutcome = "refused"
)

// MaxSettled is how many settled requests a session remembers.
const MaxSettled = 256

// MaxSigners is how many signers' counters a session remembers.
const MaxSigners = 256
