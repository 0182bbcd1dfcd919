package planmode

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// What a plan may ask for.
const (
	MaxPrompts     = 64   // prompts of one plan
	MaxPromptBytes = 1024 // of one prompt
)

// checkPrompts is row 9. A prompt that no intent is known for may be asked; it cannot be granted.
func checkPrompts(prompts []permissions.Prompt) error {
	if len(prompts) > MaxPrompts {
		return fmt.Errorf("%w: %d prompts, and %d are allowed: ask for fewer", ErrBadPrompt, len(prompts), MaxPrompts)
	}
	for _, p := range prompts {
		switch {
		case p.Tool != "Bash":
			return fmt.Errorf("%w: %q is for tool %q: ask for Bash only", ErrBadPrompt, p.Prompt, p.Tool)
		case len(p.Prompt) > MaxPromptBytes:
			return fmt.Errorf("%w: it has %d bytes, and %d are allowed: say it in a few words", ErrBadPrompt, len(p.Prompt), MaxPromptBytes)
		case plans.Check([]byte(p.Prompt)) != nil || !utf8.ValidString(p.Intent):
			return fmt.Errorf("%w: %q is empty or no text: say what it is for", ErrBadPrompt, p.Prompt)
		}
	}
	return nil
}

// CheckDeadline refuses a deadline that lies, in UTC, outside of the years 1970 to 9999: whoever shows it could not write it as
// JSON. Nil is none, and is fine.
func CheckDeadline(at *time.Time) error {
	if at == nil {
		return nil
	}
	if y := at.UTC().Year(); y < 1970 || y > 9999 {
		return fmt.Errorf("%w: its deadline is in the year %d in UTC: name one from 1970 to 9999", ErrBadPlan, y)
	}
	return nil
}

// checkOptions is row 9. What is not UTF-8 would reach the leader as other bytes than those of the digest.
func checkOptions(rules plans.LabelRules, options []plans.Option) error {
	if err := rules.Check(options); err != nil {
		return fmt.Errorf("%w: %s", ErrBadOptions, strings.TrimPrefix(err.Error(), plans.ErrOptions.Error()+": "))
	}
	for _, o := range options {
		if !utf8.ValidString(o.Label) || !utf8.ValidString(o.Description) {
			return fmt.Errorf("%w: %q is not UTF-8: save it as UTF-8", ErrBadOptions, o.Label)
		}
	}
	return nil
}
