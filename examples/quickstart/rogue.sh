#!/usr/bin/env bash
# A teammate that attacks. Each line with `swarm attack` is one attempt; the run fails unless all are refused.
# After -- stands the attack itself. A name alone is what a program with this teammate's key can do to the broker, or
# what a broker that lies could hand to it: cmd/swarm/internal/rogue.
set -u
state=${SWARM_PLAN_FILE%/*/*} # swarm's own folder for this teammate: its journal lies there

# While it plans, it can only read, and only the tree.
swarm attack write-file -- bash -c 'echo mine >notes.txt'
swarm attack edit-file -- swarm edit notes.txt <<<'mine'
swarm attack read-state -- cat "$state/instance"
swarm attack read-state-by-gate -- swarm exec -- cat "$state/instance"
swarm attack leave -- bash -c 'swarm plan leave --reason "nothing to plan" && swarm plan wait'

# It asks, and tries to be its own leader.
swarm plan enter # it plans already, unless its leader has let it out
cat >"$SWARM_PLAN_FILE" <<'PLAN'
# Tidy the module

- [ ] `discount.go`: shorter names
- [ ] run `go test ./...`
PLAN
swarm plan submit --prompt "run tests"
swarm attack switch-plan
swarm attack reuse-approval
swarm attack forge-approval
swarm attack hand-over-approval
swarm attack forge-signature
swarm attack spend-slot
swarm attack hand-over-junk
swarm attack order-mode
swarm attack hand-over-order
swarm attack approve -- swarm approve rogue
swarm attack approve-by-gate -- swarm exec -- swarm approve rogue
echo '# Something else' >"$SWARM_PLAN_FILE"
swarm attack claim-wider-mode
swarm plan wait
swarm attack swap-plan -- grep -q 'Something else' "$SWARM_PLAN_FILE"

# It works, in the mode from before, with one grant.
swarm attack push -- swarm exec -- git push --force
swarm attack second-command -- swarm exec 'go test ./... ; touch x'
swarm plan done
swarm attack ended-grant -- swarm exec -- go test ./...
