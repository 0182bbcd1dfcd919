package leader

import (
	"testing"
	"time"
)

func init() { seenWithin = time.Minute }

// LookLonger has whoever answers a question look a minute for the first answer, until the test is over.
func LookLonger(t testing.TB) {
	was := replyWait
	replyWait = time.Minute
	t.Cleanup(func() { replyWait = was })
}
