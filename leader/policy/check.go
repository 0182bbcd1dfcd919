package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// Problem is something wrong with one rule.
type Problem struct {
	Rule       int    // index of the rule
	Name       string // its name, which may be empty
	Field      string // dotted, e.g. with.ttl or match.intents[0]; empty: the rule as a whole
	Message    string
	Suggestion string
}

// Error is the problem in one line.
func (p Problem) Error() string {
	s := fmt.Sprintf("policy: rule %d", p.Rule+1)
	if p.Name != "" {
		s = fmt.Sprintf("policy: rule %q", p.Name)
	}
	if p.Field != "" {
		s += ": " + p.Field
	}
	s += ": " + p.Message
	if p.Suggestion != "" {
		s += ": " + p.Suggestion
	}
	return s
}

// checker collects the problems of one rule after the other.
type checker struct {
	own      []string // further intents
	rule     int
	name     string
	problems []Problem
}

func (c *checker) add(field, suggestion, format string, args ...any) {
	c.problems = append(c.problems, Problem{
		Rule: c.rule, Name: c.name, Field: field, Message: fmt.Sprintf(format, args...), Suggestion: suggestion,
	})
}

// Check returns everything that is wrong with the rules, in their order. Own are intents besides those that are built in.
func Check(rules []Rule, own ...string) []Problem {
	c := &checker{own: own}
	seen := map[string]int{}
	for i, r := range rules {
		c.rule, c.name = i, r.Name
		if first, twice := seen[r.Name]; twice && r.Name != "" {
			c.add("name", fmt.Sprintf("rule %d has it already", first+1), "name %q comes twice", r.Name)
		} else {
			seen[r.Name] = i
		}
		c.checkRule(r)
	}
	return c.problems
}

func (c *checker) checkRule(r Rule) {
	if strings.TrimSpace(r.Name) == "" {
		c.add("name", "give the rule a name: it stands in every decision it makes", "the rule has no name")
	}
	c.checkOn(r)
	c.checkThen(r)
	c.checkMatch(r.Match)
	c.checkWith(r.With)
}

// checkOn refuses keys that a plan, or a single call, does not have.
func (c *checker) checkOn(r Rule) {
	m := r.Match
	switch r.On {
	case "", OnPlan:
		if m.Commands != nil {
			c.add("match.commands", "add on: permission, or match intents", "a plan has no commands")
		}
	case OnPermission:
		if m.Intents != nil || m.Lacks != nil || m.Revision != 0 {
			c.add("match", "match teammates, agents, commands and paths", "a single call has no intents or revision")
		}
		if m.Commands != nil && m.Paths != nil {
			c.add("match", "make two rules", "a call runs a command or edits a file, and never both")
		}
		if r.With != (With{}) {
			c.add("with", "remove it", "a single call is allowed once, or not")
		}
		if r.Then == ThenApprove && m.Commands == nil && m.Paths == nil {
			c.add("match", `list commands, such as "git fetch origin", or paths of files to edit`, "a rule that allows calls must name them")
		}
	default:
		c.add("on", nearest(r.On, []string{OnPlan, OnPermission}, "use plan or permission"), "unknown subject %q", r.On)
	}
}

func (c *checker) checkThen(r Rule) {
	known := []string{ThenApprove, ThenReject, ThenAsk}
	switch r.Then {
	case ThenApprove: // feedback is a note to the teammate
	case ThenReject:
		if strings.TrimSpace(r.Feedback) == "" {
			c.add("feedback", "say what the teammate should change", "a rejection needs feedback")
		}
	case ThenAsk:
		if r.Feedback != "" {
			c.add("feedback", "remove it", "a rule that asks sends no feedback")
		}
	case "":
		c.add("then", "use approve, reject or ask", "the rule does not say what to do")
	default:
		c.add("then", nearest(r.Then, known, "use approve, reject or ask"), "unknown outcome %q", r.Then)
	}
	if r.On != OnPermission && r.Then != ThenApprove && r.With != (With{}) {
		c.add("with", "remove it", "only an approval has terms")
	}
}

func (c *checker) checkMatch(m Match) {
	if m.Teammate != "" && m.Teammates != nil {
		c.add("match.teammate", "use one of them", "teammate and teammates are both given")
	}
	if m.Teammate != "" {
		c.checkMember("match.teammate", m.Teammate)
	}
	for i, n := range m.Teammates {
		c.checkMember(fmt.Sprintf("match.teammates[%d]", i), n)
	}
	c.checkIntents("match.intents", m.Intents)
	c.checkIntents("match.lacks", m.Lacks)
	c.checkNotEmpty("match.teammates", m.Teammates)
	c.checkNotEmpty("match.agents", m.Agents)
	c.checkNotEmpty("match.lacks", m.Lacks)
	c.checkNotEmpty("match.paths", m.Paths)
	c.checkNotEmpty("match.commands", m.Commands)
	for i, line := range m.Commands {
		if !plain(line) || strings.TrimSpace(line) == "" {
			c.add(fmt.Sprintf("match.commands[%d]", i), "write plain words, as they are typed", "%q is not one simple command", line)
		}
	}
	for i, p := range m.Paths {
		if err := charter.CheckPattern(p); err != nil {
			c.add(fmt.Sprintf("match.paths[%d]", i), "use slash paths inside the tree, with * and **", "bad pattern %q", p)
		}
	}
	if m.Revision < 0 {
		c.add("match.revision", "the first revision is 1", "revision cannot be %d", m.Revision)
	}
}

// checkNotEmpty refuses `paths: []` and the like. Only `intents: []` means something: that nothing is asked.
func (c *checker) checkNotEmpty(field string, values []string) {
	if values != nil && len(values) == 0 {
		c.add(field, "name at least one, or remove the key", "an empty list says nothing")
	}
}

func (c *checker) checkMember(field, name string) {
	if err := mailbox.CheckMember(name); err != nil {
		c.add(field, "", "%q cannot be a teammate's name", name)
	}
}

// checkIntents demands the intents' own names: a rule that names none would never hold, or always.
func (c *checker) checkIntents(field string, names []string) {
	for i, n := range names {
		if _, ok := intent.Describe(n); !ok && !slices.Contains(c.own, n) {
			suggestion := `for example "run tests"`
			if in, ok := intent.Resolve(n); ok {
				suggestion = fmt.Sprintf("did you mean %q?", in.Name)
			}
			c.add(fmt.Sprintf("%s[%d]", field, i), suggestion, "unknown intent %q", n)
		}
	}
}

func (c *checker) checkWith(w With) {
	if w.TTL < 0 {
		c.add("with.ttl", `write it like "2h"`, "a grant cannot live %v", w.TTL)
	}
	if w.Uses < 0 {
		c.add("with.uses", "0 is the charter's own figure", "uses cannot be %d", w.Uses)
	}
	switch w.Grants {
	case "", GrantsAsked, GrantsNone:
	default:
		c.add("with.grants", nearest(w.Grants, []string{GrantsAsked, GrantsNone}, "use asked or none"), "unknown choice %q", w.Grants)
	}
	if w.Mode == "" {
		return
	}
	if m, err := permissions.ParseMode(w.Mode); err != nil {
		c.add("with.mode", "use default, acceptEdits, auto, dontAsk or bypassPermissions", "unknown mode %q", w.Mode)
	} else if m == permissions.ModePlan {
		c.add("with.mode", "name the mode that comes back", "an approval cannot restore plan mode")
	}
}

func nearest(got string, known []string, otherwise string) string {
	if near := mailbox.Nearest(got, known); len(near) > 0 {
		return fmt.Sprintf("did you mean %q?", near[0])
	}
	return otherwise
}
