package cli

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/planmode"
)

func newUp(sh *shell) *cobra.Command {
	var o app.UpOptions
	store := float64(embednats.DefaultMaxStore >> 30)
	c := &cobra.Command{
		Use: "up", Short: "broker and leader's desk of a team, until Ctrl-C", Args: cobra.NoArgs,
		Long: "Run the broker, the coordinator and the desk of a team. The first start makes the team's owner,\n" +
			"its policy and your own key. What waits is kept when it stops, and is there again afterwards.\n" +
			"Beyond this machine it speaks TLS, with a certificate of its own or yours; invitations name what checks it.",
		Example: "  swarm up --team shop\n  swarm up            in a folder with a swarm.yaml: its team and its policy\n  swarm up --team shop --listen 0.0.0.0:4222 --tls-name broker.example.com",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := net.SplitHostPort(o.Listen); o.Listen != "" && err != nil {
				return usage("--listen %s: write it as HOST:PORT, such as 127.0.0.1:0", shown(o.Listen))
			}
			if store < 0.01 || store > 1<<20 {
				return usage("--max-store %g: name a number of GiB, such as 16", store)
			}
			o.MaxStore = int64(store * (1 << 30))
			e, err := projectEnv(cmd, sh)
			if err != nil {
				return err
			}
			return app.Up(cmd.Context(), e, o)
		},
	}
	c.Flags().StringVar(&o.Listen, "listen", "", "address on this machine (default: the port of last time, or any free one)")
	c.Flags().StringArrayVar(&o.TLS.Names, "tls-name", nil, "host name or address under which other machines reach this one; again for more")
	c.Flags().StringVar(&o.TLS.Cert, "tls-cert", "", "PEM file of a certificate to show (default beyond this machine: one of the team's own)")
	c.Flags().StringVar(&o.TLS.Key, "tls-key", "", "PEM file of its key")
	c.Flags().StringVar(&o.TLS.CA, "tls-ca", "", "PEM file of what members check it with (default: their system's roots)")
	c.Flags().BoolVar(&o.Insecure, "insecure", false, "listen beyond this machine in clear: who is on the way reads everything")
	c.Flags().Float64Var(&store, "max-store", store, "how many GiB the broker's store may fill")
	return c
}

func newRun(sh *shell) *cobra.Command {
	var o app.RunOptions
	c := &cobra.Command{
		Use: "run DIR|FILE", Short: "broker, leader and teammates from a swarm.yaml, in a copy", Args: cobra.ExactArgs(1),
		Long: "Run the team of a swarm.yaml to its end: broker, leader's desk with its policy, and a runner for\n" +
			"each teammate. Each works in a copy of the folder of its own, which is removed at the end.\n" +
			"Exit: 0, or the first of 1 9 7 10 3 5 6 8 that a teammate ended with.",
		Example: "  swarm run examples/quickstart\n  swarm run examples/quickstart --interactive\n  swarm run . --report report.json --keep",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := documentEnv(cmd, sh, args[0])
			if err != nil {
				return err
			}
			ctx, cancel := withTimeout(cmd.Context(), e)
			defer cancel()
			code, err := app.Run(ctx, e, o)
			if err != nil {
				return err
			}
			if code != ExitOK {
				return status(code)
			}
			return nil
		},
	}
	c.Flags().StringVar(&o.Report, "report", "", "write the report to this file, as JSON")
	c.Flags().BoolVar(&o.Interactive, "interactive", false, "decide yourself, at prompts, instead of the policy")
	c.Flags().StringVar(&o.Trust, "trust", "", "digest of what may run although it was not trusted here, as swarm trust prints it")
	c.Flags().BoolVar(&o.Keep, "keep", false, "keep the copies, and say where they are")
	return c
}

func newTeammate(sh *shell) *cobra.Command {
	return group(sh, "teammate", "start a teammate's runner",
		"  swarm teammate script --name fixer -- bash fixer.sh\n  swarm teammate claude --name api -- \"fix the failing test in ./store\"",
		newTeammateScript(sh), newTeammateClaude(sh), newTeammateAttach(sh), newTeammateResume(sh))
}

func newTeammateScript(sh *shell) *cobra.Command {
	var o app.ScriptOptions
	c := &cobra.Command{
		Use: "script -- PROGRAM [ARGUMENT]...", Short: "start a program as a teammate", Args: cobra.MinimumNArgs(1),
		Long: "Start PROGRAM as a teammate under a leader's plan approval. Its process is confined by the kernel\n" +
			"where that can be done: it reads the tree, and writes its plan file. Everything else goes through\n" +
			"swarm exec and swarm edit. It begins in plan mode, unless --no-plan is given.\n" +
			"Started again under the same name, it goes on where it was; with --plan it plans first.\n" +
			"How it plans may stand in swarm.yaml: dialect, startInPlan and planFolder, of a teammate or in defaults.",
		Example: "  swarm teammate script --name fixer -- bash fixer.sh\n" +
			"  swarm teammate script --name docs --mode acceptEdits --tree ~/shop -- python3 tools/docs.py\n" +
			"  swarm teammate script --name fixer --plan --plan-folder docs/plans -- bash fixer.sh\n" +
			"  swarm teammate script --name fixer --worktree -- bash fixer.sh\n" +
			"  swarm teammate script --name scout --role explorer --budget turns=40 -- bash look.sh",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Program = args
			return startTeammate(cmd, sh, o)
		},
	}
	teammateFlags(c, &o)
	f := c.Flags()
	f.BoolVar(&o.NoPlanMode, "no-plan-mode", false, "its agent has no plan mode: it does not begin in it, and is not offered to plan")
	c.MarkFlagsMutuallyExclusive("plan", "no-plan-mode")
	f.BoolVar(&o.Supervised, "supervised", false, "")
	_ = f.MarkHidden("supervised") // for swarm run: fails only for a flag that is not there
	f.BoolVar(&o.Rogue, "rogue", false, "")
	_ = f.MarkHidden("rogue") // for swarm run: a teammate that attacks
	return c
}

func newTeammateClaude(sh *shell) *cobra.Command {
	var o app.ScriptOptions
	var client string
	var own, detach bool
	c := &cobra.Command{
		Use: "claude -- TASK [CLIENT ARGUMENT]...", Short: "start Claude Code as a teammate",
		Args: func(cmd *cobra.Command, args []string) error {
			if own {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		Long: "Start Claude Code with TASK, unmodified and without a terminal, under a leader's plan approval. Settings\n" +
			"of the repository and yours do not reach it: each use of a tool is judged by swarm, in every mode,\n" +
			"and what has to be asked is asked of a leader. Commands are carried out by swarm. CLAUDE.md of the\n" +
			"tree, and your own, are handed over. It begins in plan mode, unless --no-plan is given, and ends\n" +
			"when its work is done.\n\n" +
			"With --interactive it runs in this terminal, and you work with it; TASK may be left out. Its plan goes\n" +
			"to the leader, and is shown here: your no takes it back, your yes decides nothing, since a leader\n" +
			"decides. What is asked about a command is asked of the leader, and never of this terminal.",
		Example: "  swarm teammate claude --name api -- \"fix the failing test in ./store\"\n" +
			"  swarm teammate claude --name docs --mode acceptEdits -- \"write docs/api.md\" --model sonnet\n" +
			"  swarm teammate claude --name api --plan -- \"go on with the cache\"\n" +
			"  swarm teammate claude --name me --interactive\n" +
			"  swarm teammate claude --name api --detach -- \"plan the migration\"; swarm teammate resume api --watch",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Claude = &app.ClaudeOptions{Binary: client, Own: own, Detach: detach}
			if len(args) > 0 {
				o.Claude.Task, o.Claude.Args = args[0], args[1:]
			}
			return startTeammate(cmd, sh, o)
		},
	}
	teammateFlags(c, &o)
	c.Flags().StringVar(&client, "client", "", "the client's program (default: claude, from PATH)")
	c.Flags().BoolVar(&own, "interactive", false, "in this terminal, with you at it")
	c.Flags().BoolVar(&detach, "detach", false, "while its plan waits nothing runs: the client ends, and goes on when it is decided")
	c.MarkFlagsMutuallyExclusive("interactive", "detach")
	return c
}

func newTeammateResume(sh *shell) *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use: "resume NAME", Short: "go on with a teammate whose client ended while its plan waits", Args: cobra.ExactArgs(1),
		Long: "Go on with a teammate that was started with --detach: its session is resumed, and has the leader's\n" +
			"decision as the answer to its plan, once. Where nobody has decided yet, this ends with exit 8 and the\n" +
			"plan waits on; with --watch it waits, without a client. swarm up does this by itself for those who\n" +
			"wait on its machine.",
		Example: "  swarm teammate resume api\n  swarm teammate resume api --watch",
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := projectEnv(cmd, sh)
			if err != nil {
				return err
			}
			code, err := app.Resume(cmd.Context(), e, args[0], watch)
			if err == nil && code != ExitOK {
				err = status(code)
			}
			return err
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "wait for the decision, without a client")
	return c
}

func newTeammateAttach(sh *shell) *cobra.Command {
	var o app.ScriptOptions
	claude := &cobra.Command{
		Use: "claude", Short: "put a Claude Code that you start by hand under a leader's approval", Args: cobra.NoArgs,
		Long: "Run a teammate whose client you start yourself, in the tree, with settings that\n" +
			"`swarm hook claude --print-settings --name NAME` prints: in its --settings, or in a settings file of\n" +
			"yours. Its hooks ask this runner, for as long as it runs. Ended with Ctrl-C, the client is your own\n" +
			"again, and only plan mode is held by its hooks; killed, they let nothing but reading through until it\n" +
			"runs again. Settings of yours or of the repository that switch hooks off, or bring others that could\n" +
			"answer, are refused; plugins are not looked into. Who enforces is the client, and nobody else.",
		Example: "  swarm teammate attach claude --name api\n  swarm teammate attach claude --name api --mode acceptEdits --no-plan",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Claude = &app.ClaudeOptions{Attach: true}
			return startTeammate(cmd, sh, o)
		},
	}
	teammateFlags(claude, &o)
	return group(sh, "attach", "be the runner of a client that is started by hand", "  swarm teammate attach claude --name api", claude)
}

func teammateFlags(c *cobra.Command, o *app.ScriptOptions) {
	f := c.Flags()
	f.StringVar(&o.Name, "name", "", "the teammate's name (default: that of the program)")
	f.StringVar(&o.Mode, "mode", "default", "mode that it has when it does not plan")
	completeFlag(c, "mode", modeNames)
	f.StringVar(&o.Tree, "tree", ".", "working tree")
	f.BoolVar(&o.Worktree, "worktree", false, "work in a git worktree of its own, beside the repository: branch swarm/TEAM/NAME")
	f.BoolVar(&o.NoPlan, "no-plan", false, "do not begin in plan mode, when it is new")
	f.BoolVar(&o.Plan, "plan", false, "begin in plan mode, also where it is started again while it works")
	c.MarkFlagsMutuallyExclusive("plan", "no-plan")
	f.StringVar(&o.Dialect, "dialect", "", "how its agent's system speaks of plan mode (default: swarm.yaml's, or swarm)")
	completeFlag(c, "dialect", planmode.DialectNames)
	f.StringVar(&o.Role, "role", "", "only read, whatever is approved: planner (files and the web, no shell) or explorer (files, and commands that only read)")
	completeFlag(c, "role", planmode.ReaderNames)
	f.StringVar(&o.Guidance, "guidance", "", "how readily it plans: eager or restrained (default: swarm.yaml's); swarm plan guide tells its agent")
	completeFlag(c, "guidance", planmode.Strengths)
	f.StringToIntVar(&o.Budget, "budget", nil, "of each round of planning, such as turns=40,minutes=30,denials=20; who is over it goes on, and leaders are told")
	f.StringVar(&o.PlanFolder, "plan-folder", "", "folder of the tree for its plan file (default: swarm.yaml's, or swarm's own)")
	f.StringArrayVar(&o.AllowedPrompts, "allow-prompt", nil, "what its plans may ask for (default: anything); repeatable")
	f.BoolVar(&o.Unattended, "unattended", false, "nobody can be asked about single calls: deny them")
	f.BoolVar(&o.Takeover, "takeover", false, "take the name from a runner that still has it")
}

func startTeammate(cmd *cobra.Command, sh *shell, o app.ScriptOptions) error {
	e, err := projectEnv(cmd, sh)
	if err != nil {
		return err
	}
	code, err := app.Script(cmd.Context(), e, o)
	if err != nil {
		return err
	}
	if code != ExitOK {
		return status(code)
	}
	return nil
}
