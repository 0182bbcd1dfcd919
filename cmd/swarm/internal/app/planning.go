package app

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
)

// checkPlanning refuses what no teammate can plan by.
func (o ScriptOptions) checkPlanning() error {
	if _, err := planmode.DialectOf(o.Dialect); err != nil {
		return fail(exitUsage, "unknown_dialect", plainText(err), "")
	}
	if _, err := planmode.ReaderOf(o.Role); err != nil {
		return fail(exitUsage, "unknown_role", plainText(err), "")
	}
	if o.Guidance != "" && !slices.Contains(planmode.Strengths(), o.Guidance) {
		return fail(exitUsage, "unknown_guidance", fmt.Sprintf("unknown guidance %q", plans.Cut(plans.VisibleLine(o.Guidance), 80)), "use "+strings.Join(planmode.Strengths(), " or "))
	}
	for name, n := range o.Budget {
		if !slices.Contains([]string{"turns", "minutes", "denials"}, name) || n < 0 {
			return fail(exitUsage, "bad_budget", fmt.Sprintf("a budget cannot have %s=%d", plans.VisibleLine(name), n), "write it like turns=40,minutes=30,denials=20")
		}
	}
	return nil
}

// dialectOf is the dialect that is named, with the reminders that are said.
func dialectOf(p config.Planning) (planmode.Dialect, error) {
	d, err := planmode.DialectOf(p.Dialect)
	if p.Reminders.Every > 0 {
		d.Reminders.Every = p.Reminders.Every
	}
	if p.Reminders.Full > 0 {
		d.Reminders.Full = p.Reminders.Full
	}
	return d, err
}

func budgetOf(p config.Planning) teammate.Budget {
	return teammate.Budget{Turns: p.Budget.Turns, Time: time.Duration(p.Budget.Minutes) * time.Minute, Denials: p.Budget.Denials}
}

// capabilities are what the agent's client can do, as the team is told.
func (o ScriptOptions) capabilities() []string {
	switch {
	case o.NoPlanMode:
		return []string{}
	case o.Claude != nil:
		return []string{teammate.CanPlan, teammate.CanShow, teammate.CanFeedback, teammate.CanOptions, teammate.CanEdit, teammate.CanRestore}
	}
	return []string{teammate.CanPlan, teammate.CanFeedback, teammate.CanOptions, teammate.CanEdit}
}

// model is the one that the client is told to use, where it is told.
func (o ScriptOptions) model() string {
	if o.Claude == nil {
		return ""
	}
	for i, arg := range o.Claude.Args {
		if name, given := strings.CutPrefix(arg, "--model="); given {
			return name
		}
		if arg == "--model" && i+1 < len(o.Claude.Args) {
			return o.Claude.Args[i+1]
		}
	}
	return ""
}

// planning is what the flags say of how a teammate plans.
func (o ScriptOptions) planning() config.Planning {
	p := config.Planning{
		Dialect: o.Dialect, PlanFolder: o.PlanFolder, Role: o.Role, Guidance: o.Guidance,
		Budget: config.Budget{Turns: o.Budget["turns"], Minutes: o.Budget["minutes"], Denials: o.Budget["denials"]},
	}
	if o.NoPlan || o.Plan || o.NoPlanMode {
		p.StartInPlan = &o.Plan
	}
	return p
}

// planning is what the document of the folder and the person's own configuration say of a teammate that nobody supervises.
// The document is a project's: a teammate works without planning first, and writes to a folder of the project while it plans,
// only where the person has trusted it, or says so.
func (e Env) planning(o ScriptOptions) (config.Planning, error) {
	name := o.Name
	p := e.Document.PlanningOf(name)
	p.Guidance = e.Document.GuidanceOf(name, o.client(), o.model())
	widens := p.StartInPlan != nil && !*p.StartInPlan
	if widens || p.PlanFolder != "" {
		t, err := TrustOf(e)
		if err != nil {
			return p, err
		}
		file, trust := filepath.Base(t.Path), "swarm trust "+filepath.Dir(t.Path)
		if widens && !t.Trusted {
			fmt.Fprintf(e.Err, "%s: startInPlan: false of %s is not trusted, and it begins in plan mode: %s, or add --no-plan\n", name, file, trust)
			p.StartInPlan = nil
		}
		if p.PlanFolder != "" && !t.Trusted {
			if o.PlanFolder == "" {
				fmt.Fprintf(e.Err, "%s: planFolder of %s is not trusted, and plans are kept in swarm's own folder: %s, or add --plan-folder %s\n", name, file, trust, plans.VisibleLine(p.PlanFolder))
			}
			p.PlanFolder = ""
		}
	}
	return p.Or(e.Settings.DefaultsOf(name)), nil
}

// openPlans opens the teammate's plan folder. A custom one that cannot be taken is told, and swarm's own is taken instead.
func (r *scriptRunner) openPlans(o ScriptOptions, instance string) (err error) {
	r.store, err = plandir.OpenWith(r.place.dir, plandir.Config{Folder: r.place.planning.PlanFolder, Project: o.Tree, Protected: permissions.ProtectedPath, Session: instance})
	if err != nil {
		return err
	}
	if warning := r.store.Warning(); warning != "" {
		r.warn(o, warning)
	}
	return nil
}

// warn tells the person one line. A supervisor puts the teammate's name before it.
func (r *scriptRunner) warn(o ScriptOptions, text string) {
	if !o.Supervised {
		text = o.Name + ": " + text
	}
	fmt.Fprintln(r.env.Err, text)
}
