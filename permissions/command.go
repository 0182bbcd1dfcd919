package permissions

import (
	"errors"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// command judges one simple command: read-only schema; else, outside plan mode, the plan's grants; else allow rules.
func (v *view) command(c *shellcmd.Command) CommandVerdict {
	cv := CommandVerdict{Argv: shellcmd.Shown(c.Argv)}
	cv.Verdict, cv.Reason = v.around(c)
	changed := len(v.changed)
	switch {
	case cv.Verdict == Allow:
		v.judge(c, &cv)
	case v.mode == ModePlan:
		v.planning(v.forms(c), &cv)
	}
	if cv.Verdict != Allow && v.bypasses() {
		cv.Verdict, cv.Reason = Allow, "bypassPermissions"
	}
	if cv.Verdict == Allow {
		v.changed = v.changed[:changed]
	}
	return cv
}

// bypasses reports whether bypassPermissions lets a command pass here: carried out by us, from a directory of the tree.
func (v *view) bypasses() bool {
	return v.mode == ModeBypass && !v.call.Foreign && v.cwd != "" && v.inTree(v.place(v.cwd, ""))
}

// onlyReads reports whether the read-only tables cover the whole command.
func (v *view) onlyReads(c *shellcmd.Command) bool {
	if verdict, _ := v.around(c); verdict != Allow {
		return false
	}
	_, err := v.readOnly(c)
	return err == nil
}

// around judges what stands beside a command's words: where it runs, its environment and redirections.
func (v *view) around(c *shellcmd.Command) (Verdict, string) {
	switch {
	case v.tree == "" || v.realTree == "":
		return Ask, "the working tree is not known"
	case c.Lost || len(c.Dirs) == 0:
		return Ask, "it cannot be told in which directory it runs: cd to a plain folder of the project, with &&"
	}
	for _, d := range c.Dirs {
		if !v.inTree(v.place(d, "")) {
			return Ask, "it may run in " + d + ", outside the working tree"
		}
	}
	if len(c.Argv) == 0 && len(c.Env) > 0 {
		return Ask, "it sets variables for what follows: put them before the command"
	}
	for _, a := range c.Env {
		if !allowedPrefix(a) {
			return Ask, "the environment prefix " + a.Name + " is not known to be harmless"
		}
	}
	for _, r := range c.Redirs {
		if verdict, why := v.redirect(r, c.Dirs); verdict != Allow {
			return verdict, why
		}
	}
	if v.call.Foreign && len(c.Env) > 0 {
		return Ask, reasonForeign
	}
	return Allow, ""
}

const reasonForeign = "somebody else's shell would run it, and what it does there cannot be told"

func (v *view) redirect(r shellcmd.Redirect, dirs []string) (Verdict, string) {
	switch r.Kind {
	case shellcmd.RedirectDup, shellcmd.RedirectNull, shellcmd.RedirectHere, shellcmd.RedirectText:
		return Allow, ""
	case shellcmd.RedirectRead:
		if r.Target.Text == "/dev/null" && r.Target.Literal() {
			return Allow, ""
		}
		if !r.Target.Literal() {
			return Ask, "the input file can only be told by running it"
		}
		if why := v.path(schema.Path{Word: r.Target, Text: r.Target.Text}, dirs, v.tree, v.realTree); why != "" {
			return Ask, why
		}
		return Allow, ""
	case shellcmd.RedirectWrite:
		if v.mode == ModePlan {
			return Deny, "it writes " + r.Target.Source + ", and plan mode writes nothing but the plan file"
		}
		return Ask, "it writes " + r.Target.Source
	}
	if r.Body != "" {
		return Ask, "a here-document or here-string in which something may be expanded: quote its end, as in <<'EOF', and have one in a line"
	}
	return Ask, "an unusual redirection of " + r.Target.Source
}

// judge decides by the words. It is only called for a command whose surroundings are in order.
func (v *view) judge(c *shellcmd.Command, cv *CommandVerdict) {
	if len(c.Argv) == 0 {
		cv.Reason = reasonReads
		return
	}
	use, err := v.readOnly(c)
	if err == nil {
		if cv.Reason = v.reads(c); v.call.Foreign && !use.Foreign {
			cv.Verdict, cv.Reason = Ask, reasonForeign
		}
		return
	}
	forms := v.forms(c)
	end := forms[len(forms)-1].argv
	if cv.Verdict = Ask; v.mode == ModePlan {
		cv.Reason = reasonOf(err)
		if v.planning(forms, cv); cv.Verdict == Ask && v.promised(forms) {
			cv.Reason += reasonLater
		}
		return
	}
	if c.ReadOnly {
		cv.Reason = "in a loop or a substitution only what only reads may run: " + whyUncovered(end, err)
		return
	}
	if v.call.Foreign {
		cv.Reason = reasonForeign
		return
	}
	for i, f := range forms {
		if v.granted(f.argv, c.Dirs, i == 0 && isBare(c), cv) {
			v.aimed(c, cv)
			return
		}
	}
	for _, f := range forms {
		if r, ok := v.widening(f.argv); ok {
			cv.Verdict, cv.Reason = Allow, "an allow rule names it"+from(r)
			return
		}
	}
	if cv.Reason == "" {
		cv.Reason = whyUncovered(end, err)
	} else if !strings.Contains(cv.Reason, shortOf) {
		return
	}
	if v.uncovered == nil {
		v.uncovered = c
	}
}

// planning denies what is known to write or run something; the rest is asked.
func (v *view) planning(forms []step, cv *CommandVerdict) {
	for _, f := range forms {
		if effect := schema.Effect(f.argv); effect != "" {
			cv.Verdict, cv.Reason = Deny, f.argv[0].Text+" "+effect+", and plan mode only reads: put it into the plan"
			if v.promised(forms) {
				cv.Reason += reasonLater
			}
			return
		}
	}
}

// isBraced reports whether a word came from a list in braces, which not every shell expands.
func isBraced(w shellcmd.Word) bool {
	return strings.Contains(w.Source, "{") && !strings.Contains(w.Text, "{") && !strings.Contains(w.Source, "${")
}

// readOnly checks a command against the read-only tables. The error is for people.
func (v *view) readOnly(c *shellcmd.Command) (schema.Use, error) {
	if len(c.Argv) > 0 && c.Argv[0].Literal() && c.Argv[0].Text == "cd" {
		return schema.Use{}, v.changeDir(c)
	}
	r := v.reading(c)
	end := r.last()
	argv, dirs, err := v.gitFolder(end.argv, c.Dirs)
	if err != nil {
		return schema.Use{}, err
	}
	if len(argv) > 0 && argv[0].Text == "find" && has(argv, "-exec") {
		return v.found(argv, dirs)
	}
	use, err := end.use, end.err
	if len(argv) < len(end.argv) { // without its -C
		use, err = schema.ReadOnly().Match(argv)
	}
	switch {
	case err != nil && v.e.tables != nil:
		return v.ownReads(c, argv, err)
	case err != nil:
		return use, err
	case use.Fed:
		return v.fed(c, argv, use)
	case use.Inner != nil:
		return use, errors.New("a wrapper sets an environment that is not known to be harmless")
	}
	use.Foreign = use.Foreign && r.plain == 1 && !slices.ContainsFunc(argv, isBraced)
	return use, v.confined(use, argv[0].Text, dirs)
}

// changeDir accepts a cd to a literal folder inside the tree.
func (v *view) changeDir(c *shellcmd.Command) error {
	if len(c.Argv) != 2 || !c.Argv[1].Literal() || c.Argv[1].Text == "" || strings.ContainsAny(c.Argv[1].Text[:1], "-+") {
		return errors.New("it cannot be told where cd leads: name a folder of the project")
	}
	for _, d := range c.Dirs {
		if to := shellcmd.Join(d, c.Argv[1].Text); !v.inTree(v.place(to, "")) {
			return errors.New("cd leaves the working tree")
		}
	}
	return nil
}

// reasonOf is the part of an error that people need.
func reasonOf(err error) string {
	if errors.Is(err, schema.ErrUnknown) {
		return "no read-only table, grant or rule covers it: " + unknownPart(err)
	}
	return err.Error()
}

func unknownPart(err error) string {
	return strings.TrimPrefix(err.Error(), schema.ErrUnknown.Error()+": ")
}
