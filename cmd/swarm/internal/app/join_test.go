package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

func keyPair(t *testing.T) (nkeys.KeyPair, string) {
	t.Helper()
	kp, seed, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	return kp, seed
}

// An invitation that waits is told to whom it is for, and to nobody who names another member or another team.
func TestWhoseInvitationWaits(t *testing.T) {
	s := config.Settings{Config: t.TempDir()}
	path := joiningPath(s.Config, "shop", "bob")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for as, waits := range map[string]bool{"": true, "bob": true, "carol": false, "[": false} {
		s.As = as
		err := notInYet(s, "shop")
		var e *leader.Error
		if waits && (!errors.As(err, &e) || e.Code != exitPending || !strings.Contains(err.Error(), "bob waits for the word of the owner of team shop: look again with swarm team join --resume --team shop --as bob")) {
			t.Errorf("as %q: %v, want that bob waits", as, err)
		}
		if !waits && err != nil {
			t.Errorf("as %q: %v, want nothing", as, err)
		}
		if err := notInYet(s, "other"); err != nil {
			t.Errorf("of another team: %v, want nothing", err)
		}
	}
}

// An invitation to another team of the same name is refused where a member of the first one lives.
func TestAttackInvitationToAnotherTeamOfThisName(t *testing.T) {
	mine, _ := keyPair(t)
	theirs, _ := keyPair(t)
	_, ticket := keyPair(t)
	e := Env{Settings: config.Settings{Config: t.TempDir()}}
	inv := charter.Invitation{
		V: version, Team: "shop", TeamID: charter.TeamID(publicKey(theirs)), OwnerKey: publicKey(theirs), Servers: []string{"nats://127.0.0.1:1"},
		Name: "new", Role: charter.RoleLeader, Kind: charter.KindPerson, Seed: ticket, Expires: time.Now().Add(time.Minute),
	}
	text, err := inv.Encode()
	if err != nil {
		t.Fatal(err)
	}
	o := JoinOptions{Read: func() (string, error) { return text, nil }}
	if _, _, err := e.joining(o); err != nil {
		t.Fatalf("on an empty machine: %v", err)
	}
	b := Bundle{V: version, Team: "shop", Me: "mia", Role: charter.RoleLeader, Kind: charter.KindPerson, OwnerKey: publicKey(mine)}
	if err := writeJSON(bundlePath(e.Settings.Config, "shop", "mia"), b); err != nil {
		t.Fatal(err)
	}
	var refused *leader.Error
	if _, _, err := e.joining(o); !errors.As(err, &refused) || refused.Name != "other_owner" {
		t.Errorf("%v, want other_owner", err)
	}
	mailboxtest.Refused(t, "an invitation to another team of this name", "nobody", mailboxtest.ByJoiner, refused.Error())
}

// What the broker says of a new member counts only as far as the owner of the invitation has signed it.
func TestAttackBrokerThatLiesToWhoJoins(t *testing.T) {
	owner, _ := keyPair(t)
	stranger, _ := keyPair(t)
	me, _ := keyPair(t)
	other, _ := keyPair(t)
	j := joiningFile{TeamID: charter.TeamID(publicKey(owner)), Bundle: Bundle{Team: "shop", Me: "bob", OwnerKey: publicKey(owner)}}
	answer := func(by nkeys.KeyPair, team string, members ...charter.Member) natsbox.Enrolled {
		s, err := charter.Sign(by, charter.New(team, publicKey(by), members, charter.Caps{}, ""))
		if err != nil {
			t.Fatal(err)
		}
		return natsbox.Enrolled{State: natsbox.InviteIn, Name: "bob", Role: charter.RoleLeader, Kind: charter.KindPerson, Charter: s}
	}
	bob := charter.Member{Name: "bob", Role: charter.RoleLeader, Kind: charter.KindPerson, Key: publicKey(me)}
	swapped, retired, observer := bob, bob, bob
	swapped.Key, retired.Retired, observer.Role = publicKey(other), true, charter.RoleObserver
	good := answer(owner, "shop", bob)
	if err := j.check(good, bob.Key); err != nil {
		t.Errorf("the truth: %v", err)
	}
	altered := good
	altered.Charter.Payload = append([]byte{}, good.Charter.Payload...)
	altered.Charter.Payload[10] ^= 1
	for name, in := range map[string]natsbox.Enrolled{
		"another owner's charter": answer(stranger, "shop", bob), "an altered charter": altered, "no charter": {State: natsbox.InviteIn}, "the owner's other team": answer(owner, "other", bob),
		"a charter without us": answer(owner, "shop"), "another key": answer(owner, "shop", swapped), "removed": answer(owner, "shop", retired), "another role": answer(owner, "shop", observer),
		"pending under another owner": {State: natsbox.InvitePending, Charter: answer(stranger, "shop", bob).Charter},
	} {
		err := j.check(in, bob.Key)
		if err == nil {
			t.Errorf("%s: believed", name)
			continue
		}
		mailboxtest.Refused(t, "answer who joins with "+name, "broker's operator", mailboxtest.ByJoiner, err.Error())
	}
}
