package mcpserver_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate/adapter/mcpserver"
	"github.com/planswarm/swarm/teammate/gate"
)

// What a tool's schema allows is what the tool reads, and no schema leaves a name open.
func TestSchemasSayWhatIsRead(t *testing.T) {
	good := map[string]string{
		"mail_send": `{"to":"lead","text":"x","summary":"y","urgent":true}`, "mail_read": `{"max":3}`, "ask_leader": `{"text":"x","options":["a"]}`,
		"task_list": `{}`, "task_update": `{"id":"t1","status":"done","note":"x"}`, "plan_status": `{}`, "plan_withdraw": `{}`, "plan_done": `{}`,
	}
	for _, tool := range mcpserver.Tools {
		r := schemaOf(t, tool)
		for _, raw := range []string{good[tool.Name], strings.TrimSuffix(good[tool.Name], "}") + `,"more":1}`} {
			raw = strings.Replace(raw, "{,", "{", 1)
			var v any
			if err := json.Unmarshal([]byte(raw), &v); err != nil {
				t.Fatalf("%s: no arguments to try: %v", tool.Name, err)
			}
			_, read := tool.Arguments(json.RawMessage(raw))
			if allowed := r.Validate(v); (allowed == nil) != (read == nil) || (read == nil) == strings.Contains(raw, "more") {
				t.Errorf("%s %s: the schema says %v, the tool %v", tool.Name, raw, allowed, read)
			}
		}
	}
}

// What a model gives a tool is given to its verb as it is, and what is wrong with it is said with the tool's name. The schema
// agrees, but for what no schema says: that a text says something.
func TestArguments(t *testing.T) {
	large := strings.Repeat("x", 256<<10)
	for _, c := range []struct {
		tool, raw string
		want      any
		says      string // empty: the arguments are fine
		unsaid    bool   // the schema does not say it
	}{
		{"mail_send", `{"to":"lead","text":"x","summary":"y","urgent":true}`, gate.SendArgs{To: "lead", Text: "x", Summary: "y", Urgent: true}, "", false},
		{"mail_send", `{"to":"","text":"x"}`, nil, `mail_send: give both "to" and "text"`, true},
		{"mail_send", `{"to":"lead","text":" \n"}`, nil, `mail_send: give both "to" and "text"`, true},
		{"mail_send", `{"to":"lead"}`, nil, `mail_send: give both "to" and "text"`, false},
		{"mail_send", `{"to":"lead","text":"` + large + `"}`, nil, "mail_send: the arguments have 262167 bytes, at most 262144: say less", true},
		{"mail_read", `{}`, gate.RecvArgs{Max: 100}, "", false},
		{"mail_read", `null`, gate.RecvArgs{Max: 100}, "", true},
		{"mail_read", " \n", gate.RecvArgs{Max: 100}, "", true},
		{"mail_read", `{"max":1}`, gate.RecvArgs{Max: 1}, "", false},
		{"mail_read", `{"max":100}`, gate.RecvArgs{Max: 100}, "", false},
		{"mail_read", `{"max":0}`, nil, "mail_read: max is 0: name a number from 1 to 100", false},
		{"mail_read", `{"max":101}`, nil, "mail_read: max is 101: name a number from 1 to 100", false},
		{"ask_leader", `{"text":"which?","options":["a","b"]}`, gate.AskArgs{Text: "which?", Options: []string{"a", "b"}}, "", false},
		{"ask_leader", `{"text":"\t"}`, nil, `ask_leader: give "text": what do you want to know?`, true},
		{"ask_leader", `{"options":["a"]}`, nil, `ask_leader: give "text": what do you want to know?`, false},
		{"ask_leader", `{"text":"x","timeoutMs":1}`, nil, "timeoutMs", false},
		{"task_update", `{"id":"t1","status":"done","note":"x"}`, gate.TaskArgs{ID: "t1", Status: planmode.TaskDone, Note: "x"}, "", false},
		{"task_update", `{"id":"t1","status":"pending"}`, gate.TaskArgs{ID: "t1", Status: planmode.TaskPending}, "", false},
		{"task_update", `{"id":"t1","status":"inProgress"}`, gate.TaskArgs{ID: "t1", Status: planmode.TaskStarted}, "", false},
		{"task_update", `{"id":"t1","status":"blocked"}`, gate.TaskArgs{ID: "t1", Status: planmode.TaskBlocked}, "", false},
		{"task_update", `{"id":"t1","status":"started"}`, nil, "task_update: status ", false},
		{"task_update", `{"id":"t1","status":"approved"}`, nil, `task_update: status "approved" is none of pending, inProgress, done, blocked`, false},
		{"task_update", `{"id":"","status":"done"}`, nil, `task_update: give "id": task_list has them`, true},
		{"task_list", `{}`, nil, "", false},
		{"plan_status", `null`, nil, "", true},
		{"plan_done", `{"mode":"auto"}`, nil, "plan_done: ", false},
		{"plan_withdraw", `[]`, nil, "plan_withdraw: ", false},
	} {
		tool := mcpserver.Tools[slices.Index(mcpserver.Names(), c.tool)]
		got, err := tool.Arguments(json.RawMessage(c.raw))
		switch {
		case c.says == "" && (err != nil || !reflect.DeepEqual(got, c.want)):
			t.Errorf("%s %.80s = %+v, %v, want %+v", c.tool, c.raw, got, err, c.want)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || got != nil):
			t.Errorf("%s %.80s = %+v, %v, want %q", c.tool, c.raw, got, err, c.says)
		}
		if c.unsaid {
			continue
		}
		var v any
		if err := json.Unmarshal([]byte(c.raw), &v); err != nil {
			t.Fatal(err)
		}
		if allowed := schemaOf(t, tool).Validate(v); (allowed == nil) != (c.says == "") {
			t.Errorf("%s %s: the schema says %v, want %q", c.tool, c.raw, allowed, c.says)
		}
	}
}

func schemaOf(t *testing.T, tool mcpserver.Tool) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(tool.Schema), &s); err != nil {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", tool.Name, err)
	}
	return r
}

func FuzzArguments(f *testing.F) {
	for i, raw := range []string{`{"to":"lead","text":"x"}`, `{"max":3}`, `{"text":"x","options":["a"]}`, `{}`, `{"id":"t1","status":"done"}`, `null`, ``, `{"to":1}`, "{\"te\u017ft\":1}"} {
		f.Add(i, []byte(raw))
	}
	f.Fuzz(func(t *testing.T, n int, raw []byte) {
		tool := mcpserver.Tools[uint(n)%uint(len(mcpserver.Tools))]
		args, err := tool.Arguments(raw)
		if err != nil {
			if args != nil || !strings.HasPrefix(err.Error(), tool.Name+": ") {
				t.Errorf("%s %q: %v, %v", tool.Name, raw, args, err)
			}
			return
		}
		switch a := args.(type) {
		case nil:
		case gate.SendArgs:
			if a.To == "" || strings.TrimSpace(a.Text) == "" {
				t.Errorf("%q: %+v", raw, a)
			}
		case gate.AskArgs:
			if strings.TrimSpace(a.Text) == "" || a.TimeoutMS != 0 {
				t.Errorf("%q: %+v", raw, a)
			}
		case gate.RecvArgs:
			if a.Max < 1 || a.Max > 100 || a.TimeoutMS != 0 {
				t.Errorf("%q: %+v", raw, a)
			}
		case gate.TaskArgs:
			if a.ID == "" || a.Status == "" {
				t.Errorf("%q: %+v", raw, a)
			}
		default:
			t.Errorf("%s gives its verb a %v", tool.Name, reflect.TypeOf(args))
		}
	})
}
