package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/planswarm/swarm/leader"
)

func checkText(name, text string) error {
	_, err := checkJSON(name, "x.json", []byte(text))
	return err
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	valid := `{"error": {"code": "usage", "message": "m", "next": "n"}}`
	tests := []struct{ name, schema, text, want string }{
		{"empty", "error", " \n", `x.json: is empty`},
		{"no JSON", "error", "{\n  nope", `x.json: line 2 column 3: is not JSON`},
		{"cut off", "error", `{"error": {`, `ends inside a JSON document`},
		{"not UTF-8", "error", "{\"error\": \"\n\xff\"}", `x.json: line 2 column 1: is not UTF-8`},
		{"a missing field", "error", `{"error": {"code": "usage"}}`, `x.json: at /error: the field "message" is missing: add it`},
		{"an unknown field", "error", `{"error": {"code": "usage", "message": "m", "nxt": "n"}}`, `at /error: unknown field "nxt": did you mean "next"?`},
		{"another type", "error", `{"error": {"code": 5, "message": "m"}}`, `at /error/code: 5 is a number, not a string`},
		{"a list", "error", `[]`, `at the top: [] is an array, not an object`},
		{"the second document", "error", valid + "\n" + `{}`, `document 2 (line 2), at the top: the field "error" is missing`},
		{"text after a document", "error", valid + "]", `is not JSON`},
		{"no known word", "cmd/inbox-watch", `{"event": "gnoe", "at": "2026-01-31T12:00:00Z", "request": {}}`, `at /event: "gnoe" is none of "new"`},
		{"no time", "cmd/logs", `{"teammate": "a", "line": "l", "x~/y": 1}`, `unknown field "x~/y"`},
		{"no date", "cmd/status", `{"broker":"b","boundary":"b","layout":{"level":0,"name":"n","holdsAgainst":[],"notAgainst":[],"because":[],"notKnown":[]},"team":"t","leaders":[],"teammates":[{"name":"a","agent":"","state":"","mode":"","grants":0,"lastSeen":"soon"}],"counts":{}}`, `at /teammates/0/lastSeen: "soon" is not a date-time: write it like 2026-01-31T12:00:00Z`},
		{"a huge number", "cmd/version", `{"swarm": "x", "go": "", "protocol": 1e99999999}`, `at /protocol: the number "1e99999999" is too large`},
		{"hidden characters", "error", `{"error": {"code": "a", "message": "m", "` + "\u202e" + `evil": 1}}`, `unknown field "<U+202E>evil"`},
		{"the better alternative", "cmd/approve", `{"requestId":"r","handle":"h","behavior":"allow","call":"ls","decidedBy":{"name":"mia","kind":"person","via":"x","assurance":"plain"},"decidedAt":"now"}`, `at /decidedAt: "now" is not a date-time`},
		{"says nothing", "", `{"a": 1}`, `swarm schema NAME --check FILE`},
		{"an envelope", "", `{"kind": "message", "team": "t", "body": {"text": 5}}`, `at the top: the field "v" is missing`},
		{"an envelope's body", "", envelope(`{"text": 5}`), `in the body, at /text: 5 is a number, not a string`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := checkText(test.schema, test.text)
			var e *leader.Error
			if code, _ := explain(err); code != ExitUsage {
				t.Fatalf("checkJSON(%s) = %v, exit %d, want 2", test.text, err, code)
			}
			if !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("checkJSON(%s) = %v %v, want one line with %q", test.text, err, e, test.want)
			}
		})
	}
	for schema, text := range map[string]string{"error": valid + valid, "": envelope(`{"text": "hello"}`), "cmd/mail-recv": "[]"} {
		if err := checkText(schema, text); err != nil {
			t.Errorf("checkJSON(%q, %s) = %v", schema, text, err)
		}
	}
}

func envelope(body string) string {
	return `{"v":1,"id":"i","kind":"message","team":"t","from":"a","to":"b","epoch":1,"sentAt":"2026-01-31T12:00:00Z","body":` + body + `}`
}

// Whatever the bytes are: an error in one line that hides nothing, or valid documents.
func FuzzSchemaCheck(f *testing.F) {
	f.Add("error", []byte(`{"error": {"code": "usage", "message": "m"}} {"error": 1e999999999}`))
	f.Add("cmd/approve", []byte(`{"requestId": null}`))
	f.Add("", []byte(envelope(`{"text": "x"}`)))
	f.Add("cmd/version", []byte(`{"protocol": 1e1000000}`))
	f.Add("status", []byte(strings.Repeat("[", 20000)))
	f.Add("charter", []byte("{\"\xff\":"))
	var names []string // but config, which is YAML and has a target of its own
	oracles := map[string]*oracle.Schema{}
	for _, name := range slices.Sorted(maps.Keys(schemas())) {
		if name != schemaConfig {
			names, oracles[name] = append(names, name), compile(f, name)
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if name != "" && oracles[name] == nil {
			name = names[len(name)%len(names)]
		}
		doc, err := checkJSON(name, "f", data)
		if err != nil {
			if text := err.Error(); printable(text) != text || len(text) > 1000 {
				t.Fatalf("checkJSON(%s, %q) = %q", name, data, text)
			}
			return
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		for range doc.Documents {
			var v any
			if err := dec.Decode(&v); err != nil {
				t.Fatal(err)
			}
			if err := oracles[doc.Schema].Validate(v); err != nil {
				t.Fatalf("checkJSON(%s, %q) says that it is valid: %v", name, data, err)
			}
		}
	})
}
