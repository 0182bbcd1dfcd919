//go:build linux

package execute_test

import (
	"os"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// gitQueries are what people ask of a repository; go's own commands ask it too.
var gitQueries = []string{
	"git status", "git status -s", "git diff", "git diff HEAD", "git diff --stat", "git diff --cached", "git diff --ext-diff", "git diff --textconv", "git diff --submodule=diff", "git log -p -2", "git log --oneline --graph -3",
	"git log --show-signature -1", "git log --format=%G? -1", "git log --format=pretty -1", "git show", "git show HEAD:a.txt", "git show --textconv HEAD:a.txt", "git show --ext-diff", "git blame a.txt", "git grep one", "git grep --textconv one",
	"git ls-files", "git ls-files -m", "git ls-files -o --exclude-standard", "git describe --dirty --always", "git branch -vv", "git stash list", "git stash show -p", "git rev-parse HEAD", "git cat-file -p HEAD", "git cat-file --textconv HEAD:a.txt",
	"git cat-file --filters HEAD:a.txt", "git submodule status", "git remote -v", "git config --list", "git reflog", "git shortlog -sn HEAD", "git worktree list", "git tag -l", "git for-each-ref", "git ls-remote .", "git ls-remote origin",
	"git archive HEAD", "git archive --format=x HEAD", "git diff --no-index a.txt go.mod", "git check-ignore a.txt", "git count-objects -v", "git merge-tree --write-tree HEAD HEAD", "git merge-base HEAD HEAD", "git -p log -1", "git --paginate status",
	"git st", "git difftool -y", "git help log", "git fetch", "git verify-commit HEAD", "git interpret-trailers --trailer x=y a.txt", "git rev-list --objects HEAD", "git ls-tree -r HEAD", "git show-ref", "git symbolic-ref HEAD", "git version",
	"ls -la", "cat a.txt", "rg one", "go list ./...", "go version",
}

// A repository says what git runs: by its configuration, wherever that stands, by attributes and by hooks. Whatever is
// allowed there is carried out, and no canary runs.
func TestNoRepositoryRunsACanary(t *testing.T) {
	t.Parallel()
	type row struct {
		name    string
		prepare func(t *testing.T, n *nest)
		control string // empty where that needs a terminal, a network or a newer git
		more    []string
	}
	fill := func(n *nest, s string) string {
		return strings.NewReplacer("@", n.canary, "%out", n.outside, "%tree", n.tree).Replace(s)
	}
	config := func(kv ...string) func(*testing.T, *nest) {
		return func(t *testing.T, n *nest) {
			for _, e := range kv {
				key, value, _ := strings.Cut(e, "=")
				git(t, n.tree, "config", fill(n, key), fill(n, value))
			}
		}
	}
	attributes := func(attr string, kv ...string) func(*testing.T, *nest) {
		return func(t *testing.T, n *nest) {
			n.file(t, ".gitattributes", "*.txt "+attr+"\n")
			config(kv...)(t, n)
		}
	}
	signed := func(kind string, kv ...string) func(*testing.T, *nest) {
		return func(t *testing.T, n *nest) {
			text := git(t, n.tree, "cat-file", "commit", "HEAD")
			head, message, _ := strings.Cut(text, "\n\n")
			writeFile(t, n.outside+"/commit", head+"\ngpgsig -----BEGIN "+kind+"-----\n \n x\n -----END "+kind+"-----\n\n"+message)
			id := strings.TrimSpace(git(t, n.tree, "hash-object", "-t", "commit", "-w", n.outside+"/commit"))
			git(t, n.tree, "update-ref", "HEAD", id)
			config(kv...)(t, n)
		}
	}
	inGit := func(name, content string, then ...func(*testing.T, *nest)) func(*testing.T, *nest) {
		return func(t *testing.T, n *nest) {
			writeFile(t, n.tree+"/.git/"+name, fill(n, content))
			for _, f := range then {
				f(t, n)
			}
		}
	}
	hook := func(names ...string) func(*testing.T, *nest) {
		return func(t *testing.T, n *nest) {
			for _, name := range names {
				n.program(t, n.tree+"/.git/hooks/"+name)
			}
		}
	}
	nested := func(at string, bare bool) func(*testing.T, *nest) {
		return func(t *testing.T, n *nest) {
			dir := n.tree + "/" + at
			if bare {
				git(t, n.tree, "init", "-q", "--bare", dir)
				git(t, dir, "config", "core.worktree", "..")
				git(t, dir, "config", "core.bare", "false")
			} else {
				repository(t, dir)
			}
			git(t, dir, "config", "core.fsmonitor", n.canary)
		}
	}
	fsmonitor := "[core]\n\tfsmonitor = @\n"
	rows := []row{
		{"core.fsmonitor", config("core.fsmonitor=@"), "git status", nil},
		{"core.pager", config("core.pager=@", "pager.log=@", "pager.status=true", "pager.diff=@"), "", nil},
		{"core.editor", config("core.editor=@"), "git commit --amend", nil},
		{"core.sshCommand", config("core.sshCommand=@", "remote.origin.url=ssh://h.invalid/x", "ssh.variant=ssh"), "git ls-remote origin", nil},
		{"core.hooksPath", func(t *testing.T, n *nest) {
			n.program(t, n.tree+"/h/post-index-change")
			n.program(t, n.tree+"/h/fsmonitor-watchman")
			config("core.hooksPath=h")(t, n)
		}, "git status", nil},
		{"core.askPass", config("core.askPass=@"), "printf 'protocol=https\\nhost=h\\n\\n' | git credential fill", nil},
		{"core.gitProxy", config("core.gitProxy=@", "remote.origin.url=git://h.invalid/x"), "git ls-remote origin", nil},
		{"core.alternateRefsCommand", config("core.alternateRefsCommand=@"), "", nil},
		{"core.attributesFile", func(t *testing.T, n *nest) {
			writeFile(t, n.outside+"/attributes", "* filter=x diff=x\n")
			config("core.attributesFile=%out/attributes", "filter.x.clean=@", "diff.x.textconv=@")(t, n)
		}, "git diff", nil},
		{"core.worktree", func(t *testing.T, n *nest) { config("core.worktree=%out")(t, n) }, "", nil},
		{"diff.external", config("diff.external=@"), "git diff", nil},
		{"diff.x.command", attributes("diff=x", "diff.x.command=@"), "git diff", nil},
		{"diff.x.textconv", attributes("diff=x", "diff.x.textconv=@", "diff.x.cachetextconv=true"), "git log -p -1", nil},
		{"diff.x.textconv by blame", attributes("diff=x", "diff.x.textconv=@"), "git blame a.txt", nil},
		{"attributes in .git/info", inGit("info/attributes", "*.txt diff=x filter=y\n", config("diff.x.textconv=@", "filter.y.clean=@")), "git diff", nil},
		{"filter.x.clean", attributes("filter=x", "filter.x.clean=@"), "git diff", []string{"go build ./...", "go vet ./...", "go test ./..."}},
		{"filter.x.smudge", attributes("filter=x", "filter.x.smudge=@"), "git checkout -- a.txt", nil},
		{"filter.x.process", attributes("filter=x", "filter.x.process=@", "filter.x.required=false"), "git diff", nil},
		{"gpg.program", signed("PGP SIGNATURE", "gpg.program=@", "log.showSignature=true"), "git log -1", nil},
		{"gpg.program by a format", signed("PGP SIGNATURE", "gpg.program=@", "format.pretty=%G?"), "git log -1", nil},
		{"gpg.program by an alias of a format", signed("PGP SIGNATURE", "gpg.program=@", "pretty.pretty=%G?"), "git log --format=pretty -1", nil},
		{"gpg.x509.program", signed("SIGNED MESSAGE", "gpg.x509.program=@"), "git log --show-signature -1", nil},
		{"gpg.ssh.program", signed("SSH SIGNATURE", "gpg.ssh.program=@", "gpg.ssh.allowedSignersFile=/dev/null"), "git log --show-signature -1", nil},
		{"gpg.ssh.defaultKeyCommand", config("gpg.format=ssh", "gpg.ssh.defaultKeyCommand=@"), "git commit -S --allow-empty -m z", nil},
		{"credential.helper", config("credential.helper=!@"), "printf 'protocol=https\\nhost=h\\n\\n' | git credential fill", nil},
		{"credential of a host", config("credential.https://h.helper=!@"), "printf 'protocol=https\\nhost=h\\n\\n' | git credential fill", nil},
		{"include.path", inGit("more", fsmonitor, config("include.path=more")), "git status", nil},
		{"include.path in the tree", func(t *testing.T, n *nest) {
			n.file(t, "project.gitconfig", fill(n, fsmonitor))
			config("include.path=../project.gitconfig")(t, n)
		}, "git status", nil},
		{"includeIf", inGit("more", fsmonitor, config("includeIf.gitdir:**.path=more")), "git status", nil},
		{"includeIf by a branch", inGit("more", fsmonitor, config("includeIf.onbranch:main.path=more")), "git status", nil},
		{"alias", config("alias.st=!@"), "git st", nil},
		{"remote.x.uploadpack", config("remote.origin.url=.", "remote.origin.uploadpack=@"), "git ls-remote origin", nil},
		{"remote.x.receivepack", config("remote.origin.url=.", "remote.origin.receivepack=@"), "git push origin HEAD:x", nil},
		{"remote.x.vcs", config("remote.origin.vcs=x"), "", nil},
		{"protocol.ext.allow", config("remote.origin.url=ext::@", "protocol.ext.allow=always"), "git ls-remote origin", nil},
		{"protocol.allow", config("remote.origin.url=ext::@", "protocol.allow=always"), "git ls-remote origin", nil},
		{"url.x.insteadOf", config("url.ext::@.insteadOf=.", "protocol.ext.allow=always"), "git ls-remote .", nil},
		{"uploadpack.packObjectsHook", config("uploadpack.packObjectsHook=@"), "", nil},
		{"sequence.editor", config("sequence.editor=@"), "git stash -q && git rebase -i HEAD~1", nil},
		{"interactive.diffFilter", config("interactive.diffFilter=@", "color.ui=always"), "", nil},
		{"merge.x.driver", func(t *testing.T, n *nest) {
			attributes("merge=x", "merge.x.driver=@")(t, n)
			git(t, n.tree, "add", ".")
			git(t, n.tree, "commit", "-q", "-m", "ours")
			git(t, n.tree, "checkout", "-q", "-b", "side", "HEAD~1")
			n.file(t, "a.txt", "one\nthree\n")
			git(t, n.tree, "commit", "-q", "-a", "-m", "theirs")
			git(t, n.tree, "checkout", "-q", "main")
		}, "git merge side", []string{"git merge-tree --write-tree main side", "git merge-tree main side"}},
		{"tar.x.command", config("tar.x.command=@"), "git archive --format=x HEAD", nil},
		{"trailer.x.command", config("trailer.x.command=@", "trailer.x.key=x"), "git interpret-trailers --trailer x=y a.txt", nil},
		{"trailer.x.cmd", config("trailer.x.cmd=@", "trailer.x.key=x"), "git interpret-trailers --trailer x=y a.txt", nil},
		{"difftool", config("diff.tool=x", "difftool.x.cmd=@", "difftool.prompt=false", "mergetool.x.cmd=@", "diff.guitool=x"), "git difftool -y", nil},
		{"browser and man", config("help.format=man", "man.viewer=x", "man.x.cmd=@", "web.browser=x", "browser.x.cmd=@", "help.browser=x"), "git help log", nil},
		{"sendemail and imap", config("sendemail.smtpServer=@", "sendemail.toCmd=@", "imap.tunnel=@", "svn.authorsProg=@", "instaweb.httpd=@", "guitool.x.cmd=@"), "", nil},
		{"a promised blob", func(t *testing.T, n *nest) {
			blob := strings.TrimSpace(git(t, n.tree, "rev-parse", "HEAD:a.txt"))
			config("remote.origin.url=%tree", "remote.origin.uploadpack=@", "remote.origin.promisor=true", "extensions.partialClone=origin", "core.repositoryFormatVersion=1")(t, n)
			if err := os.Remove(n.tree + "/.git/objects/" + blob[:2] + "/" + blob[2:]); err != nil {
				t.Fatal(err)
			}
		}, "git diff", nil},
		{"a worktree's configuration", inGit("config.worktree", fsmonitor, config("extensions.worktreeConfig=true")), "git status", nil},
		{"another spelling", inGit("x", "", func(t *testing.T, n *nest) {
			writeFile(t, n.tree+"/.git/config", readFile(t, n.tree+"/.git/config")+"[CORE] FsMonitor = \"\\\n"+n.canary+"\" # x\n")
		}), "git status", nil},
		{"a .git that is a file", func(t *testing.T, n *nest) {
			if err := os.Rename(n.tree+"/.git", n.outside+"/git"); err != nil {
				t.Fatal(err)
			}
			n.file(t, ".git", "gitdir: "+n.outside+"/git\n")
			config("core.fsmonitor=@")(t, n)
		}, "git status", nil},
		{"a .git that is a link", func(t *testing.T, n *nest) {
			if err := os.Rename(n.tree+"/.git", n.outside+"/git"); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(n.outside+"/git", n.tree+"/.git"); err != nil {
				t.Fatal(err)
			}
			config("core.fsmonitor=@")(t, n)
		}, "git status", nil},
		{"a submodule's configuration", func(t *testing.T, n *nest) {
			other := repository(t, n.outside+"/other")
			git(t, n.tree, "submodule", "--quiet", "add", other, "deps/sub")
			git(t, n.tree+"/deps/sub", "config", "core.fsmonitor", n.canary)
		}, "git status", []string{"cd deps/sub && git status", "git -C deps/sub status"}},
		{"submodule.x.update", func(t *testing.T, n *nest) {
			other := repository(t, n.outside+"/other")
			git(t, n.tree, "submodule", "--quiet", "add", other, "deps/sub")
			config("submodule.deps/sub.update=!@")(t, n)
			git(t, n.tree+"/deps/sub", "commit", "-q", "--allow-empty", "-m", "z")
		}, "git submodule update", nil},
		{"a repository inside", nested("sub", false), "cd sub && git status", []string{"cd sub && git status", "cd sub && git diff", "git -C sub status", "git -C sub log -p"}},
		{"a bare one inside", nested("evil", true), "cd evil && git status", []string{"cd evil && git status", "cd evil && git diff", "git -C evil status", "cd evil/refs && git status", "git --git-dir=evil status"}},
		{"hooks", hook("post-index-change", "pre-commit", "post-checkout", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc", "post-rewrite", "update", "pre-receive"), "git status", []string{"git branch --list", "git tag", "git stash list"}},
		{"hooks by git diff", hook("post-index-change"), "git diff", nil},
		{"hooks by git describe", hook("post-index-change"), "git describe --always --dirty", nil},
		{"an npm project", func(t *testing.T, n *nest) {
			n.program(t, n.tree+"/node_modules/.bin/canary")
			n.file(t, ".npmrc", "script-shell="+n.canary+"\nnode-options=--require="+n.canary+"\n")
		}, "npm test", []string{"npm test", "npm ls", "npm root", "npm prefix", "npm outdated"}},
		{"go's own files", func(t *testing.T, n *nest) {
			n.file(t, "go.env", "GOFLAGS=-toolexec="+n.canary+"\n")
			n.file(t, "go.work", "go 1.21\n\nuse .\n")
			n.program(t, n.tree+"/go")
			n.program(t, n.tree+"/git")
			n.program(t, n.tree+"/ls")
		}, "./ls", []string{"ls", "go list ./...", "go vet ./..."}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			n := newNest(t)
			r.prepare(t, n)
			n.marked() // the preparation itself may have run it
			allowed := 0
			queries := gitQueries
			if raced { // its race detector has nothing to find in git, and takes its time
				queries = queries[:12]
			}
			for _, line := range append(r.more, queries...) {
				if n.carry(t, line).Verdict == permissions.Allow {
					allowed++
				}
			}
			if r.control != "" && installed(r.control) {
				n.control(t, r.control, []string{"GIT_ALLOW_PROTOCOL=file:ext:git:ssh:https"})
			}
			t.Logf("%d of %d commands allowed", allowed, len(r.more)+len(queries))
		})
	}
}
