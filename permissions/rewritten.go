package permissions

import (
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// rewriters bring files by names that no word of theirs tells.
var rewriters = set(strings.Fields("patch tar unzip cpio 7z rsync bsdtar"))

// moves are git's subcommands that write files of the tree.
var moves = set(strings.Fields("pull checkout switch merge rebase reset restore stash cherry-pick revert apply am read-tree checkout-index clean mv rm submodule bisect sparse-checkout worktree"))

// rewritten lowers a line that was allowed in which one command may change a runner file that a later, granted one obeys:
// what the file says was judged before the line began, and is not judged again between them.
func (v *view) rewritten(d *Decision, list []*shellcmd.Command) {
	if d.Verdict != Allow || len(v.obeyed) == 0 || len(list) < 2 || len(list) != len(d.Commands) || v.bypasses() {
		return
	}
	last := len(list) - 1
	for last > 0 && (d.Commands[last].GrantID == "" || v.ruleAllows(list[last])) {
		last--
	}
	for i, c := range list {
		if i >= last && !c.Piped && !c.Feeds || v.onlyReads(c) {
			continue
		}
		if file := v.mayRewrite(c, d.Commands[i].GrantID != ""); file != "" {
			d.lower(c, "it may change "+file+", which a later command of the line obeys: run it on its own, and then the rest")
			return
		}
	}
}

// ruleAllows reports whether an allow rule lets a command pass that a grant covers, whatever its files say.
func (v *view) ruleAllows(c *shellcmd.Command) bool {
	return slices.ContainsFunc(v.forms(c), func(f step) bool { _, ok := v.widening(f.argv); return ok })
}

// mayRewrite is a runner file that a command may change, or empty. What a grant covers is only held to what it moves.
func (v *view) mayRewrite(c *shellcmd.Command, granted bool) string {
	argv := v.forms(c)[len(v.forms(c))-1].argv
	if len(argv) == 0 {
		return ""
	}
	name := path.Base(argv[0].Text)
	switch {
	case name == "git":
		if argv = withoutGlobals(argv); len(argv) > 1 && moves[argv[1].Text] && !branchesOff(argv) {
			return v.obeyed[0].Path
		}
		return ""
	case granted:
		return ""
	case rewriters[name]:
		return v.obeyed[0].Path
	}
	var some [16]string
	for text := range v.pathsOf(c) {
		tokens, more := pathTokens(some[:0], text)
		if more {
			return v.obeyed[0].Path
		}
		for _, token := range tokens {
			if file := v.namesObeyed(token, c.Dirs); file != "" {
				return file
			}
		}
	}
	return ""
}

// branchesOff reports whether git only gives the commit that is checked out a new branch: no file changes.
func branchesOff(argv []shellcmd.Word) bool {
	return len(argv) == 4 && (argv[1].Text == "checkout" && argv[2].Text == "-b" || argv[1].Text == "switch" && (argv[2].Text == "-c" || argv[2].Text == "--create"))
}

// namesObeyed is the runner file that a path leads to, by its last part, as file systems compare it, or where links lead.
func (v *view) namesObeyed(token string, dirs []string) string {
	names := []string{path.Base(token)}
	for _, dir := range dirs {
		if s := v.place(token, dir); s.real != "" {
			names = append(names, path.Base(s.real))
		}
	}
	for _, f := range v.obeyed {
		if base := path.Base(f.Path); slices.ContainsFunc(names, func(n string) bool {
			ok, err := path.Match(strings.ToLower(wildcards(n)), strings.ToLower(base))
			return strings.EqualFold(n, base) || ok && err == nil
		}) {
			return f.Path
		}
	}
	return ""
}
