package planmode

import (
	"fmt"
	"slices"

	"github.com/planswarm/swarm/mailbox"
)

// settle remembers how a request ended, and the receipt to send when its decision comes again (row 15). The oldest is
// forgotten; a request that is still open is in Pending or Asks, never here.
func (s *step) settle(id string, outcome SettledOutcome, receipt mailbox.Receipt) {
	receipt = cloneReceipt(receipt)
	receipt.Of = id
	s.Settled = append(s.Settled, Settled{RequestID: id, Outcome: outcome, Receipt: receipt})
	s.Settled = s.Settled[max(0, len(s.Settled)-MaxSettled):]
}

// refuse settles a request whose later decision will be refused with the reason.
func (s *step) refuse(id string, outcome SettledOutcome, reason string) {
	s.settle(id, outcome, mailbox.Receipt{State: mailbox.Refused, Reason: reason})
}

func (s Session) settled(id string) (Settled, bool) {
	i := slices.IndexFunc(s.Settled, func(d Settled) bool { return d.RequestID == id })
	if i < 0 {
		return Settled{}, false
	}
	return s.Settled[i], true
}

// fresh reports an id that was used before, is in use, or is none.
func (s Session) fresh(id string) error {
	_, settled := s.settled(id)
	pending := s.Pending != nil && s.Pending.RequestID == id
	if id == "" || settled || pending || s.ask(id) >= 0 {
		return fmt.Errorf("%w: %q: take a new one", ErrUsedID, id)
	}
	return nil
}

// receiptAgain sends the recorded receipt again. It reports whether the request was settled.
func (s *step) receiptAgain(id string) bool {
	done, ok := s.settled(id)
	if ok {
		s.do(SendReceipt{cloneReceipt(done.Receipt)})
	}
	return ok
}
