package planmode_test

import (
	"fmt"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func ExampleSession_Apply() {
	c := charter.Charter{TeamID: "3f0c", Caps: charter.Caps{Mode: permissions.ModeAuto}}
	s, _, _ := planmode.Session{}.Apply(planmode.Started{Team: "3f0c", Teammate: "api", Mode: permissions.ModeDefault, Charter: c})

	s, effects, err := s.Apply(planmode.Entered{From: permissions.ModeDefault, By: planmode.ByAgent, PlanID: "p1"})
	fmt.Println(s.State, s.Mode, "saved:", s.Saved, err)
	for _, effect := range effects {
		fmt.Printf("%T\n", effect)
	}

	_, effects, err = s.Apply(planmode.Completed{})
	fmt.Println(len(effects), err)
	// Output:
	// planning plan saved: default <nil>
	// planmode.EndGrants
	// planmode.SetMode
	// planmode.Notify
	// planmode.Emit
	// planmode.ReportStatus
	// 0 planmode: not possible in this state: a plan that waits or is written is not done: submit it, or leave plan mode
}
