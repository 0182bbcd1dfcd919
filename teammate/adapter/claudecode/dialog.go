package claudecode

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
)

var (
	// errTerminal means that the person at the terminal has closed a dialog, with a no or by going on.
	errTerminal = errors.New("claudecode: the person at the terminal has answered")
	// errTerminalYes means that they said yes. It is no approval.
	errTerminalYes = errors.New("claudecode: the person at the terminal has said yes, and is no leader")
)

// A dialog is a question that the client shows its person while our hook asks a leader: the first of both ends it.
type dialog struct {
	o      *Own
	key    string
	cancel context.CancelCauseFunc
}

// openDialog notes that a dialog is open. Its context ends when the person at the terminal is first.
func (o *Own) openDialog(ctx context.Context, in hookInput) (*dialog, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &dialog{o, in.ToolName + " " + in.SessionID, cancel}
	o.mu.Lock()
	defer o.mu.Unlock()
	if old := o.dialogs[d.key]; old != nil {
		old.cancel(errTerminal)
	}
	o.dialogs[d.key] = d
	return d, ctx
}

func (d *dialog) close() {
	d.cancel(nil)
	d.o.mu.Lock()
	defer d.o.mu.Unlock()
	if d.o.dialogs[d.key] == d {
		delete(d.o.dialogs, d.key)
	}
}

// dialogOver ends the dialogs of a session: the client goes on, so that its person has answered. What a child does says
// nothing about them.
func (o *Own) dialogOver(in hookInput, cause error) {
	if in.AgentID != "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, tool := range []string{"ExitPlanMode", "AskUserQuestion"} {
		if d := o.dialogs[tool+" "+in.SessionID]; d != nil {
			d.cancel(cause)
		}
	}
}

// handIn hands a plan in and waits for a leader, while the client shows it to its person.
func (o *Own) handIn(ctx context.Context, in hookInput) any {
	v, ok := o.runner.View()
	if !ok || in.AgentID != "" {
		return permissionAnswer(denies("%s", why(teammate.ErrNotReady)), "")
	}
	if v.State == planmode.Working { // by a leader's word, and only the client still shows plan mode
		return permissionAnswer(opens(withoutPlan(in.ToolInput), v.Mode), "")
	}
	d, ctx := o.openDialog(ctx, in)
	defer d.close()
	defer o.decides()()
	sub, err := o.submission(in.ToolInput)
	if err != nil {
		return permissionAnswer(denies("%s", err), "")
	}
	pending, err := o.runner.Submit(ctx, sub)
	if err != nil {
		return permissionAnswer(denies("the plan was not handed in: %s", why(err)), "")
	}
	answer, err := o.runner.WaitDecision(ctx, pending.Revision)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTerminalYes):
		return permissionAnswer(denies("%s", why(cause)), "") // the hook of what came of it waits on
	case err != nil:
		o.takenBack(ctx)
		return permissionAnswer(denies("no leader has answered, and you are still in plan mode: %s", why(err)), "")
	}
	o.setShown(answer)
	return permissionAnswer(o.decided(answer, in.ToolInput), toTerminal(pending.Handle, answer))
}

// takenBack withdraws what waits for a leader: nobody waits for it any more. What was decided meanwhile stays decided.
func (o *Own) takenBack(ctx context.Context) {
	if err := o.runner.Interrupt(context.WithoutCancel(ctx)); err != nil {
		o.cfg.Logger.Warn("claudecode: the plan that waits was not taken back", "cause", err)
	}
}

// decides has the answers of leaders not told besides: the answer to a hook says the same. The returned func ends that.
func (a *Agent) decides() func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deciding++
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deciding--
	}
}

// setShown notes the mode that an approval puts the client into.
func (o *Own) setShown(answer teammate.Answer) {
	if answer.Outcome != planmode.OutcomeApproved {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shown = clientMode(answer.Mode)
}

// after takes what a tool has done. ExitPlanMode has run when its dialog was answered with yes: by our hook for a leader, or
// by the person at the terminal, who decides nothing. Then it waits here for the leader.
func (o *Own) after(ctx context.Context, in hookInput) any {
	o.wasAllowed(in.ToolName, in.ToolInput) // it is over, and nobody will ask about it
	switch {
	case in.ToolName == "ExitPlanMode" && in.AgentID == "":
		return o.leftByTerminal(ctx, in)
	case in.ToolName == "AskUserQuestion":
		o.dialogOver(in, errTerminal)
	case !o.hasBegun(in):
		o.unhooked(ctx, in)
	}
	if in.AgentID != "" {
		return object{}
	}
	return withContext(in.Event, o.untold())
}

// leftByTerminal holds ExitPlanMode until a leader has decided, where the person at the terminal was first.
func (o *Own) leftByTerminal(ctx context.Context, in hookInput) any {
	defer o.decides()()
	v, ok := o.runner.View()
	if ok && v.State == planmode.Working {
		return withContext(in.Event, o.untold())
	}
	o.dialogOver(in, errTerminalYes)
	if ok && v.Pending != nil {
		o.tellLeaders(ctx, "yes at the terminal, which decides nothing", fmt.Sprintf("The person at the terminal of %s has said yes to its plan %s. That decides nothing: it waits for a leader.",
			o.cfg.Name, mailbox.Handle(o.cfg.Name, v.Pending.RequestID, 4)))
	}
	answer, err := o.runner.WaitDecision(ctx, 0)
	switch {
	case err != nil:
		o.takenBack(ctx)
		return Refuse(in.Event, "no leader has approved the plan, and you are still in plan mode: "+why(err)+". "+wordsAnew)
	case answer.Outcome != planmode.OutcomeApproved && answer.State != planmode.Working:
		return Refuse(in.Event, wordsOf(answer)+" "+wordsAnew)
	case answer.Outcome != planmode.OutcomeApproved:
		return Refuse(in.Event, wordsOf(answer))
	}
	text := join("Your leader has approved the plan; what the person at the terminal answered did not decide it.", notesOf(answer))
	if shown, _ := in.ToolInput["plan"].(string); answer.Edited || shown != o.approvedText(answer) {
		text = join(text, "This is what is approved, and not what the terminal showed:", o.approvedText(answer))
	}
	out := withContext(in.Event, text)
	out["systemMessage"] = toTerminal("", answer)
	return out
}

// unhooked is a use of a tool that our hook was never asked about: somebody has switched it off. What waits is taken back.
func (o *Own) unhooked(ctx context.Context, in hookInput) {
	o.cfg.Logger.Error("claudecode: a tool was used without our hook", "tool", in.ToolName)
	o.takenBack(ctx)
	o.tellLeaders(ctx, "a tool was used without asking swarm", fmt.Sprintf("The client of %s has used %s without asking swarm: its hooks were switched off or changed. What waited for you is taken back.",
		o.cfg.Name, plans.VisibleLine(plans.Cut(in.ToolName, 60))))
}

// approvedText is what a leader has approved.
func (o *Own) approvedText(answer teammate.Answer) string {
	text, err := os.ReadFile(answer.PlanFile)
	if err != nil {
		return "(it cannot be read: " + why(err) + ")"
	}
	return string(text)
}

func (o *Own) tellLeaders(ctx context.Context, summary, text string) {
	if _, err := o.runner.SendMail(context.WithoutCancel(ctx), "lead", mailbox.Message{Text: text, Summary: summary}); err != nil {
		o.cfg.Logger.Warn("claudecode: the leaders were not told", "cause", err)
	}
}

// toTerminal tells the person what a leader has decided.
func toTerminal(handle string, a teammate.Answer) string {
	by := "a leader"
	if a.By != nil {
		by = plans.VisibleLine(a.By.Name)
	}
	plan := "the plan"
	if handle != "" {
		plan += " " + handle
	}
	switch a.Outcome {
	case planmode.OutcomeApproved:
		return fmt.Sprintf("swarm: %s approved %s; mode %s", by, plan, a.Mode)
	case planmode.OutcomeRejected, planmode.OutcomeRejectedAndExit:
		return fmt.Sprintf("swarm: %s rejected %s", by, plan)
	}
	return fmt.Sprintf("swarm: %s is %s", plan, a.Outcome)
}
