package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// answerWait bounds the work on one request.
const answerWait = 10 * time.Second

// maxQuestion is the largest request that is read, and maxCharter the largest charter.
const (
	maxQuestion = 64 << 10
	maxCharter  = 1 << 20
)

// handler answers one verb for one member.
type handler func(ctx context.Context, who charter.Member, data []byte) (any, error)

// serve answers members: swarm.<team>.svc.<me>.<verb>, where the broker lets each member use its own name only.
func (r *running) serve(ctx context.Context) (micro.Service, error) {
	svc, err := micro.AddService(r.nc, micro.Config{Name: "swarm-coordinator", Version: "1.0.0", Description: "team " + r.team})
	if err != nil {
		return nil, fmt.Errorf("coordinator: serve: %w", err)
	}
	for verb, h := range map[string]handler{
		natsbox.VerbJoin: r.join, natsbox.VerbStanding: r.standing, natsbox.VerbCharter: r.charter,
		natsbox.VerbResolve: r.resolve, natsbox.VerbPending: r.pending, natsbox.VerbRequest: r.request,
		natsbox.VerbDecision: r.decision, natsbox.VerbReceipts: r.receipts, natsbox.VerbPresence: r.presence,
		natsbox.VerbHead: r.ledgerHead, natsbox.VerbAudit: r.ledgerLines, natsbox.VerbCounter: r.counter, natsbox.VerbPast: r.past, natsbox.VerbMail: r.mail, natsbox.VerbTrace: r.trace, natsbox.VerbHealth: r.health,
		natsbox.VerbAmend: r.amend, natsbox.VerbInvite: r.invite, natsbox.VerbUninvite: r.uninvite, natsbox.VerbInvites: r.listInvites,
		natsbox.VerbEnrol: r.notForMembers, natsbox.VerbDead: r.deadVerb, natsbox.VerbMute: r.muteVerb, natsbox.VerbEvent: r.told,
	} {
		subject := mailbox.ServiceSubject(r.team, "*", verb)
		err := svc.AddEndpoint(verb, micro.HandlerFunc(func(q micro.Request) { r.answer(ctx, q, h) }), micro.WithEndpointSubject(subject))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("coordinator: serve %s: %w", verb, err), svc.Stop())
		}
	}
	return svc, nil
}

// close returns when no request is being answered any more.
func (r *running) close() {
	r.gate.Lock()
	defer r.gate.Unlock()
	r.closed = true
}

func (r *running) answer(ctx context.Context, q micro.Request, h handler) {
	r.gate.RLock()
	defer r.gate.RUnlock()
	if r.closed {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	out, err := r.handle(ctx, q, h)
	if err == nil {
		err = q.RespondJSON(out)
	}
	if err != nil {
		r.refuse(q, err)
	}
}

func (r *running) handle(ctx context.Context, q micro.Request, h handler) (any, error) {
	name := strings.Split(q.Subject(), ".")[3] // the endpoint's subject has five tokens
	if natsauth.IsGuest(name) {
		if err := r.callers.busy(name, time.Now()); err != nil {
			return nil, err
		}
		return r.guest(ctx, name, q)
	}
	who, ok := r.co.Charter().Member(name)
	if !ok || who.Retired {
		return nil, refusal(natsbox.CodeForbidden, "", "%s is not a member of team %s", name, r.team)
	}
	if err := r.callers.busy(name, time.Now()); err != nil {
		return nil, err
	}
	most := maxQuestion
	if strings.HasSuffix(q.Subject(), "."+natsbox.VerbAmend) {
		most = maxCharter
	}
	if len(q.Data()) > most {
		return nil, refusal(natsbox.CodeBadRequest, "", "a request of %d bytes, at most %d", len(q.Data()), most)
	}
	return h(ctx, who, q.Data())
}

func (r *running) refuse(q micro.Request, err error) {
	var e *natsbox.ServiceError
	if !errors.As(err, &e) {
		r.log.Error("request not answered", "subject", q.Subject(), "error", err)
		e = refusal(natsbox.CodeUnavailable, "see the log of `swarm up`", "it could not be answered")
	}
	data, _ := json.Marshal(e) // plain texts
	if err := q.Error(string(e.Code), strings.ReplaceAll(e.Message, "\n", " "), data); err != nil {
		r.log.Debug("refusal lost", "subject", q.Subject(), "error", err)
	}
}

func refusal(code natsbox.Code, next, format string, args ...any) *natsbox.ServiceError {
	return &natsbox.ServiceError{Code: code, Message: fmt.Sprintf(format, args...), Next: next}
}

// read reads a request's JSON. No bytes at all are the zero value.
func read[T any](data []byte) (T, error) {
	var v T
	if len(data) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, refusal(natsbox.CodeBadRequest, "update the older of the two swarms", "the request cannot be read: %v", err)
	}
	return v, nil
}

// own is whose requests a member may see: a teammate its own, others those of all, which is "".
func own(who charter.Member) string {
	if who.Role == charter.RoleTeammate {
		return who.Name
	}
	return ""
}

func (r *running) charter(context.Context, charter.Member, []byte) (any, error) {
	return r.co.Signed(), nil
}

func (r *running) resolve(_ context.Context, _ charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.ResolveRequest](data)
	if err != nil {
		return nil, err
	}
	ch := r.co.Charter()
	m, ok := ch.Member(q.Name)
	if ok && !m.Retired {
		return natsbox.Resolved{Name: m.Name, Role: m.Role, Kind: m.Kind}, nil
	}
	var names []string
	for _, m := range ch.Members {
		if !m.Retired {
			names = append(names, m.Name)
		}
	}
	e := refusal(natsbox.CodeNoRecipient, "", "nobody is called %q in team %s", q.Name, r.team)
	if e.Near = mailbox.Nearest(q.Name, append(names, mailbox.Lead)); len(e.Near) == 0 {
		e.Next = "your leader sees all names with `swarm status`"
	}
	return nil, e
}

func (r *running) pending(ctx context.Context, who charter.Member, _ []byte) (any, error) {
	var rows []natsbox.Row
	if err := r.owner.ask(ctx, func(x *index) { rows = x.pending(own(who)) }); err != nil {
		return nil, err
	}
	hideEndorsed(who, rows)
	r.nameDead(who, rows)
	return fit(rows), nil
}

func (r *running) request(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.IDRequest](data)
	if err != nil {
		return nil, err
	}
	var row natsbox.Row
	var seq, answer uint64
	found := false
	err = r.owner.ask(ctx, func(x *index) {
		if req := x.find(own(who), q.ID); req != nil {
			row, seq, found = x.row(req), req.seq, true
			if req.answer != nil {
				answer = req.answer.seq
			}
		}
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, refusal(natsbox.CodeNotFound, "see `swarm inbox`", "no request %q", q.ID)
	}
	if row.Request == nil && row.Permission == nil && row.Question == nil {
		err = r.body(ctx, &row, seq)
	}
	if row.Answer != nil && err == nil {
		err = r.answerBody(ctx, row.Answer, answer)
	}
	if row.Decision != nil && err == nil {
		err = r.order(ctx, slot{row.From, row.EnvelopeID}, row.Decision)
	}
	rows := []natsbox.Row{row}
	r.nameDead(who, rows)
	hideEndorsed(who, rows)
	return rows[0], err
}

// body reads the body of a settled request again.
func (r *running) body(ctx context.Context, row *natsbox.Row, seq uint64) error {
	e, err := r.mailAt(ctx, seq)
	if err != nil {
		return err
	}
	switch e.Kind {
	case mailbox.KindPermissionRequest:
		row.Permission, err = bodyOf[permissions.PermissionRequest](e)
	case mailbox.KindQuestion:
		row.Question, err = bodyOf[mailbox.Question](e)
	default:
		row.Request, err = bodyOf[planmode.ApprovalRequest](e)
	}
	return err
}

// answerBody reads the answer to a question again.
func (r *running) answerBody(ctx context.Context, info *natsbox.AnswerInfo, seq uint64) error {
	e, err := r.mailAt(ctx, seq)
	if err != nil {
		return err
	}
	info.Answer, err = mailbox.Body[mailbox.Answer](e)
	return err
}

func bodyOf[T any](e mailbox.Envelope) (*T, error) {
	b, err := mailbox.Body[T](e)
	return &b, err
}

// mailAt reads one stored piece of mail again.
func (r *running) mailAt(ctx context.Context, seq uint64) (mailbox.Envelope, error) {
	st, err := r.js.Stream(ctx, mailStream(r.team))
	if err != nil {
		return mailbox.Envelope{}, fmt.Errorf("coordinator: read a request: %w", err)
	}
	m, err := st.GetMsg(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return mailbox.Envelope{}, refusal(natsbox.CodeNotFound, "", "the request is settled, and its bytes were deleted")
	}
	if err != nil {
		return mailbox.Envelope{}, fmt.Errorf("coordinator: read a request: %w", err)
	}
	return mailbox.Decode(m.Data)
}

// order reads the bytes of a decision again.
func (r *running) order(ctx context.Context, s slot, info *natsbox.DecisionInfo) error {
	st, err := r.js.Stream(ctx, decisionStream(r.team))
	if err != nil {
		return fmt.Errorf("coordinator: read a decision: %w", err)
	}
	m, err := st.GetLastMsgForSubject(ctx, mailbox.DecisionSubject(r.team, s.teammate, s.id))
	if err != nil {
		return fmt.Errorf("coordinator: read a decision: %w", err)
	}
	info.Order = charter.Order{Subject: m.Subject, Payload: m.Data, Sigs: m.Header.Values(charter.SigHeader)}
	return nil
}

func (r *running) decision(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.IDRequest](data)
	if err != nil {
		return nil, err
	}
	var s slot
	var d decided
	found := false
	if err := r.owner.ask(ctx, func(x *index) { s, d, found = x.decisionOf(own(who), q.ID) }); err != nil {
		return nil, err
	}
	if !found {
		return nil, refusal(natsbox.CodeNoDecision, "", "request %q has no decision", q.ID)
	}
	info := d.DecisionInfo
	err = r.order(ctx, s, &info)
	return info, err
}

func (r *running) receipts(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.IDRequest](data)
	if err != nil {
		return nil, err
	}
	var out []natsbox.ReceiptInfo
	err = r.owner.ask(ctx, func(x *index) { out = x.receiptsOf(own(who), q.ID) })
	return out, err
}

func (r *running) presence(ctx context.Context, who charter.Member, _ []byte) (any, error) {
	if own(who) != "" {
		return nil, refusal(natsbox.CodeForbidden, "", "presence is shown to leaders and observers")
	}
	var out []natsbox.Presence
	err := r.owner.ask(ctx, func(x *index) { out = x.presence(time.Now(), r.co.auth.Online) })
	r.nameMuted(out)
	return out, err
}
