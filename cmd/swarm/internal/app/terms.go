package app

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

// terms are what a charter says besides who is in the team: what the owner's configuration wants, narrowed by the
// project's document (invariant 15).
type terms struct {
	caps       charter.Caps
	personOnly []charter.Match
	quorum     []charter.Quorum
	limits     []charter.AgentLimit
	assurance  []charter.AssuranceRule
}

// termsOf reads them from the configuration. What a document adds only narrows: one more class for persons, one more
// quorum, a smaller limit.
func termsOf(s config.Settings, doc *config.Document) terms {
	t := terms{
		caps: capsOf(s.Caps, doc), personOnly: appendNew(charter.DefaultPersonOnly(), s.Caps.PersonOnly...),
		quorum: s.Caps.Quorum, limits: limitsOf(s.Leaders), assurance: s.Caps.Assurance,
	}
	if doc == nil {
		return t
	}
	t.personOnly = appendNew(t.personOnly, doc.Caps.PersonOnly...)
	t.quorum = appendNew(t.quorum, doc.Caps.Quorum...)
	t.assurance = appendNew(t.assurance, doc.Caps.Assurance...)
	for _, l := range limitsOf(doc.Leaders) {
		t.limits = narrowed(t.limits, l)
	}
	return t
}

func limitsOf(leaders []config.Leader) (limits []charter.AgentLimit) {
	for _, l := range leaders {
		if limit, ok := l.Limit(); ok {
			limits = append(limits, limit)
		}
	}
	return limits
}

// narrowed adds a limit; one that is there already becomes what both allow.
func narrowed(limits []charter.AgentLimit, l charter.AgentLimit) []charter.AgentLimit {
	limits = slices.Clone(limits)
	i := slices.IndexFunc(limits, func(o charter.AgentLimit) bool { return o.Name == l.Name })
	if i < 0 {
		return append(limits, l)
	}
	own := &limits[i]
	own.Intents = slices.DeleteFunc(slices.Clone(own.Intents), func(name string) bool { return !slices.Contains(l.Intents, name) })
	if l.MaxFiles > 0 && (own.MaxFiles == 0 || l.MaxFiles < own.MaxFiles) {
		own.MaxFiles = l.MaxFiles
	}
	own.Reject = own.Reject && l.Reject
	return limits
}

// appendNew appends what is not there yet.
func appendNew[T any](list []T, more ...T) []T {
	list = slices.Clone(list)
	for _, m := range more {
		if !slices.ContainsFunc(list, func(o T) bool { return same(o, m) }) {
			list = append(list, m)
		}
	}
	return list
}

// same compares two values as they are written into a charter, where an empty list is none.
func same[T any](a, b T) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// into puts the terms into a charter.
func (t terms) into(c *charter.Charter) {
	c.Caps, c.PersonOnly, c.Quorum, c.AgentLimits, c.Assurance = t.caps, t.personOnly, t.quorum, t.limits, t.assurance
}

// in reports whether a charter says exactly this.
func (t terms) in(c charter.Charter) bool {
	want := c
	t.into(&want)
	return same(want, c)
}

// deadlinesOf is what happens with what nobody decides: of the person's and the project's wishes the sooner ones.
func deadlinesOf(e Env) leader.Deadlines {
	if e.Document == nil {
		return e.Settings.Deadlines.Merge(config.Deadlines{})
	}
	return e.Settings.Deadlines.Merge(e.Document.Deadlines)
}

// capsOf are the owner's caps for this machine: the user's configuration, narrowed by the project's document.
func capsOf(userCaps config.Caps, doc *config.Document) charter.Caps {
	c := charter.Caps{Mode: permissions.ModeAcceptEdits, PlanRequired: true, Grants: charter.GrantCaps{TTLSeconds: int64((24 * time.Hour).Seconds())}}
	if userCaps.Mode != "" {
		c.Mode = userCaps.Mode
	}
	if userCaps.PlanRequired != nil {
		c.PlanRequired = *userCaps.PlanRequired
	}
	if t := userCaps.Grants.TTL; t > 0 {
		c.Grants.TTLSeconds = int64(t.Seconds())
	}
	c.Grants.Uses = userCaps.Grants.Uses
	if doc == nil {
		return c
	}
	if m := doc.Caps.Mode; m != "" {
		c.Mode = permissions.MinMode(c.Mode, m)
	}
	if p := doc.Caps.PlanRequired; p != nil && *p {
		c.PlanRequired = true
	}
	if t := doc.Caps.Grants.TTL; t > 0 {
		c.Grants.TTLSeconds = min(c.Grants.TTLSeconds, int64(t.Seconds()))
	}
	if u := doc.Caps.Grants.Uses; u > 0 && (c.Grants.Uses == 0 || u < c.Grants.Uses) {
		c.Grants.Uses = u
	}
	return c
}

// widerCaps says where a project wishes for more than its person allows: it does not get it (invariant 15).
func widerCaps(userCaps config.Caps, doc *config.Document) string {
	if doc == nil {
		return ""
	}
	own := capsOf(userCaps, nil)
	var wider []string
	if m := doc.Caps.Mode; m != "" && m.Above(own.Mode) {
		wider = append(wider, fmt.Sprintf("mode %s (yours: %s)", m, own.Mode))
	}
	if p := doc.Caps.PlanRequired; p != nil && !*p && own.PlanRequired {
		wider = append(wider, "planRequired false (yours: true)")
	}
	if t := doc.Caps.Grants.TTL; t > own.Grants.TTL() {
		wider = append(wider, fmt.Sprintf("grants.ttl %v (yours: %v)", t, own.Grants.TTL()))
	}
	if u := doc.Caps.Grants.Uses; own.Grants.Uses > 0 && u > own.Grants.Uses {
		wider = append(wider, fmt.Sprintf("grants.uses %d (yours: %d)", u, own.Grants.Uses))
	}
	if len(wider) == 0 {
		return ""
	}
	return "caps of swarm.yaml are wider than your own and are not taken: " + strings.Join(wider, ", ")
}
