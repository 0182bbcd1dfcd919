package leader_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
)

// A queue is made of what the coordinator knows; people name requests by their handles.
func ExampleQueue() {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	id := "0195a7c0-0000-7000-8000-000000000001-10000000000000000000000000"
	rows := []natsbox.Row{{
		From: "ci", EnvelopeID: id, StoredAt: now.Add(-time.Minute),
		Permission: &permissions.PermissionRequest{RequestID: id, Tool: "Bash", Input: "go vet ./...", CallHash: "c0ffee"},
	}}
	q := leader.NewQueue(rows, leader.QueueConfig{Now: now})
	if err := leader.WriteInbox(os.Stdout, q, 80); err != nil {
		fmt.Println(err)
	}
	fmt.Println(q.Summary())

	_, err := q.Find("ci-0000")
	var e *leader.Error
	if errors.As(err, &e) {
		fmt.Println(e.Code, e.Name, err)
	}
	// Output:
	// ID      RISK  AGE WHO PLAN         CHANGE GRANTS NOTE
	// ci-k1eg low    1m ci  go vet ./... run?   -      stopped
	// 1 waiting, oldest 1m. swarm show ID
	// 15 unknown_request no request "ci-0000": swarm inbox lists all
}

// What narrows a grant is read from one flag; a mistake says what to write.
func ExampleParseLimit() {
	l, err := leader.ParseLimit("run tests=uses:3,for:30m,in:./web")
	fmt.Println(l.Prompt, l.Uses, l.For, l.In, err)
	_, err = leader.ParseLimit("run tests=use:3")
	fmt.Println(err)
	// Output:
	// run tests 3 30m0s web <nil>
	// limit "run tests=use:3": unknown "use": did you mean "uses"? write uses:3, for:30m or in:./web
}
