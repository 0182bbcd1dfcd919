package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// deadListDoc is what `mail dead list` prints with --json.
type deadListDoc struct {
	Dead    int                  `json:"dead"` // that nobody has seen to
	Letters []natsbox.DeadLetter `json:"letters"`
}

func newMailDead(sh *shell) *cobra.Command {
	c := group(sh, "dead", "mail that its recipient could not handle: list, show, retry, drop",
		"  swarm mail dead list\n  swarm mail dead show api.m42\n  swarm mail dead retry api.m42",
		newDeadList(sh), newDeadShow(sh), newDeadRetry(sh), newDeadDrop(sh))
	c.Long = "A dead letter is mail, or an order, that one member could never use (a kind or version that it does not\n" +
		"know, bytes that cannot be read), or did not acknowledge in eight deliveries. It does not come again by\n" +
		"itself, and stays in the store. Its id is the member, and where it lies: api.m42. A request that waits for a\n" +
		"decision stays in the inbox whatever becomes of its letter."
	return c
}

func newDeadList(sh *shell) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "list", Short: "the dead letters that nobody has seen to, the oldest first", Args: cobra.NoArgs,
		Example: "  swarm mail dead list\n  swarm mail dead list --all --json",
		RunE: asLeader(sh, func(ctx context.Context, l *app.Leader) error {
			list, err := l.Dead(ctx, all)
			if err != nil {
				return err
			}
			doc := deadListDoc{Letters: list}
			for _, d := range list {
				if d.State == natsbox.DeadOpen {
					doc.Dead++
				}
			}
			return sh.print(doc, doc.text(time.Now()))
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "those too that were retried or dropped in the last 14 days")
	return c
}

func (d deadListDoc) text(now time.Time) string {
	if len(d.Letters) == 0 {
		return "no dead letters\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %-5s %-12s %-22s %-8s %s\n", "ID", "AGE", "FROM", "KIND", "STATE", "REASON")
	for _, l := range d.Letters {
		fmt.Fprintf(&b, "%-18s %-5s %-12s %-22s %-8s %s\n", l.ID, leader.Age(now.Sub(l.DiedAt)), plans.Cut(plans.VisibleLine(l.From), 12),
			plans.Cut(deadKind(l), 22), l.State, plans.Cut(deadNote(l), 80))
	}
	return b.String()
}

// deadKind is what a letter is. One that can be read as no kind of ours has the kind of its subject.
func deadKind(l natsbox.DeadLetter) string {
	if l.Kind == "" {
		return "decision"
	}
	return plans.VisibleLine(string(l.Kind))
}

// deadNote is the reason, and what else is to be known of a letter.
func deadNote(l natsbox.DeadLetter) string {
	text := plans.VisibleLine(l.Reason)
	if l.Waits {
		text = "WAITS for a decision: swarm inbox; " + text
	}
	if l.Tries > 0 && l.State == natsbox.DeadOpen {
		text = fmt.Sprintf("retried %d times; %s", l.Tries, text)
	}
	if l.State != natsbox.DeadOpen {
		text = "by " + plans.VisibleLine(l.By) + "; " + text
	}
	return text
}

func newDeadShow(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "one dead letter: where it is from, why it died, and its bytes", Args: cobra.ExactArgs(1),
		Example:           "  swarm mail dead show api.m42\n  swarm mail dead show api.m42 --json",
		ValidArgsFunction: completeDead(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return doDead(sh, natsbox.DeadShow, args[0], "", deadText)(cmd, nil)
		},
	}
}

// maxShown is how much of a letter is printed as text. With --json there is all of it.
const maxShown = 8 << 10

func deadText(l natsbox.DeadLetter) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s   %s from %s to %s, number %d of %s, stored %s\n", l.ID, deadKind(l), plans.VisibleLine(l.From), plans.VisibleLine(l.To),
		l.Seq, l.Stream, l.StoredAt.Local().Format(time.DateTime))
	fmt.Fprintf(&b, "died %s: %s", l.DiedAt.Local().Format(time.DateTime), plans.VisibleLine(l.Reason))
	if l.Deliveries > 0 {
		fmt.Fprintf(&b, " (delivery %d)", l.Deliveries)
	}
	fmt.Fprintln(&b)
	if l.State != natsbox.DeadOpen {
		fmt.Fprintf(&b, "%s by %s at %s  %s\n", l.State, plans.VisibleLine(l.By), l.At.Local().Format(time.DateTime), plans.VisibleLine(l.Note))
	}
	if l.Waits {
		fmt.Fprintf(&b, "it is a request that waits for a decision: swarm inbox\n")
	}
	data := string(l.Data)
	switch {
	case len(l.Data) == 0:
		fmt.Fprintf(&b, "its bytes are not in the store any more\n")
		return b.String()
	case len(data) > maxShown:
		fmt.Fprintf(&b, "\nthe first %d of %d bytes:\n", maxShown, len(data))
		data = data[:maxShown]
	default:
		fmt.Fprintf(&b, "\n%d bytes:\n", len(data))
	}
	b.WriteString(plans.VisibleText(data) + "\n")
	return b.String()
}

func newDeadRetry(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "retry ID", Short: "put a dead letter to its recipient again", Args: cobra.ExactArgs(1),
		Long: "Put the same bytes to the same member again, once. Nobody else gets them, and their sender is who it was.\n" +
			"First put right what kept it from being handled: update that member's swarm, make room on its disk.",
		Example:           "  swarm mail dead retry api.m42",
		ValidArgsFunction: completeDead(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return doDead(sh, natsbox.DeadRetry, args[0], "", func(l natsbox.DeadLetter) string {
				return fmt.Sprintf("%s was put to %s again\n", l.ID, plans.VisibleLine(l.Recipient))
			})(cmd, nil)
		},
	}
}

func newDeadDrop(sh *shell) *cobra.Command {
	var why string
	c := &cobra.Command{
		Use: "drop ID", Short: "mark a dead letter as seen to", Args: cobra.ExactArgs(1),
		Long: "Mark a dead letter as seen to: by whom and when is kept, and stands in the ledger. Its bytes stay in the\n" +
			"store. A request that waits is decided, not dropped.",
		Example:           "  swarm mail dead drop api.m42 -m \"sent by an old version\"",
		ValidArgsFunction: completeDead(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return doDead(sh, natsbox.DeadDrop, args[0], why, func(l natsbox.DeadLetter) string { return l.ID + " was dropped\n" })(cmd, nil)
		},
	}
	c.Flags().StringVarP(&why, "message", "m", "", "why, for those who look later")
	return c
}

// doDead does something with one dead letter, and prints it as it is then.
func doDead(sh *shell, do natsbox.DeadAction, id, why string, text func(natsbox.DeadLetter) string) func(*cobra.Command, []string) error {
	return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
		d, err := l.DeadDo(ctx, do, id, why)
		if err != nil {
			return err
		}
		return sh.print(d, text(d))
	})
}

// completeDead are the ids of the dead letters that nobody has seen to.
func completeDead(sh *shell) completer {
	return completing(sh, 0, func(ctx context.Context, l *app.Leader) []string {
		list, err := l.Dead(ctx, false)
		if err != nil {
			return nil
		}
		var out []string
		for _, d := range list {
			out = append(out, d.ID+"\t"+plans.Cut(deadKind(d)+" from "+plans.VisibleLine(d.From), 50))
		}
		return out
	})
}

// deadLine tells on standard error that there are dead letters, "" when there are none.
func deadLine(n int) string {
	if n == 0 {
		return ""
	}
	return countOf(n, "dead letter") + ": swarm mail dead list"
}
