package permissions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

func patchOf(lines ...string) string {
	return "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch\n"
}

func argsJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Each file that a patch names is judged as an edit, and the worst decides.
func TestPatchesAreJudgedFileByFile(t *testing.T) {
	for name, row := range map[string]struct {
		patch string
		want  permissions.Verdict
	}{
		"add":                      {patchOf("*** Add File: a/b.go", "+package b"), yes},
		"update":                   {patchOf("*** Update File: a.go", "@@ func x", " x", "-y", "+z", "*** End of File"), yes},
		"delete":                   {patchOf("*** Delete File: a.go"), yes},
		"several":                  {patchOf("*** Add File: a.go", "+x", "*** Delete File: b.go", "*** Update File: c.go", "@@", "-x"), yes},
		"absolute, in the tree":    {patchOf("*** Delete File: /project/a.go"), yes},
		"the second is protected":  {patchOf("*** Add File: a.go", "+x", "*** Update File: .git/hooks/pre-commit", "@@", "+x"), maybe},
		"moved to protected":       {patchOf("*** Update File: a.md", "*** Move to: CLAUDE.md", "@@", "-x", "+y"), maybe},
		"credentials":              {patchOf("*** Delete File: server.pem"), maybe},
		"outside":                  {patchOf("*** Add File: ../x", "+y"), maybe},
		"outside, absolute":        {patchOf("*** Add File: /etc/hosts", "+y"), maybe},
		"swarm's state":            {patchOf("*** Add File: a.go", "+y", "*** Add File: /home/user/.config/swarm/x", "+y"), never},
		"a home":                   {patchOf("*** Add File: ~/x", "+y"), maybe},
		"the tree itself":          {patchOf("*** Delete File: ."), maybe},
		"a head after a blank":     {patchOf("*** Add File: a.go", "+x", " *** Delete File: CLAUDE.md"), maybe},
		"a head below its content": {patchOf("*** Update File: a.go", "@@", " *** Update File: /home/user/.config/swarm/x"), never},
		"a head of two readings":   {patchOf("*** Update File: a.go", "@@", " *** Delete File: b.go"), maybe},
		"text about heads":         {patchOf("*** Add File: a.md", "+*** Delete File: CLAUDE.md"), yes},
		"no begin":                 {"*** Add File: a.go\n+x\n*** End Patch", maybe},
		"no end":                   {"*** Begin Patch\n*** Add File: a.go\n+x", maybe},
		"more after the end":       {patchOf("*** Add File: a.go", "+x") + "*** Add File: b.go\n+x", maybe},
		"another directive":        {patchOf("*** Add File: a.go", "+x", "*** Run Command: rm"), maybe},
		"lines of no file":         {patchOf("+x", "*** Add File: a.go", "+x"), maybe},
		"a deletion with lines":    {patchOf("*** Delete File: a.go", "+x"), maybe},
		"a move of an added file":  {patchOf("*** Add File: a.go", "*** Move to: b.go", "+x"), maybe},
		"no file":                  {patchOf(), maybe},
		"no name":                  {patchOf("*** Add File: ", "+x"), maybe},
		"a control character":      {patchOf("*** Add File: a\x1b.go", "+x"), maybe},
		"a blank behind the name":  {patchOf("*** Add File:  a.go", "+x"), maybe},
		"line ends of Windows":     {strings.ReplaceAll(patchOf("*** Add File: a.go", "+x"), "\n", "\r\n"), yes},
	} {
		s := state(permissions.ModeAcceptEdits)
		script := argsJSON(t, map[string]any{"command": []string{"apply_patch", row.patch}})
		for form, call := range map[string]permissions.Call{
			"by argument": {Tool: "apply_patch", Args: argsJSON(t, map[string]string{"input": row.patch})},
			"by change":   {Tool: "apply_patch", Change: row.patch},
			"by shell":    {Tool: "shell", Args: script},
		} {
			call.Cwd = "/project"
			if row.patch == "" || form != "by argument" && !strings.Contains(row.patch, "*** Begin Patch") || form == "by shell" && strings.ContainsAny(row.patch, "\x1b\r") {
				continue
			}
			if d := permissions.New(lexical).Decide(call, s); d.Verdict != row.want {
				t.Errorf("%s, %s: %s (%s), want %s", name, form, d.Verdict, d.Reason, row.want)
			}
		}
	}
}

func TestPatchesObeyModesAndRules(t *testing.T) {
	patch := patchOf("*** Add File: docs/a.md", "+x", "*** Update File: src/a.go", "@@", "+x")
	call := permissions.Call{Tool: "apply_patch", Change: patch, Cwd: "/project"}
	for mode, want := range map[permissions.Mode]permissions.Verdict{
		permissions.ModePlan: never, permissions.ModeDontAsk: never, permissions.ModeDefault: maybe, permissions.ModeAcceptEdits: yes, permissions.ModeBypass: yes,
	} {
		if d := permissions.New(lexical).Decide(call, state(mode)); d.Verdict != want {
			t.Errorf("in %s: %s (%s), want %s", mode, d.Verdict, d.Reason, want)
		}
	}
	for text, want := range map[string]permissions.Verdict{
		"deny:Edit(src/**)": never, "deny:apply_patch": never, "deny:Write(docs/**)": never, "ask:Edit(docs/**)": maybe, "deny:Edit(other/**)": yes, "deny:Bash(apply_patch:*)": yes,
	} {
		s := state(permissions.ModeAcceptEdits)
		s.Rules = []permissions.Rule{mustRule(t, text)}
		if d := permissions.New(lexical).Decide(call, s); d.Verdict != want {
			t.Errorf("with %s: %s (%s), want %s", text, d.Verdict, d.Reason, want)
		}
	}
	s := state(permissions.ModeAcceptEdits)
	s.Rules = []permissions.Rule{mustRule(t, "deny:Bash(apply_patch:*)")}
	shell := permissions.Call{Tool: "shell", Args: argsJSON(t, map[string]any{"command": []string{"apply_patch", patch}}), Cwd: "/project"}
	if d := permissions.New(lexical).Decide(shell, s); d.Verdict != never {
		t.Errorf("a shell's patch with a deny rule about apply_patch: %s (%s), want deny", d.Verdict, d.Reason)
	}
	s.Rules = nil
	shell.Args = argsJSON(t, map[string]any{"command": []string{"bash", "-lc", "apply_patch <<'EOF'\n" + patch + "EOF\n"}})
	if d := permissions.New(lexical).Decide(shell, s); d.Verdict != yes || d.Contract != nil {
		t.Errorf("a patch in a here-document: %s (%s), want allow, and no contract", d.Verdict, d.Reason)
	}
	shell.Args = argsJSON(t, map[string]any{"command": []string{"bash", "-lc", "apply_patch <<EOF\n" + patch + "EOF\n"}})
	if d := permissions.New(lexical).Decide(shell, s); d.Verdict != maybe {
		t.Errorf("a patch in a here-document that is expanded: %s (%s), want ask", d.Verdict, d.Reason)
	}
}

func mustRule(t testing.TB, text string) permissions.Rule {
	t.Helper()
	r, err := policyfile.ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What a shell is given as a list of words is the line that it runs.
func TestListsOfWords(t *testing.T) {
	for name, row := range map[string]struct {
		args string
		want permissions.Verdict
		line string // of the contract
	}{
		"words":                     {`{"command":["ls","-la"]}`, yes, "ls -la"},
		"quoted":                    {`{"command":["grep","-n","a b;c","x.go"]}`, yes, "grep -n 'a b;c' x.go"},
		"nothing expands":           {`{"command":["echo","$(rm -rf /)"]}`, yes, "echo '$(rm -rf /)'"},
		"a script":                  {`{"command":["bash","-lc","ls | head -3"]}`, yes, "ls | head -3"},
		"granted":                   {`{"command":["bash","-lc","cd sub && go test ./..."],"timeout_ms":1000}`, yes, "cd sub && go test ./..."},
		"by its path":               {`{"command":["/bin/sh","-c","ls"]}`, yes, "ls"},
		"a directory":               {`{"command":["ls"],"workdir":"sub"}`, yes, "ls"},
		"another directory":         {`{"command":["ls"],"workdir":"/etc"}`, maybe, ""},
		"a directory above":         {`{"command":["ls"],"workdir":".."}`, maybe, ""},
		"as text":                   {`{"cmd":"ls"}`, yes, "ls"},
		"a script that writes":      {`{"command":["bash","-lc","ls; rm -rf x"]}`, maybe, ""},
		"a leader's verb":           {`{"command":["bash","-lc","swarm approve x"]}`, never, ""},
		"a leader's verb, in words": {`{"command":["swarm","approve","x"]}`, never, ""},
		"bash with another flag":    {`{"command":["bash","-x","ls"]}`, maybe, ""},
		"bash with more":            {`{"command":["bash","-c","ls","x"]}`, maybe, ""},
		"somebody's bash":           {`{"command":["./bash","-c","ls"]}`, maybe, ""},
		"a variable's name":         {`{"command":["FOO=bar","ls"]}`, maybe, ""},
		"a keyword":                 {`{"command":["time","ls"]}`, maybe, ""},
		"another shell's program":   {`{"cmd":"ls","shell":"/tmp/sh"}`, maybe, ""},
		"outside the sandbox":       {`{"command":["ls"],"with_escalated_permissions":true}`, maybe, ""},
		"two commands":              {`{"command":["ls"],"cmd":"rm x"}`, maybe, ""},
		"twice":                     {`{"command":["rm"],"command":["ls"]}`, maybe, ""},
		"in capitals":               {`{"Command":["ls"]}`, maybe, ""},
		"numbers":                   {`{"command":[1]}`, maybe, ""},
		"no word":                   {`{"command":[]}`, maybe, ""},
		"null":                      {`{"command":null}`, maybe, ""},
		"nothing":                   {`{}`, maybe, ""},
		"no object":                 {`["ls"]`, maybe, ""},
		"no JSON":                   {`{"command":["ls"]`, maybe, ""},
		"swarm's state, unreadable": {`{"command":{"x":"/home/user/.config/swarm/x"}}`, never, ""},
	} {
		s := state(permissions.ModeDefault)
		s.Grants = []permissions.Grant{grant("run tests")}
		d := permissions.New(lexical).Decide(permissions.Call{Tool: "shell", Args: row.args, Cwd: "/project"}, s)
		if d.Verdict != row.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, row.want)
		}
		if d.Contract != nil && d.Contract.Command != row.line {
			t.Errorf("%s: the contract runs %q, want %q", name, d.Contract.Command, row.line)
		}
		if name == "a directory" && (d.Contract == nil || d.Contract.Dir != "/project/sub") {
			t.Errorf("%s: contract %+v, want one in /project/sub", name, d.Contract)
		}
	}
	// the list alone, as some clients hand it on; Bash itself is given lines
	for tool, want := range map[string]permissions.Verdict{"shell": yes, "local_shell": yes, "Bash": maybe} {
		if d := permissions.New(lexical).Decide(permissions.Call{Tool: tool, Command: `["bash","-lc","ls"]`, Cwd: "/project"}, state(permissions.ModeDefault)); d.Verdict != want {
			t.Errorf("a list for %s: %s (%s), want %s", tool, d.Verdict, d.Reason, want)
		}
	}
	// another shell reads a line in its own way, and counts only where it is not the one that runs it
	for foreign, want := range map[bool]permissions.Verdict{false: yes, true: maybe} {
		c := permissions.Call{Tool: "shell", Args: `{"command":["zsh","-lc","ls"]}`, Cwd: "/project", Foreign: foreign}
		if d := permissions.New(lexical).Decide(c, state(permissions.ModeDefault)); d.Verdict != want {
			t.Errorf("zsh, foreign %t: %s (%s), want %s", foreign, d.Verdict, d.Reason, want)
		}
	}
}

// Two lists are two calls, however alike their lines.
func TestTheHashCoversWhatWasGiven(t *testing.T) {
	hash := func(args string) string {
		return permissions.New(lexical).Decide(permissions.Call{Tool: "shell", Args: args, Cwd: "/project"}, state(permissions.ModeDefault)).Hash
	}
	if hash(`{"command":["ls"]}`) == hash(`{"command":["bash","-lc","ls"]}`) {
		t.Error("two calls have one hash")
	}
}

// File tools whose client hands on their arguments alone are about the file that these name.
func TestFilesByArguments(t *testing.T) {
	for name, row := range map[string]struct {
		tool, args string
		want       permissions.Verdict
	}{
		"read":            {"Read", `{"file_path":"a.go"}`, yes},
		"gemini":          {"read_file", `{"absolute_path":"/project/a.go"}`, yes},
		"credentials":     {"Read", `{"file_path":"/home/user/.ssh/id_rsa"}`, maybe},
		"swarm's state":   {"ReadFile", `{"path":"/home/user/.config/swarm/x"}`, never},
		"edit":            {"Edit", `{"file_path":"a.go","old_string":"x"}`, yes},
		"protected":       {"replace", `{"file_path":".git/config"}`, maybe},
		"two files":       {"Edit", `{"file_path":"a.go","path":"b.go"}`, maybe},
		"a list":          {"read_many_files", `{"include":["**/*.go"]}`, maybe},
		"nothing":         {"Read", `{"limit":5}`, maybe},
		"search here":     {"Grep", `{"pattern":"x"}`, yes},
		"glob":            {"Glob", `{"pattern":"**/*.go"}`, yes},
		"glob elsewhere":  {"Glob", `{"pattern":"/etc/*"}`, maybe},
		"glob upwards":    {"glob", `{"pattern":"../*","path":"."}`, maybe},
		"glob for a key":  {"Glob", `{"pattern":"**/id_rsa"}`, maybe},
		"unreadable":      {"Read", `{"file_path":["a"]}`, maybe},
		"state in a list": {"Read", `{"file_path":["/home/user/.config/swarm/x"]}`, never},
		"memory":          {"save_memory", `{"fact":"x"}`, maybe},
	} {
		for _, mode := range []permissions.Mode{permissions.ModeAcceptEdits, permissions.ModeBypass} {
			d := permissions.New(lexical).Decide(permissions.Call{Tool: row.tool, Args: row.args, Cwd: "/project"}, state(mode))
			if d.Verdict != row.want && (mode != permissions.ModeBypass || row.want != maybe || strings.Contains("memory credentials protected", name)) {
				t.Errorf("%s in %s: %s (%s), want %s", name, mode, d.Verdict, d.Reason, row.want)
			}
		}
	}
	d := permissions.New(lexical).Decide(permissions.Call{Tool: "mcp__fs__read", Args: `{"p":"/home/user/.config/swarm/x"}`, Cwd: "/project"}, state(permissions.ModeBypass))
	if d.Verdict != never {
		t.Errorf("swarm's state in a server's arguments: %s (%s), want deny", d.Verdict, d.Reason)
	}
}

// A search over a folder that holds what a deny rule about reading names is never allowed by itself.
func TestSearchesAboveWhatMayNotBeRead(t *testing.T) {
	for name, row := range map[string]struct {
		rule string
		call permissions.Call
		want permissions.Verdict
	}{
		"the tree":                 {"deny:Read(secrets/**)", permissions.Call{Tool: "Grep"}, maybe},
		"the tree, by its path":    {"deny:Read(secrets/**)", permissions.Call{Tool: "search_file_content", Path: "/project"}, maybe},
		"a file of it":             {"deny:Read(secrets/a.txt)", permissions.Call{Tool: "Grep", Path: "secrets"}, maybe},
		"elsewhere":                {"deny:Read(secrets/**)", permissions.Call{Tool: "Grep", Path: "src"}, yes},
		"a name alike":             {"deny:Read(secrets/**)", permissions.Call{Tool: "Grep", Path: "secret"}, yes},
		"inside":                   {"deny:Read(secrets/**)", permissions.Call{Tool: "Grep", Path: "secrets/deep"}, never},
		"any depth":                {"deny:Read(.netrc)", permissions.Call{Tool: "Grep", Path: "src"}, maybe},
		"a pattern":                {"deny:Read(src/*/keys/**)", permissions.Call{Tool: "Grep", Path: "src/a"}, maybe},
		"a pattern for others":     {"deny:Read(src/*/keys/**)", permissions.Call{Tool: "Grep", Path: "docs"}, yes},
		"a pattern, too deep":      {"deny:Read(src/*.key)", permissions.Call{Tool: "Grep", Path: "src/a/b"}, yes},
		"globs":                    {"deny:Read(secrets/**)", permissions.Call{Tool: "Glob", Path: "**/*.go"}, maybe},
		"globs elsewhere":          {"deny:Read(secrets/**)", permissions.Call{Tool: "glob", Path: "src/**/*.go"}, yes},
		"a rule about searching":   {"deny:Grep(secrets/**)", permissions.Call{Tool: "Grep"}, maybe},
		"an ask rule":              {"ask:Read(secrets/**)", permissions.Call{Tool: "Grep"}, maybe},
		"a rule about edits":       {"deny:Edit(secrets/**)", permissions.Call{Tool: "Grep"}, yes},
		"outside, by its own path": {"deny:Read(//etc/x/**)", permissions.Call{Tool: "Grep"}, yes},
		"one file is read":         {"deny:Read(secrets/**)", permissions.Call{Tool: "Read", Path: "a.go"}, yes},
	} {
		for _, mode := range []permissions.Mode{permissions.ModeDefault, permissions.ModePlan, permissions.ModeBypass} {
			s := state(mode)
			s.Rules = []permissions.Rule{mustRule(t, row.rule)}
			row.call.Cwd = "/project"
			if d := permissions.New(lexical).Decide(row.call, s); d.Verdict != row.want {
				t.Errorf("%s in %s: %s (%s), want %s", name, mode, d.Verdict, d.Reason, row.want)
			}
			s.Answered = true
			if d := permissions.New(lexical).Decide(row.call, s); row.want == maybe && d.Verdict != yes {
				t.Errorf("%s in %s, answered: %s (%s), want allow", name, mode, d.Verdict, d.Reason)
			}
		}
	}
}

// So is a command that searches the content of folders.
func TestCommandsThatSearchAboveWhatMayNotBeRead(t *testing.T) {
	for command, want := range map[string]permissions.Verdict{
		"grep -r x .": maybe, "grep -rn x": maybe, "grep --recursive x src secrets": never, "grep -R x": maybe, "rg x": maybe, "rg x .": maybe, "git grep x": maybe, "cd src && grep -r x ..": maybe, "timeout 5 grep -r x .": maybe,
		"grep -r x src": yes, "rg x src": yes, "cd src && rg x": yes, "grep x a.go": yes, "ls -R": yes, "cat secrets/a": never, "rg x secrets/deep": never, "grep -n x src/r.go": yes,
	} {
		s := state(permissions.ModeDefault)
		s.Rules = []permissions.Rule{mustRule(t, "deny:Read(secrets/**)")}
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%s) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// A search that shows content asks where credentials lie in the folder; one that lists names does not.
func TestSearchesBesideCredentials(t *testing.T) {
	tree := t.TempDir()
	for name := range map[string]bool{".env": true, "src/a.go": true} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := state(permissions.ModeDefault)
	s.Tree = tree
	for call, want := range map[[2]string]permissions.Verdict{{"Grep", ""}: maybe, {"Grep", "src"}: yes, {"Glob", "src/*"}: yes, {"Glob", ""}: yes, {"grep_files", tree}: maybe} {
		c := permissions.Call{Tool: call[0], Path: call[1], Cwd: tree}
		if d := permissions.New(permissions.Config{Resolver: folders{}}).Decide(c, s); d.Verdict != want {
			t.Errorf("%v: %s (%s), want %s", call, d.Verdict, d.Reason, want)
		}
	}
}

// folders is a Resolver of names that looks for files.
type folders struct{ permissions.Resolver }

func (folders) EvalSymlinks(p string) (string, error)           { return filepath.Clean(p), nil }
func (folders) GitConfig(string) (permissions.GitInfo, error)   { return permissions.GitInfo{}, nil }
func (folders) Digest(string) (string, error)                   { return "", nil }
func (folders) Glob(pattern string) (found []string, err error) { return filepath.Glob(pattern) }

// FuzzPatch: whatever Codex would change is judged. Its own reading is written down here once more, as it is there: line
// by line, leniently.
func FuzzPatch(f *testing.F) {
	f.Add(patchOf("*** Add File: a.go", "+x", "*** Update File: b.go", "*** Move to: CLAUDE.md", "@@", "-x"))
	f.Add(patchOf("*** Update File: a.go", "@@", " x", "", " *** Delete File: .git/config"))
	f.Add("\n *** Begin Patch\n*** Delete File: ../x\n*** End Patch ")
	f.Fuzz(func(t *testing.T, patch string) {
		files, ok := codexReads(patch)
		for _, mode := range []permissions.Mode{permissions.ModeAcceptEdits, permissions.ModePlan} {
			s := state(mode)
			d := permissions.New(lexical).Decide(permissions.Call{Tool: "apply_patch", Args: argsJSON(t, map[string]string{"input": patch}), Cwd: "/project"}, s)
			if d.Verdict != yes {
				continue
			}
			if !ok || len(files) == 0 {
				t.Fatalf("%q is allowed in %s, and Codex could not read it", patch, mode)
			}
			for _, file := range files {
				if one := permissions.New(lexical).Decide(permissions.Call{Tool: "Write", Path: file, Cwd: "/project"}, s); one.Verdict != yes {
					t.Fatalf("%q is allowed in %s, but %q is %s (%s)", patch, mode, file, one.Verdict, one.Reason)
				}
			}
		}
	})
}

// codexReads is what Codex makes of a patch: the files that it changes, and whether it takes it.
func codexReads(patch string) (files []string, ok bool) {
	lines := strings.Split(strings.TrimSpace(patch), "\n")
	if len(lines) < 2 || strings.TrimSpace(lines[0]) != "*** Begin Patch" || strings.TrimSpace(lines[len(lines)-1]) != "*** End Patch" {
		return nil, false
	}
	lines = lines[1 : len(lines)-1]
	for len(lines) > 0 {
		first := strings.TrimSpace(lines[0])
		lines = lines[1:]
		switch {
		case strings.HasPrefix(first, "*** Add File: "):
			files = append(files, strings.TrimPrefix(first, "*** Add File: "))
			for len(lines) > 0 && strings.HasPrefix(lines[0], "+") {
				lines = lines[1:]
			}
		case strings.HasPrefix(first, "*** Delete File: "):
			files = append(files, strings.TrimPrefix(first, "*** Delete File: "))
		case strings.HasPrefix(first, "*** Update File: "):
			files = append(files, strings.TrimPrefix(first, "*** Update File: "))
			if len(lines) > 0 && strings.HasPrefix(lines[0], "*** Move to: ") {
				files, lines = append(files, strings.TrimSuffix(strings.TrimPrefix(lines[0], "*** Move to: "), "\r")), lines[1:]
			}
			for len(lines) > 0 && (!strings.HasPrefix(lines[0], "***") || lines[0] == "*** End of File") {
				lines = lines[1:]
			}
		default:
			return files, false
		}
	}
	return slices.Compact(files), true
}
