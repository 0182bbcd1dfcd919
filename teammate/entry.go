package teammate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// maxReason is how long the reason of a wish to plan may be, in bytes.
const maxReason = 4096

// Entry is an agent's wish to plan.
type Entry struct {
	// Reason is for people; the agent is not told its own words again.
	Reason string
	// CanAsk says that the agent's client can ask its person, where the dialect wants that. Person is what came of it, "" when
	// it was not asked yet.
	CanAsk bool
	Person planmode.Resolution
}

// Enter puts the teammate into plan mode without asking anybody. Who plans already stays where it is, with the mode that was
// saved.
func (r *Runner) Enter(ctx context.Context, by planmode.EnteredBy) error {
	return r.enter(ctx, planmode.Entered{By: by})
}

// EnterPlan is the agent's own way into plan mode, as its dialect has it: first what is given is checked, then whoever has to
// agree is asked, and what came of it is an event. [ErrAskPerson] means that the client is to ask and to call again,
// [planmode.ErrEntryRefused] that it came to nothing, and what to do instead. Where ctx ends first, nothing changes.
func (r *Runner) EnterPlan(ctx context.Context, e Entry) error {
	v, ok := r.View()
	if !ok {
		return r.absent()
	}
	switch {
	case !r.cfg.offersPlanMode():
		return ErrNoPlanMode
	case !utf8.ValidString(e.Reason) || len(e.Reason) > maxReason:
		return fmt.Errorf("%w: it has %d bytes, at most %d of UTF-8: shorten it", ErrBadReason, len(e.Reason), maxReason)
	case v.State != planmode.Working && r.cfg.Dialect.Entry.TwiceIsError:
		return fmt.Errorf("%w (%s)", planmode.ErrPlanning, v.PlanFile)
	case v.State != planmode.Working:
		return r.Enter(ctx, planmode.ByAgent)
	}
	resolved, refusal, err := r.confirmEntry(ctx, v, e)
	switch {
	case errors.Is(err, ErrAskPerson):
		return err
	case err != nil: // the question was given up: nobody has said no
		return errors.Join(err, r.do(context.WithoutCancel(ctx), planmode.EntryRefused{Resolved: planmode.ResolvedDismissed, Reason: e.Reason, Cause: refusal.Cause}))
	case resolved == planmode.ResolvedAuto || resolved == planmode.ResolvedAsked:
		return r.enter(ctx, planmode.Entered{By: planmode.ByAgent, Resolved: resolved, Reason: e.Reason})
	}
	refusal.Resolved, refusal.Reason = resolved, e.Reason
	if err := r.do(ctx, refusal); err != nil {
		return err
	}
	return refusedEntry(refusal)
}

// refusedEntry tells the agent what to do instead.
func refusedEntry(e planmode.EntryRefused) error {
	switch {
	case e.Resolved == planmode.ResolvedDismissed:
		return fmt.Errorf("%w: the question was closed without an answer: implement directly, in the mode that you have", planmode.ErrEntryRefused)
	case e.Cause == "":
		return fmt.Errorf("%w: it was not agreed to: ask your leader how to go on before you try again", planmode.ErrEntryRefused)
	}
	return fmt.Errorf("%w: %s", planmode.ErrEntryRefused, e.Cause)
}

// confirmEntry asks whoever has to agree.
func (r *Runner) confirmEntry(ctx context.Context, v View, e Entry) (planmode.Resolution, planmode.EntryRefused, error) {
	var no planmode.EntryRefused
	tool := r.cfg.Dialect.Tools.Enter
	rule, why := r.ruleOn(v, tool)
	switch r.cfg.Dialect.Entry.Asks(v.Mode, r.cfg.Attended, rule) {
	case planmode.ConfirmDeny:
		no.Cause = why
		if no.Cause == "" {
			no.Cause = fmt.Sprintf("not from mode %s, which a person has chosen: ask for another mode first", v.Mode)
		}
		return planmode.ResolvedRefused, no, nil
	case planmode.ConfirmPerson:
		if !e.CanAsk {
			return planmode.ResolvedAuto, no, nil // it only narrows
		}
		if e.Person == "" {
			return "", no, ErrAskPerson
		}
		no.By = "person"
		return e.Person, no, nil
	case planmode.ConfirmLeader:
		return r.askLeader(ctx, v, permissions.Call{Tool: tool, Change: e.Reason, Cwd: v.Tree})
	}
	return planmode.ResolvedAuto, no, nil
}

// askLeader asks the leaders about a call that narrows.
func (r *Runner) askLeader(ctx context.Context, v View, call permissions.Call) (planmode.Resolution, planmode.EntryRefused, error) {
	answer, err := r.Ask(ctx, Asking{Call: call, Decision: r.Decide(v, call)})
	switch {
	case err != nil:
		return "", planmode.EntryRefused{}, err
	case answer.Behavior == permissions.BehaviorAllow:
		return planmode.ResolvedAsked, planmode.EntryRefused{}, nil
	}
	return planmode.ResolvedRefused, planmode.EntryRefused{Cause: answer.Message, By: "leader"}, nil
}

// ruleOn is what the rules say that name a tool of plan mode. One that is about every tool is about no way into plan mode or
// out of it: it would keep a teammate from asking its leader.
func (r *Runner) ruleOn(v View, tool string) (verdict permissions.Verdict, why string) {
	d := r.Decide(v, permissions.Call{Tool: tool, Cwd: v.Tree})
	named := func(rule permissions.Rule) bool {
		return rule.Tool == tool && rule.Verdict == d.Verdict && (len(rule.Modes) == 0 || slices.Contains(rule.Modes, v.Mode))
	}
	if !slices.ContainsFunc(r.cfg.Rules, named) {
		return "", ""
	}
	return d.Verdict, d.Reason
}

// mayExit reports a rule that denies handing plans in.
func (r *Runner) mayExit() error {
	v, ok := r.View()
	if !ok {
		return r.absent()
	}
	if rule, why := r.ruleOn(v, r.cfg.Dialect.Tools.Exit); rule == permissions.Deny {
		return fmt.Errorf("%w: %s", ErrExitDenied, why)
	}
	return nil
}

// enter takes an agreed wish to plan. The plans folder is made; where it cannot be, planning begins all the same.
func (r *Runner) enter(ctx context.Context, ev planmode.Entered) error {
	s := r.snapshot()
	if s.State == planmode.Working {
		if s.Cycle.PlanID != "" {
			r.fresh()
		}
		r.prepare()
	}
	ev.PlanID, ev.PlanFile = r.cfg.NewID(), r.cfg.Store.WorkFile()
	return r.doNow(ctx, func(s planmode.Session) planmode.Event {
		ev.From = s.Mode
		return ev
	})
}

// fresh has another round of planning begin with a file of its own, where the dialect has it so.
func (r *Runner) fresh() {
	if !r.cfg.Dialect.FreshFile {
		return
	}
	if err := r.cfg.Store.Fresh(); err != nil {
		r.log.Warn("teammate: the plan file keeps its name", "cause", err)
	}
}

// prepare makes the plans folder, or says why it could not be made.
func (r *Runner) prepare() {
	err := r.cfg.Store.Prepare()
	if err == nil {
		return
	}
	r.log.Warn("teammate: the plans folder could not be made", "cause", err)
	event := planmode.Emit{Event: "plan.folder", Fields: map[string]string{"cause": err.Error()}}
	r.work.push(&record{effects: []planmode.Effect{event}, local: make(chan struct{})})
}
