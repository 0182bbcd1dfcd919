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

	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// State is how one thing stands that doctor looked at.
type State string

// The states. Only StateBad fails the command.
const (
	StateOK   State = "ok"
	StateWarn State = "warn" // it works, and holds or lasts less than it could
	StateBad  State = "bad"  // something does not work, or is open to others
)

// Finding is one row of `swarm doctor`.
type Finding struct {
	Check string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"` // what to do about it
}

// Diagnosis is what `swarm doctor` found.
type Diagnosis struct {
	Team     string        `json:"team,omitempty"`
	Boundary string        `json:"boundary"` // the layout's name and level
	Layout   report.Layout `json:"layout"`   // what it holds against, and why
	Findings []Finding     `json:"findings"`
	OK       int           `json:"ok"`
	Warn     int           `json:"warn"`
	Bad      int           `json:"bad"`
}

// doctor looks at one thing after another.
type doctor struct {
	env      Env
	team     string
	state    state
	findings []Finding
	facts    report.Facts
	live     bool // a process serves the team on this machine
	bundle   Bundle
}

// Diagnose looks at the team's broker, files and keys, and at this machine. It changes nothing, and works without a
// broker. A teammate's process is told about the machine only: it has no leader's key.
func Diagnose(ctx context.Context, e Env) (Diagnosis, error) {
	d := &doctor{env: e, facts: factsHere(nil, nil)}
	var err error
	if d.team, err = e.team(); err != nil && e.Settings.Team != "" { // one that cannot be a name
		return Diagnosis{}, err
	}
	d.state = e.state(d.team)
	teammate := refuseTeammates() != nil
	switch {
	case teammate:
		d.add("team", StateOK, "this process belongs to a teammate: files, keys and broker are for its leader to look at", "")
	case err != nil:
		d.add("team", StateWarn, "no team is named: its broker, files and keys were not looked at", nextOf(err))
	default:
		d.address()
		d.identity()
		if err := d.broker(ctx); err != nil {
			return Diagnosis{}, err
		}
		d.keys()
		d.files()
	}
	if !teammate {
		d.rules()
	}
	d.kernel()
	d.programs(ctx)
	if ctx.Err() != nil {
		return Diagnosis{}, context.Cause(ctx)
	}
	return d.diagnosis(), nil
}

func (d *doctor) diagnosis() Diagnosis {
	layout := report.LayoutOf(d.facts)
	state, next := StateOK, ""
	if layout.Level == 0 {
		state, next = StateWarn, "run teammates as another user, or keep the leaders' keys on another machine"
	}
	text := layout.Line()
	if len(layout.NotKnown) > 0 {
		text += "; not known: " + strings.Join(layout.NotKnown, "; ")
	}
	d.add("boundary", state, text, next)
	out := Diagnosis{Team: d.team, Boundary: layout.String(), Layout: layout, Findings: d.findings}
	for _, f := range d.findings {
		switch f.State {
		case StateBad:
			out.Bad++
		case StateWarn:
			out.Warn++
		default:
			out.OK++
		}
	}
	return out
}

func (d *doctor) add(check string, s State, text, next string) {
	d.findings = append(d.findings, Finding{Check: check, State: s, Text: plans.VisibleLine(text), Next: plans.VisibleLine(next)})
}

// slow does what may take long, and says on what it waits when it has taken a second.
func (d *doctor) slow(what string, do func()) {
	t := time.AfterFunc(time.Second, func() { fmt.Fprintln(d.env.Err, "waiting for "+plans.VisibleLine(what)) })
	defer t.Stop()
	do()
}

// address looks at the file that says where the team's broker is.
func (d *doctor) address() {
	path := d.state.path("up.json")
	var a Address
	switch err := readJSON(path, &a); {
	case errors.Is(err, fs.ErrNotExist):
		d.add("address", StateOK, "no broker of team "+d.team+" runs on this machine", "")
	case err != nil:
		d.add("address", StateBad, err.Error(), "")
	case !alive(a.PID, a.StartTicks):
		d.add("address", StateWarn, fmt.Sprintf("%s was left by process %d, which is gone: it counts as none", path, a.PID), "swarm up replaces it; what waited is kept")
	default:
		d.live = true
		if a.Insecure && len(a.Servers) > 0 {
			d.add("transport", StateWarn, "others reach the broker in clear, at "+strings.Join(a.Servers, ", ")+": whoever is on the way reads plans and mail, and may take a connection over", "start swarm up without --insecure")
		}
		d.add("address", StateOK, fmt.Sprintf("%s, served by process %d since %s", a.URL, a.PID, a.Started.Local().Format(time.DateTime)), "")
	}
}

// identity looks at the key that commands would use.
func (d *doctor) identity() {
	b, err := loadBundle(d.env.Settings, d.team)
	var e *leader.Error
	switch known := errors.As(err, &e); {
	case err == nil:
		d.bundle = b
		d.add("you", StateOK, fmt.Sprintf("%s, %s of team %s", b.Me, b.Role, b.Team), "")
	case known && e.Code == exitUsage, known && e.Name == "no_identity":
		d.add("you", StateWarn, e.Message, e.Next)
	case known:
		d.add("you", StateBad, e.Message, e.Next)
	default:
		d.add("you", StateBad, unprefixed(err), "")
	}
}

// unprefixed is an error without the package that it begins with, where it does.
func unprefixed(err error) string {
	if head, rest, ok := strings.Cut(err.Error(), ": "); ok && !strings.ContainsAny(head, " /") {
		return rest
	}
	return err.Error()
}

// brokerWait is how long the broker may take to let us in and to answer.
const brokerWait = 6 * time.Second

// broker connects as every command does, and asks how the broker is.
func (d *doctor) broker(ctx context.Context) error {
	remote := d.env.Settings.Server != "" && d.env.Settings.Server != "embedded" || !d.live && len(d.bundle.Servers) > 0
	ctx, cancel := context.WithTimeout(ctx, brokerWait)
	defer cancel()
	var l *Leader
	var err error
	d.slow("the broker of team "+d.team, func() { l, err = Lead(ctx, d.env) })
	if err != nil {
		return d.noBroker(ctx, remote, err)
	}
	defer l.Close()
	d.facts = l.facts(nil)
	if members, err := l.Presence(ctx); err == nil {
		d.facts = l.facts(members)
	}
	h, clock, err := l.box.Health(ctx)
	switch {
	case errors.Is(err, natsbox.ErrUnreachable), ctx.Err() != nil:
		d.add("broker", StateBad, l.Broker()+" lets us in, and its coordinator does not answer", "see the log of swarm up, or start it again")
	case err != nil:
		d.add("broker", StateWarn, fmt.Sprintf("%s lets us in, and does not say how it is (%s)", l.Broker(), plainText(err)), "update the older of the two swarms")
	default:
		d.add("broker", StateOK, fmt.Sprintf("%s answers in %s, nats-server %s", l.Broker(), ms(2*clock.Within), h.Server), "")
		d.findings = append(d.findings, clockFinding(clock), storeFinding(h.Fullest()), syncFinding(h.Sync))
	}
	return nil
}

// noBroker says why there is no connection. Only what was to be there and is not, is bad.
func (d *doctor) noBroker(ctx context.Context, remote bool, err error) error {
	if remote {
		d.facts = report.Facts{}
	} else {
		d.facts = factsHere(d.members(), d.env.keyOnThisMachine(d.team))
	}
	var e *leader.Error
	known := errors.As(err, &e)
	switch {
	case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return err // interrupted
	case ctx.Err() != nil:
		d.add("broker", StateBad, fmt.Sprintf("it does not answer within %v", brokerWait), "see the log of swarm up, or start it again")
	case known && e.Code == exitUsage: // --as or --server cannot be used
		return err
	case known && !d.live && !remote && e.Name == "no_broker":
		d.add("broker", StateWarn, "not running: the rest was looked at without it", "start it with swarm up --team "+d.team)
	case known && !d.live && !remote && e.Name == "no_identity":
		d.add("broker", StateWarn, e.Message, e.Next)
	case known:
		d.add("broker", StateBad, e.Message, e.Next)
	default:
		d.add("broker", StateBad, unprefixed(err), "")
	}
	if !remote {
		d.storeOnDisk()
	}
	return nil
}

// members are those of the charter on disk, when the key of this person's owner signed it.
func (d *doctor) members() []charter.Member {
	var f charterFile
	if err := readJSON(d.state.path("charter.json"), &f); d.bundle.OwnerKey == "" || err != nil || len(f.Versions) == 0 {
		return nil
	}
	c, err := charter.Open(f.Versions[len(f.Versions)-1], d.bundle.OwnerKey)
	if err != nil {
		d.add("charter", StateBad, "the charter on disk is not signed by the owner that your key names: "+plainText(err), "choose another key with --as, or another --state")
		return nil
	}
	return c.Members
}

// Clocks that differ by more than this are told. Grants, invitations and deadlines end by them.
const (
	clockWarn = 2 * time.Second
	clockBad  = time.Minute
)

func clockFinding(c natsbox.Clock) Finding {
	f := Finding{Check: "clock", State: StateOK, Text: fmt.Sprintf("the broker's is equal to ours, within %s", ms(c.Within))}
	off := c.Ahead.Abs() - c.Within // at least
	if off <= clockWarn {
		return f
	}
	side := "ahead of"
	if c.Ahead < 0 {
		side = "behind"
	}
	f.State, f.Next = StateWarn, "set both by NTP: grants, invitations and deadlines end by these clocks"
	if off > clockBad {
		f.State = StateBad
	}
	f.Text = fmt.Sprintf("the broker's is %v %s ours, within %s", c.Ahead.Abs().Round(100*time.Millisecond), side, ms(c.Within))
	return f
}

func ms(d time.Duration) string { return d.Round(10 * time.Microsecond).String() }

func storeFinding(name string, percent int) Finding {
	f := Finding{Check: "store", State: StateOK, Text: fmt.Sprintf("the fullest part, %s, is filled to %d %%", name, percent)}
	switch {
	case percent >= 100:
		f.State, f.Next = StateBad, "new mail is refused: "+natsbox.FullNext
	case percent >= natsbox.FullAt:
		f.State, f.Next = StateWarn, "at 100 % new mail is refused: "+natsbox.FullNext
	}
	return f
}

func syncFinding(sync string) Finding {
	if sync == "always" {
		return Finding{Check: "sync", State: StateOK, Text: "always: what was acknowledged is on disk"}
	}
	return Finding{
		Check: "sync", State: StateWarn, Text: fmt.Sprintf("%s: what was acknowledged in that time is lost when the power fails", sync),
		Next: "start the broker with sync always",
	}
}

// storeOnDisk is how full the store is of a broker that does not run.
func (d *doctor) storeOnDisk() {
	var used int64
	dir := d.state.path("jetstream")
	d.slow("the sizes of files in "+dir, func() {
		_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error { // what cannot be read counts nothing
			if err == nil && entry.Type().IsRegular() {
				if info, err := entry.Info(); err == nil {
					used += info.Size()
				}
			}
			return nil
		})
	})
	f := storeFinding("store", int(float64(used)/embednats.DefaultMaxStore*100))
	f.Text = fmt.Sprintf("%d MiB of %d MiB on disk; how full each stream is, only its broker knows", used>>20, int64(embednats.DefaultMaxStore)>>20)
	d.findings = append(d.findings, f)
}

// keys says how well each deciding key is kept, and the owner's.
func (d *doctor) keys() {
	for _, k := range d.facts.Deciders {
		text := fmt.Sprintf("the key of %s (%s) is %s", k.Name, k.Kind, cmp.Or(report.Kept(k.Assurance), "kept nobody knows how"))
		d.findings = append(d.findings, keyFinding("key of "+k.Name, text, k.Assurance))
	}
	if len(d.facts.Deciders) == 0 && d.bundle.Seed != "" {
		d.findings = append(d.findings, keyFinding("key of "+d.bundle.Me, "your key is "+report.Kept(charter.Plain), charter.Plain))
	}
	here := func(file string) bool { _, err := os.Lstat(d.state.path(file)); return err == nil }
	d.keptAsTold()
	switch {
	case here(sealingFile):
		d.add("owner's key", StateBad, "sealing the owner's key was interrupted: its recovery code may be known to nobody, and the key may lie in clear", "swarm team init ends it")
	case here("owner.seed"):
		d.add("owner's key", StateWarn, "the owner's key is "+report.Kept(charter.Plain)+" beside the broker: whoever reads it makes leaders", "seal it with swarm team init")
	case here(sealedFile):
		d.add("owner's key", StateOK, "the owner's key is "+report.Kept(charter.Sealed), "")
	}
}

// keptAsTold compares how the leaders' keys lie on this machine with what the charter says of them.
func (d *doctor) keptAsTold() {
	for _, k := range d.facts.Deciders {
		path := bundlePath(d.env.Settings.Config, d.team, k.Name)
		var b Bundle
		if private(path) != nil || readJSON(path, &b) != nil {
			continue // elsewhere, or told of as a file
		}
		switch sealed := b.Sealed != nil; {
		case sealed && k.Assurance == charter.Plain:
			d.add("key of "+k.Name, StateWarn, "the key of "+k.Name+" is sealed here, and the charter does not say so: what needs a sealed key is not theirs to decide", "swarm team seal "+k.Name+" has the owner say it")
		case !sealed && k.Assurance == charter.Sealed:
			d.add("key of "+k.Name, StateBad, "the charter says that the key of "+k.Name+" is sealed, and it lies here in clear", "swarm team seal "+k.Name)
		}
	}
}

func keyFinding(check, text string, a charter.Assurance) Finding {
	f := Finding{Check: check, State: StateOK, Text: text}
	if a == charter.Plain || a == "" {
		f.State, f.Next = StateWarn, "any program of this user can use it: let no teammate run as the user who holds it"
	}
	return f
}
