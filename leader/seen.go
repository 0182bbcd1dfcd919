package leader

import (
	"context"
	"fmt"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Tell sends a receipt about something to whoever has sent it, and returns when it is stored. Tell what has happened, when
// it has.
func Tell(ctx context.Context, box Sender, c charter.Charter, me, to string, r mailbox.Receipt, now time.Time) error {
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindReceipt, c.Team, me, to, 0, now, r)
	if err != nil {
		return fmt.Errorf("leader: write the receipt: %w", err)
	}
	_, err = box.Send(ctx, env)
	return err
}
