package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/planswarm/swarm/mailbox"
	mailschema "github.com/planswarm/swarm/mailbox/schema"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode/schema"
)

var update = flag.Bool("update", false, "write testdata/wire.golden anew")

// all returns every schema, from both packages.
func all(t testing.TB) map[string][]byte {
	t.Helper()
	both := mailschema.All()
	for kind, data := range schema.All() {
		if _, twice := both[kind]; twice {
			t.Errorf("both packages have a schema of %s", kind)
		}
		both[kind] = data
	}
	return both
}

func compile(t testing.TB, kind string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(all(t)[kind]))
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.AssertContent()
	if err := c.AddResource(kind, doc); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	s, err := c.Compile(kind)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return s
}

func validate(t testing.TB, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return s.Validate(v)
}

func TestEveryWireTypeHasItsSchema(t *testing.T) {
	schemas := all(t)
	for kind, data := range schemas {
		if wireTypes[kind] == nil {
			t.Errorf("schema %s has no Go type", kind)
		}
		var head struct {
			Schema string `json:"$schema"`
			ID     string `json:"$id"`
		}
		if err := json.Unmarshal(data, &head); err != nil || head.ID != "urn:swarm:v1:"+kind || head.Schema != "https://json-schema.org/draft/2020-12/schema" {
			t.Errorf("%s: %+v, %v", kind, head, err)
		}
	}
	for kind := range wireTypes {
		if schemas[kind] == nil {
			t.Errorf("%s has no schema", kind)
		}
	}
	for _, kind := range mailbox.Kinds() {
		if schemas[string(kind)] == nil {
			t.Errorf("mail of kind %s has no schema", kind)
		}
	}
}

// What Go writes is valid, with everything set and with nothing that may be left out; and it is read back strictly.
func TestGoTypesAreValid(t *testing.T) {
	for _, kind := range kinds() {
		s := compile(t, kind)
		for _, full := range []bool{true, false} {
			v, data := exampleOf(t, kind, full)
			if err := validate(t, s, data); err != nil {
				t.Errorf("%s: %s is not valid: %v", kind, data, err)
			}
			back := reflect.New(wireTypes[kind])
			if err := mailbox.DecodeStrict(data, back.Interface()); err != nil || !reflect.DeepEqual(back.Elem().Interface(), v) {
				t.Errorf("%s: DecodeStrict(%s) = %+v, %v", kind, data, back.Elem(), err)
			}
		}
	}
}

// What Go would not take is not valid either: a name more, at whatever depth, another case, or a required field less.
func TestSchemasRefuse(t *testing.T) {
	for _, kind := range kinds() {
		s := compile(t, kind)
		_, data := exampleOf(t, kind, true)
		for what, changed := range changes(t, kind, data) {
			if err := validate(t, s, changed); err == nil {
				t.Errorf("%s, %s: %s is valid", kind, what, changed)
			}
		}
	}
}

// changes returns an example with one field more, or one that is required less, in each of its objects.
func changes(t testing.TB, kind string, data []byte) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	var root any
	if err := json.Unmarshal(data, &root); err != nil {
		t.Fatal(err)
	}
	encode := func(what string) {
		changed, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		found[what] = changed
	}
	var visit func(path string, v any, typ reflect.Type)
	visit = func(path string, v any, typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && !isLeaf(typ) {
			typ = typ.Elem()
		}
		switch v := v.(type) {
		case []any:
			visit(path+"[]", v[0], typ)
		case map[string]any:
			if isLeaf(typ) {
				return
			}
			v["x-more"] = 1
			encode(path + " with a field more")
			delete(v, "x-more")
			for _, f := range fieldsOf(typ) {
				value := v[f.name]
				delete(v, f.name)
				if f.required {
					encode(path + " without " + f.name)
				}
				v[strings.ToUpper(f.name)+"_"] = value
				encode(path + " with " + f.name + " in another spelling")
				delete(v, strings.ToUpper(f.name)+"_")
				v[f.name] = value
				visit(path+"."+f.name, value, f.t)
			}
		}
	}
	visit(kind, root, wireTypes[kind])
	return found
}

func isLeaf(t reflect.Type) bool {
	_, ok := byType[t]
	return ok
}

// Every property is a field of the Go type with that JSON type, and every field is a property.
func TestSchemasAreTheGoTypes(t *testing.T) {
	for _, kind := range kinds() {
		var doc map[string]any
		if err := json.Unmarshal(all(t)[kind], &doc); err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		used := map[string]bool{}
		w := &comparison{t: t, defs: object(doc["$defs"]), used: used}
		w.compare(kind, doc, wireTypes[kind], true)
		for name := range w.defs {
			if !used[name] {
				t.Errorf("%s: $defs/%s is not used", kind, name)
			}
		}
	}
}

// comparison goes through a schema beside a Go type.
type comparison struct {
	t    testing.TB
	defs map[string]any
	used map[string]bool
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func (c *comparison) compare(path string, node map[string]any, typ reflect.Type, required bool) {
	c.t.Helper()
	if ref, ok := node["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		c.used[name] = true
		node = object(c.defs[name])
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	want := jsonType(typ)
	if got := node["type"]; got != want && !(required && typ.Kind() == reflect.Slice && reflect.DeepEqual(got, []any{want, "null"})) {
		c.t.Errorf("%s: type %v, and Go writes %s (%s)", path, got, want, typ)
	}
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
	case typ.String() == "time.Time":
		c.expect(path, node, "format", "date-time")
	case typ == reflect.TypeFor[[]byte]():
		c.expect(path, node, "contentEncoding", "base64")
	case typ.Kind() == reflect.Uint64:
		if least, ok := node["minimum"].(float64); node["const"] == nil && (!ok || least < 0) {
			c.t.Errorf("%s: minimum %v, and Go has no negative numbers here", path, node["minimum"])
		}
	case typ.Kind() == reflect.Slice:
		c.compare(path+"[]", object(node["items"]), typ.Elem(), false)
	case typ.Kind() == reflect.Map:
		c.compare(path+".*", object(node["additionalProperties"]), typ.Elem(), false)
	case typ.Kind() == reflect.Struct:
		c.compareObject(path, node, typ)
	}
}

func (c *comparison) compareObject(path string, node map[string]any, typ reflect.Type) {
	c.t.Helper()
	c.expect(path, node, "additionalProperties", false)
	properties := object(node["properties"])
	var need []string
	for _, f := range fieldsOf(typ) {
		property, ok := properties[f.name]
		if !ok {
			c.t.Errorf("%s has no property %s of %s", path, f.name, typ)
			continue
		}
		delete(properties, f.name)
		if f.required {
			need = append(need, f.name)
		}
		c.compare(path+"."+f.name, object(property), f.t, f.required)
		properties[f.name] = property
	}
	for name := range properties {
		if !slices.ContainsFunc(fieldsOf(typ), func(f field) bool { return f.name == name }) {
			c.t.Errorf("%s: property %s is no field of %s", path, name, typ)
		}
	}
	var required []string
	list, _ := node["required"].([]any)
	for _, name := range list {
		required = append(required, fmt.Sprint(name))
	}
	slices.Sort(need)
	slices.Sort(required)
	if !slices.Equal(need, required) {
		c.t.Errorf("%s: required %v, and Go always writes %v", path, required, need)
	}
}

func (c *comparison) expect(path string, node map[string]any, key string, want any) {
	c.t.Helper()
	if node[key] != want {
		c.t.Errorf("%s: %s is %v, want %v", path, key, node[key], want)
	}
}

func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Map, t.Kind() == reflect.Struct && t.String() != "time.Time":
		return "object"
	case t.Kind() == reflect.String, t.String() == "time.Time", t == reflect.TypeFor[[]byte]():
		return "string"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Slice:
		return "array"
	}
	return "integer"
}

func TestEnumsAreComplete(t *testing.T) {
	enum := func(kind string, path ...string) []string {
		var v any
		if err := json.Unmarshal(all(t)[kind], &v); err != nil {
			t.Fatal(err)
		}
		for _, p := range path {
			v = object(v)[p]
		}
		var words []string
		for _, w := range v.([]any) {
			words = append(words, fmt.Sprint(w))
		}
		return words
	}
	var modes, kinds []string
	for _, m := range permissions.Modes() {
		modes = append(modes, string(m))
	}
	for _, k := range mailbox.Kinds() {
		kinds = append(kinds, string(k))
	}
	if got := enum("envelope", "properties", "kind", "enum"); !slices.Equal(got, kinds) {
		t.Errorf("envelope has kinds %q, Go %q", got, kinds)
	}
	for _, kind := range []string{"charter", "mode_set_request", "mode_changed", "plan_approval_request", "plan_approval_response", "status"} {
		if got := enum(kind, "$defs", "mode", "enum"); !slices.Equal(got, modes) {
			t.Errorf("%s has modes %q, Go %q", kind, got, modes)
		}
	}
}

// All types are complete from the first version: a change to one of them is a change of the protocol, and is made on
// purpose, with -update.
func TestWireIsFrozen(t *testing.T) {
	var lines []string
	for _, kind := range slices.Sorted(maps.Keys(wireTypes)) {
		lines = append(lines, frozen(kind, wireTypes[kind])...)
	}
	got := strings.Join(lines, "\n") + "\n"
	golden := filepath.Join("testdata", "wire.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	old := strings.Split(string(want), "\n")
	for _, line := range lines {
		if !slices.Contains(old, line) {
			t.Errorf("new on the wire: %s", line)
		}
	}
	for _, line := range old {
		if line != "" && !slices.Contains(lines, line) {
			t.Errorf("gone from the wire: %s", line)
		}
	}
	t.Error("the wire changed: older members refuse the orders of newer ones. If it is meant: go test ./planmode/schema -update")
}

// frozen lists the fields of a type: path, JSON type, and whether it is always written.
func frozen(path string, typ reflect.Type) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice && !isLeaf(typ) {
		if typ.Kind() == reflect.Slice {
			path += "[]"
		}
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || isLeaf(typ) {
		return nil
	}
	var lines []string
	for _, f := range fieldsOf(typ) {
		at, presence := path+"."+f.name, "optional"
		if f.required {
			presence = "required"
		}
		base := f.t
		if base.Kind() == reflect.Pointer {
			base = base.Elem()
		}
		written := jsonType(base)
		if written == "array" {
			written += " of " + jsonType(base.Elem())
		}
		lines = append(lines, at+" "+written+" "+presence)
		lines = append(lines, frozen(at, f.t)...)
	}
	return lines
}
