package coordinator_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox/natsbox"
)

// What a teammate says of its session is in the ledger once, in words of which it has chosen none; what is no event is not,
// and nobody else has a session.
func TestTheLedgerHasSessions(t *testing.T) {
	team := audited(t)
	api, anna := team.Connect("api"), team.Connect("anna")
	digest := strings.Repeat("a", 64)
	tell := func(q natsbox.EventRequest) error { return api.Call(t.Context(), natsbox.VerbEvent, q, nil) }
	for _, q := range []natsbox.EventRequest{
		{Seq: 2, Event: "plan.entered", Mode: "default", By: "agent"},
		{Seq: 2, Event: "plan.entered", Mode: "default", By: "agent"}, // told again
		{Seq: 9, Event: "plan.completed", Digest: digest, By: "anna"},
		{Seq: 4, Event: "plan.left"}, // late
	} {
		if err := tell(q); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
	}
	for why, q := range map[string]natsbox.EventRequest{
		"no event":  {Seq: 20, Event: "approved by anna"},
		"no number": {Event: "plan.entered"},
		"digest":    {Seq: 20, Event: "plan.entered", Digest: "x\nsession db plan.left"},
		"mode":      {Seq: 20, Event: "plan.entered", Mode: "root"},
		"no name":   {Seq: 20, Event: "plan.entered", By: "anna\x1b[2J"},
	} {
		var e *natsbox.ServiceError
		if err := tell(q); !errors.As(err, &e) || e.Code != natsbox.CodeBadRequest || !strings.Contains(e.Message, strings.Fields(why)[len(strings.Fields(why))-1]) {
			t.Errorf("%s: %v, want it refused", why, err)
		}
	}
	if err := anna.Call(t.Context(), natsbox.VerbEvent, natsbox.EventRequest{Seq: 1, Event: "plan.entered"}, nil); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("a leader's session: %v, want ErrForbidden", err)
	}
	out, v := saying(t, team, "session api ", 2)
	if p := v.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	all := strings.Join(out, "\n")
	for _, want := range []string{"session api plan.entered, line 2, mode default, by agent", "session api plan.completed, line 9, by anna, digest " + digest} {
		if strings.Count(all, want) != 1 {
			t.Errorf("the ledger does not say %q once:\n%s", want, all)
		}
	}
	if strings.Contains(all, "line 4") || strings.Contains(all, "line 20") {
		t.Errorf("the ledger has what came late or is no event:\n%s", all)
	}
}

// A teammate that tells without end fills no ledger: what is too much is counted.
func TestSessionsDoNotFloodTheLedger(t *testing.T) {
	team := audited(t)
	api := team.Connect("api")
	for n := range 200 {
		if err := api.Call(t.Context(), natsbox.VerbEvent, natsbox.EventRequest{Seq: uint64(n + 1), Event: "mode.drift"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := saying(t, team, "session api ", 60)
	n := strings.Count(strings.Join(out, "\n"), "session api ")
	if n > 80 {
		t.Errorf("%d of 200 events are in the ledger, want about 60", n)
	}
}
