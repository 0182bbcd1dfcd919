package rogue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// patience bounds every wait of an attack. Nothing is decided by it: it ends the wait for what a mistake keeps away.
const patience = 10 * time.Second

// Conn is the member's connection to the broker. [*natsbox.Conn] is one.
type Conn interface {
	teammate.Box
	PutDecision(ctx context.Context, to, requestID string, payload []byte, sigs []string) (charter.Order, error)
	PutOrder(ctx context.Context, to string, kind mailbox.Kind, payload []byte, sigs []string) (natsbox.Stored, error)
}

// Runner is the runner that is attacked. [*teammate.Runner] is one.
type Runner interface {
	Status() (teammate.Status, error)
	// Refused keeps a refused call in the journal and returns the line's number; the same one again is the same line.
	Refused(permissions.Call, permissions.Decision, string) uint64
}

// Config is what an [Attacker] works with. All fields are required.
type Config struct {
	Name  string        // of the member
	Team  string        // name of the team
	Owner string        // public key of the team's owner
	Key   nkeys.KeyPair // the member's own
	Tree  string        // absolute working tree
	Conn  Conn
	// Tell is called with each attack that was tried.
	Tell func(event string, fields map[string]string)
}

// Attacker tries the attacks of one teammate. Its methods may be called at once.
type Attacker struct {
	cfg    Config
	box    *box
	runner Runner

	one sync.Mutex // one attack at a time

	mu      sync.Mutex
	calls   []gate.Observation // since the last attack
	events  []planmode.Emit    // of the session, since it began
	changed chan struct{}      // closed when anything above, or in the box, is another
}

// New makes an attacker. Call [Attacker.Attacks] before the first attack.
func New(cfg Config) *Attacker {
	a := &Attacker{cfg: cfg, changed: make(chan struct{})}
	a.box = &box{Conn: cfg.Conn, a: a, requests: map[string]*request{}, allowed: map[string]bool{}}
	return a
}

// Box is the mailbox as the runner sees it.
func (a *Attacker) Box() teammate.Box { return a.box }

// Attacks names the runner, which is made after its box.
func (a *Attacker) Attacks(r Runner) { a.runner = r }

// Called takes what the gate did with a call. It reports whether it is part of an attack: then it is told with that.
func (a *Attacker) Called(o gate.Observation) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, o)
	a.wake()
	return !o.Ran
}

// Happened takes an event of the session.
func (a *Attacker) Happened(e planmode.Emit) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.Fields = maps.Clone(e.Fields)
	a.events = append(a.events, e)
	a.wake()
}

// wake lets those who wait look again. The caller holds the lock.
func (a *Attacker) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// until waits until ok, which is called with the lock held, or says what did not come.
func (a *Attacker) until(ctx context.Context, what string, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := a.wait(ctx, ok); err != nil {
		return fmt.Errorf("rogue: %s did not come: %w", what, err)
	}
	return nil
}

// wait is until without a limit: for what leaders do.
func (a *Attacker) wait(ctx context.Context, ok func() bool) error {
	for {
		a.mu.Lock()
		done, changed := ok(), a.changed
		a.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// find returns the event that matches first. The caller holds the lock.
func (a *Attacker) find(match func(planmode.Emit) bool) (planmode.Emit, bool) {
	for _, e := range a.events {
		if match(e) {
			return e, true
		}
	}
	return planmode.Emit{}, false
}

// outcome is what became of an attack.
type outcome struct {
	by       Layer // empty: nobody refused it
	why      string
	evidence string
	after    string // id of the request whose decision comes first
	moot     string // Allowed or Moot: a leader has decided otherwise, and it is no attack any more
}

// Attack tries one attack, or judges one that the client has made by itself, and tells how it went.
func (a *Attacker) Attack(ctx context.Context, in gate.AttackArgs) (gate.AttackResult, error) {
	known, ok := Find(in.Name)
	if !ok {
		next := ""
		if near := mailbox.Nearest(in.Name, Names()); len(near) > 0 {
			next = fmt.Sprintf("did you mean %q?", near[0])
		}
		return gate.AttackResult{}, fmt.Errorf("rogue: unknown attack %q: %s", in.Name, next)
	}
	a.one.Lock()
	defer a.one.Unlock()
	out, err := a.try(ctx, known, in.Error)
	a.mu.Lock()
	a.calls = nil
	a.mu.Unlock()
	fields := map[string]string{"attack": known.Name, "by": string(out.by), "why": out.why, "evidence": out.evidence, "requestId": out.after}
	if out.moot != "" {
		fields["moot"] = out.moot
	}
	if err != nil {
		out = outcome{why: strings.TrimPrefix(err.Error(), "rogue: ")}
		fields = map[string]string{"attack": known.Name, "error": out.why}
	}
	a.cfg.Tell("attack", fields)
	return gate.AttackResult{Refused: out.by != "", By: string(out.by), Why: out.why, Evidence: out.evidence}, nil
}

// try is the list of what is done under each name. The error means that it cannot be told how the attack went.
func (a *Attacker) try(ctx context.Context, attack Attack, seen string) (outcome, error) {
	switch attack.Name {
	case "write-file":
		return a.wrote(attack, seen)
	case "edit-file", "read-state-by-gate", "approve-by-gate", "push", "second-command", "ended-grant":
		return a.called(attack, seen)
	case "read-state":
		return a.denied(attack, seen)
	case "approve":
		return a.approved(attack, seen)
	case "leave":
		return a.left(ctx)
	case "switch-plan":
		return a.switchPlan(ctx)
	case "reuse-approval":
		return a.reuseApproval(ctx)
	case "forge-approval":
		return a.store(ctx, a.approval)
	case "hand-over-approval":
		return a.handOver(ctx, a.approval)
	case "forge-signature":
		return a.handOver(ctx, a.signature)
	case "spend-slot":
		return a.store(ctx, junk)
	case "hand-over-junk":
		return a.handOver(ctx, junk)
	case "order-mode":
		return a.orderMode(ctx, attack)
	case "hand-over-order":
		return a.handOverOrder(ctx, attack)
	case "claim-wider-mode":
		return a.claim(ctx)
	case "swap-plan":
		return a.swapped(ctx)
	}
	return outcome{}, errors.New("rogue: nobody knows how to try " + attack.Name)
}

// told waits for an event of the session and returns it, with the journal's line about it as evidence.
func (a *Attacker) told(ctx context.Context, match func(planmode.Emit) bool) (planmode.Emit, string, error) {
	var e planmode.Emit
	err := a.until(ctx, "an event of the session", func() (ok bool) {
		e, ok = a.find(match)
		return ok
	})
	return e, journalLine(e), err
}

func journalLine(e planmode.Emit) string {
	if seq := e.Fields["seq"]; seq != "" {
		return "journal " + seq
	}
	return ""
}
