package planmode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
)

// charterChanged is rows 58 and 59. While planning it is recorded: caps apply when the mode is restored. A charter of
// another team, an older one, or one without a known cap is not taken.
func (s *step) charterChanged(ev CharterChanged) error {
	old, c := s.Charter, ev.Charter
	switch {
	case c.TeamID != s.Team:
		return fmt.Errorf("%w: it is of team %q, and the session of %q", ErrBadCharter, c.TeamID, s.Team)
	case c.TeamID == old.TeamID && c.Serial < old.Serial:
		return fmt.Errorf("%w: serial %d is older than %d", ErrBadCharter, c.Serial, old.Serial)
	case !c.Caps.Mode.Known():
		return fmt.Errorf("%w: its cap %q is no mode: have the owner sign one with a known mode", ErrBadCharter, c.Caps.Mode)
	}
	s.Charter = c
	if ev.Void && s.State != Left {
		s.void(ev)
		return nil
	}
	if s.State != Working {
		return nil
	}
	s.capMode()
	s.endGrants("charter", func(g permissions.Grant) bool { return !allows(c, old, g, ev.Now) })
	s.emit("charter.changed", "serial", c.Serial, "mode", s.Mode)
	return nil
}

// void is row 59a: leaders whom a thief may have made have decided. What they granted ends, what waits is asked no more, and
// the agent cannot leave plan mode by itself, whoever had entered it. The agent is told to submit again.
func (s *step) void(ev CharterChanged) {
	if s.State == Working {
		s.enter(ByLeader, ev.PlanID, ev.PlanFile, string(WithdrawnNewTeam))
	} else {
		s.withdraw(WithdrawnNewTeam)
		s.dropAsks(WithdrawnNewTeam, true)
		s.newCycle(ByLeader, ev.PlanID, ev.PlanFile)
	}
	s.notify(NotifyResubmit, Notice{})
	s.emit("charter.void", "serial", ev.Charter.Serial)
}

// capMode narrows the mode in force to the cap. A cap of plan leaves no mode to work in: everybody plans.
func (s *step) capMode() {
	switch {
	case !s.Mode.Above(s.ceiling()):
	case s.ceiling() == permissions.ModePlan:
		s.enter(ByLeader, "", "", "charter")
	default:
		s.Mode = s.ceiling()
		s.do(SetMode{s.Mode})
	}
}

// allows reports whether a charter would still let a grant be given: within its caps, by a leader that it has, with the same
// key, and by whom its rules ask for. Rules that did not become stricter were kept when the grant was given.
func allows(c, old charter.Charter, g permissions.Grant, now time.Time) bool {
	caps := c.Caps.Grants
	switch {
	case caps.Uses > 0 && (g.MaxUses == 0 || g.MaxUses > caps.Uses):
		return false
	case now.IsZero() && caps.TTL() < old.Caps.Grants.TTL(), !now.IsZero() && g.ExpiresAt.After(now.Add(caps.TTL()+ClockSkew)):
		return false
	}
	i := slices.IndexFunc(c.Members, func(m charter.Member) bool { return m.Name == g.GrantedBy && leads(m) })
	if i < 0 {
		return false
	}
	by, asked := c.Members[i], askedOfGrant(g)
	if was, known := old.Member(by.Name); known && was.Key != by.Key { // the name is another's now
		return false
	}
	personOnly := func(c charter.Charter) bool {
		return slices.ContainsFunc(c.PersonOnly, func(m charter.Match) bool { return m.Matches(asked) })
	}
	limited := func(c charter.Charter) bool {
		l, ok := c.Limit(by.Name)
		return ok && !slices.Contains(l.Intents, g.Intent)
	}
	_, needed := old.Signatures(nil, asked)
	_, need := c.Signatures(nil, asked)
	switch {
	case by.Kind != charter.KindPerson && personOnly(c) && !personOnly(old):
		return false
	case by.Kind == charter.KindAgent && limited(c) && !limited(old):
		return false
	}
	return need <= needed && by.Assurance.AtLeast(c.Least(asked))
}

// askedOfGrant is what a charter's rules are matched against for a grant that is in force. One for an exact command is of no
// intent; one for an intent of a person's own may be of any class.
func askedOfGrant(g permissions.Grant) charter.Asked {
	if len(g.Argv) > 0 {
		words := make([]string, len(g.Argv))
		for i, w := range g.Argv {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		return AskedOfCall("Bash", strings.Join(words, " "), g.Tree, nil, g.Root)
	}
	a := charter.Asked{Intents: []string{g.Intent}}
	in, builtIn := intent.Describe(g.Intent)
	if !builtIn {
		_, a.Classes = permissions.Kinds("", "")
	}
	for _, class := range in.Classes {
		a.Classes = append(a.Classes, permissions.Class(class))
	}
	return a
}

// resumed is rows 60 to 62: a runner goes on where the journal ends.
func (s *step) resumed(ev Resumed) {
	if d, err := DialectOf(ev.Dialect); err == nil && ev.Dialect != "" {
		s.Dialect = d.Name
	}
	if ev.PlanFile != "" && s.Cycle.PlanFile != "" {
		s.Cycle.PlanFile = ev.PlanFile
	}
	if ev.Team != s.Team {
		s.joinedOther(ev)
		return
	}
	s.Epoch = ev.Epoch
	s.expire(ev.Now)
	s.do(SetMode{s.Mode})
	switch s.State {
	case Working:
		s.watchAsks()
		if s.Approved != nil {
			s.notify(NotifyFollow, Notice{Option: s.Approved.Option, Next: s.followIt()})
		}
		s.do(ReportStatus{})
	case Planning:
		s.watchAsks()
		s.notify(NotifyReentry, Notice{})
	case AwaitingLeaderApproval:
		if !s.Pending.Published {
			s.publish()
		}
		s.do(AskLedger{s.Pending.RequestID}, WatchDecision{s.Pending.RequestID})
		s.watchAsks()
		s.notify(NotifyAwaiting, Notice{})
	}
}

// joinedOther is row 62a: another team's leaders have approved nothing of this. Their charter comes with the next
// [CharterChanged]; until then nothing can be restored, and their counters begin anew.
func (s *step) joinedOther(ev Resumed) {
	if s.State == Working {
		s.Saved, s.Cycle.EnteredBy = s.Mode, ByLeader
	}
	if p := s.Pending; p != nil {
		s.refuse(p.RequestID, SettledWithdrawn, "withdrawn: "+string(WithdrawnNewTeam))
	}
	s.Team, s.Epoch, s.Orders = ev.Team, ev.Epoch, nil
	s.State, s.Mode, s.Pending, s.Drift = Planning, permissions.ModePlan, nil, 0
	s.endAll(string(WithdrawnNewTeam))
	s.Approved = nil
	s.dropAsks(WithdrawnNewTeam, false)
	s.do(SetMode{permissions.ModePlan})
	s.notify(NotifyResubmit, Notice{})
}
