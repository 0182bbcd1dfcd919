package leader

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// wrapAt is how many cells of a plan's line stand on one line; a longer one goes on with a `\` in the gutter.
const wrapAt = 400

// ShowConfig adjusts what [WriteShow] prints.
type ShowConfig struct {
	Now  time.Time
	Diff *Seen // print the difference from this revision instead of the whole plan; nil: the whole plan
	// Raw writes the plan's bytes and nothing else, exactly as they were submitted. Nothing in them is made visible: not
	// for a terminal.
	Raw bool
	// Prompt leaves the last line out: whoever asks for the decision says how to give it.
	Prompt bool
	// Remarks are the comments on the revision before, as [Remarks] returns them.
	Remarks []Remark
	// Also are other requests of the teammate that wait, as [Queue.Also] returns them: a line names them.
	Also []Row
}

// WriteShow writes everything that a leader decides on: who asks, what comes back, the risk with the rule of each reason,
// the grants, what moved, what the policy says, and the plan's source, every byte of it. The last line says how to decide.
func WriteShow(w io.Writer, r *Row, cfg ShowConfig) error {
	if cfg.Raw {
		return writeRaw(w, r)
	}
	p := &page{}
	p.head(r, cfg.Now)
	p.outcome(r, cfg.Now)
	if r.Problem == nil {
		p.facts(r, cfg.Now)
		p.remarks(cfg.Remarks)
	}
	switch {
	case r.Problem != nil:
	case r.Kind == RowRun:
		p.call(r)
	case r.Kind == RowQuestion:
		p.question(r)
	case r.Kind == RowPlan && cfg.Diff != nil:
		p.diff(r, *cfg.Diff)
	case r.Kind == RowPlan && r.Decided != nil && r.Decided.PlanWasEdited:
		p.edited(r, *r.Decided)
	case r.Kind == RowPlan && r.Vote != nil && r.Vote.Decision != nil && r.Vote.Decision.PlanWasEdited:
		p.edited(r, *r.Vote.Decision)
	case r.Kind == RowPlan:
		p.plan(r)
	}
	if !cfg.Prompt {
		p.foot(r)
	}
	p.also(cfg.Also)
	_, err := io.WriteString(w, p.b.String())
	return err
}

// writeRaw writes a plan as its teammate submitted it.
func writeRaw(w io.Writer, r *Row) error {
	switch {
	case r.Problem != nil:
		return errOdd(r, r.Problem)
	case r.Request == nil || r.Kind != RowPlan:
		return errBadChoice("leave --raw out", "%s is a %s and has no plan", r.Handle, r.noun())
	}
	_, err := w.Write(r.Request.Plan.Content)
	return err
}

// page collects the lines of one show.
type page struct{ b strings.Builder }

func (p *page) line(format string, args ...any) {
	p.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// labelled writes lines of which the first has the label.
func (p *page) labelled(label string, lines []string) {
	for i, l := range lines {
		if i > 0 {
			label = ""
		}
		p.line("%s %s", pad(label, 7), l)
	}
}

func (p *page) head(r *Row, now time.Time) {
	first := []string{r.Label(), plans.VisibleLine(r.From)}
	if r.Agent != "" {
		first = append(first, plans.VisibleLine(r.Agent))
	}
	if r.Open() {
		first = append(first, "waits "+Age(now.Sub(r.StoredAt)))
	} else if at := r.endedAt(); !at.IsZero() {
		first = append(first, "waited "+Age(at.Sub(r.StoredAt)))
	}
	if r.Presence != "" {
		first = append(first, strings.ToUpper(r.Presence))
	}
	if r.Request != nil && r.Problem == nil && r.Open() {
		first = append(first, "goes back to: "+string(r.ModeBack))
	}
	p.line("%s", strings.Join(first, "  "))
	if r.Request != nil {
		p.line("digest %s", ShortDigest(r.Request.Digest))
	}
	p.line("")
}

func (p *page) facts(r *Row, now time.Time) {
	switch r.Kind {
	case RowQuestion: // its text follows, line by line
	case RowRun:
		p.labelled("Wants", []string{plans.VisibleLine(r.Goal)})
	default:
		p.labelled("Goal", []string{plans.VisibleLine(r.Goal)})
	}
	if r.Kind != RowQuestion { // answering one approves nothing
		p.labelled(r.Risk.Word(), r.riskLines())
	}
	if !r.Open() {
		p.labelled("Choose", r.optionLines())
		return
	}
	if r.Claimed != "" {
		p.labelled("Mode", []string{fmt.Sprintf("%s says it had %s; what was known is restored: %s", plans.VisibleLine(r.From), r.Claimed, r.ModeBack)})
	}
	if r.Request != nil && r.Request.RequestedMode != "" {
		p.labelled("Wishes", []string{"mode " + plans.VisibleLine(string(r.Request.RequestedMode)) + " (only with --mode)"})
	}
	if r.isMoved() {
		p.labelled("Moved", []string{r.movedLine()})
	}
	p.labelled("Grants", r.grantLines())
	p.labelled("Choose", r.optionLines())
	p.labelled("Signed", r.voteLines())
	for _, name := range r.Holders {
		p.labelled("Now", []string{plans.VisibleLine(name) + " is deciding it"})
	}
	for _, name := range r.Readers {
		p.labelled("Now", []string{plans.VisibleLine(name) + " is reading it"})
	}
	for _, e := range r.Escalated {
		p.labelled("For", []string{fmt.Sprintf("%s, told at %s because nobody decided", plans.VisibleLine(e.To), clock(e.At))})
	}
	if at, ok := r.deadline(); ok {
		p.labelled("Due", []string{at.Local().Format(time.DateTime) + ", " + dueIn(at.Sub(now)) + "; it will be rejected then, not approved"})
	}
	if a := r.Advice; a.Outcome != "" {
		p.labelled("Policy", []string{a.line()})
	}
}

func (r *Row) riskLines() []string {
	if len(r.Risk.Reasons) == 0 {
		return []string{"nothing noted"}
	}
	lines := make([]string, 0, len(r.Risk.Reasons))
	for i, reason := range r.Risk.Reasons {
		lines = append(lines, fmt.Sprintf("%d %s (rule %s)", i+1, reasonLine(reason), reason.Rule))
	}
	return lines
}

func (r *Row) movedLine() string {
	var names []string
	for _, f := range r.Moved.Changed {
		names = append(names, plans.VisibleLine(f))
	}
	return plans.Cut(fmt.Sprintf("%d of %d files it read have changed: %s", len(names), r.Moved.Of, strings.Join(names, " ")), 400)
}

func (r *Row) grantLines() []string {
	if r.Kind != RowPlan {
		return nil
	}
	if len(r.Prompts) == 0 {
		return []string{"none asked: every command will ask"}
	}
	lines := make([]string, 0, len(r.Prompts))
	for _, q := range r.Prompts {
		name := pad(plans.VisibleLine(q.Prompt), 20) + " " + pad(classOf(q), 8)
		if q.Intent == "" {
			lines = append(lines, name+" NOT KNOWN: every command still asks")
			continue
		}
		lines = append(lines, name+" known, and covers")
		lines = append(lines, coverLines(q.Examples)...)
	}
	return lines
}

// coverLines are all examples of what a grant covers, below its name.
func coverLines(examples []string) (lines []string) {
	for _, l := range wrapList(visibleAll(examples), defaultColumns-10) {
		lines = append(lines, "  "+l)
	}
	return lines
}

func (r *Row) optionLines() []string {
	if r.Request == nil || len(r.Request.Options) < 2 {
		return nil
	}
	lines := make([]string, 0, len(r.Request.Options))
	for i, o := range r.Request.Options {
		text := fmt.Sprintf("%d %s", i+1, plans.VisibleLine(o.Label))
		if o.Description != "" {
			text += ": " + plans.VisibleLine(o.Description)
		}
		if o.Recommended {
			text += " (recommended by " + plans.VisibleLine(r.From) + ")"
		}
		lines = append(lines, text)
	}
	return lines
}

func (a Advice) line() string {
	switch {
	case a.Rule == "":
		return "asks a person: " + plans.VisibleLine(a.Why)
	case a.Outcome == "ask":
		return fmt.Sprintf("rule %s asks a person: %s", plans.VisibleLine(a.Rule), plans.VisibleLine(a.Why))
	default:
		return fmt.Sprintf("rule %s would %s: %s", plans.VisibleLine(a.Rule), plans.VisibleLine(a.Outcome), plans.VisibleLine(a.Why))
	}
}

// plan writes the source lines with their numbers, every byte of them.
func (p *page) plan(r *Row) {
	p.numbered(r.Request.Plan.Content)
}

func (p *page) numbered(plan []byte) {
	p.rule()
	for i, l := range sourceLines(string(plan)) {
		p.source(fmt.Sprintf("%4d", i+1), l)
	}
	p.rule()
}

// diff writes the difference from a revision that the leader saw: of the plan, and of what else was asked.
func (p *page) diff(r *Row, seen Seen) {
	added, removed, text := plans.Diff(seen.Content, r.Request.Plan.Content)
	against := "the last one you saw"
	if seen.Ended != "" {
		against = plans.VisibleLine(seen.Ended)
	}
	p.labelled("Diff", []string{fmt.Sprintf("r%d against r%d, %s: +%d -%d", r.Revision, seen.Revision, against, added, removed)})
	changes := seen.changes(r.Request)
	if text == "" {
		changes = append([]string{"the plan is the same, byte for byte"}, changes...)
	}
	p.labelled("Changed", changes)
	p.unified(text)
}

// unified writes a difference, without the two lines that only name its sides.
func (p *page) unified(text string) {
	if text == "" {
		return
	}
	p.rule()
	for i, l := range sourceLines(text) {
		if i >= 2 {
			p.source("", l)
		}
	}
	p.rule()
}

// source writes one line of foreign text, wrapped where it is very long.
func (p *page) source(gutter, l string) {
	for l = shown(l); ; gutter = strings.Repeat(" ", max(len(gutter)-1, 0)) + `\` {
		head := firstCells(l, wrapAt)
		p.line("%s  %s", gutter, head)
		if l = l[len(head):]; l == "" {
			return
		}
	}
}

func (p *page) call(r *Row) {
	p.labelled("Tool", []string{plans.VisibleLine(r.Permission.Tool)})
	p.labelled("In", []string{plans.VisibleLine(r.Permission.Cwd)})
	var lines []string
	for _, c := range r.Permission.Commands {
		lines = append(lines, fmt.Sprintf("%s  %s: %s", plans.VisibleLine(strings.Join(c.Argv, " ")), plans.VisibleLine(string(c.Verdict)), plans.VisibleLine(c.Reason)))
	}
	p.labelled("Why", lines)
	if r.Permission.Change == "" {
		return
	}
	p.rule()
	for _, l := range sourceLines(r.Permission.Change) {
		p.source("  ", l)
	}
	p.rule()
}

// question writes what is asked, the options by number, and the answer where there is one.
func (p *page) question(r *Row) {
	p.rule()
	for _, l := range sourceLines(r.Question.Text) {
		p.source("", l)
	}
	p.rule()
	var options []string
	for i, o := range r.Question.Options {
		options = append(options, fmt.Sprintf("%d %s", i+1, plans.VisibleLine(o)))
	}
	p.labelled("Choose", options)
	if a := r.Answer; a != nil {
		p.labelled("Answer", append(nonEmpty(plans.VisibleLine(a.Answer.Option)), textLines(a.Answer.Text)...))
	}
}

func (p *page) rule() { p.line("%s", strings.Repeat("-", defaultColumns)) }

func (p *page) foot(r *Row) {
	if r.Problem != nil || !r.Open() {
		return
	}
	if r.Kind == RowQuestion {
		option := ""
		if len(r.Question.Options) > 0 {
			option = "   or: swarm answer " + r.Handle + " --option N"
		}
		p.line("answer: swarm answer %s \"…\"%s", r.Handle, option)
		return
	}
	flags := ""
	if r.Request != nil && len(r.Request.Options) > 1 {
		flags += " --option N"
	}
	if r.isMoved() {
		flags += ` --moved-ok "…"`
	}
	asked := *r
	if v := r.Vote; v != nil && !v.asAsked(r) {
		asked = r.asSigned(v)
	}
	if asked.IsHigh() {
		flags += " --confirm " + plans.VisibleLine(r.From)
	}
	if v := r.Vote; v != nil && v.Outcome() == planmode.OutcomeRejectedAndExit {
		p.choices("sign it too: "+r.signToo(v), fmt.Sprintf("changes: swarm reject %s -m \"…\"", r.Handle))
		return
	}
	if v := r.Vote; v != nil && !v.asAsked(r) {
		flags += " --signed " + v.Code()
	}
	approve, reject := fmt.Sprintf("swarm approve %s%s", r.Handle, flags), fmt.Sprintf("swarm reject %s -m \"…\"", r.Handle)
	if r.Kind != RowRun {
		p.choices("approve: "+approve, "changes: "+reject)
		return
	}
	p.choices("once: "+approve, "no: "+reject)
	if _, err := (Choice{Scope: permissions.ScopePlan}).scoped(r); err == nil {
		p.line("for the rest of its plan: %s --for-plan", approve)
	}
}

// choices are what to type, beside each other where that fits.
func (p *page) choices(a, b string) {
	if line := a + "   " + b; plans.Width(line) <= defaultColumns {
		p.line("%s", line)
		return
	}
	p.line("%s", a)
	p.line("%s", b)
}

// sourceLines splits text into lines; what follows the last line feed is a line only if it is not empty.
func sourceLines(text string) []string {
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// shown is one line of source made visible, with its tabs as blanks: nothing in it moves the cursor.
func shown(l string) string {
	if !strings.Contains(l, "\t") {
		return plans.VisibleLine(l)
	}
	var b strings.Builder
	cells := 0
	for i, part := range strings.Split(l, "\t") {
		if i > 0 {
			blanks := 4 - cells%4
			b.WriteString(strings.Repeat(" ", blanks))
			cells += blanks
		}
		part = plans.VisibleLine(part)
		b.WriteString(part)
		cells += plans.Width(part)
	}
	return b.String()
}

// firstCells is as much of s as fits into n cells, at least one character.
func firstCells(s string, n int) string {
	used := 0
	for i, r := range s {
		if used += plans.Width(string(r)); used > n && i > 0 {
			return s[:i]
		}
	}
	return s
}
