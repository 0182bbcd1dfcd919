package natsbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsauth"
)

// PutDecision puts a signed answer into the slot of a request and reads the slot back. It returns what is stored, and
// success only when that is what was put, bytes and signatures alike. The server takes one decision for each request:
// the loser gets [*AlreadyDecided], which holds the winner.
//
// After [ErrUnreachable] the decision may lie there; putting it again is safe, and finds out.
func (c *Conn) PutDecision(ctx context.Context, to, requestID string, payload []byte, sigs []string) (charter.Order, error) {
	if err := mailbox.CheckRequestID(requestID); err != nil {
		return charter.Order{}, fmt.Errorf("natsbox: decide: %w", err)
	}
	ctx, cancel := c.limit(ctx)
	defer cancel()
	if err := c.recipient(ctx, to); err != nil {
		return charter.Order{}, err
	}
	subject := mailbox.DecisionSubject(c.cfg.Team, to, requestID)
	_, put := c.store(ctx, subject, sigHeader(sigs), payload)
	if put != nil && !errors.Is(put, ErrMailboxFull) { // "full" is: the slot is taken
		return charter.Order{}, put
	}
	stored, err := c.readBack(ctx, to, requestID)
	if err != nil {
		return charter.Order{}, err
	}
	if !bytes.Equal(stored.Payload, payload) || !slices.Equal(stored.Sigs, sigs) {
		return stored, &AlreadyDecided{Winner: stored}
	}
	return stored, nil
}

// readBack reads a slot that is known to be taken. In a cluster the answering server may be a moment behind.
func (c *Conn) readBack(ctx context.Context, to, requestID string) (charter.Order, error) {
	for {
		o, err := c.readSlot(ctx, to, requestID)
		if err == nil || !errors.Is(err, ErrNoDecision) && !errors.Is(err, errTransient) {
			return o, err
		}
		if !pause(ctx, 20*time.Millisecond) {
			return charter.Order{}, c.unreachable(ctx)
		}
	}
}

// ReadDecision returns what lies in the slot of a request, or [ErrNoDecision]. A teammate may read its own slots, a
// leader all. Verify it before believing it.
func (c *Conn) ReadDecision(ctx context.Context, to, requestID string) (charter.Order, error) {
	if err := mailbox.CheckRequestID(requestID); err != nil {
		return charter.Order{}, fmt.Errorf("natsbox: read decision: %w", err)
	}
	ctx, cancel := c.limit(ctx)
	defer cancel()
	for {
		o, err := c.readSlot(ctx, to, requestID)
		if !errors.Is(err, errTransient) {
			return o, err
		}
		if !pause(ctx, 50*time.Millisecond) {
			return charter.Order{}, c.unreachable(ctx)
		}
	}
}

// errTransient means that asking again may help.
var errTransient = errors.New("natsbox: no answer")

// readSlot asks once for the last message of a slot.
func (c *Conn) readSlot(ctx context.Context, to, requestID string) (charter.Order, error) {
	subject := mailbox.DecisionSubject(c.cfg.Team, to, requestID)
	m, err := c.ask(ctx, natsauth.APIPrefix+".DIRECT.GET."+c.decisionStream()+"."+subject, nil)
	if err != nil {
		return charter.Order{}, err
	}
	switch status := m.Header.Get("Status"); status {
	case "":
	case "404":
		return charter.Order{}, fmt.Errorf("%w: %s", ErrNoDecision, requestID)
	default:
		return charter.Order{}, fmt.Errorf("%w: status %s", errTransient, status)
	}
	if got := m.Header.Get("Nats-Subject"); got != subject {
		return charter.Order{}, fmt.Errorf("natsbox: read %s: the broker answered with %q: do not trust this broker", subject, got)
	}
	return charter.Order{Subject: subject, Payload: m.Data, Sigs: m.Header.Values(charter.SigHeader)}, nil
}

// ask sends one request. Errors are ErrForbidden, those of the context, and errTransient.
func (c *Conn) ask(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	m, err := inFlight(ctx, c, subject, func(ctx context.Context, l link) (*nats.Msg, error) {
		return l.nc.RequestWithContext(ctx, subject, data)
	})
	switch {
	case err == nil:
		return m, nil
	case errors.Is(err, ErrForbidden) || errors.Is(err, ErrUnreachable) || errors.Is(err, ErrRefused):
		return nil, err
	case ctx.Err() != nil:
		return nil, c.unreachable(ctx)
	}
	return nil, fmt.Errorf("%w: %w", errTransient, err)
}
