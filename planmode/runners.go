package planmode

import (
	"path"
	"slices"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/plans/facts"
)

// PlanRunners marks the runner files that a plan names: they may change. One that the plan names and that is not there is
// added, so that it may come. Paths are those that the plan names, names the base names of the runner files that matter.
func PlanRunners(files []permissions.RunnerFile, paths, names []string) []permissions.RunnerFile {
	files = slices.Clone(files)
	for i := range files {
		files[i].Planned = slices.Contains(paths, files[i].Path)
	}
	for _, p := range paths {
		known := slices.ContainsFunc(files, func(f permissions.RunnerFile) bool { return f.Path == p })
		if !known && localTree(p) && slices.Contains(names, path.Base(p)) {
			files = append(files, permissions.RunnerFile{Path: p, Planned: true})
		}
	}
	return files
}

// runnersOf are the runner files that a grant for an intent remembers. What may change of them is what the approved bytes
// name: a leader's edit may have taken a file out of the plan.
func (s *step) runnersOf(p Pending, d Decision, intent string) []permissions.RunnerFile {
	names := runnerNames(intent, p.Runners)
	files := p.Runners
	if d.PlanWasEdited {
		found := facts.Compute(d.EditedPlan, p.Prompts, facts.Tree{Root: s.Tree})
		files = PlanRunners(files, facts.Paths(found), names)
	}
	var of []permissions.RunnerFile
	for _, f := range files {
		if slices.Contains(names, path.Base(f.Path)) {
			of = append(of, f)
		}
	}
	return of
}

// runnerNames are the names of the files that commands of an intent obey. Of an intent of a person's own they are those of
// all files that were recorded: to know more of them only ever makes a change be seen.
func runnerNames(name string, recorded []permissions.RunnerFile) []string {
	if _, builtIn := intent.Describe(name); builtIn {
		return permissions.RunnerNames(name)
	}
	var names []string
	for _, f := range recorded {
		names = append(names, path.Base(f.Path))
	}
	return names
}
