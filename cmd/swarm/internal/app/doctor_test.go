//go:build unix

package app

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
)

// A clock is only as far off as it is for sure: the time that the answer took is taken off.
func TestClockFinding(t *testing.T) {
	for _, test := range []struct {
		ahead, within time.Duration
		state         State
		text          string
	}{
		{0, time.Millisecond, StateOK, "equal to ours, within 1ms"},
		{2 * time.Second, time.Millisecond, StateOK, "equal"},
		{2100 * time.Millisecond, time.Millisecond, StateWarn, "2.1s ahead of ours"},
		{-5 * time.Second, 10 * time.Millisecond, StateWarn, "5s behind ours"},
		{5 * time.Second, 4 * time.Second, StateOK, "within 4s"},
		{-61 * time.Second, time.Millisecond, StateBad, "1m1s behind"},
		{time.Hour, 2 * time.Second, StateBad, "1h0m0s ahead"},
	} {
		got := clockFinding(natsbox.Clock{Ahead: test.ahead, Within: test.within})
		if got.State != test.state || !strings.Contains(got.Text, test.text) || (got.Next == "") != (got.State == StateOK) {
			t.Errorf("clockFinding(%v within %v) = %+v, want %s with %q", test.ahead, test.within, got, test.state, test.text)
		}
	}
}

func TestStoreAndSyncFindings(t *testing.T) {
	for percent, want := range map[int]State{0: StateOK, 79: StateOK, 80: StateWarn, 99: StateWarn, 100: StateBad, 120: StateBad} {
		if got := storeFinding("MB_t", percent); got.State != want || !strings.Contains(got.Text, "MB_t") || (got.Next == "") != (want == StateOK) {
			t.Errorf("storeFinding(%d) = %+v, want %s", percent, got, want)
		}
	}
	if got := syncFinding("always"); got.State != StateOK {
		t.Errorf("syncFinding(always) = %+v", got)
	}
	if got := syncFinding("100ms"); got.State != StateWarn || !strings.Contains(got.Text, "100ms") || got.Next == "" {
		t.Errorf("syncFinding(100ms) = %+v", got)
	}
}

// Who may read a file depends on every folder above it.
func TestWays(t *testing.T) {
	for _, test := range []struct {
		dirs           []fs.FileMode
		file           fs.FileMode
		reads, changes bool
	}{
		{[]fs.FileMode{0o700}, 0o666, false, false},
		{[]fs.FileMode{0o711}, 0o600, false, false},
		{[]fs.FileMode{0o711}, 0o644, true, false},
		{[]fs.FileMode{0o755, 0o700}, 0o644, false, false},
		{[]fs.FileMode{0o755, 0o710}, 0o640, true, false}, // a group
		{[]fs.FileMode{0o755, 0o710}, 0o604, true, false}, // a member of the folder's group may not be one of the file's
		{[]fs.FileMode{0o755, 0o711}, 0o602, false, true},
		{[]fs.FileMode{0o750, 0o755}, 0o660, true, true},
	} {
		w := way{true, true}
		for _, d := range test.dirs {
			w = w.through(d)
		}
		if w.reads(test.file) != test.reads || w.writes(test.file) != test.changes {
			t.Errorf("%o below %o: reads %t, changes %t; want %t, %t", test.file, test.dirs, w.reads(test.file), w.writes(test.file), test.reads, test.changes)
		}
	}
}

// Links are not followed below a place, and one that is a link itself is.
func TestLookAtFollowsOnlyTheFirstLink(t *testing.T) {
	dir := t.TempDir()
	for path := dir; path != os.TempDir() && path != "/"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real, out := filepath.Join(dir, "real"), filepath.Join(dir, "out.seed")
	for _, err := range []error{
		os.Mkdir(real, 0o755), os.WriteFile(out, nil, 0o600), os.WriteFile(filepath.Join(real, "mia.bundle"), nil, 0o600),
		os.Symlink(out, filepath.Join(real, "x.seed")), os.Symlink(real, filepath.Join(dir, "link")), os.Chmod(real, 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := lookAt(filepath.Join(dir, "link")); got.State != StateOK {
		t.Errorf("lookAt(link) = %+v", got)
	}
	if err := os.Chmod(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(real, "mia.bundle"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := lookAt(filepath.Join(dir, "link")); got.State != StateBad || !strings.Contains(got.Text, "mia.bundle (mode 0644)") || strings.Contains(got.Text, "x.seed") {
		t.Errorf("lookAt(link) = %+v, want the bundle", got)
	}
}
