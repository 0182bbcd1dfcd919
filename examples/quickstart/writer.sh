#!/usr/bin/env bash
# A teammate that writes a page. It comes from mode acceptEdits, and gets exactly that back.
set -euo pipefail

cat >"$SWARM_PLAN_FILE" <<'PLAN'
# Describe discounts

- [ ] `docs/discounts.md`: what a percentage does, and how it is rounded
PLAN
swarm plan submit "$SWARM_PLAN_FILE"
swarm plan wait

swarm edit docs/discounts.md <<'PAGE'
# Discounts

A discount is a percentage between 0 and 100. The discount is rounded down to whole cents.
PAGE
swarm plan done
