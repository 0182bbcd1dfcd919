package policyfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
)

// toml is a policy of rules, each a few lines.
func toml(rules ...string) []byte {
	return []byte("[[rule]]\n" + strings.Join(rules, "\n[[rule]]\n") + "\n")
}

const shell = "toolName = \"run_shell_command\"\n"

func TestGeminiRules(t *testing.T) {
	for name, row := range map[string]struct {
		rules []string
		call  permissions.Call
		mode  permissions.Mode
		want  permissions.Verdict
	}{
		"prefix":                     {[]string{shell + `commandPrefix = "make lint"` + allow(1)}, command("make lint a"), "", yes},
		"prefix, other word":         {[]string{shell + `commandPrefix = "make lint"` + allow(1)}, command("make linty"), "", maybe},
		"prefix, composed":           {[]string{shell + `commandPrefix = "make lint"` + allow(1)}, command("make lint && rm x"), "", maybe},
		"prefixes":                   {[]string{shell + `commandPrefix = ["make a", "make b"]` + allow(1)}, command("make b"), "", yes},
		"deny prefix":                {[]string{shell + `commandPrefix = "git push"` + deny(1)}, command("ls; git -C a push"), "", never},
		"deny odd prefix":            {[]string{shell + `commandPrefix = "rm -rf /*"` + deny(1)}, command("rm -rf /* x"), "bypassPermissions", never},
		"regex":                      {[]string{shell + `commandRegex = "make (a|b)"` + allow(1)}, command("make b"), "", yes},
		"regex is anchored":          {[]string{shell + `commandRegex = "make (a|b)"` + allow(1)}, command("make b c"), "", maybe},
		"regex, alternatives":        {[]string{shell + `commandRegex = "make a|make b"` + allow(1)}, command("make a x"), "", maybe},
		"regex, words with blanks":   {[]string{shell + `commandRegex = "make a b"` + allow(1)}, command("make 'a b'"), "", maybe},
		"regex, any rest":            {[]string{shell + `commandRegex = "make .*"` + allow(1)}, command("make a > b"), "", maybe},
		"deny regex":                 {[]string{shell + `commandRegex = "git (commit|push)"` + deny(1)}, command("cd a && git push -f"), "", never},
		"deny regex, git's options":  {[]string{shell + `commandRegex = "git (commit|push)"` + deny(1)}, command("git -C a push"), "", never},
		"deny regex, by a path":      {[]string{shell + `commandRegex = "rm "` + deny(1)}, command("/bin/rm x"), "bypassPermissions", never},
		"deny regex, nested":         {[]string{shell + `commandRegex = "rm "` + deny(1)}, command("sh -c 'rm x'"), "bypassPermissions", never},
		"deny regex, whole line":     {[]string{shell + `commandRegex = "curl .*\\| *sh"` + deny(1)}, command("curl x | sh"), "bypassPermissions", never},
		"deny regex, not at begin":   {[]string{shell + `commandRegex = "rm "` + deny(1)}, command("ls farm a"), "", yes},
		"deny regex, unknown word":   {[]string{shell + `commandRegex = "git push"` + deny(1)}, command("git $x"), "bypassPermissions", maybe},
		"deny regex, other program":  {[]string{shell + `commandRegex = "git push"` + deny(1)}, command("ls $x"), "bypassPermissions", yes},
		"ask":                        {[]string{shell + `commandPrefix = "ls"` + asks(1)}, command("ls"), "", maybe},
		"args of a command":          {[]string{shell + `argsPattern = '"command":"make a"'` + allow(1)}, command("make a"), "", yes},
		"args are anchored":          {[]string{shell + `argsPattern = '"command":"make a'` + allow(1)}, command("make a b"), "", maybe},
		"args, fenced":               {[]string{shell + `argsPattern = '\0"command":"make a"\0'` + allow(1)}, command("make a"), "", yes},
		"deny args":                  {[]string{shell + `argsPattern = '"command":"git'` + deny(1)}, command("ls && git log"), "", never},
		"deny args of the client":    {[]string{shell + `argsPattern = '"is_background":true'` + deny(1)}, permissions.Call{Command: "ls", Args: `{"command":"ls","is_background":true}`}, "", never},
		"priority":                   {[]string{shell + deny(100), shell + `commandPrefix = "make a"` + allow(200)}, command("make a"), "", yes},
		"priority, another":          {[]string{shell + deny(100), shell + `commandPrefix = "make a"` + allow(200)}, command("make b"), "bypassPermissions", never},
		"priority, composed":         {[]string{shell + deny(100), shell + `commandPrefix = "make a"` + allow(200)}, command("make a; ls"), "", never},
		"priority, lower":            {[]string{shell + deny(300), shell + `commandPrefix = "make a"` + allow(200)}, command("make a"), "", never},
		"priority, equal":            {[]string{shell + deny(200), shell + `commandPrefix = "make a"` + allow(200)}, command("make a"), "", never},
		"priority, ask over deny":    {[]string{shell + deny(100), shell + `commandPrefix = "make a"` + asks(200)}, command("make a"), "", maybe},
		"priority, odd words":        {[]string{shell + deny(100), shell + `commandPrefix = "make a"` + allow(200)}, command("make a $x"), "", never},
		"priority, planning":         {[]string{shell + deny(100), shell + `commandPrefix = "go test"` + allow(200)}, command("go test"), "plan", never},
		"mode":                       {[]string{shell + "modes = [\"plan\"]\n" + deny(1)}, command("ls"), "plan", never},
		"another mode":               {[]string{shell + "modes = [\"plan\"]\n" + deny(1)}, command("ls"), "default", yes},
		"autoEdit is auto too":       {[]string{shell + "modes = [\"autoEdit\"]\n" + deny(1)}, command("ls"), "auto", never},
		"yolo":                       {[]string{shell + "modes = [\"yolo\"]\n" + deny(1)}, command("ls"), "bypassPermissions", never},
		"no modes is all":            {[]string{shell + "modes = []\n" + deny(1)}, command("ls"), "dontAsk", never},
		"interactive":                {[]string{shell + "interactive = true\n" + deny(1)}, command("ls"), "", never},
		"not interactive":            {[]string{shell + "interactive = false\n" + deny(1)}, command("ls"), "", yes},
		"every tool":                 {[]string{"toolName = \"*\"" + deny(1)}, permissions.Call{Tool: "Read", Path: "a"}, "", never},
		"every tool, command":        {[]string{"toolName = \"*\"" + deny(1)}, command("ls"), "", never},
		"allow every tool":           {[]string{"toolName = \"*\"" + allow(1)}, permissions.Call{Tool: "frob"}, "", maybe},
		"list":                       {[]string{"toolName = [\"write_file\", \"replace\"]" + deny(1)}, permissions.Call{Tool: "Edit", Path: "a"}, "bypassPermissions", never},
		"server":                     {[]string{"toolName = \"*\"\nmcpName = \"db\"" + allow(1)}, permissions.Call{Tool: "query", Server: "db"}, "", yes},
		"server's tool":              {[]string{"toolName = \"query\"\nmcpName = \"db\"" + allow(1)}, permissions.Call{Tool: "mcp_db_query", Server: "db"}, "", yes},
		"another server's tool":      {[]string{"toolName = \"query\"\nmcpName = \"db\"" + allow(1)}, permissions.Call{Tool: "mcp_db2_query", Server: "db2"}, "", maybe},
		"server that nobody names":   {[]string{"toolName = \"*\"\nmcpName = \"db\"" + allow(1)}, permissions.Call{Tool: "mcp_db_query"}, "", maybe},
		"server's wildcard":          {[]string{"toolName = \"mcp_db_*\"" + allow(1)}, permissions.Call{Tool: "mcp_db_query", Server: "db"}, "", yes},
		"wildcard of a longer name":  {[]string{"toolName = \"mcp_db_*\"" + allow(1)}, permissions.Call{Tool: "mcp_db_x_query", Server: "db_x"}, "", maybe},
		"deny a server's wildcard":   {[]string{"toolName = \"mcp_db_*\"" + deny(1)}, permissions.Call{Tool: "mcp__db__query"}, "bypassPermissions", never},
		"deny every server":          {[]string{"toolName = \"mcp_*\"" + deny(1)}, permissions.Call{Tool: "mcp__db__query"}, "bypassPermissions", never},
		"deny any server by mcpName": {[]string{"mcpName = \"*\"" + deny(1)}, permissions.Call{Tool: "query", Server: "x"}, "bypassPermissions", never},
		"deny a tool of all servers": {[]string{"toolName = \"mcp_*_drop\"" + deny(1)}, permissions.Call{Tool: "mcp__db__drop"}, "bypassPermissions", never},
		"deny, not this server":      {[]string{"toolName = \"mcp_db_*\"" + deny(1)}, permissions.Call{Tool: "mcp__web__get"}, "", maybe},
		"a server's rank":            {[]string{"toolName = \"mcp_*\"" + deny(1), "toolName = \"query\"\nmcpName = \"db\"" + allow(2)}, permissions.Call{Tool: "mcp__db__query"}, "", yes},
		"file":                       {[]string{"toolName = \"write_file\"\nargsPattern = '\"file_path\":\"docs/'" + allow(1)}, permissions.Call{Tool: "write_file", Path: "docs/a", Args: `{"file_path":"docs/a","content":"x"}`}, "", yes},
		"file upwards":               {[]string{"toolName = \"write_file\"\nargsPattern = '\"file_path\":\"docs/'" + allow(1)}, permissions.Call{Tool: "write_file", Path: "docs/../a", Args: `{"file_path":"docs/../a"}`}, "", maybe},
		"file in its content":        {[]string{"toolName = \"write_file\"\nargsPattern = '\"file_path\":\"docs/'" + allow(1)}, permissions.Call{Tool: "write_file", Path: "a", Args: `{"content":"\"file_path\":\"docs/","file_path":"a"}`}, "", maybe},
		"file in a nested one":       {[]string{"toolName = \"write_file\"\nargsPattern = '\"file_path\":\"docs/'" + allow(1)}, permissions.Call{Tool: "write_file", Path: "a", Args: `{"file_path":"a","more":{"file_path":"docs/x"}}`}, "", maybe},
		"file, args not known":       {[]string{"toolName = \"write_file\"\nargsPattern = '\"file_path\":\"docs/'" + allow(1)}, permissions.Call{Tool: "write_file", Path: "docs/a"}, "", maybe},
		"deny, args not known":       {[]string{"toolName = \"write_file\"\nargsPattern = 'secret'" + deny(1)}, permissions.Call{Tool: "write_file", Path: "docs/a"}, "bypassPermissions", never},
		"deny, args known":           {[]string{"toolName = \"write_file\"\nargsPattern = 'secret'" + deny(1)}, permissions.Call{Tool: "write_file", Path: "docs/a", Args: `{"file_path":"docs/a"}`}, "bypassPermissions", yes},
		"sorted":                     {[]string{"toolName = \"frob\"\nargsPattern = '^\\{\\0\"a\":1\\0,\\0\"b\":2\\0\\}$'" + deny(1)}, permissions.Call{Tool: "frob", Args: `{"b":2,"a":1}`}, "", never},
		"hint, not trusted":          {[]string{"mcpName = \"db\"\ntoolAnnotations = { readOnlyHint = true }" + allow(1)}, permissions.Call{Tool: "query", Server: "db", Hints: map[string]bool{"readOnlyHint": true}}, "", maybe},
		"subagent":                   {[]string{shell + "subagent = \"x\"" + deny(1)}, command("ls"), "", never},
	} {
		if row.mode == "" {
			row.mode = permissions.ModeDefault
		}
		f := policyfile.Read("p.toml", toml(row.rules...), user)
		if errs := f.Errors(); len(errs) > 0 {
			t.Errorf("%s: %v", name, errs[0])
		}
		if d := decide(row.call, row.mode, f.Rules); d.Verdict != row.want {
			t.Errorf("%s: Decide(%+v) = %s (%s), want %s", name, row.call, d.Verdict, d.Reason, row.want)
		}
	}
}

func allow(priority int) string { return decided("allow", priority) }
func asks(priority int) string  { return decided("ask_user", priority) }
func deny(priority int) string  { return decided("deny", priority) }

func decided(decision string, priority int) string {
	return fmt.Sprintf("\ndecision = %q\npriority = %d\n", decision, priority)
}

// A rule about a wrapper is lifted by one that names the wrapper, and not by what it wraps.
func TestWrappersAreNotLiftedByWhatTheyWrap(t *testing.T) {
	read := func(texts ...string) []permissions.Rule { return policyfile.Read("a.toml", toml(texts...), user).Rules }
	low, high := shell+`commandPrefix = "make lint"`+allow(9), shell+`commandPrefix = "timeout 5 make"`+allow(9)
	for _, row := range []struct {
		command string
		rules   []permissions.Rule
		want    permissions.Verdict
	}{
		{"timeout 5 make lint", read(shell+`commandPrefix = "timeout"`+deny(1), low), never},
		{"timeout 5 make lint", read(shell+`commandRegex = "timeout "`+deny(1), low), never},
		{"timeout 5 make lint", read(shell+`commandPrefix = "timeout"`+asks(1), low), maybe},
		{"nice -n 5 make lint", read(shell+`commandPrefix = "nice"`+deny(1), low), never},
		{"env CI=1 make lint", read(shell+`commandPrefix = "env"`+deny(1), low), never},
		{"timeout 5 make lint", read(shell+`commandPrefix = "timeout"`+deny(1), low, high), yes},
		{"timeout 5 make lint", read(shell+deny(1), low), yes}, // all commands, but for that
		{"timeout 5 make lint", read(shell+`commandPrefix = "make"`+deny(1), low), yes},
		{"timeout 5 make test", read(shell+`commandPrefix = "make"`+deny(1), low), never},
	} {
		if d := decide(command(row.command), permissions.ModeDefault, row.rules); d.Verdict != row.want {
			t.Errorf("%s = %s (%s), want %s", row.command, d.Verdict, d.Reason, row.want)
		}
	}
}

// Tiers: the user's and the admin's by their ranks; a project's deny holds, and its allow is a proposal.
func TestTiers(t *testing.T) {
	all := policyfile.Read("default.toml", toml(shell+deny(999)), policyfile.Config{Scope: policyfile.ScopeUser, Tier: 1})
	mine := policyfile.Read("user.toml", toml(shell+`commandPrefix = "make a"`+allow(0)), user)
	admin := policyfile.Read("admin.toml", toml(shell+`commandPrefix = "make a"`+deny(0)), policyfile.Config{Scope: policyfile.ScopeOwner})
	theirs := policyfile.Read("project.toml", toml(shell+`commandPrefix = "make a"`+allow(999), shell+`commandPrefix = "make b"`+deny(0)), project)
	asked := policyfile.Read("project.toml", toml(shell+asks(999)), project)
	for name, row := range map[string]struct {
		files []policyfile.File
		line  string
		want  permissions.Verdict
	}{
		"the default alone":                       {[]policyfile.File{all}, "make a", never},
		"the user over the default":               {[]policyfile.File{all, mine}, "make a", yes},
		"the admin over the user":                 {[]policyfile.File{mine, admin}, "make a", never},
		"a project's allow is no rule":            {[]policyfile.File{theirs}, "make a", maybe},
		"a project's allow lifts nothing":         {[]policyfile.File{all, theirs}, "make a", never},
		"a project's ask lifts no user's deny":    {[]policyfile.File{all, asked}, "make a", never},
		"a project's deny holds against the user": {[]policyfile.File{theirs, policyfile.Read("user.toml", toml(shell+`commandPrefix = "make b"`+allow(999)), user)}, "make b", never},
	} {
		var rules []permissions.Rule
		for _, f := range row.files {
			rules = append(rules, f.Rules...)
		}
		if d := decide(command(row.line), permissions.ModeDefault, rules); d.Verdict != row.want {
			t.Errorf("%s: %s (%s), want %s", name, d.Verdict, d.Reason, row.want)
		}
	}
	if len(theirs.Proposals) != 1 || theirs.Proposals[0].Rank != 3.999 || mine.Rules[0].Rank != 4 || admin.Rules[0].Rank != 5 {
		t.Errorf("proposals %+v; ranks %v, %v, want 3.999, 4 and 5", theirs.Proposals, mine.Rules[0].Rank, admin.Rules[0].Rank)
	}
}

func TestADenialSaysWhy(t *testing.T) {
	f := policyfile.Read("p.toml", toml(shell+"commandPrefix = \"rm\"\ndenyMessage = \"Deletion is permanent\""+deny(7)), user)
	d := decide(command("rm x"), permissions.ModeDefault, f.Rules)
	if want := "a deny rule names rm x (p.toml:1 rule 1, priority 7 of a user): Deletion is permanent"; d.Reason != want {
		t.Errorf("the reason is %q, want %q", d.Reason, want)
	}
}

// A rule that cannot be read takes no other with it, never widens, and what it could have denied stays denied.
func TestBadGeminiRules(t *testing.T) {
	good := shell + `commandPrefix = "make good"` + allow(5)
	for rule, row := range map[string]struct {
		want   string
		denied permissions.Call // by a rule that says deny
	}{
		shell + "commandPrefx = \"rm\"":                              {`"commandPrefx" is not known: did you mean "commandPrefix"?`, command("rm x")},
		shell + "commandRegex = \"rm (?!x)\"":                        {"without lookaround", command("rm x")},
		shell + "commandRegex = \"rm (\"":                            {"commandRegex cannot be read", command("rm x")},
		shell + "commandRegex = \"\"":                                {"empty", command("rm x")},
		shell + "commandRegex = 7":                                   {"empty, too long or no text", command("rm x")},
		shell + "commandRegex = '\\Qrm'":                             {"cannot be read", command("rm x")},
		shell + "argsPattern = \"[\"":                                {"argsPattern cannot be read", command("rm x")},
		shell + "commandPrefix = 7":                                  {"commandPrefix is no text", command("rm x")},
		shell + "commandPrefix = []":                                 {"commandPrefix is no text", command("rm x")},
		shell + "commandPrefix = \" \"":                              {"not one plain command", command("rm x")},
		shell + "commandPrefix = \"a\"\ncommandRegex = \"a\"":        {"only one of", command("rm x")},
		shell + "modes = [\"plann\"]":                                {`did you mean "plan"?`, command("rm x")},
		shell + "modes = \"plan\"":                                   {"no list", command("rm x")},
		shell + "interactive = 1":                                    {"neither true nor false", command("rm x")},
		shell + "denyMessage = 1":                                    {"is no text", command("rm x")},
		shell + "allowRedirection = \"yes\"":                         {"neither true nor false", command("rm x")},
		shell + "toolAnnotations = { a = 1 }":                        {"true or false", command("rm x")},
		shell + "mcpName = \"\"":                                     {"mcpName is empty", command("rm x")},
		shell + "a = [":                                              {"the TOML cannot be read", command("rm x")},
		shell + "toolName = \"x\"":                                   {"the TOML cannot be read", command("rm x")},
		"toolName = \"run_shel_command\"":                            {`did you mean "run_shell_command"?`, command("rm x")},
		"toolName = \"re*\"":                                         {"the wildcard", permissions.Call{Tool: "Read", Path: "a"}},
		"toolName = []":                                              {"toolName is missing", permissions.Call{Tool: "Read", Path: "a"}},
		"toolName = \"\"":                                            {"toolName is missing", permissions.Call{Tool: "Read", Path: "a"}},
		"commandPrefix = \"rm\"":                                     {"toolName is missing", command("rm x")},
		"toolName = \"read_file\"\ncommandPrefix = \"rm\"":           {"are for commands", permissions.Call{Tool: "Read", Path: "a"}},
		"toolName = [\"run_shell_command\"]\ncommandPrefix = \"rm\"": {"are for commands", command("rm x")},
	} {
		for _, decision := range []string{deny(1), allow(1)} {
			f := policyfile.Read("p.toml", toml(good, rule+decision), user)
			errs := f.Errors()
			if len(errs) == 0 || !strings.Contains(errs[0].Error(), row.want) || errs[0].Line < 6 || errs[0].Next == "" {
				t.Errorf("%q: %v, want an error of line 6 or below with %q", rule, errs, row.want)
			}
			if decision == deny(1) {
				if d := decide(row.denied, permissions.ModeBypass, f.Rules); d.Verdict != never {
					t.Errorf("%q: Decide(%+v) = %s (%s), want deny", rule, row.denied, d.Verdict, d.Reason)
				}
				continue
			}
			if d := decide(command("make good"), permissions.ModeDefault, f.Rules); len(f.Rules) != 1 || d.Verdict != yes {
				t.Errorf("%q: beside it the good rule says %s (%s), %d rules", rule, d.Verdict, d.Reason, len(f.Rules))
			}
		}
	}
	for what, text := range map[string]string{
		"no decision":        "toolName = \"*\"\npriority = 1",
		"unknown decision":   "toolName = \"*\"\npriority = 1\ndecision = \"denny\"",
		"no priority":        "toolName = \"*\"\ndecision = \"deny\"",
		"priority too large": "toolName = \"*\"\ndecision = \"deny\"\npriority = 1000",
		"half a priority":    "toolName = \"*\"\ndecision = \"deny\"\npriority = 1.5",
		"negative":           "toolName = \"*\"\ndecision = \"deny\"\npriority = -1",
		"another table":      "x = 1\ndecision = \"deny\"",
	} {
		f := policyfile.Read("p.toml", toml(text), user)
		if d := decide(command("ls"), permissions.ModeBypass, f.Rules); len(f.Errors()) == 0 || d.Verdict != never {
			t.Errorf("%s: errors %v, ls = %s, want an error and deny", what, f.Errors(), d.Verdict)
		}
	}
	f := policyfile.Read("p.toml", []byte("[[rules]]\ntoolName = \"run_shell_command\"\ndecision = \"deny\"\npriority = 1\n"), user)
	if d := decide(command("ls"), permissions.ModeBypass, f.Rules); len(f.Errors()) == 0 || !strings.Contains(f.Errors()[0].Error(), "did you mean [[rule]]?") || d.Verdict != never {
		t.Errorf("[[rules]]: %v, ls = %s", f.Errors(), d.Verdict)
	}
}

// A pattern that would allow everything allows nothing, and says so.
func TestPatternsThatAreTooWide(t *testing.T) {
	for _, rule := range []string{
		shell + "commandRegex = \".*\"", shell + "commandRegex = \"[a-z-]+.*\"", shell + "commandRegex = \"(git|.*)\"", shell + "argsPattern = '\"command\":\".*'", shell + "argsPattern = '.*'",
		"toolName = \"write_file\"\nargsPattern = 'docs'", "toolName = \"write_file\"\nargsPattern = '\"file_path\":\"docs/|x'", shell + "subagent = \"x\"\ncommandPrefix = \"make\"",
	} {
		f := policyfile.Read("p.toml", toml(rule+allow(1)), user)
		if len(f.Errors()) != 1 || len(f.Rules) != 0 {
			t.Errorf("%q: errors %v, rules %+v, want one error and no rule", rule, f.Errors(), f.Rules)
		}
	}
}
