//go:build linux

package shellcmd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// bash is an oracle: it prints what it parsed, and runs nothing of it. Two switches see to that, each on its own: with
// --pretty-print it prints commands instead of running them, and with -n it runs none that it reads. Beside it there is
// an empty folder, nobody's rights where the test has root's, no file that could be written, a second of processor time
// and no environment but a locale.
type bash struct{ dir, locale string }

func newBash(t testing.TB) bash {
	t.Helper()
	dir, err := os.MkdirTemp("", "oracle")
	if err == nil {
		err = os.Chmod(dir, 0o555)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := bash{dir: dir}
	if out, _ := b.print("echo  $(a  b)\n"); strings.TrimSpace(out) != "echo $(a b)" {
		t.Skip("the bash of this machine does not print what it parsed (bash 5.2 does)")
	}
	return b
}

const limits = "ulimit -f 0 && ulimit -t 1 && ulimit -c 0 && exec /bin/bash "

// print is what bash printed of a text, and whether it could read all of it.
func (b bash) print(text string) (string, bool) {
	return b.run(limits+"--pretty-print --norc --noprofile -p -n", text)
}

func (b bash) run(script, text string) (string, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/bash", "--norc", "--noprofile", "-p", "-c", script)
	cmd.Dir, cmd.Env, cmd.Stdin = b.dir, []string{"PATH=/nonexistent", "LC_ALL=" + b.locale}, strings.NewReader(text)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: nobody()}
	}
	out, err := cmd.Output()
	return string(out), err == nil
}

var nobody = sync.OnceValue(func() *syscall.Credential {
	id := uint64(65534)
	if u, err := user.Lookup("nobody"); err == nil {
		id, _ = strconv.ParseUint(u.Uid, 10, 32)
	}
	return &syscall.Credential{Uid: uint32(id), Gid: 65534}
})

// printed is what bash made of one line.
type answer struct {
	text string
	ok   bool
}

// ask prints many lines with one bash. Between them stand marks, which bash prints in another form than they are
// written in: where a line swallowed one, it is seen, and the lines are asked in halves.
func (b bash) ask(lines []string) []answer {
	var in strings.Builder
	for i, line := range lines {
		fmt.Fprintf(&in, "%s\n:oracle\t  %d\n", line, i)
	}
	out, ok := b.print(in.String())
	var answers []answer
	rest := out
	for i := range lines {
		before, after, found := strings.Cut("\n"+rest, fmt.Sprintf("\n:oracle %d\n", i))
		if !ok || !found || strings.Contains(before, ":oracle\t  ") {
			return b.halves(lines)
		}
		answers, rest = append(answers, answer{strings.TrimPrefix(before, "\n"), true}), after
	}
	return answers
}

func (b bash) halves(lines []string) []answer {
	if len(lines) == 1 {
		out, ok := b.print(lines[0] + "\n")
		return []answer{{out, ok}}
	}
	n := len(lines) / 2
	return append(b.ask(lines[:n]), b.ask(lines[n:])...)
}

// compare says what bash would run of a line that the gate does not see, or of a line that it accepts the other way
// round, or "". What bash cannot read to its end it runs up to the line that it cannot read, and prints so far. Refused is whether the gate refuses it.
func compare(src string, a answer) (refused bool, why string) {
	line, err := shellcmd.Parse(src, "/p")
	if err != nil {
		return true, ""
	}
	refused = len(line.Refused) > 0
	bashs, err := readPrinted(a.text)
	if err != nil {
		if refused {
			return true, ""
		}
		return false, err.Error()
	}
	ours, why := gathered(line.Nested)
	if why != "" {
		return refused, why
	}
	for _, text := range line.Texts { // whoever judges reads these too
		if in, err := shellcmd.ParseText(text, "/p"); err == nil && refused {
			ours = append(slices.Clone(ours), in.Nested...)
		}
	}
	blurred := false
	for _, c := range bashs {
		rest, ok := without(c, ours, !refused)
		switch {
		case ok:
			ours = rest
		case strings.Contains(a.text, "<<") && allWords(c, line.Nested):
			blurred = true
		default:
			return refused, fmt.Sprintf("bash runs %q, which is not among %s", c, shown(line.Nested))
		}
		for _, target := range c.targets {
			if !slices.ContainsFunc(line.Targets, func(w shellcmd.Word) bool { return sameWord(target, w) }) {
				return refused, fmt.Sprintf("bash redirects to %q, which is not among %+v", target, line.Targets)
			}
		}
	}
	ours = slices.DeleteFunc(slices.Clone(ours), func(o *shellcmd.Command) bool {
		// After a redirection a reserved word is a command, which bash prints in front of it: read again it is none.
		// And what stands in [[ ]] is no command to bash.
		return len(o.Argv)+len(o.Env) == 0 || len(o.Argv) > 0 && (slices.Contains(reserved, o.Argv[0].Source) || o.Argv[0].Source == "[[")
	})
	if a.ok && !refused && !blurred && len(ours) > 0 && !strings.Contains(src, "for") {
		return refused, fmt.Sprintf("the gate sees %s, and bash runs only %q", shown(ours), bashs)
	}
	return refused, ""
}

// gathered puts words that came from a list in braces together again, as bash prints them, and says where they are not those
// that another reader of such lists makes.
func gathered(ours []*shellcmd.Command) (out []*shellcmd.Command, why string) {
	for _, c := range ours {
		one := *c
		one.Argv = nil
		for i := 0; i < len(c.Argv); i++ {
			w := c.Argv[i]
			if strings.Contains(w.Source, "{") && !strings.Contains(w.Text, "{") && !strings.ContainsAny(w.Source, "$`()<>") {
				words, err := listed(w.Source)
				if err != nil {
					return nil, fmt.Sprintf("%q: %v", w.Source, err)
				}
				for j, x := range words {
					if i+j >= len(c.Argv) || c.Argv[i+j].Text != x.Lit() {
						return nil, fmt.Sprintf("%q stands for %d words, and %s has others", w.Source, len(words), shown([]*shellcmd.Command{c}))
					}
				}
				i += len(words) - 1
				w = shellcmd.Word{Text: w.Source, Source: w.Source, Unknown: true}
			}
			one.Argv = append(one.Argv, w)
		}
		out = append(out, &one)
	}
	return out, ""
}

// listed is what the parser's own authors make of one word with lists in braces.
func listed(text string) (words []*syntax.Word, err error) {
	for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(text)) {
		if err != nil {
			return nil, err
		}
		syntax.SplitBraces(w)
		for x, err := range expand.BracesSeq(nil, w) {
			if err != nil {
				return nil, err
			}
			words = append(words, x)
		}
	}
	return words, nil
}

// without takes from ours the command that c is. What only redirects, or only assigns in a line that is refused (a=()b=1 is
// one assignment to bash), has no words to look for, and the words of let are arithmetic and never a command.
func without(c ran, ours []*shellcmd.Command, accepted bool) ([]*shellcmd.Command, bool) {
	if len(c.words) == 0 && (len(c.assigns) == 0 || !accepted) {
		return ours, true
	}
	i := slices.IndexFunc(ours, func(o *shellcmd.Command) bool {
		return same(c, o, accepted) || strange(c, o) || !accepted && (timed(c, o) || coprocess(c, o))
	})
	switch {
	case i < 0:
		return ours, len(c.words) > 0 && c.words[0] == "let"
	case !accepted: // Nested may have it once for all rounds of a loop
		return ours, true
	}
	return slices.Delete(slices.Clone(ours), i, i+1), true
}

// allWords is for a semicolon that bash forgets to print, between what has a here-document and what follows inside a
// compound command: two commands then look like one, and it is their words that must all be ours. The words of a [[ that
// follows are no command's, and what follows for is its variable and its list.
func allWords(c ran, ours []*shellcmd.Command) bool {
	inTest, inList := false, false
	return !slices.ContainsFunc(c.words, func(raw string) bool {
		if inList = inList || raw == "for" || raw == "select"; inList {
			return false
		}
		if inTest = raw == "[[" || inTest && raw != "]]"; inTest {
			return false
		}
		return !isAssignment(raw) && !slices.Contains(reserved, raw) && !slices.ContainsFunc(ours, func(o *shellcmd.Command) bool {
			return slices.ContainsFunc(o.Argv, func(w shellcmd.Word) bool { return sameWord(raw, w) })
		})
	})
}

var reserved = strings.Fields("if then elif else fi for in do done while until case esac time ! { } [[ ]] coproc select function == -p")

// assigned makes a command of raw words.
func assigned(words []string) (c ran) {
	c.words = words
	for len(c.words) > 0 && isAssignment(c.words[0]) {
		c.assigns, c.words = append(c.assigns, c.words[0]), c.words[1:]
	}
	return c
}

func shown(cs []*shellcmd.Command) string {
	var out []string
	for _, c := range cs {
		out = append(out, fmt.Sprintf("%q", shellcmd.Shown(c.Argv)))
	}
	return strings.Join(out, " ")
}

// same reports whether a command of bash's is one of ours, word for word as they were written.
func same(c ran, o *shellcmd.Command, accepted bool) bool {
	switch {
	case len(c.words) > 0 && slices.Contains(declares, c.words[0]):
		return o.Argv0() == c.words[0]
	case len(c.words) != len(o.Argv) || len(c.assigns) != len(o.Env) || accepted && !odd(o) && !slices.Equal(c.bodies, bodies(o)):
		return false
	}
	for i, w := range c.words {
		if !sameWord(w, o.Argv[i]) {
			return false
		}
	}
	for i, a := range c.assigns {
		name, value, _ := strings.Cut(a, "=")
		if o.Env[i].Name != name && !o.Env[i].Odd || !o.Env[i].Odd && !sameWord(value, o.Env[i].Value) {
			return false
		}
	}
	return true
}

// strange is for 1a=[ and \x=1, which our parser takes for prefixes. They are odd, and no such prefix is ever allowed.
func strange(c ran, o *shellcmd.Command) bool {
	return len(c.assigns)+len(c.words) == len(o.Env)+len(o.Argv) &&
		slices.ContainsFunc(o.Env, func(a shellcmd.Assign) bool { return a.Odd && !isWordName(a.Name) })
}

// coprocess is for coproc x=1, which is refused: our parser takes the prefix there for a word.
func coprocess(c ran, o *shellcmd.Command) bool {
	words := slices.Concat(c.assigns, c.words)
	return len(c.assigns) > 0 && len(o.Env) == 0 && slices.EqualFunc(words, o.Argv, sameWord)
}

// timed reports whether a command of bash's is the program time, which runs ours: behind a pipe time is no keyword.
func timed(c ran, o *shellcmd.Command) bool {
	if len(c.words) == 0 || c.words[0] != "time" || len(c.assigns) > 0 {
		return false
	}
	words := c.words[1:]
	if len(words) > 0 && words[0] == "-p" { // ours is time's own, as everywhere else
		words = words[1:]
	}
	in := assigned(words)
	return len(in.words)+len(in.assigns) == 0 || same(in, o, false) || timed(in, o)
}

var declares = []string{"export", "declare", "typeset", "readonly", "local"}

// odd reports whether a redirection of c is refused whatever else stands there.
func odd(c *shellcmd.Command) bool {
	return slices.ContainsFunc(c.Redirs, func(r shellcmd.Redirect) bool { return r.Kind == shellcmd.RedirectOdd })
}

func bodies(o *shellcmd.Command) (out []string) {
	for _, r := range o.Redirs {
		if r.Kind == shellcmd.RedirectHere {
			out = append(out, r.Body)
		}
	}
	return out
}

// sameWord compares as written. Bash prints substitutions in its own form, and $'x' as 'x': their commands are compared
// by themselves.
func sameWord(raw string, w shellcmd.Word) bool {
	if raw == w.Source || raw == strings.ReplaceAll(w.Source, "\\\n", "") { // a line that goes on is one to bash
		return true
	}
	for _, s := range []string{"$(", "<(", ">(", "$'", `$"`, "${ ", "${\t", "${\n", "${|"} { // the last four are substitutions of later versions
		if strings.Contains(w.Source, s) {
			return true
		}
	}
	return false
}

// differ asks bash about lines and fails for each that the gate reads otherwise. It returns how many the gate let pass.
func differ(t interface {
	Helper()
	Errorf(string, ...any)
}, b bash, lines []string,
) (accepted int) {
	t.Helper()
	lines = slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return shellcmd.Gate(s) != nil })
	for len(lines) > 0 {
		n := min(len(lines), 200)
		for i, a := range b.ask(lines[:n]) {
			refused, why := compare(lines[i], a)
			if why != "" {
				t.Errorf("%q: %s\nbash printed:\n%s", lines[i], why, a.text)
			}
			if !refused {
				accepted++
			}
		}
		lines = lines[n:]
	}
	return accepted
}

// known are lines of the corpus and of the lists of tricks. They are text: nothing runs one.
func known(t testing.TB) (lines []string) {
	t.Helper()
	read := func(name string) *bufio.Scanner {
		data, err := os.ReadFile("../testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return bufio.NewScanner(bytes.NewReader(data))
	}
	for sc := read("bash_permissions.jsonl"); sc.Scan(); {
		var row struct{ Command string }
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, row.Command)
	}
	for _, name := range []string{"run_tests_tricks.txt", "swarm_spellings.txt"} {
		for sc := read(name); sc.Scan(); {
			if line := sc.Text(); !strings.HasPrefix(line, "# ") {
				lines = append(lines, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(line))
			}
		}
	}
	return slices.DeleteFunc(lines, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// Every simple command that bash would run of a line is among those that the gate sees, word for word; and of a line that
// it accepts, there are no others. The generated lines are always the same: go test ./permissions/shellcmd -run
// BashSees -rapid.seed 7, or -fuzz FuzzBashOracle, looks at others.
func TestBashSeesNoMoreThanTheGate(t *testing.T) {
	t.Parallel()
	b := newBash(t)
	lines := known(t)
	accepted := differ(t, b, lines)
	differ(t, b, []string{
		"env a $(( 1+1)) b", "env $(( (1)+1 )) $( (ls) ) $(( 1 ))", "coproc x=1", "coproc x=1 ls",
		"echo \"$$(ls)\" a", "aa=()x=1", "(a <<'E'\nx\nE\nls; for f in a b; do ls \"$f\"; done\n)",
	})
	b.locale = "C.UTF-8"
	differ(t, b, lines)
	if t.Failed() {
		return
	}
	t.Logf("%d known lines, %d of them accepted", len(lines), accepted)
	if accepted < 300 {
		t.Errorf("only %d known lines are accepted: this test proves little", accepted)
	}
	if seed := flag.Lookup("rapid.seed"); !given(seed) {
		if err := seed.Value.Set("1"); err != nil {
			t.Fatal(err)
		}
	}
	total, accepted := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(anyLine), 10, 40).Draw(t, "lines")
		total += len(lines)
		accepted += differ(t, b, lines)
	})
	t.Logf("%d generated lines, %d of them accepted", total, accepted)
	if accepted < total/20 {
		t.Errorf("only %d of %d generated lines are accepted: this test proves little", accepted, total)
	}
}

// given reports whether a flag stands on the command line.
func given(f *flag.Flag) (ok bool) {
	flag.Visit(func(g *flag.Flag) { ok = ok || g == f })
	return ok
}

func FuzzBashOracle(f *testing.F) {
	b := newBash(f)
	for i, line := range known(f) {
		if i%9 == 0 {
			f.Add(line)
		}
	}
	for _, line := range []string{"a | time b", "cat <<'E' && b\nx\nE\nc", "a \\\n b", "a #b\nc", "echo \"$(cat <<'E'\nit's\nE\n)\"; b", "for x in a b; do c $x; done & d", "if a; then b; fi >x; ! c", "ls {a,b}{c,d} x{,y} -{l,a}", "[[ -f a && ! ( -d b || x == y ) ]] && c", "({${ a \\\nb; }\n)", "a${| b \\\nc; }", "cat\\ \\\n2>&1; b"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, src string) { differ(t, b, []string{src}) })
}

// Lines that bash and the parser were found to read differently, in ways that hid a command.
func TestBashReadsTheseDifferently(t *testing.T) {
	for _, src := range []string{"time -- rm x", "time -p -- rm x", "! time -- rm x", "ls; time time -- rm x", "time -- a | b | { c; }", ">&-rm x", "ls >&-rm x", "<&-rm x", "2>& -rm x", ">&-$x", ">&-'rm'"} {
		if _, err := shellcmd.Parse(src, "/p"); !errors.Is(err, shellcmd.ErrGate) {
			t.Errorf("Parse(%q) = %v, want ErrGate", src, err)
		}
	}
	for _, src := range []string{"a | time b", "a | b | time c", "coproc x=1"} {
		if line := parse(t, src); len(line.Refused) == 0 {
			t.Errorf("%q is accepted: %s", src, shown(line.Commands))
		}
	}
	for _, src := range []string{"1a=x b", `\x=1*a b`, "1a[=x"} {
		if line := parse(t, src); len(line.Commands[0].Env) > 0 && !line.Commands[0].Env[0].Odd {
			t.Errorf("%q is a plain prefix: %+v", src, line.Commands[0].Env)
		}
	}
	for _, src := range []string{"time a | b", "a && time b", "a >/dev/null"} {
		if line := parse(t, src); len(line.Refused) > 0 {
			t.Errorf("%q refused: %q", src, line.Refused)
		}
	}
}
