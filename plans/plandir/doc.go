// Package plandir keeps a teammate's plans on disk: the one file that may be written while planning, and every revision
// that was ever submitted.
//
//	<dir>/work/<name>.md            the working file; the agent writes it
//	<dir>/plans/<planId>/r0001.md   a revision, never changed (0400)
//	<dir>/plans/<planId>/r0001.json what it is: a revision exists when this file does
//	<dir>/plans/unsubmitted/u0001.md what the working file had when it was replaced and that was never submitted
//
// A store reads nothing but regular files of its own folder, through descriptors that it holds open (os.Root): no `..`,
// no absolute path, no link and no link that is swapped in between check and read leads out of it. What is stored is on
// disk when a call returns, and a call that fails, for want of space too, leaves nothing half-written.
//
// A store belongs to one process. Its methods may be called at once.
package plandir
