package coordinator

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// liveFor is how long a status speaks for its member.
const liveFor = 15 * time.Second

// pending returns the open requests of one teammate, or of all, the oldest first.
func (x *index) pending(teammate string) []natsbox.Row {
	var list []*request
	for s, r := range x.open {
		if teammate == "" || s.teammate == teammate {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *request) int { return cmp.Compare(a.seq, b.seq) })
	rows := make([]natsbox.Row, 0, len(list))
	for _, r := range list {
		rows = append(rows, x.row(r))
	}
	return rows
}

// find returns the request of an id, of one teammate or of any. Where two members ask under one id, the first is meant.
// A handle names the newest request that answers to it, and a teammate's name its newest request.
func (x *index) find(teammate, id string) *request {
	if who, ok := x.charter().Member(id); ok && who.Role == charter.RoleTeammate {
		return x.newestOf(teammate, id)
	}
	for _, s := range x.byID[id] {
		if teammate == "" || s.teammate == teammate {
			return x.requests[s]
		}
	}
	return x.byHandle(teammate, id)
}

// newestOf is a teammate's newest request, open or settled.
func (x *index) newestOf(asks, teammate string) (newest *request) {
	if asks != "" && asks != teammate {
		return nil
	}
	for s, r := range x.requests {
		if s.teammate == teammate && (newest == nil || r.seq > newest.seq) {
			newest = r
		}
	}
	return newest
}

func (x *index) byHandle(teammate, handle string) *request {
	i := strings.LastIndexByte(handle, '-')
	if i < 0 || len(handle)-i-1 < 4 {
		return nil
	}
	var newest *request
	for s, r := range x.requests {
		if s.teammate == handle[:i] && (teammate == "" || s.teammate == teammate) && (newest == nil || r.seq > newest.seq) &&
			mailbox.Handle(s.teammate, r.id, len(handle)-i-1) == handle {
			newest = r
		}
	}
	return newest
}

// row shows one request. The bodies are shared and must not be changed.
func (x *index) row(r *request) natsbox.Row {
	row := natsbox.Row{
		Request: r.plan, Permission: r.permission, From: r.teammate, Epoch: r.epoch, EnvelopeID: r.id, StoredAt: r.stored, Seq: r.seq,
		KnownMode: x.knownMode(r.teammate), Withdrawn: r.withdrawn, SupersededBy: r.superseded, Question: r.question,
		Previous: x.previous(r), Answer: r.answer.info(), EndedAt: x.endedAt(r), Recalled: x.recallOf(r),
		Endorsements: slices.Clone(r.endorsed), Escalated: slices.Clone(r.escalated),
		Expires: x.expires(r),
	}
	if d, ok := x.decisions[r.slot]; ok {
		info := d.DecisionInfo
		row.Decision = &info
	}
	for _, rc := range x.receipts[r.id] {
		if rc.From == r.teammate {
			row.Receipts = append(row.Receipts, rc.Receipt)
		}
	}
	return row
}

// decisionOf returns what lies in the slot of a request, and whose it is.
func (x *index) decisionOf(teammate, id string) (slot, decided, bool) {
	if teammate != "" {
		s := slot{teammate, id}
		d, ok := x.decisions[s]
		return s, d, ok
	}
	for _, s := range x.byID[id] {
		if d, ok := x.decisions[s]; ok {
			return s, d, ok
		}
	}
	return slot{}, decided{}, false
}

// receiptsOf returns who has said what about an id. A teammate hears about its own requests and mail only.
func (x *index) receiptsOf(teammate, id string) []natsbox.ReceiptInfo {
	out := []natsbox.ReceiptInfo{}
	for _, r := range x.receipts[id] {
		if teammate == "" || r.From == teammate || x.requests[slot{teammate, id}] != nil {
			out = append(out, r)
		}
	}
	return out
}

// presence shows every member of the charter.
func (x *index) presence(now time.Time, online func(string) bool) []natsbox.Presence {
	var out []natsbox.Presence
	for _, m := range x.charter().Members {
		if m.Retired {
			continue
		}
		p := natsbox.Presence{Name: m.Name, Role: m.Role, Kind: m.Kind, Live: online(m.Name)}
		if r := x.members[m.Name]; r != nil {
			p.Epoch, p.Agent, p.Seen, p.Capabilities = r.epoch, r.agent, r.seen, r.can
			p.Live = p.Live || r.fresh(now)
			if json.Valid(r.status) {
				p.Status = r.status
			}
		}
		if m.Role == charter.RoleTeammate {
			p.KnownMode = x.knownMode(m.Name)
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b natsbox.Presence) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// fresh reports whether the member has spoken lately, and not to say that it leaves.
func (m *member) fresh(now time.Time) bool {
	if m.seen.IsZero() || now.Sub(m.seen) >= liveFor {
		return false
	}
	var s struct {
		State string `json:"state"`
	}
	return json.Unmarshal(m.status, &s) != nil || s.State != "left"
}

// maxAnswer is how large the answer to pending may be.
const maxAnswer = 4 << 20

// fit leaves the bodies out of those rows that would make one answer too large, and marks them: the reader asks for
// them one by one.
func fit(rows []natsbox.Row) []natsbox.Row {
	room := maxAnswer
	for i, r := range rows {
		size, err := sizeOf(r)
		if err != nil || size > room {
			rows[i] = natsbox.Row{
				From: r.From, Epoch: r.Epoch, EnvelopeID: r.EnvelopeID, StoredAt: r.StoredAt, Seq: r.Seq, KnownMode: r.KnownMode, Partial: true, Dead: r.Dead,
			}
			continue
		}
		room -= size
	}
	return rows
}

// sizeOf is how large a row is as JSON. The plan, which is most of it, is not encoded for that.
func sizeOf(r natsbox.Row) (int, error) {
	plan := 0
	if r.Request != nil {
		short := *r.Request
		plan = base64.StdEncoding.EncodedLen(len(short.Plan.Content))
		short.Plan.Content = nil
		r.Request = &short
	}
	data, err := json.Marshal(r)
	return plan + len(data), err
}
