package natsbox

import (
	"context"
	"fmt"
	"time"
)

// VerbMute takes the right to send mail from a member, gives it back, and says who has none: MuteRequest -> []MuteInfo.
// Everybody may ask about itself; the rest is for leaders.
const VerbMute = "mute"

// MuteAction is what is done.
type MuteAction string

// The actions.
const (
	MuteShow MuteAction = "show"
	MuteSet  MuteAction = "mute"
	MuteEnd  MuteAction = "unmute"
)

// MuteRequest names a member, and for how long.
type MuteRequest struct {
	Action MuteAction `json:"action"`
	Name   string     `json:"name,omitempty"`
	ForMS  int64      `json:"forMs,omitempty"` // 0: until a leader ends it
	Reason string     `json:"reason,omitempty"`
}

// MuteInfo is a member whose mail is not taken.
type MuteInfo struct {
	Name   string    `json:"name"`
	By     string    `json:"by"` // a leader, or broker: its flood guard
	At     time.Time `json:"at"`
	Until  time.Time `json:"until,omitzero"` // zero: until a leader ends it
	Reason string    `json:"reason,omitempty"`
	// Silent says that it went on, so that its receipts and its status are not taken either.
	Silent bool `json:"silent,omitempty"`
}

// Text says it in one line.
func (m MuteInfo) Text() string {
	s := "muted by " + m.By
	if !m.Until.IsZero() {
		s += " until " + m.Until.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	if m.Reason != "" {
		s += " (" + m.Reason + ")"
	}
	return s
}

// Mute asks for one of the actions. For [MuteShow] without a name these are all whom this member may hear of.
func (c *Conn) Mute(ctx context.Context, q MuteRequest) ([]MuteInfo, error) {
	var list []MuteInfo
	err := c.Call(ctx, VerbMute, q, &list)
	return list, err
}

// muted says why the broker did not take our mail, where that is because we are muted.
func (c *Conn) muted(ctx context.Context, denied error) error {
	list, err := c.Mute(ctx, MuteRequest{Action: MuteShow, Name: c.cfg.Me})
	if err != nil || len(list) != 1 {
		return denied
	}
	next := "ask a leader"
	if !list[0].Until.IsZero() {
		next = "wait until then, or " + next
	}
	return fmt.Errorf("%w: %s is %s: nothing was sent; %s for swarm mail unmute %s", ErrMuted, c.cfg.Me, list[0].Text(), next, c.cfg.Me)
}
