package permissions

import (
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// aimed takes a grant's allow back when the command is told to work on production or another place that is in use:
// RAILS_ENV=production rails db:migrate. An intent whose commands reach nothing that runs, as a build, may be told so.
func (v *view) aimed(c *shellcmd.Command, cv *CommandVerdict) {
	in, ok := v.intentOfGrant(cv.GrantID)
	if !ok || in.Production {
		return
	}
	for _, a := range c.Env {
		if inUse(a.Name, a.Value.Text) {
			cv.Verdict, cv.GrantID, cv.Reason = Ask, "", a.Name+"="+a.Value.Text+" aims at what is in use, and the grant to "+in.Name+" is for this machine"
			return
		}
	}
	for _, w := range c.Argv { // env RAILS_ENV=production rails ...
		if name, value, ok := strings.Cut(w.Text, "="); ok && inUse(name, value) {
			cv.Verdict, cv.GrantID, cv.Reason = Ask, "", w.Text+" aims at what is in use, and the grant to "+in.Name+" is for this machine"
			return
		}
	}
}

// inUse reports whether a variable names an environment other than those of developers and tests.
func inUse(name, value string) bool {
	if !strings.HasSuffix(name, "_ENV") && !strings.HasSuffix(name, "_ENVIRONMENT") {
		return false
	}
	value = strings.ToLower(value)
	for _, place := range []string{"prod", "live", "stag", "preprod", "canary", "uat"} {
		if strings.HasPrefix(value, place) {
			return true
		}
	}
	return false
}
