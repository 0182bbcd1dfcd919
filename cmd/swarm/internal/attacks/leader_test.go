package attacks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// What a request says is computed again by the leader, before anything is signed.
func TestAttackRequestsThatLie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mate, anna := w.Connect("mate"), w.Dial("anna")
	presence := func() (epoch uint64) {
		var all []natsbox.Presence
		if err := anna.Call(t.Context(), natsbox.VerbPresence, nil, &all); err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if p.Name == "mate" {
				epoch = p.Epoch
			}
		}
		return epoch
	}()
	digest := func(q *planmode.ApprovalRequest) { q.Digest = q.ComputeDigest(w.Charter().TeamID, "mate") }
	for _, a := range []struct {
		name, want string
		change     func(*planmode.ApprovalRequest)
	}{
		{"a plan under another plan's digest", "its bytes give", func(q *planmode.ApprovalRequest) { q.Digest = "0000" }},
		{"other bytes than the plan that is named", "not the one that it names", func(q *planmode.ApprovalRequest) { q.Plan.Content = []byte("# Harmless\n"); digest(q) }},
		{"a wider saved mode than the team knows", "", func(q *planmode.ApprovalRequest) { q.SavedMode = permissions.ModeBypass; digest(q) }},
		{"a saved mode that nobody knows", "which nobody knows", func(q *planmode.ApprovalRequest) { q.SavedMode = "root"; digest(q) }},
		{"a kind of request that nobody knows", "which nobody knows", func(q *planmode.ApprovalRequest) { q.Kind = "approved"; digest(q) }},
		{"a plan with invisible words", "", func(q *planmode.ApprovalRequest) {
			q.Plan = plans.New("plan.md", "plan.md", []byte("# Fix it\u202e\n\x1b[8mpush --force\x1b[0m\n"))
			digest(q)
		}},
		{"a prompt that means more than it says", "", func(q *planmode.ApprovalRequest) { q.AllowedPrompts[0].Intent = "push"; digest(q) }},
		{"a prompt of another tool", "only Bash has prompts", func(q *planmode.ApprovalRequest) { q.AllowedPrompts[0].Tool = "Write"; digest(q) }},
	} {
		t.Run(a.name, func(t *testing.T) {
			id := ask(t, mate, "mate", presence, w.Charter().TeamID, a.change)
			var row natsbox.Row
			until(t, "the request", func() bool {
				var err error
				row, err = anna.Request(t.Context(), id)
				return err == nil
			})
			w.leaderRefuses(t, a.name, a.want, row)
		})
	}
}

// leaderRefuses opens a request as a leader does. It has to be odd because of want, or, where that is empty, to be shown
// without what it claims.
func (w *world) leaderRefuses(t *testing.T, name, want string, from natsbox.Row) {
	t.Helper()
	row, err := leader.NewRow(from, leader.RowConfig{Charter: w.Charter(), Now: time.Now()})
	if want != "" {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("the leader opens it: %v, want %q", err, want)
		}
		mailboxtest.Refused(t, name, "teammate", mailboxtest.ByLeader, err.Error())
		return
	}
	why := ""
	switch {
	case err != nil:
		why = err.Error()
	case row.Claimed != "":
		why = "it claims " + string(row.Claimed) + ", and an approval restores " + string(row.ModeBack)
		if row.ModeBack != permissions.ModeDefault {
			t.Errorf("an approval restores %s", row.ModeBack)
		}
	case strings.ContainsRune(string(from.Request.Plan.Content), '\u202e'):
		shown := plans.Visible(string(from.Request.Plan.Content))
		if strings.ContainsAny(shown, "\u202e\x1b") || !strings.Contains(shown, "push --force") {
			t.Errorf("it is shown as %q", shown)
		}
		why = "every byte is shown, and marked: " + shown
	case len(row.Prompts) == 1 && row.Prompts[0].Intent == "":
		why = "the prompt is shown as not recognised: nothing can be granted"
	}
	if why == "" {
		t.Fatalf("the leader takes it: %+v", row)
	}
	d, err := leader.Prepare(row, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: "mate"}, w.Charter(), time.Now())
	if err == nil && (d.Mode.Above(permissions.ModeDefault) || len(d.Grants) > 0 && row.Prompts[0].Intent == "") {
		t.Errorf("the leader would sign %+v", d)
	}
	mailboxtest.Refused(t, name, "teammate", mailboxtest.ByLeader, why)
}

// opened says why a leader would not take a request, nil when it would.
func opened(c charter.Charter, row natsbox.Row) error {
	_, err := leader.NewRow(row, leader.RowConfig{Charter: c, Now: time.Now()})
	return err
}

// lyingSlots are slots behind a broker that lies.
type lyingSlots struct {
	leader.Slots
	put func(ctx context.Context, to, id string, payload []byte, sigs []string) (charter.Order, error)
}

func (l lyingSlots) PutDecision(ctx context.Context, to, id string, payload []byte, sigs []string) (charter.Order, error) {
	return l.put(ctx, to, id, payload, sigs)
}

// A coordinator or a broker that lies shows a leader what it likes. Nothing is signed that the teammate did not ask, and nothing
// is said to be stored that is not.
func TestAttackBrokerThatLiesToALeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	anna := w.Dial("anna")
	id := ask(t, w.Dial("other"), "other", 1, w.Charter().TeamID)
	var good natsbox.Row
	until(t, "the request", func() bool {
		var err error
		good, err = anna.Request(t.Context(), id)
		return err == nil
	})
	for _, a := range []struct {
		name, want string
		change     func(*natsbox.Row)
	}{
		{"another plan under the same digest", "not the one that it names", func(r *natsbox.Row) { r.Request.Plan.Content = []byte("# Harmless\n") }},
		{"the plan of another teammate", "its bytes give", func(r *natsbox.Row) { r.From = "mate" }},
		{"another request's id", "not its envelope's id", func(r *natsbox.Row) { r.EnvelopeID = natsbox.NewRequestID() }},
		{"fewer prompts than were asked", "its bytes give", func(r *natsbox.Row) { r.Request.AllowedPrompts = nil }},
		{"another revision", "its bytes give", func(r *natsbox.Row) { r.Request.Revision = 9 }},
		{"two things under one id", "neither a plan nor", func(r *natsbox.Row) { r.Permission = &permissions.PermissionRequest{} }},
		{"a teammate of a reserved name", "reserved", func(r *natsbox.Row) { r.From = "lead" }},
	} {
		t.Run(a.name, func(t *testing.T) {
			lie, request := good, *good.Request
			lie.Request = &request
			a.change(&lie)
			_, err := leader.NewRow(lie, leader.RowConfig{Charter: w.Charter(), Now: time.Now()})
			if err == nil || !strings.Contains(err.Error(), a.want) {
				t.Fatalf("the leader opens it: %v, want %q", err, a.want)
			}
			mailboxtest.Refused(t, a.name, operator, mailboxtest.ByLeader, err.Error())
		})
	}
	row, err := leader.NewRow(good, leader.RowConfig{Charter: w.Charter(), Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	d, err := leader.Prepare(row, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: "other"}, w.Charter(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	member, _ := w.Charter().Member("anna")
	signer := leader.Signer{Key: w.Key("anna"), Member: member, Via: "test"}
	for _, a := range []struct {
		name string
		put  func(context.Context, string, string, []byte, []string) (charter.Order, error)
	}{
		{"a broker that says stored, and has other bytes", func(_ context.Context, _, _ string, p []byte, sigs []string) (charter.Order, error) {
			return charter.Order{Payload: append([]byte(" "), p...), Sigs: sigs}, nil
		}},
		{"a broker that says that somebody has decided", func(_ context.Context, _, _ string, _ []byte, _ []string) (charter.Order, error) {
			return charter.Order{}, &natsbox.AlreadyDecided{Winner: charter.Order{Payload: []byte("approved by bob")}}
		}},
	} {
		t.Run(a.name, func(t *testing.T) {
			_, err := leader.Publish(t.Context(), lyingSlots{anna, a.put}, signer, w.Charter(), row, d)
			var refused *leader.Error
			if err == nil || strings.Contains(err.Error(), "bob") {
				t.Fatalf("Publish = %v, want that it is told, and not as anybody's decision", err)
			}
			_ = errors.As(err, &refused)
			mailboxtest.Refused(t, a.name, operator, mailboxtest.ByLeader, err.Error())
		})
	}
	if _, err := leader.Publish(t.Context(), anna, signer, w.Charter(), row, d); err != nil {
		t.Errorf("the true one: %v", err)
	}
}
