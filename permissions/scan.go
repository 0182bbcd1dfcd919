package permissions

import (
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// scan is everything in a line that must be looked at before anything is allowed: every command, also inside refused
// constructs and inside text that another program would run.
type scan struct {
	all   []*shellcmd.Command
	dirs  []string // every directory that any of it may start from
	files []string // targets of redirections and values of variables: where paths stand
	texts []string // words, here-documents, and whatever else something may run
	blind bool     // a wrapper's program cannot be told
	fed   bool     // a shell reads what it runs, from a pipe or a file

	runs, asked bool // see runsText
}

const (
	maxDepth = 3 // of text inside text
	maxDirs  = 16
	maxAll   = 512
)

// shells take text and run it; runners take words and run them.
var (
	shells  = []string{"sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "rbash", "eval", "source", ".", "trap", "su", "ssh", "watch", "script", "busybox", "env"}
	runners = []string{
		"env", "command", "builtin", "exec", "nohup", "nice", "ionice", "chrt", "taskset", "time", "timeout", "stdbuf", "setsid", "sudo", "doas", "xargs", "parallel", "find",
		"busybox", "unshare", "nsenter", "chroot", "strace", "ltrace", "caffeinate", "flock", "firejail", "bwrap", "systemd-run", "runuser", "watch", "gtimeout",
	}
)

// programName is the last part of a command's name, or "" when there is none.
func programName(c *shellcmd.Command) string {
	if c.Argv0() == "" {
		return ""
	}
	return path.Base(c.Argv0())
}

func (v *view) scan(line *shellcmd.Line) *scan {
	s := newScan(line)
	if v.cwd != "" {
		s.dirs = append(s.dirs, v.cwd)
	}
	v.scanLine(s, line, 0)
	for _, c := range s.all {
		s.addDirs(v, c)
	}
	return s
}

// newScan is empty, with room for what is usual.
func newScan(line *shellcmd.Line) *scan {
	words := 0
	for _, c := range line.Nested {
		words += len(c.Argv) + len(c.Env)
	}
	return &scan{all: make([]*shellcmd.Command, 0, len(line.Nested)), texts: make([]string, 0, words+len(line.Texts)), dirs: make([]string, 0, 2)}
}

func (v *view) scanLine(s *scan, line *shellcmd.Line, depth int) {
	for _, w := range line.Targets {
		s.files = append(s.files, w.Text)
	}
	s.texts = append(s.texts, line.Texts...)
	takesText := len(line.Texts) > 0 && slices.ContainsFunc(line.Nested, func(c *shellcmd.Command) bool { return !readsText(c) })
	for _, c := range line.Nested {
		v.scanCommand(s, c, depth)
	}
	if takesText {
		for _, t := range line.Texts {
			v.scanText(s, t, depth)
		}
	}
}

func (v *view) scanCommand(s *scan, c *shellcmd.Command, depth int) {
	if len(s.all) >= maxAll {
		s.blind = true
		return
	}
	s.all = append(s.all, c)
	s.blind, s.fed = s.blind || len(c.Argv) > 0 && !c.Argv[0].Literal(), s.fed || readsProgram(c)
	for _, w := range c.Argv {
		s.texts = append(s.texts, w.Text)
	}
	for _, a := range c.Env {
		s.files, s.texts = append(s.files, a.Value.Text), append(s.texts, a.Value.Text)
		if strings.ContainsAny(a.Value.Text, "`$;|& ") {
			v.scanText(s, a.Value.Text, depth)
		}
	}
	name := programName(c)
	if name == "swarm" && len(c.Argv) > 1 && slices.Contains([]string{"exec", "check"}, c.Argv[1].Text) {
		name = "exec"
	}
	if slices.Contains(runners, name) && !v.reading(c).alone() {
		v.scanInner(s, c, depth)
	}
	if !slices.Contains(shells, name) && !slices.Contains(runners, name) {
		return
	}
	for _, w := range c.Argv[1:] {
		if strings.ContainsAny(w.Text, " \t\n;|&$`") {
			v.scanText(s, w.Text, depth)
		}
	}
	if name == "eval" {
		v.scanText(s, strings.Join(shellcmd.Shown(c.Argv[1:]), " "), depth)
	}
}

// scanInner adds what a wrapper runs. Where the tables know every word of it, that can be told.
func (v *view) scanInner(s *scan, c *shellcmd.Command, depth int) {
	r := v.reading(c)
	if !r.inTables() {
		v.scanSuffixes(s, c, depth)
		return
	}
	for _, step := range r.steps[1:] {
		inner := &shellcmd.Command{Argv: step.argv, Dirs: c.Dirs, Lost: c.Lost, Piped: takesInput(c)}
		s.all, s.fed = append(s.all, inner), s.fed || readsProgram(inner)
	}
}

// scanSuffixes takes every word of a wrapper that is no flag for the name of the command that it may run.
func (v *view) scanSuffixes(s *scan, c *shellcmd.Command, depth int) {
	if depth >= maxDepth {
		return
	}
	first := true
	for i, w := range c.Argv {
		if i == 0 || strings.HasPrefix(w.Text, "-") || strings.Contains(w.Text, "=") {
			continue
		}
		if len(s.all) >= maxAll {
			s.blind = true
			return
		}
		inner := &shellcmd.Command{Argv: c.Argv[i:], Lost: true, Piped: takesInput(c)}
		s.all = append(s.all, inner)
		s.blind, s.fed = s.blind || first && w.Unknown, s.fed || readsProgram(inner)
		first = first && w.Text != "" && w.Text[0] >= '0' && w.Text[0] <= '9' // timeout 5 x
		if slices.Contains(shells, programName(inner)) {
			for _, w := range inner.Argv[1:] {
				v.scanText(s, w.Text, depth)
			}
		}
	}
}

// readsProgram reports whether c is a shell whose program is only known when it runs.
func readsProgram(c *shellcmd.Command) bool {
	if name := programName(c); !slices.Contains(shells, name) || name == "env" {
		return false
	}
	return takesInput(c) || slices.ContainsFunc(c.Argv[1:], func(w shellcmd.Word) bool { return w.Unknown })
}

// scanText reads text as a shell would.
func (v *view) scanText(s *scan, text string, depth int) {
	s.texts = append(s.texts, text)
	if depth >= maxDepth || len(s.all) >= maxAll || !strings.ContainsAny(text, " \t\n;|&$`") {
		return
	}
	if line, err := shellcmd.ParseText(text, v.cwd); err == nil {
		v.scanLine(s, line, depth+1)
	}
}

// addDirs remembers where a command changes to, for the relative names of all others.
func (s *scan) addDirs(v *view, c *shellcmd.Command) {
	if name := programName(c); name == "cd" || name == "pushd" {
		for _, w := range c.Argv[1:] {
			s.addDir(v, w.Text)
		}
		return
	}
	for i, w := range c.Argv {
		if (w.Text == "-C" || w.Text == "--directory" || w.Text == "--chdir") && i+1 < len(c.Argv) {
			s.addDir(v, c.Argv[i+1].Text)
		}
	}
}

func (s *scan) addDir(v *view, to string) {
	if len(s.dirs) >= maxDirs {
		return
	}
	to = v.expandHome(v.expandVars(to))
	for _, d := range s.dirs { // those that there are now
		if next := shellcmd.Join(d, to); len(s.dirs) < maxDirs && !slices.Contains(s.dirs, next) {
			s.dirs = append(s.dirs, next)
		}
	}
	if len(s.dirs) == 0 && strings.HasPrefix(to, "/") {
		s.dirs = append(s.dirs, path.Clean(to))
	}
}

// readers only pass text on: what they are given is not run, as long as nothing in the line runs what they print.
var readers = []string{
	"echo", "printf", "grep", "egrep", "fgrep", "rg", "ag", "ls", "cat", "head", "tail", "wc", "sort", "uniq", "cut", "tr", "jq", "diff", "cd", "pwd", "true", "false", "test", "[",
	"tee", "less", "more", "file", "stat", "gh", "glab",
}

// readsText reports whether c cannot run a text that it is given.
func readsText(c *shellcmd.Command) bool {
	if len(c.Argv) == 0 {
		return true
	}
	if !c.Argv[0].Literal() {
		return false
	}
	switch name := c.Argv[0].Text; {
	case len(c.Argv) > 1 && name == "git":
		return slices.Contains([]string{"commit", "tag", "log", "grep", "show", "diff", "add", "status", "notes"}, c.Argv[1].Text)
	case len(c.Argv) > 1 && name == "swarm":
		return slices.Contains([]string{"mail", "plan", "task", "ask"}, c.Argv[1].Text)
	default:
		return slices.Contains(readers, name)
	}
}

// talks reports whether c is given sentences, in which names of files are only talked about.
func talks(c *shellcmd.Command) bool {
	switch name := c.Argv0(); name {
	case "git":
		return readsText(c)
	case "echo", "printf", "gh", "glab":
		return true
	}
	return false
}

// pathsOf lists the texts of a command in which paths may stand: those that a table says are paths, or else all words but
// the sentences of those that only talk.
func (v *view) pathsOf(c *shellcmd.Command) iter.Seq[string] {
	return func(yield func(string) bool) {
		if use, ok := v.reading(c).table(); ok {
			for _, p := range use.Paths {
				if p.Reach != schema.Select && !yield(p.Text) {
					return
				}
			}
			return
		}
		talk := talks(c)
		for _, w := range c.Argv {
			if sentence := talk && strings.ContainsAny(w.Text, " \t\n"); !sentence && !yield(w.Text) {
				return
			}
		}
	}
}

// expandVars replaces the variables that name homes of files, as far as the runner knows them.
func (v *view) expandVars(s string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	for _, x := range [...]struct{ name, below string }{
		{"HOME", ""},
		{"PWD", ""},
		{"XDG_STATE_HOME", ".local/state"},
		{"XDG_CONFIG_HOME", ".config"},
		{"XDG_RUNTIME_DIR", ".run"},
		{"XDG_DATA_HOME", ".local/share"},
	} {
		if !strings.Contains(s, x.name) {
			continue
		}
		value := v.home
		switch {
		case x.name == "PWD":
			value = v.cwd
		case x.below != "":
			value = v.homeVar(x.name, x.below)
		}
		s = strings.ReplaceAll(s, "${"+x.name+"}", value)
		s = strings.ReplaceAll(s, "$"+x.name, value)
	}
	return s
}

func (v *view) homeVar(name, below string) string {
	if set := v.e.env[name]; strings.HasPrefix(set, "/") {
		return path.Clean(set)
	}
	if v.home == "" {
		return ""
	}
	return v.home + "/" + below
}
