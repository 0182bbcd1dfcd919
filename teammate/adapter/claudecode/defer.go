package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/planswarm/swarm/mailbox/wholefile"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
)

// ErrDeferred means that the client has ended while its plan waits for a leader: the request stays, and a later [Agent.Run]
// hands the decision to the same session.
var ErrDeferred = errors.New("claudecode: the plan waits for a leader, and the client has ended")

// A deferral is a use of ExitPlanMode that the client has put off: measured on 2.1.197, a session that is resumed asks about
// it again, under the same id, before it does anything else.
type deferral struct {
	Session   string `json:"session"`
	ToolUseID string `json:"toolUseId"`
	PlanID    string `json:"planId"`
	Revision  int    `json:"revision"`
}

// putOff hands a plan in and has the client end. It counts when the client has said that it did.
func (a *Agent) putOff(ctx context.Context, in hookInput) any {
	sub, err := a.submission(in.ToolInput)
	if err != nil {
		return Deny(why(err))
	}
	pending, err := a.runner.Submit(ctx, sub)
	if err != nil {
		return Deny("the plan was not handed in: " + why(err))
	}
	v, _ := a.runner.View()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.handedIn = &deferral{in.SessionID, in.ToolUseID, v.PlanID, pending.Revision}
	return verdict("defer", "a leader decides, and may take days", nil)
}

// defers reports whether ExitPlanMode is put off, and not asked about.
func (a *Agent) defers(in hookInput) bool {
	v, ok := a.runner.View()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cfg.Detach && in.AgentID == "" && a.answer == nil && ok && v.State != planmode.Working
}

// notPutOff is the revision of a plan that was to be put off, where the client asks about it all the same: it puts off only
// what its model uses alone.
func (a *Agent) notPutOff(id string) (revision int, yes bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	d := a.handedIn
	if d == nil || d.ToolUseID != id {
		return 0, false
	}
	a.handedIn = nil
	return d.Revision, true
}

// deferred notes, when the client has ended its turn so, that its plan waits.
func (a *Agent) deferred(m incoming) error {
	a.mu.Lock()
	d := a.handedIn
	a.mu.Unlock()
	if m.StopReason != stopDeferred || d == nil {
		return nil
	}
	if err := wholefile.Write(a.cfg.DeferFile, []byte(mustJSON(d)+"\n")); err != nil {
		return fmt.Errorf("claudecode: what was put off cannot be kept: %w", err)
	}
	return ErrDeferred
}

// lookFor is how long a decision that the team knows of may take to arrive.
const lookFor = 5 * time.Second

// stopDeferred is why a turn ended whose last use of a tool was put off.
const stopDeferred = "tool_deferred"

// putOffBefore is what the client of an earlier run has put off, or nil.
func (a *Agent) putOffBefore() *deferral {
	data, err := os.ReadFile(a.cfg.DeferFile)
	var d deferral
	if err != nil || json.Unmarshal(data, &d) != nil || d.Session == "" || d.Session != a.lastSession() {
		return nil
	}
	return &d
}

// decidedMeanwhile waits for the word about a plan that was put off: for ever with Watch, else not at all. It returns nil
// where the plan is another one by now.
func (a *Agent) decidedMeanwhile(ctx context.Context, d *deferral) (*teammate.Answer, error) {
	v, ok := a.runner.View()
	if !ok || v.PlanID != d.PlanID || v.Revision != d.Revision {
		return nil, nil
	}
	if v.Pending != nil && !a.cfg.Watch {
		soon, cancel := context.WithTimeoutCause(ctx, lookFor, ErrDeferred) // the team may know of a decision already
		defer cancel()
		ctx = soon
	}
	answer, err := a.runner.WaitDecision(ctx, d.Revision)
	if err != nil {
		return nil, err
	}
	return &answer, nil
}

// takeAnswer is the decision about a use of ExitPlanMode that was put off, once. What the client shows as the plan counts
// for nothing: where it differs from what was approved, the approved bytes go to it.
func (a *Agent) takeAnswer(id string, input map[string]any) (teammate.Answer, bool) {
	a.mu.Lock()
	answer := a.answer
	a.answer = nil
	a.mu.Unlock()
	if answer == nil {
		return teammate.Answer{}, false
	}
	_ = os.Remove(a.cfg.DeferFile) // before the client is told: what is answered is not answered again
	if id != a.putOffID {
		return teammate.Answer{}, false
	}
	if text, err := os.ReadFile(answer.PlanFile); err == nil && answer.Outcome == planmode.OutcomeApproved {
		answer.Edited = answer.Edited || input["plan"] != string(text)
	}
	return *answer, true
}

// answerWords tell of a decision where the client does not ask again.
func answerWords(answer teammate.Answer) string {
	if answer.Outcome == planmode.OutcomeApproved {
		return join("Your plan is approved. Follow it strictly; it lies at "+plans.VisibleLine(answer.PlanFile)+".", notesOf(answer))
	}
	return wordsOf(answer)
}
