package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// health says how the broker and its store are.
func (r *running) health(ctx context.Context, who charter.Member, _ []byte) (any, error) {
	if who.Role == charter.RoleTeammate {
		return nil, refusal(natsbox.CodeForbidden, "your leader runs swarm doctor", "teammates are not told how the broker is")
	}
	return r.fill(ctx)
}

// fill is how the broker is, and how full its store.
func (r *running) fill(ctx context.Context) (natsbox.Health, error) {
	account, err := r.js.AccountInfo(ctx)
	if err != nil {
		return natsbox.Health{}, fmt.Errorf("coordinator: look at the store: %w", err)
	}
	srv := r.co.cfg.Server
	h := natsbox.Health{
		Server: r.nc.ConnectedServerVersion(), Sync: srv.Sync(), Used: int64(account.Store), Max: srv.MaxStore(),
		Streams: []natsbox.StreamFill{}, Dead: r.dead.count(),
	}
	streams := r.js.ListStreams(ctx)
	for s := range streams.Info() {
		if s.Config.Storage == jetstream.FileStorage {
			h.Streams = append(h.Streams, natsbox.StreamFill{Name: s.Config.Name, Used: int64(s.State.Bytes), Max: max(s.Config.MaxBytes, 0)})
		}
	}
	if err := streams.Err(); err != nil {
		return natsbox.Health{}, fmt.Errorf("coordinator: look at the streams: %w", err)
	}
	h.Now = time.Now() // last: the asker halves what is between
	return h, nil
}
