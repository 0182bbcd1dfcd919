package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/planswarm/swarm/cmd/swarm/internal/rogue"
	"github.com/planswarm/swarm/plans"
)

// How a teammate's run is meant to end (`expect:` in the team document). Empty expects nothing in particular.
const (
	ExpectDone     = "done"
	ExpectRejected = "rejected"
	ExpectRefused  = "refused" // it attacks, and every attack is refused
)

// How an attack failed to be refused.
const (
	Succeeded    = "succeeded"
	LayerMissing = "layer missing" // refused, and not by the layer that must
	NotTried     = "not tried"
	NotEnforced  = "not enforced" // this kernel has no confinement: it is said, and the run passes
	Allowed      = rogue.Allowed  // a leader was asked and let it through: it is no attack any more
	Moot         = rogue.Moot     // a leader has rejected what it would have been about
)

// Breach is an attack that was not refused as it has to be.
type Breach struct {
	Attack string `json:"attack"`
	State  string `json:"state"` // succeeded, layer missing, not tried, not enforced, allowed or moot
	Why    string `json:"why"`
}

// Expect says how a teammate's run is meant to end. attacks are those that it must be seen to try.
func (c *Collector) Expect(name, expect string, attacks []rogue.Attack) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.teammate(name); t != nil {
		t.Expect, t.attacks = expect, attacks
	}
}

// attacked takes an attack that was tried.
func (c *Collector) attacked(t *Teammate, f map[string]string) {
	i := slices.IndexFunc(t.attacks, func(a rogue.Attack) bool { return a.Name == f["attack"] })
	if i < 0 {
		return
	}
	a, by, why := t.attacks[i], rogue.Layer(f["by"]), plans.VisibleLine(f["why"])
	t.tried = append(t.tried, a.Name)
	switch {
	case f["error"] != "":
		why = plans.VisibleLine(f["error"])
		t.Breaches = append(t.Breaches, Breach{a.Title, NotTried, why})
		c.line(Line{t.Name, "NOT TRIED", a.Title + ": " + why})
	case f["moot"] == Allowed, f["moot"] == Moot:
		t.Breaches = append(t.Breaches, Breach{a.Title, f["moot"], why})
		c.after(cmp.Or(f["requestId"], t.lastAsk), func() { c.line(Line{t.Name, strings.ToUpper(f["moot"]), a.Title + ": a leader said so"}) })
	case by == a.By:
		t.Refusals = append(t.Refusals, Refusal{
			Attack: a.Title, By: string(by), Why: why, Invariant: a.Invariants, Evidence: plans.VisibleLine(f["evidence"]), row: a,
		})
		c.after(cmp.Or(f["requestId"], t.lastAsk), func() { c.line(Line{t.Name, "REFUSED", a.Title + ": " + a.Because}) })
	case a.By == rogue.Kernel && strings.HasPrefix(t.EnforcedBy, "nobody"):
		t.Breaches = append(t.Breaches, Breach{a.Title, NotEnforced, why})
		c.line(Line{t.Name, "NOT ENFORCED", a.Title})
	case by == "":
		t.Breaches = append(t.Breaches, Breach{a.Title, Succeeded, why})
		c.line(Line{t.Name, "ATTACK SUCCEEDED", a.Title + ": " + why})
	default:
		why = fmt.Sprintf("refused by %s, not by %s: %s", by, a.By, why)
		t.Breaches = append(t.Breaches, Breach{a.Title, LayerMissing, why})
		c.line(Line{t.Name, "LAYER MISSING", a.Title + ": " + why})
	}
}

// untried adds the attacks that never came.
func (t *Teammate) untried() {
	for _, a := range t.attacks {
		if !slices.Contains(t.tried, a.Name) {
			t.Breaches = append(t.Breaches, Breach{a.Title, NotTried, "the script ended before"})
		}
	}
}

// breached reports whether an attack was not refused that this machine could refuse.
func (t *Teammate) breached() bool {
	return slices.ContainsFunc(t.Breaches, func(b Breach) bool { return !slices.Contains([]string{NotEnforced, Allowed, Moot}, b.State) })
}

// The columns of the table of refusals, in cells; with the last one, of 9, they are 80.
const (
	colAttack, colBy, colBecause = 38, 9, 24
	colInvariant                 = 9
)

// writeAttacks writes what was refused, by whom and why, and then what was not.
func (r Report) writeAttacks(b *strings.Builder) {
	rows, breaches, expected := []string{}, []string{}, 0
	for _, t := range r.Teammates {
		expected += len(t.attacks)
		for _, x := range t.Refusals {
			rows = append(rows, x.line(t.Name))
		}
		for _, x := range t.Breaches {
			breaches = append(breaches, fmt.Sprintf("%-17s %s  %s: %s\n", x.title(), t.Name, x.Attack, plans.Cut(x.Why, 200)))
		}
	}
	if len(rows) > 0 {
		title := fmt.Sprintf("REFUSED (%d)", len(rows))
		if expected > 0 {
			title = fmt.Sprintf("REFUSED (%d, all expected here)", len(rows))
		}
		if len(breaches) > 0 || expected > 0 && expected != len(rows) {
			title = fmt.Sprintf("REFUSED (%d of %d)", len(rows), expected)
		}
		b.WriteString("\n" + pad(title, colAttack) + pad("BY", colBy) + pad("BECAUSE", colBecause) + "INVARIANT\n")
		b.WriteString(strings.Join(rows, ""))
	}
	if len(breaches) > 0 {
		b.WriteString("\n" + strings.Join(breaches, ""))
	}
}

// line is one row of the table.
func (x Refusal) line(who string) string {
	because := plans.Cut(x.Why, colBecause-1)
	if x.row.Name != "" {
		because = x.row.Because
	}
	numbers := rogue.Attack{Invariants: x.Invariant}.Numbers()
	return pad(plans.Cut(who, 7)+"  "+x.Attack, colAttack) + pad(x.By, colBy) + pad(because, colBecause) +
		strings.Repeat(" ", max(colInvariant-len(numbers), 0)) + numbers + "\n"
}

func (x Breach) title() string {
	if x.State == Succeeded {
		return "ATTACK SUCCEEDED"
	}
	return strings.ToUpper(x.State)
}
