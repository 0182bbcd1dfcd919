// Package claudecode drives an unmodified Claude Code as a teammate's agent, as a child process over stream-json.
//
// # Who judges
//
// Settings of the repository and of the user do not reach the client (--setting-sources "", --strict-mcp-config): measured
// on 2.1.197, a repository's own settings approve its plan, allow its commands and switch hooks off. The one setting is
// ours: a command hook before each use of a tool, in every mode. It asks the teammate's gate ([Agent.Hook]), which judges
// and never waits for a person. What a leader has to be asked about comes back as can_use_tool over the control protocol,
// which has no time limit (measured for 660 s), and is asked there.
//
// A Bash call that may run is rewritten to `swarm exec --permit ID`: the runner carries it out, judged again as it begins,
// in an environment of its own, and the client's shell runs nothing else.
//
// # Plans
//
// ExitPlanMode is a plan_approval_request: the plan's bytes are kept as a revision before a leader is asked, and only the
// snapshot counts. A rejection is the tool's error, with the feedback; the model keeps its turn and its plan mode. An
// approval hands back the approved bytes and the mode. The mode that the client reports is read back after every change
// and put right.
//
// # A person's own session
//
// [Own] is a client that a person sits at. There is no control protocol then: hooks are all that is known of the client, and
// all that holds it. PreToolUse judges each use of a tool, and waits for a leader where one has to be asked, so that the
// client itself asks its person about plans and questions only. For these the PermissionRequest hook asks a leader while the
// dialog is open, and the first of both ends it. Measured on 2.1.197: Escape ends our hook by signal 15; a no with words, and
// a yes, let it run on, and show in the client's next event only, which is PostToolUse of ExitPlanMode for a yes.
//
// The person is no leader by sitting there, and what the client says of them is no signature. A no narrows, and takes the
// request back. A yes opens nothing: the client has left its own plan mode then, the gate has not, and PostToolUse waits on
// for the leader.
//
// A client that is started by hand ([Own.Attend]) finds its runner by an address file. Its settings are those of its person and
// of the repository besides ours: what switches hooks off, or could answer beside them, is looked for as the runner begins,
// and plugins are not. Without a runner [Alone] answers.
//
// # Days of waiting
//
// With Detach the hook puts ExitPlanMode off, the client ends its turn, and [Agent.Run] returns [ErrDeferred]. Measured on
// 2.1.197: a session that is resumed in plan mode asks about it again by itself, under the same id, before it is told anything;
// what a model uses together with other tools is not put off, and is waited for. The answer is taken from its file before the
// client has it: killed in between, the client is told to go on, and what was approved stays approved.
//
// # Mail
//
// Urgent letters are messages of the user, given to the client at once: the model has them after the tool that is used
// (measured). Other letters wait for the end of its turn, and begin another one. The client repeats a message's id when the
// model has it, and only then was the letter seen; what a client that ended did not take is given to the next one. A recall
// interrupts the turn.
//
// # Limits
//
// A `cd` is remembered by the next Bash call where it begins its line, alone or before others, and the folder is written
// out; any other one ends with its line, which runs in the runner. CLAUDE.md files are handed over by us, since the client
// does not read them without its settings' sources: that of the working tree and the user's own, as text.
package claudecode
