package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
)

// Kept is how a member's key is kept on this machine.
type Kept struct {
	Name      string
	Assurance charter.Assurance
	Told      bool // the charter says so too
}

func keyOf(name, team string) string { return fmt.Sprintf("the key of %s in team %s", name, team) }

// unsealBundle asks for the passphrase of the leader's own key, where it has one. The key stays in the memory of this process.
func (l *Leader) unsealBundle(ctx context.Context) error {
	if l.bundle.Sealed == nil {
		return nil
	}
	whose := keyOf(l.bundle.Me, l.team)
	if l.env.Quiet {
		return fail(exitAuth, "sealed", whose+" is sealed", "type its passphrase")
	}
	return l.bundle.open(ctx, whose)
}

// open puts a sealed seed into the bundle in memory.
func (b *Bundle) open(ctx context.Context, whose string) error {
	kp, err := askOpen(ctx, *b.Sealed, fmt.Sprintf("Passphrase of %s: ", whose), whose, "an owner can remove it, and invite it under another name")
	if err != nil {
		return err
	}
	defer kp.Wipe()
	seed, err := kp.Seed()
	b.Seed = string(seed)
	return err
}

// sealable is a leader's or observer's bundle on this machine.
func (l *Leader) sealable(name string) (b Bundle, path string, m charter.Member, err error) {
	i, err := l.member(l.charter, name)
	if err != nil {
		return b, "", m, err
	}
	m, path = l.charter.Members[i], bundlePath(l.env.Settings.Config, l.team, name)
	switch {
	case m.Retired:
		return b, path, m, fail(exitUsage, "retired", name+" has been removed, and has no key that counts", "swarm team list shows it")
	case m.Role == charter.RoleTeammate || m.Kind == charter.KindPolicy:
		return b, path, m, fail(exitUsage, "unattended", "the key of "+name+" is used with nobody there to type a passphrase", "seal that of a person: swarm team list")
	case m.Assurance == charter.Confirm:
		return b, path, m, fail(exitUsage, "in_agent", "the key of "+name+" is in an ssh-agent", "there is nothing to seal")
	}
	if private(path) != nil || readJSON(path, &b) != nil || b.OwnerKey != l.bundle.OwnerKey {
		return b, path, m, fail(exitUsage, "elsewhere", "the key of "+name+" is not on this machine", "do it where it lies")
	}
	return b, path, m, nil
}

// Seal closes a member's key with a passphrase, and has the owner say so where the owner's key is at hand.
func (l *Leader) Seal(ctx context.Context, name string) (Kept, error) {
	b, path, m, err := l.sealable(name)
	out := Kept{Name: name, Assurance: charter.Sealed}
	switch {
	case err != nil:
		return out, err
	case b.Sealed != nil && m.Assurance == charter.Sealed:
		return out, fail(exitUsage, "sealed", keyOf(name, l.team)+" is sealed already", "swarm team unseal opens it")
	case b.Sealed == nil:
		if err := b.seal(ctx, keyOf(name, l.team)); err != nil {
			return out, err
		}
		if err := writeJSON(path, b); err != nil {
			return out, err
		}
	}
	err = l.amendKept(ctx, name, charter.Sealed)
	var e *leader.Error
	switch {
	case err == nil:
		out.Told = true
		return out, nil
	case errors.As(err, &e) && e.Name == "no_owner_key":
		return out, nil
	case errors.As(err, &e):
		return out, fail(e.Code, e.Name, keyOf(name, l.team)+" is sealed now, and the charter does not say so yet: "+e.Message, "swarm team seal "+name+" again ends it")
	}
	return out, fmt.Errorf("%s is sealed now, and the charter does not say so yet (swarm team seal %s again ends it): %w", keyOf(name, l.team), name, err)
}

func (b *Bundle) seal(ctx context.Context, whose string) error {
	kp, err := b.Key()
	if err != nil {
		return err
	}
	defer kp.Wipe()
	passphrase, err := newPassphrase(ctx, whose)
	if err != nil {
		return err
	}
	defer clear(passphrase)
	k, err := seal(kp, passphrase, passphraseN)
	b.Sealed, b.Seed = &k, ""
	return err
}

// Unseal writes a member's key in clear again: after the charter has said so, which needs the owner.
func (l *Leader) Unseal(ctx context.Context, name string) (Kept, error) {
	b, path, _, err := l.sealable(name)
	out := Kept{Name: name, Assurance: charter.Plain, Told: true}
	switch {
	case err != nil:
		return out, err
	case b.Sealed == nil:
		return out, fail(exitUsage, "plain", keyOf(name, l.team)+" is not sealed", "swarm team seal does that")
	case name == l.bundle.Me:
		b.Seed = l.bundle.Seed
	default:
		if err := b.open(ctx, keyOf(name, l.team)); err != nil {
			return out, err
		}
	}
	if err := l.amendKept(ctx, name, charter.Plain); err != nil {
		return out, err
	}
	b.Sealed = nil
	return out, writeJSON(path, b)
}

// amendKept has the owner sign how a member's key is kept.
func (l *Leader) amendKept(ctx context.Context, name string, kept charter.Assurance) error {
	return l.amend(ctx, func(c *charter.Charter) error {
		i, err := l.member(*c, name)
		if err == nil {
			c.Members[i].Assurance = kept
		}
		return err
	})
}
