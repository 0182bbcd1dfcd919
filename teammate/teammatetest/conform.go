package teammatetest

import (
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Client is an adapter with its client, for [Conform].
type Client struct {
	About // what the README says of it
	// Bin is the swarm program, Program the first word of the client's command line.
	Bin, Program string
	// Play gives an agent its acts. It is called for each teammate that is started first.
	Play func(t testing.TB, acts []Act) Part
	// Hostile writes what the author of a repository can bring for this client to be approved, allowed or started. What
	// comes through makes files with names in trap-*. Nil has none.
	Hostile func(s *Swarm)
	// KeepsRequest says that a request outlives a crash of the client: the same one is open when it goes on.
	KeepsRequest bool
	// Without are the promises that cannot be tried, each with the reason, in words for the README.
	Without map[Promise]string
	// Update writes the record anew, in place of comparing it.
	Update bool
}

// Conform tries what every adapter promises, with the real client and processes of their own, and compares what was kept
// with the record in testdata/conformance.json, which the README's table of agents is made of.
func Conform(t *testing.T, c Client) {
	var mu sync.Mutex
	kept := map[Promise]bool{}
	took := time.Duration(0)
	t.Run("scenes", func(t *testing.T) {
		for _, s := range scenes {
			if promises := c.tried(s); len(promises) > 0 {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					begin := time.Now()
					s.play(&stage{Client: c, t: t})
					mu.Lock()
					defer mu.Unlock()
					took += time.Since(begin)
					t.Logf("%d promises in %.1f s", len(promises), time.Since(begin).Seconds())
					for _, p := range promises {
						kept[p] = true
					}
				})
			}
		}
	})
	t.Logf("%d promises of %s in %.1f s", len(kept), c.Agent, took.Seconds())
	if run := flag.Lookup("test.run"); !t.Failed() && (run == nil || !strings.Contains(run.Value.String(), "/")) { // not a part of it
		c.record(t, kept)
	}
}

// tried are the promises of a scene that this client can be tried with.
func (c Client) tried(s scene) []Promise {
	return slices.DeleteFunc(slices.Clone(s.promises), func(p Promise) bool { return c.Without[p] != "" })
}

func (c Client) record(t *testing.T, kept map[Promise]bool) {
	t.Helper()
	r := Record{About: c.About}
	for _, p := range Promises {
		switch why := c.Without[p]; {
		case kept[p]:
			r.Kept = append(r.Kept, p)
		case why != "":
			r.Without = append(r.Without, Reason{p, why})
		default:
			t.Errorf("no scene has tried: %s", p)
		}
	}
	old, err := ReadRecord(recordFile)
	r.Waited = old.Waited
	if c.Update {
		if err := r.write(recordFile); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err != nil {
		t.Fatalf("%v: write it with -update", err)
	}
	if got, want := mustJSON(r), mustJSON(old); got != want {
		t.Errorf("%s says\n%s\nand the client kept\n%s\nwrite it anew with -update, and the README's line with it", recordFile, want, got)
	}
}

// A stage is where one scene is played.
type stage struct {
	Client
	*Swarm
	t    *testing.T
	part Part
}

// open makes the swarm in which an agent does its acts, and checks at the end what it was told.
func (s *stage) open(acts ...Act) {
	s.t.Helper()
	s.openAfter(nil, acts...)
}

func (s *stage) openAfter(before func(Swarm), acts ...Act) {
	s.t.Helper()
	s.part = s.Play(s.t, acts)
	var first []func(Swarm)
	if before != nil {
		first = append(first, before)
	}
	s.Swarm = StartSwarm(s.t, s.Client.Bin, first, s.part.Env...)
	s.t.Cleanup(func() {
		if s.part.Problems == nil {
			return
		}
		for _, p := range s.part.Problems() {
			s.t.Errorf("the agent was not told: %s", p)
		}
	})
}

func (s *stage) mate(o Options) *Process {
	s.t.Helper()
	return s.part.start(s.Swarm, o)
}

// none fails when one of the files of the tree is there.
func (s *stage) none(when string, names ...string) {
	s.t.Helper()
	for _, name := range names {
		if s.Has(name) {
			s.t.Errorf("%s is there %s", name, when)
		}
	}
}

// end waits for the teammate's own end.
func (s *stage) end(mate *Process) {
	s.t.Helper()
	if code := mate.End(); code != 0 {
		s.t.Errorf("the teammate ended with %d: %s", code, mate.Output())
	}
}

// inMode waits until the teammate says that it is in a mode: its status and its mail come each by itself.
func (s *stage) inMode(want string) {
	s.t.Helper()
	s.Until("the teammate in mode "+want, func() bool { return s.Mode(Mate) == want })
}

// approves approves a row. Its teammate may not be back yet: exit 7 says that the decision is stored, and not applied.
func (s *stage) approves(row Row) {
	s.t.Helper()
	if d := s.Run("approve", row.Handle); d.Code != 0 && d.Code != 7 {
		s.t.Fatalf("swarm approve %s: exit %d: %s%s", row.Handle, d.Code, d.Out, d.Err)
	}
}

// refused runs a leader's command that has to fail.
func (s *stage) refused(args ...string) {
	s.t.Helper()
	if d := s.Run(args...); d.Code == 0 {
		s.t.Errorf("swarm %q: %s", args, d.Out)
	}
}

// killAdapter kills the runner, and waits until nothing of it is left.
func (s *stage) killAdapter(mate *Process) {
	s.t.Helper()
	client := clientOf(mate, s.Program)
	mate.Kill()
	s.Until("the end of the client", func() bool { return argv0(client) == "" && len(s.left()) == 0 })
}
