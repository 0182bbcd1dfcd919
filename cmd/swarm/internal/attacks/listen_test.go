package attacks_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

// ear is an attempt to hear what is not the attacker's to hear.
type ear struct {
	name    string
	by      []string
	subject string
	queue   string
}

var ears = []ear{
	{"listen to everything", anybody, ">", ""},
	{"listen to every subject of two tokens", anybody, "*.*", ""},
	{"listen to the whole team", anybody, "swarm.>", ""},
	{"listen to mail", anybody, "swarm.shop.mb.>", ""},
	{"listen to one's own mail beside its consumer", anybody, "swarm.shop.mb.{me}.>", ""},
	{"listen to decisions", anybody, "swarm.shop.dec.>", ""},
	{"listen to orders", anybody, "swarm.shop.ord.>", ""},
	{"listen to statuses", anybody, "swarm.shop.stat.*", ""},
	{"listen to the register", anybody, "swarm.shop.reg.>", ""},
	{"stand in for the coordinator", anybody, "swarm.shop.svc.>", ""},
	{"answer one of the coordinator's verbs", anybody, "swarm.shop.svc.*.join", ""},
	{"take turns with the coordinator", anybody, "swarm.shop.svc.*.charter", "q"},
	{"stand in for an invitation's answer", anybody, "swarm.shop.svc.*.enrol", ""},
	{"listen to the usual inboxes", anybody, "_INBOX.>", ""},
	{"listen to another's inbox", anybody, "_INBOX_other.>", ""},
	{"take turns on another's inbox", anybody, "_INBOX_other.>", "q"},
	{"listen to answers on their way", anybody, "_R_.>", ""},
	{"listen to the broker's API", anybody, "$JS.>", ""},
	{"listen to acknowledgements", anybody, "$JS.ACK.>", ""},
	{"listen to flow control", anybody, "$JS.FC.>", ""},
	{"listen to the broker's advisories", anybody, "$JS.EVENT.>", ""},
	{"listen to the system account", anybody, "$SYS.>", ""},
	{"a teammate that listens to the consoles' events", []string{"mate", "guest"}, "swarm.shop.ev.>", ""},
}

// Nobody hears anything but answers in its own inbox, and leaders and observers the consoles' events. The same subscription with
// the coordinator's rights stands, and there is traffic to hear.
func TestAttackListening(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, e := range ears {
		t.Run(e.name, func(t *testing.T) {
			for _, me := range e.by {
				w.overhear(t, e, me)
			}
			if _, err := w.root.QueueSubscribeSync(w.fill(e.subject, "mate"), e.queue+"0"); err != nil {
				t.Fatal(err)
			}
			settle(t, w.root)
			if why := violation(w.root, w.fill(e.subject, "mate")); why != "" {
				t.Errorf("the subject is no subject: %s", why)
			}
		})
	}
	console, err := w.peer("wall").SubscribeSync("swarm.shop.ev.>")
	if err != nil {
		t.Fatal(err)
	}
	settle(t, w.peer("wall"))
	if err := w.root.Publish("swarm.shop.ev.x", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := console.NextMsg(patience); err != nil {
		t.Errorf("an observer's console hears nothing: %v", err)
	}
}

// overhear tries one subscription, while the others work.
func (w *world) overhear(t *testing.T, e ear, me string) {
	t.Helper()
	nc, subject := w.peer(me), w.fill(e.subject, me)
	inbox, err := nc.SubscribeSync(w.fill("_INBOX_{me}.mine", me))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inbox.Unsubscribe() }()
	sub, err := subscribe(nc, subject, e.queue)
	if err != nil {
		t.Fatal(err)
	}
	settle(t, nc)
	why := violation(nc, subject)
	if why == "" {
		t.Errorf("%s may listen to %s", me, subject)
	}
	for name, q := range map[string]string{"anna": "swarm.shop.mb.other.anna.message", "other": "swarm.shop.stat.other", "bob": "swarm.shop.svc.bob.charter"} {
		if _, err := answered(w.peer(name), &nats.Msg{Subject: q, Data: []byte("{}")}); err != nil && name != "other" {
			t.Fatal(err)
		}
	}
	if m, err := sub.NextMsg(time.Millisecond); err == nil {
		t.Errorf("%s hears %s", me, m.Subject)
	}
	verb := map[bool]string{true: "enrol", false: "charter"}[me == "guest"]
	if err := nc.PublishRequest(w.fill("swarm.shop.svc.{me}."+verb, me), inbox.Subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := inbox.NextMsg(patience); err != nil {
		t.Errorf("%s does not hear its own answer: %v", me, err)
	}
	mailboxtest.Refused(t, e.name, roles[me], mailboxtest.ByPermissions, why)
}

func subscribe(nc *nats.Conn, subject, queue string) (*nats.Subscription, error) {
	if queue == "" {
		return nc.SubscribeSync(subject)
	}
	return nc.QueueSubscribeSync(subject, queue)
}
