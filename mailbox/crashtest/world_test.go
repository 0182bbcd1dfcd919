package crashtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/coordinator"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
)

const team = "shop"

// world is one team and its machine: processes that live and die, their disks, and what everybody was told.
type world struct {
	t      *rapid.T
	out    testing.TB
	story  []string // the strikes so far
	root   string
	owner  string
	keys   map[string]nkeys.KeyPair
	signed charter.Signed
	log    *slog.Logger
	notes  *notes

	mu     sync.Mutex
	broker *broker
	disks  int
	ending bool // agents finish what they are at
	parts  map[string]process
}

// process is what can be killed and started again.
type process interface {
	border() *life
	// succeed copies the disk that the killed process leaves, lets what is left of it unwind, and returns what waits for that
	// and starts the next one on the copy. It does not wait itself: others that were killed too may hold locks still, and the
	// clock stands until they are buried.
	succeed(s strike) (start func())
	// join waits until nothing of it is left.
	join()
}

func newWorld(t *rapid.T, out testing.TB, root string, mates []string) *world {
	w := &world{t: t, out: out, root: root, keys: map[string]nkeys.KeyPair{}, notes: newNotes(), log: slog.New(slog.DiscardHandler), parts: map[string]process{}}
	if os.Getenv("CRASHTEST_LOG") != "" {
		w.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	owner, err := nkeys.CreateAccount()
	w.check(err)
	w.owner = w.public(owner)
	members := []charter.Member{
		w.member("policy", charter.RoleLeader, charter.KindPolicy), w.member("mia", charter.RoleLeader, charter.KindPerson),
	}
	for _, name := range mates {
		members = append(members, w.member(name, charter.RoleTeammate, charter.KindAgent))
	}
	caps := charter.Caps{Mode: permissions.ModeBypass, PlanRequired: true}
	w.signed, err = charter.Sign(owner, charter.New(team, w.owner, members, caps, ""))
	w.check(err)
	return w
}

func (w *world) member(name string, role charter.Role, kind charter.Kind) charter.Member {
	kp, err := nkeys.CreateUser()
	w.check(err)
	w.keys[name] = kp
	m := charter.Member{Name: name, Role: role, Kind: kind, Key: w.public(kp)}
	if role == charter.RoleLeader {
		m.Assurance = charter.Plain
	}
	return m
}

func (w *world) public(kp nkeys.KeyPair) string {
	pub, err := kp.PublicKey()
	w.check(err)
	return pub
}

func (w *world) check(err error) {
	w.t.Helper()
	if err != nil {
		w.fatal("%v", err)
	}
}

// fail says at once what is wrong: the same strikes need not hit the same moment again when rapid tries them once more.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.out.Logf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(w.story, "\n"))
	w.story = nil
	w.t.Errorf(format, args...)
}

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()
	w.fail(format, args...)
	w.t.FailNow()
}

func (w *world) charter() charter.Charter {
	c, err := charter.Open(w.signed, w.owner)
	if err != nil {
		panic(err) // it was signed here
	}
	return c
}

func (w *world) signer(name string) leader.Signer {
	m, _ := w.charter().Member(name)
	return leader.Signer{Key: w.keys[name], Member: m, Via: "command"}
}

// disk is a new place for a process's files.
func (w *world) disk(name string) string {
	w.mu.Lock()
	w.disks++
	n := w.disks
	w.mu.Unlock()
	dir := filepath.Join(w.root, fmt.Sprintf("%s.%d", name, n))
	w.check(os.MkdirAll(dir, 0o700))
	return dir
}

func (w *world) running() *broker {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broker
}

func (w *world) isEnding() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ending
}

// config is what a process of a member connects with.
func (w *world) config(name string, l *life) natsbox.Config {
	return natsbox.Config{InProcess: plug{w, l}, Team: team, Me: name, Key: w.keys[name], Instance: name + "-1", Logger: w.log}
}

// connect tries until there is a broker, or the process is killed.
func (w *world) connect(ctx context.Context, name string, l *life) (*natsbox.Conn, error) {
	for {
		conn, err := natsbox.Connect(ctx, w.config(name, l))
		if err == nil || !errors.Is(err, natsbox.ErrUnreachable) || ctx.Err() != nil {
			return conn, err
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return nil, context.Cause(ctx)
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// broker is nats-server and coordinator, as `swarm up` has them in one process.
type broker struct {
	*life
	w      *world
	dir    string
	server *embednats.Server
	stop   func()
}

func (w *world) startBroker(dir string) {
	w.t.Helper()
	b := &broker{life: newLife("up"), w: w, dir: dir}
	// What a kill leaves is what was written: whether it was forced to disk is the power supply's matter.
	server, err := embednats.Start(context.Background(), embednats.Config{StoreDir: dir, Sync: "10m", Logger: w.log})
	w.check(err)
	b.server = server
	co, err := coordinator.New(coordinator.Config{
		Server: server, Team: team, OwnerKey: w.owner, Charter: w.signed, Ledger: w.keys["policy"], Logger: w.log,
	})
	w.check(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- co.Run(ctx) }()
	b.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		synctest.Wait() // its last sleep holds a lock: who waits for that one would hold the clock
		_ = server.Close()
	})
	select {
	case <-co.Ready():
	case err := <-done:
		done <- err
		b.stop()
		w.fatal("the broker does not start: %v", err)
	}
	w.mu.Lock()
	w.broker = b
	w.parts["up"] = b
	w.mu.Unlock()
}

func (b *broker) border() *life { return b.life }

func (b *broker) join() { b.stop() }

func (b *broker) succeed(s strike) func() {
	b.cut()
	if s.settled {
		synctest.Wait()
	}
	to := b.w.disk("up")
	copyDisk(b.w.t, b.dir, to, "AUDIT_", "/obs/", "REG_")
	b.w.mu.Lock()
	b.w.broker = nil
	b.w.mu.Unlock()
	b.bury()
	b.stop()
	return func() { b.w.startBroker(to) }
}

func (w *world) part(name string) process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.parts[name]
}

func (w *world) put(name string, p process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[name] = p
}
