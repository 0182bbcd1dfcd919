// Package cli is what a user types: commands, flags, help texts, and what is printed. The work is done in app.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/cmd/swarm/internal/config"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
)

const help = `swarm puts coding agents under a leader's plan approval.

Start            run DIR        broker, leader and teammates from swarm.yaml
                 up             broker and leader's desk only
                 trust DIR      let swarm run what a swarm.yaml says
Decide           inbox show approve reject answer hold wait
                 grants revoke mode recall stop message mail
Look             status watch logs doctor
Team             team init list invite join confirm remove rotate recover seal
Teammates        teammate AGENT start one: script or claude
                 plan task check exec edit ask mail mcp  (what agents call)
What may run     check intent policy            audit (what was decided)
Also             schema  version  completion  help exit-codes tables rules

Common flags     --team NAME  --as NAME  --state DIR  --json  --color never
Exit codes       0 ok  1 error  2 usage  3 rejected  4 auth  5 expired  6 stale
                 7 teammate lost  8 pending  9 policy  10 no plan submitted
                 11 denied  12 must be asked  13 already decided  14 no broker
                 15 not found  126 not run  130 interrupted
Try              swarm run examples/quickstart        swarm COMMAND --help
`

// shell is what a command has around it.
type shell struct {
	in       io.Reader
	out, err io.Writer
	json     bool
	terminal bool
	noHelp   error // help was asked about a word that is no command
}

// Main runs one command line and returns its exit code.
func Main(args []string) int {
	// The first signal ends the command in order. The second one ends it at once, as the system would.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	sh := &shell{in: os.Stdin, out: os.Stdout, err: os.Stderr, terminal: isTerminal(os.Stdout)}
	root := newRoot(sh)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = sh.noHelp
	}
	err = adviseTeammate(cmd, err)
	return report(sh.err, explainUsage(cmd, err), sh.json)
}

func newRoot(sh *shell) *cobra.Command {
	root := &cobra.Command{
		Use: "swarm", Short: "coding agents under a leader's plan approval", Version: versions().Swarm,
		SilenceErrors: true, SilenceUsage: true,
		Args:              func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
		PersistentPreRunE: onlyUTF8,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(sh.in)
	root.SetOut(sh.out)
	root.SetErr(sh.err)
	f := root.PersistentFlags()
	f.String("team", "", "team, when swarm.yaml does not name it")
	f.String("as", "", "who of the members of this machine you are")
	f.String("server", "embedded", "broker: embedded, or nats://HOST:PORT")
	f.String("state", "", "folder of the teams' state (default $XDG_STATE_HOME/swarm)")
	f.String("color", "auto", "auto, always or never")
	completeFlag(root, "color", func() []string { return []string{"auto", "always", "never"} })
	f.String("timeout", "0s", "give up after this long; 0s waits for ever")
	f.BoolVar(&sh.json, "json", false, "print one JSON document")
	root.AddCommand(
		newRun(sh), newUp(sh), newInbox(sh), newShow(sh), newApprove(sh), newReject(sh), newStatus(sh), newTeammate(sh),
		newAnswer(sh), newGrants(sh), newRevoke(sh), newMode(sh), newRecall(sh), newStop(sh), newWaitFor(sh), newWatch(sh), newHold(sh),
		newLogs(sh), newMessage(sh), newTeam(sh), newTrust(sh), newAudit(sh), newExitCodes(), newTables(), newRules(), newDoctor(sh),
		newPlan(sh), newTask(sh), newCheck(sh), newHook(sh), newExec(sh), newEdit(sh), newMail(sh), newAsk(sh), newMCP(sh), newAttack(sh), newIntent(sh), newPolicy(sh), newSchema(sh), newVersion(sh),
	)
	root.SetHelpCommand(newHelp())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	defaultHelp := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
			sh.noHelp = unknownCommand(cmd, words)
			return
		}
		if cmd == root {
			io.WriteString(sh.out, help)
			return
		}
		defaultHelp(cmd, args)
	})
	return root
}

// newHelp is `swarm help WORD`. A word that is no command is an error, as it is without help before it.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "help about a command, or about exit-codes, tables or rules", Example: "  swarm help approve\n  swarm help exit-codes\n  swarm help tables\n  swarm help rules",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			var words []string
			for _, c := range cmd.Root().Commands() {
				if !c.Hidden && strings.HasPrefix(c.Name(), prefix) {
					words = append(words, c.Name()+"\t"+c.Short)
				}
			}
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || about == nil || len(rest) > 0 && about.HasSubCommands() {
				if about == nil {
					about = cmd.Root()
				}
				if len(rest) == 0 {
					rest = args
				}
				return unknownCommand(about, rest)
			}
			return about.Help()
		},
	}
}

// unknownCommand is the error of a word that is no command, with the nearest one.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	next := cmd.CommandPath() + " --help lists all"
	if near := mailbox.Nearest(args[0], names); len(near) > 0 {
		next = `did you mean "` + near[0] + `"? ` + next
	}
	return &leader.Error{Code: ExitUsage, Name: "usage", Message: `unknown command "` + args[0] + `"`, Next: next}
}

// group is a command that only has others below it.
func group(sh *shell, use, short, example string, children ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Example: example,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // the word before them is what is wrong
		Args:               func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
		RunE:               func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(children...)
	return c
}

// explainUsage turns what cobra and pflag say about a command line into our own usage error.
func explainUsage(cmd *cobra.Command, err error) error {
	var own *leader.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	var notExist *pflag.NotExistError
	var value *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	text, next := err.Error(), cmd.CommandPath()+" --help tells what it takes"
	switch {
	case errors.As(err, &notExist):
		text = cmd.CommandPath() + ": " + text
		if near := nearestFlag(cmd, notExist.GetSpecifiedName()); near != "" {
			next = "did you mean " + near + "? " + next
		}
		if strings.HasSuffix(cmd.Use, " -- COMMAND") && cmd.Flags().NArg() > 0 {
			next = "put -- before the command: " + cmd.UseLine()
		}
	case errors.As(err, &value):
		text = fmt.Sprintf("%s --%s: %s cannot be used", cmd.CommandPath(), value.GetFlag().Name, shown(value.GetValue()))
		next = "write " + kindOf(value.GetFlag()) + "; " + next
	case strings.HasPrefix(text, "if any flags in the group"):
		_, flags, _ := strings.Cut(text, "[")
		flags, _, _ = strings.Cut(flags, "]")
		text = cmd.CommandPath() + ": use one of --" + strings.Join(strings.Fields(flags), ", --") + ", not several"
		if strings.Contains(err.Error(), "missing") {
			text = cmd.CommandPath() + ": --" + strings.Join(strings.Fields(flags), " and --") + " go together"
		}
	case strings.HasPrefix(text, "accepts "), strings.HasPrefix(text, "requires "):
		text, next = cmd.CommandPath()+": "+argumentCount(text), "write it as "+strings.TrimSuffix(cmd.UseLine(), " [flags]")
	case strings.HasPrefix(text, "unknown command ") && cmd.Flags().NArg() > 0: // of a command that has none below it
		text, next = fmt.Sprintf("%s: it takes no words, and there is %s", cmd.CommandPath(), shown(cmd.Flags().Arg(0))), "write it as "+cmd.CommandPath()
	case errors.As(err, &missing), strings.HasPrefix(text, "unknown command "), strings.HasPrefix(text, "required flag"),
		strings.HasPrefix(text, "at least one of the flags"):
	default:
		return err
	}
	return &leader.Error{Code: ExitUsage, Name: "usage", Message: text, Next: next}
}

// argumentCount is what cobra says about the number of words, as people say it.
func argumentCount(text string) string {
	var want, got int
	if n, _ := fmt.Sscanf(text, "accepts %d arg(s), received %d", &want, &got); n == 2 {
		return fmt.Sprintf("it takes %s, and there are %d", countOf(want, "word"), got)
	}
	if n, _ := fmt.Sscanf(text, "accepts at most %d arg(s), received %d", &want, &got); n == 2 {
		return fmt.Sprintf("it takes at most %s, and there are %d", countOf(want, "word"), got)
	}
	if n, _ := fmt.Sscanf(text, "requires at least %d arg(s), only received %d", &want, &got); n == 2 {
		return fmt.Sprintf("it takes at least %s, and there are %d", countOf(want, "word"), got)
	}
	return text
}

// kindOf says what a flag's value is written like.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int":
		return "a whole number, such as 3"
	case "duration":
		return "a time such as 90s or 30m"
	case "bool":
		return "true or false"
	}
	return "another value"
}

func nearestFlag(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := mailbox.Nearest(name, names); len(near) > 0 {
		return "--" + near[0]
	}
	return ""
}

// onlyUTF8 refuses words that JSON would change on their way.
func onlyUTF8(cmd *cobra.Command, args []string) error {
	for _, a := range args {
		if !utf8.ValidString(a) {
			return usage("%s is not UTF-8: write it in UTF-8", shown(a))
		}
	}
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if v := f.Value.String(); !utf8.ValidString(v) {
			err = usage("--%s %s is not UTF-8: write it in UTF-8", f.Name, shown(v))
		}
	})
	return err
}

// env reads the settings for a command; doc may be nil.
func env(cmd *cobra.Command, sh *shell, doc *config.Document) (app.Env, error) {
	s, problems := config.Read(cmd.Flags(), doc)
	if problems != nil {
		return app.Env{}, app.ConfigError(problems)
	}
	return app.Env{Settings: s, Document: doc, In: sh.in, Out: sh.out, Err: sh.err, JSON: sh.json, Terminal: sh.terminal}, nil
}

// project reads the document of the folder that we stand in, when there is one.
func project() (*config.Document, error) {
	if _, err := os.Stat(config.FileName); err != nil {
		return nil, nil //nolint:nilerr // a folder without a document is a folder like any other
	}
	doc, problems := config.Load(config.FileName)
	if problems != nil {
		return nil, app.ConfigError(problems)
	}
	return doc, nil
}

func projectEnv(cmd *cobra.Command, sh *shell) (app.Env, error) {
	doc, err := project()
	if err != nil {
		return app.Env{}, err
	}
	return env(cmd, sh, doc)
}

// withTimeout bounds a command by --timeout.
func withTimeout(ctx context.Context, e app.Env) (context.Context, context.CancelFunc) {
	if e.Settings.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, e.Settings.Timeout)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func newVersion(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "print the version of this program", Example: "  swarm version --json", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return sh.print(versions(), versions().Swarm+"\n") },
	}
}

type versionInfo struct {
	Swarm    string `json:"swarm"`
	Go       string `json:"go"`
	Protocol int    `json:"protocol"`
}

func versions() versionInfo {
	v := versionInfo{Swarm: "devel", Protocol: mailbox.Version}
	if b, ok := debug.ReadBuildInfo(); ok {
		v.Go = b.GoVersion
		if b.Main.Version != "" && b.Main.Version != "(devel)" {
			v.Swarm = b.Main.Version
		}
	}
	return v
}
