package coordinator_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/coordinator"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/permissions"
)

func user(t *testing.T) string {
	t.Helper()
	return pub(t, must(nkeys.CreateUser()))
}

func must(kp nkeys.KeyPair, err error) nkeys.KeyPair {
	if err != nil {
		panic(err)
	}
	return kp
}

func pub(t *testing.T, kp nkeys.KeyPair) string {
	t.Helper()
	p, err := kp.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEnrol(t *testing.T) {
	t.Parallel()
	team := shop(t)
	co := team.Coordinator()
	key := user(t)
	before := co.Charter()
	s, err := co.Enrol(t.Context(), "late", key, charter.KindAgent)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := charter.Open(s, team.OwnerKey)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := ch.Member("late")
	if !ok || m.Role != charter.RoleTeammate || m.Key != key || ch.Serial != before.Serial {
		t.Errorf("late = %+v under serial %d, want a teammate under serial %d", m, ch.Serial, before.Serial)
	}
	again, err := co.Enrol(t.Context(), "late", key, charter.KindAgent)
	if err != nil || len(again.Additions) != len(s.Additions) {
		t.Errorf("enrolling again = %v with %d additions, want no change", err, len(again.Additions))
	}
	for name, c := range map[string]struct {
		name, key string
		want      error
	}{
		"another key":     {"late", user(t), coordinator.ErrNameInUse},
		"a leader's name": {"anna", user(t), coordinator.ErrNameInUse},
		"a reserved name": {"lead", user(t), mailbox.ErrBadName},
		"a subject":       {"a.b", user(t), mailbox.ErrBadName},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := co.Enrol(t.Context(), c.name, c.key, charter.KindAgent); !errors.Is(err, c.want) {
				t.Errorf("Enrol = %v, want %v", err, c.want)
			}
		})
	}
	if _, err := co.Enrol(t.Context(), "twin", key, charter.KindAgent); err == nil {
		t.Error("one key was enrolled under two names")
	}
}

// A charter that cannot be saved does not count, and nobody gets in by it.
func TestACharterCountsOnceItIsSaved(t *testing.T) {
	t.Parallel()
	srv, err := embednats.Start(t.Context(), embednats.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	owner, enrol := must(nkeys.CreateAccount()), must(nkeys.CreateUser())
	c := charter.New("shop", pub(t, owner), nil, charter.Caps{Mode: permissions.ModeDefault}, pub(t, enrol))
	signed, err := charter.Sign(owner, c)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk full")
	co, err := coordinator.New(coordinator.Config{
		Server: srv, Team: "shop", OwnerKey: pub(t, owner), Charter: signed, Enrol: enrol,
		Save: func(charter.Signed) error { return full },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := co.Enrol(t.Context(), "api", user(t), charter.KindAgent); !errors.Is(err, full) {
		t.Errorf("Enrol = %v, want %v", err, full)
	}
	if _, ok := co.Charter().Member("api"); ok {
		t.Error("api is a member although the charter was not saved")
	}
}

func TestNobodyIsEnrolledWithoutTheKey(t *testing.T) {
	t.Parallel()
	srv, err := embednats.Start(t.Context(), embednats.Config{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	owner := must(nkeys.CreateAccount())
	signed, err := charter.Sign(owner, charter.New("shop", pub(t, owner), nil, charter.Caps{Mode: permissions.ModeDefault}, ""))
	if err != nil {
		t.Fatal(err)
	}
	cfg := coordinator.Config{Server: srv, Team: "shop", OwnerKey: pub(t, owner), Charter: signed}
	co, err := coordinator.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := co.Enrol(t.Context(), "api", user(t), charter.KindAgent); !errors.Is(err, coordinator.ErrNoEnrolment) {
		t.Errorf("Enrol = %v, want ErrNoEnrolment", err)
	}
	cfg.OwnerKey = pub(t, must(nkeys.CreateAccount()))
	if _, err := coordinator.New(cfg); err == nil {
		t.Error("a charter of another owner was taken")
	}
	cfg.OwnerKey, cfg.Team = pub(t, owner), "other"
	if _, err := coordinator.New(cfg); err == nil {
		t.Error("the charter of another team was taken")
	}
}

func TestAnOlderCharterIsRefused(t *testing.T) {
	t.Parallel()
	team := shop(t)
	old := team.Coordinator().Signed()
	team.Retire("docs")
	if err := team.Coordinator().SetCharter(t.Context(), old); err == nil {
		t.Error("an older charter was put in force")
	}
	if m, _ := team.Charter().Member("docs"); !m.Retired {
		t.Error("docs is back")
	}
}
