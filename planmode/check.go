package planmode

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// CheckInput is a decision and what it has to fit: the facts of the request, which teammate and leader each take from
// their own copy, the charter's caps, and whose signatures it carries.
type CheckInput struct {
	TeamID        string
	Teammate      string
	RequestID     string
	Epoch         uint64 // of the request
	Kind          RequestKind
	PlanID        string
	Revision      int
	Digest        string // of the request
	Content       []byte // the submitted bytes; empty for a leave request
	Prompts       []permissions.Prompt
	Options       []plans.Option
	RequestedMode permissions.Mode

	Cap    permissions.Mode
	Grants charter.GrantCaps

	Decision  Decision
	Authority charter.Authority // what charter.Judge says of the signatures
	Now       time.Time
}

// NewCheck has the facts of a request as a leader has them, with the digest computed again from what it shows. Decision,
// Authority and Now are the caller's to fill in. Epoch is that of the request's envelope.
func NewCheck(r ApprovalRequest, teammate string, epoch uint64, c charter.Charter) CheckInput {
	return CheckInput{
		TeamID: c.TeamID, Teammate: teammate, RequestID: r.RequestID, Epoch: epoch, Kind: r.Kind,
		PlanID: r.PlanID, Revision: r.Revision, Digest: r.ComputeDigest(c.TeamID, teammate), Content: r.Plan.Content,
		Prompts: r.AllowedPrompts, Options: r.Options, RequestedMode: r.RequestedMode,
		Cap: c.Caps.Mode, Grants: c.Caps.Grants,
	}
}

// CheckDecision says why a decision cannot be applied to its request: rows 17 to 24 of the transition table. The
// teammate's session refuses by it, and whoever decides calls it before anything is published. Times may be off by
// [ClockSkew].
func CheckDecision(in CheckInput) error {
	if err := checkAuthority(in.Authority, in.Decision.ends()); err != nil {
		return err
	}
	return CheckTerms(in)
}

// CheckTerms is [CheckDecision] without the signatures: for before anything is signed.
func CheckTerms(in CheckInput) error {
	for _, check := range []func(CheckInput) error{
		checkAnswered, checkOutcome, checkMode, checkOptionChosen, checkGrants, checkApproved,
	} {
		if err := check(in); err != nil {
			return err
		}
	}
	return nil
}

// Voids reports whether an error of [Decided] means that the request's write-once slot is spent on something that cannot
// be applied (rows 17 to 24): the runner then feeds [Reissued]. A stale decision spends another request's slot, not this
// one's. The same errors of [PermissionAnswered], and [ErrWrongState] of it (row 68), mean that the ask will have no
// other answer: feed [AskWithdrawn].
func Voids(err error) bool {
	for _, target := range []error{
		ErrNotLeader, ErrNeedsPerson, ErrWeakKey, ErrQuorum, ErrDigestMismatch, ErrUnknownOutcome, ErrUnknownMode, ErrTargetPlan,
		ErrAboveCap, ErrUnknownOption, ErrGrantNotAsked, ErrOldLedger,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// ends reports whether a decision would end plan mode, which the charter may reserve. Saying no needs one leader.
func (d Decision) ends() bool {
	return d.Approved || d.Outcome == OutcomeApproved || d.Outcome == OutcomeRejectedAndExit
}

// checkAuthority is rows 17 and 18, and row 66 for a permission.
func checkAuthority(a charter.Authority, approves bool) error {
	switch {
	case !a.Leader:
		return because(ErrNotLeader, a.Reason, "a leader of the charter has to sign")
	case approves && a.NeedsPerson:
		return because(ErrNeedsPerson, a.Reason, "a person has to decide")
	case approves && a.WeakKey:
		return because(ErrWeakKey, a.Reason, "somebody whose key is kept better has to decide")
	case approves && !a.QuorumMet:
		return because(ErrQuorum, a.Reason, "another leader has to endorse it first")
	}
	return nil
}

func because(err error, reason, otherwise string) error {
	if reason == "" {
		reason = otherwise
	}
	return fmt.Errorf("%w: %s", err, reason)
}

// checkAnswered is rows 16, 17 and 19: which request is answered.
func checkAnswered(in CheckInput) error {
	d := in.Decision
	switch {
	case d.RequestID != in.RequestID:
		return fmt.Errorf("%w: it answers %q, and open is %q", ErrStaleDecision, d.RequestID, in.RequestID)
	case d.TeamID != in.TeamID:
		return fmt.Errorf("%w: it is of team %q: decide in team %q", ErrNotLeader, d.TeamID, in.TeamID)
	case d.PlanDigest != in.Digest:
		return fmt.Errorf("%w: it names %.12q, and asked was %.12q: read the plan again, then decide", ErrDigestMismatch, d.PlanDigest, in.Digest)
	case d.Revision != in.Revision || d.Epoch != in.Epoch:
		return fmt.Errorf("%w: it names revision %d and epoch %d, and asked was revision %d in epoch %d: decide again",
			ErrDigestMismatch, d.Revision, d.Epoch, in.Revision, in.Epoch)
	}
	return nil
}

// checkOutcome is row 20: a known word, and the flag that says the same.
func checkOutcome(in CheckInput) error {
	d := in.Decision
	switch d.Outcome {
	case OutcomeApproved, OutcomeRejected, OutcomeRejectedAndExit, OutcomeExpired:
	default:
		return fmt.Errorf("%w: outcome %q: decide approved, rejected, rejectedAndExit or expired", ErrUnknownOutcome, d.Outcome)
	}
	if d.Approved != (d.Outcome == OutcomeApproved) {
		return fmt.Errorf("%w: outcome %s with approved %t: decide again", ErrUnknownOutcome, d.Outcome, d.Approved)
	}
	return nil
}

// checkMode is row 21: the mode is always named, so that what comes back is what the leader saw.
func checkMode(in CheckInput) error {
	if !in.Decision.ends() {
		return nil
	}
	return checkTarget(in.Decision.Mode, in.Cap)
}

// checkOptionChosen is row 22. One option is a plain approval, as none is.
func checkOptionChosen(in CheckInput) error {
	option := in.Decision.Option
	if in.Decision.Outcome != OutcomeApproved || option == "" && len(in.Options) < 2 {
		return nil
	}
	if !slices.ContainsFunc(in.Options, func(o plans.Option) bool { return o.Label == option && option != "" }) {
		return fmt.Errorf("%w: %s: %s", ErrUnknownOption, chosen(option), choices(in.Options))
	}
	return nil
}

func chosen(option string) string {
	if option == "" {
		return "none is chosen"
	}
	return fmt.Sprintf("%q", plans.VisibleLine(option))
}

func choices(options []plans.Option) string {
	if len(options) == 0 {
		return "the plan offers no approaches, so choose none"
	}
	return "choose one of " + plans.Labels(options)
}

// checkApproved is row 24: what is approved is what was asked, or exactly the edit and the grants that are named.
func checkApproved(in CheckInput) error {
	d := in.Decision
	edited := d.EditedPlan != nil
	switch {
	case d.PlanWasEdited != edited:
		return fmt.Errorf("%w: planWasEdited is %t: decide again", ErrDigestMismatch, d.PlanWasEdited)
	case d.Outcome != OutcomeApproved || in.Kind != AskPlan:
		if edited || d.ApprovedDigest != "" {
			return fmt.Errorf("%w: only an approved plan can be edited: send the change as feedback", ErrDigestMismatch)
		}
		return nil
	case in.formula(in.Content, in.Prompts) != in.Digest:
		return fmt.Errorf("%w: the stored plan is not the one that was submitted: it has to be submitted again", ErrDigestMismatch)
	}
	if edited {
		if err := checkPlan(d.EditedPlan); err != nil {
			return fmt.Errorf("%w: edited plan: %w", ErrDigestMismatch, err)
		}
	}
	want, needed := in.ApprovedDigest()
	if d.ApprovedDigest != want && (needed || d.ApprovedDigest != "") {
		return fmt.Errorf("%w: approvedDigest is %.12q, want %.12q: decide again", ErrDigestMismatch, d.ApprovedDigest, want)
	}
	return nil
}

// ApprovedDigest is the digest of what the decision approves: the formula over the edited bytes, where there are any, and
// over the prompts that are granted, in the order in which they were asked. Needed reports whether the decision must
// carry it: when the plan was edited or not all prompts were granted.
func (in CheckInput) ApprovedDigest() (digest string, needed bool) {
	content, edited := in.Content, in.Decision.EditedPlan != nil
	if edited {
		content = in.Decision.EditedPlan
	}
	asked, err := matchGrants(in.Prompts, in.Decision.Grants)
	if err != nil {
		return "", true // no digest fits a grant that was not asked
	}
	slices.Sort(asked)
	granted := make([]permissions.Prompt, 0, len(asked))
	for _, i := range asked {
		granted = append(granted, in.Prompts[i])
	}
	return in.formula(content, granted), edited || len(granted) != len(in.Prompts)
}

func (in CheckInput) formula(content []byte, prompts []permissions.Prompt) string {
	return Digest(DigestInput{
		TeamID: in.TeamID, Teammate: in.Teammate, PlanID: in.PlanID, Revision: in.Revision,
		Content: content, Prompts: prompts, Options: in.Options, RequestedMode: in.RequestedMode,
	})
}
