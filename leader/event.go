package leader

import (
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
)

// EventKind says what happened at the desk.
type EventKind string

// What happens at a desk.
const (
	EventSubmitted   EventKind = "submitted"   // a request is on the desk: Row
	EventUndecided   EventKind = "undecided"   // every decider abstained: Reason; a person must decide
	EventDecided     EventKind = "decided"     // a decision is stored: Decision, or Answer; Here says whether with a key of this desk
	EventSuperseded  EventKind = "superseded"  // a newer revision took the request's place: By is its id
	EventWithdrawn   EventKind = "withdrawn"   // the teammate asks no more: Reason
	EventApplied     EventKind = "applied"     // the teammate applied a decision or an order: Receipt
	EventRefused     EventKind = "refused"     // the teammate refused a decision or an order: Receipt
	EventOdd         EventKind = "odd"         // a request that cannot be what it says was refused: Reason
	EventMessage     EventKind = "message"     // mail: Message
	EventQuestion    EventKind = "question"    // a question to the leader: Question
	EventModeChanged EventKind = "modeChanged" // a teammate's mode is another: Mode
	EventTask        EventKind = "task"        // a task moved on: Task
	EventShutdown    EventKind = "shutdown"    // a teammate answered a shutdown order: Shutdown
	EventEndorsed    EventKind = "endorsed"    // a leader signed a decision that needs several: By; Row has who did
	EventReminded    EventKind = "reminded"    // a request has waited for long: Reason
	EventEscalated   EventKind = "escalated"   // it was handed to the next leader: By
	EventReplied     EventKind = "replied"     // a question has its answer: Reply; By is who gave it, Here as above
)

// Event is one thing that happened at the desk. Texts in it are foreign: show them through [plans.Visible] only.
type Event struct {
	Kind      EventKind
	At        time.Time
	Teammate  string
	RequestID string

	Row      *Row // submitted, undecided, decided, superseded, withdrawn; nil when the desk never had it
	Rebuilt  bool // submitted: it was stored before this desk started
	Here     bool // decided, replied: by one of this desk's own members
	Decision *planmode.Decision
	Answer   *planmode.PermissionAnswer
	By       string // superseded: the id of the newer request; replied: who answered; endorsed: who signed; escalated: to whom
	Reason   string

	Receipt  *mailbox.Receipt
	Message  *mailbox.Message
	Question *mailbox.Question
	Reply    *mailbox.Answer
	Mode     *planmode.ModeChanged
	Task     *mailbox.TaskUpdate
	Shutdown *mailbox.ShutdownResponse
}

// Rule is the policy rule that decided, or empty.
func (e Event) Rule() string {
	switch {
	case e.Decision != nil:
		return RuleOf(e.Decision.DecidedBy)
	case e.Answer != nil:
		return RuleOf(e.Answer.DecidedBy)
	}
	return ""
}
