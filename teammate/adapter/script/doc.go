// Package script drives a program of any kind as a teammate's agent: it calls `swarm plan ...`, `swarm exec`, `swarm edit`
// and `swarm mail`, thin clients of its runner's gate, and polls `swarm plan wait` for its answers.
//
// Where the kernel can, the program and all that it starts are confined for as long as it lives: it reads system folders
// and the working tree, and writes its plan folder and a temporary one. Whatever changes anything else is carried out by
// the runner, when the gate allows it. Plan mode is enforced by the kernel then, and SetMode is bookkeeping. Where the
// kernel cannot, [Agent.EnforcedBy] says so, in capitals.
//
// # Its end
//
// A program that exits has ended itself, whatever its status: the teammate exits, its plan's grants end, and what waited
// for a decision is withdrawn. A script that fails must not do its work twice. A program that a signal ended has
// crashed: it is started again with SWARM_RESUMED=1, three times in ten minutes at most, and takes up what is pending or
// granted with `swarm plan status` and `swarm plan wait`.
package script
