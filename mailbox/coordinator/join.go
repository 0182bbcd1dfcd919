package coordinator

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

var instanceForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// join gives a member its place under a new epoch. The same instance may join again; another one only when the last one
// is gone, or with Takeover: then the last one loses every right.
func (r *running) join(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.JoinRequest](data)
	if err == nil {
		err = r.checkJoin(who, q)
	}
	if err != nil {
		return nil, err
	}
	r.joining.Lock()
	defer r.joining.Unlock()
	before, known := r.records[who.Name]
	moved := known && before.Instance != q.Instance
	if moved && !q.Takeover && r.live(ctx, before) {
		return nil, refusal(natsbox.CodeNameTaken, "stop it, or use --takeover", "%s is running already (epoch %d)", who.Name, before.Epoch)
	}
	rec, err := r.newRecord(ctx, who, q, before)
	if err != nil {
		return nil, err
	}
	if err := r.register.put(ctx, rec); err != nil {
		return nil, err
	}
	r.records[who.Name] = rec
	r.ledger.note(audit.EventJoined, who.Name, fmt.Sprintf("epoch %d", rec.Epoch))
	r.sessions.forget(who.Name)
	if moved {
		r.co.auth.Fence(who.Name, before.Instance)
		if err := dropConsumers(ctx, r.js, r.team, who, r.co.auth.Durable(who.Name, before.Instance)); err != nil {
			return nil, err
		}
	}
	redial := r.co.auth.Unfence(who.Name, q.Instance)
	if err := r.makeBoxes(ctx, who, rec); err != nil {
		return nil, err
	}
	var orders map[string]uint64
	err = r.owner.ask(ctx, func(x *index) {
		m := x.member(who.Name)
		m.epoch, m.joinSeq, m.instance, m.agent, m.can = rec.Epoch, rec.JoinSeq, rec.Instance, rec.Agent, rec.Capabilities
		orders = x.appliedOrders(who.Name)
		r.owner.tell(event{Kind: "joined", From: who.Name})
	})
	r.log.Info("member joined", "member", who.Name, "epoch", rec.Epoch, "agent", rec.Agent)
	if err != nil {
		return nil, err
	}
	w := r.welcome(who, rec)
	w.Redial, w.Orders = redial, orders
	w.Ledger, err = r.ledger.end(ctx, q.LedgerSeen)
	return w, err
}

// What a client can do is told to all leaders: so many names at most, and so many bytes of each.
const maxCapabilities, maxCapability = 32, 64

func (r *running) checkJoin(who charter.Member, q natsbox.JoinRequest) error {
	switch {
	case q.Name != "" && q.Name != who.Name:
		return refusal(natsbox.CodeForbidden, "", "%s cannot join as %s", who.Name, q.Name)
	case !instanceForm.MatchString(q.Instance):
		return refusal(natsbox.CodeBadRequest, "use 1 to 64 letters, digits, - and _", "bad instance %q", q.Instance)
	case len(q.Capabilities) > maxCapabilities || slices.ContainsFunc(q.Capabilities, func(can string) bool { return can == "" || len(can) > maxCapability }):
		return refusal(natsbox.CodeBadRequest, fmt.Sprintf("name at most %d names of 1 to %d bytes", maxCapabilities, maxCapability), "bad list of %d capabilities", len(q.Capabilities))
	case who.Role != charter.RoleTeammate:
		return nil
	case q.Mode != "" && !q.Mode.Known():
		return refusal(natsbox.CodeBadRequest, "", "unknown mode %q", q.Mode)
	case q.Mode != "" && q.Mode.Above(r.co.Charter().Caps.Mode):
		return refusal(natsbox.CodeAboveCap, fmt.Sprintf("start it in mode %s, or a narrower one", r.co.Charter().Caps.Mode), "mode %s is above the team's cap %s", q.Mode, r.co.Charter().Caps.Mode)
	}
	return nil
}

// live reports whether the instance that holds a name is there: it is connected, or has spoken lately.
func (r *running) live(ctx context.Context, rec record) bool {
	if r.co.auth.Connected(rec.Name, rec.Instance) {
		return true
	}
	fresh := true // when in doubt
	if err := r.owner.ask(ctx, func(x *index) { fresh = x.member(rec.Name).fresh(time.Now()) }); err != nil {
		return true
	}
	return fresh
}

// newRecord makes the record of the new epoch: from where mail of the old one is stale, what mode is known, and how far
// the last instance had read.
func (r *running) newRecord(ctx context.Context, who charter.Member, q natsbox.JoinRequest, before record) (record, error) {
	rec := record{
		Name: who.Name, Instance: q.Instance, Epoch: before.Epoch + 1, Joined: time.Now().UTC(),
		Agent: q.Agent, Version: q.Version, Capabilities: q.Capabilities, Fenced: before.Fenced, Floors: before.Floors, Spent: before.Spent,
	}
	var err error
	if rec.JoinSeq, err = last(ctx, r.js, mailStream(r.team)); err != nil {
		return rec, err
	}
	if who.Role == charter.RoleTeammate {
		err = r.owner.ask(ctx, func(x *index) { rec.Known, rec.KnownSeq = x.join(who.Name, q.Instance, q.Mode) })
		if err != nil {
			return rec, err
		}
	}
	if before.Instance != "" {
		durable := r.co.auth.Durable(who.Name, before.Instance)
		if rec.Floors, err = floorsOf(ctx, r.js, r.team, who, durable, before.Floors); err != nil {
			return rec, err
		}
	}
	if before.Instance != "" && before.Instance != q.Instance {
		rec.Fenced = append(slices.Clone(before.Fenced), before.Instance)
	}
	rec.Fenced = slices.DeleteFunc(slices.Clone(rec.Fenced), func(s string) bool { return s == q.Instance })
	if n := len(rec.Fenced) - maxFenced; n > 0 {
		rec.Fenced = rec.Fenced[n:]
	}
	return rec, nil
}

func (r *running) makeBoxes(ctx context.Context, who charter.Member, rec record) error {
	return makeConsumers(ctx, r.js, r.team, who, r.co.auth.Durable(who.Name, rec.Instance), rec.Floors)
}

func (r *running) welcome(who charter.Member, rec record) natsbox.Welcome {
	durable := r.co.auth.Durable(who.Name, rec.Instance)
	w := natsbox.Welcome{Epoch: rec.Epoch, Charter: r.co.Signed(), TeamID: r.co.Charter().TeamID, AllSince: r.since.of(who.Name)}
	switch who.Role {
	case charter.RoleTeammate:
		w.Consumers = natsbox.Consumers{Mail: durable, Decisions: durable, Orders: durable}
	case charter.RoleLeader:
		w.Consumers = natsbox.Consumers{Mail: durable}
	}
	return w
}

// standing tells an instance whether it still holds its name, and makes its consumers again when they are gone.
func (r *running) standing(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.StandingRequest](data)
	if err != nil {
		return nil, err
	}
	r.joining.Lock()
	defer r.joining.Unlock()
	rec, ok := r.records[who.Name]
	if !ok {
		return nil, refusal(natsbox.CodeNotFound, "join first", "%s has not joined", who.Name)
	}
	if rec.Instance != q.Instance || rec.Epoch != q.Epoch {
		return nil, refusal(natsbox.CodeFenced, "stop this one", "%s runs elsewhere (epoch %d)", who.Name, rec.Epoch)
	}
	if err := r.makeBoxes(ctx, who, rec); err != nil {
		return nil, err
	}
	return r.welcome(who, rec), nil
}
