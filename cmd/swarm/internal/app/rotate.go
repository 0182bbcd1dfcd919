package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/wholefile"
)

// Rotated is a member with another key.
type Rotated struct {
	charter.Member
	Old string // public, the key that counts no more
}

// Me is the leader's own name.
func (l *Leader) Me() string { return l.bundle.Me }

// Rotate gives a member whose key lies on this machine another one. The new key is on disk before the old one ends, so that
// no moment of it loses both.
func (l *Leader) Rotate(ctx context.Context, name string) (Rotated, error) {
	i, err := l.member(l.charter, name)
	if err != nil {
		return Rotated{}, err
	}
	m := l.charter.Members[i]
	switch {
	case m.Retired:
		return Rotated{}, fail(exitUsage, "retired", name+" has been removed, and has no key that counts", "swarm team list shows it")
	case m.Kind == charter.KindPolicy:
		return Rotated{}, fail(exitUsage, "policy", name+" signs in the swarm up that runs, and keeps its key", "choose another member: swarm team list")
	}
	if m.Assurance == charter.Sealed {
		return Rotated{}, fail(exitUsage, "sealed", "the key of "+name+" is sealed", "swarm team unseal, then rotate it, and seal it again")
	}
	if m.Assurance == charter.Confirm {
		return Rotated{}, fail(exitUsage, "in_agent", "the key of "+name+" is in an ssh-agent, and is not changed from here", "swarm team remove it, and invite it under another name")
	}
	kp, seed, err := newKey()
	if err != nil {
		return Rotated{}, err
	}
	defer kp.Wipe()
	path, data, err := l.keyFile(m, seed)
	if err != nil {
		return Rotated{}, err
	}
	if err := writeFile(path+".next", data); err != nil {
		return Rotated{}, err
	}
	out := Rotated{Member: m, Old: m.Key}
	out.Key = publicKey(kp)
	if err := l.amendKey(ctx, name, kp); err != nil {
		return Rotated{}, errors.Join(err, os.Remove(path+".next"))
	}
	if err := os.Rename(path+".next", path); err != nil {
		return out, fmt.Errorf("the new key of %s counts, and lies in %s: move it to %s (%w)", name, path+".next", path, err)
	}
	return out, wholefile.SyncDir(l.env.Settings.Config)
}

// keyFile is where a member's key lies on this machine, and what will lie there.
func (l *Leader) keyFile(m charter.Member, seed string) (string, []byte, error) {
	path := bundlePath(l.env.Settings.Config, l.team, m.Name)
	var b Bundle
	switch err := private(path); {
	case err == nil:
		if err := readJSON(path, &b); err != nil {
			return "", nil, err
		}
		kp, err := b.Key()
		if err != nil {
			return "", nil, err
		}
		if b.OwnerKey == l.bundle.OwnerKey && publicKey(kp) == m.Key {
			b.Seed = seed
			data, err := marshalFile(b)
			return path, data, err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return "", nil, err
	}
	mate := state{dir: l.env.state(l.team).path("teammates", m.Name)}
	if _, err := os.Lstat(mate.path("seed")); err == nil && m.Role == charter.RoleTeammate {
		kp, err := mate.seedFile("seed")
		if err != nil {
			return "", nil, err
		}
		if publicKey(kp) == m.Key {
			return mate.path("seed"), []byte(seed + "\n"), nil
		}
	}
	return "", nil, fail(exitUsage, "elsewhere", "the key of "+m.Name+" is not on this machine", "swarm team remove it, and invite it under another name")
}

// amendKey has the owner sign a member's new key. The connection of a leader who changes its own is cut by that, perhaps
// before it hears that all went well: then the new key is tried.
func (l *Leader) amendKey(ctx context.Context, name string, kp nkeys.KeyPair) error {
	err := l.amend(ctx, func(c *charter.Charter) error {
		i, err := l.member(*c, name)
		if err == nil {
			c.Members[i].Key = publicKey(kp)
		}
		return err
	})
	if err != nil && name == l.bundle.Me && l.connects(ctx, kp) == nil {
		return nil
	}
	return err
}
