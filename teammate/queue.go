package teammate

import (
	"context"
	"sync"
)

// queue is a line without end: a step never waits for the effects of the one before.
type queue[T any] struct {
	mu     sync.Mutex
	items  []T
	busy   bool          // one was taken out and is not finished
	filled chan struct{} // has an element when there may be items
}

func newQueue[T any]() *queue[T] { return &queue[T]{filled: make(chan struct{}, 1)} }

func (q *queue[T]) push(item T) {
	q.mu.Lock()
	q.items = append(q.items, item)
	q.mu.Unlock()
	select {
	case q.filled <- struct{}{}:
	default:
	}
}

// next waits for an item. Whoever takes one out calls finish before the next.
func (q *queue[T]) next(ctx context.Context) (T, bool) {
	for {
		if item, ok := q.pop(); ok {
			return item, true
		}
		select {
		case <-q.filled:
		case <-ctx.Done():
			var zero T
			return zero, false
		}
	}
}

func (q *queue[T]) pop() (T, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	var zero T
	if len(q.items) == 0 {
		q.items = nil
		return zero, false
	}
	item := q.items[0]
	q.items[0] = zero
	q.items = q.items[1:]
	q.busy = true
	return item, true
}

func (q *queue[T]) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
}

// idle reports whether nothing is waiting or under way.
func (q *queue[T]) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) == 0 && !q.busy
}

// signal wakes everybody who waits for something to change.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) all() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
