// Package permissions answers one question: may this tool call run, given the mode, the rules and the plan's grants?
//
// It is pure and deterministic: time, the working tree, symbolic links and the repository's git configuration come in as
// arguments. Nothing is ever executed here; [Contract] says how an allowed line is to be carried out, and
// permissions/execute does it.
//
//	engine := permissions.New(permissions.Config{Resolver: resolver, BaseEnv: os.Environ(), Path: path})
//	d := engine.Decide(permissions.Call{Tool: "Bash", Command: "go test ./...", Cwd: tree}, state)
//	switch d.Verdict {
//	case permissions.Allow: // record the use of d.GrantIDs(), then carry out d.Contract
//	case permissions.Ask: // a leader answers for d.Hash
//	default: // tell the agent d.Reason
//	}
//
// # The order of a decision
//
//  1. What nothing lifts, in every mode: the leader's and owner's verbs of swarm and the nats program, in any spelling
//     (verbs.go); swarm's own folders (view.go, reach.go); deny rules (rules.go). Deny.
//  2. Each simple command of the line (command.go): read-only table; outside plan mode the plan's grants (grants.go), then
//     allow rules; bypassPermissions. Anything else asks, and in plan mode what is known to write or run is denied.
//  3. What a grant, a rule or bypassPermissions let pass is lowered to ask when it may write a protected file, read
//     credentials, or run a program that cannot be told (bash.go); and by ask rules.
//     A grant also lets nothing pass whose runner files (a Makefile, a package.json) have changed since its plan was
//     submitted, unless the plan names them (runners.go), or may change earlier in the line (rewritten.go).
//  4. When nobody is asked, ask becomes deny.
//
// A line that cannot be read is never allowed. Reasons are for people and agents, and end with what to do next where
// there is something.
package permissions
