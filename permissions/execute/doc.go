// Package execute carries out an allowed command exactly as it was judged, and leaves nothing of it running.
//
// [Run] carries out a contract: /bin/bash with the contract's bytes, the contract's environment and nothing else, in a
// directory that is opened once and entered by that descriptor. [Start] is the same without the contract, for agents.
//
//	func main() {
//		execute.ChildMain() // first: this process may be a reaper
//		...
//		res, err := execute.Run(ctx, contract, execute.Options{Stdout: os.Stdout, Stderr: os.Stderr})
//	}
//
// # Processes
//
//	runner ── reaper ── target ── whatever it starts
//	(us)      (our binary again: [ChildMain])
//
// The reaper is a child subreaper: what the target starts can call setsid, fork twice and lose its parents, and becomes
// a child of the reaper all the same. It is the only process that reaps them, so nothing here races os/exec. It ends
// when the target ends, when [Proc.Kill] closes its control pipe, or when the runner dies, and before it exits it kills
// its children until it has none. Everything runs under no_new_privs: a set-uid child would be one that we may not kill.
//
// Who kills whom, when somebody dies of SIGKILL:
//
//   - The runner: the control pipe ends and the reaper gets SIGTERM, its parent-death signal. That signal is one that can
//     be caught, for a reaper that dies of it at once could no longer kill the others. The parent-death signal follows
//     the *thread* that forked, so that thread is locked as long as the reaper lives.
//   - The reaper: the target gets SIGKILL as its parent-death signal. The kernel sends this to children only, never to
//     grandchildren; those become children of the runner, which is a subreaper too and kills them. See [Start].
//   - Both at once, by somebody who means it: the target dies, its own children may live on. Only a confinement with
//     scoped signals ([Confine], from Landlock ABI 6), another user or a sandbox keeps a hostile target from that.
//
// # Confinement
//
// A [Confine] is an allow-list, enforced by Landlock: system folders, the folders that are named, and nothing else. What
// the kernel in use cannot enforce is listed in [Enforcement.Open], and where there is no Landlock at all
// [Enforcement.Enforced] is false: say NOT ENFORCED.
package execute
