package claudecode

import (
	"context"
	"errors"

	"github.com/planswarm/swarm/permissions"
)

// SetMode puts the client into a mode, and returns the one that it then reports. Before the client runs, it is the one that
// it will start in.
func (a *Agent) SetMode(ctx context.Context, m permissions.Mode) (permissions.Mode, error) {
	a.mu.Lock()
	w := a.wire
	if w == nil {
		a.mode = m
		a.mu.Unlock()
		return m, nil
	}
	before := a.mode
	a.mode = m // from now on the client is not put back into another one
	a.mu.Unlock()
	now, err := setMode(ctx, w, m)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case errors.Is(err, errGone): // the next one starts in that mode
		return m, nil
	case err != nil:
		a.mode = before
		return "", err
	}
	a.mode = now
	return now, nil
}

// clientMode is the client's name of a mode. Its own auto mode is one that a model decides in: it is switched off, and
// the hook decides as it does in every mode.
func clientMode(m permissions.Mode) string {
	if m == permissions.ModeAuto {
		return string(permissions.ModeDefault)
	}
	return string(m)
}

// setMode answers with the mode that the client says it is in: 2.1.197 takes unknown names too (measured).
func setMode(ctx context.Context, w *wire, m permissions.Mode) (permissions.Mode, error) {
	raw, err := w.ask(ctx, map[string]any{"subtype": "set_permission_mode", "mode": clientMode(m)})
	if err != nil {
		return "", err
	}
	name, err := modeIn(raw)
	if err != nil || name == clientMode(m) {
		return m, err
	}
	return permissions.ParseMode(name)
}

// observed is the client telling its mode by itself. A mode that nobody asked for is put right: only plan mode, which
// narrows, is taken over.
func (a *Agent) observed(ctx context.Context, name string) {
	a.mu.Lock()
	want, w, expected := a.mode, a.wire, a.stillPlan && name == string(permissions.ModePlan)
	a.stillPlan = a.stillPlan && expected
	a.mu.Unlock()
	if name == clientMode(want) || expected {
		return
	}
	m, err := permissions.ParseMode(name)
	if err == nil && m == permissions.ModePlan || want == permissions.ModePlan {
		if err != nil {
			m = permissions.Mode(name)
		}
		if err := a.runner.Observed(m); err != nil {
			a.cfg.Logger.Warn("claudecode: a mode was not taken over", "mode", name, "cause", err)
		}
		return
	}
	a.cfg.Logger.Warn("claudecode: the client changed its mode by itself, and is put back", "mode", name, "want", string(want))
	if _, err := setMode(ctx, w, want); err != nil && ctx.Err() == nil {
		_ = a.StopAgent(ctx, "its mode cannot be put right")
	}
}
