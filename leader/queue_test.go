package leader_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func TestQueueOrder(t *testing.T) {
	s := newShop(t)
	soon, later := noon.Add(5*time.Minute), noon.Add(2*time.Hour)
	rows := []natsbox.Row{
		s.newRow(t, ask{from: "api", age: 3 * time.Minute}),
		s.newRow(t, ask{from: "db", age: 1 * time.Minute, prompts: []string{"frobnicate it"}, known: "default", saved: "bypassPermissions"}), // HIGH
		s.newRow(t, ask{from: "ci", age: 9 * time.Minute, change: func(q *planmode.ApprovalRequest) { q.Deadline = &later }}),
		s.newRow(t, ask{from: "web", age: 2 * time.Minute, change: func(q *planmode.ApprovalRequest) { q.Deadline = &soon }}),
	}
	if got := names(s.queue(rows...)); got != "web db ci api" {
		t.Errorf("order = %s, want due, HIGH, then oldest: web db ci api", got)
	}
	q := leader.NewQueue(rows, leader.QueueConfig{Charter: s.Charter, Now: noon, OldestFirst: true})
	if got := names(q); got != "ci api web db" {
		t.Errorf("oldest first = %s, want ci api web db", got)
	}
	if q.Oldest() != 9*time.Minute {
		t.Errorf("oldest = %v, want 9m", q.Oldest())
	}
}

func names(q *leader.Queue) string {
	var out []string
	for _, r := range q.Rows {
		out = append(out, r.From)
	}
	return strings.Join(out, " ")
}

func TestFindByHandleAndID(t *testing.T) {
	s := newShop(t)
	row := s.newRow(t, ask{from: "db"})
	q := s.queue(row, s.newRow(t, ask{from: "api"}))
	full := mailbox.Handle("db", row.EnvelopeID, 52)
	for _, id := range []string{mailbox.Handle("db", row.EnvelopeID, 4), strings.ToUpper(full[:9]), full, row.EnvelopeID, " " + full + "\n"} {
		r, err := q.Find(id)
		if err != nil || r.EnvelopeID != row.EnvelopeID {
			t.Errorf("Find(%q) = %v, want the row of db", id, err)
		}
	}
	for _, id := range []string{"db-", full[:6], "db", "", row.EnvelopeID[:20], "api" + full[2:]} {
		if r, err := q.Find(id); err == nil {
			t.Errorf("Find(%q) = %s, want an error", id, r.Handle)
		}
	}
}

// Two requests whose handles begin alike are told apart by longer ones.
func TestHandlesAreLengthenedOnCollision(t *testing.T) {
	s := newShop(t)
	short := map[string]string{}
	var a, b string
	for i := 0; b == ""; i++ {
		id := natsbox.NewRequestID()
		h := mailbox.Handle("ci", id, 4)
		if other, ok := short[h]; ok {
			a, b = other, id
		}
		short[h] = id
	}
	row := func(id string) natsbox.Row {
		return natsbox.Row{
			From: "ci", EnvelopeID: id, StoredAt: noon,
			Permission: &permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "ls", CallHash: "h"},
		}
	}
	q := s.queue(row(a), row(b))
	if len(q.Rows) != 2 || q.Rows[0].Handle == q.Rows[1].Handle || len(q.Rows[0].Handle) < len("ci-12345") {
		t.Fatalf("handles %q and %q", q.Rows[0].Handle, q.Rows[1].Handle)
	}
	for _, r := range q.Rows {
		if got, err := q.Find(r.Handle); err != nil || got.EnvelopeID != r.EnvelopeID {
			t.Errorf("Find(%s) = %v", r.Handle, err)
		}
	}
	_, err := q.Find(mailbox.Handle("ci", a, 4))
	if !leader.IsError(err, leader.NameAmbiguous) {
		t.Errorf("Find of the short handle = %v, want ambiguous", err)
	}
}

// The texts are UX.md's.
func TestFindErrors(t *testing.T) {
	s := newShop(t)
	waiting := s.newRow(t, ask{from: "db", id: fixedID(1)})
	old := s.newRow(t, ask{from: "db", id: fixedID(2)})
	old.SupersededBy = waiting.EnvelopeID
	waiting.StoredAt = noon.Add(2 * time.Minute)
	waiting.Request.Revision = 2
	waiting.Request.Digest = waiting.Request.ComputeDigest(s.TeamID, "db")
	gone := s.newRow(t, ask{from: "web", id: fixedID(3)})
	gone.Withdrawn = "replanned"
	odd := s.newRow(t, ask{from: "api", id: fixedID(4), forge: func(q *planmode.ApprovalRequest) { q.Digest = strings.Repeat("0", 64) }})
	q := s.queue(waiting, old, gone, odd)
	h := func(r natsbox.Row) string { return mailbox.Handle(r.From, r.EnvelopeID, 4) }
	near := h(waiting)[:6] + "!"
	for _, c := range []struct {
		id   string
		code int
		name string
		text string
	}{
		{near, 15, leader.NameUnknownRequest, fmt.Sprintf(`no request "%s": did you mean %s (waiting)? swarm inbox lists all`, near, h(waiting))},
		{"qqqq-0000", 15, leader.NameUnknownRequest, `no request "qqqq-0000": swarm inbox lists all`},
		{"cix", 15, leader.NameUnknownRequest, `no request "cix": did you mean ci? swarm inbox lists all`},
		{"x\x1b[2J", 15, leader.NameUnknownRequest, `no request "x<1B>[2j": swarm inbox lists all`},
		{"db", 2, leader.NameNameNotID, fmt.Sprintf(`"db" is a teammate, not a request: its plan is %s r2; read it with swarm show db, then approve %s`, h(waiting), h(waiting))},
		{"ci", 2, leader.NameNameNotID, `"ci" is a teammate, not a request, and asks nothing now; swarm inbox lists what waits`},
		{h(old), 6, leader.NameSuperseded, fmt.Sprintf("%s r1 was replaced by %s r2 at %s: nothing was approved; swarm show %s --diff", h(old), h(waiting), waiting.StoredAt.Local().Format("15:04"), h(waiting))},
		{h(gone), 6, leader.NameWithdrawn, fmt.Sprintf("%s r1 was withdrawn by web (replanned): nothing was approved; swarm inbox lists what waits", h(gone))},
		{h(odd), 6, leader.NameOddRequest, ""},
	} {
		_, err := q.Find(c.id)
		var e *leader.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Name != c.name {
			t.Errorf("Find(%q) = %v, want %d %s", c.id, err, c.code, c.name)
		} else if c.text != "" && err.Error() != c.text {
			t.Errorf("Find(%q):\n%s\nwant:\n%s", c.id, err, c.text)
		}
	}
	if r, err := q.FindAny("db"); err != nil || r.EnvelopeID != waiting.EnvelopeID {
		t.Errorf("FindAny(db) = %v, want its waiting plan", err)
	}
	if r, err := q.FindAny(h(old)); err != nil || r.EnvelopeID != old.EnvelopeID {
		t.Errorf("FindAny(%s) = %v, want the old plan to read", h(old), err)
	}
	if _, err := q.FindAny("nobody"); !leader.IsError(err, leader.NameUnknownRequest) {
		t.Errorf("FindAny(nobody) = %v", err)
	}
}

func TestConfirmIsForHighRisk(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "db", id: fixedID(5), known: "default", saved: "bypassPermissions"})
	if !r.IsHigh() || r.Claimed != permissions.ModeBypass {
		t.Fatalf("a wider claim is risk %v, claimed %q; want HIGH and shown", r.Risk.Level, r.Claimed)
	}
	for _, confirm := range []string{"", "DB", "api"} {
		_, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: confirm}, s.Charter, noon)
		if !leader.IsError(err, leader.NameNeedsConfirm) {
			t.Errorf("--confirm %q: %v, want it refused", confirm, err)
		}
	}
	_, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved}, s.Charter, noon)
	want := r.Handle + " is HIGH risk (says it had bypassPermissions, known is default): repeat with --confirm db after reading swarm show " + r.Handle
	if err == nil || err.Error() != want {
		t.Errorf("text:\n%v\nwant:\n%s", err, want)
	}
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: "db"}, s.Charter, noon)
	if err != nil || d.Mode != permissions.ModeDefault {
		t.Errorf("confirmed: mode %q, %v; want default", d.Mode, err)
	}
	if _, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"}, s.Charter, noon); err != nil {
		t.Errorf("a rejection needs no name: %v", err)
	}
}

// A single call is HIGH when it talks to the network, or when what it would write hides or destroys something.
func TestRiskOfCalls(t *testing.T) {
	s := newShop(t)
	for _, c := range []struct {
		call permissions.PermissionRequest
		high bool
	}{
		{permissions.PermissionRequest{Tool: "Bash", Input: "go vet ./..."}, false},
		{permissions.PermissionRequest{Tool: "Bash", Input: "curl -fsS https://example.org"}, true},
		{permissions.PermissionRequest{Tool: "Bash", Input: "echo\n```\ncurl -fsS https://example.org"}, true}, // no way out of the fence
		{permissions.PermissionRequest{Tool: "Bash", Input: "rm -rf build"}, true},
		{permissions.PermissionRequest{Tool: "Edit", Input: "main.go", Change: "+ return x\n"}, false},
		{permissions.PermissionRequest{Tool: "Edit", Input: "main.go", Change: "+ return x // \u202e\n"}, true},
		{permissions.PermissionRequest{Tool: "Edit", Input: "deploy.sh", Change: "+ rm -rf /srv\n"}, true},
	} {
		id := natsbox.NewRequestID()
		c.call.RequestID, c.call.CallHash = id, "h"
		q := s.queue(natsbox.Row{From: "ci", EnvelopeID: id, StoredAt: noon, Permission: &c.call})
		if len(q.Rows) != 1 || q.Rows[0].IsHigh() != c.high {
			t.Errorf("%+v is HIGH: %v, want %v", c.call, !c.high, c.high)
		}
	}
}

// Whatever is odd about a request, it is not decidable, and the queue lives on.
func TestOddRequestsAreNotDecidable(t *testing.T) {
	s := newShop(t)
	forge := func(f func(*planmode.ApprovalRequest)) natsbox.Row { return s.newRow(t, ask{from: "api", forge: f}) }
	change := func(f func(*planmode.ApprovalRequest)) natsbox.Row { return s.newRow(t, ask{from: "api", change: f}) }
	other := s.newRow(t, ask{from: "api"})
	other.EnvelopeID = natsbox.NewRequestID()
	anothers := s.newRow(t, ask{from: "db"})
	anothers.From = "api"
	both := s.newRow(t, ask{from: "api"})
	both.Permission = &permissions.PermissionRequest{}
	odd := map[string]natsbox.Row{
		"digest of other bytes": forge(func(q *planmode.ApprovalRequest) { q.Plan.Content = []byte("# Other\n") }),
		"another digest":        forge(func(q *planmode.ApprovalRequest) { q.Digest = strings.Repeat("ab", 32) }),
		"prompt added": forge(func(q *planmode.ApprovalRequest) {
			q.AllowedPrompts = append(q.AllowedPrompts, permissions.Prompt{Tool: "Bash", Prompt: "push"})
		}),
		"another envelope's id":  other,
		"another's plan":         anothers,
		"nothing":                {From: "api", EnvelopeID: natsbox.NewRequestID()},
		"two things":             both,
		"a reserved sender":      {From: "lead", EnvelopeID: natsbox.NewRequestID()},
		"guessable id":           s.newRow(t, ask{from: "api", id: "1"}),
		"empty plan":             s.newRow(t, ask{from: "api", plan: " \n"}),
		"no UTF-8":               s.newRow(t, ask{from: "api", plan: "# a\xff\n"}),
		"unknown kind":           change(func(q *planmode.ApprovalRequest) { q.Kind = "wish" }),
		"unknown saved mode":     change(func(q *planmode.ApprovalRequest) { q.SavedMode = "god" }),
		"plan as requested mode": change(func(q *planmode.ApprovalRequest) { q.RequestedMode = permissions.ModePlan }),
		"prompt for a tool": change(func(q *planmode.ApprovalRequest) {
			q.AllowedPrompts = []permissions.Prompt{{Tool: "Edit", Prompt: "x"}}
		}),
		"a deadline after 9999 in UTC": change(func(q *planmode.ApprovalRequest) { q.Deadline = claimed("9999-12-31T23:59:59-12:00") }),
		"a deadline before 1970":       change(func(q *planmode.ApprovalRequest) { q.Deadline = claimed("1970-01-01T00:00:00+00:01") }),
		"revision 0":                   change(func(q *planmode.ApprovalRequest) { q.Revision = 0 }),
		"other plan digest":            change(func(q *planmode.ApprovalRequest) { q.Plan.Digest = "00" }),
		"call without a hash":          {From: "api", EnvelopeID: "x", Permission: &permissions.PermissionRequest{RequestID: "x", Tool: "Bash"}},
	}
	rows := []natsbox.Row{s.newRow(t, ask{from: "web"})}
	for name, r := range odd {
		if row, err := leader.NewRow(r, leader.RowConfig{Charter: s.Charter, Now: noon}); err == nil || row.Problem == nil {
			t.Errorf("%s: no problem found", name)
		}
		rows = append(rows, r)
	}
	if q := s.queue(rows...); names(q) != "web" || len(q.Odd) != len(odd) {
		t.Errorf("waiting %q and %d odd, want web and %d", names(q), len(q.Odd), len(odd))
	}
}

// A prompt counts as what this leader understands, not as what the teammate calls it.
func TestPromptsAreUnderstoodAgain(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", change: func(q *planmode.ApprovalRequest) {
		q.AllowedPrompts = []permissions.Prompt{
			{Tool: "Bash", Prompt: "wipe the disk", Intent: "run tests", Classes: nil, Examples: []string{"go test ./..."}},
			{Tool: "Bash", Prompt: "run tests", Intent: "", Examples: []string{"true"}},
		}
	}})
	for _, p := range r.Prompts {
		if p.Intent != "" {
			t.Errorf("%q counts as %q", p.Prompt, p.Intent)
		}
	}
	if !r.IsHigh() {
		t.Errorf("risk %v, want HIGH: it calls a prompt what it is not", r.Risk.Level)
	}
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: "api"}, s.Charter, noon)
	if err != nil || len(d.Grants) != 0 {
		t.Errorf("granted %v, %v; want nothing", d.Grants, err)
	}
}

// claimed is a time as a member writes it, with its own zone.
func claimed(text string) *time.Time {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return &at
}

// The times that one teammate claims break no other's row.
func TestClaimedTimesAreWrittenAsJSON(t *testing.T) {
	s := newShop(t)
	for _, text := range []string{"9999-12-31T23:59:59-12:00", "0000-01-01T00:00:00+12:00"} {
		at := claimed(text)
		r := s.newRow(t, ask{from: "api", change: func(q *planmode.ApprovalRequest) { q.Deadline = at }})
		r.Expires = at
		odd, _ := leader.NewRow(r, leader.RowConfig{Charter: s.Charter, Now: noon}) // odd, and shown all the same
		late := grant(1, "1", "vet", ".", 0, 10, time.Hour, "mia")
		late.ExpiresAt = *at
		live := reports(t, "api", true, planmode.Status{Grants: []permissions.Grant{late}, Ended: []planmode.EndedGrant{{Grant: late, EndedBy: "revoked", EndedAt: *at}}})
		good := reports(t, "web", true, planmode.Status{Grants: []permissions.Grant{grant(2, "1", "vet", ".", 0, 10, time.Hour, "mia")}})
		rows := leader.Grants([]natsbox.Presence{live, good}, true, noon)
		decided := planmode.Decision{}
		decided.DecidedAt = *at
		for name, doc := range map[string]any{
			"a row": odd.Doc(), "all of a row": odd.ShowDoc(), "the grants": leader.NewGrantsDoc(rows),
			"a decision": leader.NewDecisionDoc(&odd, decided),
		} {
			var out bytes.Buffer
			if err := leader.WriteJSON(&out, doc); err != nil {
				t.Errorf("%s with %s: %v", name, text, err)
			}
		}
		if len(rows) != 3 {
			t.Errorf("%d grants, want 3", len(rows))
		}
	}
}
