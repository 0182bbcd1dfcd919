package planmode

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

func (s Session) ask(id string) int {
	return slices.IndexFunc(s.Asks, func(a Ask) bool { return a.RequestID == id })
}

// asked opens a permission request. The same call asked again is the request that is open.
func (s *step) asked(ev Asked) error {
	a := cloneAsks([]Ask{ev.Ask})[0]
	if a.CallHash == "" {
		return fmt.Errorf("%w: the hash of the call is missing: judge the call again", ErrBadPrompt)
	}
	if slices.ContainsFunc(s.Asks, func(open Ask) bool { return open.CallHash == a.CallHash }) {
		return nil
	}
	if err := s.fresh(a.RequestID); err != nil {
		return err
	}
	if len(s.Asks) >= MaxAsks {
		return ErrTooManyAsks
	}
	s.Asks = append(s.Asks, a)
	s.do(PublishAsk{cloneAsks([]Ask{a})[0]}, WatchDecision{a.RequestID})
	s.emit("permission.asked", "requestId", a.RequestID, "callHash", a.CallHash, "tool", a.Tool)
	return nil
}

// askWithdrawn closes a permission request that nobody waits for.
func (s *step) askWithdrawn(ev AskWithdrawn) {
	if s.ask(ev.RequestID) < 0 {
		return
	}
	s.closeAsk(ev.RequestID)
	reason := known(ev.Reason)
	s.refuse(ev.RequestID, SettledWithdrawn, "withdrawn: "+string(reason))
	s.do(PublishWithdrawn{ev.RequestID, reason}, StopWatch{ev.RequestID})
}

func (s *step) closeAsk(id string) {
	s.Asks = slices.DeleteFunc(s.Asks, func(a Ask) bool { return a.RequestID == id })
}

// dropAsks denies the calls that wait: what was asked outside of plan mode is not let through inside of it, nor what was
// asked inside of it when it is over, and nobody is left to be let through at the end.
func (s *step) dropAsks(reason WithdrawReason, mail bool) {
	for _, a := range s.Asks {
		s.refuse(a.RequestID, SettledWithdrawn, "withdrawn: "+string(reason))
		if mail {
			s.do(PublishWithdrawn{a.RequestID, reason})
		}
		s.do(StopWatch{a.RequestID}, ReleaseCall{RequestID: a.RequestID, CallHash: a.CallHash, Message: string(reason), Withdrawn: true})
	}
	s.Asks = nil
}

func (s *step) watchAsks() {
	for _, a := range s.Asks {
		s.do(AskLedger{a.RequestID}, WatchDecision{a.RequestID})
	}
}

// permissionAnswered is rows 66 to 69.
func (s *step) permissionAnswered(ev PermissionAnswered) error {
	answer := ev.Answer
	if s.receiptAgain(answer.RequestID) {
		return nil
	}
	i := s.ask(answer.RequestID)
	if i < 0 {
		return fmt.Errorf("%w: it answers %q, which is not open", ErrStaleDecision, answer.RequestID)
	}
	a := s.Asks[i]
	if err := s.checkAnswer(ev, a); err != nil {
		return err
	}
	receipt := mailbox.Receipt{Of: a.RequestID, State: mailbox.Applied, Mode: string(s.Mode)}
	switch forPlan := answer.Behavior == permissions.BehaviorAllow && answer.Scope == permissions.ScopePlan; {
	case forPlan && a.OnceOnly != "":
		return fmt.Errorf("%w: %s: allow it once", ErrGrantNotAsked, a.OnceOnly)
	case forPlan && len(a.Runners) > 0:
		renewed, err := s.renewRunners(a)
		if err != nil {
			return err
		}
		receipt.Digest, receipt.Grants = s.Approved.Digest, renewed
	case forPlan:
		g, err := s.exactGrant(ev, a)
		if err != nil {
			return err
		}
		s.Grants = append(s.Grants, g)
		s.do(AddGrants{cloneGrants([]permissions.Grant{g})})
		receipt.Digest, receipt.Grants = g.Digest, []string{g.Prompt}
	}
	s.closeAsk(a.RequestID)
	s.settle(a.RequestID, SettledApplied, receipt)
	s.do(ReleaseCall{
		RequestID: a.RequestID, CallHash: a.CallHash,
		Allow: answer.Behavior == permissions.BehaviorAllow, Message: answer.Message,
	}, StopWatch{a.RequestID}, SendReceipt{receipt})
	return nil
}

// checkAnswer is rows 66 and 68, and that the answer is about the call that was asked.
func (s *step) checkAnswer(ev PermissionAnswered, a Ask) error {
	answer := ev.Answer
	if err := checkAuthority(ev.Authority, answer.Behavior != permissions.BehaviorDeny); err != nil {
		return err
	}
	understood := answer.Behavior == permissions.BehaviorDeny ||
		answer.Behavior == permissions.BehaviorAllow && (answer.Scope == permissions.ScopeOnce || answer.Scope == permissions.ScopePlan)
	switch {
	case answer.TeamID != s.Team:
		return fmt.Errorf("%w: it is of team %q: decide in team %q", ErrNotLeader, answer.TeamID, s.Team)
	case answer.CallHash != a.CallHash:
		return fmt.Errorf("%w: it is about call %.12q, and asked was %.12q", ErrDigestMismatch, answer.CallHash, a.CallHash)
	case !understood:
		return fmt.Errorf("%w: %q with scope %q: answer deny, or allow once or for the plan", ErrUnknownOutcome, answer.Behavior, answer.Scope)
	case answer.Behavior == permissions.BehaviorAllow && answer.Scope == permissions.ScopePlan && s.Approved == nil:
		return fmt.Errorf("%w: no plan is being carried out: allow it once, or deny it", ErrWrongState)
	}
	return nil
}

// renewRunners is row 67 for a call that is asked because of changed runner files: what they hold now is good for the rest
// of the plan, under the grants that would have covered the call. It returns the prompts of those grants.
func (s *step) renewRunners(a Ask) ([]string, error) {
	var prompts []string
	for i, g := range s.Grants {
		obeys, renewed := runnersOf(g, a.Argv), false
		for _, now := range a.Runners {
			if obeys(now) {
				g.Runners = slices.DeleteFunc(g.Runners, func(f permissions.RunnerFile) bool { return f.Path == now.Path })
				g.Runners = append(g.Runners, permissions.RunnerFile{Path: now.Path, Digest: now.Digest})
				renewed = true
			}
		}
		if renewed {
			s.Grants[i] = g
			prompts = append(prompts, g.Prompt)
		}
	}
	switch {
	case len(a.Argv) == 0:
		return nil, fmt.Errorf("%w: it is not one simple command: allow it once", ErrGrantNotAsked)
	case len(prompts) == 0:
		return nil, fmt.Errorf("%w: no grant covers it any more: allow it once", ErrGrantNotAsked)
	}
	return prompts, nil
}

// runnersOf tells which runner files are of a grant's commands. A grant for an exact command is about a call when the call
// is that command, by itself or behind a wrapper.
func runnersOf(g permissions.Grant, argv []string) func(permissions.RunnerFile) bool {
	if n := len(argv) - len(g.Argv); len(g.Argv) > 0 {
		same := n >= 0 && slices.Equal(argv[n:], g.Argv)
		return func(permissions.RunnerFile) bool { return same }
	}
	return func(f permissions.RunnerFile) bool {
		return slices.Contains(runnerNames(g.Intent, []permissions.RunnerFile{f}), path.Base(f.Path))
	}
}

// exactGrant is row 67: exactly this argv, for as long as the plan's grants may live.
func (s *step) exactGrant(ev PermissionAnswered, a Ask) (permissions.Grant, error) {
	folder, inside := inTree(s.Tree, a.Cwd)
	terms := permissions.GrantTerms{Tree: folder, ExpiresAt: s.Approved.Until, MaxUses: s.Charter.Caps.Grants.Uses}
	if asked := ev.Answer.Grant; asked != nil {
		terms = *asked
	}
	if limit := ev.Now.Add(s.Charter.Caps.Grants.TTL()); terms.ExpiresAt.After(limit) {
		terms.ExpiresAt = limit
	}
	if terms.ExpiresAt.After(s.Approved.Until) {
		terms.ExpiresAt = s.Approved.Until
	}
	switch {
	case s.Approved.Until.IsZero():
		return permissions.Grant{}, fmt.Errorf("%w: the plan was approved without grants: allow it once", ErrGrantNotAsked)
	case len(a.Argv) == 0 || len(ev.Answer.Argv) > 0 && !slices.Equal(ev.Answer.Argv, a.Argv):
		return permissions.Grant{}, fmt.Errorf("%w: it is not the one simple command %q: allow it once", ErrGrantNotAsked, a.Argv)
	case !inside:
		return permissions.Grant{}, fmt.Errorf("%w: it was asked in %q, outside the working tree: allow it once", ErrGrantNotAsked, a.Cwd)
	case terms.Intent != "":
		return permissions.Grant{}, fmt.Errorf("%w: intent %q: only the exact command can be granted", ErrGrantNotAsked, terms.Intent)
	}
	if terms.Prompt == "" {
		terms.Prompt = strings.Join(a.Argv, " ")
	}
	if err := checkTerms(terms, s.Charter.Caps.Grants, ev.Now, ev.Now); err != nil {
		return permissions.Grant{}, err
	}
	return permissions.Grant{
		GrantTerms: terms, ID: a.RequestID + "/1", Teammate: s.Teammate, PlanID: s.Approved.PlanID, RequestID: a.RequestID,
		Digest: s.Approved.Digest, Root: s.Tree, Argv: slices.Clone(a.Argv), GrantedBy: decidedBy(ev.Answer.OrderHead, ev.Authority).Name,
		Runners: slices.Clone(a.Obeys),
	}, nil
}

// callRefused is row 70: it is told, and nothing changes.
func (s *step) callRefused(ev CallRefused) {
	s.emit("call.refused", "tool", ev.Tool, "callHash", ev.CallHash, "reason", ev.Reason)
}

// inTree is the folder of a call relative to the working tree, and whether it is inside.
func inTree(tree, cwd string) (string, bool) {
	if localTree(cwd) {
		return cwd, true
	}
	tree, cwd = path.Clean(strings.ReplaceAll(tree, "\\", "/")), path.Clean(strings.ReplaceAll(cwd, "\\", "/"))
	if cwd == tree && cwd != "." {
		return ".", true
	}
	rest, below := strings.CutPrefix(cwd, strings.TrimSuffix(tree, "/")+"/")
	return rest, below && localTree(rest)
}
