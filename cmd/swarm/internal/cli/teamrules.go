package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
)

// rulesDoc is who may decide what in a team, as its owner signed it.
type rulesDoc struct {
	Caps        charter.Caps            `json:"caps"`
	PersonOnly  []charter.Match         `json:"personOnly"`
	Quorum      []charter.Quorum        `json:"quorum"`
	AgentLimits []charter.AgentLimit    `json:"agentLimits"`
	Assurance   []charter.AssuranceRule `json:"assurance"`
	Unmet       []string                `json:"unmet"` // rules that nobody can meet now, and what to do
}

func rulesOf(c charter.Charter, now time.Time) rulesDoc {
	return rulesDoc{
		Caps: c.Caps, PersonOnly: orNone(c.PersonOnly), Quorum: orNone(c.Quorum), AgentLimits: orNone(c.AgentLimits),
		Assurance: orNone(c.Assurance), Unmet: orNone(c.Unmet(now)),
	}
}

// orNone is the list, or an empty one.
func orNone[T any](list []T) []T { return append([]T{}, list...) }

// text has a line for each rule.
func (d rulesDoc) text() string {
	var b strings.Builder
	line := func(word, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", word, fmt.Sprintf(format, args...))
	}
	line("cap", "%s", d.Caps.Mode)
	for _, m := range d.PersonOnly {
		line("person", "only a person approves: %s", m)
	}
	for _, q := range d.Quorum {
		line("quorum", "%d %s: %s", q.Need, whoOf(q), q.Match)
	}
	for _, r := range d.Assurance {
		line("key", "kept %s or better: %s", r.Least, r.Match)
	}
	for _, l := range d.AgentLimits {
		line("limit", "%s", limitText(l))
	}
	for _, u := range d.Unmet {
		line("UNMET", "%s", u)
	}
	return b.String()
}

func whoOf(q charter.Quorum) string {
	if len(q.Of) == 0 {
		return "persons approve"
	}
	return "of " + strings.Join(q.Of, ", ") + " approve"
}

func limitText(l charter.AgentLimit) string {
	text := l.Name + " approves what asks for nothing"
	if len(l.Intents) > 0 {
		text = l.Name + " approves " + strings.Join(l.Intents, ", ")
	}
	if l.MaxFiles > 0 {
		text += fmt.Sprintf(", at most %d files", l.MaxFiles)
	}
	if !l.Reject {
		text += ", and rejects nothing"
	}
	return text
}
