package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
)

// Planning is how a teammate plans. What is zero is not said.
type Planning struct {
	Dialect     string `yaml:"dialect"`     // how its agent's system speaks of plan mode; default swarm
	StartInPlan *bool  `yaml:"startInPlan"` // of a new session; one that is taken up stays as it was. Default true
	PlanFolder  string `yaml:"planFolder"`  // inside the working tree; default swarm's own folder
	Role        string `yaml:"role"`        // that only reads: planner or explorer; empty is none
	Guidance    string `yaml:"guidance"`    // how readily it plans: eager or restrained; empty is as guidanceFor has it, or eager
	Budget      Budget `yaml:"budget"`
	Reminders   Remind `yaml:"reminders"`
}

// Budget bounds a round of planning; 0 is no bound. Who goes over it is told, and goes on.
type Budget struct {
	Turns   int `yaml:"turns"`
	Minutes int `yaml:"minutes"`
	Denials int `yaml:"denials"`
}

// Remind is when an agent that plans is reminded; 0 is as its dialect has it.
type Remind struct {
	Every int `yaml:"every"` // turns
	Full  int `yaml:"full"`  // each so many reminders
}

// Or is p, and what it does not say as base has it.
func (p Planning) Or(base Planning) Planning {
	return Planning{
		Dialect: or(p.Dialect, base.Dialect), StartInPlan: or(p.StartInPlan, base.StartInPlan), PlanFolder: or(p.PlanFolder, base.PlanFolder),
		Role: or(p.Role, base.Role), Guidance: or(p.Guidance, base.Guidance),
		Budget:    Budget{or(p.Budget.Turns, base.Budget.Turns), or(p.Budget.Minutes, base.Budget.Minutes), or(p.Budget.Denials, base.Budget.Denials)},
		Reminders: Remind{or(p.Reminders.Every, base.Reminders.Every), or(p.Reminders.Full, base.Reminders.Full)},
	}
}

func or[T comparable](v, base T) T {
	var zero T
	if v == zero {
		return base
	}
	return v
}

// of is what the defaults of several teammates say for one of them: in a common plans folder each has one of its own, so
// that nobody writes another's plan.
func (p Planning) of(name string) Planning {
	if p.PlanFolder != "" {
		p.PlanFolder = filepath.Join(p.PlanFolder, name)
	}
	return p
}

// PlanningOf is how a teammate of this name plans, listed in the document or not. A nil document says nothing.
func (d *Document) PlanningOf(name string) Planning {
	if d == nil {
		return Planning{}
	}
	base := d.Defaults.of(name)
	for _, t := range d.Teammates {
		if t.Name == name {
			return t.Planning.Or(base)
		}
	}
	return base
}

// GuidanceOf is how readily a teammate plans: what is said of it, then of the model that its agent was started with, of the
// agent, and of every teammate. "" is not said.
func (d *Document) GuidanceOf(name, agent, model string) string {
	if d == nil {
		return ""
	}
	own := ""
	for _, t := range d.Teammates {
		if t.Name == name {
			own = t.Guidance
		}
	}
	return cmp.Or(own, d.GuidanceFor[model], d.GuidanceFor[agent], d.Defaults.Guidance)
}

// DefaultsOf is what the person's own configuration says for a teammate.
func (s Settings) DefaultsOf(name string) Planning { return s.Defaults.of(name) }

func (d *decoder) checkPlanning(path string, p Planning) {
	if _, err := planmode.DialectOf(p.Dialect); err != nil {
		suggestion := "use " + strings.Join(planmode.DialectNames(), ", ")
		if near := mailbox.Nearest(p.Dialect, planmode.DialectNames()); len(near) > 0 {
			suggestion = "did you mean \"" + near[0] + "\"?"
		}
		d.late(path+".dialect", suggestion, "unknown dialect %q", p.Dialect)
	}
	d.checkGuidance(path+".guidance", p.Guidance)
	if _, err := planmode.ReaderOf(p.Role); err != nil {
		d.late(path+".role", "use "+strings.Join(planmode.ReaderNames(), " or "), "unknown role %q", p.Role)
	}
	for name, n := range map[string]int{
		"budget.turns": p.Budget.Turns, "budget.minutes": p.Budget.Minutes, "budget.denials": p.Budget.Denials,
		"reminders.every": p.Reminders.Every, "reminders.full": p.Reminders.Full,
	} {
		if n < 0 || n > maxBudget {
			d.late(path+"."+name, fmt.Sprintf("use 0 to %d", maxBudget), "%s cannot be %d", name, n)
		}
	}
	if p.PlanFolder != "" && !inProject(p.PlanFolder) {
		d.late(path+".planFolder", "name a folder of the project, such as docs/plans", "the plans folder cannot be %q", p.PlanFolder)
	}
}

func (d *decoder) checkGuidance(path, strength string) {
	if strength != "" && !slices.Contains(planmode.Strengths(), strength) {
		d.late(path, "use "+strings.Join(planmode.Strengths(), " or "), "unknown guidance %q", strength)
	}
}

// checkGuidanceFor checks what is said of agents and models.
func (d *decoder) checkGuidanceFor(all map[string]string) {
	for name, strength := range all {
		d.checkGuidance("guidanceFor."+name, cmp.Or(strength, "-"))
	}
}

// maxBudget bounds what a budget may say: 70 days in minutes.
const maxBudget = 100_000

// inProject reports whether a name can be that of a folder inside the project, wherever that is. What is there is looked at
// when the runner starts.
func inProject(folder string) bool {
	return filepath.IsLocal(folder) && filepath.Clean(folder) != "." && strings.TrimSpace(folder) == folder
}

// checkPlanFolders reports two teammates with one plans folder: each could write the other's plan.
func (d *decoder) checkPlanFolders(list []Teammate) {
	has := map[string]string{}
	for _, t := range list {
		if t.PlanFolder == "" {
			continue
		}
		folder := filepath.Clean(t.PlanFolder)
		if other := has[folder]; other != "" {
			d.late("teammates."+t.Name+".planFolder", "name another, or write planFolder into defaults: there each has one of its own", "%q is the plans folder of %s too", t.PlanFolder, other)
		}
		has[folder] = t.Name
	}
}
