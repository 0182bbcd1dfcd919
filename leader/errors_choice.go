package leader

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// What is wrong with what somebody chose, named or ordered: exit code 2, or 15 for a name that nothing has.

// errConfirm asks for the teammate's name, of what is risky about the plan as it would be approved.
func errConfirm(r *Row, ch Choice) error {
	what := fmt.Sprintf("%s is HIGH risk (%s)", r.Handle, r.topReason())
	if ch.Edited != nil && r.Request != nil && !bytes.Equal(ch.Edited, r.Request.Plan.Content) {
		what = fmt.Sprintf("%s as you edited it is HIGH risk (%s)", r.Handle, r.topReason())
	}
	if ch.Confirm != "" {
		what = fmt.Sprintf("%s is not the name of the teammate that asks: %s", quote(ch.Confirm), what)
	}
	return &Error{
		Code: exitUsage, Name: NameNeedsConfirm, Message: what,
		Next: fmt.Sprintf("repeat with --confirm %s after reading swarm show %s", plans.VisibleLine(r.From), r.Handle),
	}
}

// errAboveCap names what was typed, and the mode that it means where that is another word.
func errAboveCap(typed string, m, limit permissions.Mode, choices string, cause error) error {
	what := quote(string(m))
	if typed != string(m) {
		what = fmt.Sprintf("%s (%s)", quote(typed), m)
	}
	return &Error{
		Code: exitUsage, Name: NameAboveCap, err: cause,
		Message: fmt.Sprintf("mode %s is above this team's cap %s", what, quote(string(limit))),
		Next:    fmt.Sprintf("choose %s, or raise caps.mode in your config.yaml, and in swarm.yaml", choices),
	}
}

// orderable lists the modes that an order may set under a cap.
func orderable(limit permissions.Mode) string {
	text := choosable(limit)
	if !permissions.ModeDontAsk.Above(limit) && limit != permissions.ModeDontAsk {
		text += ", dontAsk (what would ask is denied)"
	}
	return text + ", plan (recall)"
}

// choosable lists the modes that an approval may restore under a cap.
func choosable(limit permissions.Mode) string {
	var names []string
	for _, m := range permissions.Modes() {
		if m == permissions.ModePlan || m.Above(limit) || m == permissions.ModeDontAsk && limit != m {
			continue
		}
		names = append(names, string(m))
	}
	if len(names) == 0 {
		return "another"
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return names[0]
}

func errGrantNotAsked(prompt string, r *Row) error {
	return &Error{
		Code: exitUsage, Name: NameGrantNotAsked,
		Message: fmt.Sprintf("%s was not asked by %s (asked: %s)", quote(prompt), r.Handle, r.askedPrompts()),
		Next:    "a grant can only narrow",
	}
}

func errGrantUnknown(prompt string, r *Row) error {
	return &Error{
		Code: exitUsage, Name: NameGrantNotAsked,
		Message: fmt.Sprintf("%s of %s is not recognised and cannot be granted", quote(prompt), r.Handle),
		Next:    "approve without it: each of its commands will ask",
	}
}

func errNoPrevious(r *Row) error {
	return &Error{
		Code: exitUsage, Name: NameNoPrevious, Message: r.Label() + " has no revision before it: there is nothing to compare",
		Next: "swarm show " + r.Handle + " without --diff",
	}
}

// errBadEdit says why a leader's edit is no plan.
func errBadEdit(r *Row, err error) error {
	what := "the edited plan cannot be used"
	switch {
	case errors.Is(err, plans.ErrEmpty):
		what = "the edited plan is empty: nothing can be seen in it"
	case errors.Is(err, plans.ErrTooLarge):
		what = fmt.Sprintf("the edited plan is too large: at most %d bytes", plans.MaxBytes)
	case errors.Is(err, plans.ErrNotUTF8):
		what = "the edited plan is not UTF-8 text"
	}
	return &Error{
		Code: exitUsage, Name: NameBadEdit, err: err, Message: what + ", so nothing was approved",
		Next: fmt.Sprintf("edit %s again, or reject it with your text", r.Handle), sep: "; ",
	}
}

// errNoTeammate says that nobody of a name takes orders or mail, and who may have been meant.
func errNoTeammate(name string, c charter.Charter) error {
	next := "swarm status lists the team"
	if near := mailbox.Nearest(name, teammatesOf(c)); len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "? " + next
	}
	return &Error{
		Code: exitNotFound, Name: NameNoTeammate, Next: next,
		Message: fmt.Sprintf("nobody is called %s in team %s", quote(name), plans.VisibleLine(c.Team)),
	}
}

// errNoRecipient says that no mail can be sent to a name, and who may have been meant.
func errNoRecipient(name string, c charter.Charter) error {
	names := []string{mailbox.Lead, mailbox.All}
	for _, m := range c.Members {
		if !m.Retired {
			names = append(names, m.Name)
		}
	}
	next := "swarm status lists the team"
	if near := mailbox.Nearest(name, names); len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "? " + next
	}
	return &Error{
		Code: exitNotFound, Name: NameNoRecipient, Next: next,
		Message: fmt.Sprintf("nobody is called %s in team %s", quote(name), plans.VisibleLine(c.Team)),
	}
}

// errOrderReserved says that the charter leaves an order to others.
func errOrderReserved(to, name string, cause error, reason, next string) error {
	return &Error{
		Code: exitAuth, Name: name, err: cause, Next: next,
		Message: fmt.Sprintf("the charter does not let this key order that of %s (%s)", plans.VisibleLine(to), plans.VisibleLine(reason)),
	}
}

func errUnknownGrant(s string, near []string) error {
	next := "swarm grants lists all"
	if len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "? " + next
	}
	return &Error{Code: exitNotFound, Name: NameUnknownGrant, Message: "no grant in force is " + quote(s), Next: next}
}

func errGrantEnded(s string, g *GrantRow) error {
	what := fmt.Sprintf("%s has ended (%s)", quote(s), plans.VisibleLine(g.EndedBy))
	if g.ID != s && g.Handle != strings.ToLower(s) {
		what = fmt.Sprintf("%s has no grant in force; its last one ended (%s)", quote(s), plans.VisibleLine(g.EndedBy))
	}
	return &Error{Code: exitNotFound, Name: NameGrantEnded, Message: what + ": there is nothing to revoke", Next: "swarm grants --all lists what ended", sep: "; "}
}

func errNotAQuestion(r *Row) error {
	return errBadChoice("decide it with swarm approve or swarm reject", "%s is a %s, not a question", r.Handle, r.noun())
}

func errBadChoice(next, format string, args ...any) error {
	return &Error{Code: exitUsage, Name: NameBadChoice, Message: fmt.Sprintf(format, args...), Next: next}
}

func errTooWide(prompt, asked, limit string) error {
	return &Error{
		Code: exitUsage, Name: NameGrantTooWide,
		Message: fmt.Sprintf("a grant of %s for %s is wider than this team's cap (%s)", quote(prompt), asked, limit),
		Next:    "narrow it, or change caps.grants in swarm.yaml",
	}
}

// errNeedsOption lists the approaches of which one has to be chosen. Chosen is what was named instead; empty: nothing.
func errNeedsOption(r *Row, chosen string) error {
	var numbers, labels []string
	for i, o := range r.Request.Options {
		numbers = append(numbers, fmt.Sprint(i+1))
		labels = append(labels, fmt.Sprintf("%d %s", i+1, plans.VisibleLine(o.Label)))
	}
	text := fmt.Sprintf("%s offers %s", r.Handle, plural(len(numbers), "approach", "approaches"))
	if chosen != "" {
		text = fmt.Sprintf("%s is no approach of %s", quote(chosen), r.Handle)
	}
	return &Error{
		Code: exitUsage, Name: NameNeedsOption, Message: text + " (" + strings.Join(labels, ", ") + ")",
		Next: "choose with --option " + strings.Join(numbers, ", ") + " after reading swarm show " + r.Handle,
	}
}

// errTwoOptions says that a number is the label of another approach, the one at an index.
func errTwoOptions(r *Row, option string, at int) error {
	return &Error{
		Code: exitUsage, Name: NameNeedsOption,
		Message: fmt.Sprintf("%s is the number of one approach of %s, and the label of approach %d", quote(option), r.Handle, at+1),
		Next:    "have it ask again with labels that are no numbers: swarm reject " + r.Handle + " -m TEXT",
	}
}

func errMoved(r *Row) error {
	return &Error{
		Code: exitUsage, Name: NameMovedFiles,
		Message: fmt.Sprintf("%d of %d files that %s read have changed since", len(r.Moved.Changed), r.Moved.Of, plans.VisibleLine(r.From)),
		Next:    fmt.Sprintf(`repeat with --moved-ok "reason", or ask for a new plan: swarm reject %s -m "files changed"`, r.Handle),
	}
}

func errNotAPlan(r *Row) error {
	if r.Kind == RowQuestion {
		return errIsQuestion(r)
	}
	return errBadChoice("answer it with swarm approve or swarm reject", "%s is a permission request, not a plan", r.Handle)
}

// errIsQuestion says that nothing about a question can be approved.
func errIsQuestion(r *Row) error {
	return errBadChoice(fmt.Sprintf("answer it with swarm answer %s TEXT", r.Handle), "%s is a question: there is nothing to approve", r.Handle)
}

func errCannotLeave(r *Row) error {
	return errBadChoice(fmt.Sprintf(`deny it: swarm reject %s -m "why"`, r.Handle), "%s is a single call, and --leave is about plan mode", r.Handle)
}

func errNotACall(r *Row) error {
	if r.Kind == RowQuestion {
		return errIsQuestion(r)
	}
	return errBadChoice("approve or reject it as a plan", "%s is a plan, not a permission request", r.Handle)
}
