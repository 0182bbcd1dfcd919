package plans_test

import (
	"fmt"

	"github.com/planswarm/swarm/plans"
)

func ExampleVisible() {
	fmt.Println(plans.Visible("deploy \x1b[8mto production\x1b[0m, \u202etxt.sh"))
	fmt.Println(plans.Visible("typed by its author: <1B>"))
	// Output:
	// deploy <1B>[8mto production<1B>[0m, <U+202E>txt.sh
	// typed by its author: <3C>1B>
}

func ExampleTasks() {
	content := []byte("# Fix rounding\n\n- [x] read the code\n- [ ] change `total.go`\n")
	fmt.Println(plans.Title(content))
	for _, task := range plans.Tasks(content) {
		fmt.Println(task.ID, task.Line, task.Done, task.Text)
	}
	// Output:
	// Fix rounding
	// t1 3 true read the code
	// t2 4 false change `total.go`
}
