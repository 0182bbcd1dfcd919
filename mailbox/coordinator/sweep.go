package coordinator

import (
	"context"
	"maps"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
)

const (
	lookEvery   = time.Minute // at how full the store is
	floorsEvery = time.Hour   // at how far members have read: far less than idleConsumer
)

// sweep looks after the store until ctx ends.
func (r *running) sweep(ctx context.Context) {
	told := map[string]bool{}
	look, floors := time.NewTicker(lookEvery), time.NewTicker(floorsEvery)
	defer look.Stop()
	defer floors.Stop()
	for {
		select {
		case <-look.C:
			r.warnWhenFull(ctx, told)
		case <-floors.C:
			r.saveFloors(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// notFull is the share below which a part of the store may be told of again, in percent.
const notFull = natsbox.FullAt - 10

// warnWhenFull says so, once, when the store or a stream is filled to four fifths of what it may take.
func (r *running) warnWhenFull(ctx context.Context, told map[string]bool) {
	h, err := r.fill(ctx)
	if err != nil {
		return // the next look is soon
	}
	for name, percent := range h.Percents() {
		switch {
		case percent < notFull:
			delete(told, name)
		case percent >= natsbox.FullAt && !told[name]:
			told[name] = true
			r.log.Warn("the store fills: "+natsbox.FullNext, "part", name, "percent", percent)
			_ = r.owner.ask(ctx, func(*index) { r.owner.tell(event{Kind: "storeFilling", ID: name}) })
		}
	}
}

// saveFloors keeps how far each member has read: a consumer that nobody uses for two weeks is removed by the broker.
func (r *running) saveFloors(ctx context.Context) {
	r.joining.Lock()
	defer r.joining.Unlock()
	for name, rec := range r.records {
		who, ok := r.co.Charter().Member(name)
		if !ok {
			continue
		}
		floors, err := floorsOf(ctx, r.js, r.team, who, r.co.auth.Durable(name, rec.Instance), rec.Floors)
		if err != nil || maps.Equal(floors, rec.Floors) {
			continue
		}
		rec.Floors = floors
		if err := r.register.put(ctx, rec); err != nil {
			r.log.Warn("reading place not saved", "member", name, "error", err)
			continue
		}
		r.records[name] = rec
	}
}
