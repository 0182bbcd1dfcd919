package leader

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// maxText is the largest note or feedback, in bytes.
const maxText = 64 << 10

// Choice is what a person, or a rule, wants done with one request. The zero value of each field leaves the default.
type Choice struct {
	Outcome planmode.Outcome // approved, rejected or rejectedAndExit
	// Mode that the teammate gets back. Empty: what it had before, as the coordinator knows it, within the cap.
	Mode permissions.Mode
	// Grants are the asked prompts that are given. Empty: every one that was recognised, unless NoGrants is set.
	Grants   []string
	NoGrants bool
	// Limits narrows single grants; TTL and Uses narrow all of them. Zero: the charter's figures.
	Limits []Limit
	TTL    time.Duration
	Uses   int

	Option   string // label or number of the approach
	Note     string // sent along with an approval
	Feedback string // sent with a rejection
	// Comments are on lines of the plan, and sent along with either. Their line and text count: [Prepare] numbers and quotes.
	Comments []planmode.Comment
	Edited   []byte // the plan as the leader changed it; nil: as submitted

	// Scope is how far allowing a call reaches: once, the default, or plan.
	Scope permissions.Scope

	Confirm string // the teammate's name, typed: needed to approve what is HIGH risk
	MovedOK string // why to approve although files have changed since

	// Signed is the code of what others have signed ([Vote.Code]): this, and nothing else, is signed too.
	Signed string

	// Rule is the policy rule that chooses. A rule types no names and gives no reasons.
	Rule         string
	PolicyDigest string
}

// Limit narrows one grant.
type Limit struct {
	Prompt string
	Uses   int           // 0: no change
	For    time.Duration // 0: no change
	In     string        // slash path inside the working tree; empty: all of it
}

// Prepare turns a choice into the decision that [Publish] will sign. It fills the mode that comes back (never the
// teammate's own claim), the terms of each grant within the caps of c, and the digests. The errors are [Error]s of exit
// code 2; what only signing can tell is left to [Publish]. The teammate's name is asked for last: when the error is that of
// [NameNeedsConfirm], nothing else is wrong.
func Prepare(r Row, ch Choice, c charter.Charter, now time.Time) (planmode.Decision, error) {
	if r.Request == nil {
		return planmode.Decision{}, errNotAPlan(&r)
	}
	if err := ch.check(&r); err != nil {
		return planmode.Decision{}, err
	}
	comments, err := anchored(&r, ch.Comments)
	if err != nil {
		return planmode.Decision{}, err
	}
	d := planmode.Decision{
		RequestID: r.Request.RequestID, Revision: r.Request.Revision, PlanDigest: r.Request.Digest,
		Outcome: ch.Outcome, Approved: ch.Outcome == planmode.OutcomeApproved,
		Feedback: ch.Feedback, Comments: comments, PolicyDigest: ch.PolicyDigest,
	}
	d.DecidedAt = now.UTC()
	if ch.Rule != "" {
		d.DecidedBy.Via = ViaRule(ch.Rule)
	}
	switch ch.Outcome {
	case planmode.OutcomeApproved:
		err = approve(&d, &r, ch, c, now)
	case planmode.OutcomeRejectedAndExit:
		d.Mode, err = modeBack(&r, ch.Mode, c)
	}
	return d, err
}

// PrepareAnswer turns a choice into the answer to a permission request: approved allows this one call, or with scope plan
// exactly this command for as long as the approved plan lives; rejected denies it with the feedback. What is HIGH risk
// needs the teammate's name, as a plan does. The errors are [Error]s of exit code 2.
func PrepareAnswer(r Row, ch Choice, now time.Time) (planmode.PermissionAnswer, error) {
	if r.Permission == nil {
		return planmode.PermissionAnswer{}, errNotACall(&r)
	}
	a := planmode.PermissionAnswer{RequestID: r.Permission.RequestID}
	a.DecidedAt, a.CallHash = now.UTC(), r.Permission.CallHash
	if ch.Rule != "" {
		a.DecidedBy.Via = viaRule + ch.Rule
	}
	switch ch.Outcome {
	case planmode.OutcomeApproved:
		argv, err := ch.scoped(&r)
		if err != nil {
			return planmode.PermissionAnswer{}, err
		}
		if err := ch.confirmed(&r); err != nil {
			return planmode.PermissionAnswer{}, err
		}
		a.Behavior, a.Scope, a.Argv, a.Message = permissions.BehaviorAllow, orElse(ch.Scope, permissions.ScopeOnce), argv, ch.Note
	case planmode.OutcomeRejected:
		a.Behavior, a.Message = permissions.BehaviorDeny, ch.Feedback
	case planmode.OutcomeRejectedAndExit:
		return planmode.PermissionAnswer{}, errCannotLeave(&r)
	default:
		return planmode.PermissionAnswer{}, errBadChoice("allow or deny it", "a call cannot be %s", quote(string(ch.Outcome)))
	}
	return a, nil
}

// scoped is the command that scope plan grants, word by word as this leader reads the line: an exact grant of anything
// else than one simple command would not be what was read. Scope once grants nothing.
func (ch Choice) scoped(r *Row) ([]string, error) {
	once := "allow it once: swarm approve " + r.Handle
	switch ch.Scope {
	case "", permissions.ScopeOnce:
		return nil, nil
	case permissions.ScopePlan:
	default:
		return nil, errBadChoice("use once or plan", "unknown scope %s", quote(string(ch.Scope)))
	}
	if r.Permission.Tool != "Bash" {
		return nil, errBadChoice(once, "%s is a call of %s, and only a command can be allowed for a plan", r.Handle, plans.VisibleLine(r.Permission.Tool))
	}
	if r.noPlanScope {
		return nil, errBadChoice(once, "%s cannot be allowed for a plan: its plan has no grants", r.Handle)
	}
	argv, why := permissions.ExactCommand(r.Permission.Input)
	if why != "" {
		return nil, errBadChoice(once, "%s cannot be allowed for a plan: %s", r.Handle, plans.VisibleLine(plans.Cut(why, 100)))
	}
	return argv, nil
}

// check refuses a choice that contradicts itself.
func (ch Choice) check(r *Row) error {
	switch ch.Outcome {
	case planmode.OutcomeApproved, planmode.OutcomeRejected:
	case planmode.OutcomeRejectedAndExit:
		if strings.TrimSpace(ch.Feedback) == "" {
			return errBadChoice("give it with -m TEXT", "a reason is needed to send %s out of plan mode", plans.VisibleLine(r.From))
		}
	default:
		return errBadChoice("use approved, rejected or rejectedAndExit", "unknown outcome %s", quote(string(ch.Outcome)))
	}
	if ch.NoGrants && len(ch.Grants) > 0 {
		return errBadChoice("use one of them", "some grants and no grants were both chosen")
	}
	n := len(ch.Note) + len(ch.Feedback)
	for _, c := range ch.Comments {
		n += len(c.Text)
	}
	if n > maxText {
		return errBadChoice(fmt.Sprintf("at most %d are sent", maxText), "the text has %d bytes", n)
	}
	return nil
}

func approve(d *planmode.Decision, r *Row, ch Choice, c charter.Charter, now time.Time) (err error) {
	if d.Mode, err = modeBack(r, ch.Mode, c); err != nil {
		return err
	}
	if d.Option, err = chosenOption(r, ch.Option); err != nil {
		return err
	}
	d.Feedback, d.MovedSeen = ch.Note, ch.MovedOK
	if r.Request.Kind == planmode.AskLeave {
		return ch.confirmed(r)
	}
	granted, err := grantedPrompts(r, ch)
	if err != nil {
		return err
	}
	for _, p := range granted {
		terms, err := grantTerms(p, ch, c.Caps.Grants, now)
		if err != nil {
			return err
		}
		d.Grants = append(d.Grants, terms)
	}
	if ch.Edited != nil && !bytes.Equal(ch.Edited, r.Request.Plan.Content) {
		if err := plans.Check(ch.Edited); err != nil {
			return errBadEdit(r, err)
		}
		d.EditedPlan, d.PlanWasEdited = bytes.Clone(ch.Edited), true
	}
	check := planmode.NewCheck(*r.Request, r.From, r.Epoch, c)
	check.Decision = *d
	if digest, needed := check.ApprovedDigest(); needed {
		d.ApprovedDigest = digest
	}
	edited := r.WithEdit(d.EditedPlan) // what is approved is what must not be risky
	return ch.confirmed(&edited)
}

// confirmed asks of a person what a person must do before approving: type the name, and say why moved files matter not.
func (ch Choice) confirmed(r *Row) error {
	if ch.Rule != "" {
		if r.isMoved() {
			return errMoved(r)
		}
		return nil
	}
	if r.isMoved() && strings.TrimSpace(ch.MovedOK) == "" {
		return errMoved(r)
	}
	if r.IsHigh() && ch.Confirm != r.From {
		return errConfirm(r, ch)
	}
	return nil
}

// modeBack is the mode that comes back: the named one, or what the coordinator knew of the teammate, within the cap.
func modeBack(r *Row, named permissions.Mode, c charter.Charter) (permissions.Mode, error) {
	if named == "" {
		return r.ModeBack, nil
	}
	m, err := permissions.ParseMode(string(named))
	switch {
	case err != nil:
		return "", errBadChoice("use default, acceptEdits, auto, dontAsk or bypassPermissions", "unknown mode %s", quote(string(named)))
	case m == permissions.ModePlan:
		return "", errBadChoice("to keep it planning: swarm reject "+r.Handle, "an approval cannot restore plan mode")
	case m.Above(c.Caps.Mode):
		return "", errAboveCap(string(named), m, c.Caps.Mode, choosable(c.Caps.Mode), planmode.ErrAboveCap)
	}
	return m, nil
}

// chosenOption reads a label or a number. A plan that offers several approaches needs one to be chosen.
func chosenOption(r *Row, option string) (string, error) {
	offered := r.Request.Options
	if option == "" {
		if len(offered) > 1 {
			return "", errNeedsOption(r, "")
		}
		return "", nil
	}
	n, err := strconv.Atoi(option)
	numbered := err == nil && n >= 1 && n <= len(offered)
	for i, o := range offered {
		switch {
		case o.Label != option:
		case numbered && n != i+1:
			return "", errTwoOptions(r, option, i)
		default:
			return o.Label, nil
		}
	}
	if numbered {
		return offered[n-1].Label, nil
	}
	if len(offered) == 0 {
		return "", errBadChoice("approve without --option", "%s offers no approaches to choose from", r.Handle)
	}
	return "", errNeedsOption(r, option)
}

// grantedPrompts are the asked prompts that the choice gives, in the order they were asked. Of two equal ones, one.
func grantedPrompts(r *Row, ch Choice) ([]permissions.Prompt, error) {
	if ch.NoGrants {
		return nil, nil
	}
	for _, want := range ch.Grants {
		i := slices.IndexFunc(r.Prompts, func(p permissions.Prompt) bool { return p.Prompt == want })
		if i < 0 {
			return nil, errGrantNotAsked(want, r)
		}
		if r.Prompts[i].Intent == "" {
			return nil, errGrantUnknown(want, r)
		}
	}
	for _, l := range ch.Limits {
		if !slices.ContainsFunc(r.Prompts, func(p permissions.Prompt) bool { return p.Prompt == l.Prompt }) {
			return nil, errGrantNotAsked(l.Prompt, r)
		}
	}
	var granted []permissions.Prompt
	for i, p := range r.Prompts {
		wanted := len(ch.Grants) == 0 || slices.Contains(ch.Grants, p.Prompt)
		twice := slices.ContainsFunc(granted, func(g permissions.Prompt) bool { return g.Prompt == p.Prompt && g.Intent == p.Intent })
		if p.Intent != "" && wanted && !twice {
			granted = append(granted, r.Request.AllowedPrompts[i])
		}
	}
	return granted, nil
}

// grantTerms are a grant's bounds: the caps, narrowed by the choice.
func grantTerms(p permissions.Prompt, ch Choice, caps charter.GrantCaps, now time.Time) (permissions.GrantTerms, error) {
	ttl, uses, tree := orElse(ch.TTL, caps.TTL()), orElse(ch.Uses, caps.Uses), "."
	for _, l := range ch.Limits {
		if l.Prompt == p.Prompt {
			ttl, uses, tree = orElse(l.For, ttl), orElse(l.Uses, uses), path.Clean(orElse(l.In, tree))
		}
	}
	switch {
	case !fs.ValidPath(tree):
		return permissions.GrantTerms{}, errBadChoice("name a folder in it, with slashes", "%s is no folder inside the working tree", quote(tree))
	case ttl <= 0 || uses < 0:
		return permissions.GrantTerms{}, errBadChoice("name a positive figure", "a grant of %s cannot last %v and %d uses", quote(p.Prompt), ttl, uses)
	case ttl > caps.TTL():
		return permissions.GrantTerms{}, errTooWide(p.Prompt, fmt.Sprintf("%v", ttl), fmt.Sprintf("%v", caps.TTL()))
	case caps.Uses > 0 && (uses == 0 || uses > caps.Uses):
		return permissions.GrantTerms{}, errTooWide(p.Prompt, plural(uses, "use", "uses"), plural(caps.Uses, "use", "uses"))
	}
	return permissions.GrantTerms{
		Prompt: p.Prompt, Intent: p.Intent, Tree: tree, MaxUses: uses, ExpiresAt: now.Add(ttl).UTC(),
	}, nil
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
