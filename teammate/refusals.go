package teammate

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// How many refusals the journal keeps: the same call once in a while, and so many in all.
const (
	refusalWindow  = time.Minute
	maxRefusals    = 60 // in a window
	maxRefusedText = 4 << 10
)

// refusals are the refused calls that were journalled lately.
type refusals struct {
	mu   sync.Mutex
	last []refusal // oldest first
}

type refusal struct {
	hash string
	seq  uint64
	at   time.Time
}

// Refused keeps a call that was not let through in the journal, as evidence, and returns the line's number. The same call
// again within a minute is the line that is there; when there are too many of them it is none, and 0 is returned.
func (r *Runner) Refused(call permissions.Call, d permissions.Decision, reason string) uint64 {
	hash, input := r.refusedHash(call, d)
	r.block(hash, call, input)
	r.refused.mu.Lock()
	defer r.refused.mu.Unlock()
	now := time.Now()
	last := slices.DeleteFunc(r.refused.last, func(f refusal) bool { return now.Sub(f.at) >= refusalWindow })
	r.refused.last = last
	if i := slices.IndexFunc(last, func(f refusal) bool { return f.hash == hash }); i >= 0 {
		return last[i].seq
	}
	if len(last) >= maxRefusals {
		return 0
	}
	rec, err := r.step(planmode.CallRefused{Tool: call.Tool, Input: kept(input), CallHash: hash, Reason: kept(reason)})
	if errors.Is(err, planmode.ErrWrongState) {
		return 0 // it has left, and what it was about to do is over with it
	}
	if err != nil {
		r.log.Warn("teammate: a refused call is not in the journal", "cause", err)
		return 0
	}
	r.refused.last = append(last, refusal{hash, rec.seq, now})
	return rec.seq
}

// refusedHash stands for exactly this call, and input is what it would do.
func (r *Runner) refusedHash(call permissions.Call, d permissions.Decision) (hash, input string) {
	if input = call.Command; input == "" {
		input = inTree(r.cfg.Tree, call.Path)
	}
	if hash = d.Hash; hash == "" { // it was never judged
		hash = digestOf([]byte(call.Tool + "\x00" + input + "\x00" + call.Cwd))
	}
	return hash, input
}

// kept is as much of a text as the journal keeps of it.
func kept(text string) string {
	if len(text) > maxRefusedText {
		text = text[:maxRefusedText] + " ..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
