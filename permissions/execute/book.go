package execute

import (
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// ContractLife is how long a contract may wait to be carried out.
const ContractLife = 10 * time.Second

// maxOpen bounds the contracts that wait at once; the oldest give way.
const maxOpen = 1024

var (
	// ErrNoContract means that an id names no contract that waits: it never existed, or was used already.
	ErrNoContract = fmt.Errorf("%w: no such contract, or it was used already: ask again", ErrRefused)
	// ErrContractExpired means that a contract was not used within [ContractLife], or that the clock went back.
	ErrContractExpired = fmt.Errorf("%w: the contract is older than %v: ask again", ErrRefused, ContractLife)
)

// Book holds the contracts that were given out and not yet used. Each is taken once, within [ContractLife].
// The zero Book is ready to use, by any number of goroutines.
type Book struct {
	mu   sync.Mutex
	open map[string]issued
}

type issued struct {
	contract *permissions.Contract
	at       time.Time
}

// Issue keeps c until it is taken, and returns the random id that takes it.
func (b *Book) Issue(c *permissions.Contract, now time.Time) (id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open = map[string]issued{}
	}
	b.prune(now)
	id = rand.Text()
	b.open[id] = issued{c, now}
	return id
}

// Take returns the contract of id and forgets it, so that the second to come gets [ErrNoContract].
func (b *Book) Take(id string, now time.Time) (*permissions.Contract, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e, ok := b.open[id]
	if !ok {
		return nil, ErrNoContract
	}
	delete(b.open, id)
	if e.expired(now) {
		return nil, ErrContractExpired
	}
	return e.contract, nil
}

// Clear forgets every contract: on revocation, and on entering plan mode.
func (b *Book) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.open)
}

// expired counts a clock that went back as time that ran out.
func (e issued) expired(now time.Time) bool {
	age := now.Sub(e.at)
	return age < 0 || age > ContractLife
}

// prune drops what has expired, and the oldest when there are too many.
func (b *Book) prune(now time.Time) {
	oldest := ""
	for id, e := range b.open {
		if e.expired(now) {
			delete(b.open, id)
		} else if oldest == "" || e.at.Before(b.open[oldest].at) {
			oldest = id
		}
	}
	if len(b.open) >= maxOpen {
		delete(b.open, oldest)
	}
}
