package permissions_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/permissions"
)

// on decides a line in a tree with the given runner files, as path and digest.
func on(digests map[string]string, command, cwd string, s permissions.State) permissions.Decision {
	at := map[string]string{}
	for p, sum := range digests {
		at["/project/"+p] = sum
	}
	e := permissions.New(permissions.Config{Resolver: disk{digests: at, git: permissions.GitInfo{Repository: true}, links: map[string]string{"/project/ln": "/project/web/app"}}})
	return e.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: cwd}, s)
}

func recorded(files ...string) permissions.Grant {
	g := grant("run tests")
	for _, f := range files {
		name, sum, _ := strings.Cut(f, "=")
		sum, planned := strings.CutSuffix(sum, "+")
		g.Runners = append(g.Runners, permissions.RunnerFile{Path: name, Digest: sum, Planned: planned})
	}
	return g
}

func TestRunnerFiles(t *testing.T) {
	type files = map[string]string
	for name, row := range map[string]struct {
		was     []string // path=digest, with a + when the plan names it
		is      files
		command string
		cwd     string
		changed string // path=digest of each, when it asks
	}{
		"as it was":                   {[]string{"Makefile=a"}, files{"Makefile": "a"}, "make test", "", ""},
		"another content":             {[]string{"Makefile=a"}, files{"Makefile": "b"}, "make test", "", "Makefile=b"},
		"planned":                     {[]string{"Makefile=a+"}, files{"Makefile": "b"}, "make test", "", ""},
		"planned, unreadable":         {[]string{"Makefile=a+"}, files{"Makefile": "!"}, "make test", "", ""},
		"gone":                        {[]string{"Makefile=a"}, files{}, "make test", "", "Makefile="},
		"none at all":                 {nil, files{}, "make test", "", ""},
		"recorded as missing":         {[]string{"Makefile="}, files{}, "make check", "", ""},
		"new":                         {[]string{"Makefile="}, files{"Makefile": "a"}, "make check", "", "Makefile=a"},
		"not recorded":                {nil, files{"Makefile": "a"}, "make test", "", "Makefile=a"},
		"a stronger name beside it":   {[]string{"Makefile=a"}, files{"Makefile": "a", "GNUmakefile": "b"}, "make test", "", "GNUmakefile=b"},
		"what make makes one from":    {[]string{"Makefile=a"}, files{"Makefile": "a", "Makefile.sh": "b"}, "make test", "", "Makefile.sh=b"},
		"unreadable":                  {[]string{"Makefile=a"}, files{"Makefile": "!"}, "make test", "", "Makefile=unreadable"},
		"unreadable, not recorded":    {nil, files{"Makefile": "!"}, "make test", "", "Makefile=unreadable"},
		"another program's":           {[]string{"package.json=a"}, files{"package.json": "b", "Makefile": ""}, "make test", "", ""},
		"go obeys none":               {[]string{"package.json=a", "Makefile=a"}, files{"package.json": "b", "Makefile": "b"}, "go test ./...", "", ""},
		"npm":                         {[]string{"package.json=a", ".npmrc=c"}, files{"package.json": "a", ".npmrc": "c"}, "npm test", "", ""},
		"npm, scripts":                {[]string{"package.json=a"}, files{"package.json": "b"}, "npm run test", "", "package.json=b"},
		"npm, its configuration":      {[]string{"package.json=a"}, files{"package.json": "a", ".npmrc": "b"}, "npm test", "", ".npmrc=b"},
		"npm, both":                   {[]string{"package.json=a"}, files{"package.json": "b", ".npmrc": "b"}, "npm t", "", "package.json=b .npmrc=b"},
		"in a folder":                 {[]string{"web/package.json=a"}, files{"web/package.json": "a"}, "cd web && npm test", "", ""},
		"in a folder, by cwd":         {[]string{"web/package.json=a"}, files{"web/package.json": "b"}, "npm test", "/project/web", "web/package.json=b"},
		"above the folder":            {[]string{"web/package.json=a", "package.json=a"}, files{"web/package.json": "a", "package.json": "b"}, "cd web && npm test", "", "package.json=b"},
		"beside the folder":           {[]string{"web/package.json=a"}, files{"web/package.json": "a", "api/package.json": "b"}, "cd web && npm test", "", ""},
		"below the folder":            {[]string{"package.json=a"}, files{"package.json": "a", "web/package.json": "b"}, "npm test", "", ""},
		"through a link":              {[]string{"web/app/Makefile=a"}, files{"web/app/Makefile": "b"}, "cd ln && make test", "", "web/app/Makefile=b"},
		"through a link, as it was":   {[]string{"web/app/Makefile=a"}, files{"web/app/Makefile": "a"}, "cd ln && make test", "", ""},
		"in a wrapper":                {[]string{"Makefile=a"}, files{"Makefile": "b"}, "CI=1 timeout 60 make -s -j4 test 2>&1 | tail -3", "", "Makefile=b"},
		"in either of two folders":    {[]string{"Makefile=a", "web/Makefile=a"}, files{"Makefile": "a", "web/Makefile": "b"}, "cd web; make test", "", "web/Makefile=b"},
		"two commands, one change":    {[]string{"Makefile=a"}, files{"Makefile": "b"}, "make test && make check", "", "Makefile=b"},
		"two programs, two changes":   {[]string{"Makefile=a", "package.json=a"}, files{"Makefile": "b", "package.json": "c"}, "make test && npm test", "", "Makefile=b package.json=c"},
		"one of two commands":         {[]string{"Makefile=a", "package.json=a"}, files{"Makefile": "b", "package.json": "a"}, "npm test; make test; ls", "", "Makefile=b"},
		"recorded by an unclean path": {[]string{"./web/../Makefile=a"}, files{"Makefile": "a"}, "make test", "", ""},
	} {
		s := state(permissions.ModeDefault)
		s.Grants = []permissions.Grant{recorded(row.was...)}
		cwd := row.cwd
		if cwd == "" {
			cwd = "/project"
		}
		d := on(row.is, row.command, cwd, s)
		want := yes
		if row.changed != "" {
			want = maybe
		}
		var changed []string
		for _, f := range d.Changed {
			changed = append(changed, f.Path+"="+f.Digest)
		}
		if d.Verdict != want || strings.Join(changed, " ") != row.changed {
			t.Errorf("%s: Decide(%q) = %s (%s), changed %q; want %s, changed %q", name, row.command, d.Verdict, d.Reason, changed, want, row.changed)
		}
		if want == maybe && (!strings.HasPrefix(d.Reason, "runner changed since approval: ") || len(d.GrantIDs()) > 0 && !strings.Contains(row.command, ";")) {
			t.Errorf("%s: reason %q, grants %q", name, d.Reason, d.GrantIDs())
		}
	}
}

// What a linter obeys is looked for where it looks: in the folders that it is given, too.
func TestRunnerFilesOfALinter(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("lint")}
	s.Grants[0].Runners = []permissions.RunnerFile{{Path: ".golangci.yml", Digest: "a"}}
	for file, want := range map[string]permissions.Verdict{"a/b/.golangci.yml": maybe, "a/.golangci.toml": maybe, ".golangci.json": maybe, "a/b/c/.golangci.yml": yes, "b/.golangci.yml": yes, "a/b/Makefile": yes} {
		d := on(map[string]string{".golangci.yml": "a", file: "b"}, "golangci-lint run ./a/b/...", "/project", s)
		if d.Verdict != want || want == maybe && (len(d.Changed) != 1 || d.Changed[0].Path != file) {
			t.Errorf("%s is new: %s (%s), changed %+v; want %s", file, d.Verdict, d.Reason, d.Changed, want)
		}
	}
}

// An answer is for one content: the hash differs for every other one, and is the plain one when nothing has changed.
func TestAHashIsForOneContent(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{recorded("Makefile=a")}
	hash := func(is string) string {
		return on(map[string]string{"Makefile": is}, "make test", "/project", s).Hash
	}
	plain := hash("a")
	if seen := []string{plain, hash("b"), hash("c"), hash(""), hash("!")}; len(slices.Compact(slices.Sorted(slices.Values(seen)))) != len(seen) {
		t.Errorf("contents share a hash: %q", seen)
	}
	if first, again := hash("b"), hash("b"); first != again {
		t.Error("one content, two hashes")
	}
	s.Grants = nil
	if hash("b") != plain {
		t.Error("without a grant the hash is of more than the call")
	}
	s.Grants, s.Unattended = []permissions.Grant{recorded("Makefile=a")}, true
	if d := on(map[string]string{"Makefile": "b"}, "make test", "/project", s); d.Verdict != never || len(d.Changed) != 1 {
		t.Errorf("unattended: %s, changed %+v; want deny with the file", d.Verdict, d.Changed)
	}
}

func TestAnotherGrantMayCover(t *testing.T) {
	is := map[string]string{"Makefile": "b"}
	stale, fresh := recorded("Makefile=a"), recorded("Makefile=b")
	stale.ID, fresh.ID = "r/stale", "r/fresh"
	s := state(permissions.ModeDefault)
	for _, s.Grants = range [][]permissions.Grant{{stale, fresh}, {fresh, stale}} {
		if d := on(is, "make test", "/project", s); d.Verdict != yes || !slices.Equal(d.GrantIDs(), []string{"r/fresh"}) || d.Changed != nil {
			t.Errorf("%s by %q (%s), changed %+v; want allow by r/fresh", d.Verdict, d.GrantIDs(), d.Reason, d.Changed)
		}
	}
	s.Grants = []permissions.Grant{stale}
	for name, edit := range map[string]func(){
		"an allow rule":     func() { s.Rules = []permissions.Rule{bashRule(permissions.Allow, "make test")} },
		"bypassPermissions": func() { s.Rules, s.Mode = nil, permissions.ModeBypass },
	} {
		edit()
		if d := on(is, "make test", "/project", s); d.Verdict != yes || d.Changed != nil {
			t.Errorf("%s: %s (%s), changed %+v; want allow", name, d.Verdict, d.Reason, d.Changed)
		}
	}
}

// What another command of the line asks for is not taken for a changed file.
func TestOnlyWhatAsksHasChanged(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Grants, s.Rules = []permissions.Grant{recorded("Makefile=a")}, []permissions.Rule{bashRule(permissions.Allow, "make test")}
	d := on(map[string]string{"Makefile": "b"}, "make test && frobnicate", "/project", s)
	if d.Verdict != maybe || d.Changed != nil || strings.Contains(d.Reason, "runner") {
		t.Errorf("%s (%s), changed %+v; want ask for frobnicate alone", d.Verdict, d.Reason, d.Changed)
	}
}

// The contract names what was looked at, so that it can be looked at again when it is carried out.
func TestContractsNameRunnerFiles(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{recorded("Makefile=a", "web/package.json=b+")}
	is := map[string]string{"Makefile": "a", "web/package.json": "c"}
	d := on(is, "make test && cd web && npm test && make check", "/project", s)
	if d.Verdict != yes {
		t.Fatalf("%s (%s)", d.Verdict, d.Reason)
	}
	got := map[string]string{}
	for _, f := range d.Contract.Runners {
		if _, twice := got[f.Path]; twice {
			t.Errorf("%s is named twice", f.Path)
		}
		got[f.Path] = f.Digest
	}
	for p, want := range map[string]string{"Makefile": "a", "GNUmakefile": "", "web/Makefile": "", "package.json": "", "web/.npmrc": ""} {
		if sum, ok := got[p]; !ok || sum != want {
			t.Errorf("%s = %q, %t; want %q", p, sum, ok, want)
		}
	}
	if _, ok := got["web/package.json"]; ok {
		t.Error("a file that the plan names is held to its content")
	}
	c := *d.Contract
	c.Runners = slices.Clone(c.Runners)
	if c.Runners[0].Digest = "x"; c.Sum() == d.Contract.Hash {
		t.Error("the hash does not cover the runner files")
	}
	if c.Runners = nil; c.Sum() == d.Contract.Hash {
		t.Error("the hash does not cover that there are runner files")
	}
	if d := on(is, "go test ./...", "/project", s); d.Verdict != yes || d.Contract.Runners != nil {
		t.Errorf("go test obeys %+v", d.Contract.Runners)
	}
}

// Whatever changes in a recorded runner file, an unplanned change never allows.
func TestAnUnplannedChangeNeverAllows(t *testing.T) {
	names := []string{"Makefile", "makefile", "GNUmakefile", "package.json", ".npmrc"}
	folders := []string{"", "web/", "web/app/"}
	commands := map[string][]string{
		"make test": names[:3], "timeout 9 make -j2 check": names[:3], "npm test": names[3:], "npm run test 2>&1": names[3:],
	}
	sum := rapid.SampledFrom([]string{"", "a", "b", "!"})
	rapid.Check(t, func(t *rapid.T) {
		s := state(rapid.SampledFrom([]permissions.Mode{permissions.ModeDefault, permissions.ModeAcceptEdits, permissions.ModeDontAsk}).Draw(t, "mode"))
		is, grants := map[string]string{}, rapid.IntRange(1, 2).Draw(t, "grants")
		var files []string
		for _, f := range folders {
			for _, n := range names {
				files = append(files, f+n)
				is[f+n] = sum.Draw(t, "is "+f+n)
			}
		}
		for range grants {
			g := grant("run tests")
			for _, p := range files {
				switch rapid.IntRange(0, 3).Draw(t, "was "+p) {
				case 0:
					g.Runners = append(g.Runners, permissions.RunnerFile{Path: p, Digest: sum.Draw(t, "digest"), Planned: rapid.Bool().Draw(t, "planned")})
				case 1, 2:
					g.Runners = append(g.Runners, permissions.RunnerFile{Path: p, Digest: strings.Replace(is[p], "!", permissions.Unreadable, 1)})
				}
			}
			s.Grants = append(s.Grants, g)
		}
		command := rapid.SampledFrom([]string{"make test", "timeout 9 make -j2 check", "npm test", "npm run test 2>&1"}).Draw(t, "command")
		depth := rapid.IntRange(0, 2).Draw(t, "depth")
		d := on(is, command, strings.TrimSuffix("/project/"+folders[depth], "/"), s)
		obeyed := func(g permissions.Grant) bool {
			for _, f := range folders[:depth+1] {
				for _, n := range commands[command] {
					i := slices.IndexFunc(g.Runners, func(r permissions.RunnerFile) bool { return r.Path == f+n })
					if i >= 0 && g.Runners[i].Planned {
						continue
					}
					was := ""
					if i >= 0 {
						was = g.Runners[i].Digest
					}
					if was != is[f+n] || is[f+n] == "!" {
						return false
					}
				}
			}
			return true
		}
		if want := slices.ContainsFunc(s.Grants, obeyed); (d.Verdict == yes) != want {
			t.Fatalf("Decide(%q) in %q = %s (%s), want allow %t", command, folders[depth], d.Verdict, d.Reason, want)
		}
	})
}

func TestRunnerNames(t *testing.T) {
	names := permissions.RunnerNames("run tests")
	for _, want := range []string{"Makefile", "makefile", "GNUmakefile", "package.json", ".npmrc"} {
		if !slices.Contains(names, want) {
			t.Errorf("RunnerNames(run tests) = %q, without %q", names, want)
		}
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "/") }) {
		t.Errorf("RunnerNames(run tests) = %q", names)
	}
	for _, intent := range []string{"", "run everything", "Run tests"} {
		if got := permissions.RunnerNames(intent); len(got) != 0 {
			t.Errorf("RunnerNames(%q) = %q", intent, got)
		}
	}
}

// A line is judged before it begins: what one command does to a Makefile that a later one obeys is not looked at between
// them, so that such a line asks.
func TestALineDoesNotRewriteWhatItObeys(t *testing.T) {
	var grants []permissions.Grant
	for _, name := range []string{"run tests", "pull", "install dependencies", "branch", "commit", "lint"} {
		grants = append(grants, grant(name))
	}
	for command, want := range map[string]permissions.Verdict{
		"cp evil.mk Makefile && make test": maybe, "mv a Makefile; make test": maybe, "sed -i s/a/b/ Makefile && make test": maybe, "ln -sf e.mk makefile && make test": maybe,
		"cp evil.mk GNUmakefile && make test": maybe, "cd sub && cp ../x Makefile && make test": maybe, "cp gen/Makefile sub/ && make test": maybe, "cp x.json package.json && npm test": maybe,
		"cp x M*e && make test": maybe, "curl -O https://x.example/Makefile && make test": maybe, "curl -oMakefile https://x.example/m && make test": maybe, "timeout 9 cp evil.mk Makefile && make test": maybe,
		"git pull && make test": maybe, "git checkout x && make test": maybe, "git -C . merge x && npm test": maybe, "git stash pop; npm test": maybe, "git checkout x -- package.json && npm test": maybe,
		"patch -p1 -i x.patch && make test": maybe, "tar xf a.tar && npm test": maybe, "make test | cp evil.mk Makefile": maybe, "make test && cp evil.mk Makefile && make test": maybe,
		"git checkout -b x main && npm test": maybe,

		"make test && cp new.mk Makefile": yes, "cp a.txt b.txt && make test": yes, "git switch -c x && npm test": yes, "git checkout -b x && npm test": yes, "git add Makefile && make test": yes,
		"npm ci && npm test": yes, "cat Makefile && make test": yes, "make lint && make test": yes, "git status && make test": yes, "cp evil.mk Makefile": yes, "cp x Makefile && go test ./...": yes,
		"git pull && go test ./...": yes, "git pull": yes,
	} {
		s := state(permissions.ModeDefault)
		s.Grants = grants
		for _, name := range []string{"cp", "mv", "sed", "ln", "curl", "git", "patch", "tar"} {
			s.Rules = append(s.Rules, permissions.Rule{Verdict: yes, Tool: "Bash", Argv: []string{name}, Prefix: true})
		}
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
	s := state(permissions.ModeBypass)
	s.Grants = grants
	if d := decide("git pull && make test", s); d.Verdict != yes {
		t.Errorf("in bypassPermissions it is %s (%s)", d.Verdict, d.Reason)
	}
	s = state(permissions.ModeDefault) // what a rule allows without the grant, the grant does not take away
	s.Grants, s.Rules = grants, []permissions.Rule{{Verdict: yes, Tool: "Bash", Argv: []string{"make"}, Prefix: true}}
	if d := decide("git pull && make test", s); d.Verdict != yes {
		t.Errorf("with a rule that allows make it is %s (%s)", d.Verdict, d.Reason)
	}
}
