package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// mute is what is kept over restarts of a member whose mail is not taken.
type mute struct {
	V int `json:"v"`
	natsbox.MuteInfo
}

// mutes are those of a team, by name.
type mutes struct {
	mu   sync.Mutex
	all  map[string]natsbox.MuteInfo
	more chan struct{} // holds one when something has changed
}

// maxMute bounds a time that somebody types. Who is not to come back is removed.
const maxMute = 365 * 24 * time.Hour

func (r register) muteSubject(name string) string { return r.subject("mute." + name) }

func (r register) putMute(ctx context.Context, m natsbox.MuteInfo) error {
	data, err := json.Marshal(mute{mailbox.Version, m})
	if err == nil {
		_, err = r.js.Publish(ctx, r.muteSubject(m.Name), data)
	}
	if err != nil {
		return fmt.Errorf("coordinator: register a mute: %w", err)
	}
	return nil
}

func (r register) endMute(ctx context.Context, name string) error {
	st, err := r.js.Stream(ctx, registerStream(r.team))
	if err == nil {
		err = st.Purge(ctx, jetstream.WithPurgeSubject(r.muteSubject(name)))
	}
	if err != nil {
		return fmt.Errorf("coordinator: end a mute: %w", err)
	}
	return nil
}

func (r register) loadMutes(ctx context.Context) (map[string]natsbox.MuteInfo, error) {
	st, err := r.js.Stream(ctx, registerStream(r.team))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(r.muteSubject("*")))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	all := map[string]natsbox.MuteInfo{}
	for subject := range info.State.Subjects {
		m, err := st.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("coordinator: read the register: %s: %w", subject, err)
		}
		var x mute
		if err := json.Unmarshal(m.Data, &x); err != nil || x.V != mailbox.Version {
			return nil, fmt.Errorf("coordinator: the register is damaged: %s: version %d, %w: restore the store", subject, x.V, err)
		}
		all[x.Name] = x.MuteInfo
	}
	return all, nil
}

func silence(m natsbox.MuteInfo) natsauth.Silence {
	if m.Silent {
		return natsauth.Silent
	}
	return natsauth.Muted
}

// muteVerb answers natsbox.VerbMute.
func (r *running) muteVerb(ctx context.Context, who charter.Member, data []byte) (any, error) {
	q, err := read[natsbox.MuteRequest](data)
	if err != nil {
		return nil, err
	}
	r.mutes.mu.Lock()
	defer r.mutes.mu.Unlock()
	if q.Action == natsbox.MuteShow {
		out := []natsbox.MuteInfo{}
		for _, name := range slices.Sorted(maps.Keys(r.mutes.all)) {
			if (q.Name == "" || q.Name == name) && (own(who) == "" || own(who) == name) {
				out = append(out, r.mutes.all[name])
			}
		}
		return out, nil
	}
	if err := r.mayMute(who, q.Name); err != nil {
		return nil, err
	}
	was, muted := r.mutes.all[q.Name]
	if by, ok := r.co.Charter().Member(was.By); muted && ok && by.Kind == charter.KindPerson && who.Kind != charter.KindPerson {
		return nil, refusal(natsbox.CodeForbidden, "ask a person who leads", "%s was muted by %s: a person ends or changes that", q.Name, was.By)
	}
	switch q.Action {
	case natsbox.MuteEnd:
		if !muted {
			return nil, refusal(natsbox.CodeNotFound, "swarm status shows who is", "%s is not muted", q.Name)
		}
		return []natsbox.MuteInfo{was}, r.unmute(ctx, was, who.Name)
	case natsbox.MuteSet:
		m := natsbox.MuteInfo{Name: q.Name, By: who.Name, At: time.Now().UTC(), Reason: q.Reason}
		if titleOf(plans.VisibleLine(q.Reason)) != q.Reason {
			return nil, refusal(natsbox.CodeBadRequest, fmt.Sprintf("say it in at most %d plain characters", maxTitle), "the reason is no line that can be shown")
		}
		if q.ForMS < 0 || q.ForMS > maxMute.Milliseconds() {
			return nil, refusal(natsbox.CodeBadRequest, "name a time up to a year, or none", "%d ms", q.ForMS)
		}
		if q.ForMS > 0 {
			m.Until = m.At.Add(time.Duration(q.ForMS) * time.Millisecond)
		}
		m.Silent = was.Silent
		return []natsbox.MuteInfo{m}, r.setMute(ctx, m)
	}
	return nil, refusal(natsbox.CodeBadRequest, "update the older of the two swarms", "unknown action %q", q.Action)
}

// mayMute refuses who may not mute this member: leaders mute teammates; that a leader's mail is not taken, only another
// person says.
func (r *running) mayMute(who charter.Member, name string) error {
	if who.Role != charter.RoleLeader {
		return refusal(natsbox.CodeForbidden, "ask a leader", "only leaders mute")
	}
	ch := r.co.Charter()
	m, ok := ch.Member(name)
	switch {
	case !ok || m.Retired:
		e := refusal(natsbox.CodeNotFound, "swarm team list shows all", `nobody is called "%s" in team %s`, plans.Cut(name, 60), r.team)
		for _, m := range ch.Members {
			e.Near = append(e.Near, m.Name)
		}
		e.Near = mailbox.Nearest(name, e.Near)
		return e
	case m.Role == charter.RoleTeammate:
		return nil
	case m.Role != charter.RoleLeader || m.Kind == charter.KindPolicy || name == who.Name:
		return refusal(natsbox.CodeBadRequest, "", "%s cannot be muted: it is teammates and other leaders that can", name)
	case who.Kind != charter.KindPerson:
		return refusal(natsbox.CodeForbidden, "ask a person who leads", "a leader is muted by a person only")
	}
	return nil
}

// setMute takes a member's right to send. It is on disk before it counts. The caller holds the lock.
func (r *running) setMute(ctx context.Context, m natsbox.MuteInfo) error {
	if err := r.register.putMute(ctx, m); err != nil {
		return err
	}
	r.mutes.all[m.Name] = m
	r.co.auth.SetSilence(m.Name, silence(m))
	r.mutes.changed()
	r.log.Warn("its mail is not taken", "member", m.Name, "mute", m.Text(), "silent", m.Silent)
	r.ledger.note(audit.EventMuted, m.Name, m.Text())
	return r.owner.ask(ctx, func(*index) { r.owner.tell(event{Kind: "muted", From: m.Name}) })
}

// unmute gives it back. The caller holds the lock.
func (r *running) unmute(ctx context.Context, m natsbox.MuteInfo, by string) error {
	if err := r.register.endMute(ctx, m.Name); err != nil {
		return err
	}
	delete(r.mutes.all, m.Name)
	r.co.auth.SetSilence(m.Name, natsauth.Speaks)
	r.mutes.changed()
	r.log.Info("not muted any more", "member", m.Name, "by", by)
	r.ledger.note(audit.EventMuted, m.Name, "ended by "+by)
	return r.owner.ask(ctx, func(*index) { r.owner.tell(event{Kind: "unmuted", From: m.Name}) })
}

func (l *mutes) changed() {
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// next is when the next one ends by itself; zero: none does.
func (l *mutes) next() (at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range l.all {
		if !m.Until.IsZero() && (at.IsZero() || m.Until.Before(at)) {
			at = m.Until
		}
	}
	return at
}

// followMutes ends those whose time is over, until ctx ends.
func (r *running) followMutes(ctx context.Context) {
	for ctx.Err() == nil {
		var over <-chan time.Time
		t := time.NewTimer(time.Hour)
		if at := r.mutes.next(); !at.IsZero() {
			t.Reset(max(time.Until(at), time.Millisecond))
			over = t.C
		}
		select {
		case <-over:
			r.endMutes(ctx)
		case <-r.mutes.more:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

func (r *running) endMutes(ctx context.Context) {
	r.mutes.mu.Lock()
	defer r.mutes.mu.Unlock()
	for _, m := range slices.Collect(maps.Values(r.mutes.all)) {
		if m.Until.IsZero() || time.Now().Before(m.Until) {
			continue
		}
		if err := r.unmute(ctx, m, broker); err != nil && ctx.Err() == nil {
			r.log.Warn("a mute could not be ended, trying again", "member", m.Name, "error", err)
			sleep(ctx, time.Second)
		}
	}
}

// nameMuted fills in who is muted.
func (r *running) nameMuted(list []natsbox.Presence) {
	r.mutes.mu.Lock()
	defer r.mutes.mu.Unlock()
	for i, p := range list {
		if m, ok := r.mutes.all[p.Name]; ok {
			list[i].Muted = &m
		}
	}
}

// silenceAll is what was said before the start. The door is not open yet.
func (r *running) silenceAll() {
	var names []string
	for name, m := range r.mutes.all {
		r.co.auth.SetSilence(name, silence(m))
		names = append(names, name)
	}
	if len(names) > 0 {
		slices.Sort(names)
		r.log.Warn("still muted", "members", strings.Join(names, ", "))
	}
}
