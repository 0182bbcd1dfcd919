package claudecode_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/teammate/teammatetest"
)

// hookLimit is what one hook may cost at the median, in milliseconds: each use of a tool waits for one.
const hookLimit = 30

// BenchmarkHook is what each use of a tool costs: the hook as a process of its own, below a runner that judges. In the
// client's place stands a program that calls it. The machine's own share is that of `true`.
func BenchmarkHook(b *testing.B) {
	swarm := teammatetest.Build(b)
	s := teammatetest.StartSwarm(b, swarm, nil)
	events := map[string]string{
		"reads": `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","cwd":"` + s.Tree + `","tool_input":{"command":"ls -la"}}`,
		"asked": `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","cwd":"` + s.Tree + `","tool_input":{"command":"go test ./... && touch x"}}`,
		"edit":  `{"hook_event_name":"PreToolUse","tool_name":"Write","tool_use_id":"t","cwd":"` + s.Tree + `","tool_input":{"file_path":"x.go","content":"package x"}}`,
	}
	for name, event := range events {
		s.Write(name+".json", event)
	}
	verdicts := map[string]string{"reads": `"permissionDecision":"allow"`, "asked": `"permissionDecision":"ask"`, "edit": `"permissionDecision":"ask"`}
	calls := map[string]string{"true": "/bin/true"}
	for name := range events {
		calls[name] = `"` + swarm + `" hook claude <` + name + `.json`
	}
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				ms := median(b, s, calls[name], verdicts[name])
				for try := 0; ms > hookLimit && try < 4; try++ { // what else the machine does is none of the hook's
					ms = min(ms, median(b, s, calls[name], verdicts[name]))
				}
				if b.ReportMetric(ms, "median-ms"); ms > hookLimit {
					b.Errorf("%s takes %.1f ms at the median, want at most %d", calls[name], ms, hookLimit)
				}
			}
		})
	}
}

// median has a client call a line a hundred times, and returns what it takes, in milliseconds. What it prints last has to
// have a verdict in it.
func median(b *testing.B, s *teammatetest.Swarm, line, verdict string) float64 {
	b.Helper()
	s.Write("client", `#!/bin/bash
[ "$1" = --version ] && { echo "2.1.197 (Claude Code)"; exit; }
for i in {1..100}; do
	a=$EPOCHREALTIME; `+line+` >out || exit 1; b=$EPOCHREALTIME
	echo $(( ${b/./} - ${a/./} ))
done >times
`)
	mate := s.Start("teammate", "claude", "--name", "api", "--no-plan", "--client", filepath.Join(s.Tree, "client"), "--", "do it")
	if code := mate.End(); code != 0 {
		b.Fatalf("exit %d: %s", code, mate.Output())
	}
	data, err := os.ReadFile(filepath.Join(s.Tree, "times"))
	if err != nil {
		b.Fatal(err)
	}
	var took []int
	for _, word := range strings.Fields(string(data)) {
		var us int
		if _, err := fmt.Sscan(word, &us); err != nil {
			b.Fatal(err)
		}
		took = append(took, us)
	}
	if len(took) != 100 {
		b.Fatalf("%d calls: %s", len(took), mate.Output())
	}
	if out, err := os.ReadFile(filepath.Join(s.Tree, "out")); err != nil || !strings.Contains(string(out), verdict) {
		b.Fatalf("%s: %v: %s", line, err, out)
	}
	slices.Sort(took)
	return float64(took[50]) / 1000
}
