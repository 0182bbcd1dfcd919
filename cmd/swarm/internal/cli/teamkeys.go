package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/plans"
)

// sealedDoc is what `team init` and `team recover` print with --json.
type sealedDoc struct {
	Team         string `json:"team"`
	OwnerKey     string `json:"ownerKey"`               // public
	Recovery     string `json:"recovery,omitempty"`     // the recovery code: a secret that is shown once
	RecoveryFile string `json:"recoveryFile,omitempty"` // where it was written instead
}

func newTeamInit(sh *shell) *cobra.Command {
	return sealing(sh, "init", "seal the owner's key with a passphrase, and make a recovery code", app.InitTeam,
		"Make a team whose owner's key is sealed, or seal the one that lies in clear. The passphrase is typed on the\n"+
			"terminal, and asked for again when the owner must sign: team remove, team confirm, other caps. swarm up and\n"+
			"teammates that join need no owner. The recovery code opens the key when the passphrase is lost: it is shown\n"+
			"once, so keep it where nobody finds it. What was interrupted half-way is ended by doing it again.",
		"  swarm team init --team shop\n  swarm team init --recovery-out /media/stick/shop.code")
}

func newTeamRecover(sh *shell) *cobra.Command {
	compromised := false
	do := func(ctx context.Context, e app.Env, out string, show func(app.Sealed) error) error {
		if !compromised {
			return app.RecoverTeam(ctx, e, out, show)
		}
		l, err := app.Lead(ctx, e)
		if err != nil {
			return err
		}
		defer l.Close()
		s, err := l.NewOwner(ctx, app.HandOver{Recovery: true, Compromised: true, RecoveryOut: out})
		if err != nil {
			return err
		}
		return show(s)
	}
	c := sealing(sh, "recover", "open the owner's key with the recovery code, and give it a new passphrase", do,
		"Type the recovery code, and a new passphrase twice. The old passphrase and the old code open nothing afterwards;\n"+
			"a new code is shown once. Where somebody else has the owner's key, --compromised makes another one, and the code\n"+
			"hands the team over to it: also where the thief has done so before. Every request that waits and every grant is\n"+
			"void then, and all teammates are in plan mode; swarm up must be running.",
		"  swarm team recover --team shop\n  swarm team recover --compromised")
	c.Flags().BoolVar(&compromised, "compromised", false, "the owner's key is in other hands: make another, and void what it may have led to")
	return c
}

// sealing is a command that leaves the owner's key sealed, and hands out a recovery code.
func sealing(sh *shell, use, short string, do func(context.Context, app.Env, string, func(app.Sealed) error) error, long, example string) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := projectEnv(cmd, sh)
			if err != nil {
				return err
			}
			ctx, cancel := withTimeout(cmd.Context(), e)
			defer cancel()
			return do(ctx, e, out, func(s app.Sealed) error {
				text := fmt.Sprintf("the owner's key of team %s is sealed\nrecovery code, shown once:  %s\nwrite it down, and keep it where nobody finds it: it opens the key when the passphrase is lost\n", s.Team, s.Recovery)
				if s.File != "" {
					text = fmt.Sprintf("the owner's key of team %s is sealed\nrecovery code in %s\n", s.Team, s.File)
				}
				return sh.print(sealedDoc{s.Team, s.OwnerKey, s.Recovery, s.File}, text)
			})
		},
	}
	c.Flags().StringVar(&out, "recovery-out", "", "write the recovery code to this new file, and not to the screen")
	return c
}

// rotatedDoc is what `team rotate` prints with --json.
type rotatedDoc struct {
	Name         string       `json:"name"`                   // or owner
	Role         charter.Role `json:"role"`                   // or owner
	Key          string       `json:"key"`                    // public, the new one
	Old          string       `json:"old"`                    // public, counts no more
	Recovery     string       `json:"recovery,omitempty"`     // the owner's recovery code: a secret that is shown once
	RecoveryFile string       `json:"recoveryFile,omitempty"` // where it was written instead
}

func newTeamRotate(sh *shell) *cobra.Command {
	owner, h := false, app.HandOver{}
	c := &cobra.Command{
		Use: "rotate [NAME]", Short: "give a member on this machine another key: you, NAME, or the owner", Args: cobra.MaximumNArgs(1),
		Long: "Make a new key for a member whose key lies on this machine, and have the owner sign it. The old key counts\n" +
			"no more, and its connections end at once: start a teammate's runner again afterwards. Needs the owner's key.\n" +
			"With --owner the owner gets another key. The old one signs that the team is handed over, and members follow\n" +
			"that and nothing else, also those that are away now. With --compromised every request that waits and every\n" +
			"grant is void, and all teammates are in plan mode. A key that is lost: swarm team recover.",
		Example:           "  swarm team rotate\n  swarm team rotate api\n  swarm team rotate --owner --recovery-out /media/stick/shop.code",
		ValidArgsFunction: completeMembers(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case owner && len(args) > 0:
				return usage("--owner names the owner, and %s a member: give one of the two", plans.VisibleLine(args[0]))
			case !owner && (h.Compromised || h.RecoveryOut != ""):
				return usage("--compromised and --recovery-out are for --owner: swarm team rotate --owner")
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				if owner {
					return sh.rotateOwner(ctx, l, h)
				}
				name := l.Me()
				if len(args) == 1 {
					name = args[0]
				}
				m, err := l.Rotate(ctx, name)
				if err != nil {
					return err
				}
				text := fmt.Sprintf("%s has another key: %s\n", m.Name, shortKey(m.Key))
				if m.Role == charter.RoleTeammate {
					text += "next: start its runner again\n"
				}
				return sh.print(rotatedDoc{Name: m.Name, Role: m.Role, Key: m.Key, Old: m.Old}, text)
			})(cmd, nil)
		},
	}
	c.Flags().BoolVar(&owner, "owner", false, "give the team's owner another key")
	c.Flags().BoolVar(&h.Compromised, "compromised", false, "the owner's key is in other hands: void what it may have led to")
	c.Flags().StringVar(&h.RecoveryOut, "recovery-out", "", "write the new recovery code to this new file, and not to the screen")
	return c
}

func (sh *shell) rotateOwner(ctx context.Context, l *app.Leader, h app.HandOver) error {
	old := l.OwnerKey()
	s, err := l.NewOwner(ctx, h)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("the owner of team %s has another key: %s\n", s.Team, shortKey(s.OwnerKey))
	switch {
	case s.File != "":
		text += "recovery code in " + s.File + "\n"
	case s.Recovery != "":
		text += "recovery code, shown once:  " + s.Recovery + "\n"
	}
	if h.Compromised {
		text += "every request and every grant is void: teammates are in plan mode, and submit again\n"
	}
	return sh.print(rotatedDoc{Name: "owner", Role: "owner", Key: s.OwnerKey, Old: old, Recovery: s.Recovery, RecoveryFile: s.File}, text)
}

// keptDoc is what `team seal` and `team unseal` print with --json.
type keptDoc struct {
	Name      string            `json:"name"`
	Assurance charter.Assurance `json:"assurance"`
	Told      bool              `json:"told"` // the charter says so too
}

// newTeamKept is a command that changes how a member's key is kept.
func newTeamKept(sh *shell, use, short string, do func(*app.Leader, context.Context, string) (app.Kept, error), long, example string) *cobra.Command {
	return &cobra.Command{
		Use: use + " [NAME]", Short: short, Long: long, Example: example, Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: completeMembers(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				name := l.Me()
				if len(args) == 1 {
					name = args[0]
				}
				k, err := do(l, ctx, name)
				if err != nil {
					return err
				}
				text := fmt.Sprintf("the key of %s is kept %s\n", k.Name, k.Assurance)
				if !k.Told {
					text += "the charter does not say so: its owner's key is not on this machine\n"
				}
				return sh.print(keptDoc(k), text)
			})(cmd, nil)
		},
	}
}
