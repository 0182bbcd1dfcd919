package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

func TestFindHandsOnOnlyToWhatReads(t *testing.T) {
	for command, want := range map[string]permissions.Verdict{
		`find . -name '*.go' -exec wc -l {} +`: yes, `find . -name '*.go' -exec grep -l x {} \;`: yes, `find src -type f -exec head -3 {} \;`: yes, `find . -type f -not -path './.git/*' -exec grep -n x {} +`: yes,
		`find . -type f -exec cat {} \; -exec wc -l {} +`: yes, `find . -size +1k -exec ls -lh {} ';'`: yes,
		`find . -exec cat {} \;`: maybe, `find . -type l -exec cat {} \;`: maybe, `find . ! -type f -exec cat {} \;`: maybe, `find . -not -type f -exec cat {} \;`: maybe, `find . -type f -o -name x -exec cat {} \;`: maybe,
		`find . \( -type f -o -type l \) -exec cat {} +`: maybe, `find . -type f -exec rm {} \;`: maybe, `find . -type f -exec grep x {} \; -delete`: maybe, `find . -type f -exec grep x {} \; -exec rm {} +`: maybe, `find . -exec env wc {} \;`: maybe,
		`find . -exec timeout 5 wc {} \;`: maybe, `find . -exec xargs wc {} \;`: maybe, `find . -exec find {} -delete \;`: maybe, `find . -exec {} \;`: maybe, `find . -exec ./wc {} \;`: maybe, `find . -exec wc -l {}`: maybe, `find . -exec wc x{} \;`: yes,
		`find . -type f -exec grep -f /etc/passwd {} \;`: maybe, `find . -type f -exec sed -i s/a/b/ {} \;`: maybe, `find . -type f -exec sort -o x {} \;`: maybe, `find . -type f -execdir cat {} \;`: maybe, `find . -type f -ok cat {} \;`: maybe,
		`find /etc -type f -exec cat {} \;`: maybe, `find . -H -type f -exec cat {} \;`: maybe, `find . -type f -exec $c {} \;`: maybe, `find . -type f -exec cat ../x {} \;`: maybe, `find . -type f -exec sh -c 'cat {}' \;`: maybe, `find . -name -exec rm \;`: maybe,
	} {
		if d := decide(command, state(permissions.ModePlan)); (d.Verdict == permissions.Allow) != (want == yes) {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

func TestGitRunsInTheFolderItIsGiven(t *testing.T) {
	for command, want := range map[string]permissions.Verdict{
		"git -C src status": yes, "git -C /project log --oneline -1": yes, "git -C . --no-pager show --stat": yes, "git -C src show HEAD:../go.mod": yes, "git -C src log -- ../a": yes,
		"git -C .. status": maybe, "git -C /etc log": maybe, "git -C src log -- ../../x": maybe, "git -C ~ status": maybe, "git -C $x status": maybe, "git -C '' status": maybe, "git -C a -C .. status": maybe, "git -Csrc status": maybe, "git -C": maybe,
		"git -C src push": maybe, "git -C src -c core.pager=x log": maybe, "git -C src*": maybe, "git -C src branch x": maybe,
	} {
		if d := decide(command, state(permissions.ModePlan)); (d.Verdict == permissions.Allow) != (want == yes) {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
	// The configuration that counts is that of the repository in the folder.
	engine := permissions.New(permissions.Config{Resolver: nested{}})
	for command, want := range map[string]permissions.Verdict{"git status": yes, "git -C sub status": maybe, "git -C other status": yes} {
		if d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, state(permissions.ModePlan)); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// nested is a tree with a repository in it whose configuration runs programs.
type nested struct{ disk }

func (nested) GitConfig(dir string) (permissions.GitInfo, error) {
	if dir == "/project/sub" {
		return permissions.GitInfo{Repository: true, ExecKeys: []string{"core.fsmonitor"}}, nil
	}
	return permissions.GitInfo{Repository: true}, nil
}
