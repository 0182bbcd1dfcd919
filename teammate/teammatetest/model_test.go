package teammatetest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/teammate/teammatetest"
)

var script = teammatetest.Script{Actors: []teammatetest.Actor{
	{Name: "child", Match: teammatetest.Match{Lacks: []string{"leave"}}, Steps: []teammatetest.Step{{Say: "child"}}},
	{
		Name:    "main",
		Match:   teammatetest.Match{Has: []string{"leave", "run"}, System: "careful", First: "do it"},
		Capture: map[string]string{"plan": `at (\S+\.md)`},
		Steps: []teammatetest.Step{
			{Say: "I look", Call: []teammatetest.Call{{Tool: "run", Input: map[string]any{"command": "cat ${plan}", "more": []any{"${plan}", 1.0}}}}},
			{Call: []teammatetest.Call{{Tool: "leave"}, {Tool: "run"}}, Expect: []string{`^more of "${plan}"`}, Lacks: []string{"secret"}},
		},
	},
}}

// A dialogue is one provider's way to ask the same three times: at the start, after a result, and at the end.
type dialogue struct {
	path, child      string
	first, then, end string
	// turn reads an answer's text and calls.
	turn func(t *testing.T, body string) (string, []teammatetest.Call)
}

var dialogues = map[string]dialogue{
	"anthropic": {
		path:  "/v1/messages?beta=true",
		child: `{"model":"m","system":"careful","tools":[{"name":"run"}],"messages":[{"role":"user","content":"do it"}]}`,
		first: `{"model":"m","stream":true,"system":[{"type":"text","text":"be"},{"type":"text","text":"careful"}],"tools":[{"name":"leave"},{"name":"run"}],"messages":[{"role":"user","content":[{"type":"text","text":"do it, your plan lies at /p/a\"b.md"}]},{"role":"system","content":"here"}]}`,
		then: `{"model":"m","stream":true,"system":"careful","tools":[{"name":"leave"},{"name":"run"}],"messages":[{"role":"user","content":"do it, your plan lies at /p/a\"b.md"},
			{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"tool_use","id":"t1","name":"run","input":{"command":"x"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"RESULT"}]}]}]}`,
		end: `{"model":"m","system":"careful","tools":[{"name":"leave"},{"name":"run"}],"messages":[{"role":"user","content":"do it"},{"role":"assistant","content":"a"},{"role":"user","content":"b"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]}`,
		turn: func(t *testing.T, body string) (said string, calls []teammatetest.Call) {
			if strings.HasPrefix(body, "{") {
				var whole struct {
					Content []struct{ Type, Text, Name string }
				}
				decode(t, body, &whole)
				return whole.Content[0].Text, nil
			}
			for _, data := range sse(body) {
				var ev struct {
					Type  string
					Block struct{ Type, Name string } `json:"content_block"`
					Delta struct {
						Text    string
						Partial string `json:"partial_json"`
					}
				}
				decode(t, data, &ev)
				said += ev.Delta.Text
				if ev.Block.Type == "tool_use" {
					calls = append(calls, teammatetest.Call{Tool: ev.Block.Name})
				}
				if ev.Delta.Partial != "" {
					decode(t, ev.Delta.Partial, &calls[len(calls)-1].Input)
				}
			}
			return said, calls
		},
	},
	"gemini": {
		path:  "/v1beta/models/m:streamGenerateContent?alt=sse",
		child: `{"systemInstruction":{"parts":[{"text":"careful"}]},"tools":[{"functionDeclarations":[{"name":"run"}]}],"contents":[{"role":"user","parts":[{"text":"do it"}]}]}`,
		first: `{"systemInstruction":{"parts":[{"text":"careful"}]},"tools":[{"functionDeclarations":[{"name":"run"},{"name":"leave"}]}],"contents":[{"role":"user","parts":[{"text":"do it, your plan lies at /p/a\"b.md"}]}]}`,
		then: `{"systemInstruction":{"parts":[{"text":"careful"}]},"tools":[{"functionDeclarations":[{"name":"run"}]},{"functionDeclarations":[{"name":"leave"}]}],"contents":[{"role":"user","parts":[{"text":"do it, your plan lies at /p/a\"b.md"}]},
			{"role":"model","parts":[{"text":"hm","thought":true},{"text":"I look"},{"functionCall":{"name":"run","args":{"command":"x"}}}]},
			{"role":"user","parts":[{"functionResponse":{"id":"t1","name":"run","response":{"output":"RESULT"}}}]}]}`,
		end: `{"systemInstruction":{"parts":[{"text":"careful"}]},"tools":[{"functionDeclarations":[{"name":"run"},{"name":"leave"}]}],"contents":[{"role":"user","parts":[{"text":"do it"}]},{"role":"model","parts":[]},{"role":"user","parts":[]},{"role":"model","parts":[]},{"role":"user","parts":[]}]}`,
		turn: func(t *testing.T, body string) (said string, calls []teammatetest.Call) {
			var ev struct {
				Candidates []struct {
					Content struct {
						Parts []struct {
							Text         string
							FunctionCall *struct {
								Name string
								Args map[string]any
							}
						}
					}
				}
			}
			decode(t, sse(body)[0], &ev)
			for _, p := range ev.Candidates[0].Content.Parts {
				said += p.Text
				if p.FunctionCall != nil {
					calls = append(calls, teammatetest.Call{Tool: p.FunctionCall.Name, Input: p.FunctionCall.Args})
				}
			}
			return said, calls
		},
	},
	"responses": {
		path:  "/v1/responses",
		child: `{"model":"m","stream":true,"instructions":"careful","tools":[{"type":"function","name":"run"}],"input":"do it"}`,
		first: `{"model":"m","stream":true,"instructions":"careful","tools":[{"type":"function","name":"run"},{"type":"leave"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"do it, your plan lies at /p/a\"b.md"}]}]}`,
		then: `{"model":"m","stream":true,"instructions":"careful","tools":[{"type":"function","name":"run"},{"type":"leave"}],"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"do it, your plan lies at /p/a\"b.md"}]},
			{"type":"reasoning","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look"}]},{"type":"function_call","name":"run","arguments":"{\"command\":\"x\"}","call_id":"t1"},
			{"type":"function_call_output","call_id":"t1","output":"RESULT"}]}`,
		end: `{"model":"m","stream":true,"instructions":"careful","tools":[{"type":"function","name":"run"},{"type":"leave"}],"input":[{"role":"user","content":"do it"},{"role":"assistant","content":"a"},{"role":"user","content":"b"},{"type":"custom_tool_call","name":"x","input":"i"},{"type":"custom_tool_call_output","output":{"o":1}}]}`,
		turn: func(t *testing.T, body string) (said string, calls []teammatetest.Call) {
			for _, data := range sse(body) {
				var ev struct {
					Type string
					Item struct {
						Type, Name, Arguments string
						Content               []struct{ Text string }
					}
				}
				decode(t, data, &ev)
				switch {
				case ev.Type != "response.output_item.done":
				case ev.Item.Type == "message":
					said += ev.Item.Content[0].Text
				default:
					call := teammatetest.Call{Tool: ev.Item.Name}
					decode(t, ev.Item.Arguments, &call.Input)
					calls = append(calls, call)
				}
			}
			return said, calls
		},
	},
}

func TestEachProviderIsAnsweredByTheScript(t *testing.T) {
	for name, d := range dialogues {
		t.Run(name, func(t *testing.T) {
			m := teammatetest.Serve(t, script)
			ask := func(body string) (string, []teammatetest.Call) {
				return d.turn(t, post(t, m.URL+d.path, body, http.StatusOK))
			}

			if said, _ := ask(d.child); said != "child" {
				t.Errorf("a request without the tool that the main actor has was answered %q", said)
			}
			for range 2 { // a retry is the same step
				said, calls := ask(d.first)
				if said != "I look" || len(calls) != 1 || calls[0].Tool != "run" {
					t.Fatalf("first: %q, %+v", said, calls)
				}
				if in := calls[0].Input; in["command"] != `cat /p/a"b.md` || in["more"].([]any)[0] != `/p/a"b.md` || in["more"].([]any)[1] != 1.0 {
					t.Errorf("variables were filled as %v", in)
				}
			}
			said, calls := ask(strings.Replace(d.then, "RESULT", `more of \"/p/a\"b.md\"`, 1))
			if said != "" || len(calls) != 2 || calls[0].Tool != "leave" || calls[1].Tool != "run" {
				t.Errorf("second: %q, %+v", said, calls)
			}
			if p := m.Problems(); len(p) != 0 {
				t.Errorf("problems where all was as expected: %q", p)
			}
			ask(strings.Replace(d.then, "RESULT", "a secret", 1))
			if p := m.Problems(); len(p) != 2 || !strings.Contains(p[0], "more of") || !strings.Contains(p[1], "secret") {
				t.Errorf("problems are %q, want what was missing and what was not to come", p)
			}
			if _, calls := ask(d.end); len(calls) != 0 {
				t.Errorf("after its last step the actor calls %+v", calls)
			}
			want := []int{0, 0, 0, 1, 1, 2}
			for i, r := range m.Requests() {
				if r.Step() != want[i] || r.Protocol != name || r.Model != "m" {
					t.Errorf("request %d is step %d of %s, model %s", i, r.Step(), r.Protocol, r.Model)
				}
			}
			if r := m.Requests()[3]; len(r.Turns[1].Calls) != 1 || len(r.Turns[2].Results) != 1 {
				t.Errorf("the call and its result were read as %+v", r.Turns)
			}
		})
	}
}

func TestRequestThatNobodyPlays(t *testing.T) {
	for name, d := range dialogues {
		t.Run(name, func(t *testing.T) {
			m := teammatetest.Serve(t, teammatetest.Script{})
			for what, body := range map[string]string{"no actor for": d.first, "JSON": `{"model":`} {
				if got := post(t, m.URL+d.path, body, http.StatusBadRequest); !strings.Contains(got, what) {
					t.Errorf("%s was answered with %s", body, got)
				}
			}
			if p := m.Problems(); len(p) != 2 {
				t.Errorf("problems: %q", p)
			}
			m.Play(script)
			post(t, m.URL+d.path, d.first, http.StatusOK)
		})
	}
}

func TestAwaitSeesWhatCame(t *testing.T) {
	m := teammatetest.Serve(t, script)
	d := dialogues["anthropic"]
	go func() { // the test's end closes the server
		resp, err := http.Post(m.URL+d.path, "application/json", strings.NewReader(d.first))
		if err == nil {
			_ = resp.Body.Close()
		}
	}()
	r := m.Await(t, "with both tools", func(r teammatetest.Request) bool { return slices.Contains(r.Tools, "leave") })
	if r.System != "be\ncareful" || !strings.Contains(r.Since(), "here") {
		t.Errorf("the request was read as %+v", r)
	}
}

func post(t *testing.T, url, body string, status int) string {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != status {
		t.Fatalf("status %s, want %d (%v): %s", resp.Status, status, err, data)
	}
	return string(data)
}

func sse(body string) (data []string) {
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			data = append(data, rest)
		}
	}
	return data
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}
