package leader

import (
	"errors"
	"fmt"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// checkRequest reports why a request cannot be what it says it is. What has a problem is never shown as decidable: no
// decision about it could be applied. Digests are computed again from the bytes.
func checkRequest(r natsbox.Row, teamID string) error {
	if err := mailbox.CheckMember(r.From); err != nil {
		return err
	}
	bodies := 0
	for _, is := range []bool{r.Request != nil, r.Permission != nil, r.Question != nil} {
		if is {
			bodies++
		}
	}
	switch {
	case bodies != 1:
		return errors.New("it is neither a plan nor a permission request nor a question")
	case r.Permission != nil:
		return checkPermission(r)
	case r.Question != nil:
		return checkQuestion(r)
	}
	q := r.Request
	if q.RequestID != r.EnvelopeID {
		return errors.New("its request id is not its envelope's id")
	}
	if err := mailbox.CheckRequestID(q.RequestID); err != nil {
		return err
	}
	switch q.Kind {
	case planmode.AskPlan:
		if err := checkPlan(q); err != nil {
			return err
		}
	case planmode.AskLeave:
	default:
		return fmt.Errorf("it asks for %q, which nobody knows", q.Kind)
	}
	if err := checkModes(q); err != nil {
		return err
	}
	if err := planmode.CheckDeadline(q.Deadline); err != nil {
		return err
	}
	if got := q.ComputeDigest(teamID, r.From); got != q.Digest {
		return fmt.Errorf("its digest is %s, and its bytes give %s", ShortDigest(q.Digest), ShortDigest(got))
	}
	return nil
}

func checkPlan(q *planmode.ApprovalRequest) error {
	if q.Revision < 1 || q.PlanID == "" {
		return errors.New("it names no plan and revision")
	}
	if err := plans.Check(q.Plan.Content); err != nil {
		return err
	}
	if q.Plan.Digest != plans.Digest(q.Plan.Content) || q.Plan.Bytes != len(q.Plan.Content) {
		return errors.New("its plan is not the one that it names")
	}
	for _, p := range q.AllowedPrompts {
		if p.Tool != "Bash" {
			return fmt.Errorf("it asks for a prompt of tool %q; only Bash has prompts", p.Tool)
		}
	}
	return nil
}

func checkModes(q *planmode.ApprovalRequest) error {
	if !q.SavedMode.Known() {
		return fmt.Errorf("it saved mode %q, which nobody knows", q.SavedMode)
	}
	if m := q.RequestedMode; m != "" && (!m.Known() || m == permissions.ModePlan) {
		return fmt.Errorf("it wants mode %q, which cannot be restored", m)
	}
	return nil
}

func checkPermission(r natsbox.Row) error {
	switch {
	case r.Permission.RequestID != r.EnvelopeID:
		return errors.New("its request id is not its envelope's id")
	case r.Permission.CallHash == "" || r.Permission.Tool == "":
		return errors.New("it names no call")
	}
	return mailbox.CheckRequestID(r.Permission.RequestID)
}

// ShortDigest is the first 12 hex digits, as people see a digest.
func ShortDigest(d string) string {
	if len(d) > 12 {
		d = d[:12]
	}
	return plans.VisibleLine(d)
}
