package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/plans"
)

// completeWait is how long a person who pressed Tab is made to wait.
const completeWait = 1500 * time.Millisecond

type completer func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completing asks the running team for the words that may come next. Whatever goes wrong completes nothing.
func completing(sh *shell, at int, words func(ctx context.Context, l *app.Leader) []string) completer {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) != at {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		e, err := projectEnv(cmd, sh)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completeWait)
		defer cancel()
		e.Quiet = true
		l, err := app.Lead(ctx, e)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer l.Close()
		return beginning(words(ctx, l), prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// beginning are the words that begin so.
func beginning(words []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, prefix) })
}

// completeHandles are the handles of what waits, with what each asks for.
func completeHandles(sh *shell) completer {
	return completing(sh, 0, func(ctx context.Context, l *app.Leader) []string {
		q, err := l.Queue(ctx)
		if err != nil {
			return nil
		}
		var out []string
		for i := range q.Rows {
			out = append(out, q.Rows[i].Handle+"\t"+plans.Cut(plans.VisibleLine(q.Rows[i].Goal), 50))
		}
		return out
	})
}

// completeNames are the names of the teammates, with their states.
func completeNames(sh *shell) completer { return completing(sh, 0, names) }

// completeRecipients are the names that mail can be sent to.
func completeRecipients(sh *shell) completer {
	return completing(sh, 0, func(ctx context.Context, l *app.Leader) []string {
		out := []string{mailbox.Lead + "\tthe leaders", mailbox.All + "\teverybody"}
		for _, m := range l.Charter().Members {
			if !m.Retired {
				out = append(out, m.Name+"\t"+string(m.Role))
			}
		}
		return out
	})
}

func names(ctx context.Context, l *app.Leader) []string {
	members, err := l.Presence(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, m := range members {
		if m.Role == charter.RoleTeammate {
			out = append(out, m.Name+"\t"+teammateOf(m).State)
		}
	}
	return out
}

// completeMode is a name, then a mode.
func completeMode(sh *shell) completer {
	name := completeNames(sh)
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return name(cmd, args, prefix)
		}
		return beginning(modeNames(), prefix), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag offers words for a flag, and no files.
func completeFlag(c *cobra.Command, flag string, words func() []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return beginning(words(), prefix), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // no such flag: a mistake of ours, which every start shows
	}
}

func modeNames() []string {
	var out []string
	for _, m := range permissions.Modes() {
		out = append(out, string(m))
	}
	return out
}

func scopes() []string {
	return []string{string(policyfile.ScopeOwner), string(policyfile.ScopeUser), string(policyfile.ScopeProject)}
}

// intentNames are the names of all intents, those of the person's own tables among them. Each is a prompt for itself.
func intentNames() []string {
	var out []string
	for _, in := range intent.All() {
		out = append(out, in.Name)
	}
	if own, problems := config.ReadOwn(config.UserDir()); problems == nil {
		for _, in := range own.Tables.Intents() {
			out = append(out, in.Name)
		}
	}
	return out
}

// completeIntent offers what is left of the intents that begin with the words so far.
func completeIntent(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	before := ""
	if len(args) > 0 {
		before = strings.Join(args, " ") + " "
	}
	var out []string
	for _, name := range intentNames() {
		if rest, ok := strings.CutPrefix(name, before); ok && strings.HasPrefix(rest, prefix) {
			out = append(out, rest)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
