package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/plans"
)

// logLine is one line of `logs --json`.
type logLine struct {
	Teammate string `json:"teammate"`
	Line     string `json:"line"`
}

func newLogs(sh *shell) *cobra.Command {
	var n int
	var follow bool
	c := &cobra.Command{
		Use: "logs NAME", Short: "what a teammate's program printed, on this machine", Args: cobra.ExactArgs(1),
		Long: "Print the end of the output of a teammate's program. It is kept where its runner runs; for one on\n" +
			"another machine, ask there. Without a running team: that of the last swarm run.",
		ValidArgsFunction: completeNames(sh),
		Example:           "  swarm logs api\n  swarm logs api -n 200 --follow",
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return usage("-n %d: name a positive number of lines", n)
			}
			e, err := projectEnv(cmd, sh)
			if err != nil {
				return err
			}
			ctx, cancel := withTimeout(cmd.Context(), e)
			defer cancel()
			err = app.Logs(ctx, e, args[0], n, follow, func(line string) error {
				if sh.json {
					return json.NewEncoder(sh.out).Encode(logLine{args[0], line})
				}
				_, err := fmt.Fprintln(sh.out, visibleLog(line))
				return err
			})
			if follow {
				return untilStopped(err)
			}
			return err
		},
	}
	c.Flags().IntVarP(&n, "lines", "n", 50, "how many of the last lines")
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what comes, until Ctrl-C")
	return c
}

// visibleLog shows a line of a log; a tab is a blank there.
func visibleLog(line string) string {
	return plans.VisibleLine(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "))
}
