package config

import (
	"fmt"
	"slices"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
)

// Deadlines say what happens with what nobody decides, each so long after it was asked; zero and off are never. There is
// none that approves.
type Deadlines struct {
	Remind   time.Duration `yaml:"remind"`   // the leaders are reminded
	Escalate time.Duration `yaml:"escalate"` // the next of To is told, again and again
	To       []string      `yaml:"to"`       // empty: the persons who lead, as the charter lists them
	Reject   time.Duration `yaml:"reject"`   // the request expires
}

// Merge is what holds of a person's and a project's deadlines: of each the shorter one.
func (d Deadlines) Merge(project Deadlines) leader.Deadlines {
	out := leader.Deadlines{
		Remind: sooner(d.Remind, project.Remind), Escalate: sooner(d.Escalate, project.Escalate),
		Reject: sooner(d.Reject, project.Reject), To: d.To,
	}
	if len(out.To) == 0 {
		out.To = project.To
	}
	return out
}

// sooner is the shorter of two times, of which zero is none.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

func (d *decoder) checkDeadlines(l Deadlines) {
	for i, name := range l.To {
		at := fmt.Sprintf("deadlines.to[%d]", i)
		if err := mailbox.CheckMember(name); err != nil {
			d.late(at, "", "%s", plain(err))
		}
		if slices.Contains(l.To[:i], name) {
			d.late(at, "name each leader once", "%q is named twice", name)
		}
	}
	if len(l.To) > 0 && l.Escalate == 0 {
		d.late("deadlines.to", "add escalate: 2h", "nothing is escalated to them")
	}
}

// soonest is the shortest deadline that a project may wish: no repository makes requests end before a person can read them,
// or has leaders told without end.
const soonest = time.Minute

func (d *decoder) checkProjectDeadlines(l Deadlines) {
	for _, one := range []struct {
		name  string
		after time.Duration
	}{{"remind", l.Remind}, {"escalate", l.Escalate}, {"reject", l.Reject}} {
		if one.after > 0 && one.after < soonest {
			d.late("deadlines."+one.name, "set at least 1m here, or less in your own config.yaml", "%s: %s is too soon for a project to wish", one.name, one.after)
		}
	}
}
