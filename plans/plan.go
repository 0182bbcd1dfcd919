// Package plans has the value types of a plan: its bytes, the approaches and tasks it offers, and what changed between
// two revisions. Nothing here is normalised: a plan is the bytes that were submitted.
package plans

// MaxBytes is the largest plan that is accepted.
const MaxBytes = 2 << 20

// Plan is a plan as it travels: content is the exact bytes, base64 in JSON.
type Plan struct {
	Name    string `json:"name"` // file name, no folders
	Path    string `json:"path"` // where the teammate keeps it, for people to read
	Content []byte `json:"content"`
	Bytes   int    `json:"bytes"`
	Digest  string `json:"digest"` // hex SHA-256 of Content alone
}

// Ref names a stored plan without its bytes.
type Ref struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Bytes  int    `json:"bytes"`
	Digest string `json:"digest"` // hex SHA-256 of the content alone: the key into the plan store
	Title  string `json:"title"`  // first heading or line, for lists
}

// Option is one of the approaches that a plan offers.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
	Recommended bool   `json:"recommended,omitempty"`
}

// Task is a checkbox of the plan.
type Task struct {
	ID   string `json:"id"` // t1, t2, ... in order of appearance
	Line int    `json:"line"`
	Text string `json:"text"`
	Done bool   `json:"done"`
}

// Base is the state of the working tree that a plan was made against.
type Base struct {
	Commit string `json:"commit,omitempty"` // empty: not a git repository, or nothing committed
	Dirty  bool   `json:"dirty,omitempty"`
}

// Read is a file that a plan rests on, with the SHA-256 of its content at submit.
type Read struct {
	Path   string `json:"path"`
	Digest string `json:"digest"`
}

// Fact is something computed about a plan, and the rule that computed it.
type Fact struct {
	Rule  string `json:"rule"`  // e.g. "files-named", "unknown-prompt", "hidden-characters"
	Text  string `json:"text"`  // for people
	Line  int    `json:"line"`  // 1-based line of the plan; 0 is none
	Value string `json:"value"` // for policies: the path, the intent, the class
}
