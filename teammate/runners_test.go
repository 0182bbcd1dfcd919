//go:build linux

package teammate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate"
)

// changes asks about `make test` as if these files had changed, and returns what the leader is shown.
func (m *mate) changes(r *rig, changed ...permissions.RunnerFile) string {
	r.t.Helper()
	q := m.asking("make test")
	q.Decision.Changed, q.Decision.Hash = changed, fmt.Sprint(changed)
	answered := make(chan error, 1)
	go func() {
		_, err := m.Ask(r.t.Context(), q)
		answered <- err
	}()
	row := r.open()
	r.answer(row, permissions.BehaviorDeny, "")
	if err := <-answered; err != nil {
		r.t.Fatal(err)
	}
	return row.Permission.Change
}

// What a leader is shown of changed files: each as it was judged, and never one that changes in between.
func TestDifferenceIsOfWhatWasJudged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	file := filepath.Join(r.tree, "Makefile")
	write(t, file, "test:\n\tgo test\n")
	write(t, filepath.Join(r.tree, "sub", "Makefile"), "sub\n")
	r.approved(m)
	was := m.status().Grants[0].Runners
	if len(was) != 2 || was[0].Path != "Makefile" || was[1].Path != "sub/Makefile" {
		t.Fatalf("recorded are %+v, want both", was)
	}
	write(t, file, "test:\n\tgo test -race\n# \x1b[2J\xff\n")
	now := permissions.RunnerFile{Path: "Makefile", Digest: digestOf(t, file)}
	got := m.changes(r, now)
	for _, want := range []string{"Makefile has changed since the plan was submitted (-1 +2 lines, SHA-256 now " + now.Digest + "):", "-\tgo test\n", "+\tgo test -race\n", "+# \x1b[2J\uFFFD\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("shown is\n%s\nwant %q in it", got, want)
		}
	}
	for name, tc := range map[string]struct {
		file permissions.RunnerFile
		want string
	}{
		"changing": {permissions.RunnerFile{Path: "Makefile", Digest: strings.Repeat("0", 64)}, "Makefile is changing just now"},
		"gone":     {permissions.RunnerFile{Path: "sub/Makefile"}, "sub/Makefile is gone since the plan was submitted (-1 +0 lines, SHA-256 now none):\n--- before\n+++ after\n@@ -1 +0,0 @@\n-sub\n"},
		"folder":   {permissions.RunnerFile{Path: "sub", Digest: permissions.Unreadable}, "sub cannot be read"},
		"new":      {permissions.RunnerFile{Path: "web/Makefile", Digest: now.Digest}, "web/Makefile was not there when the plan was submitted"},
		"no path":  {permissions.RunnerFile{Path: "../x\n+y", Digest: now.Digest}, "not shown"},
	} {
		if name == "new" {
			write(t, filepath.Join(r.tree, "web", "Makefile"), read(t, file))
		}
		if got := m.changes(r, tc.file); !strings.Contains(got, tc.want) || strings.Contains(got, "\n+y") {
			t.Errorf("%s: shown is\n%s\nwant %q in it", name, got, tc.want)
		}
	}
	write(t, file, strings.Repeat("# a long line of a long file\n", 10_000))
	if got := m.changes(r, permissions.RunnerFile{Path: "Makefile", Digest: digestOf(t, file)}); len(got) > 65<<10 || !strings.HasSuffix(got, "(not all of it is shown)\n") {
		t.Errorf("%d bytes are shown, ending in %q", len(got), got[max(0, len(got)-80):])
	}
}

func digestOf(t testing.TB, file string) string { return plans.Digest([]byte(read(t, file))) }

// The bytes of runner files are kept for the plan that they belong to, over a restart, and no longer.
func TestRunnerBytesAreKeptForTheirPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	file := filepath.Join(r.tree, "Makefile")
	write(t, file, "first:\n")
	r.approved(m)
	m = r.again(m)
	write(t, file, "second:\n")
	if got := m.changes(r, permissions.RunnerFile{Path: "Makefile", Digest: digestOf(t, file)}); !strings.Contains(got, "-first:\n+second:\n") {
		t.Errorf("after a restart shown is\n%s", got)
	}
	kept := func() []string {
		entries, err := os.ReadDir(filepath.Join(r.dir, "runners"))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	both := []string{plans.Digest([]byte("first:\n")), plans.Digest([]byte("second:\n"))}
	if slices.Sort(both); !slices.Equal(kept(), both) {
		t.Errorf("kept are %v, want the first, and the second, which was asked about", kept())
	}
	m.enter()
	m.submit("# Another\n", "run tests")
	if got := kept(); !slices.Equal(got, []string{plans.Digest([]byte("second:\n"))}) {
		t.Errorf("kept are %v, want the second", got)
	}
	write(t, filepath.Join(r.dir, "runners", plans.Digest([]byte("second:\n"))), "tampered:\n")
	p := m.status().Pending
	r.decide(r.approval(r.request(p.RequestID)))
	m.wait()
	write(t, file, "third:\n")
	got := m.changes(r, permissions.RunnerFile{Path: "Makefile", Digest: digestOf(t, file)})
	if strings.Contains(got, "tampered") || !strings.Contains(got, "not kept") {
		t.Errorf("shown is\n%s\nwant nothing that is not what it was", got)
	}
	m.wantState(planmode.Working, permissions.ModeDefault)
}

// A tree beyond the limits is looked at as far as they go; a plan's own files come first, wherever they lie.
func TestLargeTreesAreNotWalkedForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	m := r.start()
	for n := range 80 {
		write(t, filepath.Join(r.tree, fmt.Sprintf("d%02d", n), "Makefile"), fmt.Sprint("# ", n, "\n"))
	}
	write(t, filepath.Join(r.tree, "z", "z", "Makefile"), "# last\n")
	m.enter()
	write(t, m.store.WorkFile(), "# Fix it\n\n- [ ] change `z/z/Makefile`\n")
	if _, err := m.Submit(t.Context(), teammate.Submission{Prompts: []string{"run tests"}}); err != nil {
		t.Fatal(err)
	}
	s, _ := m.journal.Session()
	files := s.Pending.Runners
	if len(files) != 64 || files[0] != (permissions.RunnerFile{Path: "z/z/Makefile", Digest: plans.Digest([]byte("# last\n")), Planned: true}) || files[1].Planned {
		t.Errorf("%d files are recorded, the first %+v, want 64 and the plan's first", len(files), files[0])
	}
}
