package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// Mail to all is for those who were members when it was stored: a member gets what lies beyond the end that the mail
// stream had as its charter came in force. What was sent to itself before that waits for it.

// sinces says for each member where that was.
type sinces struct {
	mu  sync.Mutex
	seq map[string]uint64
}

func (s *sinces) of(name string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seq[name]
}

func (s *sinces) known(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.seq[name]
	return ok
}

// since is what lies in the register.
type since struct {
	V   int    `json:"v"`
	Seq uint64 `json:"seq"`
}

// loadSinces reads the register. A member that it does not know is new, unless it has joined before: then an older swarm has
// kept the store, and it gets everything, as it did there.
func (r *running) loadSinces(ctx context.Context, ch charter.Charter) error {
	st, err := r.js.Stream(ctx, registerStream(r.team))
	if err != nil {
		return fmt.Errorf("coordinator: read the register: %w", err)
	}
	prefix := r.register.subject("since.")
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(prefix+"*"))
	if err != nil {
		return fmt.Errorf("coordinator: read the register: %w", err)
	}
	r.since.seq = map[string]uint64{}
	for subject := range info.State.Subjects {
		m, err := st.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return fmt.Errorf("coordinator: read the register: %s: %w", subject, err)
		}
		var s since
		if err := json.Unmarshal(m.Data, &s); err != nil {
			return fmt.Errorf("coordinator: the register is damaged: %s: %w: restore the store", subject, err)
		}
		r.since.seq[strings.TrimPrefix(subject, prefix)] = s.Seq
	}
	for name := range maps.Keys(r.records) {
		if !r.since.known(name) {
			r.since.seq[name] = 0
		}
	}
	return r.noteSinces(ctx, ch)
}

// noteSinces has mail to all begin for the members of a charter that are new, before it is in force.
func (r *running) noteSinces(ctx context.Context, ch charter.Charter) error {
	for _, m := range ch.Members {
		if m.Retired || r.since.known(m.Name) {
			continue
		}
		end, err := last(ctx, r.js, mailStream(r.team))
		if err != nil {
			return err
		}
		data, err := json.Marshal(since{V: mailbox.Version, Seq: end})
		if err == nil {
			_, err = r.js.Publish(ctx, r.register.subject("since."+m.Name), data)
		}
		if err != nil {
			return fmt.Errorf("coordinator: register %s: %w", m.Name, err)
		}
		r.since.mu.Lock()
		r.since.seq[m.Name] = end
		r.since.mu.Unlock()
	}
	return nil
}
