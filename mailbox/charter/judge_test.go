package charter_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

func signerNames(a charter.Authority) string {
	var names []string
	for _, m := range a.Signers {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

func TestJudgeCountsOnlyActiveLeaders(t *testing.T) {
	data := payload(t, mailbox.KindPlanApprovalResponse, body())
	for name, c := range map[string]struct {
		by      []nkeys.KeyPair
		signers string
		reason  string
	}{
		"a leader":              {[]nkeys.KeyPair{anna}, "anna", ""},
		"each once":             {[]nkeys.KeyPair{anna, anna, bob, anna}, "anna bob", ""},
		"valid ones of many":    {[]nkeys.KeyPair{stranger, api, gone, past, wall, bob}, "bob", ""},
		"until its last moment": {[]nkeys.KeyPair{bob}, "bob", ""},
		"nobody":                {nil, "", "not signed"},
		"a teammate":            {[]nkeys.KeyPair{api}, "", "api is teammate, not a leader of team shop"},
		"an observer":           {[]nkeys.KeyPair{wall}, "", "wall is observer"},
		"retired":               {[]nkeys.KeyPair{gone}, "", "gone is retired"},
		"ended":                 {[]nkeys.KeyPair{past}, "", "the key of past ended at 2026-03-01T08:30:00Z"},
		"a stranger":            {[]nkeys.KeyPair{stranger}, "", "no member's"},
		"the owner":             {[]nkeys.KeyPair{owner}, "", "no member's"},
		"the enrolment key":     {[]nkeys.KeyPair{enrol}, "", "no member's"},
		"several for nothing":   {[]nkeys.KeyPair{api, wall}, "", "api is teammate, not a leader of team shop; wall"},
	} {
		for _, approves := range []bool{false, true} {
			a := charter.Judge(shop(), order(t, slot(), data, c.by...), charter.Asked{}, approves, now)
			if signerNames(a) != c.signers || a.Leader != (c.signers != "") || !strings.Contains(a.Reason, c.reason) || c.reason == "" && a.Reason != "" {
				t.Errorf("%s: Judge = %s, leader %v, %q, want %q and %q", name, signerNames(a), a.Leader, a.Reason, c.signers, c.reason)
			}
			if a.QuorumMet != a.Leader || a.NeedsPerson {
				t.Errorf("%s: Judge = %+v", name, a)
			}
		}
	}
	o := order(t, slot(), data, bob)
	if a := charter.Judge(shop(), o, charter.Asked{}, true, later); !a.Leader {
		t.Errorf("at its last moment: Judge = %+v, want bob", a)
	}
	if a := charter.Judge(shop(), o, charter.Asked{}, true, later.Add(1)); a.Leader {
		t.Errorf("after its last moment: Judge = %+v, want nobody", a)
	}
}

func TestJudgeIgnoresBadSignatures(t *testing.T) {
	good := valid(t)
	sig := good.Sigs[0]
	key, value, _ := strings.Cut(sig, ".")
	alphabet := "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	lines := []string{`{"v":1,`, `"id":"x"}`} // signed as one payload
	last := strings.IndexByte(alphabet, value[len(value)-1])
	for name, o := range map[string]charter.Order{
		"other request":            {Subject: mailbox.DecisionSubject("shop", "api", request[:len(request)-1]+"4"), Payload: good.Payload, Sigs: good.Sigs},
		"other teammate":           {Subject: mailbox.DecisionSubject("shop", "web", request), Payload: good.Payload, Sigs: good.Sigs},
		"other team":               {Subject: mailbox.DecisionSubject("shop2", "api", request), Payload: good.Payload, Sigs: good.Sigs},
		"altered byte":             {Subject: good.Subject, Payload: []byte(strings.Replace(string(good.Payload), "approved", "rejected", 1)), Sigs: good.Sigs},
		"added space":              {Subject: good.Subject, Payload: append(slices.Clone(good.Payload), ' '), Sigs: good.Sigs},
		"cut elsewhere":            {Subject: good.Subject + "\n" + lines[0], Payload: []byte(lines[1]), Sigs: order(t, good.Subject, []byte(lines[0]+"\n"+lines[1]), anna).Sigs},
		"no payload":               {Subject: good.Subject, Sigs: good.Sigs},
		"no dot":                   {Subject: good.Subject, Payload: good.Payload, Sigs: []string{key + value}},
		"empty":                    {Subject: good.Subject, Payload: good.Payload, Sigs: []string{"", ".", key + ".", "." + value}},
		"key in lower case":        {Subject: good.Subject, Payload: good.Payload, Sigs: []string{strings.ToLower(key) + "." + value}},
		"key with line end":        {Subject: good.Subject, Payload: good.Payload, Sigs: []string{key[:10] + "\n" + key[10:] + "." + value}},
		"padding":                  {Subject: good.Subject, Payload: good.Payload, Sigs: []string{sig + "=="}},
		"line end":                 {Subject: good.Subject, Payload: good.Payload, Sigs: []string{sig + "\n"}},
		"line end for a character": {Subject: good.Subject, Payload: good.Payload, Sigs: []string{sig[:len(sig)-1] + "\n"}},
		"space":                    {Subject: good.Subject, Payload: good.Payload, Sigs: []string{" " + sig}},
		"stray bits":               {Subject: good.Subject, Payload: good.Payload, Sigs: []string{key + "." + value[:len(value)-1] + alphabet[last|1:][:1]}},
		"standard base64":          {Subject: good.Subject, Payload: good.Payload, Sigs: []string{key + "." + strings.NewReplacer("-", "+", "_", "/").Replace(value)}},
		"another's name":           {Subject: good.Subject, Payload: good.Payload, Sigs: []string{pub(bob) + "." + value}},
		"a third part":             {Subject: good.Subject, Payload: good.Payload, Sigs: []string{sig + ".x"}},
		"an account's key":         {Subject: good.Subject, Payload: good.Payload, Sigs: []string{"A" + key[1:] + "." + value}},
		"beyond the 64th":          {Subject: good.Subject, Payload: good.Payload, Sigs: append(slices.Repeat([]string{"x"}, 64), sig)},
		"another purpose":          {Subject: good.Subject, Payload: good.Payload, Sigs: []string{key + "." + rawSign(t, anna, "swarm/charter/v1\n"+good.Subject+"\n"+string(good.Payload))}},
	} {
		if name == "standard base64" && !strings.ContainsAny(value, "-_") {
			t.Fatal("this signature has no character to write otherwise: take another payload")
		}
		if a := charter.Judge(shop(), o, charter.Asked{}, true, now); a.Leader || a.QuorumMet || len(a.Signers) > 0 || a.Reason == "" {
			t.Errorf("%s: Judge = %+v, want nobody, with a reason", name, a)
		}
	}
}

func TestJudgeWhoMayApprove(t *testing.T) {
	class := func(c ...permissions.Class) charter.Asked { return charter.Asked{Classes: c} }
	intent := func(i ...string) charter.Asked { return charter.Asked{Intents: i} }
	paths := func(p ...string) charter.Asked { return charter.Asked{Paths: p} }
	by := func(k ...nkeys.KeyPair) []nkeys.KeyPair { return k }
	data := payload(t, mailbox.KindPlanApprovalResponse, body())
	for name, c := range map[string]struct {
		by     []nkeys.KeyPair
		asked  charter.Asked
		person bool
		quorum bool
		reason string
	}{
		"person, everyday":                 {by(anna), intent("run tests"), false, true, ""},
		"policy, everyday":                 {by(policy), intent("run tests"), false, true, ""},
		"agent, everyday":                  {by(helper), intent("build"), false, true, ""},
		"agent, harmless class":            {by(helper), class(permissions.ClassRunsProjectCode, permissions.ClassNetwork), false, true, ""},
		"agent publishes":                  {by(helper), class(permissions.ClassNetwork, permissions.ClassPublishes), true, true, "only a person"},
		"policy publishes":                 {by(policy), class(permissions.ClassPublishes), true, true, "only a person"},
		"agents together publish":          {by(helper, reviewer, policy), class(permissions.ClassPublishes), true, true, "only a person"},
		"root":                             {by(policy), class(permissions.ClassRootEquivalent), true, true, "only a person"},
		"data":                             {by(policy), class(permissions.ClassTouchesData), true, true, "only a person"},
		"person publishes":                 {by(anna), class(permissions.ClassPublishes), false, true, ""},
		"agent and person publish":         {by(helper, anna), class(permissions.ClassPublishes), false, true, ""},
		"retired person publishes":         {by(helper, gone), class(permissions.ClassPublishes), true, true, "only a person"},
		"person-only intent":               {by(policy), intent("run tests", "push"), true, true, "only a person"},
		"person-only path":                 {by(policy), paths("README.md", ".github/workflows/ci.yml"), true, true, "only a person"},
		"person-only path, in other words": {by(policy), paths("docs/../deploy//prod.yaml"), true, true, "only a person"},
		"other path":                       {by(policy), paths("docs/deploy/x.md", "a.go"), false, true, ""},
		"mode at the match":                {by(policy), charter.Asked{Mode: permissions.ModeBypass}, true, true, "only a person"},
		"mode below it":                    {by(policy), charter.Asked{Mode: permissions.ModeAuto}, false, true, ""},
		"unknown mode":                     {by(policy), charter.Asked{Mode: "yolo"}, true, true, "only a person"},
		"agent within its limit":           {by(reviewer), charter.Asked{Intents: []string{"run tests", "lint"}, Files: 3}, false, true, ""},
		"agent, other intent":              {by(reviewer), intent("run tests", "build"), true, true, `"build"`},
		"agent, unknown prompt":            {by(reviewer), intent("run tests", ""), true, true, "reviewer may not"},
		"agent, too many files":            {by(reviewer), charter.Asked{Files: 4}, true, true, "at most 3"},
		"agent, too many paths":            {by(reviewer), paths("a", "b", "c", "d"), true, true, "at most 3"},
		"agent and policy":                 {by(reviewer, policy), intent("build"), false, true, ""},
		"two agents, one may":              {by(reviewer, helper), intent("build"), false, true, ""},
		"quorum by one":                    {by(anna), intent("database migration"), false, false, "2 of anna, bob, reviewer must approve this, 1 did"},
		"quorum by one twice":              {by(anna, anna), intent("database migration"), false, false, "1 did"},
		"quorum by two":                    {by(anna, bob), intent("database migration"), false, true, ""},
		"quorum with an agent of it":       {by(reviewer, bob), intent("database migration"), false, true, ""},
		"quorum with one outside":          {by(anna, helper, policy), intent("database migration"), false, false, "1 did"},
		"quorum with a retired one":        {by(anna, gone), intent("database migration"), false, false, "1 did"},
		"quorum of any":                    {by(anna, bob), intent("release"), false, true, ""},
		"quorum of any, by one":            {by(anna), intent("release"), false, false, "2 of the persons who lead"},
		"quorum of any, with a policy":     {by(anna, policy), intent("release"), false, false, "1 did"},
		"quorum of any, with agents":       {by(anna, helper, reviewer), intent("release"), false, false, "1 did"},
		"both at once":                     {by(policy), intent("push", "release"), true, false, "only a person may approve this; 2 of"},
	} {
		o := order(t, slot(), data, c.by...)
		a := charter.Judge(shop(), o, c.asked, true, now)
		if !a.Leader || a.NeedsPerson != c.person || a.QuorumMet != c.quorum || !strings.Contains(a.Reason, c.reason) || (a.Reason == "") != (!c.person && c.quorum) {
			t.Errorf("%s: Judge = %+v, want needs a person %v, quorum %v, %q", name, a, c.person, c.quorum, c.reason)
		}
		a = charter.Judge(shop(), o, c.asked, false, now)
		if !a.Leader || a.NeedsPerson || !a.QuorumMet || a.Reason != "" {
			t.Errorf("%s, rejecting: Judge = %+v, want one leader's word to be enough", name, a)
		}
	}
}

// More signatures never take authority away, and signatures that do not count never change anything.
func TestJudgeIsMonotonic(t *testing.T) {
	leaders := []nkeys.KeyPair{anna, bob, reviewer, helper, policy}
	others := []nkeys.KeyPair{api, wall, gone, past, stranger, owner, enrol}
	c, data := shop(), payload(t, mailbox.KindPlanApprovalResponse, body())
	sigs := map[nkeys.KeyPair]string{} // made once: signing is slow under the race detector
	for _, kp := range slices.Concat(leaders, others) {
		sigs[kp] = order(t, slot(), data, kp).Sigs[0]
	}
	judge := func(asked charter.Asked, by ...nkeys.KeyPair) charter.Authority {
		o := charter.Order{Subject: slot(), Payload: data}
		for _, kp := range by {
			o.Sigs = append(o.Sigs, sigs[kp])
		}
		return charter.Judge(c, o, asked, true, now)
	}
	rapid.Check(t, func(t *rapid.T) {
		asked := charter.Asked{
			Intents: rapid.SliceOfN(rapid.SampledFrom([]string{"run tests", "push", "build", "release", "database migration", ""}), 0, 3).Draw(t, "intents"),
			Classes: rapid.SliceOfN(rapid.SampledFrom([]permissions.Class{permissions.ClassNetwork, permissions.ClassPublishes}), 0, 2).Draw(t, "classes"),
			Mode:    rapid.SampledFrom(append(permissions.Modes(), "", "x")).Draw(t, "mode"),
			Files:   rapid.IntRange(0, 5).Draw(t, "files"),
		}
		some := rapid.SliceOfN(rapid.SampledFrom(leaders), 1, 3).Draw(t, "signers")
		fewer := judge(asked, some...)
		more := judge(asked, append(some, rapid.SampledFrom(leaders).Draw(t, "one more"))...)
		if !fewer.NeedsPerson && more.NeedsPerson || fewer.QuorumMet && !more.QuorumMet || len(more.Signers) < len(fewer.Signers) {
			t.Fatalf("with one more signature %+v became %+v", fewer, more)
		}
		noise := judge(asked, append(some, rapid.SliceOfN(rapid.SampledFrom(others), 0, 8).Draw(t, "others")...)...)
		if signerNames(noise) != signerNames(fewer) || noise.NeedsPerson != fewer.NeedsPerson || noise.QuorumMet != fewer.QuorumMet {
			t.Fatalf("signatures that do not count changed %+v to %+v", fewer, noise)
		}
	})
}

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.md", "README.md", true},
		{"*.md", "docs/README.md", false},
		{"**/*.md", "docs/a/README.md", true},
		{"**/*.md", "README.md", true},
		{"docs/**", "docs/a", true},
		{"docs/**", "docs/a/b/c", true},
		{"docs/**", "docs", true},
		{"docs/**", "docsx/a", false},
		{"docs/**", "docs/../secret", false},
		{"docs/**", "./docs/x", true},
		{"docs/**", "docs//x/", true},
		{"docs/**", "../docs/x", false},
		{"docs/**", "/docs/x", false},
		{"docs/*", "docs/a", true},
		{"docs/*", "docs/a/b", false},
		{"docs/*", "docs", false},
		{"**", "a/b", true},
		{"**", "a", true},
		{"**", "/a", true},
		{"**/b/**", "a/b/c", true},
		{"**/b/**", "b", true},
		{"**/b/**", "a/c", false},
		{"a/**/b/**/c", "a/x/b/y/b/z/c", true},
		{"a/**/b/**/c", "a/x/y/c", false},
		{"a/**/**/c", "a/c", true},
		{"a?c", "abc", true},
		{"a?c", "a/c", false},
		{"[ab].go", "a.go", true},
		{"[ab].go", "c.go", false},
		{"[^a].go", "a.go", false},
		{"/etc/**", "/etc/passwd", true},
		{"/etc/**", "etc/passwd", false},
		{"docs/**", "Docs/x", false},
		{"docs/**", "", false},
		{".github/**", ".github/workflows/ci.yml", true},
		{"a", "a/b", false},
		{"a/b", "a", false},
		{"*", "a", true},
		{"*", "..", true},
		{"", "a", false},
		{"[", "[", false},
		{"a/../b", "b", false},
		{"{a,b}", "{a,b}", false},
		{"a**", "ab", false},
	} {
		if got := charter.MatchPath(c.pattern, c.path); got != c.want {
			t.Errorf("MatchPath(%q, %q) = %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
	for _, p := range []string{"", "a//b", "a/", "./a", "a/..", "a/[", "{a,b}", `a\b`, "a**b", "**.go", "a/x**"} {
		if charter.CheckPattern(p) == nil {
			t.Errorf("CheckPattern(%q) = nil, want an error", p)
		}
	}
	for _, p := range []string{"a", "/a", "**", "a/**/b", "*.md", "[a-z]?"} {
		if err := charter.CheckPattern(p); err != nil {
			t.Errorf("CheckPattern(%q) = %v", p, err)
		}
	}
	slow := strings.Repeat("**/a/", 200) + "b"
	if charter.MatchPath(slow, strings.Repeat("a/", 2000)+"c") { // ends, and soon
		t.Error("MatchPath matches what it cannot")
	}
}
