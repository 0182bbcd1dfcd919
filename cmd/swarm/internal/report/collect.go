package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// RunnerEvent is one line of a runner's standard output.
type RunnerEvent struct {
	Event  string            `json:"event"`
	Fields map[string]string `json:"fields,omitempty"`
}

// Line is one line of the running account: who, a state word, and the rest.
type Line struct{ Who, Word, Text string }

// Collector gathers what the desk and the runners tell. Its methods may be called at once.
type Collector struct {
	mu     sync.Mutex
	report Report
	begin  time.Time
	line   func(Line)
	// By request id: see [Collector.Desk].
	asked   map[string]bool     // the runner has told of it
	early   map[string][]func() // the desk's events that wait for that
	decided map[string]bool     // the desk has told of its decision
	waiting map[string][]func() // the runner's lines that wait for that
}

// NewCollector begins a report. line is called for each event, one at a time.
func NewCollector(team string, names []string, agent string, layout Layout, now time.Time, line func(Line)) *Collector {
	c := &Collector{
		begin: now, line: line, asked: map[string]bool{}, early: map[string][]func(){}, decided: map[string]bool{}, waiting: map[string][]func(){},
		report: Report{Team: team, StartedAt: now, Boundary: layout.String(), Layout: layout},
	}
	for _, n := range names {
		c.report.Teammates = append(c.report.Teammates, &Teammate{
			Name: n, Agent: agent, Plans: []*Plan{}, Grants: []*Grant{}, Refusals: []Refusal{}, Result: "nothing submitted",
		})
	}
	return c
}

func (c *Collector) teammate(name string) *Teammate {
	for _, t := range c.report.Teammates {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// desk takes an event of the leader's desk in its turn.
func (c *Collector) desk(e leader.Event) {
	t := c.teammate(e.Teammate)
	switch e.Kind {
	case leader.EventSubmitted:
		c.submitted(t, e)
	case leader.EventDecided:
		c.decision(t, e)
	case leader.EventUndecided:
		c.line(Line{"leader", "WAITS", fmt.Sprintf("%s: %s; a person must decide", t.Name, plans.VisibleLine(e.Reason))})
	case leader.EventRefused:
		c.refused(t, e)
	case leader.EventOdd:
		if t.attacks != nil {
			return // what it attacks with is told with the attack
		}
		t.Refusals = append(t.Refusals, Refusal{Attack: "a request that is not what it says", By: "desk", Why: plans.VisibleLine(e.Reason), Invariant: []int{13}, Evidence: e.RequestID})
		c.line(Line{t.Name, "REFUSED", "a request that is not what it says: " + plans.VisibleLine(e.Reason)})
	case leader.EventMessage:
		if e.Message != nil {
			c.line(Line{t.Name, "writes", quote(e.Message.Text)})
		}
	case leader.EventWithdrawn:
		c.line(Line{t.Name, "withdraws", plans.VisibleLine(e.Reason)})
		c.settle(e.RequestID)
	}
}

func (c *Collector) submitted(t *Teammate, e leader.Event) {
	row := e.Row
	if row == nil {
		return
	}
	if !row.IsPlan() {
		t.lastAsk = e.RequestID
		c.line(Line{t.Name, "asks", plans.VisibleLine(row.Goal)})
		return
	}
	req := row.Request
	p := t.plan(req.PlanID)
	if p.Title == "" || req.Plan.Bytes > 0 {
		p.Title = plans.VisibleLine(row.Goal)
	}
	rev := &Revision{Revision: req.Revision, RequestID: req.RequestID, Digest: req.Digest, content: req.Plan.Content}
	text := fmt.Sprintf("r%d %s", rev.Revision, quote(row.Goal))
	if n := len(p.Revisions); n > 0 {
		added, removed, _ := plans.Diff(p.Revisions[n-1].content, rev.content)
		text = fmt.Sprintf("r%d, %s", rev.Revision, changed(added, removed))
	}
	p.Revisions = append(p.Revisions, rev)
	if t.Result = "waits for the leader"; row.Claimed == "" { // what it never had is nothing that was saved
		t.SavedMode = req.SavedMode
	}
	t.Tasks.Of = len(req.Tasks)
	c.line(Line{t.Name, "submits", text + "; " + asks(row.Prompts)})
}

func changed(added, removed int) string {
	switch {
	case added == 0 && removed == 0:
		return "unchanged"
	case removed == 0:
		return count(added, "line") + " added"
	case added == 0:
		return count(removed, "line") + " removed"
	}
	return fmt.Sprintf("%s added, %d removed", count(added, "line"), removed)
}

// askedAt is a prompt's place among those that were asked, from 1: the number in its grant's id. 0 is none.
func askedAt(r *leader.Row, prompt string) int {
	if r == nil || r.Request == nil {
		return 0
	}
	return 1 + slices.IndexFunc(r.Request.AllowedPrompts, func(p permissions.Prompt) bool { return p.Prompt == prompt })
}

func asked(r *leader.Row) int {
	if r == nil {
		return 0
	}
	return len(r.Prompts)
}

func asks(prompts []permissions.Prompt) string {
	if len(prompts) == 0 {
		return "asks for no commands"
	}
	names := make([]string, len(prompts))
	for i, p := range prompts {
		names[i] = plans.VisibleLine(p.Prompt)
		if p.Intent == "" {
			names[i] += " (NOT KNOWN)"
		}
	}
	return "asks: " + strings.Join(names, ", ")
}

func (c *Collector) decision(t *Teammate, e leader.Event) {
	if e.Answer != nil {
		c.answered(t, e)
		return
	}
	d := e.Decision
	if d == nil {
		return
	}
	rev := t.revision(e.RequestID)
	if rev == nil {
		rev = &Revision{Revision: d.Revision, RequestID: e.RequestID}
	}
	rev.Decision, rev.Feedback, rev.By = d.Outcome, plans.Visible(d.Feedback), byOf(d.DecidedBy, e.Rule())
	who := fmt.Sprintf("%s r%d, %s", t.Name, d.Revision, rev.By.title())
	switch d.Outcome {
	case planmode.OutcomeApproved:
		for _, g := range d.Grants {
			t.Grants = append(t.Grants, &Grant{
				Prompt: plans.VisibleLine(g.Prompt), MaxUses: g.MaxUses, id: fmt.Sprintf("%s/%d", e.RequestID, askedAt(e.Row, g.Prompt)),
			})
		}
		t.Result = "approved"
		c.line(Line{"leader", "approves", who + "; " + leader.GrantSummary(*d, asked(e.Row))})
	case planmode.OutcomeExpired:
		t.Result = "expired"
		c.line(Line{"leader", "EXPIRED", who})
	default:
		t.Result = "rejected"
		c.line(Line{"leader", "REJECTS", said(who+": ", d.Feedback)})
	}
	c.settle(e.RequestID)
}

func (c *Collector) answered(t *Teammate, e leader.Event) {
	defer c.settle(e.RequestID)
	what := t.Name
	if e.Row != nil {
		what += ", " + plans.VisibleLine(e.Row.Goal)
	}
	if rule := e.Rule(); rule != "" {
		what += " (rule " + rule + ")"
	}
	if e.Answer.Behavior == permissions.BehaviorAllow {
		c.line(Line{"leader", "allows", what})
		return
	}
	c.line(Line{"leader", "DENIES", said(what+": ", e.Answer.Message)})
}

// refused is a decision that the teammate itself did not accept. What it attacks with is told with the attack.
func (c *Collector) refused(t *Teammate, e leader.Event) {
	if t.attacks != nil {
		return
	}
	reason := ""
	if e.Receipt != nil {
		reason = plans.VisibleLine(e.Receipt.Reason)
	}
	t.Refusals = append(t.Refusals, Refusal{Attack: "a decision or order that does not hold", By: "teammate", Why: reason, Invariant: []int{3}, Evidence: e.RequestID})
	c.line(Line{t.Name, "REFUSED", "a decision: " + reason})
}

// Runner takes an event of a teammate's runner.
func (c *Collector) Runner(name string, e RunnerEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.teammate(name)
	if t == nil {
		return
	}
	f := func(key string) string { return plans.VisibleLine(e.Fields[key]) }
	c.tells(t, e)
	switch e.Event {
	case "attack":
		c.attacked(t, e.Fields)
	case "runner.ready":
		t.EnforcedBy = f("enforcedBy")
		if strings.HasPrefix(t.EnforcedBy, "nobody") {
			c.line(Line{name, "NOT ENFORCED", "this kernel cannot confine it: its own process could write while it plans"})
		}
	case "plan.entered":
		t.SavedMode = permissions.Mode(f("savedMode"))
		c.line(Line{name, "plans", fmt.Sprintf("mode %s is saved; from now on it only reads", f("savedMode"))})
	case "plan.rejected", "plan.expired":
		c.after(e.Fields["requestId"], func() { c.line(Line{name, "plans", "still read-only; rewrites the plan"}) })
	case "mode.restored":
		t.ModeAfter = permissions.Mode(f("mode"))
		c.after(lastRequest(t), func() { c.line(Line{name, "works", fmt.Sprintf("mode %s is back%s", f("mode"), grants(t))}) })
	case "grant.used":
		c.used(t, e)
	case "exec.ran":
		c.after(t.lastAsk, func() { c.ran(t, e) })
	case "edit.done":
		c.after(t.lastAsk, func() { c.line(Line{name, "edits", f("path")}) })
	case "gate.refused":
		t.Refusals = append(t.Refusals, Refusal{Attack: f("call"), By: "gate", Why: f("reason"), Invariant: []int{7}, Evidence: f("callHash")})
		c.after(t.lastAsk, func() { c.line(Line{name, "REFUSED", f("call") + ": " + f("reason")}) })
	case "plan.completed":
		c.after(t.lastAsk, func() { c.completed(t) })
	case "decision.refused":
		c.after(e.Fields["requestId"], func() { t.dropGrants(e.Fields["requestId"]) })
		if t.attacks != nil {
			return
		}
		c.line(Line{name, "REFUSED", "a decision: " + f("cause") + "; asked again"})
	}
}

func lastRequest(t *Teammate) string {
	if _, r := t.last(); r != nil {
		return r.RequestID
	}
	return ""
}

func grants(t *Teammate) string {
	if n := len(t.Grants); n > 0 {
		return "; " + count(n, "grant")
	}
	return ""
}

// grant finds the grant of an event by its id (permissions.Grant).
func (t *Teammate) grant(id string) *Grant {
	for _, g := range t.Grants {
		if g.id == id {
			return g
		}
	}
	return nil
}

// dropGrants forgets what a decision gave that was never in force.
func (t *Teammate) dropGrants(request string) {
	t.Grants = slices.DeleteFunc(t.Grants, func(g *Grant) bool { return strings.HasPrefix(g.id, request+"/") })
}

func (c *Collector) used(t *Teammate, e RunnerEvent) {
	uses, err := strconv.Atoi(e.Fields["uses"])
	if g := t.grant(e.Fields["grantId"]); g != nil && err == nil {
		g.Uses = uses
	}
}

func (c *Collector) ran(t *Teammate, e RunnerEvent) {
	text := plans.VisibleLine(e.Fields["command"])
	if g := t.grant(e.Fields["grantId"]); g != nil {
		text += fmt.Sprintf(" (grant %q, use %s)", g.Prompt, usesOf(g))
	}
	result := "passed"
	if e.Fields["status"] != "0" {
		result = "exit " + plans.VisibleLine(e.Fields["status"])
	}
	c.line(Line{t.Name, "ran", text + ": " + result})
}

func usesOf(g *Grant) string {
	if g.MaxUses == 0 {
		return strconv.Itoa(g.Uses)
	}
	return fmt.Sprintf("%d of %d", g.Uses, g.MaxUses)
}

func (c *Collector) completed(t *Teammate) {
	t.Result = "done"
	text := "plan complete"
	live := 0
	for _, g := range t.Grants {
		if g.Ended == "" {
			g.Ended = "completed"
			live++
		}
	}
	switch {
	case live == 1:
		text += "; the grant has ended"
	case live > 1:
		text += "; its grants have ended"
	}
	c.line(Line{t.Name, "done", text})
}

// Say adds a line that is nobody's event.
func (c *Collector) Say(l Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line(l)
}

func (t *Teammate) plan(id string) *Plan {
	for _, p := range t.Plans {
		if p.PlanID == id {
			return p
		}
	}
	p := &Plan{PlanID: id, Revisions: []*Revision{}}
	t.Plans = append(t.Plans, p)
	return p
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// textColumns is what is left of 80 columns for the text of a line.
const textColumns = 54

// said is a quotation after some words, as much of it as the line has room for.
func said(words, text string) string {
	return words + `"` + plans.Cut(plans.VisibleLine(text), max(textColumns-plans.Width(words)-2, 12)) + `"`
}

func quote(s string) string { return `"` + plans.Cut(plans.VisibleLine(s), 60) + `"` }
