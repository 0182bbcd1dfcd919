package config

import (
	"fmt"
	"strings"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions/intent"
)

// Leader is what is said of one who leads: what it is, and how far an agent may go. Who leads is for the charter to say.
type Leader struct {
	Name string       `yaml:",key"`
	Kind charter.Kind `yaml:"kind"` // person or agent; empty says nothing
	May  *May         `yaml:"may"`  // of an agent; nil: whatever is not for persons only
}

// May is what a lead agent may do.
type May struct {
	Approve *MayApprove `yaml:"approve"`
	Reject  string      `yaml:"reject"` // always, which is the default, or never
}

// MayApprove bounds what it may approve.
type MayApprove struct {
	Intents  []string `yaml:"intents"`  // every asked one must be one of these
	MaxFiles int      `yaml:"maxFiles"` // 0 is any number
}

// What may.reject can say.
const (
	RejectAlways = "always"
	RejectNever  = "never"
)

// Limit is the leader's limit as the charter has it.
func (l Leader) Limit() (charter.AgentLimit, bool) {
	if l.May == nil || l.May.Approve == nil {
		return charter.AgentLimit{}, false
	}
	return charter.AgentLimit{
		Name: l.Name, Intents: l.May.Approve.Intents, MaxFiles: l.May.Approve.MaxFiles, Reject: l.May.Reject != RejectNever,
	}, true
}

// checkClasses checks who may decide what, each rule by itself: who leads is not known here.
func (d *decoder) checkClasses(c *Caps) {
	for i := range c.PersonOnly {
		d.checkMatch(fmt.Sprintf("caps.personOnly[%d]", i), &c.PersonOnly[i])
	}
	for i := range c.Quorum {
		at, q := fmt.Sprintf("caps.quorum[%d]", i), &c.Quorum[i]
		if !d.checkMatch(at+".match", &q.Match) {
			continue
		}
		if err := q.Check(); err != nil {
			d.late(d.nearest(at+".need", at), "", "%s", err)
		}
	}
	for i := range c.Assurance {
		at, r := fmt.Sprintf("caps.assurance[%d]", i), &c.Assurance[i]
		if !d.checkMatch(at+".match", &r.Match) {
			continue
		}
		if err := r.Check(); err != nil {
			d.late(d.nearest(at+".least", at), "", "%s", err)
		}
	}
}

// checkMatch checks what a rule is about. An intent that nobody knows would match nothing, and so protect nothing.
func (d *decoder) checkMatch(at string, m *charter.Match) bool {
	before := len(d.problems)
	m.Mode = d.mode(at+".mode", m.Mode)
	d.checkIntents(at+".intents", m.Intents)
	if len(d.problems) > before {
		return false
	}
	err := m.Check()
	if err != nil {
		d.late(d.nearest(at, strings.TrimSuffix(at, ".match")), "", "%s", err)
	}
	return err == nil
}

func (d *decoder) checkIntents(at string, names []string) {
	if len(names) > 0 && d.tables == nil {
		d.readTables()
	}
	for i, name := range names {
		if _, _, known := d.tables.Intent(name); known {
			continue
		}
		suggestion := "swarm intent list shows all"
		if in, ok := intent.Resolve(name); ok {
			suggestion = fmt.Sprintf("did you mean %q?", in.Name)
		} else if near := mailbox.Nearest(name, append(intent.Names(), d.ownIntents()...)); len(near) > 0 {
			suggestion = fmt.Sprintf("did you mean %q?", near[0])
		}
		d.late(fmt.Sprintf("%s[%d]", at, i), suggestion, "unknown intent %q", name)
	}
}

// nearest is the first of the paths that stands in the file.
func (d *decoder) nearest(paths ...string) string {
	for _, p := range paths {
		if d.at[p] != nil {
			return p
		}
	}
	return paths[len(paths)-1]
}

func (d *decoder) checkLeaders(leaders []Leader) {
	for _, l := range leaders {
		at := "leaders." + l.Name
		if err := mailbox.CheckMember(l.Name); err != nil {
			d.late(at, "", "%s", plain(err))
		}
		if l.Kind != "" && l.Kind != charter.KindPerson && l.Kind != charter.KindAgent {
			d.late(at+".kind", "use person or agent", "unknown kind %q", l.Kind)
		}
		if l.May != nil {
			d.checkMay(at, l)
		}
	}
}

func (d *decoder) checkMay(at string, l Leader) {
	if l.Kind != charter.KindAgent {
		d.late(at, "add kind: agent, or leave may out", "only an agent has limits, and %s is not said to be one", l.Name)
	}
	if r := l.May.Reject; r != "" && r != RejectAlways && r != RejectNever {
		d.late(at+".may.reject", "use always or never", "unknown word %q", r)
	}
	a := l.May.Approve
	if a == nil || a.Intents == nil {
		d.late(d.nearest(at+".may.approve", at+".may"), "add approve: {intents: [run tests, lint]}; [] is plans that ask for nothing", "it does not say what %s may approve", l.Name)
		return
	}
	d.checkIntents(at+".may.approve.intents", a.Intents)
	if a.MaxFiles < 0 {
		d.late(at+".may.approve.maxFiles", "0 is any number", "maxFiles cannot be %d", a.MaxFiles)
	}
}
