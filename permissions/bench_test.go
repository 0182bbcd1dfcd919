package permissions_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
)

// line is one that is timed, and whose memory is counted.
type line struct{ name, command string }

// everyday are lines as agents write them, below 1 KiB, and the longest of that size that are simple.
var everyday = []line{
	{"read", "ls -la src"},
	{"granted", "go test ./..."},
	{"granted by another tool", "uv run pytest"},
	{"runner files", "cd api/v1 && make test"},
	{"reads", "find . -name '*.go' | head -3; git show --stat HEAD; sed -n '1,80p' a.go | grep x"},
	{"pipeline", "cd api && CI=1 go test -race -count=1 ./... 2>&1 | grep -v PASS | tail -50"},
	{"five in a row", "git log --oneline | grep fix | sort | uniq -c | head -20"},
	{"loop", "for f in a.go b.go c.go; do wc -l \"$f\"; done"},
	{"asked", "npm run build && npm publish"},
	{"denied", "env A=1 swarm approve r1"},
	{"1KiB", "grep -n " + strings.Repeat("x", 1000) + " a.go"},
	{"1KiB of words", "cat" + strings.Repeat(" a/bc.go", 125)},
}

// worst are lines that are meant to be slow.
var worst = []line{
	{"4KiB of commands", strings.TrimSuffix(strings.Repeat("git log --oneline -5 -- internal/limit/some/long_folder/limit_test.go && ", 56), " && ")},
	{"4KiB of too many commands", strings.TrimSuffix(strings.Repeat("git log --oneline -5 -- internal/limit/limit_test.go && ", 70), " && ")},
	{"4KiB of text", "git commit -m '" + strings.Repeat("what it does; and ~/why, in a/b/c ", 120) + "'"},
	{"4KiB of words", "cat" + strings.Repeat(" a/bc.go", 500)},
	{"16KiB of parentheses", strings.Repeat("(", 8<<10) + strings.Repeat(")", 8<<10)},
	{"16KiB of substitutions", strings.Repeat("$(", 5<<10) + strings.Repeat(")", 5<<10)},
	{"16KiB of words", "rm" + strings.Repeat(" a/b", 4000)},
	{"16KiB of text", "sh -c '" + strings.Repeat("a b/c; ", 2300) + "'"},
	{"16KiB of backquotes", strings.Repeat("`", 16<<10)},
	{"16KiB of braces", "rm " + strings.Repeat("{a,", 4<<10) + strings.Repeat("}", 3<<10)},
	{"cds", strings.Repeat("cd a;", 60) + " rm ../x ../y ~/z"},
}

// timedEngine consults nothing on the disk, and makes contracts as a runner's does.
func timedEngine() *permissions.Engine {
	return permissions.New(permissions.Config{Resolver: permissions.Lexical(), Path: "/usr/local/bin:/usr/bin:/bin", BaseEnv: []string{"HOME=/home/user", "USER=u", "LANG=C.UTF-8"}})
}

func timedCall(command string) permissions.Call {
	return permissions.Call{Tool: "Bash", Command: command, Cwd: "/project"}
}

// timedState has a grant and rules. Long lines are judged where most of the work is done.
func timedState(command string) permissions.State {
	s := state(permissions.ModeDefault)
	if len(command) > 2<<10 {
		s.Mode = permissions.ModeBypass
	}
	s.Grants = []permissions.Grant{grant("run tests")}
	s.Rules = []permissions.Rule{bashRule(permissions.Deny, "git push:*"), bashRule(permissions.Allow, "make lint:*")}
	return s
}

// timed runs a decision again and again, and reports the time that 99 of 100 stay below.
func timed(b *testing.B, decide func()) {
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		decide()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns/op")
}

func BenchmarkDecide(b *testing.B) {
	engine := timedEngine()
	b.Run("corpus", func(b *testing.B) {
		rows := corpus(b)
		rows = slices.DeleteFunc(rows, func(r row) bool { return len(r.Command) >= 1<<10 })
		states := make([]permissions.State, len(rows))
		for i, r := range rows {
			states[i] = r.state(b)
		}
		i := 0
		timed(b, func() {
			engine.Decide(timedCall(rows[i].Command), states[i])
			i = (i + 1) % len(rows)
		})
		most := slices.MaxFunc(countedRows(b), func(x, y counted) int { return cmp.Compare(x.allocs, y.allocs) })
		b.ReportMetric(most.allocs, "max-allocs/op")
		b.Logf("most allocations: row %s, %.0f", most.id, most.allocs)
	})
	for _, l := range slices.Concat(everyday, worst) {
		b.Run(l.name, func(b *testing.B) {
			s := timedState(l.command)
			timed(b, func() { engine.Decide(timedCall(l.command), s) })
		})
	}
}
