// Package facts computes what a leader should know about a plan before deciding, from its bytes and prompts alone. No
// fact is written by a model, and each names the rule that found it.
//
//	found := facts.Compute(content, prompts, facts.Tree{Root: "/home/mia/shop"})
//	level, reasons := facts.Risk(found)
//
// The facts of one plan are the same everywhere and always in the same order, and small enough to travel with it: what
// does not fit is counted in a fact of rule [RuleTooMany]. They are hints about text, and no boundary: what a teammate
// may do is decided by package permissions.
package facts

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// The rules, in the order in which their facts are listed. Fact.Value is for policies, Fact.Text for people; both may
// hold the author's text, as it is: make it visible at the exit.
const (
	RuleHiddenCharacters = "hidden-characters" // value: the first of the line, "U+202E"
	RuleHiddenMarkdown   = "hidden-markdown"   // value: the kind, as plans.MarkupComment
	RuleDestructive      = "destructive"       // value: the pattern's name, "rm -r"
	RuleCredentials      = "credentials"       // value: the path
	RuleProtectedFile    = "protected-file"    // value: the path; writes to it always ask
	RuleOutsideTree      = "outside-tree"      // value: the path, absolute or starting with .. or ~
	RuleOddPath          = "odd-path"          // value: none; something like a path that is too long to be one
	RuleTooMany          = "too-many"          // value: the rule of which not all facts are listed
	RuleNetwork          = "network"           // value: the program
	RuleUnknownPrompt    = "unknown-prompt"    // value: the prompt
	RuleIntent           = "intent"            // value: the intent
	RuleClass            = "class"             // value: the class
	RuleUnverified       = "no-verification"   // value: none; files are named, and nothing says how the work is checked
	RuleDocsOnly         = "docs-only"         // value: "true"; every file named is documentation
	RuleLineEnds         = "line-ends"         // value: "crlf"
	RuleFilesNamed       = "files-named"       // value: the path; one fact for each
)

var order = []string{
	RuleHiddenCharacters, RuleHiddenMarkdown, RuleDestructive, RuleCredentials, RuleProtectedFile, RuleOutsideTree, RuleOddPath, RuleTooMany,
	RuleNetwork, RuleUnknownPrompt, RuleIntent, RuleClass, RuleUnverified, RuleDocsOnly, RuleLineEnds, RuleFilesNamed,
}

// Tree is what is known of the place that a plan is for. The zero Tree is ready to use.
type Tree struct {
	// Root is the absolute working tree: an absolute path inside it is named by its relative one. Empty: not known.
	Root string
	// Linked tells where a path in the tree leads by the links of now, named as a path in the plan would be. Nil: not known.
	Linked func(path string) string
}

// Compute lists the facts of a plan.
func Compute(content []byte, prompts []permissions.Prompt, tree Tree) []plans.Fact {
	var c collector
	c.hidden(content)
	c.prompts(prompts)
	c.lines(content, tree)
	c.summary(content, prompts)
	slices.SortStableFunc(c.facts, func(a, b plans.Fact) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Rule), slices.Index(order, b.Rule)), cmp.Compare(a.Line, b.Line))
	})
	return c.facts
}

// Paths lists the files and folders that a plan names: clean slash paths relative to the tree, or absolute, or starting
// with `..` or `~`; each once, in the order of their lines. When [Complete] is false there are more.
func Paths(list []plans.Fact) []string {
	var paths []string
	for _, f := range list {
		if f.Rule == RuleFilesNamed && !slices.Contains(paths, f.Value) {
			paths = append(paths, f.Value)
		}
	}
	return paths
}

// Complete reports whether every file that the plan names is listed. A plan that names more than [MaxFiles] cannot be
// judged by its paths: whoever does has to refuse it.
func Complete(list []plans.Fact) bool {
	return !slices.ContainsFunc(list, func(f plans.Fact) bool {
		return f.Rule == RuleTooMany && f.Value == RuleFilesNamed || f.Rule == RuleOddPath
	})
}

// How much is listed, so that the facts of any plan stay far below what fits beside it in an envelope.
const (
	// MaxFiles is how many files are listed at most.
	MaxFiles   = 300
	maxPerRule = 10
	maxPrompts = 64
	maxText    = 80 // characters of foreign text in a fact
)

// collector gathers facts, at most so many of each rule.
type collector struct {
	facts []plans.Fact
	count map[string]int
	files map[string]bool
}

// add lists a fact unless its rule has had enough.
func (c *collector) add(f plans.Fact) {
	limit := maxPerRule
	switch f.Rule {
	case RuleFilesNamed:
		limit = MaxFiles
	case RuleIntent, RuleUnknownPrompt:
		limit = maxPrompts
	}
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[f.Rule]++
	if c.count[f.Rule] <= limit {
		f.Text, f.Value = plans.Shorten(f.Text, maxText+40), plans.Shorten(f.Value, maxPath)
		c.facts = append(c.facts, f)
	}
}

// surplus adds a fact for each rule of which not all facts are listed.
func (c *collector) surplus() {
	listed := map[string]int{}
	for _, f := range c.facts {
		listed[f.Rule]++
	}
	for _, rule := range order {
		if more := c.count[rule] - listed[rule]; more > 0 {
			text := fmt.Sprintf("%d more of rule %s are not listed", more, rule)
			c.facts = append(c.facts, plans.Fact{Rule: RuleTooMany, Text: text, Value: rule})
		}
	}
}

func (c *collector) has(rule string) bool { return c.count[rule] > 0 }
