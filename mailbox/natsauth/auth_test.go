package natsauth_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

func shop(t *testing.T) *mailboxtest.Team {
	t.Helper()
	team := mailboxtest.Server(t)
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("mate")
	team.AddTeammate("other")
	return team
}

// connect tries to get in, over a wire that a stranger could use.
func connect(t *testing.T, team *mailboxtest.Team, opts ...nats.Option) error {
	t.Helper()
	nc, err := nats.Connect("", append([]nats.Option{nats.InProcessServer(team), nats.NoReconnect(), nats.Timeout(time.Minute)}, opts...)...)
	if err == nil {
		nc.Close()
	}
	return err
}

func key(t *testing.T) (nkeys.KeyPair, string) {
	t.Helper()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	return kp, public(t, kp)
}

func public(t *testing.T, kp nkeys.KeyPair) string {
	t.Helper()
	pub, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pub
}

func TestOnlyMembersGetIn(t *testing.T) {
	t.Parallel()
	team := shop(t)
	mate, mateKey := team.Key("mate"), public(t, team.Key("mate"))
	stranger, strangerKey := key(t)
	coordinator := public(t, team.Server().Auth().CoordinatorKey())
	sign := func(with nkeys.KeyPair, what func([]byte) []byte) nats.SignatureHandler {
		return func(nonce []byte) ([]byte, error) { return with.Sign(what(nonce)) }
	}
	nonce := func(b []byte) []byte { return b }
	for name, c := range map[string]struct {
		opts []nats.Option
		in   bool
	}{
		"a member":                            {[]nats.Option{nats.Nkey(mateKey, mate.Sign)}, true},
		"no key":                              {nil, false},
		"a name and a password":               {[]nats.Option{nats.UserInfo("mate", "mate")}, false},
		"a token":                             {[]nats.Option{nats.Token("mate-test")}, false},
		"a stranger's key":                    {[]nats.Option{nats.Nkey(strangerKey, stranger.Sign)}, false},
		"a member's key, a stranger's hand":   {[]nats.Option{nats.Nkey(mateKey, sign(stranger, nonce))}, false},
		"a member's hand over another nonce":  {[]nats.Option{nats.Nkey(mateKey, sign(mate, func(b []byte) []byte { return []byte(strings.ToLower(string(b)) + "x") }))}, false},
		"a member's key and no signature":     {[]nats.Option{nats.Nkey(mateKey, func([]byte) ([]byte, error) { return nil, nil })}, false},
		"the coordinator's key, another hand": {[]nats.Option{nats.Nkey(coordinator, sign(stranger, nonce))}, false},
		"an instance that is a subject":       {[]nats.Option{nats.Nkey(mateKey, mate.Sign), nats.Token("a.>")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := connect(t, team, c.opts...)
			if c.in && err != nil {
				t.Errorf("connect = %v, want in", err)
			}
			if !c.in && !errors.Is(err, nats.ErrAuthorization) {
				t.Errorf("connect = %v, want ErrAuthorization", err)
			}
		})
	}
}

func TestRetiredAndExpiredMembersDoNotGetIn(t *testing.T) {
	t.Parallel()
	team := shop(t)
	soon := time.Now().Add(time.Hour)
	past := time.Now().Add(-time.Second)
	team.AddMember(charter.Member{Name: "guest", Role: charter.RoleLeader, Kind: charter.KindPerson, NotAfter: &soon})
	team.AddMember(charter.Member{Name: "ghost", Role: charter.RoleLeader, Kind: charter.KindPerson, NotAfter: &past})
	team.Retire("mate")
	for name, want := range map[string]error{"guest": nil, "ghost": natsbox.ErrRefused, "mate": natsbox.ErrRefused} {
		c, err := natsbox.Connect(t.Context(), team.Config(name))
		if !errors.Is(err, want) {
			t.Errorf("%s connects: %v, want %v", name, err, want)
		}
		if err == nil {
			c.Close()
		}
	}
}

// A key that ends while its owner is connected ends the connection.
func TestAKeyThatExpires(t *testing.T) {
	t.Parallel()
	team := shop(t)
	soon := time.Now().Add(5 * time.Second) // it connects before
	team.AddMember(charter.Member{Name: "guest", Role: charter.RoleLeader, Kind: charter.KindPerson, NotAfter: &soon})
	closed := make(chan bool)
	team.Raw("guest", nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the connection outlived its key")
	}
}

func TestARetiredMemberIsCutOffAtOnce(t *testing.T) {
	t.Parallel()
	team := shop(t)
	closed := make(chan bool)
	team.Raw("mate", nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	other := team.Raw("other")
	team.Retire("mate")
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("a retired member is still connected")
	}
	if !other.IsConnected() {
		t.Error("another member was cut off with it")
	}
	if team.Server().Auth().Online("mate") || !team.Server().Auth().Online("other") {
		t.Error("Online is wrong about who is there")
	}
	if n := team.Server().Auth().Cut("other"); n != 1 {
		t.Errorf("Cut(other) = %d, want 1", n)
	}
}

// What a teammate with a valid key may not publish: the broker refuses it, and nothing is stored or changed.
func TestForbiddenSubjects(t *testing.T) {
	t.Parallel()
	team := shop(t)
	auth := team.Server().Auth()
	otherDurable := auth.Durable("other", "other-test")
	team.Connect("other") // its consumers exist
	own := auth.Durable("mate", "mate-test")
	team.Connect("mate")
	subjects := map[string]string{
		"mail in another's name":              "swarm.shop.mb.lead.other.message",
		"mail in a leader's name":             "swarm.shop.mb.other.anna.message",
		"mail to all":                         "swarm.shop.mb.all.mate.message",
		"an unlisted kind to lead":            "swarm.shop.mb.lead.mate.endorsement",
		"an invented kind to lead":            "swarm.shop.mb.lead.mate.anything",
		"a kind that only lead may get":       "swarm.shop.mb.other.mate.plan_approval_request",
		"a deeper subject":                    "swarm.shop.mb.lead.mate.message.more",
		"a decision":                          "swarm.shop.dec.mate." + natsbox.NewRequestID(),
		"an order":                            "swarm.shop.ord.mate.mate.mode_set_request",
		"an order in a leader's name":         "swarm.shop.ord.mate.anna.mode_set_request",
		"another's status":                    "swarm.shop.stat.other",
		"another's service":                   "swarm.shop.svc.other.pending",
		"an event":                            "swarm.shop.ev.decision",
		"the register":                        "swarm.shop.reg.member.mate",
		"another team":                        "swarm.else.mb.lead.mate.message",
		"delete a stream":                     "$JS.API.STREAM.DELETE.DEC_shop",
		"purge a stream":                      "$JS.API.STREAM.PURGE.MB_shop",
		"make a stream":                       "$JS.API.STREAM.CREATE.X",
		"read a stream":                       "$JS.API.STREAM.INFO.MB_shop",
		"read a message":                      "$JS.API.STREAM.MSG.GET.MB_shop",
		"read mail directly":                  "$JS.API.DIRECT.GET.MB_shop.swarm.shop.mb.other.anna.message",
		"read another's decision":             "$JS.API.DIRECT.GET.DEC_shop.swarm.shop.dec.other.x",
		"read decisions by number":            "$JS.API.DIRECT.GET.DEC_shop",
		"make a consumer":                     "$JS.API.CONSUMER.CREATE.MB_shop.spy",
		"make a durable":                      "$JS.API.CONSUMER.DURABLE.CREATE.MB_shop.spy",
		"change its own consumer":             "$JS.API.CONSUMER.CREATE.MB_shop." + own,
		"delete another's consumer":           "$JS.API.CONSUMER.DELETE.MB_shop." + otherDurable,
		"pull another's mail":                 "$JS.API.CONSUMER.MSG.NEXT.MB_shop." + otherDurable,
		"acknowledge another's mail":          "$JS.ACK.MB_shop." + otherDurable + ".1.1.1.1.1",
		"the server's own subjects":           "$SYS.REQ.SERVER.PING",
		"an answer to somebody else's inbox":  "_INBOX_anna.x",
		"a wildcard as the recipient of plan": "swarm.shop.mb.*.mate.plan_approval_request",
	}
	before := snapshot(t, team)
	for name, subject := range subjects {
		t.Run(name, func(t *testing.T) {
			if err := refusedPublish(t, team, "mate", subject); err == nil {
				t.Errorf("publishing on %s was not refused", subject)
			}
		})
	}
	if after := snapshot(t, team); after != before {
		t.Errorf("the streams changed:\n%s\nwant\n%s", after, before)
	}
	for _, subject := range []string{">", "swarm.shop.mb.>", "swarm.shop.ev.>", "_INBOX_anna.>", "_INBOX.>", "$JS.>", "$SYS.>", "swarm.shop.svc.*.join"} {
		if err := refusedSubscribe(t, team, "mate", subject); err == nil {
			t.Errorf("listening on %s was not refused", subject)
		}
	}
}

// Observers see, and touch nothing.
func TestObserversPublishNothing(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddMember(charter.Member{Name: "wall", Role: charter.RoleObserver, Kind: charter.KindPerson})
	for _, subject := range []string{
		"swarm.shop.mb.lead.wall.message", "swarm.shop.dec.mate.x", "swarm.shop.ord.mate.wall.mode_set_request",
		"swarm.shop.stat.wall", "$JS.API.CONSUMER.CREATE.MB_shop.spy",
	} {
		if err := refusedPublish(t, team, "wall", subject); err == nil {
			t.Errorf("an observer published on %s", subject)
		}
	}
}

// A member that floods although it is muted may only ask and read: nothing of its own is stored any more. When that ends
// it has every right again.
func TestAttackSilentMemberSpeaks(t *testing.T) {
	t.Parallel()
	team := shop(t)
	subjects := []string{
		mailbox.MailSubject("shop", mailbox.Lead, "mate", mailbox.KindMessage), mailbox.MailSubject("shop", mailbox.Lead, "mate", mailbox.KindReceipt),
		mailbox.MailSubject("shop", mailbox.Lead, "mate", mailbox.KindPlanWithdrawn), mailbox.StatusSubject("shop", "mate"),
	}
	// How many of them, from the first on, each degree takes away.
	for _, c := range []struct {
		s     natsauth.Silence
		taken int
	}{{natsauth.Silent, 4}, {natsauth.Muted, 1}, {natsauth.Speaks, 0}} {
		team.Server().Auth().SetSilence("mate", c.s)
		for i, subject := range subjects {
			if err := refusedPublish(t, team, "mate", subject); (err != nil) != (i < c.taken) {
				t.Errorf("silence %d: publish on %s: %v", c.s, subject, err)
			}
		}
		if err := refusedPublish(t, team, "mate", "swarm.shop.svc.mate.pending"); err != nil {
			t.Errorf("silence %d: a question: %v", c.s, err)
		}
	}
	mailboxtest.Refused(t, "publish although silenced after a flood", "teammate", mailboxtest.ByPermissions, "mail, receipts, withdrawals and status: permissions violation")
}

// refusedPublish returns the broker's refusal, or nil when it took the message.
func refusedPublish(t *testing.T, team *mailboxtest.Team, who, subject string) error {
	t.Helper()
	return refused(t, team, who, func(nc *nats.Conn) error { return nc.Publish(subject, []byte("x")) })
}

func refusedSubscribe(t *testing.T, team *mailboxtest.Team, who, subject string) error {
	t.Helper()
	return refused(t, team, who, func(nc *nats.Conn) error {
		_, err := nc.SubscribeSync(subject)
		return err
	})
}

func refused(t *testing.T, team *mailboxtest.Team, who string, do func(*nats.Conn) error) error {
	t.Helper()
	nc := team.Raw(who)
	defer nc.Close()
	if err := do(nc); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil { // the refusal comes before its pong
		t.Fatal(err)
	}
	err := nc.LastError()
	if err != nil && !errors.Is(err, nats.ErrPermissionViolation) {
		t.Fatalf("unexpected error %v", err)
	}
	return err
}

// admin is the broker with every right.
func admin(t *testing.T, team *mailboxtest.Team) jetstream.JetStream {
	t.Helper()
	kp := team.Server().Auth().CoordinatorKey()
	nc, err := nats.Connect("", nats.InProcessServer(team), nats.Nkey(public(t, kp), kp.Sign), nats.Timeout(time.Minute))
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

// snapshot is everything that an attack could have changed.
func snapshot(t *testing.T, team *mailboxtest.Team) string {
	t.Helper()
	js := admin(t, team)
	var b strings.Builder
	for _, name := range []string{"MB_shop", "DEC_shop", "ORD_shop", "STAT_shop", "REG_shop"} {
		st, err := js.Stream(t.Context(), name)
		if err != nil {
			fmt.Fprintln(&b, name, err)
			continue
		}
		i := st.CachedInfo()
		fmt.Fprintln(&b, name, i.State.Msgs, i.State.LastSeq, i.State.NumDeleted, i.State.Consumers)
	}
	return b.String()
}

// A recipient that is a wildcard is stored as it is written, and reaches nobody.
func TestAWildcardAsRecipientReachesNobody(t *testing.T) {
	t.Parallel()
	team := shop(t)
	mail := make(chan string, 10)
	other := team.Connect("other")
	done := make(chan error, 1)
	ctx, cancel := contextFor(t)
	go func() { done <- other.ReceiveMail(ctx, collect(mail)) }()
	t.Cleanup(func() { cancel(); <-done })
	nc := team.Raw("mate")
	for _, to := range []string{"*", ">"} {
		_ = nc.Publish(mailbox.MailSubject("shop", to, "mate", mailbox.KindMessage), []byte("x"))
	}
	mate := team.Connect("mate")
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "mate", "other", 1, time.Now(), mailbox.Message{Text: "honest"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mate.Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-mail:
		if got != "honest" {
			t.Errorf("other got %q, want the honest mail alone", got)
		}
	case <-time.After(time.Minute):
		t.Error("nothing came")
	}
	if s := other.Stats(); s.Mismatched != 0 {
		t.Errorf("%d unusable messages reached other", s.Mismatched)
	}
}
