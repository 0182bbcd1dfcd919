package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

// maxAllocs is the most memory allocations of a decision about a line below 1 KiB.
const maxAllocs = 200

// counted is a line by its id, and what a decision about it allocates.
type counted struct {
	id     string
	allocs float64
}

func count(engine *permissions.Engine, command string, s permissions.State) float64 {
	return testing.AllocsPerRun(5, func() { engine.Decide(timedCall(command), s) })
}

// countedRows counts for every row of the corpus below 1 KiB.
func countedRows(t testing.TB) []counted {
	t.Helper()
	engine := timedEngine()
	var out []counted
	for _, r := range corpus(t) {
		if len(r.Command) < 1<<10 {
			out = append(out, counted{r.ID, count(engine, r.Command, r.state(t))})
		}
	}
	return out
}

// Memory is what a decision's time goes into, and unlike time it is the same on every machine.
func TestDecisionsTakeLittleMemory(t *testing.T) {
	limit := float64(maxAllocs)
	if raced {
		limit *= 2 // what looks for races keeps more on the heap
	}
	all := countedRows(t)
	if len(all) < 500 {
		t.Fatalf("%d rows, want at least 500", len(all))
	}
	for _, l := range everyday {
		all = append(all, counted{l.name, count(timedEngine(), l.command, timedState(l.command))})
	}
	most := counted{}
	for _, c := range all {
		if c.allocs > limit {
			t.Errorf("%s: %.0f allocations, want at most %.0f", c.id, c.allocs, limit)
		}
		if c.allocs > most.allocs {
			most = c
		}
	}
	t.Logf("%d lines, the most for %s: %.0f", len(all), most.id, most.allocs)
}
