package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/plans"
)

// UpOptions adjusts [Up].
type UpOptions struct {
	Listen string // host:port; empty: the port of last time, else any free one
	// MaxStore is how many bytes the store may fill. Zero means [embednats.DefaultMaxStore].
	MaxStore int64
	TLS      config.TLS
	// Insecure lets others reach the broker in clear.
	Insecure bool
}

// Up runs the broker, the coordinator and the leader's desk of a team until ctx ends.
func Up(ctx context.Context, e Env, o UpOptions) error {
	team, err := e.team()
	if err != nil {
		return err
	}
	if err := execute.Harden(); err != nil { // keys come into memory from here on
		return err
	}
	s := e.state(team)
	o.Listen = cmp.Or(o.Listen, e.Settings.Broker.Listen)
	how, err := s.reach(e, o)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fail(exitError, "not_writable", fmt.Sprintf("the state folder %s cannot be made (%v)", s.dir, err), "choose another with --state")
	}
	l, err := lock(s.path("up.lock"))
	switch {
	case errors.Is(err, errLocked):
		return fail(exitError, "locked", fmt.Sprintf("swarm is already running for team %s", team), "swarm status shows it")
	case err != nil:
		return notWritable(s.dir, err)
	}
	defer l.Close()
	if err := tryWrite(s.dir); err != nil { // its lock was made before it became read-only
		return notWritable(s.dir, err)
	}
	if err := portFree(o.Listen); err != nil {
		return err
	}
	person, err := personName(e.Settings.As)
	if err != nil {
		return err
	}
	if text := widerCaps(e.Settings.Caps, e.Document); text != "" {
		fmt.Fprintln(e.Err, "swarm: "+text)
	}
	a, err := s.open(ctx, team, person, termsOf(e.Settings, e.Document), e.Settings.Config)
	if err != nil {
		return err
	}
	return s.serve(ctx, e, o, how, team, a)
}

// state is the folder of a team on this machine.
func (e Env) state(team string) state {
	return state{dir: e.Settings.State + string(os.PathSeparator) + team}
}

func (s state) serve(ctx context.Context, e Env, o UpOptions, how reach, team string, a *authority) error {
	own, err := e.Own()
	if err != nil {
		return err
	}
	if err := how.certify(s, team); err != nil {
		return err
	}
	h, err := startHub(ctx, hubConfig{
		store: s.path("jetstream"), team: team, authority: a, rules: deskRules(e), listen: how.listen, tls: how.tls(), insecure: how.insecure, maxStore: o.MaxStore,
		save: s.saveCharter, onEvent: e.upEvent, log: e.logger(), tables: own.Tables, deadlines: deadlinesOf(e),
	})
	if err != nil {
		return err
	}
	defer h.close()
	if o.Listen != "" && h.server.Moved() {
		return portTaken(o.Listen)
	}
	admin, err := listenAdmin(s, h, enrolAnswer{Team: team, OwnerKey: a.founder(), URL: how.local(h.server), CA: how.ca()})
	if err != nil {
		return err
	}
	defer admin.close()
	address := Address{
		V: version, URL: how.local(h.server), Servers: how.servers(h.server), Insecure: how.insecure, CA: how.ca(), AdminSocket: admin.path, PID: os.Getpid(), Started: time.Now(),
		StartTicks: startTicks(os.Getpid()), OwnerKey: a.founder(),
	}
	if err := writeJSON(s.path("up.json"), address); err != nil { // written last ...
		return err
	}
	defer os.Remove(s.path("up.json")) // ... and removed first
	for _, line := range ownLines(own) {
		fmt.Fprintf(e.Err, "rules    read       %s\n", line)
	}
	e.upReady(team, h, a, how)
	resumes := &resumer{env: e, team: team, open: h.desk.Waiting}
	var resuming sync.WaitGroup
	defer resuming.Wait()
	looking, enough := context.WithCancel(ctx)
	defer enough()
	resuming.Go(func() { resumes.run(looking) })
	select {
	case <-ctx.Done():
		fmt.Fprintln(e.Err, "swarm: stopping; what waits is kept")
		return nil
	case err := <-h.failed:
		return err
	}
}

// listen is the address to take: what was asked for, or the port of last time, so that runners find us again at once.
func (s state) listen(o UpOptions) string {
	if o.Listen != "" {
		return o.Listen
	}
	var last Address
	if err := readJSON(s.path("port.json"), &last); err == nil && strings.HasPrefix(last.URL, "nats://127.0.0.1:") {
		return strings.TrimPrefix(last.URL, "nats://")
	}
	return "127.0.0.1:0"
}

func rulesOf(e Env) []policy.Rule {
	if e.Document == nil {
		return nil
	}
	return e.Document.Policy
}

// deskRules are the project's rules where a person leads: what rejects or asks holds, what would approve is a proposal
// that the person sees (invariant 15). In `swarm run` the person has named the document, and its policy leads.
func deskRules(e Env) []policy.Rule {
	rules := slices.Clone(rulesOf(e))
	for i := range rules {
		if rules[i].Then == policy.ThenApprove {
			rules[i].Then, rules[i].With, rules[i].Feedback = policy.ThenAsk, policy.With{}, ""
		}
	}
	return rules
}

func (e Env) upReady(team string, h *hub, a *authority, how reach) {
	_ = writeJSON(e.state(team).path("port.json"), Address{V: version, URL: h.server.URL()}) // a convenience only
	leaders := []string{}
	for _, m := range a.opened.Members {
		if m.Role == charter.RoleLeader && m.Kind == charter.KindPerson {
			leaders = append(leaders, m.Name)
		}
	}
	fmt.Fprintf(e.Err, "broker   ready      %s, state on disk in %s\n", shortURL(h.server.URL()), e.state(team).dir)
	for _, line := range how.lines(h.server) {
		fmt.Fprintln(e.Err, line)
	}
	fmt.Fprintf(e.Err, "team     ready      %s; leader %s; cap %s; %s\n", team, strings.Join(leaders, ", "), a.opened.Caps.Mode, a.kept())
	for _, line := range a.opened.Unmet(time.Now()) {
		fmt.Fprintf(e.Err, "charter  unmet      %s\n", line)
	}
	fmt.Fprintf(e.Err, "boundary level      %s\n", e.layoutOfUp(team, a.opened.Members).Line())
	if n := len(rulesOf(e)); n > 0 {
		fmt.Fprintf(e.Err, "policy   ready      %d rules of swarm.yaml; what they would approve is proposed to you\n", n)
	}
	if e.Document != nil && len(e.Document.Teammates) > 0 {
		fmt.Fprintf(e.Err, "mates    not here   swarm up starts no teammate of swarm.yaml: swarm run does, and the line below\n")
	}
	fmt.Fprintf(e.Err, "next     swarm teammate script --team %s --name NAME -- PROGRAM\n", team)
	fmt.Fprintf(e.Err, "         swarm inbox --team %s\n", team)
}

// kept says how the keys of this machine are kept.
func (a *authority) kept() string {
	if a.owner == nil {
		return "owner sealed, other keys in plain files"
	}
	return "keys in plain files"
}

// upEvent is one line for each thing that happens at the desk.
func (e Env) upEvent(ev leader.Event) {
	text := upText(ev)
	if text == "" {
		return
	}
	handle := ev.Teammate
	if ev.RequestID != "" {
		handle = mailbox.Handle(ev.Teammate, ev.RequestID, 4)
	}
	fmt.Fprintf(e.Err, "%s %-16s %s\n", time.Now().Format(time.TimeOnly), plans.VisibleLine(handle), plans.VisibleLine(text))
}

func upText(ev leader.Event) string {
	switch ev.Kind {
	case leader.EventSubmitted:
		text := "waits for the leader"
		if ev.Row != nil {
			text += fmt.Sprintf(": %s %q", ev.Row.Kind, plans.Cut(plans.VisibleLine(ev.Row.Goal), 50))
		}
		return text
	case leader.EventDecided:
		if d := ev.Decision; d != nil {
			return fmt.Sprintf("%s by %s", d.Outcome, d.DecidedBy.Name)
		}
		if a := ev.Answer; a != nil && a.Behavior == permissions.BehaviorAllow {
			return "allowed by " + a.DecidedBy.Name
		} else if a != nil {
			return "denied by " + a.DecidedBy.Name
		}
		return "decided"
	case leader.EventEndorsed:
		text := "signed by " + ev.By
		if ev.Row != nil {
			text += fmt.Sprintf(", %d of %d", ev.Row.Have, ev.Row.Need)
		}
		return text
	case leader.EventReminded:
		return ev.Reason
	case leader.EventEscalated:
		return "handed to " + ev.By
	case leader.EventReplied:
		return "answered by " + ev.By
	case leader.EventApplied:
		return "applied"
	case leader.EventMessage:
		if ev.Message != nil {
			return fmt.Sprintf("writes %q", plans.Cut(plans.VisibleLine(ev.Message.Text), 60))
		}
	case leader.EventRefused, leader.EventOdd:
		switch {
		case ev.Receipt != nil:
			return "REFUSED: " + ev.Receipt.Reason
		case ev.Reason != "":
			return "REFUSED: " + ev.Reason
		}
		return "REFUSED"
	case leader.EventSuperseded, leader.EventWithdrawn:
		return string(ev.Kind)
	}
	return ""
}

// plainText is an error's text without the package that it begins with.
func plainText(err error) string {
	if _, rest, ok := strings.Cut(err.Error(), ": "); ok {
		return rest
	}
	return err.Error()
}

func checkTeam(team string) error {
	if err := mailbox.CheckMember(team); err != nil {
		return fail(exitUsage, "bad_name", fmt.Sprintf("team %q cannot be a team's name", plans.VisibleLine(team)), "use 1 to 63 of a-z, 0-9, _ and -")
	}
	return nil
}
