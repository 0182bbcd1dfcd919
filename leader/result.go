package leader

import (
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// DecisionLine says what was decided, for `approve`, `reject` and `wait`: on one line, or with one more for each of what was
// asked and not granted, the option, the note, and what was signed beside the plan that was shown.
func DecisionLine(r *Row, d planmode.Decision) string {
	who := plans.VisibleLine(r.From)
	switch d.Outcome {
	case planmode.OutcomeApproved:
		if r.Kind == RowLeave {
			return fmt.Sprintf("approved %s. %s leaves plan mode, mode %s, no grants", r.Handle, who, d.Mode)
		}
		lines := append([]string{
			fmt.Sprintf("approved %s (plan %s). mode %s, grants: %s", r.Label(), ShortDigest(d.PlanDigest), d.Mode, grantNames(d)),
		}, r.terms(d)...)
		return strings.Join(lines, "\n  ")
	case planmode.OutcomeRejectedAndExit:
		return fmt.Sprintf("rejected: %s. %s leaves plan mode, mode %s, no grants", r.Label(), who, d.Mode)
	case planmode.OutcomeExpired:
		return fmt.Sprintf("expired: %s. nobody decided; %s stays in plan mode", r.Label(), who)
	default:
		if r.Kind == RowLeave {
			return fmt.Sprintf("rejected: %s. %s stays in plan mode", r.Label(), who)
		}
		return fmt.Sprintf("changes asked: %s. %s stays in plan mode and has your text", r.Label(), who)
	}
}

// terms are the other things that an approval says.
func (r *Row) terms(d planmode.Decision) (lines []string) {
	if names := r.notGranted(d); len(names) > 0 {
		lines = append(lines, plans.Cut("not granted: "+strings.Join(names, ", "), 400))
	}
	if d.Option != "" {
		lines = append(lines, "option: "+r.optionText(d.Option))
	}
	if d.Feedback != "" {
		lines = append(lines, "note: "+plans.Cut(plans.VisibleLine(d.Feedback), 400))
	}
	if d.ApprovedDigest != "" {
		lines = append(lines, fmt.Sprintf("decision %s: %s", ShortDigest(d.ApprovedDigest), r.narrowed(d)))
	}
	return lines
}

// AnswerLine is the line that says how a permission request was answered.
func AnswerLine(r *Row, a planmode.PermissionAnswer) string {
	what := fmt.Sprintf("%s: %s", r.Handle, plans.Cut(plans.VisibleLine(r.Goal), 60))
	switch {
	case a.Behavior != permissions.BehaviorAllow:
		return "denied " + what
	case a.Scope == permissions.ScopePlan:
		return "allowed for this plan " + what
	}
	return "allowed once " + what
}

// grantNames are the grants with their limits: "run tests (3 uses, 30 min, in ./web)".
func grantNames(d planmode.Decision) string {
	var names []string
	for _, g := range d.Grants {
		names = append(names, fmt.Sprintf("%s (%s)", plans.VisibleLine(g.Prompt), limits(g, d.DecidedAt)))
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// GrantSummary says what was given, for the run table: "run tests: 10 uses, 2 h", or "no grants asked".
func GrantSummary(d planmode.Decision, asked int) string {
	if len(d.Grants) == 0 {
		if asked == 0 {
			return "no grants asked"
		}
		return "no grants"
	}
	var parts []string
	for _, g := range d.Grants {
		parts = append(parts, fmt.Sprintf("%s: %s", plans.VisibleLine(g.Prompt), limits(g, d.DecidedAt)))
	}
	return strings.Join(parts, "; ")
}

// ReceiptLine is the line that says what became of a decision, took is since it was stored.
func ReceiptLine(r *Row, rec mailbox.Receipt, took time.Duration) string {
	after := fmt.Sprintf("%.1fs", took.Seconds())
	if rec.State == mailbox.Refused {
		return fmt.Sprintf("NOT applied after %s: %s refused it: %s", after, plans.VisibleLine(r.From), plans.VisibleLine(rec.Reason))
	}
	return fmt.Sprintf("%s after %s", plans.VisibleLine(string(rec.State)), after)
}

// NotApplied is the error of a decision that is stored and was not applied in time.
func NotApplied(r *Row, lastSeen time.Time) error {
	since := ""
	if !lastSeen.IsZero() {
		since = " since " + clock(lastSeen)
	}
	return &Error{
		Code: exitLost, Name: NameNotApplied,
		Message: fmt.Sprintf("%s is gone%s and did not apply the decision", plans.VisibleLine(r.From), since),
		Next:    "it will when it is back",
	}
}

// RuleOf is the policy rule that a decider's name stands for, or empty.
func RuleOf(by mailbox.DecidedBy) string {
	rule, ok := strings.CutPrefix(by.Via, viaRule)
	if !ok {
		return ""
	}
	return rule
}

const viaRule = "policy:"

// ViaRule is how a rule of a policy decides, as it stands in an order's head.
func ViaRule(rule string) string { return viaRule + rule }
