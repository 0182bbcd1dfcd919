package app

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions/execute"
)

// errNoTerminal means that nobody can be asked for a secret here.
var errNoTerminal = errors.New("no terminal")

// errWrongSecret means that a sealed key does not open with what was typed.
var errWrongSecret = errors.New("it does not open the key")

// sealedKey is a key that a secret opens: a passphrase that somebody knows, or a code that lies in a safe.
type sealedKey struct {
	V     int    `json:"v"`
	Key   string `json:"key"` // public
	KDF   string `json:"kdf"`
	N     int    `json:"n"`
	R     int    `json:"r"`
	P     int    `json:"p"`
	Salt  []byte `json:"salt"`
	Nonce []byte `json:"nonce"`
	Box   []byte `json:"box"`
}

// What scrypt costs for a passphrase: 128 MiB and about half a second. A recovery code is 160 random bits, which nobody
// guesses at any price. A file that demands more than maxN is not tried.
const (
	passphraseN, codeN = 1 << 17, 1 << 12
	scryptR, scryptP   = 8, 1
	maxN               = 1 << 20
)

// minPassphrase is the shortest passphrase, in bytes.
const minPassphrase = 10

// seal closes a key with a secret, at a cost.
func seal(kp nkeys.KeyPair, secret []byte, n int) (sealedKey, error) {
	s := sealedKey{V: version, Key: publicKey(kp), KDF: "scrypt", N: n, R: scryptR, P: scryptP, Salt: make([]byte, 16), Nonce: make([]byte, 24)}
	_, _ = rand.Read(s.Salt) // never fails
	_, _ = rand.Read(s.Nonce)
	seed, err := kp.Seed() // the key's own bytes, which its Wipe clears
	if err != nil {
		return s, err
	}
	key, err := s.derive(secret)
	if err != nil {
		return s, err
	}
	defer clear(key[:])
	s.Box = secretbox.Seal(nil, seed, (*[24]byte)(s.Nonce), key)
	return s, nil
}

func (s sealedKey) derive(secret []byte) (*[32]byte, error) {
	if s.KDF != "scrypt" || s.N < 1<<10 || s.N > maxN || s.R < 1 || s.R > 16 || s.P < 1 || s.P > 4 || len(s.Salt) < 8 || len(s.Nonce) != 24 {
		return nil, errors.New("the sealed key is damaged, or of a newer swarm: restore the file, or use swarm team recover")
	}
	raw, err := scrypt.Key(secret, s.Salt, s.N, s.R, s.P, 32)
	if err != nil {
		return nil, err
	}
	return (*[32]byte)(raw), nil
}

// open opens a sealed key. Wipe it after use.
func (s sealedKey) open(secret []byte) (nkeys.KeyPair, error) {
	key, err := s.derive(secret)
	if err != nil {
		return nil, err
	}
	defer clear(key[:])
	seed, ok := secretbox.Open(nil, s.Box, (*[24]byte)(s.Nonce), key)
	if !ok {
		return nil, errWrongSecret
	}
	defer clear(seed)
	kp, err := nkeys.FromSeed(seed)
	if err != nil || publicKey(kp) != s.Key {
		return nil, errors.New("the sealed key is not the one that its file names: restore the file")
	}
	return kp, nil
}

// The files of a sealed owner key: by passphrase, and by recovery code.
const (
	sealedFile   = "owner.sealed"
	recoveryFile = "owner.recovery"
	// recoveryKeyFile is a key of its own, which the charter names: it hands the team over when the owner's is in other hands.
	recoveryKeyFile = "recovery.sealed"
)

// sealed reads a sealed key. The error of one that is not there is fs.ErrNotExist.
func (s state) sealed(file string) (sealedKey, error) {
	var k sealedKey
	if err := private(s.path(file)); err != nil {
		return k, err
	}
	return k, readJSON(s.path(file), &k)
}

// tries is how often a passphrase may be mistyped.
const tries = 3

// unseal asks for the passphrase of the owner's key. Wipe the key after use.
func (s state) unseal(ctx context.Context, team, why string) (nkeys.KeyPair, error) {
	k, err := s.sealed(sealedFile)
	if err != nil {
		return nil, err
	}
	return askOpen(ctx, k, fmt.Sprintf("%s needs the owner of team %s.\nPassphrase: ", why, team), ownersKey(team), "swarm team recover takes the recovery code")
}

func ownersKey(team string) string { return "the owner's key of team " + team }

// askOpen opens a sealed key. whose names it, and lost says what to do when its passphrase is lost.
func askOpen(ctx context.Context, k sealedKey, prompt, whose, lost string) (nkeys.KeyPair, error) {
	for range tries {
		secret, err := askSecret(ctx, prompt)
		if err != nil {
			return nil, terminalError(err, whose)
		}
		kp, err := k.open(secret)
		clear(secret)
		if !errors.Is(err, errWrongSecret) {
			return kp, err
		}
		prompt = "It does not open the key. Again: "
	}
	return nil, fail(exitAuth, "wrong_passphrase", "that does not open "+whose, lost)
}

func terminalError(err error, whose string) error {
	if errors.Is(err, errNoTerminal) {
		return fail(exitAuth, "no_terminal", "the passphrase of "+whose+" is asked for on a terminal only", "run this command in a terminal")
	}
	return err
}

// newPassphrase asks for one, twice.
func newPassphrase(ctx context.Context, whose string) ([]byte, error) {
	first, err := askSecret(ctx, fmt.Sprintf("A passphrase for %s, at least %d characters: ", whose, minPassphrase))
	if err != nil {
		return nil, terminalError(err, whose)
	}
	if len(first) < minPassphrase {
		return nil, fail(exitUsage, "short", fmt.Sprintf("a passphrase has at least %d characters", minPassphrase), "four words do well")
	}
	second, err := askSecret(ctx, "The same again: ")
	defer clear(second)
	switch {
	case err != nil:
		return nil, terminalError(err, whose)
	case string(first) != string(second):
		return nil, fail(exitUsage, "differ", "the two passphrases differ: nothing was changed", "do it again")
	}
	return first, nil
}

var codeEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newCode is a recovery code: 160 bits, in groups that can be copied by hand.
func newCode() string {
	raw := make([]byte, 20)
	_, _ = rand.Read(raw) // never fails
	text := codeEncoding.EncodeToString(raw)
	var groups []string
	for i := 0; i < len(text); i += 4 {
		groups = append(groups, text[i:i+4])
	}
	return strings.Join(groups, "-")
}

// codeLetters is a recovery code as it counts, however it was copied.
func codeLetters(code []byte) []byte {
	r := strings.NewReplacer("-", "", " ", "", "\t", "", "o", "0", "i", "1", "l", "1")
	return []byte(r.Replace(strings.ToLower(string(code))))
}

// Sealed is an owner's key that is not in clear on disk any more.
type Sealed struct {
	Team     string
	OwnerKey string // public
	Recovery string // the code; empty when it was written to a file
	File     string
}

// sealOwner writes both sealed copies of the owner's key, and the recovery key where there is one, and returns the recovery
// code. The suffix keeps them apart from what is there. The one that the passphrase opens is the first: its person knows that
// already, and the code is known to nobody when it stops half-way.
func (s state) sealOwner(kp, recovery nkeys.KeyPair, passphrase []byte, suffix string) (string, error) {
	own, err := seal(kp, passphrase, passphraseN)
	if err != nil {
		return "", err
	}
	if err := writeJSON(s.path(sealedFile+suffix), own); err != nil {
		return "", err
	}
	code := newCode()
	for _, to := range []struct {
		file string
		key  nkeys.KeyPair
	}{{recoveryFile, kp}, {recoveryKeyFile, recovery}} {
		if to.key == nil {
			continue
		}
		k, err := seal(to.key, codeLetters([]byte(code)), codeN)
		if err != nil {
			return "", err
		}
		if err := writeJSON(s.path(to.file+suffix), k); err != nil {
			return "", err
		}
	}
	return code, nil
}

// InitTeam makes a team whose owner's key is sealed from the begin, or seals the one that lies in clear; it also ends what
// was interrupted before. show is called when everything is done: until it has returned, the code counts as not known.
func InitTeam(ctx context.Context, e Env, recoveryOut string, show func(Sealed) error) error {
	team, s, err := e.owned()
	if err != nil {
		return err
	}
	l, err := s.own(team)
	if err != nil {
		return err
	}
	defer l.Close()
	person, err := personName(e.Settings.As)
	if err != nil {
		return err
	}
	if err := freeFile(recoveryOut); err != nil {
		return err
	}
	owner, err := s.ownerToSeal(ctx, team)
	if err != nil {
		return err
	}
	defer owner.Wipe()
	passphrase, err := newPassphrase(ctx, ownersKey(team))
	if err != nil {
		return err
	}
	defer clear(passphrase)
	return s.sealing(team, func() error {
		out, err := s.initSealed(e, team, person, owner, passphrase, recoveryOut)
		if err != nil {
			return err
		}
		return show(out)
	})
}

// initSealed seals the owner's key and its recovery key, has the charter name that, and removes what lies in clear, last.
func (s state) initSealed(e Env, team, person string, owner nkeys.KeyPair, passphrase []byte, recoveryOut string) (Sealed, error) {
	recovery, _, err := newKey()
	if err != nil {
		return Sealed{}, err
	}
	defer recovery.Wipe()
	code, err := s.sealOwner(owner, recovery, passphrase, "")
	if err != nil {
		return Sealed{}, err
	}
	out, err := recovered(team, publicKey(owner), code, recoveryOut)
	if err != nil {
		return out, err
	}
	a := &authority{owner: owner}
	if err := s.openAs(a, team, person, termsOf(e.Settings, e.Document), e.Settings.Config); err != nil {
		return out, err
	}
	if err := s.nameRecovery(a, publicKey(recovery)); err != nil {
		return out, err
	}
	if err := os.Remove(s.path("owner.seed")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	return out, nil
}

// nameRecovery has the charter say which key may hand the team over besides the owner's.
func (s state) nameRecovery(a *authority, recovery string) error {
	c := a.opened
	c.Serial++
	chain, err := charter.SignHandover(a.owner, c.TeamID, a.charter.Handovers, charter.NewOwner{To: publicKey(a.owner), RecoveryKey: recovery, Serial: c.Serial})
	if err != nil {
		return err
	}
	a.charter.Handovers = chain
	return s.sign(a, c)
}

// clearOwner is the owner's key that lies in clear, or a new one that never did.
func (s state) clearOwner() (nkeys.KeyPair, error) {
	if _, err := os.Lstat(s.path("owner.seed")); err == nil {
		return s.seedFile("owner.seed")
	}
	if _, err := os.Lstat(s.path("charter.json")); err == nil {
		return nil, fail(exitAuth, "no_owner_key", "there is a team in "+s.dir+", and its owner's key is not on this machine", "choose another --team")
	}
	kp, _, err := newKey()
	return kp, err
}

// ownerToSeal is the owner's key that is to be sealed: what lies in clear, a new one, or where sealing was interrupted what
// its passphrase opens. One that is sealed in order is an error.
func (s state) ownerToSeal(ctx context.Context, team string) (nkeys.KeyPair, error) {
	k, err := s.sealed(sealedFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.clearOwner()
	case err != nil:
		return nil, err
	case s.has("owner.seed"):
		kp, err := s.clearOwner()
		if err == nil && publicKey(kp) != k.Key { // whoever put it there would take the sealed one's place
			kp.Wipe()
			return nil, fail(exitAuth, "other_owner", fmt.Sprintf("%s is not the key that is sealed beside it", s.path("owner.seed")), "find out who put it there, and move it away")
		}
		return kp, err
	case !s.has(sealingFile):
		return nil, fail(exitUsage, "sealed", "the owner's key of team "+team+" is sealed already", "swarm team recover gives it another passphrase")
	}
	return s.unseal(ctx, team, "Sealing was interrupted. To end it")
}

func (s state) has(file string) bool {
	_, err := os.Lstat(s.path(file))
	return err == nil
}

// sealingFile lies in the folder while the owner's key is sealed: where it stays, the recovery code may be known to nobody,
// and the key may still lie in clear.
const sealingFile = "owner.sealing"

// sealing does what seals the owner's key. What stops before its end can be ended another time.
func (s state) sealing(team string, do func() error) error {
	if err := writeFile(s.path(sealingFile), []byte("swarm team init ends the sealing of the owner's key of team "+team+"\n")); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fail(exitError, "interrupted", fmt.Sprintf("sealing the owner's key of team %s has stopped half-way (%v)", team, err), "put that right, then swarm team init ends it")
	}
	return os.Remove(s.path(sealingFile))
}

// owned is what every command of the owner begins with.
func (e Env) owned() (string, state, error) {
	if err := refuseTeammates(); err != nil {
		return "", state{}, err
	}
	if err := execute.Harden(); err != nil { // seeds come into memory from here on
		return "", state{}, err
	}
	team, err := e.team()
	return team, e.state(team), err
}

// freeFile refuses a file for the recovery code that is there already: it may hold another team's.
func freeFile(path string) error {
	if path == "" {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fail(exitUsage, "exists", path+" is there already", "name a new file")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fail(exitUsage, "not_writable", fmt.Sprintf("the recovery code cannot be written (%v)", err), "name another file")
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Remove(path)
}

// recovered puts the recovery code where it is wanted.
func recovered(team, owner, code, file string) (Sealed, error) {
	out := Sealed{Team: team, OwnerKey: owner, Recovery: code, File: file}
	if file == "" {
		return out, nil
	}
	out.Recovery = ""
	return out, writeFile(file, []byte("recovery code of swarm team "+team+": "+code+"\n"))
}

// RecoverTeam opens the owner's key with the recovery code, and seals it with a new passphrase and a new code.
func RecoverTeam(ctx context.Context, e Env, recoveryOut string, show func(Sealed) error) error {
	team, s, err := e.owned()
	if err != nil {
		return err
	}
	k, err := s.sealed(recoveryFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fail(exitNotFound, "not_sealed", "there is no sealed owner's key of team "+team+" on this machine", "swarm team init seals one")
	}
	if err != nil {
		return err
	}
	if err := freeFile(recoveryOut); err != nil {
		return err
	}
	code, err := askSecret(ctx, fmt.Sprintf("Recovery code of team %s: ", team))
	if err != nil {
		return terminalError(err, ownersKey(team))
	}
	owner, err := k.open(codeLetters(code))
	if errors.Is(err, errWrongSecret) {
		return wrongCode(team)
	}
	if err != nil {
		return err
	}
	defer owner.Wipe()
	recovery, err := s.openRecovery(codeLetters(code))
	if err != nil {
		return err
	}
	passphrase, err := newPassphrase(ctx, ownersKey(team))
	if err != nil {
		return err
	}
	defer clear(passphrase)
	return s.sealing(team, func() error {
		next, err := s.sealOwner(owner, recovery, passphrase, "")
		if err != nil {
			return err
		}
		out, err := recovered(team, publicKey(owner), next, recoveryOut)
		if err != nil {
			return err
		}
		return show(out)
	})
}

// openRecovery opens the recovery key, nil where there is none: the owner's key was sealed before there were any.
func (s state) openRecovery(code []byte) (nkeys.KeyPair, error) {
	k, err := s.sealed(recoveryKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return k.open(code)
}
