package natsbox

import "sync"

// recent remembers the last keys that were added.
type recent struct {
	mu   sync.Mutex
	set  map[string]bool
	ring []string
	next int
}

func newRecent(n int) *recent { return &recent{set: map[string]bool{}, ring: make([]string, n)} }

func (r *recent) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.set[key]
}

func (r *recent) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set[key] {
		return
	}
	delete(r.set, r.ring[r.next])
	r.ring[r.next], r.set[key] = key, true
	r.next = (r.next + 1) % len(r.ring)
}
