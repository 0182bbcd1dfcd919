package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// muteDoc is a member whose mail is not taken.
type muteDoc struct {
	By     string     `json:"by"` // a leader, or broker: its flood guard
	At     time.Time  `json:"at"`
	Until  *time.Time `json:"until,omitempty"` // nil: until a leader ends it
	Reason string     `json:"reason,omitempty"`
	// Silent says that it flooded on, so that its receipts and status are not taken either.
	Silent bool `json:"silent,omitempty"`
}

// mutedDoc is what `mail mute` and `mail unmute` print with --json.
type mutedDoc struct {
	Name  string `json:"name"`
	Muted bool   `json:"muted"`
	muteDoc
}

func newMuteDoc(m natsbox.MuteInfo) muteDoc {
	d := muteDoc{By: plans.VisibleLine(m.By), At: m.At, Reason: plans.VisibleLine(m.Reason), Silent: m.Silent}
	if !m.Until.IsZero() {
		d.Until = &m.Until
	}
	return d
}

// text says it as a line of `status` does.
func (d muteDoc) text() string {
	text := "muted by " + d.By
	if d.Until != nil {
		text += " until " + d.Until.Local().Format(time.DateTime)
	}
	if d.Silent {
		text += ", its receipts and status too"
	}
	if d.Reason != "" {
		text += ": " + d.Reason
	}
	return text
}

func newMailMute(sh *shell) *cobra.Command {
	var life time.Duration
	var why string
	c := &cobra.Command{
		Use: "mute NAME", Short: "take no more mail from a teammate", Args: cobra.ExactArgs(1),
		Long: "Take no mail from a member, until somebody types swarm mail unmute, or for a time. Its requests and messages\n" +
			"are refused with the reason. What it is told, its status, its receipts, and what it withdraws go on, and so\n" +
			"does its work. It holds over restarts, and stands in the ledger. Leaders mute teammates; a leader is muted by\n" +
			"a person. A teammate that floods the broker is muted by the broker itself.",
		Example:           "  swarm mail mute api\n  swarm mail mute api --for 30m --reason \"it asks in a loop\"",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				m, err := l.Mute(ctx, args[0], life, why)
				if err != nil {
					return err
				}
				d := newMuteDoc(m)
				return sh.print(mutedDoc{m.Name, true, d}, fmt.Sprintf("%s is %s\n", plans.VisibleLine(m.Name), d.text()))
			})(cmd, nil)
		},
	}
	c.Flags().DurationVar(&life, "for", 0, "for this long; 0 is until swarm mail unmute")
	c.Flags().StringVar(&why, "reason", "", "why: the muted member is told")
	return c
}

func newMailUnmute(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "unmute NAME", Short: "take a muted member's mail again", Args: cobra.ExactArgs(1),
		Example:           "  swarm mail unmute api",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				m, err := l.Unmute(ctx, args[0])
				if err != nil {
					return err
				}
				return sh.print(mutedDoc{m.Name, false, newMuteDoc(m)}, fmt.Sprintf("%s may send mail again\n", plans.VisibleLine(m.Name)))
			})(cmd, nil)
		},
	}
}
