package coordinator

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// The flood guard. The broker bounds what lies on one subject, one stream and the store; nothing in it bounds one member,
// and one that fills the share of all mail keeps everybody's requests out. So we count for each member what is stored of
// its mail, and what comes over its connections, and take rights away step by step while it floods: its mail, then
// everything but questions and reading, then its way in. Each step ends by itself.

const (
	// guardMute is how long a member stays muted that the guard has muted.
	guardMute = 10 * time.Minute
	// guardBar is how long one is kept out that floods although it is silent.
	guardBar = time.Minute
	// guardIdle and guardBusy are how often counters are read, while nothing is going on and while much is.
	guardIdle = 250 * time.Millisecond
	guardBusy = 20 * time.Millisecond
)

// limits are what one member may do in a while. No runner and no console comes near them.
type limits struct {
	mail      allowance // pieces that are stored; a receipt counts a tenth, since each piece of mail that is read has some
	mailBytes allowance
	msgs      allowance // over its connections, acknowledgements and requests for mail among them
	bytes     allowance
}

func limitsFor(store int64) limits {
	share := float64(store) / 100 * mailShare
	return limits{
		mail:      allowance{1000, 10},
		mailBytes: allowance{share / 8, share / 8 / 3600},
		msgs:      allowance{50_000, 2000},
		bytes:     allowance{min(128<<20, share/8), 1 << 20},
	}
}

// guard counts. Its methods may be called at once.
type guard struct {
	limits limits
	floods chan flood // who went over a limit; full: it will be seen again

	mu    sync.Mutex
	mail  map[string]*load // by sender
	conns map[uint64]counter
	wire  map[string]*load // by member
}

type counter struct{ msgs, bytes int64 }

// load is what is left of one member's allowances.
type load struct{ pieces, bytes bucket }

// flood is a member that went over a limit, and which.
type flood struct{ name, what string }

func newGuard(store int64) guard {
	return guard{
		limits: limitsFor(store), floods: make(chan flood, 64),
		mail: map[string]*load{}, conns: map[uint64]counter{}, wire: map[string]*load{},
	}
}

// stored hears of each piece of mail that was stored.
func (g *guard) stored(m message) {
	if m.subject.From == broker {
		return
	}
	cost := 1.0
	if m.subject.Kind == mailbox.KindReceipt {
		cost = 0.1
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l, now := loadOf(g.mail, m.subject.From), time.Now()
	switch {
	case l.pieces.take(cost, g.limits.mail, now) > 0:
		g.tell(m.subject.From, fmt.Sprintf("it sent more than %g pieces of mail at once", g.limits.mail.burst))
	case l.bytes.take(float64(len(m.data)), g.limits.mailBytes, now) > 0:
		g.tell(m.subject.From, fmt.Sprintf("its mail fills more than %d MiB of the store", int64(g.limits.mailBytes.burst)>>20))
	default:
		return
	}
	*l = load{} // counted anew: what comes until it stops is another step
}

func loadOf(all map[string]*load, name string) *load {
	l := all[name]
	if l == nil {
		l = &load{}
		all[name] = l
	}
	return l
}

func (g *guard) tell(name, what string) {
	select {
	case g.floods <- flood{name, what}:
	default:
	}
}

// look compares what came over connections with the last look, and reports whether much is going on.
func (r *running) look(now time.Time) (busy bool) {
	g := &r.guard
	traffic := r.co.auth.Traffic()
	g.mu.Lock()
	defer g.mu.Unlock()
	conns := make(map[uint64]counter, len(traffic))
	for id, t := range traffic {
		was, is := g.conns[id], counter{t.Msgs, t.Bytes}
		conns[id] = is
		l := loadOf(g.wire, t.Name)
		msgs, bytes := float64(is.msgs-was.msgs), float64(is.bytes-was.bytes)
		busy = busy || msgs > 100 || bytes > 1<<20
		switch {
		case l.pieces.take(msgs, g.limits.msgs, now) > 0:
			g.tell(t.Name, fmt.Sprintf("it sent more than %g messages to the broker at once", g.limits.msgs.burst))
		case l.bytes.take(bytes, g.limits.bytes, now) > 0:
			g.tell(t.Name, fmt.Sprintf("it sent more than %d MiB to the broker at once", int64(g.limits.bytes.burst)>>20))
		default:
			continue
		}
		*l = load{}
	}
	g.conns = conns
	return busy
}

// watchFloods stops floods until ctx ends.
func (r *running) watchFloods(ctx context.Context) {
	t := time.NewTimer(guardIdle)
	defer t.Stop()
	for {
		select {
		case f := <-r.guard.floods:
			if err := r.stopFlood(ctx, f); err != nil && ctx.Err() == nil {
				r.log.Error("a flood could not be stopped", "member", f.name, "error", err)
			}
		case <-t.C:
			next := guardIdle
			if r.look(time.Now()) {
				next = guardBusy
			}
			t.Reset(next)
		case <-ctx.Done():
			return
		}
	}
}

// stopFlood takes the next right away from a member that floods, and tells the leaders.
func (r *running) stopFlood(ctx context.Context, f flood) error {
	who, ok := r.co.Charter().Member(f.name)
	if ok && who.Kind == charter.KindPolicy {
		return nil // it answers what others send
	}
	now := time.Now()
	if !ok { // a guest
		r.co.auth.Bar(f.name, now.Add(guardBar))
		r.log.Warn("a guest floods, and is kept out for a while", "guest", f.name, "what", f.what)
		return nil
	}
	r.mutes.mu.Lock()
	defer r.mutes.mu.Unlock()
	m, muted := r.mutes.all[f.name]
	switch {
	case muted && m.Silent:
		r.co.auth.Bar(f.name, now.Add(guardBar))
		r.log.Error("it floods although it is silent, and is kept out for a while", "member", f.name, "what", f.what)
		return nil
	case muted:
		m.Silent = true
	default:
		m = natsbox.MuteInfo{Name: f.name, By: broker, At: now.UTC(), Until: now.UTC().Add(guardMute), Reason: "flood: " + f.what}
	}
	if err := r.setMute(ctx, m); err != nil {
		return err
	}
	if !muted { // told once: what follows stands in the log and in swarm status
		text := fmt.Sprintf("%s floods, and is %s. Look with swarm status; swarm mail unmute %s ends it, swarm mail mute %s makes it last.",
			f.name, m.Text(), f.name, f.name)
		r.tellByMail(ctx, mailbox.Lead, text)
	}
	return nil
}
