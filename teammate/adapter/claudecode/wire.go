package claudecode

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// maxLine bounds one message of the client, in bytes: a tool's result may hold a large file.
const maxLine = 64 << 20

// incoming is one message of the client, with the parts that are looked at.
type incoming struct {
	Type           string           `json:"type"`
	Subtype        string           `json:"subtype"`
	RequestID      string           `json:"request_id"`
	Request        *controlRequest  `json:"request"`
	Response       *controlResponse `json:"response"`
	PermissionMode string           `json:"permissionMode"`
	SessionID      string           `json:"session_id"`
	Version        string           `json:"claude_code_version"`
	ParentToolUse  *string          `json:"parent_tool_use_id"`
	UUID           string           `json:"uuid"`
	IsReplay       bool             `json:"isReplay"` // a message of ours that the model has now
	IsError        bool             `json:"is_error"`
	Result         string           `json:"result"`
	NumTurns       int              `json:"num_turns"`
	StopReason     string           `json:"stop_reason"`
	Usage          usage            `json:"usage"`
	Message        *struct {
		ID      string          `json:"id"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// controlRequest is what the client asks: whether a tool may be used.
type controlRequest struct {
	Subtype   string         `json:"subtype"`
	ToolName  string         `json:"tool_name"`
	Input     map[string]any `json:"input"`
	ToolUseID string         `json:"tool_use_id"`
}

// controlResponse answers a request of ours.
type controlResponse struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Error     string          `json:"error"`
	Response  json.RawMessage `json:"response"`
}

// errGone means that the client has ended.
var errGone = errors.New("claudecode: the client has ended")

// A wire is the control protocol over the client's two pipes. Its methods may be called by several at once.
type wire struct {
	in io.WriteCloser // the client's standard input

	writing sync.Mutex

	mu      sync.Mutex
	last    int
	waiting map[string]chan controlResponse
	ended   chan struct{}
}

func newWire(in io.WriteCloser) *wire {
	return &wire{in: in, waiting: map[string]chan controlResponse{}, ended: make(chan struct{})}
}

// send writes one message.
func (w *wire) send(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("claudecode: %w", err)
	}
	w.writing.Lock()
	defer w.writing.Unlock()
	if _, err := w.in.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

// ask sends a control request and waits for its answer.
func (w *wire) ask(ctx context.Context, request any) (json.RawMessage, error) {
	select {
	case <-w.ended:
		return nil, errGone
	default:
	}
	answer := make(chan controlResponse, 1)
	w.mu.Lock()
	w.last++
	id := fmt.Sprintf("swarm-%d", w.last)
	w.waiting[id] = answer
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.waiting, id)
	}()
	if err := w.send(map[string]any{"type": "control_request", "request_id": id, "request": request}); err != nil {
		return nil, err
	}
	select {
	case r := <-answer:
		if r.Subtype != "success" {
			return nil, fmt.Errorf("claudecode: the client refuses: %s", r.Error)
		}
		return r.Response, nil
	case <-w.ended:
		return nil, errGone
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// say hands the client a message of the user. The client repeats the id when the model has it: in the turn that runs, after
// the tool that is used, or as the next turn (measured on 2.1.197).
func (w *wire) say(id, text string) error {
	return w.send(map[string]any{
		"type": "user", "session_id": "", "parent_tool_use_id": nil, "uuid": id,
		"message": map[string]any{"role": "user", "content": text},
	})
}

// answer answers a request of the client.
func (w *wire) answer(id string, response any) error {
	return w.send(map[string]any{
		"type": "control_response", "response": map[string]any{"subtype": "success", "request_id": id, "response": response},
	})
}

// read hands on each message until the client ends its output. What is no message is skipped: it is the client's own noise.
func (w *wire) read(out io.Reader, each func(incoming)) error {
	defer close(w.ended)
	r := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := readLine(r)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		var m incoming
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Type == "control_response" && m.Response != nil {
			w.mu.Lock()
			answer := w.waiting[m.Response.RequestID]
			delete(w.waiting, m.Response.RequestID)
			w.mu.Unlock()
			if answer != nil {
				answer <- *m.Response
			}
			continue
		}
		each(m)
	}
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("claudecode: a message of the client is longer than %d bytes", maxLine)
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		default:
			return nil, err
		}
	}
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own maps
	}
	return string(data)
}
