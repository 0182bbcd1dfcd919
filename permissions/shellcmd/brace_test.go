package shellcmd_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// A word with plain lists in braces is read as the words that bash makes of it.
func TestListsInBraces(t *testing.T) {
	for src, want := range map[string]string{
		"x {a,b}": "x a b", "x src/*.{ts,tsx} y": "x src/*.ts src/*.tsx y", "x {a,b}{c,d}": "x ac ad bc bd", "x a{,.bak}": "x a a.bak", "x --e={a,b}": "x --e=a --e=b", "x -{l,a}": "x -l -a",
		"{a,b} c": "{a,b} c", "x '{a,b}'": "x {a,b}", "x \\{a,b}": "x {a,b}", "x {a,b}$c": "x {a,b}${c}", "x {a}": "x {a}", "V={a,b} x": "x",
		"x {a,b,c,d,e}{a,b,c,d}": "x {a,b,c,d,e}{a,b,c,d}",
	} {
		line := parse(t, src)
		var got []string
		for _, w := range line.Commands[0].Argv {
			got = append(got, w.Text)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is read as %q, want %s", src, got, want)
		}
	}
	if w := parse(t, "x *.{a,b}").Commands[0].Argv; len(w) != 3 || w[1].Pattern != "*.a" || w[2].Source != "*.{a,b}" {
		t.Errorf("x *.{a,b} is %+v", w)
	}
}

// [[ ]] is read when it only looks at files or compares words; everything else in it is refused.
func TestConditions(t *testing.T) {
	shownAs := func(line *shellcmd.Line) string {
		var out []string
		for _, c := range line.Commands {
			var words []string
			for _, w := range c.Argv {
				words = append(words, w.Text)
			}
			out = append(out, strings.Join(words, " "))
		}
		return strings.Join(out, "|")
	}
	for src, want := range map[string]string{
		"[[ -d a ]] && x":                         "test -d a|x",
		"[[ -f a && ! -s b ]]":                    "test -f a|test -s b",
		"[[ ( -e a || -z '' ) && b == \"c\" ]]":   "test -e a|test -z |test b == c",
		"for d in a b; do [[ -d $d ]] && x; done": "test -d a|x|test -d b|x",
		"cd s && [[ -f ../a ]] || x":              "cd s|test -f ../a|x",
	} {
		line := parse(t, src)
		if got := shownAs(line); got != want || len(line.Refused) > 0 || len(line.Nested) < len(slices.Compact(line.Commands)) {
			t.Errorf("%s is read as %s, refused for %q, want %s", src, got, line.Refused, want)
		}
	}
	for _, src := range []string{
		"[[ 'a[$(x)]' -eq 1 ]]", "[[ 1 -lt 2 ]]", "[[ -v 'a[$(x)]' ]]", "[[ -R a ]]", "[[ -o errexit ]]", "[[ -t 1 ]]", "[[ a ]]", "[[ -f $(x) ]]", "[[ -n $x ]]", "[[ -f `x` ]]", "[[ a =~ b ]]", "[[ a < b ]]",
		"[[ a == b* ]]", "[[ a == @(b|c) ]]", "[[ a -nt b ]]", "[[ a -ef b ]]", "[[ -f ~/a ]]", "[[ $((1)) == 1 ]]", "[[ -f <(x) ]]", "[[ ${a:-b} == c ]]", "[[ -f a && 1 -eq 1 ]]", "[[ a ==\nb ]]",
	} {
		if line, err := shellcmd.Parse(src, "/p"); err == nil && len(line.Refused) == 0 {
			t.Errorf("%s is accepted: %s", src, shownAs(line))
		}
	}
}
