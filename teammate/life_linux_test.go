package teammate_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans/plandir"
	"github.com/planswarm/swarm/teammate"
)

// life is one teammate with its leader and its disk, and what is known of it by other means than its own session.
type life struct {
	*rig
	rt  *rapid.T
	m   *mate
	eye *witness

	required bool // the charter wants a plan
	counter  uint64
	asked    []natsbox.Row // whatever the leader was shown, the oldest first
	texts    int
	secret   string // a file that no plan may reach
}

// witness sees each step of the session as it is written, in the one order there is, over all restarts.
type witness struct {
	mu      sync.Mutex
	broken  error // the first promise that was broken
	last    planmode.Session
	saved   permissions.Mode                    // what must come back
	shown   map[string]planmode.ApprovalRequest // by request id
	signed  map[string]planmode.Decision        // what the leader has signed about exactly what was shown
	applied map[string]bool
}

// witnessed is a journal that a witness reads.
type witnessed struct {
	teammate.Journal
	w *witness
}

func (j witnessed) Append(ev planmode.Event, next planmode.Session, effects []planmode.Effect, at time.Time) (uint64, error) {
	seq, err := j.Journal.Append(ev, next, effects, at)
	if err == nil {
		j.w.step(ev, next)
	}
	return seq, err
}

func (w *witness) step(ev planmode.Event, next planmode.Session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.judge(ev, w.last, next); err != nil && w.broken == nil {
		w.broken = fmt.Errorf("%T from %s to %s: %w", ev, w.last.State, next.State, err)
	}
	w.last = next
}

// judge says which promise a step breaks.
func (w *witness) judge(ev planmode.Event, was, is planmode.Session) error {
	planning := is.State == planmode.Planning || is.State == planmode.AwaitingLeaderApproval
	switch {
	case planning != (is.Mode == permissions.ModePlan), planning != (is.Saved != ""):
		return fmt.Errorf("mode %s, saved %q", is.Mode, is.Saved)
	case (is.Pending != nil) != (is.State == planmode.AwaitingLeaderApproval):
		return fmt.Errorf("pending is %+v", is.Pending)
	case planning && (len(is.Grants) > 0 || is.Approved != nil):
		return fmt.Errorf("it plans, with grants %v of %v", is.Grants, is.Approved)
	}
	for _, g := range is.Grants {
		if is.Approved == nil || g.Digest != is.Approved.Digest || g.RequestID != is.Approved.RequestID {
			return fmt.Errorf("grant %+v is outside of its plan %+v", g, is.Approved)
		}
	}
	if order, ok := ev.(planmode.ModeOrdered); ok && planning && was.Mode == permissions.ModePlan && order.Mode != permissions.ModePlan {
		w.saved = order.Mode
	}
	if planning && was.Mode != permissions.ModePlan && was.State != "" {
		w.saved = was.Mode
	}
	if planning && w.saved != "" && is.Saved != w.saved {
		return fmt.Errorf("saved is %s, want %s", is.Saved, w.saved)
	}
	if was.Mode == permissions.ModePlan && is.State == planmode.Working {
		return w.out(ev, was, is)
	}
	if is.Approved != nil && was.Approved == nil {
		return fmt.Errorf("a plan is approved by the way: %+v", is.Approved)
	}
	return nil
}

// out judges a step out of plan mode.
func (w *witness) out(ev planmode.Event, was, is planmode.Session) error {
	if d, ok := ev.(planmode.Decided); ok {
		return w.decided(d.Decision, is)
	}
	by, free := was.Cycle.EnteredBy, !was.Charter.Caps.PlanRequired && was.Pending == nil
	switch ev.(type) {
	case planmode.LeaveAsked:
		free = free && by == planmode.ByAgent && is.Mode == w.saved
	case planmode.ModeObserved:
		free = free && by == planmode.ByClient
	default:
		free = false
	}
	if !free || is.Approved != nil {
		return fmt.Errorf("nobody let it out (entered by %s)", by)
	}
	return nil
}

// decided judges an applied decision against what the leader had before it, and what it signed.
func (w *witness) decided(d planmode.Decision, is planmode.Session) error {
	signed, ok := w.signed[d.RequestID]
	shown := w.shown[d.RequestID]
	content := shown.Plan.Content
	if signed.EditedPlan != nil {
		content = signed.EditedPlan
	}
	switch {
	case !ok || text(signed) != text(d):
		return fmt.Errorf("it was never signed: %s", text(d))
	case w.applied[d.RequestID]:
		return fmt.Errorf("request %s is decided twice", d.RequestID)
	case is.Mode != signed.Mode && signed.Outcome == planmode.OutcomeApproved, is.Mode.Above(signed.Mode):
		return fmt.Errorf("mode %s comes back, and the leader saw %s", is.Mode, signed.Mode)
	case (is.Approved != nil) != (signed.Outcome == planmode.OutcomeApproved && shown.Kind == planmode.AskPlan):
		return fmt.Errorf("%s approves %+v", signed.Outcome, is.Approved)
	case is.Approved != nil && is.Approved.Content != sum(content):
		return fmt.Errorf("other bytes are approved than %q", content)
	case len(is.Grants) != len(signed.Grants):
		return fmt.Errorf("grants %v, want %v", is.Grants, signed.Grants)
	}
	w.applied[d.RequestID] = true
	return nil
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func sum(content []byte) string {
	h := sha256.Sum256(content)
	return hex.EncodeToString(h[:])
}

func (l *life) start() {
	l.m = l.rig.start(func(c *teammate.Config) { c.Journal = witnessed{c.Journal, l.eye} })
}

// restart is a crash between two moments, whatever was on its way.
func (l *life) restart() {
	folder := filepath.Dir(l.m.store.WorkFile())
	l.m.end(teammate.ErrDetach)
	if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
		if s, err := plandir.Open(l.dir); err == nil || !strings.Contains(err.Error(), "is a link: replace it by a folder") {
			l.rt.Fatalf("a plan folder that is a link is opened: %v, %v", s, err)
		}
		l.back(folder)
	}
	l.start()
}

// plan writes a text that was never there before.
func (l *life) plan() string {
	l.texts++
	return fmt.Sprintf("# Plan %d\n\n- [ ] change `a%d.go`\n", l.texts, l.texts)
}

// disk is somebody with a shell in the plan folder.
func (l *life) disk() {
	file := l.m.store.WorkFile()
	folder := filepath.Dir(file)
	what := rapid.SampledFrom([]string{"write", "write", "remove", "link", "folder", "blank", "swap", "swap", "gone"}).Draw(l.rt, "disk")
	if info, err := os.Lstat(folder); err == nil && !info.IsDir() && what != "gone" {
		what = "write" // with a folder of its own: this shell does not write through the link either
	}
	switch what {
	case "write":
		l.write()
	case "remove":
		_ = os.RemoveAll(file)
	case "link":
		_ = os.RemoveAll(file)
		_ = os.Symlink(l.secret, file)
	case "folder":
		_ = os.RemoveAll(file)
		_ = os.Mkdir(file, 0o700)
	case "blank":
		if os.RemoveAll(file) == nil {
			_ = os.WriteFile(file, []byte(" \n"), 0o600)
		}
	case "swap": // the folder is a link to the one with the secret, and something there has the plan file's name
		write(l.t, filepath.Join(filepath.Dir(l.secret), filepath.Base(file)), "SECRET")
		if os.Rename(folder, folder+".away") == nil && os.Symlink(filepath.Dir(l.secret), folder) == nil {
			if p, err := l.m.Submit(context.Background(), teammate.Submission{}); err == nil {
				l.rt.Fatalf("a plan is read through a link: %+v", p)
			}
		}
	case "gone":
		_ = os.RemoveAll(folder)
	}
}

// write puts a plan into its place, whatever is there.
func (l *life) write() {
	file := l.m.store.WorkFile()
	l.back(filepath.Dir(file))
	_ = os.RemoveAll(file)
	write(l.t, file, l.plan())
}

// back puts a folder in the place of a link or of nothing.
func (l *life) back(folder string) {
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		_ = os.Remove(folder)
		_ = os.RemoveAll(folder + ".away")
		_ = os.MkdirAll(folder, 0o700)
	}
}

// agent is what the client does. It may be refused: what counts is what became of it.
func (l *life) agent() {
	ctx := context.Background()
	what := rapid.SampledFrom([]string{"enter", "plans", "plans", "plans", "plans", "submit", "submit", "leave", "withdraw", "interrupt", "done", "shift-tab", "drift"}).Draw(l.rt, "agent")
	switch what {
	case "enter":
		_ = l.m.Enter(ctx, planmode.ByAgent)
	case "plans", "submit":
		if what == "plans" {
			_ = l.m.Enter(ctx, planmode.ByAgent)
			l.write()
		}
		var in teammate.Submission
		if rapid.Bool().Draw(l.rt, "asks") {
			in.Prompts = []string{"run tests"}
		}
		_, _ = l.m.Submit(ctx, in)
	case "leave":
		_ = l.m.Leave(ctx, "nothing to do")
	case "withdraw":
		_ = l.m.Withdraw(ctx)
	case "interrupt":
		_ = l.m.Interrupt(ctx)
	case "done":
		_ = l.m.Done(ctx)
	case "shift-tab":
		_ = l.m.Observed(permissions.ModePlan)
	case "drift":
		if v, ok := l.m.View(); ok && v.Mode == permissions.ModePlan {
			_ = l.m.Observed(v.Saved)
		}
	}
}

// leader reads what is open and decides about it, or about something that was.
func (l *life) leader() {
	if rapid.IntRange(0, 4).Draw(l.rt, "stale") == 0 && len(l.asked) > 0 {
		l.decides(l.asked[rapid.IntRange(0, len(l.asked)-1).Draw(l.rt, "which")], false)
		return
	}
	rows := l.pending()
	if len(rows) == 0 {
		return
	}
	row, saved := l.request(rows[0].EnvelopeID), permissions.Mode("")
	until(l.t, "the mode that comes back", func() bool {
		l.eye.mu.Lock()
		saved = l.eye.saved
		l.eye.mu.Unlock()
		row = l.request(row.EnvelopeID)
		return row.KnownMode == saved || row.Withdrawn != ""
	})
	q := row.Request
	if strings.Contains(string(q.Plan.Content), "SECRET") {
		l.rt.Fatalf("a leader is shown what the plan file never was: %q", q.Plan.Content)
	}
	l.eye.mu.Lock()
	l.eye.shown[row.EnvelopeID] = *q
	l.eye.mu.Unlock()
	l.asked = append(l.asked, row)
	l.decides(row, true)
}

// pending is what waits. Of one teammate that is one request at most, when its mail has come, and the one that it knows to
// be stored.
func (l *life) pending() (rows []natsbox.Row) {
	until(l.t, "one open request at most", func() bool {
		v, ok := l.m.View()
		var err error
		if rows, err = l.anna.Pending(context.Background()); err != nil {
			l.t.Fatal(err)
		}
		if ok && v.Pending != nil && v.Pending.Published {
			return len(rows) == 1 && rows[0].EnvelopeID == v.Pending.RequestID
		}
		return len(rows) <= 1
	})
	return rows
}

func (l *life) decides(row natsbox.Row, first bool) {
	d := l.approval(row)
	honest, key := true, "anna"
	switch rapid.SampledFrom([]string{"approve", "approve", "edit", "reject", "exit", "forge", "other bytes", "wider"}).Draw(l.rt, "decision") {
	case "edit":
		if row.Request.Kind == planmode.AskPlan {
			d.EditedPlan, d.PlanWasEdited = []byte(l.plan()+"as anna wants it\n"), true
			in := planmode.NewCheck(*row.Request, "api", row.Epoch, l.team.Charter())
			in.Decision = d
			d.ApprovedDigest, _ = in.ApprovedDigest()
		}
	case "reject":
		d = l.rejection(row, "no")
	case "exit":
		d.Outcome, d.Approved, d.Grants, d.Feedback = planmode.OutcomeRejectedAndExit, false, nil, "no"
	case "forge":
		honest, key = false, "api"
	case "other bytes":
		honest, d.PlanDigest = false, strings.Repeat("0", 64)
	case "wider":
		honest, d.Mode = false, permissions.ModeBypass
	}
	if row.Request.Kind == planmode.AskLeave {
		d.Grants = nil
	}
	if honest && first {
		l.eye.mu.Lock()
		if _, ok := l.eye.signed[d.RequestID]; !ok {
			l.eye.signed[d.RequestID] = d
		}
		l.eye.mu.Unlock()
	}
	subject := mailbox.DecisionSubject(l.team.Name, "api", d.RequestID)
	payload, sig := l.sign(l.team.Key(key), "anna", subject, mailbox.KindPlanApprovalResponse, d.Epoch, d)
	_, err := l.anna.PutDecision(context.Background(), "api", d.RequestID, payload, []string{sig})
	var lost *natsbox.AlreadyDecided
	if err != nil && !errors.As(err, &lost) {
		l.rt.Fatalf("PutDecision: %v", err)
	}
	if rapid.Bool().Draw(l.rt, "is awaited") && err == nil && first {
		until(l.t, "an answer to "+d.RequestID, func() bool {
			v, ok := l.m.View()
			return ok && (v.Pending == nil || v.Pending.RequestID != d.RequestID)
		})
	}
}

// order is a leader's order of a mode, which is in force when it is answered.
func (l *life) order() {
	l.counter++
	mode := rapid.SampledFrom([]permissions.Mode{permissions.ModeDefault, permissions.ModeAcceptEdits, permissions.ModeAuto, permissions.ModePlan}).Draw(l.rt, "mode")
	if rec := l.receipt(l.modeOrder(mode, l.counter)); rec.State != mailbox.Applied {
		l.rt.Fatalf("order of mode %s: %+v", mode, rec)
	}
}

// gate tries commands: what writes is never allowed in plan mode, and tests run only under a grant of the plan.
func (l *life) gate() {
	v, ok := l.m.View()
	if !ok {
		return
	}
	tests := l.m.Decide(v, permissions.Call{Tool: "Bash", Command: "go test ./..."})
	if planning := v.Mode == permissions.ModePlan; tests.Verdict == permissions.Allow && (planning || v.Approved == nil || len(v.Grants) == 0) {
		l.rt.Fatalf("go test ./... is allowed in %s with %v of %v", v.Mode, v.Grants, v.Approved)
	}
	if d := l.m.Decide(v, permissions.Call{Tool: "Bash", Command: "touch x"}); d.Verdict == permissions.Allow && v.Mode == permissions.ModePlan {
		l.rt.Fatal("touch x is allowed in plan mode")
	}
}

// holds is what is true after every step.
func (l *life) holds() {
	l.eye.mu.Lock()
	broken := l.eye.broken
	l.eye.mu.Unlock()
	if broken != nil {
		l.rt.Fatal(broken)
	}
	entries, err := os.ReadDir(filepath.Dir(l.secret))
	if err != nil || len(entries) == 0 {
		l.rt.Fatalf("what no plan reaches: %v, %v", entries, err)
	}
	for _, e := range entries {
		if got := read(l.t, filepath.Join(filepath.Dir(l.secret), e.Name())); got != "SECRET" {
			l.rt.Fatalf("what no plan reaches holds %q in %s", got, e.Name())
		}
	}
	for _, e := range l.m.agent.all() { // a client that was stopped in earnest would be another story
		if strings.HasPrefix(e, "stop it cannot") {
			l.rt.Fatal(e)
		}
	}
}

func newLife(t testing.TB, rt *rapid.T) *life {
	required := rapid.Bool().Draw(rt, "a plan is required")
	l := &life{
		rig: newRig(t, mailboxtest.Caps(charter.Caps{Mode: permissions.ModeAuto, PlanRequired: required})), rt: rt, required: required,
		secret: filepath.Join(t.TempDir(), "secret.md"),
		eye:    &witness{shown: map[string]planmode.ApprovalRequest{}, signed: map[string]planmode.Decision{}, applied: map[string]bool{}},
	}
	write(t, l.secret, "SECRET")
	l.start()
	return l
}

// lives is how many lives are lived: go test ./teammate -run Whatever -rapid.checks=100 lives more.
func lives(t *testing.T) {
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		if err := flag.Set("rapid.checks", "12"); err != nil {
			t.Fatal(err)
		}
		_ = flag.Set("rapid.shrinktime", "1ms") // what is drawn does not say when things come: smaller lives are other lives
		t.Cleanup(func() { _, _ = flag.Set("rapid.checks", f.DefValue), flag.Set("rapid.shrinktime", "30s") })
	}
}

// Whatever agent, leader, restarts, interrupts and the disk do, in whatever order: only a signed decision on exactly the
// shown bytes approves, the mode that was there comes back, grants live in their plan alone, one request is open, and
// nothing outside of the plan folder is read or written.
func TestWhateverHappens(t *testing.T) {
	lives(t)
	ends := map[planmode.State]int{}
	approved := 0
	rapid.Check(t, func(rt *rapid.T) {
		l := newLife(t, rt)
		defer func() {
			l.m.end(teammate.ErrDetach)
			l.anna.Close()
			l.team.Stop()
		}()
		do := map[string]func(){"agent": l.agent, "leader": l.leader, "disk": l.disk, "order": l.order, "gate": l.gate, "restart": l.restart}
		kinds := []string{"agent", "agent", "agent", "leader", "leader", "leader", "disk", "gate", "order", "restart"}
		for _, kind := range rapid.SliceOfN(rapid.SampledFrom(kinds), 20, 40).Draw(rt, "steps") {
			do[kind]()
			l.holds()
		}
		l.eye.mu.Lock()
		ends[l.eye.last.State]++
		approved += len(l.eye.applied)
		l.eye.mu.Unlock()
	})
	if approved == 0 && !t.Failed() {
		t.Error("nothing was ever approved: these lives prove nothing")
	}
	t.Logf("ended in %v, %d approvals", ends, approved)
}
