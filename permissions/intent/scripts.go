package intent

import (
	"maps"
	"slices"
	"strings"

	"github.com/planswarm/swarm/permissions/schema"
)

// all are the intent's programs, and those that run a script or target by name.
func (in *Intent) all() []*schema.Program {
	list := in.Programs
	add := func(p *schema.Program) {
		for _, own := range list {
			if own.Name == p.Name {
				own.Then(func() { join(own, p) })
				return
			}
		}
		list = append(list, p)
	}
	if names := strings.Fields(in.Scripts); len(names) > 0 {
		for _, p := range scripts(names, in.tools()) {
			add(p)
		}
		for _, p := range workspaces(oneOf(names)) {
			add(p)
		}
	}
	if names := strings.Fields(in.Targets); len(names) > 0 {
		one := oneOf(names)
		quiet := map[string]string{"-s --silent": ""}
		for _, p := range []*schema.Program{
			{Name: "make", With: "make", Operands: one + " V=1|V=0|VERBOSE=1|VERBOSE=0|PYTHON=python|PYTHON=python3*"},
			{Name: "just", Operands: one},
			{Name: "task", Operands: one, Flags: quiet},
			{Name: "mage", Operands: one, Flags: map[string]string{"-v": ""}},
			{Name: "gulp", Via: "node", Operands: one, Flags: map[string]string{"--silent": ""}},
			{Name: "grunt", Via: "node", Operands: one},
			{Name: "poe", Via: "python", Operands: one},
			{Name: "inv", Also: "invoke", Via: "python", Operands: one},
		} {
			add(p)
		}
	}
	return list
}

// oneOf is the kind of one of the names.
func oneOf(names []string) string {
	if len(names) == 1 {
		return names[0] + "|" + names[0]
	}
	return strings.Join(names, "|")
}

// tools are the names of the intent's programs that the package managers of Node start like a script.
func (in *Intent) tools() []string {
	var out []string
	for _, p := range in.Programs {
		if slices.Contains(strings.Fields(p.Via), "node") {
			out = append(append(out, p.Name), strings.Fields(p.Also)...)
		}
	}
	return out
}

// bunOwn are names of scripts that bun takes for commands of its own.
var bunOwn = []string{"test", "build", "audit", "install", "add", "remove", "update", "link", "outdated", "publish", "run", "exec", "init", "create", "info"}

// scripts are the package managers of Node, which run a script by its name.
func scripts(names, tools []string) []*schema.Program {
	script := func(names []string, with string) *schema.Program {
		return &schema.Program{Name: names[0], Also: strings.Join(names[1:], " "), With: with}
	}
	direct := func(with string, not []string) []*schema.Program {
		if names := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(not, n) }); len(names) > 0 {
			return []*schema.Program{script(names, with)}
		}
		return nil
	}
	run := func(also, with string) *schema.Program {
		return &schema.Program{Name: "run", Also: also, Flags: map[string]string{"-s --silent": "", "--if-present": "", "-w --workspace": "scope", "--workspaces --ws": "", "-r --recursive": "", "-F --filter": "scope"}, Commands: []*schema.Program{script(names, with)}}
	}
	quiet := func(more string) map[string]string { return map[string]string{"-s --silent": "", more: "dir"} }
	npm, pnpm := quiet("--prefix -C"), quiet("-C --dir")
	maps.Copy(npm, map[string]string{"-w --workspace": "scope", "--workspaces --ws": ""})
	maps.Copy(pnpm, map[string]string{"-r --recursive --parallel --stream --if-present": "", "-w --workspace-root": "", "-F --filter": "scope"})
	one := oneOf(names)
	each := &schema.Program{
		Name:     "foreach",
		Flags:    map[string]string{"-A --all -p --parallel -t --topological --topological-dev -v --verbose -i --interlaced -W --worktree -R --recursive": "", "-j --jobs": "word", "--include --exclude --from": "scope"},
		Commands: []*schema.Program{{Name: "run", Operands: one}},
	}
	return []*schema.Program{
		{Name: "npm", Flags: npm, Commands: []*schema.Program{run("run-script", "script")}},
		{Name: "pnpm", Flags: pnpm, Commands: append(direct("script scriptArgs scriptFilter", tools), run("", "script scriptFilter"))},
		{Name: "yarn", Flags: quiet("--cwd"), Commands: append(
			direct("script scriptArgs", tools), run("", "script scriptArgs"), &schema.Program{Name: "workspace", Bare: true, Operands: "scope " + one + "|run " + one + "?"},
			&schema.Program{Name: "workspaces", Commands: []*schema.Program{{Name: "run", Operands: one}, each}})},
		{Name: "bun", Commands: append(direct("script scriptArgs", slices.Concat(tools, bunOwn)), run("", "script scriptArgs"))},
		{Name: "rushx", Operands: one},
		{Name: "deno", Commands: []*schema.Program{{Name: "task", Operands: one}}},
	}
}

// workspaces are the programs that run a script in every workspace of a monorepo.
func workspaces(one string) []*schema.Program {
	turbo := map[string]string{
		"-F --filter": "scope", "--force --no-cache --continue --no-daemon --only --parallel --affected --dry-run": "", "--concurrency": "word", "--output-logs": "full|none|hash-only|new-only|errors-only", "--ui": "stream|tui",
	}
	nx := map[string]string{"--skip-nx-cache --verbose --nxBail --nx-bail": "", "--output-style": "word", "--exclude": "word", "--parallel": "?int", "-c --configuration": "word"}
	many := maps.Clone(nx)
	maps.Copy(many, map[string]string{"-t --target --targets": "," + one, "--all": "", "-p --projects": "word"})
	affected := maps.Clone(nx)
	maps.Copy(affected, map[string]string{"-t --target --targets": "," + one, "--base --head": "branch"})
	needs := "-t --target --targets"
	return []*schema.Program{
		{Name: "turbo", Via: "node", Commands: []*schema.Program{{Name: "run", Operands: one + "+", Flags: turbo}}},
		{Name: "nx", Via: "node", Commands: []*schema.Program{
			{Name: "run-many", Needs: needs, Flags: many}, {Name: "affected", Needs: needs, Flags: affected}, {Name: "run", Operands: "~" + one, Flags: nx},
		}},
		{Name: "lerna", Via: "node", Commands: []*schema.Program{
			{Name: "run", Operands: one, Flags: map[string]string{"--stream --no-bail --parallel --no-sort --no-prefix": "", "--scope --ignore": "scope", "--concurrency": "int"}},
		}},
	}
}

// join adds to a program the subcommands and flags of another of the same name; its own hold.
func join(own, more *schema.Program) {
	if own.Flags == nil {
		own.Flags = map[string]string{}
	}
	for flag, kind := range more.Flags {
		if _, ok := own.Flags[flag]; !ok {
			own.Flags[flag] = kind
		}
	}
	for _, c := range more.Commands {
		found := false
		for _, mine := range own.Commands {
			if mine.Name == c.Name {
				join(mine, c)
				found = true
			}
		}
		if !found {
			own.Commands = append(own.Commands, c)
		}
	}
}
