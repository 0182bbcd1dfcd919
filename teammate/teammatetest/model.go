package teammatetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxRequest bounds what one request may hold, in bytes.
const maxRequest = 64 << 20

// A Model is a server on loopback that answers as the providers do. It may be used by several clients at once.
type Model struct {
	// URL is its address, without a path and without a slash at its end.
	URL string

	srv *httptest.Server

	mu       sync.Mutex
	script   Script
	requests []Request
	problems []string
	changed  chan struct{} // closed and made anew with each request
}

// Serve starts a model that plays a script, until the test ends.
func Serve(t testing.TB, script Script) *Model {
	t.Helper()
	m := &Model{script: script, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.answer(anthropic{}))
	mux.HandleFunc("POST /v1/messages/count_tokens", writeJSON(map[string]any{"input_tokens": 1}))
	mux.HandleFunc("POST /v1beta/models/{call}", m.answer(gemini{}))
	mux.HandleFunc("POST /v1/responses", m.answer(responses{}))
	m.srv = httptest.NewServer(mux)
	m.URL = m.srv.URL
	t.Cleanup(m.srv.Close)
	return m
}

// Play has the requests that come from now on played by another script.
func (m *Model) Play(script Script) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.script = script
}

// Requests are those that came so far, in order.
func (m *Model) Requests() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Problems are the expectations that did not hold, and the requests that no actor played. A test looks at its end.
func (m *Model) Problems() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.problems)
}

// Await returns the first request of which holds is true, when it has come. The test fails when none comes within a minute.
func (m *Model) Await(t testing.TB, what string, holds func(Request) bool) Request {
	t.Helper()
	end := time.After(time.Minute)
	for {
		m.mu.Lock()
		requests, changed := m.requests, m.changed
		m.mu.Unlock()
		for _, r := range requests {
			if holds(r) {
				return r
			}
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("the model was not asked: %s; requests: %d; problems: %q", what, len(requests), m.Problems())
		}
	}
}

// A protocol is a provider's form of requests and answers.
type protocol interface {
	// read takes a request apart. path is the last part of its address.
	read(path string, body []byte) (Request, error)
	// write sends one turn. id is unique in this session.
	write(w http.ResponseWriter, r Request, s Step, id string)
	// refuse sends an error of the provider's kind, which its clients do not try again.
	refuse(w http.ResponseWriter, why string)
}

func (m *Model) answer(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, hr *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxRequest))
		if err != nil {
			p.refuse(w, err.Error())
			return
		}
		if strings.HasSuffix(hr.PathValue("call"), ":countTokens") {
			writeJSON(map[string]any{"totalTokens": 1})(w, hr)
			return
		}
		r, err := p.read(hr.PathValue("call"), body)
		if err != nil {
			m.note(nil, []string{fmt.Sprintf("%T: %v", p, err)})
			p.refuse(w, err.Error())
			return
		}
		m.mu.Lock()
		script := m.script
		m.mu.Unlock()
		name, step, problems, err := script.play(r)
		if err != nil {
			problems = append(problems, err.Error())
		}
		n := m.note(&r, problems)
		if err != nil {
			p.refuse(w, err.Error())
			return
		}
		p.write(w, r, step, fmt.Sprintf("%s%d", name, n))
	}
}

// note keeps a request and what was wrong, and returns how many requests there were.
func (m *Model) note(r *Request, problems []string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r != nil {
		m.requests = append(m.requests, *r)
	}
	m.problems = append(m.problems, problems...)
	close(m.changed)
	m.changed = make(chan struct{})
	return len(m.requests)
}

func writeJSON(v any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // the client has gone
	}
}

// events writes a stream of server-sent events. Each is an event with its name, or data alone when the name is empty.
type events struct{ w http.ResponseWriter }

func stream(w http.ResponseWriter) events {
	w.Header().Set("Content-Type", "text/event-stream")
	return events{w}
}

func (e events) send(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own maps
	}
	if name != "" {
		_, _ = fmt.Fprintf(e.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(e.w, "data: %s\n\n", data)
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}
