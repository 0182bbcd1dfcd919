//go:build linux

package execute_test

import (
	"os"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/execute"
)

func TestCleanPath(t *testing.T) {
	t.Parallel()
	dir := tempDir(t)
	tree := dir + "/tree"
	folder := func(name string, mode os.FileMode) string {
		if err := os.MkdirAll(dir+"/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	link := func(to, name string) string {
		if err := os.Symlink(to, dir+"/"+name); err != nil {
			t.Fatal(err)
		}
		return dir + "/" + name
	}
	owned := func(name string, uid, gid int, mode os.FileMode) string {
		f := folder(name, mode)
		if err := os.Chown(f, uid, gid); err != nil && os.Geteuid() == 0 {
			t.Fatal(err)
		}
		return f
	}
	good, own := folder("good", 0o755), folder("own", 0o700)
	inTree := folder("tree/bin", 0o755)
	writeFile(t, dir+"/file", "")
	const nobody = 65534 // a group of several users
	for name, c := range map[string]struct{ path, want string }{
		"kept in order":           {own + ":" + good, own + ":" + good},
		"twice":                   {good + ":" + own + ":" + good + "/", good + ":" + own},
		"nothing":                 {"", "/usr/bin:/bin"},
		"nothing left":            {".:" + inTree, "/usr/bin:/bin"},
		"empty elements":          {":" + good + "::", good},
		"relative":                {"good:./good:../good:" + good, good},
		"inside the tree":         {tree + ":" + inTree + ":" + good, good},
		"inside by dots":          {good + "/../tree/bin:" + good, good},
		"inside by a link":        {link(inTree, "l1") + ":" + good, good},
		"out of the tree":         {link(own, "tree/l2") + ":" + good, good},
		"a link is resolved":      {link(own, "l3"), own},
		"missing":                 {dir + "/none:" + good, good},
		"a file":                  {dir + "/file:" + good, good},
		"writable by all":         {folder("all", 0o777) + ":" + good, good},
		"sticky":                  {folder("sticky", 0o777|os.ModeSticky) + ":" + good, good},
		"inside writable":         {folder("all2", 0o777) + "/" + folder("all2/x", 0o755)[len(dir)+6:] + ":" + good, good},
		"inside sticky":           {folder("sticky2", 0o777|os.ModeSticky) + ":" + folder("sticky2/x", 0o755), dir + "/sticky2/x"},
		"somebody else's":         {owned("others", nobody-1, 0, 0o755) + ":" + good, good},
		"a group of several":      {owned("group", os.Geteuid(), nobody, 0o775) + ":" + good, good},
		"beside the tree by name": {folder("tree2", 0o755), dir + "/tree2"},
	} {
		if name == "somebody else's" && os.Geteuid() != 0 {
			continue // only root gives folders away
		}
		if got := execute.CleanPath(c.path, tree); got != c.want {
			t.Errorf("%s: CleanPath(%s) = %s, want %s", name, strip(c.path, dir), strip(got, dir), strip(c.want, dir))
		}
	}
}

func strip(s, dir string) string { return strings.ReplaceAll(s, dir, "") }

// The usual folders of a system stay, or nothing could be run.
func TestCleanPathOfThisSystem(t *testing.T) {
	got := execute.CleanPath("/usr/local/bin:/usr/bin:/bin", t.TempDir())
	if got != "/usr/local/bin:/usr/bin" && got != "/usr/local/bin:/usr/bin:/bin" {
		t.Errorf("CleanPath = %s, want the system folders", got)
	}
}
