package teammate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/facts"
	"github.com/planswarm/swarm/plans/plandir"
)

// storedWithin is how long a submit waits for the request to be stored before it says that it is not yet.
const storedWithin = 3 * time.Second

// Submission is a plan that an agent hands in.
type Submission struct {
	Path          string           `json:"path"` // of the plan file; empty is the one that may be written while planning
	Cwd           string           `json:"-"`    // absolute; a relative path starts there, in the tree, or in the plan folder
	Prompts       []string         `json:"prompts,omitempty"`
	Options       []plans.Option   `json:"options,omitempty"`
	RequestedMode permissions.Mode `json:"requestedMode,omitempty"`
	Deadline      *time.Time       `json:"deadline,omitempty"` // on silence it is rejected then; nil: it waits for ever
	// Addresses says which comments of the last decision the plan answers, where, and how.
	Addresses []planmode.Addressed `json:"addresses,omitempty"`
}

// Submit hands a plan in: its bytes are read once, kept as a revision for ever, and asked about. It returns when the
// request is stored in the leaders' mailbox, or after a few seconds when the broker is away: then it is sent as soon as
// that is possible, and Published is false. The same plan again is the same request; another one replaces it.
func (r *Runner) Submit(ctx context.Context, in Submission) (PendingStatus, error) {
	if _, ok := r.View(); !ok {
		return PendingStatus{}, r.absent()
	}
	if !r.cfg.offersPlanMode() {
		return PendingStatus{}, ErrNoPlanMode
	}
	r.submits.Lock() // one at a time: what is read, kept and asked is one thing
	err := r.submit(ctx, in)
	r.submits.Unlock()
	if err != nil {
		return PendingStatus{}, err
	}
	return r.stored(ctx)
}

func (r *Runner) submit(ctx context.Context, in Submission) error {
	if err := r.mayExit(); err != nil {
		return err
	}
	plan, err := r.readPlan(in)
	if err != nil {
		return err
	}
	prompts, err := r.prompts(in.Prompts)
	if err != nil {
		return err
	}
	s := r.snapshot()
	if err := checkAddressed(in.Addresses, r.answers.comments(s.Cycle.PlanID), plan.Content); err != nil {
		return err
	}
	found := facts.Compute(plan.Content, prompts, treeOf(s))
	named := facts.Paths(found)
	base, reads, err := stateOf(ctx, s.Tree, named)
	if err != nil {
		return err
	}
	ev := planmode.Submitted{
		Runners:   r.runnerFiles(ctx, prompts, named),
		RequestID: r.cfg.NewRequestID(), Content: plan.Content, Plan: plan.Ref(), Prompts: prompts, Options: in.Options,
		Tasks: plans.Tasks(plan.Content), Facts: found, RequestedMode: in.RequestedMode, Base: base, Reads: reads, Deadline: in.Deadline,
		Addresses: in.Addresses,
	}
	r.mu.Lock()
	rec, err := r.stepLocked(ev, func(next *planmode.Session) error { return r.keepRevision(next, plan) })
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if p := r.snapshot().Pending; p != nil {
		if err := r.runners.only(p.Runners); err != nil {
			r.log.Warn("teammate: old runner files are still kept", "cause", err)
		}
	}
	return r.await(ctx, rec)
}

// maxAnswerText is the largest text about a comment, in bytes.
const maxAnswerText = 4 << 10

// checkAddressed refuses an answer to a comment that nobody made, or in a line that is not there. What is answered is still
// for the leader to judge.
func checkAddressed(list []planmode.Addressed, comments []planmode.Comment, plan []byte) error {
	var ids []string
	for _, c := range comments {
		ids = append(ids, c.ID)
	}
	seen := map[string]bool{}
	for _, a := range list {
		switch {
		case len(ids) == 0:
			return fmt.Errorf("%w: %q: the last decision about this plan had no comments: submit without --addresses", ErrBadAddressed, a.Comment)
		case !slices.Contains(ids, a.Comment):
			return fmt.Errorf("%w: there is no comment %q: name one of %s", ErrBadAddressed, a.Comment, strings.Join(ids, ", "))
		case seen[a.Comment]:
			return fmt.Errorf("%w: comment %s is answered twice: answer it once", ErrBadAddressed, a.Comment)
		case a.Line < 0 || a.Line > plans.CountLines(plan):
			return fmt.Errorf("%w: comment %s is answered in line %d, and the plan has %d: name one of them", ErrBadAddressed, a.Comment, a.Line, plans.CountLines(plan))
		case len(a.Text) > maxAnswerText || !utf8.ValidString(a.Text):
			return fmt.Errorf("%w: the answer to comment %s has %d bytes: write UTF-8 text of at most %d", ErrBadAddressed, a.Comment, len(a.Text), maxAnswerText)
		}
		seen[a.Comment] = true
	}
	return nil
}

// keepRevision puts the plan's bytes on disk before the step that refers to them. Where a revision of this number was kept
// and never became a step, because the disk was full or the process killed between the two, it stays, and the new one is
// kept beside it: bytes are found by their digest.
func (r *Runner) keepRevision(next *planmode.Session, plan plans.Plan) error {
	if r.session.Cycle.Revision == next.Cycle.Revision {
		return nil // the same again
	}
	id := next.Cycle.PlanID
	for beside := 2; ; beside++ {
		_, err := r.cfg.Store.Snapshot(id, next.Cycle.Revision, plan)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, plandir.ErrTaken) || beside > 9:
			return fmt.Errorf("teammate: the plan could not be kept and was not submitted: %w", err)
		}
		id = fmt.Sprintf("%s-%d", next.Cycle.PlanID, beside)
	}
}

// stored waits a little for the request that is open now to be stored.
func (r *Runner) stored(ctx context.Context) (PendingStatus, error) {
	deadline := time.After(storedWithin)
	p := r.snapshot().Pending
	if p == nil {
		return PendingStatus{Published: true}, nil // decided already
	}
	for {
		changed := r.changed.wait()
		now := r.snapshot().Pending
		if now == nil || now.Revision != p.Revision || now.Published {
			out := *r.pendingStatus(p)
			out.Published = true
			return out, nil
		}
		select {
		case <-changed:
		case <-deadline:
			return *r.pendingStatus(now), nil
		case <-ctx.Done():
			return *r.pendingStatus(now), nil
		}
	}
}

// readPlan reads the plan file, which lies in the plan folder.
func (r *Runner) readPlan(in Submission) (plans.Plan, error) {
	name, err := r.cfg.Store.Find(in.Path, in.Cwd, r.cfg.Tree)
	if err != nil {
		return plans.Plan{}, err
	}
	return r.cfg.Store.Read(name)
}

// prompts resolves what is asked for, and refuses what this teammate may not ask for.
func (r *Runner) prompts(texts []string) ([]permissions.Prompt, error) {
	var out []permissions.Prompt
	for _, text := range texts {
		p := r.cfg.Tables.ResolvePrompt("Bash", text)
		if r.cfg.AllowedPrompts != nil && !r.mayAsk(p) {
			return nil, fmt.Errorf("%w: %q: ask only for %s", ErrPromptNotAllowed, text, listed(r.cfg.AllowedPrompts))
		}
		out = append(out, p)
	}
	return out, nil
}

func (r *Runner) mayAsk(p permissions.Prompt) bool {
	return slices.ContainsFunc(r.cfg.AllowedPrompts, func(text string) bool {
		allowed := r.cfg.Tables.ResolvePrompt(p.Tool, text)
		return text == p.Prompt || p.Intent != "" && allowed.Intent == p.Intent
	})
}

func listed(texts []string) string {
	if len(texts) == 0 {
		return "nothing"
	}
	return strings.Join(texts, ", ")
}
