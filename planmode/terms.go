package planmode

import (
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

// ClockSkew is how far a leader's clock may be from the teammate's in what is checked about a grant's end.
const ClockSkew = time.Minute

// checkGrants is row 23: a decision gives what was asked, or less.
func checkGrants(in CheckInput) error {
	d := in.Decision
	if len(d.Grants) == 0 {
		return nil
	}
	if d.Outcome != OutcomeApproved || in.Kind != AskPlan {
		return fmt.Errorf("%w: %s of a %s request grants nothing: leave the grants out", ErrGrantNotAsked, d.Outcome, in.Kind)
	}
	if _, err := matchGrants(in.Prompts, d.Grants); err != nil {
		return err
	}
	for _, g := range d.Grants {
		if err := checkTerms(g, in.Grants, d.DecidedAt, in.Now); err != nil {
			return err
		}
	}
	return nil
}

// matchGrants finds for each grant the prompt that asked for it; each prompt is given once.
func matchGrants(asked []permissions.Prompt, granted []permissions.GrantTerms) ([]int, error) {
	given := make([]bool, len(asked))
	indices := make([]int, 0, len(granted))
	for _, g := range granted {
		i := 0
		for i < len(asked) && (given[i] || asked[i].Prompt != g.Prompt || asked[i].Intent != g.Intent) {
			i++
		}
		switch {
		case i == len(asked):
			return nil, fmt.Errorf("%w: %q as %q: grant only what the plan asks for, each once", ErrGrantNotAsked, g.Prompt, g.Intent)
		case g.Intent == "":
			return nil, fmt.Errorf("%w: %q is not recognised, so nothing can be granted: leave it out", ErrGrantNotAsked, g.Prompt)
		}
		given[i] = true
		indices = append(indices, i)
	}
	return indices, nil
}

// checkTerms says why terms are wider than any grant of the team may be.
func checkTerms(g permissions.GrantTerms, caps charter.GrantCaps, decidedAt, now time.Time) error {
	limit := now
	if decidedAt.Before(now) {
		limit = decidedAt
	}
	limit = limit.Add(caps.TTL() + ClockSkew)
	switch {
	case !localTree(g.Tree):
		return fmt.Errorf("%w: tree %q: name a folder inside the working tree, with slashes, or \".\"", ErrGrantNotAsked, g.Tree)
	case !g.ExpiresAt.After(now):
		return fmt.Errorf("%w: it ends %s, before it begins: grant it for longer", ErrGrantNotAsked, g.ExpiresAt.Format(time.RFC3339))
	case g.ExpiresAt.After(limit):
		return fmt.Errorf("%w: it ends %s, and the team allows %s: end it earlier", ErrGrantNotAsked, g.ExpiresAt.Format(time.RFC3339), caps.TTL())
	case g.MaxUses < 0 || caps.Uses > 0 && (g.MaxUses == 0 || g.MaxUses > caps.Uses):
		return fmt.Errorf("%w: %d uses (0 is any number), and the team allows %d: name fewer", ErrGrantNotAsked, g.MaxUses, caps.Uses)
	}
	return nil
}

// localTree reports whether a slash path stays inside the folder that it is relative to, on every system that a teammate
// may run on.
func localTree(tree string) bool {
	odd := func(r rune) bool { return r == '\\' || r < 0x20 || r == 0x7f }
	switch {
	case tree == "" || path.Clean(tree) != tree || path.IsAbs(tree):
		return false
	case tree == ".." || strings.HasPrefix(tree, "../"):
		return false
	case len(tree) > 1 && tree[1] == ':': // a drive
		return false
	}
	return !strings.ContainsFunc(tree, odd)
}
