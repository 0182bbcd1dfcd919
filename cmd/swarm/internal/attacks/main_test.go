package attacks_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/permissions/execute"
)

func TestMain(m *testing.M) {
	execute.ChildMain()
	goleak.VerifyTestMain(mailboxtest.Settled(m))
}
