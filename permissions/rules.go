package permissions

import (
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// inForce are the rules that hold in the view's mode and attendance.
func (v *view) inForce(rules []Rule) []Rule {
	holds := func(r Rule) bool {
		return (len(r.Modes) == 0 || slices.Contains(r.Modes, v.mode)) && (r.When == Always || (r.When == Unattended) == v.state.Unattended)
	}
	if !slices.ContainsFunc(rules, func(r Rule) bool { return !holds(r) }) {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return !holds(r) })
}

// toolRules looks for deny rules that name the tool of a call that is no command line.
func (v *view) toolRules() (Decision, bool) {
	for _, r := range v.rules {
		if r.Verdict == Deny && v.ruleNames(r) && !v.liftedTool(r) {
			v.ruled = r.Source
			return deny("a deny rule names it" + from(r)), true
		}
	}
	return Decision{}, false
}

// capped lowers an allow to ask where an ask rule names the call.
func (v *view) capped(d Decision) Decision {
	for _, r := range v.rules {
		if r.Verdict == Ask && d.Verdict == Allow && !v.state.Answered && v.ruleNames(r) && !v.liftedTool(r) {
			v.ruled = r.Source
			return ask("an ask rule names it" + from(r))
		}
	}
	return d
}

func (v *view) allowedByRule() bool {
	return slices.ContainsFunc(v.rules, func(r Rule) bool { return r.Verdict == Allow && v.ruleNames(r) })
}

// liftedTool reports whether a rule of a higher rank in the same list allows or asks what r narrows.
func (v *view) liftedTool(r Rule) bool { return v.lifted(r, v.ruleNames) }

func (v *view) lifted(r Rule, names func(Rule) bool) bool {
	if r.List == "" {
		return false
	}
	return slices.ContainsFunc(v.rules, func(o Rule) bool {
		return o.List == r.List && o.Rank > r.Rank && (o.Verdict == Allow || o.Verdict == Ask && r.Verdict == Deny) && names(o)
	})
}

// ruleNames reports whether a rule names this call: its tool and, where the rule has words, its path, exactly or (with
// Prefix) as the folder above it. Where something cannot be told, a narrowing rule names it and a widening one does not.
func (v *view) ruleNames(r Rule) bool {
	switch {
	case !v.sameTool(r):
		return false
	case r.Pattern != nil && v.class != classRun, !v.ruleHints(r):
		return false
	case r.Args != nil && !v.argsMatch(r), r.Domain != "" && !v.ofDomain(r):
		return false
	case r.Glob != "" && !v.globNames(r):
		return false
	case len(r.Argv) == 0:
		return true
	}
	s, ok := v.target()
	if !ok || len(r.Argv) != 1 {
		return r.Verdict != Allow
	}
	return v.pathNames(r, s)
}

func (v *view) pathNames(r Rule, s spot) bool {
	to := v.place(v.expandHome(r.Argv[0]), v.tree)
	if r.Prefix {
		return within(to.name, s.name) || within(to.real, s.real)
	}
	return to.name == s.name || !to.unclear && to.real == s.real
}

// sameTool reports whether a rule is about this tool or another name of it. A rule that narrows reading also narrows
// searching.
func (v *view) sameTool(r Rule) bool {
	if r.Server != "" || strings.Contains(r.Tool, "*") || strings.HasPrefix(r.Tool, "mcp_") {
		return v.sameServerTool(r)
	}
	class := classOf(r.Tool)
	if r.Tool == v.call.Tool {
		return true
	}
	return class != classUnknown && (class == v.class && family(r.Tool) == family(v.call.Tool) || class == classRead && v.class == classSearch && r.Verdict != Allow)
}

func from(r Rule) string {
	out := ""
	if r.Source != "" {
		out = " (" + r.Source + ")"
	}
	if r.Message != "" {
		out += ": " + r.Message
	}
	return out
}

// forCommands reports whether a rule is about command lines.
func (r Rule) forCommands() bool {
	return r.Server == "" && len(r.Hints) == 0 && (classOf(r.Tool) == classRun || r.Tool == "*")
}

// narrowing is what the deny or ask rules say of one command: the first that surely names it, or else that one may.
func (v *view) narrowing(c *shellcmd.Command, verdict Verdict) (r Rule, hit, maybe bool) {
	for _, r := range v.rules {
		if r.Verdict != verdict {
			continue
		}
		hit, possible := v.narrows(r, c)
		if !hit && !possible || r.List != "" && v.lifted(r, func(o Rule) bool { return v.lifts(o, r, c) }) {
			continue
		}
		if hit {
			return r, true, false
		}
		maybe = true
	}
	return Rule{}, false, maybe
}

// namedBy says which rule narrows a command.
func namedBy(r Rule, c *shellcmd.Command) string {
	return article(r.Verdict) + " rule names " + strings.Join(shellcmd.Shown(c.Argv), " ") + from(r)
}

// narrows reports whether a narrowing rule names a command, or may: by its words, or by a file that it has among them.
func (v *view) narrows(r Rule, c *shellcmd.Command) (hit, possible bool) {
	switch {
	case r.forCommands() && (r.Pattern != nil || r.Args != nil):
		return v.patternHits(r, c)
	case r.forCommands():
		return ruleHits(r, c.Argv)
	case classOf(r.Tool) == classRead || classOf(r.Tool) == classEdit || classOf(r.Tool) == classSearch:
		return v.filesNamed(r, c), v.comesUpon(r, c)
	}
	return false, false
}

// lifts reports whether a rule that allows or asks surely names a command that r narrows. When r names commands, what the
// command wraps is not looked at: a rule about timeout is lifted by one that names timeout.
func (v *view) lifts(o, r Rule, c *shellcmd.Command) bool {
	switch {
	case o.Verdict != Allow:
		hit, _ := v.narrows(o, c)
		return hit
	case r.forCommands() && (len(r.Argv) > 0 || r.Pattern != nil || r.Args != nil):
		return widens(o, c.Argv)
	}
	return slices.ContainsFunc(v.forms(c), func(f step) bool { return widens(o, f.argv) })
}

// ruleHits compares a narrowing rule with a command, in every form that the same program may be called by. possible is
// set when it depends on words that cannot be told.
func ruleHits(r Rule, argv []shellcmd.Word) (hit, possible bool) {
	if len(r.Argv) == 0 {
		return true, true
	}
	if len(argv) > 0 && !strings.HasPrefix(argv[0].Text, "-") && sameName(argv[0], r.Argv[0]) == differs {
		return false, false // every form begins with the name
	}
	for _, form := range [][]shellcmd.Word{argv, withoutGlobals(argv), withoutFlags(argv)} {
		h, p := ruleFits(r, form)
		hit, possible = hit || h, possible || p
	}
	return hit, possible
}

func ruleFits(r Rule, argv []shellcmd.Word) (hit, possible bool) {
	if len(argv) < len(r.Argv) || !r.Prefix && len(argv) != len(r.Argv) {
		return false, len(argv) > 0 && slices.ContainsFunc(argv, func(w shellcmd.Word) bool { return !w.Literal() }) && sameName(argv[0], r.Argv[0]) != differs
	}
	hit, possible = true, true
	for i, want := range r.Argv {
		word := sameWord(argv[i], want)
		if i == 0 {
			word = sameName(argv[i], want)
		}
		hit, possible = hit && word == same, possible && word != differs
	}
	return hit, possible
}

type answer uint8

const (
	differs answer = iota
	mayBe
	same
)

func sameWord(w shellcmd.Word, want string) answer {
	switch {
	case w.Literal() && w.Text == want:
		return same
	case w.Literal():
		return differs
	}
	return mayBe
}

// sameName compares a program's name: by its last part, unless the rule names a folder too.
func sameName(w shellcmd.Word, want string) answer {
	if !strings.Contains(want, "/") && w.Literal() {
		w.Text = path.Base(w.Text)
	}
	return sameWord(w, want)
}

// gitValueFlags are the options of git that come before its subcommand and take the next word.
var gitValueFlags = []string{"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--exec-path"}

// withoutGlobals takes git's own options away, so that the subcommand is the second word.
func withoutGlobals(argv []shellcmd.Word) []shellcmd.Word {
	if len(argv) < 2 || path.Base(argv[0].Text) != "git" {
		return argv
	}
	i := 1
	for i < len(argv) && strings.HasPrefix(argv[i].Text, "-") {
		if slices.Contains(gitValueFlags, argv[i].Text) {
			i++
		}
		i++
	}
	return slices.Concat(argv[:1], argv[min(i, len(argv)):])
}

func withoutFlags(argv []shellcmd.Word) []shellcmd.Word {
	return slices.DeleteFunc(slices.Clone(argv), func(w shellcmd.Word) bool { return strings.HasPrefix(w.Text, "-") && w.Literal() })
}

// widening finds an allow rule for one command: literal words, anchored at both ends, the name exactly as the rule has it.
func (v *view) widening(argv []shellcmd.Word) (Rule, bool) {
	for _, r := range v.rules {
		if r.Verdict == Allow && widens(r, argv) {
			return r, true
		}
	}
	return Rule{}, false
}

func widens(r Rule, argv []shellcmd.Word) bool {
	switch {
	case classOf(r.Tool) != classRun || r.Server != "" || len(r.Hints) > 0 || r.Glob != "" || r.Domain != "" || !literal(argv):
		return false
	case r.Pattern != nil || r.Args != nil:
		return len(r.Argv) == 0 && patternWidens(r, texts(argv))
	case len(r.Argv) == 0 || len(argv) < len(r.Argv):
		return false
	}
	return (r.Prefix || len(argv) == len(r.Argv)) && slices.Equal(texts(argv[:len(r.Argv)]), r.Argv)
}

func literal(argv []shellcmd.Word) bool {
	return !slices.ContainsFunc(argv, func(w shellcmd.Word) bool { return !w.Literal() })
}

func texts(argv []shellcmd.Word) []string {
	out := make([]string, len(argv))
	for i, w := range argv {
		out[i] = w.Text
	}
	return out
}
