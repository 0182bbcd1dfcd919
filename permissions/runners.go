package permissions

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// RunnerNames returns the base names of the files that say what commands of an intent run: Makefile, package.json. It is
// empty for an unknown intent, and for one whose programs obey no such file.
func RunnerNames(name string) []string {
	if names, ok := runnerNames.Load(name); ok {
		return slices.Clone(names.([]string))
	}
	in, known := intent.Describe(name)
	names := in.RunnerNames()
	if known { // those are few: others are words from outside
		runnerNames.Store(name, slices.Clone(names))
	}
	return names
}

// runnerNames are what RunnerNames has found: it walks through all tables of an intent, and an approval asks for each file.
var runnerNames sync.Map

// Unreadable is the digest in [Decision.Changed] of a runner file that is there and cannot be read: a folder, a pipe,
// one that is too large. It equals no recorded digest.
const Unreadable = "unreadable"

// changedRunners lists the runner files that a granted command would obey and that are not as they were when the plan was
// submitted. A file that the plan names may change.
func (v *view) changedRunners(g Grant, in intent.Intent, argv []shellcmd.Word, use schema.Use, dirs []string) []RunnerFile {
	names := in.RunnersOf(argv)
	if len(names) == 0 {
		return nil
	}
	var changed []RunnerFile
	if intent.Below(argv) {
		changed = v.changedBelow(g, names, dirs)
	}
	for _, dir := range v.foldersAbove(use, dirs) {
		for _, name := range names {
			now := RunnerFile{Path: path.Join(below(dir, v.realTree), intent.Kept(name))}
			now.Path = strings.TrimPrefix(now.Path, "/")
			if was, recorded := runnerOf(g, now.Path); !recorded || !was.Planned {
				now.Digest = v.digest(path.Join(dir, intent.Kept(name)))
				if now.Digest != was.Digest || now.Digest == Unreadable {
					changed = append(changed, now)
				} else if !slices.Contains(v.obeyed, now) {
					v.obeyed = append(v.obeyed, now)
				}
			}
		}
	}
	return changed
}

// changedBelow lists the recorded runner files below dirs that are not as they were. What was not recorded there is not
// looked for.
func (v *view) changedBelow(g Grant, names []string, dirs []string) []RunnerFile {
	var changed []RunnerFile
	for _, was := range g.Runners {
		file := path.Join(v.realTree, was.Path)
		below := slices.ContainsFunc(dirs, func(d string) bool { real := v.place(d, "").real; return path.Dir(file) != real && within(real, file) })
		if was.Planned || !below || !slices.Contains(names, path.Base(file)) {
			continue
		}
		now := RunnerFile{Path: path.Clean(was.Path), Digest: v.digest(file)}
		if now.Digest != was.Digest || now.Digest == Unreadable {
			changed = append(changed, now)
		} else if !slices.Contains(v.obeyed, now) {
			v.obeyed = append(v.obeyed, now)
		}
	}
	return changed
}

// foldersAbove are the real folders of the tree in which a command may find a file that it obeys: those that it runs in or
// is given, and all above them, each once.
func (v *view) foldersAbove(use schema.Use, dirs []string) []string {
	var out []string
	add := func(s spot) {
		for p := s.real; within(v.realTree, p) && !slices.Contains(out, p); p = path.Dir(p) {
			out = append(out, p)
			if p == v.realTree {
				break
			}
		}
	}
	for _, d := range dirs {
		add(v.place(d, ""))
		for _, p := range use.Paths {
			add(v.place(p.Text, d))
		}
	}
	return out
}

func (v *view) digest(file string) string {
	sum, err := v.e.resolver.Digest(file)
	if err != nil {
		return Unreadable
	}
	return sum
}

func runnerOf(g Grant, file string) (RunnerFile, bool) {
	i := slices.IndexFunc(g.Runners, func(r RunnerFile) bool { return path.Clean(r.Path) == file })
	if i < 0 {
		return RunnerFile{}, false
	}
	return g.Runners[i], true
}

// reasonChanged names the changed files, for people.
func reasonChanged(changed []RunnerFile) string {
	paths := make([]string, len(changed))
	for i, f := range changed {
		paths[i] = f.Path
	}
	return "runner changed since approval: " + strings.Join(paths, ", ")
}

// addChanged keeps what a decision says to have changed, each once.
func (v *view) addChanged(changed []RunnerFile) {
	for _, f := range changed {
		if !slices.Contains(v.changed, f) {
			v.changed = append(v.changed, f)
		}
	}
}
