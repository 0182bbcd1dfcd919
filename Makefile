.PHONY: check test run startup bench soak attacks contract-long

check: ## what CI runs
	.ci/run

test:
	go test ./...

run:
	go run ./cmd/swarm run examples/quickstart

attacks: ## tries them all, and writes the list of SECURITY.md
	go test ./... -run Attack -json | go run ./.ci/attacks -update

bench:
	go test -run '^$$' -bench . ./...

startup: ## package inits above 0.5 ms: thin clients start on every tool call
	@go build -o $(or $(TMPDIR),/tmp)/swarm-startup ./cmd/swarm
	@GODEBUG=inittrace=1 $(or $(TMPDIR),/tmp)/swarm-startup version 2>&1 >/dev/null | \
		awk '/^init/ { total += $$5; if ($$5 > 0.5) print $$5 " ms  " $$2 } END { printf "%.1f ms in all package inits\n", total }'
	@rm -f $(or $(TMPDIR),/tmp)/swarm-startup

SOAK ?= 10m

soak: ## kill -9 of real processes at random moments, for so long: a table, and an error when a promise breaks
	go test ./cmd/swarm -run TestKilledProcesses -count=1 -v -timeout 0 -soak $(SOAK)

contract-long: ## a leader is waited for a quarter of an hour, with the real client that SWARM_CLAUDE names: noted in the README's table
	go test -tags clients -timeout 30m -run TestClientWaitsForTheLeader ./teammate/adapter/claudecode -wait 15m -update -v
	go test ./cmd/swarm -run TestReadmeAgents -update
