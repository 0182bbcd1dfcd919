package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// newMail is mail between members. A teammate's program reaches it through its gate, a leader with its own key.
func newMail(sh *shell) *cobra.Command {
	return group(sh, "mail", "messages; they never approve anything", "  swarm mail send lead \"a question\"\n  swarm mail recv",
		newMailSend(sh), newMailRecv(sh), newMailRead(sh), newMailTrace(sh), newMailDead(sh), newMailMute(sh), newMailUnmute(sh))
}

// asTeammate reports whether a teammate's program calls: it has a gate to ask.
func asTeammate() bool { return os.Getenv("SWARM_SOCKET") != "" }

func newMailSend(sh *shell) *cobra.Command {
	var send gate.SendArgs
	c := &cobra.Command{
		Use: "send TO TEXT...", Short: "send a message; it returns when it is stored", Args: cobra.MinimumNArgs(2),
		Long: "Send a message to a member, to the leaders (lead), or as a leader to everybody (all). It returns\n" +
			"when the message is stored in the mailbox. A message never approves anything, whatever it says.\n" +
			"A teammate's mail is sent and read by the program that its runner has started, not at a shell.",
		Example:           "  swarm mail send lead \"the schema is larger than planned\"\n  swarm mail send all --urgent \"the tests are broken on main\"",
		ValidArgsFunction: completeRecipients(sh),
		RunE: func(cmd *cobra.Command, words []string) error {
			send.To, send.Text = words[0], strings.Join(words[1:], " ")
			if strings.TrimSpace(send.Text) == "" {
				return usage("the message is empty: say something after the name")
			}
			if asTeammate() {
				return asking(sh, gate.VerbSend, func(*cobra.Command, []string) (any, error) { return send, nil },
					func(r gate.SendResult) string { return sentText(messageDoc(r)) })(cmd, words)
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				id, err := l.Send(ctx, send.To, mailbox.Message{Text: send.Text, Summary: send.Summary, Urgent: send.Urgent})
				if err != nil {
					return err
				}
				d := messageDoc{id, send.To}
				return sh.print(d, sentText(d))
			})(cmd, nil)
		},
	}
	c.Flags().BoolVar(&send.Urgent, "urgent", false, "to be read before other mail")
	c.Flags().StringVar(&send.Summary, "summary", "", "one line for lists")
	return c
}

func sentText(d messageDoc) string { return "stored " + d.ID + " for " + d.To + "\n" }

func newMailRecv(sh *shell) *cobra.Command {
	var most int
	var wait time.Duration
	c := &cobra.Command{
		Use: "recv", Short: "take the unread mail, what is urgent first", Args: cobra.NoArgs,
		Long: "Print the mail that was not read yet, the urgent letters first. A letter counts as read, and its\n" +
			"sender is told that it was seen, when it was printed. For a leader it is mail to the leaders, to\n" +
			"this one and to all: each leader reads it for itself. With --wait it waits for the first letter,\n" +
			"and ends with 8 when none comes in time; --timeout is the same. No mail prints nothing.",
		Example: "  swarm mail recv --json\n  swarm mail recv --wait 30s",
		RunE: func(cmd *cobra.Command, words []string) error {
			if most < 0 {
				return usage("--max %d: name a positive number of letters", most)
			}
			if wait < 0 {
				return usage("--wait %s: name a time, such as 30s", wait)
			}
			t, err := timeoutFlag(cmd)
			if err != nil {
				return err
			}
			if wait > 0 {
				t = wait
			}
			if asTeammate() {
				return asking(sh, gate.VerbRecv, func(*cobra.Command, []string) (any, error) {
					return gate.RecvArgs{Max: most, TimeoutMS: t.Milliseconds()}, nil
				}, lettersText)(cmd, words)
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error { return recv(ctx, sh, l, most, t) })(cmd, nil)
		},
	}
	c.Flags().IntVar(&most, "max", 0, "at most this many (default 100)")
	c.Flags().DurationVar(&wait, "wait", 0, "wait so long for the first letter")
	return c
}

// recv prints a leader's unread mail, and then tells that it was seen.
func recv(ctx context.Context, sh *shell, l *app.Leader, most int, wait time.Duration) error {
	waiting := ctx
	if wait > 0 {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	mail, err := l.Unread(waiting, most, wait > 0)
	switch {
	case wait > 0 && errors.Is(err, context.DeadlineExceeded):
		return &leader.Error{Code: ExitPending, Name: "pending", Message: "nothing has come yet", Next: "wait again"}
	case err != nil:
		return err
	}
	list := []teammate.Letter{}
	for _, m := range mail {
		list = append(list, letterOf(m))
	}
	if err := sh.print(list, lettersText(list)); err != nil {
		return err
	}
	l.SawMail(ctx, mail...)
	return nil
}

// letterOf is a leader's message as a teammate's program has its own.
func letterOf(m natsbox.MailInfo) teammate.Letter {
	return teammate.Letter{ID: m.ID, From: m.From, Kind: mailbox.KindMessage, SentAt: m.At.UTC(), Text: m.Text, Urgent: m.Urgent, Read: m.Seen, Seq: m.Seq}
}

func lettersText(letters []teammate.Letter) string {
	var b strings.Builder
	for _, l := range letters {
		urgent := ""
		if l.Urgent {
			urgent = " (urgent)"
		}
		fmt.Fprintf(&b, "%s  from %s%s: %s\n", plans.VisibleLine(l.ID), plans.VisibleLine(l.From), urgent, plans.VisibleLine(l.Text))
	}
	return b.String()
}

func newMailRead(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "read ID", Short: "print one letter whole, as often as you like", Args: cobra.ExactArgs(1),
		Long:    "Print one letter, by its id or the beginning of it (8 characters, and more where several begin so).",
		Example: "  swarm mail read 01a22f7c-0591-75e1-b327-9e0b35b7ea8c",
		RunE: func(cmd *cobra.Command, words []string) error {
			if asTeammate() {
				return asking(sh, gate.VerbRead, func(*cobra.Command, []string) (any, error) { return gate.ReadArgs{ID: words[0]}, nil },
					letterText)(cmd, words)
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				m, err := l.Letter(ctx, words[0])
				if err != nil {
					return err
				}
				one := letterOf(m)
				if err := sh.print(one, letterText(one)); err != nil {
					return err
				}
				l.SawMail(ctx, m)
				return nil
			})(cmd, nil)
		},
	}
}

func letterText(l teammate.Letter) string {
	return fmt.Sprintf("from %s, %s\n%s\n", plans.VisibleLine(l.From), l.SentAt.Local().Format(time.DateTime), plans.VisibleText(l.Text))
}
