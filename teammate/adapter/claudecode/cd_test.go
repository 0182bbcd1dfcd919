package claudecode

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A cd at the beginning of a line is remembered where bash would have, and nowhere else.
func TestWhereALineEnds(t *testing.T) {
	tree := t.TempDir()
	for _, dir := range []string{"sub/deeper", "it's"} {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for line, want := range map[string]string{
		"cd sub": "sub", "cd sub && ls": "sub", "cd sub; false": "sub", "cd ./sub/../sub/deeper": "sub/deeper", "cd sub\nls": "sub", `cd "it's"`: "it's",
		"cd " + tree + "/sub": "sub", "cd sub || exit 1": "sub", "cd sub 2>/dev/null": "sub",
		"ls": "", "cd .": "", "cd nowhere": "", "(cd sub)": "", "cd sub | cat": "", "cd sub &": "", "true && cd sub": "", "cd sub && cd deeper": "", "cd sub; cd -": "",
		"cd": "", "cd -": "", "cd ~/sub": "", "cd $X": "", "cd s*": "", "cd -P sub": "", "pushd sub": "", "X=1 cd sub": "", "cd sub; eval cd ..": "", "cd sub; . ./x": "", "cd 'a": "", "": "",
	} {
		got := endsIn(line, tree)
		if want != "" {
			want = filepath.Join(tree, want)
		}
		if got != want {
			t.Errorf("%q ends in %q, want %q", line, got, want)
		}
		if got == "" {
			continue
		}
		out, err := exec.Command("bash", "-c", "cd "+tree+"; "+thenIn("(exit 3)", got)+`; echo "$?"; pwd`).Output()
		if err != nil || strings.TrimSpace(string(out)) != "3\n"+got {
			t.Errorf("%q: bash says %q (%v)", line, out, err)
		}
		real, err := exec.Command("bash", "-c", "cd "+tree+"\n"+line+" >/dev/null\npwd").Output()
		if err != nil || strings.TrimSpace(string(real)) != got {
			t.Errorf("%q: bash itself stands in %q (%v), not in %q", line, real, err, got)
		}
	}
}
