package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// message is one stored message, as a feed hands it over.
type message struct {
	subject mailbox.Subject
	name    string // the subject's text
	seq     uint64
	stored  time.Time
	data    []byte
	sigs    []string
}

// slot names a request: ids are unguessable, and a member that learned another's could still ask under it.
type slot struct{ teammate, id string }

// request is what is known of one request. The body is kept while it is open, and read again from the stream later.
type request struct {
	slot
	seq        uint64
	stored     time.Time
	epoch      uint64
	plan       *planmode.ApprovalRequest
	permission *permissions.PermissionRequest
	question   *mailbox.Question
	isPlan     bool
	isLeave    bool
	planID     string
	revision   int
	previous   *request // the revision of the same plan before this one
	isQuestion bool
	questionID string
	answer     *answered
	endorsed   []natsbox.EndorsementInfo // while it is open
	escalated  []natsbox.EscalationInfo
	withdrawn  string
	superseded string
	title      string    // for lists, when the body is gone
	ended      time.Time // when it was withdrawn or replaced
}

// decided is what lies in a slot, without its bytes.
type decided struct {
	natsbox.DecisionInfo
	seq uint64
}

// event is a hint for consoles.
type event struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
	From string `json:"from,omitempty"`
}

// index is what the streams say, in memory. One goroutine owns it. Its methods touch nothing else, so that rebuilding
// and following are the same.
type index struct {
	team    string
	charter func() charter.Charter

	requests  map[slot]*request
	byID      map[string][]slot
	open      map[slot]*request // without decision, withdrawal or successor
	decisions map[slot]decided
	orders    map[slot]permissions.Mode       // signed orders, by teammate and envelope id; the mode that one sets, or none
	counters  map[line]uint64                 // the highest counter of a leader's signed orders to a teammate
	given     map[slot]given                  // signed orders, by teammate and envelope id
	done      map[line]uint64                 // the highest counter that a teammate said it applied, by the leader's key
	recalls   map[string][]natsbox.RecallInfo // orders of plan mode, by teammate
	plans     map[slot]*request               // the newest revision, by teammate and plan id
	receipts  map[string][]natsbox.ReceiptInfo
	members   map[string]*member
	ignored   map[string]int64 // mail that could not be used, by reason
	letters   []letter         // the last messages to leaders, the oldest first
	posts     posts
	since     func(member string) uint64 // up to where mail to all is not for it
	mailSeq   uint64                     // up to where the mail stream is in here
	items     map[uint64]*item           // what lies in the mail stream, by its number
	issued    map[uint64]*issued         // what lies in the stream of orders, by its number
}

// member is what is known of one member beside the charter.
type member struct {
	epoch    uint64
	joinSeq  uint64
	instance string
	agent    string
	can      []string // what its client can do, as it said
	known    permissions.Mode
	knownSeq uint64
	spent    uint64
	status   []byte
	seen     time.Time
}

func newIndex(team string, ch func() charter.Charter) *index {
	return &index{
		team: team, charter: ch,
		requests: map[slot]*request{}, byID: map[string][]slot{}, open: map[slot]*request{}, decisions: map[slot]decided{},
		orders: map[slot]permissions.Mode{}, counters: map[line]uint64{}, given: map[slot]given{}, done: map[line]uint64{}, recalls: map[string][]natsbox.RecallInfo{}, plans: map[slot]*request{}, receipts: map[string][]natsbox.ReceiptInfo{}, members: map[string]*member{},
		ignored: map[string]int64{}, items: map[uint64]*item{}, issued: map[uint64]*issued{}, since: func(string) uint64 { return 0 },
	}
}

func (x *index) member(name string) *member {
	m := x.members[name]
	if m == nil {
		m = &member{}
		x.members[name] = m
	}
	return m
}

// mail takes one message of the mail stream in. An error says why it was ignored.
func (x *index) mail(m message) (event, error) {
	x.mailSeq = max(x.mailSeq, m.seq)
	it := x.item(m)
	e, err := x.envelope(m)
	if err != nil {
		it.ignored = true
		return event{}, err
	}
	it.speaksOf(e)
	x.post(m, e, mailStream(x.team))
	ev, err := x.piece(m, e)
	it.ignored, it.waits = err != nil && !errors.Is(err, errKnown), errors.Is(err, errTooMany)
	return ev, err
}

// piece takes in what is in an envelope.
func (x *index) piece(m message, e mailbox.Envelope) (event, error) {
	switch e.Kind {
	case mailbox.KindPlanApprovalRequest:
		return x.planRequest(m, e)
	case mailbox.KindPermissionRequest:
		return x.permissionRequest(m, e)
	case mailbox.KindPlanWithdrawn:
		return x.withdrawal(m, e)
	case mailbox.KindReceipt:
		return x.receipt(m, e)
	case mailbox.KindModeChanged:
		return x.modeChanged(m, e)
	case mailbox.KindQuestion:
		return x.asksQuestion(m, e)
	case mailbox.KindAnswer:
		return x.answers(m, e)
	case mailbox.KindMessage:
		return x.letter(m, e)
	case mailbox.KindEndorsement:
		return x.endorsement(m, e)
	}
	return event{Kind: "mail", ID: e.ID, From: e.From}, nil
}

var (
	errStale    = errors.New("sent under an epoch that had ended")
	errUnusable = errors.New("nobody can read it")
)

// envelope reads mail and checks it against its subject and its sender's epoch.
func (x *index) envelope(m message) (mailbox.Envelope, error) {
	e, err := mailbox.Decode(m.data)
	if err != nil {
		return e, fmt.Errorf("%w: %w", errUnusable, err)
	}
	s := m.subject
	if e.Team != x.team || e.From != s.From || e.To != s.To || e.Kind != s.Kind {
		return e, fmt.Errorf("%w: the envelope contradicts its subject", errUnusable)
	}
	// Only runners have epochs: a leader's commands do not join.
	if who, ok := x.charter().Member(e.From); !ok || who.Role == charter.RoleTeammate {
		if r := x.members[e.From]; r != nil && m.seq > r.joinSeq && e.Epoch < r.epoch {
			return e, errStale
		}
	}
	return e, nil
}

// planRequest opens a request. A teammate has one open plan: a newer one takes the place of the older.
func (x *index) planRequest(m message, e mailbox.Envelope) (event, error) {
	body, err := mailbox.Body[planmode.ApprovalRequest](e)
	if err != nil {
		return event{}, err
	}
	r := &request{plan: &body, isPlan: true, planID: body.PlanID, revision: body.Revision, title: planTitle(&body), isLeave: body.Kind == planmode.AskLeave}
	if err := x.add(m, e, body.RequestID, r); err != nil {
		return event{}, err
	}
	x.follows(r)
	for s, old := range x.open {
		if s.teammate == e.From && old.isPlan && old != r {
			old.superseded, old.ended = e.ID, m.stored
			x.settle(s)
		}
	}
	return event{Kind: "request", ID: e.ID, From: e.From}, nil
}

// follows notes which revision of its plan came before this one. The same revision asked again takes the place of itself.
func (x *index) follows(r *request) {
	s := slot{r.teammate, r.planID}
	if last := x.plans[s]; last != nil && last.revision < r.revision {
		r.previous = last
	} else if last != nil {
		r.previous = last.previous
	}
	x.plans[s] = r
}

func (x *index) permissionRequest(m message, e mailbox.Envelope) (event, error) {
	if len(m.data) > mailbox.MaxText {
		return event{}, fmt.Errorf("a permission request of %d bytes", len(m.data))
	}
	body, err := mailbox.Body[permissions.PermissionRequest](e)
	if err != nil {
		return event{}, err
	}
	if x.asks(e.From) >= planmode.MaxAsks {
		return event{}, errTooMany
	}
	if err := x.add(m, e, body.RequestID, &request{permission: &body, title: titleOf(body.Input)}); err != nil {
		return event{}, err
	}
	return event{Kind: "request", ID: e.ID, From: e.From}, nil
}

var errTooMany = fmt.Errorf("more than %d open permission requests", planmode.MaxAsks)

// asks is how many permission requests of a teammate are open.
func (x *index) asks(teammate string) (n int) {
	for s, r := range x.open {
		if s.teammate == teammate && !r.isPlan && !r.isQuestion {
			n++
		}
	}
	return n
}

// add puts a request into the index, unless it is there: mail may be stored twice.
func (x *index) add(m message, e mailbox.Envelope, id string, r *request) error {
	s := slot{e.From, e.ID}
	switch {
	case e.To != mailbox.Lead:
		return fmt.Errorf("a request to %s", e.To)
	case id != e.ID:
		return errors.New("the request's id is not the envelope's")
	case !r.isQuestion && mailbox.CheckRequestID(id) != nil:
		return mailbox.CheckRequestID(id)
	case x.requests[s] != nil:
		return errKnown
	}
	r.slot, r.seq, r.stored, r.epoch = s, m.seq, m.stored, e.Epoch
	x.requests[s] = r
	x.byID[id] = append(x.byID[id], s)
	x.open[s] = r
	if _, done := x.decisions[s]; done {
		x.settle(s)
	}
	return nil
}

var errKnown = errors.New("stored before")

// settle takes a request from the open ones and lets its bytes go.
func (x *index) settle(s slot) {
	delete(x.open, s)
	if r := x.requests[s]; r != nil {
		r.plan, r.permission, r.question = nil, nil, nil
		for i := range r.endorsed {
			r.endorsed[i].Payload = nil
		}
	}
}

func (x *index) withdrawal(m message, e mailbox.Envelope) (event, error) {
	body, err := mailbox.Body[planmode.Withdrawn](e)
	if err != nil {
		return event{}, err
	}
	s := slot{e.From, body.RequestID}
	r := x.requests[s]
	if r == nil {
		return event{}, errors.New("a withdrawal of no request of its sender")
	}
	if r.withdrawn == "" {
		r.withdrawn = string(body.Reason)
	}
	if r.ended.IsZero() {
		r.ended = m.stored
	}
	if r.withdrawn == "" {
		r.withdrawn = string(planmode.WithdrawnByAgent)
	}
	x.settle(s)
	return event{Kind: "withdrawn", ID: body.RequestID, From: e.From}, nil
}

// receiptStates are what is kept for one id and member, each once: a member that invents others, or sends many, takes no
// other member's place.
var receiptStates = []mailbox.ReceiptState{mailbox.Delivered, mailbox.Seen, mailbox.Applied, mailbox.Refused}

func (x *index) receipt(m message, e mailbox.Envelope) (event, error) {
	body, err := mailbox.Body[mailbox.Receipt](e)
	if err != nil {
		return event{}, err
	}
	if !slices.Contains(receiptStates, body.State) {
		return event{}, fmt.Errorf("a receipt of state %.40q", body.State)
	}
	had := x.receipts[body.Of]
	same := func(r natsbox.ReceiptInfo) bool { return r.From == e.From && r.Receipt.State == body.State }
	if slices.ContainsFunc(had, same) {
		return event{}, errKnown
	}
	x.receipts[body.Of] = append(had, natsbox.ReceiptInfo{From: e.From, StoredAt: m.stored, Receipt: body})
	if body.State == mailbox.Applied {
		x.carriedOut(e.From, body.Of)
		x.applied(m, e.From, body)
	}
	return event{Kind: "receipt", ID: body.Of, From: e.From}, nil
}

// decision takes what was stored in a slot in, and says in words for the ledger what it is.
func (x *index) decision(m message) (ev event, what string) {
	s := slot{m.subject.To, m.subject.Request}
	d := decided{DecisionInfo: judge(x.charter(), m), seq: m.seq}
	what = audit.Void
	if d.Valid {
		what = audit.DecisionNote(d.Outcome, d.By.Name, d.Signers)
	}
	if _, ok := x.decisions[s]; !ok {
		x.decisions[s] = d
	}
	x.settle(s)
	return event{Kind: "decision", ID: s.id, From: s.teammate}, what
}

// signers are the leaders who have signed what was stored in a slot.
func signers(ch charter.Charter, o charter.Order, at time.Time) (names []string) {
	for _, s := range charter.Judge(ch, o, charter.Asked{}, false, at).Signers {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}

// judge opens a stored decision. The bytes are not kept.
func judge(ch charter.Charter, m message) natsbox.DecisionInfo {
	o := charter.Order{Subject: m.name, Payload: m.data, Sigs: m.sigs}
	info := natsbox.DecisionInfo{StoredAt: m.stored, Signers: signers(ch, o, m.stored)}
	// Both kinds of answer lie in the same slots: the strict reader refuses the wrong one.
	_, d, err := charter.OpenStored[planmode.Decision](ch, o)
	if err == nil {
		info.Valid, info.Outcome, info.Mode, info.By = true, string(d.Outcome), d.Mode, &d.DecidedBy
		return info
	}
	_, a, err2 := charter.OpenStored[planmode.PermissionAnswer](ch, o)
	if err2 == nil {
		info.Valid, info.Outcome, info.By = true, string(a.Behavior), &a.DecidedBy
		return info
	}
	info.Reason = err.Error()
	return info
}

// status takes a member's last word about itself in.
func (x *index) status(m message) event {
	r := x.member(m.subject.From)
	r.status, r.seen = m.data, m.stored
	return event{Kind: "presence", From: m.subject.From}
}
