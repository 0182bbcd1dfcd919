package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// lost tells a person once that the broker went away and is waited for.
func lost(sh *shell) func(error) {
	return func(error) { fmt.Fprintln(sh.err, "BROKER LOST: waiting until it is back; Ctrl-C ends this") }
}

// these are always the same ids.
func these(ids ...string) func() []string { return func() []string { return ids } }

// waitDoc is what `wait` prints with --json: exactly one of the ends.
type waitDoc struct {
	RequestID  string                     `json:"requestId"`
	Handle     string                     `json:"handle"`
	Outcome    string                     `json:"outcome"` // approved, rejected, rejectedAndExit, expired, allow, deny, answered, withdrawn, superseded
	Decision   *leader.DecisionDoc        `json:"decision,omitempty"`
	Permission *planmode.PermissionAnswer `json:"permission,omitempty"`
	Answer     *mailbox.Answer            `json:"answer,omitempty"`
	Reason     string                     `json:"reason,omitempty"` // of a withdrawal
	By         string                     `json:"by,omitempty"`     // handle of the newer revision
}

// waitAllDoc is what `wait --all` prints with --json.
type waitAllDoc struct {
	Decisions []waitDoc `json:"decisions"`
}

func newWaitFor(sh *shell) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "wait [REQUEST|NAME]", Short: "wait until a request is decided, by anybody", Args: cobra.MaximumNArgs(1),
		Long: "Wait until a request has its end, for as long as that takes; --timeout bounds it. With --all:\n" +
			"until nothing that waits now is open any more.\n" +
			"Exit: 0 approved, allowed or answered  3 rejected or denied  5 expired  6 withdrawn or replaced\n" +
			"8 the time ran out; with --all the first of 3 5 6 that happened",
		Example:           "  swarm wait api-9w3c\n  swarm wait api --timeout 10m\n  swarm wait --all --json",
		ValidArgsFunction: completeHandles(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return usage("wait needs one request, or --all: swarm inbox lists what waits")
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				if all {
					return waitAll(ctx, sh, l)
				}
				return waitOne(ctx, sh, l, args[0])
			})(cmd, nil)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "until nothing that waits now is open")
	return c
}

func waitOne(ctx context.Context, sh *shell, l *app.Leader, word string) error {
	stop := saySoon(sh, "waiting for a leader's decision on "+word)
	defer stop()
	var id string // the request that the word named when we began: a newer one is another
	err := l.Follow(ctx, these(word), lost(sh), func(q *leader.Queue) (bool, error) {
		key := word
		if id != "" {
			key = id
		}
		row, err := awaited(q, key, id != "")
		if err != nil || row == nil {
			return false, err
		}
		if id == "" {
			id = row.ID()
		}
		if row.Open() {
			return false, nil
		}
		d, text, code := ended(q, row)
		if err := sh.print(d, text); err != nil {
			return true, err
		}
		if code != ExitOK {
			return true, status(code)
		}
		return true, nil
	})
	return waited(err, word)
}

// awaited finds what is waited for: a request that is known already, or the next one that a name means. Nil is none yet.
func awaited(q *leader.Queue, key string, known bool) (*leader.Row, error) {
	if known {
		return q.FindAny(key)
	}
	return q.Awaited(key)
}

// waited says of what nothing came in time.
func waited(err error, what string) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &leader.Error{Code: ExitPending, Name: "timeout", Message: what + " is still pending", Next: "wait again, or decide it: swarm inbox"}
	}
	return err
}

func waitAll(ctx context.Context, sh *shell, l *app.Leader) error {
	var ids []string
	doc, codes := waitAllDoc{Decisions: []waitDoc{}}, []int{}
	q, err := l.Queue(ctx)
	if err != nil {
		return err
	}
	for i := range q.Rows {
		ids = append(ids, q.Rows[i].ID())
	}
	if len(ids) > 0 {
		fmt.Fprintf(sh.err, "waiting for %s\n", countOf(len(ids), "request"))
	}
	err = l.Follow(ctx, func() []string { return ids }, lost(sh), func(q *leader.Queue) (bool, error) {
		ids = slices.DeleteFunc(ids, func(id string) bool {
			row, err := q.FindAny(id)
			if err != nil || row.Open() {
				return false
			}
			d, text, code := ended(q, row)
			doc.Decisions, codes = append(doc.Decisions, d), append(codes, code)
			if !sh.json {
				_, _ = fmt.Fprint(sh.out, text)
			}
			return true
		})
		return len(ids) == 0, nil
	})
	if err != nil {
		return waited(err, countOf(len(ids), "request"))
	}
	if sh.json {
		if err := leader.WriteJSON(sh.out, doc); err != nil {
			return err
		}
	}
	for _, code := range []int{ExitRejected, ExitExpired, ExitStale} {
		if slices.Contains(codes, code) {
			return status(code)
		}
	}
	return nil
}

// ended says what became of a request that waits no more: as a document, as a line, and as an exit code.
func ended(q *leader.Queue, row *leader.Row) (waitDoc, string, int) {
	d := waitDoc{RequestID: row.ID(), Handle: row.Handle}
	switch {
	case row.Answer != nil:
		d.Outcome, d.Answer = "answered", &row.Answer.Answer
		return d, fmt.Sprintf("answered %s, by %s\n", row.Handle, row.Answer.By), ExitOK
	case row.Verdict != nil:
		a := *row.Verdict
		d.Outcome, d.Permission = string(a.Behavior), &a
		return d, leader.AnswerLine(row, a) + "\n", codeIf(a.Behavior == permissions.BehaviorAllow)
	case row.Decided != nil:
		dec := *row.Decided
		doc := leader.NewDecisionDoc(row, dec)
		d.Outcome, d.Decision = string(dec.Outcome), &doc
		code := codeIf(dec.Outcome == planmode.OutcomeApproved)
		if dec.Outcome == planmode.OutcomeExpired {
			code = ExitExpired
		}
		return d, leader.DecisionLine(row, dec) + "\n", code
	case row.Decision != nil: // what lies in its slot no leader has signed
		d.Outcome = "void"
		return d, fmt.Sprintf("void: the slot of %s holds what no leader signed; %s asks again\n", row.Handle, row.From), ExitStale
	case row.Withdrawn != "":
		d.Outcome, d.Reason = "withdrawn", row.Withdrawn
		return d, fmt.Sprintf("withdrawn: %s (%s)\n", row.Handle, plans.VisibleLine(row.Withdrawn)), ExitStale
	}
	d.Outcome = "superseded"
	text := "replaced: " + row.Handle
	if by, err := q.FindAny(row.SupersededBy); err == nil {
		d.By = by.Handle
		text += " by " + by.Label()
	}
	return d, text + "\n", ExitStale
}

func codeIf(yes bool) int {
	if yes {
		return ExitOK
	}
	return ExitRejected
}

func newWatch(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "watch [NAME]", Short: "status and what happens, until Ctrl-C", Args: cobra.MaximumNArgs(1),
		Long: "On a terminal: the status, drawn again when it changes. Else, and with NAME, one line for each change;\n" +
			"with --json one object a line. NAME is one teammate: its requests, its state and mode, and where its client\n" +
			"says them the tool that it uses, its turns and its tokens. It ends with Ctrl-C and exit 0.",
		Example:           "  swarm watch\n  swarm watch api\n  swarm watch --json | jq .event",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				switch {
				case len(args) == 1:
					name, err := l.Teammate(ctx, args[0])
					if err != nil {
						return err
					}
					return events(ctx, sh, l, true, name)
				case sh.terminal && !sh.json:
					return redraw(ctx, sh, l)
				}
				return events(ctx, sh, l, true, "")
			})(cmd, nil)
		},
	}
}

// redraw shows the status again and again, in place.
func redraw(ctx context.Context, sh *shell, l *app.Leader) error {
	last := ""
	err := l.Follow(ctx, these(), lost(sh), func(q *leader.Queue) (bool, error) {
		doc, err := statusOf(ctx, l, q)
		if err != nil {
			return false, err
		}
		if text := doc.text(); text != last {
			last = text
			_, err = fmt.Fprint(sh.out, "\x1b[H\x1b[2J"+text+"\nCtrl-C ends this\n")
		}
		return false, err
	})
	return untilStopped(err)
}

// untilStopped: a watch that a person ends has done what it was for.
func untilStopped(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// events prints what changes, from now on: of one teammate, or of all where none is named.
func events(ctx context.Context, sh *shell, l *app.Leader, members bool, only string) error {
	var before *leader.Queue
	states := map[string]teammateDoc{}
	watching := func() []string {
		if before == nil {
			return nil
		}
		return before.Watching()
	}
	err := l.Follow(ctx, watching, lost(sh), func(q *leader.Queue) (bool, error) {
		changes := leader.Changes(before, q)
		before = q
		for _, e := range changes {
			if only != "" && e.Request.Teammate != only {
				continue
			}
			if err := printEvent(sh, e, leader.EventLine(e)); err != nil {
				return false, err
			}
		}
		if !members {
			return false, nil
		}
		return false, memberChanges(ctx, sh, l, states, only)
	})
	return untilStopped(err)
}

// memberDoc is a change of one teammate's state, in `watch --json`.
type memberDoc struct {
	Event    string      `json:"event"` // "teammate"
	At       time.Time   `json:"at"`
	Teammate teammateDoc `json:"teammate"`
}

func memberChanges(ctx context.Context, sh *shell, l *app.Leader, states map[string]teammateDoc, only string) error {
	members, err := l.Presence(ctx)
	if err != nil {
		return nil //nolint:nilerr // the next round asks again
	}
	for _, m := range members {
		if m.Role != charter.RoleTeammate || only != "" && m.Name != only {
			continue
		}
		t := teammateOf(m)
		old, known := states[t.Name]
		states[t.Name] = t
		same := old.State == t.State && old.Mode == t.Mode && old.Grants == t.Grants
		if known && same && (only == "" || old.does() == t.does()) { // who watches one wants to see it work
			continue
		}
		line := fmt.Sprintf("%s %s %s", time.Now().Format(time.TimeOnly), t.Name, t.word())
		if t.Failed != "" {
			line += ": " + t.Failed
		}
		if t.Mode != "" && t.Mode != "-" {
			line += fmt.Sprintf(", mode %s, %s", t.Mode, countOf(t.Grants, "grant"))
		}
		if does := t.does(); does != "" {
			line += ", " + does
		}
		if err := printEvent(sh, memberDoc{"teammate", time.Now().UTC(), t}, line); err != nil {
			return err
		}
	}
	return nil
}

func printEvent(sh *shell, v any, line string) error {
	if sh.json {
		return leader.WriteJSON(sh.out, v)
	}
	_, err := fmt.Fprintln(sh.out, line)
	return err
}
