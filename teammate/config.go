package teammate

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// An Agent is the client that a runner drives. The runner calls its methods one at a time, and allows each half a minute.
type Agent interface {
	// SetMode puts the client into a mode and returns the mode that it then reports.
	SetMode(context.Context, permissions.Mode) (permissions.Mode, error)
	// Notify tells the agent something. What has a Key may come again after a crash, with the same Key.
	Notify(context.Context, planmode.Notify) error
	// StopAgent ends the client and everything that it has started.
	StopAgent(ctx context.Context, cause string) error
	// KillStarted ends what the client itself has started under these grants; nil is everything that it has running.
	KillStarted(ctx context.Context, grantIDs []string, cause string) error
}

// Box is what a runner does with its mailbox. [*natsbox.Conn] is one.
type Box interface {
	Join(context.Context, natsbox.JoinRequest) (natsbox.Welcome, error)
	Send(context.Context, mailbox.Envelope) (natsbox.Stored, error)
	ReadDecision(ctx context.Context, to, requestID string) (charter.Order, error)
	ReceiveMail(context.Context, func(context.Context, natsbox.Mail) error) error
	ReceiveOrders(context.Context, func(context.Context, charter.Order, natsbox.StoredInfo) error) error
	SetStatus(ctx context.Context, body any) error
	Call(ctx context.Context, verb string, in, out any) error
	// Fenced is closed when another instance has taken the name.
	Fenced() <-chan struct{}
}

// Journal is where steps are kept. [github.com/planswarm/swarm/teammate/journal.Journal] is one.
type Journal interface {
	Session() (planmode.Session, bool)
	Seq() (uint64, time.Time)
	Lost() error
	Unfinished(yield func(seq uint64, planID string, effects []planmode.Effect) bool)
	Append(ev planmode.Event, next planmode.Session, effects []planmode.Effect, at time.Time) (uint64, error)
	Done(seq uint64) error
}

// Store is where plans are kept. [*github.com/planswarm/swarm/plans/plandir.Store] is one.
type Store interface {
	// WorkFile is the absolute path of the one file that may be written while planning.
	WorkFile() string
	// Prepare makes the folder of the working file.
	Prepare() error
	// Find is the name, in the folder of the working file, of a file that was given by its full path, or relative to one of
	// the bases or to that folder.
	Find(given string, bases ...string) (name string, err error)
	// Read returns a plan file's validated bytes. The name is relative to the folder of the working file.
	Read(name string) (plans.Plan, error)
	// Fresh has the working file be another one, with a new name. Forget has the next store begin with one.
	Fresh() error
	Forget() error
	// Clear removes the working file; what was never submitted of it is kept.
	Clear() error
	// Snapshot keeps bytes as a revision, for ever.
	Snapshot(planID string, revision int, p plans.Plan) (plans.Ref, error)
	// Load returns the bytes with a content digest.
	Load(digest string) ([]byte, error)
	// WriteWork replaces the working file's bytes; what is there and differs is kept first.
	WriteWork(content []byte) error
}

// Config is what a [Runner] runs with. Fields without a default are required.
type Config struct {
	Name  string // of the teammate
	Team  string // name of the team
	Owner string // public key of the team's first owner: every charter is checked against it, and the hand-overs since
	// Handovers are those that an invitation named: the owners before count no more. Nil where none was named.
	Handovers []charter.Handover
	Tree      string           // absolute working tree
	Mode      permissions.Mode // when it starts anew
	// StartInPlan has a new session begin in plan mode. PlanAgain has one that is taken up while it works plan first, too.
	StartInPlan, PlanAgain bool
	// Dialect is how the agent's system speaks of plan mode. The zero Dialect is swarm's own.
	Dialect planmode.Dialect
	// Reader is the role of a teammate that only reads, whatever its mode and plans. The zero Reader is none.
	Reader planmode.Reader
	// Guidance is how readily the agent is told to plan. Empty says nothing.
	Guidance planmode.Strength
	// Budget bounds each round of planning. The zero Budget does not.
	Budget Budget
	// AllowedPrompts is what its plans may ask for; other prompts are refused at submit. Nil allows any.
	AllowedPrompts []string
	// Attended says that a leader can be asked about single calls. Otherwise what would be asked is denied.
	Attended bool

	Agent   Agent
	Box     Box
	Journal Journal
	Store   Store
	// Engine judges calls. Rules, Home and Forbidden are what it judges with besides the view.
	Engine    *permissions.Engine
	Rules     []permissions.Rule
	Home      string
	Forbidden []string
	// Trusted are the MCP servers whose annotations of their tools are believed.
	Trusted []string
	// Tables are the person's own programs and intents, as the engine has them. Nil adds none.
	Tables *permissions.Tables

	// Dir is a folder, 0700, for mail that was received and not read, and for the last answers. Empty keeps both in
	// memory: they end with the process.
	Dir string
	// Instance is the same after a restart on the same journal; another instance must not take the name.
	Instance string
	// Takeover takes the name from an instance that is still connected.
	Takeover bool
	// Version, Client, Capabilities and EnforcedBy are told to the team. EnforcedBy says who holds the agent to plan
	// mode: the kernel, the client, or nobody. Nil capabilities are all; without [CanPlan] the agent cannot plan by itself.
	Version      string
	Client       string
	Capabilities []string
	EnforcedBy   string

	// Progress says how far the agent's work has come. It is asked with each heartbeat and must not call the runner. Nil knows
	// nothing.
	Progress func() Progress

	// Heartbeat is how often the status is sent when nothing changes. Zero means 5 seconds.
	Heartbeat time.Duration
	// Drain is how long the end may take: the last messages are sent, or not. Zero means 10 seconds.
	Drain time.Duration
	// Now is the wall clock. Nil means time.Now. It is never believed when it goes back.
	Now func() time.Time
	// NewID and NewRequestID make ids. Nil means natsbox's.
	NewID, NewRequestID func() string
	// Observe is called with each event of the session, in order; its field "seq" is the line of the journal that has it.
	// Nil observes nothing. It must not call the runner.
	Observe func(planmode.Emit)
	// Logger receives what happens. Nil means slog.DiscardHandler.
	Logger *slog.Logger
}

// What an agent's client can do, for Config.Capabilities.
const (
	CanPlan     = "planMode"    // it has plan mode, or its agent calls swarm plan
	CanShow     = "showPlan"    // its person sees the plan
	CanFeedback = "feedback"    // a rejection's text reaches the agent by itself
	CanOptions  = "options"     // approaches to choose from
	CanEdit     = "editPlan"    // a plan that a leader has edited reaches the agent
	CanRestore  = "restoreMode" // its mode is put back, and read back
)

// offersPlanMode reports whether the agent is offered the verbs that begin a plan and hand it in. The gate holds a client
// without plan mode to a leader's order to plan all the same.
func (c Config) offersPlanMode() bool {
	return c.Capabilities == nil || slices.Contains(c.Capabilities, CanPlan)
}

// complete fills the defaults in and says what is missing.
func (c *Config) complete() error {
	switch {
	case c.Agent == nil || c.Box == nil || c.Journal == nil || c.Store == nil || c.Engine == nil:
		return fmt.Errorf("teammate: agent, box, journal, store and engine are required")
	case c.Owner == "":
		return fmt.Errorf("teammate: the owner's key is required: orders are checked against the charter that it signed")
	case !filepath.IsAbs(c.Tree):
		return fmt.Errorf("teammate: working tree %q is not absolute: give the full path", c.Tree)
	case c.Instance == "":
		return fmt.Errorf("teammate: an instance id is required")
	}
	if err := mailbox.CheckMember(c.Name); err != nil {
		return err
	}
	if c.Dialect.Name == "" {
		c.Dialect, _ = planmode.DialectOf("")
	}
	orDefault(&c.Heartbeat, 5*time.Second)
	orDefault(&c.Drain, 10*time.Second)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = natsbox.NewID
	}
	if c.NewRequestID == nil {
		c.NewRequestID = natsbox.NewRequestID
	}
	if c.Observe == nil {
		c.Observe = func(planmode.Emit) {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return nil
}

func orDefault[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}
