package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// Policy decides by rules. It is a [leader.Decider] and a [leader.Adviser], and safe for concurrent use.
type Policy struct {
	rules  []Rule
	digest string
}

// New returns the policy of these rules. The error joins the [Problem]s of [Check]; own are further intents.
func New(rules []Rule, own ...string) (*Policy, error) {
	var errs []error
	for _, p := range Check(rules, own...) {
		errs = append(errs, p)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	text, err := json.Marshal(rules)
	if err != nil {
		return nil, fmt.Errorf("policy: write the rules: %w", err)
	}
	sum := sha256.Sum256(append([]byte("swarm/policy/v1\n"), text...))
	p := &Policy{digest: hex.EncodeToString(sum[:])}
	if err := json.Unmarshal(text, &p.rules); err != nil { // our own copy: what was digested is what decides
		return nil, fmt.Errorf("policy: read the rules: %w", err)
	}
	return p, nil
}

// Digest is the hex SHA-256 of the rules. It stands in every decision that the policy makes.
func (p *Policy) Digest() string { return p.digest }

// Decide returns the decision of the first rule on plans that matches. With no match, `then: ask`, and whatever is no
// plan, the error wraps [leader.ErrAbstain] and says why.
func (p *Policy) Decide(_ context.Context, r leader.Request) (planmode.Decision, error) {
	if !r.Row.IsPlan() {
		return planmode.Decision{}, fmt.Errorf("%w: rules decide plans and single calls only", leader.ErrAbstain)
	}
	rule, err := p.deciding(r)
	if err != nil {
		return planmode.Decision{}, err
	}
	d, err := leader.Prepare(r.Row, choice(*rule, p.digest, r.Charter.Caps), r.Charter, r.Now)
	if err != nil {
		return planmode.Decision{}, fmt.Errorf("%w: rule %q cannot decide this: %w", leader.ErrAbstain, rule.Name, err)
	}
	return d, nil
}

// Answer does the same for a single call, with the rules on permission. An approval allows the call once.
func (p *Policy) Answer(_ context.Context, r leader.Request) (planmode.PermissionAnswer, error) {
	rule, err := p.deciding(r)
	if err != nil {
		return planmode.PermissionAnswer{}, err
	}
	a, err := leader.PrepareAnswer(r.Row, choice(*rule, p.digest, r.Charter.Caps), r.Now)
	if err != nil {
		return planmode.PermissionAnswer{}, fmt.Errorf("%w: rule %q cannot answer this: %w", leader.ErrAbstain, rule.Name, err)
	}
	return a, nil
}

// deciding is the rule that decides, or an abstention.
func (p *Policy) deciding(r leader.Request) (*Rule, error) {
	rule, advice := p.explain(r)
	switch {
	case rule == nil:
		return nil, fmt.Errorf("%w: %s", leader.ErrAbstain, advice.Why)
	case rule.Then == ThenAsk:
		return nil, fmt.Errorf("%w: rule %q asks a person: %s", leader.ErrAbstain, rule.Name, advice.Why)
	}
	return rule, nil
}

// Explain says which rule is about the request, what it says, and why.
func (p *Policy) Explain(r leader.Request) leader.Advice {
	_, a := p.explain(r)
	return a
}

func (p *Policy) explain(r leader.Request) (*Rule, leader.Advice) {
	about := OnPlan
	switch {
	case r.Row.Kind == leader.RowRun:
		about = OnPermission
	case !r.Row.IsPlan():
		return nil, leader.Advice{Outcome: ThenAsk, Why: "rules decide plans and single calls only"}
	}
	passed := ""
	for i := range p.rules {
		rule := &p.rules[i]
		if rule.about() != about {
			continue
		}
		why, ok := rule.Match.matches(r.Row)
		if !ok {
			continue
		}
		if file := protected(rule, r.Row); file != "" {
			if passed == "" {
				passed = fmt.Sprintf("; rule %q would approve, but %s is protected, and no rule approves that", rule.Name, plans.Cut(plans.VisibleLine(file), 60))
			}
			continue
		}
		return rule, leader.Advice{Rule: rule.Name, Outcome: rule.Then, Why: why + passed}
	}
	if passed != "" {
		return nil, leader.Advice{Outcome: ThenAsk, Why: strings.TrimPrefix(passed, "; ")}
	}
	return nil, leader.Advice{Outcome: ThenAsk, Why: "no rule matches"}
}

// protected is the file that keeps a rule from approving: what a write to it does, it does later, and outside of the
// session. A rule that names a command word for word means it.
func protected(rule *Rule, r leader.Row) string {
	if rule.Then != ThenApprove || rule.Match.Commands != nil {
		return ""
	}
	return r.Protected()
}

// choice is what a rule chooses, made no wider than the caps.
func choice(r Rule, digest string, caps charter.Caps) leader.Choice {
	c := leader.Choice{Rule: r.Name, PolicyDigest: digest}
	if r.Then == ThenReject {
		c.Outcome, c.Feedback = planmode.OutcomeRejected, r.Feedback
		return c
	}
	c.Outcome, c.Note = planmode.OutcomeApproved, r.Feedback
	c.NoGrants = r.With.Grants == GrantsNone
	c.TTL = min(orElse(r.With.TTL, caps.Grants.TTL()), caps.Grants.TTL())
	c.Uses = r.With.Uses
	if caps.Grants.Uses > 0 {
		c.Uses = min(orElse(r.With.Uses, caps.Grants.Uses), caps.Grants.Uses)
	}
	if m, err := permissions.ParseMode(r.With.Mode); err == nil {
		c.Mode = permissions.MinMode(m, caps.Mode)
	}
	return c
}

func orElse[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}
