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
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// receiptWait is how long decisions and orders wait for the teammate's receipt.
const receiptWait = 10 * time.Second

func newApprove(sh *shell) *cobra.Command {
	var choice leader.Choice
	var o approveOptions
	c := &cobra.Command{
		Use: "approve REQUEST", Short: "approve one plan, exactly as it was shown", Args: cobra.ExactArgs(1),
		Long: "Approve one plan, exactly as it was shown. Grants only what the plan asked for.\n\n" +
			"REQUEST is a handle such as api-9w3c, or the full id. The teammate gets back the mode that\n" +
			"it had before it planned, unless --mode names another one within the team's cap. A row that says\n" +
			"run? is a single command: approve allows it once, or with --for-plan for the rest of its plan.\n\n" +
			"Where the team's charter wants several leaders (1/2 in the inbox), approve signs, and the last one whose\n" +
			"signature is needed stores the decision. A plain approve signs exactly what the others signed, where\n" +
			"that is no more than was asked for; another plan or a wider mode takes --signed CODE, as show prints it.\n" +
			"One that chooses something else takes the place of theirs. Exit 8 while signatures are missing. To reject, one\n" +
			"leader is enough.",
		Example: "  swarm approve api-9w3c                            as asked\n" +
			"  swarm approve api-9w3c --grant \"run tests\"        only this grant\n" +
			"  swarm approve api-9w3c --no-grants --note \"ok\"    nothing runs unasked\n" +
			"  swarm approve db-7k2m --confirm db                HIGH risk, read before\n" +
			"  swarm approve api-9w3c --limit \"run tests=uses:3,for:30m,in:./web\"\n" +
			"  swarm approve api-9w3c --edit                     change it first",
		ValidArgsFunction: completeHandles(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			choice.Outcome = planmode.OutcomeApproved
			if err := o.into(&choice); err != nil {
				return err
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				return approve(ctx, sh, l, args[0], choice, o)
			})(cmd, args)
		},
	}
	f := c.Flags()
	f.StringVar(&o.mode, "mode", "", "mode to go back to (default: what it had before)")
	f.StringArrayVar(&choice.Grants, "grant", nil, "grant only this prompt; repeatable")
	completeFlag(c, "mode", modeNames)
	completeFlag(c, "grant", intentNames)
	f.BoolVar(&choice.NoGrants, "no-grants", false, "grant nothing")
	f.StringArrayVar(&o.limits, "limit", nil, "narrow a grant: PROMPT=uses:3,for:30m,in:./web; repeatable")
	f.BoolVar(&o.edit, "edit", false, "change the plan in VISUAL or EDITOR; the teammate gets exactly your bytes")
	f.StringVar(&o.editFile, "edit-file", "", "the same with a file that holds the whole plan; - is standard input")
	f.BoolVar(&o.forPlan, "for-plan", false, "of a single command: allow exactly it for the rest of the plan")
	f.DurationVar(&o.hold, "hold", 0, "wait this long before it is sent; Ctrl-C takes it back")
	f.StringVar(&choice.Note, "note", "", "text sent along")
	f.StringArrayVar(&o.comments, "comment", nil, "the same about one line of the plan: LINE: TEXT; repeatable")
	f.StringVar(&choice.Option, "option", "", "choose an approach, by number or label")
	f.StringVar(&choice.Confirm, "confirm", "", "the teammate's name: needed for HIGH risk")
	f.StringVar(&choice.Signed, "signed", "", "sign what other leaders signed, by its code in show, where that is more than was asked for")
	f.StringVar(&choice.MovedOK, "moved-ok", "", "why to approve although files have moved")
	f.BoolVar(&o.noWait, "no-wait", false, "do not wait for the teammate's receipt")
	c.MarkFlagsMutuallyExclusive("grant", "no-grants")
	c.MarkFlagsMutuallyExclusive("edit", "edit-file")
	return c
}

// approveOptions are the flags of approve that are no choice yet.
type approveOptions struct {
	mode, editFile        string
	limits, comments      []string
	edit, forPlan, noWait bool
	hold                  time.Duration
}

func (o approveOptions) into(ch *leader.Choice) (err error) {
	if ch.Comments, err = parseComments(o.comments); err != nil {
		return err
	}
	if ch.Mode, err = modeFlag(o.mode); err != nil {
		return err
	}
	for _, text := range o.limits {
		l, err := leader.ParseLimit(text)
		if err != nil {
			return err
		}
		ch.Limits = append(ch.Limits, l)
	}
	if o.forPlan {
		ch.Scope = permissions.ScopePlan
	}
	if o.hold < 0 || o.hold > time.Hour {
		return usage("--hold %v: name a time up to 1h", o.hold)
	}
	return nil
}

// approve asks a person at a terminal for what approving needs besides, has the plan edited, and holds the decision back
// as long as that was wished. Until then nothing is signed.
func approve(ctx context.Context, sh *shell, l *app.Leader, id string, ch leader.Choice, o approveOptions) error {
	q, err := l.Queue(ctx, id)
	if err != nil {
		return err
	}
	row, err := q.Find(id)
	if err != nil {
		return err
	}
	if o.forPlan && row.Kind != leader.RowRun {
		return usage("%s is no single command: --for-plan is for rows that say run?", row.Handle)
	}
	stop := open(ctx, sh, l, row, o.edit)
	defer func() { stop() }()
	if o.edit || o.editFile != "" {
		if ch.Edited, err = edited(ctx, sh, row, o.editFile); err != nil {
			return err
		}
	}
	if row.IsHigh() && ch.Confirm == "" && sh.terminal && !sh.json && o.editFile != "-" {
		fmt.Fprintf(sh.err, "%s is HIGH risk:\n", row.Handle)
		for _, r := range row.Risk.Reasons {
			fmt.Fprintf(sh.err, "  %s\n", plans.VisibleLine(r.Text))
		}
		if ch.Confirm, err = prompt(sh, "type the teammate's name to confirm: "); err != nil {
			return err
		}
	}
	if o.hold > 0 {
		stop()
		stop = l.Reading(ctx, row, true)
		fmt.Fprintf(sh.err, "sends in %v; Ctrl-C takes it back\n", o.hold)
		select {
		case <-time.After(o.hold):
		case <-ctx.Done():
			fmt.Fprintln(sh.err, "taken back: nothing was sent")
			return context.Cause(ctx)
		}
	}
	return decide(ctx, sh, l, row.ID(), ch, !o.noWait)
}

// open tells the other leaders that a request is before somebody's eyes, where it is: on a terminal, or in an editor.
func open(ctx context.Context, sh *shell, l *app.Leader, row *leader.Row, editor bool) (stop func()) {
	if !sh.terminal && !editor || !row.Open() {
		return func() {}
	}
	return l.Reading(ctx, row, false)
}

func newReject(sh *shell) *cobra.Command {
	var feedback, signed string
	var comments []string
	var leave, noWait bool
	c := &cobra.Command{
		Use: "reject REQUEST [-m TEXT] [--comment \"LINE: TEXT\"]...", Short: "ask for changes: the teammate stays in plan mode", Args: cobra.ExactArgs(1),
		Long: "Send a plan back. The teammate stays in plan mode and gets your text.\n" +
			"A comment is about one line of the plan, as swarm show numbers them; all of them are sent at once. show of the\n" +
			"next revision says of each whether it is ADDRESSED (the teammate says so), CHANGED (the line was changed or\n" +
			"went) or NOT ADDRESSED.\n" +
			"With --leave it leaves plan mode instead: its mode comes back, and it gets no grants.",
		ValidArgsFunction: completeHandles(sh),
		Example: "  swarm reject api-9w3c -m \"say how you will test it\"\n" +
			"  swarm reject api-9w3c --comment \"5: which cases are tested?\" --comment \"8: and old invoices?\"\n" +
			"  swarm reject api-9w3c --leave -m \"not needed any more\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(feedback) == "" && len(comments) == 0 {
				return usage("reject needs -m TEXT, or --comment \"LINE: TEXT\": say what the teammate should change")
			}
			choice := leader.Choice{Outcome: planmode.OutcomeRejected, Feedback: feedback, Signed: signed}
			var err error
			if choice.Comments, err = parseComments(comments); err != nil {
				return err
			}
			if leave {
				choice.Outcome = planmode.OutcomeRejectedAndExit
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				return decide(ctx, sh, l, args[0], choice, !noWait)
			})(cmd, args)
		},
	}
	c.Flags().StringVarP(&feedback, "message", "m", "", "what the teammate should change")
	c.Flags().StringArrayVar(&comments, "comment", nil, "a comment on one line of the plan: LINE: TEXT; repeatable")
	c.Flags().BoolVar(&leave, "leave", false, "leave plan mode without a plan")
	c.Flags().StringVar(&signed, "signed", "", "sign what other leaders signed, by its code in show, where that is more than was asked for")
	c.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the teammate's receipt")
	return c
}

// parseComments reads comments on lines, as they were typed.
func parseComments(texts []string) (list []planmode.Comment, err error) {
	for _, text := range texts {
		c, err := leader.ParseComment(text)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func decide(ctx context.Context, sh *shell, l *app.Leader, id string, choice leader.Choice, wait bool) error {
	limit := time.Duration(0)
	if wait {
		limit = receiptWait
	}
	stop := saySoon(sh, "stored; waiting until it is applied")
	d, err := l.Decide(ctx, id, choice, limit)
	stop()
	if err != nil {
		return err
	}
	switch {
	case d.Signed != nil:
		return printSigned(sh, d)
	case d.Answer != nil:
		return printAnswer(sh, d, wait)
	}
	doc := leader.NewDecisionDoc(d.Row, *d.Decision)
	text := leader.DecisionLine(d.Row, *d.Decision) + "\n"
	switch {
	case d.Receipt != nil:
		doc = doc.WithReceipt(*d.Receipt, d.At)
		text += leader.ReceiptLine(d.Row, *d.Receipt, d.Took) + "\n"
	case wait:
		text += "stored; not applied yet: " + d.Row.From + " applies it when it is there\n"
	}
	if err := sh.print(doc, text); err != nil {
		return err
	}
	return receiptStatus(d, wait)
}

// saySoon tells a person what is waited for when nothing has happened for a second.
func saySoon(sh *shell, text string) (stop func()) {
	t := time.AfterFunc(time.Second, func() { fmt.Fprintln(sh.err, text) })
	return func() { t.Stop() }
}

// receiptStatus is the exit code of a decision that is stored: refused is stale, and a teammate that is gone is lost.
func receiptStatus(d app.Decided, waited bool) error {
	switch {
	case d.Receipt != nil && d.Receipt.State == mailbox.Refused:
		return status(ExitStale)
	case d.Receipt == nil && waited && d.Row.Presence != "":
		return leader.NotApplied(d.Row, d.LastSeen)
	}
	return nil
}

// printSigned says that a signature waits for those of others. Nothing is decided yet.
func printSigned(sh *shell, d app.Decided) error {
	doc := leader.NewVoteDoc(d.Row, d.Signed, d.Have, d.Need)
	if err := sh.print(signedDoc{RequestID: d.Row.ID(), Handle: d.Row.Handle, Signed: doc, Already: d.Already}, leader.SignedLine(d.Row, d.Given)); err != nil {
		return err
	}
	return status(ExitPending)
}

// signedDoc is what `approve` prints of a decision that needs more signatures.
type signedDoc struct {
	RequestID string         `json:"requestId"`
	Handle    string         `json:"handle"`
	Signed    leader.VoteDoc `json:"signed"`
	Already   bool           `json:"already,omitempty"` // this leader had signed it before
}

func printAnswer(sh *shell, d app.Decided, wait bool) error {
	doc := leader.NewAnswerDoc(d.Row, *d.Answer)
	text := leader.AnswerLine(d.Row, *d.Answer) + "\n"
	if d.Receipt != nil {
		doc = doc.WithReceipt(*d.Receipt, d.At)
		if d.Receipt.State == mailbox.Refused {
			text += leader.ReceiptLine(d.Row, *d.Receipt, d.Took) + "\n"
		}
	}
	if err := sh.print(doc, text); err != nil {
		return err
	}
	return receiptStatus(d, wait)
}

// modeFlag is a mode that may be left out.
func modeFlag(s string) (permissions.Mode, error) {
	if s == "" {
		return "", nil
	}
	return parseMode(s)
}

// parseMode reads a mode that was typed.
func parseMode(s string) (permissions.Mode, error) {
	m, err := permissions.ParseMode(s)
	if err != nil {
		return "", usage("%s", strings.TrimPrefix(err.Error(), "permissions: "))
	}
	return m, nil
}
