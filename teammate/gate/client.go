package gate

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/planswarm/swarm/plans"
)

// checkWait is how long a call may be judged before the client denies by itself.
const checkWait = 10 * time.Second

// maxLine is the longest line of an answer that is read.
const maxLine = 32 << 20

// Streams is where a command's output goes. Nil drops it.
type Streams struct {
	Stdout, Stderr io.Writer
}

// Answer is how a verb ended: the exit code of the program that asked, and the verb's result as JSON. Urgent names who has
// written urgent mail that the agent has not read, Remind is what it is told again about plan mode.
type Answer struct {
	Exit   int
	Result json.RawMessage
	Urgent string
	Remind string
}

// Call asks the gate behind a socket one thing and waits for the answer. The error is an [*Error] with the exit code that
// the program ends with: whatever is in doubt, with the socket, with who answers, or with the answer, is 11 (denied) for
// a check, 126 for an exec, and 4 otherwise. Answer.Result may be set besides an error.
func Call(ctx context.Context, socket string, verb Verb, args any, s Streams) (Answer, error) {
	return CallAnd(ctx, socket, verb, args, s, func(Answer) error { return nil })
}

// CallAnd is [Call] with what is done with the answer: only when hand returns nil does the gate hold what was asked for as
// handed over. Where the gate's answer is an error, hand is not called.
func CallAnd(ctx context.Context, socket string, verb Verb, args any, s Streams, hand func(Answer) error) (Answer, error) {
	if a, ok := args.(CheckArgs); ok && !a.Wait {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, checkWait)
		defer cancel()
	}
	c, err := Dial(ctx, socket)
	if err != nil {
		e := doubt(verb, err)
		e.Message = strings.Replace(e.Message, "answers: ", "answers at "+plans.VisibleLine(socket)+": ", 1)
		return Answer{}, e
	}
	defer c.Close()
	a, err := c.Do(ctx, verb, args, s)
	if err == nil {
		err = hand(a)
	}
	if err == nil {
		_, _ = c.conn.Write([]byte("\n")) // a gate that is gone asks nobody
	}
	return a, err
}

// doubtful is the exit code of a program whose gate cannot be believed, or does not serve it.
func doubtful(verb Verb) int {
	switch verb {
	case VerbCheck:
		return exitDenied
	case VerbExec:
		return exitRefusedRun
	}
	return exitAuth
}

// doubt is the error of a gate that cannot be believed.
func doubt(verb Verb, err error) *Error {
	exit := doubtful(verb)
	message := packageName.ReplaceAllString(err.Error(), "")
	return &Error{Exit: exit, Code: "no_gate", Message: "no gate of this teammate answers: " + message, Next: "nothing is allowed without one"}
}

// Client is a connection to a gate that was found to be the one of an ancestor of this process.
type Client struct {
	conn *net.UnixConn
}

// Dial connects to a gate and verifies it: the socket is ours, in a folder that is ours, closed to others and no link, and
// the process that listens is of our user and an ancestor of this one. Any doubt is an error, and the caller denies.
func Dial(ctx context.Context, socket string) (*Client, error) {
	if !filepath.IsAbs(socket) {
		return nil, fmt.Errorf("gate: socket path %q is not absolute", socket)
	}
	if err := checkFolder(filepath.Dir(socket)); err != nil {
		return nil, err
	}
	if err := checkSocket(socket); err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("gate: %w", err)
	}
	c := conn.(*net.UnixConn)
	if err := checkServer(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &Client{conn: c}, nil
}

// Close ends the connection, and with it whatever still waits behind it.
func (c *Client) Close() { _ = c.conn.Close() }

// Do sends the connection's one request. See [Call].
func (c *Client) Do(ctx context.Context, verb Verb, args any, s Streams) (Answer, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Now()) })
	defer stop()
	sent := c.send(verb, args) // who is refused may have its answer before it has sent
	l, err := c.receive(s)
	if err != nil {
		return Answer{}, c.failed(ctx, verb, errors.Join(sent, err))
	}
	a := Answer{Exit: *l.Exit, Result: l.Result, Urgent: l.Urgent, Remind: l.Remind}
	if l.Error != nil && l.Error.Code == codeNotOurs {
		a.Exit = doubtful(verb)
	}
	if l.Error != nil {
		l.Error.Exit = a.Exit
		return a, l.Error
	}
	return a, nil
}

// failed is a gate that did not answer to the end. A client's own end of ctx is that.
func (c *Client) failed(ctx context.Context, verb Verb, err error) error {
	if ctx.Err() != nil && verb != VerbCheck {
		return context.Cause(ctx)
	}
	return doubt(verb, err)
}

func (c *Client) send(verb Verb, args any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	if args == nil {
		raw = nil
	}
	cwd, err := os.Getwd()
	if err != nil {
		cwd = "" // what depends on it is asked
	}
	return json.NewEncoder(c.conn).Encode(Request{V: Version, Verb: verb, Args: raw, Cwd: cwd})
}

// receive hands output on as it comes, and returns the last line.
func (c *Client) receive(s Streams) (line, error) {
	in := bufio.NewReaderSize(io.LimitReader(c.conn, 1<<62), 64<<10)
	for {
		raw, err := readLine(in)
		if err != nil {
			return line{}, fmt.Errorf("the answer has no end: %w", err)
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			return line{}, fmt.Errorf("the answer cannot be read: %w", err)
		}
		for _, part := range []struct {
			to   io.Writer
			data []byte
		}{{s.Stdout, l.Out}, {s.Stderr, l.Err}} {
			if part.to != nil && len(part.data) > 0 {
				if _, err := part.to.Write(part.data); err != nil {
					return line{}, err
				}
			}
		}
		if l.Exit != nil {
			return l, nil
		}
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var raw []byte
	for {
		part, err := in.ReadSlice('\n')
		raw = append(raw, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return raw, err
		}
		if len(raw) > maxLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxLine)
		}
	}
}
