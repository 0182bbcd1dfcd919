package teammate

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// Budget bounds a round of planning: nothing happens to who goes over it, but the agent is nudged when four fifths are used,
// and the leaders are told when all of it is. Zero is no bound. The time in which a leader has the plan does not count.
type Budget struct {
	Turns   int           // of the agent
	Time    time.Duration // by a clock that nobody sets
	Denials int           // calls that were not let through
}

// planning is how far a round of planning has come. It ends with the process: after a restart it is counted anew.
type planning struct {
	mu      sync.Mutex
	plan    string // its id
	on      bool   // the agent plans now, and no leader has the plan
	since   time.Time
	used    time.Duration // before since
	turns   int
	denials int
	told    map[string]int // of each bound: 1, the agent is nudged; 2, the leaders are told
	nudges  []string       // that the agent was not told yet
	timer   *time.Timer
	blocked map[string]*planmode.BlockedCall // by the call's hash
}

// maxBlocked bounds the blocked calls that are counted one by one.
const maxBlocked = 256

// follow takes a step over: planning goes on, rests, or begins anew. The session's lock is held.
func (p *planning) follow(s planmode.Session, b Budget, over func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.Cycle.PlanID != p.plan {
		p.plan, p.used, p.turns, p.denials, p.told, p.nudges, p.blocked, p.on = s.Cycle.PlanID, 0, 0, 0, nil, nil, nil, false
	}
	on := s.State == planmode.Planning
	if on == p.on {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	if p.on {
		p.used += time.Since(p.since)
	}
	p.on, p.since = on, time.Now()
	if on && b.Time > 0 {
		p.timer = time.AfterFunc(max(nudgeAt(b.Time)-p.used, 0), over)
	}
}

func nudgeAt(limit time.Duration) time.Duration { return (limit*4 + 4) / 5 }

// stop ends the timer.
func (p *planning) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.on = false
	if p.timer != nil {
		p.timer.Stop()
	}
}

// look compares what is used with the budget, and returns what the leaders are to be told. Each bound is told once.
func (p *planning) look(b Budget) (tell []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.on {
		return nil
	}
	used := p.used + time.Since(p.since)
	for _, one := range []struct {
		name        string
		used, limit float64
		words       string
	}{
		{"turns", float64(p.turns), float64(b.Turns), fmt.Sprintf("%d of %d turns", p.turns, b.Turns)},
		{"time", float64(used), float64(b.Time), fmt.Sprintf("%s of %s", used.Round(time.Second), b.Time)},
		{"denials", float64(p.denials), float64(b.Denials), fmt.Sprintf("%d of %d calls that were denied", p.denials, b.Denials)},
	} {
		if one.limit == 0 || one.used*5 < one.limit*4 {
			continue
		}
		if p.told == nil {
			p.told = map[string]int{}
		}
		if p.told[one.name] == 0 {
			p.told[one.name] = 1
			p.nudges = append(p.nudges, one.words)
		}
		if one.used >= one.limit && p.told[one.name] == 1 {
			p.told[one.name] = 2
			tell = append(tell, one.words)
		}
	}
	if next := b.Time; next > 0 && p.told["time"] < 2 {
		if p.told["time"] == 0 {
			next = nudgeAt(next)
		}
		p.timer.Reset(max(next-used, time.Millisecond))
	}
	return tell
}

// count changes what is used, and says whether planning is on.
func (p *planning) count(f func(*planning)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.on {
		f(p)
	}
	return p.on
}

// Nudge is what the agent is to be told of its budget, or "". It counts as told.
func (r *Runner) Nudge() string { return r.planning.nudge() }

// nudge is what the agent was not told yet of its budget.
func (p *planning) nudge() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.nudges) == 0 || !p.on {
		return ""
	}
	text := fmt.Sprintf("This round of planning has used %s: hand in what you have, or ask your leader the question that holds you up.", strings.Join(p.nudges, ", "))
	p.nudges = nil
	return text
}

// overBudget tells the leaders what was used up.
func (r *Runner) overBudget() {
	for _, words := range r.planning.look(r.cfg.Budget) {
		r.log.Warn("teammate: the budget of planning is used up", "used", words)
		event := planmode.Emit{Event: "plan.budget", Fields: map[string]string{"used": words}}
		r.work.push(&record{effects: []planmode.Effect{event}, local: make(chan struct{})})
		r.tell(fmt.Sprintf("%s has used %s for planning, which is all of its budget. It goes on planning. Read what it does with swarm logs %s, write to it with swarm message %s, or end it with swarm stop %s.",
			r.cfg.Name, words, r.cfg.Name, r.cfg.Name, r.cfg.Name))
	}
}

// block counts a call that was not let through, and returns how often exactly this one was.
func (r *Runner) block(hash string, call permissions.Call, input string) (times int) {
	r.planning.count(func(p *planning) { p.denials++ })
	p := &r.planning
	p.mu.Lock()
	if p.blocked == nil {
		p.blocked = map[string]*planmode.BlockedCall{}
	}
	one := p.blocked[hash]
	if one == nil && len(p.blocked) < maxBlocked {
		one = &planmode.BlockedCall{Tool: call.Tool, Input: plans.Cut(strings.ToValidUTF8(input, "\uFFFD"), 200)}
		p.blocked[hash] = one
	}
	if one != nil {
		one.Times++
		times = one.Times
	}
	p.mu.Unlock()
	r.overBudget()
	if times > 1 {
		r.beat()
	}
	return times
}

// maxShownBlocked is how many blocked calls a status names.
const maxShownBlocked = 5

// blockedCalls are the calls of this round that were not let through more than once, the most frequent first.
func (p *planning) blockedCalls() []planmode.BlockedCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []planmode.BlockedCall
	for _, b := range p.blocked {
		if b.Times > 1 {
			list = append(list, *b)
		}
	}
	slices.SortFunc(list, func(a, b planmode.BlockedCall) int {
		return cmp.Or(b.Times-a.Times, strings.Compare(a.Tool, b.Tool), strings.Compare(a.Input, b.Input))
	})
	return list[:min(len(list), maxShownBlocked)]
}

// Again is what is said with a refusal of exactly the same call as before, or "".
func (r *Runner) Again(call permissions.Call, d permissions.Decision) string {
	hash, _ := r.refusedHash(call, d)
	r.planning.mu.Lock()
	defer r.planning.mu.Unlock()
	if b := r.planning.blocked[hash]; b != nil && b.Times > 1 {
		return " (refused " + strconv.Itoa(b.Times) + " times now: the same call gets the same answer)"
	}
	return ""
}
