package mailbox

import (
	"encoding/json"
	"slices"
	"time"
)

// Version is the version of everything on the wire. Another one is refused, with both named.
const Version = 1

// Kind is what an envelope carries.
type Kind string

// All kinds of the protocol, used or not yet.
const (
	KindPlanApprovalRequest  Kind = "plan_approval_request"
	KindPlanApprovalResponse Kind = "plan_approval_response" // on dec.
	KindEndorsement          Kind = "endorsement"
	KindPlanWithdrawn        Kind = "plan_withdrawn"
	KindReceipt              Kind = "receipt"
	KindPermissionRequest    Kind = "permission_request"
	KindPermissionResponse   Kind = "permission_response" // on dec.
	KindModeSetRequest       Kind = "mode_set_request"    // on ord.
	KindModeChanged          Kind = "mode_changed"
	KindGrantRevoked         Kind = "grant_revoked"    // on ord.
	KindShutdownRequest      Kind = "shutdown_request" // on ord.
	KindShutdownResponse     Kind = "shutdown_response"
	KindMessage              Kind = "message"
	KindQuestion             Kind = "question"
	KindAnswer               Kind = "answer"
	KindTaskAssignment       Kind = "task_assignment"
	KindTaskUpdate           Kind = "task_update"
	KindStatus               Kind = "status" // on stat.
)

var kinds = []Kind{
	KindPlanApprovalRequest, KindPlanApprovalResponse, KindEndorsement, KindPlanWithdrawn, KindReceipt,
	KindPermissionRequest, KindPermissionResponse, KindModeSetRequest, KindModeChanged, KindGrantRevoked,
	KindShutdownRequest, KindShutdownResponse, KindMessage, KindQuestion, KindAnswer, KindTaskAssignment,
	KindTaskUpdate, KindStatus,
}

// Kinds returns all kinds of the protocol.
func Kinds() []Kind { return slices.Clone(kinds) }

// Known reports whether k is a kind of the protocol. Mail of another kind is refused with that reason and kept for the
// operator, never redelivered for ever.
func (k Kind) Known() bool { return slices.Contains(kinds, k) }

// Answers reports whether k is stored in the write-once slot of the request that it answers (on dec.).
func (k Kind) Answers() bool { return k == KindPlanApprovalResponse || k == KindPermissionResponse }

// Orders reports whether k is an order that answers nothing (on ord.).
func (k Kind) Orders() bool {
	return k == KindModeSetRequest || k == KindGrantRevoked || k == KindShutdownRequest
}

// Lead is the leaders' shared mailbox; All is every member's.
const (
	Lead = "lead"
	All  = "all"
)

// Envelope is one piece of mail. Who sent it is known from the subject that the broker let it be published on; From
// repeats it for readers and is checked against the subject.
type Envelope struct {
	V         int             `json:"v"`
	ID        string          `json:"id"` // UUIDv7, or a request id
	Kind      Kind            `json:"kind"`
	Team      string          `json:"team"`
	From      string          `json:"from"`
	To        string          `json:"to"`
	Epoch     uint64          `json:"epoch"`
	SentAt    time.Time       `json:"sentAt"`
	InReplyTo string          `json:"inReplyTo,omitempty"`
	Body      json.RawMessage `json:"body"`
}
