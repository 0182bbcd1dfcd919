package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// teamDoc is what `team list` prints with --json.
type teamDoc struct {
	Team     string       `json:"team"`
	TeamID   string       `json:"teamId"` // the hash of the key of its first owner
	OwnerKey string       `json:"ownerKey"`
	Serial   uint64       `json:"serial"` // of the charter in force
	Members  []rosterDoc  `json:"members"`
	Invited  []invitedDoc `json:"invited"`
	Rules    rulesDoc     `json:"rules"`
}

// invitedDoc is one invitation.
type invitedDoc struct {
	Name      string              `json:"name"`
	Role      charter.Role        `json:"role"`
	Kind      charter.Kind        `json:"kind"`
	State     natsbox.InviteState `json:"state"`
	InvitedBy string              `json:"invitedBy"`
	Expires   time.Time           `json:"expires"`
	Key       string              `json:"key,omitempty"`   // public, of who used it
	Words     string              `json:"words,omitempty"` // of who waits: the same six on both sides
	Again     int                 `json:"again,omitempty"` // attempts to use it once more, with another key
}

// invitationDoc is what `team invite` prints with --json.
type invitationDoc struct {
	Name       string       `json:"name"`
	Role       charter.Role `json:"role"`
	Kind       charter.Kind `json:"kind"`
	Expires    time.Time    `json:"expires"`
	Invitation string       `json:"invitation"` // secret: for who is invited, and nobody else
}

// joinedDoc is what `team join` prints with --json.
type joinedDoc struct {
	Team string       `json:"team"`
	Name string       `json:"name"`
	Role charter.Role `json:"role"`
	Kind charter.Kind `json:"kind"`
	Key  string       `json:"key"` // public
}

// confirmedDoc is what `team confirm` prints with --json.
type confirmedDoc struct {
	Name  string       `json:"name"`
	Role  charter.Role `json:"role"`
	Key   string       `json:"key"` // public
	Words string       `json:"words"`
}

// rosterDoc is one member of a team.
type rosterDoc struct {
	Name      string            `json:"name"`
	Role      charter.Role      `json:"role"`
	Kind      charter.Kind      `json:"kind"`
	Key       string            `json:"key"`                 // public
	Assurance charter.Assurance `json:"assurance,omitempty"` // how its key is kept
	Live      bool              `json:"live"`                // it is connected now
	LastSeen  *time.Time        `json:"lastSeen,omitempty"`
	NotAfter  *time.Time        `json:"notAfter,omitempty"` // its key counts until then
	Retired   bool              `json:"retired"`            // it was removed, and may do nothing
}

// removedDoc is what `team remove` prints with --json.
type removedDoc struct {
	Name string       `json:"name"`
	Role charter.Role `json:"role"`
	Key  string       `json:"key"` // public
	// Unmet are the rules of the charter that nobody can meet any more without the member, and what to do.
	Unmet []string `json:"unmet,omitempty"`
}

func newTeam(sh *shell) *cobra.Command {
	return group(sh, "team", "who is in the team", "  swarm team list\n  swarm team invite bob --role leader\n  swarm team remove api",
		newTeamList(sh), newTeamInvite(sh), newTeamJoin(sh), newTeamConfirm(sh), newTeamRemove(sh), newTeamRotate(sh), newTeamInit(sh), newTeamRecover(sh),
		newTeamKept(sh, "seal", "close your key with a passphrase, which each command of yours asks for", (*app.Leader).Seal,
			"Seal the key of a leader or observer on this machine: yours, or that of NAME. The passphrase is typed on the\n"+
				"terminal, here and by each command that uses the key. Where the owner's key is at hand, the charter says from\n"+
				"now on that the key is kept sealed.",
			"  swarm team seal\n  swarm team seal anna"),
		newTeamKept(sh, "unseal", "write your key in clear again", (*app.Leader).Unseal,
			"Write the key of a leader or observer on this machine in clear: yours, or that of NAME. The charter says so\n"+
				"first, which needs the owner's key.",
			"  swarm team unseal"))
}

func newTeamList(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "members: role, how the key is kept, who is here, who was removed; and who may decide what", Args: cobra.NoArgs,
		Example: "  swarm team list\n  swarm team list --json",
		RunE: asLeader(sh, func(ctx context.Context, l *app.Leader) error {
			doc, err := teamOf(ctx, l)
			if err != nil {
				return err
			}
			return sh.print(doc, doc.text())
		}),
	}
}

func teamOf(ctx context.Context, l *app.Leader) (teamDoc, error) {
	c := l.Charter()
	doc := teamDoc{Team: c.Team, TeamID: c.TeamID, OwnerKey: l.OwnerKey(), Serial: c.Serial, Members: []rosterDoc{}, Invited: []invitedDoc{}, Rules: rulesOf(c, time.Now())}
	presence, err := l.Presence(ctx)
	if err != nil {
		return doc, err
	}
	for _, m := range c.Members {
		d := rosterDoc{Name: m.Name, Role: m.Role, Kind: m.Kind, Key: m.Key, Assurance: m.Assurance, NotAfter: m.NotAfter, Retired: m.Retired}
		for _, p := range presence {
			if p.Name == m.Name && !m.Retired {
				d.Live = p.Live
				if !p.Seen.IsZero() {
					d.LastSeen = &p.Seen
				}
			}
		}
		doc.Members = append(doc.Members, d)
	}
	list, err := l.Invites(ctx)
	for _, i := range list {
		if i.State == natsbox.InviteIn && i.Again == 0 {
			continue // a member like any other
		}
		d := invitedDoc{Name: i.Name, Role: i.Role, Kind: i.Kind, State: i.State, InvitedBy: i.InvitedBy, Expires: i.Expires, Key: i.Key, Again: i.Again}
		if i.State == natsbox.InvitePending {
			d.Words = l.Words(i)
		}
		doc.Invited = append(doc.Invited, d)
	}
	return doc, err
}

func (d teamDoc) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "team %s, charter %d, owner %s\n\n%-16s %-9s %-7s %-9s %-8s %s\n", d.Team, d.Serial, shortKey(d.OwnerKey), "WHO", "ROLE", "KIND", "KEY KEPT", "HERE", "KEY")
	for _, m := range d.Members {
		fmt.Fprintf(&b, "%-16s %-9s %-7s %-9s %-8s %s\n", plans.Cut(m.Name, 16), m.Role, m.Kind, cmp.Or(string(m.Assurance), "-"), m.here(), shortKey(m.Key))
	}
	if len(d.Invited) > 0 {
		fmt.Fprintf(&b, "\n%-16s %-9s %-9s %s\n", "INVITED", "ROLE", "STATE", "")
	}
	for _, i := range d.Invited {
		fmt.Fprintf(&b, "%-16s %-9s %-9s %s\n", plans.Cut(i.Name, 16), i.Role, i.State, i.note())
	}
	return b.String() + "\n" + d.Rules.text()
}

// note says what is to be done about an invitation.
func (i invitedDoc) note() string {
	var text string
	switch i.State {
	case natsbox.InviteOpen:
		text = "until " + i.Expires.Local().Format(time.TimeOnly) + ", by " + plans.VisibleLine(i.InvitedBy)
	case natsbox.InvitePending:
		text = i.Words + "   the same words there? swarm team confirm " + i.Name
	case natsbox.InviteExpired:
		text = "invite again"
	}
	if i.Again > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s   USED AGAIN with another key: one of the two stole it", text), "   ")
	}
	return text
}

// here says in a word whether a member is there.
func (m rosterDoc) here() string {
	switch {
	case m.Retired:
		return "removed"
	case m.Live:
		return "yes"
	}
	return "no"
}

// shortKey is enough of a public key to tell it from others by eye.
func shortKey(key string) string {
	if len(key) < 16 {
		return key
	}
	return key[:6] + "…" + key[len(key)-6:]
}

// maxInvitation is more than the longest text of an invitation, in bytes.
const maxInvitation = 128 << 10

func newTeamInvite(sh *shell) *cobra.Command {
	role, kind, life := "teammate", "", 30*time.Minute
	c := &cobra.Command{
		Use: "invite NAME", Short: "let one more member in, from another machine", Args: cobra.ExactArgs(1),
		Long: "Print an invitation: one line, to be given to whom it is for, and to nobody else. It is used once, with\n" +
			"swarm team join, before it expires. A teammate is in at once. A leader or observer waits until the\n" +
			"owner has compared six words and typed swarm team confirm NAME.\n" +
			"Another invitation for NAME takes this one back.",
		Example: "  swarm team invite api > api.invitation\n  swarm team invite bob --role leader --expires 10m",
		RunE: func(cmd *cobra.Command, args []string) error {
			if kind == "" {
				kind = string(charter.KindPerson)
				if role == string(charter.RoleTeammate) {
					kind = string(charter.KindAgent)
				}
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				i, err := l.Invite(ctx, args[0], charter.Role(role), charter.Kind(kind), life)
				if err != nil {
					return err
				}
				if len(i.Near) > 0 {
					fmt.Fprintf(sh.err, "%s is easily taken for %s\n", i.Name, strings.Join(i.Near, " or "))
				}
				fmt.Fprintf(sh.err, "for %s, as %s, until %s; once: swarm team join\n", i.Name, i.Role, i.Expires.Local().Format(time.TimeOnly))
				return sh.print(invitationDoc{i.Name, i.Role, i.Kind, i.Expires, i.Text}, i.Text+"\n")
			})(cmd, nil)
		},
	}
	c.Flags().StringVar(&role, "role", role, "teammate, leader or observer")
	c.Flags().StringVar(&kind, "kind", "", "person or agent (default: agent for a teammate, else person)")
	c.Flags().DurationVar(&life, "expires", life, "how long it can be used, at most 1h")
	return c
}

func newTeamJoin(sh *shell) *cobra.Command {
	var file, inAgent string
	var resume, insecure bool
	c := &cobra.Command{
		Use: "join", Short: "use an invitation: make a key, and take the place in the team", Args: cobra.NoArgs,
		Long: "Read an invitation from standard input, or from --file, make a key of your own, and take the place that\n" +
			"it gives. The key stays on this machine. A leader or observer reads six words to the owner, and waits\n" +
			"for the owner's word: until Ctrl-C or --timeout; --resume waits on. With --key-in-agent the key is one of type\n" +
			"ed25519 in your ssh-agent: it never leaves that, and where it was added with ssh-add -c the agent asks you for\n" +
			"each signature, once to connect and once to decide. The team is told that it is kept so (confirm); swarm\n" +
			"cannot see whether the agent really asks, so add it with -c.",
		Example: "  swarm team join < api.invitation\n  swarm team join --file bob.invitation --timeout 10m\n  swarm team join --resume\n" +
			"  ssh-add -c ~/.ssh/swarm && swarm team join --file bob.invitation --key-in-agent bob@laptop",
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := env(cmd, sh, nil)
			if err != nil {
				return err
			}
			o := app.JoinOptions{InAgent: inAgent, Insecure: insecure, Progress: func(j app.Joined) {
				fmt.Fprintf(sh.err, "%s waits for the owner of team %s, who must see these words too:\n\n    %s\n\n", j.Name, j.Team, j.Words)
			}}
			if cmd.Flags().Changed("team") || resume {
				o.Team = e.Settings.Team
			}
			if cmd.Flags().Changed("as") || resume {
				o.As = e.Settings.As
			}
			if !resume {
				o.Read = func() (string, error) { return readInvitation(sh, file) }
			}
			ctx, cancel := withTimeout(cmd.Context(), e)
			defer cancel()
			j, err := app.Join(ctx, e, o)
			if err != nil {
				return err
			}
			next := fmt.Sprintf("swarm inbox --team %s --as %s", j.Team, j.Name)
			if j.Role == charter.RoleTeammate {
				next = fmt.Sprintf("swarm teammate script --team %s --name %s -- PROGRAM", j.Team, j.Name)
			}
			return sh.print(joinedDoc{j.Team, j.Name, j.Role, j.Kind, j.Key}, fmt.Sprintf("%s is in team %s, as %s\nnext: %s\n", j.Name, j.Team, j.Role, next))
		},
	}
	c.Flags().StringVar(&file, "file", "", "read the invitation from this file")
	c.Flags().BoolVar(&resume, "resume", false, "go on with an invitation that was used here")
	c.Flags().BoolVar(&insecure, "insecure", false, "go to a broker on another machine in clear, where its owner has started it so")
	c.Flags().StringVar(&inAgent, "key-in-agent", "", "use this ed25519 key of the ssh-agent: its comment, or SHA256:...")
	c.MarkFlagsMutuallyExclusive("file", "resume")
	c.MarkFlagsMutuallyExclusive("key-in-agent", "resume")
	return c
}

// readInvitation reads the text of an invitation. It is a secret: it never stands in a command line.
func readInvitation(sh *shell, file string) (string, error) {
	in := sh.in
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return "", usage("the invitation cannot be read (%v): name the file that has it", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInvitation+1))
	switch {
	case err != nil:
		return "", usage("the invitation cannot be read (%v): name the file that has it", err)
	case strings.TrimSpace(string(data)) == "":
		if file != "" {
			return "", usage("there is no invitation in %s, it is empty: have another made with swarm team invite NAME", plans.VisibleLine(file))
		}
		return "", usage("there is no invitation: swarm team join --file FILE")
	case len(data) > maxInvitation:
		return "", usage("that is no invitation: it has more than %d bytes", maxInvitation)
	}
	return string(data), nil
}

func newTeamConfirm(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "confirm NAME", Short: "let a leader or observer in whose six words are the same on both sides", Args: cobra.ExactArgs(1),
		Long: "Have the owner sign that NAME is in the team. Compare the six words that swarm team list shows with\n" +
			"those that NAME sees, by telephone or face to face: who stole the invitation has others. If they\n" +
			"differ: swarm team remove NAME. Needs the owner's key, which lies where the team was made.",
		Example: "  swarm team list\n  swarm team confirm bob",
		ValidArgsFunction: completing(sh, 0, func(ctx context.Context, l *app.Leader) []string {
			list, err := l.Invites(ctx)
			if err != nil {
				return nil
			}
			var out []string
			for _, i := range list {
				if i.State == natsbox.InvitePending {
					out = append(out, i.Name+"\t"+l.Words(i))
				}
			}
			return out
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				i, err := l.Confirm(ctx, args[0])
				if err != nil {
					return err
				}
				d := confirmedDoc{i.Name, i.Role, i.Key, l.Words(i)}
				return sh.print(d, fmt.Sprintf("%s is in the team, as %s: %s\n", d.Name, d.Role, d.Words))
			})(cmd, nil)
		},
	}
}

func newTeamRemove(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "take a member's rights, and cut its connection at once", Args: cobra.ExactArgs(1),
		Long: "Have the owner sign a charter in which NAME is retired: it stays listed, its key counts no more, and\n" +
			"its connections end at once. Needs the owner's key, which lies where the team was made. An invitation\n" +
			"for NAME is taken back, and who waits as NAME is turned away. Where a rule needs more leaders than are\n" +
			"left, you are warned: what it is about can only be rejected until another one leads.",
		Example:           "  swarm team remove api",
		ValidArgsFunction: completeMembers(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				m, err := l.Remove(ctx, args[0])
				if err != nil {
					return err
				}
				text := fmt.Sprintf("removed %s: its key counts no more, and its connection was cut\n", m.Name)
				for _, rule := range m.Unmet {
					text += fmt.Sprintf("WARNING without %s nothing of this can be approved: %s\n", m.Name, rule)
				}
				return sh.print(removedDoc{m.Name, m.Role, m.Key, m.Unmet}, text)
			})(cmd, nil)
		},
	}
}

// completeMembers are the names of everybody who may still do something.
func completeMembers(sh *shell) completer {
	return completing(sh, 0, func(_ context.Context, l *app.Leader) []string {
		members := slices.Clone(l.Charter().Members)
		members = slices.DeleteFunc(members, func(m charter.Member) bool { return m.Retired || m.Kind == charter.KindPolicy })
		var out []string
		for _, m := range members {
			out = append(out, m.Name+"\t"+string(m.Role))
		}
		return out
	})
}
