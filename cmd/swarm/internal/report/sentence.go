package report

import (
	"fmt"

	"github.com/planswarm/swarm/plans"
)

// Sentence is an event in words, for the person who started a teammate at a terminal; empty for what is no news there.
func Sentence(event string, f map[string]string) string {
	v := func(key string) string { return plans.VisibleLine(f[key]) }
	switch event {
	case "runner.ready":
		return "in the team; plan mode is enforced by " + v("enforcedBy")
	case "plan.entered":
		return fmt.Sprintf("plans; mode %s is saved, from now on it can only read", v("savedMode"))
	case "mode.drift":
		return fmt.Sprintf("its client was in mode %s, and is put back into %s", v("mode"), v("want"))
	case "plan.submitted", "plan.revised":
		return fmt.Sprintf("r%s waits for the leader", v("revision"))
	case "plan.approved":
		return fmt.Sprintf("r%s is approved", v("revision"))
	case "plan.rejected":
		return fmt.Sprintf("r%s is sent back; still read-only", v("revision"))
	case "plan.expired":
		return fmt.Sprintf("r%s expired: nobody decided in time; still read-only", v("revision"))
	case "mode.restored":
		return fmt.Sprintf("works; mode %s is back", v("mode"))
	case "plan.completed":
		return "plan complete; its grants have ended"
	case "plan.recalled":
		return "recalled by " + v("by") + because(v("reason"))
	case "stopped":
		return "stopped by " + v("by") + because(v("reason"))
	case "mode.ordered":
		text := fmt.Sprintf("%s orders mode %s", v("by"), v("mode"))
		if v("when") != "" {
			text += ", after approval"
		}
		return text + because(v("reason"))
	case "grants.revoked":
		return fmt.Sprintf("%s revokes %s%s", v("by"), v("grants"), because(v("reason")))
	case "permission.asked":
		return "stopped: a leader is asked about a call; swarm inbox"
	case "broker.lost":
		return "the broker is lost; waiting until it is back"
	case "broker.back":
		return "the broker is back"
	case "decision.refused":
		return "refused a decision: " + v("cause") + "; asked again"
	case "exec.ran":
		return fmt.Sprintf("ran %s: exit %s", v("command"), v("status"))
	case "edit.done":
		return "wrote " + v("path")
	case "gate.refused":
		return fmt.Sprintf("REFUSED %s: %s", v("call"), v("reason"))
	}
	return ""
}

// because is a reason behind a sentence, where there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
