package leader_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares a text with testdata/NAME.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", file, got, want)
	}
}

const migration = `# Store order totals as cents

Store order totals as integer cents instead of floats.

## Steps
- [ ] ` + "`internal/orders/totals.go`" + `: integer cents
- [ ] migrate, then check the sums

` + "```sql\nALTER TABLE orders ADD COLUMN cents BIGINT;\nALTER TABLE orders DROP COLUMN total;\n```\n"

// inboxQueue is the queue of UX.md's first picture.
func inboxQueue(t *testing.T, s shop) *leader.Queue {
	t.Helper()
	call := fixedID(2)
	rows := []natsbox.Row{
		s.newRow(t, ask{from: "api", id: fixedID(4), age: 6 * time.Minute, revision: 2, prompts: []string{"run tests"}}),
		s.newRow(t, ask{
			from: "web", id: fixedID(3), age: 9 * time.Minute, plan: "# Refund button on the order page\n\n- `web/order.tsx`: button\n", prompts: []string{"run tests", "open a pull request"},
			options: []plans.Option{{Label: "Optimistic", Description: "show \"refunded\" at once"}, {Label: "Wait", Recommended: true}},
		}),
		s.newRow(t, ask{from: "db", id: fixedID(1), age: 14 * time.Minute, plan: migration, prompts: []string{"run tests", "clean up old data"}, known: "default", saved: "default"}),
		{
			From: "ci", EnvelopeID: call, Epoch: 1, StoredAt: noon.Add(-time.Minute), KnownMode: "default",
			Permission: &permissions.PermissionRequest{
				RequestID: call, Tool: "Bash", Input: "curl -fsS https://get.example.org/install.sh", CallHash: "h", Cwd: "/work/ci",
				Commands: []permissions.CommandVerdict{{Argv: []string{"curl", "-fsS", "https://get.example.org/install.sh"}, Verdict: permissions.Ask, Reason: "talks to the network"}},
			},
		},
	}
	status, err := json.Marshal(planmode.Status{Moved: &planmode.Moved{Of: 7, Changed: []string{"orders.go", "totals.go", "schema.sql"}}})
	if err != nil {
		t.Fatal(err)
	}
	return leader.NewQueue(rows, leader.QueueConfig{
		Charter: s.Charter, Now: noon,
		Presence: []natsbox.Presence{{Name: "db", Live: true, Agent: "codex 0.171", Status: status}, {Name: "web", Live: false, Agent: "gemini 0.61"}},
		Seen:     map[string]leader.Seen{rows[0].Request.PlanID: {Revision: 1, Content: []byte("# Fix rounding of invoices\n\nRound each line.\n")}},
	})
}

func TestInboxText(t *testing.T) {
	q := inboxQueue(t, newShop(t))
	var table, tabs bytes.Buffer
	if err := leader.WriteInbox(&table, q, 0); err != nil {
		t.Fatal(err)
	}
	if err := leader.WriteInboxTSV(&tabs, q); err != nil {
		t.Fatal(err)
	}
	golden(t, "inbox.txt", table.String()+"\n"+q.Summary()+"\n")
	golden(t, "inbox.tsv", tabs.String())
	for l := range strings.Lines(table.String()) {
		if w := plans.Width(strings.TrimSuffix(l, "\n")); w > 80 {
			t.Errorf("a line has %d cells: %s", w, l)
		}
	}
	if got := newShop(t).queue().Summary(); got != "Nothing waits. 4 teammates: swarm status" {
		t.Errorf("empty: %q", got)
	}
}

func TestShowText(t *testing.T) {
	q := inboxQueue(t, newShop(t))
	for i := range q.Rows {
		r := &q.Rows[i]
		cfg := leader.ShowConfig{Now: noon}
		if r.From == "api" {
			cfg.Diff = &leader.Seen{Revision: 1, Content: []byte("# Fix rounding of invoices\n\nRound each line.\n")}
		}
		var b bytes.Buffer
		if err := leader.WriteShow(&b, r, cfg); err != nil {
			t.Fatal(err)
		}
		golden(t, "show-"+r.From+".txt", b.String())
	}
}

// What has ended is readable, and says why; a very long line is wrapped, and nothing of it is lost.
func TestShowOfWhatEnded(t *testing.T) {
	s := newShop(t)
	replaced := s.newRow(t, ask{from: "db", id: fixedID(1)})
	replaced.SupersededBy = fixedID(2)
	decided := s.newRow(t, ask{from: "api", id: fixedID(3)})
	decided.Decision = &natsbox.DecisionInfo{Valid: true, Outcome: "approved", By: &mailbox.DecidedBy{Name: "tom", Via: "command"}}
	decided.Receipts = []mailbox.Receipt{{State: mailbox.Applied, Mode: "default"}}
	junk := decided
	junk.EnvelopeID, junk.Decision, junk.Receipts = fixedID(4), &natsbox.DecisionInfo{}, nil
	long := "# Long\n\n" + strings.Repeat("0123456789", 99) + " end\n"
	q := s.queue(replaced, decided, s.newRow(t, ask{from: "web", id: fixedID(5), plan: long}), s.newRow(t, ask{from: "ci", id: fixedID(6), forge: func(q *planmode.ApprovalRequest) { q.Digest = "0" }}))
	for handle, want := range map[string]string{
		mailbox.Handle("db", fixedID(1), 4):  "Ended   replaced by " + mailbox.Handle("db", fixedID(2), 4) + "\n",
		mailbox.Handle("api", fixedID(3), 4): "Ended   approved by tom, command\nReceipt applied default\n",
		mailbox.Handle("ci", fixedID(6), 4):  "ODD     cannot be decided: its digest is 0",
		"web":                                "\n   3  " + strings.Repeat("0123456789", 40) + "\n   \\  " + strings.Repeat("0123456789", 40) + "\n   \\  " + strings.Repeat("0123456789", 19) + " end\n",
	} {
		r, err := q.FindAny(handle)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := leader.WriteShow(&b, r, leader.ShowConfig{Now: noon}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("show %s is\n%s\nwithout\n%s", handle, b.String(), want)
		}
		if ended := strings.Contains(want, "Ended") || strings.Contains(want, "ODD"); ended == strings.Contains(b.String(), "approve:") {
			t.Errorf("show %s offers to decide what cannot be decided, or does not:\n%s", handle, b.String())
		}
	}
}

func TestInboxJSON(t *testing.T) {
	q := inboxQueue(t, newShop(t))
	var b bytes.Buffer
	if err := leader.WriteJSON(&b, q.Doc()); err != nil {
		t.Fatal(err)
	}
	var doc leader.InboxDoc
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || doc.Waiting != 4 || doc.Requests[0].Risk.Level != "high" {
		t.Errorf("document: %+v, %v", doc, err)
	}
	indented := &bytes.Buffer{}
	if err := json.Indent(indented, b.Bytes(), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "inbox.json", indented.String())
}

func TestResultLines(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", id: fixedID(4), revision: 2, prompts: []string{"run tests"}})
	var b strings.Builder
	for _, ch := range []leader.Choice{
		{Outcome: planmode.OutcomeApproved},
		{Outcome: planmode.OutcomeApproved, NoGrants: true},
		{Outcome: planmode.OutcomeApproved, Edited: []byte("# Less\n"), TTL: 2 * time.Hour, Uses: 10},
		{Outcome: planmode.OutcomeRejected, Feedback: "add a test"},
		{Outcome: planmode.OutcomeRejectedAndExit, Feedback: "not now"},
	} {
		d, err := leader.Prepare(r, ch, s.Charter, noon)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(leader.DecisionLine(&r, d) + "\n    " + leader.GrantSummary(d, len(r.Prompts)) + "\n")
	}
	b.WriteString(leader.DecisionLine(&r, planmode.Decision{Outcome: planmode.OutcomeExpired}) + "\n")
	b.WriteString(leader.ReceiptLine(&r, mailbox.Receipt{State: mailbox.Applied}, 213*time.Millisecond) + "\n")
	b.WriteString(leader.ReceiptLine(&r, mailbox.Receipt{State: mailbox.Refused, Reason: "moved again"}, time.Second) + "\n")
	want := "api is gone since " + noon.Local().Format("15:04") + " and did not apply the decision: it will when it is back"
	if got := leader.NotApplied(&r, noon).Error(); got != want {
		t.Errorf("NotApplied = %q, want %q", got, want)
	}
	golden(t, "results.txt", b.String())
}

// foreign draws text as a hostile teammate might write it.
func foreign() *rapid.Generator[string] {
	nasty := rapid.SampledFrom([]string{
		"\x1b[2J", "\x1b]8;;http://evil\x07", "\u202e", "\u200b", "\x00", "\r", "\b", "\u009b31m", "\U000e0041", "\xff", "\t", "\n", "\u2028", "<1B>", "`rm -rf /`", "漢字", "e\u0301",
	})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			b.WriteString(rapid.OneOf(nasty, rapid.StringN(0, 12, 40)).Draw(t, "piece"))
		}
		return b.String()
	})
}

// Whatever a teammate writes, no control character comes out, and every line of its plan can be read.
func TestHostileTextIsVisible(t *testing.T) {
	s := newShop(t)
	rapid.Check(t, func(rt *rapid.T) {
		plan := "# " + strings.ToValidUTF8(strings.ReplaceAll(foreign().Draw(rt, "plan"), "\x00", ""), "")
		marker := "canary " + rapid.StringMatching(`[a-z]{8}`).Draw(rt, "canary")
		plan += "\n<!-- " + marker + " -->\n"
		a := ask{from: "api", plan: plan, change: func(q *planmode.ApprovalRequest) {
			q.AllowedPrompts = []permissions.Prompt{{Tool: "Bash", Prompt: foreign().Draw(rt, "prompt"), Intent: foreign().Draw(rt, "intent"), Examples: []string{foreign().Draw(rt, "example")}}}
			q.Options = []plans.Option{{Label: foreign().Draw(rt, "label"), Description: foreign().Draw(rt, "description")}, {Label: "b"}}
			q.Reason, q.Plan.Name, q.PlanID = foreign().Draw(rt, "reason"), foreign().Draw(rt, "name"), "p"+foreign().Draw(rt, "planId")
			q.Facts = []plans.Fact{{Rule: foreign().Draw(rt, "rule"), Text: foreign().Draw(rt, "fact")}}
		}}
		status, err := json.Marshal(planmode.Status{Agent: foreign().Draw(rt, "agent"), Moved: &planmode.Moved{Of: 1, Changed: []string{foreign().Draw(rt, "moved")}}})
		if err != nil {
			rt.Fatal(err)
		}
		call := natsbox.NewRequestID()
		rows := []natsbox.Row{s.newRow(t, a), {
			From: "ci", EnvelopeID: call, StoredAt: noon,
			Permission: &permissions.PermissionRequest{
				RequestID: call, Tool: foreign().Draw(rt, "tool") + "x", Input: foreign().Draw(rt, "input"), CallHash: "h", Cwd: foreign().Draw(rt, "cwd"), Change: foreign().Draw(rt, "change"),
				Commands: []permissions.CommandVerdict{{Argv: []string{foreign().Draw(rt, "argv")}, Reason: foreign().Draw(rt, "because")}},
			},
		}}
		q := leader.NewQueue(rows, leader.QueueConfig{
			Charter: s.Charter, Now: noon, Presence: []natsbox.Presence{{Name: "api", Status: status, Agent: foreign().Draw(rt, "agent2")}, {Name: "ci"}},
		})
		if len(q.Rows) != 2 {
			rt.Fatalf("odd: %v", q.Odd[0].Problem)
		}
		var out bytes.Buffer
		for _, write := range []error{leader.WriteInbox(&out, q, 80), leader.WriteJSON(&out, q.Doc())} {
			if write != nil {
				rt.Fatal(write)
			}
		}
		var show bytes.Buffer
		for i := range q.Rows {
			r := &q.Rows[i]
			for _, cfg := range []leader.ShowConfig{{Now: noon}, {Now: noon, Diff: &leader.Seen{Revision: 1, Content: []byte(foreign().Draw(rt, "before"))}}} {
				if err := leader.WriteShow(&show, r, cfg); err != nil {
					rt.Fatal(err)
				}
			}
			if err := leader.WriteJSON(&out, r.ShowDoc()); err != nil {
				rt.Fatal(err)
			}
			_, err := leader.Prepare(*r, leader.Choice{Outcome: planmode.OutcomeApproved, Grants: []string{foreign().Draw(rt, "grant")}, Confirm: "api", MovedOK: "x"}, s.Charter, noon)
			if err != nil {
				out.WriteString(err.Error() + "\n")
			}
			out.WriteString(leader.ReceiptLine(r, mailbox.Receipt{State: mailbox.Refused, Reason: foreign().Draw(rt, "refused")}, 0) + "\n")
		}
		if _, err := q.Find(foreign().Draw(rt, "id")); err != nil {
			out.WriteString(err.Error() + "\n")
		}
		if !strings.Contains(show.String(), marker) {
			rt.Errorf("%q is not to be seen", marker)
		}
		out.Write(show.Bytes())
		var tabs bytes.Buffer
		if err := leader.WriteInboxTSV(&tabs, q); err != nil {
			rt.Fatal(err)
		}
		noControls(rt, out.String(), "")
		noControls(rt, tabs.String(), "\t")
	})
}

func noControls(t *rapid.T, text, but string) {
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for _, r := range text {
		bad := r < 0x20 && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x200b || r == 0x2028 || r >= 0xe0000 && r < 0xe0080
		if bad && !strings.ContainsRune(but, r) {
			t.Fatalf("%U comes out: %q", r, text)
		}
	}
}
