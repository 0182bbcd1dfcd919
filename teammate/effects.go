package teammate

import (
	"context"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// patience is how long an agent's client may take for one effect.
const patience = 30 * time.Second

// carryOut is the one goroutine that carries effects out: step after step, each in its order. What is sent goes to the
// outbox, so that a broker that is away holds nothing up here.
func (r *Runner) carryOut(ctx context.Context) {
	for {
		rec, ok := r.work.next(ctx)
		if !ok {
			return
		}
		r.carry(ctx, rec)
		r.work.finish()
		r.changed.all()
		if ctx.Err() != nil {
			return // not known to be done: it is done again
		}
		if r.snapshot().State == planmode.Left && r.work.idle() {
			r.left()
		}
	}
}

// carry carries one step's effects out and, when its mail has gone too, says so in the journal.
func (r *Runner) carry(ctx context.Context, rec *record) {
	r.delivered(rec)
	for _, e := range rec.effects {
		if rec.view != nil && !before(e) {
			r.show(rec.view)
			rec.view = nil
		}
		if ctx.Err() != nil {
			return
		}
		r.effect(ctx, rec, e)
	}
	if rec.view != nil {
		r.show(rec.view)
	}
	close(rec.local)
	r.tail.Go(func() {
		rec.mail.Wait()
		if rec.seq == 0 || ctx.Err() != nil {
			return
		}
		if err := r.cfg.Journal.Done(rec.seq); err != nil {
			r.log.Warn("teammate: effects will be carried out again after a restart", "step", rec.seq, "cause", err)
		}
	})
}

// delivered tells that a decision or an order is in the journal, before it is carried out: a client may take its time.
func (r *Runner) delivered(rec *record) {
	for _, e := range rec.effects {
		if s, ok := e.(planmode.SendReceipt); ok && s.Receipt.State == mailbox.Applied {
			r.mail(rec, planmode.SendReceipt{Receipt: mailbox.Receipt{Of: s.Receipt.Of, State: mailbox.Delivered}})
		}
	}
}

// before reports whether an effect comes before the view of a step that widens: the plan that is approved lies in its
// place and the client has taken the mode when the gate opens.
func before(e planmode.Effect) bool {
	switch e.(type) {
	case planmode.WritePlan, planmode.SetMode:
		return true
	}
	return false
}

func (r *Runner) effect(ctx context.Context, rec *record, e planmode.Effect) {
	switch e := e.(type) {
	case planmode.SetMode:
		r.setMode(ctx, rec, e.Mode)
	case planmode.WritePlan:
		rec.lost = r.writePlan(e)
	case planmode.EndGrants:
		r.endGrants(ctx, e)
	case planmode.Notify:
		r.notify(ctx, rec, e)
	case planmode.ReleaseCall:
		r.asks.release(e)
	case planmode.StopAgent:
		r.stopAgent(ctx, e.Cause)
	case planmode.ReportStatus:
		r.beat()
	case planmode.Emit:
		r.observe(rec, e)
	case planmode.SendReceipt:
		r.mail(rec, honest(e, rec))
	case planmode.PublishRequest, planmode.PublishAsk, planmode.PublishWithdrawn:
		r.mail(rec, e)
	case planmode.AskLedger:
		r.look()
	case planmode.WatchDecision:
		r.look() // what was in the slot before there was a request has been received, and answered nothing
	case planmode.StopWatch, planmode.AddGrants:
		// Orders are received for as long as the runner lives, and the view holds the grants already.
	}
}

// honest says in a receipt which mode the client really shows, and how many commands were ended.
func honest(e planmode.SendReceipt, rec *record) planmode.SendReceipt {
	if e.Receipt.State != mailbox.Applied {
		return e
	}
	add := func(what string) { e.Receipt.Reason = strings.TrimPrefix(e.Receipt.Reason+"; "+what, "; ") }
	if rec.shown != "" {
		add("the agent's client shows mode " + string(rec.shown))
	}
	if rec.lost != nil {
		add(notWritten(rec.lost))
	}
	if rec.stopped > 0 {
		add("running commands ended: " + strconv.Itoa(rec.stopped))
	}
	return e
}

// notWritten tells an agent and its leaders that the plan file does not have what was approved.
func notWritten(err error) string {
	return "the approved plan could not be written to its file (" + strings.TrimPrefix(err.Error(), "plandir: ") + "): swarm plan view prints it"
}

// setMode puts the client into a mode, reads it back, and tells the session what it saw. A mode that a later step has
// replaced is left out.
func (r *Runner) setMode(ctx context.Context, rec *record, mode permissions.Mode) {
	s := r.snapshot()
	if s.State == planmode.Left || s.Mode != mode {
		return
	}
	got, err := r.clientMode(ctx, mode)
	switch {
	case err != nil && mode == permissions.ModePlan: // our gate is shut; a client that does not plan must not go on
		r.log.Error("teammate: the agent's client cannot be put into plan mode and is stopped", "cause", err)
		r.stopAgent(ctx, "it cannot be put into plan mode")
	case err != nil:
		rec.shown = "unknown"
		r.log.Error("teammate: the agent's client did not take the mode", "mode", mode, "cause", err)
	case got != mode:
		rec.shown = got
		r.seen(got)
	case s.Drift > 0:
		r.seen(got)
	}
}

func (r *Runner) clientMode(ctx context.Context, mode permissions.Mode) (permissions.Mode, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return r.cfg.Agent.SetMode(ctx, mode)
}

// seen tells the session what mode the client is in.
func (r *Runner) seen(mode permissions.Mode) {
	if err := r.Observed(mode); err != nil {
		r.log.Error("teammate: the client's mode could not be recorded", "mode", mode, "cause", err)
	}
}

// writePlan puts what was approved into the plan file. Where that cannot be, what was approved stays what it is: it is in
// the store, and swarm plan view prints it.
func (r *Runner) writePlan(e planmode.WritePlan) error {
	content, err := e.Edited, error(nil)
	if content != nil {
		r.keepEdited(e)
	} else if content, err = r.cfg.Store.Load(e.Digest); err != nil {
		r.log.Error("teammate: the approved plan could not be read", "digest", e.Digest, "cause", err)
		return err
	}
	if err := r.cfg.Store.WriteWork(content); err != nil {
		r.log.Error("teammate: the approved plan could not be written to its place", "cause", err)
		return err
	}
	return nil
}

// keepEdited stores what the leader made of the plan beside its revisions: the file may change while it is carried out.
func (r *Runner) keepEdited(e planmode.WritePlan) {
	a := r.snapshot().Approved
	if a == nil || a.Content != e.Digest {
		return
	}
	file := r.cfg.Store.WorkFile()
	_, err := r.cfg.Store.Snapshot(a.PlanID+"-edited", a.Revision, plans.New(filepath.Base(file), file, e.Edited))
	if err != nil {
		r.log.Warn("teammate: the edited plan is in its file alone", "cause", err)
	}
}

// endGrants ends what runs: the calls were told to stop when the step was taken; here they are waited for.
func (r *Runner) endGrants(ctx context.Context, e planmode.EndGrants) {
	if e.Cause == exhausted {
		return // the last use may finish
	}
	ids := e.IDs
	if e.All {
		ids = nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.calls.wait(ctx, ids); err != nil {
		r.log.Error("teammate: commands are still running", "cause", err)
	}
	if err := r.cfg.Agent.KillStarted(ctx, ids, e.Cause); err != nil {
		r.log.Error("teammate: the agent's own commands could not be ended", "cause", err)
	}
}

func (r *Runner) stopAgent(ctx context.Context, cause string) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r.calls.stop(cause)
	if err := r.calls.wait(ctx, nil); err != nil {
		r.log.Error("teammate: commands are still running", "cause", err)
	}
	if err := r.cfg.Agent.StopAgent(ctx, cause); err != nil {
		r.log.Error("teammate: the agent could not be stopped", "cause", err)
	}
}

func (r *Runner) notify(ctx context.Context, rec *record, n planmode.Notify) {
	if n.Kind == planmode.NotifyApproved && rec.lost != nil {
		n.Data.Cause = notWritten(rec.lost)
	}
	r.noticed(n) // before the answer is there: whoever waits for it may ask for a reminder at once
	r.answers.record(n, rec.plan)
	r.changed.all()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := r.cfg.Agent.Notify(ctx, n); err != nil {
		r.log.Error("teammate: the agent could not be told", "kind", n.Kind, "cause", err)
	}
}

// numbered says in an event which line of the journal has it.
func numbered(e planmode.Emit, seq uint64) planmode.Emit {
	fields := map[string]string{"seq": strconv.FormatUint(seq, 10)}
	maps.Copy(fields, e.Fields)
	e.Fields = fields
	return e
}

// observe hands an event on, and tells the leaders what concerns them.
func (r *Runner) observe(rec *record, e planmode.Emit) {
	r.log.Info("teammate: "+e.Event, "fields", e.Fields)
	if e.Event == "stopped" {
		r.stopped.Store(&Stop{By: e.Fields["by"], Reason: e.Fields["reason"]})
	}
	switch {
	case rec.again:
	case rec.seq == 0:
		r.cfg.Observe(e)
	default:
		r.cfg.Observe(numbered(e, rec.seq))
	}
	r.tellLedger(rec.seq, e)
	if e.Event == "mode.changed" || e.Event == "security" || e.Event == "task.updated" {
		r.mail(rec, e)
	}
}
