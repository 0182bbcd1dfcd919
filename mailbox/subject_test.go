package mailbox_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
)

var names = rapid.StringMatching(`[a-z0-9][a-z0-9_-]{0,62}`)

func TestSubjectRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		team, to, from := names.Draw(t, "team"), names.Draw(t, "to"), names.Draw(t, "from")
		kind := rapid.SampledFrom(mailbox.Kinds()).Draw(t, "kind")
		request := mailbox.RequestID(uuid, [16]byte{rapid.Byte().Draw(t, "b")})
		for s, want := range map[string]mailbox.Subject{
			mailbox.MailSubject(team, to, from, kind):  {Team: team, Branch: "mb", To: to, From: from, Kind: kind},
			mailbox.OrderSubject(team, to, from, kind): {Team: team, Branch: "ord", To: to, From: from, Kind: kind},
			mailbox.DecisionSubject(team, to, request): {Team: team, Branch: "dec", To: to, Request: request},
			mailbox.StatusSubject(team, from):          {Team: team, Branch: "stat", From: from},
		} {
			got, err := mailbox.ParseSubject(s)
			if err != nil || got != want || got.String() != s {
				t.Fatalf("ParseSubject(%s) = %+v, %v, want %+v", s, got, err, want)
			}
		}
	})
}

func TestParseSubjectRefuses(t *testing.T) {
	for _, s := range []string{
		"", "swarm", "swarm.t", "swarm.t.mb", "swarm.t.mb.lead.api", "swarm.t.mb.lead.api.message.x", "other.t.stat.api",
		"swarm.t.mb.*.api.message", "swarm.t.mb.lead.>.message", "swarm.t.mb.lead.api.*", "swarm.*.stat.api", "swarm.t.stat.>",
		"swarm.t.mb.lead..message", "swarm..mb.lead.api.message", "swarm.t.mb.lead.api.", "swarm.t.dec.api.", "swarm.t.dec.api.*",
		"swarm.t.dec.api.r1.x", "swarm.t.dec.a b.r1", "swarm.T.stat.api", "swarm.t.stat.api\n", "swarm.t.mb.lead.api.mess age",
		"swarm.t.svc.api.join", "swarm.t.ev.x", "swarm.t.dec.api." + strings.Repeat("r", 129), "swarm.t.stat.-api",
	} {
		if got, err := mailbox.ParseSubject(s); err == nil {
			t.Errorf("ParseSubject(%q) = %+v, want an error", s, got)
		}
	}
	if s := (mailbox.Subject{}).String(); s != "" {
		t.Errorf("zero Subject = %q, want nothing", s)
	}
}

func TestServiceAndEventSubjects(t *testing.T) {
	if got := mailbox.ServiceSubject("t", "api", "join"); got != "swarm.t.svc.api.join" {
		t.Errorf("ServiceSubject = %s", got)
	}
	if got := mailbox.EventSubject("t", "plan"); got != "swarm.t.ev.plan" {
		t.Errorf("EventSubject = %s", got)
	}
}

func TestCheckName(t *testing.T) {
	for _, s := range []string{
		"", ".", "a.b", "*", ">", "a*", "a b", " a", "a\n", "A", "-a", "_a", "ä", "a/b", "..", "a\x00", strings.Repeat("a", 64),
	} {
		if err := mailbox.CheckName(s); !errors.Is(err, mailbox.ErrBadName) {
			t.Errorf("CheckName(%q) = %v, want %v", s, err, mailbox.ErrBadName)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if s := names.Draw(t, "name"); mailbox.CheckName(s) != nil {
			t.Fatalf("CheckName(%q) is refused", s)
		}
	})
	for _, s := range mailbox.Reserved {
		if err := mailbox.CheckMember(s); !errors.Is(err, mailbox.ErrBadName) {
			t.Errorf("CheckMember(%q) = %v, want it reserved", s, err)
		}
		if err := mailbox.CheckName(s); err != nil {
			t.Errorf("CheckName(%q) = %v", s, err)
		}
	}
	if err := mailbox.CheckMember("a.b"); !errors.Is(err, mailbox.ErrBadName) {
		t.Errorf("CheckMember(a.b) = %v", err)
	}
}

func FuzzParseSubject(f *testing.F) {
	for _, s := range []string{"swarm.t.mb.lead.api.message", "swarm.t.dec.api.r1", "swarm.t.ord.api.anna.mode_set_request", "swarm.t.stat.api", "swarm.t.mb.*.>.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := mailbox.ParseSubject(s)
		if err != nil {
			return
		}
		if p.String() != s || strings.ContainsAny(s, "*> \t\r\n\x00") {
			t.Fatalf("ParseSubject(%q) = %+v", s, p)
		}
	})
}
