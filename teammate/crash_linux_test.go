package teammate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/journal"
)

// With victimDir in its environment this test program is a teammate that plans, waits, and plans again, for ever.
const victimDir = "TEAMMATE_TEST_DIR"

// With victimStops it kills itself when a granted call may begin, before anything runs.
const victimStops = "TEAMMATE_TEST_STOPS"

func (m *mate) beginAndDie(grantID string) error {
	v, _ := m.View()
	d := permissions.Decision{Verdict: permissions.Allow, Hash: "call", Commands: []permissions.CommandVerdict{{Verdict: permissions.Allow, GrantID: grantID}}}
	if _, _, err := m.Begin(context.Background(), v, d); err != nil {
		return err
	}
	return errors.Join(syscall.Kill(os.Getpid(), syscall.SIGKILL), errors.New("still alive"))
}

func victim(dir string) int {
	if err := live(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func live(dir string) error {
	kp, err := nkeys.FromSeed([]byte(os.Getenv("TEAMMATE_TEST_SEED")))
	if err != nil {
		return err
	}
	j, err := journal.Open(dir, journal.Config{})
	if err != nil {
		return err
	}
	conn, err := natsbox.Connect(context.Background(), natsbox.Config{
		URL: os.Getenv("TEAMMATE_TEST_URL"), Team: "shop", Me: "api", Key: kp, Instance: "api-test",
	})
	if err != nil {
		return err
	}
	store, err := plandir.Open(dir)
	if err != nil {
		return err
	}
	m := &mate{journal: j, agent: &agent{}, log: &recorder{}, conn: conn, store: store}
	r := &rig{team: &mailboxtest.Team{Name: "shop", OwnerKey: os.Getenv("TEAMMATE_TEST_OWNER")}, dir: dir, tree: dir}
	if m.Runner, err = teammate.New(r.config(m)); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(context.Background()) }()
	select {
	case err := <-ended:
		return err
	case <-m.Ready():
	}
	for {
		if err := m.oneMore(); err != nil {
			return err
		}
	}
}

// oneMore goes on wherever the session stands, until its plan is done.
func (m *mate) oneMore() error {
	ctx := context.Background()
	s, err := m.Status()
	if err != nil {
		return err
	}
	if s.State == planmode.Working && s.Approved == nil {
		if err := m.Enter(ctx, planmode.ByAgent); err != nil {
			return err
		}
	}
	if s.State != planmode.AwaitingLeaderApproval && s.Approved == nil {
		plan := fmt.Sprintf("# Plan %d\n", time.Now().UnixNano())
		if err := os.WriteFile(m.store.WorkFile(), []byte(plan), 0o600); err != nil {
			return err
		}
		if _, err := m.Submit(ctx, teammate.Submission{Prompts: []string{"run tests"}}); err != nil {
			return err
		}
	}
	if s.Approved == nil {
		if a, err := m.WaitDecision(ctx, 0); err != nil || a.Outcome != planmode.OutcomeApproved {
			return errors.Join(err, fmt.Errorf("%+v is no approval", a))
		}
	}
	if s, err = m.Status(); err != nil || s.Mode != permissions.ModeDefault || len(s.Grants) != 1 {
		return errors.Join(err, fmt.Errorf("approved, and the session is %+v", s))
	}
	if os.Getenv(victimStops) != "" {
		return m.beginAndDie(s.Grants[0].ID)
	}
	if err := m.Use(ctx, []string{s.Grants[0].ID}, "call"); err != nil {
		return err
	}
	return m.Done(ctx)
}

// approveAll approves whatever is open, until ctx ends.
func (r *rig) approveAll(ctx context.Context) map[string]planmode.Decision {
	decided := map[string]planmode.Decision{}
	for ctx.Err() == nil {
		rows, err := r.anna.Pending(ctx)
		if err != nil {
			continue
		}
		for _, row := range rows {
			if _, ok := decided[row.EnvelopeID]; !ok && row.Request != nil {
				decided[row.EnvelopeID] = r.approval(row)
				r.decide(decided[row.EnvelopeID])
			}
		}
		time.Sleep(time.Millisecond)
	}
	return decided
}

// Killed at any moment while plans are submitted, decided, applied, used and done: each decision is applied once at most,
// and what the journal says fits together at every start.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	r := newRig(t, mailboxtest.Listen("127.0.0.1:0"))
	r.tree = r.dir
	ctx, stop := context.WithCancel(t.Context())
	decided := make(chan map[string]planmode.Decision)
	go func() { decided <- r.approveAll(ctx) }()
	for range 12 {
		r.killed(t, rand.Int64N(40_000))
		r.checkJournal(t)
	}
	stop()
	all := <-decided
	applied := r.checkJournal(t)
	for id, n := range applied {
		if _, ok := all[id]; n != 1 || !ok {
			t.Errorf("decision %s was applied %d times (decided: %t), want once", id, n, ok)
		}
	}
	t.Logf("%d plans decided, %d applied", len(all), len(applied))
	if len(applied) < 2 {
		t.Fatalf("%d decisions were applied: the test kills too early", len(applied))
	}
	m := r.start() // in the end everything is there that was decided
	if s := m.status(); s.State == planmode.AwaitingLeaderApproval {
		r.decideOnce(m, all)
		m.wait()
	}
}

func (r *rig) decideOnce(m *mate, all map[string]planmode.Decision) {
	until(r.t, "published or decided", func() bool {
		p := m.status().Pending
		if p == nil {
			return true
		}
		if _, ok := all[p.RequestID]; ok || !p.Published {
			return false // its decision comes
		}
		r.decide(r.approval(r.request(p.RequestID)))
		return true
	})
}

// victim is the teammate as a process of its own.
func (r *rig) victim(t *testing.T, out io.Writer, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seed, err := r.team.Key("api").Seed()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), victimDir+"="+r.dir, "TEAMMATE_TEST_URL="+r.team.Server().URL(),
		"TEAMMATE_TEST_SEED="+string(seed), "TEAMMATE_TEST_OWNER="+r.team.OwnerKey)
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}

// Killed between a use and what it was for: it is counted all the same.
func TestUseIsCountedBeforeTheKill(t *testing.T) {
	t.Parallel()
	r := newRig(t, mailboxtest.Listen("127.0.0.1:0"))
	r.tree = r.dir
	ctx, stop := context.WithCancel(t.Context())
	decided := make(chan map[string]planmode.Decision)
	go func() { decided <- r.approveAll(ctx) }()
	var out bytes.Buffer
	err := r.victim(t, &out, victimStops+"=1").Run()
	stop()
	<-decided
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the teammate ended by itself: %v: %s", err, &out)
	}
	m := r.start()
	if g := m.status().Grants; len(g) != 1 || g[0].Uses != 1 {
		t.Errorf("grants are %+v, want one with one use", g)
	}
}

// killed runs the victim until its journal has grown by so many bytes.
func (r *rig) killed(t *testing.T, grown int64) {
	t.Helper()
	var out bytes.Buffer
	cmd := r.victim(t, &out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lives := make(chan error, 1)
	go func() { lives <- cmd.Wait() }()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(r.dir, "journal.jsonl"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	for start, deadline := size(), time.Now().Add(patience); size() <= start+grown && time.Now().Before(deadline); {
		select {
		case err := <-lives:
			t.Fatalf("the teammate ended by itself: %v: %s", err, &out)
		case <-time.After(rand.N(2 * time.Millisecond)):
		}
	}
	_ = cmd.Process.Kill()
	<-lives
}

// checkJournal reads the journal as a runner would, and returns how often each decision was applied.
func (r *rig) checkJournal(t *testing.T) map[string]int {
	t.Helper()
	j, err := journal.Open(r.dir, journal.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := j.Session()
	_ = j.Close()
	if err := s.Check(); err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	if s.State == planmode.Working && s.Mode != permissions.ModeDefault {
		t.Fatalf("after a kill: working in mode %s, want default", s.Mode)
	}
	raw, err := os.ReadFile(filepath.Join(r.dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	applied := map[string]int{}
	for line := range bytes.Lines(raw) {
		var l struct {
			Event struct {
				Type string `json:"type"`
				Data struct {
					Decision planmode.Decision `json:"decision"`
				} `json:"data"`
			} `json:"event"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		// A decision that comes again only has its receipt sent again.
		if l.Event.Type == "decided" && bytes.Contains(line, []byte(`"type":"addGrants"`)) {
			applied[l.Event.Data.Decision.RequestID]++
		}
	}
	return applied
}
