package leader

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// outcome says why there is nothing to decide any more: what was decided with everything that was signed, and what became
// of it.
func (p *page) outcome(r *Row, now time.Time) {
	if r.Problem != nil {
		p.labelled("ODD", []string{"cannot be decided: " + plans.VisibleLine(r.Problem.Error())})
	}
	at := ""
	if t := r.endedAt(); !t.IsZero() {
		at = ", " + when(t, now)
	}
	switch d := r.Decision; {
	case d != nil && d.Valid && d.By != nil:
		outcome := wordOf(d.Outcome)
		if r.Verdict != nil {
			outcome = verdictWord(*r.Verdict)
		}
		by := decider(*d.By)
		if len(r.Signers) > 1 {
			by = strings.Join(visibleAll(r.Signers), " and ")
		}
		line := fmt.Sprintf("%s by %s%s", outcome, by, at)
		if r.expired() {
			line = "expired: nobody decided in time; it was rejected, not approved" + at
		}
		p.labelled("Ended", []string{line})
	case d != nil:
		p.labelled("Ended", []string{"its slot holds what no leader signed: it is asked again" + at})
	case r.Answer != nil:
		p.labelled("Ended", []string{"answered by " + plans.VisibleLine(r.Answer.By) + at})
	case r.Withdrawn != "":
		p.labelled("Ended", []string{"withdrawn: " + plans.VisibleLine(r.Withdrawn) + at})
	case r.SupersededBy != "":
		p.labelled("Ended", []string{"replaced by " + mailbox.Handle(r.From, r.SupersededBy, minHandle) + at})
	}
	if r.Problem == nil {
		p.decided(r, now)
	}
	if rec := r.Recalled; rec != nil {
		p.labelled("Recall", []string{fmt.Sprintf("by %s, %s", plans.VisibleLine(rec.By), when(rec.At, now))})
	}
	var receipts []string
	for _, rec := range r.Receipts {
		receipts = append(receipts, plans.VisibleLine(strings.TrimSpace(fmt.Sprintf("%s %s %s", rec.State, rec.Mode, rec.Reason))))
	}
	p.labelled("Receipt", receipts)
}

// decided writes what a leader signed.
func (p *page) decided(r *Row, now time.Time) {
	if a := r.Verdict; a != nil {
		p.labelled("Says", textLines(a.Message))
		return
	}
	d := r.Decided
	if d == nil {
		return
	}
	if d.Mode != "" {
		p.labelled("Mode", []string{string(d.Mode)})
	}
	if r.Kind == RowPlan && d.Outcome == planmode.OutcomeApproved {
		p.labelled("Granted", r.grantedLines(*d, now))
	}
	if d.Option != "" {
		p.labelled("Option", []string{r.optionText(d.Option)})
	}
	label := "Says"
	if d.Outcome == planmode.OutcomeApproved {
		label = "Note"
	}
	p.labelled(label, textLines(d.Feedback))
	for _, c := range d.Comments {
		p.labelled("Comment", textLines(fmt.Sprintf("%s line %d: %s", c.ID, c.Line, c.Text)))
	}
	if d.MovedSeen != "" {
		p.labelled("Moved", textLines("files had changed; the reason not to mind: "+d.MovedSeen))
	}
	p.labelled("Signed", r.signedLines(*d))
}

// grantedLines are the grants with their limits and all that they cover, and what was asked and not granted.
func (r *Row) grantedLines(d planmode.Decision, now time.Time) (lines []string) {
	for _, g := range d.Grants {
		lines = append(lines, fmt.Sprintf("%s %s", pad(plans.VisibleLine(g.Prompt), 20), limits(g, d.DecidedAt)+", until "+when(g.ExpiresAt, now)))
		if in, ok := intent.Describe(g.Intent); ok {
			lines = append(lines, coverLines(in.Examples)...)
		}
	}
	if len(d.Grants) == 0 {
		lines = append(lines, "nothing")
	}
	if names := r.notGranted(d); len(names) > 0 {
		lines = append(lines, wrapList(append([]string{"not granted: " + names[0]}, names[1:]...), defaultColumns-8)...)
	}
	return lines
}

// notGranted are the asked prompts that a decision leaves out, made visible.
func (r *Row) notGranted(d planmode.Decision) (names []string) {
	for _, p := range r.Prompts {
		if !slices.ContainsFunc(d.Grants, func(g permissions.GrantTerms) bool { return g.Prompt == p.Prompt }) {
			names = append(names, plans.VisibleLine(p.Prompt))
		}
	}
	return names
}

// signedLines are the digests that the decision names: of what was asked, and of what was approved of it.
func (r *Row) signedLines(d planmode.Decision) []string {
	asked := ", as it was asked"
	if d.Outcome == planmode.OutcomeExpired {
		asked = ", which expired; the signature is the desk's"
	}
	lines := []string{"plan " + ShortDigest(d.PlanDigest) + asked}
	if d.PlanDigest != r.Request.Digest {
		lines[0] = "plan " + ShortDigest(d.PlanDigest) + ", which is NOT this one"
	}
	if d.ApprovedDigest != "" {
		lines = append(lines, fmt.Sprintf("approved %s: %s", ShortDigest(d.ApprovedDigest), r.narrowed(d)))
	}
	return lines
}

// narrowed says in which way something else than what was asked is approved.
func (r *Row) narrowed(d planmode.Decision) string {
	var why []string
	if d.PlanWasEdited {
		why = append(why, "plan edited")
	}
	if len(r.notGranted(d)) > 0 {
		why = append(why, "fewer grants")
	}
	if len(why) == 0 {
		why = append(why, "with other terms than asked")
	}
	return strings.Join(why, ", ")
}

// optionText is an approach with its number.
func (r *Row) optionText(label string) string {
	if r.Request != nil {
		for i, o := range r.Request.Options {
			if o.Label == label {
				return fmt.Sprintf("%d %s", i+1, plans.VisibleLine(label))
			}
		}
	}
	return plans.VisibleLine(label)
}

// edited writes what a leader made of the plan: the difference, and then every byte of what was approved.
func (p *page) edited(r *Row, d planmode.Decision) {
	added, removed, text := plans.Diff(r.Request.Plan.Content, d.EditedPlan)
	is := "was"
	if r.Decided == nil {
		is = "would be"
	}
	p.labelled("Edited", []string{fmt.Sprintf("by %s: +%d -%d; the difference, and then the plan as it %s approved", plans.VisibleLine(d.DecidedBy.Name), added, removed, is)})
	p.unified(text)
	p.numbered(d.EditedPlan)
}

// also names what else the teammate waits for.
func (p *page) also(others []Row) {
	var names []string
	for i := range others {
		o := &others[i]
		what := string(o.Kind)
		if o.Kind != RowPlan {
			what = o.changeCell()
		}
		names = append(names, o.Handle+" "+what)
	}
	if len(names) > 0 {
		names[0] = "also waiting: " + names[0]
		for _, l := range wrapList(names, defaultColumns) {
			p.line("%s", l)
		}
	}
}

// changes says what else than the plan differs from an earlier request.
func (s Seen) changes(q *planmode.ApprovalRequest) (lines []string) {
	old := s.Request
	if old == nil {
		return nil
	}
	names := func(list []permissions.Prompt) (out []string) {
		for _, p := range list {
			out = append(out, plans.VisibleLine(p.Prompt))
		}
		return out
	}
	labels := func(list []plans.Option) (out []string) {
		for _, o := range list {
			out = append(out, plans.VisibleLine(o.Label))
		}
		return out
	}
	list := func(what string, before, after []string) {
		var words []string
		for _, n := range after {
			if !slices.Contains(before, n) {
				words = append(words, "+"+n)
			}
		}
		for _, n := range before {
			if !slices.Contains(after, n) {
				words = append(words, "-"+n)
			}
		}
		if len(words) > 0 {
			lines = append(lines, plans.Cut(what+": "+strings.Join(words, ", "), 400))
		}
	}
	word := func(what, before, after string) {
		if before != after {
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", what, plans.VisibleLine(orElse(after, "none")), plans.VisibleLine(orElse(before, "none"))))
		}
	}
	list("asks for", names(old.AllowedPrompts), names(q.AllowedPrompts))
	list("options", labels(old.Options), labels(q.Options))
	word("mode that it wishes", string(old.RequestedMode), string(q.RequestedMode))
	word("mode that it had", string(old.SavedMode), string(q.SavedMode))
	return lines
}

// limits are a grant's bounds in a few words: "3 uses, 30 min, in ./web".
func limits(g permissions.GrantTerms, from time.Time) string {
	uses := "any number of uses"
	if g.MaxUses > 0 {
		uses = plural(g.MaxUses, "use", "uses")
	}
	text := uses + ", " + span(g.ExpiresAt.Sub(from))
	if g.Tree != "" && g.Tree != "." {
		text += ", in " + where(g.Tree)
	}
	return text
}

// decider is who decided, and with what: "mia, command", "rule docs-only".
func decider(by mailbox.DecidedBy) string {
	if rule := RuleOf(by); rule != "" {
		return plans.VisibleLine(by.Name) + ", rule " + plans.VisibleLine(rule)
	}
	return plans.VisibleLine(by.Name) + ", " + plans.VisibleLine(by.Via)
}

// wordOf is an outcome in a person's word.
func wordOf(outcome string) string {
	switch outcome {
	case string(planmode.OutcomeRejected):
		return "rejected (changes asked)"
	case string(planmode.OutcomeRejectedAndExit):
		return "rejected (left plan mode)"
	case string(permissions.BehaviorAllow):
		return "allowed"
	case string(permissions.BehaviorDeny):
		return "denied"
	}
	return plans.VisibleLine(outcome)
}

func verdictWord(a planmode.PermissionAnswer) string {
	switch {
	case a.Behavior != permissions.BehaviorAllow:
		return "denied"
	case a.Scope == permissions.ScopePlan:
		return "allowed for this plan"
	}
	return "allowed once"
}

// when is a time of day, and another day's with its date.
func when(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}

// textLines is foreign text of several lines, each made visible. Nothing is left out.
func textLines(text string) (lines []string) {
	if text == "" {
		return nil
	}
	for _, l := range sourceLines(text) {
		lines = append(lines, shown(l))
	}
	return lines
}

// nonEmpty is a list of the text, or none when it is empty.
func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
