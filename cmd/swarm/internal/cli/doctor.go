package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
)

func newDoctor(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "what works here, what is open to whom, and what to do about it", Args: cobra.NoArgs,
		Long: "Look at the team's broker, clock, store, keys and files, and at what this machine's kernel enforces.\n" +
			"Each row is ok, warn or bad, and says what to do next. It changes nothing, and works without a broker.\n" +
			"Exit: 0, or 1 when something is bad",
		Example: "  swarm doctor\n  swarm doctor --team shop --json\n  swarm doctor --server tls://nats.example.com:4222 --team shop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := projectEnv(cmd, sh)
			if err != nil {
				return err
			}
			ctx, cancel := withTimeout(cmd.Context(), e)
			defer cancel()
			d, err := app.Diagnose(ctx, e)
			if err != nil {
				return err
			}
			if err := sh.print(d, diagnosisText(d)); err != nil {
				return err
			}
			if d.Bad > 0 {
				return status(ExitError)
			}
			return nil
		},
	}
}

func diagnosisText(d app.Diagnosis) string {
	var b strings.Builder
	for _, f := range d.Findings {
		state := string(f.State)
		if f.State == app.StateBad {
			state = "BAD"
		}
		fmt.Fprintf(&b, "%-4s %-13s %s\n", state, f.Check, f.Text)
		if f.Next != "" {
			fmt.Fprintf(&b, "     %-13s next: %s\n", "", f.Next)
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d warn, %d bad\n", d.OK, d.Warn, d.Bad)
	return b.String()
}
