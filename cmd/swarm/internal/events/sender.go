package events

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// queueLength is how many events wait for one hook; drain is how long what waits is still delivered at the end.
const (
	queueLength = 256
	drain       = 2 * time.Second
	sayEvery    = 10 * time.Second // the same hook's trouble is said so often at most
)

// Sender delivers events to hooks. It is safe for use by several goroutines.
type Sender struct {
	hooks  []*queue
	log    *slog.Logger
	client *http.Client
}

// NewSender makes a sender; [Sender.Run] delivers.
func NewSender(hooks []Hook, log *slog.Logger) *Sender {
	s := &Sender{log: log, client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	for _, h := range hooks {
		s.hooks = append(s.hooks, &queue{hook: h, log: log, events: make(chan Event, queueLength)})
	}
	return s
}

// Send hands an event to every hook that wants it, and to OpenTelemetry, and never waits. What a full queue does not take
// is left out, counted, and said.
func (s *Sender) Send(e Event) {
	trace(e)
	for _, q := range s.hooks {
		if q.hook.Wants(e.Event) {
			q.put(e)
		}
	}
}

// Run delivers until ctx ends, and then for two seconds what waits. It returns when nothing is being delivered any more.
func (s *Sender) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, q := range s.hooks {
		all.Go(func() { s.deliver(ctx, q) })
	}
	all.Wait()
	return context.Cause(ctx)
}

func (s *Sender) deliver(ctx context.Context, q *queue) {
	runtime.LockOSThread() // a program ends when the thread that has started it does: this one ends with the deliveries
	for {
		select {
		case e := <-q.events:
			s.one(context.WithoutCancel(ctx), q, e)
		case <-ctx.Done():
			s.last(ctx, q)
			return
		}
	}
}

// last delivers what waits, as long as there is time.
func (s *Sender) last(ctx context.Context, q *queue) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case e := <-q.events:
			s.one(ctx, q, e)
		default:
			return
		}
	}
	if n := len(q.events) + q.lost(); n > 0 {
		s.log.Warn("events: the hook did not get all", "hook", q.hook.Name(), "dropped", n)
	}
}

func (s *Sender) one(ctx context.Context, q *queue, e Event) {
	ctx, cancel := context.WithTimeout(ctx, q.hook.timeout())
	defer cancel()
	e.Dropped = q.lost()
	line, err := json.Marshal(e)
	if err == nil && len(q.hook.Command) > 0 {
		err = run(ctx, q.hook.Command, append(line, '\n'))
	} else if err == nil {
		err = post(ctx, s.client, q.hook.Webhook, line)
	}
	if err == nil {
		q.got(e.Dropped)
		return
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("it took longer than %v and was ended", q.hook.timeout())
	}
	q.failed(e, err)
}

// queue is what waits for one hook.
type queue struct {
	hook   Hook
	log    *slog.Logger
	events chan Event

	mu      sync.Mutex
	dropped int // since the last that was delivered
	said    time.Time
	unsaid  int
}

func (q *queue) put(e Event) {
	select {
	case q.events <- e:
	default:
		q.drop("the hook is too slow: events are left out", e.Event, nil)
	}
}

// drop counts an event that the hook does not get, and says so now and then.
func (q *queue) drop(what, event string, cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped++
	if q.unsaid++; time.Since(q.said) < sayEvery {
		return
	}
	q.log.Warn("events: "+what, "hook", q.hook.Name(), "event", event, "cause", cause, "count", q.unsaid)
	q.said, q.unsaid = time.Now(), 0
}

func (q *queue) failed(e Event, err error) { q.drop("an event was not delivered", e.Event, err) }

func (q *queue) lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// got takes back what the hook has been told of.
func (q *queue) got(told int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped -= told
}
