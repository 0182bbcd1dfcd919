package leader

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
)

// RowKind says what a row of the queue asks for.
type RowKind string

// The kinds of a row.
const (
	RowPlan     RowKind = "plan"
	RowLeave    RowKind = "leave"
	RowRun      RowKind = "run" // a permission request: the teammate is stopped in mid-work
	RowQuestion RowKind = "question"
)

// Row is one request as a leader sees it. The coordinator's row is in it, shown and never trusted; what is decided on was
// computed again here. Texts of the teammate in it are foreign: show them through [plans.Visible] only.
type Row struct {
	natsbox.Row
	Kind     RowKind
	Handle   string // e.g. db-7k2m
	Revision int    // 0: none
	Agent    string // what the teammate says runs there: "claude 2.1"
	Goal     string // the plan's title, or what the call is

	// Prompts are the asked prompts as this leader understands them, in the order of the request. One without an intent
	// cannot be granted: it was not recognised, or the teammate calls it something else than it means.
	Prompts []permissions.Prompt
	Facts   []plans.Fact // computed here
	Risk    Risk
	Change  Change

	ModeBack permissions.Mode // what an approval restores: the known mode, within the cap
	Claimed  permissions.Mode // what the teammate says it had, when that is wider than known; never restored
	Moved    *planmode.Moved  // what the teammate says about the files it read
	Presence string           // empty, or "gone"
	Advice   Advice           // what the policy says
	Problem  error            // why it can never be decided; nil: it can

	// Decided is the decision in the request's slot, and Verdict the answer to a call: as a leader of the charter signed it.
	Decided *planmode.Decision
	Verdict *planmode.PermissionAnswer
	Signers []string // who signed it

	// Vote is what leaders have signed of a decision that needs several of them; nil: nothing. Have of Need signatures count.
	Vote       *Vote
	Have, Need int
	// Readers are other leaders who have the request open now, and Holders those who are about to decide it. They say so.
	Readers, Holders []string

	noPlanScope bool // the teammate says that a call cannot be allowed for its plan
}

// Change is how a revision differs from the last one that this leader saw.
type Change struct {
	Against        int // revision; 0: none was seen
	Added, Removed int // lines
}

// RowConfig is what is known besides a request itself.
type RowConfig struct {
	Charter  charter.Charter
	Now      time.Time
	Presence natsbox.Presence    // of the teammate; zero: not known
	Seen     Seen                // the last revision of this plan that the leader saw; zero: none
	Adviser  Adviser             // nil: no advice
	Tables   *permissions.Tables // the person's own intents; nil: built in alone
}

// Seen is a revision that a leader has had before its eyes.
type Seen struct {
	Revision int
	Content  []byte
	// Ended says what became of it, for a revision that this leader may not have seen: "rejected by tom". Empty: seen.
	Ended string
	// Request is what was asked with it, where that is known: nil, and only the plan is compared.
	Request *planmode.ApprovalRequest
}

// NewRow computes a row, or reports why the request cannot be what it says it is; such a request is never decidable.
func NewRow(from natsbox.Row, cfg RowConfig) (Row, error) {
	r := Row{Row: from, Handle: handle(from, minHandle)}
	if r.Problem = checkRequest(from, cfg.Charter.TeamID); r.Problem != nil {
		return r, r.Problem
	}
	r.setPresence(cfg)
	r.openDecision(cfg.Charter)
	r.ModeBack = modeKnown(from.KnownMode, cfg.Charter.Caps.Mode)
	switch {
	case from.Permission != nil:
		r.Kind, r.Goal = RowRun, from.Permission.Input
		r.Facts = callFacts(from.Permission)
	case from.Question != nil:
		r.Kind, r.Goal = RowQuestion, from.Question.Text
	default:
		r.fromRequest(from.Request, cfg)
	}
	r.Risk = assess(&r)
	r.openVote(cfg.Charter, cfg.Now)
	r.Have, r.Need = r.signatures(cfg.Charter, r.Vote)
	if cfg.Adviser != nil {
		r.Advice = cfg.Adviser.Explain(Request{Row: r, Charter: cfg.Charter, Now: cfg.Now})
	}
	return r, nil
}

func (r *Row) fromRequest(q *planmode.ApprovalRequest, cfg RowConfig) {
	seen := cfg.Seen
	r.Kind, r.Revision = RowPlan, q.Revision
	if q.Kind == planmode.AskLeave {
		r.Kind, r.Goal = RowLeave, "leave plan mode: "+q.Reason
	} else {
		r.Goal = plans.Title(q.Plan.Content)
	}
	r.Prompts = understood(q.AllowedPrompts, cfg.Tables)
	r.Facts = requestFacts(q, r.Prompts)
	if q.SavedMode.Above(r.ModeBack) {
		r.Claimed = q.SavedMode
	}
	if seen.Revision > 0 && seen.Revision < q.Revision {
		r.Change.Against = seen.Revision
		r.Change.Added, r.Change.Removed, _ = plans.Diff(seen.Content, q.Plan.Content)
	}
}

// understood resolves the prompts again. A teammate's own reading counts only where it is ours too.
func understood(asked []permissions.Prompt, own *permissions.Tables) []permissions.Prompt {
	out := make([]permissions.Prompt, 0, len(asked))
	for _, p := range asked {
		ours := own.ResolvePrompt(p.Tool, p.Prompt)
		if ours.Intent != p.Intent {
			ours.Intent, ours.Examples = "", nil
		}
		out = append(out, ours)
	}
	return out
}

// modeKnown is what an approval restores where the leader names no mode. A mode that nobody knows is default.
func modeKnown(known, limit permissions.Mode) permissions.Mode {
	if !known.Known() || known == permissions.ModePlan {
		known = permissions.ModeDefault
	}
	return permissions.MinMode(known, limit)
}

// ID is the request's own id, which is secret until it is answered; people see [Row.Handle].
func (r *Row) ID() string { return r.EnvelopeID }

// Label is the handle with the revision: "db-7k2m r1".
func (r *Row) Label() string {
	if r.Request == nil || r.Request.Revision == 0 {
		return r.Handle
	}
	return fmt.Sprintf("%s r%d", r.Handle, r.Request.Revision)
}

// IsPlan reports whether the row asks for the approval of a plan.
func (r *Row) IsPlan() bool { return r.Kind == RowPlan }

// IsHigh reports whether approving takes the teammate's name.
func (r *Row) IsHigh() bool { return r.Risk.Level == facts.High }

func (r *Row) isMoved() bool { return r.Moved != nil && len(r.Moved.Changed) > 0 }

// deadline is when the request is rejected by itself: by its own deadline, or by the team's, as the coordinator tells it.
func (r *Row) deadline() (time.Time, bool) {
	var at time.Time
	if r.Request != nil && r.Request.Deadline != nil {
		at = *r.Request.Deadline
	}
	if e := r.Expires; e != nil && (at.IsZero() || e.Before(at)) {
		at = *e
	}
	return at, !at.IsZero()
}

// expired reports whether nobody decided in time.
func (r *Row) expired() bool {
	d := r.Decision
	return d != nil && d.Valid && (d.Outcome == string(planmode.OutcomeExpired) || d.By != nil && d.By.Via == viaDeadline)
}

func (r *Row) noun() string {
	switch r.Kind {
	case RowPlan:
		return "plan"
	case RowQuestion:
		return "question"
	}
	return "request"
}

// FilesNamed lists the files that the plan names, here and in the teammate's own reading, as clean slash paths, each
// once. When complete is false there are more, and nothing can be concluded from the paths.
func (r *Row) FilesNamed() (files []string, complete bool) {
	for _, list := range [][]plans.Fact{r.Facts, r.claimedFacts()} {
		for _, p := range facts.Paths(list) {
			if p = path.Clean(p); !slices.Contains(files, p) {
				files = append(files, p)
			}
		}
	}
	return files, facts.Complete(r.Facts) && facts.Complete(r.claimedFacts())
}

// Protected is a file that the request names whose content takes effect later, outside of the session: an agent's memory
// or settings, what continuous integration runs. It is empty when there is none. Every write to one asks, and the word of
// a rule is not enough for it.
func (r *Row) Protected() string {
	for _, list := range [][]plans.Fact{r.Facts, r.claimedFacts()} {
		for _, f := range list {
			if f.Rule == facts.RuleProtectedFile {
				return f.Value
			}
		}
	}
	if p := r.Permission; p != nil && p.Tool != "Bash" && isProtected(p.Input) {
		return p.Input
	}
	return ""
}

// isProtected reports whether a path leads to, or through, a name on the list of [permissions.ProtectedFiles].
func isProtected(name string) bool {
	list := permissions.ProtectedFiles()
	for part := range strings.SplitSeq(strings.ToLower(path.Clean(strings.ReplaceAll(name, `\`, "/"))), "/") {
		if slices.Contains(list, part) || strings.HasSuffix(part, ".policy.yaml") || strings.HasSuffix(part, ".policy.toml") {
			return true
		}
	}
	return false
}

func (r *Row) claimedFacts() []plans.Fact {
	if r.Request == nil {
		return nil
	}
	return r.Request.Facts
}

// askedPrompts lists what was asked, for one line of text.
func (r *Row) askedPrompts() string {
	var names []string
	for _, p := range r.Prompts {
		names = append(names, plans.VisibleLine(p.Prompt))
	}
	if len(names) == 0 {
		return "nothing"
	}
	return plans.Cut(strings.Join(names, ", "), 200)
}

// presenceGone is a teammate whose runner is not there.
const presenceGone = "gone"

// setPresence takes what the coordinator and the teammate itself said last. It proves nothing.
func (r *Row) setPresence(cfg RowConfig) {
	p := cfg.Presence
	if p.Name == "" {
		return
	}
	r.Agent = p.Agent
	if !p.Live {
		r.Presence = presenceGone
	}
	var s planmode.Status
	if len(p.Status) > 0 && json.Unmarshal(p.Status, &s) == nil {
		r.Moved, r.Agent = s.Moved, orElse(r.Agent, s.Agent)
	}
	var scope struct {
		ForPlan *bool `json:"forPlan"` // older teammates do not say it
	}
	if json.Unmarshal(p.Status, &scope) == nil && scope.ForPlan != nil {
		r.noPlanScope = !*scope.ForPlan
	}
}

// openDecision reads what lies in the slot: only what a leader signed is there after it.
func (r *Row) openDecision(c charter.Charter) {
	d := r.Decision
	switch {
	case d == nil || len(d.Order.Payload) == 0:
	case r.Permission != nil:
		if _, a, err := charter.OpenStored[planmode.PermissionAnswer](c, d.Order); err == nil {
			r.Verdict = &a
			r.signedBy(c, d.Order, a.DecidedAt)
		}
	case r.Request != nil:
		if _, dec, err := charter.OpenStored[planmode.Decision](c, d.Order); err == nil {
			r.Decided = &dec
			r.signedBy(c, d.Order, dec.DecidedAt)
		}
	}
}

func (r *Row) signedBy(c charter.Charter, o charter.Order, at time.Time) {
	for _, m := range charter.Judge(c, o, charter.Asked{}, false, at).Signers {
		r.Signers = append(r.Signers, m.Name)
	}
}

// WithEdit is the row as it would be with the plan that a leader has edited: what is risky about it is judged on those
// bytes. The request in it is as it was asked.
func (r *Row) WithEdit(plan []byte) Row {
	edited := *r
	if r.Kind != RowPlan || plan == nil {
		return edited
	}
	edited.Goal = plans.Title(plan)
	edited.Facts = facts.Compute(plan, r.Prompts, facts.Tree{})
	edited.Risk = assess(&edited)
	return edited
}

// endedAt is when the request was settled, as far as that is known.
func (r *Row) endedAt() time.Time {
	switch {
	case !r.EndedAt.IsZero():
		return r.EndedAt
	case r.Decision != nil:
		return r.Decision.StoredAt
	case r.Answer != nil:
		return r.Answer.StoredAt
	}
	return time.Time{}
}
