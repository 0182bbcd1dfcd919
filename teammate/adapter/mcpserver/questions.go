package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planswarm/swarm/teammate/gate"
)

// maxQuestions is how many may be open at once: the gate has fewer.
const maxQuestions = 8

// questions are those that nobody has answered yet, by what they ask. Each has one goroutine, which waits at the gate, and
// gives the answer to whichever call asks for it first.
type questions struct {
	cfg     Config
	ctx     context.Context // the server's
	running sync.WaitGroup

	mu   sync.Mutex
	open map[string]chan reply
}

// reply is what came of a question.
type reply struct {
	gate.Answer
	err error
}

func (q *questions) wait() { q.running.Wait() }

// ask waits for the answer to a question, which may be open already, and within a client's patience.
func (q *questions) ask(ctx context.Context, a gate.AskArgs) *mcp.CallToolResult {
	key, answer, err := q.join(a)
	if err != nil {
		return failed(err)
	}
	within := time.NewTimer(q.cfg.Within)
	defer within.Stop()
	select {
	case r, ok := <-answer:
		q.over(key, answer) // before this call ends: who asks the same again asks anew
		switch {
		case !ok:
			return failed(errors.New("another call was given the answer to this question"))
		case r.err != nil:
			return failed(r.err)
		}
		return text(told(r.Answer))
	case <-within.C:
	case <-ctx.Done():
	}
	return text(`{"answered":false,"waiting":true}` + "\nNobody has answered yet, and the question stays open. Do what does not depend on it, and call ask_leader again with the same text.")
}

// join opens a question, or finds the open one.
func (q *questions) join(a gate.AskArgs) (key string, answer chan reply, err error) {
	text, err := json.Marshal(a)
	if err != nil {
		return "", nil, err
	}
	key = string(text)
	q.mu.Lock()
	defer q.mu.Unlock()
	if answer := q.open[key]; answer != nil {
		return key, answer, nil
	}
	if len(q.open) >= maxQuestions {
		return "", nil, fmt.Errorf("%d questions are open: wait for an answer to one of them first", len(q.open))
	}
	answer = make(chan reply)
	q.open[key] = answer
	q.running.Go(func() { q.at(key, a, answer) })
	return key, answer, nil
}

// over forgets a question that is open no more, where none with the same words was opened since.
func (q *questions) over(key string, answer chan reply) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[key] == answer {
		delete(q.open, key)
	}
}

// at waits at the gate. The answer counts as handed over when a call has taken it.
func (q *questions) at(key string, a gate.AskArgs, answer chan reply) {
	give := func(r reply) error {
		select {
		case answer <- r:
			return nil
		case <-q.ctx.Done():
			return context.Cause(q.ctx)
		}
	}
	_, err := q.cfg.Call(q.ctx, gate.VerbAsk, a, func(r gate.Answer) error { return give(reply{Answer: r}) })
	if err != nil && q.ctx.Err() == nil {
		_ = give(reply{err: err}) // the server ends
	}
	q.over(key, answer)
	close(answer) // for a second call that waits for the same
}
