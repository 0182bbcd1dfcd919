package coordinator

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// tellings is how many transitions of one teammate's session the ledger takes: nobody plans that often, and the ledger is
// kept for ever.
var tellings = allowance{burst: 60, rate: 0.2}

// sessions are what teammates have told of their sessions.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

type session struct {
	seq    uint64
	bucket bucket
	left   int // that were too many, since the last one that was recorded
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// told records what a teammate says of its session. It is only what it says.
func (r *running) told(ctx context.Context, who charter.Member, data []byte) (any, error) {
	if who.Role != charter.RoleTeammate {
		return nil, refusal(natsbox.CodeForbidden, "", "%s is %s, and only a teammate has a session", who.Name, who.Role)
	}
	q, err := read[natsbox.EventRequest](data)
	if err != nil {
		return nil, err
	}
	if why := wrongEvent(q); why != "" {
		return nil, refusal(natsbox.CodeBadRequest, "", "%s", why)
	}
	if left, ok := r.sessions.take(who.Name, q.Seq, time.Now()); ok {
		err = r.ledger.noted(ctx, audit.EventSession, who.Name, eventNote(q, left))
	}
	return struct{}{}, err
}

// take reports whether an event is recorded, and how many were left out before it.
func (s *sessions) take(name string, seq uint64, now time.Time) (left int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[name]
	if t == nil {
		t = &session{}
		s.all[name] = t
	}
	if seq <= t.seq {
		return 0, false
	}
	t.seq = seq
	if t.bucket.take(1, tellings, now) > 0 {
		t.left++
		return 0, false
	}
	left, t.left = t.left, 0
	return left, true
}

// forget begins a session's numbers anew: the teammate has joined.
func (s *sessions) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.all[name]; t != nil {
		t.seq = 0
	}
}

func wrongEvent(q natsbox.EventRequest) string {
	who := []string{"", string(planmode.ByAgent), string(planmode.ByLeader), string(planmode.ByClient), string(planmode.ByFlag)}
	switch {
	case !slices.Contains(planmode.Events(), q.Event):
		return "that is no event of a session"
	case q.Seq == 0:
		return "the event has no number"
	case q.Digest != "" && !digestForm.MatchString(q.Digest):
		return "the digest is none"
	case q.Mode != "" && !permissions.Mode(q.Mode).Known():
		return "the mode is none"
	case !slices.Contains(who, q.By) && mailbox.CheckMember(q.By) != nil:
		return "who did it is no name"
	}
	return ""
}

// eventNote is an event in words that a teammate has chosen none of.
func eventNote(q natsbox.EventRequest, left int) string {
	words := []string{fmt.Sprintf("%s, line %d", q.Event, q.Seq)}
	for _, w := range [][2]string{{"mode", q.Mode}, {"by", q.By}, {"digest", q.Digest}} {
		if w[1] != "" {
			words = append(words, w[0]+" "+w[1])
		}
	}
	if left > 0 {
		words = append(words, fmt.Sprintf("%d before it were too many and are left out", left))
	}
	return strings.Join(words, ", ")
}
