package cli

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	eventschema "github.com/planswarm/swarm/cmd/swarm/internal/events"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	mailschema "github.com/planswarm/swarm/mailbox/schema"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
	planschema "github.com/planswarm/swarm/planmode/schema"
	"github.com/planswarm/swarm/plans"
)

// The names of schemas that code knows.
const (
	schemaConfig   = "config"
	schemaEnvelope = "envelope"
	schemaTable    = "table"
	schemaRules    = "rules"
	schemaEvent    = "event"
	// schemaCommand stands before the verb, in the names of what commands print with --json.
	schemaCommand = "cmd/"
)

// printed are the schemas of what commands print: written from the Go types by `go test ./cmd/swarm/internal/cli -update`.
//
//go:embed schemas
var printed embed.FS

// schemas returns every schema by its name: the kinds of mail, config, report, error, and cmd/VERB.
func schemas() map[string][]byte {
	all := mailschema.All()
	maps.Copy(all, planschema.All())
	all[schemaConfig] = config.Schema()
	all[schemaTable] = permissions.TableSchema()
	all[schemaRules] = policyfile.Schema()
	all[schemaEvent] = eventschema.Schema()
	_ = fs.WalkDir(printed, "schemas", func(file string, d fs.DirEntry, err error) error { // embedded: it is there
		if err == nil && !d.IsDir() {
			name := strings.TrimSuffix(strings.TrimPrefix(file, "schemas/"), path.Ext(file))
			all[name], err = printed.ReadFile(file)
		}
		return err
	})
	return all
}

// schemaDoc is one line of `swarm schema --json`.
type schemaDoc struct {
	Name  string `json:"name"`
	Title string `json:"title"`
}

func schemaList() []schemaDoc {
	all := schemas()
	var list []schemaDoc
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, schemaDoc{name, schemaTitle(all[name])})
	}
	return list
}

// schemaTitle is one line about a schema: the first sentence of its description, or its title.
func schemaTitle(data []byte) string {
	var head struct{ Title, Description string }
	if json.Unmarshal(data, &head) != nil || head.Description == "" {
		return head.Title
	}
	first, _, _ := strings.Cut(head.Description, ". ")
	return strings.TrimSuffix(first, ".")
}

func newSchema(sh *shell) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "schema [NAME]", Short: "JSON Schemas of mail, swarm.yaml, reports, and what commands print", Args: cobra.MaximumNArgs(1),
		Long: "List the JSON Schemas (draft 2020-12), or print one. With --check FILE: say whether each JSON\n" +
			"document in FILE is valid, one after another as --watch prints them; - is standard input. Without\n" +
			"NAME a .yaml file is a swarm.yaml, and a document with kind, team and body is an envelope.\n" +
			"Exit: 0 valid  2 not valid, or not readable  15 no such schema",
		Example: "  swarm schema\n  swarm schema config > .swarm/schema.json\n  swarm schema --check swarm.yaml\n" +
			"  swarm schema table --check ~/.config/swarm/tables/mine.json\n  swarm schema rules --check policy.yaml\n" +
			"  swarm inbox --json | swarm schema cmd/inbox --check -",
		ValidArgsFunction: completeSchemas,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
				if _, ok := schemas()[name]; !ok {
					return errUnknownSchema(name)
				}
			}
			switch {
			case cmd.Flags().Changed("check"):
				return checkFile(sh, name, file)
			case name == "":
				return listSchemas(sh)
			}
			_, err := sh.out.Write(schemas()[name])
			return err
		},
	}
	c.Flags().StringVar(&file, "check", "", "check the documents in this file; - is standard input")
	return c
}

func listSchemas(sh *shell) error {
	list := schemaList()
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "%-24s %s\n", s.Name, s.Title)
	}
	return sh.print(list, b.String())
}

func errUnknownSchema(name string) error {
	var names []string
	for n := range maps.Keys(schemas()) {
		names = append(names, n)
	}
	near := mailbox.Nearest(name, names)
	if len(near) == 0 { // a verb, without what stands before it
		near = mailbox.Nearest(schemaCommand+name, names)
	}
	next := "swarm schema lists all"
	if len(near) > 0 {
		next = "did you mean " + strings.Join(near, " or ") + "? " + next
	}
	return &leader.Error{Code: ExitNotFound, Name: "unknown_schema", Message: "no schema " + shown(name), Next: next}
}

func completeSchemas(_ *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, s := range schemaList() {
		if len(args) == 0 && strings.HasPrefix(s.Name, prefix) {
			out = append(out, s.Name+"\t"+s.Title)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// checkedDoc is what `schema --check` prints with --json.
type checkedDoc struct {
	File      string `json:"file"`
	Schema    string `json:"schema"`
	Documents int    `json:"documents"`
}

func checkFile(sh *shell, name, file string) error {
	if name == "" && isYAML(file) {
		name = schemaConfig
	}
	doc := checkedDoc{File: file, Schema: name, Documents: 1}
	var err error
	switch name {
	case schemaConfig:
		err = checkConfig(file)
	case schemaRules:
		err = checkRules(sh.in, file)
	default:
		var data []byte
		if data, err = readChecked(sh.in, file); err == nil {
			doc, err = checkJSON(name, fileLabel(file), data)
		}
		if err == nil && doc.Schema == schemaTable {
			err = checkTable(fileLabel(file), data)
		}
	}
	if err != nil {
		return err
	}
	return sh.print(doc, fmt.Sprintf("%s: valid (%s)\n", plans.VisibleLine(fileLabel(file)), countOf(doc.Documents, "document")))
}

// checkTable reads a table as every command does.
func checkTable(file string, data []byte) error {
	_, problems := permissions.ReadTables(permissions.TableFile{Name: file, Data: data})
	var lines []string
	for _, p := range problems {
		lines = append(lines, plans.VisibleLine(p.Error()))
	}
	if len(lines) == 0 {
		return nil
	}
	return &leader.Error{Code: ExitUsage, Name: "bad_table", Message: strings.Join(lines, "\n")}
}

// checkRules reads a file of our YAML as every command does.
func checkRules(in io.Reader, file string) error {
	data, err := readChecked(in, file)
	if err != nil {
		return err
	}
	name := fileLabel(file)
	if !isYAML(name) {
		name += ".yaml"
	}
	return policyErrors(policyfile.Read(name, data, policyfile.Config{Scope: policyfile.ScopeUser}))
}

func isYAML(file string) bool {
	return strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
}

func fileLabel(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}

// shown is a foreign word in quotes, cut to what a line can hold.
func shown(word string) string { return `"` + plans.Cut(plans.VisibleLine(word), 60) + `"` }

// maxChecked is the largest input of `schema --check`, in bytes.
const maxChecked = 16 << 20

func readChecked(in io.Reader, file string) ([]byte, error) {
	if file != "-" {
		f, err := openChecked(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxChecked+1))
	switch {
	case err != nil:
		return nil, badInput(fileLabel(file), "", fmt.Sprintf("cannot be read (%v)", err), "name another file")
	case len(data) > maxChecked:
		return nil, badInput(fileLabel(file), "", fmt.Sprintf("is larger than %d MiB, the most that is checked", maxChecked>>20), "check it in parts")
	}
	return data, nil
}
