package coordinator_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// nextOrder gives an order as commands do: with the counter after the one that the coordinator tells.
func nextOrder(t testing.TB, team *mailboxtest.Team, anna *natsbox.Conn, mode permissions.Mode) (counter uint64) {
	t.Helper()
	var info natsbox.CounterInfo
	if err := anna.Call(t.Context(), natsbox.VerbCounter, natsbox.CounterRequest{To: "api"}, &info); err != nil {
		t.Fatal(err)
	}
	subject := mailbox.OrderSubject("shop", "api", "anna", mailbox.KindModeSetRequest)
	body := planmode.ModeSet{OrderHead: head(team, "anna"), Counter: info.Counter + 1, Mode: mode}
	payload, sig := sign(t, team, "anna", "api", natsbox.NewID(), subject, mailbox.KindModeSetRequest, body)
	if _, err := anna.PutOrder(t.Context(), "api", mailbox.KindModeSetRequest, payload, []string{sig}); err != nil {
		t.Fatal(err)
	}
	return body.Counter
}

// obeying is a teammate that reads its orders, and says that it has applied those up to a counter.
func obeying(t testing.TB, api *natsbox.Conn, team *mailboxtest.Team, upTo *atomic.Uint64) (read *atomic.Int64, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done, read := make(chan struct{}), &atomic.Int64{}
	go func() {
		defer close(done)
		_ = api.ReceiveOrders(ctx, func(_ context.Context, o charter.Order, _ natsbox.StoredInfo) error {
			defer read.Add(1)
			e, b, err := charter.OpenOrder[planmode.ModeSet](team.Charter(), o)
			if err != nil {
				t.Error(err)
				return nil
			}
			if b.Counter <= upTo.Load() {
				mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: e.ID, State: mailbox.Applied, Mode: string(b.Mode)})
			}
			return nil
		})
	}()
	return read, func() { cancel(); <-done }
}

// storedOrders are the numbers of the orders that lie in the store.
func storedOrders(t testing.TB, team *mailboxtest.Team) []uint64 {
	t.Helper()
	st, err := admin(t, team).Stream(t.Context(), "ORD_shop")
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	for seq := uint64(1); seq <= st.CachedInfo().State.LastSeq; seq++ {
		if _, err := st.GetMsg(t.Context(), seq); err == nil {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

// Orders that were applied are deleted after two weeks, but the last one, and none that nobody has answered; counters go on
// from where they were, before and after a restart, and what is known of the teammate's mode stays.
func TestOldOrdersAreDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock later
		var upTo atomic.Uint64
		upTo.Store(5)
		team := shop(t, mailboxtest.Audited(), mailboxtest.Keeps(0, clock.now))
		anna, api := team.Connect("anna"), team.Connect("api")
		letters := reading(t, anna, func(natsbox.Mail) error { return nil })
		read, stop := obeying(t, api, team, &upTo)
		for i, mode := range []permissions.Mode{"default", "plan", "acceptEdits", "auto", "plan", "auto", "default"} {
			if got := nextOrder(t, team, anna, mode); got != uint64(i+1) {
				t.Fatalf("counter %d of order %d", got, i+1)
			}
			for read.Load() <= int64(i) {
				time.Sleep(time.Second)
			}
		}
		knows(t, anna, "api", permissions.ModeAuto)
		mail(t, api, "api", 1, mailbox.KindMessage, "", mailbox.Message{Text: "the newest"})
		for _, ahead := range []time.Duration{0, 13 * day, -100 * day} {
			clock.set(ahead)
			time.Sleep(sweep)
			if got := storedOrders(t, team); len(got) != 7 {
				t.Errorf("with a clock %v ahead the orders %v are left, want all", ahead, got)
			}
		}
		clock.set(20 * day)
		for n := 0; len(storedOrders(t, team)) > 3 && n < 200; n++ { // and no longer: what follows keeps the modes too
			time.Sleep(10 * time.Second)
		}
		left := func() {
			t.Helper()
			// the highest that was applied, one that nobody has answered, and the newest
			if got := storedOrders(t, team); !slices.Equal(got, []uint64{5, 6, 7}) {
				t.Errorf("the orders %v are left, want 5, 6 and 7", got)
			}
			knows(t, anna, "api", permissions.ModeAuto)
		}
		left()
		stop()
		letters()
		anna.Close()
		api.Close()
		team.Stop()
		team.Start()
		anna = team.Connect("anna")
		left()
		time.Sleep(sweep) // what said that they were applied goes too
		if got := lies(t, team); len(got) != 2 {
			t.Errorf("%d pieces of mail are left, want the receipt of an order that is there, and the newest", len(got))
		}
		left()
		if got := nextOrder(t, team, anna, permissions.ModeDefault); got != 8 {
			t.Errorf("after a restart the next counter is %d, want 8", got)
		}
		if _, v := chain(t, team); len(v.Problems()) > 0 {
			t.Errorf("the ledger says %v", v.Problems())
		}
		upTo.Store(100)
		api = team.Connect("api")
		again, stop := obeying(t, api, team, &upTo)
		for again.Load() == 0 {
			time.Sleep(time.Second)
		}
		time.Sleep(10 * time.Minute)
		if n := again.Load(); n != 1 {
			t.Errorf("%d orders came after the restart, want the new one alone", n)
		}
		stop()
		api.Close()
		anna.Close()
	})
}
