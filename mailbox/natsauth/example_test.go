package natsauth_test

import (
	"fmt"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsauth"
)

func ExampleRightsOf() {
	r := natsauth.RightsOf("shop", charter.Member{Name: "wall", Role: charter.RoleObserver}, "")
	fmt.Println(r.Account, r.Subscribe)
	// Output: M_observer_wall [_INBOX_wall.> swarm.shop.ev.>]
}
