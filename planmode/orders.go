package planmode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

// order is what the rows of all orders on ord. begin with: a leader's signature, and a counter above the last one that
// was applied for the signer (row 39a). An old order is answered, and not applied. One that was applied and comes again,
// because a crash came before it was acknowledged, has its recorded receipt sent again.
func (s *step) order(a charter.Authority, id, signer string, counter uint64) (apply bool, err error) {
	signed := func(m charter.Member) bool { return m.Key == signer }
	switch {
	case !a.Leader:
		return false, because(ErrNotLeader, a.Reason, "a leader of the charter has to sign")
	case signer == "" || len(a.Signers) > 0 && !slices.ContainsFunc(a.Signers, signed):
		return false, fmt.Errorf("%w: key %q has not signed order %s", ErrNotLeader, signer, id)
	case counter <= s.Orders[signer] && s.receiptAgain(id):
		return false, nil
	case counter <= s.Orders[signer]:
		s.receipt(id, mailbox.Receipt{State: mailbox.Refused, Reason: fmt.Sprintf("old: counter %d, and applied was %d: read again, then send again", counter, s.Orders[signer])})
		return false, nil
	}
	err = s.count(signer, counter)
	return err == nil, err
}

// count records the counter. It is kept when the order is applied: on error the whole step is thrown away.
func (s *step) count(signer string, counter uint64) error {
	if s.Orders == nil {
		s.Orders = map[string]uint64{}
	}
	if _, ok := s.Orders[signer]; !ok && len(s.Orders) >= MaxSigners && !s.forgetSigner() {
		return fmt.Errorf("%w: %d leaders have given orders already: retire some", ErrWrongState, len(s.Orders))
	}
	s.Orders[signer] = counter
	return nil
}

// forgetSigner drops the counter of one who is no leader any more: none of its orders would be taken.
func (s *step) forgetSigner() bool {
	for _, key := range slices.Sorted(maps.Keys(s.Orders)) {
		if !slices.ContainsFunc(s.Charter.Members, func(m charter.Member) bool { return m.Key == key && leads(m) }) {
			delete(s.Orders, key)
			return true
		}
	}
	return false
}

func leads(m charter.Member) bool { return m.Role == charter.RoleLeader && !m.Retired }

func (s *step) receipt(of string, r mailbox.Receipt) {
	r.Of = of
	s.do(SendReceipt{r})
}

func (s *step) applied(of, reason string) { s.carriedOut(of, mailbox.Receipt{Reason: reason}) }

// carriedOut sends and records the receipt of an order that is applied.
func (s *step) carriedOut(of string, r mailbox.Receipt) {
	r.State, r.Mode = mailbox.Applied, string(s.Mode)
	s.settle(of, SettledApplied, r)
	s.receipt(of, r)
}

// modeOrdered is rows 39a to 44. While planning, an order changes what an approval restores and nothing else.
func (s *step) modeOrdered(ev ModeOrdered) error {
	if apply, err := s.order(ev.Authority, ev.OrderID, ev.Signer, ev.Counter); !apply {
		return err
	}
	if err := s.checkOrdered(ev); err != nil {
		return err
	}
	recall := ev.Mode == permissions.ModePlan
	switch {
	case s.State == Working && recall:
		s.ordered("plan.recalled", ev.Authority, ev.Signer, ev.Reason)
		s.enter(ByLeader, ev.PlanID, ev.PlanFile, "recalled")
		s.applied(ev.OrderID, "")
	case s.State == Working:
		from := s.Mode
		s.Mode = ev.Mode
		s.do(SetMode{ev.Mode})
		s.emit("mode.changed", "from", from, "to", ev.Mode, "cause", "leader")
		s.ordered("mode.ordered", ev.Authority, ev.Signer, ev.Reason, "mode", ev.Mode)
		s.applied(ev.OrderID, "")
	case recall: // from now on it is the leader's wish: nobody else ends it
		s.Cycle.EnteredBy = ByLeader
		s.ordered("plan.recalled", ev.Authority, ev.Signer, ev.Reason)
		s.applied(ev.OrderID, "")
	default:
		s.Saved = ev.Mode
		s.ordered("mode.ordered", ev.Authority, ev.Signer, ev.Reason, "mode", ev.Mode, "when", "afterApproval")
		s.applied(ev.OrderID, "restored after approval; still planning")
	}
	return nil
}

// ordered tells of an order that is carried out: by whom, and why, in the leader's words.
func (s *step) ordered(event string, a charter.Authority, signer, reason string, pairs ...any) {
	by := ""
	for _, m := range a.Signers {
		if m.Key == signer {
			by = m.Name
		}
	}
	s.emit(event, append(pairs, "by", by, "reason", utf8Of(reason))...)
}

// utf8Of is a leader's words as a journal can hold them.
func utf8Of(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// checkOrdered is row 40. Signers who may not approve a mode may not order it either; any leader may recall.
func (s *step) checkOrdered(ev ModeOrdered) error {
	switch {
	case ev.Mode == permissions.ModePlan:
		return nil
	case !ev.Mode.Known():
		return fmt.Errorf("%w %q: order default, acceptEdits, plan, auto, dontAsk or bypassPermissions", ErrUnknownMode, ev.Mode)
	}
	if err := checkAuthority(ev.Authority, true); err != nil {
		return err
	}
	return checkCap(ev.Mode, s.ceiling())
}

// revokeOrdered is rows 52 to 53b. That nothing was left to revoke is an answer, not an error.
func (s *step) revokeOrdered(ev RevokeOrdered) error {
	if apply, err := s.order(ev.Authority, ev.OrderID, ev.Signer, ev.Counter); !apply {
		return err
	}
	ended := s.revoke(ev)
	if len(ended) > 0 {
		s.notifyOnce(ev.OrderID+"/revoked", NotifyRevoked, Notice{Grants: termsOf(ended), Cause: utf8Of(ev.Reason)})
		s.ordered("grants.revoked", ev.Authority, ev.Signer, ev.Reason, "grants", strings.Join(promptsOf(ended), ", "), "count", len(ended))
	}
	count := len(ended)
	s.carriedOut(ev.OrderID, mailbox.Receipt{Count: &count})
	return nil
}

// revoke ends one grant, also what its last use has started, or all of them and whatever was started. It returns those
// that were in force.
func (s *step) revoke(ev RevokeOrdered) []permissions.Grant {
	switch {
	case s.State != Working:
		return nil
	case ev.All:
		ended := s.Grants
		s.endAll("revoked")
		return ended
	}
	ended := s.endGrants("revoked", func(g permissions.Grant) bool { return g.ID == ev.GrantID })
	if len(ended) == 0 && ev.GrantID != "" {
		s.do(EndGrants{IDs: []string{ev.GrantID}, Cause: "revoked"})
	}
	return ended
}

// shutdownOrdered is rows 64 and 65 for a leader's order.
func (s *step) shutdownOrdered(ev ShutdownOrdered) error {
	if apply, err := s.order(ev.Authority, ev.OrderID, ev.Signer, ev.Counter); !apply {
		return err
	}
	s.ordered("stopped", ev.Authority, ev.Signer, ev.Reason)
	s.leave("shutdown", true)
	s.applied(ev.OrderID, "")
	return nil
}
