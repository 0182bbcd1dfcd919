package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/journal"
)

// quietClient is an agent without a client: it is in whatever mode it is put.
type quietClient struct{}

func (quietClient) SetMode(_ context.Context, m permissions.Mode) (permissions.Mode, error) {
	return m, nil
}
func (quietClient) Notify(context.Context, planmode.Notify) error       { return nil }
func (quietClient) StopAgent(context.Context, string) error             { return nil }
func (quietClient) KillStarted(context.Context, []string, string) error { return nil }

// team is a hub with two persons and one teammate, all in this process.
type team struct {
	hub     *hub
	leaders map[string]*Leader
	runner  *teammate.Runner
	plan    string // file
}

func newTeam(t *testing.T) *team {
	t.Helper()
	a := &authority{}
	keys := map[string]nkeys.KeyPair{}
	for _, name := range []string{"owner", "enrol", "policy", "mia", "tom", "fixer"} {
		kp, _, err := newKey()
		if err != nil {
			t.Fatal(err)
		}
		keys[name] = kp
	}
	a.owner, a.enrol, a.policy = keys["owner"], keys["enrol"], keys["policy"]
	members := []charter.Member{
		{Name: policyName, Role: charter.RoleLeader, Kind: charter.KindPolicy, Key: publicKey(a.policy), Assurance: charter.Memory},
		{Name: "fixer", Role: charter.RoleTeammate, Kind: charter.KindAgent, Key: publicKey(keys["fixer"]), Assurance: charter.Memory},
	}
	for _, name := range []string{"mia", "tom"} {
		members = append(members, charter.Member{Name: name, Role: charter.RoleLeader, Kind: charter.KindPerson, Key: publicKey(keys[name]), Assurance: charter.Memory})
	}
	a.opened = charter.New("t", publicKey(a.owner), members, charter.DefaultCaps(), publicKey(a.enrol))
	var err error
	if a.charter, err = charter.Sign(a.owner, a.opened); err != nil {
		t.Fatal(err)
	}
	tm := &team{leaders: map[string]*Leader{}}
	tm.hub, err = startHub(t.Context(), hubConfig{store: t.TempDir(), team: "t", authority: a, log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tm.hub.close)
	for _, name := range []string{"mia", "tom"} {
		seed, err := keys[name].Seed()
		if err != nil {
			t.Fatal(err)
		}
		l := &Leader{
			team: "t", bundle: Bundle{Me: name, Seed: string(seed), Role: charter.RoleLeader, Kind: charter.KindPerson},
			box: tm.connect(t, name, keys[name]), charter: a.opened,
		}
		tm.leaders[name] = l
	}
	tm.start(t, keys["fixer"], publicKey(a.owner))
	return tm
}

func (tm *team) connect(t *testing.T, name string, key nkeys.KeyPair) *natsbox.Conn {
	t.Helper()
	box, err := natsbox.Connect(t.Context(), natsbox.Config{InProcess: tm.hub.server, Team: "t", Me: name, Key: key, Instance: name})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(box.Close)
	return box
}

func (tm *team) start(t *testing.T, key nkeys.KeyPair, owner string) {
	t.Helper()
	dir := t.TempDir()
	j, err := journal.Open(dir, journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	store, err := plandir.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	tm.plan = store.WorkFile()
	tm.runner, err = teammate.New(teammate.Config{
		Name: "fixer", Team: "t", Owner: owner, Tree: t.TempDir(), Mode: permissions.ModeDefault, StartInPlan: true, Attended: true,
		Agent: quietClient{}, Box: tm.connect(t, "fixer", key), Journal: j, Store: store, Dir: dir, Instance: "fixer",
		Engine: permissions.New(permissions.Config{}), EnforcedBy: "nobody",
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- tm.runner.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	select {
	case <-tm.runner.Ready():
	case err := <-done:
		t.Fatalf("runner: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("the runner is not ready")
	}
}

// onDesk waits until the coordinator shows a request: the index follows the stream, and a leader decides what it shows.
func (tm *team) onDesk(t *testing.T, id string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if q, err := tm.leaders["mia"].Queue(t.Context()); err == nil {
			if _, err := q.Find(id); err == nil {
				return
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("request %s is not shown", id)
		}
	}
}

// race has both leaders decide one request at the same moment, and returns the winner.
func (tm *team) race(t *testing.T, round int) string {
	t.Helper()
	content := fmt.Sprintf("# Plan %d\n", round)
	if err := os.WriteFile(tm.plan, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	pending, err := tm.runner.Submit(t.Context(), teammate.Submission{Path: filepath.Base(tm.plan), Cwd: filepath.Dir(tm.plan), Prompts: []string{"run tests"}})
	if err != nil {
		t.Fatal(err)
	}
	tm.onDesk(t, pending.RequestID)
	choices := map[string]leader.Choice{
		"mia": {Outcome: planmode.OutcomeApproved, Uses: 3},
		"tom": {Outcome: planmode.OutcomeApproved, NoGrants: true},
	}
	errs := map[string]error{}
	results := make(chan func(), 2)
	begin := make(chan struct{})
	for name, choice := range choices {
		go func() {
			<-begin
			_, err := tm.leaders[name].Decide(t.Context(), pending.RequestID, choice, 0)
			results <- func() { errs[name] = err }
		}()
	}
	close(begin)
	(<-results)()
	(<-results)()
	winner, loser := "mia", "tom"
	if errs["mia"] != nil {
		winner, loser = loser, winner
	}
	var e *leader.Error
	switch {
	case errs[winner] != nil:
		t.Fatalf("round %d: nobody won: %v", round, errs)
	case errs[loser] == nil:
		t.Fatalf("round %d: both won", round)
	case !errors.As(errs[loser], &e) || e.Code != 13 || !strings.Contains(e.Message, winner+" approved"):
		t.Fatalf("round %d: the loser %s is told %v, want exit 13 and that %s approved", round, loser, errs[loser], winner)
	}
	return winner
}

// Two leaders decide the same request at once: one winner each time, the other is told who won, and the teammate has
// exactly the winner's grants.
func TestTwoLeadersRaceTwoHundredTimes(t *testing.T) {
	tm := newTeam(t)
	won := map[string]int{}
	for round := range rounds {
		winner := tm.race(t, round)
		won[winner]++
		if _, err := tm.runner.WaitDecision(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		s, err := tm.runner.Status()
		if err != nil {
			t.Fatal(err)
		}
		uses := []int{}
		for _, g := range s.Grants {
			uses = append(uses, g.MaxUses)
		}
		want := map[string][]int{"mia": {3}, "tom": {}}[winner]
		if s.State != planmode.Working || s.Mode != permissions.ModeDefault || !slices.Equal(uses, want) {
			t.Fatalf("round %d, won by %s: %s, mode %s, grants with uses %v, want working, default and %v", round, winner, s.State, s.Mode, uses, want)
		}
		if err := tm.runner.Done(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := tm.runner.Enter(t.Context(), planmode.ByAgent); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("won: %v", won)
}
