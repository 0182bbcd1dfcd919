package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/plans"
)

// Leader is a person's connection to a team, for one command.
type Leader struct {
	env     Env
	team    string
	bundle  Bundle
	address Address // zero when the broker is elsewhere
	box     *natsbox.Conn
	signed  charter.Signed
	charter charter.Charter
}

// InsideTeammate is the name of the error of a leader's command that a teammate's process runs.
const InsideTeammate = "inside_teammate"

// refuseTeammates stops a leader's command that a teammate's own process runs: text and flags never approve
// (invariant 4). It is a courtesy in front of the key files, which that process cannot read when it is confined.
func refuseTeammates() error {
	if os.Getenv("SWARM_SOCKET") == "" && !insideTeammate(os.Getppid()) {
		return nil
	}
	return fail(exitAuth, InsideTeammate, "this process belongs to a teammate: only a leader decides (invariant 4)",
		"swarm ask TEXT asks a leader")
}

// Lead connects as a leader of the team, with the person's own key.
func Lead(ctx context.Context, e Env) (*Leader, error) {
	if err := refuseTeammates(); err != nil {
		return nil, err
	}
	team, err := e.team()
	if err != nil {
		return nil, err
	}
	if err := execute.Harden(); err != nil {
		return nil, err
	}
	l := &Leader{env: e, team: team}
	servers, err := l.find()
	if err != nil {
		return nil, err
	}
	if err := l.unsealBundle(ctx); err != nil {
		return nil, err
	}
	key, err := l.bundle.Key()
	if err != nil {
		return nil, err
	}
	l.box, err = natsbox.Connect(ctx, natsbox.Config{
		Servers: l.servers(servers), CA: l.authority, Insecure: l.bundle.Insecure || l.address.Insecure, Team: team, Me: l.bundle.Me, Key: key, Confirm: l.bundle.confirm(), Logger: e.logger(),
	})
	if k, ok := key.(*agentKey); ok && err != nil && k.err() != nil {
		return nil, k.err()
	}
	if err != nil {
		return nil, l.inTime(ctx, err)
	}
	if err := l.open(ctx); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// servers says where the broker is, each time it is looked for: one that was started again may be elsewhere.
func (l *Leader) servers(first []string) func() []string {
	return func() []string {
		if l.address.URL == "" {
			return first
		}
		if a, err := l.env.state(l.team).address(l.team); err == nil {
			return []string{a.URL}
		}
		return first
	}
}

// authority is what the broker's certificate is checked with, each time.
func (l *Leader) authority() string {
	if l.address.URL == "" {
		return l.bundle.CA
	}
	if a, err := l.env.state(l.team).address(l.team); err == nil {
		return a.CA
	}
	return l.address.CA
}

// find says who we are and where the broker is.
func (l *Leader) find() (servers []string, err error) {
	s := l.env.Settings
	defer func() {
		if waits := notInYet(s, l.team); err != nil && waits != nil {
			err = waits
		}
	}()
	if s.Server != "" && s.Server != "embedded" {
		l.bundle, err = loadBundle(s, l.team)
		return []string{s.Server}, err
	}
	l.address, err = l.env.state(l.team).address(l.team)
	if err != nil {
		if b, berr := loadBundle(s, l.team); berr == nil && len(b.Servers) > 0 {
			l.bundle = b
			return b.Servers, nil
		}
		return nil, err
	}
	if l.bundle, err = loadBundle(s, l.team); err != nil {
		return nil, err
	}
	if l.bundle.OwnerKey != l.address.OwnerKey {
		return nil, fail(exitAuth, "other_owner", fmt.Sprintf("the running team %s has another owner than your key's", l.team), "choose another key with --as, or another team")
	}
	return []string{l.address.URL}, nil
}

// inTime is what an error means: a person's own --timeout that ran out is no broker that does not answer.
func (l *Leader) inTime(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return l.connectError(err)
}

func (l *Leader) connectError(err error) error {
	switch {
	case untrusted(err) != nil:
		return untrusted(err)
	case errors.Is(err, natsbox.ErrRefused):
		return fail(exitAuth, "refused", fmt.Sprintf("the broker of team %s does not know the key of %s", l.team, l.bundle.Me), "ask its owner for an invitation")
	case errors.Is(err, natsbox.ErrForeignServer), errors.Is(err, natsbox.ErrOldServer):
		return serverError(err, l.Broker())
	case errors.Is(err, natsbox.ErrUnreachable):
		return fail(exitNoBroker, "no_broker", fmt.Sprintf("the broker of team %s at %s does not answer (%s)", l.team, plans.VisibleLine(l.Broker()), unanswered(err)), `start it with "swarm up", or name another with --server`)
	case errors.Is(err, natsbox.ErrBadAddress), errors.Is(err, natsbox.ErrInsecure):
		return fail(exitUsage, "bad_server", plainText(err), "")
	case errors.Is(err, natsbox.ErrForbidden):
		return fail(exitAuth, "refused", fmt.Sprintf("the key of %s on this machine is another member's (%s)", l.bundle.Me, plans.VisibleLine(plainText(err))), "choose your own with --as")
	}
	return err
}

// unanswered is why a broker does not answer, without what the sentence around it says already.
func unanswered(err error) string {
	text := strings.TrimSuffix(strings.TrimPrefix(err.Error(), natsbox.ErrUnreachable.Error()+": "), ": is `swarm up` running?")
	return plans.VisibleLine(strings.TrimPrefix(text, "nats: "))
}

// open reads the charter and checks it with the owner's key that we have had all along.
func (l *Leader) open(ctx context.Context) error {
	var signed charter.Signed
	if err := l.call(ctx, natsbox.VerbCharter, struct{}{}, &signed); err != nil {
		return err
	}
	c, err := l.root().Open(signed)
	if err != nil {
		return fail(exitAuth, "bad_charter", plainText(err), "")
	}
	if err := l.checkSerial(c, signed.Handovers); err != nil {
		return err
	}
	l.signed, l.charter = signed, c
	return l.notATeammate()
}

// notATeammate refuses a teammate's key at once: everything that a leader does is refused to it later, one by one.
func (l *Leader) notATeammate() error {
	key, err := l.bundle.Key()
	if err != nil {
		return err
	}
	pub := publicKey(key)
	m, ok := l.charter.ByKey(pub)
	if !ok || m.Role != charter.RoleTeammate {
		return nil
	}
	return fail(exitAuth, leader.NameNotALeader, fmt.Sprintf("key %s…%s (%s) is a teammate, not a leader of team %s", pub[:4], pub[len(pub)-2:], m.Name, l.team),
		fmt.Sprintf("what a teammate does is done by the program that swarm teammate script --name %s -- PROGRAM starts; to lead, ask the owner for an invitation with --role leader", m.Name))
}

func (l *Leader) call(ctx context.Context, verb string, in, out any) error {
	err := l.box.Call(ctx, verb, in, out)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, natsbox.ErrUnreachable) || errors.Is(err, natsbox.ErrForbidden) && l.charter.Team == "" {
		return l.connectError(err)
	}
	return err
}

// Close ends the connection.
func (l *Leader) Close() { l.box.Close() }

// Team is the team's name.
func (l *Leader) Team() string { return l.team }

// Broker is where the broker is, in words.
func (l *Leader) Broker() string {
	switch {
	case l.address.PID != 0:
	case len(l.bundle.Servers) > 0 && l.env.Settings.Server == "embedded":
		return strings.Join(l.bundle.Servers, ",")
	default:
		return l.env.Settings.Server
	}
	return fmt.Sprintf("%s (this machine, pid %d)", shortURL(l.address.URL), l.address.PID)
}

// Charter is the team's charter, verified.
func (l *Leader) Charter() charter.Charter { return l.charter }

// Presence is what the coordinator knows of the members.
func (l *Leader) Presence(ctx context.Context) ([]natsbox.Presence, error) {
	var all []natsbox.Presence
	return all, l.call(ctx, natsbox.VerbPresence, struct{}{}, &all)
}

// maxID is more than the longest id or handle, in bytes.
const maxID = 256

// Queue is what waits, with everything that a person sees of it; and the requests that ids name, if they wait no more.
func (l *Leader) Queue(ctx context.Context, ids ...string) (*leader.Queue, error) {
	cfg := leader.QueueConfig{Charter: l.charter, Seen: l.seen(), Me: l.bundle.Me}
	if own, problems := config.ReadOwn(l.env.Settings.Config); problems == nil { // else its words are unknown, which grants less
		cfg.Tables = own.Tables
	}
	if rules, err := policy.New(rulesOf(l.env), intentNames(cfg.Tables)...); err == nil && l.env.Document != nil {
		cfg.Adviser = rules
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return len(id) > maxID }) // they name nothing
	q, err := leader.Read(ctx, l.box, cfg, ids...)
	if errors.Is(err, natsbox.ErrUnreachable) {
		return nil, l.inTime(ctx, err)
	}
	return q, err
}

// signer is the person's own key, as the charter has it.
func (l *Leader) signer(via string) (leader.Signer, error) {
	key, err := l.bundle.Key()
	if err != nil {
		return leader.Signer{}, err
	}
	m, ok := l.charter.ByKey(publicKey(key))
	if !ok {
		m = charter.Member{Name: l.bundle.Me, Role: l.bundle.Role, Kind: l.bundle.Kind, Key: publicKey(key)}
	}
	return leader.Signer{Key: key, Member: m, Via: via}, nil
}

// Decided is what became of one command's decision.
type Decided struct {
	leader.Given
	Row      *leader.Row
	Receipt  *mailbox.Receipt // nil: none came in time, or none was waited for
	Took     time.Duration
	At       time.Time
	LastSeen time.Time // of the teammate, when it is away
}

// awayWait is how long the receipt of a teammate is waited for that is not there.
const awayWait = time.Second

func (l *Leader) lastSeen(ctx context.Context, name string) time.Time {
	members, err := l.Presence(ctx)
	if err != nil {
		return time.Time{}
	}
	for _, m := range members {
		if m.Name == name {
			return m.Seen
		}
	}
	return time.Time{}
}

// Decide decides one request: find it, prepare, check, sign, store, read back, and wait for the teammate's receipt.
func (l *Leader) Decide(ctx context.Context, id string, choice leader.Choice, wait time.Duration) (Decided, error) {
	q, err := l.Queue(ctx, id)
	if err != nil {
		return Decided{}, err
	}
	row, err := q.Find(id)
	if err != nil {
		return Decided{}, err
	}
	signer, err := l.signer("command")
	if err != nil {
		return Decided{}, err
	}
	if err := answerable(row, choice); err != nil {
		return Decided{}, err
	}
	out := Decided{Row: row}
	if out.Given, err = leader.Give(ctx, l.box, signer, l.charter, *row, choice); err != nil || wait == 0 || out.Signed != nil {
		return out, err
	}
	begin := time.Now()
	if row.Presence != "" { // it is away: what is stored is applied when it is back
		wait = min(wait, awayWait)
		out.LastSeen = l.lastSeen(ctx, row.From)
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	rec, err := leader.WaitReceipt(waiting, l.box, row.From, row.ID())
	if err != nil {
		return out, nil //nolint:nilerr // stored is what counts; the teammate may be away
	}
	out.Receipt, out.Took, out.At = &rec, time.Since(begin), time.Now()
	return out, nil
}

// answerable refuses what only a plan has, of a call.
func answerable(row *leader.Row, choice leader.Choice) error {
	if row.Kind == leader.RowRun && (len(choice.Grants) > 0 || choice.NoGrants || choice.Mode != "" || choice.Option != "" || len(choice.Comments) > 0) {
		return fail(exitUsage, "bad_choice", row.Handle+" asks about one call: there are no grants, modes or options to choose, and no lines to comment on", "leave those flags out")
	}
	return nil
}
