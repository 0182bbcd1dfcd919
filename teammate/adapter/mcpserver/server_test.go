package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planswarm/swarm/teammate/adapter/mcpserver"
	"github.com/planswarm/swarm/teammate/gate"
)

// caller asks the gate, as [gate.CallAnd] does.
type caller = func(ctx context.Context, verb gate.Verb, args any, hand func(gate.Answer) error) (gate.Answer, error)

// serve has a client speak to a server before a gate. stop closes the client's end, and waits for the server's.
func serve(t *testing.T, within time.Duration, call caller) (client *mcp.ClientSession, stop func()) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- mcpserver.Serve(t.Context(), mcpserver.Config{In: in, Out: out, Call: call, Within: within, Version: "1"})
		out.Close()
	}()
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	stop = func() {
		once.Do(func() {
			_ = client.Close()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("Serve = %v", err)
				}
			case <-time.After(time.Minute):
				t.Error("the server does not end with its client")
			}
		})
	}
	t.Cleanup(stop)
	return client, stop
}

// said is what a tool answers, with "refused: " before an error.
func said(t *testing.T, ctx context.Context, client *mcp.ClientSession, tool, args string) string {
	t.Helper()
	r, err := client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)})
	if err != nil {
		return "failed: " + err.Error()
	}
	if len(r.Content) != 1 {
		t.Fatalf("%s answers %+v", tool, r)
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if r.IsError {
		return "refused: " + text
	}
	return text
}

// Each tool asks the gate its verb, and says what the gate does: the result, what it is reminded of, who has written, or why
// not. Only those that change nothing are called so.
func TestEachToolAsksItsVerb(t *testing.T) {
	t.Parallel()
	answer, failure := gate.Answer{Result: json.RawMessage(`{"is":"so"}`)}, error(nil)
	var asked string
	var mu sync.Mutex // of these three: a question's caller goes on as soon as it has the answer, beside the gate
	set := func(change func()) {
		mu.Lock()
		defer mu.Unlock()
		change()
	}
	client, _ := serve(t, 0, func(_ context.Context, verb gate.Verb, args any, hand func(gate.Answer) error) (got gate.Answer, err error) {
		set(func() { asked, got, err = fmt.Sprintf("%s %+v", verb, args), answer, failure })
		if err == nil {
			err = hand(got)
		}
		return got, err
	})
	for _, c := range []struct{ tool, args, want string }{
		{"mail_send", `{"to":"lead","text":"x"}`, fmt.Sprintf("%s %+v", gate.VerbSend, gate.SendArgs{To: "lead", Text: "x"})},
		{"mail_read", `{"max":3}`, fmt.Sprintf("%s %+v", gate.VerbRecv, gate.RecvArgs{Max: 3})},
		{"ask_leader", `{"text":"which?"}`, fmt.Sprintf("%s %+v", gate.VerbAsk, gate.AskArgs{Text: "which?"})},
		{"task_list", `{}`, fmt.Sprintf("%s %v", gate.VerbTasks, nil)},
		{"task_update", `{"id":"t1","status":"done"}`, fmt.Sprintf("%s %+v", gate.VerbTask, gate.TaskArgs{ID: "t1", Status: "done"})},
		{"plan_status", `{}`, fmt.Sprintf("%s %v", gate.VerbStatus, nil)},
		{"plan_withdraw", `{}`, fmt.Sprintf("%s %v", gate.VerbWithdraw, nil)},
		{"plan_done", `{}`, fmt.Sprintf("%s %v", gate.VerbDone, nil)},
	} {
		if got := said(t, t.Context(), client, c.tool, c.args); got != `{"is":"so"}` || asked != c.want {
			t.Errorf("%s says %s, and asked %s, want %s", c.tool, got, asked, c.want)
		}
	}
	set(func() { asked = "" })
	if got := said(t, t.Context(), client, "plan_done", `{"mode":"auto"}`); !strings.HasPrefix(got, "refused: plan_done: ") || asked != "" {
		t.Errorf("what cannot be read: %s, and the gate was asked %q", got, asked)
	}
	set(func() { answer.Remind, answer.Urgent = "every task is done", "mia" })
	if got, want := said(t, t.Context(), client, "plan_status", `{}`), "{\"is\":\"so\"}\nevery task is done\nUrgent mail from mia has come: call mail_read."; got != want {
		t.Errorf("with a reminder and urgent mail: %q, want %q", got, want)
	}
	set(func() { answer.Urgent = "\xff" })
	if got, want := said(t, t.Context(), client, "plan_status", `{}`), "{\"is\":\"so\"}\nevery task is done"; got != want {
		t.Errorf("with a sender that is no text: %q, want %q", got, want)
	}
	set(func() { failure = errors.New("nothing waits") })
	if got := said(t, t.Context(), client, "plan_withdraw", `{}`); got != "refused: nothing waits" {
		t.Errorf("what the gate refuses: %q", got)
	}
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all, reading []string
	for _, tool := range list.Tools {
		all = append(all, tool.Name)
		if tool.Annotations != nil && tool.Annotations.ReadOnlyHint {
			reading = append(reading, tool.Name)
		}
	}
	if want := slices.Sorted(slices.Values(mcpserver.Names())); !slices.Equal(slices.Sorted(slices.Values(all)), want) || fmt.Sprint(slices.Sorted(slices.Values(reading))) != "[mail_read plan_status task_list]" {
		t.Errorf("the tools are %v, of which %v only read", all, reading)
	}
}

// A call that was given up meanwhile has not handed over what it was given: letters are read again.
func TestWhatIsGivenUpIsNotHandedOver(t *testing.T) {
	t.Parallel()
	begun, handed := make(chan struct{}), make(chan error, 1)
	client, _ := serve(t, 0, func(ctx context.Context, _ gate.Verb, _ any, hand func(gate.Answer) error) (gate.Answer, error) {
		close(begun)
		<-ctx.Done()
		err := hand(gate.Answer{Result: json.RawMessage(`["a letter"]`)})
		handed <- err
		return gate.Answer{}, err
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-begun; cancel() }()
	said(t, ctx, client, "mail_read", `{}`)
	select {
	case err := <-handed:
		if err == nil {
			t.Error("a letter was handed to a call that is over")
		}
	case <-time.After(time.Minute):
		t.Fatal("the call goes on at the gate")
	}
}

// asker is a gate that answers a question when the test says so.
type asker struct {
	mu     sync.Mutex
	asked  []string
	handed []error
	ended  int
	answer chan gate.Answer
}

func (a *asker) call(ctx context.Context, _ gate.Verb, args any, hand func(gate.Answer) error) (gate.Answer, error) {
	a.mu.Lock()
	a.asked = append(a.asked, args.(gate.AskArgs).Text)
	a.mu.Unlock()
	defer func() { a.mu.Lock(); a.ended++; a.mu.Unlock() }()
	select {
	case got := <-a.answer:
		if got.Exit != 0 {
			return got, errors.New("a leader has left it")
		}
		err := hand(got)
		time.Sleep(30 * time.Millisecond) // the gate hears that it was handed over
		a.mu.Lock()
		a.handed = append(a.handed, err)
		a.mu.Unlock()
		return got, err
	case <-ctx.Done():
		return gate.Answer{}, ctx.Err()
	}
}

// heard is how often the gate has heard whether an answer was handed over.
func (a *asker) heard() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.handed)
}

// A question that nobody answers within a client's patience stays open, and is not asked twice: whoever asks the same again
// gets the answer, once. There are not more than eight, and they end with the client.
func TestQuestionsStayOpen(t *testing.T) {
	t.Parallel()
	a := &asker{answer: make(chan gate.Answer)}
	client, stop := serve(t, 100*time.Millisecond, a.call)
	ask := func(text string) string {
		return said(t, t.Context(), client, "ask_leader", fmt.Sprintf(`{"text":%q}`, text))
	}
	const waiting = `{"answered":false,"waiting":true}`
	for range 3 {
		if got := ask("which?"); !strings.HasPrefix(got, waiting+"\n") {
			t.Fatalf("nobody answers: %s", got)
		}
	}
	given := func(answer gate.Answer, want string) {
		t.Helper()
		done := make(chan struct{})
		go func() { defer close(done); a.answer <- answer }()
		for end := time.Now().Add(time.Minute); ; {
			got := ask("which?")
			if got == want {
				break
			}
			if !strings.HasPrefix(got, waiting) || time.Now().After(end) {
				t.Fatalf("answered: %s, want %s", got, want)
			}
		}
		<-done
	}
	given(gate.Answer{Result: json.RawMessage(`{"text":"that"}`), Urgent: "mia"}, "{\"text\":\"that\"}\nUrgent mail from mia has come: call mail_read.")
	if got := ask("which?"); !strings.HasPrefix(got, waiting) { // it is another question now
		t.Errorf("the answer came twice: %s", got)
	}
	given(gate.Answer{Exit: 1}, "refused: a leader has left it")
	for end := time.Now().Add(time.Minute); a.heard() == 0 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	a.mu.Lock()
	if fmt.Sprint(a.asked) != "[which? which?]" || len(a.handed) != 1 || a.handed[0] != nil {
		t.Errorf("the gate was asked %v, and handed over: %v", a.asked, a.handed)
	}
	a.mu.Unlock()

	for i := range 8 {
		if got := ask(fmt.Sprint("number ", i)); !strings.HasPrefix(got, waiting) {
			t.Errorf("question %d: %s", i, got)
		}
	}
	if got := ask("number 8"); got != "refused: 8 questions are open: wait for an answer to one of them first" {
		t.Errorf("one too many: %s", got)
	}
	if got := ask("number 7"); !strings.HasPrefix(got, waiting) {
		t.Errorf("one that is open: %s", got)
	}
	a.answer <- gate.Answer{Result: json.RawMessage(`"late"`)} // which nobody asks for any more
	stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended != 10 || len(a.handed) != 2 || a.handed[1] == nil {
		t.Errorf("%d of 10 questions ended with the server, and the answers were handed over: %v", a.ended, a.handed)
	}
}

// Of two calls that wait for the same question one gets the answer, and the other is told so.
func TestTwoWaitForOneAnswer(t *testing.T) {
	t.Parallel()
	a := &asker{answer: make(chan gate.Answer)}
	client, _ := serve(t, time.Minute, a.call)
	answers, that := make(chan string, 2), gate.Answer{Result: json.RawMessage(`"that"`)}
	for try := range 30 {
		for range 2 {
			go func() { answers <- said(t, t.Context(), client, "ask_leader", `{"text":"which?"}`) }()
		}
		time.Sleep(time.Duration(try) * 20 * time.Millisecond)
		a.answer <- that
		first := <-answers
		select {
		case a.answer <- that: // the second one came too late, and asks anew
			<-answers
			continue
		case second := <-answers:
			if both := []string{first, second}; !slices.Contains(both, `"that"`) || !slices.Contains(both, "refused: another call was given the answer to this question") {
				t.Errorf("they are told %q", both)
			}
			return
		case <-time.After(time.Minute):
			t.Fatal("the second one waits on")
		}
	}
	t.Error("two calls never waited for the same question")
}
