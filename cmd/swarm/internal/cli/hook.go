package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
	"github.com/planswarm/swarm/teammate/adapter/claudecode"
	"github.com/planswarm/swarm/teammate/gate"
)

const (
	maxHook = 8 << 20          // what a client tells a hook, in bytes: a tool's whole input
	hookFor = 20 * time.Second // then the hook denies by itself: the client would let the call through at 60
)

func newHook(sh *shell) *cobra.Command {
	c := &cobra.Command{
		Use: "hook", Short: "what an agent's client calls before it uses a tool",
		Args: func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var attach, name string
	var print bool
	within := hookFor
	claude := &cobra.Command{
		Use: "claude", Short: "judge one use of a tool for Claude Code", Args: cobra.NoArgs,
		Long: "Read a hook's event from standard input and print the answer for the client. Settings that\n" +
			"`swarm teammate claude` gives its client name this command. On every error, and when the time of\n" +
			"--for has passed, the verdict is deny: a hook that fails lets the call through.",
		Example: "  swarm hook claude < event.json\n" +
			"  swarm hook claude --print-settings --name api > api-settings.json\n" +
			"  claude --settings api-settings.json   # in the tree of: swarm teammate attach claude --name api",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if print {
				return printSettings(cmd, sh, name)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), within)
			defer cancel()
			return json.NewEncoder(sh.out).Encode(hookVerdict(ctx, sh, attach))
		},
	}
	claude.Flags().DurationVar(&within, "for", hookFor, "how long a leader may take before the hook denies by itself")
	claude.Flags().StringVar(&attach, "attach", "", "address file of the runner, for a client that is started by hand")
	claude.Flags().BoolVar(&print, "print-settings", false, "print the settings for a client that you start by hand")
	claude.Flags().StringVar(&name, "name", "claude", "with --print-settings: the teammate's name")
	c.AddCommand(claude)
	return c
}

// hookVerdict is never an error: a client takes a failing hook for no objection.
func hookVerdict(ctx context.Context, sh *shell, attach string) any {
	event, err := io.ReadAll(io.LimitReader(sh.in, maxHook+1))
	refuse := func(reason string) any { return claudecode.Refuse(claudecode.EventOf(event), reason) }
	switch {
	case err != nil:
		return refuse(err.Error())
	case len(event) > maxHook:
		return refuse(fmt.Sprintf("the tool's input is larger than %d MiB: split it", maxHook>>20))
	case !json.Valid(event):
		return refuse("the client's event is not JSON")
	}
	args := gate.HookArgs{Client: "claude", Payload: event}
	var r gate.Answer
	if attach == "" {
		r, err = ask(ctx, sh, gate.VerbHook, args)
	} else {
		r, err = gate.CallAttached(ctx, attach, gate.VerbHook, args, gate.Streams{})
	}
	switch {
	case errors.Is(err, gate.ErrNoAddress):
		return alone(event, "")
	case errors.Is(err, gate.ErrRunnerGone):
		return alone(event, "the runner of this teammate is gone without its end: start it again with swarm teammate attach, or remove "+attach)
	case errors.Is(err, context.DeadlineExceeded):
		return refuse("no leader has answered in time, and what was asked is taken back: call it again")
	case err != nil:
		return refuse(err.Error())
	case len(r.Result) == 0:
		return refuse("the gate gave no verdict")
	}
	return r.Result
}

// alone is the answer of a client that has no runner. What died has not said that the client is free.
func alone(event []byte, why string) any {
	home, _ := os.UserHomeDir() // without one nothing is kept in it
	engine := permissions.New(permissions.Config{Resolver: execute.Resolver{}, BaseEnv: os.Environ(), Path: execute.CleanPath(os.Getenv("PATH"), "/")})
	return claudecode.Alone(event, engine, home, claudecode.PlansFolder(os.Environ()), why)
}

func printSettings(cmd *cobra.Command, sh *shell, name string) error {
	e, err := projectEnv(cmd, sh)
	if err != nil {
		return err
	}
	text, err := app.AttachSettings(e, name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(sh.out, text)
	return err
}
