package app

import (
	"context"
	"sync"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/planmode"
)

// readingEvery is how often a leader says again what it has open: a status speaks for its member for three times as long.
const readingEvery = 5 * time.Second

// lastWord bounds what is said as a command ends.
const lastWord = time.Second

// Reading tells the other leaders that this one has a request open, or with held is about to decide it, until stop is
// called. That is a courtesy: it locks nothing, and what cannot be told is not.
func (l *Leader) Reading(ctx context.Context, row *leader.Row, held bool) (stop func()) {
	var s planmode.Status
	if s.Reading = row.ID(); held {
		s.Reading, s.Held = "", row.ID()
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			s.Heartbeat = time.Now().UTC()
			_ = l.box.SetStatus(ctx, s)
			select {
			case <-time.After(readingEvery):
			case <-ctx.Done():
				last, done := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
				_ = l.box.SetStatus(last, planmode.Status{Heartbeat: time.Now().UTC()})
				done()
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		cancel()
		wg.Wait()
	})
}
