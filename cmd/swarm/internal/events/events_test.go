package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/planswarm/swarm/cmd/swarm/internal/events"
	"github.com/planswarm/swarm/planmode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var at = time.Date(2026, 5, 4, 12, 0, 0, 0, time.FixedZone("", 7200))

const requestID = "0190f1c2-0000-7000-8000-000000000001-abcdefghjkmnpqrstvwxyz0123"

func submitted(fields ...string) events.Event {
	f := map[string]string{"requestId": requestID, "digest": strings.Repeat("a", 64), "seq": "7"}
	for i := 0; i+1 < len(fields); i += 2 {
		f[fields[i]] = fields[i+1]
	}
	return events.New("shop", "api", at, planmode.Emit{Event: "plan.submitted", Fields: f})
}

// A request is named by its handle: its id is nobody's to know before it is answered.
func TestNew(t *testing.T) {
	e := submitted("supersedes", requestID, "reason", "x"+strings.Repeat("é", 2000), "note", "bad\xff")
	handle := e.Fields["request"]
	if e.Seq != 7 || e.At.Location() != time.UTC || !strings.HasPrefix(handle, "api-") || len(handle) != len("api-")+4 || e.Fields["supersedes"] != handle || e.Fields["seq"] != "" {
		t.Errorf("New = %+v", e)
	}
	if used := events.New("shop", "api", at, planmode.Emit{Event: "grant.used", Fields: map[string]string{"grantId": requestID + "/2"}}); used.Fields["grant"] != handle+"/2" || used.Seq != 0 {
		t.Errorf("New of a use = %+v, want grant %s/2", used, handle)
	}
	if n := len(e.Fields["reason"]); n > 2100 || !strings.HasSuffix(e.Fields["reason"], "é…") || !utf8.ValidString(e.Fields["reason"]) || e.Fields["note"] != "bad\uFFFD" {
		t.Errorf("reason has %d bytes, note is %q", n, e.Fields["note"])
	}
	if data, err := json.Marshal(e); err != nil || strings.Contains(string(data), requestID[:13]) {
		t.Errorf("the event tells the request's id: %s, %v", data, err)
	}
}

func TestHooksAreChecked(t *testing.T) {
	for want, h := range map[string]events.Hook{
		"":                                     {On: []string{"plan.*", "grant.used", "*"}, Command: []string{"logger", "-t", "swarm"}},
		" ":                                    {On: []string{"security"}, Webhook: "http://127.0.0.1:9000/hook", Timeout: time.Minute},
		"  ":                                   {On: []string{"mode.drift"}, Webhook: "https://example.com/hook?x=1"},
		"   ":                                  {On: []string{"*"}, Webhook: "http://localhost:9000/hook"},
		"    ":                                 {On: []string{"*"}, Command: []string{"/usr/bin/logger"}},
		"the hook has no events":               {Command: []string{"logger"}},
		`unknown event "plan.aproved"`:         {On: []string{"plan.aproved"}, Command: []string{"logger"}},
		`unknown event "pl*"`:                  {On: []string{"pl*"}, Command: []string{"logger"}},
		`unknown event "plans.*"`:              {On: []string{"plans.*"}, Command: []string{"logger"}},
		"either a command or a webhook":        {On: []string{"*"}},
		"a hook is either a command or a ":     {On: []string{"*"}, Command: []string{"logger"}, Webhook: "https://example.com"},
		`program "./hook.sh" cannot be found`:  {On: []string{"*"}, Command: []string{"./hook.sh"}},
		`program "tools/hook" cannot be found`: {On: []string{"*"}, Command: []string{"tools/hook"}},
		`program "" cannot be found`:           {On: []string{"*"}, Command: []string{""}},
		`"example.com" is no address`:          {On: []string{"*"}, Webhook: "example.com"},
		`program "." cannot be found`:          {On: []string{"*"}, Command: []string{"."}},
		`program ".." cannot be found`:         {On: []string{"*"}, Command: []string{".."}},
		`"http:///hook" is no address`:         {On: []string{"*"}, Webhook: "http:///hook"},
		`"ftp://example.com" is no address`:    {On: []string{"*"}, Webhook: "ftp://example.com"},
		`"file:///etc/passwd" is no address`:   {On: []string{"*"}, Webhook: "file:///etc/passwd"},
		"would send events in the open":        {On: []string{"*"}, Webhook: "http://example.com/hook"},
		"in the open":                          {On: []string{"*"}, Webhook: "http://127.0.0.1.example.com/"},
		"a delivery cannot take 1h0m0s":        {On: []string{"*"}, Command: []string{"logger"}, Timeout: time.Hour},
	} {
		faults := h.Check()
		switch {
		case strings.TrimSpace(want) == "" && len(faults) > 0, strings.TrimSpace(want) != "" && len(faults) != 1:
			t.Errorf("%+v: faults %+v, want %q", h, faults, want)
		case len(faults) == 1 && (!strings.Contains(faults[0].Message, want) || faults[0].Suggestion == ""):
			t.Errorf("%+v: fault %+v, want %q and what to do", h, faults[0], want)
		}
	}
}

// rig is a sender with its log.
type rig struct {
	*events.Sender
	log  *lockedBuffer
	stop func()
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t *testing.T, hooks ...events.Hook) *rig {
	t.Helper()
	for _, h := range hooks {
		if f := h.Check(); len(f) > 0 {
			t.Fatalf("%+v: %+v", h, f)
		}
	}
	r := &rig{log: &lockedBuffer{}}
	r.Sender = events.NewSender(hooks, slog.New(slog.NewTextHandler(r.log, nil)))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = r.Run(ctx) }()
	r.stop = func() { cancel(); <-done }
	t.Cleanup(r.stop)
	return r
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(15 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never came: %s", what)
		}
	}
}

func shell(script string, args ...string) []string {
	return append([]string{"sh", "-c", script, "sh"}, args...)
}

// decoded reads the lines that a hook has written.
func decoded(t *testing.T, data []byte) (list []events.Event) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	for {
		var e events.Event
		switch err := d.Decode(&e); {
		case err == io.EOF:
			return list
		case err != nil:
			t.Fatalf("%v in %s", err, data)
		}
		list = append(list, e)
	}
}

// A command reads one line of JSON for each event that it wants, in order, and what is said in an event is no part of the
// command: no argument, no variable, no option.
func TestCommandReadsTheEvent(t *testing.T) {
	t.Setenv("SWARM_SOCKET", "/nowhere")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hidden")
	dir := t.TempDir()
	out, about := filepath.Join(dir, "events"), filepath.Join(dir, "about")
	r := start(t, events.Hook{On: []string{"plan.*"}, Command: shell(`cat >>"$1"; { echo "$# $2"; env; pwd; } >"$3"`, out, "two words", about)})
	nasty := "'; touch " + filepath.Join(dir, "owned") + " #\n$(touch " + filepath.Join(dir, "owned") + ") --help \x1b[2J"
	r.Send(submitted("reason", nasty))
	r.Send(events.New("shop", "api", at, planmode.Emit{Event: "grant.used"}))
	r.Send(events.New("shop", "api", at, planmode.Emit{Event: "plan.approved", Fields: map[string]string{"seq": "8", "by": "mia"}}))
	var raw []byte
	until(t, "both events", func() bool { raw, _ = os.ReadFile(out); return bytes.Count(raw, []byte("\n")) >= 2 })
	r.Send(submitted())
	r.stop() // delivers what waits, as long as there is time
	if all, err := os.ReadFile(out); err != nil || bytes.Count(all, []byte("\n")) != 3 && !strings.Contains(r.log.String(), "did not get all") {
		t.Errorf("what waited at the end was lost, and nothing is said: %s, %v\n%s", all, err, r.log)
	}
	got := decoded(t, raw)
	if len(got) != 2 || got[0].Event != "plan.submitted" || got[0].Fields["reason"] != nasty || got[1].Event != "plan.approved" || got[1].Fields["by"] != "mia" || bytes.Count(raw, []byte("\n")) != 2 {
		t.Errorf("the hook read %s", raw)
	}
	text, err := os.ReadFile(about)
	if err != nil || !strings.HasPrefix(string(text), "3 two words\n") || strings.Contains(string(text), "SWARM_") || strings.Contains(string(text), "hidden") {
		t.Errorf("the hook's program has %s, %v: want its own arguments, and nothing of swarm or of what is secret", text, err)
	}
	if home, err := os.UserHomeDir(); err != nil || !strings.HasSuffix(string(text), home+"\n") {
		t.Errorf("it stands in %s, want %s (%v)", text, home, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
		t.Error("a reason was carried out")
	}
}

// A webhook is a POST of JSON that keeps to the schema, over a real connection; what does not say 2xx is a failure, and a
// redirect is not followed.
func TestWebhook(t *testing.T) {
	var mu sync.Mutex
	var bodies [][]byte
	elsewhere := false
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook", func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(req.Body)
		if req.Header.Get("Content-Type") != "application/json" {
			body = []byte("content type " + req.Header.Get("Content-Type"))
		}
		bodies = append(bodies, body)
		switch len(bodies) {
		case 2:
			http.Error(w, strings.Repeat("no\x1b ", 100_000), http.StatusTeapot)
		case 3:
			http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
		}
	})
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { elsewhere = true })
	server := httptest.NewServer(mux)
	defer server.Close()
	r := start(t, events.Hook{On: []string{"*"}, Webhook: server.URL + "/hook"})
	for range 5 {
		r.Send(submitted())
	}
	until(t, "five posts", func() bool { mu.Lock(); defer mu.Unlock(); return len(bodies) == 5 })
	r.stop()
	compiled := compile(t)
	for i, body := range bodies {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
		if err == nil {
			err = compiled.Validate(doc)
		}
		if err != nil {
			t.Errorf("post %d: %s: %v", i+1, body, err)
		}
	}
	if got := decoded(t, bodies[3]); got[0].Dropped != 2 {
		t.Errorf("the fourth post says that %d were dropped, want the two before it", got[0].Dropped)
	}
	if got := decoded(t, bodies[4]); got[0].Dropped != 0 {
		t.Errorf("the last post says that %d were dropped, which was told before", got[0].Dropped)
	}
	if elsewhere || !strings.Contains(r.log.String(), "418 I'm a teapot") || strings.Contains(r.log.String(), "\x1b") || len(r.log.String()) > 4000 {
		t.Errorf("redirect followed: %t; log of %d bytes: %.300s", elsewhere, len(r.log.String()), r.log)
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(events.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("event", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("event")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The schema names exactly the events that there are.
func TestSchemaNamesTheEvents(t *testing.T) {
	var s struct {
		Properties struct{ Event struct{ Enum []string } }
	}
	if err := json.Unmarshal(events.Schema(), &s); err != nil || fmt.Sprint(s.Properties.Event.Enum) != fmt.Sprint(planmode.Events()) {
		t.Errorf("the schema has %v, %v, want %v", s.Properties.Event.Enum, err, planmode.Events())
	}
}

// A hook that hangs, with a child that hangs too, holds nobody up: other hooks go on, its own time is over in a moment, and
// what it has started is gone.
func TestHookThatHangs(t *testing.T) {
	dir := t.TempDir()
	out, alive := filepath.Join(dir, "events"), filepath.Join(dir, "alive")
	r := start(
		t,
		events.Hook{On: []string{"*"}, Command: shell(`(while :; do date >"$1"; sleep 0.02; done) & cat; sleep 60`, alive), Timeout: 300 * time.Millisecond},
		events.Hook{On: []string{"*"}, Command: shell(`cat >>"$1"`, out)},
	)
	begin := time.Now()
	for range 1000 { // its queue holds fewer
		r.Send(submitted())
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("telling of 1000 events took %v: somebody waited", took)
	}
	until(t, "an event at the other hook", func() bool { data, _ := os.ReadFile(out); return len(data) > 0 })
	until(t, "what is said of the first", func() bool {
		text := r.log.String()
		return strings.Contains(text, "events are left out") && strings.Contains(text, "hook=sh")
	})
	until(t, "its child", func() bool { _, err := os.Stat(alive); return err == nil })
	r.stop()
	if n := strings.Count(r.log.String(), "events are left out"); n > 3 {
		t.Errorf("%d lines say that events are left out, want one now and then", n)
	}
	if !strings.Contains(r.log.String(), "did not get all") {
		t.Errorf("at the end nothing is said of what is lost: %s", r.log)
	}
	if err := os.Remove(alive); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	if _, err := os.Stat(alive); err == nil {
		t.Error("what the hook has started lives on")
	}
}

// A server that takes a connection and never answers is given up, and the next event is tried.
func TestWebhookThatHangs(t *testing.T) {
	var mu sync.Mutex
	tried := 0
	free := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		mu.Lock()
		tried++
		mu.Unlock()
		select {
		case <-free:
		case <-req.Context().Done():
		}
	}))
	defer server.Close()
	defer close(free)
	r := start(t, events.Hook{On: []string{"*"}, Webhook: server.URL + "/secret?key=hidden", Timeout: 200 * time.Millisecond})
	r.Send(submitted())
	r.Send(submitted())
	until(t, "both", func() bool {
		r.Send(submitted()) // one of them may be given up before the server sees it
		mu.Lock()
		defer mu.Unlock()
		return tried >= 2
	})
	until(t, "why", func() bool { return strings.Contains(r.log.String(), "took longer than 200ms") })
	if text := r.log.String(); strings.Contains(text, "secret") || strings.Contains(text, "hidden") {
		t.Errorf("the log tells the whole address, which may be a secret: %s", text)
	}
}

// A hook that prints without end, that dies, that is not there or that never reads is a line in the log, and no more.
func TestHooksThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"floods":      {shell(`yes $(head -c 100 /dev/zero | tr '\0' x) | head -c 50000000; exit 3`), "exit status 3"},
		"dies":        {shell(`kill -9 $$`), "signal: killed"},
		"is not here": {[]string{"no-such-program-here"}, "cannot be started"},
		"says why":    {shell(`cat >/dev/null; printf 'no \033[2Jroom' >&2; exit 1`), `no \x1b[2Jroom`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, events.Hook{On: []string{"*"}, Command: c.command, Timeout: time.Minute})
			r.Send(submitted())
			until(t, c.want, func() bool { return strings.Contains(strings.ReplaceAll(r.log.String(), `\\x1b`, `\x1b`), c.want) })
			if text := r.log.String(); len(text) > 3000 || strings.Contains(text, "\x1b") || strings.Count(text, "\n") != 1 {
				t.Errorf("log of %d bytes: %.500s", len(text), text)
			}
		})
	}
	const address = "127.0.0.1:1" // nobody listens there
	w := start(t, events.Hook{On: []string{"*"}, Webhook: "http://" + address + "/services/tok3n?key=s3cret"})
	w.Send(submitted())
	until(t, "why", func() bool { return strings.Contains(w.log.String(), "refused") })
	if text := w.log.String(); strings.Contains(text, "tok3n") || strings.Contains(text, "s3cret") || !strings.Contains(text, address) {
		t.Errorf("of a webhook with a token in its address the log has: %s", text)
	}
	r := start(t, events.Hook{On: []string{"*"}, Command: shell("exit 0")}) // without reading
	r.Send(submitted("reason", strings.Repeat("x", 1<<20)))
	r.stop()
	if r.log.String() != "" {
		t.Errorf("a hook that does not read: %s", r.log)
	}
}

// Whoever has a provider for OpenTelemetry in the process sees each event as a span with its fields.
func TestOpenTelemetry(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(provider)
	t.Cleanup(func() { otel.SetTracerProvider(before); _ = provider.Shutdown(context.Background()) })
	r := start(t)
	r.Send(submitted("revision", "2"))
	got := spans.GetSpans()
	if len(got) != 1 || got[0].Name != "plan.submitted" || !got[0].StartTime.Equal(at) || !got[0].EndTime.Equal(at) || got[0].InstrumentationScope.Name != "github.com/planswarm/swarm" {
		t.Fatalf("spans = %+v", got)
	}
	text := ""
	for _, a := range got[0].Attributes {
		text += fmt.Sprintf("%s=%s ", a.Key, a.Value.String())
	}
	for _, want := range []string{"swarm.team=shop ", "swarm.teammate=api ", "swarm.seq=7 ", "swarm.revision=2 ", "swarm.request=api-", "swarm.digest=aaa"} {
		if !strings.Contains(text, want) {
			t.Errorf("attributes %s, want %s", text, want)
		}
	}
}
