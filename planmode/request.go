package planmode

import (
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// NewRequest makes the request that p publishes. Content is the plan's submitted bytes from the plan store, nil for a
// leave request; the request refers to them.
func NewRequest(p PublishRequest, content []byte) ApprovalRequest {
	q := p.Pending
	if content == nil {
		content = []byte{}
	}
	prompts := clonePrompts(q.Prompts)
	if prompts == nil {
		prompts = []permissions.Prompt{}
	}
	return ApprovalRequest{
		RequestID: q.RequestID, PlanID: p.Cycle.PlanID, Revision: q.Revision, Kind: q.Kind, Digest: q.Digest,
		Plan:           plans.Plan{Name: q.Plan.Name, Path: q.Plan.Path, Content: content, Bytes: len(content), Digest: q.Plan.Digest},
		AllowedPrompts: prompts,
		Options:        q.Options, Tasks: q.Tasks, Facts: q.Facts, Base: q.Base, Reads: q.Reads,
		SavedMode: p.Saved, RequestedMode: q.RequestedMode, Reason: reason(q.Reason, p.Why),
		Addresses: q.Addresses, Deadline: q.Deadline, Supersedes: p.Supersedes, Unchanged: q.Unchanged,
	}
}

func reason(asked, again string) string {
	switch {
	case again == "":
		return asked
	case asked == "":
		return "asked again: " + again
	}
	return asked + " (asked again: " + again + ")"
}

// ComputeDigest is the digest of what the request shows. A reader compares it with Digest, and decides on this one.
func (r ApprovalRequest) ComputeDigest(teamID, teammate string) string {
	return Digest(DigestInput{
		TeamID: teamID, Teammate: teammate, PlanID: r.PlanID, Revision: r.Revision, Content: r.Plan.Content,
		Prompts: r.AllowedPrompts, Options: r.Options, RequestedMode: r.RequestedMode,
	})
}
