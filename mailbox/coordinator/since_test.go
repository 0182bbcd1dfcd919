package coordinator_test

import (
	"context"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// texts receives messages until so many have come, and reports one more that comes at once.
func texts(t testing.TB, c *natsbox.Conn, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var got []string
	_ = c.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		b, err := mailbox.Body[mailbox.Message](m.Envelope)
		if got = append(got, b.Text); len(got) == n {
			time.AfterFunc(100*time.Millisecond, cancel)
		}
		return err
	})
	if len(got) != n {
		t.Fatalf("mail %q, want %d", got, n)
	}
	return got
}

// Mail to all reaches everybody who was a member when it was stored, however late they come; who becomes one later has
// not missed it. Mail to itself waits for a member, whenever it was sent. The same after a restart.
func TestMailToAllIsForMembers(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna := team.Connect("anna")
	write := func(to, text string) {
		posts(t, anna, "anna", to, mailbox.KindMessage, mailbox.Message{Text: text})
	}
	write(mailbox.All, "one")
	api := team.Connect("api") // a member, and not there until now
	if got := texts(t, api, 1); got[0] != "one" {
		t.Errorf("api reads %q", got)
	}
	team.AddTeammate("late")
	write("late", "welcome")
	write(mailbox.All, "two")
	team.Stop()
	team.Start()
	late := team.Connect("late")
	if got := texts(t, late, 2); got[0] != "welcome" || got[1] != "two" {
		t.Errorf("late reads %q, want what came after it was a member", got)
	}
	docs := team.Connect("docs")
	if got := texts(t, docs, 2); got[0] != "one" || got[1] != "two" {
		t.Errorf("docs reads %q, want both", got)
	}
}

// Only leaders speak to all: the broker refuses a teammate, with the client's own checks out of the way too.
func TestAttackTeammateSpeaksToAll(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Connect("api")
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "api", mailbox.All, 1, time.Now(), mailbox.Message{Text: "I lead now"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := api.Send(t.Context(), e); err == nil {
		t.Error("a teammate's mail to all was stored")
	}
	data, err := mailbox.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	raw := team.Raw("api")
	for _, kind := range mailbox.Kinds() {
		if _, err := raw.Request(mailbox.MailSubject("shop", mailbox.All, "api", kind), data, 200*time.Millisecond); err == nil {
			t.Errorf("a %s to all was stored", kind)
		}
	}
	st, err := admin(t, team).Stream(t.Context(), "MB_shop")
	if err != nil {
		t.Fatal(err)
	}
	if n := st.CachedInfo().State.Msgs; n != 0 {
		t.Errorf("%d messages are stored, want none", n)
	}
	mailboxtest.Refused(t, "speak to all with any kind of mail", "teammate", mailboxtest.ByPermissions, "nothing is stored")
}
