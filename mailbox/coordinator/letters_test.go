package coordinator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// unread waits until a leader has so many unread letters, and returns their texts.
func unread(t testing.TB, c *natsbox.Conn, n int) (ids []string, texts string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(15 * time.Millisecond) {
		mail, err := c.Unread(t.Context(), 0)
		if err == nil && len(mail) == n {
			for _, m := range mail {
				ids = append(ids, m.ID)
				texts += m.Text + " "
			}
			return ids, strings.TrimSpace(texts)
		}
		if time.Now().After(end) {
			t.Fatalf("%d unread letters (%v), want %d", len(mail), err, n)
		}
	}
}

// Each leader reads the leaders' mail for itself: what one has seen, the other has not. All of it is there, however much.
func TestLeadersReadForThemselves(t *testing.T) {
	t.Parallel()
	team := shop(t)
	team.AddLeader("bob", charter.KindPerson)
	anna, bob, api := team.Connect("anna"), team.Connect("bob"), team.Connect("api")
	first := posts(t, api, "api", "lead", mailbox.KindMessage, mailbox.Message{Text: "one"})
	posts(t, api, "api", "anna", mailbox.KindMessage, mailbox.Message{Text: "two"})
	posts(t, api, "api", "docs", mailbox.KindMessage, mailbox.Message{Text: "not yours"})
	posts(t, bob, "bob", "all", mailbox.KindMessage, mailbox.Message{Text: "three", Urgent: true})
	_, texts := unread(t, anna, 3)
	if texts != "three one two" {
		t.Errorf("anna has %q, want what is urgent first", texts)
	}
	if _, texts := unread(t, bob, 1); texts != "one" {
		t.Errorf("bob has %q, want the leaders' mail alone", texts)
	}
	posts(t, anna, "anna", "api", mailbox.KindReceipt, mailbox.Receipt{Of: first, State: mailbox.Seen})
	unread(t, anna, 2)
	unread(t, bob, 1)
	team.Stop()
	team.Start()
	anna, bob = team.Connect("anna"), team.Connect("bob")
	unread(t, anna, 2)
	unread(t, bob, 1)
	for range 2 {
		if m, err := anna.Letter(t.Context(), first[:len(first)-3]); err != nil || m.Text != "one" || !m.Seen {
			t.Errorf("Letter = %+v, %v, want it as often as it is read", m, err)
		}
	}
	if m, err := bob.Letter(t.Context(), first); err != nil || m.Seen {
		t.Errorf("Letter = %+v, %v, want one that bob has not seen", m, err)
	}
	if _, err := bob.Letter(t.Context(), "nothing"); !errors.Is(err, natsbox.ErrNotFound) {
		t.Errorf("Letter = %v, want ErrNotFound", err)
	}
}
