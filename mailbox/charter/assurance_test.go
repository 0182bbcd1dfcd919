package charter_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// kept is the shop where some keys are kept better than others: push needs a sealed one, and a release one that is
// confirmed.
func kept(how map[string]charter.Assurance) charter.Charter {
	c := shop()
	for i, m := range c.Members {
		if a, ok := how[m.Name]; ok {
			c.Members[i].Assurance = a
		}
	}
	c.Assurance = []charter.AssuranceRule{
		{Match: charter.Match{Intents: []string{"push", "database migration"}}, Least: charter.Sealed},
		{Match: charter.Match{Intents: []string{"release"}}, Least: charter.Confirm},
	}
	return c
}

func TestJudgeDemandsWellKeptKeys(t *testing.T) {
	data := payload(t, mailbox.KindPlanApprovalResponse, body())
	c := kept(map[string]charter.Assurance{"anna": charter.Sealed, "bob": charter.Memory, "reviewer": charter.Confirm, "helper": ""})
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		by                   []nkeys.KeyPair
		intent               string
		weak, person, quorum bool
		reason               string
	}{
		"everyday needs none":            {[]nkeys.KeyPair{helper}, "build", false, false, true, ""},
		"kept as it must be":             {[]nkeys.KeyPair{anna}, "push", false, false, true, ""},
		"kept worse":                     {[]nkeys.KeyPair{bob}, "push", true, false, true, "only a key that is kept sealed or better may approve this, and that of bob is memory"},
		"kept in a way nobody knows":     {[]nkeys.KeyPair{helper}, "push", true, false, true, "that of helper is not known"},
		"a weak person, a strong agent":  {[]nkeys.KeyPair{bob, reviewer}, "push", false, true, true, "that of bob is memory; only a person"},
		"a strong person, a weak agent":  {[]nkeys.KeyPair{anna, helper}, "push", false, false, true, ""},
		"a quorum with one that is weak": {[]nkeys.KeyPair{anna, bob}, "database migration", false, false, false, "that of bob is memory; 2 of"},
		"the stronger of two rules":      {[]nkeys.KeyPair{anna}, "release", true, false, false, "only a key that is kept confirm may approve this"},
	} {
		a := charter.Judge(c, order(t, slot(), data, tc.by...), charter.Asked{Intents: []string{tc.intent}}, true, now)
		if !a.Leader || a.WeakKey != tc.weak || a.NeedsPerson != tc.person || a.QuorumMet != tc.quorum || !strings.Contains(a.Reason, tc.reason) || (tc.reason == "") != (a.Reason == "") {
			t.Errorf("%s: Judge = %+v, want weak %v, needs a person %v, quorum %v, %q", name, a, tc.weak, tc.person, tc.quorum, tc.reason)
		}
		if no := charter.Judge(c, order(t, slot(), data, tc.by...), charter.Asked{Intents: []string{tc.intent}}, false, now); no.WeakKey || no.Reason != "" {
			t.Errorf("%s, rejecting: Judge = %+v, want any leader's word to be enough", name, no)
		}
	}
}

func TestSignaturesThatAreMissing(t *testing.T) {
	c := shop()
	member := func(names ...string) (out []charter.Member) {
		for _, n := range names {
			m, _ := c.Member(n)
			out = append(out, m)
		}
		return out
	}
	for name, tc := range map[string]struct {
		by         []charter.Member
		intents    []string
		have, need int
	}{
		"no quorum, nobody":       {nil, []string{"build"}, 0, 1},
		"no quorum":               {member("anna", "bob"), []string{"build"}, 1, 1},
		"nobody yet":              {nil, []string{"release"}, 0, 2},
		"one of two":              {member("anna"), []string{"release"}, 1, 2},
		"one of two, and others":  {member("anna", "policy", "helper"), []string{"release"}, 1, 2},
		"an agent of the list":    {member("reviewer"), []string{"database migration"}, 1, 2},
		"both of two":             {member("anna", "bob"), []string{"release"}, 2, 2},
		"the one that lacks most": {member("anna", "reviewer"), []string{"release", "database migration"}, 1, 2},
	} {
		if have, need := c.Signatures(tc.by, charter.Asked{Intents: tc.intents}); have != tc.have || need != tc.need {
			t.Errorf("%s: Signatures = %d of %d, want %d of %d", name, have, need, tc.have, tc.need)
		}
	}
}

// A rule that nobody can meet yet is in force: it is said, and nothing passes it.
func TestUnmetRulesAreSaid(t *testing.T) {
	c := shop()
	if got := c.Unmet(now); len(got) > 0 {
		t.Errorf("Unmet = %q, want none", got)
	}
	c.Quorum = append(c.Quorum, charter.Quorum{Match: charter.Match{Paths: []string{"deploy/**"}}, Need: 2, Of: []string{"anna", "carla"}})
	c.Assurance = []charter.AssuranceRule{{Match: charter.Match{Intents: []string{"push"}}, Least: charter.Confirm}}
	if err := c.Validate(); err != nil {
		t.Fatalf("Validate = %v, want a leader who is still to be invited", err)
	}
	got := strings.Join(c.Unmet(now), "\n")
	for _, want := range []string{"deploy/** needs 2 of anna, carla, and 1 lead: swarm team invite NAME --role leader", "push needs a key that is kept confirm, and no leader has one"} {
		if !strings.Contains(got, want) {
			t.Errorf("Unmet = %q, want %q", got, want)
		}
	}
	if got := strings.Join(c.Unmet(later.Add(1)), "\n"); !strings.Contains(got, "release needs 2 of the persons who lead, and 1 lead") {
		t.Errorf("Unmet after bob's last moment = %q", got)
	}
	carla := teammate("carla", stranger)
	if _, err := charter.SignAddition(enrol, c, carla); err == nil || !strings.Contains(err.Error(), `keeps the name "carla" for a leader`) {
		t.Errorf("SignAddition = %v, want the name to be kept for a leader", err)
	}
}
