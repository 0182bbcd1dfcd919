package teammate

import (
	"slices"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// keptEnded is how many grants that have ended are kept.
const keptEnded = 32

const endedFile = "ended.json"

// ended are the grants that ended last, the newest last, also over a restart: leaders are shown why a grant is over.
type ended struct {
	mu   sync.Mutex
	keep keep
	list []planmode.EndedGrant
}

// load reads what was kept. What is in force by the journal has not ended: it was written down just before a crash.
func (e *ended) load(k keep) error {
	e.keep = k
	return k.get(endedFile, &e.list)
}

// only forgets grants that are in force: they were written down before the step that would have ended them.
func (e *ended) only(inForce []permissions.Grant) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = slices.DeleteFunc(e.list, func(g planmode.EndedGrant) bool {
		return slices.ContainsFunc(inForce, func(live permissions.Grant) bool { return live.ID == g.ID })
	})
}

func (e *ended) all() []planmode.EndedGrant {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.list)
}

// with returns the list with those that end by a step, and puts it on disk. They count from take on.
func (e *ended) with(more []planmode.EndedGrant) ([]planmode.EndedGrant, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := append(slices.Clone(e.list), more...)
	list = list[max(0, len(list)-keptEnded):]
	return list, e.keep.put(endedFile, list)
}

func (e *ended) take(list []planmode.EndedGrant) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = list
}

// endedBy are the grants that a step ends. The use that exhausts one is counted.
func endedBy(old, next planmode.Session, effects []planmode.Effect, at time.Time) []planmode.EndedGrant {
	var list []planmode.EndedGrant
	for _, g := range old.Grants {
		if slices.ContainsFunc(next.Grants, func(n permissions.Grant) bool { return n.ID == g.ID }) {
			continue
		}
		one := planmode.EndedGrant{Grant: g, EndedBy: "ended", EndedAt: at}
		for _, e := range effects {
			if end, ok := e.(planmode.EndGrants); ok && (end.All || slices.Contains(end.IDs, g.ID)) {
				one.EndedBy = end.Cause
			}
		}
		if one.EndedBy == exhausted {
			one.Uses++
		}
		one.Runners = nil // of no use any more, and long
		list = append(list, one)
	}
	return list
}
