package plandir_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
)

const id = "0190f1c2-0000-7000-8000-000000000001"

func open(t testing.TB) *plandir.Store {
	t.Helper()
	return openIn(t, filepath.Join(t.TempDir(), "api"))
}

func openIn(t testing.TB, dir string) *plandir.Store {
	t.Helper()
	s, err := plandir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// folder is the store's own folder.
func folder(s *plandir.Store) string { return filepath.Dir(filepath.Dir(s.WorkFile())) }

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func plan(content string) plans.Plan { return plans.New("a.md", "/work/a.md", []byte(content)) }

func TestOpenMakesFoldersForTheOwnerAndKeepsTheName(t *testing.T) {
	s := open(t)
	for _, dir := range []string{"", "work", "plans"} {
		info, err := os.Stat(filepath.Join(folder(s), dir))
		if err != nil || !info.IsDir() || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("folder %q = %v, %v; want 0700", dir, info, err)
		}
	}
	if _, err := os.Lstat(s.WorkFile()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the working file is there: %v", err)
	}
	name := filepath.Base(s.WorkFile())
	if ok, _ := filepath.Match("*-*-*.md", name); !ok {
		t.Errorf("working file %q, want name-name-name.md", name)
	}
	for range 5 {
		if again := openIn(t, folder(s)); again.WorkFile() != s.WorkFile() {
			t.Fatalf("opened again: %q, want %q", again.WorkFile(), s.WorkFile())
		}
	}
}

func TestOpenRefusesWhatIsNotItsOwn(t *testing.T) {
	if _, err := plandir.Open("relative"); err == nil {
		t.Error("Open of a relative folder succeeded")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), "x")
	if _, err := plandir.Open(filepath.Join(dir, "file")); err == nil {
		t.Error("Open of a file succeeded")
	}
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, "work")); err != nil {
		t.Fatal(err)
	}
	if _, err := plandir.Open(dir); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("Open with a link as work folder = %v, want it refused", err)
	}
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.MkdirAll(filepath.Join(open, "plans"), 0o700), os.Chmod(filepath.Join(open, "plans"), 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := plandir.Open(open); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("Open of a folder that others may write to = %v, want it refused", err)
	}
	damaged := openIn(t, filepath.Join(t.TempDir(), "d"))
	name := filepath.Join(folder(damaged), "plans", "work.name")
	write(t, name, "../../x.md\n")
	if _, err := plandir.Open(folder(damaged)); !errors.Is(err, plandir.ErrDamaged) {
		t.Errorf("Open with a working file outside = %v, want ErrDamaged", err)
	}
}

func TestHeroNames(t *testing.T) {
	seen := map[string]bool{}
	for a := range 256 {
		for b := range 256 {
			name := plandir.HeroName([3]byte{byte(a), byte(b), byte(a ^ b)})
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-.") != "" || strings.Count(name, "-") != 2 || !strings.HasSuffix(name, ".md") {
				t.Fatalf("HeroName(%d, %d) = %q", a, b, name)
			}
			seen[name] = true
		}
	}
	if len(seen) < 20_000 {
		t.Errorf("%d names, want tens of thousands", len(seen))
	}
}

func TestSnapshotIsForEver(t *testing.T) {
	s := open(t)
	ref, err := s.Snapshot(id, 1, plan("# First\r\n\xe6\xb1\x89"))
	if err != nil {
		t.Fatal(err)
	}
	if want := plan("# First\r\n\xe6\xb1\x89").Ref(); ref != want || ref.Title != "First" {
		t.Errorf("Snapshot = %+v, want %+v", ref, want)
	}
	if again, err := s.Snapshot(id, 1, plan("# First\r\n\xe6\xb1\x89")); err != nil || again != ref {
		t.Errorf("the same again = %+v, %v; want the same", again, err)
	}
	if _, err := s.Snapshot(id, 1, plan("# Other")); !errors.Is(err, plandir.ErrTaken) {
		t.Errorf("other bytes under the number = %v, want ErrTaken", err)
	}
	if _, err := s.Snapshot(id, 2, plan("# Second")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"r0001.md", "r0001.json", "r0002.md", "r0002.json"} {
		info, err := os.Stat(filepath.Join(folder(s), "plans", id, name))
		if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o400 {
			t.Errorf("%s = %v, %v; want 0400", name, info, err)
		}
	}
	s = openIn(t, folder(s)) // a restart
	content, err := s.Load(ref.Digest)
	if err != nil || string(content) != "# First\r\n\xe6\xb1\x89" {
		t.Errorf("Load = %q, %v", content, err)
	}
	p, err := s.LoadRevision(id, 2)
	if err != nil || string(p.Content) != "# Second" || p.Name != "a.md" || p.Digest != plans.Digest(p.Content) {
		t.Errorf("LoadRevision(2) = %+v, %v", p, err)
	}
	for _, err := range []error{second(s.LoadRevision(id, 3)), second(s.LoadRevision("0190", 1)), second(s.Load(plans.Digest(nil)))} {
		if !errors.Is(err, plandir.ErrNotExist) {
			t.Errorf("what is not there = %v, want ErrNotExist", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestSnapshotRefusesBadNamesAndContent(t *testing.T) {
	s := open(t)
	for _, bad := range []string{"", "..", "../x", "a/b", "unsubmitted", "-x", "A", "a.b", strings.Repeat("a", 65), "a\x00"} {
		if _, err := s.Snapshot(bad, 1, plan("x")); !errors.Is(err, plandir.ErrBadID) {
			t.Errorf("Snapshot(%q) = %v, want ErrBadID", bad, err)
		}
	}
	if _, err := s.Snapshot(id, 0, plan("x")); !errors.Is(err, plandir.ErrBadID) {
		t.Errorf("revision 0 = %v, want ErrBadID", err)
	}
	if _, err := s.Snapshot(id, 1, plan(" ")); !errors.Is(err, plans.ErrEmpty) {
		t.Errorf("a blank plan = %v, want ErrEmpty", err)
	}
	if left := tree(t, folder(s)); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
}

// tree lists the files below dir.
func tree(t testing.TB, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestDamageIsFound(t *testing.T) {
	change := func(name, content string) *plandir.Store {
		s := open(t)
		for i, text := range []string{"first", "second"} {
			if _, err := s.Snapshot(id, i+1, plan(text)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(folder(s), "plans", id, name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if content != "" {
			write(t, path, content)
		}
		return s
	}
	first, other := plans.Digest([]byte("first")), plans.Digest([]byte("second"))
	for _, tt := range []struct {
		name, content string
		want          error
	}{
		{"r0001.md", "changed", plandir.ErrDamaged},
		{"r0001.md", "", plandir.ErrDamaged},
		{"r0001.json", "{", plandir.ErrDamaged},
		{"r0001.json", `{"v":1,"planId":"` + id + `","revision":2,"digest":"` + first + `"}`, plandir.ErrDamaged},
		{"r0001.json", `{"v":2}`, plandir.ErrNewer},
	} {
		s := change(tt.name, tt.content)
		if _, err := s.Load(first); !errors.Is(err, tt.want) {
			t.Errorf("%s = %q: Load = %v, want %v", tt.name, tt.content, err, tt.want)
		}
		if _, err := s.LoadRevision(id, 1); !errors.Is(err, tt.want) {
			t.Errorf("%s = %q: LoadRevision = %v, want %v", tt.name, tt.content, err, tt.want)
		}
		if _, err := s.Snapshot(id, 1, plan("first")); !errors.Is(err, tt.want) {
			t.Errorf("%s = %q: Snapshot = %v, want %v", tt.name, tt.content, err, tt.want)
		}
		if content, err := s.Load(other); err != nil || string(content) != "second" {
			t.Errorf("%s = %q: Load of the other revision = %q, %v", tt.name, tt.content, content, err)
		}
	}
}

// A call that never returned leaves no revision, and is not in the way of the next one.
func TestInterruptedWritesAreNoRevisions(t *testing.T) {
	s := open(t)
	dir := filepath.Join(folder(s), "plans", id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "r0001.md"), "half a pl")
	write(t, filepath.Join(dir, ".writing-ABC"), "half")
	write(t, filepath.Join(folder(s), "work", ".writing-DEF"), "half")
	s = openIn(t, folder(s))
	if _, err := s.LoadRevision(id, 1); !errors.Is(err, plandir.ErrNotExist) {
		t.Errorf("LoadRevision = %v, want ErrNotExist", err)
	}
	if _, err := s.Snapshot(id, 1, plan("half a plan, and the rest")); err != nil {
		t.Fatal(err)
	}
	if p, err := s.LoadRevision(id, 1); err != nil || string(p.Content) != "half a plan, and the rest" {
		t.Errorf("LoadRevision = %q, %v", p.Content, err)
	}
	want := []string{"plans/" + id + "/r0001.json", "plans/" + id + "/r0001.md", "plans/work.name"}
	if got := tree(t, folder(s)); !slices.Equal(got, want) {
		t.Errorf("files %q, want %q", got, want)
	}
}

func TestSnapshotsAtOnce(t *testing.T) {
	s := open(t)
	var group sync.WaitGroup
	results := make([]error, 16)
	for i := range results {
		group.Go(func() {
			_, results[i] = s.Snapshot(id, 1, plan(strings.Repeat("x", 1+i%4)))
		})
	}
	group.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, plandir.ErrTaken) {
			t.Errorf("Snapshot = %v, want nil or ErrTaken", err)
		}
	}
	if won != 4 {
		t.Errorf("%d calls succeeded, want the four with the same bytes", won)
	}
}

func TestWriteWork(t *testing.T) {
	s := open(t)
	work := func() string {
		data, err := os.ReadFile(s.WorkFile())
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	kept := func() (all []string) {
		for _, f := range tree(t, folder(s)) {
			if strings.HasPrefix(f, "plans/unsubmitted/") {
				data, err := os.ReadFile(filepath.Join(folder(s), filepath.FromSlash(f)))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, filepath.Base(f)+"="+string(data))
			}
		}
		return all
	}
	step := func(there, content string, want ...string) {
		t.Helper()
		if there != "" {
			write(t, s.WorkFile(), there)
		}
		if err := s.WriteWork([]byte(content)); err != nil {
			t.Fatalf("WriteWork over %q = %v", there, err)
		}
		if got := work(); got != content {
			t.Errorf("working file %q, want %q", got, content)
		}
		if got := kept(); !slices.Equal(got, want) {
			t.Errorf("kept %q, want %q", got, want)
		}
	}
	if _, err := s.Snapshot(id, 1, plan("submitted")); err != nil {
		t.Fatal(err)
	}
	step("", "approved")
	step("submitted", "approved") // stored already
	step("approved\n", "approved", "u0001.md=approved\n")
	step("", "approved", "u0001.md=approved\n") // nothing to do
	step("later", "approved", "u0001.md=approved\n", "u0002.md=later")
	step("later", "edited", "u0001.md=approved\n", "u0002.md=later")
	step(" \n", "approved", "u0001.md=approved\n", "u0002.md=later") // blanks are no loss
	if err := s.WriteWork([]byte("")); !errors.Is(err, plans.ErrEmpty) {
		t.Errorf("WriteWork of nothing = %v, want ErrEmpty", err)
	}
	if got := work(); got != "approved" {
		t.Errorf("working file %q after a refused write", got)
	}
}

func TestWriteWorkMovesAsideWhatIsNoPlan(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	for name, put := range map[string]func(path string) error{
		"folder": func(path string) error {
			return errors.Join(os.Mkdir(path, 0o700), os.Mkdir(filepath.Join(path, "x"), 0o700))
		},
		"link":      func(path string) error { return os.Symlink(secret, path) },
		"hard link": func(path string) error { return os.Link(secret, path) },
		"too large": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("a"), plans.MaxBytes+1), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			write(t, secret, "secret")
			s := open(t)
			if err := put(s.WorkFile()); err != nil {
				t.Fatal(err)
			}
			if err := s.WriteWork([]byte("approved")); err != nil {
				t.Fatal(err)
			}
			info, err := os.Lstat(s.WorkFile())
			if err != nil || !info.Mode().IsRegular() {
				t.Errorf("working file is %v, %v", info, err)
			}
			if data, err := os.ReadFile(secret); err != nil || string(data) != "secret" {
				t.Errorf("what the link led to is %q, %v", data, err)
			}
			aside, _ := filepath.Glob(s.WorkFile() + ".old-*")
			if len(aside) != 1 {
				t.Errorf("moved aside: %q, want one", aside)
			}
			for _, f := range tree(t, filepath.Join(folder(s), "plans")) {
				if data, _ := os.ReadFile(filepath.Join(folder(s), "plans", f)); string(data) == "secret" {
					t.Errorf("%s has the secret", f)
				}
			}
		})
	}
}
