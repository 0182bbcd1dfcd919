package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// exitCodes are the codes of CONFIG.md 7 with what each means to a script.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{ExitOK, "ok; allowed; approved"},
	{ExitError, "error"},
	{ExitUsage, "usage, or a configuration that cannot be used"},
	{ExitRejected, "rejected, or changes asked"},
	{ExitAuth, "not authorised: no leader, or not this leader"},
	{ExitExpired, "expired: nobody decided in time"},
	{ExitStale, "stale: replaced, withdrawn, or refused by the teammate"},
	{ExitLost, "teammate lost"},
	{ExitPending, "still pending; also a --timeout that ran out"},
	{ExitPolicy, "policy error"},
	{ExitNoPlan, "no plan was submitted"},
	{ExitDenied, "denied"},
	{ExitAsk, "a leader must be asked"},
	{ExitDecided, "already decided: says by whom"},
	{ExitNoBroker, "broker not reachable"},
	{ExitNotFound, "not found: names what is near"},
	{exitNotRun, "swarm exec: refused before it ran"},
	{ExitInterrupted, "interrupted"},
}

// newTables is a help topic: swarm help tables.
func newTables() *cobra.Command {
	return &cobra.Command{Use: "tables", Short: "your own read-only programs and intents", Long: tablesHelp}
}

const tablesHelp = `Each *.json file in ~/.config/swarm/tables adds programs that only read, and intents, to those that are
built in. It is yours alone: a project has no such file. It adds, and never replaces: a program or intent
that is built in, a shell, interpreter or wrapper, and what is known to write, to run something or to use
the network is refused; for exact commands of those write an allow rule (swarm policy --help).

  {
    "version": 1,
    "readonly": [
      {"name": "acmelint", "operands": "path*", "flags": {"-v --verbose": "", "--format": "text|json"}}
    ],
    "intents": [
      {"name": "run contract tests",
       "phrases": [{"verbs": ["run", "execute"], "objects": ["contract tests"]}],
       "classes": ["runs project code"],
       "examples": ["make contract", "npm run contract"],
       "targets": "contract", "scripts": "contract", "env": ["*"]}
    ]
  }

A program lists its flags, the kinds of their values and its operands; everything else asks. A flag with
the value "" takes none. Flags with the same kind stand in one text, with blanks between them.
Kinds: int count word text duration (values), path file meta (read: a file or folder, a file, its
properties), dir (a folder to run in), rev (a git revision), a|b (one of these words), out report (a file
to write: in intents only). Operands end with * for any number, + for at least one, ? for perhaps one.
Further keys: also commands bare rest number unless needs onlyWith single grouped leading plain noEnd names
globs git absent; in intents also via and with. swarm schema table describes each.

What a table says of a program is your promise. Its paths stay in the working tree all the same, and words
that lead to credentials, protected files or swarm's own folders ask or are denied.

An intent has phrases (lower-case words or Han), classes (runs project code, network, publishes,
root-equivalent, long-lived, touches data), examples that it must cover, and what it covers: targets of a
Makefile, justfile or Taskfile, package scripts, programs.

For rules about commands and files see swarm help rules.

Try it:   swarm schema table --check ~/.config/swarm/tables/mine.json
          swarm intent "run contract tests"
          swarm policy explain -- acmelint src`

// newRules is a help topic: swarm help rules.
func newRules() *cobra.Command {
	return &cobra.Command{Use: "rules", Short: "files of permission rules: how they are written, and whose hold", Long: rulesHelp}
}

const rulesHelp = `A rule allows, asks or denies calls. deny goes before ask, ask before allow, and all of them before what a
plan was granted. Files are read from two places:

  ~/.config/swarm/policies/*   yours: deny, ask and allow hold for every teammate that you start
  policies: of a swarm.yaml    the project's: deny and ask hold; its allow is only proposed: to take it over,
                               copy it into a file of yours

A file with a mistake in it cannot be used, and no teammate starts until it is corrected.

Our YAML (*.yaml, *.yml; swarm schema rules):

  version: 1
  rules:
    - name: no pushes
      deny: Bash(git push:*)
      message: a leader pushes
    - ask: [Bash(docker:*), "Read(secrets/**)"]
    - allow: Bash(make lint)
      modes: [default, acceptEdits]
    - deny: {tool: "*", server: web}
    - allow: {tool: Bash, command: npm run docs}
      attended: true
  tests:
    - {command: git push origin, want: deny, by: no pushes}
    - {command: make lint, mode: plan, want: deny}
    - {tool: Edit, path: docs/a.md, want: ask}

Claude's settings (*.json):

  {
    "permissions": {
      "deny": ["Bash(rm:*)", "Read(.env)"],
      "ask": ["Bash(git push:*)", "WebFetch(domain:example.com)"],
      "allow": ["Bash(make lint)", "Edit(docs/**)", "mcp__db__query"]
    }
  }

Gemini's policies (*.toml):

  [[rule]]
  toolName = "run_shell_command"
  commandPrefix = ["git push", "npm publish"]
  decision = "ask_user"
  priority = 100

What a rule names: Tool, Tool(words) or, in YAML, a mapping of tool server command prefix regex args path
domain hints. Bash(make lint) is exactly this command, Bash(make:*) also with more words after it: the name of
a program alone, such as deny: rm, is none. A path is seen from the working tree, from / as //, from the home
as ~/. Words of an allow rule must be there one by one; an allow of all commands does nothing.

Keys of a rule: one of allow ask deny; name, message (told to who is refused); modes (default acceptEdits plan
auto dontAsk bypassPermissions; else all); attended (true: somebody can be asked, false: nobody); priority (0
to 999: among rules of one file that have one, the higher decides).
Keys of a test: tool command path mode grants; want (allow ask deny), by (the name of the rule that decides).

Whose file it is (--scope): user, owner, or project, whose allow rules are proposals.

Try it:   swarm policy test FILE
          swarm policy explain --policy FILE -- git push
          swarm policy list`

// newExitCodes is a help topic: swarm help exit-codes.
func newExitCodes() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of every command. Scripts may branch on them; they never change their meaning.\n\n")
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.meaning)
	}
	b.WriteString("\nswarm exec ends with the status of the command that it ran. swarm run with several outcomes\nends with the first of 1, 9, 7, 10, 3, 5, 6, 8 that a teammate had.\n" +
		"With --json the last line on standard error is the error as a document, after its text:\n{\"error\":{\"code\",\"message\",\"next\"}}.")
	return &cobra.Command{Use: "exit-codes", Short: "what each exit code means", Long: b.String()}
}
