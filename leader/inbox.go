package leader

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
)

// The widest that columns of the inbox become, in terminal cells. ID is never cut, so that it can be copied; PLAN takes what
// is left.
const (
	colRisk, colAge, colWho       = 4, 4, 8
	colChange, colGrants, colNote = 10, 11, 14
	colCovers                     = 26
	minPlan, defaultColumns       = 12, 80
	wideColumns                   = 110 // from here on, what the prompts cover is shown too
)

// WriteInbox writes the queue as a table for a terminal of the given width in cells; 0 is 80. Nothing waiting writes
// nothing: see [Queue.Summary].
func WriteInbox(w io.Writer, q *Queue, columns int) error {
	if len(q.Rows) == 0 {
		return nil
	}
	if columns <= 0 {
		columns = defaultColumns
	}
	header := []string{"ID", "RISK", " AGE", "WHO", "PLAN", "CHANGE", "GRANTS", "NOTE"}
	bounds := []int{-1, colRisk, colAge, colWho, 0, colChange, colGrants, colNote}
	if columns >= wideColumns {
		header, bounds = append(header, "COVERS"), append(bounds, colCovers)
		bounds[3], bounds[7] = 2*colWho, 2*colNote
	}
	rows := [][]string{header}
	for i := range q.Rows {
		cells := q.Rows[i].cells(q.now, bounds[7])
		cells[2] = padLeft(cells[2], colAge)
		if len(header) > len(cells) {
			cells = append(cells, firstAnd(q.Rows[i].covers(), colCovers))
		}
		rows = append(rows, cells)
	}
	room := planRoom(rows, bounds, columns)
	for i := range q.Rows {
		if q.Rows[i].Kind == RowRun { // both ends of a command matter
			rows[i+1][4] = cutMiddle(rows[i+1][4], room)
		}
	}
	_, err := io.WriteString(w, table(rows, bounds, columns))
	return err
}

// planRoom is how many cells are left for the column of bound 0.
func planRoom(rows [][]string, bounds []int, columns int) int {
	used := len(bounds) - 1
	for i, bound := range bounds {
		width := 0
		for _, row := range rows {
			width = max(width, plans.Width(row[i]))
		}
		switch {
		case bound == 0:
			width = 0
		case bound > 0:
			width = min(width, bound)
		}
		used += width
	}
	return max(columns-used, minPlan)
}

// covers are the examples of everything that the row's recognised prompts cover.
func (r *Row) covers() (examples []string) {
	for _, p := range r.Prompts {
		if p.Intent != "" {
			examples = append(examples, visibleAll(p.Examples)...)
		}
	}
	return examples
}

// WriteInboxTSV writes the queue for programs: the columns of [WriteInbox], uncut, separated by tabs, without a header,
// and with the time of the request instead of its age.
func WriteInboxTSV(w io.Writer, q *Queue) error {
	var b strings.Builder
	for i := range q.Rows {
		cells := q.Rows[i].cells(q.now, 1<<10)
		cells[2] = q.Rows[i].StoredAt.UTC().Format(time.RFC3339)
		b.WriteString(strings.Join(cells, "\t") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Summary is the last line of the inbox: how many wait, and for how long; or that nothing does.
func (q *Queue) Summary() string {
	odd := ""
	if len(q.Odd) > 0 {
		odd = fmt.Sprintf(" %s refused: no decision about it could be applied.", plural(len(q.Odd), "request was", "requests were"))
	}
	if len(q.Rows) == 0 {
		return fmt.Sprintf("Nothing waits. %s: swarm status", plural(len(q.teammates), "teammate", "teammates")) + odd
	}
	return fmt.Sprintf("%d waiting, oldest %s. swarm show ID", len(q.Rows), Age(q.Oldest())) + odd
}

// cells are the columns of one row, made visible; noteWidth bounds the last one.
func (r *Row) cells(now time.Time, noteWidth int) []string {
	return []string{
		r.Handle, r.riskWord(), Age(now.Sub(r.StoredAt)), plans.VisibleLine(r.From), plans.VisibleLine(r.Goal),
		r.changeCell(), r.grantsCell(), r.noteCell(now, noteWidth),
	}
}

func (r *Row) changeCell() string {
	switch {
	case r.Kind == RowRun:
		return "run?"
	case r.Kind == RowQuestion:
		return "ask?"
	case r.Kind == RowLeave:
		return "leave?"
	case r.Change.Against == 0:
		return fmt.Sprintf("r%d new", r.Revision)
	default:
		return fmt.Sprintf("r%d +%d -%d", r.Revision, r.Change.Added, r.Change.Removed)
	}
}

// riskWord is the risk of what can be approved. Answering a question approves nothing.
func (r *Row) riskWord() string {
	if r.Kind == RowQuestion {
		return "-"
	}
	return r.Risk.Word()
}

// grantsCell is how many prompts are asked, with the word of the widest; where the others are narrower, they are counted
// apart: "1 unknown+2".
func (r *Row) grantsCell() string {
	if len(r.Prompts) == 0 {
		return "-"
	}
	word, n := widest(r.Prompts), 0
	for _, p := range r.Prompts {
		if classOf(p) == word {
			n++
		}
	}
	if others := len(r.Prompts) - n; others > 0 {
		return fmt.Sprintf("%d %s+%d", n, word, others)
	}
	return fmt.Sprintf("%d %s", n, word)
}

// noteCell says what fits, the most urgent first: GONE, stopped, MOVED, due, options, notes.
func (r *Row) noteCell(now time.Time, room int) string {
	var notes []string
	add := func(cond bool, format string, args ...any) {
		if cond {
			notes = append(notes, fmt.Sprintf(format, args...))
		}
	}
	add(r.Presence == presenceGone, "GONE")
	add(r.Kind == RowRun, "stopped")
	add(len(r.Dead) > 0, "dead letter")
	add(r.isMoved(), "MOVED")
	if at, ok := r.deadline(); ok {
		notes = append(notes, "due "+Age(at.Sub(now)))
	}
	add(r.Need > 1, "%d/%d", r.Have, r.Need)
	if n := len(r.Escalated); n > 0 {
		notes = append(notes, "for "+plans.VisibleLine(r.Escalated[n-1].To))
	}
	for _, name := range r.Holders {
		notes = append(notes, plans.VisibleLine(name)+" decides")
	}
	for _, name := range r.Readers {
		notes = append(notes, plans.VisibleLine(name)+" reads")
	}
	if q := r.Request; q != nil {
		add(len(q.Options) > 1, "%d options", len(q.Options))
		add(len(q.Addresses) > 0, "%s", plural(len(q.Addresses), "note", "notes"))
		add(q.Unchanged, "unchanged")
	}
	text := ""
	for _, n := range notes {
		if joined := strings.TrimLeft(text+" "+n, " "); plans.Width(joined) <= room {
			text = joined
		}
	}
	return text
}

// The words of a grant's class, from the widest. The widest one of a request stands in its row.
const (
	classDestroy = "destroy"
	classRoot    = "root"
	classPublish = "publish"
	classNetwork = "network"
	classUnknown = "unknown"
	classRun     = "run"
)

// classOf is the one word for what harm a prompt's commands could do.
func classOf(p permissions.Prompt) string {
	for _, c := range []struct {
		class permissions.Class
		word  string
	}{
		{permissions.ClassTouchesData, classDestroy},
		{permissions.ClassRootEquivalent, classRoot},
		{permissions.ClassPublishes, classPublish},
		{permissions.ClassNetwork, classNetwork},
	} {
		for _, has := range p.Classes {
			if has == c.class {
				return c.word
			}
		}
	}
	if p.Intent == "" {
		return classUnknown
	}
	return classRun
}

func widest(prompts []permissions.Prompt) string {
	order := []string{classDestroy, classRoot, classPublish, classNetwork, classUnknown, classRun}
	best := len(order) - 1
	for _, p := range prompts {
		for i, w := range order {
			if classOf(p) == w {
				best = min(best, i)
			}
		}
	}
	return order[best]
}
