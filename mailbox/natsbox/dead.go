package natsbox

import (
	"context"
	"time"

	"github.com/planswarm/swarm/mailbox"
)

// VerbDead lists dead letters and says what becomes of them: DeadRequest -> []DeadLetter. Leaders only.
const VerbDead = "dead"

// DeadAction is what is done with dead letters.
type DeadAction string

// The actions.
const (
	DeadList  DeadAction = "list"  // those that nobody has seen to, or all
	DeadShow  DeadAction = "show"  // one, with its bytes
	DeadRetry DeadAction = "retry" // put one to its recipient again
	DeadDrop  DeadAction = "drop"  // mark one as seen to
)

// DeadRequest names dead letters, and what to do with them.
type DeadRequest struct {
	Action DeadAction `json:"action"`
	ID     string     `json:"id,omitempty"`
	All    bool       `json:"all,omitempty"`  // for list: those too that were seen to
	Note   string     `json:"note,omitempty"` // for drop: why
}

// DeadCause is why a letter is not delivered any more.
type DeadCause string

// The causes.
const (
	DeadTerminated    DeadCause = "terminated"    // its recipient can never use it
	DeadMaxDeliveries DeadCause = "maxDeliveries" // it was delivered as often as it may be, and never acknowledged
)

// DeadState says whether somebody has seen to a dead letter.
type DeadState string

// The states.
const (
	DeadOpen    DeadState = "dead"
	DeadRetried DeadState = "retried" // put to its recipient again; if it dies again, it is [DeadOpen] again
	DeadDropped DeadState = "dropped"
)

// DeadLetter is mail or an order that one recipient could not handle and is not given any more. It stays in the store.
type DeadLetter struct {
	ID         string       `json:"id"`        // <recipient>.<m|o|d><number in its stream>
	Recipient  string       `json:"recipient"` // the member that could not handle it
	From       string       `json:"from"`      // from the subject, which the broker enforces
	To         string       `json:"to"`        // the recipient, lead or all
	Kind       mailbox.Kind `json:"kind"`      // from the subject; empty: what was put into a slot
	EnvelopeID string       `json:"envelopeId,omitempty"`
	Stream     string       `json:"stream"`
	Seq        uint64       `json:"seq"`
	Bytes      int          `json:"bytes"`
	StoredAt   time.Time    `json:"storedAt"`
	DiedAt     time.Time    `json:"diedAt"`
	Cause      DeadCause    `json:"cause"`
	Reason     string       `json:"reason"` // of who gave it up; its words
	Deliveries int          `json:"deliveries,omitempty"`
	State      DeadState    `json:"state"`
	Tries      int          `json:"tries,omitempty"` // how often it was put to its recipient again
	By         string       `json:"by,omitempty"`    // who has seen to it
	At         time.Time    `json:"at,omitzero"`
	Note       string       `json:"note,omitempty"`
	// Waits says that it is a request that nobody has decided: it stays in the inbox, whatever becomes of this letter.
	Waits bool   `json:"waits,omitempty"`
	Data  []byte `json:"data,omitempty"` // for show: exactly as it was stored
}

// Dead lists the dead letters that nobody has seen to, or all that are remembered, the oldest first.
func (c *Conn) Dead(ctx context.Context, all bool) ([]DeadLetter, error) {
	var list []DeadLetter
	err := c.Call(ctx, VerbDead, DeadRequest{Action: DeadList, All: all}, &list)
	return list, err
}

// DeadDo does something with one dead letter, and returns it as it is then. [ErrNotFound] when there is none of this id.
func (c *Conn) DeadDo(ctx context.Context, do DeadAction, id, note string) (DeadLetter, error) {
	var list []DeadLetter
	if err := c.Call(ctx, VerbDead, DeadRequest{Action: do, ID: id, Note: note}, &list); err != nil || len(list) != 1 {
		return DeadLetter{}, err
	}
	return list[0], nil
}
