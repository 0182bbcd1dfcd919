package leader_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

func TestParseComment(t *testing.T) {
	for text, want := range map[string]planmode.Comment{
		"6: which cases?":  {Line: 6, Text: "which cases?"},
		" 6 :a: b":         {Line: 6, Text: "a: b"},
		"12:\n two\nlines": {Line: 12, Text: "two\nlines"},
	} {
		if got, err := leader.ParseComment(text); err != nil || got != want {
			t.Errorf("ParseComment(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":           `comment "": it has no : after the line: write --comment "6: which cases are tested?"`,
		"why":        `comment "why": it has no : after the line: write --comment "6: which cases are tested?"`,
		"x: why":     `comment "x: why": "x" is no line: write --comment "6: which cases are tested?"`,
		"0: why":     `comment "0: why": "0" is no line: write --comment "6: which cases are tested?"`,
		"-1: why":    `comment "-1: why": "-1" is no line: write --comment "6: which cases are tested?"`,
		"6: \n":      `comment "6: <0A>": it says nothing after the line: write --comment "6: which cases are tested?"`,
		"9\x1b: why": `comment "9<1B>: why": "9<1B>" is no line: write --comment "6: which cases are tested?"`,
	} {
		_, err := leader.ParseComment(text)
		var e *leader.Error
		if !errors.As(err, &e) || e.Code != 2 || err.Error() != want {
			t.Errorf("ParseComment(%q) =\n%v\nwant\n%s", text, err, want)
		}
	}
}

// Whatever a leader types: an error that says how to write it, or a line from 1 with a text.
func FuzzParseComment(f *testing.F) {
	for _, s := range []string{"6: why", ":", "6:", "x: y", "99999999999999999999: y", "6\x00: \xff", "6: 好\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := leader.ParseComment(s)
		switch {
		case err != nil && strings.ContainsAny(err.Error(), "\n\x1b"):
			t.Errorf("ParseComment(%q): %q is more than a line", s, err)
		case err == nil && (c.Line < 1 || strings.TrimSpace(c.Text) == "" || c.ID != "" || c.Quote != ""):
			t.Errorf("ParseComment(%q) = %+v", s, c)
		case err == nil && utf8.ValidString(s) && !strings.Contains(s, c.Text):
			t.Errorf("ParseComment(%q) says %q", s, c.Text)
		}
	})
}

// Comments are numbered in the order of their lines, with each line as the leader saw it, and are part of what is signed.
func TestCommentsAreAnchored(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", plan: "# Fix it\n\n- [ ] total.go\n- [ ] run the tests"})
	typed := []planmode.Comment{{Line: 4, Text: "which?"}, {Line: 1, Text: "what?", ID: "c9", Quote: "made up"}, {Line: 4, Text: "when?"}}
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeRejected, Comments: typed}, s.Charter, noon)
	if want := `[{c1 1 # Fix it what?} {c2 4 - [ ] run the tests which?} {c3 4 - [ ] run the tests when?}]`; err != nil || fmt.Sprint(d.Comments) != want {
		t.Errorf("Prepare = %+v, %v, want %s", d.Comments, err, want)
	}
	if fmt.Sprint(typed) != "[{ 4  which?} {c9 1 made up what?} { 4  when?}]" {
		t.Errorf("what the leader has typed became %+v", typed)
	}
	for name, c := range map[string]struct {
		choice leader.Choice
		leave  bool
		want   string
	}{
		"past the end": {choice: leader.Choice{Outcome: planmode.OutcomeRejected, Comments: []planmode.Comment{{Line: 5, Text: "x"}}}, want: "has 4 lines, and a comment is on line 5: swarm show"},
		"too many":     {choice: leader.Choice{Outcome: planmode.OutcomeRejected, Comments: make([]planmode.Comment, 201)}, want: "there are 201 comments: at most 200"},
		"too large":    {choice: leader.Choice{Outcome: planmode.OutcomeRejected, Comments: []planmode.Comment{{Line: 1, Text: strings.Repeat("x", 64<<10+1)}}}, want: "the text has 65537 bytes"},
		"no plan":      {choice: leader.Choice{Outcome: planmode.OutcomeRejected, Comments: []planmode.Comment{{Line: 1, Text: "x"}}}, leave: true, want: "is no plan: there is no line to comment on"},
	} {
		of := ask{from: "api", plan: "# Fix it\n\n- [ ] total.go\n- [ ] run the tests"}
		if c.leave {
			of = ask{from: "api", change: func(q *planmode.ApprovalRequest) { q.Kind, q.Plan.Content = planmode.AskLeave, nil }}
		}
		if _, err := leader.Prepare(s.row(t, of), c.choice, s.Charter, noon); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// What became of each comment: the teammate says so; it said nothing and the line changed; or neither.
func TestRemarks(t *testing.T) {
	s := newShop(t)
	first := s.newRow(t, ask{from: "api", plan: "# Fix it\n\nRound once.\n\n- [ ] total.go\n- [ ] run the tests\n"})
	r, err := leader.NewRow(first, leader.RowConfig{Charter: s.Charter, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeRejected, Comments: []planmode.Comment{
		{Line: 1, Text: "of whom?"}, {Line: 3, Text: "why once?"}, {Line: 5, Text: "only that?"}, {Line: 6, Text: "which\x1b[2J tests?"},
	}}, s.Charter, noon)
	if err != nil {
		t.Fatal(err)
	}
	d.OrderHead = s.head("tom")
	settled := s.settle(t, first, "tom", mailbox.KindPlanApprovalResponse, "rejected", d)
	second := s.row(t, ask{from: "api", revision: 2, plan: "# Fix it\n\nRound half even.\n\nIt matters.\n\n- [ ] total.go\n- [ ] run the tests\n", change: func(q *planmode.ApprovalRequest) {
		q.PlanID = first.Request.PlanID
		q.Addresses = []planmode.Addressed{{Comment: "c4", Line: 5, Text: "all\u202e"}, {Comment: "c7", Line: 1}, {Comment: "c3"}}
	}})
	second.Previous = first.EnvelopeID
	list, err := leader.Remarks(context.Background(), knows{settled}, second, s.Charter)
	if err != nil || len(list) != 4 {
		t.Fatalf("Remarks = %+v, %v, want four", list, err)
	}
	for i, want := range []string{"c1 NOT ADDRESSED 1", "c2 CHANGED 3", "c3 ADDRESSED 7", "c4 ADDRESSED 5"} {
		if got := fmt.Sprintf("%s %s %d", list[i].ID, list[i].State, list[i].Now); got != want {
			t.Errorf("remark %d is %q, want %q", i, got, want)
		}
	}
	text := show(t, &second, leader.ShowConfig{Remarks: list})
	contains(
		t, "show", text, "Notes   2 of 4 addressed\n", "c1 tom, r1 line 1: NOT ADDRESSED (line 1)\n", "  on: # Fix it\n          of whom?\n",
		"c2 tom, r1 line 3: CHANGED (line 3)\n", "c4 tom, r1 line 6: ADDRESSED (line 5)\n", "which<1B>[2J tests?", "answer: all<U+202E>\n", "!\x1b", "!c7",
	)
	if docs := leader.CommentDocs(list); docs[3].Answer != "all\u202e" || docs[0].State != leader.NotAddressed || docs[1].Quote != "Round once." {
		t.Errorf("documents = %+v", docs)
	}

	// Of another plan, another teammate, a revision that is no earlier one, or signed by nobody, there are none, however
	// well what was decided is signed.
	decided := func(from string, of planmode.ApprovalRequest, change func(*planmode.Decision)) natsbox.Row {
		t.Helper()
		row := s.newRow(t, ask{from: from, plan: "# Fix it\n", revision: of.Revision, change: func(q *planmode.ApprovalRequest) { q.PlanID = of.PlanID }})
		r, err := leader.NewRow(row, leader.RowConfig{Charter: s.Charter, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeRejected, Comments: []planmode.Comment{{Line: 1, Text: "whose?"}}}, s.Charter, noon)
		if err != nil {
			t.Fatal(err)
		}
		d.OrderHead = s.head("tom")
		change(&d)
		return s.settle(t, row, "tom", mailbox.KindPlanApprovalResponse, "rejected", d)
	}
	as := func(*planmode.Decision) {}
	plan := planmode.ApprovalRequest{PlanID: first.Request.PlanID}
	if list, err := leader.Remarks(context.Background(), knows{decided("api", plan, as)}, second, s.Charter); err != nil || len(list) != 1 {
		t.Fatalf("Remarks = %+v, %v, want the one of the revision before", list, err)
	}
	for name, change := range map[string]func(before *natsbox.Row, now *leader.Row){
		"another plan": func(b *natsbox.Row, _ *leader.Row) {
			*b = decided("api", planmode.ApprovalRequest{PlanID: "0195a7c0-0000-7000-8000-000000000009"}, as)
		},
		"another mate": func(b *natsbox.Row, _ *leader.Row) { *b = decided("db", plan, as) },
		"same revision": func(b *natsbox.Row, _ *leader.Row) {
			*b = decided("api", planmode.ApprovalRequest{PlanID: plan.PlanID, Revision: 2}, as)
		},
		"other bytes signed": func(b *natsbox.Row, _ *leader.Row) {
			*b = decided("api", plan, func(d *planmode.Decision) { d.PlanDigest = strings.Repeat("0", 64) })
		},
		"not signed":   func(b *natsbox.Row, _ *leader.Row) { d := *b.Decision; d.Order.Sigs = nil; b.Decision = &d },
		"not decided":  func(b *natsbox.Row, _ *leader.Row) { b.Decision = nil },
		"first of all": func(_ *natsbox.Row, now *leader.Row) { now.Previous = "" },
		"no plan now": func(_ *natsbox.Row, now *leader.Row) {
			*now = s.row(t, ask{from: "api", revision: 2, change: func(q *planmode.ApprovalRequest) {
				q.Kind, q.Plan.Content, q.PlanID = planmode.AskLeave, nil, plan.PlanID
			}})
			now.Previous = first.EnvelopeID
		},
		"other bytes": func(b *natsbox.Row, _ *leader.Row) {
			q := *b.Request
			q.Plan.Content = []byte("# Another\n")
			q.Digest = q.ComputeDigest(s.TeamID, "api")
			b.Request = &q
		},
	} {
		before, now := settled, second
		change(&before, &now)
		if list, err := leader.Remarks(context.Background(), knows{before}, now, s.Charter); err != nil || len(list) > 0 {
			t.Errorf("%s: Remarks = %+v, %v, want none", name, list, err)
		}
	}
	if list, err := leader.Remarks(context.Background(), forgot{}, second, s.Charter); err != nil || len(list) > 0 {
		t.Errorf("deleted since: Remarks = %+v, %v, want none", list, err)
	}
}

// forgot is a coordinator that has deleted what was settled long ago.
type forgot struct{ knows }

func (forgot) Request(context.Context, string) (natsbox.Row, error) {
	return natsbox.Row{}, natsbox.ErrNotFound
}
