package app

import (
	"fmt"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// maxRuleFindings is how many mistakes in files of rules and tables are told one by one.
const maxRuleFindings = 10

// rules says which of the person's files of rules and tables, and of the project's, cannot be read.
func (d *doctor) rules() {
	const next = "correct it, or move it away: no teammate starts until then"
	own, problems := config.ReadOwn(d.env.Settings.Config, d.env.Document)
	for i, p := range problems {
		if i == maxRuleFindings {
			d.add("rules", StateBad, fmt.Sprintf("%d more mistakes", len(problems)-i), next)
			return
		}
		d.add("rules", StateBad, p.String(), next)
	}
	if n := len(own.Policies) + len(own.Files); len(problems) == 0 && n > 0 {
		d.add("rules", StateOK, countOf(n, "file")+" of rules and tables can be read", "")
	}
}
