package charter_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

var (
	owner2   = pair('2')
	owner3   = pair('3')
	recovery = pair('v')
	thief    = pair('k')
)

// handed is one more hand-over.
func handed(t testing.TB, by nkeys.KeyPair, chain []charter.Handover, next charter.NewOwner) []charter.Handover {
	t.Helper()
	out, err := charter.SignHandover(by, charter.TeamID(pub(owner)), chain, next)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func signedBy(t testing.TB, by nkeys.KeyPair, serial uint64, chain ...charter.Handover) charter.Signed {
	t.Helper()
	c := shop()
	c.Serial = serial
	s, err := charter.Sign(by, c, chain...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func to(kp nkeys.KeyPair, serial uint64) charter.NewOwner {
	return charter.NewOwner{To: pub(kp), Serial: serial}
}

// The team keeps its id, and whoever knows its first owner follows each hand-over, at once or all later.
func TestHandoversAreFollowed(t *testing.T) {
	named := handed(t, owner, nil, charter.NewOwner{To: pub(owner), RecoveryKey: pub(recovery), Serial: 2})
	second := handed(t, owner, named, to(owner2, 3))
	third := handed(t, owner2, second, to(owner3, 5))
	root := charter.Root{Founder: pub(owner)}
	for i, s := range []charter.Signed{
		signedBy(t, owner, 1), signedBy(t, owner, 2, named...), signedBy(t, owner2, 3, second...), signedBy(t, owner2, 4, second...), signedBy(t, owner3, 5, third...),
	} {
		c, err := root.Open(s)
		if err != nil || c.TeamID != charter.TeamID(pub(owner)) {
			t.Fatalf("charter %d: %v, of team %.12s", i, err, c.TeamID)
		}
		root.Known = s.Handovers
	}
	if _, err := (charter.Root{Founder: pub(owner)}).Open(signedBy(t, owner3, 9, third...)); err != nil {
		t.Errorf("after being away: %v", err)
	}
	if s := signedBy(t, owner3, 5, third...); s.Founder() != pub(owner) || signedBy(t, owner, 1).Founder() != "" {
		t.Errorf("founder %q", s.Founder())
	}
}

// A thief who has the owner's key is overruled by the recovery key, also where the thief came first; nobody else is.
func TestAttackRecoveryKeyOverrulesAThief(t *testing.T) {
	named := handed(t, owner, nil, charter.NewOwner{To: pub(owner), RecoveryKey: pub(recovery), Serial: 2})
	stolen := handed(t, owner, named, charter.NewOwner{To: pub(thief), RecoveryKey: pub(stranger), Serial: 3})
	back := handed(t, recovery, named, charter.NewOwner{To: pub(owner2), Serial: 4, Compromised: true})
	for _, known := range [][]charter.Handover{nil, named, stolen, handed(t, stranger, stolen, to(owner3, 9))} {
		r := charter.Root{Founder: pub(owner), Known: known}
		if _, err := r.Open(signedBy(t, owner2, 9, back...)); err != nil {
			t.Errorf("known %d: %v", len(known), err)
		}
		if o, err := r.Owner(back); err != nil || o.Voided != 4 || o.Key != pub(owner2) {
			t.Errorf("known %d: %+v, %v, want void from 4", len(known), o, err)
		}
	}
	followed := charter.Root{Founder: pub(owner), Known: back}
	if _, err := followed.Open(signedBy(t, thief, 99, stolen...)); !errors.Is(err, charter.ErrBadSignature) {
		t.Errorf("the thief afterwards: %v, want %v", err, charter.ErrBadSignature)
	}
	mailboxtest.Refused(t, "go on with the owner's stolen key after the recovery", "thief", mailboxtest.ByCharter, "the recovery key overrules what the thief has signed")
}

// What is forged, cut, put together from others, or from before a hand-over is refused.
func TestAttackHandovers(t *testing.T) {
	named := handed(t, owner, nil, charter.NewOwner{To: pub(owner), RecoveryKey: pub(recovery), Serial: 2})
	second := handed(t, owner, named, to(owner2, 3))
	third := handed(t, owner2, second, to(owner3, 5))
	other := handed(t, owner, named, to(thief, 3))
	as := func(s charter.Signed, chain ...charter.Handover) charter.Signed { s.Handovers = chain; return s }
	edited := func(chain []charter.Handover, i int, old, now string) []charter.Handover {
		chain = slices.Clone(chain)
		chain[i].Payload = []byte(strings.Replace(string(chain[i].Payload), old, now, 1))
		return chain
	}
	good := signedBy(t, owner3, 5, third...)
	for name, c := range map[string]struct {
		known []charter.Handover
		s     charter.Signed
		want  error
	}{
		"no hand-over at all":          {nil, as(good), charter.ErrBadSignature},
		"the last one is missing":      {nil, as(good, second...), charter.ErrBadSignature},
		"the first one is missing":     {nil, as(good, third[1:]...), charter.ErrBadCharter},
		"the old owner, chain and all": {nil, as(signedBy(t, owner2, 9, second...), third...), charter.ErrBadSignature},
		"the old owner's charter":      {third, signedBy(t, owner2, 9, second...), charter.ErrOldCharter},
		"the first owner's charter":    {third, signedBy(t, owner, 9), charter.ErrOldCharter},
		"the old owner again":          {third, signedBy(t, thief, 9, other...), charter.ErrBadSignature},
		"an altered one":               {nil, as(good, edited(third, 1, pub(owner2), pub(thief))...), charter.ErrBadSignature},
		"two swapped":                  {nil, as(good, third[1], third[0], third[2]), charter.ErrBadCharter},
		"one twice":                    {nil, as(good, third[0], third[0], third[1], third[2]), charter.ErrBadCharter},
		"a charter from before":        {nil, as(signedBy(t, owner3, 5, third...), handed(t, owner2, second, to(owner3, 6))...), charter.ErrOldCharter},
		"another team's":               {nil, as(good, edited(third, 2, charter.TeamID(pub(owner)), charter.TeamID(pub(thief)))...), charter.ErrBadSignature},
	} {
		if got, err := (charter.Root{Founder: pub(owner), Known: c.known}).Open(c.s); !errors.Is(err, c.want) {
			t.Errorf("%s: %v with %d members, want %v", name, err, len(got.Members), c.want)
		} else {
			mailboxtest.Refused(t, "hand the team over: "+name, "thief", mailboxtest.ByCharter, err.Error())
		}
	}
	for name, sign := range map[string]func() error{
		"a stranger hands over": func() error {
			_, err := charter.SignHandover(stranger, charter.TeamID(pub(owner)), named, to(thief, 9))
			return err
		},
		"the recovery key begins": func() error {
			_, err := charter.SignHandover(recovery, charter.TeamID(pub(owner)), nil, to(thief, 9))
			return err
		},
		"a recovery key that was replaced": func() error { // the second hand-over named none
			_, err := charter.SignHandover(recovery, charter.TeamID(pub(owner)), second, to(thief, 9))
			return err
		},
		"to no key": func() error {
			_, err := charter.SignHandover(owner, charter.TeamID(pub(owner)), named, charter.NewOwner{To: "U", Serial: 9})
			return err
		},
		"back in time": func() error {
			_, err := charter.SignHandover(owner, charter.TeamID(pub(owner)), named, to(thief, 1))
			return err
		},
		"recovery and owner in one": func() error {
			_, err := charter.SignHandover(owner, charter.TeamID(pub(owner)), named, charter.NewOwner{To: pub(thief), RecoveryKey: pub(thief), Serial: 9})
			return err
		},
		"the old owner signs on": func() error {
			c := shop()
			c.Serial = 9
			_, err := charter.Sign(owner, c, second...)
			return err
		},
	} {
		err := sign()
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		mailboxtest.Refused(t, "sign a hand-over: "+name, "thief", mailboxtest.ByCharter, err.Error())
	}
}

// A link that its owner has signed counts in its place alone: in no other chain, in no other team, and no second time.
func TestAttackLinkOutOfItsPlace(t *testing.T) {
	named := handed(t, owner, nil, charter.NewOwner{To: pub(owner), RecoveryKey: pub(recovery), Serial: 2})
	again := handed(t, owner, nil, charter.NewOwner{To: pub(owner), RecoveryKey: pub(recovery), Serial: 3})
	follows := handed(t, owner, named, to(owner2, 4))
	for name, c := range map[string]struct {
		by        nkeys.KeyPair
		old, with string
	}{
		"it follows another one":    {owner, `"prev":"` + prevOf(t, follows[1]), `"prev":"` + prevOf(t, handed(t, owner, again, to(owner2, 4))[1])},
		"it is the third":           {owner, `"number":2`, `"number":3`},
		"it is from somebody else":  {recovery, `"from":"` + pub(owner), `"from":"` + pub(owner2)},
		"it is of another team":     {owner, charter.TeamID(pub(owner)), charter.TeamID(pub(owner2))},
		"it is of a later version":  {owner, `"v":1`, `"v":2`},
		"it says one more than all": {owner, `"number":2`, `"number":2,"extra":1`},
	} {
		text := strings.Replace(string(follows[1].Payload), c.old, c.with, 1)
		if c.by != owner {
			text = strings.Replace(text, `"by":"`+pub(owner), `"by":"`+pub(c.by), 1)
		}
		if text == string(follows[1].Payload) {
			t.Fatalf("%s: there is no %s in %s", name, c.old, text)
		}
		link := charter.Handover{Payload: []byte(text), Sig: rawSign(t, c.by, "swarm/handover/v1\n"+text)}
		o, err := charter.Root{Founder: pub(owner)}.Owner([]charter.Handover{named[0], link})
		if err == nil || o != (charter.Owner{}) {
			t.Errorf("%s: %+v, %v, want it refused", name, o, err)
			continue
		}
		mailboxtest.Refused(t, "use a signed hand-over elsewhere: "+name, "former owner", mailboxtest.ByCharter, err.Error())
	}
}

func prevOf(t testing.TB, h charter.Handover) string {
	t.Helper()
	var n charter.NewOwner
	if err := json.Unmarshal(h.Payload, &n); err != nil || n.Prev == "" {
		t.Fatalf("%s: prev %q, %v", h.Payload, n.Prev, err)
	}
	return n.Prev
}

// Who has followed the recovery key once does not follow it to somebody else from the same place.
func TestAttackRecoveryKeyRecoversOnce(t *testing.T) {
	named := handed(t, owner, nil, charter.NewOwner{To: pub(owner), RecoveryKey: pub(recovery), Serial: 2})
	back := handed(t, recovery, named, charter.NewOwner{To: pub(owner2), Serial: 4, Compromised: true})
	twice := handed(t, recovery, named, charter.NewOwner{To: pub(owner3), Serial: 5, Compromised: true})
	o, err := charter.Root{Founder: pub(owner), Known: back}.Owner(twice)
	if !errors.Is(err, charter.ErrBadSignature) || o != (charter.Owner{}) {
		t.Errorf("a second recovery: %+v, %v, want %v", o, err, charter.ErrBadSignature)
	}
	mailboxtest.Refused(t, "recover the team a second time from the same place", "thief of the recovery key", mailboxtest.ByCharter, err.Error())
}

// A chain has an end: what is read of it is bounded.
func TestHandoversAreBounded(t *testing.T) {
	var chain []charter.Handover
	for i := range 64 {
		chain = handed(t, owner, chain, to(owner, uint64(i+2)))
	}
	long, err := charter.SignHandover(owner, charter.TeamID(pub(owner)), chain, to(owner, 99))
	if !errors.Is(err, charter.ErrBadCharter) || !strings.Contains(err.Error(), "65 times") {
		t.Errorf("the 65th: %v, want it refused", err)
	}
	for n, want := range map[int]error{64: nil, 65: charter.ErrBadCharter} {
		if _, err := (charter.Root{Founder: pub(owner)}).Owner(long[:n]); !errors.Is(err, want) {
			t.Errorf("%d hand-overs: %v, want %v", n, err, want)
		}
	}
}

// Whoever has neither the owner's nor the recovery key does not become the owner, whatever is put together from what was seen.
func TestAttackNoMixtureOfHandoversIsFollowed(t *testing.T) {
	named := handed(t, owner, nil, charter.NewOwner{To: pub(owner), RecoveryKey: pub(recovery), Serial: 2})
	second := handed(t, owner, named, charter.NewOwner{To: pub(owner2), RecoveryKey: pub(recovery), Serial: 3})
	thirdPieces := handed(t, recovery, second, to(owner3, 5))
	rapid.Check(t, func(t *rapid.T) {
		pool := slices.Clone(thirdPieces)
		forged, err := mailbox.Marshal(charter.NewOwner{
			V: 1, TeamID: charter.TeamID(pub(owner)), Number: rapid.IntRange(1, 4).Draw(t, "number"),
			From: rapid.SampledFrom([]string{pub(owner), pub(owner2), pub(owner3)}).Draw(t, "from"), To: pub(thief), Serial: 5,
			By: rapid.SampledFrom([]string{pub(owner), pub(owner2), pub(recovery), pub(thief)}).Draw(t, "by"),
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range pool {
			pool = append(pool, charter.Handover{Payload: forged, Sig: h.Sig}, charter.Handover{Payload: forged, Sig: rawSign(t, thief, "swarm/handover/v1\n"+string(forged))})
		}
		chain := rapid.SliceOfN(rapid.SampledFrom(pool), 0, 5).Draw(t, "chain")
		o, err := charter.Root{Founder: pub(owner), Known: named}.Owner(chain)
		if err == nil && (o.Key == pub(thief) || len(chain) == 0) {
			t.Fatalf("%d hand-overs lead to %s", len(chain), o.Key)
		}
	})
	mailboxtest.Refused(t, "mix pieces of hand-overs", "thief", mailboxtest.ByCharter, "no mixture of true and forged ones leads to the thief")
}

// FuzzHandover reads whatever it is given as a chain: nothing panics, and what is not signed leads to nobody.
func FuzzHandover(f *testing.F) {
	good, err := json.Marshal(handed(f, owner, nil, charter.NewOwner{To: pub(owner2), RecoveryKey: pub(recovery), Serial: 2}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`[{"payload":"e30=","sig":""}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var chain []charter.Handover
		if json.Unmarshal(data, &chain) != nil {
			return
		}
		o, err := charter.Root{Founder: pub(owner)}.Owner(chain)
		if err == nil && o.Key != pub(owner) && o.Key != pub(owner2) {
			t.Fatalf("%s leads to %s", data, o.Key)
		}
	})
}
