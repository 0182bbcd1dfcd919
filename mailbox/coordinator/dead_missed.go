package coordinator

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// unusable is mail that no reader of this version can use.
type unusable struct {
	subject mailbox.Subject
	seq     uint64
	reason  string
}

// maxUnusable bounds what is compared at a start.
const maxUnusable = 1000

// whyUnusable says why nobody can use a piece of mail, "" when somebody may. The error is what the index said of it.
func whyUnusable(s mailbox.Subject, err error) string {
	if errors.Is(err, errUnusable) {
		return err.Error()
	}
	if !s.Kind.Known() {
		return "unknown kind " + string(s.Kind)
	}
	return ""
}

// findMissed compares what nobody can use with how far its recipients have read: a broker that was killed between the two
// has not told of it. The reading place has passed it, so it was given up.
func (r *running) findMissed(ctx context.Context) error {
	r.joining.Lock()
	records := maps.Clone(r.records)
	r.joining.Unlock()
	for _, rec := range records {
		who, ok := r.co.Charter().Member(rec.Name)
		if !ok || who.Retired {
			continue
		}
		floors, err := floorsOf(ctx, r.js, r.team, who, r.co.auth.Durable(rec.Name, rec.Instance), rec.Floors)
		if err != nil {
			return err
		}
		for _, u := range r.owner.unusable {
			if u.seq > floors[mailStream(r.team)] || !receives(who, u.subject.To) {
				continue
			}
			err := r.bury(ctx, natsbox.DeadLetter{
				Recipient: who.Name, Stream: mailStream(r.team), Seq: u.seq, DiedAt: time.Now().UTC(),
				Cause: natsbox.DeadTerminated, Reason: u.reason,
			})
			if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
				return err
			}
		}
	}
	return nil
}

// receives reports whether mail to a name comes into a member's mailbox.
func receives(who charter.Member, to string) bool {
	return to == who.Name || to == mailbox.All || to == mailbox.Lead && who.Role == charter.RoleLeader
}
