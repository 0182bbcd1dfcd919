package coordinator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// amendment is a charter in which api is retired, made from the one in force and signed by a key.
func amendment(t *testing.T, team *mailboxtest.Team, owner nkeys.KeyPair, change func(*charter.Charter)) natsbox.AmendRequest {
	t.Helper()
	now := team.Coordinator().Signed()
	c := team.Charter()
	c.Serial++
	c.Members = slices.Clone(c.Members)
	c.Members[len(c.Members)-1].Retired = true
	if change != nil {
		change(&c)
	}
	signed, err := charter.Sign(owner, c)
	if err != nil {
		t.Fatal(err)
	}
	return natsbox.AmendRequest{FromSig: now.Sig, FromAdditions: len(now.Additions), Charter: signed}
}

// A charter that the owner did not sign, that is older, or that was altered changes nothing, whoever brings it.
func TestAttackCharterThatIsNotTheOwners(t *testing.T) {
	team := mailboxtest.Server(t)
	team.AddLeader("anna", charter.KindPerson)
	team.AddMember(charter.Member{Name: "wall", Role: charter.RoleObserver, Kind: charter.KindPerson})
	team.AddTeammate("api")
	anna := team.Dial("anna")
	good := amendment(t, team, team.Owner(), nil)
	stranger, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := stranger.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	others := amendment(t, team, stranger, func(c *charter.Charter) { c.TeamID = charter.TeamID(public) })
	bySwap := others
	bySwap.Charter.Payload = good.Charter.Payload
	altered := good
	altered.Charter.Payload = slices.Clone(good.Charter.Payload)
	altered.Charter.Payload[len(altered.Charter.Payload)-2] ^= 1
	same := amendment(t, team, team.Owner(), func(c *charter.Charter) { c.Serial-- })
	back := amendment(t, team, team.Owner(), func(c *charter.Charter) { c.Serial = 1 })
	team.AddTeammate("late")
	behind := amendment(t, team, team.Owner(), nil)
	behind.FromAdditions--
	for _, a := range []struct {
		name, who string
		q         natsbox.AmendRequest
	}{
		{"another team's owner", "anna", atNow(team, others)},
		{"our charter under another signature", "anna", atNow(team, bySwap)},
		{"altered", "anna", atNow(team, altered)},
		{"the same serial", "anna", atNow(team, same)},
		{"rolled back", "anna", atNow(team, back)},
		{"made before late was enrolled", "anna", good},
		{"made from fewer members", "anna", behind},
		{"brought by a teammate", "api", amendment(t, team, team.Owner(), nil)},
		{"brought by an observer", "wall", amendment(t, team, team.Owner(), nil)},
	} {
		before := team.Charter()
		box := anna
		if a.who != "anna" {
			box = team.Dial(a.who)
		}
		err := box.Call(t.Context(), natsbox.VerbAmend, a.q, nil)
		if err == nil {
			t.Errorf("%s: accepted", a.name)
			continue
		}
		if now := team.Charter(); now.Serial != before.Serial || len(now.Members) != len(before.Members) {
			t.Errorf("%s: serial %d with %d members, want %d with %d", a.name, now.Serial, len(now.Members), before.Serial, len(before.Members))
		}
		mailboxtest.Refused(t, "bring a charter: "+a.name, map[string]string{"anna": "leader", "api": "teammate", "wall": "observer"}[a.who], mailboxtest.ByCoordinator, err.Error())
	}
	if err := anna.Call(t.Context(), natsbox.VerbAmend, amendment(t, team, team.Owner(), nil), nil); err != nil {
		t.Errorf("the owner's own: %v", err)
	}
}

// atNow has a request claim that it was made from the charter in force.
func atNow(team *mailboxtest.Team, q natsbox.AmendRequest) natsbox.AmendRequest {
	now := team.Coordinator().Signed()
	q.FromSig, q.FromAdditions = now.Sig, len(now.Additions)
	return q
}

// A member that is removed while it is connected neither stores nor reads anything a second later, nor comes back.
func TestAttackRemovedMemberStillConnected(t *testing.T) {
	team := mailboxtest.Server(t)
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	anna, api := team.Dial("anna"), team.Connect("api")
	raw := team.Raw("api")
	note := func(from, to string) mailbox.Envelope {
		e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, team.Name, from, to, 1, time.Now(), mailbox.Message{Text: "x"})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if _, err := api.Send(t.Context(), note("api", mailbox.Lead)); err != nil {
		t.Fatal(err)
	}
	got := make(chan struct{}, 8)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_ = api.ReceiveMail(ctx, func(context.Context, natsbox.Mail) error { got <- struct{}{}; return nil })
	}()
	if _, err := anna.Send(t.Context(), note("anna", "api")); err != nil {
		t.Fatal(err)
	}
	<-got // it pulls
	begin := time.Now()
	q := amendment(t, team, team.Owner(), func(c *charter.Charter) {
		for i := range c.Members {
			c.Members[i].Retired = c.Members[i].Name == "api"
		}
	})
	if err := anna.Call(t.Context(), natsbox.VerbAmend, q, nil); err != nil {
		t.Fatal(err)
	}
	for raw.IsConnected() && time.Since(begin) < time.Minute {
		time.Sleep(time.Millisecond)
	}
	cut := time.Since(begin)
	if raw.IsConnected() {
		t.Errorf("still connected %v after it was removed", cut)
	}
	if n := team.Server().Auth().Cut("api"); n != 0 {
		t.Errorf("%d connections of api were left", n)
	}
	short, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := api.Send(short, note("api", mailbox.Lead)); err == nil {
		t.Error("it published after it was removed")
	}
	if err := api.Call(short, natsbox.VerbCharter, nil, nil); err == nil {
		t.Error("it asked after it was removed")
	}
	if _, err := anna.Send(t.Context(), note("anna", "api")); err != nil {
		t.Log("mail to it is refused:", err)
	}
	select {
	case <-got:
		t.Error("it pulled after it was removed")
	case <-time.After(200 * time.Millisecond):
	}
	mailboxtest.Refused(t, "go on after being removed", "removed member", mailboxtest.ByDoor, "cut "+cut.Round(time.Millisecond).String()+" after the owner's word: it neither publishes nor pulls, nor comes back")
}
