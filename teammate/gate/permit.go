package gate

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// permitLife is how long a permit may wait to be used: a client that has the answer begins at once, or after the call
// before it.
const permitLife = 10 * time.Minute

// A permit lets one command line be carried out that was judged before, once. It is no verdict: the line is judged again
// as it begins, and a grant that has ended meanwhile covers nothing.
type permit struct {
	call     permissions.Call
	answered *answeredCall
	until    time.Time // monotonic
}

// permits are those that were given and not used. The zero value has none. Safe for use by several at once.
type permits struct {
	mu   sync.Mutex
	open map[string]permit
}

// Permit keeps the command line of a judgement that allows it, and returns the id that `swarm exec --permit` carries it
// out by: exactly this line, in this folder, once, within ten minutes. It returns "" when the judgement allows nothing.
func (g *Gate) Permit(j Judgement) string {
	if j.Decision.Verdict != permissions.Allow {
		return ""
	}
	id := rand.Text()
	now := time.Now()
	p := &g.permits
	p.mu.Lock()
	defer p.mu.Unlock()
	for old, o := range p.open {
		if now.After(o.until) {
			delete(p.open, old)
		}
	}
	if p.open == nil {
		p.open = map[string]permit{}
	}
	p.open[id] = permit{call: j.Call, answered: j.answered, until: now.Add(permitLife)}
	return id
}

// take returns the permit that is named, and forgets it. Without a name there is none to take.
func (p *permits) take(a ExecArgs, now time.Time) (*permit, error) {
	if a.Permit == "" {
		return nil, nil
	}
	if a.Line != "" {
		return nil, fail(exitUsage, "bad_request", "name one of them", "a line and a permit were given")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	got, ok := p.open[a.Permit]
	delete(p.open, a.Permit)
	if !ok || now.After(got.until) {
		return nil, fail(exitRefusedRun, "no_permit", "call it again", "no such permit, or it was used already")
	}
	return &got, nil
}
