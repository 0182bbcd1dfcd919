package facts

import (
	"cmp"
	"slices"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// Level is how much care a plan needs, computed from its facts.
type Level string

// The levels. A [High] one needs the whole plan to be seen, and the teammate's name to be typed.
const (
	Low  Level = "low"
	Med  Level = "med"
	High Level = "high"
)

// Risk is the level of a plan with these facts, and the facts that raise it: the gravest first, then by line.
func Risk(list []plans.Fact) (Level, []plans.Fact) {
	var reasons []plans.Fact
	for _, f := range list {
		if LevelOf(f) != Low {
			reasons = append(reasons, f)
		}
	}
	slices.SortStableFunc(reasons, func(a, b plans.Fact) int {
		return cmp.Or(cmp.Compare(rank(LevelOf(b)), rank(LevelOf(a))), cmp.Compare(a.Line, b.Line))
	})
	if len(reasons) == 0 {
		return Low, nil
	}
	return LevelOf(reasons[0]), reasons
}

// LevelOf is the level that one fact raises a plan to.
func LevelOf(f plans.Fact) Level {
	switch f.Rule {
	case RuleHiddenCharacters, RuleDestructive, RuleCredentials, RuleOddPath:
		return High
	case RuleTooMany:
		if f.Value == RuleFilesNamed || f.Value == RuleHiddenMarkdown {
			return High // who knows what is not listed
		}
		return LevelOf(plans.Fact{Rule: f.Value})
	case RuleHiddenMarkdown:
		if f.Value == plans.MarkupComment || f.Value == plans.MarkupReference {
			return High
		}
		return Med
	case RuleClass:
		return classLevel(permissions.Class(f.Value))
	case RuleProtectedFile, RuleOutsideTree, RuleNetwork, RuleUnknownPrompt, RuleUnverified:
		return Med
	default:
		return Low
	}
}

func classLevel(class permissions.Class) Level {
	switch class {
	case permissions.ClassRunsProjectCode:
		return Low
	case permissions.ClassNetwork, permissions.ClassLongLived:
		return Med
	default: // publishes, root-equivalent, touches data, and what is not known here
		return High
	}
}

func rank(l Level) int { return slices.Index([]Level{Low, Med, High}, l) }
