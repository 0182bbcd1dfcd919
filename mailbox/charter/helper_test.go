package charter_test

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
)

var (
	now   = time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	later = now.Add(time.Hour)
	ended = now.Add(-time.Hour)
)

// The keys of the tests are made from one byte each, so that what they sign is always the same.
var (
	owner    = pair('o')
	enrol    = pair('e')
	anna     = pair('a') // a person
	bob      = pair('b') // a person
	reviewer = pair('r') // an agent with limits
	helper   = pair('h') // an agent without
	policy   = pair('p')
	gone     = pair('g') // retired
	past     = pair('x') // its last moment is over
	api      = pair('t') // a teammate
	wall     = pair('w') // an observer
	stranger = pair('s')
)

func pair(b byte) nkeys.KeyPair {
	kp, err := nkeys.FromRawSeed(nkeys.PrefixByteUser, bytes.Repeat([]byte{b}, 32))
	if err != nil {
		panic(err)
	}
	return kp
}

func pub(kp nkeys.KeyPair) string {
	key, err := kp.PublicKey()
	if err != nil {
		panic(err)
	}
	return key
}

func leader(name string, kp nkeys.KeyPair, kind charter.Kind) charter.Member {
	return charter.Member{Name: name, Role: charter.RoleLeader, Kind: kind, Key: pub(kp), Assurance: charter.Plain}
}

func teammate(name string, kp nkeys.KeyPair) charter.Member {
	return charter.Member{Name: name, Role: charter.RoleTeammate, Kind: charter.KindAgent, Key: pub(kp)}
}

// shop is a team with one of everybody.
func shop() charter.Charter {
	retired, over := leader("gone", gone, charter.KindPerson), leader("past", past, charter.KindPerson)
	retired.Retired, over.NotAfter = true, &ended
	stays := leader("bob", bob, charter.KindPerson)
	stays.NotAfter = &later
	c := charter.New("shop", pub(owner), []charter.Member{
		leader("anna", anna, charter.KindPerson), stays, leader("reviewer", reviewer, charter.KindAgent),
		leader("helper", helper, charter.KindAgent), leader("policy", policy, charter.KindPolicy), retired, over,
		teammate("api", api),
		{Name: "wall", Role: charter.RoleObserver, Kind: charter.KindPerson, Key: pub(wall)},
	}, charter.Caps{}, pub(enrol))
	c.PersonOnly = append(c.PersonOnly,
		charter.Match{Intents: []string{"push"}},
		charter.Match{Paths: []string{".github/**", "deploy/**"}},
		charter.Match{Mode: permissions.ModeBypass})
	c.Quorum = []charter.Quorum{
		{Match: charter.Match{Intents: []string{"database migration"}}, Need: 2, Of: []string{"anna", "bob", "reviewer"}},
		{Match: charter.Match{Intents: []string{"release"}}, Need: 2},
	}
	c.AgentLimits = []charter.AgentLimit{{Name: "reviewer", Intents: []string{"run tests", "lint", "database migration"}, MaxFiles: 3}}
	return c
}

func signed(t failer, c charter.Charter) charter.Signed {
	t.Helper()
	s, err := charter.Sign(owner, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// resign is the payload of c, changed by edit and signed by the owner all the same.
func resign(t failer, kp nkeys.KeyPair, payload string) charter.Signed {
	t.Helper()
	return charter.Signed{Payload: []byte(payload), Sig: rawSign(t, kp, "swarm/charter/v1\n"+payload)}
}

func rawSign(t failer, kp nkeys.KeyPair, text string) string {
	t.Helper()
	sig, err := kp.Sign([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rawURL.EncodeToString(sig)
}

// decision is the body of an order with a field of each kind that is attacked.
type decision struct {
	mailbox.OrderHead
	RequestID string   `json:"requestId"`
	Outcome   string   `json:"outcome"`
	Grants    []string `json:"grants,omitempty"`
}

const request = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b-00000000000000000000000000"

func slot() string { return mailbox.DecisionSubject("shop", "api", request) }

func head(name string, kind charter.Kind) mailbox.OrderHead {
	return mailbox.OrderHead{
		TeamID: charter.TeamID(pub(owner)), CharterSerial: 1, Epoch: 3, DecidedAt: now,
		DecidedBy: mailbox.DecidedBy{Name: name, Kind: string(kind), Via: "command", Assurance: "plain"},
	}
}

func body() decision {
	return decision{OrderHead: head("anna", charter.KindPerson), RequestID: request, Outcome: "approved", Grants: []string{"run tests"}}
}

func payload(t failer, kind mailbox.Kind, body any) []byte {
	t.Helper()
	e, err := mailbox.New("0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5c", kind, "shop", "anna", "api", 3, now, body)
	if err != nil {
		t.Fatal(err)
	}
	data, err := mailbox.Encode(e)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func order(t failer, subject string, payload []byte, by ...nkeys.KeyPair) charter.Order {
	t.Helper()
	o := charter.Order{Subject: subject, Payload: payload}
	for _, kp := range by {
		sig, err := charter.SignOrder(kp, subject, payload)
		if err != nil {
			t.Fatal(err)
		}
		o.Sigs = append(o.Sigs, sig)
	}
	return o
}

// valid is an order that everybody accepts.
func valid(t failer) charter.Order {
	t.Helper()
	return order(t, slot(), payload(t, mailbox.KindPlanApprovalResponse, body()), anna)
}

func jsonOf(t failer, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// failer is what the helpers need of a test: rapid's T has it too.
type failer interface {
	Helper()
	Fatal(args ...any)
}
