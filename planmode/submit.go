package planmode

import (
	"errors"
	"fmt"

	"github.com/planswarm/swarm/plans"
)

// submitted is rows 7 to 12.
func (s *step) submitted(ev Submitted) error {
	if s.State == Working {
		return ErrNotPlanning
	}
	if err := s.checkSubmitted(ev); err != nil {
		return err
	}
	if len(ev.Options) == 1 {
		ev.Options = nil // nothing to choose: a plain plan
	}
	if p := s.Pending; p != nil && p.Kind == AskPlan && s.digestOf(ev, p.Revision) == p.Digest {
		s.stillAwaiting()
		return nil
	}
	if err := s.fresh(ev.RequestID); err != nil {
		return err
	}
	s.request(Pending{
		RequestID: ev.RequestID, Kind: AskPlan, Plan: ev.Plan,
		Prompts: ev.Prompts, Options: ev.Options, Facts: ev.Facts, Tasks: ev.Tasks, Base: ev.Base, Reads: ev.Reads,
		RequestedMode: ev.RequestedMode, Addresses: ev.Addresses, Deadline: ev.Deadline, Runners: ev.Runners,
		Unchanged: s.Cycle.Rejected != "" && s.Cycle.Rejected == ev.Plan.Digest,
		Digest:    s.digestOf(ev, s.Cycle.Revision+1),
	})
	return nil
}

// checkSubmitted is rows 8 and 9. An id that was settled is refused even with the bytes that are pending.
func (s *step) checkSubmitted(ev Submitted) error {
	if err := checkPlan(ev.Content); err != nil {
		return err
	}
	if ev.Plan.Digest != plans.Digest(ev.Content) {
		return fmt.Errorf("%w: its bytes are not those of the stored revision %q: submit again", ErrBadPlan, ev.Plan.Digest)
	}
	if err := checkPrompts(ev.Prompts); err != nil {
		return err
	}
	if err := checkOptions(s.dialect().Labels, ev.Options); err != nil {
		return err
	}
	if ev.RequestedMode != "" {
		if err := checkTarget(ev.RequestedMode, s.ceiling()); err != nil {
			return err
		}
	}
	if err := CheckDeadline(ev.Deadline); err != nil {
		return err
	}
	if p := s.Pending; p != nil && p.RequestID == ev.RequestID {
		return nil // a retry of what is pending, or refused by fresh
	}
	return s.fresh(ev.RequestID)
}

// checkPlan is row 8, and row 24 for an edited plan.
func checkPlan(content []byte) error {
	err := plans.Check(content)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, plans.ErrEmpty):
		return ErrEmptyPlan
	}
	return fmt.Errorf("%w: %w", ErrBadPlan, err)
}

func (s *step) digestOf(ev Submitted, revision int) string {
	return Digest(DigestInput{
		TeamID: s.Team, Teammate: s.Teammate, PlanID: s.Cycle.PlanID, Revision: revision,
		Content: ev.Content, Prompts: ev.Prompts, Options: ev.Options, RequestedMode: ev.RequestedMode,
	})
}

// request opens the one pending request, or replaces it (rows 10, 12, 36, 38).
func (s *step) request(p Pending) {
	old := s.Pending
	s.Cycle.Revision++
	p.Revision, p.Epoch, p.Attempt = s.Cycle.Revision, s.Epoch, 1
	if old != nil {
		s.refuse(old.RequestID, SettledSuperseded, "superseded")
		s.do(StopWatch{old.RequestID})
		p.Supersedes = old.RequestID
	}
	s.State, s.Pending = AwaitingLeaderApproval, clonePending(&p)
	s.publish()
	s.do(WatchDecision{p.RequestID})
	switch {
	case old != nil:
		s.emit("plan.revised", "requestId", p.RequestID, "kind", p.Kind, "revision", p.Revision, "digest", p.Digest, "supersedes", old.RequestID)
	case p.Kind == AskPlan:
		s.emit("plan.submitted", "requestId", p.RequestID, "revision", p.Revision, "digest", p.Digest)
		s.do(ReportStatus{})
	}
}

// publish sends the pending request, with everything that makes the same message of it each time.
func (s *step) publish() {
	p := *clonePending(s.Pending)
	s.do(PublishRequest{Pending: p, Cycle: s.Cycle, Saved: s.Saved, Supersedes: p.Supersedes, Why: p.Why})
}

// stillAwaiting is row 11: the same request, under its own id.
func (s *step) stillAwaiting() {
	if !s.Pending.Published {
		s.publish()
	}
	s.notify(NotifyAwaiting, Notice{})
}

// published is rows 13 and 14.
func (s *step) published(ev Published) {
	if s.Pending != nil && s.Pending.RequestID == ev.RequestID {
		s.Pending.Published = true
	}
}
