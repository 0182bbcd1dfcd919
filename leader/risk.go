package leader

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/shellcmd"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
)

// The rules of this package, beside those of [facts].
const (
	RuleClaimedMode = "claimed-mode" // the teammate says that it had a wider mode than is known; value: the claim
	RuleFalsePrompt = "false-prompt" // a prompt is said to be an intent that it does not mean; value: the prompt
	RuleFiles       = "files"        // a call could remove or overwrite files; value: the program
)

// Risk is how much care a request needs, and why: the gravest reason first.
type Risk struct {
	Level   facts.Level
	Reasons []plans.Fact
}

// Word is the level as people see it: HIGH is the one in capitals.
func (r Risk) Word() string {
	if r.Level == facts.High {
		return "HIGH"
	}
	return string(r.Level)
}

func rank(l facts.Level) int { return slices.Index([]facts.Level{facts.Low, facts.Med, facts.High}, l) }

// assess computes the risk from the facts, and from what the teammate claims against what is known.
func assess(r *Row) Risk {
	var own []plans.Fact
	if r.Claimed != "" {
		own = append(own, plans.Fact{
			Rule: RuleClaimedMode, Value: string(r.Claimed), Text: fmt.Sprintf("says it had %s, known is %s", r.Claimed, r.ModeBack),
		})
	}
	if r.Request != nil {
		own = append(own, falsePrompts(r.Request.AllowedPrompts)...)
	}
	level, found := facts.Risk(r.Facts)
	for _, f := range r.Facts {
		if f.Rule == RuleFiles {
			found = append(found, f)
			if level == facts.Low {
				level = facts.Med
			}
		}
	}
	if len(own) > 0 || r.Kind == RowRun && slices.ContainsFunc(r.Facts, stops) {
		level = facts.High
	}
	return Risk{Level: level, Reasons: append(own, found...)}
}

// stops reports whether a fact of a single call makes it HIGH: nothing around the call says what it is for.
func stops(f plans.Fact) bool { return f.Rule == facts.RuleNetwork || f.Rule == facts.RuleDestructive }

// falsePrompts are the prompts that are said to be an intent which we know, and which their words do not mean.
func falsePrompts(asked []permissions.Prompt) (found []plans.Fact) {
	for _, p := range asked {
		_, known := intent.Describe(p.Intent)
		if known && permissions.ResolvePrompt(p.Tool, p.Prompt).Intent != p.Intent {
			found = append(found, plans.Fact{
				Rule: RuleFalsePrompt, Value: p.Prompt, Text: fmt.Sprintf("calls %q %q, which it is not", plans.Cut(p.Prompt, 60), p.Intent),
			})
		}
	}
	return found
}

// requestFacts computes a request's facts again: what the teammate sent along is its own word.
func requestFacts(q *planmode.ApprovalRequest, understood []permissions.Prompt) []plans.Fact {
	if q.Kind != planmode.AskPlan {
		return nil
	}
	return facts.Compute(q.Plan.Content, understood, facts.Tree{})
}

// callFacts are the facts of one call, which is looked at as code.
func callFacts(p *permissions.PermissionRequest) []plans.Fact {
	fence := "```"
	for strings.Contains(p.Input, fence) {
		fence += "`"
	}
	found := facts.Compute([]byte(fence+"\n"+p.Input+"\n"+fence+"\n"), nil, facts.Tree{})
	for i := range found {
		found[i].Line = max(found[i].Line-1, 0)
	}
	found = slices.DeleteFunc(found, func(f plans.Fact) bool { return f.Rule == facts.RuleUnverified })
	for _, f := range facts.Compute([]byte(p.Change), nil, facts.Tree{}) { // of what an edit writes, only what hides or destroys
		if f.Rule == facts.RuleHiddenCharacters || f.Rule == facts.RuleDestructive {
			f.Line = 0
			found = append(found, f)
		}
	}
	if p.Tool == "Bash" && !slices.ContainsFunc(found, func(f plans.Fact) bool { return f.Rule == facts.RuleDestructive }) {
		found = append(found, removals(p.Input)...)
	}
	return found
}

// Programs that remove files or write over them, words of git that do, and programs that start another.
var (
	removers    = []string{"rm", "rmdir", "unlink", "mv", "shred", "truncate", "dd"}
	gitRemovers = []string{"reset", "checkout", "restore", "clean", "rm", "mv", "rebase"}
	starters    = []string{"sudo", "doas", "env", "xargs", "nice", "nohup", "time", "timeout", "command", "exec", "busybox", "find"}
)

// removals says which commands of a line could destroy files that are not kept elsewhere. A line that cannot be read is
// looked at word by word.
func removals(input string) (found []plans.Fact) {
	add := func(name string, words []string) {
		found = append(found, plans.Fact{
			Rule: RuleFiles, Value: name, Text: fmt.Sprintf("could destroy files (%s): %s", name, plans.Shorten(strings.Join(words, " "), 100)),
		})
	}
	line, err := shellcmd.Parse(input, "/")
	if err != nil || len(line.Refused) > 0 {
		words := strings.FieldsFunc(input, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(";|&(){}`", r) })
		for i := range words {
			if name := remover(words[i:]); name != "" {
				add(name, words[i:])
			}
		}
		return found
	}
	for _, c := range line.Commands {
		words := shellcmd.Shown(c.Argv)
		for i := range words {
			if name := remover(words[i:]); name != "" {
				add(name, words)
				break
			}
			if i == 0 && !slices.Contains(starters, path.Base(words[0])) {
				break
			}
		}
	}
	return found
}

// remover is what of a command's first words removes files: "mv", "git reset". Empty: nothing.
func remover(words []string) string {
	name := path.Base(words[0])
	switch {
	case slices.Contains(removers, name):
		return name
	case name == "-delete":
		return "find -delete"
	case name != "git":
		return ""
	}
	for _, w := range words[1:] {
		if slices.Contains(gitRemovers, w) {
			return "git " + w
		}
	}
	return ""
}

// reasonLine is a reason for people: "could destroy (rm -r): rm -rf data, line 14".
func reasonLine(f plans.Fact) string {
	text := plans.VisibleLine(f.Text)
	if f.Line > 0 {
		text += fmt.Sprintf(", line %d", f.Line)
	}
	return text
}

// topReason is the gravest reason in a few words.
func (r *Row) topReason() string {
	if len(r.Risk.Reasons) == 0 {
		return "see its risk"
	}
	top := r.Risk.Reasons[0]
	top.Text = plans.Cut(top.Text, 80)
	return reasonLine(top)
}
