package planmode

import (
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

// reissued is rows 29 to 31: the slot of the pending request is spent on something unusable, so the same bytes are asked
// again under another id, [MaxAttempts] times at most.
func (s *step) reissued(ev Reissued) error {
	if s.Pending == nil || s.Pending.RequestID != ev.Old {
		return nil
	}
	cause := strings.ToValidUTF8(ev.Cause, "\uFFFD")
	old := s.Pending
	refused := mailbox.Receipt{Of: ev.Old, State: mailbox.Refused, Reason: cause}
	if old.Attempt >= MaxAttempts {
		s.giveUp(refused)
		return nil
	}
	if err := s.fresh(ev.New); err != nil {
		return err
	}
	s.settle(ev.Old, SettledRefused, refused)
	p := clonePending(old)
	p.RequestID, p.Supersedes, p.Why = ev.New, ev.Old, cause
	p.Attempt, p.Published, p.Epoch = old.Attempt+1, false, ev.Epoch
	if ev.Epoch == 0 {
		p.Epoch = s.Epoch
	}
	s.Pending = p
	s.do(SendReceipt{refused}, StopWatch{ev.Old})
	s.publish()
	s.do(WatchDecision{ev.New})
	s.emit("decision.refused", "requestId", ev.Old, "cause", cause, "again", ev.New)
	return nil
}

// giveUp is row 30: somebody keeps spoiling the slots. The agent may submit again.
func (s *step) giveUp(refused mailbox.Receipt) {
	p := *s.Pending
	s.settle(refused.Of, SettledRefused, refused)
	s.State, s.Pending = Planning, nil
	s.do(SendReceipt{refused}, StopWatch{refused.Of})
	s.notifyOnce(refused.Of+"/undecidable", NotifyUndecidable, Notice{
		RequestID: p.RequestID, Revision: p.Revision, Cause: refused.Reason + ": submit again",
	})
	s.emit("security", "cause", "undecidable", "requestId", refused.Of, "reason", refused.Reason)
}

// withdraw is row 32, and the first of row 34.
func (s *step) withdraw(reason WithdrawReason) {
	if s.Pending == nil {
		return
	}
	p, reason := *s.Pending, known(reason)
	s.refuse(p.RequestID, SettledWithdrawn, "withdrawn: "+string(reason))
	s.State, s.Pending = Planning, nil
	s.do(PublishWithdrawn{p.RequestID, reason}, StopWatch{p.RequestID}, SetMode{permissions.ModePlan})
	s.notifyOnce(p.RequestID+"/"+string(reason), NotifyStillPlan, Notice{
		RequestID: p.RequestID, Revision: p.Revision, Cause: string(reason),
	})
	s.emit("plan.withdrawn", "requestId", p.RequestID, "digest", p.Digest, "reason", reason)
}

// known is the reason, or the agent's own wish when it is none of the protocol's words.
func known(r WithdrawReason) WithdrawReason {
	reasons := []WithdrawReason{
		WithdrawnByAgent, WithdrawnInterrupt, WithdrawnReplanned, WithdrawnExit, WithdrawnAgentLost, WithdrawnNewTeam,
	}
	if slices.Contains(reasons, r) {
		return r
	}
	return WithdrawnByAgent
}

// interrupted is rows 32 to 34: an interrupt never opens the gate, and nobody waits any more for what was asked.
func (s *step) interrupted() {
	s.dropAsks(WithdrawnInterrupt, true)
	switch s.State {
	case AwaitingLeaderApproval:
		s.withdraw(WithdrawnInterrupt)
	case Planning:
		s.do(SetMode{permissions.ModePlan})
	}
}

// agentLost is rows 32 and 34.
func (s *step) agentLost(ev AgentLost) {
	if !ev.CanResumeAsk {
		s.withdraw(WithdrawnAgentLost)
	}
}
