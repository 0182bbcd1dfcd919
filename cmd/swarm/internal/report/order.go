package report

import "github.com/planswarm/swarm/leader"

// What a teammate does is told by two processes: its runner, and the desk. Each teammate's own order is kept all the same:
// what the desk tells of a request waits until its runner has told that it asks, and what the runner tells after a
// decision waits until the desk has told that.

// Desk takes an event of the leader's desk.
func (c *Collector) Desk(e leader.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.teammate(e.Teammate) == nil {
		return
	}
	if id := e.RequestID; about(e) && !c.asked[id] {
		c.early[id] = append(c.early[id], func() { c.desk(e) })
		return
	}
	c.desk(e)
}

// about reports whether an event is about a request that the runner tells of too.
func about(e leader.Event) bool {
	switch e.Kind {
	case leader.EventSubmitted, leader.EventUndecided, leader.EventDecided, leader.EventWithdrawn, leader.EventSuperseded:
		return true
	}
	return false
}

// tells notes which request a runner's event is about, and lets out what waited for that.
func (c *Collector) tells(t *Teammate, e RunnerEvent) {
	if t.attacks != nil && e.Event == "decision.refused" {
		return // what it asks again is kept from the leaders until it says so
	}
	for _, key := range []string{"requestId", "again"} {
		if id := e.Fields[key]; id != "" {
			c.reached(id)
		}
	}
}

func (c *Collector) reached(id string) {
	if c.asked[id] {
		return
	}
	c.asked[id] = true
	for _, f := range c.early[id] {
		f()
	}
	delete(c.early, id)
}

// after calls f when the desk has told of a request's decision: at once, when it has.
func (c *Collector) after(request string, f func()) {
	if request == "" || c.decided[request] {
		f()
		return
	}
	c.waiting[request] = append(c.waiting[request], f)
}

// settle prints the lines that waited for a decision's own line.
func (c *Collector) settle(request string) {
	c.decided[request] = true
	for _, f := range c.waiting[request] {
		f()
	}
	delete(c.waiting, request)
}

// flush prints what waited for something that never came.
func (c *Collector) flush() {
	for id := range c.early {
		c.reached(id)
	}
	for _, waiting := range c.waiting {
		for _, f := range waiting {
			f()
		}
	}
	clear(c.waiting)
}
