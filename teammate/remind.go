package teammate

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/planmode"
)

// maxTurns bounds the history that reminders look at. What was dropped counts as compacted away: the next one is full.
const maxTurns = 256

// reminding is what is remembered for the reminders of the root agent. It ends with the process: after a restart the first
// one is full.
type reminding struct {
	mu      sync.Mutex
	state   planmode.Reminding
	history []planmode.Turn
	older   string // digest of what the plan file had when this round of planning began
	follow  bool   // the approved plan is to be named again
}

func (m *reminding) add(t planmode.Turn) {
	m.history = append(m.history, t)
	m.history = slices.Clone(m.history[max(0, len(m.history)-maxTurns):])
}

// Turned tells whose turn it was in the root agent's history. A child's turns are nobody's.
func (r *Runner) Turned(role planmode.Role) {
	if role == planmode.RoleAssistant && r.planning.count(func(p *planning) { p.turns++ }) {
		r.overBudget()
	}
	r.remind.mu.Lock()
	defer r.remind.mu.Unlock()
	r.remind.add(planmode.Turn{Role: role})
}

// Compacted tells that the agent's history was shortened: what was said of plan mode, and of the approved plan, is said
// again.
func (r *Runner) Compacted() {
	r.remind.mu.Lock()
	defer r.remind.mu.Unlock()
	v, ok := r.View()
	r.remind.history = nil
	r.remind.state.Now = ok && v.State != planmode.Working
	r.remind.follow = ok && v.Approved != nil
}

// Remind is what the root agent is to be told now, before it takes a turn, or "". HandIn is how it hands its plan in, and
// file the plan's path; "" is the teammate's own. It counts as told.
func (r *Runner) Remind(handIn, file string) string {
	v, ok := r.View()
	if !ok {
		return ""
	}
	return strings.TrimSpace(r.due(v, handIn, file) + "\n" + r.planning.nudge())
}

// due is the reminder whose turn it is.
func (r *Runner) due(v View, handIn, file string) string {
	if file == "" {
		file = v.PlanFile
	}
	m := &r.remind
	m.mu.Lock()
	defer m.mu.Unlock()
	follow := ""
	if m.follow && v.Approved != nil {
		follow = followWords(v)
	}
	m.follow = false
	in := planmode.RemindInput{Planning: v.State != planmode.Working, PlanFile: file, History: m.history}
	next, kind := r.cfg.Dialect.Reminders.Next(m.state, in)
	if kind == planmode.ReminderFull && m.older != "" && m.older == r.planDigest() {
		kind = planmode.ReminderReentry
	}
	m.state = next
	if kind == planmode.ReminderNone {
		return follow
	}
	text := kind.Text(file, handIn)
	m.add(planmode.Turn{Role: planmode.RoleReminder, Text: text})
	return text
}

func followWords(v View) string {
	text := fmt.Sprintf("Follow the approved plan strictly; it is in %s.", v.PlanFile)
	if v.Approved.Option != "" {
		text += fmt.Sprintf(" Carry out only %q of its approaches.", v.Approved.Option)
	}
	return text
}

// planDigest is that of the plan file's bytes, "" where it has none that could be submitted.
func (r *Runner) planDigest() string {
	p, err := r.cfg.Store.Read("")
	if err != nil {
		return ""
	}
	return p.Digest
}

// noticed has a notice to the agent begin what reminders need. A round of planning begins with a full one; where a person
// has switched it on meanwhile, or it goes on after a restart, one more comes once, besides the others.
func (r *Runner) noticed(n planmode.Notify) {
	digest, switched := "", false
	if n.Kind == planmode.NotifyHowToPlan {
		by := r.snapshot().Cycle.EnteredBy
		digest, switched = r.planDigest(), by == planmode.ByLeader || by == planmode.ByClient
	}
	r.remind.mu.Lock()
	defer r.remind.mu.Unlock()
	switch n.Kind {
	case planmode.NotifyHowToPlan:
		r.remind.state, r.remind.older, r.remind.history = planmode.Reminding{Now: switched}, digest, nil
	case planmode.NotifyReentry, planmode.NotifyResubmit:
		r.remind.state.Now = true
	case planmode.NotifyRejected:
		if n.Data.Feedback != "" || len(n.Data.Comments) > 0 {
			r.remind.add(planmode.Turn{Role: planmode.RolePerson})
		}
	}
}
