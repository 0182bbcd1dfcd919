package teammatetest

// A Promise is what every adapter keeps, or says why it cannot be tried with its client.
type Promise string

const (
	PlanShown       Promise = "the leader sees the plan's bytes"
	FeedbackTold    Promise = "feedback is in the agent's next turn"
	EditTold        Promise = "the leader's edit is what the agent reads"
	ModeBack        Promise = "the mode from before comes back"
	GrantHonoured   Promise = "a granted command runs without a question"
	RestAsked       Promise = "what is not granted is asked of the leader"
	RestAskedAccept Promise = "the same in acceptEdits"
	NoEdit          Promise = "no edit while planning"
	NoCommand       Promise = "no command that writes while planning"
	NoTool          Promise = "no MCP tool with side effects while planning"
	NoChild         Promise = "no write of a child while planning"
	LateIgnored     Promise = "a late answer changes nothing"
	SecondIgnored   Promise = "a second answer changes nothing"
	ForeignIgnored  Promise = "an answer to somebody else, and a text, change nothing"
	ClientCrash     Promise = "a crash of the client runs nothing, and asks again"
	AdapterCrash    Promise = "a crash of the adapter runs nothing, and leaves no process"
	BrokerGone      Promise = "without the broker everything waits"
	HostileTree     Promise = "a hostile repository changes nothing"
)

// Promises are all of them, in the order of a record.
var Promises = []Promise{
	PlanShown, FeedbackTold, EditTold, ModeBack, GrantHonoured, RestAsked, RestAskedAccept, NoEdit, NoCommand, NoTool, NoChild,
	LateIgnored, SecondIgnored, ForeignIgnored, ClientCrash, AdapterCrash, BrokerGone, HostileTree,
}
