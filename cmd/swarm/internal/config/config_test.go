package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/permissions"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const head = "version: 1\nteam: shop\n"

func TestLoadReadsTheFirstSubset(t *testing.T) {
	doc, problems := config.Load(filepath.Join("..", "..", "..", "..", "examples", "quickstart", "swarm.yaml"))
	if problems != nil {
		t.Fatalf("problems: %v", problems)
	}
	names := []string{}
	for _, m := range doc.Teammates {
		names = append(names, m.Name)
	}
	if !slices.Equal(names, []string{"fixer", "writer", "rogue"}) {
		t.Errorf("teammates = %v, want them in the order of the file", names)
	}
	if doc.Teammates[0].Expect != "" || doc.Teammates[2].Expect != "refused" {
		t.Errorf("expected ends = %q, %q, want none and refused", doc.Teammates[0].Expect, doc.Teammates[2].Expect)
	}
	if doc.Caps.Mode != permissions.ModeAcceptEdits || doc.Teammates[1].Mode != permissions.ModeAcceptEdits {
		t.Errorf("modes = %q, %q, want acceptEdits", doc.Caps.Mode, doc.Teammates[1].Mode)
	}
	if len(doc.Policy) != 5 || doc.Policy[0].Match.Intents == nil || len(doc.Policy[0].Match.Intents) != 0 {
		t.Errorf("policy = %+v, want five rules, the first with an empty list of intents that is not missing", doc.Policy)
	}
}

func TestEachMistakeHasItsPlaceAndWhatToDo(t *testing.T) {
	mate := head + "teammates:\n  api:\n    run: [x]\n"
	tests := []struct{ name, text, want string }{
		{"unknown key", head + "temmates:\n  a: {run: [x]}\n", `:3:1: unknown field "temmates": did you mean "teammates"?`},
		{"unknown key of a teammate", mate + "    mod: default\n", `:6:5: unknown field "mod": did you mean "mode"?`},
		{"a key of a later version", mate + "    sandbox: off\n", `:6:5: unknown field "sandbox"`},
		{"same key twice", head + "team: other\n", `:3:1: field "team" comes twice: it is already on line 2`},
		{"same teammate twice", mate + "  api:\n    run: [y]\n", `:6:3: field "api" comes twice`},
		{"unknown mode", mate + "    mode: acceptEdit\n", `:6:11: unknown mode "acceptEdit": did you mean "acceptEdits"?`},
		{"plan is no mode to come back to", mate + "    mode: plan\n", `mode "plan" cannot be restored`},
		{"a case variant", "Version: 1\nteam: shop\n", `the version is missing`},
		{"newer version", "version: 2\nfuture: {}\n", `:1:10: unknown version "2": this swarm reads version 1`},
		{"no team", "version: 1\n", `the team has no name: add "team: NAME"`},
		{"bad team", "version: 1\nteam: Shop!\n", `:2:7: bad name "Shop!"`},
		{"reserved teammate", head + "teammates:\n  lead:\n    run: [x]\n", `bad name "lead": it is reserved`},
		{"nothing to run", head + "teammates:\n  a: {mode: default}\n", `teammate "a" has nothing to run`},
		{"a number for text", "version: 1\nteam: 12\n", `:2:7: team must be text, not int: put it in quotes: "12"`},
		{"a scalar for a list", head + "teammates:\n  a:\n    run: bash x\n", `:5:10: teammates.a.run must be a list`},
		{"alias", head + "teammates:\n  a: &x {run: [y]}\n  b: *x\n", `anchors and aliases are not used here`},
		{"merge key", head + "caps:\n  <<: {mode: default}\n", `a key of caps must be plain text`},
		{"unknown prompt", mate + "    allowedPrompts: [conquer the world]\n", `:6:22: prompt "conquer the world" is not recognised`},
		{"unknown end", mate + "    expect: refusd\n", `:6:13: unknown end "refusd": did you mean "refused"?`},
		{"an end like no other", mate + "    expect: never\n", `:6:13: unknown end "never": use done, refused or rejected`},
		{"bad duration", head + "policy:\n  - {name: a, then: approve, with: {ttl: 2 hours}}\n", `:4:42: policy[0].with.ttl cannot be "2 hours": write it like`},
		{"unknown verb of a rule", head + "policy:\n  - {name: a, then: aprove}\n", `policy.yaml:4`},
		{"a project that moves the state", head + "settings: {state: ./x}\n", `:3:19: a project cannot set "state": use a flag`},
		{"a project that names the broker", head + "settings: {server: \"nats://x:1\"}\n", `a project cannot set "server"`},
		{"a project that says who you are", head + "settings: {as: tom}\n", `a project cannot set "as"`},
		{"negative uses", head + "caps:\n  grants: {uses: -1}\n", `uses cannot be -1`},
		{"a class that matches nothing", head + "caps:\n  personOnly: [{}]\n", `:4:16: matches nothing: name intents`},
		{"a class of what nobody knows", head + "caps:\n  personOnly: [{intents: [pushh]}]\n", `:4:27: unknown intent "pushh": did you mean "push"?`},
		{"a class of commands", head + "caps:\n  personOnly: [{intents: [push], commands: [x]}]\n", `unknown field "commands"`},
		{"a bad pattern", head + "caps:\n  personOnly: [{paths: [a**]}]\n", `path "a**": ** stands alone`},
		{"a quorum of none", head + "caps:\n  quorum: [{match: {intents: [push]}, need: 0}]\n", `:4:45: need 0: use 1 to 64`},
		{"a quorum of too few", head + "caps:\n  quorum: [{match: {intents: [push]}, need: 3, of: [anna, bob]}]\n", `need 3 of 2 leaders: nothing could ever be approved`},
		{"one leader twice", head + "caps:\n  quorum: [{match: {intents: [push]}, need: 2, of: [anna, anna]}]\n", `"anna" is named twice`},
		{"a key kept well", head + "caps:\n  assurance: [{match: {intents: [push]}, least: good}]\n", `:4:49: least "good": use one of`},
		{"a leader with a reserved name", head + "leaders:\n  policy: {kind: agent}\n", `bad name "policy"`},
		{"a limit of a person", head + "leaders:\n  bob: {kind: person, may: {approve: {intents: []}}}\n", `only an agent has limits, and bob is not said to be one`},
		{"a limit that says nothing", head + "leaders:\n  r: {kind: agent, may: {reject: always}}\n", `it does not say what r may approve`},
		{"a limit of what nobody knows", head + "leaders:\n  r: {kind: agent, may: {approve: {intents: [run the tests]}}}\n", `unknown intent "run the tests": did you mean "run tests"?`},
		{"a kind of leader", head + "leaders:\n  r: {kind: robot}\n", `:4:13: unknown kind "robot": use person or agent`},
		{"a deadline that approves", head + "deadlines: {approve: 1h}\n", `:3:13: unknown field "approve"`},
		{"a project that ends requests at once", head + "deadlines: {reject: 1ns}\n", `reject: 1ns is too soon for a project to wish: set at least 1m here`},
		{"a project that tells leaders without end", head + "deadlines: {escalate: 59s}\n", `escalate: 59s is too soon`},
		{"a project that opens a port", head + "broker: {listen: \"0.0.0.0:4222\"}\n", `unknown field "broker"`},
		{"a deadline of nobody's", head + "deadlines: {to: [bob]}\n", `nothing is escalated to them: add escalate: 2h`},
		{"escalated twice", head + "deadlines: {escalate: 1h, to: [bob, bob]}\n", `"bob" is named twice`},
		{"sometimes", head + "leaders:\n  r: {kind: agent, may: {approve: {intents: []}, reject: sometimes}}\n", `unknown word "sometimes": use always or never`},
		{"unknown dialect", mate + "    dialect: gemeni\n", `:6:14: unknown dialect "gemeni": did you mean "gemini"?`},
		{"a dialect like no other", head + "defaults: {dialect: klingon}\n", `:3:21: unknown dialect "klingon": use swarm, claude, gemini, kimi, kimi-code`},
		{"unknown guidance", head + "guidanceFor: {claude: fierce}\n", `:3:23: unknown guidance "fierce": use eager or restrained`},
		{"unknown role", mate + "    role: planer\n", `:6:11: unknown role "planer": use planner or explorer`},
		{"a budget of less than nothing", mate + "    budget: {turns: -1}\n", `:6:21: budget.turns cannot be -1: use 0 to 100000`},
		{"a plans folder elsewhere", head + "defaults: {planFolder: ../plans}\n", `:3:24: the plans folder cannot be "../plans": name a folder of the project`},
		{"a plans folder of the whole project", mate + "    planFolder: .\n", `the plans folder cannot be "."`},
		{"one plans folder for two", mate + "    planFolder: plans\n  web: {run: [x], planFolder: plans/}\n", `:7:31: "plans/" is the plans folder of api too: name another`},
		{"not YAML", "version: 1\n\t- x", `is not YAML`},
		{"a list", "- a\n", `the document must be a mapping, not a list`},
		{"two documents", head + "---\ncaps: {mode: plan}\n", `:3: there is a second document`},
		{"a second document that is none", head + "---\n\t- x", `is not YAML`},
		{"a line that ends where none seems to", head + "# nothing\u2028caps: {mode: bypassPermissions}\n", `:3: U+2028 stands in it, which shows people another text than is read: remove it`},
		{"a carriage return in a comment", head + "# nothing\rcaps: {mode: bypassPermissions}\n", `:3: U+000D stands in it`},
		{"UTF-16", "\xff\xfev\x00e\x00r\x00s\x00i\x00o\x00n\x00:\x00 \x001\x00", `is not UTF-8`},
		{"empty", "", `is empty: begin with "version: 1"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			doc, problems := config.Load(write(t, "policy.yaml", test.text))
			if doc != nil || len(problems) == 0 {
				t.Fatalf("Load = %+v, %v, want problems and no document", doc, problems)
			}
			all := make([]string, len(problems))
			for i, p := range problems {
				all[i] = p.String()
			}
			if !slices.ContainsFunc(all, func(p string) bool { return strings.Contains(p, test.want) }) {
				t.Errorf("problems:\n%s\nwant one with %q", strings.Join(all, "\n"), test.want)
			}
		})
	}
}

func TestAllProblemsAreSaidAtOnce(t *testing.T) {
	_, problems := config.Load(write(t, "s.yaml", head+"temmates: {}\ncaps: {mode: x}\n"))
	if len(problems) != 2 {
		t.Errorf("problems = %v, want both", problems)
	}
}

func TestBillionLaughsAreRefusedAtOnce(t *testing.T) {
	text := head + "a: &a [x]\n"
	for _, c := range "bcdefghij" {
		p := string(c - 1)
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+p+", ", 9) + "*" + p + "]\n"
	}
	if _, problems := config.Load(write(t, "s.yaml", text)); len(problems) == 0 {
		t.Error("a document of aliases was read")
	}
}

func TestAHugeFileIsNotRead(t *testing.T) {
	_, problems := config.Load(write(t, "s.yaml", head+strings.Repeat("#", 2<<20)))
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "at most") {
		t.Errorf("problems = %v", problems)
	}
}

func TestMissingFileSaysWhatToName(t *testing.T) {
	_, problems := config.Load(filepath.Join(t.TempDir(), "swarm.yaml"))
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "there is no such file") {
		t.Errorf("problems = %v", problems)
	}
}

// The path is said once, and what to look at.
func TestAFileThatCannotBeRead(t *testing.T) {
	path := filepath.Join(write(t, "s.yaml", head), "swarm.yaml")
	_, problems := config.Load(path)
	if len(problems) != 1 || problems[0].Message != "cannot be read (not a directory): check its folder and its rights" {
		t.Errorf("problems = %v", problems)
	}
}

func flags(args ...string) *pflag.FlagSet {
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f.String("team", "", "")
	f.String("color", "auto", "")
	f.String("timeout", "0s", "")
	f.String("state", "", "")
	if err := f.Parse(args); err != nil {
		panic(err)
	}
	return f
}

func TestLayersOfSettings(t *testing.T) {
	conf := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", conf)
	t.Setenv("XDG_STATE_HOME", "/state")
	user := filepath.Join(conf, "swarm", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(user), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "version: 1\nsettings: {team: user, color: never, timeout: 3s}\ncaps: {mode: bypassPermissions}\n" +
		"broker: {listen: \"0.0.0.0:4222\", tls: {cert: tls/cert.pem, key: /k.pem, names: [a.example]}}\n"
	if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	doc, problems := config.Load(write(t, "swarm.yaml", head+"settings: {team: project}\n"))
	if problems != nil {
		t.Fatal(problems)
	}
	read := func(doc *config.Document, args ...string) config.Settings {
		t.Helper()
		s, problems := config.Read(flags(args...), doc)
		if problems != nil {
			t.Fatal(problems)
		}
		return s
	}
	if s := read(nil); s.Team != "user" || s.Color != "never" || s.Timeout.Seconds() != 3 || s.State != "/state/swarm" || s.Caps.Mode != permissions.ModeBypass {
		t.Errorf("user layer = %+v", s)
	} else if b := s.Broker; b.Listen != "0.0.0.0:4222" || b.TLS.Cert != filepath.Join(conf, "swarm", "tls", "cert.pem") || b.TLS.Key != "/k.pem" || len(b.TLS.Names) != 1 {
		t.Errorf("broker = %+v", b)
	}
	if s := read(doc); s.Team != "project" || s.Color != "never" {
		t.Errorf("project over user = %+v", s)
	}
	t.Setenv("SWARM_TEAM", "env")
	t.Setenv("SWARM_POLICY", "ignored")
	if s := read(doc); s.Team != "env" {
		t.Errorf("environment over project = %+v", s)
	}
	if s := read(doc, "--team", "flag", "--color", "always"); s.Team != "flag" || s.Color != "always" {
		t.Errorf("flag over all = %+v", s)
	}
	if _, problems := config.Read(flags("--color", "blue"), nil); len(problems) != 1 {
		t.Errorf("problems = %v, want one about the colour", problems)
	}
}

func TestTheProjectsTeamIsTheLastResort(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	doc, _ := config.Load(write(t, "swarm.yaml", head))
	s, problems := config.Read(flags(), doc)
	if problems != nil || s.Team != "shop" {
		t.Errorf("team = %q, %v", s.Team, problems)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(head)
	f.Add(head + "teammates:\n  a: {run: [x], mode: yolo}\npolicy:\n  - {name: n, match: {intents: []}, then: approve}\n")
	f.Add("version: 1\nteam: &a [*a]\n")
	f.Add("? [a]\n: b")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if doc, problems := config.Load(path); (doc == nil) == (len(problems) == 0) {
			t.Fatalf("Load = %v, %v: want a document or problems", doc, problems)
		}
	})
}
