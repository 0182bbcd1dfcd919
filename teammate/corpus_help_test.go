//go:build linux

package teammate_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
)

// sess is a session that is stepped through; the effects of the last step are kept.
type sess struct {
	t testing.TB
	planmode.Session
	effects []planmode.Effect
}

const corpusPlan = "# Fix the rounding\n\n- [ ] totals as cents\n"

var (
	corpusNow    = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	corpusLeader = charter.Member{Name: "alice", Role: charter.RoleLeader, Kind: charter.KindPerson, Key: "UALICE", Assurance: charter.Sealed}
	corpusSigned = charter.Authority{Signers: []charter.Member{corpusLeader}, Leader: true, QuorumMet: true}
)

// works is a session of a dialect that works in a mode.
func works(t testing.TB, dialect string, mode permissions.Mode) *sess {
	t.Helper()
	s := &sess{t: t}
	s.must(planmode.Started{
		Team: "3f0c", Teammate: "api", Tree: "/project", Mode: mode, Epoch: 1, Dialect: dialect,
		Charter: charter.Charter{
			V: 1, Serial: 1, TeamID: "3f0c", Team: "shop", Members: []charter.Member{corpusLeader},
			Caps: charter.Caps{Mode: permissions.ModeBypass, PlanRequired: true},
		},
	})
	return s
}

// plans is a session that plans; it worked in default before.
func plansIn(t testing.TB, dialect string) *sess {
	t.Helper()
	s := works(t, dialect, permissions.ModeDefault)
	s.must(s.entered())
	return s
}

// waits is a session whose plan waits for its leader.
func waits(t testing.TB, dialect string, labels ...string) *sess {
	t.Helper()
	s := plansIn(t, dialect)
	s.must(s.submitted("r1", corpusPlan, labels...))
	return s
}

func (s *sess) entered() planmode.Entered {
	return planmode.Entered{From: s.Mode, By: planmode.ByAgent, PlanID: "p1", PlanFile: "/state/work/plan.md"}
}

func (s *sess) submitted(id, content string, labels ...string) planmode.Submitted {
	ev := planmode.Submitted{RequestID: id, Content: []byte(content), Plan: plans.New("plan.md", "/state/work/plan.md", []byte(content)).Ref()}
	for _, l := range labels {
		ev.Options = append(ev.Options, plans.Option{Label: l})
	}
	return ev
}

func (s *sess) step(ev planmode.Event) error {
	next, effects, err := s.Apply(ev)
	s.Session, s.effects = next, effects
	return err
}

func (s *sess) must(ev planmode.Event) {
	s.t.Helper()
	if err := s.step(ev); err != nil {
		s.t.Fatalf("%T: %v", ev, err)
	}
}

// fails wants a step to be refused, and nothing to have changed.
func (s *sess) fails(ev planmode.Event, want error, text string) {
	s.t.Helper()
	state, mode := s.State, s.Mode
	err := s.step(ev)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
		s.t.Errorf("%T: %v, want %v with %q", ev, err, want, text)
	}
	s.stands(state, mode)
}

func (s *sess) stands(state planmode.State, mode permissions.Mode) {
	s.t.Helper()
	if s.State != state || s.Mode != mode {
		s.t.Errorf("the session is %s in mode %s, want %s in %s", s.State, s.Mode, state, mode)
	}
}

// decision is what a leader signs about the open request.
func (s *sess) decision(outcome planmode.Outcome, change ...func(*planmode.Decision)) planmode.Decided {
	p := s.Pending
	d := planmode.Decision{
		OrderHead: mailbox.OrderHead{TeamID: s.Team, CharterSerial: 1, Epoch: p.Epoch, DecidedAt: corpusNow, DecidedBy: mailbox.DecidedBy{Name: "alice", Kind: "person"}},
		RequestID: p.RequestID, Revision: p.Revision, Outcome: outcome, Approved: outcome == planmode.OutcomeApproved, PlanDigest: p.Digest,
	}
	if d.Approved || outcome == planmode.OutcomeRejectedAndExit {
		d.Mode = s.Saved
	}
	for _, c := range change {
		c(&d)
	}
	return planmode.Decided{Decision: d, Content: []byte(corpusPlan), Authority: corpusSigned, V: mailbox.Version, Team: s.Team, To: s.Teammate, Now: corpusNow}
}

// told is the last notice to the agent.
func (s *sess) told() planmode.Notify {
	s.t.Helper()
	for i := len(s.effects) - 1; i >= 0; i-- {
		if n, ok := s.effects[i].(planmode.Notify); ok {
			return n
		}
	}
	s.t.Fatal("the agent is told nothing")
	return planmode.Notify{}
}

// emitted are the fields of an event of the last step.
func (s *sess) emitted(event string) map[string]string {
	s.t.Helper()
	for _, e := range s.effects {
		if e, ok := e.(planmode.Emit); ok && e.Event == event {
			return e.Fields
		}
	}
	s.t.Errorf("there is no event %s", event)
	return nil
}

// folder is a plan folder in a project, with files in it.
type planFolder struct {
	*plandir.Store
	t            testing.TB
	project, dir string
}

func newPlanFolder(t testing.TB, folder string) planFolder {
	t.Helper()
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := plandir.OpenWith(filepath.Join(t.TempDir(), "api"), plandir.Config{Folder: folder, Project: project})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return planFolder{s, t, project, filepath.Dir(s.WorkFile())}
}

func (f planFolder) has(name, content string) planFolder {
	f.t.Helper()
	write(f.t, filepath.Join(f.dir, name), content)
	return f
}

func (f planFolder) link(name, target string) planFolder {
	f.t.Helper()
	if err := errors.Join(os.MkdirAll(f.dir, 0o700), os.Symlink(target, filepath.Join(f.dir, name))); err != nil {
		f.t.Fatal(err)
	}
	return f
}

// reads reads a plan as a submit does.
func (f planFolder) reads(given string) (plans.Plan, error) {
	name, err := f.Find(given, f.project)
	if err != nil {
		return plans.Plan{}, err
	}
	return f.Read(name)
}

// accepts wants a path to be read, refuses wants it to be refused with what to do next.
func (f planFolder) accepts(given string) {
	f.t.Helper()
	if p, err := f.reads(given); err != nil || len(p.Content) == 0 {
		f.t.Errorf("%q: %v, want it read", given, err)
	}
}

func (f planFolder) refuses(given string, want error, text string) {
	f.t.Helper()
	_, err := f.reads(given)
	if !errors.Is(err, want) || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), "then submit again") {
		f.t.Errorf("%q: %v, want %v with %q and what to do next", given, err, want, text)
	}
}

// judged is a call that is judged without a disk: the tree is /project, the home /home/user.
type judged struct {
	call  permissions.Call
	state permissions.State
}

type tweak func(*judged)

func judge(call permissions.Call, tweaks ...tweak) permissions.Decision {
	j := judged{call, permissions.State{
		Mode: permissions.ModePlan, Tree: "/project", Home: "/home/user", PlanFile: "/state/work/plan.md",
		Forbidden: []string{"/state"}, Now: corpusNow,
	}}
	if j.call.Cwd == "" {
		j.call.Cwd = "/project"
	}
	for _, t := range tweaks {
		t(&j)
	}
	return permissions.New(permissions.Config{Resolver: permissions.Lexical()}).Decide(j.call, j.state)
}

func in(mode permissions.Mode) tweak { return func(j *judged) { j.state.Mode = mode } }
func unattended(j *judged)           { j.state.Unattended = true }
func planAt(file string) tweak       { return func(j *judged) { j.state.PlanFile = file } }

func under(rules ...permissions.Rule) tweak {
	return func(j *judged) { j.state.Rules = append(j.state.Rules, rules...) }
}

func trusting(servers ...string) tweak { return func(j *judged) { j.state.Trusted = servers } }

func tool(name string) permissions.Call { return permissions.Call{Tool: name} }
func bash(line string) permissions.Call {
	return permissions.Call{Tool: "run_shell_command", Command: line}
}

func fileTool(name, path string) permissions.Call {
	return permissions.Call{Tool: name, Path: path, Args: fmt.Sprintf("{\"file_path\":%q}", path)}
}

// gives asserts a verdict, and what its reason says.
func gives(want permissions.Verdict, call permissions.Call, tweaks ...tweak) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if d := judge(call, tweaks...); d.Verdict != want {
			t.Errorf("%s %s%s = %s (%s), want %s", call.Tool, call.Command, call.Path, d.Verdict, d.Reason, want)
		}
	}
}

func saysWhy(text string, call permissions.Call, tweaks ...tweak) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		if d := judge(call, tweaks...); d.Verdict == permissions.Allow || !strings.Contains(d.Reason, text) {
			t.Errorf("%s %s%s = %s (%s), want %q in it", call.Tool, call.Command, call.Path, d.Verdict, d.Reason, text)
		}
	}
}

// all runs several checks.
func both(checks ...func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		for _, c := range checks {
			c(t)
		}
	}
}

// policy reads policy TOML as a user's: tables, each a few lines.
func policy(rules ...string) policyfile.File {
	return policyAs(policyfile.Config{Scope: policyfile.ScopeUser}, rules...)
}

func policyAs(cfg policyfile.Config, rules ...string) policyfile.File {
	return policyfile.Read("p.toml", []byte("[[rule]]\n"+strings.Join(rules, "\n[[rule]]\n")+"\n"), cfg)
}

// says makes a table: tool, verdict, priority, and more lines.
func says(tool, verdict string, priority int, more ...string) string {
	return fmt.Sprintf("toolName = %q\ndecision = %q\npriority = %d\n%s\n", tool, verdict, priority, strings.Join(more, "\n"))
}

// byPolicy has a call be judged under tables of a user.
func byPolicy(rules ...string) tweak {
	return func(j *judged) { j.state.Rules = append(j.state.Rules, policy(rules...).Rules...) }
}

// wrong wants tables to be refused, with a text.
func wrong(text string, rules ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		errs := policy(rules...).Errors()
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), text) {
			t.Errorf("%q: %v, want an error with %q", rules, errs, text)
		}
	}
}
