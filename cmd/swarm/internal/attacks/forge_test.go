package attacks_test

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// publication is an attempt to publish what is not the attacker's to publish. Somebody may: right, on the very same subject or
// on may, so that a refusal cannot come from a mistake in the subject.
type publication struct {
	name    string
	by      []string
	subject string
	right   string
	may     string // empty: the same subject
}

var (
	anybody   = []string{"mate", "bob", "bot", "wall", "guest"}
	notLeader = []string{"mate", "wall", "guest"}
)

var publications = []publication{
	{"mail in another teammate's name", anybody, "swarm.shop.mb.lead.other.message", "other", ""},
	{"mail in a leader's name", anybody, "swarm.shop.mb.other.anna.message", "anna", ""},
	{"ask for approval in another's name", anybody, "swarm.shop.mb.lead.other.plan_approval_request", "other", ""},
	{"withdraw another's plan in its name", anybody, "swarm.shop.mb.lead.other.plan_withdrawn", "other", ""},
	{"ask for a call in another's name", anybody, "swarm.shop.mb.lead.other.permission_request", "other", ""},
	{"give a receipt in another's name", anybody, "swarm.shop.mb.lead.other.receipt", "other", ""},
	{"change a mode in another's name", anybody, "swarm.shop.mb.lead.other.mode_changed", "other", ""},
	{"say a status in another's name", anybody, "swarm.shop.stat.other", "other", ""},
	{"speak to all without leading", notLeader, "swarm.shop.mb.all.{me}.message", "anna", "swarm.shop.mb.all.anna.message"},
	{"assign a task without leading", notLeader, "swarm.shop.mb.other.{me}.task_assignment", "anna", "swarm.shop.mb.other.anna.task_assignment"},
	{"endorse without leading", notLeader, "swarm.shop.mb.lead.{me}.endorsement", "anna", "swarm.shop.mb.lead.anna.endorsement"},
	{"endorse in another leader's name", []string{"bob", "bot", "mate"}, "swarm.shop.mb.lead.anna.endorsement", "anna", ""},
	{"decide one's own request", []string{"mate", "wall", "guest"}, "swarm.shop.dec.{me}.r1", "anna", "swarm.shop.dec.mate.r1"},
	{"decide another's request", notLeader, "swarm.shop.dec.other.r2", "anna", ""},
	{"order oneself a mode", notLeader, "swarm.shop.ord.{me}.{me}.mode_set_request", "anna", "swarm.shop.ord.mate.anna.mode_set_request"},
	{"order another a mode", notLeader, "swarm.shop.ord.other.{me}.mode_set_request", "anna", "swarm.shop.ord.other.anna.mode_set_request"},
	{"revoke grants in a leader's name", anybody, "swarm.shop.ord.other.anna.grant_revoked", "anna", ""},
	{"stop another in a leader's name", anybody, "swarm.shop.ord.other.anna.shutdown_request", "anna", ""},
	{"an order of a kind that is none", []string{"bob", "bot"}, "swarm.shop.ord.other.{me}.message", "bob", "swarm.shop.ord.other.bob.grant_revoked"},
	{"a kind of mail that nobody has", anybody, "swarm.shop.mb.lead.{me}.approved", "mate", "swarm.shop.mb.lead.mate.message"},
	{"a mail subject of one's own making", anybody, "swarm.shop.mb.lead.{me}.message.x", "mate", "swarm.shop.mb.lead.mate.message"},
	{"a plan by who has none to show", []string{"bob", "bot", "wall", "guest"}, "swarm.shop.mb.lead.{me}.plan_approval_request", "mate", "swarm.shop.mb.lead.mate.plan_approval_request"},
	{"an observer or guest that mails", []string{"wall", "guest"}, "swarm.shop.mb.lead.{me}.message", "mate", "swarm.shop.mb.lead.mate.message"},
	{"an observer or guest with a status", []string{"wall", "guest"}, "swarm.shop.stat.{me}", "mate", "swarm.shop.stat.mate"},
	{"call the coordinator in another's name", anybody, "swarm.shop.svc.anna.pending", "anna", ""},
	{"enrol with another's invitation", []string{"mate", "bob", "wall", "guest"}, "swarm.shop.svc.I_00.enrol", "guest", "swarm.shop.svc.{me}.enrol"},
	{"write into the register of members", anybody, "swarm.shop.reg.member.other", "coordinator", "swarm.shop.reg.nobody"},
	{"write into the audit ledger", anybody, "swarm.shop.audit.decision", "coordinator", ""},
	{"put words into another's inbox", anybody, "_INBOX_other.answer", "mate", "swarm.shop.svc.mate.charter"},
	{"forge a flow control message", anybody, "$JS.FC.MB_shop.{theirs}.1", "mate", "swarm.shop.svc.mate.charter"},
	{"forge the broker's advisory", anybody, "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.MB_shop.{theirs}", "mate", "swarm.shop.svc.mate.charter"},
	{"ask the server for its accounts", anybody, "$SYS.REQ.SERVER.PING.ACCOUNTZ", "mate", "swarm.shop.svc.mate.charter"},
}

// Whatever subject is not a member's to publish on is refused by the broker, and nothing is stored.
func TestAttackPublishing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, p := range publications {
		t.Run(p.name, func(t *testing.T) {
			for _, me := range p.by {
				w.forge(t, p, me)
			}
			may := p.may
			if may == "" {
				may = p.subject
			}
			may = w.fill(may, p.right)
			if _, err := answered(w.peer(p.right), &nats.Msg{Subject: may, Data: []byte("{}")}); err != nil && p.right != "guest" {
				t.Errorf("%s, who may, on %s: %v", p.right, may, err)
			} else if p.right == "guest" && err == nil {
				t.Errorf("a guest is enrolled without a key")
			}
		})
	}
}

func (w *world) forge(t *testing.T, p publication, me string) {
	t.Helper()
	nc, subject, before := w.peer(me), w.fill(p.subject, me), w.snapshot()
	if err := nc.Publish(subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	settle(t, nc)
	why := violation(nc, subject)
	if why == "" {
		t.Errorf("%s publishes on %s", me, subject)
	}
	w.unchanged(t, before)
	mailboxtest.Refused(t, p.name, roles[me], mailboxtest.ByPermissions, why)
}

// A leader's events reach leaders and observers, and nobody else can tell some.
func TestAttackToldEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const subject = "swarm.shop.ev.decision"
	heard, err := w.peer("anna").SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.peer("anna").Flush(); err != nil {
		t.Fatal(err)
	}
	for _, me := range anybody {
		nc := w.peer(me)
		if err := nc.Publish(subject, []byte(me)); err != nil {
			t.Fatal(err)
		}
		settle(t, nc)
		why := violation(nc, subject)
		if why == "" {
			t.Errorf("%s tells the leaders' consoles something", me)
		}
		mailboxtest.Refused(t, "tell the consoles an event", roles[me], mailboxtest.ByPermissions, why)
	}
	if err := w.root.Publish(subject, []byte("the coordinator's")); err != nil {
		t.Fatal(err)
	}
	if m, err := heard.NextMsg(patience); err != nil || string(m.Data) != "the coordinator's" {
		t.Errorf("the console hears %v, %v; want the coordinator's word first", m, err)
	}
}

// A member asks the coordinator under its own name only; what it asks for is judged by its role.
func TestAttackTheMembersVerbOfGuests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, me := range []string{"mate", "bob", "wall"} {
		subject := w.fill("swarm.shop.svc.{me}."+natsbox.VerbEnrol, me)
		_, err := answered(w.peer(me), &nats.Msg{Subject: subject, Data: []byte("{}")})
		if err == nil {
			t.Errorf("%s enrols", me)
			continue
		}
		mailboxtest.Refused(t, "a member that enrols once more", roles[me], mailboxtest.ByCoordinator, err.Error())
	}
	if _, err := answered(w.peer("mate"), &nats.Msg{Subject: "swarm.shop.svc.mate.charter"}); err != nil {
		t.Errorf("a member asks for the charter: %v", err)
	}
}
