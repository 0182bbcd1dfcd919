package app

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
	"sync"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/teammate/gate"
)

// admin is the socket on which a runner of this user enrols itself. It is the only thing that can be asked there.
type admin struct {
	path string
	ln   net.Listener
	wg   sync.WaitGroup
}

// enrolRequest asks for a teammate's place in the team. The key is the public one; the seed never leaves its runner.
type enrolRequest struct {
	V    int    `json:"v"`
	Name string `json:"name"`
	Key  string `json:"key"`
}

type enrolAnswer struct {
	Team     string `json:"team"`
	OwnerKey string `json:"ownerKey"`
	URL      string `json:"url"`
	CA       string `json:"ca,omitempty"`
	Error    string `json:"error,omitempty"`
	Next     string `json:"next,omitempty"`
}

// maxEnrol is the largest request that is read, in bytes.
const maxEnrol = 4096

// listenAdmin opens the socket of a team's swarm.
func listenAdmin(s state, h *hub, ans enrolAnswer) (*admin, error) {
	path, err := adminSocket(s)
	if err != nil {
		return nil, err
	}
	a := &admin{path: path}
	if err := os.Remove(a.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err // we hold up.lock: whoever made it is gone
	}
	if a.ln, err = net.Listen("unix", a.path); err != nil {
		return nil, err
	}
	if err := os.Chmod(a.path, 0o600); err != nil {
		a.close()
		return nil, err
	}
	a.wg.Go(func() { a.accept(h.log, func(c *net.UnixConn) { serveEnrol(c, h, ans) }) })
	return a, nil
}

// maxClients is how many are served at once. More wait in the kernel's queue.
const maxClients = 16

// accept serves until the socket is closed. A process without free descriptors waits; it does not stop for good.
func (a *admin) accept(log *slog.Logger, serve func(*net.UnixConn)) {
	places := make(chan struct{}, maxClients)
	for {
		c, err := a.ln.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			log.Warn("enrolment waits", "error", err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		places <- struct{}{}
		a.wg.Go(func() {
			defer func() { <-places }()
			serve(c.(*net.UnixConn))
		})
	}
}

func (a *admin) close() {
	a.ln.Close()
	a.wg.Wait()
}

func serveEnrol(c *net.UnixConn, h *hub, ans enrolAnswer) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second)) // an open socket always takes one
	if err := enrol(c, h); err != nil {
		ans = enrolAnswer{Error: messageOf(err), Next: nextOf(err)}
	}
	_ = json.NewEncoder(c).Encode(ans) // who asked may be gone
}

func enrol(c *net.UnixConn, h *hub) error {
	uid, pid, err := peer(c)
	switch {
	case err != nil:
		return err
	case uid != os.Getuid():
		return fail(exitAuth, "other_user", "enrolling is for the user who runs swarm up", "")
	}
	// Whoever asks must be a runner that a person's shell started, and still be there when it has asked: a process that
	// is gone has no ancestors to look at.
	ticks := startTicks(pid)
	if !isRunnerItself(pid) {
		return fail(exitAuth, "not_a_runner", "only a runner that you start can enrol: a teammate cannot enrol another one", "start it from your own shell")
	}
	line, err := bufio.NewReader(io.LimitReader(c, maxEnrol)).ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("enrol: %w", err)
	}
	if !alive(pid, ticks) || !isRunnerItself(pid) {
		return fail(exitAuth, "not_a_runner", "the runner that asked is gone", "start it again")
	}
	var q enrolRequest
	if err := mailbox.DecodeStrict(line, &q); err != nil {
		return err
	}
	if q.V != version {
		return fail(exitUsage, "version", fmt.Sprintf("this swarm up speaks version %d, and the runner version %d", version, q.V), "update the older one")
	}
	if err := mailbox.CheckMember(q.Name); err != nil {
		return err
	}
	if m, ok := h.coord.Charter().Member(q.Name); ok && m.Key == q.Key && m.Role == charter.RoleTeammate {
		if m.Retired {
			return fail(exitAuth, "retired", q.Name+" was removed from the team", "choose another --name")
		}
		return nil
	}
	_, err = h.coord.Enrol(context.Background(), q.Name, q.Key, charter.KindAgent)
	return err
}

// askEnrol enrols a key as a teammate with the swarm that runs on this machine.
func askEnrol(a Address, name, key string) (enrolAnswer, error) {
	c, err := net.DialTimeout("unix", a.AdminSocket, 5*time.Second)
	if err != nil {
		return enrolAnswer{}, fail(exitNoBroker, "no_broker", fmt.Sprintf("swarm up does not answer (%v)", err), `start it again with "swarm up"`)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(15 * time.Second)) // an open socket always takes one
	if err := json.NewEncoder(c).Encode(enrolRequest{V: version, Name: name, Key: key}); err != nil {
		return enrolAnswer{}, err
	}
	var ans enrolAnswer
	if err := json.NewDecoder(io.LimitReader(c, maxEnrol)).Decode(&ans); err != nil {
		return enrolAnswer{}, fmt.Errorf("enrol %s: %w", name, err)
	}
	if ans.Error != "" {
		return enrolAnswer{}, fail(exitAuth, "not_enrolled", fmt.Sprintf("%s was not taken into the team: %s", name, ans.Error), ans.Next)
	}
	if ans.OwnerKey != a.OwnerKey {
		return enrolAnswer{}, fail(exitAuth, "other_owner", "the answer comes from another team's owner than up.json names", `start "swarm up" again`)
	}
	return ans, nil
}

// adminSocket is where a team's swarm is asked: a short path in the user's runtime folder, whatever the state folder's is.
// No teammate can have this name.
func adminSocket(s state) (string, error) {
	path := gate.SocketPath(s.dir, "/admin")
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	if !info.IsDir() || posix && info.Mode().Perm() != 0o700 {
		return "", fmt.Errorf("%s must be a folder of this user alone: remove it, or chmod 700 it", dir)
	}
	return path, nil
}

// messageOf is an error without its package, and without what to do next where it says that apart.
func messageOf(err error) string {
	var e *leader.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return plainText(err)
}

// nextOf is what an error says to do next, when it says it apart.
func nextOf(err error) string {
	var e *leader.Error
	if errors.As(err, &e) {
		return e.Next
	}
	return ""
}
