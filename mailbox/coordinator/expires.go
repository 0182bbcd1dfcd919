package coordinator

import (
	"encoding/json"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/planmode"
)

// expires is when a request that is open is rejected by itself: by its own deadline, or by the one that the desk has for
// all. Nil: never. It is shown, and nothing is done by it; the desk measures by itself.
func (x *index) expires(r *request) *time.Time {
	if x.open[r.slot] == nil || r.isQuestion {
		return nil
	}
	var at *time.Time
	if r.plan != nil && r.plan.Deadline != nil {
		at = r.plan.Deadline
	}
	if after := x.expireAfter(); after > 0 {
		if t := r.stored.Add(after).UTC(); at == nil || t.Before(*at) {
			at = &t
		}
	}
	return at
}

// expireAfter is the team's deadline, as its desks tell it: the shortest one.
func (x *index) expireAfter() (after time.Duration) {
	for _, m := range x.charter().Members {
		known := x.members[m.Name]
		if m.Kind != charter.KindPolicy || m.Retired || known == nil {
			continue
		}
		var s planmode.Status
		if json.Unmarshal(known.status, &s) != nil || s.ExpireAfterMS <= 0 || s.ExpireAfterMS > maxExpireMS {
			continue
		}
		if d := time.Duration(s.ExpireAfterMS) * time.Millisecond; after == 0 || d < after {
			after = d
		}
	}
	return after
}

// maxExpireMS is ten years: what is longer is as good as never.
const maxExpireMS = 10 * 365 * 24 * 60 * 60 * 1000
