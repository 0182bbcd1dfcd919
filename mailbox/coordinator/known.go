package coordinator

import (
	"errors"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// The known mode of a teammate is its mode before planning, as far as somebody else than itself can answer for it: it
// begins with the mode of the first join; the teammate's word narrows it; only what a leader signed, and the teammate
// applied, widens it. A claim of more never does. Leaders fill it into their approvals (invariant 5).

// join sets what is known when a member joins, and returns it with the place in the mail stream up to which it counts.
func (x *index) join(name, instance string, mode permissions.Mode) (permissions.Mode, uint64) {
	m := x.member(name)
	if mode == "" || mode == permissions.ModePlan { // a teammate that starts in plan mode has the default one before it
		mode = permissions.ModeDefault
	}
	switch {
	case m.known == "":
		m.known = mode
	case m.instance != instance: // another copy, which has lost what the last one knew
		m.known = permissions.MinMode(m.known, mode)
	}
	m.knownSeq = x.mailSeq
	return m.known, m.knownSeq
}

// knownMode is the known mode under the cap of today.
func (x *index) knownMode(name string) permissions.Mode {
	m := x.members[name]
	if m == nil || m.known == "" {
		return ""
	}
	return permissions.MinMode(m.known, x.charter().Caps.Mode)
}

func (x *index) modeChanged(m message, e mailbox.Envelope) (event, error) {
	body, err := mailbox.Body[planmode.ModeChanged](e)
	if err != nil {
		return event{}, err
	}
	ev := event{Kind: "mode", ID: e.ID, From: e.From}
	if !body.To.Known() {
		return ev, errors.New("an unknown mode")
	}
	r := x.member(e.From)
	if body.To == permissions.ModePlan || m.seq <= r.knownSeq || r.known == "" {
		return ev, nil // going to plan changes nothing about the mode before it
	}
	r.known = permissions.MinMode(r.known, body.To)
	return ev, nil
}

// applied follows a leader's order that the teammate says it has carried out.
func (x *index) applied(m message, teammate string, r mailbox.Receipt) {
	who := x.member(teammate)
	if m.seq <= who.knownSeq || who.known == "" {
		return
	}
	s := slot{teammate, r.Of}
	mode, ok := x.orders[s]
	if d, decided := x.decisions[s]; decided && d.Valid {
		if d.seq <= who.spent {
			return // it was applied long ago, and its receipt was deleted: said again, it is no news
		}
		switch planmode.Outcome(d.Outcome) {
		case planmode.OutcomeApproved:
			mode, ok = d.Mode, true
		case planmode.OutcomeRejectedAndExit:
			mode, ok = permissions.MinMode(d.Mode, who.known), true
		}
	}
	if !ok || !mode.Known() || mode == permissions.ModePlan {
		return
	}
	if in := permissions.Mode(r.Mode); in.Known() && in != permissions.ModePlan {
		mode = permissions.MinMode(mode, in)
	}
	who.known = mode
}

// knows reports whether an order or a decision with this id is in the index: what a receipt may be about.
func (x *index) knows(teammate, id string) bool {
	s := slot{teammate, id}
	_, order := x.orders[s]
	_, decision := x.decisions[s]
	return order || decision
}
