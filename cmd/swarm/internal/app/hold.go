package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// held is what lies in a leader's folder while it holds a request: whoever removes it ends the hold.
type held struct {
	V         int       `json:"v"`
	ID        string    `json:"id"` // of this hold: another one takes its place
	RequestID string    `json:"requestId"`
	Handle    string    `json:"handle"`
	Since     time.Time `json:"since"`
}

// Hold is how a hold stands, or has ended.
type Hold struct {
	Row   *leader.Row // as it was last
	State string      // held, released, or settled: somebody has decided it, or it is asked no more
}

// The states of a [Hold].
const (
	HoldHeld     = "held"
	HoldReleased = "released"
	HoldSettled  = "settled"
)

func (l *Leader) heldFile() string {
	return l.env.state(l.team).path("desk", "drafts", l.bundle.Me, "hold.json")
}

// Hold tells the other leaders that this one is about to decide a request, until it is settled, released, or ctx ends. It
// locks nothing: another leader can decide it all the same. At most one request of a leader is held: a second hold ends the
// first. told is called once, when it is held.
func (l *Leader) Hold(ctx context.Context, handle string, lost func(error), told func(Hold) error) (Hold, error) {
	q, err := l.Queue(ctx, handle)
	if err != nil {
		return Hold{}, err
	}
	row, err := q.FindFor("hold", handle)
	if err != nil {
		return Hold{}, err
	}
	mine := held{V: version, ID: natsbox.NewID(), RequestID: row.ID(), Handle: row.Handle, Since: time.Now().UTC()}
	if err := writeJSON(l.heldFile(), mine); err != nil {
		return Hold{}, err
	}
	defer l.letGo(mine.ID)
	defer l.Reading(ctx, row, true)()
	if err := told(Hold{row, HoldHeld}); err != nil {
		return Hold{}, err
	}
	end := Hold{row, HoldReleased}
	err = l.Follow(ctx, func() []string { return []string{mine.RequestID} }, lost, func(q *leader.Queue) (bool, error) {
		now, err := q.FindAny(mine.RequestID)
		if err != nil {
			return false, err
		}
		if end.Row = now; !now.Open() {
			end.State = HoldSettled
			return true, nil
		}
		return l.heldNow().ID != mine.ID, nil
	})
	if ctx.Err() != nil { // the person, or --timeout, has ended it
		err = nil
	}
	return end, err
}

// heldNow is the hold that is in force; one without an ID when there is none.
func (l *Leader) heldNow() (h held) {
	if readJSON(l.heldFile(), &h) != nil {
		return held{}
	}
	return h
}

// letGo forgets a hold, where it is still that one.
func (l *Leader) letGo(id string) {
	if l.heldNow().ID == id {
		_ = os.Remove(l.heldFile()) // whoever looks next finds that nobody speaks for it
	}
}

// Release ends the hold of this leader on this machine, and returns the handle of what was held. With a handle it must be
// that request's.
func (l *Leader) Release(ctx context.Context, handle string) (requestID, released string, err error) {
	h := l.heldNow()
	none := fail(exitNotFound, "not_held", "you hold no request on this machine", "swarm hold REQUEST holds one")
	if h.ID == "" {
		return "", "", none
	}
	if handle != "" && handle != h.Handle && handle != h.RequestID {
		q, err := l.Queue(ctx, handle)
		if err != nil {
			return "", "", err
		}
		if row, err := q.FindAny(handle); err != nil {
			return "", "", err
		} else if row.ID() != h.RequestID {
			return "", "", fail(exitNotFound, "not_held", "you hold "+h.Handle+", not "+row.Handle, "swarm hold --release ends that")
		}
	}
	if err := os.Remove(l.heldFile()); errors.Is(err, fs.ErrNotExist) {
		return "", "", none
	} else if err != nil {
		return "", "", err
	}
	return h.RequestID, h.Handle, nil
}
