package permissions

import (
	"path"
	"strings"

	"github.com/planswarm/swarm/permissions/shellcmd"
)

// view is one call before one state: everything that is looked up once.
type view struct {
	e     *Engine
	call  Call
	state State
	mode  Mode
	class toolClass
	odd   string // why the arguments do not say what the call runs, or which file it is about

	rules                     []Rule // those in force
	tree, home                string // clean; empty when they are not absolute
	realTree                  string
	lowTree, lowReal, lowHome string   // tree, realTree and home in lower case
	forbidden                 []string // clean, lower case: as named, and where links lead
	plan                      string   // where the plan file really is
	cwd                       string   // where the call's directory really is, as bash would name it; empty when unknown

	spots     map[at]spot
	seenTexts map[seenText]reach
	reaches   map[at]reach
	tokens    int // looked at so far
	readings  map[*shellcmd.Command]*reading
	uncovered *shellcmd.Command // the first command that nothing covers
	obeyed    []RunnerFile      // runner files that were looked at, and are as they were approved
	ruled     string            // where the rule stands that was named last as narrowing the call
	changed   []RunnerFile      // of grants that would have covered a command which then was not allowed
}

func (e *Engine) look(c Call, s State) *view {
	c, odd := unpacked(c)
	v := &view{e: e, call: c, odd: odd, state: s, mode: s.Mode, class: classOf(c.Tool), spots: map[at]spot{}, reaches: map[at]reach{}}
	if !v.mode.Known() {
		v.mode = ModePlan // an unknown mode falls to plan
	}
	v.rules = v.inForce(s.Rules)
	v.tree, v.home = absolute(s.Tree), absolute(s.Home)
	v.realTree, v.cwd = v.resolve(v.tree), v.resolve(absolute(c.Cwd))
	v.lowTree, v.lowReal, v.lowHome = strings.ToLower(v.tree), strings.ToLower(v.realTree), strings.ToLower(v.home)
	v.setForbidden()
	v.setPlan()
	return v
}

// resolve follows the links of an absolute path; empty when that fails.
func (v *view) resolve(p string) string {
	if p == "" {
		return ""
	}
	real, err := v.e.resolver.EvalSymlinks(p)
	if err != nil {
		return ""
	}
	return absolute(real)
}

func absolute(p string) string {
	if !strings.HasPrefix(p, "/") {
		return ""
	}
	return path.Clean(p)
}

func (v *view) setForbidden() {
	for _, f := range v.state.Forbidden {
		f = absolute(f)
		if f == "" {
			continue
		}
		v.forbidden = append(v.forbidden, strings.ToLower(f))
		if real := v.resolve(f); real != "" && real != f {
			v.forbidden = append(v.forbidden, strings.ToLower(real))
		}
	}
}

func (v *view) setPlan() {
	if p := absolute(v.state.PlanFile); p != "" {
		if dir := v.resolve(path.Dir(p)); dir != "" {
			v.plan = path.Join(dir, path.Base(p))
		}
	}
}

// at is a path as it stands in a call, and the folder that it is seen from: empty when it is absolute.
type at struct{ dir, path string }

// spot is where a path leads: by its name, and by the links in it.
type spot struct {
	name, real string // clean and absolute; empty when unknown
	unclear    bool   // links could not be resolved, or there is nothing to resolve from
}

// lower is where s leads in lower case, as names are compared.
func (s spot) lower() (name, real string) {
	name = strings.ToLower(s.name)
	if s.real == s.name {
		return name, name
	}
	return name, strings.ToLower(s.real)
}

// place finds a path as a program would that runs in dir and got it after bash had expanded a tilde.
func (v *view) place(p, dir string) spot {
	if strings.HasPrefix(p, "/") {
		dir = ""
	} else if dir == "" {
		return spot{unclear: true}
	}
	key := at{dir, p}
	if s, ok := v.spots[key]; ok {
		return s
	}
	if dir != "" {
		p = dir + "/" + p // not joined: the kernel takes ".." after links
	}
	s := spot{name: path.Clean(p)}
	real, err := v.e.resolver.EvalSymlinks(p)
	if err != nil || !strings.HasPrefix(real, "/") || strings.ContainsRune(p, 0) {
		s.unclear = true
	} else {
		s.real = path.Clean(real)
	}
	v.spots[key] = s
	return s
}

// expandHome replaces a leading tilde.
func (v *view) expandHome(p string) string {
	if v.home != "" && (p == "~" || strings.HasPrefix(p, "~/")) {
		return v.home + p[1:]
	}
	return p
}

func within(dir, p string) bool {
	return dir != "" && p != "" && (p == dir || dir == "/" || strings.HasPrefix(p, dir) && p[len(dir)] == '/')
}

// inTree reports whether s is in the working tree, by its links and by its name.
func (v *view) inTree(s spot) bool { return v.inFolder(s, v.tree, v.realTree) }

func (v *view) inFolder(s spot, name, real string) bool {
	return !s.unclear && within(real, s.real) && (within(name, s.name) || within(real, s.name))
}

// isPlan reports whether s is the plan file itself, not a link in its place.
func (v *view) isPlan(s spot) bool { return v.plan != "" && !s.unclear && s.real == v.plan }

// isForbidden reports whether s is in one of swarm's own folders. A working tree inside such a folder is not.
func (v *view) isForbidden(s spot) bool {
	if v.isPlan(s) {
		return false
	}
	name, real := s.lower()
	for _, f := range v.forbidden {
		if (within(f, name) || within(f, real)) && !v.carvedOut(f, s) {
			return true
		}
	}
	return false
}

func (v *view) carvedOut(f string, s spot) bool {
	return v.tree != "" && v.lowTree != f && within(f, v.lowTree) && v.inTree(s)
}

// holdsForbidden reports whether one of swarm's own folders is below s.
func (v *view) holdsForbidden(s spot) bool {
	name, real := s.lower()
	for _, f := range v.forbidden {
		if within(name, f) || within(real, f) {
			return true
		}
	}
	return false
}
