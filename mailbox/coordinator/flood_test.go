package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
)

// floods are what one teammate may try to stop everybody else with, over a connection of its own and without our library.
// Each call is one piece of it; an error is the broker's refusal, or a connection that was cut.
var floods = map[string]func(*nats.Conn, int) error{
	"small mail": func(nc *nats.Conn, i int) error {
		kinds := []string{"message", "receipt", "question", "permission_request", "plan_withdrawn"}
		return nc.Publish("swarm.shop.mb.lead.api."+kinds[i%len(kinds)], []byte("{}"))
	},
	"large mail": func(nc *nats.Conn, _ int) error { return nc.Publish("swarm.shop.mb.lead.api.message", large[:2<<20]) },
	"mail to all names": func(nc *nats.Conn, i int) error {
		return nc.Publish(fmt.Sprintf("swarm.shop.mb.n%d.api.message", i), large[:1024])
	},
	"service calls": func(nc *nats.Conn, _ int) error {
		return nc.PublishRequest("swarm.shop.svc.api.pending", "_INBOX_api.x", nil)
	},
	"large service calls": func(nc *nats.Conn, _ int) error {
		return nc.PublishRequest("swarm.shop.svc.api.pending", "_INBOX_api.x", large)
	},
	"status": func(nc *nats.Conn, _ int) error { return nc.Publish("swarm.shop.stat.api", large[:8<<10]) },
}

var large = make([]byte, 7<<20)

// flood sends until stop, and comes back as often as it is cut.
func flood(t testing.TB, team *mailboxtest.Team, piece func(*nats.Conn, int) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; {
			nc, err := dialAs(team, "api")
			if err != nil {
				time.Sleep(5 * time.Millisecond)
				continue
			}
			for ctx.Err() == nil && !nc.IsClosed() && piece(nc, i) == nil {
				i++
			}
			nc.Close()
		}
	})
	return func() { cancel(); wg.Wait() }
}

func dialAs(team *mailboxtest.Team, name string) (*nats.Conn, error) {
	kp := team.Key(name)
	pub, err := kp.PublicKey()
	if err != nil {
		return nil, err
	}
	return nats.Connect("", nats.InProcessServer(team), nats.Nkey(pub, kp.Sign), nats.Token(name+"-test"),
		nats.CustomInboxPrefix("_INBOX_"+name), nats.NoReconnect(), nats.Timeout(20*time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
}

// muted waits until a member is muted, or is not.
func muted(t testing.TB, c *natsbox.Conn, name string, want bool) natsbox.MuteInfo {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		list, err := c.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteShow, Name: name})
		if err == nil && (len(list) == 1) == want {
			return append(list, natsbox.MuteInfo{})[0]
		}
	}
	t.Fatalf("%s is not muted = %v after 30 s", name, want)
	return natsbox.MuteInfo{}
}

// While one teammate floods, another's request is stored, shown to the leader, and decided, and the decision arrives.
func TestAttackFlood(t *testing.T) {
	for name, piece := range floods {
		t.Run(name, func(t *testing.T) {
			team := shop(t, mailboxtest.MaxStore(1<<30))
			anna, docs := team.Connect("anna"), team.Connect("docs")
			got := make(chan charter.Order, 10)
			go func() {
				_ = docs.ReceiveOrders(t.Context(), func(_ context.Context, o charter.Order, _ natsbox.StoredInfo) error {
					got <- o
					return nil
				})
			}()
			defer flood(t, team, piece)()
			for range 5 {
				begin := time.Now()
				id := ask(t, docs, "docs")
				row(t, anna, id, isOpen)
				shown := time.Since(begin)
				decide(t, team, anna, "anna", "docs", id, "rejected", "")
				select {
				case o := <-got:
					if want := mailbox.DecisionSubject("shop", "docs", id); o.Subject != want {
						t.Errorf("order %s, want %s", o.Subject, want)
					}
				case <-time.After(time.Minute):
					t.Fatal("the decision did not arrive in a minute")
				}
				row(t, anna, id, isSettled)
				t.Logf("shown after %v, decided and received after %v", shown.Round(time.Millisecond), time.Since(begin).Round(time.Millisecond))
			}
			muted(t, anna, "api", true)
			told := []natsbox.MailInfo{}
			for end := time.Now().Add(time.Minute); len(told) == 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				letters, err := anna.Mail(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				told = slices.DeleteFunc(letters, func(m natsbox.MailInfo) bool { return m.From != "broker" })
			}
			if len(told) != 1 || !strings.Contains(told[0].Text, "swarm mail unmute api") {
				t.Fatalf("leaders were told %+v, want once, and what to do", told)
			}
			mailboxtest.Refused(t, "flood: "+name, "teammate", mailboxtest.ByCoordinator, told[0].Text)
		})
	}
}

// What a person says of a member that was silenced does not give it back what it lost.
func TestAttackMuteOfASilentMember(t *testing.T) {
	team := shop(t)
	anna := team.Connect("anna")
	stop := flood(t, team, floods["small mail"])
	m := muted(t, anna, "api", true)
	for end := time.Now().Add(60 * time.Second); !m.Silent && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		m = muted(t, anna, "api", true)
	}
	stop()
	set, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: "api", Reason: "I look at it"})
	if !m.Silent || err != nil || len(set) != 1 || !set[0].Silent {
		t.Errorf("%+v, then %+v, %v, want it to stay silent", m, set, err)
	}
	if m = muted(t, anna, "api", true); !m.Silent || m.By != "anna" {
		t.Errorf("muted = %+v, want silent, by anna", m)
	}
	mailboxtest.Refused(t, "be muted by a person after a flood, and speak again", "teammate", mailboxtest.ByCoordinator, "silence stays until the mute ends")
}

// A teammate that connects in a loop, and keeps what it gets, is let in as often as one needs, and keeps nobody out.
func TestAttackFloodOfConnections(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, docs := team.Connect("anna"), team.Connect("docs")
	var open []*nats.Conn
	var refused error
	for range natsauth.MaxConnections + 10 {
		nc, err := dialAs(team, "api")
		if err != nil {
			refused = err
			break
		}
		open = append(open, nc)
		defer nc.Close()
	}
	if len(open) != natsauth.MaxConnections || !errors.Is(refused, nats.ErrAuthorization) {
		t.Errorf("%d connections, then %v, want %d, then a refusal", len(open), refused, natsauth.MaxConnections)
	}
	defer flood(t, team, func(*nats.Conn, int) error { return nats.ErrConnectionClosed })()
	id := ask(t, docs, "docs")
	row(t, anna, id, isOpen)
	decide(t, team, anna, "anna", "docs", id, "rejected", "")
	row(t, anna, id, isSettled)
	open[0].Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(15 * time.Millisecond) {
		nc, err := dialAs(team, "api")
		if err == nil {
			nc.Close()
			mailboxtest.Refused(t, "open more connections than a member needs", "teammate", mailboxtest.ByDoor, refused.Error())
			return
		}
		if time.Now().After(end) {
			t.Fatalf("a closed connection left no room for another: %v", err)
		}
	}
}

// Mail fills its share until the broker refuses more, with one sender and no guard. What decides is stored all the same:
// a decision, an order, an entry of the ledger, a record of the register. A request is mail: it is refused, to whoever
// asks, and its sender is told why; nobody's mail that was acknowledged is dropped for it.
func TestAttackFullStore(t *testing.T) {
	t.Parallel()
	team := shop(t, mailboxtest.MaxStore(16<<20), mailboxtest.Unguarded(), mailboxtest.Audited())
	anna, api, docs := team.Connect("anna"), team.Connect("api"), team.Connect("docs")
	first := ask(t, docs, "docs")
	row(t, anna, first, isOpen)
	text := strings.Repeat("x", 200<<10)
	var full error
	for size := len(text); size > 0; size /= 4 { // to the last byte
		for full = nil; full == nil; {
			e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "api", mailbox.Lead, 1, time.Now(), mailbox.Message{Text: text[:size]})
			if err != nil {
				t.Fatal(err)
			}
			_, full = api.Send(t.Context(), e)
		}
	}
	if !errors.Is(full, natsbox.ErrStoreFull) || !strings.Contains(full.Error(), "--max-store") {
		t.Fatalf("the flood ended with %v, want ErrStoreFull and the setting", full)
	}
	before, err := anna.LedgerHead(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	decide(t, team, anna, "anna", "docs", first, "rejected", "")
	row(t, anna, first, isSettled)
	orderMode(t, team, anna, "anna", "docs", permissions.ModeDefault)
	if _, err := anna.Mute(t.Context(), natsbox.MuteRequest{Action: natsbox.MuteSet, Name: "api"}); err != nil {
		t.Errorf("mute: %v", err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(15 * time.Millisecond) {
		after, err := anna.LedgerHead(t.Context())
		if err == nil && after.Seq >= before.Seq+3 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the ledger ends at %d (%v), want three more than %d", after.Seq, err, before.Seq)
		}
	}
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindQuestion, "shop", "docs", mailbox.Lead, 1, time.Now(), mailbox.Question{QuestionID: "q", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := docs.Send(t.Context(), e); !errors.Is(err, natsbox.ErrStoreFull) {
		t.Errorf("another's question = %v, want ErrStoreFull", err)
	}
	h, _, err := anna.Health(t.Context())
	if name, percent := h.Fullest(); err != nil || name != "MB_shop" || percent < 90 {
		t.Errorf("fullest is %s at %d %% (%v), want the mail stream", name, percent, err)
	}
	mailboxtest.Refused(t, "fill the share of all mail", "teammate", mailboxtest.ByStream, full.Error())
}
