package permissions_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/permissions/schema"
)

// source is a set of programs as a file has them: not compiled, so that they can be changed and made a table again.
type source struct {
	file  string
	table string
	in    *intent.Intent // nil for what only reads
	list  []*schema.Program
}

// sources are the table files.
type sources struct {
	all       []*source
	parts     map[string]*schema.Program
	launchers []*schema.Program
}

func readSources(t testing.TB) *sources {
	t.Helper()
	s := &sources{}
	read := func(file string, into any) {
		data, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	reads := &source{file: "schema/readonly.json", table: "readonly"}
	read(reads.file, &reads.list)
	read("schema/parts.json", &s.parts)
	read("schema/launchers.json", &s.launchers)
	s.all = append(s.all, reads)
	files, _ := filepath.Glob("intent/tables/*.json")
	for _, file := range files {
		var list []*intent.Intent
		read(file, &list)
		for _, in := range list {
			s.all = append(s.all, &source{file, in.Name, in, in.Programs})
		}
	}
	return s
}

// clone is a program that can be changed and compiled without any effect on the other.
func clone(p *schema.Program) *schema.Program {
	out := *p
	out.Flags = maps.Clone(p.Flags)
	out.Commands = cloneAll(p.Commands)
	if p.Rest != nil {
		out.Rest = clone(p.Rest)
	}
	return &out
}

func cloneAll(list []*schema.Program) []*schema.Program {
	out := make([]*schema.Program, 0, len(list))
	for _, p := range list {
		out = append(out, clone(p))
	}
	return out
}

// programs are all programs of a source as they are made a table: with those that run its scripts and targets. The list
// is used up.
func (s *source) programs(list []*schema.Program) []*schema.Program {
	if s.in == nil {
		return list
	}
	in := *s.in
	in.Programs = list
	if len(list) == 1 && !slices.Contains([]string{"make", "just", "task", "npm", "pnpm", "yarn", "bun"}, list[0].Name) {
		in.Scripts, in.Targets = "", ""
	}
	return intentPrograms(&in)
}

func (s *source) compile(list []*schema.Program) (schema.Table, error) {
	return schema.New(s.programs(list))
}

// forms are the ways in which programs start others, with the families that they start.
func (s *sources) forms() (out []string, families map[string]string) {
	out, families = []string{"PROGRAM"}, map[string]string{}
	var walk func(before string, p *schema.Program)
	walk = func(before string, p *schema.Program) {
		for _, name := range append([]string{p.Name}, strings.Fields(p.Also)...) {
			here := strings.TrimSpace(before + " " + name)
			switch {
			case strings.HasSuffix(name, "/"):
				here += "PROGRAM"
				out = append(out, here)
			case p.Launches != "":
				here += " PROGRAM"
				out = append(out, here)
			}
			families[here] = p.Launches
			here = strings.TrimSuffix(here, " PROGRAM")
			for _, c := range p.Commands {
				walk(here, c)
			}
		}
	}
	for _, l := range s.launchers {
		walk("", l)
	}
	return out, families
}

// sampleOf is a value of a kind, or "" when there is none among the samples.
func sampleOf(kind string) string { return samplesOf(kind)[0] }

var kindSamples = map[string][]string{}

func samplesOf(kind string) []string {
	if out := kindSamples[kind]; out != nil {
		return out
	}
	var out []string
	if strings.ContainsAny(kind, "|~,") {
		list := slices.Compact(strings.Split(strings.TrimLeft(kind, "~,"), "|"))
		for _, w := range list {
			w, open := strings.CutSuffix(w, "*")
			if out = append(out, quote(w)); open {
				out = append(out, quote(w+"x"))
			}
		}
		if first := strings.TrimSuffix(list[0], "*"); kind[0] == '~' {
			out = append(out, ":m:"+first)
		} else if kind[0] == ',' {
			out = append(out, first+","+strings.TrimSuffix(list[len(list)-1], "*"))
		}
	} else {
		out = samples
	}
	if t, err := schema.New([]*schema.Program{{Name: "x", Flags: map[string]string{"--x": kind}, Guard: schema.GuardTests}}); err == nil {
		out = slices.DeleteFunc(slices.Clone(out), func(s string) bool {
			var a asked
			a.start([]string{"x"})
			a.probed(attach("--x=", s), s)
			return a.verdict(t) == '.'
		})
	}
	if !strings.ContainsAny(kind, "|~,") && len(out) > 1 {
		out = out[:1]
	}
	if len(out) == 0 {
		out = []string{"NONE"}
	}
	kindSamples[kind] = out
	return out
}

func quote(w string) string {
	if strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:,%@+/=") == "" && w != "" {
		return w
	}
	return "'" + w + "'"
}

// valueSamples are samples of a flag's value, each after the character that says how it is written.
func valueSamples(kind string) []string {
	if kind == "" {
		return nil
	}
	form := " "
	if rest, ok := strings.CutPrefix(kind, "?"); ok {
		form, kind = "=", rest
	}
	if strings.HasPrefix(kind, "&") {
		form = "&"
	}
	kind = strings.TrimLeft(kind, "!&")
	var out []string
	for _, s := range samplesOf(kind) {
		if form == " " && strings.HasPrefix(s, "-") { // it would be read as a flag
			form = "="
		}
		out = append(out, form+s)
	}
	return out
}
