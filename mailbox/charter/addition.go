package charter

import (
	"fmt"
	"slices"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
)

// SignAddition adds one teammate to a charter under the enrolment key. What it returns is appended to [Signed.Additions];
// c is the charter as it was opened, with the additions that it has already.
func SignAddition(enrol nkeys.KeyPair, c Charter, m Member) (Addition, error) {
	key, err := enrol.PublicKey()
	if err != nil {
		return Addition{}, fmt.Errorf("charter: sign addition: %w", err)
	}
	if c.EnrolKey == "" || key != c.EnrolKey {
		return Addition{}, fmt.Errorf("%w: %s is not the enrolment key of team %s: ask its owner to add %q", ErrBadKey, key, c.Team, m.Name)
	}
	if err := newRoster(&c).add(m); err != nil {
		return Addition{}, err
	}
	payload, err := mailbox.Marshal(AddedMember{V: mailbox.Version, TeamID: c.TeamID, Serial: c.Serial, Member: m})
	if err != nil {
		return Addition{}, fmt.Errorf("charter: sign addition: %w", err)
	}
	sig, err := sign(enrol, []byte(additionContext), payload)
	if err != nil {
		return Addition{}, fmt.Errorf("charter: sign addition: %w", err)
	}
	return Addition{Payload: payload, Sig: sig}, nil
}

// addAll verifies additions and puts their members into the charter.
func addAll(c *Charter, additions []Addition) error {
	if len(additions) == 0 {
		return nil
	}
	if c.EnrolKey == "" {
		return bad("it has additions and names no enrolment key: ask the owner to add members")
	}
	r := newRoster(c)
	for i, a := range additions {
		m, err := c.openAddition(a)
		if err == nil {
			err = r.add(m)
		}
		if err != nil {
			return fmt.Errorf("addition %d: %w", i+1, err)
		}
	}
	return nil
}

// openAddition verifies one addition, and that it is to this charter.
func (c Charter) openAddition(a Addition) (Member, error) {
	if !verify(c.EnrolKey, []byte(additionContext), a.Payload, a.Sig) {
		return Member{}, fmt.Errorf("%w: not of the enrolment key: fetch the charter again", ErrBadSignature)
	}
	added, err := readVersioned[AddedMember](a.Payload)
	if err != nil {
		return Member{}, err
	}
	if added.TeamID != c.TeamID || added.Serial != c.Serial {
		return Member{}, bad("%q is added to another charter (serial %d, this is %d): enrol again", added.Member.Name, added.Serial, c.Serial)
	}
	return added.Member, nil
}

// roster finds the members of a charter while teammates are added to it. The slice that the charter began with is left
// as it is.
type roster struct {
	c     *Charter
	names map[string]Member
	keys  map[string]string // names
}

func newRoster(c *Charter) *roster {
	r := &roster{c: c, names: map[string]Member{}, keys: map[string]string{}}
	for _, m := range c.Members {
		r.names[m.Name], r.keys[m.Key] = m, m.Name
	}
	c.Members = slices.Clone(c.Members)
	return r
}

// add adds a teammate; one who is exactly in it already changes nothing.
func (r *roster) add(m Member) error {
	if m.Role != RoleTeammate {
		return bad("the enrolment key adds teammates, and %q is to be %q: ask the owner", m.Name, m.Role)
	}
	if err := m.check(); err != nil {
		return err
	}
	if old, ok := r.names[m.Name]; ok {
		if old.equal(m) {
			return nil
		}
		return bad("there is another %q: choose another name, or ask the owner", m.Name)
	}
	if name, ok := r.keys[m.Key]; ok {
		return bad("%q has the key of %s: make another", m.Name, name)
	}
	if r.c.leads(m.Name) {
		return bad("the charter keeps the name %q for a leader: choose another name", m.Name)
	}
	if m.Key == r.c.EnrolKey {
		return bad("%q has the enrolment key: make another", m.Name)
	}
	r.names[m.Name], r.keys[m.Key] = m, m.Name
	r.c.Members = append(r.c.Members, m)
	return nil
}

// leads reports whether a quorum or a limit names somebody, who may not have joined yet.
func (c Charter) leads(name string) bool {
	return slices.ContainsFunc(c.Quorum, func(q Quorum) bool { return slices.Contains(q.Of, name) }) ||
		slices.ContainsFunc(c.AgentLimits, func(l AgentLimit) bool { return l.Name == name })
}
