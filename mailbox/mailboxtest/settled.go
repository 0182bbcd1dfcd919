package mailboxtest

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Settled runs a package's tests for goleak.VerifyTestMain, and gives what they have started a minute to end: goleak alone
// waits for 0.4 s, which a broker's last goroutine may need on a busy machine.
func Settled(m *testing.M) goleak.TestingM { return settled{m} }

type settled struct{ *testing.M }

func (s settled) Run() int {
	code := s.M.Run()
	for end := time.Now().Add(time.Minute); goleak.Find() != nil && time.Now().Before(end); {
	}
	return code
}
