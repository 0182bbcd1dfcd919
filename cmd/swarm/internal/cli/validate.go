package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/plans"
)

// A flaw is one thing that is wrong with a document.
type flaw struct {
	pointer    string // JSON pointer; empty is the top
	rank       int    // what causes others comes first
	what, next string
}

// validator checks a value against one of our schemas: the part of JSON Schema that they use. A library would cost each
// start of swarm 5 ms, and a teammate starts it at every call; a test holds the two together.
type validator struct {
	rules map[string]func(c *validator, s map[string]any, v any, at string)
	root  map[string]any
	flaws int  // how many there are
	worst flaw // the one that explains most
}

// rules is what the validator knows of JSON Schema, besides what says nothing about a value.
func rules() map[string]func(c *validator, s map[string]any, v any, at string) {
	return map[string]func(c *validator, s map[string]any, v any, at string){
		"$ref": (*validator).ref, "type": (*validator).typ, "enum": (*validator).enum, "const": (*validator).constant,
		"anyOf": (*validator).anyOf, "allOf": (*validator).allOf, "not": (*validator).not, "if": (*validator).cases,
		"required": (*validator).required, "properties": (*validator).properties, "propertyNames": (*validator).propertyNames,
		"additionalProperties": (*validator).additionalProperties, "minProperties": (*validator).size,
		"items": (*validator).items, "minItems": (*validator).size, "maxItems": (*validator).size,
		"minimum": (*validator).minimum, "minLength": (*validator).size, "maxLength": (*validator).size,
		"pattern": (*validator).pattern, "format": (*validator).format, "contentEncoding": (*validator).encoding,
	}
}

// validate checks a value, and tells the one thing that is wrong with it that explains most.
func validate(name string, v any, at func(place, what, next string) error) error {
	c := &validator{rules: rules()}
	if err := json.Unmarshal(schemas()[name], &c.root); err != nil {
		return fmt.Errorf("schema %s: %w", name, err)
	}
	c.check(c.root, v, "")
	if c.flaws == 0 {
		return nil
	}
	f := c.worst
	return at(pointerText(f.pointer), f.what, f.next+"see swarm schema "+name)
}

func (c *validator) check(schema, v any, at string) {
	s, ok := schema.(map[string]any)
	if !ok {
		if schema == false {
			c.add(at, 0, "nothing may stand here", "remove it; ")
		}
		return
	}
	for _, word := range slices.Sorted(maps.Keys(s)) {
		if check := c.rules[word]; check != nil {
			check(c, s, v, at)
		}
	}
}

func (c *validator) add(at string, rank int, what, next string) {
	c.take(1, flaw{at, rank, what, next})
}

// take counts flaws and keeps the one that explains most: a document may have as many as it has values.
func (c *validator) take(n int, f flaw) {
	if c.flaws == 0 || 2*(f.rank-c.worst.rank)+strings.Compare(f.pointer, c.worst.pointer) < 0 {
		c.worst = f
	}
	c.flaws += n
}

// try looks at a value against a schema, and takes nothing of it.
func (c *validator) try(schema, v any, at string) *validator {
	other := &validator{rules: c.rules, root: c.root}
	other.check(schema, v, at)
	return other
}

func (c *validator) holds(schema, v any, at string) bool { return c.try(schema, v, at).flaws == 0 }

func (c *validator) ref(s map[string]any, v any, at string) {
	ref, _ := s["$ref"].(string)
	defs, _ := c.root["$defs"].(map[string]any)
	c.check(defs[strings.TrimPrefix(ref, "#/$defs/")], v, at)
}

// typ is told before what else is wrong with the same value.
func (c *validator) typ(s map[string]any, v any, at string) {
	want, ok := s["type"].([]any)
	if !ok {
		want = []any{s["type"]}
	}
	var names []string
	for _, w := range want {
		if isType(v, w.(string)) {
			return
		}
		names = append(names, w.(string))
	}
	c.add(at, 1, fmt.Sprintf("%s is %s, not %s", shownValue(v), article(typeOf(v)), article(strings.Join(names, " or "))), "")
}

func isType(v any, name string) bool {
	if name == "integer" {
		n, ok := number(v)
		return ok && n.IsInt()
	}
	return typeOf(v) == name
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "number"
}

// number is a value of JSON, or of YAML, as a number.
func number(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case json.Number:
		return new(big.Rat).SetString(v.String())
	case int:
		return new(big.Rat).SetInt64(int64(v)), true
	case int64:
		return new(big.Rat).SetInt64(v), true
	case uint64:
		return new(big.Rat).SetUint64(v), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	}
	return nil, false
}

func same(a, b any) bool {
	x, ok := number(a)
	y, too := number(b)
	if ok && too {
		return x.Cmp(y) == 0
	}
	return reflect.DeepEqual(a, b)
}

func (c *validator) enum(s map[string]any, v any, at string) {
	words, _ := s["enum"].([]any)
	if !slices.ContainsFunc(words, func(w any) bool { return same(v, w) }) {
		next := "use one of them; "
		if got, ok := v.(string); ok {
			if near := mailbox.Nearest(got, texts(words)); len(near) > 0 {
				next = "did you mean " + shown(near[0]) + "? "
			}
		}
		c.add(at, 2, shownValue(v)+" is none of "+choices(words), next)
	}
}

func (c *validator) constant(s map[string]any, v any, at string) {
	if !same(v, s["const"]) {
		c.add(at, 2, fmt.Sprintf("%s is not %s", shownValue(v), shownValue(s["const"])), "write that; ")
	}
}

// anyOf tells what is wrong with the alternative that fails least.
func (c *validator) anyOf(s map[string]any, v any, at string) {
	var least *validator
	for _, alternative := range s["anyOf"].([]any) {
		other := c.try(alternative, v, at)
		if other.flaws == 0 {
			return
		}
		if least == nil || other.flaws < least.flaws {
			least = other
		}
	}
	c.take(least.flaws, least.worst)
}

func (c *validator) allOf(s map[string]any, v any, at string) {
	for _, part := range s["allOf"].([]any) {
		c.check(part, v, at)
	}
}

// cases knows if and then; none of ours has else.
func (c *validator) cases(s map[string]any, v any, at string) {
	if c.holds(s["if"], v, at) {
		c.check(s["then"], v, at)
	}
}

func (c *validator) not(s map[string]any, v any, at string) {
	if c.holds(s["not"], v, at) {
		c.add(at, 2, shownValue(v)+" may not stand here", "choose another; ")
	}
}

func (c *validator) required(s map[string]any, v any, at string) {
	m, ok := v.(map[string]any)
	for _, field := range texts(s["required"]) {
		if _, there := m[field]; ok && !there {
			c.add(at, 2, "the field "+shown(field)+" is missing", "add it; ")
		}
	}
}

func (c *validator) properties(s map[string]any, v any, at string) {
	m, _ := v.(map[string]any)
	for field, schema := range s["properties"].(map[string]any) {
		if value, there := m[field]; there {
			c.check(schema, value, at+"/"+escapePointer(field))
		}
	}
}

func (c *validator) propertyNames(s map[string]any, v any, at string) {
	m, _ := v.(map[string]any)
	for field := range m {
		c.check(s["propertyNames"], field, at+"/"+escapePointer(field))
	}
}

// additionalProperties tells an unknown field first: a field that is missing may be the same one, mistyped.
func (c *validator) additionalProperties(s map[string]any, v any, at string) {
	known, _ := s["properties"].(map[string]any)
	m, _ := v.(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(m)) {
		if _, ok := known[field]; ok {
			continue
		}
		if s["additionalProperties"] != false {
			c.check(s["additionalProperties"], m[field], at+"/"+escapePointer(field))
			continue
		}
		next := "remove it; "
		if near := mailbox.Nearest(field, slices.Collect(maps.Keys(known))); len(near) > 0 {
			next = "did you mean " + shown(near[0]) + "? "
		}
		c.add(at, 0, "unknown field "+shown(field), next)
	}
}

func (c *validator) items(s map[string]any, v any, at string) {
	list, _ := v.([]any)
	first, _ := s["prefixItems"].([]any)
	for i, e := range list {
		schema := s["items"]
		if i < len(first) {
			schema = first[i]
		}
		c.check(schema, e, at+"/"+strconv.Itoa(i))
	}
}

// size is every rule about how much there is.
func (c *validator) size(s map[string]any, v any, at string) {
	n, of := 0, ""
	switch v := v.(type) {
	case string:
		n, of = utf8.RuneCountInString(v), "Length"
	case []any:
		n, of = len(v), "Items"
	case map[string]any:
		n, of = len(v), "Properties"
	}
	if least, ok := s["min"+of].(float64); ok && n < int(least) {
		c.add(at, 2, fmt.Sprintf("%s is too short: there must be at least %v", shownValue(v), least), "")
	}
	if most, ok := s["max"+of].(float64); ok && n > int(most) {
		c.add(at, 2, fmt.Sprintf("%s is too long: there may be at most %v", shownValue(v), most), "")
	}
}

func (c *validator) minimum(s map[string]any, v any, at string) {
	n, ok := number(v)
	least, _ := number(s["minimum"])
	if ok && n.Cmp(least) < 0 {
		c.add(at, 2, fmt.Sprintf("%s is less than %v", shownValue(v), s["minimum"]), "")
	}
}

func (c *validator) pattern(s map[string]any, v any, at string) {
	text, ok := v.(string)
	if re, err := regexp.Compile(s["pattern"].(string)); ok && (err != nil || !re.MatchString(text)) {
		c.add(at, 2, fmt.Sprintf("%s does not match %s", shownValue(v), s["pattern"]), "")
	}
}

// format knows one: date-time.
func (c *validator) format(s map[string]any, v any, at string) {
	text, ok := v.(string)
	if _, err := time.Parse(time.RFC3339Nano, text); ok && err != nil {
		c.add(at, 2, fmt.Sprintf("%s is not a %s", shownValue(v), s["format"]), "write it like 2026-01-31T12:00:00Z; ")
	}
}

// encoding knows one: base64.
func (c *validator) encoding(s map[string]any, v any, at string) {
	text, ok := v.(string)
	if _, err := base64.StdEncoding.DecodeString(text); ok && err != nil {
		c.add(at, 2, fmt.Sprintf("%s is not %s", shownValue(v), s["contentEncoding"]), "")
	}
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func article(noun string) string {
	switch {
	case noun == "null":
		return noun
	case strings.ContainsRune("aeiou", rune(noun[0])):
		return "an " + noun
	}
	return "a " + noun
}

func choices(values []any) string {
	var out []string
	for _, v := range values {
		out = append(out, shownValue(v))
	}
	return strings.Join(out, ", ")
}

// shownValue is a value as JSON, cut to what a line can hold.
func shownValue(v any) string {
	if text, ok := v.(string); ok {
		return shown(text)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "the value"
	}
	return plans.Cut(plans.VisibleLine(string(data)), 60)
}

func escapePointer(part string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(part)
}

// pointerText is a JSON pointer as an error has it.
func pointerText(pointer string) string {
	if pointer == "" {
		return "at the top"
	}
	return "at " + plans.Cut(plans.VisibleLine(pointer), 120)
}
