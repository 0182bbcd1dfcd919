package coordinator

import (
	"errors"
	"slices"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// maxEndorsed is how many leaders' endorsements are kept for one request.
const maxEndorsed = 64

// endorsement keeps a leader's last signature for a decision that needs several. Leaders verify it themselves.
func (x *index) endorsement(m message, e mailbox.Envelope) (event, error) {
	body, err := mailbox.Body[mailbox.Endorsement](e)
	if err != nil {
		return event{}, err
	}
	if who, ok := x.charter().Member(e.From); !ok || who.Role != charter.RoleLeader || e.To != mailbox.Lead {
		return event{}, errors.New("an endorsement of nobody who leads")
	}
	r := x.open[slot{body.To, body.Request}]
	if r == nil {
		return event{}, errors.New("an endorsement for no open request")
	}
	by := func(i natsbox.EndorsementInfo) bool { return i.From == e.From }
	if slices.ContainsFunc(r.endorsed, func(i natsbox.EndorsementInfo) bool { return by(i) && i.EnvelopeID == e.ID }) {
		return event{}, errKnown
	}
	list := slices.DeleteFunc(slices.Clone(r.endorsed), by)
	if len(list) >= maxEndorsed {
		return event{}, errors.New("more endorsements than are kept")
	}
	r.endorsed = append(list, natsbox.EndorsementInfo{Endorsement: body, From: e.From, EnvelopeID: e.ID, Seq: m.seq, StoredAt: m.stored})
	return event{Kind: "endorsement", ID: body.Request, From: body.To}, nil
}

// hideEndorsed leaves out what a teammate is not shown: how leaders decide is theirs until they have.
func hideEndorsed(who charter.Member, rows []natsbox.Row) {
	if own(who) == "" {
		return
	}
	for i := range rows {
		rows[i].Endorsements = nil
	}
}
