package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// serialFile is what a leader remembers of the charters that it has seen: an older one may name somebody who was removed.
type serialFile struct {
	V      int    `json:"v"`
	TeamID string `json:"teamId"`
	Serial uint64 `json:"serial"`
	// Handovers are how the team was handed over, as far as this leader has followed.
	Handovers []charter.Handover `json:"handovers,omitempty"`
}

func (l *Leader) serialPath() string {
	return l.env.state(l.team).path("desk", "serial-"+l.bundle.Me+".json")
}

// checkSerial refuses a charter that is older than one this leader has seen, and remembers a newer one.
func (l *Leader) checkSerial(c charter.Charter, chain []charter.Handover) error {
	path := l.serialPath()
	var seen serialFile
	if err := readJSON(path, &seen); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if seen.TeamID == c.TeamID {
		if err := charter.CheckSerial(seen.Serial, c.Serial); err != nil {
			return fail(exitAuth, "old_charter", fmt.Sprintf("the broker serves an older charter of team %s (serial %d) than %s has seen (%d)", l.team, c.Serial, l.bundle.Me, seen.Serial),
				"a removed member may be in it: tell the owner, and decide nothing here until it is explained")
		}
		if seen.Serial == c.Serial {
			return nil
		}
	}
	_ = writeJSON(path, serialFile{V: version, TeamID: c.TeamID, Serial: c.Serial, Handovers: chain}) // one that cannot be kept is checked next time against the last
	return nil
}

// ownerKey is the team's owner key, where it is on this machine. Wipe it after use.
func (l *Leader) ownerKey(ctx context.Context) (nkeys.KeyPair, error) {
	s := l.env.state(l.team)
	if err := s.settleOwner(l.OwnerKey()); err != nil {
		return nil, err
	}
	if k, err := s.sealed(sealedFile); err == nil {
		if k.Key != l.OwnerKey() {
			return nil, fail(exitAuth, "other_owner", fmt.Sprintf("%s is not the key of the owner of team %s", s.path(sealedFile), l.team), "choose the right --state")
		}
		return s.unseal(ctx, l.team, "A new charter")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path := s.path("owner.seed")
	switch err := private(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(exitAuth, "no_owner_key", fmt.Sprintf("the owner's key of team %s is not on this machine, and a new charter needs its signature", l.team), "do it on the machine, with the --state, with which the team was made: it is not at "+path)
	case err != nil:
		return nil, err
	}
	seed, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	defer clear(seed)
	owner, err := seedOf(seed)
	if err != nil {
		return nil, fmt.Errorf("%s holds no key: %w", path, err)
	}
	if publicKey(owner) != l.OwnerKey() {
		return nil, fail(exitAuth, "other_owner", fmt.Sprintf("%s is not the key of the owner of team %s", path, l.team), "choose the right --state")
	}
	return owner, nil
}

// amend has the owner sign a changed charter and puts it in force. A change that cannot be made is tried on no key. It is
// made more than once, each time to a list of members of its own.
func (l *Leader) amend(ctx context.Context, change func(*charter.Charter) error) error {
	try := l.charter
	try.Members = slices.Clone(try.Members)
	if err := change(&try); err != nil {
		return err
	}
	owner, err := l.ownerKey(ctx)
	if err != nil {
		return err
	}
	defer owner.Wipe()
	return l.amendBy(ctx, owner, l.signed.Handovers, change)
}

// amendBy is amend for an owner's key that is at hand, and the hand-overs that make it the owner's.
func (l *Leader) amendBy(ctx context.Context, owner nkeys.KeyPair, chain []charter.Handover, change func(*charter.Charter) error) error {
	for range 5 {
		c := l.charter
		c.Serial++
		c.Members = slices.Clone(c.Members)
		if err := change(&c); err != nil {
			return err
		}
		signed, err := charter.Sign(owner, c, chain...)
		if err != nil {
			return fail(exitUsage, "bad_charter", plainText(err), "")
		}
		q := natsbox.AmendRequest{FromSig: l.signed.Sig, FromAdditions: len(l.signed.Additions), Charter: signed}
		err = l.bring(ctx, q)
		var refused *natsbox.ServiceError
		if errors.As(err, &refused) && refused.Code == natsbox.CodeMoved {
			if err := l.open(ctx); err != nil {
				return err
			}
			continue
		}
		if err == nil {
			l.signed, l.charter = signed, c
		}
		return err
	}
	return fail(exitError, "charter_moves", fmt.Sprintf("the charter of team %s changes all the time", l.team), "try again")
}

// amendWait is how long the answer to a new charter is waited for. Whom it cuts off hears none.
const amendWait = 5 * time.Second

func (l *Leader) bring(ctx context.Context, q natsbox.AmendRequest) error {
	ctx, cancel := context.WithTimeout(ctx, amendWait)
	defer cancel()
	return l.call(ctx, natsbox.VerbAmend, q, nil)
}

// connects says whether the broker lets a key in as this leader, now.
func (l *Leader) connects(ctx context.Context, kp nkeys.KeyPair) error {
	box, err := natsbox.Connect(ctx, natsbox.Config{Servers: l.servers(l.brokers()), CA: l.authority, Insecure: l.bundle.Insecure || l.address.Insecure, Team: l.team, Me: l.bundle.Me, Key: kp, Logger: l.env.logger()})
	if err == nil {
		box.Close()
	}
	return err
}

// Removed is who was removed, and which rules of the charter nobody can meet any more since.
type Removed struct {
	charter.Member
	Unmet []string
}

// Remove takes a member's rights: it stays listed as retired, and its connections are cut at once. That is the safe
// direction, and is done also where too few leaders are left for a rule: what that is about is only rejected then.
func (l *Leader) Remove(ctx context.Context, name string) (Removed, error) {
	if _, ok := l.charter.Member(name); !ok && mailbox.CheckMember(name) == nil {
		m, err := l.uninvite(ctx, name)
		if errors.Is(err, natsbox.ErrNotFound) {
			_, err = l.member(l.charter, name)
		}
		return Removed{Member: m}, err
	}
	var was Removed
	err := l.amend(ctx, func(c *charter.Charter) error {
		i, err := l.member(*c, name)
		if err != nil {
			return err
		}
		was.Member = c.Members[i]
		switch {
		case was.Retired:
			return fail(exitUsage, "retired", name+" has been removed already", "swarm team list shows it")
		case was.Kind == charter.KindPolicy:
			return fail(exitUsage, "needed", name+" signs for the team's policy and stays in the team", "choose another member: swarm team list")
		case lastPerson(*c, name):
			return fail(exitUsage, "last_leader", name+" is the last person who leads this team", "invite another first: swarm team invite NAME --role leader")
		}
		before := c.Unmet(time.Now())
		c.Members[i].Retired = true
		was.Unmet = slices.DeleteFunc(c.Unmet(time.Now()), func(rule string) bool { return slices.Contains(before, rule) })
		return nil
	})
	if err != nil && name == l.bundle.Me && was.Name != "" { // its own connection is cut too, perhaps before the answer
		if key, kerr := l.bundle.Key(); kerr == nil && errors.Is(l.connects(ctx, key), natsbox.ErrRefused) {
			return was, nil
		}
	}
	return was, err
}

// lastPerson reports whether a member is the only person left who leads.
func lastPerson(c charter.Charter, name string) bool {
	person := func(m charter.Member) bool {
		return m.Role == charter.RoleLeader && m.Kind == charter.KindPerson && !m.Retired
	}
	m, ok := c.Member(name)
	return ok && person(m) && !slices.ContainsFunc(c.Members, func(o charter.Member) bool { return o.Name != name && person(o) })
}

// Knows is nil for the name of who is or was a member, and else says who may have been meant.
func (l *Leader) Knows(name string) error {
	_, err := l.member(l.charter, name)
	return err
}

// member finds a member by its name, with what is near when there is none.
func (l *Leader) member(c charter.Charter, name string) (int, error) {
	var names []string
	for i, m := range c.Members {
		if m.Name == name {
			return i, nil
		}
		names = append(names, m.Name)
	}
	next := "swarm team list shows all"
	if near := mailbox.Nearest(name, names); len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "? " + next
	}
	return -1, fail(exitNotFound, "unknown_member", fmt.Sprintf("no member %q in team %s", plans.VisibleLine(name), l.team), next)
}
