package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// guard is how long a request has stood before its prompt comes. Whatever was typed before the prompt decides nothing: it
// was meant for something else, or typed into the wrong window (UX.md D2).
const guard = 425 * time.Millisecond

// errNoInput is the end of standard input: the person has gone, and nobody is asked any more.
var errNoInput = errors.New("standard input has ended: nobody is here to decide")

// person is a leader at plain prompts, for `swarm run --interactive`. One request is shown at a time, and only a line that
// was typed after it was shown answers it.
type person struct {
	in    io.Reader
	out   io.Writer
	lines chan typed // a few: they are read as they come, so that each has its time
	turn  sync.Mutex // one question at a time

	mu     *sync.Mutex // of everything that is printed
	prompt string      // that is open; printed again after other lines
}

type typed struct {
	text string
	at   time.Time // of its first byte
	err  error
}

func newPerson(in io.Reader, out io.Writer, printing *sync.Mutex) *person {
	p := &person{in: in, out: out, lines: make(chan typed, 64), mu: printing}
	go p.read(bufio.NewReader(in)) // ends with the input, or with the process
	return p
}

// maxLine is the longest line that is read; what comes after it belongs to no line.
const maxLine = 64 << 10

func (p *person) read(in *bufio.Reader) {
	var line []byte
	var at time.Time
	for {
		c, err := in.ReadByte()
		if err != nil {
			break
		}
		if at.IsZero() {
			at = time.Now()
		}
		switch {
		case c == '\n':
			select {
			case p.lines <- typed{text: strings.TrimSpace(string(line)), at: at}:
			default: // nobody has asked for that many
			}
			line, at = line[:0], time.Time{}
		case len(line) < maxLine:
			line = append(line, c)
		}
	}
	for {
		p.lines <- typed{err: errNoInput}
	}
}

// show prints a block and the prompt after it.
func (p *person) show(text, prompt string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prompt = prompt
	fmt.Fprint(p.out, text, prompt)
	return time.Now()
}

// again prints the open prompt after a line of somebody else. The printing lock is held.
func (p *person) again() {
	if p != nil && p.prompt != "" {
		fmt.Fprint(p.out, p.prompt)
	}
}

// ask shows a block, and a moment later its prompt; then it waits for a line that was begun after the prompt. What a
// terminal still holds of an earlier line is thrown away: the Enter of an answer to one request is none to another.
func (p *person) ask(ctx context.Context, text, prompt string) (string, error) {
	defer func() {
		p.mu.Lock()
		p.prompt = ""
		p.mu.Unlock()
	}()
	p.show(text, "")
	if err := pause(ctx, guard); err != nil {
		return "", p.gone(err)
	}
	DropTyped(p.in)
	shown := p.show("", prompt)
	for {
		select {
		case l := <-p.lines:
			switch {
			case l.err != nil:
				return "", l.err
			case l.at.Before(shown):
				p.show("typed before this was shown, and not used: "+plans.Cut(plans.VisibleLine(l.text), 40)+"\n", prompt)
			case l.text == "":
				p.show("", prompt)
			default:
				return l.text, nil
			}
		case <-ctx.Done():
			return "", p.gone(context.Cause(ctx))
		}
	}
}

func (p *person) gone(cause error) error {
	p.show("\nno longer asked: replaced, withdrawn, or decided elsewhere\n", "")
	return cause
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// turnOf waits until it is this request's turn to be shown.
func (p *person) turnOf(ctx context.Context) (func(), error) {
	p.turn.Lock()
	if ctx.Err() != nil {
		p.turn.Unlock()
		return nil, context.Cause(ctx)
	}
	return p.turn.Unlock, nil
}

const (
	planWords = "a approve   a none without grants   r TEXT changes   R TEXT leave   s again\n"
	callWords = "a allow once   p allow for this plan   r TEXT deny   s show again\n"
)

// Decide implements [leader.Decider].
func (p *person) Decide(ctx context.Context, q leader.Request) (d planmode.Decision, err error) {
	err = p.settle(ctx, q, planWords, func(ch leader.Choice) (err error) {
		d, err = leader.Prepare(q.Row, ch, q.Charter, time.Now())
		return err
	})
	return d, err
}

// Answer implements [leader.Answerer].
func (p *person) Answer(ctx context.Context, q leader.Request) (a planmode.PermissionAnswer, err error) {
	err = p.settle(ctx, q, callWords, func(ch leader.Choice) (err error) {
		a, err = leader.PrepareAnswer(q.Row, ch, time.Now())
		return err
	})
	return a, err
}

// settle shows a request and reads lines until one of them is a choice that can be taken.
func (p *person) settle(ctx context.Context, q leader.Request, words string, take func(leader.Choice) error) error {
	done, err := p.turnOf(ctx)
	if err != nil {
		return err
	}
	defer done()
	again, err := shown(&q.Row)
	if err != nil {
		return err
	}
	for text := again; ; {
		line, err := p.ask(ctx, text+words, q.Row.Handle+"> ")
		if err != nil {
			return abstainOn(err)
		}
		if line == "s" || line == "?" {
			text = again
			continue
		}
		choice, err := p.choice(ctx, &q.Row, line)
		if err == nil {
			err = take(choice)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil || errors.Is(err, errNoInput):
			return abstainOn(err)
		}
		text = err.Error() + "\n"
	}
}

// Reply implements [leader.Replier].
func (p *person) Reply(ctx context.Context, q leader.Request) (mailbox.Answer, error) {
	done, err := p.turnOf(ctx)
	if err != nil {
		return mailbox.Answer{}, err
	}
	defer done()
	text, err := shown(&q.Row)
	if err != nil {
		return mailbox.Answer{}, err
	}
	line, err := p.ask(ctx, text+"type the answer; it approves nothing\n", q.Row.Handle+"> ")
	if err != nil {
		return mailbox.Answer{}, abstainOn(err)
	}
	return mailbox.Answer{QuestionID: q.Row.Question.QuestionID, Text: line}, nil
}

// abstainOn: a person who is gone decides nothing.
func abstainOn(err error) error {
	if errors.Is(err, errNoInput) {
		return fmt.Errorf("%w: %w", leader.ErrAbstain, err)
	}
	return err
}

func shown(row *leader.Row) (string, error) {
	var b strings.Builder
	b.WriteString("\n")
	err := leader.WriteShow(&b, row, leader.ShowConfig{Now: time.Now(), Prompt: true})
	return b.String(), err
}

// choice reads one line. What is HIGH risk takes the teammate's name besides.
func (p *person) choice(ctx context.Context, row *leader.Row, line string) (leader.Choice, error) {
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	var ch leader.Choice
	switch word {
	case "a", "approve", "allow":
		ch.Outcome, ch.NoGrants = planmode.OutcomeApproved, rest == "none"
		if rest != "" && !(row.IsPlan() && rest == "none") {
			return ch, fmt.Errorf("%q is not understood: type a alone", plans.Cut(plans.VisibleLine(line), 40))
		}
	case "p":
		if row.Kind != leader.RowRun {
			return ch, errors.New("p is for single commands: a, a none, r TEXT or R TEXT")
		}
		ch.Outcome, ch.Scope = planmode.OutcomeApproved, permissions.ScopePlan
	case "r", "reject", "deny":
		ch.Outcome, ch.Feedback = planmode.OutcomeRejected, rest
		if rest == "" {
			return ch, errors.New("r needs a text: say what should change")
		}
	case "R", "leave":
		ch.Outcome, ch.Feedback = planmode.OutcomeRejectedAndExit, rest
	default:
		return ch, fmt.Errorf("%q is not understood", plans.Cut(plans.VisibleLine(word), 40))
	}
	if ch.Outcome == planmode.OutcomeApproved && row.IsHigh() {
		name, err := p.ask(ctx, "HIGH risk. ", "type the teammate's name to confirm: ")
		if err != nil {
			return ch, err
		}
		if ch.Confirm = name; name != row.From {
			return ch, errors.New("that is not the teammate's name: nothing was approved")
		}
	}
	if ch.Outcome == planmode.OutcomeApproved && row.IsPlan() && len(row.Request.Options) > 1 {
		option, err := p.ask(ctx, options(row), "which approach? ")
		if err != nil {
			return ch, err
		}
		ch.Option = option
	}
	return ch, nil
}

func options(row *leader.Row) string {
	var b strings.Builder
	for i, o := range row.Request.Options {
		fmt.Fprintf(&b, "  %d  %s\n", i+1, plans.VisibleLine(o.Label+": "+o.Description))
	}
	return b.String()
}
