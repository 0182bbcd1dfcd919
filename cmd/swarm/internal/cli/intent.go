package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/intent"
	"github.com/planswarm/swarm/plans"
)

// intentDoc is what a prompt means: what a grant for it covers, and what it never does.
type intentDoc struct {
	Prompt   string              `json:"prompt"`
	Intent   string              `json:"intent"`
	Classes  []permissions.Class `json:"classes"`
	Examples []string            `json:"examples"`
	Never    []string            `json:"never"`
	Env      []string            `json:"env"`              // variables of the runner that its commands get
	Runners  []string            `json:"runners"`          // files that say what its commands run
	Source   string              `json:"source,omitempty"` // the file and line of one of your own
}

func newIntent(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "intent [PROMPT | list]", Short: "what a prompt such as \"run the unit tests\" would let run", Args: cobra.ArbitraryArgs,
		Long: "Say what a plan's prompt means: its intent, the kinds of harm that its commands could do, examples\n" +
			"of what a grant covers, and what it never covers. Without a PROMPT, or with list: all\n" +
			"intents there are, also those of your own tables (swarm help tables).\n" +
			"Exit: 0 known  15 unknown: such a prompt grants nothing",
		ValidArgsFunction: completeIntent,
		Example:           "  swarm intent \"run the unit tests\"\n  swarm intent 运行测试 --json",
		RunE: func(_ *cobra.Command, words []string) error {
			own, problems := config.ReadOwn(config.UserDir())
			if problems != nil {
				return app.ConfigError(problems)
			}
			if len(words) == 0 || len(words) == 1 && words[0] == "list" {
				return listIntents(sh, own.Tables)
			}
			prompt := strings.Join(words, " ")
			in, source, ok := own.Tables.Intent(own.Tables.ResolvePrompt("Bash", prompt).Intent)
			if !ok {
				return errUnknownIntent(prompt, own.Tables)
			}
			doc := intentDocOf(prompt, in)
			doc.Source = source
			return sh.print(doc, doc.text())
		},
	}
}

func intentDocOf(prompt string, in intent.Intent) intentDoc {
	doc := intentDoc{
		Prompt: prompt, Intent: in.Name, Classes: []permissions.Class{}, Examples: nonNil(in.Examples), Never: nonNil(in.Never), Env: nonNil(in.Env),
		Runners: nonNil(in.RunnerNames()),
	}
	for _, c := range in.Classes {
		doc.Classes = append(doc.Classes, permissions.Class(c))
	}
	return doc
}

func nonNil(list []string) []string { return append([]string{}, list...) }

func listIntents(sh *shell, own *permissions.Tables) error {
	docs := []intentDoc{}
	var b strings.Builder
	for _, in := range intent.All() {
		docs = append(docs, intentDocOf(in.Name, in))
		fmt.Fprintf(&b, "%-24s %s\n", in.Name, strings.Join(in.Examples[:min(2, len(in.Examples))], "; "))
	}
	for _, in := range own.Intents() {
		doc := intentDocOf(in.Name, in.Intent)
		doc.Source = in.Source
		docs = append(docs, doc)
		fmt.Fprintf(&b, "%-24s %s  (yours: %s)\n", in.Name, plans.VisibleLine(strings.Join(in.Examples[:min(2, len(in.Examples))], "; ")), plans.VisibleLine(in.Source))
	}
	return sh.print(docs, b.String())
}

func (d intentDoc) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", d.Intent)
	row := func(name string, lines []string) {
		for _, l := range lines {
			fmt.Fprintf(&b, "  %-9s%s\n", name, l)
			name = ""
		}
	}
	classes := []string{"no harm is known"}
	if len(d.Classes) > 0 {
		classes = nil
		for _, c := range d.Classes {
			classes = append(classes, string(c))
		}
	}
	row("classes", []string{strings.Join(classes, ", ")})
	row("covers", d.Examples)
	row("never", d.Never)
	if len(d.Runners) > 0 {
		row("obeys", []string{obeyed(d.Runners) + ": changed since approval and not in the plan, the next use asks"})
	}
	if d.Source != "" {
		row("yours", []string{plans.VisibleLine(d.Source)})
	}
	return b.String()
}

// obeyed names the best-known of the files that an intent's programs obey: with all ecosystems they are some hundred.
func obeyed(names []string) string {
	var shown []string
	for _, well := range []string{"Makefile", "package.json", "pyproject.toml", "Cargo.toml", "pom.xml", "build.gradle", "CMakeLists.txt"} {
		if slices.Contains(names, well) {
			shown = append(shown, well)
		}
	}
	if len(names) <= len(shown)+3 {
		return strings.Join(names, ", ")
	}
	if len(shown) == 0 {
		shown = names[:3]
	}
	return fmt.Sprintf("%s and %d more files (--json has all)", strings.Join(shown, ", "), len(names)-len(shown))
}

const wide = "too wide"

// oddWords are words that no prompt may have, with what they are.
var oddWords = map[string]string{
	"not": "a negation", "never": "a negation", "no": "a negation", "dont": "a negation", "without": "an exception", "except": "an exception", "but": "an exception", "skip": "an exception",
	"unless": "an exception", "any": wide, "all": wide, "every": wide, "everything": wide, "anything": wide, "whatever": wide,
	"production": "a target", "prod": "a target", "staging": "a target", "remote": "a target", "server": "a target", "sudo": "a target", "root": "a target", "host": "a target",
	"then": "a second step",
	"所有":   wide, "全部": wide, "任何": wide, "任意": wide, "一切": wide, "每个": wide,
}

// whyUnknown says which part of a prompt is not understood, as far as that can be told.
func whyUnknown(prompt string) string {
	words := strings.Fields(strings.ToLower(prompt))
	han := false
	for _, r := range strings.TrimRight(prompt, ".。") {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9':
		case unicode.Is(unicode.Han, r):
			han = true
		case r != ' ':
			return fmt.Sprintf("it has %s in it, and only plain letters and blanks are read", shown(string(r)))
		}
	}
	switch {
	case len(words) == 0:
		return "it is empty"
	case len(words) > intent.MaxTokens:
		return fmt.Sprintf("it has %d words, and at most %d are read", len(words), intent.MaxTokens)
	}
	for _, w := range slices.Concat(words, wideIn(prompt)) {
		if what, odd := oddWords[w]; odd {
			return fmt.Sprintf("%s is %s, and only what is asked for plainly is understood", shown(w), what)
		}
	}
	return whyNoPhrase(words, han)
}

func whyNoPhrase(words []string, han bool) string {
	text := strings.Join(words, "")
	for _, in := range intent.All() {
		for _, p := range in.Phrases {
			for _, verb := range p.Verbs {
				switch {
				case han && strings.HasPrefix(text, verb):
					return fmt.Sprintf("after %s there is nothing that it goes with in %s", shown(verb), shown(strings.TrimPrefix(text, verb)))
				case !han && words[0] == verb && len(words) == 1:
					return fmt.Sprintf("%s does not say what", shown(verb))
				case !han && words[0] == verb:
					return fmt.Sprintf("%s is understood, but not %s as a whole", shown(verb), shown(strings.Join(words[1:], " ")))
				}
			}
		}
	}
	if han {
		return "it begins with no verb that is known"
	}
	return fmt.Sprintf("%s is no verb that is known: begin with one such as run, build, format", shown(plans.Cut(words[0], 40)))
}
