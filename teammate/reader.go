package teammate

import (
	"fmt"
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// asReader has a call of a teammate that only reads be judged as in plan mode, without grants: what would be asked of a
// leader is denied, but where its role lets it look something up in the web.
func (r *Runner) asReader(call permissions.Call, s permissions.State) permissions.Decision {
	role := r.cfg.Reader
	s.Mode, s.Grants = permissions.ModePlan, nil
	d := r.cfg.Engine.Decide(call, s)
	deny := func(why string) permissions.Decision {
		d.Verdict, d.Reason, d.Contract = permissions.Deny, fmt.Sprintf("a teammate of role %s %s", role.Name, why), nil
		return d
	}
	switch class := permissions.ToolClass(call.Tool); {
	case d.Rule != "" && d.Verdict == permissions.Deny:
		return d
	case class == "run" && !role.Shell:
		return deny("has no shell: read with the tools for files, or ask its leader for another teammate")
	case d.Verdict == permissions.Deny:
		return deny("only reads: " + strings.TrimSuffix(d.Reason, ": put it into the plan"))
	case d.Verdict == permissions.Ask && !(class == "network" && role.Web):
		return deny("only reads: " + d.Reason)
	}
	return d
}
