package natsbox

import (
	"context"
	"time"

	"github.com/planswarm/swarm/mailbox"
)

// VerbTrace tells how far a piece of mail, a request or an order has come: IDRequest -> Trace. A teammate asks about what it
// has sent or was sent.
const VerbTrace = "trace"

// Trace is the way of one piece of mail, of a request and its decision, or of an order. It is made of what is stored.
type Trace struct {
	ID     string       `json:"id"` // of the envelope, which is the request's
	Kind   mailbox.Kind `json:"kind"`
	From   string       `json:"from"`
	To     string       `json:"to"`
	Urgent bool         `json:"urgent,omitempty"`
	// Gone says why it is not in the store any more; empty: it is. The steps are those that are still known.
	Gone string `json:"gone,omitempty"`
	// Expires is when a request that waits is rejected by itself.
	Expires *time.Time  `json:"expires,omitempty"`
	Steps   []TraceStep `json:"steps"`           // in the order in which they were stored
	Waits   []TraceWait `json:"waits,omitempty"` // for what, and for whom; empty: nothing more is told
}

// What a step of a trace can be besides the states of a receipt.
const (
	TraceStored     = "stored"
	TraceSigned     = "signed" // by one of several leaders who must; of each the last one
	TraceDecided    = "decided"
	TraceAnswered   = "answered"
	TraceWithdrawn  = "withdrawn"
	TraceSuperseded = "superseded"
	TraceDead       = "dead" // given up by its recipient; see swarm mail dead
)

// TraceStep is one step. A receipt is what its sender says; it proves nothing.
type TraceStep struct {
	State   string    `json:"state"`
	At      time.Time `json:"at"` // when it was stored
	By      string    `json:"by,omitempty"`
	Stream  string    `json:"stream,omitempty"`
	Seq     uint64    `json:"seq,omitempty"`
	Of      string    `json:"of,omitempty"`      // decision: of what answers the request, and not of the request
	Outcome string    `json:"outcome,omitempty"` // of a decision
	Signers []string  `json:"signers,omitempty"` // of a decision: where several have signed it
	Reason  string    `json:"reason,omitempty"`
	Mode    string    `json:"mode,omitempty"`
	Other   string    `json:"other,omitempty"` // id of the newer request, or of the answer
}

// TraceWait is what has not happened yet.
type TraceWait struct {
	For  string    `json:"for"`            // the state of the step that is missing
	Who  string    `json:"who"`            // a member, or lead
	Live bool      `json:"live,omitempty"` // it is connected, or was heard of lately; of lead: any leader
	Seen time.Time `json:"seen,omitzero"`  // when it was heard of last
}

// Trace returns how far something has come, by the id of its envelope, a request's id or handle, or the beginning of an id.
// [ErrNotFound] when nothing is known by it.
func (c *Conn) Trace(ctx context.Context, id string) (Trace, error) {
	var t Trace
	err := c.Call(ctx, VerbTrace, IDRequest{ID: id}, &t)
	return t, err
}
