package shellcmd

// Line is what one Bash line would run.
type Line struct {
	// Commands are the simple commands of a line whose whole syntax is known, in order. When Refused is empty these are
	// all that bash would run.
	Commands []*Command
	// Nested is every simple command anywhere, also inside constructs that are refused. Commands are among them.
	Nested []*Command
	// Refused says, for people, which constructs stand outside the accepted syntax, each once.
	Refused []string
	// Targets are the words of every redirection anywhere, also inside constructs that are refused.
	Targets []Word
	// Texts are further pieces that something might read as commands: bodies of here-documents, glob patterns.
	Texts []string
}

// Command is one simple command, or (with an empty Argv) redirections or assignments that stand alone.
type Command struct {
	Argv   []Word
	Env    []Assign   // environment prefixes, or assignments when Argv is empty
	Redirs []Redirect // its own, in order
	// Dirs are the directories that it may run in: more than one when an earlier cd may have failed.
	Dirs []string
	// Lost is set when it may also run in a directory that cannot be told.
	Lost bool
	// Piped is set when its input comes from another command of the line, or from a redirection around it.
	Piped bool
	// Feeds is set when its output goes to another command of the line.
	Feeds bool
	// From is the simple command whose output it reads, when it is one.
	From *Command
	// ReadOnly is set inside a loop or a substitution: only what only reads may run there.
	ReadOnly bool
}

// Word is one word after quote removal.
type Word struct {
	// Text is the word. A part that cannot be told stands as "*", a plain parameter as "${NAME}".
	Text string
	// Pattern is set for a glob: Text with its literal special characters escaped, as for path.Match.
	Pattern string
	// Source is the word as it was written, for people.
	Source string
	// Tilde is set when an unquoted ~ stands alone or before a slash: the home directory.
	Tilde bool
	// Status is set when $? occurs, and nothing worse: Text then has 0 in its place.
	Status bool
	// Unknown is set when the word holds anything that only bash can tell.
	Unknown bool
	// Printed is set beside Unknown when all that cannot be told is what commands between double quotes print. They are
	// among the commands of the line.
	Printed bool
}

// Literal reports whether Text is exactly what the program receives.
func (w Word) Literal() bool { return !w.Unknown && !w.Tilde && !w.Status && w.Pattern == "" }

// Assign is a NAME=value before a command.
type Assign struct {
	Name  string
	Value Word
	Odd   bool // += or an index: never a plain prefix
}

// RedirectKind says what a redirection does.
type RedirectKind uint8

// The kinds. The zero kind is an unusual one, which is always refused.
const (
	RedirectOdd   RedirectKind = iota
	RedirectDup                // 2>&1, >&2
	RedirectNull               // output to /dev/null
	RedirectRead               // < file
	RedirectHere               // a here-document with a quoted delimiter
	RedirectWrite              // output to a file
	RedirectText               // a here-string in which nothing is expanded
)

// Redirect is one redirection.
type Redirect struct {
	Kind   RedirectKind
	Target Word   // the file; empty for a here-document
	Body   string // of a here-document or here-string
}

// Feeds reports whether a command reads something by it: a file, a here-document, or what cannot be told.
func (r Redirect) Feeds() bool {
	switch r.Kind {
	case RedirectDup, RedirectNull, RedirectWrite:
		return false
	case RedirectRead:
		return !r.Target.Literal() || r.Target.Text != "/dev/null"
	}
	return true
}

// Argv0 is the name of the command, or "" when there is none.
func (c *Command) Argv0() string {
	if len(c.Argv) == 0 {
		return ""
	}
	return c.Argv[0].Text
}

// Shown is the words as people read them: the text where it is known, the source elsewhere.
func Shown(words []Word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.Text
		if !w.Literal() {
			out[i] = w.Source
		}
	}
	return out
}
