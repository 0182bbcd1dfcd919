package permissions

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

var ownName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$`)

// free says why a program's name is not a person's to describe.
func (r *tablesReader) free(name string) error {
	if !ownName.MatchString(name) {
		return flawed("write the bare name that it is called by", "%q cannot be a program's name", name)
	}
	for _, low := range spellings(strings.ToLower(name)) {
		if why := builtIn(low); why != "" {
			return flawed("remove it: an allow rule in ~/.config/swarm/policies can name exact commands of it", "%s %s, and no table of yours replaces that", name, why)
		}
	}
	if slices.ContainsFunc(r.tables.programs, func(p OwnProgram) bool { return p.Name == name }) {
		return flawed("keep one", "%s is listed twice", name)
	}
	return nil
}

var versionEnd = regexp.MustCompile(`[-.]?[0-9][0-9.]*$`)

// spellings are a name in lower case, and what the same program is called elsewhere: without Windows' ending, without a
// version, without GNU's g.
func spellings(low string) []string {
	out := []string{low}
	if bare := versionEnd.ReplaceAllString(strings.TrimSuffix(low, ".exe"), ""); bare != low && bare != "" {
		out = append(out, bare)
	}
	for _, name := range slices.Clone(out) {
		if bare, gnu := strings.CutPrefix(name, "g"); gnu && slices.Contains(runners, bare) {
			out = append(out, bare)
		}
	}
	return out
}

// builtins are the words that bash takes for its own before it looks for a program.
var builtins = set(strings.Fields("alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait . : ["))

// starts are further programs that run what they are given: shells, interpreters, debuggers, editors and wrappers.
var starts = set(strings.Fields(`git gitk tig gdb lldb ed ex vi vim nvim emacs nano less more man screen tmux expect entr m4 gawk mawk busybox toybox
	csh tcsh nu elvish xonsh cmd wscript cscript nodejs pypy luajit tclsh wish guile rscript octave ghci runghc ocaml scala groovy jshell sbcl ts-node
	vimdiff view rvim rview emacsclient setpriv sg runcon start-stop-daemon run-parts chpst envdir setuidgid softlimit tini dumb-init gosu su-exec rlwrap
	unbuffer faketime fakeroot proot xvfb-run dbus-run-session numactl prlimit setarch linux32 linux64 choom uclampset timelimit cpulimit eatmydata perf
	valgrind gdbserver rr sem pexec chronic ifne watchexec direnv mise asdf nix nix-shell guix wine ld.so sshpass autossh concurrently bsdtar cpio pax`))

// builtIn says what is known of a program, by its name in lower case.
func builtIn(low string) string {
	switch w := (shellcmd.Word{Text: low, Source: low}); {
	case strings.HasPrefix(low, "swarm") || strings.HasPrefix(low, "nats"):
		return "is swarm's own, or the team's broker's"
	case builtins[low] || keywords[low]:
		return "is a word of the shell"
	case slices.Contains(shells, low) || slices.Contains(runners, low):
		return "starts other programs"
	case schema.Knows(low) != "":
		return schema.Knows(low)
	case intent.Obeys(low) || slices.ContainsFunc(intent.All(), func(in intent.Intent) bool { return in.Closeness([]shellcmd.Word{w}) > 0 }):
		return "has tables that are built in"
	case starts[low] || strings.HasPrefix(low, "git-"):
		return "can start other programs"
	}
	return ""
}

// managers are words that npm, pnpm, yarn, bun, just and task take for verbs of their own.
var managers = set(strings.Fields("access add adduser approve-builds audit author bin bugs c cache cat-file ci completion config create dedupe deploy deprecate diff dist-tag dlx docs doctor edit env exec explain explore fetch find-dupes fund g get global help hook i ignored-builds import info init install install-test it la licenses link list ln login logout ll ls node npm org outdated owner pack patch patch-commit patch-remove ping pkg plugin policies prefix profile prune publish query r rb rebuild recursive remove repo rm root run run-script s search self-update server set setup shrinkwrap star stars store t team token tag types un uninstall unlink unpublish unplug unstar up update upgrade upgrade-interactive version versions view whoami why workspace workspaces x"))

// pymods are modules of Python's own that run what they are given, or more than they say.
var pymods = set(strings.Fields("pdb runpy profile cprofile trace timeit code doctest zipapp idlelib"))

// startedAs says what else those that start programs by name take a name for: pnpm publish, python -m http.server.
func startedAs(name, via string) string {
	name = strings.ToLower(name)
	python := []shellcmd.Word{{Text: "python", Source: "python"}, {Text: name, Source: name}}
	switch {
	case strings.Contains(via, "node") && managers[name]:
		return fmt.Sprintf("a package manager takes %q for a verb of its own", name)
	case strings.Contains(via, "py") && (pymods[name] || len(schema.Harms(python)) > 0):
		return fmt.Sprintf("%q is a module of Python that does more", name)
	}
	return ""
}
