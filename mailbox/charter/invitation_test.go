package charter_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

func invitation(t testing.TB) charter.Invitation {
	t.Helper()
	ticket, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := ticket.Seed()
	if err != nil {
		t.Fatal(err)
	}
	owner, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	pub, err := owner.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return charter.Invitation{
		V: mailbox.Version, Team: "shop", TeamID: charter.TeamID(pub), OwnerKey: pub, Servers: []string{"nats://127.0.0.1:4222"},
		Name: "api", Role: charter.RoleTeammate, Kind: charter.KindAgent, Seed: string(seed), Expires: time.Now().UTC().Truncate(time.Second),
	}
}

func TestInvitationIsReadAsItWasWritten(t *testing.T) {
	want := invitation(t)
	want.OwnerKey, want.TeamID, want.CA = pub(owner), charter.TeamID(pub(owner)), authority(t)
	want.Handovers = handed(t, owner, nil, charter.NewOwner{To: pub(owner2), RecoveryKey: pub(recovery), Serial: 2})
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	wrapped := " \n" + text[:60] + "\r\n  " + text[60:] + "\n\n"
	for _, in := range []string{text, wrapped} {
		got, err := charter.ParseInvitation(in)
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if string(a) != string(b) {
			t.Errorf("got %s, want %s", a, b)
		}
	}
}

func TestAttackInvitationThatIsNone(t *testing.T) {
	good := invitation(t)
	text, err := good.Encode()
	if err != nil {
		t.Fatal(err)
	}
	raw := func(change func(map[string]any)) string {
		data, err := json.Marshal(good)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		change(m)
		if data, err = json.Marshal(m); err != nil {
			t.Fatal(err)
		}
		return "swarm-invitation-1." + base64.RawURLEncoding.EncodeToString(data)
	}
	for name, c := range map[string]struct{ text, want string }{
		"nothing":           {"", "does not begin with"},
		"another secret":    {good.Seed, "does not begin with"},
		"cut":               {text[:len(text)-3], "cut or altered"},
		"huge":              {strings.Repeat("x", 65<<10), "at most"},
		"no base64":         {text + "!", "cut or altered"},
		"no JSON":           {"swarm-invitation-1." + base64.RawURLEncoding.EncodeToString([]byte("{")), "cut or altered"},
		"a newer version":   {raw(func(m map[string]any) { m["v"] = 2; m["new"] = 1 }), "version 2"},
		"an unknown field":  {raw(func(m map[string]any) { m["admin"] = true }), "cut or altered"},
		"another case":      {raw(func(m map[string]any) { m["Role"] = "leader" }), "cut or altered"},
		"no broker":         {raw(func(m map[string]any) { m["servers"] = []string{} }), "names 0 brokers"},
		"a file as broker":  {raw(func(m map[string]any) { m["servers"] = []string{"file:///etc/passwd"} }), "no address"},
		"a login in it":     {raw(func(m map[string]any) { m["servers"] = []string{"nats://a:b@h:1"} }), "no address"},
		"a reserved name":   {raw(func(m map[string]any) { m["name"] = "lead" }), "reserved"},
		"a path as name":    {raw(func(m map[string]any) { m["name"] = "../../x" }), "bad name"},
		"a path as team":    {raw(func(m map[string]any) { m["team"] = "../x" }), "bad name"},
		"an unknown role":   {raw(func(m map[string]any) { m["role"] = "owner" }), "role"},
		"a policy":          {raw(func(m map[string]any) { m["kind"] = "policy" }), "kind"},
		"an account's seed": {raw(func(m map[string]any) { m["seed"] = accountSeed(t) }), "another kind"},
		"no owner":          {raw(func(m map[string]any) { m["ownerKey"] = "U" }), "owner"},
		"no team's id":      {raw(func(m map[string]any) { m["teamId"] = "x" }), "teamId"},
	} {
		if _, err := charter.ParseInvitation(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		} else if !errors.Is(err, charter.ErrBadInvitation) && !errors.Is(err, mailbox.ErrVersion) {
			t.Errorf("%s: %v is of no kind", name, err)
		} else {
			mailboxtest.Refused(t, "read an invitation with "+name, "nobody", mailboxtest.ByJoiner, err.Error())
		}
	}
}

func accountSeed(t *testing.T) string {
	t.Helper()
	kp, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := kp.Seed()
	if err != nil {
		t.Fatal(err)
	}
	return string(seed)
}

// The words depend on all that the two sides must agree on.
func TestWordsAreOfOneMember(t *testing.T) {
	base := charter.Words("id", "bob", charter.RoleLeader, "KEY")
	if n := len(strings.Fields(base)); n != 6 {
		t.Errorf("%q has %d words", base, n)
	}
	if again := charter.Words("id", "bob", charter.RoleLeader, "KEY"); again != base {
		t.Errorf("%q, then %q", base, again)
	}
	for _, other := range []string{
		charter.Words("ie", "bob", charter.RoleLeader, "KEY"), charter.Words("id", "bab", charter.RoleLeader, "KEY"),
		charter.Words("id", "bob", charter.RoleObserver, "KEY"), charter.Words("id", "bob", charter.RoleLeader, "KEZ"),
	} {
		if other == base {
			t.Errorf("%q twice", base)
		}
	}
	seen := map[string]bool{}
	for i := range 20000 { // each of six places meets each word
		for _, w := range strings.Fields(charter.Words("id", "bob", charter.RoleLeader, string(rune(i)))) {
			seen[w] = true
		}
	}
	if len(seen) != 256 {
		t.Errorf("%d different words, want 256", len(seen))
	}
}

func FuzzInvitation(f *testing.F) {
	i := invitation(f)
	text, err := i.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("swarm-invitation-1.e30")
	f.Add("swarm-invitation-1." + base64.RawURLEncoding.EncodeToString([]byte(`{"v":1,"team":"t","servers":["nats://h:1"],"expires":"x"}`)))
	f.Fuzz(func(t *testing.T, text string) {
		i, err := charter.ParseInvitation(text)
		if err != nil {
			return
		}
		again, err := i.Encode()
		if err != nil {
			t.Fatalf("read and not written: %v", err)
		}
		j, err := charter.ParseInvitation(again)
		a, _ := json.Marshal(i)
		b, _ := json.Marshal(j)
		if err != nil || string(a) != string(b) {
			t.Fatalf("%s, then %s (%v)", a, b, err)
		}
	})
}
