package leader_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// settle puts a leader's signed order into the slot of a row, stored a minute after noon.
func (s shop) settle(t testing.TB, r natsbox.Row, by string, kind mailbox.Kind, outcome string, body any) natsbox.Row {
	t.Helper()
	env, err := mailbox.New(natsbox.NewID(), kind, "shop", by, r.From, 1, noon, body)
	if err != nil {
		t.Fatal(err)
	}
	o := charter.Order{Subject: mailbox.DecisionSubject("shop", r.From, r.EnvelopeID)}
	if o.Payload, err = mailbox.Encode(env); err != nil {
		t.Fatal(err)
	}
	sig, err := charter.SignOrder(s.keys[by], o.Subject, o.Payload)
	if err != nil {
		t.Fatal(err)
	}
	o.Sigs = []string{sig}
	r.Decision = &natsbox.DecisionInfo{
		Order: o, StoredAt: noon.Add(time.Minute), Valid: true, Outcome: outcome, By: &mailbox.DecidedBy{Name: by, Via: "command"},
	}
	return r
}

func (s shop) head(by string) mailbox.OrderHead {
	m, _ := s.Member(by)
	return mailbox.OrderHead{TeamID: s.TeamID, Epoch: 1, DecidedAt: noon, DecidedBy: mailbox.DecidedBy{Name: by, Kind: string(m.Kind), Via: "command"}}
}

func show(t testing.TB, r *leader.Row, cfg leader.ShowConfig) string {
	t.Helper()
	cfg.Now = noon.Add(time.Hour)
	var b bytes.Buffer
	if err := leader.WriteShow(&b, r, cfg); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), noon.Add(time.Minute).Local().Format("15:04"), "HH:01")
}

// contains reports each text that is missing, or that should be.
func contains(t testing.TB, what, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if not, ok := strings.CutPrefix(w, "!"); ok && strings.Contains(text, not) {
			t.Errorf("%s has %q:\n%s", what, not, text)
		} else if !ok && !strings.Contains(text, w) {
			t.Errorf("%s lacks %q:\n%s", what, w, text)
		}
	}
}

// What was decided can be read: who, when, and everything that was signed. What has ended waits no more.
func TestShowOfADecision(t *testing.T) {
	s := newShop(t)
	row := s.newRow(t, ask{
		from: "api", id: fixedID(4), age: 49 * time.Second, prompts: []string{"run tests", "vet", "frobnicate"},
		options: []plans.Option{{Label: "Fast"}, {Label: "Wait"}},
	})
	r, err := leader.NewRow(row, leader.RowConfig{Charter: s.Charter, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	edit := "# Fix rounding of invoices\n\nRound twice.\n\n- [ ] run `go test ./...`\n"
	d, err := leader.Prepare(r, leader.Choice{
		Outcome: planmode.OutcomeApproved, Grants: []string{"run tests"}, Option: "2", Note: "no IE\nand soon", Edited: []byte(edit),
		Limits: []leader.Limit{{Prompt: "run tests", Uses: 3, For: 30 * time.Minute, In: "web"}},
	}, s.Charter, noon)
	if err != nil {
		t.Fatal(err)
	}
	d.OrderHead, d.Comments = s.head("tom"), []planmode.Comment{{ID: "c1", Line: 3, Text: "why twice?"}}
	row = s.settle(t, row, "tom", mailbox.KindPlanApprovalResponse, "approved", d)
	row.Receipts = []mailbox.Receipt{{State: mailbox.Applied, Mode: "acceptEdits"}}
	row.Recalled = &natsbox.RecallInfo{By: "mia", At: noon.Add(time.Minute)}
	got, err := s.queue(row).FindAny("api") // its last one, since nothing waits
	if err != nil {
		t.Fatal(err)
	}
	text := show(t, got, leader.ShowConfig{})
	contains(
		t, "show", text, "waited 1m", "Ended   approved by tom, command, HH:01\n", "Mode    acceptEdits\n", "run tests            3 uses, 30 min, in ./web, until ",
		"go test -race -count=1", "not granted: vet, frobnicate\n", "Option  2 Wait\n", "Note    no IE\n        and soon\n", "Comment c1 line 3: why twice?\n",
		"plan "+leader.ShortDigest(d.PlanDigest), "approved "+leader.ShortDigest(d.ApprovedDigest)+": plan edited, fewer grants",
		"Recall  by mia, HH:01", "Receipt applied acceptEdits", "Edited  by tom: +", "-Round once, at the end.", "+Round twice.", "   3  Round twice.\n",
		"!waits ", "!goes back to", "!approve:", "!known, and covers", "!NOT this one",
	)
	doc := got.ShowDoc()
	if doc.Decision == nil || doc.Decision.Option != "Wait" || doc.Decision.EditedPlan != edit || fmt.Sprint(doc.Decision.NotGranted) != "[vet frobnicate]" ||
		doc.Ended == nil || doc.Ended.By != "tom" || doc.Ended.Recalled == nil || len(doc.Decision.Comments) != 1 || doc.Decision.Grants[0].Tree != "web" {
		t.Errorf("document = %+v, %+v", doc.Decision, doc.Ended)
	}
	line := leader.DecisionLine(got, d)
	contains(t, "the line", line, "(plan "+leader.ShortDigest(row.Request.Digest)+")", "run tests (3 uses, 30 min, in ./web)", "\n  not granted: vet, frobnicate",
		"\n  option: 2 Wait", "\n  note: no IE<0A>and soon", "\n  decision "+leader.ShortDigest(d.ApprovedDigest))

	// Of another plan than was asked, it says so.
	d.PlanDigest = strings.Repeat("0", 64)
	got, err = s.queue(s.settle(t, row, "tom", mailbox.KindPlanApprovalResponse, "approved", d)).FindAny("api")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "show", show(t, got, leader.ShowConfig{}), "NOT this one")
}

func TestShowOfARejectionAndOfAnAnsweredCall(t *testing.T) {
	s := newShop(t)
	row := s.newRow(t, ask{from: "api", id: fixedID(4)})
	no := planmode.Decision{
		OrderHead: s.head("tom"), RequestID: row.EnvelopeID, Revision: 1, Outcome: planmode.OutcomeRejected, PlanDigest: row.Request.Digest,
		Feedback: "say how\nyou test it",
	}
	id := fixedID(2)
	call := natsbox.Row{From: "ci", EnvelopeID: id, Epoch: 1, StoredAt: noon, Permission: &permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "ls", CallHash: "h"}}
	yes := planmode.PermissionAnswer{OrderHead: s.head("mia"), RequestID: id}
	yes.Behavior, yes.Scope, yes.CallHash, yes.Argv, yes.Message = permissions.BehaviorAllow, permissions.ScopePlan, "h", []string{"ls"}, "fine"
	q := s.queue(
		s.settle(t, row, "tom", mailbox.KindPlanApprovalResponse, "rejected", no), s.settle(t, call, "mia", mailbox.KindPermissionResponse, "allow", yes),
	)
	r, err := q.FindAny("api")
	if err != nil {
		t.Fatal(err)
	}
	contains(t, "the rejection", show(t, r, leader.ShowConfig{}), "Ended   rejected (changes asked) by tom, command, HH:01\n", "Says    say how\n        you test it\n", "!Granted")
	if r, err = q.FindAny("ci"); err != nil {
		t.Fatal(err)
	}
	contains(t, "the call", show(t, r, leader.ShowConfig{}), "Ended   allowed for this plan by mia, command, HH:01\n", "Says    fine\n")
	if doc := r.ShowDoc(); doc.Verdict == nil || doc.Verdict.Message != "fine" || doc.Ended.Outcome != "allow" {
		t.Errorf("document = %+v", doc)
	}
}

// A plan whose text is the same is compared in what else it asks.
func TestDiffOfTheRequest(t *testing.T) {
	s := newShop(t)
	old := s.newRow(t, ask{from: "api", prompts: []string{"run tests", "vet"}, options: []plans.Option{{Label: "A"}, {Label: "B"}}})
	r := s.row(t, ask{from: "api", revision: 2, prompts: []string{"run tests", "lint"}, change: func(q *planmode.ApprovalRequest) { q.RequestedMode = permissions.ModeAuto }})
	seen := leader.Seen{Revision: 1, Content: []byte(goodPlan), Request: old.Request}
	contains(t, "the difference", show(t, &r, leader.ShowConfig{Diff: &seen}), "the plan is the same, byte for byte", "asks for: +lint, -vet\n", "options: -A, -B\n", "mode that it wishes: auto, was none\n")
	seen.Content, seen.Request = []byte("# Other\n"), nil
	contains(t, "the difference", show(t, &r, leader.ShowConfig{Diff: &seen}), "!Changed", "-# Other")
}

func TestShowNamesWhatElseWaits(t *testing.T) {
	s := newShop(t)
	q := s.queue(s.newRow(t, ask{from: "api", id: fixedID(1)}), s.questionRow(t, "Which?").Row, s.newRow(t, ask{from: "web", id: fixedID(3)}))
	r, err := q.FindAny("web")
	if err != nil {
		t.Fatal(err)
	}
	also := q.Also(r)
	for _, o := range also {
		contains(t, "show", show(t, r, leader.ShowConfig{Also: also}), "also waiting: "+o.Handle, "!"+mailbox.Handle("api", fixedID(1), 4))
	}
	if len(also)+1 != strings.Count(fmt.Sprint(names(q)), "web") {
		t.Errorf("%d others of web in %v", len(also), names(q))
	}
	contains(t, "show", show(t, r, leader.ShowConfig{}), "!also waiting")
}

// past is a list of one request of each end.
func past() []natsbox.Past {
	at := func(n int) time.Time { return noon.Add(time.Duration(-n) * time.Hour) }
	end := func(n byte, from, kind, title string, change func(*natsbox.Past)) natsbox.Past {
		p := natsbox.Past{Row: natsbox.Row{From: from, EnvelopeID: fixedID(n), StoredAt: at(90), EndedAt: at(int(n))}, Kind: kind, Title: title, Revision: 2}
		change(&p)
		return p
	}
	by := func(outcome, name, via string) func(*natsbox.Past) {
		return func(p *natsbox.Past) {
			p.Decision = &natsbox.DecisionInfo{Valid: true, Outcome: outcome, By: &mailbox.DecidedBy{Name: name, Via: via}}
			p.Receipts = []mailbox.Receipt{{State: mailbox.Applied}, {State: mailbox.Seen}} // which came late
		}
	}
	return []natsbox.Past{
		end(1, "api", "plan", "Fix rounding of invoices", by("approved", "mia", "command")),
		end(2, "web", "plan", "Refund \x1b[2J button", by("rejected", "rules", "policy:need-tests")),
		end(3, "ci", "run", "curl -fsS https://get.example.org/a/very/long/path/install.sh", func(p *natsbox.Past) {
			by("deny", "tom", "command")(p)
			p.Receipts = []mailbox.Receipt{{State: mailbox.Delivered}, {State: mailbox.Refused}, {State: mailbox.Seen}}
		}),
		end(4, "web", "question", "Which currency?", func(p *natsbox.Past) { p.Answer = &natsbox.AnswerInfo{By: "tom"} }),
		end(5, "db", "plan", "Store totals", func(p *natsbox.Past) { p.Withdrawn = "replanned" }),
		end(30, "db", "plan", "Store totals", func(p *natsbox.Past) { p.SupersededBy = fixedID(5) }),
	}
}

func TestPastText(t *testing.T) {
	var b, tabs, doc bytes.Buffer
	for _, err := range []error{leader.WritePast(&b, past(), noon, 0), leader.WritePastTSV(&tabs, past()), leader.WriteJSON(&doc, leader.NewPastDoc(past()))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(b.String(), "\n")
	for i, want := range [][]string{
		{"ID", "ENDED", "OUTCOME", "BY", "RECEIPT"},
		{"api-", "r2 Fix r", "approved", "mia", "applied", noon.Add(-time.Hour).Local().Format("15:04")},
		{"web-", "<1B>", "changes", "rule need"},
		{"ci-", "curl", "stall.sh", "denied", "tom", "refused"},
		{"answered", "tom"},
		{"withdrawn", "replanned"},
		{"replaced", mailbox.Handle("db", fixedID(5), 4), noon.Add(-30 * time.Hour).Local().Format("2006-01-02")},
	} {
		contains(t, "line "+fmt.Sprint(i), lines[i], want...)
		if w := plans.Width(lines[i]); w > 80 {
			t.Errorf("a line has %d cells: %s", w, lines[i])
		}
	}
	contains(t, "TSV", tabs.String(), "\t2026-03-01T11:00:00Z\tapi\tr2 Fix rounding of invoices\tapproved\tmia\tapplied\n")
	var d leader.PastDoc
	if err := json.Unmarshal(doc.Bytes(), &d); err != nil || len(d.Requests) != 6 || d.Requests[1].Ended.Via != "policy:need-tests" || d.Requests[5].Ended.Outcome != "replaced" {
		t.Errorf("document %s, %v", doc.String(), err)
	}
	for _, c := range []struct {
		said []mailbox.ReceiptState
		want mailbox.ReceiptState
	}{
		{nil, ""},
		{[]mailbox.ReceiptState{mailbox.Delivered, mailbox.Seen}, mailbox.Seen},
		{[]mailbox.ReceiptState{mailbox.Applied, mailbox.Seen}, mailbox.Applied},
		{[]mailbox.ReceiptState{mailbox.Refused, mailbox.Seen}, mailbox.Refused},
		{[]mailbox.ReceiptState{mailbox.Refused, mailbox.Applied}, mailbox.Applied},
		{[]mailbox.ReceiptState{mailbox.Applied, mailbox.Refused}, mailbox.Refused},
	} {
		one := past()[:1]
		one[0].Receipts = nil
		for _, state := range c.said {
			one[0].Receipts = append(one[0].Receipts, mailbox.Receipt{State: state})
		}
		if got := leader.NewPastDoc(one).Requests[0].Receipt; got != c.want {
			t.Errorf("after %q the last word is %q, want %q", c.said, got, c.want)
		}
	}
	two, known := past()[:2], map[string]string{} // whose shortest handles are the same
	for two[0].EnvelopeID == fixedID(1) {
		id := natsbox.NewRequestID()
		short := mailbox.Handle("api", id, 4)
		if other := known[short]; other != "" {
			two[0].EnvelopeID, two[1].EnvelopeID, two[1].From = other, id, "api"
		}
		known[short] = id
	}
	if d := leader.NewPastDoc(two); d.Requests[0].Handle == d.Requests[1].Handle {
		t.Errorf("two requests have the handle %s", d.Requests[0].Handle)
	}
	if got := leader.PastSummary(nil); !strings.HasPrefix(got, "Nothing has been decided yet") {
		t.Errorf("empty: %q", got)
	}
}

func TestMailText(t *testing.T) {
	mail := []natsbox.MailInfo{
		{ID: "1", From: "api", To: "lead", At: noon.Add(time.Minute), Text: "hello\n\tlead\x1b[2J", Urgent: true},
		{ID: "2", From: "web", To: "mia", At: noon.Add(-48 * time.Hour), Text: strings.Repeat("line\n", 50)},
	}
	var b, tabs bytes.Buffer
	if err := leader.WriteMail(&b, mail, noon); err != nil {
		t.Fatal(err)
	}
	if err := leader.WriteMailTSV(&tabs, mail); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(b.String(), noon.Add(time.Minute).Local().Format("15:04"), "HH:01")
	contains(t, "mail", text, "HH:01  api  1  URGENT\n  hello\n      lead<1B>[2J\n\n"+noon.Add(-48*time.Hour).Local().Format("2006-01-02 "), "(10 lines more: swarm mail read has all)")
	contains(t, "TSV", tabs.String(), "2026-03-01T12:01:00Z\tapi\turgent\thello<0A><09>lead<1B>[2J\n")
	if d := leader.NewMailDoc(mail); len(d.Mail) != 2 || d.Mail[0].Text != mail[0].Text || !d.Mail[0].Urgent {
		t.Errorf("document %+v", d)
	}
	if got := leader.MailSummary(nil); !strings.HasPrefix(got, "No mail") {
		t.Errorf("empty: %q", got)
	}
}

// Whatever teammates and the coordinator say, no control character comes out of the lists.
func TestHostileListsAreVisible(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := func(name string) string { return foreign().Draw(rt, name) }
		p := natsbox.Past{
			Row: natsbox.Row{
				From: "api", EnvelopeID: text("id"), Withdrawn: text("withdrawn"), SupersededBy: text("by"),
				Receipts: []mailbox.Receipt{{State: mailbox.ReceiptState(text("receipt"))}},
			},
			Kind: text("kind"), Title: text("title"),
		}
		if rapid.Bool().Draw(rt, "decided") {
			p.Decision = &natsbox.DecisionInfo{Valid: true, Outcome: text("outcome"), By: &mailbox.DecidedBy{Name: text("name"), Via: text("via")}}
		}
		mail := []natsbox.MailInfo{{From: text("from"), Text: text("text")}}
		var out, tabs bytes.Buffer
		for _, err := range []error{
			leader.WritePast(&out, []natsbox.Past{p}, noon, rapid.IntRange(0, 200).Draw(rt, "columns")), leader.WriteMail(&out, mail, noon),
			leader.WriteJSON(&out, leader.NewPastDoc([]natsbox.Past{p})), leader.WriteJSON(&out, leader.NewMailDoc(mail)),
			leader.WritePastTSV(&tabs, []natsbox.Past{p}), leader.WriteMailTSV(&tabs, mail),
		} {
			if err != nil {
				rt.Fatal(err)
			}
		}
		noControls(rt, out.String(), "")
		noControls(rt, tabs.String(), "\t")
	})
}
