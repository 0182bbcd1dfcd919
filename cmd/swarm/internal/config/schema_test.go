package config_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

func configSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What a project may not say is no key of its document.
var notAProjects = []string{"server", "as", "state"}

// The schema has exactly the keys that the decoder knows, at every depth.
func TestSchemaHasEveryKey(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	compareKeys(t, root, root, reflect.TypeFor[config.Document](), "")
}

func compareKeys(t *testing.T, root, s map[string]any, typ reflect.Type, path string) {
	t.Helper()
	if ref, ok := s["$ref"].(string); ok {
		s, _ = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	switch {
	case typ.Kind() == reflect.Pointer:
		compareKeys(t, root, s, typ.Elem(), path)
	case typ == reflect.TypeFor[time.Duration]():
	case typ.Kind() == reflect.Slice:
		next, _ := s["items"].(map[string]any)
		if next == nil { // a mapping with names as keys
			next, _ = s["additionalProperties"].(map[string]any)
		}
		compareKeys(t, root, next, typ.Elem(), path+"[]")
	case typ.Kind() == reflect.Struct:
		properties, _ := s["properties"].(map[string]any)
		var keys []string
		for _, field := range reflect.VisibleFields(typ) {
			key, opts, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			if key == "" || key == "-" || opts == "key" || path == "/settings" && slices.Contains(notAProjects, key) {
				continue
			}
			keys = append(keys, key)
			if next, ok := properties[key].(map[string]any); ok {
				compareKeys(t, root, next, field.Type, path+"/"+key)
			}
		}
		slices.Sort(keys)
		if got := slices.Sorted(maps.Keys(properties)); !slices.Equal(got, keys) {
			t.Errorf("config.schema.json has at %q the keys %v, want those of %v: %v", path, got, typ, keys)
		}
		if s["additionalProperties"] != false {
			t.Errorf("config.schema.json lets anything else stand at %q", path)
		}
	}
}

// The words of the schema are those that the code knows.
func TestSchemaHasTheCodesWords(t *testing.T) {
	var root struct {
		Defs struct {
			Member  struct{ Not struct{ Enum []string } }
			Mode    struct{ Enum []string }
			Dialect struct{ Enum []string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &root); err != nil {
		t.Fatal(err)
	}
	if got := root.Defs.Member.Not.Enum; !slices.Equal(got, mailbox.Reserved) {
		t.Errorf("reserved names = %v, want %v", got, mailbox.Reserved)
	}
	for _, m := range root.Defs.Mode.Enum {
		if p, err := permissions.ParseMode(m); err != nil || p == permissions.ModePlan {
			t.Errorf("the schema has mode %q: %v, %v", m, p, err)
		}
	}
	if got := root.Defs.Dialect.Enum; !slices.Equal(got, append([]string{""}, planmode.DialectNames()...)) {
		t.Errorf("dialects = %v, want %v", got, planmode.DialectNames())
	}
	for _, m := range permissions.Modes() {
		if m != permissions.ModePlan && !slices.Contains(root.Defs.Mode.Enum, string(m)) {
			t.Errorf("the schema lacks mode %q", m)
		}
	}
}

// What is read is valid, and what the schema can tell to be wrong is not read either.
func TestSchemaAndDecoderAgree(t *testing.T) {
	s := configSchema(t)
	mate := head + "teammates:\n  api:\n    run: [x]\n"
	rule := head + "policy:\n  - name: a\n"
	good := []string{
		mate + "    expect: done\n", mate + "    expect: refused\n", mate + "    expect: rejected\n",
		head, head + "settings:\n", mate + "    mode: yolo\n    startInPlan: false\n    allowedPrompts: [run tests]\n",
		head + "settings: {team: x, color: never, timeout: 1h30m, log: {level: debug, format: json}}\n",
		head + "caps: {mode: auto, planRequired: false, grants: {ttl: .5h, uses: 3}}\n", head + "caps: {grants: {ttl: 0}}\n",
		rule + "    then: approve\n    with: {ttl: 1m, uses: 1, grants: none, mode: auto}\n    feedback: well done\n",
		head + "policies: [.claude/settings.json, .gemini/policies/*.toml, swarm-policy.yaml]\n", mate + "    trustMcp: [github, my.db]\n",
		rule + "    then: ask\npolicyTests:\n  - {given: {teammate: api, agent: claude, intents: [run tests], prompts: [x], paths: [a.go], revision: 2, mode: auto}, want: ask, by: a}\n  - {given: {teammate: api, command: ls}, want: ask}\n  - {given: {teammate: api, edit: a.go}, want: ask}\n",
		rule + "    then: ask\n    match: {intents: [], lacks: [run tests], paths: [\"*.md\"], agents: [claude], teammates: [api], revision: 2}\n",
		head + "caps:\n  personOnly: [{intents: [push]}, {paths: [\"deploy/**\"]}, {mode: auto}, {mode: plan}, {classes: [network]}]\n  quorum: [{match: {intents: [push]}, need: 2, of: [anna, bob]}, {match: {mode: auto}, need: 2}]\n  assurance: [{match: {intents: [push]}, least: sealed}]\n",
		head + "deadlines: {remind: 30m, escalate: 2h, to: [anna, bob], reject: off}\n", head + "deadlines: {reject: 0}\n", head + "deadlines:\n",
		head + "leaders:\n  anna: {kind: person}\n  bob:\n  reviewer: {kind: agent, may: {approve: {intents: [run tests, lint], maxFiles: 10}, reject: never}}\n",
		head + "defaults:\n", head + "defaults: {dialect: kimi-code, startInPlan: false, planFolder: docs/plans, budget: {turns: 40, minutes: 30, denials: 20}, reminders: {every: 5, full: 5}}\n", mate + "    budget:\n", mate + "    role: planner\n    guidance: restrained\n", head + "guidanceFor: {claude: eager, sonnet: restrained}\n", head + "defaults: {role: explorer}\n", mate + "    dialect: gemini\n    planFolder: .plans\n",
		rule + "    then: approve\n    on: permission\n    match: {commands: [git fetch origin], teammate: api}\n",
	}
	bad := []string{
		head + "caps: {personOnly: [{}]}\n", head + "caps: {personOnly: [{intents: [push], lacks: [x]}]}\n", head + "caps: {personOnly: [{classes: [danger]}]}\n", head + "caps: {personOnly: {intents: [push]}}\n",
		head + "caps: {quorum: [{match: {intents: [push]}, need: 0}]}\n", head + "caps: {quorum: [{need: 2}]}\n", head + "caps: {assurance: [{match: {intents: [push]}}]}\n",
		head + "deadlines: {approve: 1h}\n", head + "deadlines: {remind: soon}\n", head + "deadlines: {remind: -1m}\n", head + "deadlines: {escalate: 1h, to: bob}\n", head + "deadlines: {escalate: 1h, to: [lead]}\n", head + "caps: {grants: {ttl: off}}\n",
		head + "leaders: {r: {kind: robot}}\n", head + "leaders: {r: {may: {approve: {intents: []}}}}\n", head + "leaders: {r: {kind: agent, may: {}}}\n", head + "leaders: {lead: {}}\n",
		mate + "    expect: miracles\n",
		mate + "    budget: {turns: -1}\n", mate + "    role: boss\n", mate + "    guidance: fierce\n", head + "guidanceFor: {claude: fierce}\n", head + "guidanceFor: {claude: \"\"}\n", mate + "    budget: {tokens: 1}\n", mate + "    reminders: {every: often}\n",
		head + "defaults: {dialect: klingon}\n", head + "defaults: {startInPlan: perhaps}\n", head + "defaults: {run: [x]}\n", mate + "    planFolder: /plans\n", mate + "    planFolder: .\n", mate + "    planFolder: \" plans\"\n",
		head + "policies: [/etc/x.json]\n", head + "policies: [a.txt]\n", head + "policies: x.json\n", head + "policies: [1]\n", mate + "    trustMcp: [\"a b\"]\n", mate + "    trustMcp: [_a]\n", mate + "    trustMcp: github\n",
		head + "policyTests:\n  - {given: {}, want: ask}\n", head + "policyTests:\n  - {given: {teammate: api}, want: allow}\n", head + "policyTests:\n  - {want: ask}\n",
		head + "policyTests:\n  - {given: {teammate: api, colour: red}, want: ask}\n", head + "policyTests:\n  - {given: {teammate: api, revision: -1}, want: ask}\n", head + "policyTests:\n  - {given: {teammate: api, mode: plan}, want: ask}\n",
		"version: 2\nteam: t\n", "version: 1\n", "team: t\n", "version: 1\nteam: Shop!\n", "version: 1\nteam: lead\n", "version: 1\nteam: 12\n",
		head + "temmates: {}\n", head + "teammates: {}\n", head + "teammates: {lead: {run: [x]}}\n", head + "teammates: {a: {mode: default}}\n",
		head + "teammates: {a: {run: bash x}}\n", head + "teammates: {a: {run: []}}\n", head + "teammates: {a: {run: [\"\"]}}\n",
		mate + "    mode: plan\n", mate + "    mode: sometimes\n", mate + "    sandbox: off\n", mate + "    allowedPrompts: [\" \"]\n",
		head + "settings: {server: x}\n", head + "settings: {as: x}\n", head + "settings: {state: x}\n", head + "settings: {timeout: 2 hours}\n",
		head + "caps: {mode: plan}\n", head + "caps: {grants: {uses: -1}}\n", head + "caps: {grants: {ttl: -1h}}\n", head + "caps: {planRequired: perhaps}\n",
		rule, rule + "    then: aprove\n", rule + "    then: reject\n", rule + "    then: ask\n    feedback: x\n", rule + "    then: approve\n    on: mondays\n",
		rule + "    then: approve\n    match: {paths: []}\n", rule + "    then: approve\n    match: {revision: -1}\n", rule + "    then: approve\n    with: {grants: all}\n",
		rule + "    then: approve\n    with: {mode: plan}\n", head + "policy:\n  - {then: ask}\n", head + "policy: {}\n", head + "policy:\n  - {name: \"\", then: ask}\n",
	}
	check := func(text string) (read, valid error) {
		path := write(t, "swarm.yaml", text)
		if _, problems := config.Load(path); problems != nil {
			read = os.ErrInvalid
		}
		v, err := config.Values(path)
		if err != nil {
			t.Fatal(err)
		}
		return read, s.Validate(v)
	}
	for _, text := range good {
		if read, valid := check(text); read != nil || valid != nil {
			t.Errorf("%s\nread: %v\nvalid: %v", text, read, valid)
		}
	}
	for _, text := range bad {
		if read, valid := check(text); read == nil || valid == nil {
			t.Errorf("%s\nread: %v, valid: %v, want neither", text, read, valid)
		}
	}
}

// Every example, and every document in the README, is valid.
func TestExamplesAreValid(t *testing.T) {
	s := configSchema(t)
	root := filepath.Join("..", "..", "..", "..")
	files, err := filepath.Glob(filepath.Join(root, "examples", "*", "swarm.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range strings.Split(string(readme), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if strings.HasPrefix(text, "version:") {
			files = append(files, write(t, "swarm.yaml", text))
		}
	}
	for _, file := range files {
		if _, problems := config.Load(file); problems != nil {
			t.Errorf("%s: %v", file, problems)
		}
		v, err := config.Values(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
