package facts_test

import (
	"fmt"

	"github.com/planswarm/swarm/plans/facts"
)

func ExampleRisk() {
	plan := []byte("# Store totals as cents\n\n- [ ] `schema.sql`: ALTER TABLE orders DROP COLUMN total\n- [ ] test it\n")
	level, reasons := facts.Risk(facts.Compute(plan, nil, facts.Tree{}))
	fmt.Println(level)
	for _, f := range reasons {
		fmt.Printf("line %d, rule %s: %s\n", f.Line, f.Rule, f.Value)
	}
	// Output:
	// high
	// line 3, rule destructive: DROP
}
