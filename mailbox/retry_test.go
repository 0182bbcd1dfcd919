package mailbox_test

import (
	"testing"

	"github.com/planswarm/swarm/mailbox"
)

func TestRetrySubject(t *testing.T) {
	for _, s := range []string{
		mailbox.MailSubject("shop", mailbox.Lead, "api", mailbox.KindQuestion),
		mailbox.OrderSubject("shop", "api", "anna", mailbox.KindModeSetRequest),
	} {
		of, err := mailbox.ParseSubject(s)
		if err != nil {
			t.Fatal(err)
		}
		again := mailbox.RetrySubject("bob", 42, of)
		member, seq, got, ok := mailbox.ParseRetry(again)
		if !ok || member != "bob" || seq != 42 || got.String() != s {
			t.Errorf("ParseRetry(%s) = %s, %d, %s, %v, want bob, 42, %s", again, member, seq, got, ok, s)
		}
		if _, err := mailbox.ParseSubject(again); err == nil {
			t.Errorf("ParseSubject(%s) took a retry for mail", again)
		}
	}
}

// FuzzParseRetry: what is taken apart is put together the same, and nothing else is taken.
func FuzzParseRetry(f *testing.F) {
	f.Add("swarm.shop.mb.bob.retry.42.lead.api.question")
	f.Add("swarm.shop.ord.bob.retry.042.api.anna.mode_set_request")
	f.Add("swarm.shop.dec.bob.retry.1.api.x")
	f.Add("swarm.shop.mb.bob.retry.1.lead.api.*")
	f.Fuzz(func(t *testing.T, s string) {
		member, seq, of, ok := mailbox.ParseRetry(s)
		if !ok {
			return
		}
		if got := mailbox.RetrySubject(member, seq, of); got != s {
			t.Errorf("ParseRetry(%q) was put together as %q", s, got)
		}
		if of.Branch != "mb" && of.Branch != "ord" {
			t.Errorf("ParseRetry(%q) took a branch %s", s, of.Branch)
		}
	})
}
