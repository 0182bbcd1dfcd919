package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

// compile is the library's reading of a schema.
func compile(t testing.TB, name string) *oracle.Schema {
	t.Helper()
	doc, err := oracle.UnmarshalJSON(bytes.NewReader(schemas()[name]))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c := oracle.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource(name, doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	s, err := c.Compile(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// Our validator knows every word that stands in a schema.
func TestValidatorKnowsEveryKeyword(t *testing.T) {
	known := rules()
	for _, word := range []string{"$schema", "$id", "$defs", "title", "description", "then", "prefixItems"} {
		known[word] = nil // they say nothing by themselves
	}
	for name, data := range schemas() {
		var root any
		if err := json.Unmarshal(data, &root); err != nil {
			t.Fatal(err)
		}
		eachSchema(root, func(s map[string]any) {
			for word, v := range s {
				if _, ok := known[word]; !ok {
					t.Errorf("%s: the validator does not know %q", name, word)
				}
				text, _ := v.(string)
				if word == "format" && text != "date-time" || word == "contentEncoding" && text != "base64" || word == "$ref" && !strings.HasPrefix(text, "#/$defs/") {
					t.Errorf("%s: the validator does not know %s %q", name, word, text)
				}
			}
		})
	}
}

// eachSchema visits the schemas inside a schema.
func eachSchema(v any, visit func(map[string]any)) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	visit(s)
	for word, inside := range s {
		switch inside := inside.(type) {
		case map[string]any:
			if word == "properties" || word == "$defs" {
				for _, p := range inside {
					eachSchema(p, visit)
				}
			} else if word != "const" {
				eachSchema(inside, visit)
			}
		case []any:
			for _, p := range inside {
				if word != "enum" {
					eachSchema(p, visit)
				}
			}
		}
	}
}

// Our validator and the library agree about documents that are made from the schemas themselves, valid or nearly so.
func TestValidatorAgreesWithTheLibrary(t *testing.T) {
	all := schemas()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := compile(t, name)
		var root map[string]any
		if err := json.Unmarshal(all[name], &root); err != nil {
			t.Fatal(err)
		}
		verdicts := map[bool]int{}
		rapid.Check(t, func(t *rapid.T) {
			m := maker{t: t, root: root, wrong: rapid.Bool().Draw(t, "wrong")}
			v := m.value(root)
			want := s.Validate(v)
			got := validate(name, v, func(place, what, next string) error { return usage("%s: %s: %s", place, what, next) })
			if (got == nil) != (want == nil) {
				data, _ := json.Marshal(v)
				t.Fatalf("%s: validate(%s) = %v, want as the library: %v", name, data, got, want)
			}
			verdicts[want == nil]++
		})
		if verdicts[true] == 0 || verdicts[false] == 0 {
			t.Fatalf("%s: the documents were all valid, or none was: %v", name, verdicts)
		}
	}
}

// maker draws a document of a schema, with a mistake here and there.
type maker struct {
	t     *rapid.T
	root  map[string]any
	wrong bool
}

func (m maker) rarely() bool { return m.wrong && rapid.IntRange(0, 60).Draw(m.t, "rarely") == 60 }

func (m maker) value(schema any) any {
	s, _ := schema.(map[string]any)
	if m.rarely() {
		return rapid.SampledFrom([]any{nil, true, "", "x", json.Number("-1"), json.Number("1.5"), json.Number("2.0"), json.Number("1e2"), []any{}, map[string]any{}}).Draw(m.t, "odd")
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.value(m.root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")])
	}
	for _, word := range []string{"enum", "anyOf"} {
		if list, ok := s[word].([]any); ok {
			v := rapid.SampledFrom(list).Draw(m.t, word)
			if word == "anyOf" {
				return m.value(v)
			}
			return v
		}
	}
	if v, ok := s["const"]; ok {
		return v
	}
	typ, ok := s["type"].(string)
	if list, isList := s["type"].([]any); !ok && isList {
		typ = rapid.SampledFrom(list).Draw(m.t, "type").(string)
	}
	switch typ {
	case "null":
		return nil
	case "boolean":
		return rapid.Bool().Draw(m.t, "boolean")
	case "integer", "number":
		return json.Number(strconv.Itoa(rapid.IntRange(0, 3).Draw(m.t, "number")))
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 2).Draw(m.t, "items") {
			list = append(list, m.value(s["items"]))
		}
		return list
	case "object":
		return m.object(s)
	}
	return m.text(s)
}

func (m maker) text(s map[string]any) string {
	if pattern, ok := s["pattern"].(string); ok {
		return rapid.StringMatching(pattern).Draw(m.t, "pattern")
	}
	texts := []string{"2026-01-31T12:00:00Z", "2026-01-31T12:00:00.5+01:00", "YWI=", "eA=="}
	switch format, _ := s["format"].(string); {
	case m.wrong:
	case format == "date-time":
		texts = texts[:2]
	case s["contentEncoding"] == "base64":
		texts = texts[2:]
	}
	return rapid.SampledFrom(texts).Draw(m.t, "text")
}

func (m maker) object(s map[string]any) any {
	v := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(texts(s["required"]), field) && !m.rarely() || rapid.Bool().Draw(m.t, "there") {
			v[field] = m.value(properties[field])
		}
	}
	if m.rarely() {
		v["another"] = true
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		v["more"] = m.value(more)
	}
	return v
}

// The library is an oracle of tests only: its start costs more than all of ours.
func TestNoSchemaLibraryIsLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../..").Output()
	if err != nil || !strings.Contains(string(out), "planswarm/swarm/leader") {
		t.Fatalf("go list -deps: %v\n%s", err, out)
	}
	if strings.Contains(string(out), "santhosh-tekuri") {
		t.Error("santhosh-tekuri/jsonschema is linked into swarm: it costs every start 5 ms")
	}
}
