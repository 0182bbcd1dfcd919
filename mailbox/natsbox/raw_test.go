package natsbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

// admin is the broker as its operator sees it.
func admin(t testing.TB, team *mailboxtest.Team) jetstream.JetStream {
	t.Helper()
	key := team.Server().Auth().CoordinatorKey()
	pub, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(team.Server()), nats.Nkey(pub, key.Sign), nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// stored is how many messages a stream holds.
func stored(t testing.TB, team *mailboxtest.Team, stream string) uint64 {
	t.Helper()
	st, err := admin(t, team).Stream(context.Background(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return st.CachedInfo().State.Msgs
}

// fill puts n messages of a teammate into the leaders' mailbox.
func fill(t *testing.T, team *mailboxtest.Team, from string, n int) {
	t.Helper()
	nc := team.Raw(from)
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(n), jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	data, err := mailbox.Encode(message(t, from, mailbox.Lead, "spam"))
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		if _, err := js.PublishAsync(mailbox.MailSubject("shop", mailbox.Lead, from, mailbox.KindMessage), data); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		t.Fatal("filling the mailbox took too long")
	}
}

func squat(t *testing.T, nc *nats.Conn, subject, id string) {
	t.Helper()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	data, err := mailbox.Encode(message(t, "docs", mailbox.Lead, "squatted"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject, data, jetstream.WithMsgID(id)); err != nil {
		t.Fatal(err)
	}
}

// publish stores a message over a raw connection, or fails the test.
func publish(t *testing.T, nc *nats.Conn, subject string, data []byte) {
	t.Helper()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), subject, data); err != nil {
		t.Fatalf("publish %s: %v", subject, err)
	}
}
