package permissions_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
)

// wide is a state in which nearly everything that can be read is allowed.
func wide(mode permissions.Mode) permissions.State {
	s := state(mode)
	s.Grants = []permissions.Grant{grant("run tests"), grant("build"), grant("commit")}
	s.Rules = []permissions.Rule{
		{Verdict: yes, Tool: "Bash", Pattern: regexp.MustCompile(`^(?s:.*)$`)},
		{Verdict: yes, Tool: "Bash", Argv: []string{"ls"}, Prefix: true},
		{Verdict: yes, Tool: "*", Args: regexp.MustCompile(`^(?s:.*)$`)},
	}
	return s
}

// refuse wants a call that no state allows: with a reason that people can read, in time.
func refuse(t *testing.T, what string, c permissions.Call, s permissions.State) {
	t.Helper()
	from := time.Now()
	d := permissions.New(lexical).Decide(c, s)
	if d.Verdict != maybe && d.Verdict != never {
		t.Errorf("%s in %q: %s (%s), want ask or deny", what, s.Mode, d.Verdict, d.Reason)
	}
	if d.Reason == "" || len(d.Reason) > 500 || !utf8.ValidString(d.Reason) || d.Contract != nil {
		t.Errorf("%s in %q: reason %.600q, contract %v", what, s.Mode, d.Reason, d.Contract)
	}
	if took := time.Since(from); took > slow*time.Second {
		t.Errorf("%s in %q took %v", what, s.Mode, took)
	}
}

const slow = 60 // seconds: for a line of a mebibyte, under the race detector on a busy machine

func TestUnreadableLinesAreNeverAllowed(t *testing.T) {
	mib := func(s string) string { return strings.Repeat(s, 1<<20/len(s)) }
	lines := map[string]string{
		"nothing": "", "blanks": " \t\n ", "a comment alone": "# ls", "a NUL": "ls\x00", "a NUL before": "\x00ls", "not UTF-8": "ls \xff\xfe", "half a character": "ls \xe4\xb8", "a lone surrogate": "ls \xed\xa0\x80",
		"an overlong slash": "ls \xc0\xaf", "UTF-16": "l\x00s\x00", "a program file": "\x7fELF\x02\x01\x01\x00", "carriage return": "ls\r\nrm x", "escape": "ls \x1b]0;x\x07", "byte order mark": "\ufeffls", "backspace": "ls\b\brm",
		"one quote": "ls 'x", "one double quote": `ls "x`, "a quote in a quote": `ls "x'`, "one backquote": "ls `x", "one bracket": "ls $(x", "one brace": "ls ${x", "arithmetic": "ls $((1", "a bracket too many": "ls )", "a brace too many": "ls }; }",
		"an if": "if ls", "a for": "for x in a; do ls", "a case": "case x in", "a pipe without an end": "ls |", "two operators": "ls && || ls", "an operator first": "&& ls", "two semicolons": "ls;; ls", "a backslash": `ls \`,
		"a here-document without an end": "cat <<E\nx", "a redirection to nothing": "ls >", "an option": "-c ls", "65 commands": strings.Repeat("ls;", 65),
		"a mebibyte": "ls " + mib("a"), "of words": "ls " + mib("a "), "of commands": mib("ls;"), "of pipes": mib("ls|") + "ls", "of brackets": mib("("), "of quotes": mib("'"), "of substitutions": mib("$("), "of lines": mib("\n"),
		"of comments": "ls #" + mib("#"), "of backslashes": mib(`\`), "of here-documents": mib("cat <<E\n"), "of blanks": mib(" ") + "ls", "of stars": "ls " + mib("*/"), "of braces": "ls " + mib("{a,"), "of zeros": mib("\x00"), "of high bytes": mib("\xff"),
	}
	for what, line := range lines {
		modes := append(permissions.Modes(), "", "sometimes")
		if len(line) > 1<<19 {
			modes = []permissions.Mode{permissions.ModeBypass}
		}
		for _, mode := range modes {
			refuse(t, what, permissions.Call{Tool: "Bash", Command: line, Cwd: "/project"}, wide(mode))
		}
	}
	for b := range 256 { // every byte but the printable ones, LF and TAB
		if b == '\n' || b == '\t' || b >= ' ' && b < 0x7f {
			continue
		}
		refuse(t, fmt.Sprintf("byte %#x", b), permissions.Call{Tool: "Bash", Command: "ls x" + string([]byte{byte(b)}) + "y", Cwd: "/project"}, wide(permissions.ModeBypass))
	}
}

func TestUnknownModesAndToolsAreNeverAllowed(t *testing.T) {
	bash := func(line string) permissions.Call {
		return permissions.Call{Tool: "Bash", Command: line, Cwd: "/project"}
	}
	for _, mode := range []permissions.Mode{"", "sometimes", "PLAN", "bypass", "bypassPermissions ", "yolo", "default\x00", "计划"} {
		for _, line := range []string{"rm x", "go test ./...", "frobnicate", "git commit -m x"} {
			refuse(t, line, bash(line), wide(mode))
		}
		refuse(t, "an edit", permissions.Call{Tool: "Edit", Path: "a", Cwd: "/project"}, state(mode))
		refuse(t, "a network tool", permissions.Call{Tool: "WebFetch", Path: "http://example.com", Cwd: "/project"}, state(mode))
	}
	for _, tool := range []string{"", " ", "Frobnicate", "bash\x00", "Bash ", "Edit\n", "\xff", strings.Repeat("T", 1<<20), "mcp__", "mcp__x", "mcp__x__y", "../Read", "Read()", "*", "Вash"} {
		for _, mode := range []permissions.Mode{permissions.ModePlan, permissions.ModeDontAsk, permissions.ModeDefault, permissions.ModeAcceptEdits, permissions.ModeAuto, "sometimes"} {
			refuse(t, fmt.Sprintf("tool %.40q", tool), permissions.Call{Tool: tool, Command: "ls", Path: "a", Cwd: "/project"}, state(mode))
		}
	}
	for what, c := range map[string]permissions.Call{
		"no call":                 {},
		"no command":              {Tool: "Bash", Cwd: "/project"},
		"no directory":            bash("go test ./..."),
		"a relative directory":    {Tool: "Bash", Command: "go test ./...", Cwd: "project"},
		"a directory of bytes":    {Tool: "Bash", Command: "go test ./...", Cwd: "/project/\xff/../.."},
		"a directory with a NUL":  {Tool: "Bash", Command: "go test ./...", Cwd: "/project\x00"},
		"a directory elsewhere":   {Tool: "Bash", Command: "go test ./...", Cwd: "/"},
		"a directory of dots":     {Tool: "Bash", Command: "go test ./...", Cwd: "/project/../project/.."},
		"a path with a NUL":       {Tool: "Edit", Path: "a\x00b", Cwd: "/project"},
		"a path of nothing":       {Tool: "Edit", Path: "", Cwd: "/project"},
		"a path of a mebibyte":    {Tool: "Edit", Path: strings.Repeat("../", 1<<20/3), Cwd: "/project"},
		"arguments that are none": {Tool: "Bash", Command: "go test ./...", Args: "{", Cwd: "/project"},
	} {
		if what == "no directory" {
			c.Cwd = ""
		}
		s := state(permissions.ModeAcceptEdits)
		s.Grants = []permissions.Grant{grant("run tests")}
		refuse(t, what, c, s)
	}
	refuse(t, "no state", bash("ls"), permissions.State{})
	refuse(t, "no tree", bash("ls"), permissions.State{Mode: permissions.ModeBypass})
	if d := permissions.New(permissions.Config{}).Decide(bash("ls"), wide(permissions.ModeDefault)); d.Verdict == yes {
		t.Errorf("without a resolver ls is allowed: %s", d.Reason)
	}
}

// Of two that contradict each other the stricter one holds, in whatever order they stand.
func TestOfContradictoryRulesTheStricterHolds(t *testing.T) {
	r := func(v permissions.Verdict, argv string) permissions.Rule {
		return permissions.Rule{Verdict: v, Tool: "Bash", Argv: strings.Fields(argv), Source: "x"}
	}
	tests := grant("run tests")
	exact := permissions.Grant{GrantTerms: permissions.GrantTerms{Tree: ".", ExpiresAt: now.Add(time.Hour)}, ID: "e", Root: "/project", Argv: []string{"frobnicate", "x"}}
	for _, row := range []struct {
		command string
		grants  []permissions.Grant
		rules   []permissions.Rule
		want    permissions.Verdict
	}{
		{"make x", nil, []permissions.Rule{r(yes, "make x")}, yes},
		{"make x", nil, []permissions.Rule{r(yes, "make x"), r(never, "make x")}, never},
		{"make x", nil, []permissions.Rule{r(yes, "make x"), r(maybe, "make x")}, maybe},
		{"make x", nil, []permissions.Rule{r(maybe, "make x"), r(never, "make x")}, never},
		{"make x", nil, []permissions.Rule{r(yes, "make x"), r(maybe, "make x"), r(never, "make x")}, never},
		{"make x", nil, []permissions.Rule{r(yes, "make x"), r(yes, "make x")}, yes},
		{"make x", nil, []permissions.Rule{r(yes, "make x"), r("", "make x"), r("perhaps", "make x")}, yes},
		{"make x", nil, []permissions.Rule{r("", "make x"), r("perhaps", "make x")}, maybe},
		{"make x", nil, []permissions.Rule{{Verdict: yes}, {Verdict: yes, Tool: "Bash"}, {Verdict: yes, Tool: "*"}, {Verdict: yes, Tool: "Bash", Prefix: true}}, maybe},
		{"go test ./...", []permissions.Grant{tests}, nil, yes},
		{"go test ./...", []permissions.Grant{tests}, []permissions.Rule{r(never, "go test ./...")}, never},
		{"go test ./...", []permissions.Grant{tests}, []permissions.Rule{r(maybe, "go test ./...")}, maybe},
		{"go test ./...", []permissions.Grant{tests, tests}, []permissions.Rule{r(yes, "go test ./..."), r(never, "go test ./...")}, never},
		{"frobnicate x", []permissions.Grant{exact}, nil, yes},
		{"frobnicate x", []permissions.Grant{exact}, []permissions.Rule{r(never, "frobnicate x")}, never},
		{"ls", nil, []permissions.Rule{r(never, "ls"), r(yes, "ls")}, never},
	} {
		for range 2 {
			s := state(permissions.ModeDefault)
			s.Grants, s.Rules = row.grants, row.rules
			if d := decide(row.command, s); d.Verdict != row.want || d.Reason == "" {
				t.Errorf("Decide(%s) with %v = %s (%s), want %s", row.command, row.rules, d.Verdict, d.Reason, row.want)
			}
			slices.Reverse(row.rules)
		}
	}
	for what, g := range map[string]permissions.Grant{ // grants that are none
		"the zero grant": {}, "no intent": {GrantTerms: permissions.GrantTerms{Tree: ".", ExpiresAt: now.Add(time.Hour)}, Root: "/project"},
		"no end": func() permissions.Grant { g := tests; g.ExpiresAt = time.Time{}; return g }(), "used up": func() permissions.Grant { g := tests; g.MaxUses, g.Uses = 1, 1; return g }(),
		"another root": func() permissions.Grant { g := tests; g.Root = "/other"; return g }(), "an empty root": func() permissions.Grant { g := tests; g.Root = ""; return g }(),
		"a tree above": func() permissions.Grant { g := tests; g.Tree = "../../project/x"; return g }(), "an absolute tree": func() permissions.Grant { g := tests; g.Tree = "/"; return g }(),
		"an unknown intent": func() permissions.Grant { g := tests; g.Intent = "run anything"; return g }(), "an empty word": func() permissions.Grant { g := exact; g.Argv = []string{""}; return g }(),
	} {
		s := state(permissions.ModeDefault)
		s.Grants = []permissions.Grant{g}
		if d := decide("go test ./...", s); d.Verdict != maybe {
			t.Errorf("%s: %s (%s), want ask", what, d.Verdict, d.Reason)
		}
	}
}

func TestTenThousandRules(t *testing.T) {
	s := state(permissions.ModeDefault)
	for i := range 10_000 {
		s.Rules = append(s.Rules,
			permissions.Rule{Verdict: []permissions.Verdict{yes, maybe, never}[i%3], Tool: "Bash", Argv: []string{"prog" + fmt.Sprint(i), "x"}, Prefix: i%2 == 0, List: "l", Rank: float64(i % 7)})
	}
	s.Rules = append(s.Rules, permissions.Rule{Verdict: never, Tool: "Bash", Argv: []string{"rm"}, Prefix: true})
	for command, want := range map[string]permissions.Verdict{"ls": yes, "prog0 x": yes, "prog1 x": maybe, "prog2 x": never, "prog9999 x y": maybe, "ls; rm x": never, "ls && ls | ls; ls": yes, "frobnicate": maybe} {
		from := time.Now()
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%s) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
		if took := time.Since(from); took > slow*time.Second {
			t.Errorf("Decide(%s) with 10,000 rules took %v", command, took)
		}
	}
}
