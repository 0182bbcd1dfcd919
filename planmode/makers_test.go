package planmode_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// makers draw one event of each kind: what should come, what should not, and what an enemy would send.
var makers = map[string]func(*machine, *rapid.T) planmode.Event{
	"Started":            func(*machine, *rapid.T) planmode.Event { return start(teamCharter()) },
	"Entered":            (*machine).anyEntered,
	"Submitted":          (*machine).anySubmitted,
	"SubmittedWell":      (*machine).goodSubmitted,
	"Published":          func(m *machine, t *rapid.T) planmode.Event { return planmode.Published{RequestID: m.anyID(t)} },
	"Decided":            (*machine).anyDecided,
	"DecidedWell":        (*machine).goodDecided,
	"Onward 1":           (*machine).onward,
	"Onward 2":           (*machine).onward,
	"Onward 3":           (*machine).onward,
	"Onward 4":           (*machine).onward,
	"Onward 5":           (*machine).onward,
	"Onward 6":           (*machine).onward,
	"Onward 7":           (*machine).onward,
	"Onward 8":           (*machine).onward,
	"Onward 9":           (*machine).onward,
	"Reissued":           (*machine).anyReissued,
	"ReissuedAgain":      (*machine).anyReissued,
	"WithdrawAsked":      (*machine).anyWithdrawn,
	"Interrupted":        (*machine).anyInterrupted,
	"LeaveAsked":         (*machine).anyLeave,
	"ModeOrdered":        (*machine).anyModeOrdered,
	"ModeObserved":       (*machine).anyModeObserved,
	"GrantUsed":          (*machine).anyGrantUsed,
	"RevokeOrdered":      (*machine).anyRevoked,
	"Asked":              (*machine).anyAsked,
	"AskWithdrawn":       (*machine).anyAskWithdrawn,
	"PermissionAnswered": (*machine).anyAnswer,
	"CallRefused":        (*machine).anyCallRefused,
	"EntryRefused":       (*machine).anyEntryRefused,
	"TaskMarked":         (*machine).anyTask,
	"Ticked":             (*machine).anyTick,
	"Completed":          func(*machine, *rapid.T) planmode.Event { return planmode.Completed{By: "agent"} },
	"CharterChanged":     (*machine).anyCharter,
	"Resumed":            (*machine).anyResumed,
	"AgentLost": func(_ *machine, t *rapid.T) planmode.Event {
		return planmode.AgentLost{CanResumeAsk: rapid.Bool().Draw(t, "resumable")}
	},
	"End": (*machine).anyEnd,
}

var anyMode = rapid.SampledFrom(append(permissions.Modes(), permissions.ModeDefault, permissions.ModeAcceptEdits, "", "turbo"))

// seldom is true in one of n draws.
func seldom(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

func (m *machine) freshID() string {
	m.ids++
	return fmt.Sprint("r", m.ids)
}

// anyID is an id that somebody could name: what is open, what was, or nothing.
func (m *machine) anyID(t *rapid.T) string {
	pool := []string{"", "r0", m.freshID()}
	if m.s.Pending != nil {
		pool = append(pool, m.s.Pending.RequestID, m.s.Pending.RequestID, m.s.Pending.RequestID)
	}
	for _, a := range m.s.Asks {
		pool = append(pool, a.RequestID)
	}
	for _, d := range m.s.Settled {
		pool = append(pool, d.RequestID)
	}
	return rapid.SampledFrom(pool).Draw(t, "id")
}

func anyAuthority(t *rapid.T) charter.Authority {
	return rapid.SampledFrom([]charter.Authority{
		signed, signed, signed,
		{},
		person,
		weak,
		{Leader: true},
		{Signers: []charter.Member{alice}, QuorumMet: true},
		{NeedsPerson: true, QuorumMet: true},
	}).Draw(t, "authority")
}

// onward is what comes next when nobody does anything wrong: most draws, or no plan would ever be carried out.
func (m *machine) onward(t *rapid.T) planmode.Event {
	switch {
	case m.s.State == planmode.Planning && m.s.Charter.TeamID != m.s.Team:
		return m.anyCharter(t)
	case m.s.State == planmode.Planning && seldom(t, 6, "give up"):
		return rapid.SampledFrom([]planmode.Event{
			planmode.LeaveAsked{RequestID: m.freshID(), Reason: "nothing to do"}, planmode.ModeObserved{Mode: permissions.ModeDefault},
		}).Draw(t, "way out")
	case m.s.State == planmode.Planning:
		return m.goodSubmitted(t)
	case m.s.State == planmode.AwaitingLeaderApproval:
		return m.goodDecided(t)
	case m.s.Approved == nil:
		by := rapid.SampledFrom([]planmode.EnteredBy{planmode.ByAgent, planmode.ByAgent, planmode.ByClient}).Draw(t, "by")
		return planmode.Entered{From: m.s.Mode, By: by, PlanID: m.freshID(), PlanFile: file}
	case len(m.s.Asks) > 0:
		return m.goodAnswer(t)
	case len(m.s.Grants) > 0 && rapid.Bool().Draw(t, "use"):
		return planmode.GrantUsed{GrantID: rapid.SampledFrom(m.s.Grants).Draw(t, "grant").ID, CallHash: "h", Now: m.now}
	}
	return planmode.Asked{Ask: ask(m.freshID(), "h1")}
}

func (m *machine) goodAnswer(t *rapid.T) planmode.Event {
	open := rapid.SampledFrom(m.s.Asks).Draw(t, "ask")
	ev := answer(permissions.BehaviorAllow, rapid.SampledFrom([]permissions.Scope{permissions.ScopeOnce, permissions.ScopePlan, permissions.ScopePlan}).Draw(t, "scope"))
	ev.Now, ev.Answer.RequestID, ev.Answer.CallHash, ev.Answer.TeamID = m.now, open.RequestID, open.CallHash, m.s.Team
	return ev
}

func (m *machine) anyEntered(t *rapid.T) planmode.Event {
	ev := planmode.Entered{
		From:   m.s.Mode,
		By:     rapid.SampledFrom([]planmode.EnteredBy{planmode.ByAgent, planmode.ByAgent, planmode.ByClient, planmode.ByLeader, "", "owner"}).Draw(t, "by"),
		PlanID: rapid.SampledFrom([]string{"p1", "p2", ""}).Draw(t, "plan id"), PlanFile: file,
	}
	if seldom(t, 4, "other mode") {
		ev.From = anyMode.Draw(t, "from")
	}
	return ev
}

func (m *machine) goodSubmitted(t *rapid.T) planmode.Event {
	content := rapid.SampledFrom([][]byte{planA, planB}).Draw(t, "content")
	ev := submit(m.freshID(), content)
	ev.Tasks = plans.Tasks(content)
	ev.Prompts = rapid.SliceOfNDistinct(rapid.SampledFrom([]permissions.Prompt{tests, lint, murky}), 0, 3,
		func(p permissions.Prompt) string { return p.Prompt }).Draw(t, "prompts")
	if rapid.Bool().Draw(t, "with options") {
		ev.Options = ways
	}
	return ev
}

func (m *machine) anySubmitted(t *rapid.T) planmode.Event {
	ev := m.goodSubmitted(t).(planmode.Submitted)
	ev.RequestID = m.anyID(t)
	ev.RequestedMode = anyMode.Draw(t, "requested")
	switch rapid.IntRange(0, 5).Draw(t, "flaw") {
	case 0:
		ev.Content = rapid.SampledFrom([][]byte{nil, []byte(" "), []byte("\xff"), []byte("# other")}).Draw(t, "bytes")
	case 1:
		ev.Prompts = []permissions.Prompt{{Tool: "Write", Prompt: "x"}}
	case 2:
		ev.Options = []plans.Option{{Label: "approve"}}
	}
	return ev
}

// goodDecided is what an honest leader says to what is pending, if anything is.
func (m *machine) goodDecided(t *rapid.T) planmode.Event {
	p := m.s.Pending
	if p == nil {
		return m.anyDecided(t)
	}
	outcome := rapid.SampledFrom([]planmode.Outcome{yes, yes, yes, no, exit, planmode.OutcomeExpired}).Draw(t, "outcome")
	ev := m.decide(outcome)
	if outcome == yes || outcome == exit {
		ev.Decision.Mode = permissions.MinMode(m.s.Saved, m.s.Charter.Caps.Mode)
	}
	if outcome != yes || p.Kind != planmode.AskPlan {
		return ev
	}
	for _, asked := range p.Prompts {
		if asked.Intent != "" && rapid.Bool().Draw(t, "granted") {
			g := terms(asked)
			g.MaxUses = rapid.IntRange(1, 3).Draw(t, "uses")
			g.ExpiresAt = m.now.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "hours")) * time.Hour)
			ev.Decision.Grants = append(ev.Decision.Grants, g)
		}
	}
	if len(p.Options) > 1 {
		ev.Decision.Option = rapid.SampledFrom(p.Options).Draw(t, "option").Label
	}
	if seldom(t, 4, "edited") {
		ev.Decision.EditedPlan = []byte("# Edited\n")
	}
	return seal(m.s, ev)
}

func (m *machine) decide(outcome planmode.Outcome) planmode.Decided {
	ev := decide(m.s, outcome)
	ev.Now, ev.Decision.DecidedAt = m.now, m.now
	ev.Team, ev.Decision.TeamID = m.s.Team, m.s.Team
	return ev
}

// anyDecided is a decision for anything that was ever asked, bent in one or more ways.
func (m *machine) anyDecided(t *rapid.T) planmode.Event {
	var ev planmode.Decided
	if m.s.Pending != nil {
		ev = m.goodDecided(t).(planmode.Decided)
	} else {
		ev = m.decide(yes)
	}
	for range rapid.IntRange(1, 3).Draw(t, "bends") {
		m.bend(t, &ev)
	}
	return ev
}

var bends = []string{
	"id", "outcome", "approved", "mode", "digest", "authority", "grants", "uses", "until", "tree", "edit", "edited",
	"team", "to", "v", "content", "revision", "epoch", "option", "approvedDigest", "shown digest",
}

func (m *machine) bend(t *rapid.T, ev *planmode.Decided) {
	d := &ev.Decision
	d.Grants = slices.Clone(d.Grants)
	switch rapid.SampledFrom(bends).Draw(t, "bend") {
	case "id":
		d.RequestID = m.anyID(t)
	case "outcome":
		d.Outcome = rapid.SampledFrom([]planmode.Outcome{yes, no, exit, planmode.OutcomeExpired, "", "Approved"}).Draw(t, "outcome")
	case "approved":
		d.Approved = !d.Approved
	case "mode":
		d.Mode = anyMode.Draw(t, "mode")
	case "digest":
		d.PlanDigest = "00"
	case "authority":
		ev.Authority = anyAuthority(t)
	case "grants":
		d.Grants = append(d.Grants, terms(rapid.SampledFrom([]permissions.Prompt{tests, lint, murky, {Prompt: "deploy", Intent: "deploy"}}).Draw(t, "grant")))
	case "uses", "until", "tree":
		m.bendGrant(t, d.Grants)
	case "edit":
		d.EditedPlan = rapid.SampledFrom([][]byte{nil, planA, []byte(" "), []byte("\xff")}).Draw(t, "bytes")
	case "edited":
		d.PlanWasEdited = !d.PlanWasEdited
	case "team":
		ev.Team = "other"
	case "to":
		ev.To = "web"
	case "v":
		ev.V = mailbox.Version + 1
	case "content":
		ev.Content = []byte("# Another plan\n")
	case "revision":
		d.Revision++
	case "epoch":
		d.Epoch++
	case "option":
		d.Option = "Third"
	case "approvedDigest":
		d.ApprovedDigest = d.PlanDigest
	case "shown digest":
		if r, ok := m.shown[d.RequestID]; ok {
			d.PlanDigest = r.Digest
		}
	}
}

func (m *machine) bendGrant(t *rapid.T, grants []permissions.GrantTerms) {
	for i := range grants {
		switch rapid.IntRange(0, 2).Draw(t, "term") {
		case 0:
			grants[i].MaxUses = rapid.SampledFrom([]int{0, -1, 11}).Draw(t, "uses")
		case 1:
			grants[i].ExpiresAt = rapid.SampledFrom([]time.Time{{}, m.now, m.now.AddDate(1, 0, 0)}).Draw(t, "until")
		case 2:
			grants[i].Tree = rapid.SampledFrom(badTrees).Draw(t, "tree")
		}
	}
}

func (m *machine) anyReissued(t *rapid.T) planmode.Event {
	ev := planmode.Reissued{Old: m.anyID(t), New: m.anyID(t), Cause: "not signed", Epoch: m.s.Epoch}
	if m.s.Pending != nil && !seldom(t, 3, "other") {
		ev.Old, ev.New = m.s.Pending.RequestID, m.freshID()
	}
	return ev
}

func (m *machine) anyWithdrawn(t *rapid.T) planmode.Event {
	return planmode.WithdrawAsked{Reason: rapid.SampledFrom([]planmode.WithdrawReason{planmode.WithdrawnByAgent, "approved"}).Draw(t, "reason")}
}

func (m *machine) anyInterrupted(*rapid.T) planmode.Event { return planmode.Interrupted{} }

func (m *machine) anyLeave(t *rapid.T) planmode.Event {
	return planmode.LeaveAsked{RequestID: rapid.SampledFrom([]string{m.freshID(), m.anyID(t)}).Draw(t, "leave id"), Reason: "only a question"}
}

func (m *machine) counter(t *rapid.T) uint64 {
	last := m.s.Orders[lead]
	return rapid.SampledFrom([]uint64{last + 1, last + 1, last + 5, last, 0}).Draw(t, "counter")
}

func (m *machine) anyModeOrdered(t *rapid.T) planmode.Event {
	return planmode.ModeOrdered{
		Mode: anyMode.Draw(t, "mode"), Authority: anyAuthority(t), OrderID: "o", Counter: m.counter(t), PlanID: m.freshID(), PlanFile: file,
		Signer: rapid.SampledFrom([]string{lead, lead, lead, "UMALLORY", ""}).Draw(t, "signer"),
	}
}

func (m *machine) anyModeObserved(t *rapid.T) planmode.Event {
	mode := anyMode.Draw(t, "seen")
	if rapid.Bool().Draw(t, "the mode in force") {
		mode = m.s.Mode
	}
	return planmode.ModeObserved{Mode: mode, PlanID: m.freshID(), PlanFile: file}
}

func (m *machine) anyGrant(t *rapid.T) string {
	pool := []string{"", "r0/1"}
	for id := range m.granted {
		pool = append(pool, id)
	}
	slices.Sort(pool)
	return rapid.SampledFrom(pool).Draw(t, "grant id")
}

func (m *machine) anyGrantUsed(t *rapid.T) planmode.Event {
	return planmode.GrantUsed{GrantID: m.anyGrant(t), CallHash: "h", Now: m.now}
}

func (m *machine) anyRevoked(t *rapid.T) planmode.Event {
	return planmode.RevokeOrdered{
		GrantID: m.anyGrant(t), All: seldom(t, 4, "all"), Authority: anyAuthority(t), OrderID: "o", Signer: lead, Counter: m.counter(t),
	}
}

func (m *machine) anyAsked(t *rapid.T) planmode.Event {
	q := ask(rapid.SampledFrom([]string{m.freshID(), m.anyID(t)}).Draw(t, "ask id"), rapid.SampledFrom([]string{"h1", "h2", "h3", "h4", "h5", "h6", "h7", ""}).Draw(t, "hash"))
	if seldom(t, 4, "runner changed") {
		q.Runners = []permissions.RunnerFile{{Path: "Makefile", Digest: "d9"}}
	}
	return planmode.Asked{Ask: q}
}

func (m *machine) anyAskWithdrawn(t *rapid.T) planmode.Event {
	return planmode.AskWithdrawn{RequestID: m.anyID(t), Reason: planmode.WithdrawnInterrupt}
}

func (m *machine) anyAnswer(t *rapid.T) planmode.Event {
	ev := answer(
		rapid.SampledFrom([]permissions.Behavior{permissions.BehaviorAllow, permissions.BehaviorAllow, permissions.BehaviorDeny, ""}).Draw(t, "behavior"),
		rapid.SampledFrom([]permissions.Scope{permissions.ScopeOnce, permissions.ScopePlan, permissions.ScopePlan, ""}).Draw(t, "scope"))
	ev.Authority, ev.Now, ev.Answer.RequestID = anyAuthority(t), m.now, m.anyID(t)
	ev.Answer.TeamID = rapid.SampledFrom([]string{m.s.Team, m.s.Team, m.s.Team, "other"}).Draw(t, "team")
	for _, a := range m.s.Asks {
		if a.RequestID == ev.Answer.RequestID && !seldom(t, 5, "other call") {
			ev.Answer.CallHash = a.CallHash
		}
	}
	if rapid.Bool().Draw(t, "with terms") {
		ev.Answer.Grant = &permissions.GrantTerms{Tree: ".", ExpiresAt: m.now.Add(30 * time.Hour), MaxUses: rapid.IntRange(0, 2).Draw(t, "uses")}
	}
	return ev
}

func (m *machine) anyEntryRefused(t *rapid.T) planmode.Event {
	return planmode.EntryRefused{
		Resolved: rapid.SampledFrom([]planmode.Resolution{"", planmode.ResolvedAuto, planmode.ResolvedRefused, planmode.ResolvedDismissed}).Draw(t, "resolved"),
		Reason:   rapid.SampledFrom([]string{"", "to look", "\xff"}).Draw(t, "reason"),
	}
}

func (m *machine) anyTask(t *rapid.T) planmode.Event {
	return planmode.TaskMarked{
		ID:     rapid.SampledFrom([]string{"", "t1", "t2", "t9"}).Draw(t, "task"),
		Status: rapid.SampledFrom([]planmode.TaskStatus{"", planmode.TaskPending, planmode.TaskStarted, planmode.TaskDone, planmode.TaskBlocked}).Draw(t, "status"),
		Note:   rapid.SampledFrom([]string{"", "no access"}).Draw(t, "note"),
	}
}

func (m *machine) anyCallRefused(t *rapid.T) planmode.Event {
	return planmode.CallRefused{
		Tool: "Bash", Input: rapid.SampledFrom([]string{"", "curl x", "\xff"}).Draw(t, "input"), CallHash: "h1",
		Reason: rapid.SampledFrom([]string{"", "network"}).Draw(t, "reason"),
	}
}

func (m *machine) anyTick(t *rapid.T) planmode.Event {
	m.now = m.now.Add(time.Duration(rapid.IntRange(0, 300).Draw(t, "minutes")) * time.Minute)
	return planmode.Ticked{Now: m.now}
}

func (m *machine) anyCharter(t *rapid.T) planmode.Event {
	c := teamCharter()
	m.serial++
	c.Serial, c.TeamID = m.serial, m.s.Team
	c.Caps.Mode = rapid.SampledFrom([]permissions.Mode{permissions.ModeAuto, permissions.ModeAuto, permissions.ModeDefault, permissions.ModeBypass, permissions.ModePlan, ""}).Draw(t, "cap")
	c.Caps.PlanRequired = rapid.Bool().Draw(t, "planRequired")
	void := seldom(t, 8, "void")
	c.Caps.Grants.Uses = rapid.SampledFrom([]int{10, 2, 0}).Draw(t, "cap of uses")
	switch rapid.IntRange(0, 9).Draw(t, "charter") {
	case 0:
		c.Serial = 1
	case 1:
		c.TeamID = "other"
	case 2:
		c.Members = nil
	}
	return planmode.CharterChanged{Charter: c, Now: m.now, Void: void, PlanID: m.freshID(), PlanFile: file}
}

func (m *machine) anyResumed(t *rapid.T) planmode.Event {
	ev := planmode.Resumed{Team: m.s.Team, Epoch: m.s.Epoch + uint64(rapid.IntRange(0, 1).Draw(t, "epochs")), Now: m.now}
	if seldom(t, 4, "new team") {
		ev.Team += "1"
	}
	return ev
}

func (m *machine) anyEnd(t *rapid.T) planmode.Event {
	switch rapid.IntRange(0, 40).Draw(t, "end") {
	case 0:
		return planmode.Exited{}
	case 1:
		return planmode.Fenced{}
	}
	return planmode.ShutdownOrdered{
		Authority: rapid.SampledFrom([]charter.Authority{{}, {}, {}, {}, {}, signed}).Draw(t, "authority"), OrderID: "o", Signer: lead, Counter: m.counter(t),
	}
}
