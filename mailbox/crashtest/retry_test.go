package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// restarted is the team after a restart, long after whatever the broker remembers of message ids.
func restarted(team *mailboxtest.Team) {
	time.Sleep(10 * time.Minute)
	team.Stop()
	team.Start()
	time.Sleep(10 * time.Minute)
}

// recipient handles mail as a process that has just been started, and counts what it handles.
func recipient(t testing.TB, team *mailboxtest.Team, handled *atomic.Int64) (stop func()) {
	t.Helper()
	c := team.Connect("api")
	end := reading(t, c, func(natsbox.Mail) error { handled.Add(1); return nil })
	return func() { end(); c.Close() }
}

// killed is a letter to api that its process gave up.
func killed(t testing.TB, team *mailboxtest.Team, leader *natsbox.Conn) natsbox.DeadLetter {
	t.Helper()
	c := team.Connect("api")
	end := reading(t, c, func(natsbox.Mail) error { return fmt.Errorf("%w: the disk is full", natsbox.ErrTerminate) })
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "anna", "api", 1, time.Now(), mailbox.Message{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leader.Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	d := dead(t, leader)
	end()
	c.Close()
	return d
}

// shop is a team of a leader and a teammate.
func shop(t testing.TB) *mailboxtest.Team {
	t.Helper()
	tm := mailboxtest.Server(t, mailboxtest.Named("shop"))
	tm.AddLeader("anna", charter.KindPerson)
	tm.AddTeammate("api")
	return tm
}

// operator is the broker with every right.
func operator(t testing.TB, tm *mailboxtest.Team) jetstream.JetStream {
	t.Helper()
	kp := tm.Server().Auth().CoordinatorKey()
	pub, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(tm), nats.Nkey(pub, kp.Sign), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// reading receives mail until stop.
func reading(t testing.TB, c *natsbox.Conn, do func(natsbox.Mail) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error { return do(m) })
	}()
	return func() { cancel(); <-done }
}

// dead is the one letter that is listed.
func dead(t testing.TB, c *natsbox.Conn) natsbox.DeadLetter {
	t.Helper()
	for range 100 {
		if list, err := c.Dead(t.Context(), false); err == nil && len(list) == 1 {
			return list[0]
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatal("not one dead letter is listed")
	return natsbox.DeadLetter{}
}

// A letter that was put again is not put a third time by any restart, however long after. One that a crash kept from being
// put is put by the next start, once.
func TestARetryIsDoneOnceOverCrashes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		team := shop(t)
		anna := team.Connect("anna")
		d := killed(t, team, anna)
		if _, err := anna.DeadDo(t.Context(), natsbox.DeadRetry, d.ID, ""); err != nil {
			t.Fatal(err)
		}
		var handled atomic.Int64
		for i := range 3 {
			stop := recipient(t, team, &handled)
			time.Sleep(time.Minute)
			if handled.Load() != 1 {
				t.Fatalf("handled %d times after %d restarts, want once", handled.Load(), i)
			}
			stop()
			restarted(team)
		}
		handled.Store(0)
		d = killed(t, team, anna)
		team.StopCoordinator() // it was killed when the retry was known, and the letter not yet put
		js, subject := operator(t, team), "swarm.shop.reg.dead."+d.ID
		st, err := js.Stream(t.Context(), "REG_shop")
		if err != nil {
			t.Fatal(err)
		}
		m, err := st.GetLastMsgForSubject(t.Context(), subject)
		if err != nil {
			t.Fatal(err)
		}
		record := map[string]any{}
		if err := json.Unmarshal(m.Data, &record); err != nil {
			t.Fatal(err)
		}
		record["state"], record["copy"], record["at"] = natsbox.DeadRetried, natsbox.NewID(), time.Now()
		data, err := json.Marshal(record)
		if err == nil {
			_, err = js.Publish(t.Context(), subject, data)
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			restarted(team)
			stop := recipient(t, team, &handled)
			time.Sleep(time.Minute)
			if handled.Load() != 1 {
				t.Fatalf("a retry that a crash interrupted is handled %d times after %d restarts, want once", handled.Load(), i+1)
			}
			stop()
		}
	})
}

// What cannot be kept is not done: a retry that nobody would know of is not put, and a drop is no drop.
func TestARetryIsKnownBeforeItIsDone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		team := shop(t)
		anna := team.Connect("anna")
		d := killed(t, team, anna)
		var handled atomic.Int64
		defer recipient(t, team, &handled)()
		st, err := operator(t, team).Stream(t.Context(), "REG_shop")
		if err != nil {
			t.Fatal(err)
		}
		cfg := st.CachedInfo().Config
		cfg.Sealed = true // it takes no more
		if _, err := operator(t, team).UpdateStream(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		for _, action := range []natsbox.DeadAction{natsbox.DeadRetry, natsbox.DeadDrop} {
			if got, err := anna.DeadDo(t.Context(), action, d.ID, ""); err == nil {
				t.Errorf("%s without a register = %+v, want an error", action, got)
			}
		}
		time.Sleep(time.Minute)
		if handled.Load() != 0 {
			t.Error("a retry that is not known of was put")
		}
		if d = dead(t, anna); d.State != natsbox.DeadOpen {
			t.Errorf("it is %s, want open", d.State)
		}
	})
}
