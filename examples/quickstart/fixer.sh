#!/usr/bin/env bash
# A teammate that fixes a bug. It begins in plan mode: this process can read the tree, and write nothing but its plan.
set -euo pipefail

cat >"$SWARM_PLAN_FILE" <<'PLAN'
# Fix the discount bug

Small prices lose their cents: the price is divided by 100 before it is multiplied.

- [ ] `discount.go`: multiply first, then divide
PLAN
swarm plan submit "$SWARM_PLAN_FILE"

swarm plan wait || [ $? -eq 3 ] # 3: the leader wants changes

# Whatever the leader said of it: a plan that runs the tests has to ask for that.
swarm plan enter
cat >>"$SWARM_PLAN_FILE" <<'PLAN'
- [ ] run `go test ./...`: the rows with 199 and 99 cents fail today

The discount is still rounded down, as the comment says.
PLAN
swarm plan submit "$SWARM_PLAN_FILE" --prompt "run tests"
swarm plan wait

# The mode from before is back. It is "default", so the edit asks; the tests were granted and do not.
swarm edit discount.go --replace 'cents/100*percent' --with 'cents*percent/100'
swarm exec -- go test ./...
swarm plan done
