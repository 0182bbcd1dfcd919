package natsbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
)

// serviceWait is how long a coordinator that is not there is waited for: it may just be starting.
const serviceWait = 2 * time.Second

// Call asks the coordinator: in is sent as JSON (nil is nothing), the answer is read into out (nil drops it). What it
// answers is shown to people, and never trusted.
//
// A refusal is a [*ServiceError], and wraps the sentinel of its code. [ErrUnreachable] means that nobody answered. Who asks
// too often is not answered for a while, and waits: [ErrBusy] means that the time for that was too short. Nothing was done
// then.
func (c *Conn) Call(ctx context.Context, verb string, in, out any) error {
	var data []byte
	if in != nil {
		var err error
		if data, err = json.Marshal(in); err != nil {
			return fmt.Errorf("natsbox: call %s: %w", verb, err)
		}
	}
	ctx, cancel := c.limit(ctx)
	defer cancel()
	m, err := c.callUntilAnswered(ctx, verb, data)
	if err != nil {
		return err
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(m.Data, out); err != nil {
		return fmt.Errorf("natsbox: call %s: answer: %w", verb, err)
	}
	return nil
}

// callUntilAnswered asks again when the coordinator says that this member may.
func (c *Conn) callUntilAnswered(ctx context.Context, verb string, data []byte) (*nats.Msg, error) {
	for {
		m, err := c.callUntilThere(ctx, verb, data)
		if err != nil || m.Header.Get("Nats-Service-Error-Code") == "" {
			return m, err
		}
		refused := serviceError(m)
		wait := time.Duration(refused.Wait) * time.Millisecond
		end, limited := ctx.Deadline()
		if refused.Code != CodeBusy || wait <= 0 || limited && time.Until(end) <= wait || !pause(ctx, wait) {
			return nil, refused
		}
	}
}

func (c *Conn) callUntilThere(ctx context.Context, verb string, data []byte) (*nats.Msg, error) {
	give := time.Now().Add(serviceWait)
	for {
		m, err := c.ask(ctx, c.serviceSubject(verb), data)
		switch {
		case err == nil || !errors.Is(err, errTransient):
			return m, err
		case errors.Is(err, nats.ErrNoResponders) && time.Now().After(give):
			return nil, fmt.Errorf("%w: the coordinator is away: is `swarm up` running?", ErrUnreachable)
		}
		if !pause(ctx, 50*time.Millisecond) {
			return nil, c.unreachable(ctx)
		}
	}
}

func serviceError(m *nats.Msg) *ServiceError {
	e := &ServiceError{}
	if json.Unmarshal(m.Data, e) != nil || e.Code == "" {
		e = &ServiceError{Code: Code(m.Header.Get("Nats-Service-Error-Code")), Message: m.Header.Get("Nats-Service-Error")}
	}
	return e
}

// Join takes this member's place in the team under a new epoch: the same instance again after a restart, another one
// only when the last one is gone, or with Takeover. [ErrNameTaken] otherwise. After it, mail and orders can be received.
func (c *Conn) Join(ctx context.Context, req JoinRequest) (Welcome, error) {
	if req.Name == "" {
		req.Name = c.cfg.Me
	}
	if err := checkInstance(req.Instance); err != nil {
		return Welcome{}, err
	}
	if err := c.become(ctx, &req); err != nil {
		return Welcome{}, err
	}
	var w Welcome
	if err := c.Call(ctx, VerbJoin, req, &w); err != nil {
		return Welcome{}, err
	}
	c.mu.Lock()
	c.welcome = &w
	c.mu.Unlock()
	if w.Redial {
		return w, c.dial(ctx)
	}
	return w, nil
}

// become connects as the instance that joins: the broker opens an instance's own consumers to it alone.
func (c *Conn) become(ctx context.Context, req *JoinRequest) error {
	c.mu.Lock()
	if req.Instance == "" {
		req.Instance = c.instance
	}
	if req.Instance == "" {
		req.Instance = NewID()
	}
	same := req.Instance == c.instance
	c.instance = req.Instance
	c.mu.Unlock()
	if same {
		return nil
	}
	return c.dial(ctx)
}

// checkStanding asks, after a break, whether we still are who we were. The coordinator makes our consumers again when
// they are gone.
func (c *Conn) checkStanding(ctx context.Context) {
	w, err := c.joined()
	if err != nil {
		return
	}
	req := StandingRequest{Instance: c.token(), Epoch: w.Epoch}
	for {
		err := c.Call(ctx, VerbStanding, req, nil)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case errors.Is(err, ErrFenced):
			c.fence()
			return
		case !errors.Is(err, ErrUnreachable):
			c.cfg.Logger.Warn("the coordinator does not know us", "member", c.cfg.Me, "error", err)
			return
		}
		if !pause(ctx, time.Second) {
			return
		}
	}
}

func (c *Conn) fence() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.fenced:
	default:
		close(c.fenced)
		c.cfg.Logger.Error("another instance has taken this name", "member", c.cfg.Me)
	}
}

// Charter returns the team's charter as the coordinator has it. Open it with the owner's key before believing it.
func (c *Conn) Charter(ctx context.Context) (charter.Signed, error) {
	var s charter.Signed
	err := c.Call(ctx, VerbCharter, nil, &s)
	return s, err
}

// Pending returns the requests that wait for a decision, the oldest first. Leaders see all, a teammate its own. Rows
// whose plan did not fit into one answer are completed.
func (c *Conn) Pending(ctx context.Context) ([]Row, error) {
	var rows []Row
	if err := c.Call(ctx, VerbPending, nil, &rows); err != nil {
		return nil, err
	}
	for i, r := range rows {
		if !r.Partial {
			continue
		}
		full, err := c.Request(ctx, r.EnvelopeID)
		if err != nil {
			return nil, err
		}
		rows[i] = full
	}
	return rows, nil
}

// Past returns the requests that were settled last, at most 50, the newest end first. Leaders see all, a teammate its own.
func (c *Conn) Past(ctx context.Context) ([]Past, error) {
	var past []Past
	err := c.Call(ctx, VerbPast, nil, &past)
	return past, err
}

// Mail returns the last messages to the leaders and to this member, at most 100, the newest first. Texts that did not fit
// into one answer are completed.
func (c *Conn) Mail(ctx context.Context) ([]MailInfo, error) {
	var mail []MailInfo
	if err := c.Call(ctx, VerbMail, nil, &mail); err != nil {
		return nil, err
	}
	for i, m := range mail {
		if !m.Partial {
			continue
		}
		var one []MailInfo
		if err := c.Call(ctx, VerbMail, MailRequest{ID: m.ID}, &one); err != nil {
			return nil, err
		}
		if len(one) == 1 {
			mail[i] = one[0]
		}
	}
	return mail, nil
}

// Unread returns mail to the leaders, to this member and to all about which this member has told nobody that it was seen, the
// oldest first, at most n. A leader says so with a receipt.
func (c *Conn) Unread(ctx context.Context, n int) ([]MailInfo, error) {
	var mail []MailInfo
	err := c.Call(ctx, VerbMail, MailRequest{Unread: true, Max: n}, &mail)
	return mail, err
}

// Letter returns one message to the leaders, to this member or to all, by its id or the beginning of it. [ErrNotFound] when
// there is none.
func (c *Conn) Letter(ctx context.Context, id string) (MailInfo, error) {
	var mail []MailInfo
	if err := c.Call(ctx, VerbMail, MailRequest{ID: id}, &mail); err != nil {
		return MailInfo{}, err
	}
	if len(mail) != 1 {
		return MailInfo{}, fmt.Errorf("%w: no message %q", ErrNotFound, id)
	}
	return mail[0], nil
}

// Request returns one request, open or settled, by its id or its handle; the name of a teammate is its newest one.
// [ErrNotFound] when there is none.
func (c *Conn) Request(ctx context.Context, id string) (Row, error) {
	var r Row
	err := c.Call(ctx, VerbRequest, IDRequest{ID: id}, &r)
	return r, err
}

// LedgerHead returns the end of the team's audit ledger, the zero Head when none is kept.
func (c *Conn) LedgerHead(ctx context.Context) (audit.Head, error) {
	var h audit.Head
	err := c.Call(ctx, VerbHead, nil, &h)
	return h, err
}

// Audit hands over every line of the audit ledger, from its first, to a leader. An error of do ends it.
func (c *Conn) Audit(ctx context.Context, do func(audit.Line) error) error {
	for next := uint64(1); next > 0; {
		var a AuditLines
		if err := c.Call(ctx, VerbAudit, AuditRequest{From: next}, &a); err != nil {
			return err
		}
		for _, l := range a.Lines {
			if err := do(l); err != nil {
				return err
			}
		}
		if a.Next != 0 && a.Next <= next {
			return fmt.Errorf("natsbox: read the ledger: the coordinator goes in circles at %d: do not trust this broker", a.Next)
		}
		next = a.Next
	}
	return nil
}
