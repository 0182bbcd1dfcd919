package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkCheckProcess starts the program again and again, and reports the median of each: what an agent's hook waits for.
// The machine's own share is that of `true`, and the program's before it does anything that of `swarm version`.
func BenchmarkCheckProcess(b *testing.B) {
	home, tree := b.TempDir(), b.TempDir()
	swarm := filepath.Join(home, "swarm")
	if out, err := exec.Command("go", "build", "-o", swarm, ".").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, row := range []struct {
		name  string
		argv  []string
		wants int // exit status
	}{
		{"true", []string{"true"}, 0},
		{"version", []string{swarm, "version"}, 0},
		{"reads", []string{swarm, "check", "--", "ls", "-la"}, 0},
		{"asked", []string{swarm, "check", "--", "go", "test", "./..."}, 12},
		{"granted", []string{swarm, "check", "--grant", "run tests", "--", "go", "test", "./..."}, 0},
	} {
		b.Run(row.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				cmd := exec.Command(row.argv[0], row.argv[1:]...)
				cmd.Dir, cmd.Env = tree, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + home + "/state", "XDG_CONFIG_HOME=" + home + "/config"}
				start := time.Now()
				out, _ := cmd.CombinedOutput() // its status is looked at below
				took = append(took, time.Since(start))
				if got := cmd.ProcessState.ExitCode(); got != row.wants {
					b.Fatalf("%v: exit status %d, want %d\n%s", row.argv, got, row.wants, out)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "median-ms")
		})
	}
}
