package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/teammate"
)

// place is where a runner belongs: its team, its key, its folder.
type place struct {
	bundle  Bundle
	state   state
	runID   string
	servers func() []string
	ca      func() string // what the servers' certificates are checked with
	key     nkeys.KeyPair
	dir     string
	own     config.Own
	trusted []string // MCP servers whose annotations are believed
	// planning is what documents and flags say of how it plans.
	planning config.Planning
}

// place finds out where the runner belongs: from its supervisor, or from the swarm that runs on this machine.
func (e Env) place(o ScriptOptions, cancel context.CancelCauseFunc) (place, error) {
	if o.Supervised {
		return e.supervisedPlace(o, cancel)
	}
	own, trusted, err := e.runnerOwn(o)
	if err != nil {
		return place{}, err
	}
	team, err := e.team()
	if err != nil {
		return place{}, err
	}
	s := e.state(team)
	p, joined, err := e.joinedPlace(s, team, o.Name)
	if err != nil {
		return place{}, err
	}
	planning, err := e.planning(o)
	if err != nil {
		return place{}, err
	}
	if p.own, p.trusted, p.planning = own, trusted, planning; joined {
		return p, nil
	}
	a, err := s.address(team)
	if err != nil {
		return place{}, err
	}
	p = place{state: s, dir: s.path("teammates", o.Name), own: own, trusted: trusted, planning: planning}
	mate := state{dir: p.dir}
	if p.key, err = mate.seedFile("seed"); err != nil {
		return place{}, err
	}
	ans, err := askEnrol(a, o.Name, publicKey(p.key))
	if err != nil {
		return place{}, err
	}
	p.bundle = Bundle{Team: ans.Team, Me: o.Name, OwnerKey: ans.OwnerKey, Insecure: a.Insecure}
	p.servers = func() []string { // the broker may have been started again, elsewhere
		if a, err := s.address(team); err == nil {
			return []string{a.URL}
		}
		return []string{ans.URL}
	}
	p.ca = func() string {
		if a, err := s.address(team); err == nil {
			return a.CA
		}
		return ans.CA
	}
	return p, nil
}

func (e Env) supervisedPlace(o ScriptOptions, cancel context.CancelCauseFunc) (place, error) {
	in := bufio.NewReader(e.In)
	line, err := in.ReadBytes('\n')
	if err != nil {
		return place{}, fmt.Errorf("the supervisor gave no bundle: %w", err)
	}
	var s supervised
	if err := json.Unmarshal(line, &s); err != nil || len(s.Servers) == 0 {
		return place{}, errors.New("the supervisor's bundle cannot be read")
	}
	go func() { // ends with the process: standard input is the supervisor's life
		_, _ = io.Copy(io.Discard, in)
		cancel(teammate.ErrDetach)
	}()
	key, err := s.Bundle.Key()
	if err != nil {
		return place{}, err
	}
	own, err := s.Own.judged()
	if err != nil {
		return place{}, err
	}
	st := state{dir: s.State}
	return place{
		own: own, trusted: s.Own.Trusted, planning: s.Planning,
		bundle: s.Bundle, state: st, runID: s.RunID, key: key, dir: st.path("teammates", o.Name),
		servers: func() []string { return s.Servers },
	}, nil
}

func connectRunner(ctx context.Context, e Env, p place, name, instance string) (*natsbox.Conn, error) {
	box, err := natsbox.Connect(ctx, natsbox.Config{
		Servers: p.servers, CA: p.ca, Insecure: p.bundle.Insecure, Team: p.bundle.Team, Me: name, Key: p.key, Instance: instance, Logger: e.logger(),
	})
	if e := untrusted(err); e != nil {
		return nil, e
	}
	if errors.Is(err, natsbox.ErrUnreachable) {
		return nil, fail(exitNoBroker, "no_broker", plainText(err), `start it with "swarm up"`)
	}
	return box, err
}

// forbidden are the folders that no mode reads or writes: swarm's state, with all keys, and its configuration.
func (e Env) forbidden(s state) []string {
	dirs := []string{e.Settings.State, e.Settings.Config}
	if e.Settings.DefaultState != e.Settings.State {
		dirs = append(dirs, e.Settings.DefaultState)
	}
	if rel, err := filepath.Rel(e.Settings.State, s.dir); err != nil || !filepath.IsLocal(rel) {
		dirs = append(dirs, s.dir)
	}
	for i, d := range dirs {
		if real, err := filepath.EvalSymlinks(d); err == nil {
			dirs[i] = real
		}
	}
	return dirs
}

// instance is this copy of a teammate: the same after a restart.
func (s state) instance() (string, error) {
	data, err := os.ReadFile(s.path("instance"))
	if err == nil && strings.TrimSpace(string(data)) != "" {
		return strings.TrimSpace(string(data)), nil
	}
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	id := natsbox.NewID()
	return id, writeFile(s.path("instance"), []byte(id+"\n"))
}
