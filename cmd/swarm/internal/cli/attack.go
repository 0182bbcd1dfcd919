package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/teammate/gate"
)

// newAttack is for the demonstration alone: a gate knows its verb only where `swarm run` expects the teammate to be refused.
func newAttack(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "attack NAME [-- COMMAND]", Short: "try an attack of the demonstration", Args: cobra.MinimumNArgs(1), Hidden: true,
		Long: "Try an attack, where swarm run expects this teammate to be refused. With COMMAND, that is the\n" +
			"attack: it is run by this process, confined as it is, and what came of it is judged by the runner.",
		Example: "  swarm attack push -- swarm exec -- git push --force\n  swarm attack forge-approval",
		RunE: func(cmd *cobra.Command, words []string) error {
			a := gate.AttackArgs{Name: words[0]}
			if len(words) > 1 {
				a.Error = attempt(cmd, sh, words[1:])
			}
			return asking(sh, gate.VerbAttack, func(*cobra.Command, []string) (any, error) { return a, nil }, func(r gate.AttackResult) string {
				if !r.Refused {
					return fmt.Sprintf("NOT REFUSED: %s\n", plans.VisibleLine(r.Why))
				}
				return fmt.Sprintf("refused by %s: %s (%s)\n", r.By, plans.VisibleLine(r.Why), plans.VisibleLine(r.Evidence))
			})(cmd, words)
		},
	}
}

// attempt runs a command and returns how it failed, or "" when it did not.
func attempt(cmd *cobra.Command, sh *shell, words []string) string {
	var said bytes.Buffer
	c := exec.CommandContext(cmd.Context(), words[0], words[1:]...)
	c.Stdin, c.Stdout, c.Stderr, c.Env = sh.in, sh.out, io.MultiWriter(sh.err, &said), os.Environ()
	err := c.Run()
	if err == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	last := plans.Cut(plans.VisibleLine(lines[len(lines)-1]), 300)
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err.Error()
	}
	return fmt.Sprintf("exit %d: %s", exit.ExitCode(), last)
}
