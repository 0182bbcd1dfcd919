package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
)

// state is a team's folder on the machine of its broker (CONFIG.md 4). One process writes it: the holder of up.lock.
type state struct{ dir string }

func (s state) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// Bundle is who somebody is on this machine: the key, the team, and the owner's key that everything is checked against.
type Bundle struct {
	V        int          `json:"v"`
	Team     string       `json:"team"`
	Me       string       `json:"me"`
	Role     charter.Role `json:"role"`
	Kind     charter.Kind `json:"kind"`
	Seed     string       `json:"seed"`
	Sealed   *sealedKey   `json:"sealed,omitempty"`   // the seed, which a passphrase opens
	AgentKey string       `json:"agentKey,omitempty"` // public, of a key in an ssh-agent; there is no seed then
	OwnerKey string       `json:"ownerKey"`           // of the team's first owner
	Servers  []string     `json:"servers"`
	// CA is the PEM of what the brokers' certificates are checked with; empty: the system's roots. Insecure allows servers
	// beyond this machine in clear.
	CA       string `json:"ca,omitempty"`
	Insecure bool   `json:"insecure,omitempty"`
	// Handovers are those that an invitation named: the owners before count no more.
	Handovers []charter.Handover `json:"handovers,omitempty"`
}

// Key returns the bundle's key pair.
func (b Bundle) Key() (nkeys.KeyPair, error) {
	if b.AgentKey != "" {
		return newAgentKey(b.AgentKey, b.Me)
	}
	if b.Seed == "" && b.Sealed != nil {
		return nil, fail(exitAuth, "sealed", keyOf(b.Me, b.Team)+" is sealed", "swarm team unseal opens it")
	}
	kp, err := nkeys.FromSeed([]byte(b.Seed))
	if err != nil {
		return nil, fmt.Errorf("the key of %s cannot be read: %w", b.Me, err)
	}
	return kp, nil
}

// seedFile reads a key, or makes it when it is not there yet.
func (s state) seedFile(name string) (nkeys.KeyPair, error) {
	path := s.path(name)
	switch err := private(path); {
	case err == nil:
		seed, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		kp, err := seedOf(seed)
		if err != nil {
			return nil, fmt.Errorf("%s holds no key: %w", path, err)
		}
		return kp, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	kp, seed, err := newKey()
	if err != nil {
		return nil, err
	}
	return kp, writeFile(path, append([]byte(seed), '\n'))
}

// seedOf reads a key from the bytes of its file.
func seedOf(data []byte) (nkeys.KeyPair, error) {
	return nkeys.FromSeed([]byte(strings.TrimSpace(string(data))))
}

func newKey() (nkeys.KeyPair, string, error) {
	kp, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", err
	}
	seed, err := kp.Seed()
	return kp, string(seed), err
}

func publicKey(kp nkeys.KeyPair) string {
	pub, err := kp.PublicKey()
	if err != nil {
		return "" // only for a wiped key: verifies nothing
	}
	return pub
}

// authority is everything that makes a team: its owner, who may enrol, its policy, its charter.
type authority struct {
	owner, enrol, policy nkeys.KeyPair // owner is nil while it is sealed
	sealed               string        // the owner's public key then
	charter              charter.Signed
	opened               charter.Charter
}

// ownerKey is the owner's public key.
func (a *authority) ownerKey() string {
	if a.owner == nil {
		return a.sealed
	}
	return publicKey(a.owner)
}

// founder is the public key of the team's first owner, which its id is the hash of.
func (a *authority) founder() string {
	return cmp.Or(a.charter.Founder(), a.ownerKey())
}

// charterFile is charter.json: all versions, the last one in force.
type charterFile struct {
	V        int              `json:"v"`
	Versions []charter.Signed `json:"versions"`
}

// open reads a team's authority from its folder, or makes it at the first start: owner, policy and one person's key. An
// owner whose key is sealed is asked for its passphrase only where it must sign.
func (s state) open(ctx context.Context, team, person string, terms terms, confDir string) (*authority, error) {
	a := &authority{}
	var f charterFile
	if err := readJSON(s.path("charter.json"), &f); err == nil && len(f.Versions) > 0 {
		last := f.Versions[len(f.Versions)-1]
		if o, err := (charter.Root{Founder: last.Founder()}).Owner(last.Handovers); err == nil && len(last.Handovers) > 0 {
			if err := s.settleOwner(o.Key); err != nil {
				return nil, err
			}
		}
	}
	switch k, err := s.sealed(sealedFile); {
	case err == nil:
		a.sealed = k.Key
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	default:
		if a.owner, err = s.seedFile("owner.seed"); err != nil {
			return nil, err
		}
	}
	err := s.openAs(a, team, person, terms, confDir)
	if !errors.Is(err, errSealed) {
		return a, err
	}
	if a.owner, err = s.unseal(ctx, team, "A charter that says what the configuration says"); err != nil {
		return nil, err
	}
	err = s.openAs(a, team, person, terms, confDir)
	a.owner.Wipe()
	a.owner = nil
	return a, err
}

// errSealed means that the owner has to sign something.
var errSealed = errors.New("the owner's key is sealed")

// openAs is open for an owner's key that is at hand, or nil.
func (s state) openAs(a *authority, team, person string, terms terms, confDir string) (err error) {
	for file, kp := range map[string]*nkeys.KeyPair{"enrol.seed": &a.enrol, "policy.seed": &a.policy} {
		if *kp, err = s.seedFile(file); err != nil {
			return err
		}
	}
	var f charterFile
	switch err := readJSON(s.path("charter.json"), &f); {
	case errors.Is(err, fs.ErrNotExist):
		if a.owner == nil {
			return errSealed
		}
		return s.found(a, team, person, terms, confDir)
	case err != nil:
		return err
	case len(f.Versions) == 0:
		return fmt.Errorf("%s has no charter in it: move the folder away and start again", s.path("charter.json"))
	}
	a.charter = f.Versions[len(f.Versions)-1]
	if a.opened, err = charter.Open(a.charter, a.founder()); err != nil {
		return fmt.Errorf("%s: %w", s.path("charter.json"), err)
	}
	if terms.in(a.opened) {
		return nil
	}
	if a.owner == nil {
		return errSealed
	}
	return s.amend(a, terms)
}

// own takes the lock of a team's folder, which `swarm up` holds while it runs.
func (s state) own(team string) (*os.File, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fail(exitError, "not_writable", fmt.Sprintf("the state folder %s cannot be made (%v)", s.dir, err), "choose another with --state")
	}
	l, err := lock(s.path("up.lock"))
	switch {
	case errors.Is(err, errLocked):
		return nil, fail(exitError, "locked", fmt.Sprintf("swarm is running for team %s", team), "stop swarm up first")
	case err != nil:
		return nil, fail(exitError, "not_writable", err.Error(), "give this user the folder, or choose another with --state")
	}
	return l, nil
}

// found makes the team's first charter and its person's bundle.
func (s state) found(a *authority, team, person string, terms terms, confDir string) error {
	kp, seed, err := newKey()
	if err != nil {
		return err
	}
	members := []charter.Member{
		{Name: policyName, Role: charter.RoleLeader, Kind: charter.KindPolicy, Key: publicKey(a.policy), Assurance: charter.Plain},
		{Name: person, Role: charter.RoleLeader, Kind: charter.KindPerson, Key: publicKey(kp), Assurance: charter.Plain},
	}
	b := Bundle{V: version, Team: team, Me: person, Role: charter.RoleLeader, Kind: charter.KindPerson, Seed: seed, OwnerKey: publicKey(a.owner)}
	if err := writeJSON(bundlePath(confDir, team, person), b); err != nil {
		return err
	}
	c := charter.New(team, publicKey(a.owner), members, terms.caps, publicKey(a.enrol))
	terms.into(&c)
	return s.sign(a, c)
}

// amend signs a new charter, because the person's configuration says something else now.
func (s state) amend(a *authority, terms terms) error {
	c := a.opened // with the teammates that were enrolled since
	c.Serial++
	terms.into(&c)
	return s.sign(a, c)
}

func (s state) sign(a *authority, c charter.Charter) error {
	signed, err := charter.Sign(a.owner, c, a.charter.Handovers...)
	if err != nil {
		return err
	}
	a.charter, a.opened = signed, c
	return s.saveCharter(signed)
}

// saveCharter appends a new version, or replaces the last one by itself with more additions.
func (s state) saveCharter(signed charter.Signed) error {
	var f charterFile
	if err := readJSON(s.path("charter.json"), &f); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.V = version
	if n := len(f.Versions); n > 0 && f.Versions[n-1].Sig == signed.Sig {
		f.Versions[n-1] = signed
	} else {
		f.Versions = append(f.Versions, signed)
	}
	return writeJSON(s.path("charter.json"), f)
}

// policyName is the member that signs for the team's policy. It is reserved: nobody else can have it.
const policyName = "policy"

func bundlePath(confDir, team, me string) string {
	return filepath.Join(confDir, "teams", team, me+".bundle")
}

// loadBundle finds who I am in a team: --as, or the only bundle there is.
func loadBundle(s config.Settings, team string) (Bundle, error) {
	me := s.As
	if me == "" {
		found, err := filepath.Glob(filepath.Join(s.Config, "teams", team, "*.bundle"))
		if err != nil {
			return Bundle{}, err
		}
		if len(found) > 1 {
			found = leading(found)
		}
		switch len(found) {
		case 0:
			return Bundle{}, fail(exitAuth, "no_identity", fmt.Sprintf("you are no member of team %s on this machine", team), `start it here with "swarm up", or ask its owner for an invitation`)
		case 1:
			me = strings.TrimSuffix(filepath.Base(found[0]), ".bundle")
		default:
			return Bundle{}, fail(exitUsage, "several_identities", fmt.Sprintf("you are several members of team %s here: %s", team, bundleNames(found)), "say which with --as NAME, or set SWARM_AS")
		}
	}
	if err := mailbox.CheckName(me); err != nil {
		return Bundle{}, fail(exitUsage, "bad_name", fmt.Sprintf("--as %q cannot be a member's name", me), "use a-z, 0-9, _ and -")
	}
	path := bundlePath(s.Config, team, me)
	if err := private(path); errors.Is(err, fs.ErrNotExist) {
		return Bundle{}, fail(exitAuth, "no_identity", fmt.Sprintf("%s is no member of team %s on this machine (no %s)", me, team, path), "choose another with --as, or ask the owner for an invitation")
	} else if err != nil {
		return Bundle{}, err
	}
	var b Bundle
	if err := readJSON(path, &b); err != nil {
		return Bundle{}, err
	}
	return b, b.check(path, team, me)
}

// leading leaves the bundles out with which nobody leads: those of teammates that joined on this machine.
func leading(paths []string) []string {
	out := slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		var b Bundle
		return readJSON(path, &b) == nil && b.Role == charter.RoleTeammate
	})
	if len(out) == 0 {
		return paths
	}
	return out
}

func bundleNames(paths []string) string {
	names := make([]string, len(paths))
	for i, p := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(p), ".bundle")
	}
	return strings.Join(names, ", ")
}

// Address is up.json: where a running `swarm up` is reached. It is written last and removed first.
type Address struct {
	V           int       `json:"v"`
	URL         string    `json:"url"`               // from this machine
	Servers     []string  `json:"servers,omitempty"` // from others
	Insecure    bool      `json:"insecure,omitempty"`
	CA          string    `json:"ca,omitempty"` // PEM: what the broker's certificate is checked with
	AdminSocket string    `json:"adminSocket"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	StartTicks  uint64    `json:"startTicks"` // of the process, so that a reused pid is not taken for it
	OwnerKey    string    `json:"ownerKey"`
}

// address reads a team's address file; a stale one counts as none.
func (s state) address(team string) (Address, error) {
	var a Address
	err := readJSON(s.path("up.json"), &a)
	if err == nil && alive(a.PID, a.StartTicks) {
		return a, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Address{}, err
	}
	return Address{}, fail(exitNoBroker, "no_broker", fmt.Sprintf("no swarm is running for team %s", team), `start one with "swarm up", or name one with --server nats://HOST:4222`)
}

var notInName = regexp.MustCompile(`[^a-z0-9_-]+`)

// personName is a member's name for the person who starts the first `swarm up`: --as, or the login name.
func personName(as string) (string, error) {
	if as != "" {
		if err := mailbox.CheckMember(as); err != nil {
			return "", fail(exitUsage, "bad_name", strings.TrimPrefix(err.Error(), "mailbox: "), "")
		}
		return as, nil
	}
	name := "me"
	if u, err := user.Current(); err == nil {
		if n := strings.Trim(notInName.ReplaceAllString(strings.ToLower(u.Username), "-"), "-_"); mailbox.CheckMember(n) == nil {
			name = n
		}
	}
	return name, nil
}
