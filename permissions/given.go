package permissions

import (
	"encoding/json"
	"strings"
)

// given are the texts in a call's arguments as whoever carries it out reads them: an escape in JSON stands for another
// character. The last is the JSON itself.
func (v *view) given() []string {
	var out []string
	d := json.NewDecoder(strings.NewReader(v.call.Args))
	for {
		t, err := d.Token()
		if err != nil {
			break
		}
		if s, ok := t.(string); ok {
			out = append(out, s)
		}
	}
	return append(out, v.call.Args)
}

// givenReach is where a call's arguments lead. Each text is first taken for one path: those behind a long one count, too.
func (v *view) givenReach() reach {
	var r reach
	if v.call.Args == "" {
		return r
	}
	dirs := v.startDirs()
	if len(dirs) == 0 {
		dirs = nowhere
	}
	texts := v.given()
	for _, s := range texts[:len(texts)-1] {
		if s != "" && len(s) <= maxTokenBytes {
			r.add(v.reachOfToken(v.expandHome(s), dirs[0]))
		}
	}
	for _, s := range texts {
		r.add(v.reachOf(s, dirs))
	}
	return r
}

// givenVerb reports whether a call's arguments name a verb of swarm that only leaders and owners use.
func (v *view) givenVerb() bool {
	return v.call.Args != "" && mentions(strings.Join(v.given(), "\n"))
}
