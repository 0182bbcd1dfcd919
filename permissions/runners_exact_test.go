package permissions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// exact asks what a grant for exactly a line has to remember, on a tree with runner files.
func exact(digests map[string]string, command, cwd string, s permissions.State) ([]string, error) {
	at := map[string]string{}
	for p, sum := range digests {
		if at["/project/"+p] = sum; strings.HasPrefix(p, "/") {
			at[p] = sum
		}
	}
	e := permissions.New(permissions.Config{Resolver: disk{digests: at, links: map[string]string{"/project/out": "/elsewhere"}}})
	files, err := e.ExactRunners(permissions.Call{Tool: "Bash", Command: command, Cwd: cwd}, s)
	var out []string
	for _, f := range files {
		out = append(out, f.Path+"="+f.Digest)
	}
	slices.Sort(out)
	return out, err
}

// What a grant for exactly a command remembers of the files that say what it runs, and for which there can be no such grant.
func TestExactRunners(t *testing.T) {
	type files = map[string]string
	for name, row := range map[string]struct {
		is      files
		command string
		cwd     string
		want    string // path=digest of each
		why     string // there can be no such grant
	}{
		"make":                       {files{"Makefile": "a", "notes.txt": "b"}, "make deploy", "", "Makefile=a", ""},
		"nothing there":              {files{}, "make deploy", "", "", ""},
		"another's file":             {files{"Makefile": "a", "package.json": "b"}, "make deploy", "", "Makefile=a", ""},
		"go obeys none":              {files{"Makefile": "a", "package.json": "b"}, "bash -c 'go test ./...'", "", "", ""},
		"no such program":            {files{"Makefile": "a"}, "touch x", "", "", ""},
		"npm":                        {files{"package.json": "a", ".npmrc": "b"}, "npm run deploy", "", ".npmrc=b package.json=a", ""},
		"folder and above":           {files{"web/Makefile": "a", "Makefile": "b", "api/Makefile": "c"}, "make deploy", "/project/web", "Makefile=b web/Makefile=a", ""},
		"in a wrapper":               {files{"Makefile": "a"}, "timeout 9 make deploy", "", "Makefile=a", ""},
		"by its path":                {files{"Makefile": "a"}, "/usr/bin/make deploy", "", "Makefile=a", ""},
		"started by another":         {files{"Makefile": "a"}, "strace make deploy", "", "Makefile=a", ""},
		"-C":                         {files{"web/Makefile": "a"}, "make -C web deploy", "", "web/Makefile=a", ""},
		"-C, attached":               {files{"web/Makefile": "a"}, "make -Cweb deploy", "", "web/Makefile=a", ""},
		"--directory=":               {files{"web/Makefile": "a"}, "make --directory=web deploy", "", "web/Makefile=a", ""},
		"--prefix":                   {files{"web/package.json": "a"}, "npm --prefix web run deploy", "", "web/package.json=a", ""},
		"-f":                         {files{"x.mk": "a", "Makefile": "b"}, "make -f x.mk deploy", "", "Makefile=b x.mk=a", ""},
		"-f, attached":               {files{"x.mk": "a"}, "make -fx.mk deploy", "", "x.mk=a", ""},
		"--makefile=":                {files{"x.mk": "a"}, "make --makefile=x.mk deploy", "", "x.mk=a", ""},
		"unreadable":                 {files{"Makefile": "!"}, "make deploy", "", "", "what it obeys cannot be remembered: Makefile"},
		"a file outside":             {files{}, "make -f /tmp/x.mk deploy", "", "", "what it obeys cannot be remembered: /tmp/x.mk"},
		"a folder outside":           {files{}, "make -C ../other deploy", "", "", "what it obeys cannot be remembered: ../other"},
		"a folder outside, attached": {files{}, "make -C../other deploy", "", "", "what it obeys cannot be remembered: ../other"},
		"outside through a link":     {files{}, "make -C out deploy", "", "", "what it obeys cannot be remembered: out"},
		"inside of a text":           {files{"Makefile": "a"}, "bash -c 'cd web && make deploy'", "", "", "what it obeys cannot be remembered: cd web && make deploy"},
		"an output outside":          {files{"Makefile": "a"}, "make -o /tmp/x deploy", "", "Makefile=a", ""},
		"two commands":               {files{"Makefile": "a"}, "make db && make deploy", "", "", "it is not one simple command"},
		"an expansion":               {files{"Makefile": "a"}, "make $x", "", "", "can only be told by running it"},
		"a redirection":              {files{"Makefile": "a"}, "make deploy > x", "", "", "it writes x"},
		"a prefix":                   {files{"Makefile": "a"}, "CC=x make deploy", "", "", "CC"},
		"protected":                  {files{}, "touch CLAUDE.md", "", "", "protected"},
		"outside":                    {files{}, "make deploy", "/elsewhere", "", "outside"},
		"a denial":                   {files{}, "swarm approve x", "", "", "swarm"},
	} {
		cwd := row.cwd
		if cwd == "" {
			cwd = "/project"
		}
		got, err := exact(row.is, row.command, cwd, state(permissions.ModeDefault))
		switch {
		case row.why == "" && (err != nil || strings.Join(got, " ") != row.want):
			t.Errorf("%s: ExactRunners(%q) = %q, %v; want %q", name, row.command, got, err, row.want)
		case row.why != "" && (err == nil || !strings.Contains(err.Error(), row.why)):
			t.Errorf("%s: ExactRunners(%q) = %q, %v; want an error with %q", name, row.command, got, err, row.why)
		}
	}
	s := state(permissions.ModePlan)
	if _, err := exact(nil, "make deploy", "/project", s); err == nil {
		t.Error("in plan mode no grant lets anything pass")
	}
	if _, err := permissions.New(permissions.Config{}).ExactRunners(permissions.Call{Tool: "Edit", Path: "/project/x", Cwd: "/project"}, state(permissions.ModeDefault)); err == nil {
		t.Error("an edit is no command")
	}
}

// A grant for exactly a command lets it pass only while the files that it obeys are as they were.
func TestExactGrantsHoldTheirRunners(t *testing.T) {
	type files = map[string]string
	for name, row := range map[string]struct {
		was     []permissions.RunnerFile
		is      files
		argv    string
		command string
		cwd     string
		changed string
	}{
		"as it was":              {[]permissions.RunnerFile{{Path: "Makefile", Digest: "a"}}, files{"Makefile": "a"}, "make deploy", "make deploy", "", ""},
		"another content":        {[]permissions.RunnerFile{{Path: "Makefile", Digest: "a"}}, files{"Makefile": "b"}, "make deploy", "make deploy", "", "Makefile=b"},
		"gone":                   {[]permissions.RunnerFile{{Path: "Makefile", Digest: "a"}}, files{}, "make deploy", "make deploy", "", "Makefile="},
		"new":                    {nil, files{"Makefile": "a"}, "make deploy", "make deploy", "", "Makefile=a"},
		"a stronger name":        {[]permissions.RunnerFile{{Path: "Makefile", Digest: "a"}}, files{"Makefile": "a", "GNUmakefile": "b"}, "make deploy", "make deploy", "", "GNUmakefile=b"},
		"in another folder":      {[]permissions.RunnerFile{{Path: "Makefile", Digest: "a"}}, files{"Makefile": "a", "web/Makefile": "b"}, "make deploy", "make deploy", "/project/web", "web/Makefile=b"},
		"in a wrapper":           {[]permissions.RunnerFile{{Path: "Makefile", Digest: "a"}}, files{"Makefile": "b"}, "timeout 9 make deploy", "timeout 9 make deploy", "", "Makefile=b"},
		"named by an option":     {[]permissions.RunnerFile{{Path: "x.mk", Digest: "a"}}, files{"x.mk": "b"}, "make -f x.mk", "make -f x.mk", "", "x.mk=b"},
		"in a folder by option":  {nil, files{"web/Makefile": "b"}, "make -C web", "make -C web", "", "web/Makefile=b"},
		"link out of the tree":   {nil, files{}, "make -C out", "make -C out", "", "out=unreadable"},
		"no file, no difference": {nil, files{"Makefile": "b"}, "touch x", "touch x", "", ""},
	} {
		g := grant("")
		g.Argv, g.Runners = strings.Fields(row.argv), row.was
		s := state(permissions.ModeDefault)
		s.Grants = []permissions.Grant{g}
		cwd := row.cwd
		if cwd == "" {
			cwd = "/project"
		} else {
			s.Grants[0].Tree = strings.TrimPrefix(cwd, "/project/")
		}
		at := map[string]string{}
		for p, sum := range row.is {
			at["/project/"+p] = sum
		}
		e := permissions.New(permissions.Config{Resolver: disk{digests: at, links: map[string]string{"/project/out": "/elsewhere"}}})
		d := e.Decide(permissions.Call{Tool: "Bash", Command: row.command, Cwd: cwd}, s)
		var changed []string
		for _, f := range d.Changed {
			changed = append(changed, f.Path+"="+f.Digest)
		}
		want := yes
		if row.changed != "" {
			want = maybe
		}
		if d.Verdict != want || strings.Join(changed, " ") != row.changed {
			t.Errorf("%s: Decide(%q) = %s (%s), changed %q; want %s, %q", name, row.command, d.Verdict, d.Reason, changed, want, row.changed)
		}
		if d.Verdict == permissions.Allow && len(row.was) > 0 && len(d.Contract.Runners) == 0 {
			t.Errorf("%s: the contract does not name what was looked at", name)
		}
	}
}

// Why a grant that is about a command does not let it pass.
func TestReasonsOfGrants(t *testing.T) {
	part := func(g *permissions.Grant, _ *permissions.State) { g.Tree, g.Prompt = "api", "run tests" }
	for name, row := range map[string]struct {
		edit    func(*permissions.Grant, *permissions.State)
		command string
		want    string
	}{
		"used up": {func(g *permissions.Grant, _ *permissions.State) { g.Prompt, g.MaxUses, g.Uses = "run tests", 1, 1 }, "go test ./...", `the grant "run tests" is used up (1 of 1)`},
		"used up, exactly": {func(g *permissions.Grant, s *permissions.State) {
			exactly("make", "db")(g, s)
			g.MaxUses, g.Uses = 3, 3
		}, "make db", "the grant for exactly this command is used up (3 of 3)"},
		"expired":        {func(g *permissions.Grant, _ *permissions.State) { g.ExpiresAt = now }, "go test ./...", `the grant "run tests" has expired`},
		"another folder": {part, "go test ./...", `the grant "run tests" covers only ./api`},
		"another path":   {part, "cd api && go test ../web", `the grant "run tests" covers only ./api (`},
		"exactly":        {func(g *permissions.Grant, s *permissions.State) { exactly("make", "db")(g, s); g.Tree = "./api/" }, "make db", "the grant for exactly this command covers only ./api"},
		"another's":      {func(g *permissions.Grant, _ *permissions.State) { g.Root = "/other" }, "go test ./...", "no grant or rule covers it"},
		"not about it":   {func(g *permissions.Grant, _ *permissions.State) { g.MaxUses, g.Uses = 1, 1 }, "frobnicate", "no read-only table"},
		"like it":        {part, "cd api && go test -exec sh", "does not cover it"},
	} {
		s, g := state(permissions.ModeDefault), grant("run tests")
		row.edit(&g, &s)
		s.Grants = []permissions.Grant{g}
		d := decide(row.command, s)
		last := d.Commands[len(d.Commands)-1]
		if d.Verdict != maybe || !strings.Contains(last.Reason, row.want) {
			t.Errorf("%s: Decide(%q) = %s (%s), want ask because %q", name, row.command, d.Verdict, last.Reason, row.want)
		}
	}
}
