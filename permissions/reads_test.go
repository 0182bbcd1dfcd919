package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// Credentials ask whatever reads them, and so does what lies outside the tree.
func TestReadersStayInTheTree(t *testing.T) {
	s := state(permissions.ModePlan)
	for _, reader := range []string{
		"cat", "sha256sum", "md5sum", "sha1sum", "sha512sum", "b2sum", "cksum", "od", "tac", "rev", "nl", "fold", "paste", "uniq", "cut -f1", "diff a", "cmp a", "comm a", "jq .", "rg x", "sed -n 1p", "awk '{print $1}'", "file",
		"git blame", "git grep x --", "git show --", "git ls-files -s", "base64", "strings", "xxd",
	} {
		for _, file := range []string{"~/.ssh/id_rsa", "/home/user/.ssh/id_rsa", "/etc/passwd", ".env", "../x", "sub/../../x", "server.pem", "~/.config/gh/hosts.yml"} {
			for _, mode := range permissions.Modes()[:5] {
				s.Mode = mode
				if d := decide(reader+" "+file, s); d.Verdict == yes {
					t.Errorf("%s: Decide(%s %s) = allow (%s)", mode, reader, file, d.Reason)
				}
			}
		}
	}
	s.Mode = permissions.ModePlan
	for _, command := range []string{
		"find / -name x", "find ~ -name x", "find .. -type f", "find a ../b", "du -sh /", "tree ..", "ls -R ~", "stat /etc/shadow", "readlink -f ~/.ssh", "realpath ../x", "date -r /etc/passwd", "test -f ~/.netrc", "[ -d /etc ]", "df /root",
		"git cat-file -p HEAD:.env", "git show HEAD:config/server.pem", "rg -f /etc/passwd x", "git ls-files -X /etc/passwd", "git blame --ignore-revs-file /etc/passwd a", "find . -newer /etc/passwd", "cut -f1 < ~/.netrc", "jq . < .env",
		"find /home/user -name x", "go list ../...", "diff ./a /etc/passwd", "go doc ../x",
	} {
		if d := decide(command, s); d.Verdict == yes {
			t.Errorf("Decide(%s) = allow (%s)", command, d.Reason)
		}
	}
	for _, command := range []string{
		"find . -name x", "sha256sum a", "[ -f a ] && cat a", "command -v swarm", "find . -name swarm -type d", "which nats", "find . -path './swarm/*' -name approve", "diff a b", "go env GOPATH", "git branch --list 'x*' | head -3", "[ $? -eq 0 ] || echo no",
		"git show HEAD:go.mod", "sed -n '1,5p' a | awk '{print $1}' | sort | uniq -c", "ls; echo $?; printf '%s\\n' done",
	} {
		if d := decide(command, s); d.Verdict != yes {
			t.Errorf("Decide(%s) = %s (%s), want allow", command, d.Verdict, d.Reason)
		}
	}
}

// diff reads every file of a folder through links in it.
func TestDiffReadsNoFolders(t *testing.T) {
	for name, row := range map[string]struct {
		resolver permissions.Resolver
		want     permissions.Verdict
	}{
		"files":          {disk{}, yes},
		"a folder":       {disk{globs: map[string][]string{"/project/b/*": {"/project/b/link"}}}, maybe},
		"a linked one":   {disk{links: map[string]string{"/project/b": "/project/c"}, globs: map[string][]string{"/project/c/*": {"/project/c/link"}}}, maybe},
		"cannot be told": {blind{}, maybe},
	} {
		d := permissions.New(permissions.Config{Resolver: row.resolver}).Decide(permissions.Call{Tool: "Bash", Command: "diff a b", Cwd: "/project"}, state(permissions.ModePlan))
		if d.Verdict != row.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, row.want)
		}
	}
}
