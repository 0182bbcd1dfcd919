package rogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
	"github.com/planswarm/swarm/teammate/gate"
)

func TestEveryAttackIsToldApart(t *testing.T) {
	names, titles := map[string]bool{}, map[string]bool{}
	layers := []rogue.Layer{rogue.Gate, rogue.Kernel, rogue.Teammate, rogue.Broker, rogue.Desk}
	used := map[rogue.Layer]bool{}
	for _, a := range rogue.All() {
		if names[a.Name] || titles[a.Title] {
			t.Errorf("%s (%s) is there twice", a.Name, a.Title)
		}
		names[a.Name], titles[a.Title], used[a.By] = true, true, true
		if !slices.Contains(layers, a.By) || a.Because == "" || len(a.Invariants) == 0 || a.Invariants[0] < 1 || slices.Max(a.Invariants) > 15 {
			t.Errorf("%s: by %q because %q, invariants %v: want a layer, a reason and invariants from 1 to 15", a.Name, a.By, a.Because, a.Invariants)
		}
		if found, ok := rogue.Find(a.Name); !ok || found.Title != a.Title {
			t.Errorf("Find(%q) = %v, %v", a.Name, found, ok)
		}
	}
	if len(used) != len(layers) {
		t.Errorf("attacks meet the layers %v, want all of %v", used, layers)
	}
}

func TestAnUnknownAttackHasItsNearestName(t *testing.T) {
	a := rogue.New(rogue.Config{Tell: func(event string, _ map[string]string) { t.Errorf("%s is told of an attack that was not tried", event) }})
	_, err := a.Attack(t.Context(), gate.AttackArgs{Name: "forge-aproval"})
	if err == nil || !strings.Contains(err.Error(), `unknown attack "forge-aproval": did you mean "forge-approval"?`) {
		t.Errorf("Attack = %v, want the nearest name", err)
	}
}
