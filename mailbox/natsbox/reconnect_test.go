package natsbox_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
)

// overTCP connects as a member of another process would: by an address that may change.
func overTCP(t *testing.T, team *mailboxtest.Team, name string, address *atomic.Value) *natsbox.Conn {
	t.Helper()
	cfg := team.Config(name)
	cfg.InProcess = nil
	cfg.Servers = func() []string { return []string{address.Load().(string)} }
	c, err := natsbox.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if _, err := c.Join(t.Context(), natsbox.JoinRequest{Mode: permissions.ModeDefault}); err != nil {
		t.Fatal(err)
	}
	return c
}

// The broker comes back on another port: connections find it, mail that was unread is read, and what is sent meanwhile
// waits.
func TestABrokerThatComesBackOnAnotherPort(t *testing.T) {
	t.Parallel()
	team := shop(t, mailboxtest.Listen("127.0.0.1:0"))
	var address atomic.Value
	address.Store(team.Server().URL())
	api, anna := overTCP(t, team, "api", &address), overTCP(t, team, "anna", &address)
	in := inbox(t, api)
	send(t, anna, "anna", "api", "before")
	if got := text(t, receive(t, in)); got != "before" {
		t.Fatalf("mail = %q, want before", got)
	}
	old := team.Server().URL()
	address.Store("") // the address file is removed first
	team.Stop()
	if taken, err := net.Listen("tcp", strings.TrimPrefix(old, "nats://")); err == nil { // nobody gets it back; or somebody else has it
		defer taken.Close()
	}
	sent := make(chan error, 1)
	go func() {
		_, err := anna.Send(t.Context(), message(t, "anna", "api", "meanwhile"))
		sent <- err
	}()
	time.Sleep(100 * time.Millisecond)
	team.Start()
	address.Store(team.Server().URL())
	if team.Server().URL() == old {
		t.Fatalf("the broker is on %s again", old)
	}
	if err := receive(t, sent); err != nil {
		t.Errorf("what was sent meanwhile: %v, want it stored", err)
	}
	if got := text(t, receive(t, in)); got != "meanwhile" {
		t.Errorf("mail = %q, want meanwhile", got)
	}
	send(t, api, "api", mailbox.Lead, "after")
}

func TestABreakIsMendedInOneProcess(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api, anna := team.Connect("api"), team.Connect("anna")
	in := inbox(t, api)
	for _, text := range []string{"one", "two", "three"} {
		team.Server().Auth().Cut("api")
		team.Server().Auth().Cut("anna")
		send(t, anna, "anna", "api", text)
	}
	// What was on its way to a connection that broke comes a second later.
	var got []string
	for range 3 {
		got = append(got, text(t, receive(t, in)))
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"one", "three", "two"}) {
		t.Errorf("mail = %q, want one, two and three, each once", got)
	}
}

func TestConnectSaysWhyItCannot(t *testing.T) {
	t.Parallel()
	team := shop(t, mailboxtest.Listen("127.0.0.1:0"))
	base := team.Config("api")
	base.InProcess = nil
	const free = "nats://127.0.0.1:1" // a port that was free a moment ago may be another test's by now
	for name, c := range map[string]struct {
		change func(*natsbox.Config)
		want   error
		says   string
	}{
		"nobody listens":       {func(c *natsbox.Config) { c.URL = free }, natsbox.ErrUnreachable, "swarm up"},
		"no address":           {func(*natsbox.Config) {}, natsbox.ErrUnreachable, "swarm up"},
		"no address right now": {func(c *natsbox.Config) { c.Servers = func() []string { return nil } }, natsbox.ErrUnreachable, "swarm up"},
		"a stranger's key": {func(c *natsbox.Config) {
			c.URL, c.Key = team.Server().URL(), newUser(t)
		}, natsbox.ErrRefused, "owner"},
		"another machine in clear": {func(c *natsbox.Config) { c.URL = "nats://192.0.2.1:4222" }, natsbox.ErrInsecure, "tls://"},
		"not an address":           {func(c *natsbox.Config) { c.URL = "http://127.0.0.1:1" }, nil, "nats://host:port"},
		"a bad team":               {func(c *natsbox.Config) { c.Team = "a.b" }, mailbox.ErrBadName, "team"},
		"no key":                   {func(c *natsbox.Config) { c.Key = nil }, nil, "key"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := base
			c.change(&cfg)
			conn, err := natsbox.Connect(t.Context(), cfg)
			if err == nil {
				conn.Close()
				t.Fatal("connected")
			}
			if c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Connect = %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

// A member that is retired while it works is refused, and told so.
func TestARetiredMemberIsTold(t *testing.T) {
	t.Parallel()
	team := shop(t)
	docs := team.Dial("docs")
	team.Retire("docs")
	e := message(t, "docs", mailbox.Lead, "still here?")
	var last error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, last = docs.Send(ctx, e)
		cancel()
		if errors.Is(last, natsbox.ErrRefused) {
			return
		}
	}
	t.Errorf("Send = %v, want ErrRefused", last)
}

// A flood of mail fills its share of the store. Decisions are stored all the same.
func TestDecisionsAreStoredWhenMailHasFilledTheStore(t *testing.T) {
	t.Parallel()
	team := shop(t, mailboxtest.MaxStore(4<<20), mailboxtest.Unguarded())
	anna, api := team.Dial("anna"), team.Connect("api")
	var full error
	for i := 0; i < 30 && full == nil; i++ {
		_, full = api.Send(t.Context(), message(t, "api", mailbox.Lead, strings.Repeat("x", 250<<10)))
	}
	if !errors.Is(full, natsbox.ErrStoreFull) || !strings.Contains(full.Error(), "--max-store") {
		t.Fatalf("the flood ended with %v, want ErrStoreFull that names --max-store", full)
	}
	if mail := share(t, team, "MB_shop") + share(t, team, "ORD_shop"); mail > 75 {
		t.Errorf("mail may fill %d %% of the store, want at most 75", mail)
	}
	start := time.Now()
	for range 20 {
		id := natsbox.NewRequestID()
		o := decision(t, team, "anna", "api", id, "rejected", "")
		if _, err := anna.PutDecision(t.Context(), "api", id, o.payload, o.sigs); err != nil {
			t.Fatalf("a decision beside full mail: %v", err)
		}
	}
	if d := time.Since(start); d > time.Minute {
		t.Errorf("20 decisions took %s", d)
	}
}

// share is how much of the store a stream may fill, in percent.
func share(t *testing.T, team *mailboxtest.Team, stream string) int64 {
	t.Helper()
	st, err := admin(t, team).Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return st.CachedInfo().Config.MaxBytes * 100 / team.Server().MaxStore()
}

func TestStatusNeedsAConnection(t *testing.T) {
	t.Parallel()
	team := shop(t)
	api := team.Dial("api")
	if err := api.SetStatus(t.Context(), map[string]string{"state": "working"}); err != nil {
		t.Error(err)
	}
	if err := api.SetStatus(t.Context(), strings.Repeat("x", 100<<10)); !errors.Is(err, natsbox.ErrTooLarge) {
		t.Errorf("a status of 100 KiB: %v, want ErrTooLarge", err)
	}
	team.Stop()
	var err error
	eventually(t, "noticed that the broker has gone", func() bool { // until then a status is lost without an error
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		err = api.SetStatus(ctx, "x")
		return err != nil
	})
	if !errors.Is(err, natsbox.ErrUnreachable) {
		t.Errorf("SetStatus without a broker: %v, want ErrUnreachable", err)
	}
}
