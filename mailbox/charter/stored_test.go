package charter_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// An order that anna signed under an earlier charter is still hers when her key has been sealed since, or unsealed: in what
// is stored, and for nobody who carries it out. Nothing else is let through.
func TestOpenStored(t *testing.T) {
	good := valid(t)
	for name, tc := range map[string]struct {
		serial   uint64
		now      charter.Assurance
		old, new string // in the signed bytes
		ok       bool
		says     string // by OpenOrder
	}{
		"as it was":               {2, charter.Plain, "", "", true, ""},
		"sealed since":            {2, charter.Sealed, "", "", true, "plain"},
		"unsealed since":          {2, charter.Plain, `"assurance":"plain"`, `"assurance":"sealed"`, true, "sealed"},
		"under this charter":      {1, charter.Sealed, "", "", false, "plain"},
		"under a later charter":   {2, charter.Sealed, `"charterSerial":1`, `"charterSerial":3`, false, "plain"},
		"of another team":         {2, charter.Sealed, charter.TeamID(pub(owner)), charter.TeamID(pub(bob)), false, "teamId"},
		"in another's name":       {2, charter.Sealed, `"name":"anna"`, `"name":"bob"`, false, "did not sign"},
		"as another kind":         {2, charter.Sealed, `"kind":"person"`, `"kind":"policy"`, false, "policy"},
		"with a name that is odd": {2, charter.Sealed, `"outcome"`, `"onlyIf":"x","outcome"`, false, "onlyIf"},
	} {
		c := kept(map[string]charter.Assurance{"anna": tc.now})
		c.Serial = tc.serial
		data := strings.Replace(string(good.Payload), tc.old, tc.new, 1)
		if tc.old != "" && data == string(good.Payload) {
			t.Fatalf("%s: the order has no %s", name, tc.old)
		}
		o := order(t, slot(), []byte(data), anna)
		_, d, err := charter.OpenStored[decision](c, o)
		if (err == nil) != tc.ok || tc.ok && d.Outcome != "approved" || !tc.ok && !errors.Is(err, charter.ErrBadOrder) {
			t.Errorf("%s: OpenStored = %+v, %v, want it to open %v", name, d, err, tc.ok)
		}
		_, _, err = charter.OpenOrder[decision](c, o)
		if (tc.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: OpenOrder = %v, want %q", name, err, tc.says)
		}
	}
	c := kept(map[string]charter.Assurance{"anna": charter.Sealed})
	c.Serial = 2
	o := order(t, mailbox.DecisionSubject("shop", "api", request), good.Payload, api)
	if _, _, err := charter.OpenStored[decision](c, o); !errors.Is(err, charter.ErrNotLeader) {
		t.Errorf("signed by a teammate: OpenStored = %v, want %v", err, charter.ErrNotLeader)
	}
}
