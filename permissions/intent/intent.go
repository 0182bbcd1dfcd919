package intent

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/permissions/schema"
	"github.com/planswarm/swarm/permissions/shellcmd"
)

// Intent is what a recognised prompt stands for.
type Intent struct {
	Name     string   `json:"name"`
	Classes  []string `json:"classes"`  // the words of permissions.Class
	Examples []string `json:"examples"` // commands that it covers
	Never    []string `json:"never"`    // what it does not cover, for people
	Env      []string `json:"env"`      // variables of the runner that its commands need: caches and where modules come from

	Phrases  []Phrase          `json:"phrases"`
	Programs []*schema.Program `json:"programs"`
	// Scripts are names of package scripts (npm run NAME), and Targets of a Makefile, justfile or Taskfile, that mean it.
	Scripts string `json:"scripts"`
	Targets string `json:"targets"`
	// Production means that its commands may work for production (NODE_ENV=production): nothing that runs is reached.
	Production bool `json:"production"`
	// Guard says what its programs may be given: schema.GuardPlain when it is empty.
	Guard string `json:"guard"`
	// Set has variables of the environment with the value that its commands get.
	Set map[string]string `json:"set"`

	table schema.Table
	asked func() []Phrase // of one that is built in, in the place of Phrases
}

// Phrase is a rule by which the intent is asked for: one of the verbs, then one of the objects. All are in lower case, and
// of ASCII letters or of Han.
type Phrase struct {
	Verbs   []string `json:"verbs"`
	Objects []string `json:"objects"`
	Alone   bool     `json:"alone"` // the verb says it all
}

//go:embed tables
var tables embed.FS

//go:embed runners.json
var runnersJSON []byte

// intents are read from all files below tables, in order of their names.
var intents = sync.OnceValue(func() []Intent {
	files, err := fs.Glob(tables, "tables/*.json")
	if err != nil {
		panic(err)
	}
	var all []Intent
	for _, name := range files {
		data, err := tables.ReadFile(name)
		if err != nil {
			panic(err)
		}
		for text := range schema.Elements(data) {
			in, err := deferred(text)
			if err != nil {
				panic(fmt.Errorf("%s: %w", name, err)) // the embedded tables are ours, and a test reads them
			}
			in.table = schema.Embedded(in.prepare())
			all = append(all, in)
		}
	}
	return all
})

// deferred reads an intent of the embedded tables, but for its phrases and what its programs may be given: those are read
// when they are asked for.
func deferred(text []byte) (in Intent, err error) {
	own := []byte("{") // what is read at once
	for name, value := range schema.Members(text) {
		switch string(name) {
		case "phrases":
			in.asked = sync.OnceValue(func() []Phrase {
				var list []Phrase
				if err := json.Unmarshal(value, &list); err != nil {
					panic(fmt.Errorf("intent: %s: %w", value, err)) // ours, and tested
				}
				return list
			})
		case "programs":
			in.Programs = schema.Deferred(value)
		default:
			own = schema.AppendMember(own, name, value)
		}
	}
	return in, json.Unmarshal(append(own, '}'), &in)
}

// phrases are the ways to ask for the intent.
func (in Intent) phrases() []Phrase {
	if in.asked != nil {
		return in.asked()
	}
	return in.Phrases
}

// whole is the intent with all that is in its tables.
func (in Intent) whole() Intent {
	in.Phrases = in.phrases()
	for _, p := range in.Programs {
		p.Whole()
	}
	return in
}

// runners are the files that programs obey, by the program's name.
var runners = sync.OnceValue(func() map[string][]string {
	m := map[string][]string{}
	if err := json.Unmarshal(runnersJSON, &m); err != nil {
		panic(fmt.Errorf("intent: runners.json: %w", err)) // ours, and tested
	}
	return m
})

func read(data []byte) ([]Intent, error) {
	list, err := decode(data)
	if err != nil {
		return nil, err
	}
	for i := range list {
		t, err := schema.New(list[i].prepare())
		if err != nil {
			return nil, fmt.Errorf("intent: %q: %w", list[i].Name, err)
		}
		list[i].table = t
	}
	return list, nil
}

func decode(data []byte) ([]Intent, error) {
	var list []Intent
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&list); err != nil {
		return nil, fmt.Errorf("intent: read table: %w: correct the file", err)
	}
	return list, nil
}

// prepare completes what was decoded, and lists the programs of the intent's table.
func (in *Intent) prepare() []*schema.Program {
	for _, p := range in.Programs {
		p.Then(func() { noEnd(p) })
	}
	in.expand()
	list, guard := in.all(), cmp.Or(in.Guard, schema.GuardPlain)
	for _, p := range list {
		p.Then(func() { p.Guard = guard })
	}
	return list
}

// noEnd makes a -- of a program that runs something an error: what follows it may be for another one (dotnet test -- A=b).
// Git's ends its flags, and where a table says what may follow, that holds.
func noEnd(p *schema.Program) {
	if p.Name == "git" {
		return
	}
	p.NoEnd = p.NoEnd || p.Rest == nil && len(p.Commands) == 0
	for _, c := range p.Commands {
		noEnd(c)
	}
}

// All returns every intent there is, in the order of the table, with all that is in its tables. Do not change what it
// points to.
func All() []Intent {
	all := slices.Clone(intents())
	for i := range all {
		all[i] = all[i].whole()
	}
	return all
}

// Names are the names of all intents, in the order of the table.
func Names() []string {
	out := make([]string, len(intents()))
	for i, in := range intents() {
		out[i] = in.Name
	}
	return out
}

// Describe returns the intent of that exact name, with all that is in its tables.
func Describe(name string) (Intent, bool) {
	in, ok := Named(name)
	return in.whole(), ok
}

// Named is [Describe] for who compares commands: phrases and programs of the intent may not have been read yet, and are
// when they are needed.
func Named(name string) (Intent, bool) {
	i := slices.IndexFunc(intents(), func(in Intent) bool { return in.Name == name })
	if i < 0 {
		return Intent{}, false
	}
	return intents()[i], true
}

// expand puts the caches of all ecosystems in the place of "*" in Env.
func (in *Intent) expand() {
	if i := slices.Index(in.Env, "*"); i >= 0 {
		in.Env = slices.Concat(in.Env[:i], Caches, in.Env[i+1:])
	}
}

// Caches are the variables that say where tools keep what they fetched and made, and where Go's modules come from. Those
// that say where a tool or its configuration is (JAVA_HOME, CARGO_HOME) are not among them: what lies there is run.
var Caches = []string{
	"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB", "GOTOOLCHAIN", "GOLANGCI_LINT_CACHE", "STATICCHECK_CACHE", "XDG_CACHE_HOME", "npm_config_cache", "YARN_CACHE_FOLDER",
	"PIP_CACHE_DIR", "UV_CACHE_DIR", "POETRY_CACHE_DIR", "NUGET_PACKAGES", "COMPOSER_CACHE_DIR", "PUB_CACHE", "TF_PLUGIN_CACHE_DIR",
}

// RunnerNames returns the names of all files that the intent's programs obey, each once, in order. Such a file lies in the
// folder that the program runs in or is given, or above it.
func (in Intent) RunnerNames() []string {
	var out []string
	for _, name := range in.table.Called() {
		out = append(out, runners()[strings.TrimPrefix(name, "./")]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Below reports whether a command also obeys such files in folders below the one it runs in: those of a workspace.
func Below(argv []shellcmd.Word) bool {
	return slices.ContainsFunc(argv, func(w shellcmd.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=") // --filter=web
		return slices.Contains(runners()["*"], path.Base(name))
	})
}

// kept says in which folder, below the one that a program runs in, it looks for a runner file of a name.
var kept = map[string]string{
	"config.toml": ".cargo", "nextest.toml": ".config", "extensions.xml": ".mvn", "maven.config": ".mvn", "jvm.config": ".mvn",
	"maven-wrapper.properties": ".mvn/wrapper", "gradle-wrapper.properties": "gradle/wrapper",
}

// Kept is where a runner file of that name lies, seen from the folder that a program runs in or one above it.
func Kept(name string) string {
	if dir := kept[name]; dir != "" {
		return dir + "/" + name
	}
	return name
}

// RunnersOf returns the names of the files that one command obeys, by every word of it that is a program's name.
func (in Intent) RunnersOf(argv []shellcmd.Word) []string {
	var out []string
	for _, w := range argv {
		for _, name := range runners()[path.Base(w.Text)] {
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// Match says what a command does when the intent covers it. The error wraps schema.ErrUnknown and names the argument
// that it does not cover.
func (in Intent) Match(argv []shellcmd.Word) (schema.Use, error) { return in.table.Match(argv) }

// Cover returns what a command does when any intent covers it.
func Cover(argv []shellcmd.Word) (schema.Use, bool) {
	if len(argv) == 0 || !argv[0].Literal() {
		return schema.Use{}, false
	}
	for i := range intents() {
		in := &intents()[i]
		if in.table.Excludes(argv) {
			continue
		}
		if use, err := in.Match(argv); err == nil && use.Inner == nil {
			return use, true
		}
	}
	return schema.Use{}, false
}
