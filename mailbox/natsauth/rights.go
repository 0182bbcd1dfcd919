package natsauth

import (
	"slices"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// Account is the account that owns the streams. Only the coordinator is in it.
const Account = "SWARM"

// APIPrefix stands in a member's account for the broker's own "$JS.API".
const APIPrefix = "JS.swarm"

// Rights is what one connection may do on the broker: everything that is not listed is refused.
//
// Each member has an account of its own, so that nothing it names as a reply reaches another member or the streams: in an
// account that members share, a request whose reply is a forbidden subject deleted streams and stored decisions. Its
// Imports lead from there into [Account].
type Rights struct {
	Account   string
	Imports   []Import
	Events    string // what it may hear of the account of the streams; empty is nothing
	Publish   []string
	Deny      []string // taken away from Publish again
	Subscribe []string
}

// Import is one way from a member's account into that of the streams: what is published on Local there arrives on Remote.
type Import struct{ Local, Remote string }

// Export is what the account of the streams offers to members' accounts.
type Export struct {
	Subject  string
	Streamed bool // many answers to one request
}

// Exports are all services of a team's streams and its coordinator.
func Exports(team string) []Export {
	list := []Export{{Subject: mailbox.ServiceSubject(team, "*", "*")}}
	for _, branch := range []string{"mb", "dec", "ord", "stat"} {
		list = append(list, Export{Subject: "swarm." + team + "." + branch + ".>"})
	}
	for _, s := range []string{"MB_", "DEC_", "ORD_"} {
		list = append(list,
			Export{Subject: "$JS.API.CONSUMER.INFO." + s + team + ".*"},
			Export{Subject: "$JS.API.CONSUMER.MSG.NEXT." + s + team + ".*", Streamed: true},
			Export{Subject: "$JS.ACK." + s + team + ".>"})
	}
	for _, s := range []string{"DEC_", "STAT_"} {
		list = append(list, Export{Subject: "$JS.API.DIRECT.GET." + s + team + ".>"})
	}
	return list
}

// What each role may put into a mailbox. No list holds a wildcard for the kind: a member cannot invent subjects.
var (
	teammateToLead = []mailbox.Kind{
		mailbox.KindPlanApprovalRequest, mailbox.KindPlanWithdrawn, mailbox.KindPermissionRequest, mailbox.KindModeChanged,
		mailbox.KindShutdownResponse, mailbox.KindQuestion, mailbox.KindAnswer, mailbox.KindTaskUpdate, mailbox.KindMessage,
		mailbox.KindReceipt,
	}
	teammateToAnyone = []mailbox.Kind{mailbox.KindMessage, mailbox.KindAnswer, mailbox.KindReceipt}
	leaderToAnyone   = []mailbox.Kind{
		mailbox.KindMessage, mailbox.KindQuestion, mailbox.KindAnswer, mailbox.KindTaskAssignment, mailbox.KindReceipt,
	}
	leaderOrders = []mailbox.Kind{mailbox.KindModeSetRequest, mailbox.KindGrantRevoked, mailbox.KindShutdownRequest}
)

// RightsOf says what a member may publish and read. The durable is the name of its own consumers, as
// [Authenticator.Durable] gives it; without one the connection may send and ask, and cannot pull mail.
//
// Imports are wider than Publish: a reply that meets a wildcard among them is lost on its way, so that no answer of the
// broker's is ever stored (measured). What may be published is in Publish.
func RightsOf(team string, m charter.Member, durable string) Rights {
	r := Fenced(team, m)
	switch m.Role {
	case charter.RoleTeammate:
		r.teammate(team, m.Name, durable)
	case charter.RoleLeader:
		r.leader(team, m.Name, durable)
	}
	if m.Role != charter.RoleTeammate {
		r.Events = mailbox.EventSubject(team, ">")
		r.Subscribe = append(r.Subscribe, r.Events)
		r.directGet("DEC_"+team, mailbox.DecisionSubject(team, "*", "*"))
		r.directGet("STAT_"+team, mailbox.StatusSubject(team, "*"))
	}
	return r
}

// Fenced are the rights of an instance whose name another instance holds now: it may ask the coordinator how it
// stands, and nothing else.
func Fenced(team string, m charter.Member) Rights {
	r := Rights{
		Account:   "M_" + string(m.Role) + "_" + m.Name, // another role is another account: what the old one imported is gone
		Subscribe: []string{"_INBOX_" + m.Name + ".>"},
	}
	r.may(mailbox.ServiceSubject(team, m.Name, "*"))
	return r
}

// may allows a subject that is called the same in both accounts.
func (r *Rights) may(subject string) {
	r.Publish = append(r.Publish, subject)
	r.Imports = append(r.Imports, Import{subject, subject})
}

// api allows a request to the broker's API.
func (r *Rights) api(request string) {
	r.Publish = append(r.Publish, APIPrefix+"."+request)
	r.Imports = append(r.Imports, Import{APIPrefix + "." + request, "$JS.API." + request})
}

// mail allows kinds of mail to a recipient, over an import that is one for all.
func (r *Rights) mail(team, to, me string, kinds []mailbox.Kind) {
	for _, k := range kinds {
		r.Publish = append(r.Publish, mailbox.MailSubject(team, to, me, k))
	}
	all := mailbox.MailSubject(team, "*", me, "*")
	if in := (Import{all, all}); !slices.Contains(r.Imports, in) {
		r.Imports = append(r.Imports, in)
	}
}

func (r *Rights) teammate(team, me, durable string) {
	r.mail(team, mailbox.Lead, me, teammateToLead)
	r.mail(team, "*", me, teammateToAnyone)
	r.Deny = []string{mailbox.MailSubject(team, mailbox.All, me, ">")} // only leaders speak to all
	r.may(mailbox.StatusSubject(team, me))
	r.directGet("DEC_"+team, mailbox.DecisionSubject(team, me, "*"))
	r.pull(durable, "MB_"+team, "DEC_"+team, "ORD_"+team)
}

func (r *Rights) leader(team, me, durable string) {
	r.mail(team, "*", me, leaderToAnyone)
	r.mail(team, mailbox.Lead, me, []mailbox.Kind{mailbox.KindEndorsement})
	for _, k := range leaderOrders {
		r.Publish = append(r.Publish, mailbox.OrderSubject(team, "*", me, k))
	}
	orders := mailbox.OrderSubject(team, "*", me, "*")
	r.Imports = append(r.Imports, Import{orders, orders})
	r.may(mailbox.DecisionSubject(team, "*", "*"))
	r.may(mailbox.StatusSubject(team, me))
	r.pull(durable, "MB_"+team)
}

// pull allows reading by the member's own consumers, which the coordinator makes and nobody else can name.
func (r *Rights) pull(durable string, streams ...string) {
	if durable == "" {
		return
	}
	for _, s := range streams {
		r.api("CONSUMER.INFO." + s + "." + durable)
		r.api("CONSUMER.MSG.NEXT." + s + "." + durable)
		r.may("$JS.ACK." + s + "." + durable + ".>")
	}
}

// directGet allows reading the last message of one subject; the subject is part of the request's, so that it can be granted.
func (r *Rights) directGet(stream, subject string) { r.api("DIRECT.GET." + stream + "." + subject) }
