package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/cmd/swarm/internal/report"
	"github.com/planswarm/swarm/cmd/swarm/internal/supervise"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/leader/policy"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/plans"
)

// RunOptions adjusts [Run].
type RunOptions struct {
	Report      string // file for the JSON report; empty: none
	Keep        bool   // keep the working copies
	Trust       string // digest of what may run although this person has not trusted it here
	Interactive bool   // a person decides at the terminal, instead of the policy
}

// keepRuns is how many runs of a team are kept on disk.
const keepRuns = 20

// Run runs the team of a document to its end and returns its exit code. Every key of it is made in memory.
func Run(ctx context.Context, e Env, o RunOptions) (int, error) {
	if err := execute.Harden(); err != nil {
		return 0, err
	}
	if len(e.Document.Teammates) == 0 {
		return 0, ConfigError([]config.Problem{{File: e.Document.Path, Message: "there are no teammates to run", Suggestion: "add teammates:"}})
	}
	if text := widerCaps(e.Settings.Caps, e.Document); text != "" {
		fmt.Fprintln(e.Err, "swarm: "+text)
	}
	if err := checkTrust(e, o.Trust); err != nil {
		return 0, err
	}
	if err := checkModes(e); err != nil {
		return 0, err
	}
	own, err := e.Own()
	if err != nil {
		return 0, err
	}
	r := &run{env: e, own: own, options: o, id: time.Now().UTC().Format("20060102-150405") + "-" + natsbox.NewID()[24:], begin: time.Now()}
	defer r.close()
	if err := r.prepare(); err != nil {
		return 0, err
	}
	return r.run(ctx)
}

// checkModes refuses what the runners would refuse one by one, before anything is started.
func checkModes(e Env) error {
	limit := capsOf(e.Settings.Caps, e.Document).Mode
	for _, t := range e.Document.Teammates {
		if t.Mode.Above(limit) {
			return fail(exitUsage, "above_cap", fmt.Sprintf("mode %q of teammate %s is above this team's cap %q", t.Mode, t.Name, limit),
				"choose a narrower mode, or raise caps.mode in your own configuration and in swarm.yaml")
		}
	}
	return nil
}

// run is one run: a team of its own, with keys in memory, a state folder, and a copy of the project for each teammate.
type run struct {
	env       Env
	own       config.Own // read once, as the document is
	options   RunOptions
	id        string
	begin     time.Time
	state     state
	trees     string // temporary folder with the copies
	authority *authority
	seeds     map[string]string // by teammate
	hub       *hub
	collector *report.Collector
	printing  sync.Mutex
	person    *person       // with Interactive
	signer    leader.Signer // of the person
}

func (r *run) prepare() (err error) {
	team := r.env.Document.Team
	r.state = state{dir: r.env.state(team).path("runs", r.id)}
	if err := os.MkdirAll(r.state.dir, 0o700); err != nil {
		return fail(exitError, "not_writable", fmt.Sprintf("the state folder cannot be made (%v)", err), "choose another with --state")
	}
	prune(r.env.state(team).path("runs"), r.id)
	if r.trees, err = os.MkdirTemp("", "swarm-run-"); err != nil {
		return err
	}
	if r.trees, err = filepath.EvalSymlinks(r.trees); err != nil {
		return err
	}
	from := filepath.Dir(r.env.Document.Path)
	for _, t := range r.env.Document.Teammates {
		if err := os.CopyFS(filepath.Join(r.trees, t.Name), os.DirFS(from)); err != nil {
			return fmt.Errorf("copy %s for %s: %w", from, t.Name, err)
		}
	}
	return r.found()
}

// found makes the run's team: owner, policy and a key for each teammate, all in memory.
func (r *run) found() error {
	a := &authority{}
	for _, kp := range []*nkeys.KeyPair{&a.owner, &a.enrol, &a.policy} {
		var err error
		if *kp, _, err = newKey(); err != nil {
			return err
		}
	}
	members := []charter.Member{{Name: policyName, Role: charter.RoleLeader, Kind: charter.KindPolicy, Key: publicKey(a.policy), Assurance: charter.Memory}}
	if r.options.Interactive {
		m, err := r.lead()
		if err != nil {
			return err
		}
		members = append(members, m)
	}
	r.seeds = map[string]string{}
	for _, t := range r.env.Document.Teammates {
		kp, seed, err := newKey()
		if err != nil {
			return err
		}
		r.seeds[t.Name] = seed
		members = append(members, charter.Member{Name: t.Name, Role: charter.RoleTeammate, Kind: charter.KindAgent, Key: publicKey(kp), Assurance: charter.Memory})
	}
	a.opened = charter.New(r.env.Document.Team, publicKey(a.owner), members, capsOf(r.env.Settings.Caps, r.env.Document), publicKey(a.enrol))
	termsOf(r.env.Settings, r.env.Document).into(&a.opened)
	signed, err := charter.Sign(a.owner, a.opened)
	a.charter, r.authority = signed, a
	return err
}

// lead makes the person who decides: a key in memory, and prompts on this terminal.
func (r *run) lead() (charter.Member, error) {
	name, err := personName(r.env.Settings.As)
	if err != nil {
		return charter.Member{}, err
	}
	if slices.ContainsFunc(r.env.Document.Teammates, func(t config.Teammate) bool { return t.Name == name }) || name == policyName {
		return charter.Member{}, fail(exitUsage, "bad_name", fmt.Sprintf("you cannot be %q: that is another member's name", name), "choose another with --as")
	}
	key, _, err := newKey()
	if err != nil {
		return charter.Member{}, err
	}
	m := charter.Member{Name: name, Role: charter.RoleLeader, Kind: charter.KindPerson, Key: publicKey(key), Assurance: charter.Memory}
	r.signer = leader.Signer{Key: key, Member: m, Via: "prompt"}
	r.person = newPerson(r.env.In, r.env.Err, &r.printing)
	return m, nil
}

// seats are who decides: nil is the policy.
func (r *run) seats() []leader.Seat {
	if r.person == nil {
		return nil
	}
	return []leader.Seat{{Decider: r.person, Signer: r.signer}}
}

func (r *run) run(ctx context.Context) (int, error) {
	doc := r.env.Document
	names := make([]string, len(doc.Teammates))
	for i, t := range doc.Teammates {
		names[i] = t.Name
	}
	r.greet(doc.Team, len(names))
	r.collector = report.NewCollector(doc.Team, names, "script", layoutOfRun(r.authority.opened.Members), r.begin, r.line)
	r.expect()
	for _, line := range ownLines(r.own) {
		r.collector.Say(report.Line{Who: "rules", Word: "read", Text: line})
	}
	for _, line := range proposedHooks(doc) {
		r.collector.Say(report.Line{Who: "events", Word: "not told", Text: line})
	}
	var err error
	r.hub, err = startHub(ctx, hubConfig{
		store: r.state.path("jetstream"), team: doc.Team, authority: r.authority, rules: doc.Policy, seats: r.seats(), unattended: true,
		listen: "127.0.0.1:0", onEvent: r.collector.Desk, log: r.logger(), tables: r.own.Tables, deadlines: deadlinesOf(r.env),
	})
	if err != nil {
		return 0, err
	}
	r.collector.Say(report.Line{Who: "broker", Word: "ready", Text: "inside this process, " + strings.TrimPrefix(r.hub.server.URL(), "nats://") + ", state on disk"})
	r.collector.Say(report.Line{Who: "team", Word: "ready", Text: strings.Join(append([]string{"lead"}, names...), ", ") + "; each has its own key"})
	ended, err := r.supervise(ctx)
	if err != nil {
		return 0, err
	}
	code, err := r.finish(ended, ctx.Err() != nil)
	if ctx.Err() != nil { // what there is of a report has been written
		return 0, context.Cause(ctx)
	}
	return code, err
}

func (r *run) copyFate() string {
	if r.options.Keep {
		return " in " + r.trees
	}
	return ", removed at the end"
}

func (r *run) supervise(ctx context.Context) ([]report.Ended, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	members := make([]supervise.Member, 0, len(r.env.Document.Teammates))
	for _, t := range r.env.Document.Teammates {
		m, err := r.member(t)
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	out := supervise.Run(ctx, exe, members, 0, func(name string, line []byte) {
		var ev report.RunnerEvent
		if err := json.Unmarshal(line, &ev); err == nil {
			r.collector.Runner(name, ev)
		}
	})
	ended := make([]report.Ended, len(out))
	for i, o := range out {
		ended[i] = report.Ended{Name: o.Name, Status: o.Status, Err: o.Err}
		if o.Err != nil && ctx.Err() == nil {
			fmt.Fprintf(r.env.Err, "swarm: %v\n", o.Err)
		}
	}
	return ended, nil
}

// planning is how a teammate of the run plans. Its agent is a script.
func (r *run) planning(name string) config.Planning {
	p := r.env.Document.PlanningOf(name)
	p.Guidance = r.env.Document.GuidanceOf(name, "script", "")
	return p.Or(r.env.Settings.DefaultsOf(name))
}

// member is how one teammate's runner is started: its key goes through a pipe, never through argv or the environment.
func (r *run) member(t config.Teammate) (supervise.Member, error) {
	own := filesOf(r.own)
	own.Trusted = t.TrustMCP // the document is trusted, or the run would not have begun
	line, err := json.Marshal(supervised{
		Bundle: Bundle{
			V: version, Team: r.env.Document.Team, Me: t.Name, Role: charter.RoleTeammate, Kind: charter.KindAgent,
			Seed: r.seeds[t.Name], OwnerKey: publicKey(r.authority.owner), Servers: []string{r.hub.server.URL()},
		},
		State: r.state.dir, RunID: r.id, Own: own, Planning: r.planning(t.Name),
	})
	if err != nil {
		return supervise.Member{}, err
	}
	tree := filepath.Join(r.trees, t.Name)
	args := []string{
		"teammate", "script", "--supervised", "--name", t.Name, "--mode", string(t.Mode), "--tree", tree,
		"--state", r.env.Settings.State,
	}
	if !r.options.Interactive && !policyAnswers(r.env.Document.Policy) {
		args = append(args, "--unattended")
	}
	for _, p := range t.AllowedPrompts {
		args = append(args, "--allow-prompt", p)
	}
	if t.Expect == report.ExpectRefused {
		args = append(args, "--rogue")
	}
	return supervise.Member{
		Name: t.Name, Args: append(append(args, "--"), t.Run...), Bundle: line, Dir: tree, Env: os.Environ(), Stderr: r.errors(t.Name),
	}, nil
}

// errors is where a runner's own complaints go: to the person, with its name, made visible.
func (r *run) errors(name string) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		r.printing.Lock()
		defer r.printing.Unlock()
		for line := range strings.Lines(string(p)) {
			fmt.Fprintf(r.env.Err, "%s: %s\n", name, plans.VisibleLine(strings.TrimRight(line, "\n")))
		}
		return len(p), nil
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (r *run) finish(ended []report.Ended, interrupted bool) (int, error) {
	rep := r.collector.Finish(ended, time.Now())
	rep.Policies = policyDocs(r.own)
	if interrupted {
		rep.ExitCode = exitInterrupted
	}
	if r.options.Report != "" {
		if err := writeReport(r.options.Report, rep); err != nil {
			return 0, fail(exitError, "report", fmt.Sprintf("the report could not be written (%v)", err), "the run itself ended with exit "+fmt.Sprint(rep.ExitCode))
		}
	}
	_ = writeJSON(r.state.path("report.json"), rep) // a copy for later; the run is what it is
	r.failures(rep)
	r.say("\n")
	if r.env.JSON {
		return rep.ExitCode, json.NewEncoder(r.env.Out).Encode(rep)
	}
	return rep.ExitCode, rep.WriteTable(r.env.Out, r.next()...)
}

// writeReport makes no folders: a path that is mistyped is an error.
func writeReport(path string, rep report.Report) error {
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err
	}
	return writeJSON(path, rep)
}

// failures shows the end of the log of each program that failed.
func (r *run) failures(rep report.Report) {
	for _, t := range rep.Teammates {
		if t.ExitStatus == 0 {
			continue
		}
		path := r.state.path("teammates", t.Name, "agent.log")
		data, err := os.ReadFile(path)
		if err != nil || len(data) == 0 {
			continue
		}
		lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
		fmt.Fprintf(r.env.Err, "\nlast lines of %s (%s):\n", t.Name, path)
		for _, l := range lines[max(0, len(lines)-8):] {
			fmt.Fprintf(r.env.Err, "  %s\n", plans.VisibleLine(l))
		}
	}
}

// line prints one line of the account, with the time since the start.
func (r *run) line(l report.Line) {
	r.say("%4.1fs %-8s %-10s %s\n", time.Since(r.begin).Seconds(), l.Who, l.Word, l.Text)
}

func (r *run) say(format string, args ...any) {
	r.printing.Lock()
	defer r.printing.Unlock()
	if r.person != nil && r.person.prompt != "" {
		fmt.Fprintln(r.env.Err)
	}
	fmt.Fprintf(r.env.Err, format, args...)
	r.person.again()
}

func (r *run) close() {
	if r.hub != nil {
		r.hub.close()
	}
	if r.trees != "" && !r.options.Keep {
		_ = filepath.WalkDir(r.trees, func(path string, d os.DirEntry, err error) error { // a test may have made folders read-only
			if err == nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		if err := os.RemoveAll(r.trees); err != nil {
			fmt.Fprintf(r.env.Err, "swarm: the copies in %s could not be removed: %v\n", r.trees, err)
		}
	}
}

// prune removes the oldest runs, so that keepRuns remain. Names begin with the time.
func prune(dir, current string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries[:max(0, len(entries)-keepRuns)] {
		if e.Name() != current {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // next time, if not now
		}
	}
}

func countOf(n int, noun string) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	number := fmt.Sprint(n)
	if n < len(words) {
		number = words[n]
	}
	if n == 1 {
		return number + " " + noun
	}
	return number + " " + noun + "s"
}

// policyAnswers reports whether the policy has a rule about single calls: then it can be asked, and an ask is no denial.
func policyAnswers(rules []policy.Rule) bool {
	return slices.ContainsFunc(rules, func(r policy.Rule) bool { return r.On == policy.OnPermission })
}
