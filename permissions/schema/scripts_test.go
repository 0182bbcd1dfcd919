package schema_test

import (
	"errors"
	"testing"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// given matches a program with one operand, whatever a shell would say of it.
func given(program, operand string) error {
	_, err := schema.ReadOnly().Match([]shellcmd.Word{{Text: program, Source: program}, {Text: operand, Source: operand}})
	return err
}

func TestScriptsThatOnlyPrint(t *testing.T) {
	for program, scripts := range map[string][]string{
		"sed": {
			`s/#.*//`, `s/^([a-z]+)=.*/\1/`, `/^$/d`, `s/,/\n/g`, `1,10d;s/foo/bar/g`, `/x/!d`, `s|/[^/]*$||`, `:a;N;$!ba;s/\n/,/g`, `/a/,/b/{p;q}`, `$p`, `s/[[:space:]]*$//`, `10q`, `1~2p`, `0,/x/p`, `y/abc/xyz/`,
			`$!N;P;D`, `s/a/b/2gI;p`, `5!{s/a/b/}`, `\|x|p`, `/a/I,+3p`, "/a/p\n/b/d", `s,a,b,;s#c#d#`, `n;d`, `/x/{=;p}`, `s/[]x]/y/`, `s/a\/b/c/`,
		},
		"awk": {
			`{print}`, `NR>=10 && NR<=20`, `/^func /{print FILENAME": "FNR": "$0}`, `{s+=$1} END {print s}`, `NR>1 {c[$2]++} END {for (k in c) print k, c[k]}`, `length > 100`, `{ printf "%-20s %s\n", $1, $2 }`, `!seen[$0]++`,
			`{print $NF}`, `$3 ~ /foo|bar/ {print $1/2}`, `BEGIN{FS=","} {print $1 "|" $2}`, `/start/,/end/`, `{if ($1 > 5) print $2; else print "x"}`, `{gsub(/[ \t]+/," "); print}`, `{print (a > b)}`, `END{print NR}`,
			`{n=split($0,a,/,/); print a[n]}`, "{\n  s += $1\n}\nEND {\n  print s\n}", `/[[:digit:]]/`, `{print "a > b | c"}`, `/a\/b/ {print substr($0, 1, 10)}`,
		},
	} {
		for _, s := range scripts {
			if err := given(program, s); err != nil {
				t.Errorf("%s %q = %v", program, s, err)
			}
		}
	}
}

// What writes, runs or reads elsewhere, and what one reader of the language takes for text and another for a command.
func TestScriptsThatDoMore(t *testing.T) {
	for program, scripts := range map[string][]string{
		"sed": {
			`s/a/b/e`, `s/a/b/w x`, `w x`, `1e`, `e id`, `/[/]/w x;/p`, `s/[/]/w x/p`, `r /etc/passwd`, `R x`, `s/a/b/;w x`, `{p;w x}`, `s/a\/w x`, `a\`, `s/a/b`, `1R x`, `s/a/b/gw x`, `s/a/b/ge`, `v`, "p\ne id", `:a w x;e`, `y/a/b/e`,
			`s,a,b,e`, `/x/s//id/e`, `1W x`, `s/a/b/m;w x`, "a text\\\nw x", `i\`, `c x`, "s/a/b\\\n/w x/", `s/[\]/w x/p`, `s/[[.].]/]/w x/`, `/a/ w x`, `1!w x`, `$ e`, `{w x`, `}w x`, `# x`, `y/a/`, `\nanp`, `sxaxbx`, `M`, `p p`, `pw x`, `:`, `10000000000p`,
		},
		"awk": {
			`{print > "x"}`, `{print $1 > "x"}`, "{print a,\n b > \"x\"}", `{print | "sh"}`, `{system("x")}`, `BEGIN{"ls"|getline}`, `{print $1 >> "x"}`, `if(1) /"/; print "x" > "f"`, `BEGIN{switch(x){case /"/: print "a" > "f" ; y="}`,
			`{printf("%s",x) > "f"}`, `{print (a)(b) > "f"}`, `BEGIN{ARGV[1]="/etc/x"}`, `{f="x";@f()}`, `{print a[1]>"x"}`, `{print "x" |& "c"}`, `function f(){print > "x"} {f()}`, `{print length /"/ > "x" }`, `{print x++ /"/ > "f"; "}`, `{print; print>"x"}`,
			`{if(1)print>"x"}`, `{print ENVIRON["A"]}`, `@include "x"`, `@load "x"`, `{close("x")}`, `BEGIN{while((getline l < "/etc/x")>0) print l}`, `{print > $1}`, `{print >"/dev/stderr"}`, "{print \\\n > \"x\"}", `{print # > "x"`, `{foo(1)}`,
			`{print /[/]/ > "x"}`, `{return /"/; print "a" > "x" }`, `{print a ? b : c > "x"}`, `{"a`, `{print ) > "x"}`, `{awk::system("x")}`, `/a`, `{print "a`, `{print (a}`,
		},
		"yq": {`-i`, `.x = load("a")`, `strenv(X)`, `.a = env(B)`, `eval(.x)`, `load_str("a")`, `import "a"`},
	} {
		for _, s := range scripts {
			if err := given(program, s); !errors.Is(err, schema.ErrUnknown) {
				t.Errorf("%s %q = %v, want ErrUnknown", program, s, err)
			}
		}
	}
}
