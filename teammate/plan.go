package teammate

import (
	"context"
	"fmt"

	"github.com/planswarm/swarm/plans"
	"github.com/planswarm/swarm/plans/repostate"
)

// stateOf is the state of the working tree that a plan was made against.
func stateOf(ctx context.Context, tree string, paths []string) (plans.Base, []plans.Read, error) {
	base, reads, err := repostate.Read(ctx, tree, paths)
	if err != nil {
		return base, nil, fmt.Errorf("teammate: state of the working tree: %w", err)
	}
	return base, reads, nil
}
