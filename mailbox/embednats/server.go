package embednats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/planswarm/swarm/mailbox/natsauth"
)

// Version is the version of nats-server that is built in.
const Version = server.VERSION

// Server is a running broker. Its methods may be called at once.
type Server struct {
	nats  *server.Server
	auth  *natsauth.Authenticator
	store *store
	url   string
	max   int64
	moved bool
	sync  string
	once  sync.Once
}

// Start starts the broker and returns when it takes connections. The caller closes it.
//
// It returns [ErrLocked], [ErrNotWritable], [ErrNewerStore] or [ErrNotLoopback] for what the caller can put right.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	opts, err := options(cfg)
	if err != nil {
		return nil, err
	}
	if cfg.Auth == nil {
		if cfg.Auth, err = natsauth.New(cfg.Logger); err != nil {
			return nil, err
		}
	}
	opts.CustomClientAuthentication = cfg.Auth
	st, err := openStore(cfg.StoreDir)
	if err != nil {
		return nil, err
	}
	s := &Server{auth: cfg.Auth, store: st, max: opts.JetStreamMaxStore, sync: cmp.Or(cfg.Sync, "always")}
	if err := s.start(ctx, opts, cfg.Logger); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return s, nil
}

// start tries the wanted port first, and any free one when it is taken.
func (s *Server) start(ctx context.Context, opts *server.Options, log *slog.Logger) error {
	wanted := opts.Port
	if !opts.DontListen && wanted > 0 && taken(opts.Host, wanted) {
		opts.Port, s.moved = server.RANDOM_PORT, true
	}
	err := s.run(ctx, opts, log)
	if errors.Is(err, syscall.EADDRINUSE) { // taken between the look and the listen
		opts.Port, s.moved = server.RANDOM_PORT, true
		err = s.run(ctx, opts, log)
	}
	if err == nil && s.moved {
		log.Warn("port taken, listening on another", "port", wanted, "url", s.URL())
	}
	return err
}

func (s *Server) run(ctx context.Context, opts *server.Options, log *slog.Logger) error {
	ns, err := server.NewServer(opts.Clone())
	if err != nil {
		return fmt.Errorf("embednats: start the broker: %w", err)
	}
	lg := &logger{log: log}
	ns.SetLoggerV2(lg, false, false, false)
	account, err := ns.LookupAccount(natsauth.Account)
	if err != nil {
		return fmt.Errorf("embednats: start the broker: %w", err)
	}
	s.auth.Bind(ns, account)
	s.nats = ns
	ns.Start()
	if err := s.ready(ctx, lg); err != nil {
		s.stop()
		return err
	}
	if err := account.EnableJetStream(nil, nil); err != nil {
		s.stop()
		return fmt.Errorf("embednats: open the store %s: %w", opts.StoreDir, errors.Join(err, lg.failure()))
	}
	if ns.Addr() != nil {
		s.url = ns.ClientURL()
	}
	return nil
}

// ready waits until connections are taken, or the server has said why not.
func (s *Server) ready(ctx context.Context, lg *logger) error {
	deadline := time.Now().Add(30 * time.Second)
	for !s.nats.ReadyForConnections(50 * time.Millisecond) {
		switch {
		case lg.failure() != nil:
			return fmt.Errorf("embednats: start the broker: %w", lg.failure())
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case time.Now().After(deadline):
			return errors.New("embednats: the broker did not start within 30 s: see its log")
		}
	}
	if err := lg.failure(); err != nil {
		return fmt.Errorf("embednats: start the broker: %w", err)
	}
	return nil
}

// authTimeout is how long a connection may take to say who it is, in seconds: a person may have to confirm the signature.
const authTimeout = 30

// tlsTimeout is how long a connection may take to agree on its keys, in seconds.
const tlsTimeout = 10

func options(cfg Config) (*server.Options, error) {
	host, port, err := cfg.address()
	if err != nil {
		return nil, err
	}
	always, every, err := cfg.sync()
	if err != nil {
		return nil, err
	}
	if cfg.MaxStore <= 0 {
		cfg.MaxStore = DefaultMaxStore
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	o := &server.Options{
		ServerName: "swarm", Host: host, Port: port, DontListen: host == "",
		NoSigs: true, MaxPayload: MaxPayload, MaxPending: 8 * MaxPayload,
		AlwaysEnableNonce:      true,
		AuthTimeout:            authTimeout,
		Accounts:               []*server.Account{server.NewAccount(natsauth.Account)},
		JetStream:              true,
		DisableJetStreamBanner: true,
		StoreDir:               cfg.StoreDir, JetStreamMaxStore: cfg.MaxStore, JetStreamMaxMemory: maxMemory,
		SyncAlways: always, SyncInterval: every,
	}
	o.JetStreamLimits.DefaultMaxConsumers = -1 // each connected member has its own
	if cfg.TLS != nil {
		o.TLSConfig, o.TLS, o.TLSTimeout = cfg.TLS, true, tlsTimeout
	}
	return o, nil
}

func taken(host string, port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(host, fmt.Sprint(port)))
	if err != nil {
		return errors.Is(err, syscall.EADDRINUSE)
	}
	_ = l.Close()
	return false
}

// URL is where members of other processes connect; empty when there is no port.
func (s *Server) URL() string { return s.url }

// Moved reports whether the wanted port was taken, so that URL names another one.
func (s *Server) Moved() bool { return s.moved }

// MaxStore is the size of the store in bytes.
func (s *Server) MaxStore() int64 { return s.max }

// Sync is that of the [Config]: "always", or how long a write may wait for the disk.
func (s *Server) Sync() string { return s.sync }

// Auth decides who is let in.
func (s *Server) Auth() *natsauth.Authenticator { return s.auth }

// InProcessConn implements nats.InProcessConnProvider: a connection without a socket.
func (s *Server) InProcessConn() (net.Conn, error) {
	c, err := s.nats.InProcessConn()
	if err != nil {
		return nil, fmt.Errorf("embednats: connect: %w", err)
	}
	return newBuffered(c), nil
}

// Close stops the broker and returns when everything is on disk and the store is free for the next one.
func (s *Server) Close() error {
	var err error
	s.once.Do(func() {
		s.stop()
		err = s.store.close()
	})
	return err
}

func (s *Server) stop() {
	s.nats.Shutdown()
	s.nats.WaitForShutdown()
}
