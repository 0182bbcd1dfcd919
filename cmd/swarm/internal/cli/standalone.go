package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/plans"
)

// standalone is `swarm check` without a gate: what would be answered in a mode, with grants and rules. Nothing is
// recorded, and nothing that it says lets anything run.
type standalone struct {
	mode          string
	grants, rules []string
	rows          bool
	read          []permissions.Rule // from files
	proposed      []permissions.Rule // by files of a project, which do not hold
}

func (s *standalone) flags(c *cobra.Command) {
	s.judged(c)
	c.Flags().BoolVar(&s.rows, "jsonl", false, "stand alone: judge rows {id, command, grants, rules, mode} from standard input")
}

// judged adds the flags that say by what is judged.
func (s *standalone) judged(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.mode, "mode", string(permissions.ModeDefault), "stand alone: judge in this mode")
	f.StringArrayVar(&s.grants, "grant", nil, "stand alone: as if a leader had granted this, such as \"run tests\"; repeatable")
	completeFlag(c, "mode", modeNames)
	completeFlag(c, "grant", intentNames)
	f.StringArrayVar(&s.rules, "rule", nil, "stand alone: with this rule, such as \"Bash(make lint:*)\" or \"deny:Bash(git push:*)\"; repeatable")
}

// wanted reports whether the gate is not to be asked: there is none, or what it would judge by is given.
func (s *standalone) wanted(c *cobra.Command) bool {
	given := false
	for _, name := range []string{"mode", "grant", "rule", "jsonl"} {
		given = given || c.Flags().Changed(name)
	}
	return given || os.Getenv("SWARM_SOCKET") == ""
}

// run judges one call, or rows.
func (s *standalone) run(c *cobra.Command, sh *shell, call permissions.Call) error {
	if c.Flags().Changed("wait") {
		return usage("--wait asks a leader, and this stands alone: leave --wait out, or call it inside of a teammate")
	}
	if s.rows {
		for _, name := range []string{"mode", "grant", "rule", "tool", "path", "arguments", "hint"} {
			if c.Flags().Changed(name) {
				return usage("--jsonl has --%s in each row: leave the flag out", name)
			}
		}
		if call.Command != "" {
			return usage("--jsonl reads commands from standard input: leave the words after it out")
		}
		return judgeRows(sh.in, sh.out)
	}
	if call.Command == "" && call.Path == "" && call.Args == "" && call.Tool == "Bash" {
		return errNothingToJudge
	}
	d, err := s.judge(c, call)
	if err != nil {
		return err
	}
	if err := sh.print(d, verdictText(d)); err != nil {
		return err
	}
	return verdictStatus(d.Verdict)
}

var errNothingToJudge = usage("check needs something to judge: swarm check -- COMMAND, or --tool TOOL --path FILE")

func verdictText(d permissions.Decision) string {
	return fmt.Sprintf("%s: %s\n", d.Verdict, plans.VisibleLine(d.Reason))
}

// judge decides on a call in the folder that we stand in, which is taken for the working tree.
func (s *standalone) judge(c *cobra.Command, call permissions.Call) (permissions.Decision, error) {
	mode, err := parseMode(s.mode)
	if err != nil {
		return permissions.Decision{}, err
	}
	set, problems := config.Read(c.Flags(), nil)
	if problems != nil {
		return permissions.Decision{}, app.ConfigError(problems)
	}
	state, err := here(set)
	if err != nil {
		return permissions.Decision{}, err
	}
	own, err := ownHere(set)
	if err != nil {
		return permissions.Decision{}, err
	}
	state.Mode, state.Rules = mode, slices.Concat(own.Rules(), s.read)
	unknown := ""
	for _, g := range s.grants {
		given, known := asGranted(g, state.Tree, state.Now, own.Tables)
		if !known {
			unknown = fmt.Sprintf("; the prompt %s is not known and grants nothing: see swarm intent", shown(g))
		}
		state.Grants = append(state.Grants, given)
	}
	for _, text := range s.rules {
		rules, err := readRule(text)
		if err != nil {
			return permissions.Decision{}, usage("--rule %s: %s", shown(text), plans.VisibleLine(err.Error()))
		}
		state.Rules = append(state.Rules, rules...)
	}
	call.Cwd = state.Tree
	engine := permissions.New(permissions.Config{Resolver: asApproved{}, Tables: own.Tables})
	d := engine.Decide(call, state)
	for _, p := range own.Policies {
		s.proposed = append(s.proposed, p.Proposals...)
	}
	if d.Verdict != permissions.Allow && len(s.proposed) > 0 {
		for i := range s.proposed {
			s.proposed[i].Message = proposes
		}
		state.Rules = append(state.Rules, s.proposed...)
		nameProposals(&d, engine.Decide(call, state))
	}
	if d.Verdict != permissions.Allow {
		d.Reason += unknown
	}
	return d, nil
}

// proposes marks a rule that a project proposes.
const proposes = "\x00proposed"

// nameProposals has what asks say which rule a project proposes for it. With is what those rules would decide.
func nameProposals(d *permissions.Decision, with permissions.Decision) {
	for i := range d.Commands {
		c := &d.Commands[i]
		if c.Verdict != permissions.Ask || len(with.Commands) != len(d.Commands) || with.Commands[i].Verdict != permissions.Allow {
			continue
		}
		source, proposed := strings.CutSuffix(with.Commands[i].Reason, "): "+proposes)
		if !proposed {
			continue
		}
		source = strings.TrimPrefix(source, "an allow rule names it (")
		why := source + " proposes it; a project's allow does not hold: copy the rule into ~/.config/swarm/policies"
		if d.Reason == c.Reason {
			d.Reason = why
		}
		c.Reason = why
	}
}

// ownHere are the person's files of rules and tables, and those that a swarm.yaml in this folder names.
func ownHere(set config.Settings) (config.Own, error) {
	doc, err := project()
	if err != nil {
		return config.Own{}, err
	}
	return app.Env{Settings: set, Document: doc}.Own()
}

// here is a teammate's state in the folder that we stand in.
func here(set config.Settings) (permissions.State, error) {
	tree, err := os.Getwd()
	if err != nil {
		return permissions.State{}, fmt.Errorf("this folder cannot be told: %w: go to one that exists", err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/" // then every path outside the tree may be somebody's home
	}
	return permissions.State{Tree: tree, Home: home, Now: time.Now(), Forbidden: []string{set.State, set.DefaultState, set.Config}}, nil
}

// asApproved looks at the disk, and takes the files that make and npm obey for approved as they are now.
type asApproved struct{ execute.Resolver }

func (asApproved) Digest(string) (string, error) { return "", nil }

// asGranted is what a leader would give for a prompt. Words that are not known grant nothing.
func asGranted(prompt, tree string, now time.Time, own *permissions.Tables) (permissions.Grant, bool) {
	p := own.ResolvePrompt("Bash", prompt)
	return permissions.Grant{
		GrantTerms: permissions.GrantTerms{Prompt: prompt, Intent: p.Intent, Tree: ".", ExpiresAt: now.Add(time.Hour)},
		ID:         "check/" + prompt, Root: tree,
	}, p.Intent != ""
}

// readRule reads a rule as Claude or Gemini has it.
func readRule(text string) ([]permissions.Rule, error) {
	if policyfile.IsTOML(text) {
		return policyfile.ParseTOML(text)
	}
	r, err := policyfile.ParseRule(text)
	return []permissions.Rule{r}, err
}

// A checkRow is one line of --jsonl. Other fields are somebody else's, and are ignored.
type checkRow struct {
	id            json.RawMessage
	command       string
	mode          permissions.Mode
	grants, rules []string
}

// checkAnswer is what is said of a row.
type checkAnswer struct {
	ID       json.RawMessage     `json:"id"`
	Decision permissions.Verdict `json:"decision"`
	Reason   string              `json:"reason"`
}

// parseRow reads a row. Its id is returned whenever it can be told. Keys are compared exactly, and each stands once: of two
// that are the same or differ in case alone, readers take one or the other.
func parseRow(line []byte) (checkRow, error) {
	row := checkRow{id: json.RawMessage(`""`), mode: permissions.ModeDefault}
	if i := invalidUTF8(line); i >= 0 {
		return row, fmt.Errorf("byte %d is not UTF-8", i+1)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		return row, errors.New("it is no JSON object")
	}
	id := fields["id"]
	if len(id) == 0 || !strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		return row, errors.New(`it has no "id": give it a text or a number`)
	}
	row.id = id
	if err := rowKeys(line); err != nil {
		return row, err
	}
	mode := ""
	for name, to := range map[string]any{"command": &row.command, "mode": &mode, "grants": &row.grants, "rules": &row.rules} {
		raw, there := fields[name]
		if !there || string(raw) == "null" {
			continue
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return row, fmt.Errorf("its %q is not what a row has there: see swarm check --help", name)
		}
	}
	if _, there := fields["command"]; !there || loneSurrogate(line) {
		return row, errors.New(`it has no "command" that can be read`)
	}
	if mode != "" {
		m, err := permissions.ParseMode(mode)
		if err != nil {
			return row, errors.New(strings.TrimPrefix(err.Error(), "permissions: "))
		}
		row.mode = m
	}
	return row, nil
}

// rowKeys refuses keys of a row, known to be an object, that stand twice or seem to be one that is read.
func rowKeys(line []byte) error {
	d := json.NewDecoder(bytes.NewReader(line))
	_, _ = d.Token()
	seen := map[string]bool{}
	for d.More() {
		t, _ := d.Token()
		key, _ := t.(string)
		i := slices.IndexFunc(readKeys, func(k string) bool { return strings.EqualFold(k, key) })
		switch {
		case i < 0:
		case readKeys[i] != key:
			return fmt.Errorf("its key %s is not known: write %s", shown(key), readKeys[i])
		case seen[key]:
			return fmt.Errorf("its key %q stands twice", key)
		}
		seen[key] = true
		var skip json.RawMessage
		_ = d.Decode(&skip)
	}
	return nil
}

// readKeys are the keys of a row that are read; a row may have others.
var readKeys = []string{"id", "command", "mode", "grants", "rules"}

// loneSurrogate reports whether a text may hold half of a character, which every reader replaces as it likes.
func loneSurrogate(line []byte) bool {
	var v any
	return bytes.Contains(bytes.ToLower(line), []byte(`\ud`)) && json.Unmarshal(line, &v) == nil && strings.ContainsRune(fmt.Sprint(v), '�')
}
