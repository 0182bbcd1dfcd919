package attacks_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

const operator = "broker's operator" // or whoever can write the broker's files

// patience is how long a test waits for what must come.
const patience = time.Minute

// world is a team in which everybody has joined and has mail: anna and bob lead, bot is an agent that leads, wall observes,
// mate attacks, other is attacked, and somebody holds an invitation that nobody has used.
type world struct {
	*mailboxtest.Team
	t      *testing.T
	root   *nats.Conn // the coordinator's rights
	js     jetstream.JetStream
	ticket nkeys.KeyPair
	peers  map[string]*nats.Conn
}

// roles are what the members are, in the words of the list.
var roles = map[string]string{
	"anna": "leader", "bob": "leader", "bot": "lead agent", "wall": "observer", "mate": "teammate", "other": "teammate", "guest": "guest",
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Team: mailboxtest.Server(t), t: t, peers: map[string]*nats.Conn{}}
	w.AddLeader("anna", charter.KindPerson)
	w.AddLeader("bob", charter.KindPerson)
	w.AddLeader("bot", charter.KindAgent)
	w.AddMember(charter.Member{Name: "wall", Role: charter.RoleObserver, Kind: charter.KindPerson})
	w.AddTeammate("mate")
	w.AddTeammate("other")
	w.root, w.js = root(t, w.Team)
	conns := map[string]*natsbox.Conn{}
	for _, name := range []string{"anna", "bob", "bot", "wall", "mate", "other"} {
		conns[name] = w.Connect(name)
	}
	for _, m := range [][2]string{{"anna", "other"}, {"anna", "mate"}, {"other", mailbox.Lead}, {"bob", "anna"}} {
		mail(t, conns[m[0]], m[0], m[1], "between us")
	}
	w.ticket = invite(t, conns["anna"], "new")
	return w
}

// root connects with the coordinator's rights: to look, and to do what no member may.
func root(t *testing.T, team *mailboxtest.Team) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	kp := team.Server().Auth().CoordinatorKey()
	nc, err := nats.Connect("", nats.InProcessServer(team), nats.Nkey(public(t, kp), kp.Sign), nats.NoReconnect())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

func public(t testing.TB, kp nkeys.KeyPair) string {
	t.Helper()
	pub, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return pub
}

func userKey(t testing.TB) nkeys.KeyPair {
	t.Helper()
	kp, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	return kp
}

// invite has a leader invite a teammate for an hour, and returns the invitation's key.
func invite(t *testing.T, leader *natsbox.Conn, name string) nkeys.KeyPair {
	t.Helper()
	kp := userKey(t)
	q := natsbox.InviteRequest{Key: public(t, kp), Name: name, Role: charter.RoleTeammate, Kind: charter.KindAgent, Expires: time.Now().Add(time.Hour)}
	if err := leader.Call(t.Context(), natsbox.VerbInvite, q, nil); err != nil {
		t.Fatal(err)
	}
	return kp
}

func mail(t testing.TB, conn *natsbox.Conn, from, to, text string) {
	t.Helper()
	send(t, conn, from, to, 1, natsbox.NewID(), mailbox.KindMessage, mailbox.Message{Text: text})
}

// peer is a connection of somebody with a key of his own and no library of ours: what an attacker has.
func (w *world) peer(name string) *nats.Conn {
	w.t.Helper()
	if nc := w.peers[name]; nc != nil {
		return nc
	}
	nc := w.root
	switch name {
	case "coordinator":
	case "guest":
		pub := public(w.t, w.ticket)
		var err error
		nc, err = nats.Connect("", nats.InProcessServer(w), nats.Nkey(pub, w.ticket.Sign), nats.NoReconnect(),
			nats.CustomInboxPrefix("_INBOX_"+natsauth.GuestName(pub)), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(nc.Close)
	default:
		nc = w.Raw(name)
	}
	w.peers[name] = nc
	return nc
}

// fill puts names into a subject or a body: {me}, {own} and {theirs} for the consumers of me and of other.
func (w *world) fill(s, me string) string {
	name := me
	if me == "guest" {
		name = natsauth.GuestName(public(w.t, w.ticket))
	}
	auth := w.Server().Auth()
	return strings.NewReplacer("{me}", name, "{own}", auth.Durable(me, me+"-test"), "{theirs}", auth.Durable("other", "other-test")).Replace(s)
}

// violation is what the broker said last about a subject, "" when it said nothing. The client knows it when a flush returns.
func violation(nc *nats.Conn, subject string) string {
	if err := nc.LastError(); err != nil && strings.Contains(err.Error(), `"`+subject+`"`) {
		return strings.TrimPrefix(err.Error(), "nats: ")
	}
	return ""
}

// settle returns when the broker has worked on all that a connection sent, and on what follows from it.
func settle(t *testing.T, nc *nats.Conn) {
	t.Helper()
	for range 2 {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// answered asks on somebody's behalf and reports what came back: an error when nothing did, since the broker refuses it or
// nobody is there, or when it is a refusal.
func answered(nc *nats.Conn, m *nats.Msg) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	before := nc.LastError()
	go func() { // what is refused has no answer
		for ctx.Err() == nil {
			if now := nc.LastError(); now != nil && now != before {
				time.AfterFunc(2*time.Second, cancel)
				return
			}
			time.Sleep(15 * time.Millisecond)
		}
	}()
	r, err := nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.Subject, err)
	}
	var a struct {
		Error *struct {
			Code        int    `json:"err_code"`
			Description string `json:"description"`
		} `json:"error"`
	}
	switch {
	case r.Header.Get("Nats-Service-Error-Code") != "":
		return string(r.Data), fmt.Errorf("%s", r.Header.Get("Nats-Service-Error"))
	case r.Header.Get("Status") != "" && r.Header.Get("Status") != "204":
		return "", fmt.Errorf("status %s %s", r.Header.Get("Status"), r.Header.Get("Description"))
	case json.Unmarshal(r.Data, &a) == nil && a.Error != nil:
		return string(r.Data), fmt.Errorf("%s (%d)", a.Error.Description, a.Error.Code)
	}
	return string(r.Data), nil
}

// snapshot is everything that is stored: streams, their settings, subjects and counts, consumers and how far they have read.
func (w *world) snapshot() string {
	w.t.Helper()
	return snapshot(w.t, w.js)
}

func snapshot(t *testing.T, js jetstream.JetStream) string {
	t.Helper()
	var b strings.Builder
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		name := info.Config.Name
		if strings.Contains(name, "SCRATCH") {
			continue
		}
		st, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		i, err := st.Info(t.Context(), jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		config, err := json.Marshal(i.Config)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %s: %d to %d, %d deleted\n", name, config, i.State.FirstSeq, i.State.LastSeq, i.State.NumDeleted)
		for _, s := range slices.Sorted(maps.Keys(i.State.Subjects)) {
			fmt.Fprintln(&b, " ", s, i.State.Subjects[s])
		}
		var consumers []string
		for c := range st.ListConsumers(t.Context()).Info() {
			if c.Config.Durable != "" {
				consumers = append(consumers, fmt.Sprintf("  consumer %s %+v: floor %d, delivered %d, pending %d, paused %t",
					c.Name, c.Config.FilterSubjects, c.AckFloor.Stream, c.Delivered.Stream, c.NumAckPending, c.Paused))
			}
		}
		slices.Sort(consumers)
		b.WriteString(strings.Join(consumers, "\n") + "\n")
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// changed lists the lines of two snapshots that differ.
func changed(before, after string) string {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	var out []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			out = append(out, "-"+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out = append(out, "+"+l)
		}
	}
	return strings.Join(out, "\n")
}

// unchanged fails when an attack has left a trace in the store.
func (w *world) unchanged(t *testing.T, before string) {
	t.Helper()
	if after := w.snapshot(); after != before {
		t.Errorf("the store has changed:\n%s", changed(before, after))
	}
}
