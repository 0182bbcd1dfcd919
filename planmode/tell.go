package planmode

import (
	"fmt"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// notify tells the agent something that it may be told any number of times.
func (s *step) notify(kind NotifyKind, data Notice) { s.notifyOnce("", kind, data) }

// notifyOnce tells the agent something that it must not take for news when it comes again.
func (s *step) notifyOnce(key string, kind NotifyKind, data Notice) {
	data.State, data.Mode, data.PlanFile = s.State, s.Mode, s.Cycle.PlanFile
	if s.Pending != nil {
		data.RequestID, data.Revision = s.Pending.RequestID, s.Pending.Revision
	}
	s.do(Notify{Kind: kind, Key: key, Data: data})
}

// emit records something, with pairs of a name and a value.
func (s *step) emit(event string, pairs ...any) {
	fields := make(map[string]string, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if text := fmt.Sprint(pairs[i+1]); text != "" {
			fields[fmt.Sprint(pairs[i])] = text
		}
	}
	s.do(Emit{Event: event, Fields: fields})
}

// decidedBy is who gave an order: what the signature says, over what the order says of itself (invariant 13).
func decidedBy(head mailbox.OrderHead, a charter.Authority) *mailbox.DecidedBy {
	by := head.DecidedBy
	if len(a.Signers) == 0 {
		return &by
	}
	signer := a.Signers[0]
	for _, m := range a.Signers {
		if m.Name == by.Name {
			signer = m
		}
	}
	by.Name, by.Kind, by.Assurance = signer.Name, string(signer.Kind), string(signer.Assurance)
	return &by
}
