package mailbox

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// fieldSet is the JSON names of a struct type, with the type of each.
type fieldSet map[string]reflect.Type

// lookup returns the type of a name that is spelled exactly so.
func (f fieldSet) lookup(name string) (reflect.Type, error) {
	if t, ok := f[name]; ok {
		return t, nil
	}
	known := slices.Sorted(maps.Keys(f))
	for _, k := range known {
		if fold(k) == fold(name) {
			return nil, fmt.Errorf("unknown name: write it %q", k)
		}
	}
	if near := Nearest(name, known); len(near) > 0 {
		return nil, fmt.Errorf("unknown name: is it %q", near[0])
	}
	return nil, fmt.Errorf("unknown name: leave it out")
}

// fieldsOf collects the names of t as encoding/json does: embedded structs are promoted, the shallowest wins, among
// equally deep ones the tagged one, and what is still ambiguous is no field at all.
func fieldsOf(t reflect.Type) fieldSet {
	found := fieldSet{}
	settled := map[string]bool{}
	visited := map[reflect.Type]bool{}
	for level := []reflect.Type{t}; len(level) > 0; {
		var deeper []reflect.Type
		candidates := map[string][]candidate{}
		for _, s := range level {
			if visited[s] {
				continue
			}
			visited[s] = true
			for i := range s.NumField() {
				name, c, embedded := readField(s.Field(i))
				if embedded != nil {
					deeper = append(deeper, embedded)
				} else if name != "" {
					candidates[name] = append(candidates[name], c)
				}
			}
		}
		for name, cs := range candidates {
			if c, ok := dominant(cs); ok && !settled[name] {
				found[name] = c.t
			}
			settled[name] = true
		}
		level = deeper
	}
	return found
}

// candidate is one field that a name could mean.
type candidate struct {
	t      reflect.Type
	tagged bool
}

// readField returns what one Go field is in JSON: a named field, an embedded struct whose fields are promoted, or nothing.
func readField(f reflect.StructField) (name string, c candidate, embedded reflect.Type) {
	tag := f.Tag.Get("json")
	tagName, _, _ := strings.Cut(tag, ",")
	base := f.Type
	if base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	switch {
	case tag == "-":
		return "", candidate{}, nil
	case f.Anonymous && tagName == "" && base.Kind() == reflect.Struct:
		return "", candidate{}, base
	case !f.IsExported():
		return "", candidate{}, nil
	case tagName == "":
		return f.Name, candidate{f.Type, false}, nil
	}
	return tagName, candidate{f.Type, true}, nil
}

// dominant picks the field that a name means among equally deep ones.
func dominant(cs []candidate) (candidate, bool) {
	if len(cs) == 1 {
		return cs[0], true
	}
	cs = slices.DeleteFunc(slices.Clone(cs), func(c candidate) bool { return !c.tagged })
	if len(cs) == 1 {
		return cs[0], true
	}
	return candidate{}, false
}

// fold maps names that encoding/json takes for one another to the same text: each rune becomes the smallest that it
// folds to.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, s)
}
