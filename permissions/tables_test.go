package permissions_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
)

const ownTables = `{
  "version": 1,
  "readonly": [
    {"name": "acmelint", "also": "al", "operands": "path*", "flags": {"-color -verbose": "", "-format": "text"}, "single": true},
    {"name": "acmecount", "operands": "path*", "flags": {"-f --files": "", "-t --type": "word"}}
  ],
  "intents": [
    {"name": "run contract tests", "classes": ["runs project code", "network"],
     "phrases": [{"verbs": ["run", "execute"], "objects": ["contract tests", "consumer-driven tests"]}, {"verbs": ["运行"], "objects": ["契约测试"]}],
     "examples": ["make pact", "npm run pact", "npx acmepact test", "k6run smoke"],
     "scripts": "pact test:pact", "targets": "pact", "env": ["*"],
     "programs": [
       {"name": "acmepact", "via": "node", "commands": [{"name": "test", "operands": "path*", "flags": {"--headed": ""}}]},
       {"name": "k6run", "operands": "smoke|load"}]}
  ]
}
`

func readTables(t testing.TB, text string) *permissions.Tables {
	t.Helper()
	tables, problems := permissions.ReadTables(permissions.TableFile{Name: "mine.json", Data: []byte(text)})
	for _, p := range problems {
		t.Error(p)
	}
	return tables
}

func TestOwnPrograms(t *testing.T) {
	config := permissions.Config{Resolver: permissions.Lexical(), Tables: readTables(t, ownTables)}
	for command, want := range map[string]permissions.Verdict{
		"acmelint":                              yes,
		"al -color":                             yes,
		"acmelint .github/workflows/ci.yml":     yes, // declared as read
		"cd sub && acmelint x.yml | head -3":    yes,
		"timeout 5 acmecount -t Go src":         yes,
		"acmecount --files src 2>/dev/null":     yes,
		"acmecount --config x":                  maybe,
		"acmecount /etc":                        maybe,
		"acmecount ..":                          maybe,
		"acmecount .env":                        maybe,
		"acmelint -format .env":                 maybe, // not declared, and looked at all the same
		"acmelint -format ~/.ssh/id_rsa":        maybe,
		"acmelint -format .git/config":          maybe,
		"acmecount $X":                          maybe,
		"acmecount > x":                         maybe,
		"FOO=1 acmecount":                       maybe,
		"./acmecount":                           maybe,
		"ACMECOUNT":                             maybe,
		"find . -name '*.go' | xargs acmecount": maybe,
		"sudo acmecount":                        maybe,
		"bash -c acmecount":                     maybe,
		"acmecount; rm x":                       maybe,
		"acmelint -format ~/.config/swarm/x":    never,
		"acmecount ~/.config/swarm":             never,
		"acmecount && swarm approve x":          never,
		"acmelint -format 'swarm approve db-1'": never,
	} {
		s := state(permissions.ModeDefault)
		d := permissions.New(config).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s)
		if d.Verdict != want {
			t.Errorf("Decide(%s) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
		if want == yes && !strings.Contains(d.Commands[len(d.Commands)-1].Reason+d.Reason, "mine.json:") {
			t.Errorf("Decide(%s) says %q, want that it names the table", command, d.Reason)
		}
		if d := permissions.New(lexical).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s); d.Verdict == yes {
			t.Errorf("without tables, Decide(%s) = allow (%s)", command, d.Reason)
		}
		s.Mode = permissions.ModePlan
		if d := permissions.New(config).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s); (d.Verdict == yes) != (want == yes) {
			t.Errorf("while planning, Decide(%s) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
		if d := permissions.New(config).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project", Foreign: true}, s); d.Verdict == yes {
			t.Errorf("in somebody else's shell, Decide(%s) = allow (%s)", command, d.Reason)
		}
		s.Mode, s.Rules = permissions.ModeDefault, []permissions.Rule{{Verdict: never, Tool: "Bash", Argv: []string{"acmecount"}, Prefix: true}, {Verdict: never, Tool: "Bash", Argv: []string{"acmelint"}, Prefix: true}}
		if d := permissions.New(config).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s); d.Verdict == yes && !strings.HasPrefix(command, "al") {
			t.Errorf("with a deny rule, Decide(%s) = allow (%s)", command, d.Reason)
		}
	}
}

func TestOwnIntents(t *testing.T) {
	tables := readTables(t, ownTables)
	config := permissions.Config{Resolver: permissions.Lexical(), Tables: tables}
	for _, text := range []string{"run contract tests", "Run the consumer-driven tests", "execute contract tests", "运行契约测试"} {
		if p := tables.ResolvePrompt("Bash", text); p.Intent != "run contract tests" || len(p.Classes) != 2 || len(p.Examples) == 0 {
			t.Errorf("ResolvePrompt(%q) = %+v", text, p)
		}
	}
	for _, text := range []string{"run contract tests and push", "do not run contract tests", "run contract", "run contract tests; ls", "contract tests", "运行 contract tests"} {
		if p := tables.ResolvePrompt("Bash", text); p.Intent != "" {
			t.Errorf("ResolvePrompt(%q) = %+v, want unknown", text, p)
		}
	}
	if p := tables.ResolvePrompt("Bash", "run tests"); p.Intent != "run tests" {
		t.Errorf("what is built in means %q", p.Intent)
	}
	if p := permissions.ResolvePrompt("Bash", "run consumer-driven tests"); p.Intent != "" {
		t.Errorf("without tables it means %q", p.Intent)
	}
	if names := tables.RunnerNames("run contract tests"); !strings.Contains(fmt.Sprint(names), "Makefile") {
		t.Errorf("RunnerNames = %v, want the Makefile among them", names)
	}
	for command, want := range map[string]permissions.Verdict{
		"make pact": yes, "npm run pact": yes, "npm run test:pact": yes, "npx acmepact test pact/a.spec.ts": yes, "k6run smoke": yes, "cd web && npx acmepact test --headed": yes,
		"make deploy": maybe, "npm run deploy": maybe, "npx acmepact install": maybe, "npx acmepact test --config x": maybe, "k6run /etc/passwd": maybe, "make pact > Makefile": maybe,
		"make pact; swarm approve x": never, "k6run ~/.config/swarm/x": never,
	} {
		s := state(permissions.ModeDefault)
		p := tables.ResolvePrompt("Bash", "run consumer-driven tests")
		s.Grants = []permissions.Grant{{GrantTerms: permissions.GrantTerms{Prompt: p.Prompt, Intent: p.Intent, Tree: ".", ExpiresAt: now.Add(time.Hour)}, ID: "r/1", Root: "/project"}}
		d := permissions.New(config).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s)
		if d.Verdict != want {
			t.Errorf("Decide(%s) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
		if want == yes && !strings.Contains(d.Reason, "(your table mine.json:") {
			t.Errorf("Decide(%s) says %q, want that it names the table", command, d.Reason)
		}
		if d := permissions.New(lexical).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s); d.Verdict == yes {
			t.Errorf("without tables, Decide(%s) = allow (%s)", command, d.Reason)
		}
		s.Mode = permissions.ModePlan
		if d := permissions.New(config).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s); d.Verdict == yes {
			t.Errorf("while planning, Decide(%s) = allow (%s)", command, d.Reason)
		}
		s.Mode, s.Grants[0].Prompt = permissions.ModeDefault, "run tests" // other words than the intent's
		if d := permissions.New(config).Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s); d.Verdict == yes {
			t.Errorf("under another prompt, Decide(%s) = allow (%s)", command, d.Reason)
		}
	}
}

// Tables of a person's own change no verdict about anything else.
func TestOwnTablesOnlyAdd(t *testing.T) {
	with := permissions.New(permissions.Config{Resolver: permissions.Lexical(), Tables: readTables(t, ownTables)})
	without := permissions.New(lexical)
	for _, r := range corpus(t) {
		c := permissions.Call{Tool: "Bash", Command: r.Command, Cwd: "/project"}
		if a, b := with.Decide(c, r.state(t)), without.Decide(c, r.state(t)); a.Verdict != b.Verdict {
			t.Errorf("%s: %s with tables (%s), %s without (%s)", r.Command, a.Verdict, a.Reason, b.Verdict, b.Reason)
		}
	}
}

func TestOwnTablesCannotWeaken(t *testing.T) {
	program := func(name, more string) string {
		return `{"version": 1, "readonly": [` + "\n" + `{"name": "` + name + `", "operands": "text*"` + more + `}]}`
	}
	intent := func(head, more string) string {
		return `{"version": 1, "intents": [` + "\n" + `{"name": "do it well", "phrases": [{"verbs": ["do"], "objects": ["it well"]}], "classes": ["runs project code"], "examples": ["frob"], "programs": [{"name": "frob"}]` + more + head + `}]}`
	}
	replace := func(old, now string) string { return strings.Replace(intent("", ""), old, now, 1) }
	for text, want := range map[string]string{
		program("bash", ""): "bash starts other programs, and no table of yours replaces that", program("BASH", ""): "BASH starts other programs", program("python3.12", ""): "interpreter", program("awk", ""): "interpreter",
		program("sudo", ""): "starts other programs", program("env", ""): "starts other programs", program("xargs", ""): "starts other programs", program("timeout", ""): "starts other programs",
		program("swarm", ""): "swarm's own", program("nats", ""): "swarm's own", program("git", ""): "table", program("git-lfs", ""): "can start", program("cd", ""): "word of the shell", program("if", ""): "word of the shell",
		program("ls", ""): "built in", program("grep", ""): "built in", program("go", ""): "runs a program|built in|subcommands|table", program("npx", ""): "runs a program", program("make", ""): "built in",
		program("rm", ""): "changes something", program("curl", ""): "uses the network", program("kubectl", ""): "", program("aws", ""): "harm", program("vim", ""): "changes something", program("less", ""): "", program("pytest", ""): "runs a program",
		program("./x", ""): "cannot be a program's name", program("/bin/x", ""): "cannot be a program's name", program("", ""): "cannot be a program's name", program("x y", ""): "cannot be a program's name",
		program("x", `, "also": "y sh"`):                                "sh starts other programs",
		program("x", `, "wraps": true`):                                 "starts no other program",
		program("x", `, "fed": true`):                                   "starts no other program",
		program("x", `, "assigns": true`):                               "starts no other program",
		program("x", `, "foreign": true`):                               "somebody else's shell",
		program("x", `, "via": "node"`):                                 "started by its own name",
		program("x", `, "commands": [{"name": "y", "wraps": true}]`):    "starts no other program",
		program("x", `, "rest": {"name": "y", "foreign": true}`):        "somebody else's shell",
		program("x", `, "flags": {"-o": "out"}`):                        "writes a file",
		program("x", `, "flags": {"-o": "?report"}`):                    "writes a file",
		program("x", `, "flags": {"out": "text"}`):                      "is no flag",
		program("x", `, "flags": {"-o": "frob"}`):                       "unknown kind",
		program("x", `, "frob": 1`):                                     `mine.json:2: x: the key "frob" is not known`,
		program("x", `, "bare": 1`):                                     "bare must be true or false",
		program("x", `, "name": "ls"`):                                  `the key "name" stands twice`,
		program("x", `, "flags": {"--arg": "&out"}`):                    "writes a file",
		program("x", `, "commands": [{"name": "y", "Guard": "files"}]`): `the key "Guard" is only for what is built in`,
		program("x", `, "flags": {"-n": "int"}, "greedy": "-n"`):        `the key "greedy" is only for what is built in`,
		program("bash-5.2", ""):                                         "bash-5.2 starts other programs", program("perl5.36", ""): "interpreter", program("env.exe", ""): "starts other programs", program("gxargs", ""): "starts other programs", program("go1.22", ""): "go1.22 ",
		program("tcsh", ""): "start other programs", program("setpriv", ""): "start other programs", program("nodejs", ""): "start other programs",
		`{"version": 1, "readonly": [{"name": "x", "operands": "out"}]}`: "is written",
		`{"version": 1, "readonly": [{"name": "x"}, {"name": "x"}]}`:     "listed twice",
		`{"version": 2, "readonly": []}`:                                 "version",
		`{"readonly": []}`:                                               "version",
		`{"version": 1, "programs": []}`:                                 "the key is not known",
		`{"version": 1, "readonly": {}}`:                                 "it is no list",
		`[]`:                                                             "no JSON object",
		`null`:                                                           "no JSON object",
		`{"version": 1, "readonly": [null]}`:                             "null in a list",
		program("x", `, "commands": [null]`):                             "null in a list",
		replace(`{"name": "frob"}`, `{"name": "frob"}, null`):            "null in a list",
		"{\n\"version\": 1,\n\"readonly\": [}":                           "mine.json:3: it is no JSON object",

		replace("do it well", "run tests"): "built in",
		replace("do it well", "x"):         "two to six",
		replace(`"verbs": ["do"], "objects": ["it well"]`, `"verbs": ["run"], "objects": ["unit tests"]`): `means "run tests" already`,
		replace(`"it well"`, `"everything"`):             "makes every prompt unknown",
		replace(`"it well"`, `"it with sudo"`):           "makes every prompt unknown",
		replace(`"it well"`, `"IT"`):                     "cannot be read",
		replace(`["runs project code"]`, `[]`):           "kinds of harm",
		replace(`["runs project code"]`, `["harmless"]`): "not known",
		replace(`["frob"]`, `[]`):                        "no examples",
		replace(`["frob"]`, `["frob x"]`):                "not covered by it",
		replace(`["frob"]`, `["frob; frob"]`):            "is not one",

		replace(`{"name": "frob"}`, `{"name": "frob"}, {"name": "bash", "operands": "text*"}`):                                      "bash starts other programs",
		replace(`{"name": "frob"}`, `{"name": "frob"}, {"name": "go", "commands": [{"name": "test", "flags": {"-exec": "text"}}]}`): "go ",
		replace(`{"name": "frob"}`, `{"name": "frob"}, {"name": "y", "wraps": true}`):                                               "starts no other program",

		replace(`{"name": "frob"}`, `{"name": "frob"}, {"name": "dlx", "via": "node", "operands": "text*"}`):          "package manager takes",
		replace(`{"name": "frob"}`, `{"name": "frob"}, {"name": "publish", "via": "node", "only": true}`):             "package manager takes",
		replace(`{"name": "frob"}`, `{"name": "frob"}, {"name": "http.server", "via": "pymod", "operands": "text*"}`): "module of Python",
		replace(`{"name": "frob"}`, `{"name": "frob"}, {"name": "pdb", "via": "pymod", "operands": "text*"}`):         "module of Python",
		intent(`, "guard": "files"`, ""):                  `the key "guard" is only for what is built in`,
		intent(`, "production": true`, ""):                `the key "production" is only for what is built in`,
		intent(`, "tame": true`, ""):                      `the key "tame" is only for what is built in`,
		intent(`, "set": {"NODE_ENV": "production"}`, ""): "aims at what is in use",

		intent(`, "scripts": "dlx"`, ""):           "package manager takes",
		intent(`, "scripts": "exec"`, ""):          "package manager takes",
		intent(`, "targets": "-f"`, ""):            "cannot be the name",
		intent(`, "targets": "X=1"`, ""):           "cannot be the name",
		intent(`, "targets": "deploy-all"`, ""):    `add "publishes"`,
		intent(`, "env": ["LD_PRELOAD"]`, ""):      "LD_PRELOAD is not passed on",
		intent(`, "env": ["GIT_SSH_COMMAND"]`, ""): "is not passed on",
		intent(`, "set": {"LD_PRELOAD": "x"}`, ""): "not known to be harmless",
		intent(`, "set": {"CI": "$(x)"}`, ""):      "not known to be harmless",
	} {
		tables, problems := permissions.ReadTables(permissions.TableFile{Name: "mine.json", Data: []byte(text)})
		if len(problems) == 0 || tables != nil {
			t.Errorf("%s: no problem, want %q", text, want)
			continue
		}
		said := problems[0].Error()
		ok := want == ""
		for part := range strings.SplitSeq(want, "|") {
			ok = ok || strings.Contains(said, part)
		}
		if !ok || !strings.HasPrefix(said, "mine.json") || problems[0].Next == "" || strings.Contains(said, "\n") {
			t.Errorf("%s:\n%q, want %q in one line with the file, and what to do", text, said, want)
		}
	}
	if tables, problems := permissions.ReadTables(permissions.TableFile{Name: "a", Data: []byte(ownTables)}, permissions.TableFile{Name: "b", Data: []byte(ownTables)}); tables != nil || len(problems) == 0 {
		t.Error("two files of the same are read, want a problem")
	}
	if tables, problems := permissions.ReadTables(); len(tables.Programs()) > 0 || len(problems) > 0 {
		t.Errorf("no file: %v", problems)
	}
}

// FuzzTables: whatever a file holds, it panics nobody, and it makes nothing pass that is built in to ask.
func FuzzTables(f *testing.F) {
	f.Add(ownTables)
	f.Add(`{"version": 1, "readonly": [{"name": "x", "commands": [{"name": "y", "rest": {}}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		tables, problems := permissions.ReadTables(permissions.TableFile{Name: "mine.json", Data: []byte(text)})
		if (tables == nil) != (len(problems) > 0) {
			t.Fatalf("tables %v with problems %v", tables, problems)
		}
		if tables == nil {
			return
		}
		e := permissions.New(permissions.Config{Resolver: permissions.Lexical(), Tables: tables})
		for _, command := range []string{"bash -c x", "sudo x", "git push", "rm x", "swarm approve x", "curl x", "env x", "xargs x", "go test -exec x", "cat .env", "./x"} {
			if d := e.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, state(permissions.ModeDefault)); d.Verdict == yes {
				t.Fatalf("Decide(%s) = allow (%s) with %s", command, d.Reason, text)
			}
		}
	})
}
