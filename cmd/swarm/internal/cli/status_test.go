package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
)

// What one member says of itself does not drown what the others say: texts are cut, and lists are short.
func TestStatusOfAMemberIsCut(t *testing.T) {
	long := strings.Repeat("x\n", 20_000)
	s := planmode.Status{
		State: planmode.Left, Mode: "default", SavedMode: "plan", ApprovedPlan: long, EnforcedBy: long, Tool: long, Task: long, Failed: long,
	}
	for range 40_000 {
		s.Blocked = append(s.Blocked, planmode.BlockedCall{Tool: "Bash", Input: "x", Times: 2})
	}
	s.Blocked[0] = planmode.BlockedCall{Tool: long, Input: long, Times: 2}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	m := natsbox.Presence{Name: "api", Agent: long, Status: text, Seen: time.Now()}
	for range 10_000 {
		m.Capabilities = append(m.Capabilities, long[:200])
	}
	doc := statusDoc{Teammates: []teammateDoc{teammateOf(m)}}
	if lines := strings.Count(doc.text(), "\n"); lines > 20 {
		t.Errorf("%d lines for one teammate, want at most 20", lines)
	}
	for _, line := range strings.Split(doc.text(), "\n") {
		if len(line) > 1000 {
			t.Errorf("a line of %d bytes: %.60s", len(line), line)
		}
	}
	if out, err := json.Marshal(doc); err != nil || len(out) > 48<<10 {
		t.Errorf("%d bytes of JSON for one teammate (%v), want at most 48 KiB", len(out), err)
	}
	if got := doc.Teammates[0]; len(got.Blocked) != 5 || !strings.HasPrefix(got.Failed, "x") {
		t.Errorf("%d blocked calls, failed %.20q; want five, and why it failed", len(got.Blocked), got.Failed)
	}
}
