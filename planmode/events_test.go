package planmode_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/planmode"
)

// Every event that the session tells has its name in the list, and the list has no other.
func TestEventsAreListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?:emit|ordered)\("([A-Za-z.]+)"|event :?= (?:\w+, )?"([A-Za-z.]+)"|kind, event :?= \w+, "([A-Za-z.]+)"`).FindAllStringSubmatch(string(text), -1) {
			told[m[1]+m[2]+m[3]] = true
		}
	}
	for name := range told {
		if !slices.Contains(planmode.Events(), name) {
			t.Errorf("event %q is not listed", name)
		}
	}
	for _, name := range planmode.Events() {
		if !told[name] {
			t.Errorf("event %q is listed, and nothing tells it", name)
		}
	}
}

// What is asked, decided or given up has its digest in the event.
func TestEventsHaveDigests(t *testing.T) {
	for name, c := range map[string]struct {
		from planmode.Session
		ev   planmode.Event
	}{
		"plan.rejected":  {awaiting(t), decide(awaiting(t), no)},
		"plan.expired":   {awaiting(t), decide(awaiting(t), planmode.OutcomeExpired)},
		"plan.approved":  {awaiting(t), approve(awaiting(t))},
		"plan.left":      {awaiting(t), decide(awaiting(t), exit)},
		"plan.withdrawn": {awaiting(t), planmode.WithdrawAsked{Reason: planmode.WithdrawnByAgent}},
		"plan.completed": {carrying(t), planmode.Completed{By: "agent"}},
	} {
		_, effects, err := c.from.Apply(c.ev)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		i := slices.IndexFunc(effects, func(e planmode.Effect) bool { m, ok := e.(planmode.Emit); return ok && m.Event == name })
		if i < 0 || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(effects[i].(planmode.Emit).Fields["digest"]) {
			t.Errorf("%s: %+v, want it with a digest", name, effects)
		}
	}
}
