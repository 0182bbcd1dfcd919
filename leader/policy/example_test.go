package policy_test

import (
	"fmt"

	"github.com/planswarm/swarm/leader/policy"
)

// A mistake in a rule is found before the rule decides anything.
func ExampleCheck() {
	for _, p := range policy.Check([]policy.Rule{
		{Name: "tests-ok", Match: policy.Match{Intents: []string{"run the tests"}}, Then: "aprove"},
	}) {
		fmt.Println(p.Error())
	}
	// Output:
	// policy: rule "tests-ok": then: unknown outcome "aprove": did you mean "approve"?
	// policy: rule "tests-ok": match.intents[0]: unknown intent "run the tests": did you mean "run tests"?
}
