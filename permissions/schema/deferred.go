package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
)

// Deferred reads of a list of programs only what they are called by. The rest of each is read when the program is first
// asked for: most processes decide one command. It is for the tables inside the program, in which a test has found no
// mistake; it panics when there is one all the same.
func Deferred(data []byte) []*Program {
	var list []*Program
	for text := range Elements(data) {
		p := &Program{}
		for key, value := range Members(text) {
			var err error
			switch string(key) {
			case "name":
				err = json.Unmarshal(value, &p.Name)
			case "also":
				err = json.Unmarshal(value, &p.Also)
			case "via":
				err = json.Unmarshal(value, &p.Via)
			case "only":
				err = json.Unmarshal(value, &p.Only)
			}
			if err != nil {
				panic(fmt.Errorf("schema: %s: %w", text, err))
			}
		}
		list = append(list, later(p, text))
	}
	return list
}

// later is p, which is read from text when it is first asked for. What it is called by stays as it is: others look at that
// meanwhile.
func later(p *Program, text []byte) *Program {
	p.read = sync.OnceFunc(func() {
		rest := []byte("{")
		for key, value := range Members(text) {
			switch string(key) {
			case "name", "also", "via", "only":
				continue
			}
			rest = AppendMember(rest, key, value)
		}
		if err := json.Unmarshal(append(rest, '}'), p); err != nil {
			panic(fmt.Errorf("schema: program %q: %w", p.Name, err)) // ours, and tested
		}
		for _, f := range p.then {
			f()
		}
	})
	return p
}

// Whole reads what is left of a program of [Deferred].
func (p *Program) Whole() {
	if p.read != nil {
		p.read()
	}
}

// Then calls f when p is read whole: at once, unless it is one of [Deferred] of which nobody has asked for the rest yet.
// It is for who makes a table, before anybody uses it.
func (p *Program) Then(f func()) {
	if p.read == nil {
		f()
		return
	}
	p.then = append(p.then, f)
}

// Elements yields the elements of a list in JSON, and Members the members of an object, their names as they are written
// between the quotes. They only look where each ends, and are for the tables inside the program: what they yield of text
// that is not JSON means nothing.
func Elements(data []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for i := begin(data, 0) + 1; ; {
			i = begin(data, i)
			if i >= len(data) || data[i] == ']' {
				return
			}
			end := after(data, i)
			if !yield(data[i:end]) {
				return
			}
			i = end
		}
	}
}

// Members is described at [Elements].
func Members(data []byte) func(yield func(name, value []byte) bool) {
	return func(yield func(name, value []byte) bool) {
		for i := begin(data, 0) + 1; ; {
			i = begin(data, i)
			if i >= len(data) || data[i] != '"' {
				return
			}
			end := after(data, i)
			from := begin(data, end)
			to := after(data, from)
			if !yield(bytes.Trim(data[i:end], `"`), data[from:to]) {
				return
			}
			i = to
		}
	}
}

// AppendMember appends a member that [Members] yielded to the text of an object, which begins with its brace.
func AppendMember(object, name, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	return append(append(append(append(object, '"'), name...), `":`...), value...)
}

// begin is where the next value, or the end of what is around, stands from i on.
func begin(data []byte, i int) int {
	for i < len(data) && (data[i] <= ' ' || data[i] == ',' || data[i] == ':') {
		i++
	}
	return i
}

// after is where the value ends that begins at i. It goes forward at least by one, as long as there is anything.
func after(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth > 0 || i+1 < len(data) && !ends(data[i+1]) { // inside, or of a number or a word
				continue
			}
		}
		if depth <= 0 {
			return min(i+1, len(data))
		}
	}
	return len(data)
}

func ends(c byte) bool { return c <= ' ' || c == ',' || c == ']' || c == '}' }
