package natsauth_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// world is a team in which everybody has joined and everybody has mail.
type world struct {
	*mailboxtest.Team
	own  map[string]string // durables
	junk map[string]*nats.Subscription
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{Team: shop(t), own: map[string]string{}, junk: map[string]*nats.Subscription{}}
	w.AddLeader("bob", charter.KindPerson)
	w.AddMember(charter.Member{Name: "wall", Role: charter.RoleObserver, Kind: charter.KindPerson})
	for _, name := range []string{"anna", "bob", "mate", "other"} {
		conn := w.Connect(name)
		w.own[name] = w.Server().Auth().Durable(name, name+"-test")
		send(t, conn, name, mailbox.Lead, `{"delivered":"to lead"}`)
	}
	anna := w.Dial("anna")
	for _, name := range []string{"mate", "other"} {
		for range 3 {
			send(t, anna, "anna", name, "a body of the attacker's friend")
		}
	}
	for _, name := range []string{"anna", "bob", "mate", "other", "wall"} {
		nc := w.Raw(name)
		sub, err := nc.SubscribeSync("_INBOX_" + name + ".>")
		if err == nil {
			err = nc.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		w.junk[name] = sub
	}
	return w
}

func send(t *testing.T, conn *natsbox.Conn, from, to, text string) {
	t.Helper()
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", from, to, 1, time.Now(), mailbox.Message{Text: text})
	if err == nil {
		_, err = conn.Send(t.Context(), e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// door is a request that a member may make; the broker's answer goes where the member says.
type door struct{ name, subject, data string }

func (w *world) doors(me string) []door {
	m, _ := w.Charter().Member(me)
	d := w.own[me]
	list := []door{
		{"ask the coordinator", "swarm.shop.svc." + me + ".charter", ""},
		{"ask it nonsense", "swarm.shop.svc." + me + ".request", "{"},
	}
	if m.Role != charter.RoleTeammate {
		list = append(
			list, door{"read a decision that is not there", "JS.swarm.DIRECT.GET.DEC_shop.swarm.shop.dec.mate.x", ""},
			door{"read a status", "JS.swarm.DIRECT.GET.STAT_shop.swarm.shop.stat.mate", ""})
	}
	if m.Role == charter.RoleObserver {
		return list
	}
	list = append(list,
		door{"send mail", "swarm.shop.mb.lead." + me + ".message", "x"},
		door{"say a status", "swarm.shop.stat." + me, "x"},
		door{"look at its mailbox", "JS.swarm.CONSUMER.INFO.MB_shop." + d, ""},
		door{"pull mail", "JS.swarm.CONSUMER.MSG.NEXT.MB_shop." + d, `{"batch":1,"no_wait":true}`},
		door{"pull much mail", "JS.swarm.CONSUMER.MSG.NEXT.MB_shop." + d, `{"batch":100,"no_wait":true}`},
		door{"pull with a deadline", "JS.swarm.CONSUMER.MSG.NEXT.MB_shop." + d, `{"batch":1,"expires":20000000,"idle_heartbeat":5000000}`},
		door{"acknowledge and take the next", "$JS.ACK.MB_shop." + d + ".1.1.1.1.1", "+NXT"},
		door{"acknowledge twice", "$JS.ACK.MB_shop." + d + ".1.1.1.1.1", "+TERM"})
	if m.Role == charter.RoleTeammate {
		list = append(list,
			door{"read a decision that is not there", "JS.swarm.DIRECT.GET.DEC_shop.swarm.shop.dec." + me + ".x", ""},
			door{"pull from an empty stream of orders", "JS.swarm.CONSUMER.MSG.NEXT.ORD_shop." + d, `{"no_wait":true}`},
			door{"pull decisions", "JS.swarm.CONSUMER.MSG.NEXT.DEC_shop." + d, `{"no_wait":true}`})
	} else {
		list = append(list, door{"decide", "swarm.shop.dec.mate.01-" + me, "x"}, door{"order", "swarm.shop.ord.mate." + me + ".grant_revoked", "x"})
	}
	return list
}

// targets are subjects that a reply must never reach.
func (w *world) targets(me string) []string {
	other := "other"
	list := []string{
		"swarm.shop.dec.other." + natsbox.NewRequestID(), "swarm.shop.dec.mate." + natsbox.NewRequestID(),
		"swarm.shop.ord.mate.anna.mode_set_request", "swarm.shop.ord.other.bob.grant_revoked",
		"swarm.shop.mb.lead.other.plan_approval_request", "swarm.shop.mb.all." + me + ".message", "swarm.shop.mb.other." + me + ".plan_approval_request",
		"swarm.shop.stat.other", "swarm.shop.reg.member.other", "swarm.shop.reg.secret", "swarm.shop.ev.decision", "swarm.shop.svc.other.standing",
		"_INBOX_anna.x", "_INBOX_bob.x", "_INBOX_other.x", "_INBOX_wall.x",
		"$JS.ACK.MB_shop." + w.own[other] + ".1.1.1.1.1",
	}
	for _, api := range []string{"$JS.API.", "JS.swarm."} {
		list = append(list, api+"STREAM.DELETE.MB_shop", api+"STREAM.DELETE.DEC_shop", api+"STREAM.PURGE.MB_shop", api+"STREAM.UPDATE.MB_shop",
			api+"CONSUMER.DELETE.MB_shop."+w.own[other], api+"CONSUMER.DURABLE.CREATE.MB_shop.spy", api+"CONSUMER.MSG.NEXT.MB_shop."+w.own[other])
	}
	return slices.DeleteFunc(list, func(s string) bool { return strings.HasPrefix(s, "_INBOX_"+me+".") })
}

// A member names a forbidden subject as the reply of something that it may ask: the broker's answer, whose body it can
// choose, goes nowhere. In one account for all members this deleted streams and stored decisions.
func TestAttackSmugglingByReply(t *testing.T) {
	t.Parallel()
	for _, me := range []string{"mate", "anna", "wall"} {
		t.Run(me, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			tried := 0
			for _, d := range w.doors(me) {
				before := w.snapshot(t, me)
				nc := w.Raw(me)
				for _, target := range w.targets(me) {
					tried++
					if err := nc.PublishMsg(&nats.Msg{Subject: d.subject, Reply: target, Data: []byte(d.data)}); err != nil {
						t.Fatal(err)
					}
				}
				settle(t, nc)
				nc.Close()
				if after := w.snapshot(t, me); after != before {
					t.Errorf("%s: the streams changed: %s", d.name, changed(before, after))
				}
				w.noJunk(t, me, d.name)
				w.opens(t, me, d)
				mailboxtest.Refused(t, "smuggle by reply: "+d.name, map[string]string{"mate": "teammate", "anna": "leader", "wall": "observer"}[me], mailboxtest.ByAccounts, fmt.Sprintf("%d replies reached nothing", len(w.targets(me))))
			}
			t.Logf("%d attempts by %s, all without effect", tried, me)
		})
	}
}

// opens fails when a door is none: with a reply that is the member's own, the broker answers.
func (w *world) opens(t *testing.T, me string, d door) {
	t.Helper()
	nc := w.Raw(me)
	defer nc.Close()
	if strings.HasPrefix(d.subject, "$JS.ACK.") {
		return // of a message that was not delivered: the broker says nothing
	}
	if _, err := nc.Request(d.subject, []byte(d.data), time.Minute); err != nil {
		t.Errorf("%s: nobody answers %s: %v", d.name, me, err)
	}
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

// settle returns when the broker has worked on all that a connection sent, and on what follows from it.
func settle(t *testing.T, nc *nats.Conn) {
	t.Helper()
	for range 2 {
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

func (w *world) noJunk(t *testing.T, me, what string) {
	t.Helper()
	for name, sub := range w.junk {
		if name == me {
			continue
		}
		if m, err := sub.NextMsg(time.Millisecond); err == nil {
			t.Errorf("%s: %s got %q by %s", what, name, m.Data, m.Subject)
		}
	}
}

// snapshot is everything in the broker that is not me's own to change.
func (w *world) snapshot(t *testing.T, me string) string {
	t.Helper()
	js := admin(t, w.Team)
	var b strings.Builder
	for _, name := range []string{"MB_shop", "DEC_shop", "ORD_shop", "STAT_shop", "REG_shop"} {
		st, err := js.Stream(t.Context(), name)
		if err != nil {
			fmt.Fprintln(&b, name, err)
			continue
		}
		i, err := st.Info(t.Context(), jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %+v deleted %d\n", name, i.Config, i.State.NumDeleted)
		for _, s := range slices.Sorted(maps.Keys(i.State.Subjects)) {
			if own := s == "swarm.shop.stat."+me || s == "swarm.shop.mb.lead."+me+".message" || s == "swarm.shop.dec.mate.01-"+me || s == "swarm.shop.ord.mate."+me+".grant_revoked" || s == "swarm.shop.reg.dead."+me+".m1"; !own {
				fmt.Fprintln(&b, " ", s, i.State.Subjects[s])
			}
		}
		for c := range st.ListConsumers(t.Context()).Info() {
			if c.Name != w.own[me] && !strings.HasPrefix(c.Name, "oc_") && c.Config.Durable != "" {
				fmt.Fprintln(&b, "  consumer", c.Name, c.AckFloor.Stream, c.Delivered.Stream, c.NumAckPending)
			}
		}
	}
	return b.String()
}
