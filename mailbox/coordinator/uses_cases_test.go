package coordinator

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// mailCase is what a team has stored, all of it old, recorded and read by anna, who leads, and by api and db. Last comes a
// letter that ci has not read.
type mailCase struct {
	*mails
	u *uses
}

func newMailCase(t *testing.T) *mailCase {
	c := shopCharter(t)
	c.Members = append(
		c.Members,
		charter.Member{Name: "rules", Role: charter.RoleLeader, Kind: charter.KindPolicy}, charter.Member{Name: "db", Role: charter.RoleTeammate},
		charter.Member{Name: "ci", Role: charter.RoleTeammate}, charter.Member{Name: "eve", Role: charter.RoleObserver},
		charter.Member{Name: "old", Role: charter.RoleTeammate, Retired: true}, charter.Member{Name: "boss", Role: charter.RoleLeader, Kind: charter.KindPerson, Retired: true},
	)
	w := &mails{t: t, charter: c, decisions: map[slot]decided{}}
	w.running = w.index(permissions.ModeDefault, 0, 0)
	const end = 1000
	return &mailCase{w, &uses{stock: stock{
		x: w.running, now: stored.Add(2 * keepMail), keep: keepMail, full: 100, recorded: end, newest: end, dead: map[uint64]bool{},
		readers: map[string]reader{"anna": {end, true}, "api": {end, true}, "db": {end, true}, "eve": {0, true}, "boss": {0, true}, "old": {0, true}},
	}}}
}

func (c *mailCase) letter(from, to string) string {
	id := natsbox.NewID()
	c.put(mailbox.KindMessage, from, to, id, "", mailbox.Message{Text: "hello"})
	return id
}

func (c *mailCase) plan(mate, planID string, revision int) slot {
	id := natsbox.NewRequestID()
	c.put(mailbox.KindPlanApprovalRequest, mate, mailbox.Lead, id, "", planmode.ApprovalRequest{RequestID: id, PlanID: planID, Revision: revision, Kind: planmode.AskPlan})
	return slot{mate, id}
}

func (c *mailCase) call(mate string) slot {
	id := natsbox.NewRequestID()
	c.put(mailbox.KindPermissionRequest, mate, mailbox.Lead, id, "", permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "ls"})
	return slot{mate, id}
}

func (c *mailCase) question(mate string) slot {
	id := natsbox.NewRequestID()
	c.put(mailbox.KindQuestion, mate, mailbox.Lead, id, "", mailbox.Question{QuestionID: id, Text: "which?"})
	return slot{mate, id}
}

func (c *mailCase) answer(s slot) {
	c.put(mailbox.KindAnswer, "anna", s.teammate, natsbox.NewID(), s.id, mailbox.Answer{QuestionID: s.id, Text: "that"})
}

func (c *mailCase) withdraw(s slot) {
	c.put(mailbox.KindPlanWithdrawn, s.teammate, mailbox.Lead, natsbox.NewID(), "", planmode.Withdrawn{RequestID: s.id, Reason: planmode.WithdrawnExit})
}

func (c *mailCase) decide(s slot) {
	d := decided{seq: 7, DecisionInfo: natsbox.DecisionInfo{Valid: true, Outcome: string(planmode.OutcomeApproved), Mode: permissions.ModeAuto}}
	c.decisions[s], c.running.decisions[s] = d, d
	c.running.settle(s)
}

func (c *mailCase) receipt(from, of string, state mailbox.ReceiptState) {
	c.put(mailbox.KindReceipt, from, mailbox.Lead, natsbox.NewID(), "", mailbox.Receipt{Of: of, State: state, Mode: "auto"})
}

func (c *mailCase) again(seq uint64) {
	m := c.all[seq-1]
	c.take(message{name: m.name, data: m.data})
}

// since has everybody else but some know nothing of what was written to all before the number.
func (c *mailCase) since(seq uint64, but ...string) {
	c.running.since = func(name string) uint64 {
		if slices.Contains(but, name) {
			return 0
		}
		return seq
	}
}

// junk is mail that cannot be read.
func (c *mailCase) junk(from, to string) {
	c.take(message{name: mailbox.MailSubject("shop", to, from, mailbox.KindMessage), data: []byte("junk")})
}

// Each reason for which handled mail goes or stays, alone; numbers are in the order in which they are deleted.
func TestWhichMailGoes(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration) time.Time { return stored.Add(d) }
	for name, c := range map[string]struct {
		build func(*mailCase)
		want  []uint64
		spent uint64
	}{
		"a letter":                       {func(c *mailCase) { c.letter("anna", "api") }, []uint64{1}, 0},
		"a letter that was not read":     {func(c *mailCase) { c.letter("anna", "api"); c.u.readers["api"] = reader{0, true} }, nil, 0},
		"a letter to who was never here": {func(c *mailCase) { c.letter("anna", "api"); delete(c.u.readers, "api") }, nil, 0},
		"young, and too many":            {func(c *mailCase) { c.letter("anna", "api"); c.u.full, c.u.now = 0, ago(settleAge-1) }, nil, 0},
		"old enough, and too many":       {func(c *mailCase) { c.letter("anna", "api"); c.u.full, c.u.now = 0, ago(settleAge) }, []uint64{1}, 0},
		"not old, and as many as may be": {func(c *mailCase) { c.letter("anna", "api"); c.u.full, c.u.now = 1, ago(keepMail) }, nil, 0},
		"not old, and one too many": {func(c *mailCase) {
			c.letter("anna", "api")
			c.letter("anna", "api")
			c.u.full, c.u.now = 1, ago(keepMail)
		}, []uint64{1}, 0},
		"one too many of two senders": {func(c *mailCase) {
			c.letter("anna", "api")
			c.letter("db", "api")
			c.u.full, c.u.now = 1, ago(keepMail)
		}, nil, 0},
		"old by a moment":                     {func(c *mailCase) { c.letter("anna", "api"); c.u.now = ago(keepMail + 1) }, []uint64{1}, 0},
		"the newest":                          {func(c *mailCase) { c.letter("anna", "api"); c.u.newest = 1 }, nil, 0},
		"not recorded":                        {func(c *mailCase) { c.letter("anna", "api"); c.letter("anna", "api"); c.u.recorded = 1 }, []uint64{1}, 0},
		"a dead letter is about it":           {func(c *mailCase) { c.letter("anna", "api"); c.u.dead[1] = true }, nil, 0},
		"more dead letters than are listed":   {func(c *mailCase) { c.letter("anna", "api"); c.u.crowded = map[pair]bool{{"anna", "api"}: true} }, nil, 0},
		"of another sender more are dead":     {func(c *mailCase) { c.letter("anna", "api"); c.u.crowded = map[pair]bool{{"db", "api"}: true} }, []uint64{1}, 0},
		"to the leaders":                      {func(c *mailCase) { c.letter("api", mailbox.Lead) }, []uint64{1}, 0},
		"to the leaders, not read":            {func(c *mailCase) { c.letter("api", mailbox.Lead); c.u.readers["anna"] = reader{0, true} }, nil, 0},
		"to the leaders, who read through us": {func(c *mailCase) { c.letter("api", mailbox.Lead); delete(c.u.readers, "anna") }, nil, 0},
		"to the leaders, who have seen it": {func(c *mailCase) {
			id := c.letter("api", mailbox.Lead)
			delete(c.u.readers, "anna")
			c.running.receipts[id] = []natsbox.ReceiptInfo{{From: "anna", Receipt: mailbox.Receipt{Of: id, State: mailbox.Seen}}}
		}, []uint64{1}, 0},
		"to the leaders, seen, and not acknowledged": {func(c *mailCase) {
			id := c.letter("api", mailbox.Lead)
			c.u.readers["anna"] = reader{0, true}
			c.running.receipts[id] = []natsbox.ReceiptInfo{{From: "anna", Receipt: mailbox.Receipt{Of: id, State: mailbox.Seen}}}
		}, nil, 0},
		"to the leaders, read by a policy": {func(c *mailCase) {
			c.letter("api", mailbox.Lead)
			delete(c.u.readers, "anna")
			c.u.readers["rules"] = reader{1000, true}
		}, nil, 0},
		"to the leaders, a mode and no letter": {func(c *mailCase) {
			c.put(mailbox.KindModeChanged, "api", mailbox.Lead, natsbox.NewID(), "", planmode.ModeChanged{To: permissions.ModeDefault})
			delete(c.u.readers, "anna")
		}, []uint64{1}, 0},
		"a mode, to nobody who is known": {func(c *mailCase) {
			c.put(mailbox.KindModeChanged, "api", "gone", natsbox.NewID(), "", planmode.ModeChanged{To: permissions.ModeDefault})
		}, nil, 0},
		"a mode, to one who came later": {func(c *mailCase) {
			c.put(mailbox.KindModeChanged, "api", "db", natsbox.NewID(), "", planmode.ModeChanged{To: permissions.ModeDefault})
			c.since(1)
			c.u.readers["db"] = reader{0, true}
		}, nil, 0},
		"to all":                        {func(c *mailCase) { c.letter("anna", mailbox.All) }, nil, 0}, // ci
		"to all, before one came":       {func(c *mailCase) { c.letter("anna", mailbox.All); c.since(1, "api", "db", "anna", "eve") }, []uint64{1}, 0},
		"to all, after one came":        {func(c *mailCase) { c.letter("anna", mailbox.All); c.since(0) }, nil, 0},
		"to all, before all came":       {func(c *mailCase) { c.letter("anna", mailbox.All); c.since(1, "rules") }, []uint64{1}, 0},
		"to one who came later":         {func(c *mailCase) { c.letter("anna", "api"); c.since(1); c.u.readers["api"] = reader{0, true} }, nil, 0},
		"to nobody who is known":        {func(c *mailCase) { c.letter("anna", "gone") }, nil, 0},
		"to one who has left":           {func(c *mailCase) { c.letter("anna", "old") }, []uint64{1}, 0},
		"to a leader who does not read": {func(c *mailCase) { c.letter("api", "anna"); delete(c.u.readers, "anna") }, nil, 0},

		"junk":                   {func(c *mailCase) { c.junk("api", mailbox.Lead); delete(c.u.readers, "anna") }, []uint64{1}, 0},
		"junk that is young":     {func(c *mailCase) { c.junk("api", mailbox.Lead); c.u.now = ago(keepMail) }, nil, 0},
		"junk that is dead mail": {func(c *mailCase) { c.junk("api", mailbox.Lead); c.u.dead[1] = true }, nil, 0},
		"junk about what stays": {func(c *mailCase) {
			id := c.letter("anna", "api")
			c.u.dead[1] = true
			c.junk("api", mailbox.Lead)
			c.running.items[2].of = id
		}, nil, 0},

		"a plan that waits":                              {func(c *mailCase) { c.plan("api", "p", 1) }, nil, 0},
		"a plan that was decided":                        {func(c *mailCase) { c.decide(c.plan("api", "p", 1)) }, nil, 0},
		"a plan that was applied":                        {func(c *mailCase) { s := c.plan("api", "p", 1); c.decide(s); c.receipt("api", s.id, mailbox.Applied) }, []uint64{1, 2}, 7},
		"a plan that was refused":                        {func(c *mailCase) { s := c.plan("api", "p", 1); c.decide(s); c.receipt("api", s.id, mailbox.Refused) }, []uint64{1, 2}, 0},
		"a plan that was decided after it was withdrawn": {func(c *mailCase) { s := c.plan("api", "p", 1); c.withdraw(s); c.decide(s) }, []uint64{1, 2}, 0},
		"a call that was applied, without a mode": {func(c *mailCase) {
			s := c.call("api")
			c.decide(s)
			d := c.decisions[s]
			d.Mode = ""
			c.running.decisions[s] = d
			c.receipt("api", s.id, mailbox.Applied)
		}, []uint64{1, 2}, 0},
		"a plan whose decision was seen": {func(c *mailCase) { s := c.plan("api", "p", 1); c.decide(s); c.receipt("api", s.id, mailbox.Seen) }, nil, 0},
		"a plan that another has applied": {func(c *mailCase) {
			s := c.plan("api", "p", 1)
			c.decide(s)
			c.running.receipts[s.id] = []natsbox.ReceiptInfo{{From: "db", Receipt: mailbox.Receipt{Of: s.id, State: mailbox.Applied}}}
		}, nil, 0},
		"a call that was withdrawn":            {func(c *mailCase) { c.withdraw(c.call("api")) }, []uint64{1, 2}, 0},
		"a call that was withdrawn, and stays": {func(c *mailCase) { c.withdraw(c.call("api")); c.u.dead[1] = true }, nil, 0},
		"a call that was stored twice":         {func(c *mailCase) { s := c.call("api"); c.again(1); c.withdraw(s) }, []uint64{2, 1, 3}, 0},
		"a call whose copy is dead mail":       {func(c *mailCase) { s := c.call("api"); c.again(1); c.withdraw(s); c.u.dead[2] = true }, nil, 0},
		"a call whose copy is young": {func(c *mailCase) {
			s := c.call("api")
			c.again(1)
			c.withdraw(s)
			c.u.now = ago(keepMail + time.Second)
		}, nil, 0},
		"a revision that is compared with": {func(c *mailCase) {
			s := c.plan("api", "p", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
			c.plan("api", "p", 2)
		}, nil, 0},
		"a revision of another plan": {func(c *mailCase) {
			s := c.plan("api", "p", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
			c.plan("api", "q", 1)
		}, []uint64{1, 2}, 7},
		"a revision of another's plan": {func(c *mailCase) {
			s := c.plan("api", "p", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
			c.plan("db", "p", 2)
		}, []uint64{1, 2}, 7},

		"a plan that only a later one closes": {func(c *mailCase) {
			c.plan("api", "p", 1)
			s := c.plan("api", "q", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
		}, []uint64{1, 2, 3}, 7},
		"the plan that keeps one closed": {func(c *mailCase) {
			c.plan("api", "p", 1)
			s := c.plan("api", "q", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
			c.u.dead[1] = true
		}, nil, 0},
		"the plan that keeps another's closed": {func(c *mailCase) {
			c.plan("db", "p", 1)
			c.plan("db", "q", 1)
			s := c.plan("api", "q", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
			c.u.dead[1] = true
		}, []uint64{3, 4}, 7},
		"a plan after a decided one": {func(c *mailCase) {
			c.decide(c.plan("api", "p", 1))
			s := c.plan("api", "q", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
		}, []uint64{2, 3}, 7},
		"a plan after a withdrawn one": {func(c *mailCase) {
			c.withdraw(c.plan("api", "p", 1))
			s := c.plan("api", "q", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
			c.u.dead[1] = true
		}, []uint64{3, 4}, 7},
		"a plan after a question": {func(c *mailCase) {
			for range maxQuestions + 1 {
				c.question("api")
			}
			s := c.plan("api", "q", 1)
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
			c.u.dead[1] = true
		}, []uint64{maxQuestions + 2, maxQuestions + 3}, 7},
		"a question after an answered one": {func(c *mailCase) {
			c.answer(c.question("api"))
			c.answer(c.question("api"))
			c.u.dead[1] = true
		}, []uint64{3, 4}, 0},
		"a question after one that waits": {func(c *mailCase) { c.question("api"); c.answer(c.question("api")) }, []uint64{2, 3}, 0},
		"the question that keeps one closed": {func(c *mailCase) {
			for range maxQuestions {
				c.question("api")
			}
			c.answer(c.question("api"))
			c.u.dead[1] = true
		}, nil, 0},

		"an endorsement of what waits": {func(c *mailCase) {
			s := c.plan("api", "p", 1)
			c.put(mailbox.KindEndorsement, "anna", mailbox.Lead, natsbox.NewID(), "", mailbox.Endorsement{Request: s.id, To: "api"})
			c.running.items[2].ignored, c.running.items[2].of = false, s.id
		}, nil, 0},
		"an endorsement of what was applied": {func(c *mailCase) {
			s := c.plan("api", "p", 1)
			c.put(mailbox.KindEndorsement, "anna", mailbox.Lead, natsbox.NewID(), "", mailbox.Endorsement{Request: s.id, To: "api"})
			c.running.items[2].ignored, c.running.items[2].of = false, s.id
			c.decide(s)
			c.receipt("api", s.id, mailbox.Applied)
		}, []uint64{1, 2, 3}, 7},

		"a receipt of nothing":         {func(c *mailCase) { c.receipt("api", natsbox.NewID(), mailbox.Seen) }, []uint64{1}, 0},
		"a receipt of nothing, young":  {func(c *mailCase) { c.receipt("api", natsbox.NewID(), mailbox.Seen); c.u.now = ago(keepMail) }, nil, 0},
		"a receipt that is dead mail":  {func(c *mailCase) { c.receipt("api", natsbox.NewID(), mailbox.Seen); c.u.dead[1] = true }, nil, 0},
		"a receipt of what stays":      {func(c *mailCase) { c.receipt("api", c.letter("anna", "api"), mailbox.Seen); c.u.dead[1] = true }, nil, 0},
		"a receipt of an order":        {func(c *mailCase) { c.running.orders[slot{"api", "o"}] = ""; c.receipt("api", "o", mailbox.Applied) }, nil, 0},
		"a receipt of another's order": {func(c *mailCase) { c.running.orders[slot{"db", "o"}] = ""; c.receipt("api", "o", mailbox.Applied) }, []uint64{1}, 0},
		"receipts of letters are too many": {func(c *mailCase) {
			first, second := c.letter("anna", "api"), c.letter("db", "api")
			c.receipt("api", first, mailbox.Seen)
			c.receipt("api", second, mailbox.Seen)
			c.u.full, c.u.now = 1, ago(keepMail)
		}, []uint64{1, 3}, 0},
		"receipts of a letter that was stored twice": {func(c *mailCase) {
			id := c.letter("anna", "api")
			c.again(1)
			c.receipt("api", id, mailbox.Seen)
			c.receipt("api", natsbox.NewID(), mailbox.Seen)
			c.u.full, c.u.now = 1, ago(keepMail)
		}, []uint64{1, 2, 3}, 0},
		"receipts of requests are too many": {func(c *mailCase) {
			p, r := c.plan("api", "p", 1), c.call("api")
			c.decide(p)
			c.decide(r)
			c.receipt("api", p.id, mailbox.Applied)
			c.receipt("api", r.id, mailbox.Applied)
			c.u.full, c.u.now = 1, ago(keepMail)
		}, []uint64{1, 3}, 7},
	} {
		s := newMailCase(t)
		c.build(s)
		s.letter("anna", "ci")
		got := s.u.useless()
		if !slices.Equal(got, c.want) || s.u.spent["api"] != c.spent {
			t.Errorf("%s: %v go, spent up to %d, want %v, %d", name, got, s.u.spent["api"], c.want, c.spent)
		}
		if items := slices.Sorted(maps.Keys(s.running.items)); len(items) != len(s.all) {
			t.Errorf("%s: the index has %v of %d", name, items, len(s.all))
		}
	}
}
