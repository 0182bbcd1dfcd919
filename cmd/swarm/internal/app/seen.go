package app

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/planswarm/swarm/leader"
)

// keepSeen is how many plans a leader's memory of what was shown holds.
const keepSeen = 64

// seenDir is where the revisions lie that this leader has had before its eyes: one folder a plan, one file a revision.
func (l *Leader) seenDir() string {
	return l.env.state(l.team).path("desk", "drafts", l.bundle.Me, "seen")
}

// seen is the last revision of each plan that was shown to this leader. It only chooses what a difference is drawn
// against: what is missing or unreadable is as if it had not been shown.
func (l *Leader) seen() map[string]leader.Seen {
	out := map[string]leader.Seen{}
	plans, _ := os.ReadDir(l.seenDir())
	for _, p := range plans {
		if s, ok := l.seenBefore(p.Name(), 0); ok {
			out[p.Name()] = s
		}
	}
	return out
}

// seenBefore is the last revision of a plan that was shown, below a revision; 0 is any.
func (l *Leader) seenBefore(planID string, below int) (leader.Seen, bool) {
	if planID == "" || planID != filepath.Base(planID) || planID == ".." {
		return leader.Seen{}, false
	}
	entries, _ := os.ReadDir(filepath.Join(l.seenDir(), planID))
	var last leader.Seen
	for _, e := range entries {
		n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(e.Name(), "r"), ".md"))
		if err == nil && n > last.Revision && (below == 0 || n < below) {
			last.Revision = n
		}
	}
	if last.Revision == 0 {
		return last, false
	}
	var err error
	last.Content, err = os.ReadFile(filepath.Join(l.seenDir(), planID, seenFile(last.Revision)))
	return last, err == nil
}

func seenFile(revision int) string { return fmt.Sprintf("r%04d.md", revision) }

// Before is the revision to compare a row's plan with: the last one below it that was shown to this leader, else the one
// that was decided before it.
func (l *Leader) Before(ctx context.Context, row *leader.Row) (leader.Seen, error) {
	if row.Request != nil {
		if s, ok := l.seenBefore(row.Request.PlanID, row.Request.Revision); ok {
			return s, nil
		}
	}
	s, err := leader.Previous(ctx, l.box, *row)
	return s, l.explain(err)
}

// Remarks are the comments on the revision before, and what this one makes of them.
func (l *Leader) Remarks(ctx context.Context, row *leader.Row) ([]leader.Remark, error) {
	list, err := leader.Remarks(ctx, l.box, *row, l.charter)
	return list, l.explain(err)
}

// Remember keeps what was shown, for differences. It fails without harm.
func (l *Leader) Remember(row *leader.Row) {
	if row.Request == nil || !row.IsPlan() {
		return
	}
	id := row.Request.PlanID
	if id == "" || id != filepath.Base(id) || id == ".." || id == "." {
		return
	}
	dir := filepath.Join(l.seenDir(), id)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	_ = writeFile(filepath.Join(dir, seenFile(row.Request.Revision)), row.Request.Plan.Content)
	l.forgetSeen()
}

// forgetSeen drops the plans that were shown longest ago.
func (l *Leader) forgetSeen() {
	entries, _ := os.ReadDir(l.seenDir())
	if len(entries) <= keepSeen {
		return
	}
	age := func(e os.DirEntry) int64 {
		info, err := e.Info()
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(age(a), age(b)) })
	for _, e := range entries[:len(entries)-keepSeen] {
		_ = os.RemoveAll(filepath.Join(l.seenDir(), e.Name()))
	}
}
