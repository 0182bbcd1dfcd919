package policyfile_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

const (
	yes   = permissions.Allow
	maybe = permissions.Ask
	never = permissions.Deny
)

var user, project = policyfile.Config{Scope: policyfile.ScopeUser}, policyfile.Config{Scope: policyfile.ScopeProject}

// decide judges a call in /project. A call without a tool is a command line.
func decide(call permissions.Call, mode permissions.Mode, rules []permissions.Rule, edit ...func(*permissions.State)) permissions.Decision {
	if call.Tool == "" {
		call.Tool = "Bash"
	}
	if call.Cwd == "" {
		call.Cwd = "/project"
	}
	s := permissions.State{Mode: mode, Tree: "/project", Home: "/home/user", Now: time.Unix(0, 0), Rules: rules, Forbidden: []string{"/home/user/.config/swarm"}}
	for _, e := range edit {
		e(&s)
	}
	return permissions.New(permissions.Config{Resolver: permissions.Lexical()}).Decide(call, s)
}

func command(line string) permissions.Call { return permissions.Call{Command: line} }

func settings(verdict permissions.Verdict, rule string) []byte {
	data, err := json.Marshal(map[string]any{"permissions": map[string]any{string(verdict): []string{rule}}})
	if err != nil {
		panic(err)
	}
	return data
}

func TestClaudeRules(t *testing.T) {
	for _, row := range []struct {
		verdict permissions.Verdict
		rule    string
		call    permissions.Call
		want    permissions.Verdict
	}{
		{yes, "Bash(make lint)", command("make lint"), yes},
		{yes, "Bash(make lint)", command("make lint x"), maybe},
		{yes, "Bash(make lint:*)", command("make lint x && ls"), yes},
		{yes, "Bash(make lint *)", command("make lint x"), yes},
		{yes, "Bash(make lint:*)", command("make linty"), maybe},
		{yes, "Bash(make 'a b':*)", command("make 'a b'"), yes},
		{yes, "Bash(make 'a b':*)", command("make a b"), maybe},
		{yes, "Bash", command("frobnicate"), maybe},
		{yes, "Bash(*)", command("frobnicate"), maybe},
		{never, "Bash(git push:*)", command("cd sub && git -C x push origin"), never},
		{never, "Bash(git push *)", command("git push"), never},
		{never, "Bash(git push)", command("git pull"), maybe},
		{never, "Bash(rm * /:*)", command("rm -rf / x"), never},
		{never, "Bash(npm run test*)", command("npm run tests"), never},
		{never, "Bash(npm run test*)", command("npm run build"), maybe},
		{never, "Bash(* --force)", command("git push --force"), never},
		{never, "Bash", command("ls"), never},
		{maybe, "Bash(git log:*)", command("git log"), maybe},
		{never, "Read(./.env)", permissions.Call{Tool: "Read", Path: "/project/.env"}, never},
		{never, "Read(secrets/**)", permissions.Call{Tool: "Read", Path: "secrets/a/b"}, never},
		{never, "Read(secrets/**)", permissions.Call{Tool: "read_file", Path: "./x/../secrets/a"}, never},
		{never, "Read(secrets/**)", permissions.Call{Tool: "Grep", Path: "secrets"}, never},
		{never, "Read(secrets/**)", command("cat secrets/a"), never},
		{never, "Read(secrets/**)", command("ls -l other"), yes},
		{never, "Read(*.pem)", permissions.Call{Tool: "Read", Path: "a/b/c.pem"}, never},
		{never, "Read(notes.txt)", permissions.Call{Tool: "Read", Path: "a/notes.txt"}, never},
		{never, "Read(src/*.go)", permissions.Call{Tool: "Read", Path: "src/a.go"}, never},
		{never, "Read(src/*.go)", permissions.Call{Tool: "Read", Path: "src/a/b.go"}, yes},
		{never, "Read(//etc/**)", permissions.Call{Tool: "Read", Path: "/etc/hosts"}, never},
		{never, "Read(~/x/**)", permissions.Call{Tool: "Read", Path: "/home/user/x/y"}, never},
		{never, "Read(**)", permissions.Call{Tool: "Read", Path: "a"}, never},
		{yes, "Edit(docs/**)", permissions.Call{Tool: "Write", Path: "docs/a.md"}, yes},
		{yes, "Edit(/docs/**)", permissions.Call{Tool: "Write", Path: "docs/a.md"}, yes},
		{yes, "Edit(docs/*.md)", permissions.Call{Tool: "Edit", Path: "docs/a.md"}, yes},
		{yes, "Edit(docs/*.md)", permissions.Call{Tool: "Edit", Path: "docs/a/b.md"}, maybe},
		{yes, "Edit(docs/*)", permissions.Call{Tool: "Edit", Path: "docs/a/b.md"}, maybe},
		{yes, "Edit(docs/*.md)", permissions.Call{Tool: "Edit", Path: "docs/../a.md"}, maybe},
		{yes, "Edit(*.md)", permissions.Call{Tool: "Edit", Path: "sub/a.md"}, maybe},
		{yes, "Edit(**/*.md)", permissions.Call{Tool: "Edit", Path: "sub/a.md"}, yes},
		{yes, "Edit(**)", permissions.Call{Tool: "Edit", Path: "CLAUDE.md"}, maybe},
		{yes, "WebFetch(domain:example.com)", permissions.Call{Tool: "WebFetch", Path: "https://example.com/a"}, yes},
		{yes, "WebFetch(domain:example.com)", permissions.Call{Tool: "web_fetch", Args: `{"url":"https://EXAMPLE.com:443/a"}`}, yes},
		{yes, "WebFetch(domain:example.com)", permissions.Call{Tool: "WebFetch", Path: "https://a.example.com"}, maybe},
		{yes, "WebFetch(domain:*.example.com)", permissions.Call{Tool: "WebFetch", Path: "https://a.example.com"}, yes},
		{yes, "WebFetch(domain:example.com)", permissions.Call{Tool: "WebFetch", Path: "https://example.com.evil.org"}, maybe},
		{yes, "WebFetch(domain:example.com)", permissions.Call{Tool: "WebFetch", Path: "https://example.com@evil.org"}, maybe},
		{yes, "WebFetch(domain:example.com)", permissions.Call{Tool: "WebFetch"}, maybe},
		{never, "WebFetch(domain:evil.org)", permissions.Call{Tool: "WebFetch", Path: "http://x.evil.org."}, never},
		{never, "WebFetch(domain:evil.org)", permissions.Call{Tool: "WebFetch", Path: "http://good.org"}, maybe},
		{never, "WebFetch(domain:evil.org)", permissions.Call{Tool: "WebFetch"}, never},
		{yes, "WebSearch", permissions.Call{Tool: "google_web_search"}, yes},
		{yes, "WebSearch", permissions.Call{Tool: "WebFetch", Path: "https://a"}, maybe},
		{yes, "mcp__db", permissions.Call{Tool: "mcp__db__query"}, yes},
		{yes, "mcp__db__*", permissions.Call{Tool: "mcp__db__query"}, yes},
		{yes, "mcp__db__query", permissions.Call{Tool: "mcp__db__query"}, yes},
		{yes, "mcp__db__query", permissions.Call{Tool: "mcp__db__drop"}, maybe},
		{yes, "mcp__db", permissions.Call{Tool: "mcp__db2__query"}, maybe},
		{yes, "mcp__db", permissions.Call{Tool: "mcp__db__x__query"}, maybe}, // a server db__x
		{yes, "mcp__db", permissions.Call{Tool: "mcp__db__query", Server: "db__query"}, maybe},
		{never, "mcp__db", permissions.Call{Tool: "mcp__db__x__query"}, never},
		{never, "mcp__db", permissions.Call{Tool: "mcp_db_query"}, never},
		{never, "mcp__db__drop", permissions.Call{Tool: "mcp_db_drop"}, never},
		{never, "mcp__db__drop", permissions.Call{Tool: "drop", Server: "db"}, never},
		{never, "mcp__db__drop", permissions.Call{Tool: "mcp__db__query"}, maybe},
		{never, "Task(Explore)", permissions.Call{Tool: "Task", Args: `{"subagent_type":"Explore"}`}, never},
		{never, "Task(Explore)", permissions.Call{Tool: "Task", Args: `{"subagent_type":"Plan"}`}, yes},
		{never, "Task(Explore)", permissions.Call{Tool: "Task"}, never},
	} {
		f := policyfile.Read("settings.json", settings(row.verdict, row.rule), user)
		if errs := f.Errors(); len(errs) > 0 {
			t.Errorf("%s %s: %v", row.verdict, row.rule, errs[0])
		}
		if d := decide(row.call, permissions.ModeDefault, f.Rules); d.Verdict != row.want {
			t.Errorf("%s %s: Decide(%+v) = %s (%s), want %s", row.verdict, row.rule, row.call, d.Verdict, d.Reason, row.want)
		}
		if p := policyfile.Read("settings.json", settings(row.verdict, row.rule), project); row.verdict == yes && (len(p.Rules) > 0 || len(p.Proposals) != 1) {
			t.Errorf("%s: a project's allow rule is in force: %+v", row.rule, p.Rules)
		} else if row.verdict != yes && len(p.Rules) == 0 {
			t.Errorf("%s %s: a project's rule is not in force", row.verdict, row.rule)
		}
	}
}

// A rule that cannot be read is an error with its line. It never widens, and what it could have denied stays denied.
func TestBadClaudeRules(t *testing.T) {
	for rule, row := range map[string]struct {
		denied permissions.Call
		want   string
	}{
		"":                      {command("ls"), "the rule is empty"},
		"Bash(":                 {command("rm x"), "has no )"},
		"Bash(rm":               {command("rm x"), "has no )"},
		"Bash()":                {command("rm x"), "nothing in the parentheses"},
		"Bsh(rm:*)":             {command("rm x"), `there is no tool "Bsh": did you mean "Bash"?`},
		"bash(rm:*)":            {command("rm x"), `did you mean "Bash"?`},
		"Bash(rm; ls)":          {command("rm x"), "is not one plain command"},
		"Bash(rm > x)":          {command("rm"), "is not one plain command"},
		"Bash(A=b rm)":          {command("rm"), "is not one plain command"},
		"Bash($x)":              {command("rm"), "not one plain command|can only be told by running it"},
		"Bash(rm 'x)":           {command("rm x"), "is not one plain command"},
		"Read({a,b})":           {permissions.Call{Tool: "Read", Path: "a"}, "braces"},
		"Read(../x)":            {permissions.Call{Tool: "Read", Path: "a"}, "leads upwards"},
		"WebFetch(example.com)": {permissions.Call{Tool: "WebFetch", Path: "https://example.com"}, "is no domain"},
		"mcp__db(x)":            {permissions.Call{Tool: "mcp__db__query"}, "names nothing in parentheses"},
		"mcp__*__x":             {permissions.Call{Tool: "mcp__db__x"}, "is no tool of a server"},
		"TodoWrite(x)":          {permissions.Call{Tool: "TodoWrite"}, "not known for TodoWrite"},
		"two words":             {command("ls"), "is not the name of a tool"},
		"Rëad":                  {permissions.Call{Tool: "Read", Path: "a"}, "is not the name of a tool"},
		"Bash(rm:*) Bash(ls:*)": {command("rm x"), "is not one command"},
		"Bash(" + strings.Repeat("x", 20_000) + ")": {command("ls"), "is not one plain command"},
	} {
		f := policyfile.Read("settings.json", []byte("{\"permissions\": {\n\n\"deny\": ["+quoted(rule)+"]}}"), project)
		errs := f.Errors()
		if len(errs) != 1 || errs[0].Line != 3 || !containsAny(errs[0].Error(), row.want) || errs[0].Next == "" {
			t.Errorf("deny %.60q: %v, want one error on line 3 with %q", rule, errs, row.want)
		}
		if d := decide(row.denied, permissions.ModeBypass, f.Rules); d.Verdict != never {
			t.Errorf("deny %.60q: Decide(%+v) = %s (%s), want deny", rule, row.denied, d.Verdict, d.Reason)
		}
		a := policyfile.Read("settings.json", settings(yes, rule), user)
		if len(a.Errors()) != 1 || len(a.Rules) != 0 {
			t.Errorf("allow %.60q: errors %v, rules %+v, want one error and no rule", rule, a.Errors(), a.Rules)
		}
	}
}

func quoted(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

func containsAny(s, alternatives string) bool {
	return slices.ContainsFunc(strings.Split(alternatives, "|"), func(a string) bool { return strings.Contains(s, a) })
}

// A file that cannot be read at all denies what it could have denied: everything.
func TestBadFiles(t *testing.T) {
	for name, row := range map[string]struct {
		file, data, want string
		line             int
	}{
		"no JSON":          {"settings.json", "{\n\n\"permissions\": {]}", "no JSON object", 3},
		"a list":           {"settings.json", "[]", "no JSON object", 1},
		"binary":           {"settings.json", "{\"a\": \"\xff\"}", "not UTF-8", 0},
		"no object":        {"settings.json", "{\n\"permissions\": []}", "permissions is no object", 2},
		"no list":          {"settings.json", "{\"permissions\":\n{\"deny\": \"Bash\"}}", "it is no list", 2},
		"no text":          {"settings.json", "{\"permissions\": {\"deny\":\n[7]}}", "it is no text", 2},
		"nested":           {"settings.json", "{\"permissions\": {\"deny\":\n[[\"Bash\"]]}}", "it is no text", 2},
		"another kind":     {"settings.ini", "", "does not say how it is written", 0},
		"too large":        {"a.yaml", strings.Repeat("#", policyfile.MaxFile+1), "larger than 1 MiB", 0},
		"no YAML":          {"a.yaml", "version: 1\nrules: [", "cannot be read", 2},
		"empty YAML":       {"a.yaml", "", "empty", 0},
		"no version":       {"a.yaml", "rules: []", "the version is missing", 1},
		"newer version":    {"a.yaml", "version: 2\n", "the version is missing or not 1", 1},
		"unknown key":      {"a.yaml", "version: 1\nruls: []", `did you mean "rules"?`, 1},
		"twice":            {"a.yaml", "version: 1\nrules: []\nrules: []", "twice", 1},
		"rules no list":    {"a.yaml", "version: 1\nrules:\n  deny: Bash", "rules is no list", 3},
		"alias":            {"a.yaml", "version: 1\nrules: &x [{deny: Bash}]", "anchors", 1},
		"second document":  {"a.yaml", "version: 1\nrules: []\n---\nversion: 1\nrules:\n  - deny: Bash(rm:*)", "second document", 3},
		"second, broken":   {"a.yaml", "version: 1\nrules: []\n---\nrules: [", "cannot be read", 0},
		"TOML, another":    {"a.toml", "[[RULE]]\ntoolName = \"frob\"\ndecision = \"deny\"", "the key is not known", 0},
		"TOML, one table":  {"a.toml", "[rules]\ntoolName = \"frob\"\ndecision = \"deny\"", "the table is not known", 0},
		"TOML, no header":  {"a.toml", "toolName = \"frob\"\ndecision = \"deny\"", "the key is not known", 0},
		"TOML, deep":       {"a.toml", "[policy.rule.x]\ndecision = \"deny\"", "the key is not known", 0},
		"binary TOML":      {"a.toml", "\xff\xfe", "not UTF-8", 0},
		"TOML, no list":    {"a.toml", "rule = 3", "rule is no list", 0},
		"TOML, broken top": {"a.toml", "x = [\n", "the TOML cannot be read", 0},
	} {
		f := policyfile.Read(row.file, []byte(row.data), user)
		errs := f.Errors()
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), row.want) || row.line > 0 && errs[0].Line != row.line {
			t.Errorf("%s: %v, want %q on line %d", name, errs, row.want, row.line)
			continue
		}
		for _, call := range []permissions.Call{command("ls"), {Tool: "Read", Path: "a"}, {Tool: "mcp__a__b"}, {Tool: "frob"}} {
			if d := decide(call, permissions.ModeBypass, f.Rules); d.Verdict != never {
				t.Errorf("%s: Decide(%+v) = %s (%s), want deny", name, call, d.Verdict, d.Reason)
			}
		}
	}
}

// Keys of settings that are nearly what they should be keep what they deny, and never allow.
func TestMistypedKeysOfSettings(t *testing.T) {
	for data, want := range map[string]string{
		`{"permissions": {"denny": ["Bash(rm:*)"], "alow": ["Bash(make x)"]}}`:              `did you mean "deny"?`,
		`{"permisions": {"deny": ["Bash(rm:*)"], "allow": ["Bash(make x)"]}}`:               `did you mean "permissions"?`,
		`{"permissions": {"DENY": ["Bash(rm:*)"], "ALLOW": ["Bash(make x)"]}}`:              `did you mean "deny"?`,
		`{"permissions": {"denyRules": ["Bash(rm:*)"], "allowList": ["Bash(make x)"]}}`:     `did you mean "deny"?`,
		`{"PERMISSIONS": {"deny": ["Bash(rm:*)"], "allow": ["Bash(make x)"]}}`:              `did you mean "permissions"?`,
		`{"permissions": {"deny": ["Bash(rm:*)"]}, "permissions": {"deny": []}, "x": [{}]}`: "",
	} {
		f := policyfile.Read("settings.json", []byte(data), user)
		if want != "" && (len(f.Errors()) == 0 || !strings.Contains(f.Errors()[0].Error(), want)) {
			t.Errorf("%s: %v, want %q", data, f.Problems, want)
		}
		if d := decide(command("rm x"), permissions.ModeBypass, f.Rules); d.Verdict != never {
			t.Errorf("%s: rm x = %s, want deny", data, d.Verdict)
		}
		if d := decide(command("make x"), permissions.ModeDefault, f.Rules); d.Verdict != maybe {
			t.Errorf("%s: make x = %s, want ask", data, d.Verdict)
		}
	}
}

// No file takes long: each of these is as large as a file may be.
func TestLargeFiles(t *testing.T) {
	fill := func(begin, part, end string) []byte {
		return []byte(begin + strings.Repeat(part, (policyfile.MaxFile-len(begin)-len(end))/len(part)) + end)
	}
	for name, data := range map[string][]byte{
		"a.json": fill(`{"permissions": {"deny": [`, "\"Bash(x)\",\n", `"x"]}}`), "b.json": fill(`{"permissions": {"deny": `, "[", ""), "c.json": fill(`{"x": [`, "1,\n", "1]}"),
		"a.toml": fill("", "# x\n", ""), "b.toml": fill("", "[[rule]]\n", ""), "c.toml": fill("x = ", "[", ""), "d.toml": fill("", "[[rule]]\na = [\n", ""),
		"a.yaml": fill("version: 1\nrules:\n", "- deny: Bash(x)\n", ""), "b.yaml": fill("version: 1\nrules: ", "[", ""), "c.yaml": fill("version: 1\nrules: [", "{a: b},\n", "]"),
	} {
		begin := time.Now()
		if f := policyfile.Read(name, data, user); strings.HasPrefix(name, "a.j") || strings.HasPrefix(name, "a.y") {
			if d := decide(permissions.Call{Tool: "Read", Path: "a"}, permissions.ModeBypass, f.Rules); len(f.Errors()) != 1 || !strings.Contains(f.Errors()[0].Reason, "10000 rules") || d.Verdict != never {
				t.Errorf("%s: %d problems, and reading = %s, want one and deny", name, len(f.Problems), d.Verdict)
			}
		}
		if d := time.Since(begin); d > time.Minute {
			t.Errorf("%s took %v", name, d)
		}
	}
}

// A character that nobody sees, and a comment of the shell, would have a rule name something else than it seems to.
func TestUnseenCharactersAreErrors(t *testing.T) {
	for name, form := range map[string]string{
		"s.json": `{"permissions": {"deny": ["Bash(git push%s:*)"]}}`,
		"t.json": `{"permissions": {"deny": ["Bash(git push:%s*)"]}}`,
		"u.json": `{"permissions": {"deny": ["Read(secret%s/**)"]}}`,
		"p.toml": "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"git push%s\"\ndecision = \"deny\"\npriority = 5\n",
		"r.toml": "[[rule]]\ntoolName = \"run_shell_command\"\ncommandRegex = \"git push%s\"\ndecision = \"deny\"\npriority = 5\n",
		"y.yaml": "version: 1\nrules:\n  - deny: {tool: Bash, prefix: \"git push%s\"}\n",
		"z.yaml": "version: 1\nrules:\n  - deny: Bash(git push%s:*)\n",
	} {
		for _, c := range []string{`\u0000`, `\u200b`, `\ufeff`, `\u00a0`, `\u202e`, `\r`, "\u200b", "\ufeff", "\u2028"} {
			f := policyfile.Read(name, []byte(fmt.Sprintf(form, c)), policyfile.Config{Scope: policyfile.ScopeUser})
			if strings.HasPrefix(c, `\`) && name == "z.yaml" {
				continue // as it is written
			}
			if len(f.Errors()) == 0 {
				t.Errorf("%s with %q is read: %+v", name, c, f.Rules)
			}
		}
	}
	for name, text := range map[string]string{
		"s.json": `{"permissions": {"allow": ["Bash(make #lint:*)"]}}`,
		"p.toml": "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"make #lint\"\ndecision = \"allow\"\npriority = 5\n",
		"y.yaml": "version: 1\nrules:\n  - allow: \"Bash(make # make)\"\n",
	} {
		f := policyfile.Read(name, []byte(text), policyfile.Config{Scope: policyfile.ScopeUser})
		if len(f.Errors()) == 0 || len(f.Rules) > 0 {
			t.Errorf("%s with a comment allows %+v, want an error", name, f.Rules)
		}
	}
}

// What hides from people who read a file, and files of which nothing is left, are mistakes: a deny rule would be gone, or an
// allow rule stand in what looks like a comment.
func TestFilesThatAreNotWhatTheySeem(t *testing.T) {
	for _, c := range []string{"\u2028", "\u2029", "\u0085", "\r", "\u202e", "\u2066"} {
		for name, text := range map[string]string{
			"p.yaml": "version: 1\nrules:\n  - deny: Bash(rm:*) # keep" + c + "  - allow: Bash(curl:*)\n",
			"p.toml": "# keep" + c + " all\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"curl\"\ndecision = \"allow\"\npriority = 5\n",
		} {
			f := policyfile.Read(name, []byte(text), user)
			if len(f.Errors()) == 0 || slices.ContainsFunc(f.Rules, func(r permissions.Rule) bool { return r.Verdict == yes }) {
				t.Errorf("%s with %q allows %+v, with problems %v", name, c, f.Rules, f.Problems)
			}
			if said := fmt.Sprint(f.Errors()); !strings.Contains(said, fmt.Sprintf("%U", []rune(c)[0])) {
				t.Errorf("%s with %q: %s, want the character's name", name, c, said)
			}
		}
	}
	for _, name := range []string{"p.yaml", "p.toml", "p.json"} {
		for _, text := range []string{"", " \n\n", "\ufeff"} {
			f := policyfile.Read(name, []byte(text), user)
			if len(f.Errors()) != 1 || !strings.Contains(f.Errors()[0].Error(), "it is empty") || decide(command("ls"), permissions.ModeBypass, f.Rules).Verdict != never {
				t.Errorf("an empty %s (%q): %v, want that it is empty, and that all is denied", name, text, f.Problems)
			}
		}
	}
	utf16 := []byte("\xff\xfev\x00e\x00r\x00s\x00i\x00o\x00n\x00:\x00 \x001\x00")
	if f := policyfile.Read("p.yaml", utf16, user); len(f.Errors()) == 0 {
		t.Error("UTF-16 is read, in which the characters above are others")
	}
	if f := policyfile.Read("s.json", []byte(`{"permissions": {"deny": ["Read(secret\ud800)"]}}`), user); len(f.Errors()) == 0 {
		t.Errorf("half a character is read: %+v", f.Rules)
	}
}

// Editors of Windows begin a file with a byte order mark, and end lines in their own way.
func TestFilesOfWindows(t *testing.T) {
	for name, text := range map[string]string{
		"p.yaml": "version: 1\nrules:\n  - deny: Bash(rm:*) # keep\n",
		"p.toml": "# keep\n[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = \"rm\"\ndecision = \"deny\"\npriority = 5\n",
		"p.json": "{\"permissions\":\n{\"deny\": [\"Bash(rm:*)\"]}}\n",
	} {
		f := policyfile.Read(name, []byte("\ufeff"+strings.ReplaceAll(text, "\n", "\r\n")), user)
		if len(f.Problems) > 0 || len(f.Rules) != 1 || !slices.Equal(f.Rules[0].Argv, []string{"rm"}) {
			t.Errorf("%s: %+v, %v", name, f.Rules, f.Problems)
		}
	}
}
