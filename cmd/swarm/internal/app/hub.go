package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/coordinator"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// hub is broker, coordinator and desk in this process.
type hub struct {
	server *embednats.Server
	coord  *coordinator.Coordinator
	desk   *leader.Desk
	box    *natsbox.Conn
	log    *slog.Logger

	stop   context.CancelCauseFunc
	ended  sync.WaitGroup
	failed chan error // the first part that ended by itself
}

type hubConfig struct {
	store      string // folder of the broker's files
	team       string
	authority  *authority
	rules      []policy.Rule
	seats      []leader.Seat // instead of the rules
	unattended bool
	listen     string
	tls        *tls.Config                // nil: in clear
	insecure   bool                       // in clear beyond this machine too
	maxStore   int64                      // bytes; 0: the broker's default
	save       func(charter.Signed) error // nil: kept in memory
	onEvent    func(leader.Event)
	log        *slog.Logger
	tables     *permissions.Tables // the person's own intents
	deadlines  leader.Deadlines
}

// startHub starts the parts from below to above. On error those that run already are stopped.
func startHub(ctx context.Context, cfg hubConfig) (h *hub, err error) {
	h = &hub{failed: make(chan error, 2), log: cfg.log}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	rules, err := policy.New(cfg.rules, intentNames(cfg.tables)...)
	if err != nil {
		return h, err
	}
	if h.server, err = embednats.Start(ctx, embednats.Config{StoreDir: cfg.store, Listen: cfg.listen, TLS: cfg.tls, Insecure: cfg.insecure, MaxStore: cfg.maxStore, Logger: cfg.log}); err != nil {
		return h, brokerError(err, cfg.store)
	}
	// The parts outlive ctx: they are stopped in order, by close.
	parts, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	h.stop = stop
	h.coord, err = coordinator.New(coordinator.Config{
		Server: h.server, Team: cfg.team, OwnerKey: cfg.authority.founder(), Charter: cfg.authority.charter,
		Enrol: cfg.authority.enrol, Ledger: cfg.authority.policy, Save: cfg.save, Logger: cfg.log,
	})
	if err != nil {
		return h, err
	}
	h.start(parts, "coordinator", h.coord.Run)
	select {
	case <-h.coord.Ready():
	case err := <-h.failed:
		return h, brokerError(err, cfg.store)
	case <-ctx.Done():
		return h, context.Cause(ctx)
	}
	if err := h.openDesk(ctx, cfg, rules); err != nil {
		return h, err
	}
	h.start(parts, "desk", h.desk.Run)
	if cfg.deadlines.Reject > 0 {
		h.ended.Go(func() { h.tellDeadline(parts, cfg.deadlines.Reject) })
	}
	return h, nil
}

func (h *hub) openDesk(ctx context.Context, cfg hubConfig, rules *policy.Policy) error {
	me, ok := h.coord.Charter().Member(policyName)
	if !ok {
		return fmt.Errorf("the charter of team %s has no member %q: the state folder is of another swarm", cfg.team, policyName)
	}
	box, err := natsbox.Connect(ctx, natsbox.Config{
		InProcess: h.server, Team: cfg.team, Me: policyName, Key: cfg.authority.policy, Instance: "desk", Logger: cfg.log,
	})
	if err != nil {
		return err
	}
	h.box = box
	if _, err := box.Join(ctx, natsbox.JoinRequest{Name: policyName, Instance: "desk", Agent: "policy", Takeover: true}); err != nil {
		return err
	}
	seats := cfg.seats
	if seats == nil {
		seats = []leader.Seat{{Decider: rules}}
	}
	h.desk = leader.NewDesk(box, h.coord.Charter, leader.Signer{Key: cfg.authority.policy, Member: me, Via: "policy"}, leader.Config{
		Seats: seats, Unattended: cfg.unattended, OnEvent: cfg.onEvent, Logger: cfg.log, Tables: cfg.tables, Deadlines: cfg.deadlines,
	})
	return nil
}

// tellDeadline has the desk say when what nobody decides expires, so that leaders are shown it.
func (h *hub) tellDeadline(ctx context.Context, after time.Duration) {
	for {
		_ = h.box.SetStatus(ctx, planmode.Status{Heartbeat: time.Now().UTC(), ExpireAfterMS: after.Milliseconds()}) // a courtesy; said again soon
		select {
		case <-time.After(readingEvery):
		case <-ctx.Done():
			return
		}
	}
}

// start runs a part until the hub closes. A part that ends before is the hub's failure.
func (h *hub) start(ctx context.Context, name string, run func(context.Context) error) {
	h.ended.Go(func() {
		err := run(ctx)
		if ctx.Err() == nil {
			h.failed <- fmt.Errorf("%s ended: %w", name, orUnknown(err))
		}
	})
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("without a reason")
	}
	return err
}

// close stops the parts from above to below, and waits for each.
func (h *hub) close() {
	if h.stop != nil {
		h.stop(errors.New("closing"))
	}
	h.ended.Wait()
	if h.box != nil {
		h.box.Close()
	}
	if h.server != nil {
		h.server.Close()
	}
}

// brokerError says what a person can do about a broker that does not start.
func brokerError(err error, store string) error {
	switch {
	case errors.Is(err, coordinator.ErrForeignStream):
		_, why, _ := strings.Cut(err.Error(), coordinator.ErrForeignStream.Error()+": ")
		return fail(exitError, "foreign_store", fmt.Sprintf("the store %s cannot be used: %s", store, why), "")
	case errors.Is(err, embednats.ErrLocked):
		return fail(exitError, "locked", plainText(err), "it is already running: swarm status")
	case errors.Is(err, embednats.ErrNewerStore):
		return fail(exitError, "newer_store", plainText(err), "")
	case errors.Is(err, embednats.ErrNotLoopback):
		return fail(exitUsage, "not_loopback", plainText(err), "")
	case errors.Is(err, embednats.ErrNotWritable):
		return fail(exitError, "not_writable", plainText(err), "give this user the folder, or choose another with --state")
	}
	return err
}
