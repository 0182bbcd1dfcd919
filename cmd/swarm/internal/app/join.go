package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/plans"
)

// JoinOptions says which invitation is used.
type JoinOptions struct {
	Read     func() (string, error) // its text; nil: go on with one that was used here already
	Team, As string                 // what the person has said about it; empty: whatever it says
	Insecure bool                   // brokers beyond this machine in clear
	InAgent  string                 // comment or fingerprint of a key in an ssh-agent; empty: a key is made
	// Progress is told once how it stands while the owner has to confirm.
	Progress func(Joined)
}

// Joined is how an invitation stands on this machine.
type Joined struct {
	State natsbox.InviteState
	Team  string
	Name  string
	Role  charter.Role
	Kind  charter.Kind
	Key   string // public
	Words string // that the owner has to see too; empty for teammates
}

// joiningFile is an invitation in use: the new key is on disk before anybody hears of it.
type joiningFile struct {
	Bundle
	TeamID     string `json:"teamId"`
	Invitation string `json:"invitation"` // seed
}

// joinPause is the time between two looks at how it stands.
const joinPause = time.Second

// Join makes a key of its own and takes the place that an invitation gives. A leader or observer waits until the owner has
// confirmed, or ctx ends.
func Join(ctx context.Context, e Env, o JoinOptions) (Joined, error) {
	if err := refuseTeammates(); err != nil {
		return Joined{}, err
	}
	if err := execute.Harden(); err != nil { // seeds come into memory from here on
		return Joined{}, err
	}
	j, path, err := e.joining(o)
	if err != nil {
		return Joined{}, err
	}
	return e.wait(ctx, o, j, path)
}

// joining reads the invitation, and has a key for it on disk.
func (e Env) joining(o JoinOptions) (joiningFile, string, error) {
	if o.Read == nil {
		return e.resumed(o)
	}
	text, err := o.Read()
	if err != nil {
		return joiningFile{}, "", err
	}
	inv, err := charter.ParseInvitation(text)
	if err != nil {
		return joiningFile{}, "", fail(exitUsage, "bad_invitation", plainText(err), "")
	}
	switch {
	case o.Team != "" && o.Team != inv.Team:
		return joiningFile{}, "", fail(exitUsage, "other_team", fmt.Sprintf("this invitation is to team %s, not to %s", inv.Team, plans.VisibleLine(o.Team)), "leave --team out, or use another invitation")
	case o.As != "" && o.As != inv.Name:
		return joiningFile{}, "", fail(exitUsage, "other_name", fmt.Sprintf("this invitation is for %s, not for %s", inv.Name, plans.VisibleLine(o.As)), "leave --as out, or ask for another invitation")
	case !time.Now().Before(inv.Expires):
		return joiningFile{}, "", fail(exitExpired, "expired", fmt.Sprintf("this invitation expired at %s", inv.Expires.Local().Format(time.DateTime)), "ask for another")
	}
	if err := e.notThereYet(inv); err != nil {
		return joiningFile{}, "", err
	}
	path := joiningPath(e.Settings.Config, inv.Team, inv.Name)
	var old joiningFile
	if err := readJSON(path, &old); err == nil && old.Invitation == inv.Seed {
		old.Insecure = old.Insecure || o.Insecure
		return old, path, nil // tried before: with the same key it is no second use
	}
	seed, inAgent, err := o.key(inv)
	if err != nil {
		return joiningFile{}, "", err
	}
	j := joiningFile{TeamID: inv.TeamID, Invitation: inv.Seed, Bundle: Bundle{
		V: version, Team: inv.Team, Me: inv.Name, Role: inv.Role, Kind: inv.Kind, Seed: seed, AgentKey: inAgent, OwnerKey: inv.OwnerKey, Servers: inv.Servers, CA: inv.CA, Insecure: o.Insecure, Handovers: inv.Handovers,
	}}
	return j, path, writeJSON(path, j)
}

// key is a new key, or the one in an ssh-agent that the person names.
func (o JoinOptions) key(inv charter.Invitation) (seed, inAgent string, err error) {
	if o.InAgent == "" {
		_, seed, err = newKey()
		return seed, "", err
	}
	if inv.Role == charter.RoleTeammate {
		return "", "", fail(exitUsage, "agent_key", inv.Name+" is to be a teammate, whose runner signs with nobody there", "leave --key-in-agent out")
	}
	inAgent, err = keyInAgent(o.InAgent)
	return "", inAgent, err
}

// assurance is how the new key is kept. Of one in an agent swarm sees that the agent signs, and not whether it asks.
func (j joiningFile) assurance() charter.Assurance {
	if j.AgentKey != "" {
		return charter.Confirm
	}
	return charter.Plain
}

// notThereYet refuses an invitation for a place that this machine has already, or to another team of the same name.
func (e Env) notThereYet(inv charter.Invitation) error {
	found, _ := filepath.Glob(filepath.Join(e.Settings.Config, "teams", inv.Team, "*.bundle")) // a bad pattern finds none
	for _, path := range found {
		var b Bundle
		if err := readJSON(path, &b); err != nil {
			return err
		}
		if b.OwnerKey != inv.OwnerKey {
			return fail(exitAuth, "other_owner", fmt.Sprintf("you are in another team called %s here, of another owner", inv.Team),
				"if that team is gone, move "+filepath.Dir(path)+" away; if this one is a surprise, do not join it")
		}
		if b.Me == inv.Name {
			return fail(exitUsage, "joined", fmt.Sprintf("%s is in team %s here already", inv.Name, inv.Team), "there is nothing to do")
		}
	}
	return nil
}

// resumed finds the invitation that was used here, and waits.
func (e Env) resumed(o JoinOptions) (joiningFile, string, error) {
	for _, name := range []string{o.Team, o.As} {
		if name != "" && mailbox.CheckMember(name) != nil {
			return joiningFile{}, "", fail(exitUsage, "bad_name", fmt.Sprintf("%q cannot be a name", plans.VisibleLine(name)), "use a-z, 0-9, _ and -")
		}
	}
	found, _ := filepath.Glob(joiningPath(e.Settings.Config, cmp.Or(o.Team, "*"), cmp.Or(o.As, "*")))
	switch len(found) {
	case 0:
		return joiningFile{}, "", fail(exitNotFound, "not_joining", "no invitation waits for its owner's word here", "use one: swarm team join --file FILE")
	case 1:
	default:
		return joiningFile{}, "", fail(exitUsage, "several", fmt.Sprintf("%d invitations wait here", len(found)), "say which with --team and --as")
	}
	if err := private(found[0]); err != nil {
		return joiningFile{}, "", err
	}
	var j joiningFile
	return j, found[0], readJSON(found[0], &j)
}

func joiningPath(confDir, team, me string) string {
	return filepath.Join(confDir, "teams", team, me+".joining")
}

// wait asks how it stands until the new member is in.
func (e Env) wait(ctx context.Context, o JoinOptions, j joiningFile, path string) (Joined, error) {
	key, err := j.Key()
	if err != nil {
		return Joined{}, err
	}
	out := Joined{State: natsbox.InvitePending, Team: j.Team, Name: j.Me, Role: j.Role, Kind: j.Kind, Key: publicKey(key)}
	for told := false; ; {
		in, err := j.enrol(ctx, e, key)
		if err != nil {
			return out, j.explain(ctx, err)
		}
		if err := j.check(in, out.Key); err != nil {
			return out, err
		}
		out.Role, out.Kind = in.Role, in.Kind
		if in.State == natsbox.InviteIn {
			out.State = in.State
			j.Role, j.Kind = in.Role, in.Kind
			if err := writeJSON(bundlePath(e.Settings.Config, j.Team, j.Me), j.Bundle); err != nil {
				return out, err
			}
			return out, os.Remove(path)
		}
		out.Words = charter.Words(j.TeamID, j.Me, in.Role, out.Key)
		if !told && o.Progress != nil {
			o.Progress(out)
			told = true
		}
		if err := pause(ctx, joinPause); err != nil {
			return out, j.explain(ctx, err)
		}
	}
}

// authority is what the broker's certificate is checked with.
func (j joiningFile) authority() string { return j.CA }

// enrol asks once, with the invitation's key.
func (j joiningFile) enrol(ctx context.Context, e Env, key nkeys.KeyPair) (natsbox.Enrolled, error) {
	ticket, err := nkeys.FromSeed([]byte(j.Invitation))
	if err != nil {
		return natsbox.Enrolled{}, fmt.Errorf("the invitation's key cannot be read: %w", err)
	}
	defer ticket.Wipe()
	proof, err := charter.ProveKey(key, j.TeamID, publicKey(ticket))
	if err != nil {
		return natsbox.Enrolled{}, err
	}
	cfg := natsbox.Config{URL: strings.Join(j.Servers, ","), Team: j.Team, Key: ticket, CA: j.authority, Insecure: j.Insecure, Logger: e.logger()}
	return natsbox.Enrol(ctx, cfg, natsbox.EnrolRequest{Key: publicKey(key), Proof: proof, Assurance: j.assurance()})
}

// check believes what the broker says only as far as the owner has signed it.
func (j joiningFile) check(in natsbox.Enrolled, key string) error {
	c, err := charter.Root{Founder: j.OwnerKey, Known: j.Handovers}.Open(in.Charter)
	if err != nil || c.TeamID != j.TeamID || c.Team != j.Team {
		return fail(exitAuth, "bad_charter", fmt.Sprintf("the broker does not serve the team of this invitation (%v)", orUnknown(err)), "ask for another, and say that this one leads to another team")
	}
	if in.State != natsbox.InviteIn {
		return nil
	}
	m, ok := c.Member(j.Me)
	if !ok || m.Key != key || m.Retired || m.Role != in.Role || m.Kind != in.Kind {
		return fail(exitAuth, "not_in", fmt.Sprintf("the broker says that %s is in team %s, and its charter does not", j.Me, j.Team), "tell the owner")
	}
	return nil
}

func pending(code int, team, me string) error {
	return fail(code, "pending", fmt.Sprintf("%s waits for the word of the owner of team %s", me, team), fmt.Sprintf("look again with swarm team join --resume --team %s --as %s", team, me))
}

// notInYet is what there is to do for somebody whose invitation to a team waits on this machine; nil: for nobody.
func notInYet(s config.Settings, team string) error {
	found, _ := filepath.Glob(joiningPath(s.Config, team, cmp.Or(s.As, "*"))) // a bad pattern finds none
	if len(found) == 0 {
		return nil
	}
	return pending(exitPending, team, strings.TrimSuffix(filepath.Base(found[0]), ".joining"))
}

// explain says what became of it, and how to look again.
func (j joiningFile) explain(ctx context.Context, err error) error {
	var refused *natsbox.ServiceError
	switch {
	case ctx.Err() != nil:
		code := exitPending
		if errors.Is(ctx.Err(), context.Canceled) {
			code = exitInterrupted
		}
		return pending(code, j.Team, j.Me)
	case errors.Is(err, natsbox.ErrRefused):
		return fail(exitAuth, "refused", fmt.Sprintf("the broker of team %s does not know this invitation, or its time is over", j.Team), "ask for another")
	case errors.As(err, &refused):
		return fail(exitAuth, string(refused.Code), refused.Message, refused.Next)
	case errors.Is(err, natsbox.ErrUnreachable):
		return fail(exitNoBroker, "no_broker", fmt.Sprintf("the broker of team %s at %s does not answer (%s)", j.Team, plans.VisibleLine(strings.Join(j.Servers, ",")), unanswered(err)), "is swarm up running there?")
	case untrusted(err) != nil:
		return untrusted(err)
	case errors.Is(err, natsbox.ErrInsecure):
		return fail(exitUsage, "insecure", plainText(err), "have the owner start swarm up with TLS, or add --insecure on a network where nobody listens")
	case errors.Is(err, natsbox.ErrBadAddress):
		return fail(exitUsage, "bad_server", plainText(err), "")
	}
	return err
}

// Invited is an invitation that was made.
type Invited struct {
	natsbox.InviteInfo
	Text string   // to be given to who is invited, and to nobody else
	Near []string // members whose names are easily taken for this one
}

// Invite makes an invitation. Its secret is in what it returns, and nowhere else.
func (l *Leader) Invite(ctx context.Context, name string, role charter.Role, kind charter.Kind, life time.Duration) (Invited, error) {
	var out Invited
	if life <= 0 || life > charter.MaxInvitationLife {
		return out, fail(exitUsage, "bad_time", fmt.Sprintf("an invitation cannot live for %v", life), "use at most 1h, such as 30m")
	}
	if err := charter.CheckInvited(name, role, kind); err != nil {
		return out, fail(exitUsage, "bad_name", strings.NewReplacer("charter: bad invitation: ", "", "member: mailbox: ", "").Replace(err.Error()), "")
	}
	ticket, seed, err := newKey()
	if err != nil {
		return out, err
	}
	defer ticket.Wipe()
	expires := time.Now().Add(life).UTC().Truncate(time.Second)
	q := natsbox.InviteRequest{Key: publicKey(ticket), Name: name, Role: role, Kind: kind, Expires: expires}
	if err := l.call(ctx, natsbox.VerbInvite, q, &out.InviteInfo); err != nil {
		return out, inviteError(err)
	}
	var names []string
	for _, m := range l.charter.Members {
		if !m.Retired {
			names = append(names, m.Name)
		}
	}
	out.Near = mailbox.Nearest(name, names)
	out.Text, err = charter.Invitation{
		V: mailbox.Version, Team: l.team, TeamID: l.charter.TeamID, OwnerKey: l.bundle.OwnerKey, Servers: l.brokers(), CA: l.authority(),
		Name: name, Role: role, Kind: kind, Seed: seed, Expires: expires, Handovers: l.signed.Handovers,
	}.Encode()
	return out, err
}

// brokers are the addresses that an invitation names.
func (l *Leader) brokers() []string {
	switch s := l.env.Settings.Server; {
	case s != "" && s != "embedded":
		return strings.Split(s, ",")
	case len(l.address.Servers) > 0:
		return l.address.Servers
	case l.address.URL != "":
		return []string{l.address.URL}
	}
	return l.bundle.Servers
}

func inviteError(err error) error {
	var e *natsbox.ServiceError
	if !errors.As(err, &e) {
		return err
	}
	code := exitAuth
	switch e.Code {
	case natsbox.CodeNotFound:
		code = exitNotFound
	case natsbox.CodeBadRequest, natsbox.CodeNameTaken:
		code = exitUsage
	}
	return fail(code, string(e.Code), e.Message, e.Next)
}

// Invites are the invitations that the coordinator remembers.
func (l *Leader) Invites(ctx context.Context) ([]natsbox.InviteInfo, error) {
	var list []natsbox.InviteInfo
	return list, l.call(ctx, natsbox.VerbInvites, struct{}{}, &list)
}

// Words are the six words of who waits, as both sides see them.
func (l *Leader) Words(i natsbox.InviteInfo) string {
	return charter.Words(l.charter.TeamID, i.Name, i.Role, i.Key)
}

// Confirm has the owner sign that who waits is in.
func (l *Leader) Confirm(ctx context.Context, name string) (natsbox.InviteInfo, error) {
	list, err := l.Invites(ctx)
	if err != nil {
		return natsbox.InviteInfo{}, err
	}
	var names []string
	for _, i := range list {
		if i.State != natsbox.InvitePending {
			continue
		}
		if i.Name == name {
			m := charter.Member{Name: i.Name, Role: i.Role, Kind: i.Kind, Key: i.Key, Assurance: i.Assurance}
			return i, l.amend(ctx, func(c *charter.Charter) error {
				c.Members = append(c.Members, m)
				return nil
			})
		}
		names = append(names, i.Name)
	}
	for _, m := range l.charter.Members {
		if names = append(names, m.Name); m.Name == name {
			return natsbox.InviteInfo{}, fail(exitNotFound, "not_pending", name+" is in the team already, and waits for nothing", "swarm team list shows who waits")
		}
	}
	next := "swarm team list shows who waits"
	if near := mailbox.Nearest(name, names); len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "? " + next
	}
	return natsbox.InviteInfo{}, fail(exitNotFound, "not_pending", fmt.Sprintf("nobody called %q waits for your word", plans.VisibleLine(name)), next)
}

// uninvite takes an invitation back, or turns away who waits.
func (l *Leader) uninvite(ctx context.Context, name string) (charter.Member, error) {
	var i natsbox.InviteInfo
	if err := l.call(ctx, natsbox.VerbUninvite, natsbox.UninviteRequest{Name: name}, &i); err != nil {
		return charter.Member{}, err
	}
	return charter.Member{Name: i.Name, Role: i.Role, Kind: i.Kind, Key: i.Key}, nil
}

// joinedPlace is where a teammate belongs that joined with an invitation on this machine.
func (e Env) joinedPlace(s state, team, name string) (p place, ok bool, err error) {
	path := bundlePath(e.Settings.Config, team, name)
	switch err := private(path); {
	case errors.Is(err, fs.ErrNotExist):
		return p, false, nil
	case err != nil:
		return p, false, err
	}
	if err := readJSON(path, &p.bundle); err != nil {
		return p, false, err
	}
	if p.bundle.Role != charter.RoleTeammate {
		return p, false, nil
	}
	if p.key, err = p.bundle.Key(); err != nil {
		return p, false, err
	}
	p.state, p.dir = s, s.path("teammates", name)
	here := func() (Address, bool) { // the broker is on this machine, and may have moved
		a, err := s.address(team)
		return a, err == nil && a.OwnerKey == p.bundle.OwnerKey
	}
	if a, ok := here(); ok {
		p.bundle.Insecure = a.Insecure
	}
	p.servers = func() []string {
		if a, ok := here(); ok {
			return []string{a.URL}
		}
		return p.bundle.Servers
	}
	p.ca = func() string {
		if a, ok := here(); ok {
			return a.CA
		}
		return p.bundle.CA
	}
	return p, true, nil
}
