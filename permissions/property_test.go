package permissions_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// simple draws one simple command: read-only, granted, ruled, writing, unknown, or with something odd in it.
func simple(t *rapid.T, label string) string {
	if rapid.Bool().Draw(t, "known") {
		return rapid.SampledFrom(vocabulary()).Draw(t, label)
	}
	return rapid.SampledFrom([]string{
		"ls", "ls -la src", "cat a.go", "cat a b c", "head -5 a", "tail -n +3 a", "wc -l a", "grep -rn x src", "grep -e x a", "pwd -P", "sort -u a", "git status -s", "git diff HEAD", "git log -3",
		"go test ./...", "go test -run X ./a", "go test -race -count=1 .", "go list ./...", "go version", "make lint", "make lint a", "timeout 5 ls", "timeout 5 go test ./...", "CI=1 ls",
		"cat ../x", "cat /etc/passwd", "cat .env", "rm x", "npm install", "frobnicate", "ls > x", "ls 2>/dev/null", "ls >/dev/null 2>&1", "cat < a", "ls $x", "ls $(ls)", "cat *.go", "ls {a,b}",
		"./ls", "sort -o a b", "git push", "git -c a=b log", "LD_PRELOAD=x ls", "env A=b ls", "env CI=1 ls", "swarm approve r", "cat ~/.config/swarm/x", "sh -c ls", "echo hi", "echo $?",
		"make test", "npm test", "make test x", "go build ./...", "gofmt -w .", "find . -name x", "find . -delete", "diff a b", "jq . a", "sed -n 1p a", "sed -i 1p a", "sha256sum .env", "test -f a", "command -v ls", "command ls",
		`for f in a b; do cat $f; done`, `for f in a; do rm $f; done`, `for f in a ../x; do cat "$f"; done`, `if ls; then cat a; fi`, `if cd ..; then ls; fi`, `echo "$(ls)"`, `echo "$(rm x)"`, "git branch x", "git show HEAD", "printf '%s' a", "uniq a b",
	}).Draw(t, label)
}

// composed draws a line.
func composed(t *rapid.T) string {
	line := simple(t, "first")
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		line += rapid.SampledFrom([]string{" && ", " || ", "; ", " | ", "\n", " & "}).Draw(t, "op") + simple(t, "next")
	}
	switch rapid.IntRange(0, 5).Draw(t, "around") {
	case 0:
		line = "(" + line + ")"
	case 1:
		line = "cd " + rapid.SampledFrom([]string{"src", "..", "src/..", "/project/a", "$x", "-"}).Draw(t, "dir") + rapid.SampledFrom([]string{" && ", "; ", " || "}).Draw(t, "then") + line
	case 2:
		line = "! " + line
	}
	return line
}

func anyRule(t *rapid.T, verdict permissions.Verdict) permissions.Rule {
	return permissions.Rule{
		Verdict: verdict, Tool: rapid.SampledFrom([]string{"Bash", "Shell", "Read"}).Draw(t, "tool"), Prefix: rapid.Bool().Draw(t, "prefix"),
		Argv: strings.Fields(rapid.SampledFrom([]string{"ls", "make lint", "go test", "git", "git push", "cat", "rm x", "npm", "frobnicate", ""}).Draw(t, "argv")),
	}
}

func anyState(t *rapid.T) permissions.State {
	s := state(rapid.SampledFrom(permissions.Modes()).Draw(t, "mode"))
	s.Unattended = rapid.Bool().Draw(t, "unattended")
	for range rapid.IntRange(0, 2).Draw(t, "grants") {
		prompts := []string{"run tests", "运行测试", "do anything", "build", "format code", "run the linter"}
		for _, in := range intent.All() {
			prompts = append(prompts, in.Name)
		}
		g := grant(rapid.SampledFrom(prompts).Draw(t, "prompt"))
		g.Tree = rapid.SampledFrom([]string{".", "src", "a"}).Draw(t, "tree")
		if rapid.Bool().Draw(t, "exact") {
			g.Intent, g.Prompt, g.Argv = "", "", strings.Fields(simple(t, "argv"))
		}
		s.Grants = append(s.Grants, g)
	}
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		s.Rules = append(s.Rules, anyRule(t, rapid.SampledFrom([]permissions.Verdict{yes, yes, maybe, never}).Draw(t, "verdict")))
	}
	return s
}

var rank = map[permissions.Verdict]int{never: 0, maybe: 1, yes: 2}

func TestTakingAwayNeverRaises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, line := anyState(t), composed(t)
		before := decide(line, s)
		check := func(what string, less permissions.State) {
			if after := decide(line, less); rank[after.Verdict] > rank[before.Verdict] {
				t.Fatalf("%s: Decide(%q) rises from %s to %s (%s)", what, line, before.Verdict, after.Verdict, after.Reason)
			}
		}
		for i := range s.Grants {
			less := s
			less.Grants = slices.Delete(slices.Clone(s.Grants), i, i+1)
			check("a grant less", less)
		}
		for i, r := range s.Rules {
			if r.Verdict != permissions.Allow {
				continue
			}
			less := s
			less.Rules = slices.Delete(slices.Clone(s.Rules), i, i+1)
			check("an allow rule less", less)
		}
		for _, verdict := range []permissions.Verdict{permissions.Deny, permissions.Ask} {
			more := s
			more.Rules = append(slices.Clone(s.Rules), anyRule(t, verdict))
			check("a "+string(verdict)+" rule more", more)
		}
		more := s
		more.Forbidden = append(slices.Clone(s.Forbidden), "/project/src")
		check("a forbidden folder more", more)
		more = s
		more.Unattended = true
		check("nobody to ask", more)
	})
}

func TestALineIsAllowedWhenAllItsPartsAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a, b := anyState(t), simple(t, "a"), simple(t, "b")
		va := decide(a, s).Verdict
		for _, op := range []string{"; ", "\n", " && ", " || ", " | "} {
			line, vb := decide(a+op+b, s), after(a+op, b, s)
			got, why := line.Verdict, line.Reason
			both := va == permissions.Allow && vb == permissions.Allow
			// A shell runs what it reads, and a grant for exactly one command is for that command fed by nothing.
			fed := op == " | " && (strings.Contains(why, "a shell runs what it reads") || slices.ContainsFunc(s.Grants, func(g permissions.Grant) bool { return len(g.Argv) > 0 }))
			if op == " | " && strings.Contains(b, "xargs") {
				continue // what xargs is fed is judged with it
			}
			// Where one part may leave the tree, it cannot be told from which folder the other one reads; and what is not
			// known to only read is looked at from every folder of the line, with all texts of it.
			lost := s.Mode == permissions.ModeBypass && strings.Contains(a+b, "cd ..")
			lost = lost || (s.Mode == permissions.ModeBypass || strings.HasPrefix(a, "cd ") || strings.Contains(a+b, "-exec ")) && (strings.Contains(why, "protected file") || strings.Contains(why, "credentials") || strings.Contains(why, "rule names"))
			rewritten := strings.Contains(why, "which a later command of the line obeys")
			if got == permissions.Allow && !both || both && got != permissions.Allow && !fed && !lost && !rewritten {
				t.Fatalf("%s: %q = %s, %q = %s, but %q = %s (%s)", s.Mode, a, va, b, vb, a+op+b, got, why)
			}
			if (va == permissions.Deny || vb == permissions.Deny) && got != permissions.Deny {
				t.Fatalf("%s: %q = %s, %q = %s, but %q = %s", s.Mode, a, va, b, vb, a+op+b, got)
			}
		}
	})
}

// after is the verdict on b where it runs behind a: in the folder that a leads to, or in either when a may fail.
func after(a, b string, s permissions.State) permissions.Verdict {
	line, err := shellcmd.Parse(a+"true", "/project")
	if err != nil || line.Commands[len(line.Commands)-1].Lost {
		return decide(b, s).Verdict
	}
	verdict := permissions.Allow
	for _, dir := range line.Commands[len(line.Commands)-1].Dirs {
		if s.Mode == permissions.ModeBypass && dir != "/project" && !strings.HasPrefix(dir, "/project/") {
			dir = "/project" // it lets pass what begins in the tree, wherever that goes
		}
		if d := permissions.New(lexical).Decide(permissions.Call{Tool: "Bash", Command: b, Cwd: dir}, s); rank[d.Verdict] < rank[verdict] {
			verdict = d.Verdict
		}
	}
	return verdict
}

// talkers take any words, and only show them or nothing.
var talkers = []string{"echo", "expr", "true", "false", ":", "printf"}

func TestAnUnknownFlagAsks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, command := anyState(t), simple(t, "command")
		s.Mode = rapid.SampledFrom([]permissions.Mode{permissions.ModePlan, permissions.ModeDefault, permissions.ModeAuto}).Draw(t, "narrow mode")
		s.Rules = nil
		if decide(command, s).Verdict != permissions.Allow || slices.ContainsFunc(strings.Fields(command), func(w string) bool { return slices.Contains(talkers, w) }) || strings.ContainsAny(command, "<>") {
			return
		}
		for _, flag := range []string{" --frobnicate", " --frobnicate=x", " -@", " $x", " $(x)", " >x"} {
			if strings.HasPrefix(flag, " -") && strings.Contains(command, " -- ") {
				continue // behind it a flag is a name
			}
			if d := decide(command+flag, s); d.Verdict == permissions.Allow {
				t.Fatalf("%s: Decide(%q) = allow (%s)", s.Mode, command+flag, d.Reason)
			}
		}
	})
}

func TestQuotingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, command := anyState(t), simple(t, "command")
		line, err := shellcmd.Parse(command, "/project")
		if err != nil || strings.Contains(command, "; ") || // a loop is more than the command that it comes to
			len(line.Commands) != 1 || len(line.Nested) != 1 || len(line.Commands[0].Redirs)+len(line.Commands[0].Env) > 0 {
			return
		}
		var quoted []string
		for _, w := range line.Commands[0].Argv {
			if !w.Literal() {
				return
			}
			quoted = append(quoted, rapid.SampledFrom(spellings(w)).Draw(t, "quoted"))
		}
		again := strings.Join(quoted, " \t")
		if a, b := decide(command, s), decide(again, s); a.Verdict != b.Verdict {
			t.Fatalf("Decide(%q) = %s, Decide(%q) = %s (%s)", command, a.Verdict, again, b.Verdict, b.Reason)
		}
	})
}

// spellings are ways to write a word that bash reads alike.
func spellings(w shellcmd.Word) []string {
	out := []string{w.Source}
	if !strings.Contains(w.Text, "'") {
		out = append(out, "'"+w.Text+"'")
	}
	if !strings.ContainsAny(w.Text, "\"$`\\!") {
		out = append(out, `"`+w.Text+`"`)
	}
	if w.Text != "" && w.Text == w.Source && strings.Trim(w.Text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+-") == "" {
		out = append(out, w.Text[:1]+"''"+w.Text[1:], `\`+w.Text, w.Text+`""`, `"`+w.Text[:1]+`"'`+w.Text[1:]+"'")
	}
	return out
}

// Whatever is allowed was read whole, and comes with a contract for exactly its bytes.
func TestAnAllowIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, line := anyState(t), composed(t)
		if rapid.Bool().Draw(t, "any bytes") {
			line = rapid.StringOfN(rapid.SampledFrom([]rune("ls cat;&|$'\"\\\n#(){}<>*~=gotest./-é\r")), 0, 60, -1).Draw(t, "line")
		}
		d := decide(line, s)
		if d.Verdict != permissions.Allow {
			if d.Contract != nil {
				t.Fatalf("Decide(%q) = %s with a contract", line, d.Verdict)
			}
			return
		}
		if shellcmd.Gate(line) != nil || d.Contract == nil || d.Contract.Command != line || d.Contract.Hash != d.Contract.Sum() || len(d.Commands) == 0 {
			t.Fatalf("Decide(%q) = %+v", line, d)
		}
		for _, c := range d.Commands {
			if c.Verdict != permissions.Allow {
				t.Fatalf("Decide(%q) = allow, with %+v", line, c)
			}
		}
	})
}

func FuzzDecide(f *testing.F) {
	for _, s := range []string{"ls -la | head", "go test ./... 2>&1", "swarm approve x", "cat ~/.ssh/id_rsa", "cd a; cat ../b", "echo $(x) `y` ${z}", "cat <<'E'\nx\nE"} {
		f.Add(s, "Bash", "/project")
	}
	f.Fuzz(func(t *testing.T, text, tool, cwd string) {
		for _, mode := range []permissions.Mode{permissions.ModePlan, permissions.ModeDefault, permissions.ModeBypass} {
			s := state(mode)
			s.Grants = []permissions.Grant{grant("run tests")}
			for _, call := range []permissions.Call{{Tool: "Bash", Command: text, Cwd: cwd}, {Tool: tool, Path: text, Cwd: cwd}, {Tool: tool, Command: text, Cwd: "/project"}} {
				d := permissions.New(lexical).Decide(call, s)
				if rank[d.Verdict] == 0 && d.Verdict != permissions.Deny || d.Reason == "" {
					t.Fatalf("Decide(%+v) = %+v", call, d)
				}
			}
		}
	})
}
