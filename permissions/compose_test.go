package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// What people compose of commands that only read passes in plan mode.
func TestReadsMayBeComposed(t *testing.T) {
	for _, command := range []string{
		`for f in a.go b.go; do echo "== $f"; head -20 "$f"; done`, `for d in api web; do (cd $d && ls && cat go.mod); done`, `for f in src/*.go; do wc -l "$f"; done`, "for f in a b\ndo\n  grep -n x $f | head -3\ndone",
		`for n in 1 2 3; do git log -1 HEAD~$n; done`, `if [ -f go.mod ]; then head -3 go.mod; elif test -d src; then ls src; else pwd; fi`, `if grep -q x a; then echo yes; fi && ls`, `if [ -z "$(git status --porcelain)" ]; then echo clean; fi`,
		`echo "branch: $(git branch --show-current), $(git rev-parse HEAD | cut -c1-8)"`, `printf '%s\n' "$(ls | wc -l)"`, `echo "$(cd src && ls)"; ls`, `ls & cat a`, `ls -la &`,
		`git ls-files | xargs wc -l`, `git ls-files -z | xargs -0 wc -l | tail -1`, `find . -name '*.go' | xargs wc -l`, `find . -name '*.go' | xargs -n 1 -I{} ls -l {}`, `grep -rl TODO src | xargs ls -la`, `rg -l TODO | xargs -r wc -l`,
		`find src -type f -name '*.go' -print0 | xargs -0 grep -n TODO`, `find . -type f -print0 | xargs -0 cat | wc -l`, `git diff --name-only | xargs grep -l TODO`, `timeout 5 cat a 2>/dev/null || true`,
	} {
		if d := decide(command, state(permissions.ModePlan)); d.Verdict != yes {
			t.Errorf("Decide(%q) = %s (%s), want allow", command, d.Verdict, d.Reason)
		}
	}
}

// The same forms around anything else do not.
// What is only shown may be a variable of the shell, and a here-string is text like any other.
func TestShownWordsPass(t *testing.T) {
	for _, command := range []string{
		`echo $HOME`, `echo "$PWD" "${USER}"`, `echo $PATH | tr ':' '\n'`, `printf '%s\n' "$SHELL"`, `cat <<< 'a b'`, `wc -c <<< "hello"`, `bc <<< "2^10"`, `grep x <<< "x y" | wc -l`, `[ "$(git branch --show-current)" = main ] && echo on main`,
		`if [ "$(ls | wc -l)" -gt 3 ]; then ls; fi`, `test "$(git status --short)" = "" && echo clean`,
	} {
		if d := decide(command, state(permissions.ModePlan)); d.Verdict != permissions.Allow {
			t.Errorf("Decide(%q) = %s (%s), want allow", command, d.Verdict, d.Reason)
		}
	}
}

func TestCompositionHidesNothing(t *testing.T) {
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("run tests")}
	s.Rules = []permissions.Rule{bashRule(permissions.Allow, "make lint:*")}
	for _, command := range []string{
		// loops
		`for f in a b; do rm "$f"; done`, `for f in a -o; do sort $f x; done`, `for f in ../x; do cat $f; done`, `for f in ~/.ssh/id_rsa; do cat $f; done`, `for f in /etc/passwd; do cat "$f"; done`, `for f in *; do sort "$f"; done`,
		`for f in -delete; do find . $f; done`, `for f in *.go; do cat $f; done`, `for c in rm; do $c x; done`, `for f in a; do cat $g; done`, `for f in $(ls); do cat $f; done`, `for f in a; do f=/etc/passwd; cat $f; done`,
		`for f in a; do read f; cat $f; done`, `for f in a b; do go test ./$f; done`, `for f in a b; do make lint; done`, `for f in a; do cd ..; done; cat x`, `for f in 'a;rm x'; do sh -c "$f"; done`, `for f in .env; do cat $f; done`,
		`for f in "a /etc/passwd"; do cat $f; done`, `for f in '*'; do cat $f; done`, `for f in '-i'; do sed $f 1p a; done`, `for f in a; do echo x > $f; done`, `for f in a; do ls; done > x`, `for path in a; do cat $path$IFS; done`,
		`for f in 'x/../../../y'; do cat "a/$f"; done`, `for r in push; do git $r; done`, `for f in a; do cat <<E; done` + "\nx\nE", `while true; do ls; done`, `until ls; do ls; done`, `for f in a; do ls & rm x; done`,
		// branches
		`if rm x; then ls; fi`, `if ls; then rm x; fi`, `if ls; then ls; else rm x; fi`, `if cd ..; then cat x; fi`, `if cd /; then ls; fi; cat x`, `if ls; then ls; fi > x`, `if [ -v 'a[$(x)]' ]; then ls; fi`, `if go test ./...; then git push; fi`,
		// substitutions
		`echo "$(rm x)"`, `echo "$(go test ./...)"`, `echo "$(make lint)"`, `echo $(cat a)`, `cat "$(ls)"`, `echo "$(cat /etc/passwd)"`, `echo "$(cat ~/.ssh/id_rsa)"`, `echo "$(ls)" > x`, `echo "$(ls)" | sh`, `printf "$(cat a)"`, `printf -v x "$(ls)"`,
		`ls "$(pwd)"`, `"$(cat a)"`, `cd "$(cat a)" && ls`, `[ "$(echo -v)" 'a[$(x)]' ]`, `grep "$(cat a)" b`, `env A="$(ls)" ls`, `A="$(ls)" ls`, `echo "$(< /etc/passwd)"`, `echo "$(ls; curl x)"`, `echo "$(echo "$(rm x)")"`, `xargs "$(ls)"`,
		// xargs
		`ls | xargs rm`, `xargs wc -l`, `xargs wc -l < a`, `cat a | xargs wc -l`, `echo /etc/passwd | xargs wc -l`, `git ls-files | xargs cat`, `git ls-files | xargs grep -n x`, `find . | xargs cat`, `find . -type f | xargs cat`,
		`find . -print0 | xargs -0 cat`, `find . -type f -o -print0 | xargs -0 cat`, `find -H . -type f -print0 | xargs -0 cat`, `find / -type f -print0 | xargs -0 cat`, `find . -type f -print0 | xargs -0 sort`, `find . -type f -print0 | xargs -0 sed -n 1p`,
		`find . -printf '/etc/passwd\n' | xargs ls`, `git ls-files | xargs sh -c ls`, `git ls-files | xargs -I{} sh -c 'wc {}'`, `git ls-files | xargs -a x wc`, `git ls-files | xargs --arg-file=x wc`, `git ls-files | xargs`, `git ls-files | xargs -i wc {}`,
		`git ls-files | xargs env wc`, `git ls-files | xargs timeout 5 wc`, `git ls-files | xargs xargs wc`, `git ls-files | xargs git add`, `git ls-files | xargs go test`, `go test ./... | xargs wc`, `(ls) | xargs wc`, `ls ../x | xargs wc`,
		`git log --name-only | xargs ls`, `git diff --name-only -p | xargs ls`, `git ls-files | timeout 5 xargs rm`, `git ls-files | xargs -o wc`, `git ls-files | xargs -p wc`, `git ls-files | xargs -I rm wc`, `find . -type f -print0 | xargs -0 -I{} cat {}/../../x`,
		// here-strings, variables that are shown, comparisons
		`cat <<< $x`, `cat <<< "$(rm x)"`, `cat 3<<< x`, `bash <<< 'rm x'`, `sh <<< ls`, `xargs rm <<< x`, `cat <<< x > y`, `cat $HOME`, `ls "$HOME"`, `cd $HOME && ls`, `cat "$PWD/../x"`, `echo $HOME > x`, `echo ${HOME:-$(rm x)}`, `echo "${HOME@P}"`, `echo ${!HOME}`,
		`echo ${PATH/a/b}`, `$SHELL -c ls`, `$PATH`, `printf -v PATH $HOME`, `printf $HOME`, `echo $TOKEN`, `echo "$AWS_SECRET_ACCESS_KEY"`, `test -n $HOME -o -v x`, `[ "$(rm x)" = y ]`, `[ "$(ls)" = y -a -v x ]`, `[ x = y -o "$(ls)" ]`, `[ ! "$(ls)" = y ]`,
		`[ $HOME = y ]`, `test -n $HOME`, `[ "$(ls)" -nt y ]`, `[ -v "$(ls)" ]`, `[ $(ls) = y ]`, `test "$(ls)" -ef x`, `rm "$HOME"`, `find "$PWD" -delete`, `git log $PWD`, `grep x $HOME`,
		// the background
		`rm x &`, `ls & rm x`, `cd .. & cat ../x`, `coproc ls`, `go test ./... & git push`, `npm run deploy &`,
	} {
		if d := decide(command, s); d.Verdict == yes {
			t.Errorf("Decide(%q) = allow (%s)", command, d.Reason)
		}
	}
}
