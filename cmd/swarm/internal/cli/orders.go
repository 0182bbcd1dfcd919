package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// newOrderDoc is an order as JSON, with what the teammate said of it.
func newOrderDoc(o app.OrderDone, reason string) leader.OrderDoc {
	d := leader.NewOrderDoc(o.Ordered)
	d.Reason = reason
	if o.Receipt != nil {
		d = d.WithReceipt(*o.Receipt, o.At.Add(o.Took))
	}
	return d
}

// receiptText says what became of an order.
func receiptText(o app.OrderDone) string {
	switch {
	case o.Receipt == nil:
		return "stored; not applied yet: " + o.To + " applies it when it is there\n"
	case o.Receipt.State == mailbox.Refused:
		return fmt.Sprintf("NOT applied: %s refused it: %s\n", o.To, plans.VisibleLine(o.Receipt.Reason))
	}
	text := fmt.Sprintf("applied after %.1fs", o.Took.Seconds())
	if n := o.Receipt.Count; n != nil {
		text += ", " + countOf(*n, "grant") + " ended"
	}
	if r := o.Receipt.Reason; r != "" {
		text += " (" + plans.VisibleLine(r) + ")"
	}
	return text + "\n"
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// orderStatus is the exit code of orders: one that was refused is stale. One that nobody has applied yet is stored.
func orderStatus(orders ...app.OrderDone) error {
	for _, o := range orders {
		if o.Receipt != nil && o.Receipt.State == mailbox.Refused {
			return status(ExitStale)
		}
	}
	return nil
}

// printOrder prints one order and what became of it.
func printOrder(sh *shell, o app.OrderDone, d leader.OrderDoc, what string) error {
	if err := sh.print(d, fmt.Sprintf("%s ordered for %s\n%s", what, o.To, receiptText(o))); err != nil {
		return err
	}
	return orderStatus(o)
}

// ordering is a command that gives one teammate an order.
func ordering(sh *shell, word string, give func(ctx context.Context, l *app.Leader, name string) error) func(*cobra.Command, []string) error {
	return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
		name, err := l.Teammate(ctx, word)
		if err != nil {
			return err
		}
		return give(ctx, l, name)
	})
}

func newMode(sh *shell) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "mode NAME MODE", Short: "set a teammate's permission mode", Args: cobra.ExactArgs(2),
		Long: "Order a teammate into a mode, within the team's cap: default, acceptEdits, auto, dontAsk,\n" +
			"bypassPermissions, or plan. While it plans, the order changes only what an approval will bring\n" +
			"back; it never ends plan mode. Into plan: the same as a recall without a message.",
		Example:           "  swarm mode api default\n  swarm mode api plan -m \"wait for the schema\"",
		ValidArgsFunction: completeMode(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			m, err := parseMode(args[1])
			if err != nil {
				return err
			}
			return ordering(sh, args[0], func(ctx context.Context, l *app.Leader, name string) error {
				o, err := l.SetMode(ctx, name, m, reason, waitFor(ctx, sh, l, name))
				if err != nil {
					return err
				}
				d := newOrderDoc(o, reason)
				d.Mode = m
				return printOrder(sh, o, d, fmt.Sprintf("mode %s", m))
			})(cmd, nil)
		},
	}
	c.Flags().StringVarP(&reason, "message", "m", "", "why; the teammate reads it")
	return c
}

// revokeDoc is what `revoke` prints with --json: an order for each grant, or one for all.
type revokeDoc struct {
	Orders []leader.OrderDoc `json:"orders"`
}

func newRevoke(sh *shell) *cobra.Command {
	var prompt, reason string
	c := &cobra.Command{
		Use: "revoke NAME|GRANT", Short: "end a grant now, and what runs under it", Args: cobra.ExactArgs(1),
		Long: "End grants before their plan does: all of a teammate, or one. What was started under a grant\n" +
			"ends with it. GRANT is an id of swarm grants --json.",
		Example:           "  swarm revoke api\n  swarm revoke api --grant \"run tests\" -m \"the tests delete data\"",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				targets, err := toRevoke(ctx, l, args[0], prompt)
				if err != nil {
					return err
				}
				var doc revokeDoc
				var done []app.OrderDone
				var text strings.Builder
				for _, t := range targets {
					o, err := l.Revoke(ctx, t.name, t.grant, reason, waitFor(ctx, sh, l, t.name))
					if err != nil {
						return err
					}
					d := newOrderDoc(o, reason)
					d.GrantID = t.grant
					doc.Orders, done = append(doc.Orders, d), append(done, o)
					fmt.Fprintf(&text, "revoked: %s of %s\n%s", t.what, t.name, receiptText(o))
				}
				if err := sh.print(doc, text.String()); err != nil {
					return err
				}
				return orderStatus(done...)
			})(cmd, nil)
		},
	}
	c.Flags().StringVar(&prompt, "grant", "", "only the grant of this prompt")
	completeFlag(c, "grant", intentNames)
	c.Flags().StringVarP(&reason, "message", "m", "", "why; the teammate reads it")
	return c
}

type target struct{ name, grant, what string }

// toRevoke finds what a revocation is about. A teammate without grants in its last word is told too: it may have more
// than it said.
func toRevoke(ctx context.Context, l *app.Leader, word, prompt string) ([]target, error) {
	rows, err := l.Grants(ctx, false)
	if err != nil {
		return nil, err
	}
	name, err := l.Teammate(ctx, word)
	switch {
	case err == nil && prompt == "":
		return []target{{name: name, what: "all grants"}}, nil
	case err != nil && (prompt != "" || !strings.Contains(word, "/")): // an id of a grant has a slash
		return nil, err
	}
	found, err := leader.FindGrant(rows, word)
	if err != nil && prompt == "" {
		return nil, err
	}
	var out []target
	var prompts []string
	for _, g := range found {
		prompts = append(prompts, g.Prompt)
		if prompt == "" || g.Prompt == prompt {
			out = append(out, target{g.Teammate, g.ID, plans.VisibleLine(g.Prompt)})
		}
	}
	if len(out) == 0 {
		near := ""
		if n := mailbox.Nearest(prompt, prompts); len(n) > 0 {
			near = "did you mean " + strings.Join(n, " or ") + "? "
		}
		return nil, &leader.Error{Code: ExitNotFound, Name: "unknown_grant", Message: fmt.Sprintf("%s has no grant %q", word, prompt), Next: near + "swarm grants lists them"}
	}
	return out, nil
}

// recallDoc is what `recall` prints with --json.
type recallDoc struct {
	Teammate string          `json:"teammate"`
	Reason   string          `json:"reason"`
	Revoked  leader.OrderDoc `json:"revoked"`
	Mode     leader.OrderDoc `json:"mode"`
	Message  string          `json:"message"` // id
}

func newRecall(sh *shell) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "recall NAME|REQUEST -m REASON", Short: "take an approval back: grants end, plan mode again", Args: cobra.ExactArgs(1),
		Long: "Take back what was approved: the teammate's grants end with what runs under them, it is in plan\n" +
			"mode again, and it is told why. Files that it has changed stay. The approval is not erased, and\n" +
			"its request cannot be approved again.",
		Example:           "  swarm recall db -m \"wrong table\"\n  swarm recall db-7k2m -m \"wrong table\"",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usage("recall needs -m REASON: say why, the teammate reads it")
			}
			return ordering(sh, args[0], func(ctx context.Context, l *app.Leader, name string) error {
				r, err := l.Recall(ctx, name, reason, waitFor(ctx, sh, l, name))
				if err != nil {
					return err
				}
				d := recallDoc{Teammate: name, Reason: reason, Revoked: newOrderDoc(r.Revoked, reason), Mode: newOrderDoc(r.Planning, reason), Message: r.Told}
				d.Mode.Mode = permissions.ModePlan
				text := "recalled " + name + ": " + receiptText(r.Planning)
				if rec := r.Revoked.Receipt; rec != nil && rec.Count != nil {
					text = fmt.Sprintf("recalled %s: %s ended, mode plan; %s", name, countOf(*rec.Count, "grant"), receiptText(r.Planning))
				}
				if err := sh.print(d, text); err != nil {
					return err
				}
				if r.Planning.Receipt == nil {
					return &leader.Error{
						Code: ExitLost, Name: leader.NameNotApplied, Message: name + " has not confirmed plan mode",
						Next: "it applies the recall as soon as it reads its mail; swarm status",
					}
				}
				return orderStatus(r.Planning)
			})(cmd, nil)
		},
	}
	c.Flags().StringVarP(&reason, "message", "m", "", "why; the teammate reads it")
	return c
}

func newStop(sh *shell) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "stop NAME", Short: "end a teammate: its program, its grants, its requests", Args: cobra.ExactArgs(1),
		Long:              "Order a teammate to end. Its program and what that started are stopped, its grants end, its open\nrequests are withdrawn. Its plans and its journal stay.",
		Example:           "  swarm stop api -m \"done for today\"",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return ordering(sh, args[0], func(ctx context.Context, l *app.Leader, name string) error {
				o, err := l.Stop(ctx, name, reason, waitUnless(l.Away(ctx, name), sh, name+" is away: it is stopped only if it comes back without a new start"))
				if err != nil {
					return err
				}
				if o.Receipt == nil {
					text := fmt.Sprintf("stop ordered for %s\nstored; not applied: %s is not there, and a new start of %s does not obey it\n", name, name, name)
					return sh.print(newOrderDoc(o, reason), text)
				}
				return printOrder(sh, o, newOrderDoc(o, reason), "stop")
			})(cmd, nil)
		},
	}
	c.Flags().StringVarP(&reason, "message", "m", "", "why; the teammate reads it")
	return c
}

// waitFor is how long a receipt is waited for: short for a teammate that is away, who applies the order later. A person
// is told so.
func waitFor(ctx context.Context, sh *shell, l *app.Leader, name string) time.Duration {
	return waitUnless(l.Away(ctx, name), sh, fmt.Sprintf("%s is away: it is stored, and applied when %s is back", name, name))
}

func waitUnless(away bool, sh *shell, said string) time.Duration {
	if away {
		fmt.Fprintln(sh.err, said)
		return time.Second
	}
	return receiptWait
}
