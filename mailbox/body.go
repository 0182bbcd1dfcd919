package mailbox

import "time"

// DecidedBy says who gave an order, and how.
type DecidedBy struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`      // person, agent or policy
	Via       string `json:"via"`       // command, console, web, policy:<rule>
	Assurance string `json:"assurance"` // of the key: plain, sealed, confirm, memory
}

// OrderHead begins the body of every signed order.
type OrderHead struct {
	TeamID        string    `json:"teamId"` // hash of the owner's key
	CharterSerial uint64    `json:"charterSerial"`
	Epoch         uint64    `json:"epoch"` // of the request that is answered; 0 for orders that answer nothing
	DecidedBy     DecidedBy `json:"decidedBy"`
	DecidedAt     time.Time `json:"decidedAt"`
}

// ReceiptState is how far a piece of mail or an order has come.
type ReceiptState string

// The states of a receipt, in the order they are reached. Applied and refused are final.
const (
	Delivered ReceiptState = "delivered"
	Seen      ReceiptState = "seen"
	Applied   ReceiptState = "applied"
	Refused   ReceiptState = "refused"
)

// Receipt tells what became of a piece of mail or of an order. Readers are idempotent by (sender, of, state).
type Receipt struct {
	Of     string       `json:"of"` // envelope id, or request id
	State  ReceiptState `json:"state"`
	Mode   string       `json:"mode,omitempty"`   // in force after it was applied
	Digest string       `json:"digest,omitempty"` // of the approved plan
	Grants []string     `json:"grants,omitempty"` // prompts of the grants in force
	Reason string       `json:"reason,omitempty"`
	Count  *int         `json:"count,omitempty"` // grants ended, for a revocation
}

// Message is plain mail. It never approves anything (invariant 4).
type Message struct {
	Text    string `json:"text"`
	Summary string `json:"summary,omitempty"`
	Urgent  bool   `json:"urgent,omitempty"`
}

// Question asks for a requirement; Answer answers it. Neither approves anything.
type Question struct {
	QuestionID string   `json:"questionId"`
	Text       string   `json:"text"`
	Options    []string `json:"options,omitempty"`
}

// Answer answers a [Question].
type Answer struct {
	QuestionID string `json:"questionId"`
	Option     string `json:"option,omitempty"`
	Text       string `json:"text,omitempty"`
}

// Endorsement is one leader's vote for a decision that needs several: a signature over the same bytes.
type Endorsement struct {
	Request string `json:"request"`
	To      string `json:"to"`
	Payload []byte `json:"payload"` // the decision's envelope, exactly
	Sig     string `json:"sig"`
}

// ShutdownRequest orders a teammate to end (on ord.).
type ShutdownRequest struct {
	OrderHead
	Counter  uint64     `json:"counter"`
	Reason   string     `json:"reason,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"`
}

// ShutdownResponse answers a [ShutdownRequest].
type ShutdownResponse struct {
	Approved bool   `json:"approved"`
	Reason   string `json:"reason,omitempty"`
}

// TaskAssignment gives a teammate something to do.
type TaskAssignment struct {
	TaskID      string   `json:"taskId"`
	Subject     string   `json:"subject"`
	Description string   `json:"description,omitempty"`
	BlockedBy   []string `json:"blockedBy,omitempty"`
}

// TaskUpdate tells how a task stands.
type TaskUpdate struct {
	TaskID string `json:"taskId"`
	Status string `json:"status"` // pending, inProgress, done, blocked
	Note   string `json:"note,omitempty"`
}
