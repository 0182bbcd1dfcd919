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

// HandOver says how a team gets another owner's key.
type HandOver struct {
	// Recovery has the recovery code sign for it, and not the key of now: that one is lost, or in other hands.
	Recovery bool
	// Compromised says that the key of now is in other hands: every request that waits and every grant is void.
	Compromised bool
	RecoveryOut string // file for the new recovery code; empty shows it
}

// The new keys lie beside the old ones until the charter says that they count.
const nextSuffix = ".next"

// ownerFiles are all files of an owner's key.
var ownerFiles = []string{"owner.seed", sealedFile, recoveryFile, recoveryKeyFile}

// root is what this leader believes of the team: its founder, and the hand-overs that it has followed.
func (l *Leader) root() charter.Root {
	r := charter.Root{Founder: l.bundle.OwnerKey, Known: l.bundle.Handovers}
	var seen serialFile
	if readJSON(l.serialPath(), &seen) == nil && seen.TeamID == charter.TeamID(r.Founder) && len(seen.Handovers) > len(r.Known) {
		r.Known = seen.Handovers
	}
	return r
}

// owner is who owns the team now.
func (l *Leader) owner() charter.Owner {
	o, err := charter.Root{Founder: l.bundle.OwnerKey}.Owner(l.signed.Handovers)
	if err != nil {
		return charter.Owner{} // no charter was opened: nobody's key is its
	}
	return o
}

// OwnerKey is the public key of the team's owner.
func (l *Leader) OwnerKey() string { return l.owner().Key }

// NewOwner gives the team another owner's key: made here, sealed where the old one was, and handed over by the old one or by
// the recovery code. Members follow that and nothing else.
func (l *Leader) NewOwner(ctx context.Context, h HandOver) (Sealed, error) {
	s := l.env.state(l.team)
	if _, err := os.Lstat(s.path(sealedFile)); h.RecoveryOut != "" && errors.Is(err, fs.ErrNotExist) {
		return Sealed{}, fail(exitUsage, "not_sealed", "the owner's key of team "+l.team+" is not sealed here, so there is no recovery code for --recovery-out", "leave that out, or seal the key with swarm team init first")
	}
	if err := freeFile(h.RecoveryOut); err != nil {
		return Sealed{}, err
	}
	by, err := l.handsOver(ctx, h)
	if err != nil {
		return Sealed{}, err
	}
	defer by.Wipe()
	next, _, err := newKey()
	if err != nil {
		return Sealed{}, err
	}
	defer next.Wipe()
	code, recovery, err := s.prepareOwner(ctx, l.team, next)
	if err != nil {
		return Sealed{}, errors.Join(err, s.dropNext())
	}
	to := charter.NewOwner{To: publicKey(next), RecoveryKey: recovery, Serial: l.charter.Serial + 1, Compromised: h.Compromised}
	chain, err := charter.SignHandover(by, l.charter.TeamID, l.signed.Handovers, to)
	if err != nil {
		return Sealed{}, errors.Join(fail(exitAuth, "other_owner", plainText(err), "choose the right --state"), s.dropNext())
	}
	err = l.amendBy(ctx, next, chain, func(*charter.Charter) error { return nil })
	if err != nil && (l.open(ctx) != nil || l.OwnerKey() != publicKey(next)) {
		return Sealed{}, errors.Join(err, s.settleOwner(l.OwnerKey()))
	}
	if err := s.settleOwner(publicKey(next)); err != nil {
		return Sealed{}, err
	}
	if code == "" {
		return Sealed{Team: l.team, OwnerKey: publicKey(next)}, nil
	}
	return recovered(l.team, publicKey(next), code, h.RecoveryOut)
}

// handsOver is the key that hands the team over. Wipe it after use.
func (l *Leader) handsOver(ctx context.Context, h HandOver) (nkeys.KeyPair, error) {
	if !h.Recovery {
		return l.ownerKey(ctx)
	}
	s := l.env.state(l.team)
	o := l.owner()
	k, err := s.sealed(recoveryKeyFile)
	if errors.Is(err, fs.ErrNotExist) || err == nil && k.Key != o.RecoveryKey { // the charter names none yet
		k, err = s.sealed(recoveryFile)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fail(exitNotFound, "not_sealed", "there is no sealed owner's key of team "+l.team+" on this machine", "swarm team rotate --owner makes another one")
	case err != nil:
		return nil, err
	case k.Key != o.RecoveryKey && k.Key != o.Key:
		return nil, fail(exitAuth, "other_owner", fmt.Sprintf("the recovery key in %s is not that of the owner of team %s", s.dir, l.team), "choose the right --state")
	}
	code, err := askSecret(ctx, fmt.Sprintf("Recovery code of team %s: ", l.team))
	if err != nil {
		return nil, terminalError(err, ownersKey(l.team))
	}
	defer clear(code)
	kp, err := k.open(codeLetters(code))
	if errors.Is(err, errWrongSecret) {
		return nil, wrongCode(l.team)
	}
	return kp, err
}

func wrongCode(team string) error {
	return fail(exitAuth, "wrong_code", "that is not the recovery code of team "+team, "it was printed once, when the owner's key was sealed last")
}

// prepareOwner puts a new owner's key beside the old one, kept as that one is. It returns the recovery code and the public
// recovery key, which there are where it is sealed.
func (s state) prepareOwner(ctx context.Context, team string, kp nkeys.KeyPair) (code, recovery string, err error) {
	if _, err := os.Lstat(s.path(sealedFile)); errors.Is(err, fs.ErrNotExist) {
		seed, err := kp.Seed()
		if err != nil {
			return "", "", err
		}
		return "", "", writeFile(s.path("owner.seed"+nextSuffix), append(seed, '\n'))
	}
	passphrase, err := newPassphrase(ctx, ownersKey(team))
	if err != nil {
		return "", "", err
	}
	defer clear(passphrase)
	rec, _, err := newKey()
	if err != nil {
		return "", "", err
	}
	defer rec.Wipe()
	code, err = s.sealOwner(kp, rec, passphrase, nextSuffix)
	return code, publicKey(rec), err
}

// settleOwner moves the new key of an owner over the old one, once it is that of the charter, and drops it otherwise. What a
// crash has left is settled the next time.
func (s state) settleOwner(owner string) error {
	next := state{dir: s.dir}
	k, err := next.sealed(sealedFile + nextSuffix)
	counts := err == nil && k.Key == owner
	if seed, err := os.ReadFile(s.path("owner.seed" + nextSuffix)); err == nil {
		defer clear(seed)
		kp, err := seedOf(seed)
		counts = err == nil && publicKey(kp) == owner
	}
	if !counts {
		return s.dropNext()
	}
	for _, file := range ownerFiles {
		err := os.Rename(s.path(file+nextSuffix), s.path(file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the new owner's key counts, and lies in %s: move it to %s (%w)", s.path(file+nextSuffix), s.path(file), err)
		}
	}
	return wholefile.SyncDir(s.dir)
}

func (s state) dropNext() error {
	var errs []error
	for _, file := range ownerFiles {
		if err := os.Remove(s.path(file + nextSuffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
