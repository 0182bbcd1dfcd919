package app

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/planmode"
)

// factsHere are the facts of a team whose broker and teammates run on this machine, as this user. The kernel confines a
// teammate's own program; what is run for it (swarm exec, swarm edit) has the rights of its runner.
func factsHere(members []charter.Member, keyHere func(charter.Member) report.Known) report.Facts {
	abi, ok := execute.Supported()
	f := report.Facts{OtherUser: report.No, Confined: report.KnownIf(ok), CommandsConfined: report.No, BrokerHere: report.Yes}
	if ok {
		f.Open = execute.Open(abi, false)
	}
	f.Deciders = deciders(members, func(m charter.Member) report.Known {
		if keyHere(m) == report.Yes {
			return report.No
		}
		return report.Unknown
	})
	return f
}

// factsAway are those of a team that is somewhere else: only the charter says anything about it.
func factsAway(members []charter.Member) report.Facts {
	return report.Facts{Deciders: deciders(members, func(charter.Member) report.Known { return report.Unknown })}
}

// deciders are the keys that may sign a decision: those of all leaders, and of the policy.
func deciders(members []charter.Member, elsewhere func(charter.Member) report.Known) []report.Decider {
	var list []report.Decider
	for _, m := range members {
		if m.Role == charter.RoleLeader && !m.Retired {
			list = append(list, report.Decider{Name: m.Name, Kind: m.Kind, Assurance: m.Assurance, Elsewhere: elsewhere(m)})
		}
	}
	return list
}

// layoutOfRun is the boundary of `swarm run`: every key is in this process, and every teammate is its child.
func layoutOfRun(members []charter.Member) report.Layout {
	return report.LayoutOf(factsHere(members, func(charter.Member) report.Known { return report.Yes }))
}

// keyOnThisMachine says whether a leader's key lies here. Of one that is not here, nobody knows where it is.
func (e Env) keyOnThisMachine(team string) func(charter.Member) report.Known {
	return func(m charter.Member) report.Known {
		if m.Kind == charter.KindPolicy && m.Name == policyName { // in the state folder of the broker
			return report.Yes
		}
		if _, err := os.Lstat(bundlePath(e.Settings.Config, team, m.Name)); err == nil {
			return report.Yes
		}
		return report.Unknown
	}
}

// layoutOfUp is the boundary of a team that `swarm up` serves on this machine: its teammates enrol as this user.
func (e Env) layoutOfUp(team string, members []charter.Member) report.Layout {
	return report.LayoutOf(factsHere(members, e.keyOnThisMachine(team)))
}

// Layout is the team's boundary, as far as it can be known from here.
func (l *Leader) Layout(members []natsbox.Presence) report.Layout {
	return report.LayoutOf(l.facts(members))
}

// facts are what is known from here. What teammates say of their confinement can only lower the level.
func (l *Leader) facts(members []natsbox.Presence) report.Facts {
	if l.address.PID == 0 {
		return factsAway(l.charter.Members)
	}
	f := factsHere(l.charter.Members, l.env.keyOnThisMachine(l.team))
	for _, m := range members {
		var s planmode.Status
		if m.Live && json.Unmarshal(m.Status, &s) == nil && strings.HasPrefix(s.EnforcedBy, "nobody") {
			f.Confined = report.No
		}
	}
	return f
}
