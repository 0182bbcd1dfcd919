package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	runreport "github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// statusDoc is what `swarm status --json` prints.
type statusDoc struct {
	Broker    string           `json:"broker"`
	Boundary  string           `json:"boundary"` // the layout's name and level
	Layout    runreport.Layout `json:"layout"`   // what it holds against, and why
	Team      string           `json:"team"`
	Leaders   []string         `json:"leaders"`
	Teammates []teammateDoc    `json:"teammates"`
	Counts    map[string]int   `json:"counts"`
	Store     *storeDoc        `json:"store,omitempty"` // when a part of it is filled to 80 % or more
}

// storeDoc is the part of the store that is filled most.
type storeDoc struct {
	Part    string `json:"part"` // store, or a stream
	Percent int    `json:"percent"`
	Next    string `json:"next"` // what to do about it
}

type teammateDoc struct {
	Name       string     `json:"name"`
	Agent      string     `json:"agent"`
	State      string     `json:"state"`
	Mode       string     `json:"mode"`
	SavedMode  string     `json:"savedMode,omitempty"`
	Failed     string     `json:"failed,omitempty"` // why, in state failed
	Plan       string     `json:"plan,omitempty"`
	Tasks      string     `json:"tasks,omitempty"` // how many of the plan's are done, and the one that is under way
	Grants     int        `json:"grants"`
	EnforcedBy string     `json:"enforcedBy,omitempty"`
	Can        []string   `json:"can,omitempty"`  // what its client can do, as it said when it joined
	Tool       string     `json:"tool,omitempty"` // that is used now, turns and tokens: where the agent's client says them
	Turns      int        `json:"turns,omitempty"`
	Tokens     int        `json:"tokens,omitempty"`
	LastSeen   *time.Time `json:"lastSeen,omitempty"`
	Muted      *muteDoc   `json:"muted,omitempty"` // its mail is not taken
	// Blocked are calls that were refused again and again, as they were.
	Blocked []planmode.BlockedCall `json:"blocked,omitempty"`
}

// The states that a session does not have. A teammate is idle while its runner is there and its agent has nothing to do;
// it has failed when its agent ended with an error, or its runner could not go on; it is gone when nothing is heard of it.
const (
	stateNew    = "not started" // it is in the team, and its runner has never been there
	stateIdle   = "idle"
	stateFailed = "failed"
	stateGone   = "gone"
)

func newStatus(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "broker, leaders and teammates", Args: cobra.NoArgs,
		Long: "The broker, who leads, and how each teammate stands: planning, awaiting leader, working (no plan: without\n" +
			"an approved one), stopped until a leader answers, idle (nothing to do: its turn or plan has ended, or it\n" +
			"waits for mail), not started (in the team, and never run), failed (its agent ended with an error, or its runner could not go on), left (ended in\n" +
			"order), GONE (nothing is heard of it).",
		Example: "  swarm status\n  swarm status --json",
		RunE:    asLeader(sh, func(ctx context.Context, l *app.Leader) error { return showStatus(ctx, sh, l) }),
	}
}

func showStatus(ctx context.Context, sh *shell, l *app.Leader) error {
	q, err := l.Queue(ctx)
	if err != nil {
		return err
	}
	doc, err := statusOf(ctx, l, q)
	if err != nil {
		return err
	}
	return sh.print(doc, doc.text())
}

func statusOf(ctx context.Context, l *app.Leader, q *leader.Queue) (statusDoc, error) {
	members, err := l.Presence(ctx)
	if err != nil {
		return statusDoc{}, err
	}
	health, err := l.Health(ctx)
	if err != nil {
		return statusDoc{}, err
	}
	layout := l.Layout(members)
	doc := statusDoc{Broker: "ok " + l.Broker(), Boundary: layout.String(), Layout: layout, Team: l.Team(), Leaders: []string{}, Teammates: []teammateDoc{}, Counts: map[string]int{"waiting": len(q.Rows), "dead": health.Dead}}
	if name, percent := health.Fullest(); percent >= natsbox.FullAt {
		doc.Store = &storeDoc{name, percent, natsbox.FullNext}
	}
	for _, m := range members {
		switch m.Role {
		case charter.RoleLeader:
			doc.Leaders = append(doc.Leaders, m.Name)
		case charter.RoleTeammate:
			t := teammateOf(m)
			doc.Counts["grants"] += t.Grants
			doc.Teammates = append(doc.Teammates, t)
		}
	}
	return doc, nil
}

// What a member may say of itself, so that it does not drown what the others say: blocked calls, capabilities, and the characters
// of one text.
const maxBlocked, maxCan, maxSaid = 5, 32, 300

// said is a text of a member's status, on one line and cut.
func said(text string) string {
	return plans.Cut(plans.VisibleLine(plans.Shorten(text, maxSaid)), maxSaid)
}

func teammateOf(m natsbox.Presence) teammateDoc {
	t := teammateDoc{Name: m.Name, Agent: said(m.Agent), State: stateNew, Mode: "-"}
	for _, can := range m.Capabilities[:min(len(m.Capabilities), maxCan)] {
		t.Can = append(t.Can, said(can))
	}
	if !m.Seen.IsZero() {
		t.LastSeen = &m.Seen
	}
	var s planmode.Status
	if len(m.Status) > 0 && json.Unmarshal(m.Status, &s) == nil {
		t.State, t.Mode, t.SavedMode = said(string(s.State)), said(string(s.Mode)), said(string(s.SavedMode))
		t.Plan, t.Grants, t.EnforcedBy = said(s.ApprovedPlan), len(s.Grants), said(s.EnforcedBy)
		t.Tool, t.Turns, t.Tokens = said(s.Tool), max(0, s.Turns), max(0, s.Tokens)
		t.Tasks, t.Blocked = said(s.Task), s.Blocked[:min(len(s.Blocked), maxBlocked)]
		for i, c := range t.Blocked { // as they were, and cut
			t.Blocked[i].Tool, t.Blocked[i].Input = plans.Shorten(c.Tool, maxSaid), plans.Shorten(c.Input, maxSaid)
		}
	}
	switch {
	case s.State == planmode.Left && s.Failed != "":
		t.State, t.Failed = stateFailed, said(s.Failed)
	case s.State == planmode.Left: // it has ended in order
	case m.Live && len(s.Asks) > 0:
		t.State += ", stopped" // in mid-work, until a leader answers
	case m.Live && s.Idle:
		t.State = stateIdle
	case !m.Live && m.Seen.IsZero() && m.Epoch > 0:
		t.State = "not here" // since the broker was started
	case !m.Live && m.Epoch > 0:
		t.State = stateGone
	}
	if m.Muted != nil {
		d := newMuteDoc(*m.Muted)
		t.Muted = &d
	}
	return t
}

func (d statusDoc) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "broker %s\nteam %s, leaders %s\nboundary %s; not against %s\n", d.Broker, d.Team, strings.Join(d.Leaders, ", "), d.Boundary, strings.Join(d.Layout.NotAgainst, ", "))
	if len(d.Layout.NotKnown) > 0 {
		fmt.Fprintf(&b, "not known: %s\n", strings.Join(d.Layout.NotKnown, "; "))
	}
	if len(d.Teammates) > 0 {
		fmt.Fprintf(&b, "\n%-14s %-8s %-17s %-12s %-6s %-5s %s\n", "WHO", "AGENT", "STATE", "MODE", "GRANTS", "SEEN", "PLAN MODE BY")
	}
	for _, t := range d.Teammates {
		by, _, _ := strings.Cut(t.EnforcedBy, " ")
		fmt.Fprintf(&b, "%-14s %-8s %-17s %-12s %-6d %-5s %s\n", plans.Cut(t.Name, 14), plans.Cut(t.Agent, 8), t.word(), t.Mode, t.Grants, t.seen(), by)
	}
	for _, t := range d.Teammates {
		if does := t.does(); does != "" {
			fmt.Fprintf(&b, "%s: %s\n", t.Name, does)
		}
	}
	for _, t := range d.Teammates {
		if t.Tasks != "" {
			fmt.Fprintf(&b, "%s has done %s\n", t.Name, t.Tasks)
		}
		for _, c := range t.Blocked {
			fmt.Fprintf(&b, "%s was refused %d times: %s\n", t.Name, c.Times, plans.Cut(plans.VisibleLine(c.Tool+" "+c.Input), 80))
		}
		if t.Failed != "" {
			fmt.Fprintf(&b, "%s failed: %s; swarm logs %s\n", t.Name, t.Failed, t.Name)
		}
		if t.Muted != nil {
			fmt.Fprintf(&b, "%s is %s; swarm mail unmute %s\n", t.Name, t.Muted.text(), t.Name)
		}
	}
	fmt.Fprintf(&b, "\nwaiting %d, grants %d\n", d.Counts["waiting"], d.Counts["grants"])
	if line := deadLine(d.Counts["dead"]); line != "" {
		fmt.Fprintln(&b, line)
	}
	if d.Store != nil {
		fmt.Fprintf(&b, "%s is filled to %d %%: %s\n", d.Store.Part, d.Store.Percent, d.Store.Next)
	}
	return b.String()
}

// word is the state as people say it.
func (t teammateDoc) word() string {
	switch {
	case t.State == string(planmode.AwaitingLeaderApproval):
		return "awaiting leader"
	case t.State == string(planmode.Working) && t.Plan == "":
		return "no plan"
	case t.State == stateGone:
		return "GONE"
	}
	return t.State
}

// does is what the agent's client says of its work, or "" where it says nothing.
func (t teammateDoc) does() string {
	var parts []string
	if t.Tool != "" {
		parts = append(parts, "uses "+t.Tool)
	}
	if t.Turns > 0 {
		parts = append(parts, countOf(t.Turns, "turn"))
	}
	if t.Tokens > 0 {
		parts = append(parts, countOf(t.Tokens, "token"))
	}
	return strings.Join(parts, ", ")
}

// seen is how long ago the coordinator heard of it.
func (t teammateDoc) seen() string {
	if t.LastSeen == nil {
		return "-"
	}
	return leader.Age(time.Since(*t.LastSeen))
}
