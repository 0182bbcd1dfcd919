package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/journal"
)

var at = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// session is a session that is told apart by n.
func session(n int) planmode.Session {
	return planmode.Session{
		V: 1, Team: "t", Teammate: "api", State: planmode.Working, Mode: permissions.ModeDefault, Drift: n,
		Cycle: planmode.Cycle{PlanID: fmt.Sprint("plan ", n)},
	}
}

func effects(n int) []planmode.Effect {
	return []planmode.Effect{
		planmode.SetMode{Mode: permissions.ModeDefault},
		planmode.Notify{Kind: planmode.NotifyAwaiting, Key: fmt.Sprint(n)},
	}
}

func open(t testing.TB, dir string, cfg journal.Config) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// add takes step n and, if told so, finishes it.
func add(t testing.TB, j *journal.Journal, n int, done bool) {
	t.Helper()
	seq, err := j.Append(planmode.Interrupted{}, session(n), effects(n), at)
	if err != nil {
		t.Fatal(err)
	}
	if done {
		if err := j.Done(seq); err != nil {
			t.Fatal(err)
		}
	}
}

func wantLast(t testing.TB, j *journal.Journal, n int) {
	t.Helper()
	s, ok := j.Session()
	if ok != (n > 0) || ok && s.Drift != n {
		t.Fatalf("Session() = step %d, %t, want step %d", s.Drift, ok, n)
	}
}

func unfinished(j *journal.Journal) (seqs []uint64) {
	j.Unfinished(func(seq uint64, _ string, _ []planmode.Effect) bool {
		seqs = append(seqs, seq)
		return true
	})
	return seqs
}

func file(dir string) string { return filepath.Join(dir, "journal.jsonl") }

func read(t testing.TB, dir string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file(dir))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func write(t testing.TB, dir string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(file(dir), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestStepsSurviveClosing(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Config{})
	wantLast(t, j, 0)
	for n := 1; n <= 5; n++ {
		add(t, j, n, n != 2 && n != 5)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, dir, journal.Config{})
	wantLast(t, j, 5)
	if seq, when := j.Seq(); seq != 5 || !when.Equal(at) {
		t.Errorf("Seq() = %d, %v, want 5, %v", seq, when, at)
	}
	j.Unfinished(func(seq uint64, plan string, got []planmode.Effect) bool {
		if want := effects(int(seq)); fmt.Sprint(got) != fmt.Sprint(want) || plan != fmt.Sprint("plan ", seq) {
			t.Errorf("step %d of %q has effects %v, want %v", seq, plan, got, want)
		}
		return true
	})
	if got := unfinished(j); !slices.Equal(got, []uint64{2, 5}) {
		t.Errorf("unfinished = %v, want 2 and 5", got)
	}
	add(t, j, 6, true)
}

func TestOnlyTheOwnerReadsIt(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, nil)
	if err := os.Chmod(file(dir), 0o644); err != nil {
		t.Fatal(err)
	}
	add(t, open(t, dir, journal.Config{}), 1, true)
	for _, name := range []string{"journal.jsonl", "lock"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o, want 0600", name, info.Mode().Perm())
		}
	}
}

func TestSecondRunnerIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, journal.Config{})
	_, err := journal.Open(dir, journal.Config{})
	if !errors.Is(err, journal.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Fatalf("second Open: %v, want ErrLocked that names process %d", err, os.Getpid())
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, journal.Config{})
	if _, err := first.Append(planmode.Interrupted{}, session(9), nil, at); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("Append after Close: %v, want ErrClosed", err)
	}
}

// Wherever a crash cuts the last line (each fifth byte is tried), its step has not happened and all before it have.
func TestTornLastLineIsCutOff(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Config{})
	add(t, j, 1, true)
	add(t, j, 2, true)
	_ = j.Close()
	before := read(t, dir)
	j = open(t, dir, journal.Config{})
	add(t, j, 3, false)
	_ = j.Close()
	whole := read(t, dir)
	for _, tail := range []string{"", "\x00\x00\x00", "\x00\n"} {
		for cut := len(before) + 1; cut < len(whole); cut += 5 {
			var log bytes.Buffer
			write(t, dir, append(whole[:cut:cut], tail...))
			j := open(t, dir, journal.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			wantLast(t, j, 2)
			if !strings.Contains(log.String(), "torn") {
				t.Fatalf("cut at %d: no warning", cut)
			}
			_ = j.Close()
			if got := read(t, dir); !bytes.Equal(got, before) {
				t.Fatalf("cut at %d: the file was not brought back to its good lines", cut)
			}
		}
	}
	j = open(t, dir, journal.Config{})
	add(t, j, 3, true)
	wantLast(t, j, 3)
}

func TestDamageNamesTheLine(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir, journal.Config{})
	for n := 1; n <= 3; n++ {
		add(t, j, n, true)
	}
	_ = j.Close()
	lines := bytes.SplitAfter(bytes.TrimSuffix(read(t, dir), []byte("\n")), []byte("\n"))
	lines[len(lines)-1] = append(lines[len(lines)-1], '\n')
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	edit := func(from, to string) []byte { return bytes.Replace(lines[2], []byte(from), []byte(to), 1) }
	for name, tc := range map[string]struct {
		raw  []byte
		line int
	}{
		"a line is gone":              {join(lines[0], lines[1], lines[3]), 3},
		"a line is gone, then more":   {join(lines[0], lines[2], lines[3]), 2},
		"a value was changed":         {join(lines[0], lines[1], edit(`"drift":2`, `"drift":1`), lines[3]), 4},
		"two lines changed places":    {join(lines[0], lines[2], lines[1], lines[3]), 2},
		"a line is twice":             {join(lines[0], lines[1], lines[1], lines[2]), 3},
		"not JSON":                    {join(lines[0], []byte("junk\n"), lines[1]), 2},
		"zeros in the middle":         {join(lines[0], []byte("\x00\x00\n"), lines[1]), 2},
		"no JSON at the end":          {join(lines[0], lines[1], []byte("junk\n")), 3},
		"no version":                  {join(lines[0], lines[1], edit(`"v":1,`, ``)), 3},
		"unknown field":               {join(lines[0], lines[1], edit(`"v":1,`, `"v":1,"x":1,`)), 3},
		"unknown effect":              {join(lines[0], lines[1], edit(`setMode`, `setMood`)), 3},
		"the first line is not first": {join(lines[2]), 1},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, dir, tc.raw)
			_, err := journal.Open(dir, journal.Config{})
			var damaged *journal.DamagedError
			if !errors.As(err, &damaged) || !errors.Is(err, journal.ErrDamaged) || damaged.Line != tc.line {
				t.Fatalf("Open: %v, want damage in line %d", err, tc.line)
			}
			if !bytes.Equal(read(t, dir), tc.raw) {
				t.Error("the damaged file was changed")
			}
			j := open(t, dir, journal.Config{SetAside: true})
			wantLast(t, j, 0)
			if !errors.Is(j.Lost(), journal.ErrDamaged) {
				t.Errorf("Lost() = %v, want the damage", j.Lost())
			}
			kept, _ := filepath.Glob(file(dir) + ".damaged-*")
			if len(kept) != 1 {
				t.Fatalf("kept files: %v, want one", kept)
			}
			if raw, _ := os.ReadFile(kept[0]); !bytes.Equal(raw, tc.raw) {
				t.Error("the kept file is not the damaged one")
			}
			_ = os.Remove(kept[0])
			_ = j.Close()
		})
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	raw := []byte(`{"v":2,"whatever":true}` + "\n")
	write(t, dir, raw)
	for _, aside := range []bool{false, true} {
		if _, err := journal.Open(dir, journal.Config{SetAside: aside}); !errors.Is(err, journal.ErrNewer) {
			t.Fatalf("Open, SetAside %t: %v, want ErrNewer", aside, err)
		}
	}
	if !bytes.Equal(read(t, dir), raw) {
		t.Error("the newer file was changed")
	}
}

func TestLongFileBecomesOneSnapshot(t *testing.T) {
	dir := t.TempDir()
	cfg := journal.Config{RewriteAfter: 2000}
	j := open(t, dir, cfg)
	var longest int
	add(t, j, 1, false) // stays open over every rewriting
	for n := 2; n <= 100; n++ {
		add(t, j, n, true)
		longest = max(longest, len(read(t, dir)))
	}
	_ = j.Close()
	if longest > 10_000 {
		t.Errorf("the file grew to %d bytes", longest)
	}
	var first struct {
		Seq   int    `json:"seq"`
		Event string `json:"event"`
	}
	line, _, _ := bytes.Cut(read(t, dir), []byte("\n"))
	if err := json.Unmarshal(line, &first); err != nil || first.Event != "snapshot" || first.Seq < 90 {
		t.Fatalf("first line %s (%v), want a snapshot of a late step", line, err)
	}
	j = open(t, dir, cfg)
	wantLast(t, j, 100)
	if got := unfinished(j); !slices.Equal(got, []uint64{1}) {
		t.Errorf("unfinished = %v, want 1", got)
	}
	add(t, j, 101, true)
}

func TestLinkIsNotFollowedOut(t *testing.T) {
	dir, other := t.TempDir(), filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Symlink(other, file(dir)); err != nil {
		t.Fatal(err)
	}
	if j, err := journal.Open(dir, journal.Config{}); err == nil {
		_ = j.Close()
		t.Error("Open followed a link out of its folder")
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("a file was made outside of the folder")
	}
}

func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	j := open(f, dir, journal.Config{RewriteAfter: 1500})
	for n := 1; n <= 6; n++ {
		add(f, j, n, n%2 == 0)
		f.Add(read(f, dir))
	}
	_ = j.Close()
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"v":1,"done":1,"prev":""}` + "\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		write(t, dir, raw)
		j, err := journal.Open(dir, journal.Config{})
		if err != nil {
			if !errors.Is(err, journal.ErrDamaged) && !errors.Is(err, journal.ErrNewer) {
				t.Fatalf("Open: %v, want damage or a newer version", err)
			}
			return
		}
		unfinished(j)
		add(t, j, 7, true)
		_ = j.Close()
		again := open(t, dir, journal.Config{})
		wantLast(t, again, 7)
	})
}
