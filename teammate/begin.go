package teammate

import (
	"errors"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// begin takes the session up where the journal ends, or begins one.
func (r *Runner) begin(w natsbox.Welcome) error {
	known, resumes := r.cfg.Journal.Session()
	r.seq, _ = r.cfg.Journal.Seq()
	if resumes {
		r.session = known
		r.ended.only(known.Grants)
	}
	if resumes && (known.Teammate != r.cfg.Name || known.Tree != r.cfg.Tree) {
		return fmt.Errorf("%w: it is of %s in %s, and this is %s in %s: start there, or with an empty state folder", ErrOtherJournal, known.Teammate, known.Tree, r.cfg.Name, r.cfg.Tree)
	}
	c, err := r.openCharter(w.Charter)
	if err != nil {
		return err
	}
	if resumes && known.State != planmode.Left {
		r.stale = r.joins.older(known, w)
	}
	if resumes && known.State != planmode.Left && r.stale == "" {
		if err = r.resume(w, c); err == nil {
			err = r.planAgain()
		}
	} else {
		err = r.start(w, c, resumes)
	}
	if err != nil {
		return err
	}
	r.signed = w.Charter
	return errors.Join(r.owned.follow(w.Charter.Handovers), r.joins.joined(w.Epoch), r.joins.restart(w.Ledger.Head))
}

// start begins a session. Where the coordinator has had this teammate before and the journal does not know how it stood,
// it begins in plan mode, without grants, and the leaders are told (THREATS 11).
func (r *Runner) start(w natsbox.Welcome, c charter.Charter, hasLeft bool) error {
	lost, known := r.lost(w, hasLeft), r.session
	r.repeat(lastWords)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = planmode.Session{}
	if lost != "" {
		if err := r.joins.lostAt(r.clock.now()); err != nil {
			return err
		}
	}
	r.prepare()
	_, err := r.stepLocked(planmode.Started{
		Team: c.TeamID, Teammate: r.cfg.Name, Tree: r.cfg.Tree, Mode: r.cfg.Mode, Plan: r.cfg.StartInPlan || lost != "",
		PlanID: r.cfg.NewID(), PlanFile: r.cfg.Store.WorkFile(), Epoch: w.Epoch, Charter: c, Dialect: r.cfg.Dialect.Name,
	}, func(next *planmode.Session) error {
		if known.Team == next.Team { // an order or a request of the session before is none of this one
			next.Orders, next.Settled = known.Orders, known.Settled
		}
		next.Orders = merged(next.Orders, w.Orders, c) // else what the team knows would contradict this journal too
		return nil
	})
	if err != nil {
		return err
	}
	if lost != "" {
		r.log.Error("teammate: begins in plan mode, without grants", "cause", lost)
		r.tell(fmt.Sprintf("What %s remembers cannot be relied on (%s). It is in plan mode, and no grant is in force. What waited for a decision has to be submitted again.", r.cfg.Name, lost))
	}
	return nil
}

// lost says why what was before is not known, "" when it is, or when there was nothing.
func (r *Runner) lost(w natsbox.Welcome, hasLeft bool) string {
	switch err := r.cfg.Journal.Lost(); {
	case err != nil:
		return err.Error()
	case r.stale != "":
		return r.stale
	case w.Epoch > 1 && !hasLeft:
		return fmt.Sprintf("it is missing, and the team has known this teammate in epoch %d", w.Epoch-1)
	}
	return ""
}

// maxSetBack is how far the wall clock may have been set back while nobody ran, for the time of the journal's last line to
// go on from there: grants are not given the time between. Where it is further, one of the two times is wrong, and nobody
// knows how long a grant has lived: all of them end.
const maxSetBack = 24 * time.Hour

// resume goes on: what was under way is done again first, then the session says what has to be asserted.
func (r *Runner) resume(w natsbox.Welcome, c charter.Charter) error {
	_, last := r.cfg.Journal.Seq()
	back := last.Sub(r.clock.now())
	if 0 < back && back <= maxSetBack {
		r.clock.goOn(last)
	}
	r.view.Store(r.viewOf(r.session, r.seq))
	r.resumed.Store(true)
	r.repeat(r.unfinished)
	now := r.clock.now()
	if back > maxSetBack {
		r.log.Error("teammate: the clock stands long before the journal's last line: grants end", "by", back)
		now = time.Unix(1<<33, 0) // whatever ends some day has ended
	}
	if _, err := r.step(planmode.Resumed{
		Epoch: w.Epoch, Team: c.TeamID, Now: now, Dialect: r.cfg.Dialect.Name, PlanFile: r.cfg.Store.WorkFile(),
	}); err != nil {
		return err
	}
	if err := r.withdrawAsks(); err != nil {
		return err
	}
	if sameCharter(r.session.Charter, c) {
		return nil
	}
	return r.takeCharter(w.Charter, c)
}

// planAgain is the person's wish that a session which is taken up plans first. Who plans already stays as it is.
func (r *Runner) planAgain() error {
	r.prepare()
	if !r.cfg.PlanAgain || r.session.State != planmode.Working {
		return nil
	}
	r.fresh()
	_, err := r.step(planmode.Entered{By: planmode.ByFlag, From: r.session.Mode, PlanID: r.cfg.NewID(), PlanFile: r.cfg.Store.WorkFile()})
	return err
}

// repeat has the effects that were not all carried out carried out again, as far as they still matter.
func (r *Runner) repeat(matter func([]planmode.Effect) []planmode.Effect) {
	r.cfg.Journal.Unfinished(func(seq uint64, plan string, effects []planmode.Effect) bool {
		r.work.push(&record{seq: seq, plan: plan, effects: matter(effects), again: true, local: make(chan struct{})})
		return true
	})
}

// lastWords are what a session that has left still owes the leaders.
func lastWords(effects []planmode.Effect) []planmode.Effect {
	var owed []planmode.Effect
	for _, e := range effects {
		switch e := e.(type) {
		case planmode.PublishWithdrawn, planmode.SendReceipt:
			owed = append(owed, e)
		}
	}
	return owed
}

// unfinished leaves out of an earlier process's effects what only concerned that process: nothing runs, and nobody waits,
// that it had started.
func (r *Runner) unfinished(effects []planmode.Effect) []planmode.Effect {
	var again []planmode.Effect
	for _, e := range effects {
		switch e := e.(type) {
		case planmode.StopAgent:
			continue
		case planmode.WritePlan:
			if r.session.State != planmode.Working {
				continue // a later round of planning has the file
			}
			again = append(again, e)
		default:
			again = append(again, e)
		}
	}
	return again
}
