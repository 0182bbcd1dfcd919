package crashtest

import (
	"fmt"
	"sync"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
)

// letter names a message: who sent it, to whom, and its envelope's id.
type letter struct{ from, to, id string }

// claim is a leader that was told that its decision is the one that counts.
type claim struct{ by, outcome string }

// notes is what everybody was told while they lived: what is held against the disks in the end.
type notes struct {
	mu       sync.Mutex
	sent     map[letter]bool           // acknowledged to their senders
	shown    map[letter]int            // to the agents
	told     map[*life]map[string]int  // events of each desk
	heard    map[letter]bool           // mail to the leaders that a desk was told of
	claims   map[[2]string][]claim     // by teammate and request
	orders   []leader.Ordered          // stored, as mia was told
	runs     map[string]map[string]int // by teammate and grant: what the agents carried out
	kills    map[string]int
	oddities []string
}

func newNotes() *notes {
	return &notes{
		sent: map[letter]bool{}, shown: map[letter]int{}, told: map[*life]map[string]int{}, heard: map[letter]bool{},
		claims: map[[2]string][]claim{}, runs: map[string]map[string]int{}, kills: map[string]int{},
	}
}

func (n *notes) acknowledged(from, to, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent[letter{from, to, id}] = true
}

func (n *notes) show(from, to, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shown[letter{from, to, id}]++
}

func (n *notes) ran(name, grant string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.runs[name] == nil {
		n.runs[name] = map[string]int{}
	}
	n.runs[name][grant]++
}

func (n *notes) killed(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kills[name]++
}

func (n *notes) ordered(o leader.Ordered) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.orders = append(n.orders, o)
}

func (n *notes) success(teammate, id, by, outcome string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := [2]string{teammate, id}
	n.claims[k] = append(n.claims[k], claim{by, outcome})
}

// odd is what must not have happened, found on the way.
func (n *notes) odd(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.oddities = append(n.oddities, what)
}

// event is what a desk tells the person in front of it.
func (n *notes) event(l *life, e leader.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.told[l] == nil {
		n.told[l] = map[string]int{}
	}
	n.told[l][fmt.Sprint(e.Kind, " ", e.Teammate, " ", e.RequestID)]++
	switch {
	case e.Kind == leader.EventMessage:
		n.heard[letter{e.Teammate, mailbox.Lead, e.RequestID}] = true
	case e.Kind == leader.EventDecided && e.Here:
		c := claim{by: "policy"}
		if e.Decision != nil {
			c.outcome = string(e.Decision.Outcome)
		} else {
			c.outcome = string(e.Answer.Behavior)
		}
		k := [2]string{e.Teammate, e.RequestID}
		n.claims[k] = append(n.claims[k], c)
	}
}
