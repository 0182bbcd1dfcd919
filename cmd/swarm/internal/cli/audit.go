package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/plans"
)

func newAudit(sh *shell) *cobra.Command {
	c := group(sh, "audit", "the ledger of what was stored and decided: log, verify, export",
		"  swarm audit log\n  swarm audit verify\n  swarm audit export shop.jsonl",
		newAuditLog(sh), newAuditVerify(sh), newAuditExport(sh))
	c.Long = "Each request, decision, order and receipt that the broker stores, each join and each charter is one signed\n" +
		"entry of the team's ledger, with the hash of the one before. It holds digests, no texts. Its end stands in\n" +
		"every decision that a leader signs, so that whoever changes or cuts it contradicts signatures that lie elsewhere.\n" +
		"It shows changes to whoever kept a later end; it cannot stop its owner from deleting all of it."
	return c
}

// auditLine is one entry as `audit log --json` prints it.
type auditLine struct {
	audit.Entry
	Hash string `json:"hash"`
}

func newAuditLog(sh *shell) *cobra.Command {
	var n int
	var of string
	c := &cobra.Command{
		Use: "log", Short: "the last entries of the ledger", Args: cobra.NoArgs,
		Example: "  swarm audit log\n  swarm audit log -n 1000 --of api --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return usage("-n %d: name a positive number of entries", n)
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				var last []auditLine
				err := l.AuditLog(ctx, func(e audit.Entry, hash string) error {
					if what := app.AuditText(e); of != "" && !slices.Contains(strings.FieldsFunc(what, betweenNames), of) && !strings.Contains(what, " "+of+"-") {
						return nil
					}
					last = append(last, auditLine{e, hash})
					last = last[max(0, len(last)-n):]
					return nil
				})
				if err == nil && of != "" && len(last) == 0 {
					err = l.Knows(of)
				}
				if err != nil {
					return err
				}
				return sh.printAudit(last)
			})(cmd, args)
		},
	}
	c.Flags().IntVarP(&n, "lines", "n", 50, "how many of the last entries")
	c.Flags().StringVar(&of, "of", "", "only what has this member's name in it")
	_ = c.RegisterFlagCompletionFunc("of", func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return completeMembers(sh)(cmd, nil, prefix)
	})
	return c
}

// betweenNames reports whether no name has r in it.
func betweenNames(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}

func (sh *shell) printAudit(lines []auditLine) error {
	for _, l := range lines {
		if sh.json {
			if err := json.NewEncoder(sh.out).Encode(l); err != nil {
				return err
			}
			continue
		}
		what := app.AuditText(l.Entry)
		if _, err := fmt.Fprintf(sh.out, "%6d  %s  %-8s  %s\n", l.Seq, l.At.Local().Format("2006-01-02 15:04:05"), plans.VisibleLine(string(l.Event)), plans.VisibleLine(what)); err != nil {
			return err
		}
	}
	return nil
}

func newAuditVerify(sh *shell) *cobra.Command {
	var heads []string
	c := &cobra.Command{
		Use: "verify [FILE]", Short: "name what was changed, is missing, or was cut off", Args: cobra.MaximumNArgs(1),
		Long: "Read the ledger from its first entry: every signature, every hash, every number. Each decision is read again\n" +
			"and compared with its digest, and the end of the ledger that its leader signed with the chain; so is the end that\n" +
			"you verified last on this machine. With FILE, of an export and without a broker: entries that were cut off its\n" +
			"end show with --head only, and decisions are not read again. Exit 1 when something is wrong.",
		Example: "  swarm audit verify\n  swarm audit verify --head 42:9f86d081884c7d65\n  swarm audit verify shop.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := parseHeads(heads)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				e, err := projectEnv(cmd, sh)
				if err != nil {
					return err
				}
				owner := app.OwnerKeyOf(e)
				r, err := app.AuditVerifyFile(args[0], owner, want...)
				if err != nil {
					return err
				}
				return sh.printVerified(r, exportLimits(owner, want))
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				r, err := l.AuditVerify(ctx, want...)
				if err != nil {
					return err
				}
				return sh.printVerified(r, "")
			})(cmd, nil)
		},
	}
	c.Flags().StringArrayVar(&heads, "head", nil, "an end of the ledger that you know: NUMBER:HASH, as verify prints it")
	return c
}

// parseHeads reads --head. A hash may be cut: at least twelve digits.
func parseHeads(texts []string) ([]audit.Head, error) {
	var out []audit.Head
	for _, s := range texts {
		n, hash, ok := strings.Cut(s, ":")
		seq, err := strconv.ParseUint(n, 10, 63)
		if !ok || err != nil || seq == 0 || len(hash) < 12 || len(hash) > 64 || strings.Trim(hash, "0123456789abcdef") != "" {
			return nil, usage("--head %s: write it as NUMBER:HASH, with at least 12 digits of the hash", shown(s))
		}
		out = append(out, audit.Head{Seq: seq, Hash: hash})
	}
	return out, nil
}

// exportLimits says what a good export does not prove.
func exportLimits(ownerKey string, heads []audit.Head) string {
	var text string
	if len(heads) == 0 {
		text = "whether entries after it were cut off is not known: give an end that you know with --head\n"
	}
	if ownerKey == "" {
		text += "whose team it is only the file says: verify it with --team on a machine of a member\n"
	}
	return text
}

func (sh *shell) printVerified(r app.AuditReport, limits string) error {
	var b strings.Builder
	decisions := ""
	if r.Decisions > 0 {
		decisions = fmt.Sprintf("; %s as recorded", countOf(r.Decisions, "decision"))
	}
	for _, p := range r.Problems {
		fmt.Fprintln(&b, plans.VisibleLine(p.String()))
	}
	if len(r.Problems) == 0 {
		fmt.Fprintf(&b, "%s: %s, none changed or missing%s\n", r.Team, entries(r.Entries), decisions)
		if r.Head.Seq > 0 {
			fmt.Fprintf(&b, "the end is %d:%s; keep it, and give it with --head another time\n", r.Head.Seq, r.Head.Hash)
		}
		b.WriteString(limits)
	}
	if err := sh.print(r, b.String()); err != nil {
		return err
	}
	if len(r.Problems) > 0 {
		return &leader.Error{
			Code: ExitError, Name: "audit_broken", Message: fmt.Sprintf("the ledger of team %s has %s", r.Team, countOf(len(r.Problems), "problem")),
			Next: "what it says after the first one is not proven; ask whoever kept an export",
		}
	}
	return nil
}

// exportedDoc is what `audit export --json` prints.
type exportedDoc struct {
	File    string `json:"file"`
	Entries int    `json:"entries"`
}

func newAuditExport(sh *shell) *cobra.Command {
	return &cobra.Command{
		Use: "export FILE", Short: "write the ledger to a new file that verify reads without a broker", Args: cobra.ExactArgs(1),
		Example: "  swarm audit export shop-2026-11.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				n, err := l.AuditExport(ctx, args[0])
				if err != nil {
					return err
				}
				return sh.print(exportedDoc{args[0], n}, fmt.Sprintf("%s in %s\n", entries(n), plans.VisibleLine(args[0])))
			})(cmd, nil)
		},
	}
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}
