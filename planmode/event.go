package planmode

import (
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// Event is something that happened. Time, ids and verified authority come in with it.
type Event interface{ event() }

type (
	// Started begins a session: the mode that the teammate has, whether it starts in plan mode, and the epoch of its join.
	Started struct {
		Team     string           `json:"team"`
		Teammate string           `json:"teammate"`
		Tree     string           `json:"tree"`
		Mode     permissions.Mode `json:"mode"`
		Plan     bool             `json:"plan,omitempty"`
		PlanID   string           `json:"planId,omitempty"`   // used when it starts in plan mode
		PlanFile string           `json:"planFile,omitempty"` // used when it starts in plan mode
		Epoch    uint64           `json:"epoch"`
		Charter  charter.Charter  `json:"charter"`
		Dialect  string           `json:"dialect,omitempty"` // a name of DialectOf
	}
	// Entered is a wish to plan that was agreed to, as far as anybody had to. From is the mode that the caller believes in
	// force.
	Entered struct {
		From     permissions.Mode `json:"from"`
		By       EnteredBy        `json:"by"`
		PlanID   string           `json:"planId,omitempty"`
		PlanFile string           `json:"planFile,omitempty"`
		Resolved Resolution       `json:"resolved,omitempty"` // auto or asked; empty is auto
		Reason   string           `json:"reason,omitempty"`   // for people; the agent is not told its own reason again
	}
	// EntryRefused is a wish to plan that came to nothing: refused, or dismissed. Nothing changes.
	EntryRefused struct {
		Resolved Resolution `json:"resolved"`
		Reason   string     `json:"reason,omitempty"` // the agent's, for people
		Cause    string     `json:"cause,omitempty"`  // of the refusal, for the agent
		By       string     `json:"by,omitempty"`     // who refused
	}
	// Submitted hands in a plan whose bytes the plan store already holds.
	Submitted struct {
		RequestID     string               `json:"requestId"`
		Content       []byte               `json:"content"` // exactly as snapshotted
		Plan          plans.Ref            `json:"plan"`    // its digest must be that of Content
		Prompts       []permissions.Prompt `json:"prompts,omitempty"`
		Options       []plans.Option       `json:"options,omitempty"`
		Tasks         []plans.Task         `json:"tasks,omitempty"`
		Facts         []plans.Fact         `json:"facts,omitempty"`
		RequestedMode permissions.Mode     `json:"requestedMode,omitempty"`
		Base          plans.Base           `json:"base"`
		Reads         []plans.Read         `json:"reads,omitempty"`
		Addresses     []Addressed          `json:"addresses,omitempty"`
		// Runners are the runner files in the tree that the prompts' intents name. Grants remember them.
		Runners  []permissions.RunnerFile `json:"runners,omitempty"`
		Deadline *time.Time               `json:"deadline,omitempty"`
	}
	// Published tells that the request is stored in the leader's mailbox.
	Published struct {
		RequestID string `json:"requestId"`
	}
	// Decided is a leader's decision, read from its slot, with the pending plan's bytes from the plan store.
	Decided struct {
		Decision  Decision          `json:"decision"`
		Content   []byte            `json:"content,omitempty"` // the pending plan's submitted bytes; nil for a leave request
		Authority charter.Authority `json:"authority"`
		V         int               `json:"v"`    // envelope version
		Team      string            `json:"team"` // body.teamId: must be the session's
		To        string            `json:"to"`   // must be the teammate
		Now       time.Time         `json:"now"`
	}
	// Reissued replaces a request whose slot is spent.
	Reissued struct {
		Old   string `json:"old"`
		New   string `json:"new"`
		Cause string `json:"cause"`
		Epoch uint64 `json:"epoch"` // of the new request; zero means the session's
	}
	// WithdrawAsked is the teammate taking its request back.
	WithdrawAsked struct {
		Reason WithdrawReason `json:"reason"`
	}
	// Interrupted is the person at the agent pressing stop.
	Interrupted struct{}
	// LeaveAsked is a wish to leave plan mode without a plan.
	LeaveAsked struct {
		RequestID string `json:"requestId"`
		Reason    string `json:"reason,omitempty"`
	}
	// ModeOrdered is a leader's mode_set_request.
	ModeOrdered struct {
		Mode      permissions.Mode  `json:"mode"`
		Authority charter.Authority `json:"authority"`
		OrderID   string            `json:"orderId"`
		Signer    string            `json:"signer"` // public key; one of the authority's
		Counter   uint64            `json:"counter"`
		PlanID    string            `json:"planId,omitempty"`   // for a recall
		PlanFile  string            `json:"planFile,omitempty"` // for a recall
		Reason    string            `json:"reason,omitempty"`
	}
	// ModeObserved is the mode that the agent's client reports.
	ModeObserved struct {
		Mode     permissions.Mode `json:"mode"`
		PlanID   string           `json:"planId,omitempty"`   // used when it leads into plan mode
		PlanFile string           `json:"planFile,omitempty"` // used when it leads into plan mode
	}
	// GrantUsed is one use of a grant, recorded before the call is allowed.
	GrantUsed struct {
		GrantID  string    `json:"grantId"`
		CallHash string    `json:"callHash"`
		Now      time.Time `json:"now"`
	}
	// RevokeOrdered is a leader's grant_revoked.
	RevokeOrdered struct {
		GrantID   string            `json:"grantId,omitempty"`
		All       bool              `json:"all,omitempty"`
		Authority charter.Authority `json:"authority"`
		OrderID   string            `json:"orderId"`
		Signer    string            `json:"signer"` // public key; one of the authority's
		Counter   uint64            `json:"counter"`
		Reason    string            `json:"reason,omitempty"`
	}
	// ShutdownOrdered is a leader's shutdown_request.
	ShutdownOrdered struct {
		Authority charter.Authority `json:"authority"`
		OrderID   string            `json:"orderId"`
		Signer    string            `json:"signer"` // public key; one of the authority's
		Counter   uint64            `json:"counter"`
		Reason    string            `json:"reason,omitempty"`
	}
	// Asked opens a permission request. It is refused when MaxAsks are open; an identical one is the same row.
	Asked struct {
		Ask Ask `json:"ask"`
	}
	// AskWithdrawn closes a permission request that nobody waits for any more.
	AskWithdrawn struct {
		RequestID string         `json:"requestId"`
		Reason    WithdrawReason `json:"reason"`
	}
	// PermissionAnswered is a leader's permission_response.
	PermissionAnswered struct {
		Answer    PermissionAnswer  `json:"answer"`
		Authority charter.Authority `json:"authority"`
		Now       time.Time         `json:"now"`
	}
	// CallRefused is a call that was judged and not let through. It changes nothing: the journal keeps it as evidence.
	CallRefused struct {
		Tool     string `json:"tool"`
		Input    string `json:"input"` // the line or the path, as far as it is kept
		CallHash string `json:"callHash"`
		Reason   string `json:"reason"`
	}
	// Ticked is the passing of time. It ends expired grants and nothing else.
	Ticked struct {
		Now time.Time `json:"now"`
	}
	// TaskMarked says how far a task of the approved plan is.
	TaskMarked struct {
		ID     string     `json:"id"`
		Status TaskStatus `json:"status"`
		Note   string     `json:"note,omitempty"`
	}
	// Completed is the end of the approved plan.
	Completed struct {
		By string `json:"by,omitempty"`
	}
	// CharterChanged is a newer charter, verified.
	CharterChanged struct {
		Charter charter.Charter `json:"charter"`
		Now     time.Time       `json:"now"` // grants that would live longer than the new charter lets them end
		// Void is set when the owner's key was in other hands: what waits and what was granted does not count any more.
		Void     bool   `json:"void,omitempty"`
		PlanID   string `json:"planId,omitempty"`   // used when it leads into plan mode
		PlanFile string `json:"planFile,omitempty"` // used when it leads into plan mode
	}
	// Resumed is the start of a runner on an old journal.
	Resumed struct {
		Epoch uint64    `json:"epoch"`
		Team  string    `json:"team"`
		Now   time.Time `json:"now"`
		// Dialect and PlanFile are what the runner was started with now; empty, or a dialect that is not known, changes nothing.
		Dialect  string `json:"dialect,omitempty"`
		PlanFile string `json:"planFile,omitempty"`
	}
	// AgentLost is the end of the agent's process.
	AgentLost struct {
		CanResumeAsk bool `json:"canResumeAsk,omitempty"`
	}
	// Fenced is a later epoch that holds this name.
	Fenced struct{}
	// Exited is the orderly end of the teammate.
	Exited struct{}
)

func (Started) event()            {}
func (Entered) event()            {}
func (EntryRefused) event()       {}
func (Submitted) event()          {}
func (Published) event()          {}
func (Decided) event()            {}
func (Reissued) event()           {}
func (WithdrawAsked) event()      {}
func (Interrupted) event()        {}
func (LeaveAsked) event()         {}
func (ModeOrdered) event()        {}
func (ModeObserved) event()       {}
func (GrantUsed) event()          {}
func (RevokeOrdered) event()      {}
func (ShutdownOrdered) event()    {}
func (Asked) event()              {}
func (AskWithdrawn) event()       {}
func (PermissionAnswered) event() {}
func (CallRefused) event()        {}
func (Ticked) event()             {}
func (TaskMarked) event()         {}
func (Completed) event()          {}
func (CharterChanged) event()     {}
func (Resumed) event()            {}
func (AgentLost) event()          {}
func (Fenced) event()             {}
func (Exited) event()             {}
