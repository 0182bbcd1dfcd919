//go:build linux

package teammate

// Waiting is how many calls wait for the answer to a permission request.
func (r *Runner) Waiting(id string) int {
	r.asks.mu.Lock()
	defer r.asks.mu.Unlock()
	return len(r.asks.waiting[id])
}
