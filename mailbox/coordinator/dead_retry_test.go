package coordinator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// killed is a letter to api that its process gave up.
func killed(t testing.TB, team *mailboxtest.Team, leader *natsbox.Conn) natsbox.DeadLetter {
	t.Helper()
	c := team.Connect("api")
	end := reading(t, c, func(natsbox.Mail) error { return fmt.Errorf("%w: the disk is full", natsbox.ErrTerminate) })
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", "anna", "api", 1, time.Now(), mailbox.Message{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leader.Send(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	d := dead(t, leader, 1)[0]
	end()
	c.Close()
	return d
}

// What cannot be put again stays open, and says why: what is gone, whose recipient is gone, what is written once.
func TestWhatIsNotRetriedStaysOpen(t *testing.T) {
	t.Parallel()
	team := shop(t)
	anna := team.Connect("anna")
	refused := func(d natsbox.DeadLetter, want string) {
		t.Helper()
		if _, err := anna.DeadDo(t.Context(), natsbox.DeadRetry, d.ID, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("retry of %s = %v, want %q", d.ID, err, want)
		}
		if list := dead(t, anna, 1); list[0].State != natsbox.DeadOpen {
			t.Errorf("it is %s, want open", list[0].State)
		}
	}
	drop := func(d natsbox.DeadLetter) {
		t.Helper()
		if _, err := anna.DeadDo(t.Context(), natsbox.DeadDrop, d.ID, ""); err != nil {
			t.Error(err)
		}
	}
	gone := killed(t, team, anna)
	st, err := admin(t, team).Stream(t.Context(), "MB_shop")
	if err == nil {
		err = st.DeleteMsg(t.Context(), gone.Seq)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused(gone, "was not put again")
	drop(gone)

	api := team.Connect("api")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = api.ReceiveOrders(ctx, func(context.Context, charter.Order, natsbox.StoredInfo) error {
			return fmt.Errorf("%w: no", natsbox.ErrTerminate)
		})
	}()
	id := ask(t, api, "api")
	decide(t, team, anna, "anna", "api", id, planmode.OutcomeRejected, "")
	slot := dead(t, anna, 1)[0]
	refused(slot, "written once")
	cancel()
	<-done
	api.Close()
	drop(slot)

	late := killed(t, team, anna)
	team.Retire("api")
	refused(late, "not in the team")
	team.Stop()
	team.Start()
	if list := dead(t, anna, 1); list[0].ID != late.ID { // what was dropped stays so
		t.Errorf("after a restart %+v is open, want %s", list[0], late.ID)
	}
}
