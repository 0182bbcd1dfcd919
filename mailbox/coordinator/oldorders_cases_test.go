package coordinator

import (
	"slices"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// orderCase is a stream of orders: anna's three to api, of a mode each, all of them old, read and applied, and one to db, the
// newest. Of those the first two go.
type orderCase struct {
	x *index
	u *oldOrders
	o [4]*issued // of the numbers 1, 2, 3 and 4
}

func newOrderCase(c charter.Charter) *orderCase {
	x := newIndex("shop", func() charter.Charter { return c })
	s := &orderCase{x: x, u: &oldOrders{stock{
		x: x, now: stored.Add(2 * keepMail), keep: keepMail, full: 100, recorded: 4, newest: 4,
		readers: map[string]reader{"api": {3, true}, "db": {4, true}},
	}}}
	for i, to := range []string{"api", "api", "api", "db"} {
		seq := uint64(i + 1)
		s.o[i] = &issued{
			name: mailbox.OrderSubject("shop", to, "anna", mailbox.KindModeSetRequest), teammate: to, leader: "anna", id: natsbox.NewID(),
			seq: seq, stored: stored, signed: true, key: "K", counter: seq, mode: permissions.ModeDefault,
		}
		x.issued[seq] = s.o[i]
		s.say(seq, to, mailbox.Applied)
	}
	return s
}

// say has a teammate say something of an order, and nothing else.
func (s *orderCase) say(seq uint64, by string, states ...mailbox.ReceiptState) {
	id := s.o[seq-1].id
	s.x.receipts[id] = nil
	for _, state := range states {
		s.x.receipts[id] = append(s.x.receipts[id], natsbox.ReceiptInfo{From: by, Receipt: mailbox.Receipt{Of: id, State: state}})
	}
}

// age has the orders to api be of an age at the sweep.
func (s *orderCase) age(of time.Duration) {
	for _, o := range s.o[:3] {
		o.stored = s.u.now.Add(-of)
	}
}

// planned is an order of plan mode, number 1, beside a plan of a teammate that was decided at a time.
func (s *orderCase) planned(mate string, at time.Time, change func(*decided)) {
	s.o[0].mode = permissions.ModePlan
	of := slot{mate, natsbox.NewRequestID()}
	d := decided{DecisionInfo: natsbox.DecisionInfo{Valid: true, Outcome: string(planmode.OutcomeApproved), StoredAt: at}}
	change(&d)
	s.x.requests[of], s.x.decisions[of] = &request{slot: of, isPlan: true}, d
}

// Each reason for which an old order stays, alone.
func TestWhichOldOrdersGo(t *testing.T) {
	t.Parallel()
	team := twoLeaders(t).charter
	without := team
	without.Members = slices.DeleteFunc(slices.Clone(team.Members), func(m charter.Member) bool { return m.Name == "api" })
	retired := team
	retired.Members = slices.Clone(team.Members)
	for i := range retired.Members {
		retired.Members[i].Retired = retired.Members[i].Name == "api"
	}
	asIs := func(*decided) {}
	for name, c := range map[string]struct {
		charter *charter.Charter // nil: the team
		change  func(*orderCase)
		want    []uint64
	}{
		"as it is":                        {nil, func(*orderCase) {}, []uint64{1, 2}},
		"young, and too many":             {nil, func(s *orderCase) { s.age(settleAge - 1); s.u.full = 0 }, nil},
		"old enough, and too many":        {nil, func(s *orderCase) { s.age(settleAge); s.u.full = 0 }, []uint64{1, 2}},
		"not old, and as many as may be":  {nil, func(s *orderCase) { s.age(keepMail); s.u.full = 3 }, nil},
		"not old, and one too many":       {nil, func(s *orderCase) { s.age(keepMail); s.u.full = 2 }, []uint64{1}},
		"old by a moment":                 {nil, func(s *orderCase) { s.age(keepMail + 1); s.u.full = 3 }, []uint64{1, 2}},
		"the newest":                      {nil, func(s *orderCase) { s.u.newest = 1 }, []uint64{2}},
		"not recorded":                    {nil, func(s *orderCase) { s.u.recorded = 1 }, []uint64{1}},
		"a dead letter is about it":       {nil, func(s *orderCase) { s.u.dead = map[uint64]bool{1: true} }, []uint64{2}},
		"not read":                        {nil, func(s *orderCase) { s.u.readers["api"] = reader{1, true} }, []uint64{1}},
		"the teammate was never here":     {nil, func(s *orderCase) { delete(s.u.readers, "api") }, nil},
		"the teammate is gone":            {&without, func(s *orderCase) { delete(s.u.readers, "api"); s.say(1, "api"); s.say(2, "api") }, []uint64{1, 2}},
		"the teammate has left the team":  {&retired, func(s *orderCase) { delete(s.u.readers, "api"); s.say(1, "api"); s.say(2, "api") }, []uint64{1, 2}},
		"nothing was said of it":          {nil, func(s *orderCase) { s.say(1, "api") }, []uint64{2}},
		"it was seen":                     {nil, func(s *orderCase) { s.say(1, "api", mailbox.Delivered, mailbox.Seen) }, []uint64{2}},
		"it was refused":                  {nil, func(s *orderCase) { s.say(1, "api", mailbox.Seen, mailbox.Refused) }, []uint64{1, 2}},
		"another teammate says it":        {nil, func(s *orderCase) { s.say(1, "db", mailbox.Applied) }, []uint64{2}},
		"nobody has signed it":            {nil, func(s *orderCase) { s.o[0].signed = false; s.say(1, "api") }, []uint64{1, 2}},
		"signed, and it cannot be read":   {nil, func(s *orderCase) { s.o[0].signed, s.o[0].unread = false, true }, []uint64{2}},
		"a forged counter holds nothing":  {nil, func(s *orderCase) { s.o[1].signed, s.o[1].counter = false, 99 }, []uint64{1, 2}},
		"the highest counter came first":  {nil, func(s *orderCase) { s.o[0].counter = 9 }, []uint64{2, 3}},
		"another leader's":                {nil, func(s *orderCase) { s.o[1].leader, s.o[1].key = "bob", "B" }, []uint64{1}},
		"the same key, by another leader": {nil, func(s *orderCase) { s.o[1].leader = "bob" }, []uint64{1}},
		"by another key":                  {nil, func(s *orderCase) { s.o[1].key = "K2" }, []uint64{1}},
		"another teammate's, refused": {nil, func(s *orderCase) {
			s.o[1].teammate, s.o[3].signed = "db", false
			s.say(2, "db", mailbox.Refused)
		}, []uint64{1}},
		"another teammate's, applied": {nil, func(s *orderCase) {
			s.o[1].teammate = "db"
			s.say(2, "db", mailbox.Applied)
			s.say(4, "db", mailbox.Refused)
		}, []uint64{1}},
		"the highest was not applied":        {nil, func(s *orderCase) { s.say(3, "api", mailbox.Refused) }, []uint64{1}},
		"the highest was applied by nobody":  {nil, func(s *orderCase) { s.say(2, "api", mailbox.Refused); s.say(3, "api", mailbox.Refused) }, []uint64{2}},
		"the highest of a key was not":       {nil, func(s *orderCase) { s.o[0].key, s.o[1].key = "K2", "K2"; s.say(2, "api", mailbox.Refused) }, nil},
		"plan mode, beside no plan":          {nil, func(s *orderCase) { s.o[0].mode = permissions.ModePlan }, []uint64{1, 2}},
		"plan mode, beside an approved plan": {nil, func(s *orderCase) { s.planned("api", stored.Add(-time.Hour), asIs) }, []uint64{2}},
		"plan mode, at the same moment":      {nil, func(s *orderCase) { s.planned("api", stored, asIs) }, []uint64{2}},
		"plan mode, before the approval":     {nil, func(s *orderCase) { s.planned("api", stored.Add(1), asIs) }, []uint64{1, 2}},
		"plan mode, beside another's plan":   {nil, func(s *orderCase) { s.planned("db", stored, asIs) }, []uint64{1, 2}},
		"plan mode, beside a forged approval": {nil, func(s *orderCase) {
			s.planned("api", stored, func(d *decided) { d.Valid = false })
		}, []uint64{1, 2}},
		"plan mode, beside a rejected plan": {nil, func(s *orderCase) {
			s.planned("api", stored, func(d *decided) { d.Outcome = string(planmode.OutcomeRejected) })
		}, []uint64{1, 2}},
		"another mode, beside an approved plan": {nil, func(s *orderCase) {
			s.planned("api", stored, asIs)
			s.o[0].mode = permissions.ModeAuto
		}, []uint64{1, 2}},
	} {
		of := team
		if c.charter != nil {
			of = *c.charter
		}
		s := newOrderCase(of)
		c.change(s)
		if got := s.u.useless(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the orders %v go, want %v", name, got, c.want)
		}
	}
}

// What is forgotten of an order is its own: not what another teammate has under the same id, nor what was stored again.
func TestForgottenOrdersAreForgottenAlone(t *testing.T) {
	t.Parallel()
	team := twoLeaders(t)
	x := newIndex("shop", func() charter.Charter { return team.charter })
	first := team.order(t, "anna", "api", 1, permissions.ModePlan, 1)
	again := first // stored once more
	again.seq, again.stored = 2, first.stored.Add(time.Minute)
	alone := team.order(t, "bob", "api", 1, permissions.ModePlan, 3)
	alone.stored = first.stored // at the same moment
	plain := team.order(t, "anna", "api", 2, permissions.ModeDefault, 4)
	plain.stored = again.stored
	for _, m := range []message{first, again, alone, plain} {
		x.order(m)
	}
	ids := map[uint64]slot{}
	for seq, o := range x.issued {
		ids[seq] = slot{o.teammate, o.id}
	}
	other := slot{"db", ids[3].id} // the same id, to another teammate
	x.issued[5] = &issued{teammate: "db", leader: "bob", id: ids[3].id, seq: 5, signed: true}
	x.orders[other], x.given[other] = permissions.ModePlan, given{}
	knows := func(s slot) bool {
		_, order := x.orders[s]
		_, given := x.given[s]
		if order != given {
			t.Errorf("of %v the order is known = %t, its counter = %t", s, order, given)
		}
		return order
	}
	all := func(post) bool { return true }

	x.forgetOrders([]uint64{1, 77})
	if !knows(ids[1]) || len(x.recalls["api"]) != 2 || x.issued[1] != nil || len(x.issued) != 4 {
		t.Errorf("the first of two copies took the order along: recalls %v, %d are left", x.recalls["api"], len(x.issued))
	}
	x.forgetOrders([]uint64{4})
	if knows(ids[4]) || len(x.recalls["api"]) != 2 {
		t.Errorf("an order of another mode took recalls along: %v", x.recalls["api"])
	}
	x.forgetOrders([]uint64{2})
	if knows(ids[2]) || len(x.recalls["api"]) != 1 || x.recalls["api"][0].By != "bob" {
		t.Errorf("after both copies are gone: known = %t, recalls %v", knows(ids[2]), x.recalls["api"])
	}
	if _, ok := x.posts.find(ids[2].id, all); ok || slices.Contains(x.posts.ids, ids[2].id) {
		t.Error("where it lay is told still")
	}
	x.forgetOrders([]uint64{3})
	if knows(ids[3]) || !knows(other) || len(x.recalls["api"]) != 0 {
		t.Errorf("known = %t, to another teammate = %t, recalls %v", knows(ids[3]), knows(other), x.recalls["api"])
	}
}
