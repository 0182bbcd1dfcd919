package natsbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

func connect(t *testing.T, url string) error {
	t.Helper()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := natsbox.Connect(ctx, natsbox.Config{URL: url, Team: "shop", Me: "anna", Key: kp})
	if err == nil {
		c.Close()
	}
	return err
}

// A member never works with a server that is too old, or that lets in whoever comes.
func TestServersThatAreNotOurs(t *testing.T) {
	for name, test := range map[string]struct {
		url  string
		want error
		text string
	}{
		"a nats-server without keys": {mailboxtest.PlainServer(t, server.Options{}), natsbox.ErrForeignServer, "asks nobody for a key"},
		"an older one":               {mailboxtest.OtherServer(t, "2.9.25"), natsbox.ErrOldServer, "nats-server 2.9.25, and " + natsbox.MinServer + " or newer"},
		"one patch too old":          {mailboxtest.OtherServer(t, "2.15.1"), natsbox.ErrOldServer, "2.15.1"},
		"one without a version":      {mailboxtest.OtherServer(t, ""), natsbox.ErrOldServer, `version is ""`},
		"one with words":             {mailboxtest.OtherServer(t, "2.x.y"), natsbox.ErrOldServer, "2.x.y"},
	} {
		if err := connect(t, test.url); !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("Connect to %s = %v, want %v with %q", name, err, test.want, test.text)
		}
	}
	for _, ok := range []string{natsbox.MinServer, "2.16.0", "3.0.0-RC.1", embednats.Version} {
		if err := connect(t, mailboxtest.OtherServer(t, ok)); errors.Is(err, natsbox.ErrOldServer) {
			t.Errorf("Connect to version %s = %v", ok, err)
		}
	}
}

func TestHealth(t *testing.T) {
	team := mailboxtest.Server(t, mailboxtest.Listen("127.0.0.1:0"), mailboxtest.MaxStore(1<<30), mailboxtest.Sync("150ms"))
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	anna, api := team.Connect("anna"), team.Connect("api")
	h, clock, err := anna.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.Server != embednats.Version || h.Sync != "150ms" || h.Max != 1<<30 || len(h.Streams) < 4 {
		t.Errorf("Health = %+v", h)
	}
	if clock.Ahead.Abs() > clock.Within || clock.Within > time.Minute {
		t.Errorf("the clock of this process is %v ahead of itself, within %v", clock.Ahead, clock.Within)
	}
	if _, _, err := api.Health(t.Context()); !errors.Is(err, natsbox.ErrForbidden) {
		t.Errorf("Health for a teammate = %v, want ErrForbidden", err)
	}
}

func TestFullest(t *testing.T) {
	for _, test := range []struct {
		h       natsbox.Health
		name    string
		percent int
	}{
		{natsbox.Health{}, "store", 0},
		{natsbox.Health{Used: 80, Max: 100}, "store", 80},
		{natsbox.Health{Used: 50, Max: 100, Streams: []natsbox.StreamFill{{"MB_t", 45, 60}, {"DEC_t", 5, 0}}}, "MB_t", 75},
		{natsbox.Health{Used: 1 << 62, Max: 1 << 62}, "store", 100},
	} {
		if name, p := test.h.Fullest(); name != test.name || p != test.percent {
			t.Errorf("Fullest(%+v) = %s %d %%, want %s %d %%", test.h, name, p, test.name, test.percent)
		}
	}
}
