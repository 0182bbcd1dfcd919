package leader

import (
	"fmt"
	"strings"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// voteLines are what leaders have signed of a request that needs several: who, and everything that it says.
func (r *Row) voteLines() []string {
	v := r.Vote
	switch {
	case v == nil && r.Need > 1:
		return []string{fmt.Sprintf("by nobody yet; %d leaders must approve this, one can reject it", r.Need)}
	case v == nil:
		return nil
	}
	lines := []string{fmt.Sprintf("by %s (%d/%d), %s", v.names(), r.Have, r.Need, clock(v.At))}
	for l := range strings.SplitSeq(v.what(r), "\n") {
		lines = append(lines, "  "+strings.TrimSpace(l))
	}
	return lines
}

// what is what a vote would decide.
func (v *Vote) what(r *Row) string {
	if v.Answer != nil {
		return AnswerLine(r, *v.Answer)
	}
	return DecisionLine(r, *v.Decision)
}

// SignedLine says what a signature that waits for others is for, and who else can give one.
func SignedLine(r *Row, g Given) string {
	verb := "signed"
	switch {
	case g.Already:
		verb = "you have signed already"
	case g.Joined:
		verb = "signed what " + plans.VisibleLine(g.Signed.maker().Name) + " signed"
	}
	text := fmt.Sprintf("%s; %d of %d: %s\n  %s\n", verb, g.Have, g.Need, g.Signed.names(), g.Signed.what(r))
	return text + fmt.Sprintf("not decided yet: another leader signs it with %s\n", r.signToo(g.Signed))
}

// signToo is the command that signs what others have signed.
func (r *Row) signToo(v *Vote) string {
	next := "swarm approve " + r.Handle
	if v.Outcome() == planmode.OutcomeRejectedAndExit {
		next = "swarm reject " + r.Handle + " --leave -m TEXT"
	} else if signed := r.asSigned(v); signed.IsHigh() {
		next += " --confirm " + plans.VisibleLine(r.From)
	}
	if !v.asAsked(r) {
		next += " --signed " + v.Code()
	}
	return next
}

// asSigned is the request with the plan as others have signed it.
func (r *Row) asSigned(v *Vote) Row {
	if v.Decision == nil {
		return *r
	}
	return r.WithEdit(v.Decision.EditedPlan)
}
