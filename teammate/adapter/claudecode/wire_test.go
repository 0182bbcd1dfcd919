package claudecode

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planswarm/swarm/teammate/gate"
)

// peer is a client's end of the two pipes.
type peer struct {
	in  *json.Decoder
	out io.WriteCloser
}

func connect(t *testing.T, each func(incoming)) (*wire, peer, <-chan error) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	w := newWire(inW)
	read := make(chan error, 1)
	go func() { read <- w.read(outR, each) }()
	t.Cleanup(func() { _ = inR.Close(); _ = outW.Close() })
	return w, peer{json.NewDecoder(inR), outW}, read
}

func (p peer) next(t *testing.T) (m map[string]any) {
	t.Helper()
	if err := p.in.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

func (p peer) line(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p.out, text+"\n"); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsAndAnswersAreMatched(t *testing.T) {
	var got []incoming
	w, p, read := connect(t, func(m incoming) { got = append(got, m) })
	answers := make(chan string, 2)
	for range 2 {
		go func() {
			raw, err := w.ask(t.Context(), map[string]any{"subtype": "x"})
			answers <- string(raw) + errText(err)
		}()
	}
	first, second := p.next(t)["request_id"].(string), p.next(t)["request_id"].(string)
	p.line(t, "noise of the client")
	p.line(t, `{"type":"control_response","response":{"subtype":"error","request_id":"`+second+`","error":"no"}}`)
	if a := <-answers; !strings.Contains(a, "the client refuses: no") {
		t.Errorf("an error was answered with %q", a)
	}
	p.line(t, `{"type":"control_response","response":{"subtype":"success","request_id":"other","response":{}}}`)
	p.line(t, `{"type":"control_response","response":{"subtype":"success","request_id":"`+first+`","response":{"mode":"plan"}}}`)
	if a := <-answers; a != `{"mode":"plan"}` {
		t.Errorf("an answer came as %q", a)
	}
	p.line(t, `{"type":"control_request","request_id":"c1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}}`)
	_ = p.out.Close()
	if err := <-read; err != nil || len(got) != 1 || got[0].Request.ToolName != "Bash" {
		t.Errorf("%v, %+v", err, got)
	}
	if _, err := w.ask(t.Context(), map[string]any{}); !errors.Is(err, errGone) {
		t.Errorf("a client that has ended is asked: %v", err)
	}
}

// Who waits for a client that says nothing waits no longer than its context, and not for one that ended.
func TestSilentClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, p, _ := connect(t, func(incoming) {})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first := make(chan struct{})
		go func() { defer close(first); _ = p.in.Decode(&map[string]any{}) }()
		if _, err := w.ask(ctx, map[string]any{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("asked: %v", err)
		}
		<-first
		go func() { _ = p.in.Decode(&map[string]any{}); _ = p.out.Close() }()
		if _, err := w.ask(t.Context(), map[string]any{}); !errors.Is(err, errGone) {
			t.Errorf("asked one that ends: %v", err)
		}
	})
}

// What is no PreToolUse event of Claude Code gets no verdict, and the thin client denies then.
func TestHookOfAnythingElse(t *testing.T) {
	a := &Agent{}
	for _, args := range []gate.HookArgs{
		{Client: "gemini", Payload: json.RawMessage(`{"hook_event_name":"PreToolUse","tool_name":"Bash"}`)},
		{Client: "claude", Payload: json.RawMessage(`{"hook_event_name":"PostToolUse","tool_name":"Bash"}`)},
		{Client: "claude", Payload: json.RawMessage(`{"hook_event_name":"PreToolUse"}`)},
		{Client: "claude", Payload: json.RawMessage(`{"hook_event_name":1}`)},
		{Client: "claude"},
	} {
		if v, err := a.Hook(t.Context(), args); err == nil {
			t.Errorf("%s %s: verdict %v", args.Client, args.Payload, v)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"swarm-1","response":{}}}` + "\n{}\n"))
	f.Add([]byte(`{"type":"control_request","request":{"input":{"a":[1]}}}`))
	f.Add([]byte("\x00\xff\n[]\n\"a\"\nnull\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWire(nil)
		n := 0
		var p progress
		if err := w.read(strings.NewReader(string(data)), func(m incoming) {
			n++
			if p.note(m); p.turns < 0 || p.tokens < 0 || len(p.tool()) > len(data) {
				t.Errorf("progress %+v", p)
			}
			if m.Message != nil {
				textsOf(m.Message.Content)
			}
			if m.Request != nil {
				callOf(m.Request.ToolName, m.Request.Input, "/t")
			}
		}); err != nil || n > len(data) {
			t.Errorf("%d messages: %v", n, err)
		}
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
