package coordinator

import (
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// allowance is how much may be taken at once, and how much comes back in a second.
type allowance struct{ burst, rate float64 }

// bucket holds what is left of an allowance. The zero bucket is full.
type bucket struct {
	used float64
	at   time.Time
}

// take takes n out, and reports how long to wait where there is too little: then nothing is taken.
func (b *bucket) take(n float64, a allowance, now time.Time) (wait time.Duration) {
	if d := now.Sub(b.at).Seconds(); d > 0 { // a clock that was set back gives nothing
		b.used = max(0, b.used-d*a.rate)
	}
	b.at = now
	if over := b.used + n - a.burst; over > 0 {
		return max(1, time.Duration(over/a.rate*float64(time.Second))) // nothing at all would mean that it was taken
	}
	b.used += n
	return 0
}

// What members and guests may ask of us. A console reads its queue for each thing that happens, a runner the charter for
// each order: neither comes near.
var (
	memberCalls = allowance{burst: 400, rate: 100}
	guestCalls  = allowance{burst: 30, rate: 1}
)

// callers are the buckets of those who ask, by name.
type callers struct {
	mu  sync.Mutex
	all map[string]*bucket
}

// busy refuses who asks too often, with the time to wait. It costs next to nothing: others wait behind it.
func (c *callers) busy(name string, now time.Time) error {
	a := memberCalls
	if natsauth.IsGuest(name) {
		a = guestCalls
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.all[name]
	if b == nil {
		b = &bucket{at: now}
		c.all[name] = b
	}
	wait := b.take(1, a, now)
	if wait == 0 {
		return nil
	}
	wait = max(wait.Round(10*time.Millisecond), 10*time.Millisecond)
	e := refusal(natsbox.CodeBusy, "", "%s asks too often (at most %g at once, and %g a second): wait %v, then ask again", name, a.burst, a.rate, wait)
	e.Wait = wait.Milliseconds()
	return e
}
