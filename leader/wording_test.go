package leader_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
)

// Whoever decides twice is told that it was itself, and a plan that its teammate was recalled from is not recalled again.
func TestDecidedByMyself(t *testing.T) {
	s := newShop(t)
	clock := noon.Local().Format("15:04")
	row := s.decidedBy(t, s.newRow(t, ask{from: "db", id: fixedID(1)}), "tom", planmode.OutcomeApproved)
	h := mailbox.Handle("db", fixedID(1), 4)
	find := func(me string, row natsbox.Row) string {
		_, err := leader.NewQueue([]natsbox.Row{row}, leader.QueueConfig{Charter: s.Charter, Now: noon, Me: me}).Find(h)
		if err == nil {
			t.Fatal("found what is decided")
		}
		return err.Error()
	}
	if got, want := find("tom", row), "you approved "+h+" at "+clock+": nothing more was recorded; to take it back: swarm recall db"; got != want {
		t.Errorf("tom is told\n%s\nwant\n%s", got, want)
	}
	if got := find("mia", row); !strings.HasPrefix(got, "tom approved "+h) {
		t.Errorf("mia is told %q, want that tom did", got)
	}
	row.Recalled = &natsbox.RecallInfo{By: "mia", At: noon}
	if got := find("tom", row); !strings.Contains(got, ", and db was recalled by mia at "+clock) || strings.Contains(got, "swarm recall") {
		t.Errorf("after the recall: %q", got)
	}
}

// The verb that was typed stands in the advice.
func TestTheTypedVerbIsAdvised(t *testing.T) {
	s := newShop(t)
	q := s.queue(s.newRow(t, ask{from: "db", id: fixedID(1)}))
	if _, err := q.FindFor("reject", "db"); err == nil || !strings.HasSuffix(err.Error(), "then reject "+mailbox.Handle("db", fixedID(1), 4)) {
		t.Errorf("reject db: %v", err)
	}
}

// A name is waited for until its teammate asks; a word that nobody has is not.
func TestAwaited(t *testing.T) {
	s := newShop(t)
	done := s.newRow(t, ask{from: "api", id: fixedID(1)})
	done.Withdrawn = "replanned"
	q := s.queue(s.newRow(t, ask{from: "db", id: fixedID(2)}), done)
	for id, want := range map[string]string{"db": fixedID(2), fixedID(1): fixedID(1), "api": "", "web": ""} {
		r, err := q.Awaited(id)
		got := ""
		if r != nil {
			got = r.ID()
		}
		if err != nil || got != want {
			t.Errorf("Awaited(%s) = %q, %v; want %q", id, got, err, want)
		}
	}
	if r, err := q.Awaited("nobody"); r != nil || !leader.IsError(err, leader.NameUnknownRequest) {
		t.Errorf("Awaited(nobody) = %v, %v", r, err)
	}
}

// The name is asked for last, and of what is approved: the leader's edit, not what was asked.
func TestConfirmIsOfTheEdit(t *testing.T) {
	s := newShop(t)
	plain, risky := s.row(t, ask{from: "api", id: fixedID(1)}), s.row(t, ask{from: "db", id: fixedID(2), plan: migration})
	prepare := func(r leader.Row, ch leader.Choice) error {
		ch.Outcome = planmode.OutcomeApproved
		_, err := leader.Prepare(r, ch, s.Charter, noon)
		return err
	}
	for _, c := range []struct {
		name string
		err  error
		want string // of the error; empty: none
	}{
		{"made risky", prepare(plain, leader.Choice{Edited: []byte(migration)}), "as you edited it is HIGH risk (could destroy (DROP)"},
		{"made risky and confirmed", prepare(plain, leader.Choice{Edited: []byte(migration), Confirm: "api"}), ""},
		{"made harmless", prepare(risky, leader.Choice{Edited: []byte(goodPlan)}), ""},
		{"unchanged", prepare(risky, leader.Choice{Edited: []byte(migration)}), mailbox.Handle("db", fixedID(2), 4) + " is HIGH risk"},
		{"another name", prepare(risky, leader.Choice{Confirm: "dbx"}), `"dbx" is not the name of the teammate that asks: `},
		{"a mode above the cap first", prepare(risky, leader.Choice{Mode: "yolo"}), "is above this team's cap"},
		{"a grant not asked first", prepare(risky, leader.Choice{Grants: []string{"deploy"}}), "was not asked"},
	} {
		if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	if e := plain.WithEdit([]byte(migration)); !e.IsHigh() || plain.IsHigh() || e.Request.Digest != plain.Request.Digest {
		t.Errorf("the edited row is %s, the asked one %s", e.Risk.Word(), plain.Risk.Word())
	}
}

// A call is not sent out of plan mode, and not allowed for a plan that cannot carry it.
func TestWhatCannotBeAnswered(t *testing.T) {
	s := newShop(t)
	r := s.call(t, "Bash", "ls")
	_, err := leader.PrepareAnswer(r, leader.Choice{Outcome: planmode.OutcomeRejectedAndExit, Feedback: "no"}, noon)
	if err == nil || !strings.Contains(err.Error(), "is a single call, and --leave is about plan mode: deny it: swarm reject "+r.Handle) {
		t.Errorf("--leave: %v", err)
	}
	for _, c := range []struct {
		status string
		ok     bool
	}{{`{"forPlan":false}`, false}, {`{"forPlan":true}`, true}, {`{}`, true}, {`{"forPlan":"odd"}`, true}} {
		row, err := leader.NewRow(r.Row, leader.RowConfig{Charter: s.Charter, Now: noon, Presence: natsbox.Presence{Name: "api", Live: true, Status: json.RawMessage(c.status)}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeApproved, Scope: permissions.ScopePlan}, noon)
		if c.ok != (err == nil) || err != nil && !strings.Contains(err.Error(), "its plan has no grants: allow it once: swarm approve "+row.Handle) {
			t.Errorf("for the plan, and the teammate says %s: %v", c.status, err)
		}
		if _, err := leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeApproved}, noon); err != nil {
			t.Errorf("once, and the teammate says %s: %v", c.status, err)
		}
	}
}

// What may remove or overwrite files is never low.
func TestRiskOfRemovingFiles(t *testing.T) {
	s := newShop(t)
	for line, want := range map[string]facts.Level{
		"rm main_test.go": facts.Med, "mv a.go b.go": facts.Med, "git reset --hard": facts.High, "git reset HEAD~1": facts.Med, "git checkout .": facts.Med,
		"git clean -n": facts.Med, "cd x && rm y": facts.Med, "/bin/rm y": facts.Med, "find . -name '*.go' -delete": facts.Med, "sudo rm x": facts.Med,
		"ls | xargs rm": facts.Med, "if true; then rm x; fi": facts.Med, "echo $(rm x)": facts.Med,
		"ls": facts.Low, "grep rm .": facts.Low, "git status": facts.Low, "git log": facts.Low, "go vet ./...": facts.Low, "cat rm": facts.Low,
	} {
		r := s.call(t, "Bash", line)
		if got := r.Risk.Level; got != want && !(want == facts.Med && got == facts.High) {
			t.Errorf("risk of %q is %s, want %s: %v", line, got, want, r.Risk.Reasons)
		}
	}
	if r := s.call(t, "Edit", "rm"); r.Risk.Level != facts.Low {
		t.Errorf("an edit of a file called rm is %s", r.Risk.Level)
	}
}

// Rows that were stored at the same time are in the order of the stream.
func TestRowsOfOneSecondAreOrdered(t *testing.T) {
	s := newShop(t)
	for range 5 {
		var rows []natsbox.Row
		for i, from := range []string{"web", "api", "db", "ci"} {
			r := s.newRow(t, ask{from: from})
			r.Seq = uint64(i + 1)
			rows = append(rows, r)
		}
		if got := names(s.queue(rows[2], rows[0], rows[3], rows[1])); got != "web api db ci" {
			t.Fatalf("order %q, want that of the stream", got)
		}
	}
}

// The inbox uses the width that there is; of a command, both ends are kept; what is asked is counted by its class.
func TestInboxWidths(t *testing.T) {
	s := newShop(t)
	call := s.call(t, "Bash", "go run ./cmd/migrate --from 2024-01-01 --to 2024-12-31 --database production --yes-i-know")
	q := s.queue(
		call.Row, s.newRow(t, ask{from: "web", plan: "# Fix the discount bug that only shows on Sundays in the second week\n\nRun the tests.\n", prompts: []string{"run tests", "vet", "frobnicate"}}),
		s.questionRow(t, "Which currency?").Row,
	)
	at := func(columns int) string {
		var b bytes.Buffer
		if err := leader.WriteInbox(&b, q, columns); err != nil {
			t.Fatal(err)
		}
		for l := range strings.Lines(b.String()) {
			if w := plans.Width(strings.TrimSuffix(l, "\n")); w > columns {
				t.Errorf("at %d columns a line has %d: %s", columns, w, l)
			}
		}
		return b.String()
	}
	contains(t, "the inbox", at(80), "go run ./c", "~", "-i-know", "1 unknown+2", "ask?", "!3 unknown", "!COVERS")
	contains(t, "the wide inbox", at(160), "go run ./cmd/migrate --", "Fix the discount bug that only shows on Sundays", "COVERS", "go test ./... +")
	for l := range strings.Lines(at(80)) {
		if strings.Contains(l, "ask?") && strings.Fields(l)[1] != "-" {
			t.Errorf("a question has a risk: %s", l)
		}
	}
}

// Every example of what is asked for is shown, and no line is longer than a terminal is wide.
func TestEveryExampleIsShown(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api", prompts: []string{"run tests", "build", "frobnicate"}})
	text := show(t, &r, leader.ShowConfig{})
	flat := strings.Join(strings.Fields(text), " ")
	for _, p := range r.Prompts {
		for _, e := range p.Examples {
			contains(t, "show", flat, e)
		}
	}
	contains(t, "show", text, "NOT KNOWN: every command still asks")
	for l := range strings.Lines(text) {
		if w := plans.Width(strings.TrimSuffix(l, "\n")); w > 80 && !strings.HasPrefix(l, "approve:") && !strings.Contains(l, "(rule ") {
			t.Errorf("a line has %d cells: %s", w, l)
		}
	}
}

func TestEmptyBoards(t *testing.T) {
	for what, c := range map[string][2]string{
		"no grants":    {leader.GrantsSummary(nil), "No grant is in force: every command is asked. swarm grants --all lists what has ended"},
		"only ended":   {leader.GrantsSummary([]leader.GrantRow{{State: leader.GrantEnded}}), "No grant is in force: every command is asked."},
		"one in force": {leader.GrantsSummary([]leader.GrantRow{{State: leader.GrantActive}, {State: leader.GrantEnded}}), "1 grant is in force. swarm revoke GRANT ends one"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: %q, want %q", what, c[0], c[1])
		}
	}
	_, err := leader.FindGrant(leader.Grants(board(t), true, noon.Add(48*time.Hour)), "api")
	var e *leader.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, "api") {
		t.Errorf("revoking what has ended: %v", err)
	}
}
