package natsbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

func TestSendReturnsWhenTheMailIsStored(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	anna := team.Connect("anna")
	first, err := api.Send(t.Context(), message(t, "api", mailbox.Lead, "one"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := api.Send(t.Context(), message(t, "api", mailbox.Lead, "two"))
	if err != nil {
		t.Fatal(err)
	}
	if first.Stream != "MB_shop" || second.Seq <= first.Seq {
		t.Errorf("stored at %+v and %+v, want two places of MB_shop", first, second)
	}
	in := inbox(t, anna)
	for i, want := range []string{"one", "two"} {
		m := receive(t, in)
		if got := text(t, m); got != want || m.Subject.From != "api" || m.Deliveries != 1 {
			t.Errorf("mail %d = %q from %s, delivery %d, want %q from api, delivery 1", i, got, m.Subject.From, m.Deliveries, want)
		}
	}
}

func TestSendToAnUnknownNameSaysWhoIsMeant(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	_, err := api.Send(t.Context(), message(t, "api", "dosc", "hello"))
	if !errors.Is(err, natsbox.ErrNoRecipient) || !strings.Contains(err.Error(), "docs") {
		t.Errorf("Send to dosc = %v, want ErrNoRecipient that names docs", err)
	}
	if n := stored(t, team, "MB_shop"); n != 0 {
		t.Errorf("%d mails stored for an unknown name, want 0", n)
	}
}

func TestSendToSomebodyWhoWasRetired(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	team.Retire("docs")
	if _, err := api.Send(t.Context(), message(t, "api", "docs", "hello")); !errors.Is(err, natsbox.ErrNoRecipient) {
		t.Errorf("Send to a retired member = %v, want ErrNoRecipient", err)
	}
}

// The recipient is known from before, so mail goes out while the coordinator is away.
func TestSendWhileTheCoordinatorIsAway(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api, docs := team.Connect("api"), team.Connect("docs")
	in := inbox(t, docs)
	team.StopCoordinator()
	if _, err := api.Send(t.Context(), message(t, "api", "docs", "hello")); err != nil {
		t.Fatalf("Send without the coordinator = %v, want it stored", err)
	}
	if got := text(t, receive(t, in)); got != "hello" {
		t.Errorf("mail = %q, want hello", got)
	}
}

func TestSendWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	for name, e := range map[string]mailbox.Envelope{
		"a message of 300 KiB": message(t, "api", mailbox.Lead, strings.Repeat("x", 300<<10)),
		"a plan of 2.4 MiB":    planOf(t, 2400<<10),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := api.Send(t.Context(), e); !errors.Is(err, natsbox.ErrTooLarge) {
				t.Errorf("Send = %v, want ErrTooLarge", err)
			}
		})
	}
	if n := stored(t, team, "MB_shop"); n != 0 {
		t.Errorf("%d mails stored, want 0", n)
	}
	if _, err := api.Send(t.Context(), planOf(t, 2<<20)); err != nil {
		t.Errorf("Send a plan of 2 MiB = %v, want it stored", err)
	}
}

func planOf(t *testing.T, size int) mailbox.Envelope {
	t.Helper()
	id := natsbox.NewRequestID()
	body := map[string]any{"requestId": id, "plan": map[string]any{"content": make([]byte, size)}}
	e, err := mailbox.New(id, mailbox.KindPlanApprovalRequest, "shop", "api", mailbox.Lead, 1, time.Now(), body)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSendAsSomebodyElse(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	if _, err := api.Send(t.Context(), message(t, "docs", mailbox.Lead, "it was me")); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("Send as docs = %v, want ErrForbidden", err)
	}
	e := message(t, "api", mailbox.All, "hear me")
	if _, err := api.Send(t.Context(), e); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("Send to all as a teammate = %v, want ErrForbidden", err)
	}
}

func TestALeaderSpeaksToAll(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("bob", charter.KindPerson)
	anna, api, bob := team.Connect("anna"), team.Connect("api"), team.Connect("bob")
	if _, err := anna.Send(t.Context(), message(t, "anna", mailbox.All, "lunch")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*natsbox.Conn{"api": api, "bob": bob} {
		if got := text(t, receive(t, inbox(t, c))); got != "lunch" {
			t.Errorf("%s got %q, want lunch", name, got)
		}
	}
}

// Ten thousand is the limit; the store's tests show the same with fewer, since it is one setting of the stream.
func TestSendToAFullMailbox(t *testing.T) {
	t.Parallel()
	team := shop(t, mailboxtest.Sync("1m"), mailboxtest.Unguarded())
	api := team.Connect("api")
	fill(t, team, "api", 10000)
	e := message(t, "api", mailbox.Lead, "one too many")
	if _, err := api.Send(t.Context(), e); !errors.Is(err, natsbox.ErrMailboxFull) {
		t.Errorf("Send to a full mailbox = %v, want ErrMailboxFull", err)
	}
	answer, err := mailbox.New(natsbox.NewID(), mailbox.KindReceipt, "shop", "api", mailbox.Lead, 1, time.Now(), mailbox.Receipt{Of: "x", State: mailbox.Seen})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Send(t.Context(), answer); err != nil {
		t.Errorf("Send of another kind = %v, want it stored", err)
	}
	docs := team.Connect("docs")
	if _, err := docs.Send(t.Context(), message(t, "docs", mailbox.Lead, "me too")); err != nil {
		t.Errorf("Send by another member = %v, want it stored", err)
	}
}

// A message id that somebody used before brings an acknowledgement, and stores nothing: it is sent again under another.
func TestSendOverASquattedMessageID(t *testing.T) {
	t.Parallel()
	team := shop(t)
	docs := team.Raw("docs")
	squat(t, docs, "swarm.shop.mb.lead.docs.message", "taken")
	cfg := team.Config("api")
	natsbox.SetMessageIDs(&cfg, "taken", "taken", "free")
	api, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()
	if _, err := api.Send(t.Context(), message(t, "api", mailbox.Lead, "mine")); err != nil {
		t.Fatal(err)
	}
	in := inbox(t, team.Connect("anna"))
	for range 2 {
		if m := receive(t, in); m.Subject.From == "api" {
			return
		}
	}
	t.Error("api's mail was swallowed")
}

// A retry after a lost acknowledgement stores the envelope twice at most, and hands it over once.
func TestTheSameEnvelopeIsHandedOverOnce(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api, anna := team.Connect("api"), team.Connect("anna")
	e := message(t, "api", mailbox.Lead, "once")
	for range 3 {
		if _, err := api.Send(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := api.Send(t.Context(), message(t, "api", mailbox.Lead, "last")); err != nil {
		t.Fatal(err)
	}
	in := inbox(t, anna)
	for _, want := range []string{"once", "last"} {
		if got := text(t, receive(t, in)); got != want {
			t.Errorf("mail = %q, want %q", got, want)
		}
	}
	if got := anna.Stats().Repeated; got < 2 { // one more comes twice where its acknowledgement took a second
		t.Errorf("%d repeated, want 2", got)
	}
}

// Another member's envelope of the same id is another piece of mail.
func TestEnvelopeIDsBelongToTheirSender(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api, docs := team.Connect("api"), team.Connect("docs")
	e := message(t, "api", mailbox.Lead, "from api")
	copied := message(t, "docs", mailbox.Lead, "from docs")
	copied.ID = e.ID
	if _, err := docs.Send(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	in := inbox(t, team.Connect("anna"))
	got := fmt.Sprint(text(t, receive(t, in)), ", ", text(t, receive(t, in)))
	if got != "from docs, from api" {
		t.Errorf("mail = %s, want both", got)
	}
}

func TestSendToABrokerThatIsGone(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Dial("api")
	team.Stop()
	short, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := api.Send(short, message(t, "api", mailbox.Lead, "anyone?")); !errors.Is(err, natsbox.ErrUnreachable) {
		t.Errorf("Send = %v, want ErrUnreachable", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := api.Send(ctx, message(t, "api", mailbox.Lead, "anyone?")); !errors.Is(err, context.Canceled) {
		t.Errorf("Send after cancel = %v, want context.Canceled", err)
	}
	api.Close()
	if _, err := api.Send(t.Context(), message(t, "api", mailbox.Lead, "anyone?")); !errors.Is(err, natsbox.ErrUnreachable) {
		t.Errorf("Send after Close = %v, want ErrUnreachable at once", err)
	}
}
