package config_test

import (
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// What a teammate says goes before the defaults; a common plans folder has one for each, also of those not listed.
func TestPlanningOf(t *testing.T) {
	doc, problems := config.Load(write(t, "swarm.yaml", head+`
defaults: {dialect: gemini, startInPlan: false, planFolder: docs/plans}
teammates:
  api: {run: [x], dialect: kimi, startInPlan: true}
  web: {run: [x], planFolder: web/plans}
`))
	if problems != nil {
		t.Fatal(problems)
	}
	for name, want := range map[string]struct {
		dialect, folder string
		start           bool
	}{
		"api": {"kimi", "docs/plans/api", true}, "web": {"gemini", "web/plans", false}, "other": {"gemini", "docs/plans/other", false},
	} {
		p := doc.PlanningOf(name)
		if p.Dialect != want.dialect || p.PlanFolder != want.folder || p.StartInPlan == nil || *p.StartInPlan != want.start {
			t.Errorf("PlanningOf(%s) = %+v (startInPlan %v), want %+v", name, p, *p.StartInPlan, want)
		}
	}
	var none *config.Document
	if p := none.PlanningOf("api"); p != (config.Planning{}) {
		t.Errorf("without a document: %+v", p)
	}
	yes := true
	if p := (config.Planning{Dialect: "swarm", StartInPlan: &yes}).Or(doc.PlanningOf("web")); p.Dialect != "swarm" || !*p.StartInPlan || p.PlanFolder != "web/plans" {
		t.Errorf("flags over the document: %+v", p)
	}
}

// The person's own configuration has defaults too.
func TestUserHasDefaults(t *testing.T) {
	u, problems := config.LoadUser(write(t, "config.yaml", "version: 1\ndefaults: {dialect: kimi, planFolder: .plans}\n"))
	if problems != nil || u.Defaults.Dialect != "kimi" {
		t.Fatalf("LoadUser = %+v, %v", u, problems)
	}
	if p := (config.Settings{Defaults: u.Defaults}).DefaultsOf("api"); p.PlanFolder != ".plans/api" {
		t.Errorf("DefaultsOf = %+v, want a folder for each", p)
	}
	if _, problems = config.LoadUser(write(t, "config.yaml", "version: 1\ndefaults: {dialect: klingon}\n")); problems == nil {
		t.Error("an unknown dialect was read")
	}
}

// A teammate's own guidance goes first, then its model's, its agent's, and everybody's.
func TestGuidanceOf(t *testing.T) {
	doc, problems := config.Load(write(t, "swarm.yaml", head+`
defaults: {guidance: eager}
guidanceFor: {claude: restrained, opus: eager}
teammates:
  api: {run: [x], guidance: restrained}
`))
	if problems != nil {
		t.Fatal(problems)
	}
	for _, tt := range []struct{ name, agent, model, want string }{
		{"api", "claude", "opus", "restrained"},
		{"web", "claude", "opus", "eager"},
		{"web", "claude", "sonnet", "restrained"},
		{"web", "claude", "", "restrained"},
		{"web", "script", "", "eager"},
	} {
		if got := doc.GuidanceOf(tt.name, tt.agent, tt.model); got != tt.want {
			t.Errorf("GuidanceOf(%s, %s, %s) = %q, want %q", tt.name, tt.agent, tt.model, got, tt.want)
		}
	}
}
