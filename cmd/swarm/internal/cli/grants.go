package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
)

func newGrants(sh *shell) *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "grants [NAME]", Short: "what may run unasked, for which plan, and how often still", Args: cobra.MaximumNArgs(1),
		Long:              "List the grants in force, as each teammate last told of them. A grant ends with its plan, with new\nplanning, with its last use, at its time, and when a leader revokes it.",
		Example:           "  swarm grants\n  swarm grants api --all --json",
		ValidArgsFunction: completeNames(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				rows, err := l.Grants(ctx, all)
				if err != nil {
					return err
				}
				if len(args) == 1 {
					name, err := l.Teammate(ctx, args[0])
					if err != nil {
						return err
					}
					rows = slices.DeleteFunc(rows, func(g leader.GrantRow) bool { return g.Teammate != name })
				}
				switch {
				case sh.json:
					return leader.WriteJSON(sh.out, leader.NewGrantsDoc(rows))
				case sh.terminal:
					fmt.Fprintln(sh.err, leader.GrantsSummary(rows))
					return leader.WriteGrants(sh.out, rows, time.Now())
				}
				return leader.WriteGrantsTSV(sh.out, rows)
			})(cmd, nil)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "also those that have ended")
	return c
}
