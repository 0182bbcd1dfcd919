package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
)

// messageDoc is what `message` prints with --json.
type messageDoc struct {
	ID string `json:"id"`
	To string `json:"to"`
}

func newMessage(sh *shell) *cobra.Command {
	var urgent bool
	c := &cobra.Command{
		Use: "message NAME|all TEXT...", Short: "write to a teammate, or to all", Args: cobra.MinimumNArgs(2),
		Long:              "Send plain mail. It returns when the message is stored in the mailbox. A message never approves\nanything, whatever it says.",
		Example:           "  swarm message api \"the schema is in docs/schema.md\"\n  swarm message all --urgent \"the tests are broken on main\"",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args[1:], " ")
			if strings.TrimSpace(text) == "" {
				return usage("the message is empty: say something after the name")
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				to := args[0]
				if to != mailbox.All {
					var err error
					if to, err = l.Teammate(ctx, to); err != nil {
						return err
					}
				}
				id, err := l.Message(ctx, to, text, urgent)
				if err != nil {
					return err
				}
				d := messageDoc{id, to}
				return sh.print(d, sentText(d))
			})(cmd, nil)
		},
	}
	c.Flags().BoolVar(&urgent, "urgent", false, "to be read before other mail")
	return c
}

func newAnswer(sh *shell) *cobra.Command {
	var option string
	c := &cobra.Command{
		Use: "answer REQUEST [TEXT...]", Short: "answer a teammate's question", Args: cobra.MinimumNArgs(1),
		Long:              "Answer a question: a row of the inbox that says ask?. An answer clears up what is wanted; it\nnever approves anything.",
		Example:           "  swarm answer docs-3f9q \"the default currency is EUR\"\n  swarm answer docs-3f9q --option 2",
		ValidArgsFunction: completeHandles(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args[1:], " ")
			if strings.TrimSpace(text) == "" && option == "" {
				return usage("answer needs a text after the request, or --option N: swarm answer REQUEST TEXT")
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				row, a, err := l.Reply(ctx, args[0], option, text)
				if err != nil {
					return err
				}
				return sh.print(leader.NewReplyDoc(row, a), fmt.Sprintf("answered %s: %s has it in its mailbox\n", row.Handle, row.From))
			})(cmd, nil)
		},
	}
	c.Flags().StringVar(&option, "option", "", "one of the options that the question offers, by number or label")
	return c
}
