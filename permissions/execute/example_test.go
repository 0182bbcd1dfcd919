//go:build linux

package execute_test

import (
	"context"
	"fmt"
	"os"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
)

// A contract comes from a decision of the engine; here it is made by hand.
func ExampleRun() {
	// main has called execute.ChildMain first.
	contract := &permissions.Contract{
		Command: `echo "in $PWD"; exit 3`,
		Dir:     "/usr", Tree: "/usr",
		Env: []string{"PATH=/usr/bin:/bin"},
	}
	contract.Hash = contract.Sum()
	result, err := execute.Run(context.Background(), contract, execute.Options{Stdout: os.Stdout, Stderr: os.Stderr})
	fmt.Println(result.Status, err)
	// Output:
	// in /usr
	// 3 <nil>
}
