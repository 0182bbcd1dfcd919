package attacks_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Who has no key of the charter, or not its secret half, is not let in.
func TestAttackTheDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.AddTeammate("gone")
	gone := w.Key("gone")
	w.Retire("gone")
	anna, stranger := w.Key("anna"), userKey(t)
	var overheard []byte // a signature of anna's, over another nonce
	record := func(nonce []byte) ([]byte, error) {
		sig, err := anna.Sign(nonce)
		overheard = sig
		return sig, err
	}
	if err := w.knock(nats.Nkey(public(t, anna), record)); err != nil || overheard == nil {
		t.Fatalf("anna, with her key: %v", err)
	}
	for _, a := range []struct {
		name, by string
		with     []nats.Option
	}{
		{"connect without a key", "nobody", nil},
		{"connect with a name and a password", "nobody", []nats.Option{nats.UserInfo("coordinator", "coordinator")}},
		{"connect with a member's name as token", "nobody", []nats.Option{nats.Token("anna-test")}},
		{"connect with a key of one's own", "nobody", []nats.Option{nats.Nkey(public(t, stranger), stranger.Sign)}},
		{"connect with a leader's public key alone", "nobody", []nats.Option{nats.Nkey(public(t, anna), stranger.Sign)}},
		{"connect with a signature that was overheard", "nobody", []nats.Option{nats.Nkey(public(t, anna), func([]byte) ([]byte, error) { return overheard, nil })}},
		{"connect with an empty signature", "nobody", []nats.Option{nats.Nkey(public(t, anna), func([]byte) ([]byte, error) { return []byte{0}, nil })}},
		{"connect with the owner's key", "broker's operator", []nats.Option{nats.Nkey(public(t, w.Owner()), w.Owner().Sign)}},
		{"connect with the coordinator's public key", "nobody", []nats.Option{nats.Nkey(public(t, w.Server().Auth().CoordinatorKey()), stranger.Sign)}},
		{"connect after being removed", "removed member", []nats.Option{nats.Nkey(public(t, gone), gone.Sign)}},
		{"connect as an instance with a name of two", "teammate", append(key(t, w.Key("mate")), nats.Token("mate-test/../other-test"))},
	} {
		t.Run(a.name, func(t *testing.T) {
			err := w.knock(a.with...)
			if !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("%s: %v, want a refusal", a.name, err)
				return
			}
			mailboxtest.Refused(t, a.name, a.by, mailboxtest.ByDoor, err.Error())
		})
	}
	if err := w.knock(key(t, anna)...); err != nil {
		t.Errorf("anna, afterwards: %v", err)
	}
}

func key(t *testing.T, kp nkeys.KeyPair) []nats.Option {
	t.Helper()
	return []nats.Option{nats.Nkey(public(t, kp), kp.Sign)}
}

// knock connects, and reports whether the broker lets it in.
func (w *world) knock(with ...nats.Option) error {
	nc, err := nats.Connect("", append([]nats.Option{nats.InProcessServer(w), nats.NoReconnect(), nats.Timeout(patience)}, with...)...)
	if err == nil {
		nc.Close()
	}
	return err
}

// A member that names another's instance gets consumers of its own name: it pulls nothing of the other's.
func TestAttackAnothersInstance(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg := w.Config("mate")
	cfg.Instance = "other-test"
	box, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	theirs := w.Server().Auth().Durable("other", "other-test")
	got, err := box.Join(t.Context(), natsbox.JoinRequest{Instance: "other-test", Takeover: true})
	if err != nil || got.Consumers.Mail == theirs || got.Consumers.Mail != w.Server().Auth().Durable("mate", "other-test") {
		t.Errorf("mate joins as the instance of other: %+v, %v", got.Consumers, err)
	}
	before := w.snapshot()
	nc := w.Raw("mate", nats.Token("other-test"))
	subject := "JS.swarm.CONSUMER.MSG.NEXT.MB_shop." + theirs
	if err := nc.PublishRequest(subject, "_INBOX_mate.x", nil); err != nil {
		t.Fatal(err)
	}
	settle(t, nc)
	why := violation(nc, subject)
	if why == "" {
		t.Error("mate may pull from other's consumer")
	}
	w.unchanged(t, before)
	if m, err := answered(w.peer("other"), &nats.Msg{Subject: subject, Data: []byte(`{"batch":1,"no_wait":true}`)}); err != nil {
		t.Errorf("other, from its own: %v %s", err, m)
	}
	mailboxtest.Refused(t, "connect as the instance of another", "teammate", mailboxtest.ByPermissions, why)
}
