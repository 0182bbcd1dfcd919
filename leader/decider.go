package leader

import (
	"context"
	"errors"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/planmode"
)

// ErrAbstain means that a request is not this decider's to decide: the next one is asked. Wrapped, it says why.
var ErrAbstain = errors.New("leader: not mine to decide")

// Request is what a [Decider] is asked: one waiting request, as this leader sees it.
type Request struct {
	Row     Row
	Charter charter.Charter
	Now     time.Time
}

// A Decider answers requests. A policy, a lead agent and a console are Deciders. It returns [ErrAbstain] for what is not
// its to decide, and at once with the context's cause when the request is asked no more. It may take as long as it
// likes: nothing waits for it but its own request. [Prepare] makes the decision; the desk publishes it.
type Decider interface {
	Decide(context.Context, Request) (planmode.Decision, error)
}

// An Answerer is a [Decider] that also answers permission requests: single calls that wait for a leader's word. Its
// rules are Decide's. [PrepareAnswer] makes the answer.
type Answerer interface {
	Answer(context.Context, Request) (planmode.PermissionAnswer, error)
}

// Advice says what a rule would do with a request, and why.
type Advice struct {
	Rule    string `json:"rule"`    // empty: no rule is about it
	Outcome string `json:"outcome"` // approve, reject or ask
	Why     string `json:"why"`
}

// An Adviser explains, without deciding. A policy is one.
type Adviser interface {
	Explain(Request) Advice
}

// Nobody abstains from everything: the seat of a person who decides with commands, from elsewhere.
type Nobody struct{}

// Decide returns [ErrAbstain].
func (Nobody) Decide(context.Context, Request) (planmode.Decision, error) {
	return planmode.Decision{}, ErrAbstain
}
