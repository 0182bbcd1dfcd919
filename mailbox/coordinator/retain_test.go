package coordinator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// later is a clock that can be set.
type later struct{ ahead atomic.Int64 }

func (l *later) now() time.Time          { return time.Now().Add(time.Duration(l.ahead.Load())) }
func (l *later) set(ahead time.Duration) { l.ahead.Store(int64(ahead)) }

const (
	day   = 24 * time.Hour
	sweep = 21 * time.Minute // until mail has been looked at, and handled mail deleted
)

// lies are the ids of the mail that is stored, in its order.
func lies(t testing.TB, team *mailboxtest.Team) []string {
	t.Helper()
	st, err := admin(t, team).Stream(t.Context(), "MB_shop")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for seq := uint64(1); seq <= st.CachedInfo().State.LastSeq; seq++ {
		m, err := st.GetMsg(t.Context(), seq)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		e, err := mailbox.Decode(m.Data)
		if err != nil {
			e.ID = m.Subject
		}
		ids = append(ids, e.ID)
	}
	return ids
}

func TestHandledMailIsDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock later
		team := shop(t, mailboxtest.Audited(), mailboxtest.Keeps(0, clock.now))
		anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
		stops := []func(){
			reading(t, anna, func(natsbox.Mail) error { return nil }),
			reading(t, api, func(m natsbox.Mail) error {
				if b, err := mailbox.Body[mailbox.Message](m.Envelope); err == nil && b.Text == "broken" {
					return natsbox.ErrTerminate
				}
				return nil
			}),
		}
		open := ask(t, api, "api")
		gone := askPermission(t, api, "api", "git push")
		mail(t, api, "api", 1, mailbox.KindPlanWithdrawn, "", planmode.Withdrawn{RequestID: gone})
		done := askPermission(t, api, "api", "git pull")
		unapplied := askPermission(t, api, "api", "git fetch")
		row(t, anna, unapplied, isOpen)
		for _, id := range []string{done, unapplied} {
			put(t, team, anna, "anna", "api", id, mailbox.KindPermissionResponse, planmode.PermissionAnswer{
				OrderHead: head(team, "anna"), RequestID: id, PermissionResponse: permissions.PermissionResponse{Behavior: permissions.BehaviorDeny},
			})
		}
		mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: done, State: mailbox.Applied, Mode: "default"})
		order := orderMode(t, team, anna, "anna", "api", permissions.ModeAcceptEdits)
		mail(t, api, "api", 1, mailbox.KindReceipt, "orders", mailbox.Receipt{Of: order, State: mailbox.Applied, Mode: "acceptEdits"})
		knows(t, anna, "api", permissions.ModeAcceptEdits)
		mail(t, api, "api", 1, mailbox.KindModeChanged, "", planmode.ModeChanged{To: permissions.ModeDefault})
		read := posts(t, anna, "anna", "api", mailbox.KindMessage, mailbox.Message{Text: "read"})
		unread := posts(t, anna, "anna", "docs", mailbox.KindMessage, mailbox.Message{Text: "not read"})
		all := posts(t, anna, "anna", mailbox.All, mailbox.KindMessage, mailbox.Message{Text: "not read by docs"})
		broken := posts(t, anna, "anna", "api", mailbox.KindMessage, mailbox.Message{Text: "broken"})
		said := posts(t, api, "api", mailbox.Lead, mailbox.KindMessage, mailbox.Message{Text: "said"})
		last := posts(t, api, "api", mailbox.Lead, mailbox.KindMessage, mailbox.Message{Text: "last"})
		dead(t, anna, 1)
		knows(t, anna, "api", permissions.ModeDefault)

		before := lies(t, team)
		for _, ahead := range []time.Duration{0, 13 * day, -100 * day} {
			clock.set(ahead)
			time.Sleep(sweep)
			if got := lies(t, team); !slices.Equal(got, before) {
				t.Errorf("with a clock %v ahead %d of %d are left", ahead, len(got), len(before))
			}
		}
		want := []string{open, unapplied, "orders", unread, all, broken, last}
		for _, ahead := range []time.Duration{60 * day, 100 * 365 * day} {
			clock.set(ahead)
			time.Sleep(sweep)
			if got := lies(t, team); !slices.Equal(got, want) {
				t.Errorf("with a clock %v ahead there are\n%q, want\n%q", ahead, got, want)
			}
		}
		again := func() {
			t.Helper()
			for _, id := range []string{gone, done, read, said} {
				if _, err := anna.Trace(t.Context(), id); !errors.Is(err, natsbox.ErrNotFound) {
					t.Errorf("the trace of what was deleted: %v, want ErrNotFound", err)
				}
			}
			for id, way := range map[string][2]string{read: {"anna", "api"}, said: {"api", mailbox.Lead}} { // the ledger knows letters
				old, err := anna.Deleted(t.Context(), id[:20])
				if err != nil || old.ID != id || old.From != way[0] || old.To != way[1] || old.Gone == "" || len(old.Steps) == 0 || old.Steps[0].State != natsbox.TraceStored {
					t.Errorf("what was deleted: %+v, %v", old, err)
				}
			}
			for _, id := range []string{gone, done, "", "0", natsbox.NewID()} { // ids of requests are in no ledger
				if old, err := anna.Deleted(t.Context(), id); !errors.Is(err, natsbox.ErrNotFound) {
					t.Errorf("Deleted(%q) = %+v, %v, want ErrNotFound", id, old, err)
				}
			}
			if _, err := api.Deleted(t.Context(), read); err == nil {
				t.Errorf("a teammate was told of the ledger")
			}
			if got := pending(t, anna, 1); got[0] != open {
				t.Errorf("pending %v, want %s", got, open)
			}
			knows(t, anna, "api", permissions.ModeDefault)
			if d := dead(t, anna, 1)[0]; d.EnvelopeID != broken {
				t.Errorf("dead letter %+v", d)
			}
		}
		again()
		for _, stop := range stops {
			stop()
		}
		for _, c := range []*natsbox.Conn{anna, api, docs} {
			c.Close()
		}
		team.Stop()
		team.Start()
		anna, api = team.Connect("anna"), team.Connect("api")
		again()
		decide(t, team, anna, "anna", "api", open, planmode.OutcomeApproved, permissions.ModeDefault)
		row(t, anna, open, isSettled)
		if out, v := chain(t, team); len(v.Problems()) > 0 || slices.ContainsFunc(out, func(s string) bool { return strings.HasPrefix(s, "lost") }) {
			t.Errorf("the ledger says %q, %v", out, v.Problems())
		}
		readOne(t, team.Connect("docs"), "not read")
	})
}

// What a teammate has applied widens its known mode once, also when it is said again after the first receipt was deleted.
func TestAReceiptThatWasDeletedCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock later
		team := shop(t, mailboxtest.Keeps(0, clock.now))
		anna, api := team.Connect("anna"), team.Connect("api")
		stop := reading(t, anna, func(natsbox.Mail) error { return nil })
		applied := func(id string) {
			mail(t, api, "api", 1, mailbox.KindReceipt, "", mailbox.Receipt{Of: id, State: mailbox.Applied, Mode: "auto"})
		}
		id := ask(t, api, "api")
		row(t, anna, id, isOpen)
		decide(t, team, anna, "anna", "api", id, planmode.OutcomeApproved, permissions.ModeAuto)
		applied(id)
		knows(t, anna, "api", permissions.ModeAuto)
		mail(t, api, "api", 1, mailbox.KindModeChanged, "", planmode.ModeChanged{To: permissions.ModeDefault})
		knows(t, anna, "api", permissions.ModeDefault)
		mail(t, api, "api", 1, mailbox.KindMessage, "", mailbox.Message{Text: "the newest"})
		clock.set(20 * day)
		time.Sleep(sweep)
		if got := lies(t, team); len(got) != 1 {
			t.Fatalf("%d pieces of mail are left, want the newest alone", len(got))
		}
		body := planmode.ApprovalRequest{RequestID: id, PlanID: "p1", Kind: planmode.AskPlan}
		mail(t, api, "api", 1, mailbox.KindPlanApprovalRequest, id, body)
		applied(id)
		if got := taken(t, anna, api); got != permissions.ModeDefault {
			t.Errorf("the known mode is %s, want default", got)
		}
		stop()
		anna.Close()
		api.Close()
		team.Stop()
		team.Start()
		anna, api = team.Connect("anna"), team.Dial("api")
		applied(id)
		if got := taken(t, anna, api); got != permissions.ModeDefault {
			t.Errorf("after a restart the known mode is %s, want default", got)
		}
	})
}

// A teammate that has sent as many receipts as its leaders' mailbox takes goes on: the oldest ones make room.
func TestAFullMailboxGetsRoomAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t, mailboxtest.Unguarded())
		anna, api := team.Connect("anna"), team.Connect("api")
		stop := reading(t, anna, func(natsbox.Mail) error { return nil })
		defer stop()
		id := askPermission(t, api, "api", "git pull")
		row(t, anna, id, isOpen)
		js := admin(t, team)
		receipt := func() mailbox.Envelope {
			r := mailbox.Receipt{Of: natsbox.NewID(), State: mailbox.Applied}
			e, err := mailbox.New(natsbox.NewID(), mailbox.KindReceipt, "shop", "api", mailbox.Lead, 1, time.Now(), r)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		for i := range natsbox.MaxPerSender {
			data, err := mailbox.Encode(receipt())
			if err == nil {
				_, err = js.PublishAsync(mailbox.MailSubject("shop", mailbox.Lead, "api", mailbox.KindReceipt), data)
			}
			if err != nil {
				t.Fatal(err)
			}
			if i%1000 == 999 {
				<-js.PublishAsyncComplete()
			}
		}
		if _, err := api.Send(t.Context(), receipt()); !errors.Is(err, natsbox.ErrMailboxFull) {
			t.Fatalf("Send = %v, want ErrMailboxFull", err)
		}
		time.Sleep(sweep)
		if _, err := api.Send(context.Background(), receipt()); err != nil {
			t.Errorf("Send after the sweep = %v", err)
		}
		st, err := js.Stream(t.Context(), "MB_shop")
		if err != nil {
			t.Fatal(err)
		}
		if n := st.CachedInfo().State.Msgs; n != natsbox.MaxPerSender/2+2 {
			t.Errorf("%d messages are left, want the half, a request and a receipt", n)
		}
		pending(t, anna, 1)
	})
}
