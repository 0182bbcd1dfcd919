package leader

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// The states of a grant.
const (
	GrantActive = "active"
	GrantEnded  = "ended"
)

// GrantRow is one grant as its teammate reports it. It is shown, and proves nothing. Texts in it are foreign.
type GrantRow struct {
	permissions.Grant
	Handle  string // of the grant, for people: "api-2m1x/1"
	State   string // active or ended
	EndedBy string // why it ended: completed, revoked, expired, ...
	EndedAt time.Time
	Gone    bool // the teammate is not there: the grant is what it said last
}

// GrantsDoc is what `swarm grants --json` prints.
type GrantsDoc struct {
	Grants []GrantDoc `json:"grants"`
}

// GrantDoc is one grant as JSON. The intent of an exact command is empty, and argv is the command.
type GrantDoc struct {
	GrantID   string     `json:"grantId"`
	Handle    string     `json:"handle"`
	Teammate  string     `json:"teammate"`
	Prompt    string     `json:"prompt"`
	Intent    string     `json:"intent"`
	Argv      []string   `json:"argv,omitempty"`
	Covers    []string   `json:"covers"` // the examples of the intent, or the exact command
	Tree      string     `json:"tree"`
	Uses      int        `json:"uses"`
	MaxUses   int        `json:"maxUses"` // 0 is any number
	ExpiresAt time.Time  `json:"expiresAt"`
	PlanID    string     `json:"planId"`
	Digest    string     `json:"digest"`
	GrantedBy string     `json:"grantedBy"`
	State     string     `json:"state"`
	EndedBy   string     `json:"endedBy,omitempty"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
}

// Grants lists the grants that teammates report: those in force, by teammate and in the order in which they end, and with
// all also those that ended, the latest first.
func Grants(presence []natsbox.Presence, all bool, now time.Time) []GrantRow {
	var active, ended []GrantRow
	for _, p := range presence {
		var s planmode.Status
		if len(p.Status) == 0 || json.Unmarshal(p.Status, &s) != nil {
			continue
		}
		for _, g := range s.Grants {
			g.Teammate = p.Name // who said so, not whom it names
			row := GrantRow{Grant: g, State: GrantActive, Gone: !p.Live}
			switch {
			case g.Live(now):
				active = append(active, row)
			case now.Before(g.ExpiresAt):
				row.State, row.EndedBy = GrantEnded, "exhausted"
				ended = append(ended, row)
			default:
				row.State, row.EndedBy, row.EndedAt = GrantEnded, "expired", g.ExpiresAt
				ended = append(ended, row)
			}
		}
		for _, g := range s.Ended {
			g.Teammate = p.Name
			ended = append(ended, GrantRow{Grant: g.Grant, State: GrantEnded, EndedBy: g.EndedBy, EndedAt: g.EndedAt, Gone: !p.Live})
		}
	}
	slices.SortStableFunc(active, func(a, b GrantRow) int {
		return cmp.Or(cmp.Compare(a.Teammate, b.Teammate), a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(ended, func(a, b GrantRow) int {
		return cmp.Or(b.EndedAt.Compare(a.EndedAt), cmp.Compare(a.Teammate, b.Teammate), cmp.Compare(a.ID, b.ID))
	})
	rows := append(active, ended...)
	nameGrants(rows)
	if !all {
		rows = rows[:len(active)]
	}
	return rows
}

// nameGrants gives each grant the handle of its request, lengthened where two would be equal.
func nameGrants(rows []GrantRow) {
	for n := minHandle; n <= maxHandle; n++ {
		requests := map[string]string{} // by handle
		equal := false
		for i := range rows {
			g := &rows[i]
			h := mailbox.Handle(g.Teammate, g.RequestID, n)
			if other, ok := requests[h]; ok && other != g.RequestID {
				equal = true
			}
			requests[h] = g.RequestID
			g.Handle = h + "/" + grantNumber(g.ID)
		}
		if !equal {
			return
		}
	}
}

// grantNumber is a grant's place among those of its request. An id of another form is its teammate's own.
func grantNumber(id string) string {
	_, n, _ := strings.Cut(id, "/")
	if n == "" || len(n) > 4 || strings.Trim(n, "0123456789") != "" {
		return "?"
	}
	return n
}

// NewGrantsDoc is the board as JSON.
func NewGrantsDoc(rows []GrantRow) GrantsDoc {
	d := GrantsDoc{Grants: []GrantDoc{}}
	for _, g := range rows {
		doc := GrantDoc{
			GrantID: g.ID, Handle: g.Handle, Teammate: g.Teammate, Prompt: g.Prompt, Intent: g.Intent, Argv: g.Argv, Tree: g.Tree, Covers: covered(g),
			Uses: g.Uses, MaxUses: g.MaxUses, ExpiresAt: docTime(g.ExpiresAt), PlanID: g.PlanID, Digest: g.Digest,
			GrantedBy: g.GrantedBy, State: g.State, EndedBy: g.EndedBy,
		}
		if !g.EndedAt.IsZero() {
			at := docTime(g.EndedAt)
			doc.EndedAt = &at
		}
		d.Grants = append(d.Grants, doc)
	}
	return d
}

// covered is what a grant covers, for JSON.
func covered(g GrantRow) []string {
	if len(g.Argv) > 0 {
		return []string{strings.Join(g.Argv, " ")}
	}
	in, _ := intent.Describe(g.Intent)
	return append([]string{}, in.Examples...)
}

// GrantsSummary is the line below the board: that nothing may run unasked, or how many grants are in force.
func GrantsSummary(rows []GrantRow) string {
	n := 0
	for _, g := range rows {
		if g.State == GrantActive {
			n++
		}
	}
	switch {
	case n == 0 && len(rows) > 0:
		return "No grant is in force: every command is asked."
	case n == 0:
		return "No grant is in force: every command is asked. swarm grants --all lists what has ended"
	}
	return fmt.Sprintf("%s in force. swarm revoke GRANT ends one", plural(n, "grant is", "grants are"))
}

// The columns of the board, in terminal cells, which leave 18 of 80 to FROM. The grant's handle in it is never cut, so that
// it can be copied.
const (
	colGrant, colCommands, colWhere = 12, 17, 9
	colUses, colEnds, colFrom       = 5, 5, 18
)

// WriteGrants writes the board as a table of 80 cells: what is in force, and below it what has ended, with the time and the
// reason of the end. No grants write nothing.
func WriteGrants(w io.Writer, rows []GrantRow, now time.Time) error {
	var b strings.Builder
	line := func(cells ...string) {
		text := fmt.Sprintf("%s %s %s %s %s %s %s", pad(cells[0], colWho), pad(cells[1], colGrant), pad(cells[2], colCommands),
			pad(cells[3], colWhere), pad(cells[4], colUses), pad(cells[5], colEnds), cells[6])
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	section := ""
	for _, g := range rows {
		if g.State != section {
			switch {
			case g.State == GrantActive:
				line("WHO", "GRANT", "COMMANDS", "WHERE", "USES", "ENDS", "FROM")
			case section == "":
				b.WriteString("Ended\n")
			default:
				b.WriteString("\nEnded\n")
			}
			section = g.State
		}
		line(g.cells(now)...)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteGrantsTSV writes the board for programs: the columns of [WriteGrants], uncut, separated by tabs, without a header,
// with the state, the time of the end instead of what is left, and the grant's full id.
func WriteGrantsTSV(w io.Writer, rows []GrantRow) error {
	var b strings.Builder
	for _, g := range rows {
		ended := ""
		if g.State == GrantEnded {
			ended = plans.VisibleLine(g.EndedBy)
		}
		b.WriteString(strings.Join([]string{
			plans.VisibleLine(g.Teammate), plans.VisibleLine(g.Prompt), strings.Join(g.commands(), ", "), where(g.Tree), g.uses(), docTime(g.ExpiresAt).Format(time.RFC3339),
			g.Handle, plans.VisibleLine(g.GrantedBy), g.State, ended, plans.VisibleLine(g.ID),
		}, "\t") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cells are the columns of one grant, made visible.
func (g *GrantRow) cells(now time.Time) []string {
	ends, from := left(g.ExpiresAt.Sub(now)), g.Handle
	if room := colFrom - plans.Width(from+", "); room > 0 && g.GrantedBy != "" {
		from += ", " + plans.Cut(plans.VisibleLine(g.GrantedBy), room)
	}
	if g.State == GrantEnded { // nothing can be done with it: the reason, not the handle
		ends, from = clockOrDash(g.EndedAt), plans.Cut(plans.VisibleLine(g.EndedBy), colFrom)
	}
	return []string{plans.VisibleLine(g.Teammate), plans.VisibleLine(g.Prompt), firstAnd(g.commands(), colCommands), where(g.Tree), g.uses(), ends, from}
}

// commands is what the grant covers: the examples of its intent, or its exact words.
func (g *GrantRow) commands() []string {
	if len(g.Argv) > 0 {
		return []string{plans.VisibleLine(strings.Join(g.Argv, " "))}
	}
	in, ok := intent.Describe(g.Intent)
	if !ok || len(in.Examples) == 0 {
		return []string{"-"}
	}
	return in.Examples
}

func (g *GrantRow) uses() string {
	if g.MaxUses == 0 {
		return fmt.Sprintf("%d", g.Uses)
	}
	return fmt.Sprintf("%d/%d", g.Uses, g.MaxUses)
}

// where is a folder as the board shows it: ./ is the whole tree.
func where(tree string) string {
	if tree == "." || tree == "" {
		return "./"
	}
	return "./" + plans.VisibleLine(tree)
}

// left is what is left of a grant's life: 1h41, 22m, 40s.
func left(d time.Duration) string {
	if d >= time.Hour && d < 24*time.Hour {
		return fmt.Sprintf("%dh%02d", int(d.Hours()), int(d.Minutes())%60)
	}
	return Age(d)
}

func clockOrDash(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return clock(t)
}

// FindGrant returns the grant in force that a grant's id or handle names, or all those of a teammate. rows are best all of
// them ([Grants] with all), so that what has ended can be named. The errors are [Error]s of exit code 15.
func FindGrant(rows []GrantRow, s string) ([]GrantRow, error) {
	s = strings.TrimSpace(s)
	var found []GrantRow
	var ended *GrantRow
	var names []string
	for i := range rows {
		g := &rows[i]
		if g.ID != s && g.Handle != strings.ToLower(s) && g.Teammate != strings.ToLower(s) {
			if g.State == GrantActive {
				names = append(names, g.Handle, g.Teammate)
			}
			continue
		}
		if g.State == GrantActive {
			found = append(found, *g)
		} else if ended == nil {
			ended = g
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case ended != nil:
		return nil, errGrantEnded(s, ended)
	}
	return nil, errUnknownGrant(s, mailbox.Nearest(strings.ToLower(s), names))
}
