package natsbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/planswarm/swarm/mailbox/charter"
)

// What callers branch on. The texts that wrap these end with what to do next.
var (
	// ErrUnreachable means that the broker, or the coordinator behind it, did not answer in time. What was being sent
	// may have been stored; sending it again is safe.
	ErrUnreachable = errors.New("natsbox: the broker does not answer")
	// ErrRefused means that the broker does not let this key in.
	ErrRefused = errors.New("natsbox: the broker refused the key")
	// ErrForbidden means that this member may not publish or read there.
	ErrForbidden = errors.New("natsbox: not allowed")
	// ErrMuted means that a leader, or the flood guard, has taken this member's right to send mail for a while. It is an
	// [ErrForbidden] too.
	ErrMuted = fmt.Errorf("%w: muted", ErrForbidden)
	// ErrBusy means that this member asks the coordinator too often. [ServiceError.Wait] is when it may ask again.
	ErrBusy = errors.New("natsbox: asked too often")
	// ErrBadAddress means an address that cannot be one of a broker.
	ErrBadAddress = errors.New("natsbox: bad address")
	// ErrInsecure means an address beyond this machine without TLS.
	ErrInsecure = errors.New("natsbox: refusing to connect beyond this machine without TLS")
	// ErrNoTLS means that a tls:// address answers in clear. Nothing was sent to it.
	ErrNoTLS = errors.New("natsbox: what answers at this tls:// address does not speak TLS, and was sent nothing")
	// ErrCertificate means that a broker's certificate is not to be believed. The text says why. Nothing was sent to it.
	ErrCertificate = errors.New("natsbox: the broker's certificate is not to be trusted")
	// ErrNoRecipient means that nobody of this name is in the team.
	ErrNoRecipient = errors.New("natsbox: no such member")
	// ErrMailboxFull means that the recipient's mailbox holds as much of this kind from this sender as it may.
	ErrMailboxFull = errors.New("natsbox: the mailbox is full")
	// ErrStoreFull means that the broker has no room left for mail. Decisions have a reserve.
	ErrStoreFull = errors.New("natsbox: the broker's store is full")
	// ErrTooLarge means that a message is larger than the broker takes. Nothing was sent.
	ErrTooLarge = errors.New("natsbox: too large")
	// ErrNoDecision means that nothing is stored for this request yet.
	ErrNoDecision = errors.New("natsbox: not decided")
	// ErrNotJoined means that the member has not joined, so it has no mailbox to read.
	ErrNotJoined = errors.New("natsbox: not joined")
	// ErrNameTaken means that another live instance has this name.
	ErrNameTaken = errors.New("natsbox: the name is in use")
	// ErrFenced means that another instance took this one's name. It may not speak any more.
	ErrFenced = errors.New("natsbox: another instance has taken this name")
	// ErrNotFound means that the coordinator does not know the id.
	ErrNotFound = errors.New("natsbox: not found")
	// ErrTerminate is what a handler returns for a message that it will never be able to use: it is not delivered again.
	ErrTerminate = errors.New("natsbox: never deliver this again")
)

// AlreadyDecided means that the slot of a request holds another decision than the one that was put.
type AlreadyDecided struct {
	Winner charter.Order // exactly as it is stored; verify it before believing it
}

// Error implements error.
func (e *AlreadyDecided) Error() string {
	return fmt.Sprintf("natsbox: already decided: %s holds another decision: read it, nothing of yours was stored", e.Winner.Subject)
}

// Code is the reason of a [ServiceError] on the wire.
type Code string

// The codes.
const (
	CodeBadRequest  Code = "bad_request"
	CodeForbidden   Code = "forbidden"
	CodeNameTaken   Code = "name_taken"
	CodeFenced      Code = "fenced"
	CodeNoRecipient Code = "no_recipient"
	CodeNotFound    Code = "not_found"
	CodeNoDecision  Code = "no_decision"
	CodeAboveCap    Code = "above_cap"
	CodeUnavailable Code = "unavailable"
	CodeBusy        Code = "busy"
)

var byCode = map[Code]error{
	CodeForbidden: ErrForbidden, CodeNameTaken: ErrNameTaken, CodeFenced: ErrFenced, CodeNoRecipient: ErrNoRecipient,
	CodeNotFound: ErrNotFound, CodeNoDecision: ErrNoDecision, CodeUnavailable: ErrUnreachable, CodeBusy: ErrBusy,
}

// ServiceError is the coordinator's refusal of a call. errors.Is finds the sentinel of its code.
type ServiceError struct {
	Code    Code     `json:"code"`
	Message string   `json:"message"`
	Next    string   `json:"next,omitempty"`
	Near    []string `json:"near,omitempty"` // likely names, for no_recipient
	// Wait is, for busy, after how many milliseconds the next call is answered.
	Wait int64 `json:"waitMs,omitempty"`
}

// Error implements error.
func (e *ServiceError) Error() string {
	s := "coordinator: " + e.Message
	if len(e.Near) > 0 {
		s += ": did you mean " + strings.Join(e.Near, ", ") + "?"
	}
	if e.Next != "" {
		s += ": " + e.Next
	}
	return s
}

// Unwrap returns the sentinel of the code, or nil.
func (e *ServiceError) Unwrap() error { return byCode[e.Code] }
