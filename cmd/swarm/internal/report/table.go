package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// The exit codes of a run, in the order in which they win (CONFIG.md 7).
const (
	exitOK       = 0
	exitError    = 1
	exitLost     = 7
	exitNoPlan   = 10
	exitRejected = 3
	exitExpired  = 5
	exitPending  = 8
)

var precedence = []int{exitError, 9, exitLost, exitNoPlan, exitRejected, exitExpired, 6, exitPending}

// Ended is how a teammate's runner ended.
type Ended struct {
	Name   string
	Status int
	Err    error
}

// Finish closes the report when all runners have ended.
func (c *Collector) Finish(ended []Ended, now time.Time) Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	c.report.Seconds = now.Sub(c.begin).Seconds()
	var codes []int
	for _, e := range ended {
		if t := c.teammate(e.Name); t != nil {
			codes = append(codes, t.meant(t.end(e)))
		}
	}
	c.report.ExitCode = worst(codes)
	c.report.Result = "passed"
	if c.report.ExitCode != exitOK {
		c.report.Result = "failed"
	}
	return c.report
}

// meant is a teammate's exit code in the light of what was expected of it.
func (t *Teammate) meant(code int) int {
	switch t.Expect {
	case ExpectRefused:
		if t.untried(); t.breached() {
			return exitError
		}
	case ExpectRejected:
		if code == exitRejected {
			return exitOK
		}
		if code == exitOK {
			t.Result += ", was to be rejected"
			return exitError
		}
	case ExpectDone:
		if code == exitOK && t.Result != "done" {
			t.Result += ", was to be done"
			return exitError
		}
	}
	return code
}

// end closes one teammate and returns its exit code.
func (t *Teammate) end(e Ended) int {
	t.ExitStatus = e.Status
	for _, g := range t.Grants {
		if g.Ended == "" {
			g.Ended = "exit"
		}
	}
	_, rev := t.last()
	switch {
	case t.Result == "done" && e.Status == 0:
		t.Tasks.Done = t.Tasks.Of
		return exitOK
	case e.Err != nil || e.Status < 0:
		t.Result = "lost"
		return exitLost
	case rev == nil && e.Status == 0:
		return exitNoPlan
	case rev == nil:
		t.Result = fmt.Sprintf("failed, exit %d", e.Status)
		return exitError
	case rev.Decision == "":
		return exitPending
	case rev.Decision == planmode.OutcomeRejected, rev.Decision == planmode.OutcomeRejectedAndExit:
		return exitRejected
	case rev.Decision == planmode.OutcomeExpired:
		return exitExpired
	case e.Status != 0:
		t.Result = fmt.Sprintf("failed, exit %d", e.Status)
		return exitError
	}
	t.Result = "ended" // approved, and it ended without saying that the plan is done
	return exitOK
}

func worst(codes []int) int {
	for _, code := range precedence {
		if slices.Contains(codes, code) {
			return code
		}
	}
	return exitOK
}

// Next is something that can be done after a run.
type Next struct{ What, How string }

// WriteTable prints the table of UX.md section 2, and what can be done next.
func (r Report) WriteTable(w io.Writer, next ...Next) error {
	rows := [][]string{{"TEAMMATE", "PLAN", "DECIDED BY", "MODE BACK", "USES", "RESULT"}}
	for _, t := range r.Teammates {
		rows = append(rows, t.row())
	}
	width := []int{10, 25, 18, 13, 8}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row[:len(width)] {
			b.WriteString(pad(cell, width[i]))
		}
		b.WriteString(row[len(width)] + "\n")
	}
	r.writeAttacks(&b)
	b.WriteString("\n" + r.summary() + "\nboundary: " + r.Boundary + "; not against " + strings.Join(r.Layout.NotAgainst, ", ") + "\n")
	for i, n := range next {
		b.WriteString([]string{"\nNext:  ", "       "}[min(i, 1)] + pad(n.What, 23) + n.How + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Teammate) row() []string {
	plan, by, mode, uses := "-", "-", "-", "-"
	if p, r := t.last(); r != nil {
		plan = fmt.Sprintf("%s r%d", plans.Cut(p.Title, 20), r.Revision)
		by = r.By.title()
	}
	if t.ModeAfter != "" {
		mode = string(t.ModeAfter)
	}
	var parts []string
	for _, g := range t.Grants {
		parts = append(parts, usesOf(g))
	}
	if len(parts) > 0 {
		uses = strings.Join(parts, ", ")
	}
	return []string{t.Name, plan, by, mode, uses, t.Result}
}

func (r Report) summary() string {
	approved, back, refused := 0, 0, 0
	for _, t := range r.Teammates {
		refused += len(t.Refusals)
		for _, p := range t.Plans {
			if p.has(planmode.OutcomeApproved) {
				approved++
			}
			back += p.count(planmode.OutcomeRejected) + p.count(planmode.OutcomeRejectedAndExit)
		}
	}
	return fmt.Sprintf("%s approved, %d sent back, %s refused, in %.1fs. exit %d", count(approved, "plan"), back, count(refused, "attempt"), r.Seconds, r.ExitCode)
}

// count is how many of a plan's revisions were decided so.
func (p *Plan) count(o planmode.Outcome) (n int) {
	for _, r := range p.Revisions {
		if r.Decision == o {
			n++
		}
	}
	return n
}

func (p *Plan) has(o planmode.Outcome) bool { return p.count(o) > 0 }

// pad fills a cell up to a width in terminal cells. A longer one is kept whole, with a blank behind it.
func pad(s string, width int) string { return s + strings.Repeat(" ", max(width-plans.Width(s), 1)) }
