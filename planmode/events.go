package planmode

import "slices"

// eventNames are the names of what [Emit] tells, in the order of a plan's life.
var eventNames = []string{
	"plan.entry", "plan.entered", "plan.submitted", "plan.revised", "plan.withdrawn", "decision.refused", "plan.rejected", "plan.expired",
	"plan.approved", "plan.edited", "plan.left", "plan.recalled", "plan.completed", "mode.restored", "mode.ordered", "mode.changed", "mode.capped",
	"mode.unknown", "mode.drift", "permission.asked", "call.refused", "grant.used", "grants.revoked", "task.updated", "charter.changed", "charter.void",
	"security", "stopped", "teammate.left",
}

// Events are the names of all events, in the order of a plan's life. The slice is the caller's.
func Events() []string { return slices.Clone(eventNames) }
