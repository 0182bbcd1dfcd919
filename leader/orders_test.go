package leader_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// noOrders is where no order may arrive, and nobody asks for a counter.
type noOrders struct{ t *testing.T }

func (n noOrders) Call(context.Context, string, any, any) error {
	n.t.Error("the coordinator was asked")
	return errors.New("asked")
}

func (n noOrders) PutOrder(context.Context, string, mailbox.Kind, []byte, []string) (natsbox.Stored, error) {
	n.t.Error("an order was stored")
	return natsbox.Stored{}, errors.New("stored")
}

// counted is a store that knows a counter, and where no order may arrive.
type counted struct {
	noOrders
	last uint64
}

func (c counted) Call(_ context.Context, _ string, _, out any) error {
	out.(*natsbox.CounterInfo).Counter = c.last
	return nil
}

// An order that the teammate would refuse is refused before anything is stored.
func TestOrdersAreCheckedBeforeTheyAreStored(t *testing.T) {
	s := newShop(t)
	s.Caps.Mode = permissions.ModeAcceptEdits
	s.PersonOnly = []charter.Match{{Mode: permissions.ModeAcceptEdits}}
	s.Quorum = []charter.Quorum{{Match: charter.Match{Mode: permissions.ModeAcceptEdits}, Need: 2}}
	mode := func(by, to string, m permissions.Mode) error {
		_, err := leader.OrderMode(context.Background(), counted{noOrders{t}, 3}, s.signer(t, by), s.Charter, to, m, "why")
		return err
	}
	revoke := func(by, to string) error {
		_, err := leader.OrderRevoke(context.Background(), noOrders{t}, s.signer(t, by), s.Charter, to, "", "")
		return err
	}
	long := strings.Repeat("x", 65<<10)
	_, tooLong := leader.OrderStop(context.Background(), noOrders{t}, s.signer(t, "mia"), s.Charter, "api", long)
	_, notText := leader.OrderStop(context.Background(), noOrders{t}, s.signer(t, "mia"), s.Charter, "api", "\xff")
	_, usedUp := leader.OrderStop(context.Background(), counted{noOrders{t}, 1 << 63}, s.signer(t, "mia"), s.Charter, "api", "")
	for _, c := range []struct {
		what string
		err  error
		name string
		code int
		says string
	}{
		{"a teammate orders", mode("db", "api", permissions.ModeDefault), leader.NameNotALeader, 4, "is a teammate, not a leader"},
		{"a teammate revokes", revoke("api", "api"), leader.NameNotALeader, 4, "(api)"},
		{"above the cap", mode("mia", "api", "yolo"), leader.NameAboveCap, 2, `mode "yolo" (bypassPermissions) is above this team's cap "acceptEdits": choose default or acceptEdits, dontAsk (what would ask is denied), plan (recall), or raise caps.mode in your config.yaml, and in swarm.yaml`},
		{"no mode", mode("mia", "api", "godMode"), leader.NameBadChoice, 2, `unknown mode "godMode"`},
		{"for persons only", mode("rules", "api", permissions.ModeAcceptEdits), leader.NameNeedsPerson, 4, "ask a person"},
		{"for two", mode("mia", "api", permissions.ModeAcceptEdits), leader.NameNeedsSignatures, 4, "sign with you"},
		{"nobody", revoke("mia", "abi"), leader.NameNoTeammate, 15, "did you mean api"},
		{"a leader", revoke("mia", "tom"), leader.NameBadChoice, 2, "takes no orders"},
		{"a long reason", tooLong, leader.NameBadChoice, 2, "the reason has"},
		{"a reason of bytes", notText, leader.NameBadChoice, 2, "not UTF-8"},
		{"no counter is left", usedUp, leader.NameBadChoice, 2, "used up"},
	} {
		var e *leader.Error
		if !errors.As(c.err, &e) || e.Name != c.name || e.Code != c.code || !strings.Contains(e.Error(), c.says) {
			t.Errorf("%s: %v, want %d %s with %q", c.what, c.err, c.code, c.name, c.says)
		}
	}
}

// arrived is one order as the teammate has it, opened as the teammate opens it.
type arrived struct {
	id      string
	kind    mailbox.Kind
	counter uint64
	mode    permissions.Mode
	revoke  planmode.GrantRevoked
	reason  string
	by      mailbox.DecidedBy
	who     charter.Authority
}

// receiveOrders reads n orders of a teammate from the stream, in turn.
func (c *crew) receiveOrders(box *natsbox.Conn, n int) []arrived {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var got []arrived
	_ = box.ReceiveOrders(ctx, func(_ context.Context, o charter.Order, _ natsbox.StoredInfo) error {
		got = append(got, c.openOrder(o))
		if len(got) == n {
			cancel()
		}
		return nil
	})
	if len(got) != n {
		c.t.Fatalf("%d orders came, want %d", len(got), n)
	}
	return got
}

func (c *crew) openOrder(o charter.Order) arrived {
	c.t.Helper()
	s, err := mailbox.ParseSubject(o.Subject)
	if err != nil {
		c.t.Fatal(err)
	}
	a := arrived{kind: s.Kind}
	var env mailbox.Envelope
	var head mailbox.OrderHead
	switch s.Kind {
	case mailbox.KindModeSetRequest:
		var b planmode.ModeSet
		env, b, err = charter.OpenOrder[planmode.ModeSet](c.Charter(), o)
		a.counter, a.mode, a.reason, head = b.Counter, b.Mode, b.Reason, b.OrderHead
	case mailbox.KindGrantRevoked:
		env, a.revoke, err = charter.OpenOrder[planmode.GrantRevoked](c.Charter(), o)
		a.counter, a.reason, head = a.revoke.Counter, a.revoke.Reason, a.revoke.OrderHead
	default:
		var b mailbox.ShutdownRequest
		env, b, err = charter.OpenOrder[mailbox.ShutdownRequest](c.Charter(), o)
		a.counter, a.reason, head = b.Counter, b.Reason, b.OrderHead
	}
	if err != nil {
		c.t.Fatalf("an order of %s: %v", s.From, err)
	}
	a.id, a.by, a.who = env.ID, head.DecidedBy, charter.Judge(c.Charter(), o, charter.Asked{Mode: a.mode}, a.mode != "", time.Now())
	if head.Epoch != 0 || head.DecidedAt.IsZero() {
		c.t.Errorf("order %s has epoch %d, decided at %v; want 0 and a time", a.id, head.Epoch, head.DecidedAt)
	}
	return a
}

// What is ordered arrives signed and readable, with counters that only grow, also from another process of the same leader.
func TestOrdersArrive(t *testing.T) {
	c := newCrew(t)
	mia, again, tom, api := c.Connect("mia"), c.Dial("mia"), c.Connect("tom"), c.Connect("api")
	give := func(o leader.Ordered, err error) leader.Ordered {
		t.Helper()
		if err != nil || o.ID == "" || o.To != "api" || o.At.IsZero() {
			t.Fatalf("order = %+v, %v", o, err)
		}
		return o
	}
	ctx, ch := context.Background(), c.Charter()
	sent := []leader.Ordered{
		give(leader.OrderMode(ctx, mia, c.signer("mia"), ch, "api", permissions.ModePlan, "wrong table")),
		give(leader.OrderRevoke(ctx, again, c.signer("mia"), ch, "api", "r/1", "")),
		give(leader.OrderRevoke(ctx, mia, c.signer("mia"), ch, "api", "", "all of them")),
		give(leader.OrderMode(ctx, tom, c.signer("tom"), ch, "api", "manual", "")),
		give(leader.OrderStop(ctx, mia, c.signer("mia"), ch, "api", "enough")),
	}
	got := map[string]arrived{}
	for _, a := range c.receiveOrders(api, len(sent)) {
		got[a.id] = a
	}
	for i, want := range []arrived{
		{kind: mailbox.KindModeSetRequest, counter: 1, mode: permissions.ModePlan, reason: "wrong table"},
		{kind: mailbox.KindGrantRevoked, counter: 2, revoke: planmode.GrantRevoked{GrantID: "r/1"}},
		{kind: mailbox.KindGrantRevoked, counter: 3, revoke: planmode.GrantRevoked{All: true}, reason: "all of them"},
		{kind: mailbox.KindModeSetRequest, counter: 1, mode: permissions.ModeDefault},
		{kind: mailbox.KindShutdownRequest, counter: 4, reason: "enough"},
	} {
		a, o := got[sent[i].ID], sent[i]
		if a.kind != want.kind || a.counter != want.counter || a.mode != want.mode || a.reason != want.reason ||
			a.revoke.GrantID != want.revoke.GrantID || a.revoke.All != want.revoke.All || o.Counter != want.counter || o.Kind != want.kind {
			t.Errorf("order %d arrived as %+v, want %+v; said was %+v", i, a, want, o)
		}
		if !a.who.Leader || a.who.NeedsPerson || !a.who.QuorumMet || a.by.Via != "command" || a.by.Kind != "person" {
			t.Errorf("order %d: by %+v, judged %+v", i, a.by, a.who)
		}
	}
}

// A leader goes on counting after the coordinator has started again, and another teammate has its own count.
func TestCountersGoOnAfterARestart(t *testing.T) {
	c := newCrew(t)
	mia := c.Connect("mia")
	count := func(to string) uint64 {
		t.Helper()
		o, err := leader.OrderRevoke(context.Background(), mia, c.signer("mia"), c.Charter(), to, "", "")
		if err != nil {
			t.Fatal(err)
		}
		return o.Counter
	}
	before := []uint64{count("api"), count("api"), count("db")}
	c.Stop()
	c.Start()
	if after := []uint64{count("api"), count("db")}; before[1] != 2 || before[2] != 1 || after[0] != 3 || after[1] != 2 {
		t.Errorf("counters %v and, after a restart, %v; want 1 2 1 and 3 2", before, after)
	}
}

func TestAnOrderWithoutACoordinatorIsNotGiven(t *testing.T) {
	c := newCrew(t)
	mia := c.Connect("mia")
	c.StopCoordinator()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := leader.OrderRevoke(ctx, mia, c.signer("mia"), c.Charter(), "api", "", "")
	if !errors.Is(err, natsbox.ErrUnreachable) {
		t.Errorf("order = %v, want ErrUnreachable", err)
	}
}
