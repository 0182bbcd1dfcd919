package planmode

import (
	"fmt"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// decided is rows 15 to 28. A decision is taken once: after that its recorded receipt is sent again.
func (s *step) decided(ev Decided) error {
	id := ev.Decision.RequestID
	if s.receiptAgain(id) {
		return nil
	}
	if s.Pending == nil || s.Pending.RequestID != id {
		return fmt.Errorf("%w: it answers %q, which is not open", ErrStaleDecision, id)
	}
	if err := s.checkDecided(ev); err != nil {
		return err
	}
	switch ev.Decision.Outcome {
	case OutcomeApproved:
		s.approve(ev)
	case OutcomeRejectedAndExit:
		s.rejectAndExit(ev)
	default:
		s.reject(ev)
	}
	return nil
}

// checkDecided is rows 17 to 24. What is compared is the teammate's own copy of its request.
func (s *step) checkDecided(ev Decided) error {
	p := s.Pending
	switch {
	case ev.Team != s.Team || ev.To != s.Teammate:
		return fmt.Errorf("%w: it is for %q in team %q, and this is %q in %q", ErrNotLeader, ev.To, ev.Team, s.Teammate, s.Team)
	case ev.V != mailbox.Version:
		return fmt.Errorf("%w: version %d, and this is version %d: use the same swarm", ErrUnknownOutcome, ev.V, mailbox.Version)
	}
	return CheckDecision(CheckInput{
		TeamID: s.Team, Teammate: s.Teammate, RequestID: p.RequestID, Epoch: p.Epoch, Kind: p.Kind,
		PlanID: s.Cycle.PlanID, Revision: p.Revision, Digest: p.Digest, Content: ev.Content,
		Prompts: p.Prompts, Options: p.Options, RequestedMode: p.RequestedMode,
		Cap: s.ceiling(), Grants: s.Charter.Caps.Grants,
		Decision: ev.Decision, Authority: ev.Authority, Now: ev.Now,
	})
}

// approve is rows 25 and 26: the mode that the decision names, then the grants, and the receipt when all of it is done.
func (s *step) approve(ev Decided) {
	p, d := *s.Pending, ev.Decision
	s.open(d.Mode)
	receipt := mailbox.Receipt{Of: p.RequestID, State: mailbox.Applied, Mode: string(d.Mode)}
	if p.Kind == AskLeave {
		s.settle(p.RequestID, SettledApplied, receipt)
		s.do(SetMode{d.Mode})
		s.dropAsks(WithdrawnReplanned, true)
		s.told(NotifyLeft, p, ev)
		s.do(StopWatch{p.RequestID})
		s.emit("plan.left", "requestId", p.RequestID, "digest", p.Digest, "mode", d.Mode, "by", decidedBy(d.OrderHead, ev.Authority).Name)
		s.emit("mode.restored", "mode", d.Mode)
		s.do(ReportStatus{}, SendReceipt{receipt})
		return
	}
	s.grant(p, ev)
	receipt.Digest, receipt.Grants = s.Approved.Digest, promptsOf(s.Grants)
	s.settle(p.RequestID, SettledApplied, receipt)
	s.do(writePlan(p, d), SetMode{d.Mode})
	if len(s.Grants) > 0 {
		s.do(AddGrants{cloneGrants(s.Grants)})
	}
	s.dropAsks(WithdrawnReplanned, true)
	s.told(NotifyApproved, p, ev)
	s.do(StopWatch{p.RequestID})
	s.emit("plan.approved", "requestId", p.RequestID, "planId", s.Cycle.PlanID, "revision", p.Revision,
		"digest", s.Approved.Digest, "mode", d.Mode, "option", d.Option, "grants", len(s.Grants), "by", decidedBy(d.OrderHead, ev.Authority).Name)
	if d.PlanWasEdited {
		s.emit("plan.edited", "requestId", p.RequestID, "digest", s.Approved.Digest)
	}
	s.emit("mode.restored", "mode", d.Mode)
	s.do(ReportStatus{}, SendReceipt{receipt})
}

// grant puts the decision's grants in force, bound to everything that invariant 6 names. The number in a grant's id is
// that of the prompt, so that it is the same whatever else is granted.
func (s *step) grant(p Pending, ev Decided) {
	d, digest := ev.Decision, p.Digest
	if d.ApprovedDigest != "" {
		digest = d.ApprovedDigest
	}
	title, tasks := p.Plan.Title, p.Tasks
	if d.PlanWasEdited {
		title, tasks = plans.Title(d.EditedPlan), plans.Tasks(d.EditedPlan)
	}
	s.Approved = &Approval{
		PlanID: s.Cycle.PlanID, Revision: p.Revision, Digest: digest, RequestID: p.RequestID,
		Option: d.Option, Title: title, Until: until(d.Grants), Content: writePlan(p, d).Digest, Tasks: taskStates(tasks),
	}
	s.Grants = nil
	asked, _ := matchGrants(p.Prompts, d.Grants) // checked before
	for i, n := range asked {
		s.Grants = append(s.Grants, permissions.Grant{
			GrantTerms: d.Grants[i], ID: fmt.Sprintf("%s/%d", p.RequestID, n+1), Teammate: s.Teammate,
			PlanID: s.Cycle.PlanID, RequestID: p.RequestID, Digest: digest, Root: s.Tree,
			GrantedBy: decidedBy(d.OrderHead, ev.Authority).Name,
			Runners:   s.runnersOf(p, d, d.Grants[i].Intent),
		})
	}
}

// until is when the last of the grants ends, and zero without any: fewer grants never lead to longer ones later.
func until(grants []permissions.GrantTerms) (last time.Time) {
	for _, g := range grants {
		if g.ExpiresAt.After(last) {
			last = g.ExpiresAt
		}
	}
	return last
}

func promptsOf(grants []permissions.Grant) []string {
	var prompts []string
	for _, g := range grants {
		prompts = append(prompts, g.Prompt)
	}
	return prompts
}

func writePlan(p Pending, d Decision) WritePlan {
	if !d.PlanWasEdited {
		return WritePlan{Digest: p.Plan.Digest}
	}
	return WritePlan{Digest: plans.Digest(d.EditedPlan), Edited: slices.Clone(d.EditedPlan)}
}

// reject is row 27: plan mode is asserted again.
func (s *step) reject(ev Decided) {
	p, d := *s.Pending, ev.Decision
	kind, event := NotifyRejected, "plan.rejected"
	if d.Outcome == OutcomeExpired {
		kind, event = NotifyExpired, "plan.expired"
	} else {
		s.Cycle.Rejected = p.Plan.Digest
	}
	receipt := mailbox.Receipt{Of: p.RequestID, State: mailbox.Applied, Mode: string(permissions.ModePlan)}
	s.settle(p.RequestID, SettledApplied, receipt)
	s.State, s.Pending = Planning, nil
	s.do(SetMode{permissions.ModePlan})
	s.told(kind, p, ev)
	s.do(StopWatch{p.RequestID})
	s.emit(event, "requestId", p.RequestID, "revision", p.Revision, "digest", p.Digest, "by", decidedBy(d.OrderHead, ev.Authority).Name)
	s.do(SendReceipt{receipt})
}

// rejectAndExit is row 28: out of plan mode without a plan, in the narrowest mode that anybody has named.
func (s *step) rejectAndExit(ev Decided) {
	p, d := *s.Pending, ev.Decision
	s.open(permissions.MinMode(permissions.MinMode(d.Mode, s.Saved), s.ceiling()))
	receipt := mailbox.Receipt{Of: p.RequestID, State: mailbox.Applied, Mode: string(s.Mode)}
	s.settle(p.RequestID, SettledApplied, receipt)
	s.do(SetMode{s.Mode})
	s.dropAsks(WithdrawnReplanned, true)
	s.told(NotifyLeft, p, ev)
	s.do(StopWatch{p.RequestID})
	s.emit("plan.left", "requestId", p.RequestID, "digest", p.Digest, "mode", s.Mode, "by", decidedBy(d.OrderHead, ev.Authority).Name)
	s.do(SendReceipt{receipt})
}

// followIt is what to do with an approved plan.
func (s Session) followIt() string {
	a := s.Approved
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("follow the approved plan strictly; it is in %s", s.Cycle.PlanFile)
	if a.Option != "" {
		text += fmt.Sprintf("; carry out only %q of its approaches", a.Option)
	}
	return text + ". When all of it is done: swarm plan done"
}

// told tells the agent what was decided. Everything that a leader wrote in it was signed.
func (s *step) told(kind NotifyKind, p Pending, ev Decided) {
	d := ev.Decision
	data := Notice{
		RequestID: p.RequestID, Revision: p.Revision, Plan: slices.Clone(d.EditedPlan), Edited: d.PlanWasEdited,
		Feedback: d.Feedback, Comments: slices.Clone(d.Comments), By: decidedBy(d.OrderHead, ev.Authority),
	}
	if d.Outcome == OutcomeApproved {
		data.Option, data.Grants = d.Option, slices.Clone(d.Grants)
	}
	if kind == NotifyApproved {
		data.Next = s.followIt()
	}
	if kind == NotifyRejected && d.Feedback == "" && len(d.Comments) == 0 {
		data.Cause = "no feedback was given: ask your leader what to change"
	}
	s.notifyOnce(p.RequestID+"/"+string(d.Outcome), kind, data)
}
