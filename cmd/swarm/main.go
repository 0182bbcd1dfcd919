// Swarm puts coding agents under a leader's plan approval: `swarm --help`.
package main

import (
	"os"

	"github.com/planswarm/swarm/cmd/swarm/internal/cli"
	"github.com/planswarm/swarm/permissions/execute"
)

func main() {
	execute.ChildMain() // returns at once, unless this process is the reaper of a command
	os.Exit(cli.Main(os.Args[1:]))
}
