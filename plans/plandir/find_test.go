package plandir_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
)

func openWith(t testing.TB, dir string, cfg plandir.Config) *plandir.Store {
	t.Helper()
	s, err := plandir.OpenWith(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// real is a temporary folder without links in its path.
func real(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A plan file is found by its full path, from where the agent stands, from the project, and from the plan folder; what
// counts is where it really is.
func TestFind(t *testing.T) {
	project := real(t)
	s := openWith(t, real(t), plandir.Config{Folder: "docs/plans", Project: project})
	if err := s.Prepare(); err != nil || s.Warning() != "" {
		t.Fatalf("Prepare: %v, warning %q", err, s.Warning())
	}
	folder := filepath.Join(project, "docs", "plans")
	if filepath.Dir(s.WorkFile()) != folder {
		t.Fatalf("working file %q, want it in %q", s.WorkFile(), folder)
	}
	write(t, filepath.Join(folder, "a.md"), "# A")
	write(t, filepath.Join(project, "a.md"), "# Another")
	alias := filepath.Join(real(t), "alias")
	if err := os.Symlink(folder, alias); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		given string
		bases []string
		want  string
	}{
		{filepath.Join(folder, "a.md"), nil, "a.md"},
		{filepath.Join(alias, "a.md"), nil, "a.md"},
		{"docs/plans/a.md", []string{project}, "a.md"},
		{"plans/a.md", []string{filepath.Join(project, "docs"), project}, "a.md"},
		{"a.md", []string{folder, project}, "a.md"},
		{"a.md", nil, "a.md"},
		{"./a.md", []string{"relative"}, "a.md"},
		{"new.md", []string{project}, "new.md"},
		{"", nil, filepath.Base(s.WorkFile())},
	} {
		if got, err := s.Find(tt.given, tt.bases...); err != nil || got != tt.want {
			t.Errorf("Find(%q, %q) = %q, %v, want %q", tt.given, tt.bases, got, err, tt.want)
		}
	}
	for _, given := range []string{
		"../a.md", "../../etc/passwd", "/etc/passwd", folder, folder + "-evil/a.md", "sub/a.md", "..", "%2e%2e%2fa.md", "docs/plans/../a.md", folder + "/../a.md", "a.md/",
	} {
		if got, err := s.Find(given, project); !errors.Is(err, plandir.ErrOutside) && given != "a.md/" {
			t.Errorf("Find(%q) = %q, %v, want access denied", given, got, err)
		}
	}
	write(t, filepath.Join(project, "mine.md"), "# Mine")
	if _, err := s.Find("mine.md", project); !errors.Is(err, plandir.ErrOutside) || !strings.Contains(err.Error(), filepath.Join(project, "mine.md")) || !strings.Contains(err.Error(), folder) {
		t.Errorf("Find of a file of the project: %v, want access denied with both paths", err)
	}
}

// A folder of the project is taken where it has plans and nothing else; otherwise there is a warning, and the store's own.
func TestCustomFolder(t *testing.T) {
	project, elsewhere := real(t), real(t)
	for _, dir := range []string{"src", "good", ".git/plans"} {
		if err := os.MkdirAll(filepath.Join(project, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(project, "src", "main.go"), "package main")
	write(t, filepath.Join(project, "good", "old.md"), "# Old")
	if err := errors.Join(os.Symlink(elsewhere, filepath.Join(project, "out")), os.Symlink("good", filepath.Join(project, "in"))); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"":                                      "",
		"plans":                                 "",
		"good":                                  "",
		"in":                                    "",
		"..plans":                               "",
		"src/../plans":                          "",
		filepath.Join(project, "deep/er/plans"): "",
		".":                                     "the project itself",
		"../escaped":                            "outside the project",
		"/absolute/path":                        "outside the project",
		project + "-evil/plans":                 "outside the project",
		elsewhere:                               "outside the project",
		"out":                                   "outside the project",
		"out/plans":                             "outside the project",
		"src":                                   "main.go",
		".git/plans":                            "belongs to git",
		".github/workflows":                     "takes effect later",
		"in/.husky":                             "takes effect later",
	} {
		dir := real(t)
		s := openWith(t, dir, plandir.Config{Folder: folder, Project: project, Protected: func(p string) bool { return p == ".github/workflows" || strings.HasSuffix(p, "/.husky") }})
		own := filepath.Dir(s.WorkFile()) == filepath.Join(dir, "work")
		if (want == "") != (s.Warning() == "") || !strings.Contains(s.Warning(), want) || own != (want != "" || folder == "") {
			t.Errorf("folder %q: working file %q, warning %q, want %q", folder, s.WorkFile(), s.Warning(), want)
		}
	}
	if _, err := os.Stat(filepath.Join(project, "plans")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a store that was only opened has made its folder: %v", err)
	}
	if s := openWith(t, real(t), plandir.Config{Folder: "plans"}); s.Warning() == "" {
		t.Error("a folder without a project was taken")
	}
}

// A name is kept over a restart, is another one when a round of planning begins afresh, and is dropped at the end. Where
// every name is taken, the session's id makes it another.
func TestNames(t *testing.T) {
	dir := real(t)
	s := openWith(t, dir, plandir.Config{})
	first := s.WorkFile()
	if again := openWith(t, dir, plandir.Config{}).WorkFile(); again != first {
		t.Errorf("after a restart %q, want %q", again, first)
	}
	write(t, first, "# First")
	if err := s.Fresh(); err != nil || s.WorkFile() == first {
		t.Errorf("Fresh: %v, working file %q, want another one than %q", err, s.WorkFile(), first)
	}
	if again := openWith(t, dir, plandir.Config{}).WorkFile(); again != s.WorkFile() {
		t.Errorf("after a restart %q, want %q", again, s.WorkFile())
	}
	second := s.WorkFile()
	if err := errors.Join(s.Forget(), s.Forget()); err != nil {
		t.Fatal(err)
	}
	if again := openWith(t, dir, plandir.Config{}).WorkFile(); again == second {
		t.Errorf("after the end %q again, want another one", again)
	}
	if data, err := os.ReadFile(first); string(data) != "# First" {
		t.Errorf("the first plan is %q, %v", data, err)
	}
	taken := real(t)
	if err := os.Mkdir(filepath.Join(taken, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(taken, "work", plandir.HeroName([3]byte{})), "# Taken")
	zeros := plandir.Config{Random: bytes.NewReader(make([]byte, 60)), Session: "0190F1C2-0000-7000"}
	want := strings.TrimSuffix(plandir.HeroName([3]byte{}), ".md") + "-0190f1c2.md"
	if got := filepath.Base(openWith(t, taken, zeros).WorkFile()); got != want {
		t.Errorf("where every name is taken: %q, want %q", got, want)
	}
}

// The folder may be replaced while the store is open: what is read is in the folder that has its name now, and no link is
// followed.
func TestFolderIsReplaced(t *testing.T) {
	dir, elsewhere := real(t), real(t)
	s := openWith(t, dir, plandir.Config{})
	work := filepath.Dir(s.WorkFile())
	write(t, s.WorkFile(), "# Mine")
	write(t, filepath.Join(elsewhere, filepath.Base(s.WorkFile())), "# Theirs")
	if err := errors.Join(os.Rename(work, work+".old"), os.Symlink(elsewhere, work)); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Read(""); !errors.Is(err, plandir.ErrOutside) {
		t.Errorf("Read where the folder is a link: %q, %v, want access denied", p.Content, err)
	}
	if err := s.WriteWork([]byte("# Approved")); err == nil {
		t.Error("WriteWork where the folder is a link succeeded")
	}
	if data, err := os.ReadFile(filepath.Join(elsewhere, filepath.Base(s.WorkFile()))); string(data) != "# Theirs" {
		t.Errorf("the file behind the link is %q, %v", data, err)
	}
	if err := errors.Join(os.Remove(work), os.Mkdir(work, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(""); !errors.Is(err, plandir.ErrNotExist) {
		t.Errorf("Read in a new folder: %v, want ErrNotExist", err)
	}
	write(t, s.WorkFile(), "# New")
	if p, err := s.Read(""); err != nil || string(p.Content) != "# New" {
		t.Errorf("Read in a new folder: %q, %v", p.Content, err)
	}
	if err := os.RemoveAll(work); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(""); !errors.Is(err, plandir.ErrNotExist) {
		t.Errorf("Read without the folder: %v, want ErrNotExist", err)
	}
	if err := s.WriteWork([]byte("# Approved")); err != nil {
		t.Errorf("WriteWork without the folder: %v, want it made", err)
	}
}

// What is cleared is kept, unless a revision has it.
func TestClear(t *testing.T) {
	s := open(t)
	if err := s.Clear(); err != nil {
		t.Errorf("Clear without a file: %v", err)
	}
	write(t, s.WorkFile(), "# Draft")
	if err := s.Clear(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(""); !errors.Is(err, plandir.ErrNotExist) {
		t.Errorf("Read after Clear: %v, want ErrNotExist", err)
	}
	want := filepath.Join(folder(s), "plans", "unsubmitted", "u0001.md")
	if data, err := os.ReadFile(want); string(data) != "# Draft" {
		t.Errorf("kept is %q, %v", data, err)
	}
}

// Two teammates may call their plans the same: neither sees the other's.
func TestTwoTeammatesOneName(t *testing.T) {
	a, b := open(t), open(t)
	write(t, filepath.Join(filepath.Dir(a.WorkFile()), "plan.md"), "# Of a")
	write(t, filepath.Join(filepath.Dir(b.WorkFile()), "plan.md"), "# Of b")
	for s, want := range map[*plandir.Store]string{a: "# Of a", b: "# Of b"} {
		p, err := s.Read("plan.md")
		if err != nil || string(p.Content) != want {
			t.Errorf("Read(plan.md) = %q, %v, want %q", p.Content, err, want)
		}
		if ref, err := s.Snapshot(id, 1, p); err != nil || ref.Digest != p.Digest {
			t.Errorf("Snapshot = %+v, %v", ref, err)
		}
	}
	if _, err := a.Find(filepath.Join(filepath.Dir(b.WorkFile()), "plan.md")); !errors.Is(err, plandir.ErrOutside) {
		t.Errorf("the other's plan: %v, want access denied", err)
	}
}

// Ten thousand revisions are there, and each is found, and the next one is stored as fast as the first.
func TestTenThousandRevisions(t *testing.T) {
	dir := real(t)
	s := openWith(t, dir, plandir.Config{})
	const many = 10_000
	text := func(n int) string { return fmt.Sprintf("# Revision %d", n) }
	kept := filepath.Join(dir, "plans", id)
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < many; n++ { // as Snapshot does, without waiting for the disk
		name := filepath.Join(kept, fmt.Sprintf("r%04d", n))
		write(t, name+".md", text(n))
		write(t, name+".json", fmt.Sprintf(`{"v":1,"planId":%q,"revision":%d,"name":"a.md","path":"/work/a.md","bytes":%d,"digest":%q,"title":"x"}`,
			id, n, len(text(n)), plans.Digest([]byte(text(n)))))
	}
	for n := many; n < many+3; n++ {
		if _, err := s.Snapshot(id, n, plan(text(n))); err != nil {
			t.Fatal(err)
		}
	}
	s = openWith(t, dir, plandir.Config{})
	for _, n := range []int{1, 2, 4_999, many - 1, many, many + 2} {
		if content, err := s.Load(plans.Digest([]byte(text(n)))); err != nil || string(content) != text(n) {
			t.Errorf("Load of revision %d = %q, %v", n, content, err)
		}
		if p, err := s.LoadRevision(id, n); err != nil || string(p.Content) != text(n) {
			t.Errorf("LoadRevision(%d) = %q, %v", n, p.Content, err)
		}
	}
	if _, err := s.Snapshot(id, many, plan("# Other")); !errors.Is(err, plandir.ErrTaken) {
		t.Errorf("Snapshot of other bytes as revision %d: %v, want ErrTaken", many, err)
	}
}
