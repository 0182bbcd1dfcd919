package teammate

import (
	"sync"

	"github.com/planswarm/swarm/planmode"
)

// rest is what is known of whether the agent has anything to do.
type rest struct {
	mu      sync.Mutex
	over    bool // its turn has ended, or its plan is done, and nothing has begun since
	waiting int  // who waits for mail
}

func (r *rest) idle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.over || r.waiting > 0
}

// change makes a change, and reports whether the agent is idle now and was not, or the other way round.
func (r *rest) change(f func(*rest)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.over || r.waiting > 0
	f(r)
	return before != (r.over || r.waiting > 0)
}

// Rest tells that the agent has ended its turn (true), or that it has begun another (false). While it rests and no plan is
// asked for or carried out, the leaders see it as idle.
func (r *Runner) Rest(over bool) {
	if r.rest.change(func(s *rest) { s.over = over }) {
		r.beat()
	}
}

// awaitsMail counts somebody as waiting for mail until the returned function is called.
func (r *Runner) awaitsMail() (end func()) {
	count := func(n int) {
		if r.rest.change(func(s *rest) { s.waiting += n }) {
			r.beat()
		}
	}
	count(1)
	return func() { count(-1) }
}

// isIdle reports whether a teammate that stands like v has nothing to do: it neither plans nor carries out a plan, no
// call of it waits or runs, and it rests or waits for mail.
func (r *Runner) isIdle(v View) bool {
	return v.State == planmode.Working && v.Approved == nil && len(v.Asks) == 0 && len(r.calls.under(nil)) == 0 && r.rest.idle()
}

// Failed tells why the agent has ended with an error. The runner's last word to the leaders says so.
func (r *Runner) Failed(why string) { r.failed.Store(&why) }
