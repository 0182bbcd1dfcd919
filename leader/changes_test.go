package leader_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// at is a queue that was read at a time.
func (s shop) at(now time.Time, presence []natsbox.Presence, rows ...natsbox.Row) *leader.Queue {
	return leader.NewQueue(rows, leader.QueueConfig{Charter: s.Charter, Now: now, Presence: presence})
}

func lines(events []leader.EventDoc) []string {
	var out []string
	for _, e := range events {
		out = append(out, leader.EventLine(e))
	}
	return out
}

func TestChangesOfTheQueue(t *testing.T) {
	s := newShop(t)
	db := s.newRow(t, ask{from: "db", id: fixedID(1), plan: migration})
	api := s.newRow(t, ask{from: "api", id: fixedID(2)})
	handle := func(from string, n byte) string { return mailbox.Handle(from, fixedID(n), 4) }
	clock := func(at time.Time) string { return at.Local().Format("15:04:05") }
	with := func(r natsbox.Row, change func(*natsbox.Row)) natsbox.Row { change(&r); return r }
	decided := func(outcome string) natsbox.Row {
		return with(db, func(r *natsbox.Row) {
			r.Decision = &natsbox.DecisionInfo{Valid: true, Outcome: outcome, StoredAt: noon.Add(time.Second), By: &mailbox.DecidedBy{Name: "tom"}}
		})
	}
	question := natsbox.Row{From: "web", EnvelopeID: fixedID(6), StoredAt: noon, Question: &mailbox.Question{QuestionID: "q", Text: "Which?"}}
	second := with(s.newRow(t, ask{from: "db", id: fixedID(3), plan: migration, revision: 2}), func(r *natsbox.Row) { r.StoredAt = noon.Add(3 * time.Second) })
	gone := []natsbox.Presence{{Name: "db", Live: false}}
	here := []natsbox.Presence{{Name: "db", Live: true}}
	later := noon.Add(time.Minute)
	for _, c := range []struct {
		name     string
		old, now *leader.Queue
		want     []string
	}{
		{"the first read", nil, s.at(noon, nil, db, api), []string{
			clock(noon) + " new " + handle("db", 1) + ` HIGH "Store order totals as cents"`,
			clock(noon) + " new " + handle("api", 2) + ` low "Fix rounding of invoices"`,
		}},
		{"nothing", s.at(noon, nil, db), s.at(later, nil, db), nil},
		{"decided", s.at(noon, nil, db), s.at(later, nil, decided("approved")), []string{clock(noon.Add(time.Second)) + " decided " + handle("db", 1) + " approved by tom"}},
		{"expired", s.at(noon, nil, db), s.at(later, nil, decided("expired")), []string{clock(noon.Add(time.Second)) + " expired " + handle("db", 1) + " nobody decided"}},
		{"applied", s.at(noon, nil, decided("approved")), s.at(later, nil, with(decided("approved"), func(r *natsbox.Row) {
			r.Receipts = []mailbox.Receipt{{State: mailbox.Delivered}, {State: mailbox.Applied, Mode: "default"}}
		})), []string{clock(later) + " applied " + handle("db", 1) + " mode default"}},
		{"junk in its slot", s.at(noon, nil, db), s.at(later, nil, with(db, func(r *natsbox.Row) { r.Decision = &natsbox.DecisionInfo{StoredAt: later} })), []string{
			clock(later) + " withdrawn " + handle("db", 1) + " its slot holds what no leader signed: it is asked again",
		}},
		{"replaced", s.at(noon, nil, db), s.at(later, nil, second, with(db, func(r *natsbox.Row) { r.SupersededBy = fixedID(3) })), []string{
			clock(noon.Add(3*time.Second)) + " new " + handle("db", 3) + ` HIGH "Store order totals as cents"`,
			clock(noon.Add(3*time.Second)) + " replaced " + handle("db", 1) + " by " + handle("db", 3) + " r2",
		}},
		{"withdrawn", s.at(noon, nil, db), s.at(later, nil, with(db, func(r *natsbox.Row) { r.Withdrawn = "interrupted\x1b[2J" })), []string{
			clock(later) + " withdrawn " + handle("db", 1) + " interrupted<1B>[2J",
		}},
		{"gone", s.at(noon, here, db), s.at(later, gone, db), []string{clock(later) + " gone " + handle("db", 1) + " (db)"}},
		{"back", s.at(noon, gone, db), s.at(later, here, db), []string{clock(later) + " back " + handle("db", 1) + " (db)"}},
		{"answered", s.at(noon, nil, question), s.at(later, nil, with(question, func(r *natsbox.Row) {
			r.Answer = &natsbox.AnswerInfo{By: "mia", StoredAt: noon.Add(time.Second)}
		})), []string{clock(noon.Add(time.Second)) + " decided " + handle("web", 6) + " answered by mia"}},
	} {
		if got := lines(leader.Changes(c.old, c.now)); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// Whatever happens between two reads: what waited and waits no more is told once, what came is told once, and what stays
// is not told, unless its teammate went or came back.
func TestEveryChangeIsToldOnce(t *testing.T) {
	s := newShop(t)
	rapid.Check(t, func(rt *rapid.T) {
		states := []string{"absent", "waits", "approved", "applied", "withdrawn", "superseded", "answered"}
		var old, now []natsbox.Row
		want := map[string]string{}
		for i := range byte(8) {
			id := fixedID(i)
			row := func(state string) natsbox.Row {
				r := natsbox.Row{From: "api", EnvelopeID: id, StoredAt: noon, Question: &mailbox.Question{QuestionID: "q", Text: "Which?"}}
				switch state {
				case "approved", "applied":
					r.Decision = &natsbox.DecisionInfo{Valid: true, Outcome: "approved", By: &mailbox.DecidedBy{Name: "tom"}, StoredAt: noon}
				case "withdrawn":
					r.Withdrawn = "exit"
				case "superseded":
					r.SupersededBy = fixedID(15)
				case "answered":
					r.Answer = &natsbox.AnswerInfo{By: "tom", StoredAt: noon}
				}
				if state == "applied" {
					r.Receipts = []mailbox.Receipt{{State: mailbox.Applied}}
				}
				return r
			}
			was := rapid.SampledFrom([]string{"absent", "waits", "approved", "applied"}).Draw(rt, "was")
			next := map[string][]string{"absent": states, "waits": states[1:], "approved": {"approved", "applied"}, "applied": {"applied"}}[was]
			is := rapid.SampledFrom(next).Draw(rt, "is")
			if was != "absent" {
				old = append(old, row(was))
			}
			if is != "absent" {
				now = append(now, row(is))
			}
			switch was + " " + is {
			case "absent waits":
				want[id] = "new"
			case "waits approved", "waits answered":
				want[id] = "decided"
			case "waits applied":
				want[id] = "decided applied"
			case "approved applied":
				want[id] = "applied"
			case "waits withdrawn":
				want[id] = "withdrawn"
			case "waits superseded":
				want[id] = "replaced"
			}
		}
		before := s.at(noon, nil, old...)
		got := map[string]string{}
		for _, e := range leader.Changes(before, s.at(noon.Add(time.Second), nil, now...)) {
			got[e.Request.ID] = strings.TrimSpace(got[e.Request.ID] + " " + e.Event)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			rt.Fatalf("told %v, want %v", got, want)
		}
		watching := before.Watching()
		for _, r := range old {
			if !slices.Contains(watching, r.EnvelopeID) && len(r.Receipts) == 0 {
				rt.Fatalf("%s waits, or is not applied, and is not watched: %v", r.EnvelopeID, watching)
			}
		}
	})
}

// A watcher on a real team sees a request come, change hands and be carried out.
func TestWatchingARealQueue(t *testing.T) {
	c := newCrew(t)
	api, mia := c.Connect("api"), c.Connect("mia")
	var before *leader.Queue
	var told []string
	step := func(until string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(15 * time.Millisecond) {
			var ids []string
			if before != nil {
				ids = before.Watching()
			}
			q, err := leader.Read(context.Background(), mia, leader.QueueConfig{Charter: c.Charter()}, ids...)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range leader.Changes(before, q) {
				told = append(told, e.Event)
			}
			before = q
			if slices.Contains(told, until) {
				return
			}
		}
		t.Fatalf("%q is not told: %v", until, told)
	}
	step2 := func(f func(), until string) { f(); step(until) }
	var id string
	step2(func() { id = c.submit(api, ask{from: "api"}) }, leader.ChangeNew)
	step2(func() {
		if _, err := c.decide("tom", id, leader.Choice{Outcome: planmode.OutcomeApproved}); err != nil {
			t.Fatal(err)
		}
	}, leader.ChangeDecided)
	step2(func() {
		c.send(api, "api", natsbox.NewID(), mailbox.KindReceipt, mailbox.Receipt{Of: id, State: mailbox.Applied, Mode: "default"})
	}, leader.ChangeApplied)
	if want := []string{"new", "decided", "applied"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func TestShowOfQuestions(t *testing.T) {
	s := newShop(t)
	row := natsbox.Row{
		From: "web", EnvelopeID: fixedID(6), StoredAt: noon.Add(-3 * time.Minute),
		Question: &mailbox.Question{QuestionID: "q", Text: "Which currency is the default?\n\nThe old code has both.\x1b[2J\n", Options: []string{"EUR", "USD\u202e"}},
	}
	answered := row
	answered.EnvelopeID = fixedID(7)
	answered.Answer = &natsbox.AnswerInfo{By: "mia", StoredAt: noon, Answer: mailbox.Answer{Option: "EUR", Text: "as on the invoices"}}
	q := s.at(noon, nil, row, answered)
	var show, table, tabs bytes.Buffer
	for _, id := range []string{row.EnvelopeID, answered.EnvelopeID} {
		r, err := q.FindAny(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := leader.WriteShow(&show, r, leader.ShowConfig{Now: noon}); err != nil {
			t.Fatal(err)
		}
		show.WriteString("\n")
	}
	golden(t, "show-question.txt", strings.ReplaceAll(show.String(), noon.Local().Format("15:04"), "HH:MM"))
	if err := leader.WriteInbox(&table, q, 0); err != nil {
		t.Fatal(err)
	}
	if err := leader.WriteInboxTSV(&tabs, q); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{table.String(), tabs.String()} {
		if !strings.Contains(text, "ask?") || strings.ContainsAny(text, "\x1b\u202e") || strings.Count(text, "\n") > 2 {
			t.Errorf("the inbox shows\n%s", text)
		}
	}
	r, err := q.FindAny(answered.EnvelopeID)
	if err != nil {
		t.Fatal(err)
	}
	if d := r.ShowDoc(); d.Kind != leader.RowQuestion || d.Question == nil || d.Answer == nil || d.Answer.By != "mia" || d.Goal != row.Question.Text {
		t.Errorf("document = %+v", d)
	}
	if _, err := q.Find(answered.EnvelopeID); !leader.IsError(err, leader.NameAlreadyDecided) || !strings.Contains(err.Error(), "mia answered") {
		t.Errorf("Find = %v", err)
	}
}

// Raw is the plan's bytes and nothing else, also those that a terminal would obey.
func TestShowRaw(t *testing.T) {
	s := newShop(t)
	content := "# Fix\r\n\n\x1b[2Jthen check it\u202e\n\n"
	r := s.row(t, ask{from: "api", plan: content})
	var b bytes.Buffer
	if err := leader.WriteShow(&b, &r, leader.ShowConfig{Now: noon, Raw: true}); err != nil || b.String() != content {
		t.Errorf("raw = %q, %v", b.String(), err)
	}
	odd := r
	odd.Problem = fmt.Errorf("odd")
	for name, r := range map[string]leader.Row{"a call": s.call(t, "Bash", "ls"), "a question": s.questionRow(t, "Which?"), "odd": odd} {
		b.Reset()
		if err := leader.WriteShow(&b, &r, leader.ShowConfig{Raw: true}); err == nil || b.Len() > 0 {
			t.Errorf("%s: %q, %v; want an error and nothing", name, b.String(), err)
		}
	}
}

// Who has seen no revision compares with the last one that was decided, and is told so.
func TestPrevious(t *testing.T) {
	c := newCrew(t)
	api, mia := c.Connect("api"), c.Connect("mia")
	one := c.submit(api, ask{from: "api", plan: "# One\n\nbad\n"})
	if _, err := leader.Previous(context.Background(), mia, c.find(mia, one)); !leader.IsError(err, leader.NameNoPrevious) {
		t.Errorf("before r1: %v", err)
	}
	if _, err := c.decide("tom", one, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); c.seen(one).Open() && time.Now().Before(end); time.Sleep(15 * time.Millisecond) { // decisions and mail are read side by side
	}
	c.submit(api, ask{from: "api", plan: "# One\n\nhidden between\n", revision: 2}) // replaced before anybody looks
	row := c.find(mia, c.submit(api, ask{from: "api", plan: "# One\n\nhidden between\ngood\n", revision: 3}))
	seen, err := leader.Previous(context.Background(), mia, row)
	if err != nil || seen.Revision != 1 || string(seen.Content) != "# One\n\nbad\n" || seen.Ended != "rejected by tom" {
		t.Fatalf("Previous = %+v, %v", seen, err)
	}
	var b bytes.Buffer
	if err := leader.WriteShow(&b, &row, leader.ShowConfig{Now: time.Now(), Diff: &seen}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"r3 against r1, rejected by tom: +2 -1", "+hidden between", "+good", "-bad"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the difference lacks %q:\n%s", want, b.String())
		}
	}
}

// A coordinator that names another plan as the revision before is not believed.
func TestPreviousOfAnother(t *testing.T) {
	s := newShop(t)
	row := s.row(t, ask{from: "api", revision: 2})
	row.Previous = fixedID(9)
	for name, change := range map[string]func(*natsbox.Row){
		"another teammate's": func(r *natsbox.Row) { r.From = "db" },
		"another plan's":     func(r *natsbox.Row) { q := *r.Request; q.PlanID = "other"; r.Request = &q },
		"a later one":        func(r *natsbox.Row) { q := *r.Request; q.Revision = 2; r.Request = &q },
		"no plan":            func(r *natsbox.Row) { r.Request = nil },
	} {
		before := s.newRow(t, ask{from: "api", id: fixedID(9)})
		if _, err := leader.Previous(context.Background(), knows{before}, row); err != nil {
			t.Fatalf("its own: %v", err)
		}
		change(&before)
		if seen, err := leader.Previous(context.Background(), knows{before}, row); !leader.IsError(err, leader.NameNoPrevious) {
			t.Errorf("%s: %+v, %v", name, seen, err)
		}
	}
}

// knows is a coordinator that has one request.
type knows struct{ row natsbox.Row }

func (k knows) Call(context.Context, string, any, any) error                 { return nil }
func (k knows) Pending(context.Context) ([]natsbox.Row, error)               { return nil, nil }
func (k knows) Request(context.Context, string) (row natsbox.Row, err error) { return k.row, nil }
