package script_test

import (
	"flag"
	"testing"

	"github.com/planswarm/swarm/teammate/teammatetest"
)

var update = flag.Bool("update", false, "write the record of what the adapter keeps")

// What every adapter promises, with a shell script as the agent.
func TestConformance(t *testing.T) {
	teammatetest.Conform(t, teammatetest.Client{
		About: teammatetest.About{
			Agent: "any script or program", Start: "swarm teammate script -- PROGRAM",
			EnforcedBy: "the kernel (Linux with landlock); elsewhere nobody, and `NOT ENFORCED` is said",
			Limits:     "it acts through `swarm exec` and `swarm edit`; a plan may ask for 26 intents, from \"run tests\" to \"open a pull request\" (`swarm intent` lists them); everything else asks",
		},
		Bin: teammatetest.Build(t), Program: "bash", Update: *update, KeepsRequest: true,
		Play:    teammatetest.ScriptPart,
		Without: map[teammatetest.Promise]string{teammatetest.NoTool: "no MCP tools"},
	})
}
