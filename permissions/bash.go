package permissions

import (
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// bash judges a command line in the order of PERMISSIONS.md: what nothing lifts, then each simple command.
func (v *view) bash() Decision {
	line, err := shellcmd.Parse(v.call.Command, v.cwd)
	if err != nil {
		return v.unread(err)
	}
	s := v.scan(line)
	if d, denied := v.hardDenial(line, s); denied {
		return d
	}
	if d, denied := v.denyRules(line, s); denied {
		return d
	}
	d := v.commands(line)
	v.rewritten(&d, judged(line))
	if d.Verdict == Allow && !onlyTables(d) {
		if why := v.lowered(s); why != "" {
			d.lower(nil, why)
		}
	}
	return v.askRules(d, line, s)
}

// unread is the answer to a line that cannot be read: never an allow, since nothing in it can be told.
func (v *view) unread(err error) Decision {
	switch {
	case mentions(v.call.Command):
		return deny(reasonVerb)
	case v.reachOf(v.call.Command, v.startDirs()).forbidden:
		return deny(reasonForbidden)
	}
	return ask(err.Error())
}

// hardDenial looks for what no mode, rule, grant or cap lifts.
func (v *view) hardDenial(line *shellcmd.Line, s *scan) (Decision, bool) {
	for _, c := range s.all {
		if why := v.leaderCommand(c, s.dirs); why != "" {
			return denied(line, why), true
		}
	}
	if (mentions(v.call.Command) || slices.ContainsFunc(s.texts, mentions)) && v.runsText(s) || v.renamed(s) {
		return denied(line, reasonVerb), true
	}
	if v.leadsIntoForbidden(s) {
		return denied(line, reasonForbidden), true
	}
	return Decision{}, false
}

// runsText reports whether anything in the line could run a text that it is given.
func (v *view) runsText(s *scan) bool {
	if !s.asked {
		s.asked = true
		s.runs = slices.ContainsFunc(s.all, func(c *shellcmd.Command) bool { return !readsText(c) && !v.reading(c).inTables() })
	}
	return s.runs
}

// leadsIntoForbidden looks at all texts of the line in which paths may stand.
func (v *view) leadsIntoForbidden(s *scan) bool {
	if v.besideReach(s).forbidden {
		return true
	}
	return slices.ContainsFunc(s.all, func(c *shellcmd.Command) bool { return v.wordsReach(c, s.dirs).forbidden })
}

// renamed reports whether swarm is named somewhere while a program called by a path or by unknown words is given one of
// the verbs that only it has.
func (v *view) renamed(s *scan) bool {
	return containsFold(v.call.Command, "swarm") && slices.ContainsFunc(s.all, func(c *shellcmd.Command) bool {
		return len(c.Argv) > 1 && slices.Contains(decidingVerbs, c.Argv[1].Text) && (c.Argv[0].Unknown || strings.Contains(c.Argv[0].Text, "/"))
	})
}

func denied(line *shellcmd.Line, why string) Decision {
	d := deny(why)
	for _, c := range line.Commands {
		d.Commands = append(d.Commands, CommandVerdict{Argv: shellcmd.Shown(c.Argv), Verdict: Deny, Reason: why})
	}
	return d
}

func (v *view) denyRules(line *shellcmd.Line, s *scan) (Decision, bool) {
	for _, c := range s.all {
		if len(c.Argv) == 0 {
			continue
		}
		if r, hit, _ := v.narrowing(c, Deny); hit {
			v.ruled = r.Source
			return denied(line, namedBy(r, c)), true
		}
	}
	return Decision{}, false
}

// askRules has each command say which ask rule names it, and lowers an allow where one does, or where a deny or ask rule
// may name a command whose words cannot be told.
func (v *view) askRules(d Decision, line *shellcmd.Line, s *scan) Decision {
	if d.Verdict == Deny || len(v.rules) == 0 {
		return d
	}
	allowed := d.Verdict == Allow
	if !v.state.Answered {
		v.nameAsked(&d, judged(line))
	}
	if !allowed {
		return d
	}
	for _, c := range s.all {
		if len(c.Argv) == 0 {
			continue
		}
		if r, hit, _ := v.narrowing(c, Ask); hit && !v.state.Answered {
			v.ruled = r.Source
			d.lower(c, namedBy(r, c))
			return d
		}
		if _, _, maybe := v.narrowing(c, Deny); maybe {
			d.lower(c, "a deny rule may name it, or what it comes by: write its words plainly, or search a smaller folder")
			return d
		}
	}
	return d
}

// nameAsked has the commands that an ask rule names say so. What else is to be told of one stands before it.
func (v *view) nameAsked(d *Decision, list []*shellcmd.Command) {
	if len(list) != len(d.Commands) {
		return
	}
	for i, c := range list {
		cv := &d.Commands[i]
		if len(c.Argv) == 0 || cv.Verdict == Deny {
			continue
		}
		r, hit, _ := v.narrowing(c, Ask)
		if !hit {
			continue
		}
		why, before := "an ask rule names it"+from(r), cv.Reason
		switch {
		case cv.Verdict == Allow:
		case !v.saysUncovered(before, c):
			why = before + "; " + why
		case d.Verdict == Ask && d.Reason == before: // nothing but the tables asked
			d.Reason, v.ruled = namedBy(r, c), r.Source
		}
		cv.Verdict, cv.Reason, cv.GrantID = Ask, why, ""
	}
}

// saysUncovered reports whether the reason of a command says no more than that nothing covers it.
func (v *view) saysUncovered(reason string, c *shellcmd.Command) bool {
	_, err := v.readOnly(c)
	return err != nil && (reason == reasonOf(err) || strings.HasPrefix(reason, whyUncovered(v.reading(c).last().argv, err)))
}

// lower has a line ask that was allowed. So does the command that c is or stands in, as far as that can be told.
func (d *Decision) lower(c *shellcmd.Command, why string) {
	d.Verdict, d.Reason = Ask, why
	for i := range d.Commands {
		cv := &d.Commands[i]
		if cv.Verdict == Allow && (len(d.Commands) == 1 || c != nil && strings.Contains(strings.Join(cv.Argv, " "), strings.Join(shellcmd.Shown(c.Argv), " ")) && !d.asks()) {
			cv.Verdict, cv.Reason, cv.GrantID = Ask, why, ""
		}
	}
}

// asks reports whether a command of the line asks.
func (d *Decision) asks() bool {
	return slices.ContainsFunc(d.Commands, func(c CommandVerdict) bool { return c.Verdict == Ask })
}

// judged are the commands of a line that are judged one by one.
func judged(line *shellcmd.Line) []*shellcmd.Command {
	if len(line.Refused) > 0 {
		return line.Nested
	}
	return line.Commands
}

// commands judges each simple command; the line is what the worst of them is.
func (v *view) commands(line *shellcmd.Line) Decision {
	list := judged(line)
	if len(list) == 0 {
		return ask("there is no command in it: write one")
	}
	d, first := Decision{Verdict: Allow}, 0
	for _, c := range list {
		cv := v.command(c)
		d.Commands = append(d.Commands, cv)
		if worse(cv.Verdict, d.Verdict) {
			d.Verdict, d.Reason = cv.Verdict, cv.Reason
			first = len(d.Commands) - 1
		}
	}
	switch {
	case d.Verdict != Deny && len(line.Refused) > 0 && !v.bypasses():
		d.Verdict, d.Reason = Ask, "it uses "+strings.Join(line.Refused, ", ")+": write plain commands, joined by && ; | or ||"
	case d.Verdict == Allow:
		d.Reason = allowedBy(d.Commands)
	case d.Verdict == Ask && v.uncovered == list[first]:
		v.advise(list[first], &d.Commands[first])
		d.Reason = d.Commands[first].Reason
	}
	return d
}

func worse(a, b Verdict) bool { return a == Deny && b != Deny || a == Ask && b == Allow }

// reasonReads is the reason of a command that a read-only table allowed and that reads files; see [schema.Reading] for the
// others. Of none of them anything further needs to be asked.
const reasonReads = "it only reads inside the working tree"

func onlyTables(d Decision) bool {
	return !slices.ContainsFunc(d.Commands, func(c CommandVerdict) bool {
		_, reads := whereRead(c.Reason)
		return c.Verdict != Allow || !reads && !isYours(c)
	})
}

// lowered says why a line that a grant, a rule or bypassPermissions would let pass must be asked all the same.
func (v *view) lowered(s *scan) string {
	switch {
	case s.blind:
		return "it cannot be told which program runs: write its name plainly"
	case s.fed && !v.state.Answered:
		return "a shell runs what it reads, which cannot be told: name a file of the tree"
	}
	return v.loweredByReach(s)
}

// loweredByReach looks at the paths of everything that is not known to only read.
func (v *view) loweredByReach(s *scan) string {
	var r reach
	known := !v.bypasses() && !v.state.Answered && !slices.ContainsFunc(s.all, func(c *shellcmd.Command) bool { return slices.Contains(movers, programName(c)) })
	for _, c := range s.all {
		if v.onlyReads(c) {
			continue
		}
		own := v.wordsReach(c, s.dirs)
		if own.above && known && staysPut(c) {
			own.above = v.wordsReach(c, c.Dirs).above
		}
		if slices.Contains(glances, c.Argv0()) {
			own.above, own.secret = false, false
		}
		own.protected = own.protected || own.whole && slices.Contains(sweepers, c.Argv0()) || writesGitConfig(c) || v.buildsProtected(c)
		r.add(own)
	}
	r.add(v.besideReach(s))
	switch {
	case r.protected && !v.state.Answered:
		return v.protectedWhere(s)
	case r.secret && !v.state.Answered:
		return reasonSecret
	case r.above:
		return "swarm's own state lies below a folder that it names: name a smaller one"
	}
	return ""
}

// movers may leave bash in a folder that only cd is known to lead to.
var movers = []string{"pushd", "popd", "eval", "source", ".", "builtin", "command", "trap", "alias", "shopt", "set", "enable"}

// staysPut reports whether it can be told where the relative names of c begin: no flag of it names another folder.
func staysPut(c *shellcmd.Command) bool {
	return !c.Lost && len(c.Dirs) > 0 && !slices.ContainsFunc(c.Argv, func(w shellcmd.Word) bool {
		return !w.Literal() || slices.ContainsFunc([]string{"-C", "-D", "--c", "--d", "--p", "--w", "--r"}, func(flag string) bool { return strings.HasPrefix(w.Text, flag) })
	})
}

// buildsProtected reports whether a go build could leave a program where a protected file belongs: it writes into the
// folder that it runs in, by the name of a package or of its first file.
func (v *view) buildsProtected(c *shellcmd.Command) bool {
	if !slices.ContainsFunc(c.Argv, func(w shellcmd.Word) bool { return w.Text == "build" }) {
		return false
	}
	return slices.ContainsFunc(c.Dirs, func(d string) bool { return v.isProtected(v.place(d, "")) }) ||
		slices.ContainsFunc(c.Argv, func(w shellcmd.Word) bool { return protectedPath(strings.TrimSuffix(w.Text, ".go")) })
}

func (v *view) wordsReach(c *shellcmd.Command, dirs []string) reach {
	var r reach
	for t := range v.pathsOf(c) {
		r.add(v.reachOf(t, dirs))
	}
	return r
}

// besideReach is where texts lead that stand beside commands: targets, values, and here-documents when something may run
// them.
func (v *view) besideReach(s *scan) reach {
	var r reach
	for _, t := range s.files {
		r.add(v.reachOf(t, s.dirs))
	}
	if v.runsText(s) {
		for _, t := range s.texts {
			r.add(v.reachOf(t, s.dirs))
		}
	}
	return r
}

var (
	glances  = []string{"cd", "ls", "pwd", "echo", "mkdir", "touch", "test", "[", "stat", "df", "which"} // never read what is below
	sweepers = []string{"rm", "rmdir", "mv", "shred", "chown", "chmod", "chgrp", "rsync", "truncate", "trash", "find", "tar", "cp"}
)

// writesGitConfig reports whether c writes a repository's configuration without naming the file.
func writesGitConfig(c *shellcmd.Command) bool {
	argv := withoutGlobals(c.Argv)
	if len(argv) < 2 || !namedLike(argv[0], "git") {
		return false
	}
	reads := slices.ContainsFunc(argv[2:], func(w shellcmd.Word) bool {
		return slices.Contains([]string{"--get", "--get-all", "--get-regexp", "-l", "--list", "get", "list"}, w.Text)
	})
	return argv[1].Text == "config" && !reads
}
