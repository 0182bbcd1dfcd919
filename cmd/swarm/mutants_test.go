package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// edit takes one guard out of a file. The old text stands there exactly once.
type edit struct{ file, old, new string }

// mutant is the product without one guard: a named test has to see it, and the quickstart's rogue has to get through, or
// to a layer further.
type mutant struct {
	name      string
	invariant string // of ARCHITECTURE.md
	edits     []edit
	pkg, test string // the named test
	breach    string // a line that the quickstart prints; empty: its rogue does not come this way
}

func one(file, old, replacement string) []edit { return []edit{{file, old, replacement}} }

var mutants = []mutant{
	{
		"a spent slot is not asked again", "1",
		one("teammate/orders.go", "case pending && voids(err):", "case pending && voids(err) && len(o.Sigs) > 0:"),
		"./teammate", "TestForgedDecisionIsRefusedAndAskedAgain", "ATTACK SUCCEEDED  rogue  hand over junk as a decision",
	},
	{
		"a teammate may publish decisions", "1, 4, 13",
		one("mailbox/natsauth/rights.go", `r.directGet("DEC_"+team, mailbox.DecisionSubject(team, me, "*"))`,
			`r.directGet("DEC_"+team, mailbox.DecisionSubject(team, me, "*")); r.may(mailbox.DecisionSubject(team, me, "*"))`),
		"./mailbox/natsauth", "TestForbiddenSubjects", "LAYER MISSING     rogue  store its own approval",
	},
	{
		"a teammate may publish orders", "4, 13",
		one("mailbox/natsauth/rights.go", `	r.may(mailbox.StatusSubject(team, me))
	r.directGet(`, `	r.may(mailbox.StatusSubject(team, me)); r.may(mailbox.OrderSubject(team, me, me, mailbox.KindModeSetRequest))
	r.directGet(`),
		"./mailbox/natsauth", "TestForbiddenSubjects", "LAYER MISSING     rogue  order itself a mode",
	},
	{
		"a digest is not compared", "2",
		one("planmode/check.go", "case d.PlanDigest != in.Digest:", `case d.PlanDigest == "":`),
		"./planmode", "TestSession", "ATTACK SUCCEEDED  rogue  show the leader another plan",
	},
	{
		"the approved bytes are not written back", "2",
		one("teammate/effects.go", "if err := r.cfg.Store.WriteWork(content); err != nil {", "if err := error(nil); err != nil && content != nil {"),
		"./teammate", "TestPlanFileChangedAfterSubmit", "ATTACK SUCCEEDED  rogue  swap the plan's file",
	},
	{
		"who plans lets itself out", "3",
		one("planmode/leave.go", "case s.State == Planning && s.Cycle.EnteredBy == ByAgent && s.mayLeave():", "case s.State == Planning:"),
		"./planmode", "TestSession", "ATTACK SUCCEEDED  rogue  leave plan mode by itself",
	},
	{
		"every member signs", "4, 14",
		one("mailbox/charter/judge.go", "case m.Role != RoleLeader:", "case m.Role == RoleObserver:"),
		"./mailbox/charter", "TestOpenOrderVerifiesFirst", "ATTACK SUCCEEDED  rogue  hand over a forged approval",
	},
	{
		"a signature is not verified", "13, 14",
		one("mailbox/charter/judge.go", "case !verify(key, orderStart(o.Subject), o.Payload, value):", "case value == \"\":"),
		"./mailbox/charter", "TestJudgeIgnoresBadSignatures", "ATTACK SUCCEEDED  rogue  forge a leader's signature",
	},
	{
		"a leader's verb is a command like others", "4",
		[]edit{ // the command, and the text that a shell would be given
			{"permissions/bash.go", `if why := v.leaderCommand(c, s.dirs); why != "" {`, `if why := v.leaderCommand(c, s.dirs); why == "none" {`},
			{"permissions/bash.go", "&& v.runsText(s) || v.renamed(s) {", "&& len(s.all) == 0 || false && v.renamed(s) {"},
		},
		"./permissions", "TestLeadersVerbsAreDeniedInEveryMode", "LAYER MISSING     rogue  swarm approve by the gate",
	},
	{
		"swarm approve asks not who it is", "4",
		one("cmd/swarm/internal/app/lead.go", `if os.Getenv("SWARM_SOCKET") == "" && !insideTeammate(os.Getppid()) {`, "if os.Getppid() > 0 {"),
		"./cmd/swarm", "TestScripts/forged", "LAYER MISSING     rogue  run swarm approve",
	},
	{
		"a claimed mode is restored", "5",
		one("leader/prepare.go", `		return r.ModeBack, nil
`, `		if r.Claimed != "" {
			return r.Claimed, nil
		}
		return r.ModeBack, nil
`),
		"./leader", "TestPrepareRestoresTheKnownMode", "ATTACK SUCCEEDED  rogue  claim a wider saved mode",
	},
	{
		"a plan's end ends no grant", "6",
		one("planmode/grants.go", `	s.Approved = nil
	s.endAll("completed")
`, ""), // the plan stays too: a grant without its plan would be a session that contradicts itself
		"./planmode", "TestSession", "ATTACK SUCCEEDED  rogue  go test ./... when done",
	},
	{
		"one allowed command allows the line", "6",
		one("permissions/bash.go", "if worse(cv.Verdict, d.Verdict) {", "if worse(cv.Verdict, d.Verdict) && len(d.Commands) == 1 {"),
		"./permissions", "TestALineIsAllowedWhenAllItsPartsAre", "ATTACK SUCCEEDED  rogue  go test ./... ; touch x",
	},
	{
		"a denial lets a call through", "9",
		one("teammate/gate/calls.go", `	if answer.Behavior != permissions.BehaviorAllow {
		d.Verdict,`, `	if answer.Behavior == "" {
		d.Verdict,`),
		"./teammate/gate", "TestAskedCommandRunsWhenALeaderAllowsIt", "ATTACK SUCCEEDED  rogue  git push --force",
	},
	{
		"plan mode lets edits through", "7",
		one("permissions/tools.go", `		return v.editPlan()
	case v.mode == ModePlan:
		return deny(reasonPlanning)`, `		return v.editPlan()
	case v.mode == ModePlan:
		return allow("plan mode writes")`),
		"./permissions", "TestWhatEachModeLetsPass", "ATTACK SUCCEEDED  rogue  write notes.txt by the gate",
	},
	{
		"swarm's own folders are like others", "7",
		one("permissions/bash.go", "return slices.ContainsFunc(s.all, func(c *shellcmd.Command) bool { return v.wordsReach(c, s.dirs).forbidden })",
			"return slices.ContainsFunc(s.all, func(c *shellcmd.Command) bool { return c == nil && v.wordsReach(c, s.dirs).forbidden })"),
		"./permissions", "TestSwarmsOwnFoldersAreOutOfReachInEveryMode", "LAYER MISSING     rogue  read swarm's state by the gate",
	},
	{
		"a program may write the tree", "7",
		one("teammate/adapter/script/agent.go", "[]string{filepath.Dir(a.cfg.PlanFile), d.tmp}", "[]string{filepath.Dir(a.cfg.PlanFile), d.tmp, a.cfg.Tree}"),
		"./teammate/adapter/script", "TestProgramIsConfined", "ATTACK SUCCEEDED  rogue  write notes.txt by itself",
	},
	{
		"a program may read swarm's state", "7",
		[]edit{
			{"teammate/adapter/script/agent.go", "[]string{a.cfg.Tree, a.cfg.Executable, d.bin}", "[]string{a.cfg.Tree, a.cfg.Executable, d.bin, filepath.Dir(filepath.Dir(a.cfg.PlanFile))}"},
			{"teammate/adapter/script/agent.go", "Forbidden: a.cfg.Forbidden,", "Forbidden: nil,"},
		},
		"./teammate/adapter/script", "TestProgramIsConfined", "ATTACK SUCCEEDED  rogue  read swarm's state and keys",
	},
}

// planMutants are what a session may do wrong over its life: what draws such lives at random has to see it, the machine
// alone or the runner with its disk.
var planMutants = []mutant{
	{
		"an order of a mode opens the gate", "3, 5",
		one("planmode/orders.go", "	default:\n		s.Saved = ev.Mode\n", "	default:\n		s.open(ev.Mode)\n"),
		"./planmode", machineTest, "",
	},
	{
		"entering again saves plan as the mode", "5",
		one("planmode/enter.go", "case s.State != Working:\n		s.notify(NotifyPresentState", "case s.State == AwaitingLeaderApproval:\n		s.notify(NotifyPresentState"),
		"./planmode", machineTest, "",
	},
	{
		"who takes its plan back is let out", "3",
		one("planmode/withdraw.go", "	s.State, s.Pending = Planning, nil\n	s.do(PublishWithdrawn", "	s.open(s.Saved)\n	s.do(PublishWithdrawn"),
		"./planmode", machineTest, "",
	},
	{
		"an edit approves what was submitted", "2",
		one("planmode/decide.go", "	if !d.PlanWasEdited {\n		return WritePlan", "	if d.RequestID != \"\" {\n		return WritePlan"),
		"./teammate", livesTest, "",
	},
	{
		"a plan folder that became a link is followed", "2, 7",
		[]edit{
			{"plans/plandir/store.go", "case !os.SameFile(named, info):", "case named == nil:"},
		},
		"./teammate", livesTest, "",
	},
}

const (
	machineTest = "TestMachine"
	livesTest   = "TestWhateverHappens"
)

// texts are the mutated files.
func (x mutant) texts(t *testing.T, root string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, e := range x.edits {
		text, ok := texts[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			t.Fatalf("%s has %q %d times, want once: the guard has moved, and the mutant %q with it", e.file, e.old, n, x.name)
		}
		texts[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return texts
}

// The guards stand where the mutants take them out, and the tests that are to see it are there; that they do see it, the
// tag mutant tries.
func TestGuardsStandWhereMutantsLook(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, x := range slices.Concat(mutants, planMutants) {
		t.Run(x.name, func(t *testing.T) {
			x.texts(t, root)
			name, _, _ := strings.Cut(x.test, "/")
			files, err := filepath.Glob(filepath.Join(root, x.pkg, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(data), "func "+name+"(t *testing.T) {") {
					return
				}
			}
			t.Errorf("%s has no %s", x.pkg, name)
		})
	}
}
