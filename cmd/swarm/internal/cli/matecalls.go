package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate/gate"
)

// exitNotRun is what `swarm exec` ends with when the command was refused before it ran.
const exitNotRun = 126

func newCheck(sh *shell) *cobra.Command {
	var tool, path, args string
	var hints []string
	var wait bool
	var alone standalone
	c := &cobra.Command{
		Use: "check [flags] -- COMMAND", Short: "may this run? exit 0 allow, 11 deny, 12 ask", Args: cobra.ArbitraryArgs,
		Long: "Ask the gate about one command, without running it or using a grant up. One word is a whole\n" +
			"line for bash; several are the words of one command. Outside of a teammate, and with --mode,\n" +
			"--grant, --rule or --jsonl, it stands alone: it judges for a teammate in this folder, and\n" +
			"records nothing.\n" +
			"--jsonl reads rows {\"id\", \"command\", \"grants\", \"rules\", \"mode\"}, one a line, and writes\n" +
			"{\"id\", \"decision\", \"reason\"} for each, in order. It consults no disk: the tree is " + placeTree + ",\n" +
			"the home is " + placeHome + ". It exits 0 when every row was judged, whatever the answers, and 2 when a row could not be read:\n" +
			"such a row is answered ask.",
		Example: "  swarm check -- go test ./...\n  swarm check 'go test ./... | tail'\n  swarm check --tool Edit --path main.go\n" +
			"  swarm check --tool mcp__github__list_issues --hint readOnlyHint\n" +
			"  swarm check --tool shell --arguments '{\"command\": [\"bash\", \"-lc\", \"go vet ./...\"]}'\n" +
			"  swarm check --grant \"run tests\" --rule \"deny:Bash(git push:*)\" -- go test ./...\n  swarm check --jsonl < rows.jsonl",
		RunE: func(cmd *cobra.Command, words []string) error {
			said, err := hintsOf(hints)
			if err != nil {
				return err
			}
			if args != "" && !json.Valid([]byte(args)) {
				return usage("--arguments is not JSON: write one object, such as {\"path\": \"main.go\"}")
			}
			a := gate.CheckArgs{Tool: tool, Path: path, Args: args, Hints: said, Wait: wait}
			if len(words) > 0 {
				a.Command = gate.Line(words)
			}
			if alone.wanted(cmd) {
				return alone.run(cmd, sh, permissions.Call{Tool: tool, Command: a.Command, Path: path, Args: args, Hints: said})
			}
			if len(words) == 0 && path == "" && tool == "Bash" && args == "" {
				return errNothingToJudge
			}
			r, err := ask(cmd.Context(), sh, gate.VerbCheck, a)
			if err != nil {
				return err
			}
			var d permissions.Decision
			if err := json.Unmarshal(r.Result, &d); err != nil {
				return &leader.Error{Code: ExitDenied, Name: "bad_answer", Message: "the gate's answer cannot be read, so it is no"}
			}
			if err := sh.print(d, verdictText(d)); err != nil {
				return err
			}
			return verdictStatus(d.Verdict)
		},
	}
	c.Flags().StringVar(&tool, "tool", "Bash", "tool that is called")
	c.Flags().StringVar(&path, "path", "", "file that the tool is about")
	c.Flags().StringVar(&args, "arguments", "", "all arguments of the tool, as one JSON object")
	c.Flags().StringArrayVar(&hints, "hint", nil, "annotation of an MCP tool, such as readOnlyHint or destructiveHint=false; believed of trusted servers only; repeatable")
	c.Flags().BoolVar(&wait, "wait", false, "where a leader must be asked, ask and wait")
	alone.flags(c)
	completeFlag(c, "tool", permissions.KnownTools)
	return c
}

// hintsOf reads annotations: NAME, or NAME=true and NAME=false.
func hintsOf(list []string) (map[string]bool, error) {
	var out map[string]bool
	for _, h := range list {
		name, value, given := strings.Cut(h, "=")
		if name == "" || given && value != "true" && value != "false" {
			return nil, usage("--hint %s: write readOnlyHint, or readOnlyHint=false", shown(h))
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[name] = value != "false"
	}
	return out, nil
}

func verdictStatus(v permissions.Verdict) error {
	switch v {
	case permissions.Allow:
		return nil
	case permissions.Ask:
		return status(ExitAsk)
	}
	return status(ExitDenied)
}

func newExec(sh *shell) *cobra.Command {
	var a gate.ExecArgs
	var attach string
	c := &cobra.Command{
		Use: "exec [flags] -- COMMAND", Short: "run a command, if it may run; exit status of the command, or 126",
		Args: func(_ *cobra.Command, words []string) error {
			if len(words) == 0 && a.Permit == "" {
				return usage("swarm exec takes a command: write it after --")
			}
			return nil
		},
		Long: "Have the runner carry a command out, exactly as it was judged. One word is a whole line for\n" +
			"bash; several are the words of one command. Where a leader must be asked, it asks and waits.\n" +
			"What the command leaves running ends with it.",
		Example: "  swarm exec -- go test ./...\n  swarm exec 'go test ./... 2>&1 | tail -5'",
		RunE: func(cmd *cobra.Command, words []string) error {
			t, err := timeoutFlag(cmd)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if t > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, t)
				defer cancel()
			}
			if len(words) > 0 {
				a.Line = gate.Line(words)
			}
			var r gate.Answer
			if attach == "" {
				r, err = ask(ctx, sh, gate.VerbExec, a)
			} else {
				r, err = gate.CallAttached(ctx, attach, gate.VerbExec, a, gate.Streams{Stdout: sh.out, Stderr: sh.err})
				err = notRun(err)
			}
			if err != nil {
				return err
			}
			if r.Exit != ExitOK {
				return status(r.Exit)
			}
			return nil
		},
	}
	c.Flags().StringVar(&a.Permit, "permit", "", "carry out the command that this id was given for, once (clients' hooks use it)")
	c.Flags().StringVar(&attach, "attach", "", "address file of the runner, of a client that is started by hand (clients' hooks use it)")
	return c
}

// notRun is the error of a command that no gate was asked about.
func notRun(err error) error {
	if e := (*gate.Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	return &leader.Error{Code: exitNotRun, Name: "no_gate", Message: plans.VisibleLine(strings.TrimPrefix(err.Error(), "gate: ")), Next: "start it again: swarm teammate attach"}
}

func newEdit(sh *shell) *cobra.Command {
	var old, replacement string
	c := &cobra.Command{
		Use: "edit FILE", Short: "write a file, if it may be written", Args: cobra.ExactArgs(1),
		Long: "Have the runner write FILE: its whole new content from standard input, or one place in it.",
		Example: "  swarm edit docs/page.md < new.md\n" +
			"  swarm edit main.go --replace 'a / b' --with 'b / a'",
		RunE: asking(sh, gate.VerbEdit, func(cmd *cobra.Command, words []string) (any, error) {
			a := gate.EditArgs{Path: words[0]}
			if cmd.Flags().Changed("replace") {
				a.Replace = &gate.Replace{Old: old, New: replacement}
				return a, nil
			}
			content, err := io.ReadAll(io.LimitReader(sh.in, maxEdit+1))
			if err == nil && len(content) > maxEdit {
				err = usage("the new content is larger than %d MiB", maxEdit>>20)
			}
			a.Content = content
			return a, err
		}, func(r gate.EditResult) string { return fmt.Sprintf("wrote %s, %d bytes\n", r.Path, r.Bytes) }),
	}
	c.Flags().StringVar(&old, "replace", "", "text that stands exactly once in the file")
	c.Flags().StringVar(&replacement, "with", "", "what takes its place")
	c.MarkFlagsRequiredTogether("replace", "with")
	return c
}

// maxEdit is the largest file that `swarm edit` writes, in bytes.
const maxEdit = 2 << 20

func newAsk(sh *shell) *cobra.Command {
	var a gate.AskArgs
	c := &cobra.Command{
		Use: "ask TEXT...", Short: "ask the leader a question, and wait for the answer", Args: cobra.MinimumNArgs(1),
		Long: "Ask what is wanted, where the task leaves it open. It waits for as long as it takes; --timeout\n" +
			"bounds it. Where nobody is here to answer it says so at once: decide from what you have. An\n" +
			"answer never approves anything.",
		Example: "  swarm ask \"which currency is the default?\"\n  swarm ask \"which database?\" --option postgres --option sqlite",
		RunE: asking(sh, gate.VerbAsk, func(cmd *cobra.Command, words []string) (any, error) {
			t, err := timeoutFlag(cmd)
			a.Text, a.TimeoutMS = strings.Join(words, " "), t.Milliseconds()
			return a, err
		}, askedText),
	}
	c.Flags().StringArrayVar(&a.Options, "option", nil, "an answer to choose from; up to four")
	return c
}

func askedText(r gate.AskResult) string {
	text := strings.TrimSpace(r.Option + " " + r.Text)
	if r.Answered {
		return fmt.Sprintf("%s answers: %s\n", r.By, plans.VisibleText(text))
	}
	return plans.VisibleText(text) + "\n"
}
