package planmode_test

import (
	"fmt"
	"testing"

	"github.com/planswarm/swarm/planmode"
)

// old is a session that remembers all it may.
func old(t tb, s planmode.Session) planmode.Session {
	for i := range planmode.MaxSettled {
		id := fmt.Sprint("x", i)
		s = must(t, s, planmode.Asked{Ask: ask(id, id)}, planmode.AskWithdrawn{RequestID: id})
	}
	return s
}

func BenchmarkApplySubmitted(b *testing.B) {
	s, ev := old(b, planning(b)), submit("r1", planA)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Apply(ev); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyDecided(b *testing.B) {
	s := old(b, awaiting(b))
	ev := approve(s)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Apply(ev); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkApplyGrantUsed(b *testing.B) {
	s, ev := old(b, carrying(b)), use("r1/1")
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := s.Apply(ev); err != nil {
			b.Fatal(err)
		}
	}
}
