package plandir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/plandir"
	"pgregory.net/rapid"
)

func TestRead(t *testing.T) {
	s := open(t)
	write(t, s.WorkFile(), "# Plan\r\n")
	base := filepath.Base(s.WorkFile())
	for _, name := range []string{"", base, "./" + base, s.WorkFile(), filepath.Dir(s.WorkFile()) + "/./" + base} {
		p, err := s.Read(name)
		if err != nil || string(p.Content) != "# Plan\r\n" || p.Name != base || p.Path != s.WorkFile() || p.Digest != plans.Digest(p.Content) || p.Bytes != 8 {
			t.Errorf("Read(%q) = %+v, %v", name, p, err)
		}
	}
	alias := filepath.Join(t.TempDir(), "alias")
	if err := os.Symlink(filepath.Dir(s.WorkFile()), alias); err != nil {
		t.Fatal(err)
	}
	if p, err := s.Read(filepath.Join(alias, base)); err != nil || p.Path != s.WorkFile() {
		t.Errorf("Read through another name of the folder = %+v, %v", p, err)
	}
}

func TestReadErrorsSayWhatToDo(t *testing.T) {
	s := open(t)
	dir, file := filepath.Dir(s.WorkFile()), s.WorkFile()
	secret := filepath.Join(folder(s), "secret.md")
	write(t, secret, "secret")
	write(t, filepath.Join(dir, "blank.md"), " \n")
	write(t, filepath.Join(dir, "latin.md"), "caf\xe9")
	write(t, filepath.Join(dir, "large.md"), strings.Repeat("a", plans.MaxBytes+10))
	write(t, filepath.Join(dir, "plain.md"), "plain")
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "folder.md"), 0o700),
		os.Symlink(secret, filepath.Join(dir, "out.md")),
		os.Symlink("plain.md", filepath.Join(dir, "in.md")),
		os.Symlink("gone.md", filepath.Join(dir, "dangling.md")),
		os.Symlink("loop.md", filepath.Join(dir, "loop.md")),
		os.Link(secret, filepath.Join(dir, "hard.md")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	outside := func(name string) string {
		return `access denied: plan "` + name + `" is outside the plan folder "` + dir + `": write the plan to "` + file + `", then submit again`
	}
	irregular := func(name, what string) string {
		return `plan "` + name + `" is ` + what + `: write the plan to "` + file + `" as a file of its own, then submit again`
	}
	leads := func(name, target string) string {
		return `access denied: plan "` + name + `" leads to "` + target + `", outside the plan folder "` + dir + `": write the plan to "` + file + `", then submit again`
	}
	for _, tt := range []struct {
		name string
		want error
		text string
	}{
		{"../secret.md", plandir.ErrOutside, outside("../secret.md")},
		{"/etc/passwd", plandir.ErrOutside, outside("/etc/passwd")},
		{secret, plandir.ErrOutside, outside(secret)},
		{dir + "-evil/a.md", plandir.ErrOutside, outside(dir + "-evil/a.md")},
		{"%2e%2e/secret.md", plandir.ErrOutside, outside("%2e%2e/secret.md")},
		{"sub/plan.md", plandir.ErrOutside, outside("sub/plan.md")},
		{".", plandir.ErrOutside, outside(".")},
		{dir, plandir.ErrOutside, outside(dir)},
		{"ghost.md", plandir.ErrNotExist, `plan "` + filepath.Join(dir, "ghost.md") + `" does not exist: write the plan there, then submit again`},
		{"", plandir.ErrNotExist, `plan "` + file + `" does not exist: write the plan there, then submit again`},
		{"blank.md", plans.ErrEmpty, `plan "blank.md" is empty: write the plan, then submit again`},
		{"latin.md", plans.ErrNotUTF8, `plan "latin.md" is not UTF-8 text (byte E9 at offset 3 of 4): save it as UTF-8, then submit again`},
		{"large.md", plans.ErrTooLarge, `plan "large.md" is too large (2097153 bytes or more, at most 2097152): shorten it, then submit again`},
		{"folder.md", plandir.ErrNotRegular, irregular("folder.md", "a folder")},
		{"out.md", plandir.ErrOutside, leads("out.md", secret)},
		{"%2e%2e%2fsecret.md", plandir.ErrOutside, outside("%2e%2e%2fsecret.md")},
		{"in.md", plandir.ErrNotRegular, irregular("in.md", "a link, or was replaced while it was read")},
		{"dangling.md", plandir.ErrNotRegular, irregular("dangling.md", "a symbolic link")},
		{"loop.md", plandir.ErrOutside, leads("loop.md", filepath.Join(dir, "loop.md"))},
		{"hard.md", plandir.ErrNotRegular, irregular("hard.md", "one of 2 names of the same file")},
	} {
		_, err := s.Read(tt.name)
		if !errors.Is(err, tt.want) || err.Error() != tt.text {
			t.Errorf("Read(%q) =\n %v, want\n %s (%v)", tt.name, err, tt.text, tt.want)
		}
	}
	for _, odd := range []string{"a\x00.md", strings.Repeat("x", 300) + ".md", "a\nb.md", "\u202e.md"} {
		if _, err := s.Read(odd); err == nil || strings.ContainsAny(err.Error(), "\x00\n\u202e") {
			t.Errorf("Read(%q) = %v, want an error in one visible line", odd, err)
		}
	}
}

// Whatever name is given: what is read is a file of the work folder, or nothing.
func TestReadNeverLeavesTheFolder(t *testing.T) {
	s := open(t)
	dir := filepath.Dir(s.WorkFile())
	for _, path := range []string{
		filepath.Join(folder(s), "a.md"), filepath.Join(folder(s), "plans", "a.md"), filepath.Join(dir+"-evil", "a.md"), filepath.Join(filepath.Dir(folder(s)), "a.md"),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, path, "secret")
	}
	write(t, filepath.Join(dir, "a.md"), "own")
	for name, target := range map[string]string{"up": "..", "root": "/", "self": ".", "l.md": "../a.md"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	part := rapid.SampledFrom([]string{"a.md", "l.md", "..", ".", "", "up", "root", "self", "work", "plans", "work-evil", dir, folder(s), "~", "\x00", "%2e%2e", "A.MD"})
	rapid.Check(t, func(t *rapid.T) {
		name := strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "parts"), "/")
		p, err := s.Read(name)
		if err == nil && string(p.Content) != "own" {
			t.Fatalf("Read(%q) = %q", name, p.Content)
		}
		if q, err := plandir.ReadFile(dir, name); err == nil && string(q.Content) != "own" {
			t.Fatalf("ReadFile(%q) = %q", name, q.Content)
		}
	})
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "sub", "plan.md"), "# Plan")
	p, err := plandir.ReadFile(dir, "sub/plan.md")
	if err != nil || p.Name != "plan.md" || p.Path != filepath.Join(dir, "sub", "plan.md") || string(p.Content) != "# Plan" {
		t.Errorf("ReadFile = %+v, %v", p, err)
	}
	for name, want := range map[string]error{"../x": plandir.ErrOutside, "/etc/passwd": plandir.ErrOutside, "ghost.md": plandir.ErrNotExist, "sub": plandir.ErrNotRegular, "sub/plan.md/x": plandir.ErrOutside} {
		if _, err := plandir.ReadFile(dir, name); !errors.Is(err, want) {
			t.Errorf("ReadFile(%q) = %v, want %v", name, err, want)
		}
	}
}
