package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// ask asks the gate of the runner that started us. Where none answers, or one that is not our ancestor, the answer is no.
func ask(ctx context.Context, sh *shell, verb gate.Verb, args any) (gate.Answer, error) {
	return askAnd(ctx, sh, verb, args, func(gate.Answer) error { return nil })
}

// askAnd is ask with what is done with the answer: the gate holds it as handed over when that has succeeded.
func askAnd(ctx context.Context, sh *shell, verb gate.Verb, args any, hand func(gate.Answer) error) (gate.Answer, error) {
	socket := os.Getenv("SWARM_SOCKET")
	if socket == "" {
		return gate.Answer{}, &leader.Error{
			Code: refusal(verb), Name: "no_gate", Message: "this is not inside a teammate: only its program calls plan, exec, edit, ask and mail",
			Next: `start one with "swarm teammate script --name NAME -- PROGRAM"`,
		}
	}
	a, err := gate.CallAnd(ctx, socket, verb, args, gate.Streams{Stdout: sh.out, Stderr: sh.err}, hand)
	if a.Urgent != "" {
		fmt.Fprintf(sh.err, "swarm: urgent mail from %s: swarm mail recv\n", plans.VisibleLine(a.Urgent))
	}
	if a.Remind != "" {
		fmt.Fprintf(sh.err, "swarm: %s\n", plans.VisibleLine(a.Remind))
	}
	return a, err
}

// refusal is the exit code of a verb that nobody could answer: no, as that verb says it.
func refusal(verb gate.Verb) int {
	switch verb {
	case gate.VerbCheck:
		return ExitDenied
	case gate.VerbExec:
		return exitNotRun
	}
	return ExitAuth
}

// asking is a verb whose result has one text.
func asking[T any](sh *shell, verb gate.Verb, args func(cmd *cobra.Command, words []string) (any, error), text func(T) string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, words []string) error {
		var a any
		if args != nil {
			var err error
			if a, err = args(cmd, words); err != nil {
				return err
			}
		}
		r, err := askAnd(cmd.Context(), sh, verb, a, func(r gate.Answer) error {
			var v T
			if err := json.Unmarshal(r.Result, &v); err != nil {
				return fmt.Errorf("the gate's answer to %s cannot be read: %w", verb, err)
			}
			return sh.print(v, text(v))
		})
		if err != nil {
			return err
		}
		if r.Exit != ExitOK {
			return status(r.Exit)
		}
		return nil
	}
}

func newPlan(sh *shell) *cobra.Command {
	return group(sh, "plan", "plan mode, for an agent or a script",
		"  swarm plan enter\n  swarm plan submit \"$SWARM_PLAN_FILE\" --prompt \"run tests\"\n  swarm plan wait && swarm exec -- go test ./...\n  swarm plan done",
		newEnter(sh, "enter", "enter plan mode: only reads, until a leader decides"),
		newEnter(sh, "on", "the same, as a switch: plan mode is on"),
		newPlanOff(sh), newPlanView(sh), newPlanClear(sh), newGuide(sh),
		&cobra.Command{
			Use: "path", Short: "print where the plan is to be written", Args: cobra.NoArgs,
			RunE: asking(sh, gate.VerbPath, nil, func(p gate.PathResult) string { return p.Path + "\n" }),
		},
		newSubmit(sh), newWait(sh),
		&cobra.Command{
			Use: "status", Short: "how this teammate stands", Args: cobra.NoArgs,
			RunE: asking(sh, gate.VerbStatus, nil, statusText),
		},
		newLeave(sh),
		&cobra.Command{
			Use: "done", Short: "the plan is carried out: its grants end", Args: cobra.NoArgs,
			RunE: asking(sh, gate.VerbDone, nil, func(teammate.Status) string { return "done: the plan's grants have ended\n" }),
		},
		&cobra.Command{
			Use: "withdraw", Short: "take the open request back; still in plan mode", Args: cobra.NoArgs,
			RunE: asking(sh, gate.VerbWithdraw, nil, planningText),
		},
	)
}

func planningText(s teammate.Status) string {
	switch s.State {
	case planmode.AwaitingLeaderApproval:
		return awaitingText(s)
	case planmode.Planning:
		return fmt.Sprintf("planning; mode %s is saved. Write the plan to %s, then: swarm plan submit\n", s.Saved, s.PlanFile) + blockedText(s.Blocked)
	}
	return statusText(s)
}

func awaitingText(s teammate.Status) string {
	text := string(s.State)
	if p := s.Pending; p != nil {
		text += fmt.Sprintf(": %s r%d", p.Handle, p.Revision)
		if !p.Published {
			text += ", not stored yet"
			if p.Trouble != "" {
				text += " (" + plans.VisibleLine(p.Trouble) + ")"
			}
		}
	}
	return text + "; mode " + string(s.Saved) + " is saved\n"
}

// blockedText tells an agent which calls it need not try again.
func blockedText(list []planmode.BlockedCall) string {
	var b strings.Builder
	for _, c := range list {
		fmt.Fprintf(&b, "refused %d times: %s\n", c.Times, plans.Cut(plans.VisibleLine(c.Tool+" "+c.Input), 80))
	}
	return b.String()
}

func statusText(s teammate.Status) string {
	switch s.State {
	case planmode.AwaitingLeaderApproval:
		return awaitingText(s)
	case planmode.Planning:
		return planningText(s)
	}
	text := fmt.Sprintf("%s; mode %s", s.State, s.Mode)
	if s.Approved != nil {
		text += fmt.Sprintf("; plan r%d is approved", s.Approved.Revision)
		if done, all := s.Approved.Progress(); all > 0 {
			text += fmt.Sprintf(", %d of %s done", done, countOf(all, "task"))
		}
	}
	for _, g := range s.Grants {
		text += "; granted: " + g.Prompt
	}
	return text + "\n" + blockedText(s.Blocked)
}

func newSubmit(sh *shell) *cobra.Command {
	var a gate.SubmitArgs
	var options, addresses []string
	var recommend, mode string
	var deadline time.Duration
	c := &cobra.Command{
		Use: "submit [FILE]", Short: "hand the plan in; it waits for a leader", Args: cobra.MaximumNArgs(1),
		Long: "Hand the plan file in, as it is on disk. FILE defaults to the plan file (swarm plan path).",
		Example: "  swarm plan submit \"$SWARM_PLAN_FILE\" --prompt \"run tests\"\n  swarm plan submit --option \"fast: no cache\" --option \"safe: with a cache\" --recommend safe\n" +
			"  swarm plan submit --addresses c1=6 --addresses \"c2=8: old invoices stay as they are\"",
		RunE: asking(sh, gate.VerbSubmit, func(_ *cobra.Command, words []string) (any, error) {
			if len(words) == 1 {
				a.Path = words[0]
			}
			a.RequestedMode = permissions.Mode(mode)
			if deadline < 0 {
				return nil, usage("--deadline %v: name a time from now on, such as 2h", deadline)
			}
			if deadline > 0 {
				at := time.Now().Add(deadline).UTC()
				a.Deadline = &at
			}
			var err error
			if a.Addresses, err = parseAddressed(addresses); err != nil {
				return nil, err
			}
			a.Options, err = parseOptions(options, recommend)
			return a, err
		}, func(p teammate.PendingStatus) string {
			text := fmt.Sprintf("submitted r%d as %s; it waits for a leader: swarm plan wait\n", p.Revision, p.Handle)
			for _, prompt := range p.Unknown {
				text += fmt.Sprintf("not known, and grants nothing: %q; swarm intent says why\n", plans.VisibleLine(prompt))
			}
			return text
		}),
	}
	f := c.Flags()
	f.StringArrayVar(&a.Prompts, "prompt", nil, "what the plan asks to run unasked, such as \"run tests\"; repeatable")
	f.StringArrayVar(&options, "option", nil, "an approach, \"label: description\"; up to three")
	f.StringVar(&recommend, "recommend", "", "label of the option that you recommend")
	f.StringArrayVar(&addresses, "addresses", nil, "a comment of the last decision that this answers: ID, ID=LINE, or \"ID=LINE: how\"; repeatable")
	f.StringVar(&mode, "mode", "", "mode that you would like to work in (a proposal)")
	f.DurationVar(&deadline, "deadline", 0, "when nobody has decided by then, it is rejected (default: it waits for ever)")
	completeFlag(c, "mode", modeNames)
	return c
}

// parseAddressed reads ID, ID=LINE or ID=LINE: TEXT for each comment that a revision answers.
func parseAddressed(texts []string) (list []planmode.Addressed, err error) {
	for _, text := range texts {
		head, how, _ := strings.Cut(text, ":")
		id, line, given := strings.Cut(head, "=")
		a := planmode.Addressed{Comment: strings.TrimSpace(id), Text: strings.TrimSpace(how)}
		if given {
			a.Line, err = strconv.Atoi(strings.TrimSpace(line))
		}
		if a.Comment == "" || err != nil || given && a.Line < 1 {
			return nil, usage("--addresses %q: write c1, c1=6 or \"c1=6: how it is answered\"", plans.VisibleLine(text))
		}
		list = append(list, a)
	}
	return list, nil
}

func parseOptions(options []string, recommend string) ([]plans.Option, error) {
	var list []plans.Option
	found := false
	for _, o := range options {
		label, description, _ := strings.Cut(o, ":")
		p := plans.Option{Label: strings.TrimSpace(label), Description: strings.TrimSpace(description)}
		p.Recommended = recommend != "" && p.Label == recommend
		found = found || p.Recommended
		list = append(list, p)
	}
	if recommend != "" && !found {
		return nil, usage("--recommend %q is none of the options: use one of their labels", recommend)
	}
	return list, nil
}

func newWait(sh *shell) *cobra.Command {
	var revision int
	c := &cobra.Command{
		Use: "wait", Short: "wait for the leader's answer", Args: cobra.NoArgs,
		Long: "Wait for the answer to the last plan, for as long as it takes; --timeout bounds it.\n" +
			"Exit: 0 approved  3 changes asked, or rejected  5 expired  6 withdrawn or replaced  8 still pending",
		Example: "  swarm plan wait\n  swarm plan wait --timeout 10m --json",
		RunE: asking(sh, gate.VerbWait, func(cmd *cobra.Command, _ []string) (any, error) {
			t, err := timeoutFlag(cmd)
			return gate.WaitArgs{Revision: revision, TimeoutMS: t.Milliseconds()}, err
		}, answerText),
	}
	c.Flags().IntVar(&revision, "revision", 0, "revision to wait for (default: the last one)")
	return c
}

// timeoutFlag is --timeout alone: a thin client reads no configuration.
func timeoutFlag(cmd *cobra.Command) (time.Duration, error) {
	s, err := cmd.Flags().GetString("timeout")
	if err != nil {
		return 0, err
	}
	t, err := time.ParseDuration(s)
	if err != nil || t < 0 {
		return 0, usage(`--timeout cannot be %q: write it like "90s" or "30m"`, s)
	}
	return t, nil
}

// answerText gives an agent everything that the leader wrote, line by line.
func answerText(a teammate.Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s r%d", a.Outcome, a.Revision)
	if a.By != nil {
		fmt.Fprintf(&b, " by %s (%s)", a.By.Name, a.By.Kind)
	}
	fmt.Fprintf(&b, "; %s, mode %s\n", a.State, a.Mode)
	for _, g := range a.Grants {
		fmt.Fprintf(&b, "granted: %s", g.Prompt)
		if g.Tree != "" && g.Tree != "." {
			fmt.Fprintf(&b, " in ./%s", g.Tree)
		}
		fmt.Fprintf(&b, ", until %s", g.ExpiresAt.Local().Format("2006-01-02 15:04:05 MST"))
		if g.MaxUses > 0 {
			fmt.Fprintf(&b, ", %s", countOf(g.MaxUses, "use"))
		}
		b.WriteString("\n")
	}
	if a.Option != "" {
		fmt.Fprintf(&b, "approach: %s\n", a.Option)
	}
	if a.Edited {
		fmt.Fprintf(&b, "the leader changed the plan: read it again in %s\n", a.PlanFile)
	}
	if a.Feedback != "" {
		fmt.Fprintf(&b, "feedback: %s\n", a.Feedback)
	}
	for _, c := range a.Comments {
		fmt.Fprintf(&b, "comment %s, line %d", c.ID, c.Line)
		if c.Quote != "" {
			fmt.Fprintf(&b, " %q", c.Quote)
		}
		fmt.Fprintf(&b, ": %s\n", c.Text)
	}
	if len(a.Comments) > 0 && a.Outcome == planmode.OutcomeRejected {
		b.WriteString("answer each in the next revision: swarm plan submit --addresses \"" + a.Comments[0].ID + "=LINE: how\"\n")
	}
	if a.Cause != "" {
		fmt.Fprintf(&b, "because: %s\n", a.Cause)
	}
	if a.Next != "" {
		fmt.Fprintf(&b, "next: %s\n", a.Next)
	}
	return plans.VisibleText(b.String())
}

func newLeave(sh *shell) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "leave", Short: "ask to leave plan mode without a plan", Args: cobra.NoArgs,
		Example: "  swarm plan leave --reason \"nothing to change\"",
		RunE: asking(sh, gate.VerbLeave, func(*cobra.Command, []string) (any, error) { return gate.LeaveArgs{Reason: reason}, nil },
			statusText),
	}
	c.Flags().StringVar(&reason, "reason", "", "why no plan is needed")
	return c
}
