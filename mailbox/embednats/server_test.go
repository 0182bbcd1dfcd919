package embednats_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox/embednats"
)

func start(t *testing.T, cfg embednats.Config) *embednats.Server {
	t.Helper()
	s, err := embednats.Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// connect connects with the key that has every right.
func connect(t *testing.T, s *embednats.Server, opts ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	key := s.Auth().CoordinatorKey()
	pub, err := key.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	opts = append(opts, nats.Nkey(pub, key.Sign), nats.NoReconnect(), nats.Timeout(time.Minute))
	if s.URL() == "" {
		opts = append(opts, nats.InProcessServer(s))
	}
	nc, err := nats.Connect(s.URL(), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return nc, js
}

func TestWhatIsStoredIsThereAfterARestart(t *testing.T) {
	t.Parallel()
	cfg := embednats.Config{StoreDir: filepath.Join(t.TempDir(), "deep", "store")}
	s := start(t, cfg)
	_, js := connect(t, s)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "s.x", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, js = connect(t, start(t, cfg))
	st, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	m, err := st.GetLastMsgForSubject(t.Context(), "s.x")
	if err != nil || string(m.Data) != "kept" {
		t.Errorf("after the restart: %v, want the message", err)
	}
	info, err := os.Stat(cfg.StoreDir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the store's rights are %v (%v), want 0700", info.Mode().Perm(), err)
	}
}

// What a killed broker leaves is read without a warning: its index is older than its messages, and all of them are there.
func TestAKilledBrokersStoreIsNoWarning(t *testing.T) {
	t.Parallel()
	cfg := embednats.Config{StoreDir: t.TempDir()}
	publish := func(s *embednats.Server, text string) {
		_, js := connect(t, s)
		if _, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}); err != nil {
			t.Fatal(err)
		}
		if _, err := js.Publish(t.Context(), "s.x", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	s := start(t, cfg)
	publish(s, "with an index")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	publish(start(t, cfg), "without")
	var said bytes.Buffer
	killed := embednats.Config{StoreDir: filepath.Join(t.TempDir(), "killed"), Logger: slog.New(slog.NewTextHandler(&said, nil))}
	if err := os.CopyFS(killed.StoreDir, os.DirFS(cfg.StoreDir)); err != nil {
		t.Fatal(err)
	}
	again := start(t, killed)
	_, js := connect(t, again)
	st, err := js.Stream(t.Context(), "S")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := st.GetLastMsgForSubject(t.Context(), "s.x"); err != nil || string(m.Data) != "without" {
		t.Errorf("after the kill: %v, want the message", err)
	}
	if err := again.Close(); err != nil { // from here on it writes nothing
		t.Fatal(err)
	}
	for line := range strings.Lines(said.String()) {
		if !strings.Contains(line, "took too long") && !strings.Contains(line, "processing time") { // of a slow machine
			t.Errorf("the broker warns: %s", line)
		}
	}
}

// In clear beyond this machine only where that is said.
func TestListenInClear(t *testing.T) {
	t.Parallel()
	s, err := embednats.Start(t.Context(), embednats.Config{StoreDir: t.TempDir(), Listen: "0.0.0.0:0", Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil || !strings.HasPrefix(s.URL(), "nats://0.0.0.0:") {
		t.Errorf("URL %s, %v", s.URL(), err)
	}
}

func TestListen(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]error{
		"":                   nil,
		"127.0.0.1:0":        nil,
		"localhost:0":        nil,
		"[::1]:0":            nil,
		"0.0.0.0:0":          embednats.ErrNotLoopback,
		"192.0.2.1:4222":     embednats.ErrNotLoopback,
		"example.com:0":      embednats.ErrNotLoopback,
		"127.0.0.1":          errAny,
		"127.0.0.1:notaport": errAny,
		"127.0.0.1:70000":    errAny,
		":4222":              errAny,
	} {
		t.Run(listen, func(t *testing.T) {
			if listen == "[::1]:0" && !hasIPv6() {
				listen = "127.0.0.1:0"
			}
			s, err := embednats.Start(t.Context(), embednats.Config{StoreDir: t.TempDir(), Listen: listen})
			if want == nil && err != nil || want != nil && err == nil || want != nil && want != errAny && !errors.Is(err, want) {
				t.Fatalf("Start = %v, want %v", err, want)
			}
			if err != nil {
				return
			}
			defer s.Close()
			if (s.URL() == "") != (listen == "") {
				t.Errorf("URL = %q for %q", s.URL(), listen)
			}
			connect(t, s)
		})
	}
}

var errAny = errors.New("any error")

func hasIPv6() bool {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// A port is taken again after a restart, and when somebody else has it by then, another one is used and said.
func TestARememberedPort(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, embednats.Config{StoreDir: dir, Listen: "127.0.0.1:0"})
	u, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, embednats.Config{StoreDir: dir, Listen: u.Host})
	if again.URL() != s.URL() && !again.Moved() {
		t.Errorf("URL = %s, want %s again", again.URL(), s.URL())
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	thief, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	var log bytes.Buffer
	third := start(t, embednats.Config{StoreDir: dir, Listen: thief.Addr().String(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !third.Moved() || strings.Contains(third.URL(), thief.Addr().String()) {
		t.Errorf("URL = %s, moved %v, want another port than %s", third.URL(), third.Moved(), thief.Addr())
	}
	connect(t, third)
	if err := third.Close(); err != nil { // from here on it writes nothing
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "port taken") {
		t.Errorf("the log does not say so:\n%s", log.String())
	}
}

func TestAStoreHasOneBroker(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, embednats.Config{StoreDir: dir})
	if _, err := embednats.Start(t.Context(), embednats.Config{StoreDir: dir}); !errors.Is(err, embednats.ErrLocked) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a second Start = %v, want ErrLocked that names the folder", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	start(t, embednats.Config{StoreDir: dir})
}

func TestStoresThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	newer, damaged := t.TempDir(), t.TempDir()
	for dir, data := range map[string]string{newer: `{"v":2}`, damaged: `{`} {
		if err := os.WriteFile(filepath.Join(dir, "swarm.json"), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		cfg  embednats.Config
		want error
		says string
	}{
		"a file":         {embednats.Config{StoreDir: file}, embednats.ErrNotWritable, file},
		"below a file":   {embednats.Config{StoreDir: filepath.Join(file, "x")}, embednats.ErrNotWritable, file},
		"a newer swarm":  {embednats.Config{StoreDir: newer}, embednats.ErrNewerStore, "version 2"},
		"damaged":        {embednats.Config{StoreDir: damaged}, errAny, "damaged"},
		"none":           {embednats.Config{}, errAny, "StoreDir"},
		"a bad sync":     {embednats.Config{StoreDir: t.TempDir(), Sync: "often"}, errAny, "always"},
		"a sync of zero": {embednats.Config{StoreDir: t.TempDir(), Sync: "0s"}, errAny, "always"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := embednats.Start(t.Context(), c.cfg)
			if err == nil {
				t.Fatal(s.Close())
			}
			if c.want != errAny && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Start = %v, want %v that says %q", err, c.want, c.says)
			}
		})
	}
}

func TestWhoHasNoKeyIsTurnedAway(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"", "127.0.0.1:0"} {
		s := start(t, embednats.Config{StoreDir: t.TempDir(), Listen: listen})
		opts := []nats.Option{nats.NoReconnect(), nats.Timeout(time.Minute)}
		if listen == "" {
			opts = append(opts, nats.InProcessServer(s))
		}
		if _, err := nats.Connect(s.URL(), opts...); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("connecting to %q without a key: %v, want ErrAuthorization", s.URL(), err)
		}
	}
}

func TestMaxStore(t *testing.T) {
	t.Parallel()
	s := start(t, embednats.Config{StoreDir: t.TempDir(), MaxStore: 1 << 20, Sync: "1s"})
	if s.MaxStore() != 1<<20 {
		t.Errorf("MaxStore = %d, want 1 MiB", s.MaxStore())
	}
	_, js := connect(t, s)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := js.Publish(t.Context(), "s", make([]byte, 300<<10)); err != nil {
			return
		}
	}
	t.Error("more than 1 MiB was stored")
}

// A stream takes more consumers than the server's default of a thousand.
func TestAThousandMembersAreNotTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t, embednats.Config{StoreDir: t.TempDir(), Sync: "1m"})
	_, js := connect(t, s)
	if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: jetstream.MemoryStorage}); err != nil {
		t.Fatal(err)
	}
	for i := range 1001 {
		if _, err := js.CreateConsumer(t.Context(), "S", jetstream.ConsumerConfig{AckPolicy: jetstream.AckExplicitPolicy, MemoryStorage: true}); err != nil {
			t.Fatalf("consumer %d: %v", i+1, err)
		}
	}
}

func TestStartIsCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := embednats.Start(ctx, embednats.Config{StoreDir: dir}); err == nil { // it may be up before it looks
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	start(t, embednats.Config{StoreDir: dir}) // nothing is left locked
}

// A connection that closes while the broker waits to answer it does not hold the broker's end up.
func TestAClosedEndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s := start(t, embednats.Config{StoreDir: t.TempDir()})
	c, err := s.InProcessConn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil { // INFO; nothing is read after it
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, strings.Repeat("CONNECT {}\r\nPING\r\nPING\r\n", 2000)); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // the broker answers, and waits
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	begin := time.Now()
	if err := s.Close(); err != nil || time.Since(begin) > 8*time.Second {
		t.Errorf("Close = %v after %v, want at once: the last words' ten seconds were waited for", err, time.Since(begin))
	}
}

// What was written before Close arrives, however slow the other side reads.
func TestLastWordsArrive(t *testing.T) {
	t.Parallel()
	s := start(t, embednats.Config{StoreDir: t.TempDir()})
	listener, _ := connect(t, s)
	sub, err := listener.SubscribeSync("last")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Flush(); err != nil {
		t.Fatal(err)
	}
	speaker, _ := connect(t, s)
	if err := speaker.Publish("last", make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	speaker.Close()
	if m, err := sub.NextMsg(time.Minute); err != nil || len(m.Data) != 1<<20 {
		t.Errorf("NextMsg = %v, want 1 MiB", err)
	}
}
