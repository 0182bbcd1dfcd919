package charter

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

// maxTTLSeconds is the longest life that caps may give to grants: a hundred years, so that no duration overflows.
const maxTTLSeconds = 100 * 365 * 24 * 3600

var (
	teamIDForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

	roles      = []Role{RoleTeammate, RoleLeader, RoleObserver}
	kinds      = []Kind{KindPerson, KindAgent, KindPolicy}
	assurances = order
	classes    = []permissions.Class{
		permissions.ClassRunsProjectCode, permissions.ClassNetwork, permissions.ClassPublishes,
		permissions.ClassRootEquivalent, permissions.ClassLongLived, permissions.ClassTouchesData,
	}
)

// bad is an [ErrBadCharter] with its reason, which ends with what to do.
func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrBadCharter, fmt.Errorf(format, args...))
}

// Validate reports the first thing that makes a charter unusable or that its owner cannot have meant: a name or key that
// occurs twice, a match that matches nothing, a quorum that nobody can meet. Errors are [ErrBadCharter], [mailbox.ErrVersion]
// and what is wrong with a name or key.
func (c Charter) Validate() error {
	if c.V != mailbox.Version {
		return fmt.Errorf("charter: %w: version %d, and this swarm reads %d: update the older one",
			mailbox.ErrVersion, c.V, mailbox.Version)
	}
	if err := mailbox.CheckName(c.Team); err != nil {
		return bad("team: %w", err)
	}
	if c.Serial == 0 {
		return bad("serial 0: begin with 1")
	}
	if !teamIDForm.MatchString(c.TeamID) {
		return bad("teamId %q: take TeamID of the owner's public key", c.TeamID)
	}
	for _, check := range []func() error{c.checkMembers, c.checkEnrolKey, c.checkCaps, c.checkPersonOnly, c.checkQuorum, c.checkLimits, c.checkAssurance} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c Charter) checkMembers() error {
	names, keys := map[string]bool{}, map[string]string{}
	for _, m := range c.Members {
		if err := m.check(); err != nil {
			return err
		}
		if names[m.Name] {
			return bad("two members are called %q: rename one", m.Name)
		}
		if other, taken := keys[m.Key]; taken {
			return bad("%s and %s have one key: make another", other, m.Name)
		}
		names[m.Name], keys[m.Key] = true, m.Name
	}
	return nil
}

// check refuses a member that no charter can have. Reserved names are for the leaders and observers that swarm itself
// makes (policy, owner, desk, broker); nobody is called lead or all, which are mailboxes.
func (m Member) check() error {
	checkName := mailbox.CheckName
	if m.Role == RoleTeammate || m.Name == mailbox.Lead || m.Name == mailbox.All {
		checkName = mailbox.CheckMember
	}
	if err := checkName(m.Name); err != nil {
		return bad("member: %w", err)
	}
	if err := checkUserKey(m.Key); err != nil {
		return bad("member %s: %w", m.Name, err)
	}
	switch {
	case !slices.Contains(roles, m.Role):
		return bad("member %s: role %q: use one of %s", m.Name, m.Role, listed(roles))
	case !slices.Contains(kinds, m.Kind):
		return bad("member %s: kind %q: use one of %s", m.Name, m.Kind, listed(kinds))
	case !slices.Contains(assurances, m.Assurance):
		return bad("member %s: assurance %q: use one of %s", m.Name, m.Assurance, listed(assurances[1:]))
	}
	return nil
}

func (c Charter) checkEnrolKey() error {
	if c.EnrolKey == "" {
		return nil
	}
	if err := checkUserKey(c.EnrolKey); err != nil {
		return bad("enrolKey: %w", err)
	}
	if m, taken := c.ByKey(c.EnrolKey); taken {
		return bad("enrolKey is the key of %s: make one for enrolling alone", m.Name)
	}
	return nil
}

func (c Charter) checkCaps() error {
	if !c.Caps.Mode.Known() {
		return bad("caps.mode %q: use one of %s", c.Caps.Mode, listed(permissions.Modes()))
	}
	if g := c.Caps.Grants; g.TTLSeconds < 0 || g.TTLSeconds > maxTTLSeconds || g.Uses < 0 {
		return bad("caps.grants {ttlSeconds: %d, uses: %d}: use 0 for the default, else a positive number", g.TTLSeconds, g.Uses)
	}
	return nil
}

func (c Charter) checkPersonOnly() error {
	for i, m := range c.PersonOnly {
		if err := m.Check(); err != nil {
			return bad("personOnly[%d]: %w", i, err)
		}
	}
	return nil
}

// Check reports what is wrong with a match by itself: it matches nothing, or names what nobody knows.
func (m Match) Check() error {
	if len(m.Intents)+len(m.Classes)+len(m.Paths) == 0 && m.Mode == "" {
		return fmt.Errorf("matches nothing: name intents, classes, paths or a mode (mode %q matches every approval)", permissions.ModePlan)
	}
	if slices.Contains(m.Intents, "") {
		return fmt.Errorf("an intent has no name: write it, or leave it out")
	}
	for _, c := range m.Classes {
		if !slices.Contains(classes, c) {
			return fmt.Errorf("class %q: use one of %s", c, listed(classes))
		}
	}
	for _, p := range m.Paths {
		if err := CheckPattern(p); err != nil {
			return err
		}
	}
	if m.Mode != "" && !m.Mode.Known() {
		return fmt.Errorf("mode %q: use one of %s", m.Mode, listed(permissions.Modes()))
	}
	return nil
}

// checkQuorum refuses a quorum of names that cannot be leaders. That some of them are not there yet, or no more, is no
// reason: what needs them can be rejected meanwhile, and is not approved by fewer. See [Charter.Unmet].
func (c Charter) checkQuorum() error {
	for i, q := range c.Quorum {
		if err := q.Check(); err != nil {
			return bad("quorum[%d]: %w", i, err)
		}
		for _, name := range q.Of {
			if m, ok := c.Member(name); ok && m.Role != RoleLeader {
				return bad("quorum[%d]: %q is no leader: name leaders", i, name)
			}
		}
	}
	return nil
}

// Check reports what is wrong with a quorum by itself, whoever is in the team.
func (q Quorum) Check() error {
	if err := q.Match.Check(); err != nil {
		return err
	}
	for j, name := range q.Of {
		if err := mailbox.CheckName(name); err != nil {
			return err
		}
		if slices.Contains(q.Of[:j], name) {
			return fmt.Errorf("%q is named twice: name each leader once", name)
		}
	}
	switch {
	case q.Need < 1 || q.Need > maxNeed:
		return fmt.Errorf("need %d: use 1 to %d", q.Need, maxNeed)
	case len(q.Of) > 0 && q.Need > len(q.Of):
		return fmt.Errorf("need %d of %d leaders: nothing could ever be approved", q.Need, len(q.Of))
	}
	return nil
}

// maxNeed is the most leaders that a quorum can need: as many signatures of an order are looked at.
const maxNeed = maxSigs

func (c Charter) checkAssurance() error {
	for i, r := range c.Assurance {
		if err := r.Check(); err != nil {
			return bad("assurance[%d]: %w", i, err)
		}
	}
	return nil
}

// Check reports what is wrong with a rule by itself.
func (r AssuranceRule) Check() error {
	if err := r.Match.Check(); err != nil {
		return err
	}
	if r.Least == "" || !slices.Contains(assurances, r.Least) {
		return fmt.Errorf("least %q: use one of %s", r.Least, listed(assurances[1:]))
	}
	return nil
}

// checkLimits refuses limits of those who are no lead agents. A limit may be there before its agent is.
func (c Charter) checkLimits() error {
	seen := map[string]bool{}
	for i, l := range c.AgentLimits {
		m, ok := c.Member(l.Name)
		switch {
		case mailbox.CheckName(l.Name) != nil:
			return bad("agentLimits[%d]: %w", i, mailbox.CheckName(l.Name))
		case ok && (m.Role != RoleLeader || m.Kind != KindAgent):
			return bad("agentLimits[%d]: %q is no lead agent: name a leader of kind %s", i, l.Name, KindAgent)
		case seen[l.Name]:
			return bad("agentLimits[%d]: %q is limited twice: write one limit", i, l.Name)
		case l.MaxFiles < 0:
			return bad("agentLimits[%d]: maxFiles %d: use 0 for any number", i, l.MaxFiles)
		case slices.Contains(l.Intents, ""):
			return bad("agentLimits[%d]: an intent has no name: write it, or leave it out", i)
		}
		seen[l.Name] = true
	}
	return nil
}

// listed is a list of words as a sentence has it.
func listed[T ~string](words []T) string {
	var out []string
	for _, w := range words {
		out = append(out, string(w))
	}
	return strings.Join(out, ", ")
}
