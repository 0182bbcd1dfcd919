package policyfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions"
)

// lists are the keys of permissions that hold rules.
var lists = []string{"allow", "ask", "deny"}

// otherKeys are the keys of permissions that hold none.
var otherKeys = []string{"additionalDirectories", "defaultMode", "disableBypassPermissionsMode", "disableAutoMode"}

// claude reads the rules of Claude's settings. They are read token by token: of a key that stands twice both hold.
func (r *reader) claude(data []byte) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil || top == nil {
		r.whole(jsonLine(data, err), bad("correct the JSON", "it is no JSON object (%v)", err))
		return
	}
	c := &claudeReader{reader: r, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	found := false
	c.object(func(key string, line int) {
		switch near := nearest(strings.ToLower(key), []string{"permissions"}); {
		case key == "permissions":
			found = true
			c.permissions(false)
		case near != "":
			found = true
			r.problem(line, key, bad(`did you mean "permissions"?`, "the key is not known"))
			c.permissions(true)
		default:
			c.skip()
		}
	})
	if !found {
		r.problem(0, "", warn(`write {"permissions": {"deny": [...]}}`, "there are no permissions in it"))
	}
}

func jsonLine(data []byte, err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return lineAt(data, int(syntax.Offset))
	}
	return 1
}

func lineAt(data []byte, offset int) int {
	return bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n")) + 1
}

// claudeReader walks over settings that are known to be JSON.
type claudeReader struct {
	*reader
	data []byte
	dec  *json.Decoder
	at   int // up to where lines are counted
	line int // line ends before it
}

func (c *claudeReader) token() (json.Token, int) {
	t, err := c.dec.Token()
	if err != nil {
		return nil, 0
	}
	return t, c.here()
}

// here is the line that was read last.
func (c *claudeReader) here() int {
	to := min(int(c.dec.InputOffset()), len(c.data))
	c.line += bytes.Count(c.data[c.at:to], []byte("\n"))
	c.at = to
	return c.line + 1
}

// object calls f for each key; f must take the value. It is false when the value is no object, and is then skipped.
func (c *claudeReader) object(f func(key string, line int)) bool {
	t, _ := c.token()
	if t != json.Delim('{') {
		c.rest(t)
		return false
	}
	for c.dec.More() {
		t, line := c.token()
		key, ok := t.(string)
		if !ok {
			return false
		}
		f(key, line)
	}
	c.token()
	return true
}

// skip takes a whole value.
func (c *claudeReader) skip() {
	t, _ := c.token()
	c.rest(t)
}

// rest takes what follows the first token of a value.
func (c *claudeReader) rest(t json.Token) {
	if t != json.Delim('{') && t != json.Delim('[') {
		return
	}
	for depth := 1; depth > 0; {
		switch t, _ := c.token(); t {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		case nil:
			if c.dec.InputOffset() >= int64(len(bytes.TrimSpace(c.data))) {
				return
			}
		}
	}
}

// permissions reads the lists of rules. With narrowing only, the allow list is left out.
func (c *claudeReader) permissions(narrowing bool) {
	ok := c.object(func(key string, line int) {
		near := nearest(strings.ToLower(key), lists)
		if i := slices.IndexFunc(lists, func(l string) bool { return l != "allow" && strings.HasPrefix(strings.ToLower(key), l) }); i >= 0 {
			near = lists[i]
		}
		switch {
		case slices.Contains(lists, key):
			c.rules(permissions.Verdict(key), narrowing)
		case slices.Contains(otherKeys, key):
			if key == "additionalDirectories" {
				c.problem(line, key, warn("name them in rules of Read", "swarm's tree is one folder, so that this adds none"))
			} else {
				c.problem(line, key, warn("set mode: of a teammate, or caps:, in swarm.yaml", "it changes nothing here"))
			}
			c.skip()
		case near != "":
			c.problem(line, key, bad(`did you mean "`+near+`"?`, "the key is not known"))
			c.rules(permissions.Verdict(near), true)
		default:
			c.problem(line, key, warn("use allow, ask and deny", "the key is not known, and nothing of it is read"))
			c.skip()
		}
	})
	if !ok {
		c.whole(c.here(), bad(`write {"deny": [...]}`, "permissions is no object"))
	}
}

func (c *claudeReader) rules(verdict permissions.Verdict, narrowing bool) {
	t, line := c.token()
	if t != json.Delim('[') {
		c.rest(t)
		c.problem(line, string(verdict), bad("write a list of texts", "it is no list"))
		c.unread(verdict, nil, line)
		return
	}
	for n := 1; c.dec.More(); n++ {
		t, line := c.token()
		text, ok := t.(string)
		c.file.Written++
		if !ok {
			c.rest(t)
			c.file.Unread++
			c.problem(line, fmt.Sprintf("%s rule %d", verdict, n), bad(specForm, "it is no text"))
			c.unread(verdict, nil, line)
			continue
		}
		if narrowing && verdict == permissions.Allow {
			continue
		}
		c.rule(verdict, text, line)
	}
	c.token()
}

func (r *reader) rule(verdict permissions.Verdict, text string, line int) {
	if r.full() {
		return
	}
	rule, err := parseSpec(verdict, text)
	if err != nil {
		r.problem(line, fmt.Sprintf("%s %q", verdict, text), err)
		if !IsWarning(err) {
			r.file.Unread++
			r.unread(verdict, specTools(text), line)
			return
		}
	}
	rule.Source = place(r.file.Name, line)
	r.add(rule)
}
