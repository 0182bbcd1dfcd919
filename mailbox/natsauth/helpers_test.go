package natsauth_test

import (
	"context"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

func contextFor(t *testing.T) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(context.Background(), time.Minute)
}

// collect hands over the text of each message.
func collect(out chan<- string) func(context.Context, natsbox.Mail) error {
	return func(_ context.Context, m natsbox.Mail) error {
		b, err := mailbox.Body[mailbox.Message](m.Envelope)
		out <- b.Text
		return err
	}
}
