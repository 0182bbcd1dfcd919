package leader_test

import (
	"crypto/sha256"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"go.uber.org/goleak"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(mailboxtest.Settled(m), goleak.Cleanup(os.Exit))
}

// noon is when everything happens in tests without a broker.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const goodPlan = "# Fix rounding of invoices\n\nRound once, at the end.\n\n## Steps\n- [ ] `invoice/total.go`: use integer cents\n- [ ] run `go test ./...`\n"

// newKey makes the key of a name: the same in every run, for golden files.
func newKey(t testing.TB, prefix nkeys.PrefixByte, name string) (nkeys.KeyPair, string) {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	kp, err := nkeys.FromRawSeed(prefix, seed[:])
	if err != nil {
		t.Fatal(err)
	}
	pub, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return kp, pub
}

// shop is a team without a broker: mia and tom lead, and so does a policy; api, db, ci and web are teammates.
type shop struct {
	charter.Charter
	keys map[string]nkeys.KeyPair
}

func newShop(t testing.TB) shop {
	t.Helper()
	_, owner := newKey(t, nkeys.PrefixByteAccount, "owner")
	s := shop{keys: map[string]nkeys.KeyPair{}}
	var members []charter.Member
	for _, m := range []charter.Member{
		{Name: "mia", Role: charter.RoleLeader, Kind: charter.KindPerson, Assurance: charter.Plain},
		{Name: "tom", Role: charter.RoleLeader, Kind: charter.KindPerson, Assurance: charter.Plain},
		{Name: "rules", Role: charter.RoleLeader, Kind: charter.KindPolicy, Assurance: charter.Memory},
		{Name: "api", Role: charter.RoleTeammate, Kind: charter.KindAgent},
		{Name: "db", Role: charter.RoleTeammate, Kind: charter.KindAgent},
		{Name: "ci", Role: charter.RoleTeammate, Kind: charter.KindAgent},
		{Name: "web", Role: charter.RoleTeammate, Kind: charter.KindAgent},
	} {
		s.keys[m.Name], m.Key = newKey(t, nkeys.PrefixByteUser, m.Name)
		members = append(members, m)
	}
	s.Charter = charter.New("shop", owner, members, charter.Caps{}, "")
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s shop) signer(t testing.TB, name string) leader.Signer {
	t.Helper()
	m, ok := s.Member(name)
	if !ok {
		t.Fatalf("no member %q", name)
	}
	return leader.Signer{Key: s.keys[name], Member: m, Via: "command"}
}

// ask is one plan as a teammate asks for it. Zero fields have a sensible value.
type ask struct {
	from     string
	id       string
	plan     string
	prompts  []string
	options  []plans.Option
	saved    permissions.Mode
	known    permissions.Mode
	revision int
	age      time.Duration
	change   func(*planmode.ApprovalRequest) // before the digest is computed
	forge    func(*planmode.ApprovalRequest) // after it
}

// newRow makes the coordinator's row of an ask.
func (s shop) newRow(t testing.TB, a ask) natsbox.Row {
	t.Helper()
	if a.id == "" {
		a.id = natsbox.NewRequestID()
	}
	q := newRequest(a, s.TeamID)
	known := a.known
	if known == "" {
		known = permissions.ModeAcceptEdits
	}
	return natsbox.Row{Request: &q, From: a.from, Epoch: 1, EnvelopeID: q.RequestID, StoredAt: noon.Add(-a.age), KnownMode: known}
}

func newRequest(a ask, teamID string) planmode.ApprovalRequest {
	content := a.plan
	if content == "" {
		content = goodPlan
	}
	q := planmode.ApprovalRequest{
		RequestID: a.id, PlanID: "0195a7c0-0000-7000-8000-0000000000" + a.from[:2], Revision: max(a.revision, 1), Kind: planmode.AskPlan,
		Plan: plans.New("plan.md", "/state/plan.md", []byte(content)), AllowedPrompts: []permissions.Prompt{}, Options: a.options,
		Tasks: plans.Tasks([]byte(content)), SavedMode: a.saved,
	}
	if q.SavedMode == "" {
		q.SavedMode = permissions.ModeAcceptEdits
	}
	for _, p := range a.prompts {
		q.AllowedPrompts = append(q.AllowedPrompts, permissions.ResolvePrompt("Bash", p))
	}
	if a.change != nil {
		a.change(&q)
	}
	q.Digest = q.ComputeDigest(teamID, a.from)
	if a.forge != nil {
		a.forge(&q)
	}
	return q
}

// row is an ask as a leader sees it.
func (s shop) row(t testing.TB, a ask) leader.Row {
	t.Helper()
	r, err := leader.NewRow(s.newRow(t, a), leader.RowConfig{Charter: s.Charter, Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (s shop) queue(rows ...natsbox.Row) *leader.Queue {
	return leader.NewQueue(rows, leader.QueueConfig{Charter: s.Charter, Now: noon})
}

// fixedID is a request id that is the same in every run, for golden files.
func fixedID(n byte) string {
	digits := "0123456789abcdefghjkmnpqrstvwxyz"
	return "0195a7c0-0000-7000-8000-00000000000" + string("0123456789abcdef"[n%16]) + "-" + string(digits[n%32]) + "0000000000000000000000000"
}

// unsigned is a key that must not sign.
type unsigned struct {
	nkeys.KeyPair
	t testing.TB
}

func (u unsigned) Sign([]byte) ([]byte, error) {
	u.t.Error("something was signed")
	return nil, errors.New("signed")
}
