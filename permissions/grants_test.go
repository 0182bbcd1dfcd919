package permissions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
)

func TestAGrantIsBound(t *testing.T) {
	for name, row := range map[string]struct {
		edit    func(*permissions.Grant, *permissions.State)
		command string
		want    permissions.Verdict
	}{
		"as given":              {func(*permissions.Grant, *permissions.State) {}, "go test ./...", yes},
		"expired":               {func(g *permissions.Grant, _ *permissions.State) { g.ExpiresAt = now }, "go test ./...", maybe},
		"without expiry":        {func(g *permissions.Grant, _ *permissions.State) { g.ExpiresAt = time.Time{} }, "go test ./...", maybe},
		"used up":               {func(g *permissions.Grant, _ *permissions.State) { g.MaxUses, g.Uses = 3, 3 }, "go test ./...", maybe},
		"one use left":          {func(g *permissions.Grant, _ *permissions.State) { g.MaxUses, g.Uses = 3, 2 }, "go test ./...", yes},
		"another tree":          {func(g *permissions.Grant, _ *permissions.State) { g.Root = "/other" }, "go test ./...", maybe},
		"no root":               {func(g *permissions.Grant, _ *permissions.State) { g.Root = "" }, "go test ./...", maybe},
		"no id":                 {func(g *permissions.Grant, _ *permissions.State) { g.ID = "" }, "go test ./...", maybe},
		"no tree":               {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "" }, "go test ./...", maybe},
		"tree above":            {func(g *permissions.Grant, _ *permissions.State) { g.Tree = ".." }, "go test ./...", maybe},
		"tree above, hidden":    {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "a/../.." }, "go test ./...", maybe},
		"absolute tree":         {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "/project" }, "go test ./...", maybe},
		"part of the tree":      {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "api" }, "go test ./...", maybe},
		"in that part":          {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "api" }, "cd api && go test ./...", yes},
		"out of that part":      {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "api" }, "cd api && go test ../web", maybe},
		"beside that part":      {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "api" }, "cd api2 && go test .", maybe},
		"beside it, no words":   {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "api" }, "cd api2 && go test", maybe},
		"exactly, beside it":    {func(g *permissions.Grant, s *permissions.State) { exactly("make", "db")(g, s); g.Tree = "api" }, "make db", maybe},
		"exactly, in it":        {func(g *permissions.Grant, s *permissions.State) { exactly("make", "db")(g, s); g.Tree = "api" }, "cd api && make db", yes},
		"unsure of that part":   {func(g *permissions.Grant, _ *permissions.State) { g.Tree = "api" }, "cd api; go test .", maybe},
		"no intent":             {func(g *permissions.Grant, _ *permissions.State) { g.Intent = "" }, "go test ./...", maybe},
		"unknown intent":        {func(g *permissions.Grant, _ *permissions.State) { g.Intent = "run everything" }, "go test ./...", maybe},
		"words say another":     {func(g *permissions.Grant, _ *permissions.State) { g.Prompt = "fix the bug" }, "go test ./...", maybe},
		"words left out":        {func(g *permissions.Grant, _ *permissions.State) { g.Prompt = "" }, "go test ./...", yes},
		"in plan mode":          {func(_ *permissions.Grant, s *permissions.State) { s.Mode = permissions.ModePlan }, "go test ./...", never},
		"in dontAsk":            {func(_ *permissions.Grant, s *permissions.State) { s.Mode = permissions.ModeDontAsk }, "go test ./...", yes},
		"unattended":            {func(_ *permissions.Grant, s *permissions.State) { s.Unattended = true }, "go test ./...", yes},
		"exactly":               {exactly("make", "db"), "make db", yes},
		"exactly, in a wrapper": {exactly("make", "db"), "timeout 9 make db", maybe},
		"exactly, quoted":       {exactly("make", "db"), "make 'db' 2>&1 | tail -3", yes},
		"exactly, below":        {exactly("make", "db"), "cd api && make db", maybe},
		"exactly, fed":          {exactly("tee", "out"), "echo x | tee out", maybe},
		"exactly, fed names":    {exactly("xargs", "rm"), "ls | xargs rm", maybe},
		"exactly, fed a file":   {exactly("python3", "-"), "python3 - < evil.py", maybe},
		"exactly, fed around":   {exactly("python3", "-"), "{ python3 -; } < evil.py", maybe},
		"exactly, fed a text":   {exactly("python3", "-"), "python3 - <<'E'\nx\nE", maybe},
		"exactly, with CI":      {exactly("make", "db"), "CI=1 make db", maybe},
		"exactly, quiet":        {exactly("make", "db"), "make db > /dev/null 2>&1", yes},
		"one word more":         {exactly("make", "db"), "make db x", maybe},
		"one word less":         {exactly("make", "db"), "make", maybe},
		"another word":          {exactly("make", "db"), "make dbs", maybe},
		"expanded":              {exactly("make", "*"), "make *", maybe},
		"exact and intent":      {func(g *permissions.Grant, _ *permissions.State) { g.Argv = []string{"make"} }, "make", maybe},
		"exact, with more":      {exactly("make", "db"), "make db && rm x", maybe},
		"exact, redirected":     {exactly("make", "db"), "make db > x", maybe},
		"exact, other prefix":   {exactly("make", "db"), "CC=x make db", maybe},
		"exact, protected":      {exactly("touch", "CLAUDE.md"), "touch CLAUDE.md", maybe},
		"exact, credentials":    {exactly("cat", ".env"), "cat .env", maybe},
	} {
		s, g := state(permissions.ModeDefault), grant("run tests")
		row.edit(&g, &s)
		s.Grants = []permissions.Grant{g}
		d := decide(row.command, s)
		if d.Verdict != row.want {
			t.Errorf("%s: Decide(%q) = %s (%s), want %s", name, row.command, d.Verdict, d.Reason, row.want)
		}
		if d.Verdict == permissions.Allow && !slices.Equal(d.GrantIDs(), []string{g.ID}) {
			t.Errorf("%s: rests on grants %q, want %q", name, d.GrantIDs(), g.ID)
		}
	}
}

func exactly(argv ...string) func(*permissions.Grant, *permissions.State) {
	return func(g *permissions.Grant, _ *permissions.State) { g.Intent, g.Prompt, g.Argv = "", "", argv }
}

func TestADecisionNamesItsGrants(t *testing.T) {
	s := state(permissions.ModeDefault)
	dead, live, exact := grant("run tests"), grant("run tests"), grant("")
	dead.ExpiresAt, live.ID, exact.ID, exact.Argv = now, "r/live", "r/exact", []string{"make", "db"}
	s.Grants = []permissions.Grant{dead, live, exact}
	d := decide("make db && go test ./... && go test ./a && ls", s)
	if d.Verdict != permissions.Allow || !slices.Equal(d.GrantIDs(), []string{"r/exact", "r/live"}) {
		t.Errorf("%s, grants %q (%s)", d.Verdict, d.GrantIDs(), d.Reason)
	}
	if got := d.Commands[3]; got.GrantID != "" || got.Verdict != permissions.Allow {
		t.Errorf("ls: %+v", got)
	}
	if d := decide("ls", s); len(d.GrantIDs()) != 0 {
		t.Errorf("a read uses grants %q", d.GrantIDs())
	}
}

func TestResolvePrompt(t *testing.T) {
	p := permissions.ResolvePrompt("Bash", "Run the unit tests")
	if p.Intent != "run tests" || !slices.Equal(p.Classes, []permissions.Class{permissions.ClassRunsProjectCode}) || len(p.Examples) == 0 || p.Prompt != "Run the unit tests" || p.Tool != "Bash" {
		t.Errorf("ResolvePrompt = %+v", p)
	}
	for _, p := range []permissions.Prompt{permissions.ResolvePrompt("Bash", "do anything"), permissions.ResolvePrompt("Edit", "run tests")} {
		if p.Intent != "" || p.Classes != nil || p.Examples != nil {
			t.Errorf("an unknown prompt means something: %+v", p)
		}
	}
	// Examples are what the leader is shown: each is covered.
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("run tests")}
	for _, command := range p.Examples {
		if d := decide(command, s); d.Verdict != permissions.Allow {
			t.Errorf("example %q = %s (%s)", command, d.Verdict, d.Reason)
		}
	}
}
