package leader_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// slots is where nothing may arrive.
type slots struct{ t *testing.T }

func (s slots) PutDecision(context.Context, string, string, []byte, []string) (charter.Order, error) {
	s.t.Error("something was stored")
	return charter.Order{}, errors.New("stored")
}

// Publish refuses what the teammate would refuse, before the slot is spent.
func TestPublishChecksWhatTheTeammateChecks(t *testing.T) {
	s := newShop(t)
	s.PersonOnly = append(s.PersonOnly, charter.Match{Mode: permissions.ModeAcceptEdits})
	s.Quorum = []charter.Quorum{{Match: charter.Match{Paths: []string{"deploy/**"}}, Need: 2}}
	plain := s.row(t, ask{from: "api", prompts: []string{"run tests"}})
	deploy := s.row(t, ask{from: "api", plan: "# Deploy\n\n- `deploy/prod.yaml`: raise the limit, then check it\n"})
	options := s.row(t, ask{from: "api", options: []plans.Option{{Label: "A"}, {Label: "B"}}})
	good, err := leader.Prepare(plain, leader.Choice{Outcome: planmode.OutcomeApproved}, s.Charter, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	of := func(r leader.Row, change func(*planmode.Decision)) planmode.Decision {
		d := good
		d.RequestID, d.Revision, d.PlanDigest = r.Request.RequestID, r.Request.Revision, r.Request.Digest
		d.Grants = append([]permissions.GrantTerms{}, good.Grants...)
		if len(r.Request.AllowedPrompts) == 0 {
			d.Grants = nil
		}
		if change != nil {
			change(&d)
		}
		return d
	}
	edited, err := leader.Prepare(plain, leader.Choice{Outcome: planmode.OutcomeApproved, Edited: []byte("# Deploy\n\n- `deploy/prod.yaml`: check it\n")}, s.Charter, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	forged, withdrawn := plain, plain
	bytes := *plain.Request
	bytes.Plan.Content = []byte("# Other\n")
	forged.Request = &bytes
	withdrawn.Withdrawn = "exit"
	for _, c := range []struct {
		name string
		by   string
		row  leader.Row
		d    planmode.Decision
		want string
		code int
	}{
		{"a teammate signs", "db", plain, of(plain, nil), leader.NameNotALeader, 4},
		{"person only", "rules", plain, of(plain, nil), leader.NameNeedsPerson, 4},
		{"quorum", "mia", deploy, of(deploy, nil), leader.NameNeedsSignatures, 4},
		{"quorum for what the leader wrote into the plan", "mia", plain, edited, leader.NameNeedsSignatures, 4},
		{"another digest", "mia", plain, of(plain, func(d *planmode.Decision) { d.PlanDigest = strings.Repeat("0", 64) }), leader.NameStale, 6},
		{"another request", "mia", plain, of(plain, func(d *planmode.Decision) { d.RequestID = natsbox.NewRequestID() }), leader.NameStale, 6},
		{"another revision", "mia", plain, of(plain, func(d *planmode.Decision) { d.Revision = 7 }), leader.NameStale, 6},
		{"above the cap", "mia", plain, of(plain, func(d *planmode.Decision) { d.Mode = permissions.ModeBypass }), leader.NameAboveCap, 2},
		{"no mode", "mia", plain, of(plain, func(d *planmode.Decision) { d.Mode = "" }), leader.NameBadChoice, 2},
		{"a grant not asked", "mia", plain, of(plain, func(d *planmode.Decision) { d.Grants[0].Prompt = "push" }), leader.NameGrantNotAsked, 2},
		{"a grant for ever", "mia", plain, of(plain, func(d *planmode.Decision) { d.Grants[0].ExpiresAt = time.Now().AddDate(1, 0, 0) }), leader.NameGrantNotAsked, 2},
		{"fewer grants without their digest", "mia", plain, of(plain, func(d *planmode.Decision) { d.Grants = nil }), leader.NameStale, 6},
		{"no option", "mia", options, of(options, nil), leader.NameBadChoice, 2},
		{"flag and word differ", "mia", plain, of(plain, func(d *planmode.Decision) { d.Approved = false }), leader.NameBadChoice, 2},
		{"forged request", "mia", forged, of(plain, nil), leader.NameOddRequest, 6},
		{"withdrawn", "mia", withdrawn, of(plain, nil), leader.NameWithdrawn, 6},
		{"a call, not a plan", "mia", leader.Row{Row: natsbox.Row{From: "api", EnvelopeID: "x"}}, of(plain, nil), leader.NameOddRequest, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := leader.Publish(context.Background(), slots{t}, s.signer(t, c.by), s.Charter, c.row, c.d)
			var e *leader.Error
			if !errors.As(err, &e) || e.Name != c.want || e.Code != c.code {
				t.Errorf("Publish = %v, want %d %s", err, c.code, c.want)
			}
		})
	}
}

func TestPublishNamesTheKeyThatIsNoLeader(t *testing.T) {
	s := newShop(t)
	r := s.row(t, ask{from: "api"})
	d, err := leader.Prepare(r, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"}, s.Charter, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Member("db")
	_, err = leader.Publish(context.Background(), slots{t}, s.signer(t, "db"), s.Charter, r, d)
	want := "key " + m.Key[:4] + "…" + m.Key[len(m.Key)-2:] + ` (db) is a teammate, not a leader of team shop: ask the owner for "swarm team invite NAME --role leader"`
	if err == nil || err.Error() != want {
		t.Errorf("text:\n%v\nwant:\n%s", err, want)
	}
}

// Two leaders at once: the broker takes one, the other is told who won, and when.
func TestTwoLeadersRace(t *testing.T) {
	c := newCrew(t)
	api := c.Connect("api")
	boxes := map[string]*natsbox.Conn{"mia": c.Connect("mia"), "tom": c.Connect("tom")}
	wins := map[string]int{}
	for range 200 {
		id := natsbox.NewRequestID()
		c.submit(api, ask{from: "api", id: id})
		q := newRequest(ask{from: "api", id: id, saved: permissions.ModeDefault}, c.Charter().TeamID)
		row, err := leader.NewRow(natsbox.Row{Request: &q, From: "api", Epoch: 1, EnvelopeID: id, KnownMode: permissions.ModeDefault},
			leader.RowConfig{Charter: c.Charter(), Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		errs := map[string]*error{"mia": new(error), "tom": new(error)}
		for name, outcome := range map[string]planmode.Outcome{"mia": planmode.OutcomeApproved, "tom": planmode.OutcomeRejected} {
			d, err := leader.Prepare(row, leader.Choice{Outcome: outcome, Feedback: "no", Note: "yes"}, c.Charter(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			signer := c.signer(name)
			wg.Go(func() {
				_, *errs[name] = leader.Publish(context.Background(), boxes[name], signer, c.Charter(), row, d)
			})
		}
		wg.Wait()
		winner, loser := "mia", "tom"
		if *errs["mia"] != nil {
			winner, loser = "tom", "mia"
		}
		var lost *leader.DecidedError
		if *errs[winner] != nil || !errors.As(*errs[loser], &lost) || lost.By != winner {
			t.Fatalf("mia: %v, tom: %v; want one winner, named to the other", *errs["mia"], *errs["tom"])
		}
		if by := c.stored(api, "api", id).DecidedBy.Name; by != winner {
			t.Fatalf("stored is %s's, and %s was told it won", by, winner)
		}
		wins[winner]++
	}
	t.Logf("wins: %v", wins)
}

// What a leader answers to one call is signed and stored once, as a decision is.
func TestPublishAnswer(t *testing.T) {
	c := newCrew(t)
	api, mia := c.Connect("api"), c.Connect("mia")
	id := natsbox.NewRequestID()
	c.send(api, "api", id, mailbox.KindPermissionRequest, permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "git fetch", CallHash: "h1", Cwd: "/w"})
	row := c.find(mia, id)
	if _, err := leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeApproved}, time.Now()); !leader.IsError(err, leader.NameNeedsConfirm) {
		t.Errorf("allowing it unconfirmed = %v", err)
	}
	if _, err := leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeRejectedAndExit}, time.Now()); !leader.IsError(err, leader.NameBadChoice) {
		t.Errorf("sending it out = %v", err)
	}
	deny, err := leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"}, time.Now())
	if err != nil || deny.Behavior != permissions.BehaviorDeny || deny.Message != "no" {
		t.Errorf("denying = %+v, %v", deny, err)
	}
	a, err := leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeApproved, Confirm: "api"}, time.Now())
	if err != nil || leader.AnswerLine(&row, a) != "allowed once "+row.Handle+": git fetch" {
		t.Errorf("allowing = %+v, %v", a, err)
	}
	got, err := leader.PublishAnswer(context.Background(), mia, c.signer("mia"), c.Charter(), row, a)
	if err != nil || got.RequestID != id || got.CallHash != "h1" || got.DecidedBy.Via != "command" {
		t.Fatalf("PublishAnswer = %+v, %v", got, err)
	}
	if _, err := leader.PublishAnswer(context.Background(), mia, c.signer("mia"), c.Charter(), row, a); !leader.IsError(err, leader.NameAlreadyDecided) {
		t.Errorf("answering again = %v", err)
	}
	if _, err := leader.PublishAnswer(context.Background(), mia, c.signer("db"), c.Charter(), row, a); !leader.IsError(err, leader.NameNotALeader) {
		t.Errorf("a teammate answers: %v", err)
	}
}

// find waits until the coordinator has a request.
func (c *crew) find(box *natsbox.Conn, id string) leader.Row {
	c.t.Helper()
	for {
		q, err := leader.Read(context.Background(), box, leader.QueueConfig{Charter: c.Charter()}, id)
		if err != nil {
			c.t.Fatal(err)
		}
		if r, err := q.Find(id); err == nil {
			return *r
		} else if !leader.IsError(err, leader.NameUnknownRequest) {
			c.t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// What a leader decided can be read, and is hers, after her key has been sealed.
func TestADecisionIsReadAfterASealing(t *testing.T) {
	c := newCrew(t)
	mia, api := c.Connect("mia"), c.Connect("api")
	id, call := c.submit(api, ask{from: "api"}), natsbox.NewRequestID()
	c.send(api, "api", call, mailbox.KindPermissionRequest, permissions.PermissionRequest{RequestID: call, Tool: "Bash", Input: "ls", CallHash: "h", Cwd: "/w"})
	c.find(mia, id)
	if _, err := c.decide("mia", id, leader.Choice{Outcome: planmode.OutcomeApproved}); err != nil {
		t.Fatal(err)
	}
	row := c.find(mia, call)
	a, err := leader.PrepareAnswer(row, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leader.PublishAnswer(t.Context(), mia, c.signer("mia"), c.Charter(), row, a); err != nil {
		t.Fatal(err)
	}
	c.Amend(func(ch *charter.Charter) {
		ch.Members = slices.Clone(ch.Members)
		ch.Members[slices.IndexFunc(ch.Members, func(m charter.Member) bool { return m.Name == "mia" })].Assurance = charter.Sealed
	})
	read := func(id string) leader.Row {
		t.Helper()
		for {
			raw, err := mia.Request(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			r, err := leader.NewRow(raw, leader.RowConfig{Charter: c.Charter(), Now: time.Now()})
			if err != nil {
				t.Fatal(err)
			}
			if r.Decision != nil {
				return r
			}
			time.Sleep(15 * time.Millisecond)
		}
	}
	if r := read(id); r.Decided == nil || !slices.Equal(r.Signers, []string{"mia"}) {
		t.Errorf("the plan is decided by %v with %+v, want what mia signed", r.Signers, r.Decided)
	}
	if r := read(call); r.Verdict == nil || !slices.Equal(r.Signers, []string{"mia"}) {
		t.Errorf("the call is answered by %v with %+v, want what mia signed", r.Signers, r.Verdict)
	}
	if _, err := c.decide("tom", id, leader.Choice{Outcome: planmode.OutcomeApproved}); !leader.IsError(err, leader.NameAlreadyDecided) {
		t.Errorf("deciding it again = %v, want that mia has", err)
	}
	if _, err := leader.PublishAnswer(t.Context(), mia, c.signer("mia"), c.Charter(), row, a); !leader.IsError(err, leader.NameAlreadyDecided) {
		t.Errorf("answering it again = %v, want that mia has", err)
	}
}

func TestWaitReceiptEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		mia, api, db := c.Connect("mia"), c.Connect("api"), c.Connect("db")
		id := c.submit(api, ask{from: "api"})
		c.send(db, "db", natsbox.NewID(), mailbox.KindReceipt, mailbox.Receipt{Of: id, State: mailbox.Applied}) // not its own
		c.send(api, "api", natsbox.NewID(), mailbox.KindReceipt, mailbox.Receipt{Of: id, State: mailbox.Delivered})
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		r, err := leader.WaitReceipt(ctx, mia, "api", id)
		if !errors.Is(err, context.DeadlineExceeded) || r.State != mailbox.Delivered {
			t.Errorf("WaitReceipt = %+v, %v; want the last one and the cause", r, err)
		}
	})
}

// A request that the coordinator does not know, because its sender has started again since, leaves the desk.
func TestRequestOfAnEarlierEpochIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		api := c.Connect("api")
		if _, err := api.Join(context.Background(), natsbox.JoinRequest{Name: "api", Mode: permissions.ModeDefault}); err != nil { // epoch 2
			t.Fatal(err)
		}
		d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: approver{}}}})
		id := c.submit(api, ask{from: "api"}) // under epoch 1
		if e := d.wait(leader.EventOdd); e.RequestID != id || len(d.Waiting()) != 0 {
			t.Errorf("odd: %+v", e)
		}
		d.stop()
	})
}

// More files than can be listed may hide one that is for persons only: the teammate takes a person's word alone, and so
// nobody else's is stored.
func TestTooManyFilesNeedAPerson(t *testing.T) {
	s := newShop(t)
	var b strings.Builder
	b.WriteString("# Touch everything, then check it\n\n")
	for i := range 2000 {
		fmt.Fprintf(&b, "- `src/f%d.go`\n", i)
	}
	many := s.row(t, ask{from: "api", plan: b.String()})
	few := s.row(t, ask{from: "api"})
	for _, c := range []struct {
		by   string
		row  leader.Row
		edit string
		out  planmode.Outcome
		want string
	}{
		{"rules", many, "", planmode.OutcomeApproved, leader.NameNeedsPerson},
		{"rules", many, "", planmode.OutcomeRejected, ""},
		{"rules", few, b.String(), planmode.OutcomeApproved, leader.NameNeedsPerson},
		{"rules", few, "", planmode.OutcomeApproved, ""},
		{"mia", many, "", planmode.OutcomeApproved, ""},
	} {
		ch := leader.Choice{Outcome: c.out, Feedback: "no", Note: "yes", Confirm: "api"}
		if c.edit != "" {
			ch.Edited = []byte(c.edit)
		}
		d, err := leader.Prepare(c.row, ch, s.Charter, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		box := &slot{}
		_, err = leader.Publish(context.Background(), box, s.signer(t, c.by), s.Charter, c.row, d)
		if c.want == "" && (err != nil || box.stored != 1) || c.want != "" && (!leader.IsError(err, c.want) || box.stored != 0) {
			t.Errorf("%s, %s, edited %t: %v with %d stored, want %q", c.by, c.out, c.edit != "", err, box.stored, c.want)
		}
	}
}
