package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// commentForm is how a comment is written.
const commentForm = `--comment "6: which cases are tested?"`

// maxComments is how many comments one decision takes.
const maxComments = 200

// ParseComment reads LINE: TEXT, a comment on one line of a plan; lines are counted from 1, as show numbers them. Whether
// the plan has the line, and its quote, is for [Prepare]. The errors are [Error]s of exit code 2.
func ParseComment(s string) (planmode.Comment, error) {
	number, text, ok := strings.Cut(s, ":")
	line, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case !ok:
		return planmode.Comment{}, errBadComment(s, "it has no : after the line", "write "+commentForm)
	case err != nil || line < 1:
		return planmode.Comment{}, errBadComment(s, quote(number)+" is no line", "write "+commentForm)
	case strings.TrimSpace(text) == "":
		return planmode.Comment{}, errBadComment(s, "it says nothing after the line", "write "+commentForm)
	}
	return planmode.Comment{Line: line, Text: strings.TrimSpace(text)}, nil
}

func errBadComment(comment, what, next string) error {
	return errBadChoice(next, "comment %s: %s", quote(comment), what)
}

// anchored are a choice's comments as they are signed: numbered, in the order of their lines, each with its line as the
// leader saw it.
func anchored(r *Row, list []planmode.Comment) ([]planmode.Comment, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if !r.IsPlan() {
		return nil, errBadChoice("say it with -m", "%s is no plan: there is no line to comment on", r.Handle)
	}
	if len(list) > maxComments {
		return nil, errBadChoice(fmt.Sprintf("at most %d are sent", maxComments), "there are %d comments", len(list))
	}
	plan := r.Request.Plan.Content
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b planmode.Comment) int { return a.Line - b.Line })
	for i := range out {
		text, ok := plans.LineAt(plan, out[i].Line)
		if !ok {
			return nil, errBadChoice("swarm show "+r.Handle+" numbers them", "%s has %s, and a comment is on line %d", r.Handle, plural(plans.CountLines(plan), "line", "lines"), out[i].Line)
		}
		out[i].ID, out[i].Quote = fmt.Sprintf("c%d", i+1), text
	}
	return out, nil
}

// RemarkState says what became of a comment in the next revision.
type RemarkState string

// What became of a comment. Only a leader closes one.
const (
	Addressed    RemarkState = "ADDRESSED"     // the teammate says so, and perhaps where
	Changed      RemarkState = "CHANGED"       // it said nothing, and the line was changed or went
	NotAddressed RemarkState = "NOT ADDRESSED" // it said nothing, and the line is as it was
)

// Remark is a leader's comment on the last decided revision of a plan, and what became of it in a later one.
type Remark struct {
	planmode.Comment
	Revision int // that the comment is on
	By       string
	State    RemarkState
	Now      int    // the line in the later revision: where the teammate says, or else where it was followed to
	Answer   string // what the teammate says about it
}

// Remarks are the comments of the last decision about a row's plan, and what the row's revision makes of them. What is in
// them was signed by a leader of the charter; what the teammate says is only what it says. There are none where nothing was
// decided before.
func Remarks(ctx context.Context, box Reader, r Row, c charter.Charter) ([]Remark, error) {
	if r.Request == nil || !r.IsPlan() || r.Previous == "" {
		return nil, nil
	}
	from, err := box.Request(ctx, r.Previous)
	switch {
	case errors.Is(err, natsbox.ErrNotFound): // deleted since
		return nil, nil
	case err != nil:
		return nil, err
	}
	if q := from.Request; q == nil || from.From != r.From || q.PlanID != r.Request.PlanID || q.Revision >= r.Request.Revision {
		return nil, nil
	}
	before, err := NewRow(from, RowConfig{Charter: c})
	if err != nil || before.Decided == nil || before.Decided.PlanDigest != before.Request.Digest {
		return nil, nil //nolint:nilerr // what no leader signed has no comments
	}
	return remarks(&before, r.Request), nil
}

func remarks(before *Row, q *planmode.ApprovalRequest) (out []Remark) {
	d := before.Decided
	for _, c := range d.Comments {
		m := Remark{Comment: c, Revision: before.Revision, By: d.DecidedBy.Name, State: NotAddressed}
		now, kept := plans.Follow(before.Request.Plan.Content, q.Plan.Content, c.Line)
		if m.Now = now; !kept {
			m.State = Changed
		}
		i := slices.IndexFunc(q.Addresses, func(a planmode.Addressed) bool { return a.Comment == c.ID })
		if i >= 0 {
			a := q.Addresses[i]
			m.State, m.Answer = Addressed, a.Text
			if a.Line > 0 {
				m.Now = a.Line
			}
		}
		out = append(out, m)
	}
	return out
}

// head is a remark's first line: what it is on, and what became of it.
func (m Remark) head() string {
	where := ""
	if m.Now > 0 {
		where = fmt.Sprintf(" (line %d)", m.Now)
	}
	return fmt.Sprintf("%s %s, r%d line %d: %s%s", plans.VisibleLine(m.ID), plans.VisibleLine(m.By), m.Revision, m.Line, m.State, where)
}

// remarks writes what became of the comments on the revision before.
func (p *page) remarks(list []Remark) {
	if len(list) == 0 {
		return
	}
	done := 0
	for _, m := range list {
		if m.State == Addressed {
			done++
		}
	}
	p.labelled("Notes", []string{fmt.Sprintf("%d of %d addressed", done, len(list))})
	for _, m := range list {
		lines := []string{m.head()}
		if m.Quote != "" {
			lines = append(lines, "  on: "+shown(m.Quote))
		}
		for _, l := range textLines(m.Text) {
			lines = append(lines, "  "+l)
		}
		for _, l := range textLines(m.Answer) {
			lines = append(lines, "  answer: "+l)
		}
		p.labelled("", lines)
	}
}

// CommentDoc is a comment on the revision before, as JSON, and what became of it.
type CommentDoc struct {
	ID       string      `json:"id"`
	Revision int         `json:"revision"` // that it is on
	Line     int         `json:"line"`
	Quote    string      `json:"quote,omitempty"` // the line as the leader saw it
	Text     string      `json:"text"`
	By       string      `json:"by"`
	State    RemarkState `json:"state"`
	Now      int         `json:"now,omitempty"`    // the line in this revision
	Answer   string      `json:"answer,omitempty"` // what the teammate says about it
}

// CommentDocs are remarks as JSON.
func CommentDocs(list []Remark) (out []CommentDoc) {
	for _, m := range list {
		out = append(out, CommentDoc{
			ID: m.ID, Revision: m.Revision, Line: m.Line, Quote: m.Quote, Text: m.Text, By: m.By, State: m.State, Now: m.Now, Answer: m.Answer,
		})
	}
	return out
}
