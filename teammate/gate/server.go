package gate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

const (
	maxRequest  = 12 << 20         // one line: an edit of a few MiB in base64
	requestWait = 10 * time.Second // for the client's line
	maxClients  = 256              // at once; waiting clients count
)

// Config is what a [Gate] runs with. Runner and Socket are required.
type Config struct {
	Runner *teammate.Runner
	Socket string // absolute, see [SocketPath]
	// Roots returns the processes whose descendants are served, besides themselves. Nil means this process.
	Roots func() []int
	// Attached is the address of a client that a person starts by hand: who holds its token is served too, with what hooks
	// ask. Nil serves descendants alone.
	Attached *Address
	// Observe is called with each call that was carried out or refused, from any goroutine. Nil observes nothing.
	Observe func(Observation)
	// Hook answers what an agent's client tells its hook: it judges, and never waits for a person. Nil knows no such verb.
	Hook func(ctx context.Context, a HookArgs) (any, error)
	// Attack tries an attack of the demonstration. Nil, as everywhere but there, knows no such verb.
	Attack func(ctx context.Context, a AttackArgs) (AttackResult, error)
	// Logger receives what happens. Nil means slog.DiscardHandler.
	Logger *slog.Logger
}

// Gate answers the thin clients of one teammate.
type Gate struct {
	cfg     Config
	log     *slog.Logger
	ln      *net.UnixListener
	permits permits
}

// Listen binds the socket, in a folder that nobody else can enter. A socket that an earlier runner left there is replaced:
// the caller holds the journal's lock, so that runner is gone.
func Listen(cfg Config) (*Gate, error) {
	if cfg.Runner == nil || !filepath.IsAbs(cfg.Socket) {
		return nil, errors.New("gate: a runner and an absolute socket path are required")
	}
	if cfg.Roots == nil {
		cfg.Roots = func() []int { return []int{os.Getpid()} }
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Observation) {}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := makeFolder(filepath.Dir(cfg.Socket)); err != nil {
		return nil, err
	}
	if err := removeOld(cfg.Socket); err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: cfg.Socket, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	if err := os.Chmod(cfg.Socket, 0o600); err != nil { // nobody else has entered the folder meanwhile
		return nil, errors.Join(fmt.Errorf("gate: %w", err), ln.Close())
	}
	return &Gate{cfg: cfg, log: cfg.Logger, ln: ln}, nil
}

func removeOld(path string) error {
	switch err := checkSocket(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	return nil
}

// Run serves until ctx ends, then ends what it carries out, and returns when every client is gone. The socket is removed.
// It may be called once.
func (g *Gate) Run(ctx context.Context) error {
	var clients sync.WaitGroup
	places := make(chan struct{}, maxClients)
	stop := context.AfterFunc(ctx, func() { _ = g.ln.Close() })
	defer stop()
	for {
		conn, err := g.ln.AcceptUnix()
		if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
			if err == nil {
				_ = conn.Close()
			}
			clients.Wait()
			return context.Cause(ctx)
		}
		if err != nil { // no free descriptors: later, and not never again
			g.log.Warn("gate: a client waits", "cause", err)
			select {
			case <-time.After(50 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			_ = conn.Close() // the client denies
			continue
		}
		clients.Go(func() {
			defer func() { <-places }()
			g.serve(ctx, conn)
		})
	}
}

// serve answers one client.
func (g *Gate) serve(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })() // who has not asked yet holds nobody up
	out := &answers{enc: json.NewEncoder(conn), conn: conn}
	_ = conn.SetReadDeadline(time.Now().Add(requestWait))
	in := bufio.NewReader(io.LimitReader(conn, maxRequest+1))
	attached, err := g.admit(conn, in)
	if err != nil {
		g.log.Warn("gate: a client was refused", "cause", err)
		out.end(nil, fail(exitAuth, codeNotOurs, "a gate serves the processes of its own teammate only", "%v", err), line{})
		_ = conn.CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.CopyN(io.Discard, conn, chunk) // unread, its request would take the answer with it
		return
	}
	req, err := readRequest(in)
	if err == nil && attached && !forAttached(req) {
		err = fail(exitAuth, codeNotOurs, "have it run by the agent: what it runs is served", "a client that was started by hand may not ask for %q", req.Verb)
	}
	if err != nil {
		out.end(nil, err, line{})
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	gone, said := make(chan struct{}), int64(0)
	go func() { // a client that goes away takes what it waits for with it
		defer close(gone)
		said, _ = io.Copy(io.Discard, conn)
		cancel(errClientGone)
	}()
	result, err := g.safely(ctx, req, out)
	out.end(result, err, line{Urgent: g.urgent(req.Verb), Remind: g.remind(req.Verb, err == nil)})
	_ = conn.CloseWrite()
	wait := time.Second // until the client has read and closed
	if result != nil && result.handed != nil {
		wait = handWait
	}
	_ = conn.SetReadDeadline(time.Now().Add(wait))
	<-gone
	g.handed(result, said > 0)
}

// handWait is how long a client may take to hand on what it was given before it counts as not handed over.
const handWait = 10 * time.Second

// handed tells whoever has given something away whether it has arrived: a client says so when it has printed it.
func (g *Gate) handed(r *result, yes bool) {
	if r == nil || r.handed == nil {
		return
	}
	if err := r.handed(yes); err != nil {
		g.log.Warn("gate: what was handed over is handed over again", "cause", err)
	}
}

// urgent names who has written urgent mail that the agent has not read; verbs of mail do not need it.
func (g *Gate) urgent(v Verb) string {
	if strings.HasPrefix(string(v), "mail.") {
		return ""
	}
	return g.cfg.Runner.UrgentMail()
}

// handIn is how a program hands its plan in.
const handIn = "swarm plan submit"

// remind is what a program that calls verbs is told again about plan mode: each call that is about its work is a turn of its
// agent's. A refusal says what to do by itself, and only what has used a budget up is told beside it. A client that has a
// hook is reminded there.
func (g *Gate) remind(v Verb, done bool) (text string) {
	if g.cfg.Hook != nil || strings.HasPrefix(string(v), "mail.") || v == VerbAsk || v == VerbAttack {
		return ""
	}
	if done {
		text = g.cfg.Runner.Remind(handIn, "")
	} else {
		text = g.cfg.Runner.Nudge()
	}
	g.cfg.Runner.Turned(planmode.RoleAssistant)
	return text
}

// safely answers, and denies where a mistake of ours would end the runner: no client's request is worth the others.
func (g *Gate) safely(ctx context.Context, req Request, out *answers) (res *result, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.log.Error("gate: a request met a mistake in swarm and is denied", "verb", string(req.Verb), "panic", p, "stack", string(debug.Stack()))
			res, err = nil, fail(doubtful(req.Verb), "internal", "report it, with the runner's log", "a mistake in swarm: denied")
		}
	}()
	return g.answer(ctx, req, out)
}

// codeNotOurs is the word for a client that is not served.
const codeNotOurs = "not_ours"

var errClientGone = errors.New("gate: the client has gone away")

func readRequest(in *bufio.Reader) (Request, error) {
	raw, err := in.ReadBytes('\n')
	if err != nil {
		return Request{}, fail(exitUsage, "bad_request", "", "no request line of at most %d bytes: %v", maxRequest, err)
	}
	var version struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(raw, &version); err != nil {
		return Request{}, fail(exitUsage, "bad_request", "", "the request is not JSON: %v", err)
	}
	if version.V != Version {
		return Request{}, fail(exitUsage, "version", "use the swarm that started this teammate", "the request has version %d, and this gate reads %d", version.V, Version)
	}
	var req Request
	if err := mailbox.DecodeStrict(raw, &req); err != nil {
		return Request{}, fail(exitUsage, "bad_request", "", "%v", err)
	}
	if req.Cwd != "" && !filepath.IsAbs(req.Cwd) {
		return Request{}, fail(exitUsage, "bad_request", "send the full path", "cwd %q is not absolute", req.Cwd)
	}
	return req, nil
}

// result is what a verb has to say, and the exit code that goes with it.
type result struct {
	value  any
	exit   int
	handed func(yes bool) error // called once, when it is known whether the client has handed the value on; nil: nobody asks
}

// answers writes the lines of one answer. Its writers may be used by several goroutines.
type answers struct {
	mu   sync.Mutex
	enc  *json.Encoder
	conn net.Conn
	err  error
}

func (a *answers) write(l line) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = a.enc.Encode(l)
	}
	return a.err
}

// end writes the last line, with what it says besides.
func (a *answers) end(r *result, err error, l line) {
	exit := exitOK
	if r != nil {
		exit = r.exit
		if raw, merr := json.Marshal(r.value); merr == nil {
			l.Result = raw
		} else if err == nil {
			err = merr
		}
	}
	if err != nil {
		l.Error = explain(err)
		exit = l.Error.Exit
	}
	l.Exit = &exit
	_ = a.conn.SetWriteDeadline(time.Now().Add(requestWait))
	_ = a.write(l) // a client that is gone has no use for it
}

// chunk is the most output that one line carries.
const chunk = 32 << 10

// writer makes lines of output.
type writer struct {
	a    *answers
	make func([]byte) line
}

func (a *answers) stdout() io.Writer { return writer{a, func(p []byte) line { return line{Out: p} }} }

func (a *answers) stderr() io.Writer { return writer{a, func(p []byte) line { return line{Err: p} }} }

func (w writer) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		part := p[done:min(done+chunk, len(p))]
		if err := w.a.write(w.make(part)); err != nil {
			return done, err
		}
		done += len(part)
	}
	return done, nil
}
