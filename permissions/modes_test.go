package permissions_test

import (
	"testing"

	"github.com/planswarm/swarm/permissions"
)

const (
	planFile = "/home/user/.local/state/swarm/t/teammates/a/work/hero.md"
	yes      = permissions.Allow
	maybe    = permissions.Ask
	never    = permissions.Deny
)

// The table of PERMISSIONS.md, by tool. The columns are the modes from plan to bypassPermissions:
// plan, dontAsk, default, acceptEdits, auto, bypassPermissions.
func TestWhatEachModeLetsPass(t *testing.T) {
	for name, row := range map[string]struct {
		call permissions.Call
		want [6]permissions.Verdict
	}{
		"read in the tree":        {permissions.Call{Tool: "Read", Path: "/project/a.go"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"relative read":           {permissions.Call{Tool: "read_file", Path: "a.go"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"list here":               {permissions.Call{Tool: "LS"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"search in the tree":      {permissions.Call{Tool: "Grep", Path: "src"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"glob in the tree":        {permissions.Call{Tool: "Glob", Path: "**/*.go"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"read outside":            {permissions.Call{Tool: "Read", Path: "/etc/hosts"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, yes}},
		"read above":              {permissions.Call{Tool: "Read", Path: "../x"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, yes}},
		"read the plan":           {permissions.Call{Tool: "Read", Path: planFile}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"read credentials":        {permissions.Call{Tool: "Read", Path: "~/.ssh/id_rsa"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
		"read .env":               {permissions.Call{Tool: "Read", Path: ".env"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
		"read swarm's state":      {permissions.Call{Tool: "Read", Path: "/home/user/.local/state/swarm/t/owner.seed"}, [6]permissions.Verdict{never, never, never, never, never, never}},
		"read it by ..":           {permissions.Call{Tool: "Read", Path: "../home/user/.config/swarm/x"}, [6]permissions.Verdict{never, never, never, never, never, never}},
		"glob swarm's state":      {permissions.Call{Tool: "Glob", Path: "/home/user/.config/sw*/**"}, [6]permissions.Verdict{never, never, never, never, never, never}},
		"search above it":         {permissions.Call{Tool: "Grep", Path: "/home/user"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
		"edit in the tree":        {permissions.Call{Tool: "Edit", Path: "a.go"}, [6]permissions.Verdict{never, never, maybe, yes, yes, yes}},
		"write in the tree":       {permissions.Call{Tool: "write_file", Path: "/project/a/b.go"}, [6]permissions.Verdict{never, never, maybe, yes, yes, yes}},
		"edit outside":            {permissions.Call{Tool: "Write", Path: "/etc/hosts"}, [6]permissions.Verdict{never, never, maybe, maybe, maybe, yes}},
		"edit without a path":     {permissions.Call{Tool: "apply_patch"}, [6]permissions.Verdict{never, never, maybe, maybe, maybe, maybe}},
		"edit the plan":           {permissions.Call{Tool: "Write", Path: planFile}, [6]permissions.Verdict{yes, never, maybe, yes, yes, yes}},
		"edit another's plan":     {permissions.Call{Tool: "Write", Path: "/home/user/.local/state/swarm/t/teammates/b/work/hero.md"}, [6]permissions.Verdict{never, never, never, never, never, never}},
		"edit beside the plan":    {permissions.Call{Tool: "Write", Path: planFile + "x"}, [6]permissions.Verdict{never, never, never, never, never, never}},
		"edit a protected file":   {permissions.Call{Tool: "Edit", Path: "sub/CLAUDE.md"}, [6]permissions.Verdict{never, never, maybe, maybe, maybe, maybe}},
		"edit credentials":        {permissions.Call{Tool: "Edit", Path: "/project/server.pem"}, [6]permissions.Verdict{never, never, maybe, maybe, maybe, maybe}},
		"network":                 {permissions.Call{Tool: "WebFetch"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, yes}},
		"search the web":          {permissions.Call{Tool: "google_web_search"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, yes}},
		"sub-agent":               {permissions.Call{Tool: "Task"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"enter plan mode":         {permissions.Call{Tool: "EnterPlanMode"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"leave plan mode":         {permissions.Call{Tool: "ExitPlanMode"}, [6]permissions.Verdict{maybe, yes, yes, yes, yes, yes}},
		"ask the user":            {permissions.Call{Tool: "AskUserQuestion"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"unknown tool":            {permissions.Call{Tool: "mcp__db__query"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, yes}},
		"unknown tool with state": {permissions.Call{Tool: "mcp__fs__read", Path: "~/.config/swarm/x"}, [6]permissions.Verdict{never, never, never, never, never, never}},
		"unknown tool, protected": {permissions.Call{Tool: "mcp__fs__write", Path: "CLAUDE.md"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
		"unknown tool that runs":  {permissions.Call{Tool: "mcp__sh__run", Command: "rm x"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
		"unknown tool, leader":    {permissions.Call{Tool: "mcp__sh__run", Command: "swarm approve r"}, [6]permissions.Verdict{never, never, never, never, never, never}},
		"read-only command":       {permissions.Call{Tool: "Bash", Command: "ls -la | head -5"}, [6]permissions.Verdict{yes, yes, yes, yes, yes, yes}},
		"granted command":         {permissions.Call{Tool: "Bash", Command: "go test ./..."}, [6]permissions.Verdict{never, yes, yes, yes, yes, yes}},
		"ruled command":           {permissions.Call{Tool: "Shell", Command: "make lint"}, [6]permissions.Verdict{never, yes, yes, yes, yes, yes}},
		"writing command":         {permissions.Call{Tool: "Bash", Command: "rm -rf build"}, [6]permissions.Verdict{never, never, maybe, maybe, maybe, yes}},
		"writing redirection":     {permissions.Call{Tool: "Bash", Command: "echo x > y"}, [6]permissions.Verdict{never, never, maybe, maybe, maybe, yes}},
		"unknown command":         {permissions.Call{Tool: "Bash", Command: "frobnicate"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, yes}},
		"unreadable command":      {permissions.Call{Tool: "run_shell_command", Command: "ls 'x"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
		"empty command":           {permissions.Call{Tool: "Bash"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
		"only a comment":          {permissions.Call{Tool: "Bash", Command: "# nothing"}, [6]permissions.Verdict{maybe, never, maybe, maybe, maybe, maybe}},
	} {
		row.call.Cwd = "/project"
		for i, mode := range permissions.Modes() {
			s := state(mode)
			s.Grants = []permissions.Grant{grant("run tests")}
			s.Rules = []permissions.Rule{{Verdict: permissions.Allow, Tool: "Bash", Argv: []string{"make", "lint"}}}
			d := permissions.New(lexical).Decide(row.call, s)
			if d.Verdict != row.want[i] || d.Reason == "" || d.Hash == "" {
				t.Errorf("%s in %s = %s (%s), want %s", name, mode, d.Verdict, d.Reason, row.want[i])
			}
			s.Unattended = true
			want := row.want[i]
			if want == permissions.Ask {
				want = permissions.Deny
			}
			if d := permissions.New(lexical).Decide(row.call, s); d.Verdict != want {
				t.Errorf("%s in %s, unattended = %s (%s), want %s", name, mode, d.Verdict, d.Reason, want)
			}
		}
	}
}

func TestAnUnknownModeIsPlanMode(t *testing.T) {
	for _, mode := range []permissions.Mode{"", "yolo", "Default", "bypass"} {
		for command, want := range map[string]permissions.Verdict{"ls": permissions.Allow, "go test ./...": permissions.Deny, "frobnicate": permissions.Ask} {
			s := state(mode)
			s.Grants = []permissions.Grant{grant("run tests")}
			if d := decide(command, s); d.Verdict != want {
				t.Errorf("mode %q: Decide(%q) = %s, want %s", mode, command, d.Verdict, want)
			}
		}
	}
}

func TestWhatIsNotKnownOfTheCallAsks(t *testing.T) {
	engine := permissions.New(lexical)
	for name, row := range map[string]struct {
		call permissions.Call
		edit func(*permissions.State)
	}{
		"no directory":            {permissions.Call{Tool: "Bash", Command: "ls"}, nil},
		"relative directory":      {permissions.Call{Tool: "Bash", Command: "ls", Cwd: "project"}, nil},
		"directory outside":       {permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/tmp"}, nil},
		"directory like the tree": {permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/project2"}, nil},
		"no tree":                 {permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/project"}, func(s *permissions.State) { s.Tree = "" }},
		"relative tree":           {permissions.Call{Tool: "Bash", Command: "ls", Cwd: "/project"}, func(s *permissions.State) { s.Tree = "project" }},
		"read without directory":  {permissions.Call{Tool: "Read", Path: "a"}, nil},
		"read without a tree":     {permissions.Call{Tool: "Read", Path: "/project/a"}, func(s *permissions.State) { s.Tree = "" }},
	} {
		for _, mode := range []permissions.Mode{permissions.ModePlan, permissions.ModeDefault, permissions.ModeAcceptEdits} {
			s := state(mode)
			if row.edit != nil {
				row.edit(&s)
			}
			if d := engine.Decide(row.call, s); d.Verdict != permissions.Ask {
				t.Errorf("%s in %s = %s (%s), want ask", name, mode, d.Verdict, d.Reason)
			}
		}
	}
}

// An answer to one edit is never an answer to another edit of the same file.
func TestAnEditsHashCoversWhatItWrites(t *testing.T) {
	engine := permissions.New(permissions.Config{Resolver: permissions.Lexical()})
	hash := func(change string) string {
		return engine.Decide(permissions.Call{Tool: "Edit", Path: "/project/a.go", Cwd: "/project", Change: change}, state(permissions.ModeDefault)).Hash
	}
	a, b, again := hash("write (1 bytes):\na\n"), hash("write (1 bytes):\nb\n"), hash("write (1 bytes):\na\n")
	if a == b || a != again {
		t.Errorf("hashes of edits: a %s, b %s, a again %s: want them to depend on what is written, and on that alone", a, b, again)
	}
}

// A leader's word for one call lifts what only a leader can lift, and no denial.
func TestALeadersWordLiftsProtectedFilesAndCredentials(t *testing.T) {
	engine := permissions.New(permissions.Config{Resolver: permissions.Lexical()})
	for _, row := range []struct {
		call permissions.Call
		want permissions.Verdict
	}{
		{permissions.Call{Tool: "Bash", Command: "rm -rf .", Cwd: "/project"}, permissions.Allow},
		{permissions.Call{Tool: "Bash", Command: "echo x > .envrc", Cwd: "/project"}, permissions.Allow},
		{permissions.Call{Tool: "Bash", Command: "cat ~/.ssh/id_rsa", Cwd: "/project"}, permissions.Allow},
		{permissions.Call{Tool: "Edit", Path: "/project/CLAUDE.md", Cwd: "/project"}, permissions.Allow},
		{permissions.Call{Tool: "Read", Path: "/home/user/.ssh/id_rsa", Cwd: "/project"}, permissions.Allow},
		{permissions.Call{Tool: "Bash", Command: "make deploy", Cwd: "/project"}, permissions.Allow},
		{permissions.Call{Tool: "Bash", Command: "curl x | sh", Cwd: "/project"}, permissions.Allow},
		{permissions.Call{Tool: "Bash", Command: "echo swarm approve | sh", Cwd: "/project"}, permissions.Deny},
		{permissions.Call{Tool: "Bash", Command: "swarm approve x-1234", Cwd: "/project"}, permissions.Deny},
		{permissions.Call{Tool: "Edit", Path: "/home/user/.local/state/swarm/t/up.json", Cwd: "/project"}, permissions.Deny},
		{permissions.Call{Tool: "Bash", Command: "deploy now", Cwd: "/project"}, permissions.Deny},
		{permissions.Call{Tool: "Bash", Command: "$X approve", Cwd: "/project"}, permissions.Ask},
	} {
		s := state(permissions.ModeBypass)
		s.Forbidden = []string{"/home/user/.local/state/swarm"}
		s.Rules = []permissions.Rule{
			{Verdict: permissions.Ask, Tool: "Bash", Argv: []string{"make"}, Prefix: true},
			{Verdict: permissions.Deny, Tool: "Bash", Argv: []string{"deploy"}, Prefix: true},
		}
		s.Answered = true
		if d := engine.Decide(row.call, s); d.Verdict != row.want {
			t.Errorf("%+v = %s (%s), want %s", row.call, d.Verdict, d.Reason, row.want)
		}
		s.Answered = false
		if d := engine.Decide(row.call, s); row.want == permissions.Allow && d.Verdict != permissions.Ask {
			t.Errorf("%+v without a leader's word = %s (%s), want ask", row.call, d.Verdict, d.Reason)
		}
	}
}
