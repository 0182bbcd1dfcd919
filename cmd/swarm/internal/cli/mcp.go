package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/teammate/adapter/mcpserver"
	"github.com/planswarm/swarm/teammate/gate"
)

func newMCP(sh *shell) *cobra.Command {
	var within time.Duration
	c := &cobra.Command{
		Use: "mcp", Short: "mail, questions and tasks for an agent's client, over MCP", Args: cobra.NoArgs,
		Long: "Serve the verbs of this teammate as MCP tools on standard input and output, until the client closes\n" +
			"them: mail_send, mail_read, ask_leader, task_list, task_update, plan_status, plan_withdraw and\n" +
			"plan_done. `swarm teammate claude` gives this server to its client. It has the rights of every other\n" +
			"program of the teammate, and no tool of it approves anything.",
		Example: "  swarm mcp\n  swarm mcp --within 30s",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if within <= 0 {
				return usage("--within %v: name a time such as 50s", within)
			}
			quiet := *sh
			quiet.err = io.Discard // what the agent is told goes with the answer to its first call
			first, err := ask(cmd.Context(), &quiet, gate.VerbStatus, nil)
			if err != nil {
				return err
			}
			var owed atomic.Pointer[string]
			owed.Store(&first.Remind)
			socket := os.Getenv("SWARM_SOCKET")
			err = mcpserver.Serve(cmd.Context(), mcpserver.Config{
				In: closable{Reader: sh.in}, Out: closable{Writer: sh.out}, Within: within, Version: versions().Swarm,
				Call: func(ctx context.Context, verb gate.Verb, args any, hand func(gate.Answer) error) (gate.Answer, error) {
					a, err := gate.CallAnd(ctx, socket, verb, args, gate.Streams{}, hand)
					if before := owed.Swap(nil); before != nil && err == nil && a.Remind == "" {
						a.Remind = *before
					}
					return a, err
				},
			})
			if err != nil {
				return &leader.Error{Code: ExitError, Name: "bad_client", Message: strings.TrimPrefix(err.Error(), "mcpserver: ")}
			}
			return nil
		},
	}
	c.Flags().DurationVar(&within, "within", 50*time.Second, "how long a question may keep a tool's call open; then it is asked again, and goes on waiting")
	return c
}

// closable is a standard stream. Closing it lets a read of it end, where the system can.
type closable struct {
	io.Reader
	io.Writer
}

func (c closable) Close() error {
	if f, ok := c.Reader.(*os.File); ok {
		return f.Close()
	}
	return nil
}
