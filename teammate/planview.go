package teammate

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/planswarm/swarm/plans"
)

// PlanView is a teammate's plan as it stands.
type PlanView struct {
	Path     string `json:"path"`
	Content  []byte `json:"content,omitempty"`  // empty: there is none yet
	Digest   string `json:"digest,omitempty"`   // of the content alone
	Approved bool   `json:"approved,omitempty"` // these bytes are carried out
	Option   string `json:"option,omitempty"`   // the approach that was chosen
	Revision int    `json:"revision,omitempty"` // last submitted, or approved
	// Edited says that the file has other bytes than those that were approved, or last submitted.
	Edited bool `json:"edited,omitempty"`
}

// ViewPlan is the plan that is carried out, as it was approved, or else what the plan file has.
func (r *Runner) ViewPlan() (PlanView, error) {
	v, ok := r.View()
	if !ok {
		return PlanView{}, r.absent()
	}
	out := PlanView{Path: v.PlanFile, Revision: v.Revision}
	file, err := r.cfg.Store.Read("")
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, plans.ErrEmpty) && v.Approved == nil {
		return out, err
	}
	if a := v.Approved; a != nil && a.Content != "" {
		content, err := r.cfg.Store.Load(a.Content)
		if err != nil && file.Digest != a.Content { // an edit of the leader's lies in the file alone
			return out, fmt.Errorf("teammate: the approved plan: %w", err)
		}
		if err != nil {
			content = file.Content
		}
		out.Content, out.Digest, out.Approved, out.Option, out.Revision = content, a.Content, true, a.Option, a.Revision
		out.Edited = file.Digest != a.Content
		return out, nil
	}
	out.Content, out.Digest = file.Content, file.Digest
	if p := v.Pending; p != nil {
		out.Edited = file.Digest != p.Plan.Digest
	}
	return out, nil
}

// ClearPlan removes the plan file; what was never submitted of it is kept. Mode and requests stay as they are.
func (r *Runner) ClearPlan() error {
	if _, ok := r.View(); !ok {
		return r.absent()
	}
	return r.cfg.Store.Clear()
}
