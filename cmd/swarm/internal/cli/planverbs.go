package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

func newEnter(sh *shell, use, short string) *cobra.Command {
	var a gate.EnterArgs
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		Long: "Enter plan mode: what writes or runs something is denied, and the plan file is the one thing that may be\n" +
			"written, until a leader has signed a decision. Who plans already goes on planning.",
		Example: "  swarm plan " + use + "\n  swarm plan " + use + " --reason \"the rounding is unclear\"",
		RunE:    asking(sh, gate.VerbEnter, func(*cobra.Command, []string) (any, error) { return a, nil }, planningText),
	}
	c.Flags().StringVar(&a.Reason, "reason", "", "why, for the people who watch")
	return c
}

func newPlanOff(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "off", Short: "leave plan mode, or ask a leader to let you", Args: cobra.NoArgs,
		Long: "Leave plan mode without a plan. That is done at once where the team does not require a plan and you\n" +
			"entered by yourself; otherwise a leader is asked, and plan mode stays on meanwhile.",
		Example: "  swarm plan off\n  swarm plan off && swarm plan wait",
		RunE:    asking(sh, gate.VerbLeave, func(*cobra.Command, []string) (any, error) { return gate.LeaveArgs{}, nil }, statusText),
	}
}

func newPlanView(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "view", Short: "print the approved plan, or what the plan file has", Args: cobra.NoArgs,
		Long:    "Print the plan that is carried out, as it was approved; without one, what the plan file has now.",
		Example: "  swarm plan view\n  swarm plan view --json",
		RunE:    asking(sh, gate.VerbView, nil, viewText),
	}
}

func viewText(v teammate.PlanView) string {
	head := plans.VisibleLine(v.Path)
	switch {
	case len(v.Content) == 0:
		return "no plan yet: write it to " + head + "\n"
	case v.Approved:
		head += fmt.Sprintf(": approved, r%d", v.Revision)
		if v.Option != "" {
			head += fmt.Sprintf(", only %q", plans.VisibleLine(v.Option))
		}
	case v.Edited:
		head += ": not as it was submitted"
	}
	text := head + "\n\n" + plans.VisibleText(string(v.Content))
	return strings.TrimRight(text, "\n") + "\n"
}

func newPlanClear(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "clear", Short: "begin the plan file anew", Args: cobra.NoArgs,
		Long: "Remove the plan file. What was never submitted of it is kept beside the revisions; mode and requests stay\n" +
			"as they are.",
		Example: "  swarm plan clear\n  swarm plan clear && swarm plan view",
		RunE: asking(sh, gate.VerbClear, nil, func(s teammate.Status) string {
			return "plan cleared: write it to " + plans.VisibleLine(s.PlanFile) + "\n"
		}),
	}
}

// guideDoc is what `swarm plan guide --json` prints.
type guideDoc struct {
	Strength planmode.Strength `json:"strength"` // eager or restrained
	Text     string            `json:"text"`
}

func newGuide(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "guide [eager|restrained]", Short: "when to plan, and how", Args: cobra.MaximumNArgs(1),
		Long: "Print guidance for an agent on when to plan, and how: eager (in doubt, plan) or restrained. Inside of a\n" +
			"teammate it is the one that swarm.yaml says for it (guidance, or guidanceFor its agent or model), or eager.",
		Example:   "  swarm plan guide\n  swarm plan guide restrained >>AGENTS.md",
		ValidArgs: []string{string(planmode.Eager), string(planmode.Restrained)},
		RunE: func(cmd *cobra.Command, words []string) error {
			doc, err := guideDoc{Strength: planmode.Eager}, error(nil)
			switch {
			case len(words) > 0:
				doc.Strength = planmode.Strength(words[0])
			case os.Getenv("SWARM_SOCKET") != "":
				if doc.Strength, err = guidance(cmd.Context(), sh); err != nil {
					return err
				}
			}
			if doc.Text, err = planmode.Guide(doc.Strength); err != nil {
				return usage("%s", strings.TrimPrefix(err.Error(), "planmode: "))
			}
			return sh.print(doc, doc.Text)
		},
	}
}

// guidance is what is said of this teammate.
func guidance(ctx context.Context, sh *shell) (planmode.Strength, error) {
	a, err := ask(ctx, sh, gate.VerbStatus, nil)
	if err != nil {
		return "", err
	}
	var s teammate.Status
	if err := json.Unmarshal(a.Result, &s); err != nil {
		return "", fmt.Errorf("the gate's answer cannot be read: %w", err)
	}
	return cmp.Or(s.Guidance, planmode.Eager), nil
}

func newTask(sh *shell) *cobra.Command {
	mark := func(use, short string, status planmode.TaskStatus) *cobra.Command {
		var note string
		c := &cobra.Command{
			Use: use + " ID", Short: short, Args: cobra.ExactArgs(1),
			Long: "Say how far a task of the approved plan is; the leaders see it. Its checkbox in the plan stays as it was\n" +
				"approved. When every task is done, finish the plan with swarm plan done.",
			Example: "  swarm task " + use + " t1\n  swarm task " + use + " t1 --note \"see the log\"",
			RunE: asking(sh, gate.VerbTask, func(_ *cobra.Command, words []string) (any, error) {
				return gate.TaskArgs{ID: words[0], Status: status, Note: note}, nil
			}, tasksText),
		}
		c.Flags().StringVar(&note, "note", "", "what a leader should know about it")
		return c
	}
	return group(sh, "task", "the tasks of the approved plan",
		"  swarm task list\n  swarm task start t1\n  swarm task done t1\n  swarm task block t2 --note \"no access to the database\"",
		&cobra.Command{
			Use: "list", Short: "the checkboxes of the approved plan, and how far each is", Args: cobra.NoArgs,
			Example: "  swarm task list\n  swarm task list --json",
			RunE:    asking(sh, gate.VerbTasks, nil, tasksText),
		},
		mark("start", "a task is begun", planmode.TaskStarted), mark("done", "a task is done", planmode.TaskDone),
		mark("block", "a task cannot go on", planmode.TaskBlocked),
	)
}

func tasksText(tasks []planmode.TaskState) string {
	if len(tasks) == 0 {
		return "no tasks: no plan with checkboxes is carried out\n"
	}
	var b strings.Builder
	done := 0
	for _, t := range tasks {
		box := map[planmode.TaskStatus]string{planmode.TaskDone: "[x]", planmode.TaskStarted: "[>]", planmode.TaskBlocked: "[!]"}[t.Status]
		if box == "" {
			box = "[ ]"
		}
		if t.Status == planmode.TaskDone {
			done++
		}
		fmt.Fprintf(&b, "%s %s %s", t.ID, box, plans.VisibleLine(t.Text))
		if t.Note != "" {
			fmt.Fprintf(&b, " (%s)", plans.VisibleLine(t.Note))
		}
		b.WriteString("\n")
	}
	if done == len(tasks) {
		b.WriteString("every task is done: swarm plan done\n")
	}
	return b.String()
}
