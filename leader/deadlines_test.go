package leader_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// ladder is every deadline that there is.
var ladder = leader.Deadlines{Remind: 30 * time.Second, Escalate: time.Minute, To: []string{"tom", "mia"}, Reject: 3 * time.Minute}

// at is how long after begin an event came, in seconds.
func (d *desk) at(kind leader.EventKind, begin time.Time) (leader.Event, int) {
	d.t.Helper()
	e := d.wait(kind)
	return e, int(time.Since(begin).Seconds())
}

// hold keeps a desk that a test waits for longer than wait does.
func (d *desk) during(t time.Duration) {
	d.t.Helper()
	time.Sleep(t)
	synctest.Wait()
}

// A request that nobody decides is brought to mind, handed on, and expires: so long after it was asked, whatever the wall
// clock does meanwhile.
func TestDeadlines(t *testing.T) {
	years := 24 * 365 * time.Hour
	for name, jump := range map[string]time.Duration{"clock runs": 0, "set back by years": -7 * years, "set forward by years": 7 * years} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				api := c.Connect("api")
				var offset atomic.Int64
				d := c.startDesk(leader.Config{Every: time.Second, Deadlines: ladder, Wall: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
				id := c.submit(api, ask{from: "api"})
				begin := time.Now()
				d.wait(leader.EventUndecided)
				offset.Store(int64(jump))
				d.during(32 * time.Second)
				if e, at := d.at(leader.EventReminded, begin); at != 32 || e.RequestID != id || !strings.HasPrefix(e.Reason, "has waited 3") {
					t.Errorf("reminded after %d seconds: %+v", at, e.Reason)
				}
				offset.Store(-int64(jump))
				for i, to := range []string{"tom", "mia"} {
					d.during(time.Duration(i+1)*time.Minute + 2*time.Second - time.Since(begin))
					if e := d.wait(leader.EventEscalated); e.By != to {
						t.Errorf("escalated to %q, want %s", e.By, to)
					}
					if texts := c.letters(to, 1); !strings.Contains(texts[0], "nobody has decided: it is yours now") {
						t.Errorf("%s was told %q", to, texts)
					}
				}
				if r := c.seen(id); !r.Open() {
					t.Fatalf("before its time: %+v", r.Decision)
				}
				mia := c.Connect("mia")
				if r := c.row(mia, id); len(r.Escalated) != 2 || r.Escalated[1].To != "mia" || len(r.Doc().Escalated) != 2 {
					t.Errorf("the inbox shows %+v", r.Escalated)
				}
				d.during(3*time.Minute + 2*time.Second - time.Since(begin))
				e := d.wait(leader.EventDecided)
				if e.Decision.Outcome != planmode.OutcomeExpired || !e.Here || e.Decision.Feedback != "nobody decided within 3m0s" || e.Decision.DecidedBy.Via != "deadline" {
					t.Errorf("after 3 minutes: %+v", e.Decision)
				}
				if dec := c.stored(api, "api", id); dec.Outcome != planmode.OutcomeExpired || dec.Approved {
					t.Errorf("stored: %+v", dec)
				}
			})
		})
	}
}

// Nothing expires where nobody set a deadline, and questions never do.
func TestNothingExpiresByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		api, db := c.Connect("api"), c.Connect("db")
		var offset atomic.Int64
		d := c.startDesk(leader.Config{Every: time.Second, Wall: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
		id := c.submit(api, ask{from: "api"})
		c.send(db, "db", natsbox.NewID(), mailbox.KindQuestion, mailbox.Question{QuestionID: "q", Text: "which?"})
		d.wait(leader.EventUndecided)
		offset.Store(int64(50 * 365 * 24 * time.Hour))
		d.during(5 * time.Minute)
		if n := len(d.Waiting()); n != 2 {
			t.Errorf("%d wait after 50 years by the clock, want both", n)
		}
		if r := c.seen(id); !r.Open() {
			t.Errorf("after 50 years: %+v", r.Decision)
		}
	})
}

// The deadline of a single request is a time of the wall clock: it is the one thing that a clock that jumps changes.
func TestDeadlineOfARequest(t *testing.T) {
	for name, tc := range map[string]struct {
		jump, after time.Duration
		expired     bool
	}{
		"not yet":         {0, 58 * time.Second, false},
		"in time":         {0, 62 * time.Second, true},
		"clock forward":   {59 * time.Second, 4 * time.Second, true},
		"years forward":   {7 * 365 * 24 * time.Hour, 3 * time.Second, true},
		"years backwards": {-7 * 365 * 24 * time.Hour, 2 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrew(t)
				api := c.Connect("api")
				var offset atomic.Int64
				d := c.startDesk(leader.Config{Every: time.Second, Wall: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
				at := time.Now().Add(time.Minute).UTC()
				id := c.submit(api, ask{from: "api", change: func(q *planmode.ApprovalRequest) { q.Deadline = &at }})
				d.wait(leader.EventUndecided)
				offset.Store(int64(tc.jump))
				d.during(tc.after)
				if r := c.seen(id); r.Open() == tc.expired {
					t.Fatalf("open %t", r.Open())
				}
				if tc.expired {
					if dec := c.stored(api, "api", id); dec.Outcome != planmode.OutcomeExpired || !strings.Contains(dec.Feedback, "before its deadline") {
						t.Errorf("stored: %+v", dec)
					}
				}
			})
		})
	}
}

// A desk that starts again counts from when it was asked, and does not hand it to the same leader again; two desks at once
// end with one decision and one letter of each.
func TestDeadlinesOfSeveralDesks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		c.AddLeader("rules2", charter.KindPolicy)
		api := c.Connect("api")
		id := c.submit(api, ask{from: "api"})
		first := c.startDesk(leader.Config{Every: time.Second, Deadlines: ladder})
		first.during(70 * time.Second)
		first.wait(leader.EventEscalated)
		first.stop()
		time.Sleep(20 * time.Second)

		second := c.startDesk(leader.Config{Every: time.Second, Deadlines: ladder})
		third := &desk{t: t, events: make(chan leader.Event, 1000)}
		c.startSecondDesk(third, "rules2", leader.Config{Every: time.Second, Deadlines: ladder})
		second.during(34 * time.Second) // 124 s since it was asked
		for _, d := range []*desk{second, third} {
			e := d.wait(leader.EventEscalated)
			if e.By == "tom" { // a desk that has not read his letter yet says it once more: it is the same letter
				e = d.wait(leader.EventEscalated)
			}
			if e.By != "mia" {
				t.Errorf("handed to %q, want mia: tom was told before", e.By)
			}
		}
		second.during(60 * time.Second)
		here := 0
		for _, d := range []*desk{second, third} {
			e := d.wait(leader.EventDecided)
			if e.Decision.Outcome != planmode.OutcomeExpired {
				t.Errorf("decided: %+v", e.Decision)
			}
			if e.Here {
				here++
			}
		}
		if here != 1 {
			t.Errorf("%d desks say that they decided, want one", here)
		}
		if got := c.letters("tom", 1); len(got) != 1 {
			t.Errorf("tom was told %d times: %q", len(got), got)
		}
		if dec := c.stored(api, "api", id); dec.Outcome != planmode.OutcomeExpired {
			t.Errorf("stored: %+v", dec)
		}
	})
}

// A leader who decides in time is not overruled, and a call that nobody answers is denied.
func TestDeadlineOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew(t)
		api := c.Connect("api")
		d := c.startDesk(leader.Config{Every: time.Second, Deadlines: leader.Deadlines{Reject: time.Minute}})
		id := natsbox.NewRequestID()
		c.send(api, "api", id, mailbox.KindPermissionRequest, permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "ls", CallHash: strings.Repeat("0", 64), ToolCallID: "1", Cwd: "/x"})
		plan := c.submit(api, ask{from: "api"})
		d.during(57 * time.Second)
		if _, err := c.decide("mia", plan, yes); err != nil {
			t.Fatal(err)
		}
		d.during(6 * time.Second)
		if dec := c.stored(api, "api", plan); dec.Outcome != planmode.OutcomeApproved {
			t.Errorf("the plan: %+v", dec)
		}
		for {
			e := d.wait(leader.EventDecided)
			if e.RequestID == plan {
				continue
			}
			if e.Answer == nil || e.Answer.Behavior != permissions.BehaviorDeny || e.Answer.Message != "nobody decided within 1m0s" {
				t.Errorf("the call: %+v", e.Answer)
			}
			return
		}
	})
}

// seen is a request as mia sees it now.
func (c *crew) seen(id string) leader.Row {
	c.t.Helper()
	box := c.Connect("mia")
	defer box.Close()
	return c.row(box, id)
}
