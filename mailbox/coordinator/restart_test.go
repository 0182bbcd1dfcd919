package coordinator_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/coordinator"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// admin is the broker as its operator sees it.
func admin(t testing.TB, team *mailboxtest.Team) jetstream.JetStream {
	t.Helper()
	return adminOf(t, team.Server())
}

func adminOf(t testing.TB, srv *embednats.Server) jetstream.JetStream {
	t.Helper()
	key := srv.Auth().CoordinatorKey()
	pub, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv), nats.Nkey(pub, key.Sign), nats.Timeout(time.Minute))
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

func TestARestartKeepsEverything(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Dial("api")
	join(t, api, inMode(permissions.ModeAcceptEdits))
	open := ask(t, api, "api")
	done := ask(t, api, "api", func(r *planmode.ApprovalRequest) { r.Supersedes = open })
	decide(t, team, anna, "anna", "api", done, planmode.OutcomeApproved, permissions.ModeAuto)
	mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: done, State: mailbox.Applied, Mode: "auto"})
	waiting := ask(t, api, "api")
	knows(t, anna, "api", permissions.ModeAuto)
	tell(t, anna, "api", "before the restart")

	team.Stop()
	team.Start()

	if got := pending(t, anna, 1); got[0] != waiting {
		t.Errorf("pending %v, want %s", got, waiting)
	}
	r := row(t, anna, done, isSettled)
	if r.Decision == nil || !r.Decision.Valid || len(r.Receipts) != 1 || r.KnownMode != permissions.ModeAuto {
		t.Errorf("the decided request is %+v, want its decision, its receipt and mode auto", r)
	}
	if r := row(t, anna, open, isSettled); r.SupersededBy != done {
		t.Errorf("the first request is superseded by %q, want %q", r.SupersededBy, done)
	}
	readOne(t, api, "before the restart") // under the same consumer
	if w := join(t, api); w.Epoch != 2 {
		t.Errorf("epoch %d after the restart, want 2", w.Epoch)
	}
	decide(t, team, anna, "anna", "api", waiting, planmode.OutcomeApproved, permissions.ModeAuto)
	row(t, anna, waiting, isSettled)
}

// A store that has more than one batch of mail is read at the start without a warning: what is dropped are the server's
// own notices, and each letter is there.
func TestARestartWithMuchMailIsNoWarning(t *testing.T) {
	t.Parallel()
	const letters = 400
	said := &lines{}
	team := shop(t, mailboxtest.Unguarded(), mailboxtest.Logged(slog.New(slog.NewTextHandler(said, nil))))
	anna := team.Connect("anna")
	for range letters {
		tell(t, anna, "api", "again")
	}
	team.Stop()
	team.Start()
	tell(t, anna, "api", "after the restart")
	if text := said.String(); strings.Contains(text, "slow consumer") {
		t.Errorf("the restart warns:\n%s", text)
	}
}

// lines is what a logger writes, from several goroutines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A fenced instance stays fenced, and a live name stays taken, over a restart.
func TestARestartKeepsWhoIsFenced(t *testing.T) {
	t.Parallel()
	team := shop(t)
	one, two := instance(t, team, "api", "one"), instance(t, team, "api", "two")
	join(t, one)
	join(t, two, takeover)
	<-one.Fenced()
	team.Stop()
	team.Start()
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "api", mailbox.Lead, 1, time.Now(), mailbox.Message{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Send(t.Context(), e); err != nil {
		t.Errorf("the holder sends: %v", err)
	}
	if _, err := one.Send(t.Context(), e); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("the fenced instance sends: %v, want ErrForbidden", err)
	}
	if _, err := tryJoin(one); !errors.Is(err, natsbox.ErrNameTaken) {
		t.Errorf("the fenced instance joins: %v, want ErrNameTaken", err)
	}
}

// When the broker has removed a consumer that nobody used, its member gets it back and goes on where it stood.
func TestAConsumerThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	got := make(chan string, 10)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- api.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
			b, err := mailbox.Body[mailbox.Message](m.Envelope)
			got <- b.Text
			return err
		})
	}()
	t.Cleanup(func() { cancel(); <-done })
	tell(t, anna, "api", "one")
	<-got
	durable := team.Server().Auth().Durable("api", "api-test")
	if err := admin(t, team).DeleteConsumer(t.Context(), "MB_shop", durable); err != nil {
		t.Fatal(err)
	}
	tell(t, anna, "api", "two")
	for {
		select {
		case text := <-got:
			if text == "two" {
				return
			}
			t.Errorf("got %q again in the same process", text)
		case <-time.After(time.Minute):
			t.Fatal("mail did not come again")
		}
	}
}

func TestAForeignStreamIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream jetstream.StreamConfig
		says   string
	}{
		"somebody else's": {jetstream.StreamConfig{Name: "DEC_shop", Subjects: []string{"swarm.shop.dec.>"}}, "another program"},
		"ours, loosened": {jetstream.StreamConfig{Name: "DEC_shop", Subjects: []string{"swarm.shop.dec.>"}, Metadata: map[string]string{
			"swarm_v": "1", "swarm_team_id": "THEIRS",
		}}, "deny delete"},
		"a newer swarm's": {jetstream.StreamConfig{Name: "MB_shop", Subjects: []string{"swarm.shop.mb.>"}, Metadata: map[string]string{
			"swarm_v": "2", "swarm_team_id": "THEIRS",
		}}, "swarm_v"},
	} {
		t.Run(name, func(t *testing.T) {
			team := mailboxtest.Server(t) // for its charter
			srv, err := embednats.Start(t.Context(), embednats.Config{StoreDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close()
			if c.stream.Metadata != nil {
				c.stream.Metadata["swarm_team_id"] = team.Charter().TeamID
			}
			if _, err := adminOf(t, srv).CreateStream(t.Context(), c.stream); err != nil {
				t.Fatal(err)
			}
			co, err := coordinator.New(coordinator.Config{
				Server: srv, Team: "shop", OwnerKey: team.OwnerKey, Charter: team.Coordinator().Signed(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := co.Run(t.Context()); !errors.Is(err, coordinator.ErrForeignStream) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Run = %v, want ErrForeignStream about %q", err, c.says)
			}
		})
	}
}

// Two teams of one name never mix: the store belongs to the owner's key.
func TestAnotherTeamOfTheSameName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := mailboxtest.Server(t, mailboxtest.StoreDir(dir))
	mine.Stop()
	theirs := mailboxtest.Server(t)
	srv, err := embednats.Start(t.Context(), embednats.Config{StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	co, err := coordinator.New(coordinator.Config{
		Server: srv, Team: "shop", OwnerKey: theirs.OwnerKey, Charter: theirs.Coordinator().Signed(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := co.Run(t.Context()); !errors.Is(err, coordinator.ErrForeignStream) || !strings.Contains(err.Error(), "another team of this name") {
		t.Errorf("Run = %v, want ErrForeignStream", err)
	}
}

// A store that was put where another team's was is not filled with a second team.
func TestTheStoreOfAnotherTeam(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mailboxtest.Server(t, mailboxtest.Named("other"), mailboxtest.StoreDir(dir)).Stop()
	team := mailboxtest.Server(t)
	srv, err := embednats.Start(t.Context(), embednats.Config{StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	co, err := coordinator.New(coordinator.Config{Server: srv, Team: "shop", OwnerKey: team.OwnerKey, Charter: team.Coordinator().Signed()})
	if err != nil {
		t.Fatal(err)
	}
	if err := co.Run(t.Context()); !errors.Is(err, coordinator.ErrForeignStream) || !strings.Contains(err.Error(), "the store of team other") {
		t.Errorf("Run = %v, want ErrForeignStream about team other", err)
	}
}

// When the newest mail was deleted, there is nothing to wait for at the start.
func TestARestartAfterTheNewestMailWasDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t)
		anna, api := team.Connect("anna"), team.Connect("api")
		id := ask(t, api, "api")
		tell(t, anna, "api", "deleted")
		tell(t, anna, "api", "deleted too")
		st, err := admin(t, team).Stream(t.Context(), "MB_shop")
		if err != nil {
			t.Fatal(err)
		}
		for _, seq := range []uint64{2, 3} {
			if err := st.DeleteMsg(t.Context(), seq); err != nil {
				t.Fatal(err)
			}
		}
		anna.Close()
		api.Close()
		team.Stop()
		team.Start()
		if got := pending(t, team.Connect("anna"), 1); got[0] != id {
			t.Errorf("pending %v, want %s", got, id)
		}
	})
}
