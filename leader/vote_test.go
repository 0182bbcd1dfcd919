package leader_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// everyPlan is a quorum of n persons for whatever is approved.
func everyPlan(n int) func(*charter.Charter) {
	return func(c *charter.Charter) {
		c.Quorum = []charter.Quorum{{Match: charter.Match{Mode: "plan"}, Need: n}}
	}
}

var yes = leader.Choice{Outcome: planmode.OutcomeApproved}

// row is a request as a leader reads it now, waiting or not. The coordinator may be a moment behind the mail.
func (c *crew) row(box *natsbox.Conn, id string) leader.Row {
	c.t.Helper()
	for begin := time.Now(); ; time.Sleep(15 * time.Millisecond) {
		q, err := leader.Read(context.Background(), box, leader.QueueConfig{Charter: c.Charter()}, id)
		if err != nil {
			c.t.Fatal(err)
		}
		r, err := q.FindAny(id)
		if err == nil {
			return *r
		}
		if time.Since(begin) > time.Minute {
			c.t.Fatal(err)
		}
	}
}

// settled is a request as a leader reads it when the coordinator knows that it waits no more: it reads mail and decisions
// side by side, and for itself.
func (c *crew) settled(box *natsbox.Conn, id string) leader.Row {
	c.t.Helper()
	for begin := time.Now(); ; time.Sleep(15 * time.Millisecond) {
		r := c.row(box, id)
		if !r.Open() {
			return r
		}
		if time.Since(begin) > time.Minute {
			c.t.Fatalf("%s waits still", r.Handle)
		}
	}
}

// give is what `swarm approve` does.
func (c *crew) give(who, id string, ch leader.Choice) (leader.Given, error) {
	c.t.Helper()
	box := c.Connect(who)
	defer box.Close()
	return leader.Give(context.Background(), box, c.signer(who), c.Charter(), c.row(box, id), ch)
}

// code is that of what leaders have signed of a request.
func (c *crew) code(id string) string {
	c.t.Helper()
	box := c.Connect("mia")
	defer box.Close()
	return c.row(box, id).Vote.Code()
}

// counted are the leaders whose signatures lie in the slot of a request, as its teammate counts them.
func (c *crew) counted(box *natsbox.Conn, id string) (charter.Authority, planmode.Decision) {
	c.t.Helper()
	o, err := box.ReadDecision(context.Background(), "api", id)
	if err != nil {
		c.t.Fatal(err)
	}
	_, d, err := charter.OpenOrder[planmode.Decision](c.Charter(), o)
	if err != nil {
		c.t.Fatal(err)
	}
	ends := d.Outcome != planmode.OutcomeRejected && d.Outcome != planmode.OutcomeExpired
	return charter.Judge(c.Charter(), o, charter.Asked{Mode: d.Mode}, ends, time.Now()), d
}

// letters waits until a leader has n messages of the desk, and returns their texts, the newest first.
func (c *crew) letters(who string, n int) []string {
	c.t.Helper()
	box := c.Connect(who)
	defer box.Close()
	for begin := time.Now(); time.Since(begin) < time.Minute; time.Sleep(20 * time.Millisecond) {
		var list []natsbox.MailInfo
		if err := box.Call(context.Background(), natsbox.VerbMail, natsbox.MailRequest{}, &list); err != nil {
			c.t.Fatal(err)
		}
		var texts []string
		for _, m := range list {
			if m.To == who && m.From == "rules" {
				texts = append(texts, m.Text)
			}
		}
		if len(texts) >= n {
			return texts
		}
	}
	c.t.Fatalf("%s has no %d messages of the desk", who, n)
	return nil
}

func TestQuorumNeedsTwoLeaders(t *testing.T) {
	c := newCrew(t)
	c.Amend(everyPlan(2))
	api := c.Connect("api")
	d := c.startDesk(leader.Config{Seats: []leader.Seat{{Decider: approver{}}}}) // a policy's word is not enough
	id := c.submit(api, ask{from: "api", prompts: []string{"run tests"}})
	if e := d.wait(leader.EventUndecided); !strings.Contains(e.Reason, "2 of the persons who lead must approve this, 0 did") {
		t.Errorf("the desk: %q", e.Reason)
	}
	mia := c.Connect("mia")
	if r := c.row(mia, id); r.Have != 0 || r.Need != 2 || r.Vote != nil {
		t.Errorf("before: %d of %d, %+v", r.Have, r.Need, r.Vote)
	}
	g, err := c.give("mia", id, leader.Choice{Outcome: planmode.OutcomeApproved, Note: "mind the rounding"})
	if err != nil || g.Signed == nil || g.Decision != nil || g.Have != 1 || g.Need != 2 || g.Joined {
		t.Fatalf("the first: %+v, %v, want 1 of 2", g, err)
	}
	if e := d.wait(leader.EventEndorsed); e.By != "mia" || e.Row.Have != 1 || e.Row.Need != 2 {
		t.Errorf("the desk was told %+v", e)
	}
	if o, err := mia.ReadDecision(t.Context(), "api", id); err == nil {
		t.Fatalf("one leader stored %s", o.Payload)
	}
	if g, err := c.give("mia", id, yes); err != nil || g.Signed == nil || g.Have != 1 { // again
		t.Fatalf("the first again: %+v, %v, want still 1 of 2", g, err)
	}
	r := c.row(mia, id)
	if r.Have != 1 || r.Need != 2 || r.Vote == nil || r.Vote.Decision.Feedback != "mind the rounding" {
		t.Fatalf("between: %d of %d, %+v", r.Have, r.Need, r.Vote)
	}
	if doc := r.ShowDoc(); doc.Signed == nil || doc.Signed.By[0] != "mia" || doc.Signatures != (leader.SignaturesDoc{Have: 1, Need: 2}) {
		t.Errorf("document: %+v", doc.Signed)
	}
	g, err = c.give("tom", id, yes)
	if err != nil || g.Decision == nil || !g.Joined || g.Decision.Feedback != "mind the rounding" || g.Decision.DecidedBy.Name != "mia" {
		t.Fatalf("the second: %+v, %v, want the decision that mia made", g, err)
	}
	if who, _ := c.counted(api, id); !who.QuorumMet || len(who.Signers) != 2 {
		t.Errorf("the teammate counts %+v", who)
	}
	if e := d.wait(leader.EventDecided); e.Decision.DecidedBy.Name != "mia" || e.Here {
		t.Errorf("the desk was told %+v", e)
	}
	if r := c.settled(mia, id); strings.Join(r.Signers, " ") != "mia tom" {
		t.Errorf("signers = %v", r.Signers)
	}
	if _, err := c.give("mia", id, yes); !leader.IsError(err, leader.NameAlreadyDecided) {
		t.Errorf("afterwards: %v, want already decided", err)
	}
}

// Two leaders who read the request before either of them had signed end with one decision of both; two who want different
// things end with none, and the one who is outvoted is told.
func TestQuorumOfTwoAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		second  leader.Choice
		decided bool
	}{
		"the same":       {yes, true},
		"different ones": {leader.Choice{Outcome: planmode.OutcomeApproved, NoGrants: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			c.Amend(everyPlan(2))
			api, mia, tom := c.Connect("api"), c.Connect("mia"), c.Connect("tom")
			id := c.submit(api, ask{from: "api", prompts: []string{"run tests"}})
			stale := c.row(mia, id)
			if _, err := leader.Give(t.Context(), mia, c.signer("mia"), c.Charter(), stale, yes); err != nil {
				t.Fatal(err)
			}
			g, err := leader.Give(t.Context(), tom, c.signer("tom"), c.Charter(), stale, tc.second)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.decided {
				if _, err := api.ReadDecision(t.Context(), "api", id); err == nil || g.Signed == nil || g.Have != 1 {
					t.Errorf("the second: %+v, want 1 of 2", g)
				}
				return
			}
			if who, d := c.counted(api, id); g.Decision == nil || len(who.Signers) != 2 || d.DecidedBy.Name != "mia" {
				t.Errorf("the second: %+v; stored with %+v", g, who)
			}
		})
	}
}

// Another choice takes the place of what was signed, and who signed that is told. The same choice does not.
func TestAnotherChoiceVoidsSignatures(t *testing.T) {
	for name, tc := range map[string]struct {
		first, second leader.Choice
		void          bool
	}{
		"the same, said again": {leader.Choice{Outcome: planmode.OutcomeApproved, NoGrants: true}, leader.Choice{Outcome: planmode.OutcomeApproved, NoGrants: true}, false},
		"other grants":         {yes, leader.Choice{Outcome: planmode.OutcomeApproved, NoGrants: true}, true},
		"another limit":        {yes, leader.Choice{Outcome: planmode.OutcomeApproved, Uses: 3}, true},
		"another life":         {yes, leader.Choice{Outcome: planmode.OutcomeApproved, TTL: time.Minute}, true},
		"an edit":              {yes, leader.Choice{Outcome: planmode.OutcomeApproved, Edited: []byte("# Fix\n\nless\n")}, true},
		"another edit": {
			leader.Choice{Outcome: planmode.OutcomeApproved, Edited: []byte("# Fix\n\nmore\n")},
			leader.Choice{Outcome: planmode.OutcomeApproved, Edited: []byte("# Fix\n\nless\n")},
			true,
		},
		"another note":    {yes, leader.Choice{Outcome: planmode.OutcomeApproved, Note: "x"}, true},
		"another outcome": {yes, leader.Choice{Outcome: planmode.OutcomeRejectedAndExit, Feedback: "x"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrew(t)
			c.Amend(everyPlan(2))
			api := c.Connect("api")
			c.startDesk(leader.Config{})
			id := c.submit(api, ask{from: "api", prompts: []string{"run tests"}})
			if _, err := c.give("mia", id, tc.first); err != nil {
				t.Fatal(err)
			}
			g, err := c.give("tom", id, tc.second)
			if err != nil {
				t.Fatal(err)
			}
			if !tc.void {
				if g.Decision == nil || !g.Joined {
					t.Fatalf("the second: %+v, want the decision", g)
				}
				return
			}
			if g.Signed == nil || g.Joined || g.Have != 1 || g.Signed.By[0].Name != "tom" {
				t.Fatalf("the second: %+v, want a signature of its own alone", g)
			}
			if texts := c.letters("mia", 1); !strings.Contains(texts[0], "Your signature for api-") || !strings.Contains(texts[0], "tom signed another decision") {
				t.Errorf("mia was told %q", texts)
			}
			again := yes
			if tc.second.Outcome == planmode.OutcomeRejectedAndExit {
				again = tc.second
			}
			if tc.second.Edited != nil {
				again.Signed = c.code(id)
			}
			if g, err = c.give("mia", id, again); err != nil || g.Decision == nil || g.Decision.DecidedBy.Name != "tom" {
				t.Fatalf("mia, seeing tom's: %+v, %v, want tom's decision", g, err)
			}
			if who, d := c.counted(api, id); !who.QuorumMet || d.Outcome != tc.second.Outcome {
				t.Errorf("stored: %s, %+v", d.Outcome, who)
			}
		})
	}
}

// Who says yes has read the request. What another leader has made of it since is not signed along: another plan, a wider mode,
// a command for the whole plan; with the code that show prints, it is.
func TestAttackYesToWhatOthersMadeOfIt(t *testing.T) {
	for name, first := range map[string]leader.Choice{
		"another plan": {Outcome: planmode.OutcomeApproved, Edited: []byte("# Fix\n\npush it all\n")},
		"a wider mode": {Outcome: planmode.OutcomeApproved, Mode: "acceptEdits"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, need := range []int{1, 2} {
				c := newCrew(t)
				c.Amend(everyPlan(2))
				api := c.Connect("api")
				id := c.submit(api, ask{from: "api", prompts: []string{"run tests"}})
				g, err := c.give("mia", id, first)
				if err != nil || g.Signed == nil {
					t.Fatalf("the first: %+v, %v", g, err)
				}
				if need == 1 { // the charter wants only one now: what mia signed is hers alone
					c.Amend(func(c *charter.Charter) { c.Quorum = nil })
					g, err := c.give("tom", id, yes)
					if err != nil || g.Decision == nil || g.Joined || g.Decision.PlanWasEdited || g.Decision.Mode != "default" {
						t.Errorf("a yes that is enough: %+v, %v, want the plan as it was asked", g, err)
					}
					continue
				}
				if g, err := c.give("tom", id, yes); !leader.IsError(err, leader.NameOutvoted) || !strings.Contains(err.Error(), "--signed "+c.code(id)) {
					t.Fatalf("a plain yes: %+v, %v, want that it signs nothing but what was asked", g, err)
				} else {
					mailboxtest.Refused(t, "have a yes sign "+name, "lead agent", mailboxtest.ByLeader, err.Error())
				}
				with := yes
				with.Signed = "00000000"
				if g, err := c.give("tom", id, with); !leader.IsError(err, leader.NameOutvoted) {
					t.Errorf("another code: %+v, %v", g, err)
				}
				with.Signed = c.code(id)
				if g, err := c.give("tom", id, with); err != nil || g.Decision == nil || !g.Joined || g.Decision.DecidedBy.Name != "mia" {
					t.Errorf("with its code: %+v, %v, want what mia made of it", g, err)
				}
			}
		})
	}
}

// One leader's no is enough, whatever others have signed; and a new revision is signed anew.
func TestWhatEndsARequestVoidsItsSignatures(t *testing.T) {
	c := newCrew(t)
	c.Amend(everyPlan(2))
	api := c.Connect("api")
	d := c.startDesk(leader.Config{})
	id := c.submit(api, ask{from: "api"})
	if _, err := c.give("mia", id, yes); err != nil {
		t.Fatal(err)
	}
	d.wait(leader.EventEndorsed)
	g, err := c.give("tom", id, leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: "no"})
	if err != nil || g.Decision == nil || g.Decision.Outcome != planmode.OutcomeRejected {
		t.Fatalf("a no: %+v, %v, want it stored", g, err)
	}
	if texts := c.letters("mia", 1); !strings.Contains(texts[0], "tom rejected it") {
		t.Errorf("mia was told %q", texts)
	}
	second := c.submit(api, ask{from: "api", revision: 2})
	if _, err := c.give("mia", second, yes); err != nil {
		t.Fatal(err)
	}
	d.wait(leader.EventEndorsed)
	third := c.submit(api, ask{from: "api", revision: 3, plan: "# Fix it\n\nbetter\n", change: func(q *planmode.ApprovalRequest) { q.Supersedes = second }})
	if texts := c.letters("mia", 2); !strings.Contains(texts[0], "a newer revision took its place: api-") {
		t.Errorf("mia was told %q", texts)
	}
	if _, err := c.give("tom", second, yes); !leader.IsError(err, leader.NameSuperseded) {
		t.Errorf("the old revision: %v, want superseded", err)
	}
	if g, err := c.give("tom", third, yes); err != nil || g.Signed == nil || g.Have != 1 {
		t.Fatalf("the new revision: %+v, %v, want 1 of 2", g, err)
	}
	if g, err := c.give("mia", third, yes); err != nil || g.Decision == nil {
		t.Fatalf("the new revision, by both: %+v, %v", g, err)
	}
}

// A leader whose signature is the last one and who dies before it is stored has lost nothing: the desk stores what enough
// have signed, also one that starts later.
func TestDeskStoresWhatEnoughHaveSigned(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprintf("later %t", later), func(t *testing.T) {
			c := newCrew(t)
			c.Amend(everyPlan(2))
			api := c.Connect("api")
			if !later {
				c.startDesk(leader.Config{})
			}
			id := c.submit(api, ask{from: "api"})
			g, err := c.give("mia", id, yes)
			if err != nil {
				t.Fatal(err)
			}
			c.endorse("tom", id, g.Signed.Order.Payload)
			if later {
				c.startDesk(leader.Config{})
			}
			for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
				if _, err := api.ReadDecision(t.Context(), "api", id); err == nil {
					break
				}
				if time.Since(begin) > time.Minute {
					t.Fatal("nobody stored what two leaders signed")
				}
			}
			if who, d := c.counted(api, id); !who.QuorumMet || len(who.Signers) != 2 || d.Outcome != planmode.OutcomeApproved {
				t.Errorf("stored: %s, %+v", d.Outcome, who)
			}
		})
	}
}

// endorse sends a signature and does nothing else, as a leader that dies then.
func (c *crew) endorse(who, id string, payload []byte) {
	c.t.Helper()
	sig, err := charter.SignOrder(c.Key(who), mailbox.DecisionSubject(c.Name, "api", id), payload)
	if err != nil {
		c.t.Fatal(err)
	}
	c.sendEndorsement(who, mailbox.Endorsement{Request: id, To: "api", Payload: payload, Sig: sig})
}

func (c *crew) sendEndorsement(who string, b mailbox.Endorsement) {
	c.t.Helper()
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindEndorsement, c.Name, who, mailbox.Lead, 0, time.Now(), b)
	if err != nil {
		c.t.Fatal(err)
	}
	box := c.Connect(who)
	defer box.Close()
	if _, err := box.Send(context.Background(), env); err != nil {
		c.t.Fatal(err)
	}
}

// Endorsements that prove nothing are no signatures: another's signature sent as one's own, one over other bytes, one that
// is none, and bytes of another request.
func TestAttackEndorsementsThatAreNone(t *testing.T) {
	c := newCrew(t)
	c.Amend(everyPlan(2))
	api, db := c.Connect("api"), c.Connect("db")
	d := c.startDesk(leader.Config{})
	id := c.submit(api, ask{from: "api"})
	other := c.submit(db, ask{from: "db"})
	g, err := c.give("mia", id, yes)
	if err != nil {
		t.Fatal(err)
	}
	d.wait(leader.EventEndorsed)
	payload, sig := g.Signed.Order.Payload, g.Signed.Order.Sigs[0]
	for name, b := range map[string]mailbox.Endorsement{
		"another's signature": {Request: id, To: "api", Payload: payload, Sig: sig},
		"other bytes":         {Request: id, To: "api", Payload: append([]byte(" "), payload...), Sig: sig},
		"no signature":        {Request: id, To: "api", Payload: payload, Sig: sig[:len(sig)-1] + "!"},
		"of another request":  {Request: other, To: "db", Payload: payload, Sig: sig},
	} {
		c.sendEndorsement("tom", b)
		if e := d.wait(leader.EventEndorsed); e.Row.Have > 1 || e.Row.Vote != nil && len(e.Row.Vote.By) > 1 {
			t.Errorf("%s: %d of %d, by %v", name, e.Row.Have, e.Row.Need, e.Row.Vote.By)
		}
	}
	for who, slot := range map[string]string{"api": id, "db": other} {
		if _, err := api.ReadDecision(t.Context(), who, slot); err == nil && who == "api" {
			t.Errorf("a decision is stored for %s", who)
		}
	}
	if r := c.row(c.Connect("mia"), id); r.Have != 1 || r.Need != 2 {
		t.Errorf("%d of %d, want mia's alone", r.Have, r.Need)
	}
	mailboxtest.Refused(t, "endorse with another's, altered or no signature", "leader", mailboxtest.ByLeader, "it counts for nothing: 1 of 2, and nothing is stored")
}

// Whatever several leaders do, at once and one after the other, with a desk or without: nothing is approved without as many
// distinct persons as the charter wants, what is approved was signed by all of them in the same bytes, and when enough
// have said yes to the same, it is approved.
func TestQuorumOverInterleavings(t *testing.T) {
	c := newCrew(t)
	c.AddLeader("una", charter.KindPerson)
	c.AddLeader("bot", charter.KindAgent)
	api := c.Connect("api")
	c.startDesk(leader.Config{})
	leaders := []string{"mia", "tom", "una", "bot", "rules"}
	rapid.Check(t, func(t *rapid.T) {
		need := rapid.IntRange(1, 3).Draw(t, "need")
		c.Amend(everyPlan(need))
		id := c.submit(api, ask{from: "api", prompts: []string{"run tests"}})
		rejected := false
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			var wg sync.WaitGroup
			for _, who := range rapid.SliceOfNDistinct(rapid.SampledFrom(leaders), 1, 3, func(s string) string { return s }).Draw(t, "at once") {
				ch := rapid.SampledFrom([]leader.Choice{yes, yes, {Outcome: planmode.OutcomeApproved, NoGrants: true}, {Outcome: planmode.OutcomeRejected, Feedback: "no"}}).Draw(t, who)
				rejected = rejected || ch.Outcome == planmode.OutcomeRejected
				wg.Go(func() { _, _ = c.give(who, id, ch) }) // who is too late, or outvoted, is told so
			}
			wg.Wait()
		}
		if _, err := api.ReadDecision(context.Background(), "api", id); err != nil {
			if rejected {
				t.Fatalf("somebody said no, and nothing is stored: %v", err)
			}
			for i := range 2 * need { // each says yes once more to what is signed last
				_, _ = c.give(leaders[i%3], id, yes)
			}
		}
		who, d := c.counted(api, id)
		if !who.Leader || !who.QuorumMet {
			t.Fatalf("stored: %s with %+v", d.Outcome, who)
		}
		if d.Outcome == planmode.OutcomeRejected && !rejected {
			t.Fatal("nobody said no, and it is rejected")
		}
	})
}
