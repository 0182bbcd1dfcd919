package shellcmd_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

func ExampleParse() {
	line, err := shellcmd.Parse("cd api && go test ./... 2>&1 | tail -5", "/project")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range line.Commands {
		fmt.Println(c.Dirs, shellcmd.Shown(c.Argv))
	}
	// Output:
	// [/project] [cd api]
	// [/project/api] [go test ./...]
	// [/project/api] [tail -5]
}

func TestGateRefusesWhatParsersReadDifferently(t *testing.T) {
	for name, src := range map[string]string{
		"empty":                   "",
		"blank":                   " \t\n",
		"carriage return":         "ls x\r# $(touch y)",
		"vertical tab":            "ls\x0b-la",
		"form feed":               "ls\x0c-la",
		"nul":                     "ls\x00x",
		"escape":                  "echo \x1b[2J",
		"delete":                  "ls\x7f",
		"C1":                      "ls \u0085x",
		"not UTF-8":               "ls \xff",
		"no-break space":          "ls\u00a0-la",
		"ideographic space":       "ls\u3000-la",
		"line separator":          "ls\u2028rm x",
		"zero width":              "l\u200bs",
		"bidi":                    "ls \u202ex",
		"byte order mark":         "\ufeffls",
		"tag character":           "ls \U000e0041",
		"hangul filler":           "ls \u3164x",
		"private use":             "ls \ue000",
		"option of bash":          "-x ls",
		"plus option of bash":     "+x ls",
		"too long":                "ls " + strings.Repeat("a", shellcmd.MaxBytes),
		"too deep":                strings.Repeat("(", shellcmd.MaxDepth+1) + "ls" + strings.Repeat(")", shellcmd.MaxDepth+1),
		"ends with a backslash":   `ls \`,
		"continued inside a word": "l\\\ns",
		"continued twice":         "ls \\\\\nrm x",
		"continued by nothing":    "ls \\\n\nrm x",
		"continued by a comment":  "ls \\\n# x\nrm y",
		"continued in a comment":  "ls # x \\\nrm y",
		"continued here-document": "cat <<'E' \\\nx\nE",
	} {
		if err := shellcmd.Gate(src); !errors.Is(err, shellcmd.ErrGate) {
			t.Errorf("%s: Gate(%q) = %v, want ErrGate", name, src, err)
		}
	}
	for _, src := range []string{"ls -la", "echo 'héllo 世界'", "ls \\\n  -la \\\n  src", "ls\n\n# comment\nls", "printf '\t'"} {
		if err := shellcmd.Gate(src); err != nil {
			t.Errorf("Gate(%q) = %v, want nil", src, err)
		}
	}
}

func parse(t *testing.T, src string) *shellcmd.Line {
	t.Helper()
	line, err := shellcmd.Parse(src, "/p")
	if err != nil {
		t.Fatalf("Parse(%q) = %v", src, err)
	}
	return line
}

func TestWordsAfterQuoteRemoval(t *testing.T) {
	for src, want := range map[string]shellcmd.Word{
		`abc`:           {Text: "abc"},
		`'a b'`:         {Text: "a b"},
		`"a b"`:         {Text: "a b"},
		`a"b"'c'd`:      {Text: "abcd"},
		`a\ b`:          {Text: "a b"},
		`r\m`:           {Text: "rm"},
		`"\$x\"\\\a"`:   {Text: `$x"\\a`},
		`'\n'`:          {Text: `\n`},
		`"foo$"`:        {Text: "foo$"},
		`"^a$|^b$"`:     {Text: "^a$|^b$"},
		`foo$`:          {Text: "foo$"},
		`"~"`:           {Text: "~"},
		`HEAD~1`:        {Text: "HEAD~1"},
		`stash@{0}`:     {Text: "stash@{0}"},
		`{}`:            {Text: "{}"},
		`[`:             {Text: "["},
		`a#b`:           {Text: "a#b"},
		`''`:            {Text: ""},
		`~`:             {Text: "~", Tilde: true},
		`~/x`:           {Text: "~/x", Tilde: true},
		`*.go`:          {Text: "*.go", Pattern: "*.go"},
		`"*"?`:          {Text: "*?", Pattern: `\*?`},
		`a[bc]`:         {Text: "a[bc]", Unknown: true},
		`$?`:            {Text: "0", Status: true},
		`"rc=$?"`:       {Text: "rc=0", Status: true},
		`$x`:            {Text: "${x}", Unknown: true},
		`"$HOME/x"`:     {Text: "${HOME}/x", Unknown: true},
		`${x:-y}`:       {Text: "${x}", Unknown: true},
		`$(ls)`:         {Text: "*", Unknown: true},
		"`ls`":          {Text: "*", Unknown: true},
		`$((1))`:        {Text: "*", Unknown: true},
		`<(ls)`:         {Text: "*", Unknown: true},
		`$'\x72m'`:      {Text: "rm", Unknown: true},
		`$'\162\u006d'`: {Text: "rm", Unknown: true},
		`$"a"`:          {Text: "a", Unknown: true},
		`{a,b..c}`:      {Text: "{a,b..c}", Unknown: true},
		`{a,{b,c}}`:     {Text: "{a,{b,c}}", Unknown: true},
		`{,a}`:          {Text: "{,a}", Unknown: true},
		`{a,-b}`:        {Text: "{a,-b}", Unknown: true},
		`{a,"b"}`:       {Text: "{a,b}", Unknown: true},
		`{a,b=c}`:       {Text: "{a,b=c}", Unknown: true},
		`{1..3}`:        {Text: "{1..3}", Unknown: true},
		`~root`:         {Text: "~root", Unknown: true},
		`~+`:            {Text: "~+", Unknown: true},
		`~"/x"`:         {Text: "~/x", Unknown: true},
		`a=~/x`:         {Text: "a=~/x", Unknown: true},
		`a:~`:           {Text: "a:~", Unknown: true},
		`@(a|b)`:        {Text: "*", Unknown: true},
	} {
		line := parse(t, "x "+src)
		got := line.Commands[0].Argv[1]
		want.Source = src
		if got != want {
			t.Errorf("word %s = %+v, want %+v", src, got, want)
		}
	}
}

func TestDirectories(t *testing.T) {
	for src, want := range map[string]string{ // where the last command may run; "?" is lost
		"ls":                                    "/p",
		"cd a && ls":                            "/p/a",
		"cd a; ls":                              "/p/a /p",
		"cd a || ls":                            "/p",
		"cd a && cd b && ls":                    "/p/a/b",
		"cd a; cd b; ls":                        "/p/a/b /p/b /p/a /p",
		"cd /x && ls":                           "/x",
		"cd a/../.. && ls":                      "/",
		"(cd a && ls) && pwd":                   "/p",
		"{ cd a; } && ls":                       "/p/a",
		"cd a | cat; ls":                        "/p",
		"cat | cd a; ls":                        "/p",
		"! cd a && ls":                          "/p",
		"! cd a || ls":                          "/p/a",
		"time cd a && ls":                       "/p/a",
		"cd a && true || ls":                    "/p /p/a",
		"cd && ls":                              "?",
		"cd - && ls":                            "?",
		"cd $x && ls":                           "?",
		"cd ~ && ls":                            "?",
		"cd a* && ls":                           "?",
		"cd -P a && ls":                         "?",
		"cd a b && ls":                          "?",
		"cd '' && ls":                           "?",
		"if cd a; then :; fi; ls":               "/p/a /p",
		"if cd a; then cd b; else cd c; fi; ls": "/p/a/b /p/a /p/c /p",
		"for d in a b; do cd $d; done; ls":      "/p /p/a /p/b /p/a/b",
		"for d in a b; do (cd $d); done; ls":    "/p",
		"cd a & ls":                             "/p",
		"for d in $x; do cd a; done; ls":        "?",
		"c\\d a && ls":                          "/p/a",
		"cd a;cd b;cd c;cd d;cd e; ls":          "?",
		"cd a 2>/dev/null && ls":                "/p/a",
	} {
		line := parse(t, src)
		c := line.Commands[len(line.Commands)-1]
		got := strings.Join(c.Dirs, " ")
		if c.Lost {
			got = "?"
		}
		if got != want {
			t.Errorf("%q runs in %s, want %s", src, got, want)
		}
	}
	if line, err := shellcmd.Parse("ls", ""); err != nil || !line.Commands[0].Lost {
		t.Errorf("without a directory: %+v, %v; want lost", line, err)
	}
}

func TestOnlyPlainCompositionIsAccepted(t *testing.T) {
	for _, src := range []string{
		"a", "a b && c", "a || b", "a; b", "a\nb", "a | b | c", "! a", "(a; b)", "{ a; b; }", "time a", "a 2>&1", "a >/dev/null", "a 2>/dev/null", "a &>/dev/null",
		"# x\na # y", "a \\\n -b", "A=1 a", "a $?", "a <f", "cat <<'E'\nx\nE", "cat <<'E'\nE",
		"a &", "a & b", "if a; then b; elif c; then d; else e; fi", "for x in a b; do c $x \"${x}y\"; done", "for x in *.go 'a b'; do c \"$x\"; done", "echo \"a $(b | c) d\"", "printf '%s' \"$(a)\"",
		"[ -n \"$(a)\" ]", "a -m \"$(cat <<'E'\nx 'y\" $z `q` )\nE\n)\"", "for x in a; do for y in b; do c $x/$y; done; done", "for f in a; do echo \"$(wc -l $f)\"; done",
	} {
		if line := parse(t, src); len(line.Refused) > 0 {
			t.Errorf("%q refused: %v", src, line.Refused)
		}
	}
	for _, src := range []string{
		"a |& b", "f() { a; }", "function f { a; }", "coproc a", "let x=1", "((1))", "export A=1", "declare x", "readonly y", "local z", "x=(1 2)", "a $(b)", "a `b`",
		"a <(b)", "a >(b)", "a $x", "a ${x@P}", "a ${#x}", "a $((1))", "a $[1]", "[[ a ]]", "while a; do b; done", "case a in b) c;; esac",
		"select x in a; do b; done", "a @(b)", "time -p a", "a $1", "a $@", "a ${?}",
		"for x; do b; done", "for x in $y; do b; done", "for x in {1..3}; do b; done", "for PATH in a; do b; done", "for x_y in a; do b; done", "for x in a; do b ${x%y}; done", "for x in a; do b ${#x}; done", "for x in a; do b; done; c $x",
		"for x in a; do b ${!x}; done", "for x in a; do for x in b; do c; done; d $x; done", "for ((;;)); do a; done", "for x in a; { b; }", "for x in $(a); do b; done", "for x in ~; do b; done",
		"echo $(a)", "echo \"`a`\"", "echo \"$(a)$b\"", "a \"$(b)\"", "printf \"$(a)\"", "printf -- \"$(a)\" b", "[ \"$(a)\" x ]", "[ -v \"$(a)\" ]", "test -n \"$(a)\" -o b", "echo $\"$(a)\"", "\"$(echo)\" \"$(a)\"",
		"a \"$(cat <<E\nx\nE\n)\"", "a \"$(cat <<'E'\nE x\nE\n)\"", "a \"$(cat <<'E' | b\nx\nE\n)\"", "a \"$(cat - <<'E'\nx\nE\n)\"", "a \"$(cat <<'E'; b\nx\nE\n)\"", "A=\"$(b)\" echo",
		"a \"$(cat <<'E'\n E)\n\nE\n)\"", "echo x > \"$(a)\"",
	} {
		if line := parse(t, src); len(line.Refused) == 0 {
			t.Errorf("%q is accepted: %+v", src, line.Commands)
		}
	}
}

func TestRedirections(t *testing.T) {
	for src, want := range map[string]shellcmd.RedirectKind{
		"a 2>&1": shellcmd.RedirectDup, "a >&2": shellcmd.RedirectDup, "a >/dev/null": shellcmd.RedirectNull, "a 2>>/dev/null": shellcmd.RedirectNull,
		"a &>/dev/null": shellcmd.RedirectNull, "a <f": shellcmd.RedirectRead, "a <<'E'\nx\nE": shellcmd.RedirectHere, "a >f": shellcmd.RedirectWrite, "a >>f": shellcmd.RedirectWrite,
		"a >|f": shellcmd.RedirectWrite, "a &>f": shellcmd.RedirectWrite, "a >&f": shellcmd.RedirectWrite, "a <>f": shellcmd.RedirectWrite, "a >& /dev/null": shellcmd.RedirectWrite,
		"a >/dev/null$x": shellcmd.RedirectWrite, "a {fd}>f": shellcmd.RedirectOdd, "a 3>/dev/null": shellcmd.RedirectOdd, "a <&0": shellcmd.RedirectOdd, "a 2>&1-": shellcmd.RedirectWrite,
		"a <<<x": shellcmd.RedirectText, "a <<E\nx\nE": shellcmd.RedirectOdd, "a <<<$x": shellcmd.RedirectOdd, "a <<<~": shellcmd.RedirectOdd, "a 3<<<x": shellcmd.RedirectOdd, "a <<< \"$(b)\"": shellcmd.RedirectOdd, "a <<E\n$x\nE": shellcmd.RedirectOdd, "a <<E\n`b`\nE": shellcmd.RedirectOdd, "a <<-E\nx\nE": shellcmd.RedirectOdd, "a <<-'E'\nx\nE": shellcmd.RedirectOdd, "a <<\"E\"\nx\nE": shellcmd.RedirectOdd, "a <<'E F'\nx\nE F": shellcmd.RedirectOdd,
		"a <<\\E\nx\nE": shellcmd.RedirectOdd, "a 1<f": shellcmd.RedirectOdd, "a >&1x": shellcmd.RedirectWrite,
	} {
		line := parse(t, src)
		if got := line.Commands[0].Redirs[0].Kind; got != want {
			t.Errorf("%q: kind %d, want %d", src, got, want)
		}
	}
	two := parse(t, "cat <<'A' <<'B'\nx\nA\ny\nB").Commands[0].Redirs
	if two[1].Kind != shellcmd.RedirectOdd {
		t.Errorf("the second here-document is accepted: %+v", two)
	}
	if body := parse(t, "cat <<'E'\na $x\n E\nE").Commands[0].Redirs[0].Body; body != "a $x\n E\n" {
		t.Errorf("body %q", body)
	}
}

func TestNestedSeesEveryCommand(t *testing.T) {
	for _, src := range []string{
		"x $(victim a)", "x `victim a`", "x <(victim a)", "x ${y:-$(victim a)}", "x $((a[$(victim a)]))", "A=$(victim a) x", "f() { victim a; }", "if victim a; then x; fi",
		"while x; do victim a; done", "for i in $(victim a); do x; done", "case x in x) victim a;; esac", "[[ -n $(victim a) ]]", "coproc victim a", "x <<E\n$(victim a)\nE",
		"x >$(victim a)", "export A=$(victim a)", "x=($(victim a))", "(victim a)", "{ victim a; }", "! victim a", "time victim a", "x && victim a", "x | victim a", "x & victim a", "x \"$(victim a)\"",
	} {
		line := parse(t, src)
		if !slices.ContainsFunc(line.Nested, func(c *shellcmd.Command) bool { return c.Argv0() == "victim" }) {
			t.Errorf("%q: victim is not among the nested commands", src)
		}
	}
	line := parse(t, "x !(victim a) >$out")
	if !slices.Contains(line.Texts, "victim a") || line.Targets[0].Text != "${out}" {
		t.Errorf("texts %q, targets %+v", line.Texts, line.Targets)
	}
}

func TestTooManyCommands(t *testing.T) {
	if _, err := shellcmd.Parse(strings.Repeat("a;", shellcmd.MaxCommands), "/p"); err != nil {
		t.Errorf("%d commands: %v", shellcmd.MaxCommands, err)
	}
	if _, err := shellcmd.Parse(strings.Repeat("a;", shellcmd.MaxCommands+1), "/p"); !errors.Is(err, shellcmd.ErrGate) {
		t.Errorf("one more: %v, want ErrGate", err)
	}
}

func TestPipesAreMarked(t *testing.T) {
	line := parse(t, "a | (b; c) | d; e")
	var got []string
	for _, c := range line.Commands {
		got = append(got, fmt.Sprintf("%s in=%t out=%t", c.Argv0(), c.Piped, c.Feeds))
	}
	want := []string{"a in=false out=true", "b in=true out=true", "c in=true out=true", "d in=true out=false", "e in=false out=false"}
	if !slices.Equal(got, want) {
		t.Errorf("pipes %q, want %q", got, want)
	}
}

func TestParseTextIsNeverAccepted(t *testing.T) {
	line, err := shellcmd.ParseText("ls", "/p")
	if err != nil || len(line.Refused) == 0 {
		t.Errorf("ParseText(ls) = %+v, %v; want it refused", line, err)
	}
	if _, err := shellcmd.ParseText(strings.Repeat("a", shellcmd.MaxBytes+1), "/p"); err == nil {
		t.Error("a text of any length is parsed")
	}
}

// Whatever the bytes: no panic, and what is accepted was seen whole.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"ls -la", "cd a && ls; b | c 2>&1", "cat <<'E'\nx\nE", "a $(b) `c` ${d}", "x\\\ny", "f() { a; }", "[[ a =~ (b) ]]", "$'a' {a,b} ~/x *", "a #b\n", "((a);(b))"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		line, err := shellcmd.Parse(src, "/p")
		if err != nil {
			return
		}
		if shellcmd.Gate(src) != nil {
			t.Fatalf("Parse(%q) passed the gate that refuses it", src)
		}
		if len(line.Refused) > 0 {
			return
		}
		if len(line.Nested) != len(line.Commands) {
			t.Fatalf("%q: accepted with %d commands, and %d anywhere", src, len(line.Commands), len(line.Nested))
		}
		for _, c := range line.Commands {
			if !c.Lost && len(c.Dirs) == 0 {
				t.Fatalf("%q: a command without a directory", src)
			}
			for _, w := range c.Argv {
				if w.Literal() && !strings.Contains(src, "\\") && strings.ContainsAny(w.Source, "'\"{") == false && w.Text != w.Source {
					t.Fatalf("%q: unquoted word %q became %q", src, w.Source, w.Text)
				}
			}
		}
	})
}

// A loop is read round by round, with the variable's value in its place.
func TestLoopsAreUnrolled(t *testing.T) {
	for src, want := range map[string]string{
		"for f in a b; do x $f; done":                        "x a|x b",
		"for f in a 'b c'; do x \"$f\" \"-$f-\"; done":       "x a -a-|x b c -b c-",
		"for f in a; do for g in 1 2; do x $f$g; done; done": "x a1|x a2",
		"for f in 'a b'; do x $f; done":                      "x $f!",
		"for f in *.go; do x $f; done":                       "x $f!",
		"for f in *.go; do x \"d/$f\"; done":                 "x \"d/$f\"*d/*.go",
		"for f in -o; do x $f; done":                         "x -o",
		"for f in a; do x '$f' \\$f; done":                   "x $f $f",
		"for f in ls; do $f; done":                           "ls",
		"for f in a; do echo \"$(x $f)\"; done":              "echo \"$(x $f)\"!|x a",
	} {
		line := parse(t, src)
		var got []string
		for _, c := range line.Commands {
			text := strings.Join(shellcmd.Shown(c.Argv), " ")
			for _, w := range c.Argv {
				if w.Unknown {
					text += "!"
				}
				if w.Pattern != "" {
					text += "*" + w.Pattern
				}
			}
			if !c.ReadOnly && !strings.HasPrefix(text, "echo") {
				t.Errorf("%q: %s is not held to reading", src, text)
			}
			got = append(got, text)
		}
		if strings.Join(got, "|") != want || len(line.Refused) > 0 {
			t.Errorf("%q: %q, refused %q; want %q", src, got, line.Refused, want)
		}
	}
	many := "for a in 1 2 3 4 5 6 7 8 9; do for b in 1 2 3 4 5 6 7 8 9; do for c in 1 2 3 4 5 6 7 8 9; do x; done; done; done"
	if line := parse(t, many); len(line.Refused) == 0 || len(line.Commands) > 2*shellcmd.MaxCommands {
		t.Errorf("729 rounds: %d commands, refused %q", len(line.Commands), line.Refused)
	}
}

func TestHereDocumentsAsWords(t *testing.T) {
	line := parse(t, "git commit -m \"$(cat <<'EOF'\nfix: it's \"so\" $5 `x`\n\n- a) b\n\nEOF\n)\"")
	want := "fix: it's \"so\" $5 `x`\n\n- a) b"
	if w := line.Commands[0].Argv[3]; !w.Literal() || w.Text != want || len(line.Refused) > 0 {
		t.Errorf("%+v, refused %q; want the text", w, line.Refused)
	}
	if len(line.Commands) != 2 || line.Commands[1].Argv0() != "cat" || !line.Commands[1].ReadOnly {
		t.Errorf("commands %+v", line.Commands)
	}
}

func TestCommandsKnowWhoFeedsThem(t *testing.T) {
	for src, want := range map[string]string{"a | b": "a", "a | b | c": "b", "(a) | b": "", "a && b": "", "a; b | c": "b", "{ a; } | b": "", "a | (b)": "", "a 2>&1 | b": "a", "if a; then b; fi | c": "", "(a | b) | c": "", "a |\nb": "a"} {
		line := parse(t, src)
		c, got := line.Commands[len(line.Commands)-1], ""
		if c.From != nil {
			got = c.From.Argv0()
		}
		if got != want {
			t.Errorf("%q: fed by %q, want %q", src, got, want)
		}
	}
}
