// Package crashtest kills a whole team at random moments and looks whether any of its promises broke.
//
// It is the real thing: nats-server with its files, coordinator, desk, runners with their journals, a person's commands,
// all in one process and in fake time, so that half an hour of redeliveries takes a second. What is simulated is the kill
// and the kernel:
//
//   - A process may be killed at any of its borders: before or after a piece of its traffic, in the middle of sending one,
//     before or after a line of its journal, around a word to its agent, with a letter or an order in its hand; or
//     at any moment of the (fake) time.
//   - From then on nothing leaves it and nothing comes in, its connections are cut, and its folder is copied. The next
//     process starts on the copy. What the dead one still had in memory is lost, as are its goroutines, which end on the
//     folder that nobody looks at any more.
//   - A broker's folder is copied either when it has finished what it had received, or at once, while it still works on it.
//     A runner's is copied at once; a line of its journal that was being written may be torn.
//   - That is kill -9: what was written by then is there, because the kernel keeps it. It is not a power failure: what the
//     kernel had not written to the disk is not taken away. The broker's own promise (fsync before it acknowledges) and the
//     journal's are not proven here.
package crashtest

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// strikesEach is how many moments of a kill one check has. CI makes a hundred checks, which are five hundred:
// go test ./mailbox/crashtest -rapid.checks=100
const strikesEach = 5

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // half of the time went into collecting what a dead broker leaves
	_ = flag.Set("rapid.checks", checks)
	flag.Parse()
	goleak.VerifyTestMain(mailboxtest.Settled(m))
}

// bubble runs f with a clock of its own. Package nats keeps timers for the whole process, which FlushTimeout of a connection
// that comes back takes: one of an earlier bubble ends the process, so that they are collected before.
func bubble(t *testing.T, f func(*testing.T)) {
	runtime.GC() // what a sync.Pool holds is gone after the second one
	runtime.GC()
	synctest.Test(t, f)
}

// strike is one kill, or one cut of a network.
type strike struct {
	victims []string
	after   int           // crossings of the first victim
	most    time.Duration // or so long, when it is idle
	torn    bool          // in the middle of what it was writing
	how     int           // what is left of a torn line
	settled bool          // the broker's folder is copied when it has finished what it had received
	cut     bool          // nobody is killed: only the connections break
	down    time.Duration // until it is started again
}

func strikes(names []string) *rapid.Generator[strike] {
	return rapid.Custom(func(t *rapid.T) strike {
		s := strike{
			after: rapid.IntRange(1, 60).Draw(t, "after"), most: time.Duration(rapid.IntRange(1, 3000).Draw(t, "most")) * time.Millisecond,
			torn: rapid.Bool().Draw(t, "torn"), how: rapid.IntRange(0, 3).Draw(t, "how"), settled: rapid.Bool().Draw(t, "settled"),
			cut: rapid.IntRange(0, 9).Draw(t, "cut") == 9, down: time.Duration(rapid.IntRange(0, 3000).Draw(t, "down")) * time.Millisecond,
		}
		n := []int{1, 1, 1, 1, 2, 2, 3, len(names)}[rapid.IntRange(0, 7).Draw(t, "how many")]
		s.victims = rapid.Permutation(names).Draw(t, "victims")[:n]
		return s
	})
}

func (s strike) String() string {
	what := "kill"
	if s.cut {
		what = "cut"
	}
	return fmt.Sprintf("%s %s after %d or %s, torn %t/%d, settled %t, down %s", what, strings.Join(s.victims, "+"), s.after, s.most, s.torn, s.how, s.settled, s.down)
}

// hidden keeps rapid from asking a bubble's test for its deadline.
type hidden struct{ testing.TB }

// Killed at any moment, in any order, alone and together: no acknowledged message is lost, none is handled twice, nothing is
// approved without a signed decision, a request has one decision, everybody who waits is decided in the end, grants live
// with their plan alone, and the audit ledger has no gap.
func TestKilledAtRandom(t *testing.T) {
	root := t.TempDir()
	kills, begin := map[string]int{}, time.Now()
	rounds := 0
	bubble(t, func(out *testing.T) {
		rapid.Check(hidden{out}, func(t *rapid.T) {
			rounds++
			dir := fmt.Sprintf("%s/%d", root, rounds)
			defer os.RemoveAll(dir)
			for name, n := range round(t, out, dir) {
				kills[name] += n
			}
		})
	})
	sum := 0
	for _, name := range slices.Sorted(maps.Keys(kills)) {
		sum += kills[name]
		t.Logf("killed %4d times: %s", kills[name], name)
	}
	t.Logf("%d moments, at which %d processes were killed, %s", rounds*strikesEach, sum, time.Since(begin).Round(time.Second))
}

func round(t *rapid.T, out testing.TB, root string) map[string]int {
	mates := []string{"api", "db", "web"}[:rapid.IntRange(2, 3).Draw(t, "mates")]
	kinds := rapid.SampledFrom([]task{taskPlan, taskRejected, taskRevise, taskWithdraw, taskMail, taskMail, taskQuestion, taskCall})
	w := newWorld(t, out, root, mates)
	t.Cleanup(w.close)
	var jobs []*work
	for i, name := range mates {
		peers := append([]string{"lead"}, slices.Concat(mates[:i], mates[i+1:])...)
		jobs = append(jobs, &work{name: name, peers: peers, tasks: rapid.SliceOfN(kinds, 3, 8).Draw(t, name), done: make(chan struct{})})
	}
	plan := rapid.SliceOfN(strikes(append([]string{"up", "up", "desk", "mia"}, mates...)), strikesEach, strikesEach).Draw(t, "strikes")

	w.startBroker(w.disk("up"))
	w.startDesk()
	w.startMia(mates)
	for _, k := range jobs {
		w.startMate(k, w.disk(k.name))
	}
	for _, s := range plan {
		w.story = append(w.story, fmt.Sprintf("%s: %s", time.Now().Format("15:04:05.000"), s))
		w.strike(s)
	}
	w.finish(jobs)
	w.verify(jobs)
	return w.notes.kills
}

// strike carries one strike out.
func (w *world) strike(s strike) {
	first := w.part(s.victims[0])
	first.border().arm(s.after, s.torn)
	select {
	case <-first.border().dead:
	case <-time.After(s.most):
	}
	if s.cut {
		if !first.border().isOver() {
			first.border().arm(0, false)
			first.border().cut()
			return
		}
		s.victims = s.victims[:1] // it came to its end before
	}
	names := slices.Compact(slices.Sorted(slices.Values(s.victims)))
	if i := slices.Index(names, "up"); i >= 0 { // last: who is killed in the midst of something holds what others wait for
		names = append(slices.Delete(names, i, i+1), "up")
	}
	for _, name := range names {
		w.part(name).border().kill()
	}
	var starts []func()
	for _, name := range names {
		w.notes.killed(name)
		starts = append(starts, w.part(name).succeed(s))
	}
	for _, start := range starts {
		time.Sleep(s.down)
		start()
	}
}

// close ends whatever runs, also where a check has failed.
func (w *world) close() {
	w.mu.Lock()
	parts := slices.Collect(maps.Values(w.parts))
	w.mu.Unlock()
	for _, p := range parts {
		l := p.border()
		l.kill()
		l.cut()
		l.bury()
	}
	for _, p := range parts {
		p.join()
	}
}
