package permissions

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Kinds says what one call is, for a charter: the intent of each simple command of a Bash line, "" for one that no intent
// covers, and the classes of what it may do. Commands that only read in the tree have no intent, unless nothing else is
// there. A line that cannot be read is everything. It guesses broadly: more classes only ever mean that fewer may approve.
// It does not know the call's directory, nor what lies on the disk.
func Kinds(tool, input string) (intents []string, classes []Class) {
	switch classOf(tool) {
	case classRun:
		return kindsOfLine(input)
	case classNetwork:
		return []string{""}, []Class{ClassNetwork}
	case classUnknown:
		return []string{""}, everything()
	case classRead, classSearch, classEdit:
		if namesSecret(input) {
			return nil, []Class{ClassTouchesData}
		}
	}
	return nil, nil
}

// everything is what a call may be of which nothing can be told.
func everything() []Class {
	return []Class{ClassRunsProjectCode, ClassNetwork, ClassPublishes, ClassRootEquivalent, ClassTouchesData, ClassLongLived}
}

// strange is a Resolver for a place of which nothing is known: every repository may name programs.
type strange struct{ lexical }

func (strange) GitConfig(string) (GitInfo, error) { return GitInfo{}, errNoResolver }

var kindsEngine = sync.OnceValue(func() *Engine { return New(Config{Resolver: strange{}}) })

// anywhere is a state in which every intent is granted.
var anywhere = sync.OnceValue(func() State {
	s := State{Mode: ModeDefault, Tree: "/tree", Home: "/home"}
	for _, name := range intent.Names() {
		s.Grants = append(s.Grants, Grant{GrantTerms: GrantTerms{Intent: name, Tree: ".", ExpiresAt: s.Now.Add(time.Hour)}, ID: name, Root: s.Tree})
	}
	return s
})

func kindsOfLine(input string) ([]string, []Class) {
	v := kindsEngine().look(Call{Tool: "Bash", Command: input, Cwd: anywhere().Tree}, anywhere())
	line, err := shellcmd.Parse(input, v.cwd)
	if err != nil {
		return []string{""}, everything()
	}
	s := v.scan(line)
	if s.blind || s.fed {
		return []string{""}, everything()
	}
	k := kinds{classes: map[Class]bool{}}
	for _, c := range line.Nested {
		k.command(v, c)
	}
	for _, c := range s.all {
		k.harms(v, c)
	}
	if len(line.Refused) > 0 || len(k.intents) == 0 {
		k.intent("")
	}
	for _, t := range slices.Concat(s.files, s.texts) {
		k.classes[ClassTouchesData] = k.classes[ClassTouchesData] || namesSecret(t)
	}
	return k.intents, k.list()
}

// kinds are what was found so far.
type kinds struct {
	intents []string
	classes map[Class]bool
}

func (k *kinds) intent(name string) {
	if !slices.Contains(k.intents, name) {
		k.intents = append(k.intents, name)
	}
}

// command adds the intent that covers a command, or that none does, and the classes of the intent that would cover it at
// the top of the tree with nothing around it: what stands around a command never makes it less.
func (k *kinds) command(v *view, c *shellcmd.Command) {
	cv := v.command(c)
	in, ok := v.intentOfGrant(cv.GrantID)
	switch {
	case cv.Verdict == Allow && ok:
		k.intent(in.Name)
	case cv.Verdict != Allow:
		k.intent("")
		in, ok = v.intentOfGrant(v.command(&shellcmd.Command{Argv: c.Argv, Dirs: []string{v.cwd}}).GrantID)
		if len(c.Env) > 0 || schema.Effect(c.Argv) != "changes something" && !v.onlyReadsSomewhere(c) {
			k.classes[ClassRunsProjectCode] = true
		}
	}
	if ok {
		for _, class := range in.Classes {
			k.classes[Class(class)] = true
		}
	}
}

// onlyReadsSomewhere reports whether the tables cover a command, wherever its paths lead.
func (v *view) onlyReadsSomewhere(c *shellcmd.Command) bool {
	end := v.reading(c).last()
	return end.err == nil && end.use.Inner == nil || len(end.argv) > 0 && end.argv[0].Literal() && end.argv[0].Text == "cd"
}

// harms adds what a command is known for, or looks like.
func (k *kinds) harms(v *view, c *shellcmd.Command) {
	if len(c.Argv) == 0 {
		return
	}
	if _, reads := v.reading(c).reads(); reads {
		return
	}
	if schema.Inline(c.Argv) || schema.Interprets(c.Argv) && (c.Piped || len(c.Redirs) > 0) {
		for _, class := range everything() {
			k.classes[class] = true
		}
	}
	for _, h := range schema.Harms(c.Argv) {
		k.classes[Class(h)] = true
	}
	for _, w := range c.Argv {
		if talks(c) && strings.Contains(w.Text, " ") {
			continue // a sentence
		}
		for _, hint := range hints {
			if containsFold(w.Text, hint.word) {
				k.classes[hint.class] = true
			}
		}
	}
}

// hints are parts of words that say what a script of the project is for.
var hints = []struct {
	word  string
	class Class
}{
	{"deploy", ClassPublishes},
	{"publish", ClassPublishes},
	{"release", ClassPublishes},
	{"upload", ClassPublishes},
	{"migrat", ClassTouchesData},
	{"://", ClassNetwork},
	{"git@", ClassNetwork},
	{"sudo", ClassRootEquivalent},
}

func (k *kinds) list() []Class {
	var out []Class
	for _, class := range everything() {
		if k.classes[class] {
			out = append(out, class)
		}
	}
	return out
}

// namesSecret reports whether any path in a text is a usual place of credentials, whoever's home it is in.
func namesSecret(text string) bool {
	tokens, more := pathTokens(nil, strings.ToLower(text))
	return more || slices.ContainsFunc(tokens, func(t string) bool {
		for c := range strings.SplitSeq(t, "/") {
			if secretName(c) {
				return true
			}
		}
		return slices.ContainsFunc(secretSystem, func(dir string) bool { return within(dir, t) }) ||
			slices.ContainsFunc(secretPlaces, func(p string) bool { return strings.HasSuffix(t, "/"+p) || strings.Contains(t, "/"+p+"/") })
	})
}
