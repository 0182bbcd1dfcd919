//go:build linux

package journal_test

import (
	"fmt"
	"os"
	"time"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/journal"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "journal")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	j, err := journal.Open(dir, journal.Config{})
	if err != nil { // on another system than Linux
		fmt.Println(err)
		return
	}
	defer j.Close()

	before, _ := j.Session()
	next, effects := before, []planmode.Effect{planmode.ReportStatus{}} // of before.Apply(event)
	seq, err := j.Append(planmode.Interrupted{}, next, effects, time.Now())
	fmt.Println("on disk:", seq, err)
	// ... carry the effects out ...
	fmt.Println("done:", j.Done(seq))
	// Output:
	// on disk: 1 <nil>
	// done: <nil>
}
