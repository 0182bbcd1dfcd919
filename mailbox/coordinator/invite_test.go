package coordinator_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// guest is somebody with the secret of an invitation.
type guest struct {
	t      *testing.T
	team   *mailboxtest.Team
	ticket nkeys.KeyPair
}

// invite has anna invite somebody.
func invite(t *testing.T, team *mailboxtest.Team, name string, role charter.Role, life time.Duration) guest {
	t.Helper()
	ticket, pub := mailboxtest.UserKey(t)
	kind := charter.KindPerson
	if role == charter.RoleTeammate {
		kind = charter.KindAgent
	}
	q := natsbox.InviteRequest{Key: pub, Name: name, Role: role, Kind: kind, Expires: time.Now().Add(life)}
	if err := team.Dial("anna").Call(t.Context(), natsbox.VerbInvite, q, nil); err != nil {
		t.Fatal(err)
	}
	return guest{t, team, ticket}
}

// use uses the invitation with a member's new key.
func (g guest) use(key nkeys.KeyPair) (natsbox.Enrolled, error) {
	g.t.Helper()
	pub, err := key.PublicKey()
	if err != nil {
		g.t.Fatal(err)
	}
	ticket, err := g.ticket.PublicKey()
	if err != nil {
		g.t.Fatal(err)
	}
	proof, err := charter.ProveKey(key, g.team.Charter().TeamID, ticket)
	if err != nil {
		g.t.Fatal(err)
	}
	return g.ask(natsbox.EnrolRequest{Key: pub, Proof: proof, Assurance: charter.Plain})
}

func (g guest) ask(q natsbox.EnrolRequest) (natsbox.Enrolled, error) {
	return natsbox.Enrol(g.t.Context(), natsbox.Config{InProcess: g.team, Team: g.team.Name, Key: g.ticket, Wait: time.Minute}, q)
}

func (g guest) raw() (*nats.Conn, error) {
	pub, err := g.ticket.PublicKey()
	if err != nil {
		g.t.Fatal(err)
	}
	return nats.Connect("", nats.InProcessServer(g.team), nats.Nkey(pub, g.ticket.Sign), nats.NoReconnect(), nats.MaxReconnects(0), nats.Timeout(time.Minute),
		nats.CustomInboxPrefix("_INBOX_"+natsauth.GuestName(pub)))
}

func newShop(t *testing.T, o ...mailboxtest.Option) *mailboxtest.Team {
	t.Helper()
	team := mailboxtest.Server(t, o...)
	team.AddLeader("anna", charter.KindPerson)
	return team
}

func invites(t *testing.T, team *mailboxtest.Team) []natsbox.InviteInfo {
	t.Helper()
	var list []natsbox.InviteInfo
	if err := team.Dial("anna").Call(t.Context(), natsbox.VerbInvites, nil, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// A teammate with an invitation is in at once, and asking again with the same key changes nothing.
func TestInvitedTeammateIsIn(t *testing.T) {
	team := newShop(t)
	g := invite(t, team, "api", charter.RoleTeammate, time.Hour)
	key, pub := mailboxtest.UserKey(t)
	for range 2 {
		in, err := g.use(key)
		if err != nil || in.State != natsbox.InviteIn {
			t.Fatalf("%+v, %v", in, err)
		}
		c, err := charter.Open(in.Charter, team.OwnerKey)
		if m, ok := c.Member("api"); err != nil || !ok || m.Key != pub {
			t.Fatalf("api is %+v in the charter, %v", m, err)
		}
	}
	box, err := natsbox.Connect(t.Context(), natsbox.Config{InProcess: team, Team: team.Name, Me: "api", Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if _, err := box.Join(t.Context(), natsbox.JoinRequest{}); err != nil {
		t.Error(err)
	}
}

// A leader is nobody until the owner confirms, over a restart of the broker too.
func TestInvitedLeaderWaitsForTheOwner(t *testing.T) {
	team := newShop(t)
	g := invite(t, team, "bob", charter.RoleLeader, time.Hour)
	key, pub := mailboxtest.UserKey(t)
	in, err := g.use(key)
	if err != nil || in.State != natsbox.InvitePending {
		t.Fatalf("%+v, %v, want pending", in, err)
	}
	team.Stop()
	team.Start()
	if in, err = g.use(key); err != nil || in.State != natsbox.InvitePending {
		t.Fatalf("after a restart: %+v, %v, want pending", in, err)
	}
	list := invites(t, team)
	if len(list) != 1 || list[0].State != natsbox.InvitePending || list[0].Key != pub || list[0].InvitedBy != "anna" {
		t.Fatalf("the list is %+v", list)
	}
	bob := natsbox.Config{InProcess: team, Team: team.Name, Me: "bob", Key: key}
	if box, err := natsbox.Connect(t.Context(), bob); err == nil {
		box.Close()
		t.Error("a pending leader is let in")
	}
	team.Amend(func(c *charter.Charter) {
		c.Members = append(slices.Clone(c.Members), charter.Member{Name: "bob", Role: charter.RoleLeader, Kind: charter.KindPerson, Key: pub, Assurance: charter.Plain})
	})
	if in, err = g.use(key); err != nil || in.State != natsbox.InviteIn {
		t.Fatalf("after the owner's word: %+v, %v", in, err)
	}
	box, err := natsbox.Connect(t.Context(), bob)
	if err != nil {
		t.Fatal(err)
	}
	box.Close()
}

func TestInvitationThatCannotBeMade(t *testing.T) {
	team := newShop(t)
	team.AddLeader("bot", charter.KindAgent)
	team.AddTeammate("api")
	team.AddTeammate("gone")
	team.Retire("gone")
	_, pub := mailboxtest.UserKey(t)
	anna, _ := team.Charter().Member("anna")
	good := natsbox.InviteRequest{Key: pub, Name: "new", Role: charter.RoleTeammate, Kind: charter.KindAgent, Expires: time.Now().Add(time.Minute)}
	for _, c := range []struct {
		name, who, want string
		change          func(*natsbox.InviteRequest)
	}{
		{"by a lead agent", "bot", "persons who lead", nil},
		{"by a teammate", "api", "persons who lead", nil},
		{"a member's name", "anna", "a member api already", func(q *natsbox.InviteRequest) { q.Name = "api" }},
		{"the name of one who was removed", "anna", "listed as removed", func(q *natsbox.InviteRequest) { q.Name = "gone" }},
		{"a reserved name", "anna", "reserved", func(q *natsbox.InviteRequest) { q.Name = "lead" }},
		{"no name", "anna", "bad name", func(q *natsbox.InviteRequest) { q.Name = "a.b" }},
		{"a policy", "anna", "kind", func(q *natsbox.InviteRequest) { q.Kind = charter.KindPolicy }},
		{"an unknown role", "anna", "role", func(q *natsbox.InviteRequest) { q.Role = "owner" }},
		{"for two hours", "anna", "at most 1h", func(q *natsbox.InviteRequest) { q.Expires = time.Now().Add(2 * time.Hour) }},
		{"over already", "anna", "at most 1h", func(q *natsbox.InviteRequest) { q.Expires = time.Now().Add(-time.Second) }},
		{"under a member's key", "anna", "cannot be used", func(q *natsbox.InviteRequest) { q.Key = anna.Key }},
		{"under no key", "anna", "cannot be used", func(q *natsbox.InviteRequest) { q.Key = "U" }},
	} {
		q := good
		if c.change != nil {
			c.change(&q)
		}
		if err := team.Dial(c.who).Call(t.Context(), natsbox.VerbInvite, q, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if list := invites(t, team); len(list) != 0 {
		t.Errorf("invitations were made: %+v", list)
	}
}

func TestAttackExpiredInvitation(t *testing.T) {
	t.Parallel()
	team := newShop(t)
	end := time.Now().Add(5 * time.Second)
	g := invite(t, team, "api", charter.RoleTeammate, time.Until(end))
	early, err := g.raw() // connected in time, and asks too late
	if err != nil {
		t.Fatal(err)
	}
	defer early.Close()
	time.Sleep(time.Until(end) + 50*time.Millisecond)
	key, _ := mailboxtest.UserKey(t)
	if _, err := g.use(key); !errors.Is(err, natsbox.ErrRefused) {
		t.Errorf("%v, want refused at the door", err)
	}
	deadline := time.Now().Add(time.Minute)
	for early.IsConnected() && time.Now().Before(deadline) {
		time.Sleep(10 * time.Millisecond)
	}
	if early.IsConnected() {
		t.Error("a connection lives longer than its invitation")
	}
	if _, ok := team.Charter().Member("api"); ok {
		t.Error("api is in the team")
	}
	mailboxtest.Refused(t, "use an invitation that has expired", "guest", mailboxtest.ByDoor, "it is not let in, and a connection from before is cut")
}

// The first one to use a stolen invitation has it; the second one learns it at once, and so do the leaders and the holder.
func TestAttackStolenInvitation(t *testing.T) {
	team := newShop(t)
	g := invite(t, team, "api", charter.RoleTeammate, time.Hour)
	thief, stolen := mailboxtest.UserKey(t)
	honest, _ := mailboxtest.UserKey(t)
	if _, err := g.use(thief); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := g.use(honest); err == nil || !strings.Contains(err.Error(), "used already, with another key") {
			t.Fatalf("%v, want that it was used", err)
		}
	}
	if m, _ := team.Charter().Member("api"); m.Key != stolen {
		t.Errorf("api has the key %s, want the first one's", m.Key)
	}
	team.Stop()
	team.Start()
	if _, err := g.use(honest); err == nil {
		t.Error("used twice after a restart")
	}
	if list := invites(t, team); len(list) != 1 || list[0].Again < 3 {
		t.Errorf("the list says %+v, want how often it was used again", list)
	}
	anna := team.Dial("anna")
	var mail []natsbox.MailInfo
	if err := anna.Call(t.Context(), natsbox.VerbMail, natsbox.MailRequest{}, &mail); err != nil {
		t.Fatal(err)
	}
	if len(mail) != 3 || mail[0].From != "broker" || !strings.Contains(mail[0].Text, "swarm team remove api") {
		t.Errorf("the leaders read %d letters: %+v, want three", len(mail), mail)
	}
	mailboxtest.Refused(t, "use an invitation that was used, with another key", "guest", mailboxtest.ByCoordinator, "used already, with another key; the leaders are told")
}

// What an invitation gives is what the coordinator remembers, not what its holder says.
func TestAttackAlteredInvitation(t *testing.T) {
	team := newShop(t)
	g := invite(t, team, "api", charter.RoleTeammate, time.Hour)
	key, pub := mailboxtest.UserKey(t)
	ticket, _ := g.ticket.PublicKey()
	proof := func(kp nkeys.KeyPair, teamID, invitation string) string {
		p, err := charter.ProveKey(kp, teamID, invitation)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	id := team.Charter().TeamID
	anna, _ := team.Charter().Member("anna")
	other, _ := mailboxtest.UserKey(t)
	_, unknown := mailboxtest.UserKey(t)
	for name, q := range map[string]natsbox.EnrolRequest{
		"anna's key":            {Key: anna.Key, Proof: proof(key, id, ticket)},
		"somebody else's proof": {Key: pub, Proof: proof(other, id, ticket)},
		"another team":          {Key: pub, Proof: proof(key, strings.Repeat("0", 64), ticket)},
		"another invitation":    {Key: pub, Proof: proof(key, id, unknown)},
		"no proof":              {Key: pub},
		"no key":                {Proof: proof(key, id, ticket)},
		"its own key":           {Key: ticket, Proof: proof(g.ticket, id, ticket)},
		"a wish for assurance":  {Key: pub, Proof: proof(key, id, ticket), Assurance: "best"},
	} {
		_, err := g.ask(q)
		if err == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		mailboxtest.Refused(t, "enrol with "+name, "guest", mailboxtest.ByCoordinator, err.Error())
	}
	stranger := guest{t, team, other}
	if _, err := stranger.use(key); !errors.Is(err, natsbox.ErrRefused) {
		t.Errorf("an invitation that nobody made: %v, want refused", err)
	}
	in, err := g.use(key)
	if m, _ := team.Charter().Member("api"); err != nil || in.Role != charter.RoleTeammate || m.Role != charter.RoleTeammate {
		t.Errorf("it gave %+v, %v, %+v", in, err, m)
	}
}

// With an invitation nothing can be published or heard but the one question and its answer.
func TestAttackGuestDoesAnythingElse(t *testing.T) {
	team := newShop(t)
	team.AddTeammate("mate")
	team.Connect("mate")
	g := invite(t, team, "api", charter.RoleTeammate, time.Hour)
	other := invite(t, team, "other", charter.RoleLeader, time.Hour)
	pub, _ := g.ticket.PublicKey()
	theirs, _ := other.ticket.PublicKey()
	me, it := natsauth.GuestName(pub), natsauth.GuestName(theirs)
	for _, subject := range []string{
		"swarm.shop.svc." + me + ".charter", "swarm.shop.svc." + me + ".invite", "swarm.shop.svc." + it + ".enrol", "swarm.shop.svc.anna.enrol", "swarm.shop.svc.api.enrol",
		"swarm.shop.svc.mate.join", "swarm.shop.mb.lead.api.message", "swarm.shop.mb.lead." + me + ".message", "swarm.shop.mb.all.api.message", "swarm.shop.dec.mate.x",
		"swarm.shop.ord.mate.anna.mode_set_request", "swarm.shop.stat.api", "swarm.shop.reg.invite." + me, "swarm.shop.reg.secret", "swarm.shop.ev.decision",
		"$JS.API.STREAM.LIST", "JS.swarm.STREAM.LIST", "$JS.API.STREAM.DELETE.MB_shop", "$SYS.REQ.SERVER.PING", "_INBOX_anna.x", "_INBOX_" + it + ".x",
	} {
		refusedAt(t, g, "publish "+subject, func(nc *nats.Conn) error { return nc.Publish(subject, []byte("{}")) })
	}
	for _, subject := range []string{">", "*", "swarm.>", "swarm.shop.svc." + me + ".enrol", "swarm.shop.ev.>", "_INBOX_anna.>", "_INBOX_" + it + ".>", "_INBOX_>", "$SYS.>", "$JS.>"} {
		refusedAt(t, g, "listen "+subject, func(nc *nats.Conn) error { _, err := nc.SubscribeSync(subject); return err })
	}
	// The reply of its one question goes nowhere else either.
	nc, err := g.raw()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	id := natsbox.NewRequestID()
	for _, reply := range []string{"swarm.shop.dec.mate." + id, "swarm.shop.mb.lead.mate.message", "swarm.shop.reg.secret"} {
		_ = nc.PublishRequest("swarm.shop.svc."+me+".enrol", reply, []byte("{}"))
	}
	_ = nc.Flush()
	if _, err := team.Dial("anna").ReadDecision(t.Context(), "mate", id); !errors.Is(err, natsbox.ErrNoDecision) {
		t.Errorf("the slot of a request: %v, want empty", err)
	}
	if _, err := nc.Request("swarm.shop.svc."+me+".enrol", []byte(strings.Repeat("x", 100_000)), time.Second); err != nil {
		t.Log("a question of 100 kB:", err)
	}
	key, _ := mailboxtest.UserKey(t)
	if in, err := g.use(key); err != nil || in.State != natsbox.InviteIn {
		t.Errorf("afterwards it does not work: %v", err)
	}
	// And a member cannot use the guests' verb to take an invitation that is not its own.
	q, _ := json.Marshal(natsbox.EnrolRequest{})
	if m, err := team.Raw("mate").Request("swarm.shop.svc.mate.enrol", q, time.Minute); err != nil || m.Header.Get("Nats-Service-Error-Code") == "" {
		t.Errorf("a member enrols: %v", err)
	}
	mailboxtest.Refused(t, "anything else with an invitation", "guest", mailboxtest.ByPermissions, "21 subjects and 10 subscriptions are refused, and replies lead nowhere")
}

// refusedAt does something on a connection of its own, and wants the broker to refuse it.
func refusedAt(t *testing.T, g guest, what string, do func(*nats.Conn) error) {
	t.Helper()
	nc, err := g.raw()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	if err := do(nc); err != nil {
		return
	}
	if err := nc.Flush(); err != nil { // the refusal comes before its pong
		return
	}
	if err := nc.LastError(); !errors.Is(err, nats.ErrPermissionViolation) {
		t.Errorf("%s: %v, want it refused", what, err)
	}
}

// An invitation that was taken back, or replaced by another one, is worth nothing.
func TestAttackInvitationTakenBack(t *testing.T) {
	team := newShop(t)
	key, _ := mailboxtest.UserKey(t)
	first := invite(t, team, "api", charter.RoleTeammate, time.Hour)
	second := invite(t, team, "api", charter.RoleTeammate, time.Hour)
	if _, err := first.use(key); !errors.Is(err, natsbox.ErrRefused) {
		t.Errorf("the replaced one: %v, want refused at the door", err)
	}
	if err := team.Dial("anna").Call(t.Context(), natsbox.VerbUninvite, natsbox.UninviteRequest{Name: "api"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := second.use(key); err == nil {
		t.Error("the one that was taken back is taken")
	}
	team.Stop()
	team.Start()
	if _, err := second.use(key); err == nil {
		t.Error("it is back after a restart")
	}
	if _, ok := team.Charter().Member("api"); ok {
		t.Error("api is in the team")
	}
	mailboxtest.Refused(t, "use an invitation that was taken back or replaced", "guest", mailboxtest.ByDoor, "it is not let in, after a restart neither")
}
