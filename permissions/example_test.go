package permissions_test

import (
	"fmt"

	"github.com/planswarm/swarm/permissions"
)

func ExampleEngine_Decide() {
	engine := permissions.New(permissions.Config{Resolver: permissions.Lexical(), Path: "/usr/bin:/bin"})
	s := state(permissions.ModeDefault)
	s.Grants = []permissions.Grant{grant("run tests")}
	for _, command := range []string{"git status -s", "cd api && go test ./... 2>&1 | tail -5", "go test -exec=./x ./...", "swarm approve r1"} {
		d := engine.Decide(permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}, s)
		fmt.Println(d.Verdict, d.GrantIDs(), d.Reason)
	}
	// Output:
	// allow [] it only reads inside the working tree
	// allow [r/run tests] the plan's grant to run tests
	// ask [] the grant to run tests does not cover it: flag -exec=./x of go test
	// deny [] this is a verb of swarm that only leaders and owners use, in no mode a teammate: wait for their decision
}
