package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// invitation is what is kept of one over restarts: the last word on its subject of the register.
type invitation struct {
	V         int               `json:"v"`
	Key       string            `json:"key"` // public, of the invitation
	Name      string            `json:"name"`
	Role      charter.Role      `json:"role"`
	Kind      charter.Kind      `json:"kind"`
	Expires   time.Time         `json:"expires"`
	InvitedBy string            `json:"invitedBy"`
	Spent     string            `json:"spent,omitempty"` // public, the key of who used it
	SpentAt   time.Time         `json:"spentAt,omitzero"`
	Assurance charter.Assurance `json:"assurance,omitempty"`
	Again     int               `json:"again,omitempty"`
	Gone      bool              `json:"gone,omitempty"` // taken back
}

const (
	// maxOpen is how many invitations may be open or pending at once.
	maxOpen = 64
	// keepInvitations is how long a used or expired one is remembered, so that its second use is told and not only refused.
	keepInvitations = 14 * 24 * time.Hour
	// maxAgain is how many second uses are told of.
	maxAgain = 3
)

// invitations are those of a team, by the names of their guests.
type invitations struct {
	mu      sync.Mutex
	all     map[string]invitation
	refused map[string]int // how often the ledger was told that one was refused
}

// standing is how an invitation stands under a charter.
func (i invitation) standing(c charter.Charter, now time.Time) natsbox.InviteState {
	if i.Spent == "" {
		if now.Before(i.Expires) {
			return natsbox.InviteOpen
		}
		return natsbox.InviteExpired
	}
	switch m, ok := c.Member(i.Name); {
	case !ok:
		return natsbox.InvitePending
	case m.Key == i.Spent && m.Role == i.Role:
		return natsbox.InviteIn
	}
	return natsbox.InviteExpired // another has the name, or it has another key by now
}

func (i invitation) info(c charter.Charter, now time.Time) natsbox.InviteInfo {
	info := natsbox.InviteInfo{
		Name: i.Name, Role: i.Role, Kind: i.Kind, State: i.standing(c, now), Expires: i.Expires, InvitedBy: i.InvitedBy,
		Key: i.Spent, Assurance: i.Assurance, Again: i.Again,
	}
	if !i.SpentAt.IsZero() {
		info.UsedAt = &i.SpentAt
	}
	return info
}

// old reports whether an invitation need not be remembered any more.
func (i invitation) old(c charter.Charter, now time.Time) bool {
	return i.Gone || i.standing(c, now) != natsbox.InvitePending && now.Sub(i.Expires) > keepInvitations
}

// putInvitation replaces the record of an invitation; it is on disk when it returns.
func (r register) putInvitation(ctx context.Context, i invitation) error {
	i.V = mailbox.Version
	data, err := json.Marshal(i)
	if err == nil {
		_, err = r.js.Publish(ctx, r.subject("invite."+natsauth.GuestName(i.Key)), data)
	}
	if err != nil {
		return fmt.Errorf("coordinator: register an invitation: %w", err)
	}
	return nil
}

// loadInvitations reads what the register has of invitations, and drops what is old.
func (r register) loadInvitations(ctx context.Context, c charter.Charter) (map[string]invitation, error) {
	st, err := r.js.Stream(ctx, registerStream(r.team))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(r.subject("invite.*")))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	all := map[string]invitation{}
	for subject := range info.State.Subjects {
		m, err := st.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("coordinator: read the register: %s: %w", subject, err)
		}
		var i invitation
		if err := json.Unmarshal(m.Data, &i); err != nil {
			return nil, fmt.Errorf("coordinator: the register is damaged: %s: %w: restore the store", subject, err)
		}
		if i.V != mailbox.Version {
			return nil, fmt.Errorf("coordinator: %w: the register has version %d, and this swarm reads %d: update the older one", mailbox.ErrVersion, i.V, mailbox.Version)
		}
		if i.old(c, time.Now()) {
			if err := st.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
				return nil, fmt.Errorf("coordinator: tidy the register: %w", err)
			}
			continue
		}
		all[strings.TrimPrefix(subject, r.subject("invite."))] = i
	}
	return all, nil
}

// letGuestsIn tells the door who has an invitation. The caller holds the lock of the invitations.
func (r *running) letGuestsIn() {
	ch, now := r.co.Charter(), time.Now()
	var guests []natsauth.Guest
	for _, i := range r.invited.all {
		switch g := (natsauth.Guest{Key: i.Key, Expires: i.Expires}); {
		case i.Gone:
		case i.standing(ch, now) == natsbox.InvitePending:
			g.Expires = time.Time{}
			guests = append(guests, g)
		case i.Spent != "": // that a second use is told, and not only refused
			g.Expires = i.Expires.Add(keepInvitations)
			guests = append(guests, g)
		default:
			guests = append(guests, g)
		}
	}
	r.co.auth.SetGuests(guests)
}

// keepInvitation stores an invitation, and lets its guest in or not. The caller holds the lock of the invitations.
func (r *running) keepInvitation(ctx context.Context, i invitation) error {
	if err := r.register.putInvitation(ctx, i); err != nil {
		return err
	}
	r.invited.all[natsauth.GuestName(i.Key)] = i
	r.letGuestsIn()
	return nil
}

// inviter refuses who may not invite: a lead agent that was talked into it brings nobody in.
func (r *running) inviter(who charter.Member) error {
	if who.Role != charter.RoleLeader || who.Kind != charter.KindPerson {
		return refusal(natsbox.CodeForbidden, "ask a person who leads", "invitations are made by persons who lead")
	}
	return nil
}

// invite remembers an invitation. One for the same name that nobody has used yet ends with it.
func (r *running) invite(ctx context.Context, who charter.Member, data []byte) (any, error) {
	if err := r.inviter(who); err != nil {
		return nil, err
	}
	q, err := read[natsbox.InviteRequest](data)
	if err != nil {
		return nil, err
	}
	r.invited.mu.Lock()
	defer r.invited.mu.Unlock()
	now := time.Now()
	if err := r.checkInvite(q, now); err != nil {
		return nil, err
	}
	for _, old := range slices.Collect(maps.Values(r.invited.all)) {
		if old.Name != q.Name || old.Gone {
			continue
		}
		open := old.standing(r.co.Charter(), now) == natsbox.InviteOpen
		old.Gone = true
		if err := r.keepInvitation(ctx, old); err != nil {
			return nil, err
		}
		if open {
			r.ledger.note(audit.EventInvite, old.Name, "taken back: "+who.Name+" makes another")
		}
	}
	i := invitation{Key: q.Key, Name: q.Name, Role: q.Role, Kind: q.Kind, Expires: q.Expires, InvitedBy: who.Name}
	if err := r.keepInvitation(ctx, i); err != nil {
		return nil, err
	}
	r.ledger.note(audit.EventInvite, i.Name, fmt.Sprintf("made by %s, as %s, until %s, key %s", who.Name, i.Role, i.Expires.UTC().Format(time.RFC3339), i.Key))
	r.log.Info("invited", "name", i.Name, "role", i.Role, "by", who.Name, "expires", i.Expires)
	return i.info(r.co.Charter(), now), nil
}

func (r *running) checkInvite(q natsbox.InviteRequest, now time.Time) error {
	ch := r.co.Charter()
	if err := charter.CheckInvited(q.Name, q.Role, q.Kind); err != nil {
		return refusal(natsbox.CodeBadRequest, "", "%v", err)
	}
	if m, ok := ch.Member(q.Name); ok {
		text := "there is a member %s already"
		if m.Retired {
			text = "there was a member %s, who is listed as removed"
		}
		return refusal(natsbox.CodeNameTaken, "choose another name", text, q.Name)
	}
	if _, taken := ch.ByKey(q.Key); taken || q.Key == ch.EnrolKey || !nkeys.IsValidPublicUserKey(q.Key) {
		return refusal(natsbox.CodeBadRequest, "make another", "the invitation's key cannot be used")
	}
	if life := q.Expires.Sub(now); life <= 0 || life > charter.MaxInvitationLife+time.Minute { // clocks differ
		return refusal(natsbox.CodeBadRequest, "check the clocks of both machines", "an invitation lives for at most %v, and this one for %v", charter.MaxInvitationLife, life.Round(time.Second))
	}
	open := 0
	for _, i := range r.invited.all {
		s := i.standing(ch, now)
		if i.Gone || s != natsbox.InviteOpen && s != natsbox.InvitePending {
			continue
		}
		if open++; i.Name == q.Name && s == natsbox.InvitePending {
			return refusal(natsbox.CodeNameTaken, "swarm team confirm "+q.Name+", or swarm team remove "+q.Name, "%s has been invited, and waits for the owner's word", q.Name)
		}
	}
	if open >= maxOpen {
		return refusal(natsbox.CodeForbidden, "wait until some expire, or take some back with swarm team remove", "%d invitations are open", open)
	}
	return nil
}

// uninvite takes an invitation back, or turns away who waits.
func (r *running) uninvite(ctx context.Context, who charter.Member, data []byte) (any, error) {
	if err := r.inviter(who); err != nil {
		return nil, err
	}
	q, err := read[natsbox.UninviteRequest](data)
	if err != nil {
		return nil, err
	}
	r.invited.mu.Lock()
	defer r.invited.mu.Unlock()
	ch, now := r.co.Charter(), time.Now()
	for _, i := range r.invited.all {
		if s := i.standing(ch, now); i.Name != q.Name || i.Gone || s != natsbox.InviteOpen && s != natsbox.InvitePending {
			continue
		}
		info := i.info(ch, now)
		i.Gone = true
		if err := r.keepInvitation(ctx, i); err != nil {
			return nil, err
		}
		r.ledger.note(audit.EventInvite, i.Name, "taken back by "+who.Name)
		return info, nil
	}
	return nil, refusal(natsbox.CodeNotFound, "swarm team list shows them", "nobody is invited as %q", q.Name)
}

// listInvites shows what is open, who waits, and what was used more than once.
func (r *running) listInvites(_ context.Context, who charter.Member, _ []byte) (any, error) {
	if own(who) != "" {
		return nil, refusal(natsbox.CodeForbidden, "", "invitations are shown to leaders and observers")
	}
	r.invited.mu.Lock()
	defer r.invited.mu.Unlock()
	out := []natsbox.InviteInfo{}
	ch, now := r.co.Charter(), time.Now()
	for _, i := range r.invited.all {
		if !i.Gone {
			out = append(out, i.info(ch, now))
		}
	}
	slices.SortFunc(out, func(a, b natsbox.InviteInfo) int {
		return strings.Compare(a.Name+a.Expires.String(), b.Name+b.Expires.String())
	})
	return out, nil
}

// notForMembers answers members who call the guests' verb.
func (r *running) notForMembers(context.Context, charter.Member, []byte) (any, error) {
	return nil, refusal(natsbox.CodeForbidden, "", "that is for invitations: you are in the team")
}

// guest answers who holds the key of an invitation. The broker lets it ask one thing; so do we.
func (r *running) guest(ctx context.Context, name string, q micro.Request) (any, error) {
	if q.Subject() != mailbox.ServiceSubject(r.team, name, natsbox.VerbEnrol) || len(q.Data()) > maxQuestion {
		return nil, refusal(natsbox.CodeForbidden, "run swarm team join", "an invitation may only be used")
	}
	return r.enrol(ctx, name, q.Data())
}

// enrol spends an invitation, once, or says to who spent it how it stands.
func (r *running) enrol(ctx context.Context, guest string, data []byte) (any, error) {
	q, err := read[natsbox.EnrolRequest](data)
	if err != nil {
		return nil, err
	}
	r.invited.mu.Lock()
	defer r.invited.mu.Unlock()
	out, err := r.use(ctx, guest, q)
	var no *natsbox.ServiceError
	if errors.As(err, &no) && r.invited.refused[guest] < maxAgain {
		if r.invited.refused == nil {
			r.invited.refused = map[string]int{}
		}
		r.invited.refused[guest]++
		key := q.Key
		if !nkeys.IsValidPublicUserKey(key) {
			key = "that is none"
		}
		r.ledger.note(audit.EventInvite, r.invited.all[guest].Name, fmt.Sprintf("refused: %s (key %s)", no.Message, key))
	}
	return out, err
}

// use is enrol. The caller holds the lock of the invitations.
func (r *running) use(ctx context.Context, guest string, q natsbox.EnrolRequest) (any, error) {
	i, ok := r.invited.all[guest]
	switch {
	case !ok || i.Gone:
		return nil, refusal(natsbox.CodeForbidden, "ask for another", "this invitation was taken back")
	case !charter.VerifyKey(q.Key, r.co.Charter().TeamID, i.Key, q.Proof):
		return nil, refusal(natsbox.CodeForbidden, "run swarm team join again", "the new key is not of who asks, or this is another team")
	case i.Spent == "":
		if err := r.spend(ctx, &i, q); err != nil {
			return nil, err
		}
	case i.Spent != q.Key:
		return nil, r.usedAgain(ctx, i, q.Key)
	}
	return r.admit(ctx, i)
}

// spend marks an invitation as used. That is on disk before anything follows from it.
func (r *running) spend(ctx context.Context, i *invitation, q natsbox.EnrolRequest) error {
	ch, now := r.co.Charter(), time.Now()
	if !now.Before(i.Expires) {
		return refusal(natsbox.CodeForbidden, "ask for another", "the invitation of %s has expired", i.Name)
	}
	if _, taken := ch.ByKey(q.Key); taken || q.Key == i.Key || q.Key == ch.EnrolKey {
		return refusal(natsbox.CodeForbidden, "make another", "the new key is in use")
	}
	if _, taken := ch.Member(i.Name); taken {
		return refusal(natsbox.CodeNameTaken, "ask for an invitation under another name", "there is a member %s by now", i.Name)
	}
	if q.Assurance != charter.Plain && q.Assurance != charter.Sealed && q.Assurance != charter.Confirm && q.Assurance != "" {
		return refusal(natsbox.CodeBadRequest, "", "assurance %q", q.Assurance)
	}
	i.Spent, i.SpentAt, i.Assurance = q.Key, now, q.Assurance
	if err := r.keepInvitation(ctx, *i); err != nil {
		return err
	}
	r.ledger.note(audit.EventInvite, i.Name, fmt.Sprintf("used, with key %s", i.Spent))
	r.log.Info("invitation used", "name", i.Name, "role", i.Role, "key", i.Spent)
	return nil
}

// admit lets in who has spent an invitation, or says that the owner has to.
func (r *running) admit(ctx context.Context, i invitation) (any, error) {
	out := natsbox.Enrolled{Name: i.Name, Role: i.Role, Kind: i.Kind, State: i.standing(r.co.Charter(), time.Now())}
	if out.State == natsbox.InvitePending && i.Role == charter.RoleTeammate {
		switch _, err := r.co.Enrol(ctx, i.Name, i.Spent, i.Kind); {
		case errors.Is(err, ErrNoEnrolment), errors.Is(err, ErrNameInUse):
			return nil, refusal(natsbox.CodeForbidden, "", "%s", strings.TrimPrefix(err.Error(), "coordinator: "))
		case err != nil:
			return nil, err
		}
		out.State = natsbox.InviteIn
		r.letGuestsIn()
	}
	out.Charter = r.co.Signed()
	if out.State == natsbox.InvitePending {
		r.nudge(ctx, event{Kind: "invite", From: i.Name})
	}
	return out, nil
}

// usedAgain tells the leaders and the first holder that somebody else has this invitation too.
func (r *running) usedAgain(ctx context.Context, i invitation, key string) error {
	r.log.Warn("an invitation was used twice: one of the two stole it", "name", i.Name, "role", i.Role, "first", i.Spent, "second", key)
	if i.Again++; i.Again <= maxAgain {
		if err := r.keepInvitation(ctx, i); err != nil {
			return err
		}
		text := fmt.Sprintf("The invitation of %s (%s, by %s) was used a second time, with another key: it is in somebody else's hands too. If the one who is in is not the right one: swarm team remove %s",
			i.Name, i.Role, i.InvitedBy, i.Name)
		for _, to := range []string{mailbox.Lead, i.Name} {
			r.tellByMail(ctx, to, text)
		}
	}
	return refusal(natsbox.CodeForbidden, "tell the owner: somebody has taken it before you, and ask for another", "the invitation of %s was used already, with another key", i.Name)
}

// broker is who writes what the coordinator has to say.
const broker = "broker"

// tellByMail writes to a member, as the broker.
func (r *running) tellByMail(ctx context.Context, to, text string) {
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, r.team, broker, to, 1, time.Now(), mailbox.Message{Text: text, Urgent: true})
	if err == nil {
		var data []byte
		if data, err = mailbox.Encode(e); err == nil {
			_, err = r.js.Publish(ctx, mailbox.MailSubject(r.team, to, broker, mailbox.KindMessage), data)
		}
	}
	if err != nil {
		r.log.Warn("not told by mail", "to", to, "error", err)
	}
}
