package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/cmd/swarm/internal/config"
)

// documentEnv has the document of a folder, or the one that is named itself, and the settings around it.
func documentEnv(cmd *cobra.Command, sh *shell, path string) (app.Env, error) {
	if !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
		path = filepath.Join(path, config.FileName)
	}
	doc, problems := config.Load(path)
	if problems != nil {
		return app.Env{}, app.ConfigError(problems)
	}
	return env(cmd, sh, doc)
}

func newTrust(sh *shell) *cobra.Command {
	var show, forget bool
	c := &cobra.Command{
		Use: "trust DIR|FILE", Short: "let swarm run what a folder's swarm.yaml says, as it is now", Args: cobra.ExactArgs(1),
		Long: "Print what a swarm.yaml would have this machine do: the programs that it starts, and the rules that\n" +
			"would approve plans by themselves. Then remember that you trust exactly that: the document and the\n" +
			"scripts that its run lines name. When one of them changes, swarm run asks again.",
		Example: "  swarm trust .\n  swarm trust . --show          only print it\n  swarm trust . --forget\n  swarm run . --trust DIGEST    in CI: exactly this, without remembering it",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := documentEnv(cmd, sh, args[0])
			if err != nil {
				return err
			}
			t, err := app.TrustOf(e)
			if err != nil {
				return err
			}
			if !show {
				if err := app.SetTrust(e, t, !forget); err != nil {
					return err
				}
				t.Trusted = !forget
			}
			return sh.print(t, trustText(t))
		},
	}
	c.Flags().BoolVar(&show, "show", false, "only print what it would do, and whether it is trusted")
	c.Flags().BoolVar(&forget, "forget", false, "trust it no more")
	c.MarkFlagsMutuallyExclusive("show", "forget")
	return c
}

func trustText(t app.Trust) string {
	var b strings.Builder
	for _, list := range [][]string{t.Runs, t.Decides} {
		for _, line := range list {
			b.WriteString("  " + line + "\n")
		}
	}
	state := "not trusted"
	if t.Trusted {
		state = "trusted"
	}
	b.WriteString(state + ": " + t.Path + "\ndigest " + t.Digest + "\n")
	return b.String()
}
