package natsbox

import (
	"context"
	"time"
)

// VerbHealth asks how broker and store are: -> Health. Not for teammates.
const VerbHealth = "health"

// Health is how a team's broker is, as its coordinator sees it.
type Health struct {
	Now     time.Time    `json:"now"`    // of the clock that stamps and orders go by
	Server  string       `json:"server"` // version of nats-server
	Sync    string       `json:"sync"`   // always: acknowledged = on disk; else how long a write may wait
	Used    int64        `json:"used"`   // bytes of the store
	Max     int64        `json:"max"`    // that it may have
	Streams []StreamFill `json:"streams"`
	Dead    int          `json:"dead,omitempty"` // letters that nobody has seen to: see [VerbDead]
}

// StreamFill is how full one stream is.
type StreamFill struct {
	Name string `json:"name"`
	Used int64  `json:"used"` // bytes
	Max  int64  `json:"max"`  // 0: only the store's own limit
}

// FullAt is the share of a store, in percent, from which on it is told to everybody who asks.
const FullAt = 80

// FullNext is what to do about a store that fills.
const FullNext = "see who sends so much with swarm inbox --mail and stop it with swarm mail mute NAME, or start swarm up with a larger --max-store; decisions and the ledger have a reserve"

// Fullest is the place that is filled most, as its name and percent: the store itself, or one of its streams.
func (h Health) Fullest() (name string, percent int) {
	all := h.Percents()
	name, percent = "store", all["store"]
	for _, s := range h.Streams {
		if p := all[s.Name]; p > percent {
			name, percent = s.Name, p
		}
	}
	return name, percent
}

// Percents is how full the store and each of its streams is.
func (h Health) Percents() map[string]int {
	all := map[string]int{"store": share(h.Used, h.Max)}
	for _, s := range h.Streams {
		all[s.Name] = share(s.Used, s.Max)
	}
	return all
}

func share(used, limit int64) int {
	if limit <= 0 {
		return 0
	}
	return int(float64(used) / float64(limit) * 100)
}

// Clock is how far another machine's clock is from ours.
type Clock struct {
	Ahead  time.Duration // of ours; negative: behind
	Within time.Duration // either way: half of the time that the answer took
}

// healthAsks is how often the clock is compared: the quickest answer counts.
const healthAsks = 3

// Health asks the coordinator how the broker is, and compares its clock with ours.
func (c *Conn) Health(ctx context.Context) (Health, Clock, error) {
	var best Health
	var clock Clock
	for i := range healthAsks {
		var h Health
		begin := time.Now()
		if err := c.Call(ctx, VerbHealth, nil, &h); err != nil {
			return Health{}, Clock{}, err
		}
		took := time.Since(begin)
		if i == 0 || took/2 < clock.Within {
			best, clock = h, Clock{Ahead: h.Now.Sub(begin.Add(took / 2)), Within: took / 2}
		}
	}
	return best, clock, nil
}
