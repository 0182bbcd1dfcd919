package planmode

import (
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

// Effect is something to be done after a step, in order. Each may be carried out twice.
type Effect interface{ effect() }

type (
	// SetMode puts the agent's client into a mode; the adapter reads it back and feeds ModeObserved.
	SetMode struct {
		Mode permissions.Mode `json:"mode"`
	}
	// PublishRequest sends the pending request to the leader's mailbox under its own id.
	PublishRequest struct {
		Pending    Pending          `json:"pending"`
		Cycle      Cycle            `json:"cycle"`
		Saved      permissions.Mode `json:"saved"`
		Supersedes string           `json:"supersedes,omitempty"`
		Why        string           `json:"why,omitempty"`
	}
	// PublishAsk sends a permission request.
	PublishAsk struct {
		Ask Ask `json:"ask"`
	}
	// PublishWithdrawn tells the leaders that a request is asked no more.
	PublishWithdrawn struct {
		RequestID string         `json:"requestId"`
		Reason    WithdrawReason `json:"reason"`
	}
	// WatchDecision starts watching one slot; StopWatch ends it; AskLedger asks the coordinator for a decision that was
	// made while the runner was away.
	WatchDecision struct {
		RequestID string `json:"requestId"`
	}
	// StopWatch ends [WatchDecision].
	StopWatch struct {
		RequestID string `json:"requestId"`
	}
	// AskLedger asks once for a decision that was stored while nobody watched.
	AskLedger struct {
		RequestID string `json:"requestId"`
	}
	// WritePlan makes the working file the approved bytes: those of the stored content Digest, or Edited.
	WritePlan struct {
		Digest string `json:"digest"` // hex SHA-256 of the content
		Edited []byte `json:"edited,omitempty"`
	}
	// AddGrants puts grants in force: the gate's view is swapped after SetMode and before the receipt.
	AddGrants struct {
		Grants []permissions.Grant `json:"grants"`
	}
	// EndGrants ends grants, and what runs under them. All ends whatever the teammate has started, under a grant or not:
	// it is set when all are revoked, when the plan is done, on entering plan mode and at the end, and IDs may then be empty.
	// A grant that is used up may be named again: what its last use has started then ends.
	EndGrants struct {
		IDs   []string `json:"ids"`
		Cause string   `json:"cause"`
		All   bool     `json:"all,omitempty"`
	}
	// Notify tells the agent something. Key is the same when it is told again, so that what was delivered can be
	// dropped. An empty Key belongs to an answer that may be asked for many times: it is never dropped.
	Notify struct {
		Kind NotifyKind `json:"kind"`
		Key  string     `json:"key"`
		Data Notice     `json:"data"`
	}
	// SendReceipt tells the leaders what became of an order or a decision.
	SendReceipt struct {
		Receipt mailbox.Receipt `json:"receipt"`
	}
	// ReleaseCall lets the call that waits for a permission go on, once, or be denied.
	ReleaseCall struct {
		RequestID string `json:"requestId"`
		CallHash  string `json:"callHash"`
		Allow     bool   `json:"allow"`
		Message   string `json:"message,omitempty"`
		Withdrawn bool   `json:"withdrawn,omitempty"` // nobody has answered: it is asked no more, and Message says why
	}
	// ReportStatus publishes the member's status.
	ReportStatus struct{}
	// Emit records something for logs, consoles and reports.
	Emit struct {
		Event  string            `json:"event"` // plan.entered, plan.approved, ...
		Fields map[string]string `json:"fields,omitempty"`
	}
	// StopAgent ends the agent's processes.
	StopAgent struct {
		Cause string `json:"cause"`
	}
)

func (SetMode) effect()          {}
func (PublishRequest) effect()   {}
func (PublishAsk) effect()       {}
func (PublishWithdrawn) effect() {}
func (WatchDecision) effect()    {}
func (StopWatch) effect()        {}
func (AskLedger) effect()        {}
func (WritePlan) effect()        {}
func (AddGrants) effect()        {}
func (EndGrants) effect()        {}
func (Notify) effect()           {}
func (SendReceipt) effect()      {}
func (ReleaseCall) effect()      {}
func (ReportStatus) effect()     {}
func (Emit) effect()             {}
func (StopAgent) effect()        {}

// NotifyKind says what an agent is told.
type NotifyKind string

// What an agent is told.
const (
	NotifyHowToPlan    NotifyKind = "howToPlan"
	NotifyPresentState NotifyKind = "presentState"
	NotifyAwaiting     NotifyKind = "awaiting"
	NotifyApproved     NotifyKind = "approved"
	NotifyRejected     NotifyKind = "rejected"
	NotifyExpired      NotifyKind = "expired"
	NotifyLeft         NotifyKind = "left"
	NotifyUndecidable  NotifyKind = "undecidable"
	NotifyStillPlan    NotifyKind = "stillPlanning"
	NotifyNotPlanning  NotifyKind = "notPlanning"
	NotifyRevoked      NotifyKind = "revoked"
	NotifyCompleted    NotifyKind = "completed"
	NotifyReentry      NotifyKind = "reentry"
	NotifyResubmit     NotifyKind = "resubmit"
	NotifyFollow       NotifyKind = "followPlan"   // a plan is being carried out: named again after a restart
	NotifyTasksDone    NotifyKind = "tasksDone"    // every task is done: finish the plan
	NotifyEntryRefused NotifyKind = "entryRefused" // stay in the mode that is in force
)

// Notice is what goes with a [Notify]. Everything in it that a leader wrote was signed.
type Notice struct {
	State     State                    `json:"state"`
	Mode      permissions.Mode         `json:"mode"`
	RequestID string                   `json:"requestId,omitempty"`
	Revision  int                      `json:"revision,omitempty"`
	PlanFile  string                   `json:"planFile,omitempty"`
	Plan      []byte                   `json:"plan,omitempty"` // edited bytes, when the leader edited
	Edited    bool                     `json:"edited,omitempty"`
	Option    string                   `json:"option,omitempty"`
	Feedback  string                   `json:"feedback,omitempty"`
	Comments  []Comment                `json:"comments,omitempty"`
	Grants    []permissions.GrantTerms `json:"grants,omitempty"`
	Cause     string                   `json:"cause,omitempty"`
	Next      string                   `json:"next,omitempty"` // what to do now
	By        *mailbox.DecidedBy       `json:"by,omitempty"`
}
