package permissions_test

import (
	"errors"
	"testing"

	"github.com/planswarm/swarm/permissions"
)

func TestLinksLeadWhereTheyLead(t *testing.T) {
	engine := permissions.New(permissions.Config{Resolver: disk{
		links: map[string]string{
			"/project/out":      "/etc",
			"/project/keys":     "/home/user/.config/swarm",
			"/project/rsa":      "/home/user/.ssh/id_rsa",
			"/project/memo.md":  "/project/CLAUDE.md",
			"/project/in":       "/project/src/deep",
			"/project/new.txt":  "/tmp/does-not-exist",
			"/link-to-project":  "/project",
			"/home/user/.state": "/home/user/.local/state",
			planFile:            "/project/a.go",
		},
		globs: map[string][]string{"/project/*.txt": {"/project/a.txt", "/project/new.txt"}, "/project/*.md": {"/project/README.md"}, "/project/src/*": {"/project/src/rsa.pem"}},
		git:   permissions.GitInfo{Repository: true},
	}})
	for _, row := range []struct {
		call permissions.Call
		mode permissions.Mode
		want permissions.Verdict
	}{
		{permissions.Call{Tool: "Bash", Command: "cat out/passwd"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "cat keys/config.yaml"}, permissions.ModeBypass, never},
		{permissions.Call{Tool: "Bash", Command: "echo x > keys/config.yaml"}, permissions.ModeBypass, never},
		{permissions.Call{Tool: "Bash", Command: "cat /home/user/.state/swarm/x"}, permissions.ModeBypass, never},
		{permissions.Call{Tool: "Bash", Command: "cat rsa"}, permissions.ModeBypass, maybe},
		{permissions.Call{Tool: "Bash", Command: "rm memo.md"}, permissions.ModeBypass, maybe},
		{permissions.Call{Tool: "Bash", Command: "cat in/x"}, permissions.ModeDefault, yes},
		{permissions.Call{Tool: "Bash", Command: "cat in/../y"}, permissions.ModeDefault, yes},
		{permissions.Call{Tool: "Bash", Command: "cat in/../../../x"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "cd out && ls"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "cd in && ls ../.."}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "cd out; cat passwd"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "cat *.txt"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "cat *.md"}, permissions.ModeDefault, yes},
		{permissions.Call{Tool: "Bash", Command: "cat src/*"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "cat out/*"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "go test ./out/..."}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/link-to-project"}, permissions.ModeDefault, yes},
		{permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/project/out"}, permissions.ModeDefault, maybe},
		{permissions.Call{Tool: "Read", Path: "keys/x"}, permissions.ModeBypass, never},
		{permissions.Call{Tool: "Read", Path: "out/hosts"}, permissions.ModeAcceptEdits, maybe},
		{permissions.Call{Tool: "Edit", Path: "memo.md"}, permissions.ModeAcceptEdits, maybe},
		{permissions.Call{Tool: "Write", Path: "new.txt"}, permissions.ModeAcceptEdits, maybe},
		{permissions.Call{Tool: "Write", Path: "in/x"}, permissions.ModeAcceptEdits, yes},
		{permissions.Call{Tool: "Write", Path: planFile}, permissions.ModePlan, never}, // swapped for a link after it was checked
		{permissions.Call{Tool: "Grep", Path: "keys"}, permissions.ModePlan, never},
	} {
		if row.call.Cwd == "" {
			row.call.Cwd = "/project"
		}
		s := state(row.mode)
		s.Grants = []permissions.Grant{grant("run tests")}
		if d := engine.Decide(row.call, s); d.Verdict != row.want {
			t.Errorf("%s: Decide(%+v) = %s (%s), want %s", row.mode, row.call, d.Verdict, d.Reason, row.want)
		}
	}
}

func TestWhatTheResolverCannotTellAsks(t *testing.T) {
	failing := permissions.New(permissions.Config{Resolver: disk{failing: "/project/dark", git: permissions.GitInfo{Repository: true}}})
	noGlobs := permissions.New(permissions.Config{Resolver: blind{}})
	for _, row := range []struct {
		engine *permissions.Engine
		call   permissions.Call
		want   permissions.Verdict
	}{
		{failing, permissions.Call{Tool: "Bash", Command: "cat dark/x"}, maybe},
		{failing, permissions.Call{Tool: "Bash", Command: "cd dark && ls"}, maybe},
		{failing, permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/project/dark"}, maybe},
		{failing, permissions.Call{Tool: "Read", Path: "dark/x"}, maybe},
		{failing, permissions.Call{Tool: "Edit", Path: "dark/x"}, maybe},
		{failing, permissions.Call{Tool: "Bash", Command: "cat light/x"}, yes},
		{noGlobs, permissions.Call{Tool: "Bash", Command: "cat *.md"}, maybe},
		{noGlobs, permissions.Call{Tool: "Bash", Command: "cat a.md"}, yes},
	} {
		if row.call.Cwd == "" {
			row.call.Cwd = "/project"
		}
		if d := row.engine.Decide(row.call, state(permissions.ModeAcceptEdits)); d.Verdict != row.want {
			t.Errorf("Decide(%+v) = %s (%s), want %s", row.call, d.Verdict, d.Reason, row.want)
		}
	}
}

func TestOnlyPlainLinesPass(t *testing.T) {
	for _, command := range []string{
		"ls |& cat", "time -p ls", "while false; do ls; done", "case a in a) ls;; esac", "f() { ls; }", "f() { ls; }; f",
		"[[ 1 -eq 1 ]]", "ls {1..3}", "((1))", "let x=1", "export A=1", "A=1", "CI=1; ls", "coproc ls", "ls $(pwd)", "ls `pwd`", "cat <(ls)", "ls > x", "ls >> x", "ls <> x", "ls {fd}>x", "cat <<E\nx\nE", "cat <<< $x", "cat <<< \"$(pwd)\"", "ls @(a)",
	} {
		if d := decide(command, state(permissions.ModeAcceptEdits)); d.Verdict != permissions.Ask {
			t.Errorf("Decide(%q) = %s (%s), want ask", command, d.Verdict, d.Reason)
		}
	}
}

func TestReadsStayInTheTree(t *testing.T) {
	for _, command := range []string{
		"cat ../x", "cat a/../../x", "cat /etc/passwd", "cat //etc/passwd", "cat ~/x", "cat ~", "cat ~root/x", "ls ..", "ls /", "ls -la ~", "echo ~", "echo /home/*", "cat ../*", "cat .*", "cat ./.*/x",
		"cat src/*/../../../x", "cat /etc/*", "cat a b ../c", "head -n 3 ../x", "head -n3 -- ../x", "tail -5 /var/log/syslog", "wc -l ../x", "sort ../x", "grep root /etc/passwd", "grep -e root /etc/passwd",
		"grep /etc/passwd -e root", "grep -f /etc/passwd x", "grep -f/etc/passwd x", "grep --file=/etc/passwd x", "grep --exclude-from=../x y", "grep -r x ..", "git diff /etc/passwd a", "git diff -- ../x",
		"git log -- /etc", "git log ../x", "git diff HEAD:.env", "cat < ../x", "cat < /dev/tcp/127.0.0.1/80", "cd ..; ls", "cd .. && ls", "cd / && ls", "cd src; cat ../../x", "cd src; cat ../x", "cd a/b; cat ../x",
		"ls $HOME", "cat $(echo a)", "cat *$x", "sort *", "timeout 5 cat ../x", "env CI=1 cat ../x", "cat .env", "cat sub/.env.local", "head id_rsa", "grep x .npmrc", "cat .e*",
	} {
		for _, mode := range []permissions.Mode{permissions.ModePlan, permissions.ModeAcceptEdits} {
			if d := decide(command, state(mode)); d.Verdict != permissions.Ask {
				t.Errorf("%s: Decide(%q) = %s (%s), want ask", mode, command, d.Verdict, d.Reason)
			}
		}
	}
	for _, command := range []string{"cat ./a", "cat a/../b", "cat /project/a", "cat src/*.go", "cat *.md", "ls *", "cd src && cat ../a", "(cd src; ls); cat a", "cat < a", "ls .env*", "git diff main..HEAD -- a"} {
		if d := decide(command, state(permissions.ModePlan)); d.Verdict != permissions.Allow {
			t.Errorf("Decide(%q) = %s (%s), want allow", command, d.Verdict, d.Reason)
		}
	}
}

// An engine that was given no resolver must not take names for what they say.
func TestWithoutAResolverEverythingAsks(t *testing.T) {
	engine := permissions.New(permissions.Config{})
	for _, mode := range permissions.Modes() {
		for _, call := range []permissions.Call{{Tool: "Bash", Command: "ls"}, {Tool: "Bash", Command: "go test ./..."}, {Tool: "Read", Path: "/project/a"}, {Tool: "Edit", Path: "/project/a"}} {
			call.Cwd = "/project"
			s := state(mode)
			s.Grants = []permissions.Grant{grant("run tests")}
			if d := engine.Decide(call, s); d.Verdict == permissions.Allow {
				t.Errorf("%s: Decide(%+v) = allow (%s)", mode, call, d.Reason)
			}
		}
		for _, command := range []string{"swarm approve r", "cat /home/user/.config/swarm/x", "cat ~/.config/swarm/x"} {
			if d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, state(mode)); d.Verdict != permissions.Deny {
				t.Errorf("%s: Decide(%q) = %s, want deny", mode, command, d.Verdict)
			}
		}
	}
}

// Plain git status, diff and log run what these keys name: present, git asks.
func TestGitAsksWhereTheRepositoryRunsPrograms(t *testing.T) {
	commands := []string{"git status", "git diff", "git log -p", "go list ./..."}
	for _, row := range []struct {
		git  permissions.GitInfo
		err  error
		want permissions.Verdict
	}{
		{permissions.GitInfo{Repository: true}, nil, yes},
		{permissions.GitInfo{Repository: true, ExecKeys: []string{"filter.x.clean"}}, nil, maybe},
		{permissions.GitInfo{Repository: true, ExecKeys: []string{"core.fsmonitor", "include.path"}}, nil, maybe},
		{permissions.GitInfo{}, errors.New("unreadable"), maybe},
	} {
		engine := permissions.New(permissions.Config{Resolver: disk{git: row.git, gitErr: row.err}})
		for _, command := range commands {
			for _, mode := range []permissions.Mode{permissions.ModePlan, permissions.ModeAcceptEdits} {
				d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, state(mode))
				if d.Verdict != row.want {
					t.Errorf("%s: %s with %v, %v = %s (%s), want %s", mode, command, row.git.ExecKeys, row.err, d.Verdict, d.Reason, row.want)
				}
			}
		}
		if d := engine.Decide(permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/project"}, state(permissions.ModePlan)); d.Verdict != yes {
			t.Errorf("ls asks about git: %s", d.Reason)
		}
	}
	if d := permissions.New(permissions.Config{Resolver: disk{}}).Decide(permissions.Call{Tool: "Bash", Command: "git diff a b", Cwd: "/project"}, state(permissions.ModePlan)); d.Verdict != maybe {
		t.Errorf("git outside a repository = %s, want ask", d.Verdict)
	}
}

func TestExecBearingGitKeys(t *testing.T) {
	for _, key := range []string{
		"filter.lfs.clean", "filter.x.smudge", "filter.x.process", "diff.external", "diff.x.textconv", "diff.X.command", "merge.x.driver", "gpg.program", "gpg.ssh.program", "gpg.x509.program",
		"gpg.ssh.defaultKeyCommand", "core.fsmonitor", "core.fsMonitor", "CORE.SSHCOMMAND", "core.hooksPath", "core.editor", "core.pager", "core.askPass", "core.alternateRefsCommand", "core.gitProxy",
		"core.worktree", "credential.helper", "credential.https://x.helper", "include.path", "includeIf.gitdir:~/x.path", "alias.st", "pager.status", "remote.origin.uploadpack", "remote.o.vcs",
		"uploadpack.packObjectsHook", "sequence.editor", "submodule.x.update", "protocol.allow", "difftool.x.cmd", "mergetool.x.cmd", "interactive.diffFilter", "sendemail.smtpserver", "url.x.insteadOf",
		"extensions.partialClone", "remote.o.promisor", "format.pretty", "pretty.x", "tar.x.command", "hook.x.command",
		"gc.recentObjectsHook", "imap.tunnel", "imap.x.tunnel", "help.browser", "instaweb.modulePath", "instaweb.httpd", "sendemail.headerCmd", "sendemail.work.toCmd", "svn.authorsProg", "gitcvs.dbDriver",
		"lfs.extension.x.clean", "lfs.customtransfer.x.path", "lfs.standalonetransferagent", "lfs.https://x.standalonetransferagent", "annex.freezecontent-command", "remote.o.annex-stop-command", "trailer.x.cmd",
	} {
		if !permissions.ExecBearingGitKey(key) {
			t.Errorf("ExecBearingGitKey(%q) = false", key)
		}
	}
	for _, key := range []string{
		"core.bare", "core.filemode", "user.name", "remote.origin.url", "remote.origin.fetch", "branch.main.remote", "diff.renames", "diff.x.xfuncname", "merge.ff", "submodule.x.url", "", "core", "filters.x",
		"gc.auto", "imap.host", "help.autocorrect", "lfs.url", "lfs.https://x.access", "lfs.repositoryformatversion", "annex.uuid", "sendemail.to", "svn-remote.svn.url", "format.signOff",
	} {
		if permissions.ExecBearingGitKey(key) {
			t.Errorf("ExecBearingGitKey(%q) = true", key)
		}
	}
}

// A working tree inside swarm's own folder is the teammate's, and only the tree.
func TestATreeInsideTheStateFolder(t *testing.T) {
	s := state(permissions.ModeAcceptEdits)
	s.Tree = "/home/user/.local/state/swarm/t/trees/a"
	engine := permissions.New(lexical)
	for p, want := range map[string]permissions.Verdict{
		s.Tree + "/x.go": yes, s.Tree + "/../b/x.go": never, "/home/user/.local/state/swarm/t/owner.seed": never, s.Tree + "/.git/config": maybe,
	} {
		if d := engine.Decide(permissions.Call{Tool: "Edit", Path: p, Cwd: s.Tree}, s); d.Verdict != want {
			t.Errorf("Edit %s = %s (%s), want %s", p, d.Verdict, d.Reason, want)
		}
	}
	if d := engine.Decide(permissions.Call{Tool: "Bash", Command: "ls", Cwd: s.Tree}, s); d.Verdict != yes {
		t.Errorf("ls in the tree = %s (%s)", d.Verdict, d.Reason)
	}
}

func TestAStateFolderInsideTheTree(t *testing.T) {
	s := state(permissions.ModePlan)
	s.Forbidden = []string{"/project/state"}
	for command, want := range map[string]permissions.Verdict{"grep -rn x .": maybe, "cat a.go": maybe, "grep -rn x src": maybe, "cat state/x": never, "echo hi": yes} {
		if d := decide(command, s); d.Verdict != want {
			t.Errorf("Decide(%q) = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}

// Git looks into embedded repositories, and runs what their configuration names, unless it ignores all of them.
func TestGitDoesNotLookIntoEmbeddedRepositories(t *testing.T) {
	engine := permissions.New(permissions.Config{Resolver: disk{git: permissions.GitInfo{Repository: true}}})
	for command, want := range map[string]permissions.Verdict{
		"git status --ignore-submodules=all": yes, "git status --ignore-submodules=none": maybe,
		"git diff --ignore-submodules=dirty": maybe, "git log -p --ignore-submodules=untracked": maybe, "git status --ignore-submodules": maybe,
	} {
		if d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, state(permissions.ModePlan)); d.Verdict != want {
			t.Errorf("%s = %s (%s), want %s", command, d.Verdict, d.Reason, want)
		}
	}
}
