package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
)

// asLeader connects as a leader for one command.
func asLeader(sh *shell, do func(ctx context.Context, l *app.Leader) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		e, err := projectEnv(cmd, sh)
		if err != nil {
			return err
		}
		ctx, cancel := withTimeout(cmd.Context(), e)
		defer cancel()
		l, err := app.Lead(ctx, e)
		if err != nil {
			return err
		}
		defer l.Close()
		return do(ctx, l)
	}
}

func newInbox(sh *shell) *cobra.Command {
	var watch, all, mail bool
	c := &cobra.Command{
		Use: "inbox", Short: "what waits for a leader, riskiest first", Args: cobra.NoArgs,
		Long:    "List what waits for a leader: plans, commands that were stopped (run?), questions (ask?). With\n--watch: one line for each thing that happens to them, until Ctrl-C. With --all: what was settled\nlast; with --mail: what teammates wrote.",
		Example: "  swarm inbox\n  swarm inbox --json\n  swarm inbox --watch",
		RunE: asLeader(sh, func(ctx context.Context, l *app.Leader) error {
			switch {
			case watch:
				return events(ctx, sh, l, false, "")
			case all:
				return past(ctx, sh, l)
			case mail:
				return letters(ctx, sh, l)
			}
			return inbox(ctx, sh, l)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "what was settled last, and how")
	c.Flags().BoolVar(&mail, "mail", false, "what teammates wrote to you")
	c.Flags().BoolVar(&watch, "watch", false, "go on with what happens, one line each, until Ctrl-C")
	c.MarkFlagsMutuallyExclusive("watch", "all", "mail")
	return c
}

// past lists what waits no more.
func past(ctx context.Context, sh *shell, l *app.Leader) error {
	list, err := l.Past(ctx)
	if err != nil {
		return err
	}
	switch {
	case sh.json:
		return leader.WriteJSON(sh.out, leader.NewPastDoc(list))
	case sh.terminal:
		err = leader.WritePast(sh.out, list, time.Now(), sh.columns())
	default:
		err = leader.WritePastTSV(sh.out, list)
	}
	fmt.Fprintln(sh.err, leader.PastSummary(list))
	return err
}

// letters lists the mail of teammates. Nothing in it decides anything.
func letters(ctx context.Context, sh *shell, l *app.Leader) error {
	list, err := l.Mail(ctx)
	if err != nil {
		return err
	}
	switch {
	case sh.json:
		err = leader.WriteJSON(sh.out, leader.NewMailDoc(list))
	case sh.terminal:
		err = leader.WriteMail(sh.out, list, time.Now())
	default:
		err = leader.WriteMailTSV(sh.out, list)
	}
	if !sh.json {
		fmt.Fprintln(sh.err, leader.MailSummary(list))
	}
	if err == nil {
		l.SawMail(ctx, list...)
	}
	return err
}

func inbox(ctx context.Context, sh *shell, l *app.Leader) error {
	q, err := l.Queue(ctx)
	if err != nil {
		return err
	}
	if sh.json {
		return leader.WriteJSON(sh.out, q.Doc())
	}
	if sh.terminal {
		err = leader.WriteInbox(sh.out, q, sh.columns())
	} else {
		err = leader.WriteInboxTSV(sh.out, q)
	}
	fmt.Fprintln(sh.err, q.Summary())
	if h, herr := l.Health(ctx); herr == nil && h.Dead > 0 {
		fmt.Fprintln(sh.err, deadLine(h.Dead))
	}
	return err
}

func newShow(sh *shell) *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use: "show REQUEST", Short: "everything that is decided on: risk, grants, and every byte of the plan", Args: cobra.ExactArgs(1),
		Long: "Show one request, by its handle (api-9w3c), its full id, or its teammate's name. On a terminal it\n" +
			"goes through PAGER, where one is set.",
		Example:           "  swarm show api-9w3c\n  swarm show api --json\n  swarm show api-9w3c --diff      against the revision that you saw last\n  swarm show api-9w3c --raw > plan.md",
		ValidArgsFunction: completeHandles(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error { return show(ctx, sh, l, args[0], o) })(cmd, args)
		},
	}
	c.Flags().BoolVar(&o.diff, "diff", false, "only what changed since the revision that was shown to you last")
	c.Flags().BoolVar(&o.raw, "raw", false, "the plan's bytes and nothing else, exactly as they were submitted")
	c.MarkFlagsMutuallyExclusive("diff", "raw")
	return c
}

type showOptions struct{ diff, raw bool }

func show(ctx context.Context, sh *shell, l *app.Leader, id string, o showOptions) error {
	q, err := l.Queue(ctx, id)
	if err != nil {
		return err
	}
	row, err := q.FindAny(id)
	if err != nil {
		return err
	}
	if o.raw && sh.terminal {
		return usage("--raw writes a teammate's bytes as they are, and a terminal would obey them: send them to a file or a program")
	}
	defer open(ctx, sh, l, row, false)()
	cfg := leader.ShowConfig{Now: time.Now(), Raw: o.raw, Also: q.Also(row)}
	if o.diff {
		before, err := l.Before(ctx, row)
		if err != nil {
			return err
		}
		cfg.Diff = &before
	}
	if cfg.Remarks, err = l.Remarks(ctx, row); err != nil {
		return err
	}
	if sh.json {
		doc := row.ShowDoc()
		doc.Comments = leader.CommentDocs(cfg.Remarks)
		if err := leader.WriteJSON(sh.out, doc); err != nil {
			return err
		}
	} else if err := paged(ctx, sh, o.raw, func(w io.Writer) error { return leader.WriteShow(w, row, cfg) }); err != nil {
		return err
	}
	l.Remember(row)
	l.SawRequest(ctx, row)
	return nil
}

// paged writes through the person's pager, on a terminal where PAGER names one.
func paged(ctx context.Context, sh *shell, raw bool, write func(io.Writer) error) error {
	pager := os.Getenv("PAGER")
	if raw || !sh.terminal || pager == "" {
		return write(sh.out)
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", pager)
	cmd.Stdout, cmd.Stderr = os.Stdout, sh.err
	if os.Getenv("LESS") == "" {
		cmd.Env = append(os.Environ(), "LESS=FRX")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return write(sh.out)
	}
	werr := write(in)
	if cerr := in.Close(); werr == nil {
		werr = cerr
	}
	err = cmd.Wait()
	if cmd.ProcessState.ExitCode() == 127 { // there is no such pager
		return write(sh.out)
	}
	if err != nil && werr == nil {
		return fmt.Errorf("the pager failed (%w): set PAGER to another one, or to nothing", err)
	}
	return nil // a pager that was left early breaks the pipe: that is no error
}
