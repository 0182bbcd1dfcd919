package natsbox

import (
	"encoding/json"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// The verbs of the coordinator's service.
const (
	VerbJoin     = "join"     // JoinRequest -> Welcome
	VerbStanding = "standing" // StandingRequest -> Welcome: does this instance still hold its name?
	VerbCharter  = "charter"  // -> charter.Signed
	VerbResolve  = "resolve"  // ResolveRequest -> Resolved
	VerbPending  = "pending"  // -> []Row, oldest first
	VerbRequest  = "request"  // IDRequest -> Row; a teammate's name is its newest request, open or settled
	VerbDecision = "decision" // IDRequest -> DecisionInfo
	VerbReceipts = "receipts" // IDRequest -> []ReceiptInfo
	VerbPresence = "presence" // -> []Presence
	VerbCounter  = "counter"  // CounterRequest -> CounterInfo: leaders only
	VerbPast     = "past"     // -> []Past, newest first
	VerbHead     = "head"     // HeadRequest -> LedgerEnd
	VerbAudit    = "audit"    // AuditRequest -> AuditLines: leaders only
	VerbEvent    = "event"    // EventRequest -> nothing, for the ledger: teammates only
	VerbMail     = "mail"     // MailRequest -> []MailInfo, newest first: not for teammates
)

// JoinRequest asks for a place in the team. Instance is a name that one running copy of the member keeps over its
// restarts; another instance is refused while this one lives, unless Takeover is set.
type JoinRequest struct {
	Name         string           `json:"name"`
	Instance     string           `json:"instance"`
	Version      string           `json:"version,omitempty"`
	Agent        string           `json:"agent,omitempty"`
	Capabilities []string         `json:"capabilities,omitempty"`
	Mode         permissions.Mode `json:"mode,omitempty"`
	Takeover     bool             `json:"takeover,omitempty"`
	LedgerSeen   uint64           `json:"ledgerSeen,omitempty"` // as in [HeadRequest]
}

// Consumers are the names under which a member pulls. They are secret: whoever knows one can take its mail.
type Consumers struct {
	Mail      string `json:"mail"`
	Decisions string `json:"decisions,omitempty"` // teammates only
	Orders    string `json:"orders,omitempty"`    // teammates only
}

// Welcome is the answer to a join. The charter must be opened with the owner's key before it is believed.
type Welcome struct {
	Epoch     uint64         `json:"epoch"`
	Consumers Consumers      `json:"consumers"`
	Charter   charter.Signed `json:"charter"`
	TeamID    string         `json:"teamId"`
	Ledger    LedgerEnd      `json:"ledger,omitzero"`
	Redial    bool           `json:"redial,omitempty"` // rights have changed: connect again
	// AllSince is up to where in the stream of all mail what was sent to all is not for this member: it came later.
	AllSince uint64 `json:"allSince,omitempty"`
	// Orders are the highest counters of orders that this teammate has said it applied, by the key of their leader: a
	// journal that knows lower ones is not the last one.
	Orders map[string]uint64 `json:"orders,omitempty"`
}

// StandingRequest asks whether an instance still holds its name under an epoch.
type StandingRequest struct {
	Instance string `json:"instance"`
	Epoch    uint64 `json:"epoch"`
}

// ResolveRequest asks whether a name is a member's.
type ResolveRequest struct {
	Name string `json:"name"`
}

// Resolved is a member that mail can be sent to.
type Resolved struct {
	Name string       `json:"name"`
	Role charter.Role `json:"role"`
	Kind charter.Kind `json:"kind"`
}

// IDRequest names a request, or a piece of mail.
type IDRequest struct {
	ID string `json:"id"`
}

// EventRequest is a transition of a teammate's session that no mail tells, for the ledger.
type EventRequest struct {
	Seq    uint64 `json:"seq"` // line of its journal: one that is not above the last one is recorded already
	Event  string `json:"event"`
	Digest string `json:"digest,omitempty"` // of the plan that it is about
	Mode   string `json:"mode,omitempty"`   // in force, saved, or seen
	By     string `json:"by,omitempty"`     // who did it
}

// HeadRequest asks for the end of the audit ledger. Seen is an entry that the member has seen before, 0 for none.
type HeadRequest struct {
	Seen uint64 `json:"seen,omitempty"`
}

// LedgerEnd is where the audit ledger ends. LostAt is its last entry that says that the store has lost something, 0 when
// there is none. Seen is the asked entry as it is now, with no hash when it is not there.
type LedgerEnd struct {
	audit.Head
	LostAt uint64     `json:"lostAt,omitempty"`
	Seen   audit.Head `json:"seen,omitzero"`
}

// AuditRequest asks for lines of the ledger, from a number of its stream on.
type AuditRequest struct {
	From uint64 `json:"from"`
}

// AuditLines is a piece of the ledger. Next is where the next piece begins, 0 when this was the last one.
type AuditLines struct {
	Lines []audit.Line `json:"lines"`
	Next  uint64       `json:"next,omitempty"`
}

// CounterRequest asks which counter the asking leader used last for orders to one teammate.
type CounterRequest struct {
	To string `json:"to"`
}

// CounterInfo is the highest counter of the asking leader's orders to a teammate; 0 when it gave none.
type CounterInfo struct {
	Counter uint64 `json:"counter"`
}

// AnswerInfo is the answer that a question has.
type AnswerInfo struct {
	Answer     mailbox.Answer `json:"answer"`
	By         string         `json:"by"`         // the leader, from the subject
	EnvelopeID string         `json:"envelopeId"` // of the answer
	StoredAt   time.Time      `json:"storedAt"`
}

// Row is one request as the coordinator knows it. It is shown, and never trusted: what is decided on is the digest that
// the reader computes from Request itself.
type Row struct {
	Request    *planmode.ApprovalRequest      `json:"request,omitempty"`
	Permission *permissions.PermissionRequest `json:"permission,omitempty"`
	Question   *mailbox.Question              `json:"question,omitempty"`
	Answer     *AnswerInfo                    `json:"answer,omitempty"` // of a question
	From       string                         `json:"from"`
	Epoch      uint64                         `json:"epoch"`
	EnvelopeID string                         `json:"envelopeId"`
	StoredAt   time.Time                      `json:"storedAt"`
	// Seq is the request's place in the mail stream: of two rows, the lower one was stored first.
	Seq uint64 `json:"seq,omitempty"`
	// KnownMode is the teammate's mode before planning, as far as leaders ordered it or it narrowed by itself.
	KnownMode permissions.Mode `json:"knownMode"`
	Decision  *DecisionInfo    `json:"decision,omitempty"`
	Withdrawn string           `json:"withdrawn,omitempty"` // the reason
	// SupersededBy is the request id of the newer one.
	SupersededBy string `json:"supersededBy,omitempty"`
	// Recalled is the first order after an approval that sent the teammate back to plan mode.
	Recalled *RecallInfo `json:"recalled,omitempty"`
	// EndedAt is when the request was decided, answered, withdrawn or replaced; zero while it is open.
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Previous is the request id of the revision of the same plan before this one.
	Previous string            `json:"previous,omitempty"`
	Receipts []mailbox.Receipt `json:"receipts,omitempty"` // of the teammate that asked
	// Escalated says to which leaders the desk has handed the request, because nobody decided.
	Escalated []EscalationInfo `json:"escalated,omitempty"`
	// Endorsements are what leaders have signed of a decision that needs several: the last one of each.
	Endorsements []EndorsementInfo `json:"endorsements,omitempty"`
	// Expires is when the request is rejected by itself, by its own deadline or the team's; while it is open.
	Expires *time.Time `json:"expires,omitempty"`
	// Partial says that the bodies were left out, because the whole list would not fit into one answer.
	Partial bool `json:"partial,omitempty"`
	// Dead are the ids of dead letters that this request is: a leader could not handle it, and it waits all the same.
	Dead []string `json:"dead,omitempty"`
}

// EscalationInfo is one leader whom a desk has told of a request that nobody decides.
type EscalationInfo struct {
	To string    `json:"to"`
	At time.Time `json:"at"`
}

// Escalated is the summary of a desk's message that hands the request which it replies to to a leader.
const Escalated = "escalated"

// Open reports whether the request still waits for a decision.
func (r Row) Open() bool {
	return r.Decision == nil && r.Answer == nil && r.Withdrawn == "" && r.SupersededBy == ""
}

// DecisionInfo is what lies in the slot of a request.
type DecisionInfo struct {
	Order    charter.Order      `json:"order"`
	StoredAt time.Time          `json:"storedAt"`
	Valid    bool               `json:"valid"`             // signed by a leader and well formed
	Reason   string             `json:"reason,omitempty"`  // why it is not valid
	Outcome  string             `json:"outcome,omitempty"` // approved, ...; or allow, deny
	Mode     permissions.Mode   `json:"mode,omitempty"`
	By       *mailbox.DecidedBy `json:"by,omitempty"`
	Signers  []string           `json:"signers,omitempty"` // the leaders who signed it, by name
}

// EndorsementInfo is one leader's signature for a decision that needs several.
type EndorsementInfo struct {
	mailbox.Endorsement
	From       string    `json:"from"` // the leader, from the subject
	EnvelopeID string    `json:"envelopeId"`
	Seq        uint64    `json:"seq"` // in the mail stream
	StoredAt   time.Time `json:"storedAt"`
}

// RecallInfo says who ordered a teammate back to plan mode, and when that was stored.
type RecallInfo struct {
	By string    `json:"by"` // the leader, from the subject
	At time.Time `json:"at"`
}

// Past is a request that waits no more, for a list: without its bodies, and without the bytes of its decision.
type Past struct {
	Row
	// Kind is plan, leave, run or question.
	Kind     string `json:"kind"`
	Revision int    `json:"revision,omitempty"`
	Title    string `json:"title"` // of the plan, or the call or question; the teammate's words, cut
}

// MailRequest asks for mail to the leaders and to the one who asks: the last messages, the one of an id or of the beginning
// of it, or those about which the one who asks has told nobody that they were seen, the oldest first.
type MailRequest struct {
	ID     string `json:"id,omitempty"`
	Unread bool   `json:"unread,omitempty"`
	Max    int    `json:"max,omitempty"` // of the unread; 0: 100
}

// MailInfo is a message that was sent to the leaders. Its text is its sender's.
type MailInfo struct {
	ID     string    `json:"id"`
	From   string    `json:"from"`
	To     string    `json:"to"` // lead, all, or the name of the leader who asks
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
	Urgent bool      `json:"urgent,omitempty"`
	Seq    uint64    `json:"seq,omitempty"`
	// Seen says that the one who asks has said that it was seen.
	Seen bool `json:"seen,omitempty"`
	// Partial says that the text was left out, because the whole list would not fit into one answer.
	Partial bool `json:"partial,omitempty"`
}

// ReceiptInfo is a receipt with its sender.
type ReceiptInfo struct {
	From     string          `json:"from"`
	StoredAt time.Time       `json:"storedAt"`
	Receipt  mailbox.Receipt `json:"receipt"`
}

// Presence is what the coordinator knows of a member right now.
type Presence struct {
	Name  string       `json:"name"`
	Role  charter.Role `json:"role"`
	Kind  charter.Kind `json:"kind"`
	Live  bool         `json:"live"`
	Epoch uint64       `json:"epoch"`
	Agent string       `json:"agent,omitempty"`
	// Capabilities is what a teammate's client can do, as it said when it joined.
	Capabilities []string `json:"capabilities,omitempty"`
	// KnownMode as in [Row].
	KnownMode permissions.Mode `json:"knownMode,omitempty"`
	Seen      time.Time        `json:"seen,omitzero"`    // of the last status
	Status    json.RawMessage  `json:"status,omitempty"` // the member's last word about itself; proves nothing
	// Muted says who took its right to send mail, nil when it has it.
	Muted *MuteInfo `json:"muted,omitempty"`
}
