package coordinator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// What becomes of an invitation, and what each charter does to the roster, stands in the ledger; many refusals of one
// invitation do not fill it.
func TestTheLedgerHasInvitationsAndTheRoster(t *testing.T) {
	team := audited(t)
	api2 := invite(t, team, "api2", charter.RoleTeammate, 30*time.Minute)
	first, second := must(nkeys.CreateUser()), must(nkeys.CreateUser())
	if _, err := api2.use(first); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := api2.use(second); err == nil {
			t.Fatal("used twice")
		}
	}
	invite(t, team, "bob", charter.RoleLeader, 30*time.Minute)
	anna := team.Dial("anna")
	if err := anna.Call(t.Context(), natsbox.VerbUninvite, natsbox.UninviteRequest{Name: "bob"}, nil); err != nil {
		t.Fatal(err)
	}
	team.AddLeader("carla", charter.KindPerson)
	team.Amend(func(c *charter.Charter) {
		c.Members = append([]charter.Member{}, c.Members...)
		for i := range c.Members {
			if c.Members[i].Name == "carla" {
				c.Members[i].Key = pub(t, second)
			}
		}
	})
	team.Retire("api")
	team.HandOver(team.Owner(), charter.NewOwner{})
	team.HandOver(team.Owner(), charter.NewOwner{Compromised: true})
	out, v := saying(t, team, "charter  serial ", 6)
	if p := v.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	all := strings.Join(out, "\n")
	for _, want := range []string{
		"invite api2 made by anna, as teammate, until ", "invite api2 used, with key " + pub(t, first),
		"charter api2 serial ", "added api2 as teammate, key " + pub(t, first),
		"invite api2 refused: the invitation of api2 was used already, with another key (key " + pub(t, second) + ")",
		"invite bob made by anna, as leader", "invite bob taken back by anna",
		"added carla as leader", "carla has another key " + pub(t, second), "removed api",
		"handed over by the owner before", "another owner, because the key of the one before was in other hands",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the ledger does not say %q:\n%s", want, all)
		}
	}
	if n := strings.Count(all, "invite api2 refused"); n != 3 {
		t.Errorf("%d refusals are recorded, want 3", n)
	}
}
