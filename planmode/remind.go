package planmode

import (
	"fmt"
	"strings"
)

// Cadence is when an agent that plans is told again what that means.
type Cadence struct {
	// Every is after how many of its turns. 0 never reminds.
	Every int
	// Full has each n-th reminder, beginning with the first, be a full one; 0: none by count.
	Full int
	// FullAfter is after how many turns since the last full reminder the next one is full; 0: none by turns.
	FullAfter int
	// FullAfterPerson has the first reminder after a message of a person be full.
	FullAfterPerson bool
	// OnLeaving tells once that plan mode is over.
	OnLeaving bool
}

// Role is whose turn it was.
type Role string

// The roles in an agent's history.
const (
	RoleAssistant Role = "assistant"
	RolePerson    Role = "person"
	RoleReminder  Role = "reminder" // whatever the adapter has put in
	RoleTool      Role = "tool"
)

// Turn is one entry of an agent's history.
type Turn struct {
	Role Role
	Text string
}

// Reminding is what is to be remembered between reminders, and is kept over a restart or not: without it the next one is
// full.
type Reminding struct {
	Count int  // reminders since plan mode began
	Now   bool // a full one at the next occasion: somebody switched plan mode on, or it goes on after a restart
	Told  bool // the agent was told that it plans
}

// RemindInput is how things stand when an agent is about to take a turn.
type RemindInput struct {
	Planning bool
	// Child is an agent that another one started: it is held to plan mode by the gate, and reminded by nobody.
	Child bool
	// Older reports that the plan file has a plan already that this round of planning did not write.
	Older    bool
	PlanFile string
	History  []Turn
}

// ReminderKind says what a reminder says.
type ReminderKind string

// The reminders.
const (
	ReminderNone    ReminderKind = ""
	ReminderFull    ReminderKind = "full"
	ReminderSparse  ReminderKind = "sparse"
	ReminderReentry ReminderKind = "reentry"
	ReminderLeft    ReminderKind = "left"
)

// Next decides whether an agent is reminded now, and what is to be remembered. What was taken out of the history, by an
// undo or a compaction, is not counted: the reminders that the agent still sees are.
func (c Cadence) Next(r Reminding, in RemindInput) (Reminding, ReminderKind) {
	switch {
	case in.Child:
		return r, ReminderNone
	case !in.Planning:
		if r.Told && c.OnLeaving {
			return Reminding{}, ReminderLeft
		}
		return Reminding{}, ReminderNone
	case r.Now:
		return Reminding{Count: r.Count, Told: true}, in.full()
	case c.Every == 0:
		return Reminding{Count: r.Count, Told: true}, ReminderNone
	}
	since := sinceReminder(in.History)
	switch {
	case !since.seen && r.Count > 0 || !r.Told && !since.seen: // the first one, or compacted away
		return Reminding{Count: r.Count + 1, Told: true}, in.full()
	case c.FullAfterPerson && since.person:
		return Reminding{Count: r.Count + 1, Told: true}, ReminderFull
	case c.FullAfter > 0 && since.full >= c.FullAfter:
		return Reminding{Count: r.Count + 1, Told: true}, ReminderFull
	case since.turns < c.Every:
		return Reminding{Count: r.Count, Told: true}, ReminderNone
	}
	next := Reminding{Count: r.Count + 1, Told: true}
	if c.Full > 0 && r.Count%c.Full == 0 {
		return next, ReminderFull
	}
	return next, ReminderSparse
}

func (in RemindInput) full() ReminderKind {
	if in.Older {
		return ReminderReentry
	}
	return ReminderFull
}

type since struct {
	turns  int  // of the agent, since the last reminder
	full   int  // of the agent, since the last full one
	person bool // a person has spoken since the last reminder
	seen   bool // there is a reminder
}

func sinceReminder(history []Turn) since {
	var s since
	fullSeen := false
	for i := len(history) - 1; i >= 0; i-- {
		kind := ReminderNone
		switch t := history[i]; t.Role {
		case RoleAssistant:
			if !s.seen {
				s.turns++
			}
			if !fullSeen {
				s.full++
			}
		case RolePerson:
			s.person = s.person || !s.seen
		case RoleReminder:
			kind = ReminderIn(t)
		}
		s.seen = s.seen || kind != ReminderNone
		fullSeen = fullSeen || kind == ReminderFull || kind == ReminderReentry
	}
	return s
}

// The marks by which a reminder is known again.
const (
	markFull   = "Plan mode is on."
	markSparse = "Plan mode is still on."
	markOlder  = "Plan mode is on again."
	markLeft   = "Plan mode is over."
)

// ReminderIn says which reminder an entry of the history is. What the agent itself, a person or a tool says is none.
func ReminderIn(t Turn) ReminderKind {
	if t.Role != RoleReminder {
		return ReminderNone
	}
	for _, k := range []struct {
		mark string
		kind ReminderKind
	}{{markSparse, ReminderSparse}, {markOlder, ReminderReentry}, {markFull, ReminderFull}, {markLeft, ReminderLeft}} {
		if strings.Contains(t.Text, k.mark) {
			return k.kind
		}
	}
	return ReminderNone
}

// Text is a reminder's words, with the plan's path and how the plan is handed in, such as "swarm plan submit". It approves
// nothing, and says so.
func (k ReminderKind) Text(planFile, handIn string) string {
	const turn = "End each turn with a question to your leader or with the plan handed in; \"shall I go on?\" in the text asks nobody, and no text approves a plan."
	switch k {
	case ReminderFull:
		return fmt.Sprintf(markFull+" Read and search as you like, change nothing, and run nothing that does: such calls are denied. The one file that you may write is %s. "+
			"Find out how things are, ask the few questions that decide the approach, and write one recommended plan there: what changes in which files, how it is tested, which commands it needs. "+
			"Then hand it in with %s. %s", planFile, handIn, turn)
	case ReminderSparse:
		return fmt.Sprintf(markSparse+" As said above: nothing changes but %s, and it is handed in with %s. %s", planFile, handIn, turn)
	case ReminderReentry:
		return fmt.Sprintf(markOlder+" %s has a plan already: read it first and compare it with what is wanted now. Is it the same task, bring that plan up to date; is it another, write it anew. "+
			"Edit the file before you hand it in with %s; nothing else may be changed. %s", planFile, handIn, turn)
	case ReminderLeft:
		return fmt.Sprintf(markLeft+" You may change files again, as far as your permission mode and the plan's grants go. The plan is in %s.", planFile)
	}
	return ""
}
