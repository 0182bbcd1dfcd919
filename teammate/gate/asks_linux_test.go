package gate_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/gate"
)

// pending are the open requests, as anna sees them. The coordinator follows the stores, and may show one yet that was answered
// here a moment ago.
func (r *rig) pending() []natsbox.Row {
	r.t.Helper()
	rows, err := r.anna.Pending(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(rows, func(row natsbox.Row) bool { return slices.Contains(r.decided, row.EnvelopeID) })
}

// touched is how often `touch` of a file ran since the last look.
func (r *rig) touched(name string) bool {
	err := os.Remove(filepath.Join(r.tree, name))
	return err == nil
}

// Allowed for the plan: exactly this command runs again unasked, another asks, and it is over with the plan, with its
// revocation, and with new planning.
func TestAllowedForThePlan(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*rig){
		"done": func(r *rig) { r.ask(gate.VerbDone, nil).want(r.t, 0, "") },
		"revoked": func(r *rig) {
			g := r.status().Grants
			r.put("", mailbox.KindGrantRevoked, 0, planmode.GrantRevoked{OrderHead: r.head(0), Counter: 1, GrantID: g[len(g)-1].ID})
			until(r.t, "revoked", func() bool { return len(r.status().Grants) == len(g)-1 })
		},
		"planned anew": func(r *rig) {
			r.ask(gate.VerbEnter, nil).want(r.t, 0, "")
			r.ask(gate.VerbLeave, gate.LeaveArgs{}).want(r.t, 0, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, options{})
			r.works(9)
			first := r.execs("touch x")
			r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
			(<-first).want(t, 0, "")
			for range 2 {
				if !r.touched("x") {
					t.Fatal("it did not run")
				}
				r.ask(gate.VerbExec, run("touch x")).want(t, 0, "")
			}
			if g := r.status().Grants; len(g) != 2 || fmt.Sprint(g[1].Argv) != "[touch x]" || g[1].Uses != 3 {
				t.Errorf("grants are %+v, want the exact command with three uses", g)
			}
			r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "touch y"}).want(t, 12, "")
			r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "touch x y"}).want(t, 12, "")
			end(r)
			r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "touch x"}).want(t, 12, "")
		})
	}
}

// What runs under a grant for the exact command ends with the grant.
func TestRevokedCommandIsKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.works(9)
	write(t, filepath.Join(r.tree, "slow.sh"), "touch started\nsleep 60\n")
	ran := r.execs("bash slow.sh")
	r.answer(permissions.BehaviorAllow, permissions.ScopePlan)
	until(t, "it runs", func() bool { return exists(filepath.Join(r.tree, "started")) })
	r.put("", mailbox.KindGrantRevoked, 0, planmode.GrantRevoked{OrderHead: r.head(0), Counter: 1, All: true})
	s := <-ran
	s.want(t, 137, "stopped")
	if !strings.Contains(s.Error.Message, "revoked") {
		t.Errorf("it was told %q, want why", s.Error.Message)
	}
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "go test ./..."}).want(t, 12, "")
}

// Allowed once is once, also where the same command waits twice: there is one question, one of the two runs, and for the
// other it is asked again.
func TestAllowedOnceRunsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	line := "echo ran >> log"
	ran := make(chan said, 2)
	for range 2 {
		go func() { ran <- r.ask(gate.VerbExec, run(line)) }()
	}
	row := r.open()
	time.Sleep(50 * time.Millisecond) // for the second to join; it may come later, and then asks by itself
	if rows := r.pending(); len(rows) != 1 {
		t.Fatalf("%d questions about one call, want one", len(rows))
	}
	r.answer(permissions.BehaviorAllow, permissions.ScopeOnce)
	(<-ran).want(t, 0, "")
	until(t, "asked again", func() bool {
		rows := r.pending()
		return len(rows) == 1 && rows[0].EnvelopeID != row.EnvelopeID
	})
	if got := read(t, filepath.Join(r.tree, "log")); got != "ran\n" {
		t.Fatalf("the log holds %q, want one line", got)
	}
	r.answer(permissions.BehaviorDeny, "")
	(<-ran).want(t, 126, "denied")
}

// Five calls wait at most; the sixth is denied with what to do. Those of clients that go away are withdrawn.
func TestSixthCallIsDenied(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	var waiting []*process
	for n := range planmode.MaxAsks {
		p := r.newProcess()
		t.Cleanup(p.end)
		p.send(t, r.socket, gate.VerbExec, run(fmt.Sprint("touch x", n)))
		waiting = append(waiting, p)
	}
	until(t, "five questions", func() bool { return len(r.pending()) == planmode.MaxAsks })
	s := r.ask(gate.VerbExec, run("touch one-more"))
	s.want(t, 126, "too_many_asks")
	if !strings.Contains(s.Error.Message, "wait for an answer to one of them") {
		t.Errorf("it is told %q, want what to do next", s.Error.Message)
	}
	for _, p := range waiting {
		p.end()
	}
	until(t, "withdrawn", func() bool { return len(r.pending()) == 0 && len(r.status().Asks) == 0 })
}

// What waits is denied with the reason, and withdrawn, when it makes no sense any more.
func TestWhatWaitsIsWithdrawn(t *testing.T) {
	t.Parallel()
	for reason, happens := range map[string]func(*rig){
		"replanned":   func(r *rig) { r.ask(gate.VerbEnter, nil).want(r.t, 0, "") },
		"interrupted": func(r *rig) { _ = r.runner.Interrupt(context.Background()) },
		"exit": func(r *rig) {
			r.put("", mailbox.KindShutdownRequest, 0, mailbox.ShutdownRequest{OrderHead: r.head(0), Counter: 1})
		},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, options{})
			asked := r.execs("touch x")
			row := r.open()
			happens(r)
			s := <-asked
			if s.Exit != 126 || s.Error == nil || reason != "exit" && !strings.Contains(s.Error.Message, reason) {
				t.Errorf("it ended with %d, %+v, want denied because of %q", s.Exit, s.Error, reason)
			}
			until(t, "withdrawn", func() bool {
				got, err := r.anna.Request(context.Background(), row.EnvelopeID)
				return err == nil && got.Withdrawn == reason
			})
			if exists(filepath.Join(r.tree, "x")) {
				t.Error("it ran")
			}
		})
	}
}

// What no leader's word lifts is denied at once: nobody is asked.
func TestWhatNothingLiftsIsNotAsked(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	for _, line := range []string{"$x y", `eval "$x"`, "ls\u00a0-l", "swarm approve api-1234"} {
		s := r.ask(gate.VerbExec, run(line))
		s.want(t, 126, "denied")
		if rows := r.pending(); len(rows) != 0 {
			t.Fatalf("%s: the leaders are asked %+v, want nothing", line, rows[0].Permission)
		}
	}
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "$x y", Wait: true}).want(t, 11, "denied")
	if rows := r.pending(); len(rows) != 0 {
		t.Fatalf("the leaders are asked %+v, want nothing", rows)
	}
}

// What was refused is in the journal, and whoever asks is told the line; the same again within a minute is that line.
func TestRefusalsAreInTheJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{unattended: true})
	s := r.ask(gate.VerbExec, run("git push --force"))
	s.want(t, 126, "denied")
	line := result[gate.ExecResult](t, s).Line
	if line == 0 {
		t.Fatalf("refused with %s, want the line of the journal", s.Result)
	}
	if again := result[gate.ExecResult](t, r.ask(gate.VerbExec, run("git push --force"))).Line; again != line {
		t.Errorf("the same again is line %d, want %d", again, line)
	}
	edit := r.ask(gate.VerbEdit, gate.EditArgs{Path: "../out.txt", Content: []byte("x")})
	edit.want(t, 11, "outside")
	if other := result[gate.ExecResult](t, edit).Line; other != line+1 {
		t.Errorf("the refused edit is line %d, want %d", other, line+1)
	}
	raw := read(t, filepath.Join(r.dir, "journal.jsonl"))
	for _, want := range []string{`"type":"callRefused"`, "git push --force", "../out.txt"} {
		if strings.Count(raw, want) == 0 {
			t.Errorf("the journal has no %s", want)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) != 3 || r.seen[0].Line != line || r.seen[0].Ran {
		t.Errorf("observed %+v, want three refusals, the first in line %d", r.seen, line)
	}
}

func TestAskVerb(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.ask(gate.VerbAsk, gate.AskArgs{Text: " \n"}).want(t, 2, "bad_question")
	r.ask(gate.VerbAsk, gate.AskArgs{Text: "?", Options: []string{"a", "a"}}).want(t, 2, "bad_question")
	r.ask(gate.VerbAsk, gate.AskArgs{Text: "which?", TimeoutMS: 50}).want(t, 8, "pending")
	until(t, "withdrawn", func() bool { return len(r.pending()) == 0 })
	answered := make(chan said)
	go func() {
		answered <- r.ask(gate.VerbAsk, gate.AskArgs{Text: "cents or decimals?", Options: []string{"cents", "decimals"}})
	}()
	id := r.asked("cents or decimals?")
	r.reply(id, mailbox.Answer{QuestionID: id, Option: "cents", Text: "as in the ledger"})
	s := <-answered
	s.want(t, 0, "")
	want := gate.AskResult{QuestionID: id, Answered: true, Option: "cents", Text: "as in the ledger", By: "anna"}
	if got := result[gate.AskResult](t, s); got != want {
		t.Errorf("ask = %+v, want %+v", got, want)
	}
}

func TestAskVerbUnattended(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{unattended: true})
	s := r.ask(gate.VerbAsk, gate.AskArgs{Text: "cents or decimals?"})
	s.want(t, 0, "")
	if got := result[gate.AskResult](t, s); got != (gate.AskResult{Text: "nobody is here to answer: decide from what you have"}) {
		t.Errorf("ask = %+v, want that nobody is here", got)
	}
}

// asked waits for a question in the leaders' mailbox and returns its id.
func (r *rig) asked(text string) string {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	id := ""
	err := r.anna.ReceiveMail(ctx, func(_ context.Context, m natsbox.Mail) error {
		if q, err := mailbox.Body[mailbox.Question](m.Envelope); err == nil && m.Envelope.Kind == mailbox.KindQuestion && q.Text == text {
			if id = q.QuestionID; id != m.Envelope.ID {
				r.t.Errorf("question %q lies in envelope %q, want the same id", id, m.Envelope.ID)
			}
			cancel()
		}
		return nil
	})
	if id == "" {
		r.t.Fatalf("no question has come: %v", err)
	}
	return id
}

// reply answers a question as anna.
func (r *rig) reply(id string, a mailbox.Answer) {
	r.t.Helper()
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindAnswer, r.team.Name, "anna", "api", 0, time.Now(), a)
	if err != nil {
		r.t.Fatal(err)
	}
	env.InReplyTo = id
	if _, err := r.anna.Send(context.Background(), env); err != nil {
		r.t.Fatal(err)
	}
}

// The verb of the demonstration is known only where it is given.
func TestAttackVerb(t *testing.T) {
	t.Parallel()
	plain := newRig(t, options{})
	plain.ask(gate.VerbAttack, gate.AttackArgs{Name: "forge"}).want(t, 2, "unknown_verb")
	r := newRig(t, options{attack: func(_ context.Context, a gate.AttackArgs) (gate.AttackResult, error) {
		if a.Name != "forge" {
			return gate.AttackResult{}, errors.New("no such attack")
		}
		return gate.AttackResult{Refused: true, By: "teammate", Why: a.Error, Evidence: "line 7"}, nil
	}})
	s := r.ask(gate.VerbAttack, gate.AttackArgs{Name: "forge", Error: "not signed"})
	s.want(t, 0, "")
	if got := result[gate.AttackResult](t, s); !got.Refused || got.By != "teammate" || got.Why != "not signed" || got.Evidence != "line 7" {
		t.Errorf("attack = %+v", got)
	}
	r.ask(gate.VerbAttack, gate.AttackArgs{Name: "other"}).want(t, 1, "error")
	mailboxtest.Refused(t, "the demonstration's verb in another's gate", "teammate", mailboxtest.ByGate, "unknown_verb: a gate knows it where it was given")
}
