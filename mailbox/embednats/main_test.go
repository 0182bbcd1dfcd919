package embednats_test

import (
	"testing"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(mailboxtest.Settled(m)) }
