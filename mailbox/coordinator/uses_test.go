package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

var stored = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// mails is what a team has stored, as a sweep meets it.
type mails struct {
	t         interface{ Fatal(args ...any) }
	charter   charter.Charter
	all       []message
	decisions map[slot]decided
	running   *index
	ids       []string
}

func (w *mails) index(known permissions.Mode, upTo, spent uint64) *index {
	x := newIndex("shop", func() charter.Charter { return w.charter })
	x.members["api"] = &member{known: known, knownSeq: upTo, spent: spent}
	return x
}

func (w *mails) put(kind mailbox.Kind, from, to, id, about string, body any) {
	e, err := mailbox.New(id, kind, "shop", from, to, 1, stored, body)
	if err != nil {
		w.t.Fatal(err)
	}
	e.InReplyTo = about
	data, err := mailbox.Encode(e)
	if err != nil {
		w.t.Fatal(err)
	}
	w.take(message{name: mailbox.MailSubject("shop", to, from, kind), data: data})
}

func (w *mails) take(m message) {
	var err error
	if m.subject, err = mailbox.ParseSubject(m.name); err != nil {
		w.t.Fatal(err)
	}
	m.seq, m.stored = uint64(len(w.all)+1), stored.Add(time.Duration(len(w.all))*time.Second)
	w.all = append(w.all, m)
	_, _ = w.running.mail(m)
}

// step stores something.
func (w *mails) step(t *rapid.T) {
	id, lead := natsbox.NewRequestID(), mailbox.Lead
	old := func() string { return rapid.SampledFrom(append(w.ids, "none")).Draw(t, "about") }
	switch rapid.IntRange(0, 10).Draw(t, "what") {
	case 0, 1:
		w.ids = append(w.ids, id)
		r := planmode.ApprovalRequest{RequestID: id, PlanID: rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "plan"), Revision: len(w.all), Kind: planmode.AskPlan}
		w.put(mailbox.KindPlanApprovalRequest, "api", lead, id, "", r)
	case 2:
		w.ids = append(w.ids, id)
		w.put(mailbox.KindPermissionRequest, "api", lead, id, "", permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "ls"})
	case 3:
		for range rapid.SampledFrom([]int{1, 1, 1, maxQuestions + 1}).Draw(t, "questions") {
			id := natsbox.NewRequestID()
			w.ids = append(w.ids, id)
			w.put(mailbox.KindQuestion, "api", lead, id, "", mailbox.Question{QuestionID: id, Text: "which?"})
		}
	case 4:
		w.put(mailbox.KindPlanWithdrawn, "api", lead, id, "", planmode.Withdrawn{RequestID: old(), Reason: planmode.WithdrawnExit})
	case 5:
		if len(w.all) > 0 { // once more
			w.take(message{name: w.all[len(w.all)-1].name, data: w.all[len(w.all)-1].data})
			m := rapid.SampledFrom(w.all).Draw(t, "again")
			w.take(message{name: m.name, data: m.data})
		}
	case 6:
		q := old()
		w.put(mailbox.KindAnswer, "anna", "api", id, q, mailbox.Answer{QuestionID: q, Text: "that"})
	case 7:
		s := slot{"api", old()}
		r := w.running.requests[s]
		if _, done := w.decisions[s]; r == nil || r.isQuestion || done {
			return
		}
		d := decided{seq: uint64(len(w.decisions) + 1), DecisionInfo: natsbox.DecisionInfo{
			Valid: true, Outcome: string(planmode.OutcomeApproved), Mode: rapid.SampledFrom([]permissions.Mode{permissions.ModeDefault, permissions.ModeAuto}).Draw(t, "mode"),
		}}
		w.decisions[s], w.running.decisions[s] = d, d
		w.running.settle(s)
	case 8:
		of := old()
		w.put(mailbox.KindReceipt, "api", lead, id, "", mailbox.Receipt{Of: of, State: rapid.SampledFrom(receiptStates).Draw(t, "state"), Mode: "auto"})
	case 9:
		w.put(mailbox.KindModeChanged, "api", lead, id, "", planmode.ModeChanged{To: rapid.SampledFrom([]permissions.Mode{permissions.ModePlan, permissions.ModeDefault}).Draw(t, "mode")})
	case 10:
		w.put(mailbox.KindMessage, "anna", "api", id, old(), mailbox.Message{Text: "hello"})
	}
}

// restart is the index of a start with what is left.
func (w *mails) restart(gone map[uint64]bool, x *index) *index {
	maps.Copy(x.decisions, w.decisions)
	for _, m := range w.all {
		if !gone[m.seq] {
			_, _ = x.mail(m)
		}
	}
	return x
}

func shopCharter(t *testing.T) charter.Charter {
	t.Helper()
	key, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	owner, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return charter.New("shop", owner, []charter.Member{
		{Name: "anna", Role: charter.RoleLeader, Kind: charter.KindPerson}, {Name: "api", Role: charter.RoleTeammate},
	}, charter.Caps{Mode: permissions.ModeBypass}, "")
}

// A permission request for which there was no room is shown as soon as there is: it must not come in the place of a later
// one because an earlier one was deleted.
func TestARequestWithoutRoomHoldsWhatIsBeforeIt(t *testing.T) {
	t.Parallel()
	w := &mails{t: t, charter: shopCharter(t), decisions: map[slot]decided{}}
	w.running = w.index(permissions.ModeDefault, 0, 0)
	ask := func() string {
		id := natsbox.NewRequestID()
		w.put(mailbox.KindPermissionRequest, "api", mailbox.Lead, id, "", permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "ls"})
		return id
	}
	first := ask()
	for range planmode.MaxAsks {
		ask() // the last of them has no room
	}
	w.put(mailbox.KindPlanWithdrawn, "api", mailbox.Lead, natsbox.NewID(), "", planmode.Withdrawn{RequestID: first})
	last := slot{"api", ask()}
	end := uint64(len(w.all))
	u := &uses{stock: stock{
		x: w.running, now: stored.Add(2 * keepMail), keep: keepMail, full: fullBox, recorded: end, newest: end,
		readers: map[string]reader{"anna": {end, true}},
	}}
	gone := map[uint64]bool{}
	for _, seq := range u.useless() {
		gone[seq] = true
	}
	if gone[planmode.MaxAsks+1] {
		t.Error("a request that nobody has decided was deleted, for it is not shown yet")
	}
	if w.restart(gone, w.index(permissions.ModeDefault, end, 0)).open[last] == nil {
		t.Errorf("%v is not shown at the next start: %v were deleted", last, gone)
	}
}

// An answer stays as long as its question does.
func TestAnAnswerStaysWithItsQuestion(t *testing.T) {
	t.Parallel()
	w := &mails{t: t, charter: shopCharter(t), decisions: map[slot]decided{}}
	w.running = w.index(permissions.ModeDefault, 0, 0)
	id := natsbox.NewID()
	w.put(mailbox.KindQuestion, "api", mailbox.Lead, id, "", mailbox.Question{QuestionID: id, Text: "which?"})
	w.put(mailbox.KindAnswer, "anna", "api", natsbox.NewID(), id, mailbox.Answer{QuestionID: id, Text: "that"})
	w.put(mailbox.KindModeChanged, "api", mailbox.Lead, natsbox.NewID(), "", planmode.ModeChanged{To: permissions.ModeDefault})
	for dead, want := range map[uint64]int{1: 0, 2: 1, 9: 2} { // the question, the answer, neither is a dead letter
		u := &uses{stock: stock{
			x: w.running, now: stored.Add(2 * keepMail), keep: keepMail, full: fullBox, recorded: 3, newest: 3,
			readers: map[string]reader{"anna": {3, true}, "api": {3, true}}, dead: map[uint64]bool{dead: true},
		}}
		if got := u.useless(); len(got) != want {
			t.Errorf("with a dead letter %d %v go, want %d", dead, got, want)
		}
	}
}

// Wherever a sweep breaks off, the next start finds what waits, nothing that waited no more, and the known mode as it was.
func TestASweepSettlesNothingAndOpensNothing(t *testing.T) {
	t.Parallel()
	team := shopCharter(t)
	swept := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &mails{t: t, charter: team, decisions: map[slot]decided{}}
		w.running = w.index(permissions.ModeAcceptEdits, 0, 0)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.step(t)
		}
		end := uint64(len(w.all))
		u := &uses{stock: stock{
			x: w.running, now: stored.Add(rapid.SampledFrom([]time.Duration{settleAge + 20*time.Second, time.Hour, keepMail + 20*time.Second, 20 * keepMail}).Draw(t, "age")), keep: keepMail,
			full:     rapid.SampledFrom([]int{0, 2, 5, 100}).Draw(t, "full"),
			readers:  map[string]reader{"api": {rapid.Uint64Range(0, end).Draw(t, "api"), true}, "anna": {end, true}},
			recorded: rapid.SampledFrom([]uint64{end, end, end / 2}).Draw(t, "recorded"), newest: end, dead: map[uint64]bool{rapid.Uint64Range(0, end).Draw(t, "dead"): true}, crowded: map[pair]bool{},
		}}
		seqs := u.useless()
		swept += len(seqs)
		known, spent := w.running.knownMode("api"), u.spent["api"]
		before := w.restart(nil, w.index(known, end, spent))
		gone := map[uint64]bool{}
		for n := 0; ; n++ {
			after := w.restart(gone, w.index(known, end, spent))
			for s := range before.open {
				if after.open[s] == nil {
					t.Fatalf("after %d of %d deletions %v is lost", n, len(seqs), s)
				}
			}
			for s, r := range after.open {
				if before.open[s] == nil && !w.running.items[r.seq].waits {
					t.Fatalf("after %d of %d deletions %v is open again", n, len(seqs), s)
				}
			}
			for s, r := range w.running.open {
				if gone[r.seq] || r.previous != nil && gone[r.previous.seq] && r.planID == r.previous.planID {
					t.Fatalf("%v is open, and it or the revision before it was deleted", s)
				}
			}
			if got := after.knownMode("api"); got != known {
				t.Fatalf("after %d of %d deletions the known mode is %s, want %s", n, len(seqs), got, known)
			}
			if n == len(seqs) {
				break
			}
			if gone[seqs[n]] || seqs[n] == end || u.dead[seqs[n]] {
				t.Fatalf("number %d goes twice, or is the newest, or a dead letter", seqs[n])
			}
			it := w.running.items[seqs[n]]
			if seqs[n] > u.recorded || u.now.Sub(it.stored) < settleAge || it.subject.To == "api" && it.seq > u.readers["api"].floor {
				t.Fatalf("number %d is not recorded, not read or too young", seqs[n])
			}
			gone[seqs[n]] = true
		}
		w.running.forget(seqs)
		after := w.restart(gone, w.index(known, end, spent))
		names := func(x *index) []string {
			var all []string
			for s, r := range x.requests {
				if r.isPlan || r.isQuestion { // which permission requests had room is told by when they were decided
					all = append(all, fmt.Sprint(s.id, x.open[s] != nil, len(x.receipts[s.id])))
				}
			}
			slices.Sort(all)
			return all
		}
		if got, want := names(w.running), names(after); !slices.Equal(got, want) {
			t.Fatalf("the index knows %q, and after a restart %q", got, want)
		}
		if len(w.running.items) != len(w.all)-len(seqs) {
			t.Fatalf("%d items of %d", len(w.running.items), len(w.all)-len(seqs))
		}
	})
	if swept == 0 {
		t.Error("nothing was ever deleted")
	}
}
