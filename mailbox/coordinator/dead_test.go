package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// store puts bytes where a member of another version would put them.
func store(t testing.TB, team *mailboxtest.Team, to, from string, kind mailbox.Kind, data string) uint64 {
	t.Helper()
	ack, err := admin(t, team).Publish(t.Context(), mailbox.MailSubject("shop", to, from, kind), []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return ack.Sequence
}

// reading receives mail as a runner does: kinds that are not known are given up, everything else is handled by do.
func reading(t testing.TB, c *natsbox.Conn, do func(natsbox.Mail) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
			if !m.Envelope.Kind.Known() {
				return fmt.Errorf("%w: no kind %q is known here", natsbox.ErrTerminate, m.Envelope.Kind)
			}
			return do(m)
		})
	}()
	return func() { cancel(); <-done }
}

// dead waits until so many letters are listed.
func dead(t testing.TB, c *natsbox.Conn, n int) []natsbox.DeadLetter {
	t.Helper()
	var list []natsbox.DeadLetter
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var err error
		if list, err = c.Dead(t.Context(), false); err == nil && len(list) == n {
			return list
		}
	}
	t.Fatalf("%d dead letters (%+v), want %d", len(list), list, n)
	return nil
}

func envelope(t testing.TB, to, from string, kind mailbox.Kind, body string) string {
	t.Helper()
	return fmt.Sprintf(`{"v":1,"id":%q,"kind":%q,"team":"shop","from":%q,"to":%q,"epoch":1,"sentAt":"2026-01-01T00:00:00Z","body":%s}`,
		natsbox.NewID(), kind, from, to, body)
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	team := shop(t, mailboxtest.Audited())
	anna, api := team.Connect("anna"), team.Connect("api")
	defer reading(t, api, func(natsbox.Mail) error { return nil })()
	wants := map[string]string{
		fmt.Sprintf("api.m%d", store(t, team, "api", "docs", "poem", envelope(t, "api", "docs", "poem", `{}`))):                                             `no kind "poem" is known here`,
		fmt.Sprintf("api.m%d", store(t, team, "api", "docs", "message", strings.Replace(envelope(t, "api", "docs", "message", `{}`), `"v":1`, `"v":9`, 1))): "version 9",
		fmt.Sprintf("api.m%d", store(t, team, "api", "docs", "message", "{")):                                                                               "malformed",
		fmt.Sprintf("api.m%d", store(t, team, "api", "docs", "message", envelope(t, "api", "anna", "message", `{}`))):                                       `from is "anna"`,
	}
	for _, d := range dead(t, anna, len(wants)) {
		if want := wants[d.ID]; want == "" || !strings.Contains(d.Reason, want) || d.From != "docs" || d.Recipient != "api" || d.Cause != natsbox.DeadTerminated {
			t.Errorf("dead letter %+v, want the reason %q", d, want)
		}
	}
	team.Stop()
	team.Start()
	list := dead(t, anna, len(wants))
	d, err := anna.DeadDo(t.Context(), natsbox.DeadShow, list[2].ID, "")
	if err != nil || len(d.Data) == 0 || len(d.Data) != d.Bytes {
		t.Errorf("show = %+v, %v, want its bytes", d, err)
	}
	if d, err = anna.DeadDo(t.Context(), natsbox.DeadDrop, list[0].ID, "seen"); err != nil || d.By != "anna" || d.State != natsbox.DeadDropped || d.Note != "seen" {
		t.Errorf("drop = %+v, %v", d, err)
	}
	if _, err = anna.DeadDo(t.Context(), natsbox.DeadDrop, list[0].ID, ""); err == nil || !strings.Contains(err.Error(), "was dropped by anna") {
		t.Errorf("the second drop = %v, want who dropped it", err)
	}
	if _, err = anna.DeadDo(t.Context(), natsbox.DeadShow, "api.m99", ""); !errors.Is(err, natsbox.ErrNotFound) {
		t.Errorf("show of none = %v", err)
	}
	if _, err = api.Dead(t.Context(), true); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("a teammate's list = %v, want it refused", err)
	}
	dead(t, anna, len(wants)-1)
	all, err := anna.Dead(t.Context(), true)
	if err != nil || len(all) != len(wants) {
		t.Errorf("all = %d, %v", len(all), err)
	}
}

// A letter that was given up for a reason that has gone is handled once, by its recipient alone, and as its sender's.
func TestDeadLetterIsRetriedOnce(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	broken := true
	got := make(chan natsbox.Mail, 10)
	stop := reading(t, api, func(m natsbox.Mail) error {
		if broken {
			return fmt.Errorf("%w: the disk is full", natsbox.ErrTerminate)
		}
		got <- m
		return nil
	})
	store(t, team, mailbox.All, "anna", mailbox.KindMessage, envelope(t, mailbox.All, "anna", mailbox.KindMessage, `{"text":"hello"}`))
	id := dead(t, anna, 1)[0].ID
	others := reading(t, team.Connect("docs"), func(m natsbox.Mail) error {
		if m.Subject.To != mailbox.All {
			t.Errorf("docs got %+v", m)
		}
		return nil
	})
	defer others()
	if _, err := anna.DeadDo(t.Context(), natsbox.DeadRetry, id, ""); err != nil { // it dies again
		t.Fatal(err)
	}
	for again := dead(t, anna, 1); again[0].Tries != 1; again = dead(t, anna, 1) {
		time.Sleep(10 * time.Millisecond)
	}
	stop()
	broken = false
	defer reading(t, api, func(m natsbox.Mail) error { got <- m; return nil })()
	d, err := anna.DeadDo(t.Context(), natsbox.DeadRetry, id, "")
	if err != nil || d.State != natsbox.DeadRetried || d.By != "anna" || d.Tries != 2 {
		t.Fatalf("retry = %+v, %v", d, err)
	}
	if _, err := anna.DeadDo(t.Context(), natsbox.DeadRetry, id, ""); err == nil || !strings.Contains(err.Error(), "was retried by anna") {
		t.Errorf("the second retry = %v, want who retried it", err)
	}
	m := <-got
	if m.Subject.From != "anna" || m.Subject.To != mailbox.All || m.Envelope.Kind != mailbox.KindMessage {
		t.Errorf("retried = %+v, want anna's message to all", m)
	}
	dead(t, anna, 0)
	team.Stop()
	team.Start()
	time.Sleep(1500 * time.Millisecond) // one redelivery
	select {
	case m := <-got:
		t.Errorf("handled twice: %+v", m)
	default:
	}
}

// Mail that is never acknowledged ends after eight deliveries; a leader puts it there again.
func TestDeadLetterAfterMaxDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		team := shop(t)
		anna, api := team.Connect("anna"), team.Connect("api")
		var calls atomic.Int64
		var works atomic.Bool
		stop := reading(t, api, func(natsbox.Mail) error {
			if calls.Add(1); works.Load() {
				return nil
			}
			return errors.New("the journal cannot be written")
		})
		defer stop()
		e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "anna", "api", 1, time.Now(), mailbox.Message{Text: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := anna.Send(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		list := dead(t, anna, 1)
		if d := list[0]; calls.Load() != 8 || d.Cause != natsbox.DeadMaxDeliveries || d.Deliveries < 8 || !strings.Contains(d.Reason, "8 times") {
			t.Fatalf("%d calls, %+v, want 8 and its cause", calls.Load(), d)
		}
		works.Store(true)
		if _, err := anna.DeadDo(t.Context(), natsbox.DeadRetry, list[0].ID, ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if calls.Load() != 9 {
			t.Errorf("%d calls, want one more", calls.Load())
		}
	})
}

// What is given up while the coordinator is away is listed when it is back, also when the broker's word of it is lost.
func TestDeadLettersOfBeforeTheStart(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("advisory lost %v", lost), func(t *testing.T) {
			t.Parallel()
			team := shop(t)
			anna, api := team.Connect("anna"), team.Connect("api")
			team.StopCoordinator()
			defer reading(t, api, func(natsbox.Mail) error { return nil })()
			store(t, team, "api", "docs", mailbox.KindMessage, "{")
			for end := time.Now().Add(time.Minute); api.Stats().Mismatched == 0; time.Sleep(15 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("it was not given up")
				}
			}
			if lost {
				time.Sleep(200 * time.Millisecond) // it is written behind
				st, err := admin(t, team).Stream(t.Context(), "DEAD_shop")
				if err != nil {
					t.Fatal(err)
				}
				if err := st.Purge(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			team.Stop()
			team.Start()
			if d := dead(t, anna, 1)[0]; d.Recipient != "api" || !strings.Contains(d.Reason, "malformed") {
				t.Errorf("dead letter %+v", d)
			}
		})
	}
}

// A request that waits does not go with its letter.
func TestDeadRequestStays(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	defer reading(t, anna, func(natsbox.Mail) error { return fmt.Errorf("%w: no", natsbox.ErrTerminate) })()
	id := ask(t, api, "api")
	row(t, anna, id, isOpen) // that it waits, and that it is dead, are told by two streams
	d := dead(t, anna, 1)[0]
	if !d.Waits || d.EnvelopeID != id {
		t.Errorf("dead letter %+v, want it to say that it waits", d)
	}
	if _, err := anna.DeadDo(t.Context(), natsbox.DeadDrop, d.ID, ""); err == nil || !strings.Contains(err.Error(), "swarm show api-") {
		t.Errorf("drop of a request that waits = %v, want what to do", err)
	}
	rows, err := anna.Pending(t.Context())
	if err != nil || len(rows) != 1 || len(rows[0].Dead) != 1 || rows[0].Dead[0] != d.ID {
		t.Errorf("pending = %+v, %v, want the request and its dead letter", rows, err)
	}
	decide(t, team, anna, "anna", "api", id, "rejected", "")
	row(t, anna, id, isSettled)
	if d, err = anna.DeadDo(t.Context(), natsbox.DeadDrop, d.ID, ""); err != nil || d.Waits {
		t.Errorf("drop of a settled request = %+v, %v", d, err)
	}
}

// A member gives up a message that was never its own: were that a dead letter of its, a leader who puts it there again
// would hand it others' mail.
func TestAttackDeadLetterOfOthersMail(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna, api := team.Connect("anna"), team.Connect("api")
	w, err := team.Connect("docs").Join(t.Context(), natsbox.JoinRequest{Instance: "docs-test"})
	if err != nil {
		t.Fatal(err)
	}
	mail(t, api, "api", 1, mailbox.KindMessage, "", mailbox.Message{Text: "for leaders"})
	docs := team.Raw("docs")
	for seq := 1; seq < 10; seq++ {
		subject := fmt.Sprintf("$JS.ACK.MB_shop.%s.1.%d.%d.1.0", w.Consumers.Mail, seq, seq)
		if err := docs.Publish(subject, []byte("+TERM")); err != nil {
			t.Fatal(err)
		}
	}
	if err := docs.Flush(); err != nil {
		t.Fatal(err)
	}
	defer reading(t, api, func(natsbox.Mail) error { return nil })()
	store(t, team, "api", "docs", mailbox.KindMessage, "{") // told of after the others
	if d := dead(t, anna, 1)[0]; d.Recipient != "api" {
		t.Errorf("dead letter %+v, want none of docs", d)
	}
	mailboxtest.Refused(t, "give up mail that is another's", "teammate", mailboxtest.ByCoordinator, "it is no dead letter of its own, and nobody puts it there again")
}

// Nobody but the coordinator puts mail where a dead letter comes again: it would be read as the mail of another.
func TestAttackForgedRetry(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	forged := make(chan natsbox.Mail, 10)
	defer reading(t, api, func(m natsbox.Mail) error { forged <- m; return nil })()
	for _, who := range []string{"docs", "anna"} {
		nc := team.Raw(who)
		s, err := mailbox.ParseSubject(mailbox.MailSubject("shop", "api", "anna", mailbox.KindMessage))
		if err != nil {
			t.Fatal(err)
		}
		data := []byte(envelope(t, "api", "anna", mailbox.KindMessage, `{"text":"forged"}`))
		if m, err := nc.Request(mailbox.RetrySubject("api", 1, s), data, 300*time.Millisecond); err == nil {
			t.Errorf("%s got %s, want the broker to refuse", who, m.Data)
		}
		if err := nc.Publish("$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.MB_shop.api-0123456789abcdef0123456789abcdef", []byte(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case m := <-forged:
		t.Errorf("api handled %+v", m)
	case <-time.After(200 * time.Millisecond):
	}
	mailboxtest.Refused(t, "put mail where a dead letter comes again", "teammate", mailboxtest.ByPermissions, "it reaches nobody, and the coordinator hears no advisory of a member's")
}
