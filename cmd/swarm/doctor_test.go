//go:build linux

package main

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
)

// upUntil starts `swarm up`, waits until it is ready, and returns what ends it.
func (m *team) upUntil(args ...string) (stop func(syscall.Signal)) {
	m.t.Helper()
	cmd := exec.Command(m.bin, append([]string{"up", "--as", "mia"}, args...)...)
	out := &syncBuffer{}
	cmd.Dir, cmd.Env, cmd.Stderr = m.path("tree"), m.env(), out
	m.must(cmd.Start())
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }()
	stop = func(sig syscall.Signal) {
		_ = cmd.Process.Signal(sig)
		select {
		case <-done:
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			<-done
		}
	}
	m.t.Cleanup(func() { stop(syscall.SIGTERM) })
	m.until("swarm up", func() bool {
		select {
		case <-done:
			m.t.Fatalf("swarm up ended: %s", out)
		default:
		}
		return strings.Contains(out.String(), "next     swarm teammate")
	})
	return stop
}

// finding is a row of `swarm doctor`.
type finding struct{ Check, State, Text, Next string }

// doctor returns the rows of `swarm doctor`, by what they are about.
func (m *team) doctor(code int, args ...string) map[string]finding {
	m.t.Helper()
	o := m.as(nil, append([]string{"doctor", "--json"}, args...)...)
	if o.code != code {
		m.t.Errorf("swarm doctor %v: exit %d, want %d\n%s%s", args, o.code, code, o.out, o.err)
	}
	var d struct {
		Boundary      string
		Findings      []finding
		OK, Warn, Bad int
	}
	if err := json.Unmarshal([]byte(o.out), &d); err != nil {
		m.t.Fatalf("%v: %s%s", err, o.out, o.err)
	}
	rows := map[string]finding{}
	for _, f := range d.Findings {
		rows[f.Check] = f
		if f.State == "bad" && f.Next == "" && !strings.Contains(f.Text, ": ") || f.State == "warn" && f.Next == "" {
			m.t.Errorf("%+v does not say what to do", f)
		}
	}
	if d.OK+d.Warn+d.Bad != len(d.Findings) || d.Boundary != "same user (level 0)" && !strings.Contains(strings.Join(args, " "), "--server") {
		m.t.Errorf("doctor %v = %+v", args, d)
	}
	return rows
}

// row holds one row to a state and a text.
func (m *team) row(rows map[string]finding, check, state, text string) {
	m.t.Helper()
	if f := rows[check]; f.State != state || !strings.Contains(f.Text+" "+f.Next, text) {
		m.t.Errorf("row %q = %+v, want %s with %q", check, f, state, text)
	}
}

// One machine, from before its first broker to after its crash.
func TestDoctor(t *testing.T) {
	m := bareTeam(t)
	rows := m.doctor(0)
	m.row(rows, "broker", "warn", "swarm up --team t")
	m.row(rows, "address", "ok", "no broker")
	m.row(rows, "openat2", "ok", "")
	m.row(rows, "subreaper", "ok", "")
	m.row(rows, "bash", "ok", "bash")
	m.row(rows, "boundary", "warn", "which keys may decide")
	if o := m.as([]string{"SWARM_TEAM="}, "doctor"); o.code != 0 || !strings.Contains(o.out, "no team is named") {
		t.Errorf("doctor without a team: exit %d\n%s%s", o.code, o.out, o.err)
	}

	stop := m.upUntil()
	rows = m.doctor(0)
	m.row(rows, "broker", "ok", "nats-server "+embednats.Version)
	m.row(rows, "clock", "ok", "equal to ours")
	m.row(rows, "store", "ok", "0 %")
	m.row(rows, "sync", "ok", "always")
	m.row(rows, "you", "ok", "mia, leader of team t")
	m.row(rows, "key of mia", "warn", "a plain file")
	m.row(rows, "owner's key", "warn", "makes leaders seal it with swarm team init")
	m.row(rows, "state folder", "ok", "yours alone")
	m.row(rows, "bundles", "ok", "yours alone")
	m.row(rows, "sockets", "ok", "yours alone")
	m.row(rows, "disk", "ok", "MiB free")
	if o := m.as(nil, "doctor"); o.code != 0 || !strings.Contains(o.out, "0 bad") || !strings.Contains(o.out, "next: ") {
		t.Errorf("doctor: exit %d\n%s%s", o.code, o.out, o.err)
	}
	// Inside a teammate it looks at the machine, and not at keys.
	if o := m.as([]string{"SWARM_SOCKET=/nowhere"}, "doctor", "--json"); o.code != 0 || strings.Contains(o.out, "key of mia") || !strings.Contains(o.out, "belongs to a teammate") {
		t.Errorf("doctor of a teammate: exit %d\n%s%s", o.code, o.out, o.err)
	}

	stop(syscall.SIGKILL)
	rows = m.doctor(0)
	m.row(rows, "address", "warn", "which is gone")
	m.row(rows, "broker", "warn", "not running")
	m.row(rows, "store", "ok", "MiB on disk")
	m.row(rows, "key of mia", "warn", "a plain file")

	m.must(os.Rename(m.state("owner.seed"), m.state("owner.sealed")))
	m.row(m.doctor(0), "owner's key", "ok", "sealed by a passphrase")
	m.must(os.WriteFile(m.state("up.json"), []byte("{"), 0o600))
	m.row(m.doctor(1), "address", "bad", "damaged")
	m.must(os.WriteFile(m.state("up.json"), []byte(`{"v": 99}`), 0o600))
	m.row(m.doctor(1), "address", "bad", "newer swarm")
}

// Whoever may get to a file is told by its mode and by those of the folders above it.
func TestDoctorLooksAtFiles(t *testing.T) {
	m := bareTeam(t)
	m.upUntil()(syscall.SIGTERM)
	bundle := m.path("config", "swarm", "teams", "t", "mia.bundle")
	chmod := func(path string, mode os.FileMode) { m.t.Helper(); m.must(os.Chmod(path, mode)) }
	open := func(mode os.FileMode) { // the way to the team's folders, for others
		for _, d := range []string{m.dir, m.path("config"), m.path("config", "swarm"), m.path("config", "swarm", "teams"), m.path("config", "swarm", "teams", "t"), m.path("state"), m.path("state", "swarm"), m.state()} {
			chmod(d, mode)
		}
	}
	chmod(bundle, 0o644)
	rows := m.doctor(1) // the command itself refuses such a key, whoever can get to it
	m.row(rows, "bundles", "ok", "1 have wider modes")
	open(0o711)
	rows = m.doctor(1)
	m.row(rows, "bundles", "bad", "mia.bundle (mode 0644)")
	m.row(rows, "bundles", "bad", "chmod 600")
	m.row(rows, "you", "bad", "can be read by others")
	chmod(bundle, 0o600)
	rows = m.doctor(0)
	m.row(rows, "bundles", "ok", "yours alone")
	chmod(m.state("owner.seed"), 0o640)
	m.row(m.doctor(1), "state folder", "bad", "owner.seed (mode 0640)")
	chmod(m.state("owner.seed"), 0o600)
	m.must(os.WriteFile(m.state("report.json"), []byte("{}"), 0o644))
	m.row(m.doctor(0), "state folder", "warn", "report.json (mode 0644)")
	chmod(m.state("report.json"), 0o602)
	m.row(m.doctor(1), "state folder", "bad", "others on this machine can change")
	chmod(m.state("report.json"), 0o600)
	chmod(m.path("state"), 0o777)
	m.row(m.doctor(1), "state folder", "bad", m.path("state"))
	chmod(m.path("state"), 0o777|os.ModeSticky)
	m.row(m.doctor(0), "state folder", "ok", "yours alone")
	if os.Getuid() == 0 {
		m.must(os.Chown(m.state("charter.json"), 65534, 65534))
		m.row(m.doctor(1), "state folder", "bad", "charter.json (user 65534)")
	}
}

// A program that does not answer is waited for, and said so; nothing waits for ever.
func TestDoctorSaysWhatItWaitsFor(t *testing.T) {
	m := bareTeam(t)
	m.upUntil()(syscall.SIGTERM)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	m.must(err)
	defer l.Close()
	begin := time.Now()
	o := m.as(nil, "doctor", "--server", "nats://"+l.Addr().String())
	if o.code != 1 || !strings.Contains(o.err, "waiting for the broker of team t\n") || !strings.Contains(o.out, "BAD  broker") || time.Since(begin) > time.Minute {
		t.Errorf("doctor of a silent port: exit %d after %v\n%s%s", o.code, time.Since(begin), o.out, o.err)
	}
}

// oneLine is a command that fails with one line, in which all of it stands.
func (m *team) oneLine(o outcome, code int, want ...string) {
	m.t.Helper()
	text := strings.TrimSuffix(o.err, "\n")
	if o.code != code || strings.Contains(text, "\n") || !strings.HasPrefix(text, "swarm: ") || o.out != "" {
		m.t.Errorf("exit %d, want %d and one line\n%s%s", o.code, code, o.out, o.err)
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			m.t.Errorf("%q lacks %q", text, w)
		}
	}
}

// What is wrong with a broker or a key is said in one line, by every command and by doctor.
func TestWrongBrokersAndKeys(t *testing.T) {
	m := bareTeam(t)
	m.upUntil()
	plain, locked, old := mailboxtest.PlainServer(t, server.Options{}), mailboxtest.PlainServer(t, server.Options{Username: "u", Password: "p"}), mailboxtest.OtherServer(t, "2.9.25")
	for name, test := range map[string]struct {
		url  string
		code int
		want []string
	}{
		"no auth":  {plain, 14, []string{"is not a swarm's broker", "asks nobody for a key", "name the port of `swarm up`"}},
		"password": {locked, 14, []string{"is not a swarm's broker"}},
		"old":      {old, 14, []string{"too old", "nats-server 2.9.25", "update the swarm"}},
	} {
		m.oneLine(m.lead("inbox", "--server", test.url), test.code, test.want...)
		rows := m.doctor(1, "--server", test.url)
		m.row(rows, "broker", "bad", test.want[0])
		if t.Failed() {
			t.Logf("%s: %+v", name, rows["broker"])
		}
	}

	// The keys of another team, and of another owner, under our names.
	other := bareTeam(t)
	other.upUntil()
	theirs, err := os.ReadFile(other.path("config", "swarm", "teams", "t", "mia.bundle"))
	m.must(err)
	ours := m.path("config", "swarm", "teams", "t", "mia.bundle")
	mine, err := os.ReadFile(ours)
	m.must(err)
	m.must(os.WriteFile(ours, theirs, 0o600))
	m.oneLine(m.lead("inbox"), 4, "another owner than your key's")
	m.row(m.doctor(1), "broker", "bad", "another owner")
	var a struct{ URL string }
	up, err := os.ReadFile(m.state("up.json"))
	m.must(err)
	m.must(json.Unmarshal(up, &a))
	m.oneLine(m.lead("inbox", "--server", a.URL), 4, "does not know the key of mia")
	m.must(os.WriteFile(ours, []byte(strings.Replace(string(theirs), `"team": "t"`, `"team": "else"`, 1)), 0o600))
	m.oneLine(m.lead("inbox"), 4, "is a key of team else, not of t", "--as or --team")
	m.must(os.WriteFile(ours, []byte(strings.Replace(string(mine), `"me": "mia"`, `"me": "bob"`, 1)), 0o600))
	m.oneLine(m.lead("inbox"), 4, "is the key of bob, not of mia")
	m.must(os.WriteFile(ours, mine, 0o600))
	if o := m.lead("inbox"); o.code != 0 {
		t.Errorf("with the own key again: %s", o.err)
	}
}

// A port that another program has is no broker's.
func TestUpWhereThePortIsTaken(t *testing.T) {
	m := bareTeam(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	m.must(err)
	defer l.Close()
	m.oneLine(m.lead("up", "--listen", l.Addr().String()), 1, l.Addr().String()+" is taken by another program", "choose another --listen")
	if _, err := os.Stat(m.state("up.json")); err == nil {
		t.Error("an address file was left")
	}
}

// A state folder that was ours and is read-only now. Root writes everywhere, so another user tries.
func TestUpWhereTheStateIsReadOnly(t *testing.T) {
	m := bareTeam(t)
	m.upUntil()(syscall.SIGTERM)
	var who *syscall.SysProcAttr
	if os.Getuid() == 0 {
		who = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		m.must(filepath.WalkDir(m.dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chown(path, 65534, 65534)
		}))
	}
	bin := m.path("swarm") // where nobody can get to it
	data, err := os.ReadFile(m.bin)
	m.must(err)
	m.must(os.WriteFile(bin, data, 0o755))
	nobody := func(args ...string) outcome {
		var out, errs strings.Builder
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = m.path("tree"), m.env(), &out, &errs
		cmd.SysProcAttr = who
		_ = cmd.Run()
		return outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
	m.must(os.Chmod(m.state(), 0o500))
	m.oneLine(nobody("up", "--as", "mia"), 1, "state folder "+m.state()+" cannot be written (permission denied)", "choose another with --state")
	if o := nobody("doctor"); o.code != 1 || !strings.Contains(o.out, "BAD  disk") || !strings.Contains(o.out, "cannot be written") {
		t.Errorf("doctor: exit %d\n%s%s", o.code, o.out, o.err)
	}
	m.must(os.Chmod(m.state(), 0o700))
	m.must(os.Chmod(m.state("jetstream"), 0o500))
	m.oneLine(nobody("up", "--as", "mia"), 1, m.state("jetstream"), "permission denied", "--state")
	m.must(os.Chmod(m.state("jetstream"), 0o700)) // else nobody but root could remove it
}

// foreignStream makes a stream in a store, as no swarm would.
func foreignStream(t *testing.T, dir string) {
	t.Helper()
	srv, err := embednats.Start(t.Context(), embednats.Config{StoreDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	key := srv.Auth().CoordinatorKey()
	pub, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	nc, err := nats.Connect("", nats.InProcessServer(srv), nats.Nkey(pub, key.Sign))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "DEC_t", Subjects: []string{"swarm.t.dec.>"}}); err != nil {
		t.Fatal(err)
	}
}

// A store with another's streams is left alone, and said in one line.
func TestUpOnAForeignStore(t *testing.T) {
	m := bareTeam(t)
	m.must(os.MkdirAll(m.state(), 0o700))
	foreignStream(t, m.state("jetstream"))
	m.oneLine(m.lead("up"), 1, "the store "+m.state("jetstream")+" cannot be used: DEC_t: another program made it", "use another store folder")

	// The store of a team of another name, and of another team of the same name.
	other := bareTeam(t)
	other.upUntil("--team", "else")(syscall.SIGTERM)
	m.must(os.RemoveAll(m.state("jetstream")))
	m.must(os.CopyFS(m.state("jetstream"), os.DirFS(other.path("state", "swarm", "else", "jetstream"))))
	m.oneLine(m.lead("up"), 1, "it is the store of team else", "move it away")
	same := bareTeam(t)
	same.upUntil()(syscall.SIGTERM)
	m.must(os.RemoveAll(m.state("jetstream")))
	m.must(os.CopyFS(m.state("jetstream"), os.DirFS(same.state("jetstream"))))
	m.oneLine(m.lead("up"), 1, "it is of another team of this name, with another owner")
	m.must(os.RemoveAll(m.state("jetstream")))
	m.upUntil()
}
