//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
)

var update = flag.Bool("update", false, "write the golden files")

// binary builds swarm once for the tests that run it outside of scripts.
func binary(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "swarm")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// own is an environment with a home, state and configuration of its own, and the Go caches of this one.
func own(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_STATE_HOME=" + dir + "/state", "XDG_CONFIG_HOME=" + dir + "/config",
		"XDG_RUNTIME_DIR=" + dir, "TMPDIR=" + t.TempDir(), raceExit,
	}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT"} {
		v, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(v)))
	}
	return env
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs:\n--- got\n%s--- want\n%s", name, got, want)
	}
}

var (
	seconds = regexp.MustCompile(`in [0-9.]+s\.`)
	stamp   = regexp.MustCompile(`(?m)^ *[0-9.]+s `)
	port    = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)
)

// The example that every newcomer runs: its table, its account teammate by teammate, and its report.
func TestQuickstart(t *testing.T) {
	root := filepath.Join("..", "..")
	before := listing(t, filepath.Join(root, "examples", "quickstart"))
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(binary(t), "run", "examples/quickstart", "--report", file)
	cmd.Dir, cmd.Env = root, own(t)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("swarm run: %v\n%s%s", err, stderr.String(), stdout.String())
	}
	golden(t, "quickstart-table.golden", seconds.ReplaceAllString(stdout.String(), "in N.Ns."))
	golden(t, "quickstart-account.golden", account(stderr.String()))
	checkReport(t, file)
	if after := listing(t, filepath.Join(root, "examples", "quickstart")); after != before {
		t.Errorf("the checkout has changed:\nbefore:\n%s\nafter:\n%s", before, after)
	}
}

// account sorts the lines by teammate: they run side by side, and only each one's own order is fixed.
func account(text string) string {
	text = port.ReplaceAllString(stamp.ReplaceAllString(text, ""), "127.0.0.1:PORT")
	parts := map[string]*strings.Builder{}
	names := []string{"", "fixer", "writer", "rogue"}
	for _, n := range names {
		parts[n] = &strings.Builder{}
	}
	for line := range strings.Lines(text) {
		who := ""
		for _, n := range names[1:] {
			if f := strings.Fields(line); len(f) > 2 && (f[0] == n || f[0] == "leader" && strings.TrimRight(f[2], ",") == n) {
				who = n
			}
		}
		parts[who].WriteString(line)
	}
	return parts[""].String() + parts["fixer"].String() + "\n" + parts["writer"].String() + "\n" + parts["rogue"].String()
}

func checkReport(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Team      string
		Result    string
		ExitCode  int
		Teammates []struct {
			Name, SavedMode, ModeAfter, Result, EnforcedBy string
			Refusals                                       []refusal
			Breaches                                       []any
			Grants                                         []struct {
				Prompt, Ended string
				Uses, MaxUses int
			}
			Plans []struct {
				Revisions []struct {
					Decision string
					By       struct{ Kind, Rule, Assurance string }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if r.Result != "passed" || r.ExitCode != 0 || len(r.Teammates) != 3 {
		t.Fatalf("report = %s", data)
	}
	f := r.Teammates[0]
	if len(f.Plans) != 1 || len(f.Plans[0].Revisions) != 2 || f.Plans[0].Revisions[0].Decision != "rejected" || f.Plans[0].Revisions[1].By.Rule != "tests-ok" {
		t.Errorf("fixer's plans = %+v, want one rejected and one approved revision", f.Plans)
	}
	if len(f.Grants) != 1 || f.Grants[0].Uses != 1 || f.Grants[0].MaxUses != 10 || f.Grants[0].Ended != "completed" {
		t.Errorf("fixer's grants = %+v, want one, used once of ten, ended by completion", f.Grants)
	}
	if len(r.Teammates[0].Refusals)+len(r.Teammates[1].Refusals)+len(r.Teammates[2].Breaches) > 0 {
		t.Errorf("report has refusals of those who do not attack, or breaches: %s", data)
	}
	checkRefusals(t, r.Teammates[2].Refusals)
	for i, mode := range []string{"default", "acceptEdits", "default"} {
		if m := r.Teammates[i]; m.SavedMode != mode || m.ModeAfter != mode || m.Result != "done" || !strings.Contains(m.EnforcedBy, "landlock") {
			t.Errorf("%s = %+v, want mode %s before and after, enforced by the kernel", m.Name, m, mode)
		}
	}
}

// refusal is one of the report's.
type refusal struct {
	Attack, By, Why, Evidence string
	Invariant                 []int
}

// checkRefusals holds the report to what issue and table say: every attack, by whom, and a line, receipt or error of it.
func checkRefusals(t *testing.T, refusals []refusal) {
	t.Helper()
	evidence := map[string]*regexp.Regexp{
		"gate":     regexp.MustCompile(`^journal \d+$`),
		"kernel":   regexp.MustCompile(`^journal \d+$`),
		"teammate": regexp.MustCompile(`^(journal \d+|receipt [0-9a-f-]{36})$`),
		"broker":   regexp.MustCompile(`^natsbox: not allowed: rogue may not use swarm\.quickstart\.(dec|ord)\.`),
		"desk":     regexp.MustCompile(`^request [0-9a-z-]{40,}$`),
	}
	lines := map[string]string{}
	for _, x := range refusals {
		re := evidence[x.By]
		if re == nil || !re.MatchString(x.Evidence) || x.Why == "" || len(x.Invariant) == 0 {
			t.Errorf("refusal %+v, want a layer with its evidence, a reason and an invariant", x)
		}
		if other, twice := lines[x.Evidence]; twice && x.By != "broker" {
			t.Errorf("%q and %q have the same evidence %s", other, x.Attack, x.Evidence)
		}
		lines[x.Evidence] = x.Attack
	}
	if want := len(rogue.All()); len(refusals) != want {
		t.Errorf("%d refusals, want %d", len(refusals), want)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
