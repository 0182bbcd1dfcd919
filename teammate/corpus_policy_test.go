//go:build linux

package teammate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/policyfile"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

const (
	allowed     = permissions.Allow
	maybe       = permissions.Ask
	denied      = permissions.Deny
	shellTool   = "run_shell_command"
	defaultMode = permissions.ModeDefault
	yolo        = permissions.ModeBypass
)

// asksOrDenies is what cannot be classed: asked once, and denied where nobody can be asked.
func asksOrDenies(call permissions.Call, tweaks ...tweak) func(*testing.T) {
	return both(gives(maybe, call, tweaks...), gives(denied, call, append(tweaks, unattended)...))
}

func hinted(name, server string, readOnly bool) permissions.Call {
	return permissions.Call{Tool: name, Server: server, Hints: map[string]bool{"readOnlyHint": readOnly}}
}

// writesPlan wants a plan file of this path to be writable while planning, by both tools, and nothing beside it.
func writesPlan(path, absolute string) claim {
	return is(both(
		gives(allowed, fileTool("write_file", path), planAt(absolute)), gives(allowed, fileTool("replace", path), planAt(absolute)),
		gives(denied, fileTool("write_file", path+".js"), planAt(absolute)),
	))
}

// writesNot wants another path than the plan file's to be denied, with the reason.
func writesNot(path string) claim {
	plan := planAt("/home/u/.gemini/tmp/x/s/plans/plan.md")
	return is(both(gives(denied, fileTool("write_file", path), plan), saysWhy("plan mode writes nothing but the plan file", fileTool("replace", path), plan, unattended)))
}

func offered(mode permissions.Mode, want []string, tools []string, rules ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		var in []permissions.Rule
		if len(rules) > 0 {
			in = policy(rules...).Rules
		}
		if got := permissions.New(permissions.Config{}).Offered(mode, tools, in...); !slices.Equal(got, want) {
			t.Errorf("offered in %s: %q, want %q", mode, got, want)
		}
	}
}

func planPolicyClaims() claims {
	child := is(gives(allowed, permissions.Call{Tool: "invoke_agent", Args: `{"agent_name":"codebase_investigator"}`}))
	return claims{
		"pm-085": is(gives(allowed, fileTool("read_file", "a.go"))),
		"pm-086": is(gives(allowed, fileTool("list_directory", "sub"))),
		"pm-087": not(7, asksOrDenies(tool("google_web_search"))),
		"pm-088": not(7, asksOrDenies(tool("get_internal_docs"))),
		"pm-089": is(both(gives(allowed, fileTool("grep_search", "sub")), gives(allowed, fileTool("glob", "sub")))),
		"pm-090": is(both(gives(denied, bash("rm -rf sub")), gives(denied, bash("make"), unattended))),
		"pm-091": is(gives(denied, fileTool("replace", "a.go"))),
		"pm-092": is(gives(denied, fileTool("write_file", "a.go"))),
		"pm-093": not(7, asksOrDenies(tool("unknown_tool"))),
		"pm-094": child,
		"pm-095": is(gives(allowed, permissions.Call{Tool: "invoke_agent", Args: `{"agent_name":"cli_help"}`})),
		"pm-096": not(7, gives(allowed, permissions.Call{Tool: "invoke_agent", Args: `{"agent_name":"unknown_agent"}`})), // a child stands behind the same gate
		"pm-097": is(gives(maybe, hinted("list_repos", "github", true))),
		"pm-098": not(7, asksOrDenies(permissions.Call{Tool: "mcp_github_push", Server: "github"}, trusting("github"))),
		"pm-099": not(7, asksOrDenies(hinted("push", "github", false), trusting("github"))),
		"pm-100": is(gives(maybe, permissions.Call{Tool: "mcp_github_list_repos", Hints: map[string]bool{"readOnlyHint": true}})),
		"pm-101": not(7, asksOrDenies(hinted("frobnicate", "", true), trusting("github"))),
		"pm-102": is(gives(denied, hinted("list_repos", "github", true), unattended)),
		"pm-103": not(7, both(asksOrDenies(tool("list_mcp_resources")), asksOrDenies(tool("read_mcp_resource")))),
		"pm-104": is(both(gives(maybe, tool("web_fetch")), gives(maybe, tool("activate_skill")), gives(allowed, tool("ask_user")))), // ask_user is the question
		"pm-106": not(7, asksOrDenies(tool("update_topic"))),
		"pm-108": writesPlan("/home/u/.gemini/tmp/a1b2/session-1/plans/my-plan.md", "/home/u/.gemini/tmp/a1b2/session-1/plans/my-plan.md"),
		"pm-109": writesPlan("/home/u/.gemini/tmp/new-temp_dir_123/session-1/plans/plan.md", "/home/u/.gemini/tmp/new-temp_dir_123/session-1/plans/plan.md"),
		"pm-110": none("a path of Windows: there the file is told by its identity, and backslashes are names here"),
		"pm-112": writesPlan("./plan.md", "/project/plan.md"),
		"pm-113": writesPlan("plans/plan.md", "/project/plans/plan.md"),
		"pm-114": writesPlan("./plans/plan.md", "/project/plans/plan.md"),
		"pm-117": writesNot("/home/u/.gemini/tmp/x/s/plans/script.js"),
		"pm-118": writesNot("/home/u/.gemini/tmp/x/s/plans/../../../etc/passwd.md"),
		"pm-120": writesNot("/home/u/.gemini/non-tmp/x/plans/plan.md"),
		"pm-121": writesNot("sub/plan.md"),
		"pm-122": writesNot("plan.txt"),
		"pm-126": is(gives(allowed, bash("git status"), byPolicy(says(shellTool, "allow", 100, `commandPrefix = "git status"`, `modes = ["plan"]`)))),
		"pm-128": is(offered(permissions.ModePlan, []string{"write_file"}, []string{"write_file", shellTool},
			says("*", "deny", 1), says("write_file", "allow", 2, `argsPattern = '"file_path":"docs/'`))),
		"pm-129": not(7, offered(permissions.ModePlan, []string{"read_file", "web_fetch", "ask_user", "exit_plan_mode", "write_todos"}, // a list of tasks changes nothing at the tool boundary
			[]string{"read_file", "web_fetch", "ask_user", "exit_plan_mode", shellTool, "write_todos", "save_memory", "mcp_db_write"},
			says("*", "deny", 40), says("read_file", "allow", 50), says("web_fetch", "ask_user", 50), says("ask_user", "ask_user", 50), says("exit_plan_mode", "ask_user", 50))),
		"pm-130": is(saysWhy("Deletion is permanent", bash("rm x"), in(defaultMode), byPolicy(says(shellTool, "deny", 7, `commandPrefix = "rm"`, `denyMessage = "Deletion is permanent"`)))),
		"pm-131": is(saysWhy("plan mode writes nothing but the plan file", fileTool("write_file", "src.go"), unattended)),
		"pm-132": adapter("issue 7: what the client shows of a denial over ACP"),
	}
}

// lint is a rule about make lint.
func lint(verdict string, priority int, more ...string) string {
	return says(shellTool, verdict, priority, append(more, `commandPrefix = "make lint"`)...)
}

func engineClaims() claims {
	work := in(defaultMode)
	ofServer := func(verdict string, priority int, more ...string) string {
		return says("query", verdict, priority, append(more, `mcpName = "db"`)...)
	}
	query := permissions.Call{Tool: "mcp_db_query", Server: "db"}
	frob := func(args string) permissions.Call { return permissions.Call{Tool: "frob", Args: args} }
	deniesA := byPolicy(says("frob", "deny", 1, `argsPattern = '\x00"a":1\x00'`))
	checkers := none("checkers inside of the client: swarm runs none, and says so when a file has one")
	return claims{
		"pm-133": is(gives(allowed, bash("make lint"), work, byPolicy(says(shellTool, "deny", 1), lint("allow", 10)))),
		"pm-134": is(gives(maybe, tool("unknown_tool"), work)),
		"pm-135": is(gives(denied, tool("unknown_tool"), work, unattended)),
		"pm-136": is(gives(allowed, tool("unknown_tool"), in(yolo))),
		"pm-137": is(gives(denied, bash("make lint"), in(yolo), byPolicy(lint("deny", 1)))),
		"pm-138": is(gives(denied, bash("make lint"), in(yolo), byPolicy(lint("ask_user", 10), lint("deny", 20)))),
		"pm-139": is(gives(maybe, tool("ask_user"), in(yolo), byPolicy(says("ask_user", "ask_user", 999)))),
		"pm-140": is(both(
			gives(denied, bash("rm -rf x"), in(yolo), byPolicy(says(shellTool, "deny", 5, `argsPattern = 'rm -rf'`))),
			gives(allowed, bash("ls"), in(yolo), byPolicy(says(shellTool, "deny", 5, `argsPattern = 'rm -rf'`))))),
		"pm-141": not(9, both( // what could be denied is denied where the arguments are not known; an allow needs them
			gives(denied, permissions.Call{Tool: "write_file", Path: "a"}, in(yolo), byPolicy(says("write_file", "deny", 1, `argsPattern = 'secret'`))),
			gives(maybe, permissions.Call{Tool: "write_file", Path: "docs/a"}, work, byPolicy(says("write_file", "allow", 1, `argsPattern = '"file_path":"docs/'`))))),
		"pm-142": is(gives(denied, frob(`{"b":2,"a":1}`), work, byPolicy(says("frob", "deny", 1, `argsPattern = '^\{\x00"a":1\x00,\x00"b":2\x00\}$'`)))),
		"pm-143": none("arguments are JSON, which has no circles"),
		"pm-146": none("values of JavaScript that JSON does not have"),
		"pm-147": is(both(gives(denied, frob(`{"a":1}`), work, deniesA), gives(maybe, frob(`{"x":{"a":1}}`), work, deniesA))),
		"pm-148": is(both(
			gives(maybe, bash("make lint"), work, byPolicy(lint("allow", 1, `modes = ["autoEdit"]`))),
			gives(allowed, bash("make lint"), in(permissions.ModeAcceptEdits), byPolicy(lint("allow", 1, `modes = ["autoEdit"]`))))),
		"pm-149": is(both(gives(denied, fileTool("write_file", "a"), in(permissions.ModePlan)), gives(allowed, fileTool("write_file", "a"), in(permissions.ModeAcceptEdits)))),
		"pm-151": is(gives(allowed, bash("ls"), work, unattended, byPolicy(says(shellTool, "deny", 1, "interactive = true")))),
		"pm-153": is(both(gives(denied, bash("ls"), work, byPolicy(says(shellTool, "deny", 1))), gives(denied, bash("ls"), work, unattended, byPolicy(says(shellTool, "deny", 1))))),
		"pm-156": is(gives(maybe, permissions.Call{Tool: "mcp_web_get", Server: "web"}, work, byPolicy(says("mcp_db_*", "allow", 1)))),
		"pm-157": is(gives(maybe, permissions.Call{Tool: "mcp_db_query", Server: "evil"}, work, byPolicy(says("mcp_db_*", "allow", 1)))),
		"pm-159": is(gives(allowed, query, work, byPolicy(ofServer("allow", 1)))),
		"pm-160": is(gives(allowed, permissions.Call{Tool: "tool", Server: "my-server"}, work, byPolicy(says("mcp_my-server_tool", "allow", 1)))),
		"pm-161": is(gives(allowed, query, work, byPolicy(says("mcp_db_*", "deny", 1), ofServer("allow", 2)))),
		"pm-162": is(both(wrong("wildcard", says("foo*", "allow", 1)), gives(maybe, tool("foobar"), work, byPolicy(says("foo*", "allow", 1))))),
		"pm-164": is(gives(denied, tool("invoke_agent"), work, byPolicy(says("codebase_investigator", "deny", 1)))),
		"pm-165": not(9, both( // which agent calls cannot be told: what narrows holds for all, and what widens is refused
			gives(denied, bash("ls"), work, byPolicy(says(shellTool, "deny", 1, `subagent = "x"`))),
			wrong("which agent calls cannot be told", lint("allow", 1, `subagent = "x"`)))),
		"pm-166": is(both(
			gives(maybe, hinted("query", "db", false), work, trusting("db"), byPolicy(says("*", "allow", 1, `mcpName = "db"`, "toolAnnotations = { readOnlyHint = true }"))),
			gives(maybe, permissions.Call{Tool: "query", Server: "db"}, work, trusting("db"), byPolicy(says("*", "allow", 1, `mcpName = "db"`, "toolAnnotations = { readOnlyHint = true }"))))),
		"pm-167": is(offered(defaultMode, []string{"frob"}, []string{"frob"}, says("*", "deny", 1, `mcpName = "db"`, "toolAnnotations = { destructiveHint = true }"))),
		"pm-168": is(wrong("toolName", says("", "deny", 1))),
		"pm-169": is(wrong("mcpName is empty", says("x", "deny", 1, `mcpName = ""`))),
		"pm-170": is(wrong("subagent is empty", says(shellTool, "deny", 1, `subagent = ""`))),
		"pm-173": none("rules are read from files as a whole: none is taken out while a teammate runs"),
		"pm-175": checkers,
		"pm-177": checkers,
		"pm-184": none("what the person at a client calls by hand is not the agent's call"),
		"pm-186": is(gives(denied, bash("make lint"), work, unattended, byPolicy(lint("ask_user", 1)))),
	}
}

// ranks wants the first rule of a file to have a rank.
func ranks(want float64, cfg policyfile.Config, rule string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		f := policyAs(cfg, rule)
		if all := append(f.Rules, f.Proposals...); len(all) != 1 || all[0].Rank != want {
			t.Errorf("%+v, want one rule of rank %v", all, want)
		}
	}
}

// proposes wants what a file allows to be a proposal, and nothing to be allowed by it.
func proposes(cfg policyfile.Config, rule string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		f := policyAs(cfg, rule)
		if len(f.Proposals) != 1 || len(f.Rules) > 0 {
			t.Errorf("rules %+v, proposals %+v, want one proposal", f.Rules, f.Proposals)
		}
	}
}

func tierClaims() claims {
	user := policyfile.Config{Scope: policyfile.ScopeUser}
	work := in(defaultMode)
	defaults := func(rules ...string) tweak {
		return under(policyAs(policyfile.Config{Scope: policyfile.ScopeUser, Tier: 1}, rules...).Rules...)
	}
	return claims{
		"pm-187": is(both(ranks(4.25, user, lint("deny", 250)), ranks(5.001, policyfile.Config{Scope: policyfile.ScopeOwner}, lint("deny", 1)), ranks(1.999, policyfile.Config{Scope: policyfile.ScopeUser, Tier: 1}, lint("deny", 999)))),
		"pm-192": is(wrong("decision", says(shellTool, "maybe", 1))),
		"pm-193": is(gives(denied, bash("make lint"), work, defaults(lint("allow", 50)), byPolicy(lint("deny", 400)))),
		"pm-194": is(gives(denied, permissions.Call{Tool: "mcp_db_query", Server: "db"}, work, byPolicy(says("mcp_db_*", "deny", 900), says("query", "allow", 300, `mcpName = "db"`)))),
		"pm-197": is(gives(denied, bash("make lint"), byPolicy(lint("allow", 300, `modes = ["default", "autoEdit", "yolo"]`)))),
		"pm-198": is(both(
			gives(denied, tool("frob"), work, byPolicy(says("*", "deny", 240, `modes = ["default", "autoEdit", "yolo"]`))),
			gives(maybe, tool("frob"), byPolicy(says("*", "deny", 240, `modes = ["default", "autoEdit", "yolo"]`))))),
		"pm-201": none("there is no administrator's folder: what the owner of a team says is signed"),
		"pm-204": none("a flag of Gemini's: which files bind is the user's configuration, and swarm policy list shows it"),
		"pm-205": is(proposes(policyfile.Config{Tier: 2}, lint("allow", 1))),
		"pm-206": is(proposes(policyfile.Config{Tier: 2}, lint("allow", 1, `modes = ["yolo"]`))),
		"pm-207": is(ranks(3.5, policyfile.Config{Tier: 3}, lint("deny", 500))),
		"pm-208": not(15, both(proposes(policyfile.Config{}, lint("allow", 1)), func(t *testing.T) { // a project narrows, trusted or not
			gives(denied, bash("make lint"), work, under(policyAs(policyfile.Config{}, lint("deny", 1)).Rules...))(t)
		})),
		"pm-209": adapter("cmd/swarm TestScripts/trust: what is trusted is trusted by its digest"),
		"pm-210": is(func(t *testing.T) {
			bad, good := policy(says(shellTool, "maybe", 1)), policy(lint("deny", 1))
			if len(bad.Errors()) != 1 || len(good.Errors()) > 0 || len(good.Rules) != 1 {
				t.Errorf("bad %v, good %v with %d rules", bad.Errors(), good.Errors(), len(good.Rules))
			}
		}),
		"pm-211": is(wrong("are for commands", says("read_file", "deny", 1, `commandPrefix = "rm"`))),
		"pm-213": is(wrong("only one of", lint("deny", 1, `commandRegex = "make"`))),
		"pm-217": not(9, both(wrong(`did you mean "run_shell_command"`, says("run_shel_command", "allow", 1)), func(t *testing.T) { // it is no warning: nothing is widened by a misspelt rule
			if f := policy(says("run_shel_command", "allow", 1)); len(f.Rules) > 0 {
				t.Errorf("rules %+v, want none", f.Rules)
			}
		})),
		"pm-218": is(func(t *testing.T) {
			if f := policy(says("quux_tool_of_nobody", "deny", 1)); len(f.Problems) > 0 || len(f.Rules) != 1 {
				t.Errorf("problems %v, rules %+v", f.Problems, f.Rules)
			}
		}),
		"pm-221": not(9, wrong(`"safety_checker" is not known`, lint("allow", 1)+"[rule.safety_checker]\nname = \"x\"")), // nothing is stripped silently
	}
}

func shellClaims() claims {
	work := in(defaultMode)
	gitLog := byPolicy(says(shellTool, "allow", 1, `commandPrefix = "git log"`))
	asksFor := func(line string) claim { return is(gives(maybe, bash(line), work, gitLog)) }
	fast := none("Go's patterns take linear time: none is unsafe")
	pattern := func(expr string) func(*testing.T) {
		return func(t *testing.T) {
			if errs := policy(says(shellTool, "deny", 1, "commandRegex = '"+expr+"'")).Errors(); len(errs) > 0 {
				t.Errorf("%q: %v", expr, errs)
			}
		}
	}
	return claims{
		"pm-225": asksFor("git log && rm -rf /"),
		"pm-226": asksFor("git log; rm -rf /"),
		"pm-229": asksFor("diff <(git log) <(rm -rf /)"),
		"pm-230": asksFor("tee >(rm -rf /)"),
		"pm-231": asksFor("git log | rm -rf /"),
		"pm-232": asksFor("git log --format=$(rm -rf /)"),
		"pm-233": asksFor("git log && echo $(git log | rm -rf /)"),
		"pm-234": asksFor("git log > /tmp/test"),
		"pm-235": asksFor("git log @(Get-Process)"),
		"pm-236": is(gives(maybe, bash("echo $(rm -rf /)"), work, byPolicy(says(shellTool, "allow", 1, `commandPrefix = "echo"`)))),
		"pm-237": not(9, both(gives(allowed, bash(`echo "$(git log)"`), work), gives(maybe, bash("echo $(git log)"), work))),                                     // unquoted, what it prints could be more words
		"pm-238": not(7, gives(maybe, bash("git log > f"), work, byPolicy(says(shellTool, "allow", 1, `commandPrefix = "git log"`, "allowRedirection = true")))), // no rule lets a command write by >
		"pm-239": is(gives(denied, bash("git commit && git push"), work, byPolicy(says(shellTool, "deny", 1, `commandPrefix = "git push"`)))),
		"pm-240": is(func(t *testing.T) {
			d := judge(bash("make lint && git push"), work, byPolicy(lint("allow", 1), says(shellTool, "ask_user", 2, `commandPrefix = "git push"`)))
			if d.Verdict != maybe || !strings.Contains(d.Rule, "rule 2") {
				t.Errorf("%s by %q, want ask by rule 2", d.Verdict, d.Rule)
			}
		}),
		"pm-241": is(gives(allowed, bash(`echo "a > b"`), work)),
		"pm-242": not(7, gives(maybe, bash("make lint > f"), in(permissions.ModeAcceptEdits), byPolicy(lint("allow", 1)))),
		"pm-245": is(gives(denied, bash("git log 'unclosed"), work, gitLog, unattended)),
		"pm-246": is(gives(denied, bash(`bash -c "rm x"`), work, byPolicy(says(shellTool, "deny", 1, `commandPrefix = "rm"`)))),
		"pm-247": is(gives(denied, bash("echo `dangerous_cmd`"), work, byPolicy(says(shellTool, "deny", 1, `commandPrefix = "dangerous_cmd"`)))),
		"pm-248": is(gives(maybe, bash("make lint & rm x"), work, byPolicy(lint("allow", 1)))),
		"pm-249": adapter("permissions TestGitAsksWhereTheRepositoryRunsPrograms"),
		"pm-250": is(gives(allowed, bash("echo git"), work)),
		"pm-251": is(gives(denied, bash("FOO=1 git push"), work, byPolicy(says(shellTool, "deny", 1, `commandPrefix = "git push"`)))),
		"pm-252": is(gives(maybe, bash(`make lint\foo`), work, byPolicy(lint("allow", 1)))),
		"pm-253": is(gives(allowed, bash(`make lint "foo"`), work, byPolicy(lint("allow", 1)))),
		"pm-254": none("a quirk of a pattern that is applied to JSON: here it is applied to the command"),

		"pm-255": is(pattern("a+")),
		"pm-256": is(pattern("(abc)*x")),
		"pm-258": fast,
		"pm-259": fast,
		"pm-260": fast,
		"pm-261": is(wrong("cannot be read", says(shellTool, "deny", 1, `commandRegex = '['`))),
		"pm-262": is(wrong("too long", says(shellTool, "deny", 1, "commandRegex = '"+strings.Repeat("a", 3000)+"'"))),
	}
}

func alwaysClaims() claims {
	persisted := none("nothing that a person allows on the way is written to a file of rules")
	scoped := func(s *sess, behavior permissions.Behavior, scope permissions.Scope) planmode.PermissionAnswered {
		a := planmode.PermissionAnswer{RequestID: "a1"}
		a.TeamID, a.CharterSerial, a.Epoch = s.Team, 1, s.Epoch
		a.PermissionResponse = permissions.PermissionResponse{CallHash: "h", Behavior: behavior, Scope: scope}
		return planmode.PermissionAnswered{Answer: a, Authority: corpusSigned, Now: corpusNow}
	}
	ask := planmode.Asked{Ask: planmode.Ask{RequestID: "a1", CallHash: "h", Tool: "Bash", Input: "go test ./...", Cwd: "/project", Argv: []string{"go", "test", "./..."}}}
	// never is an allow that nothing lasting comes of: no grant, no mode, no rule.
	never := func(s func(testing.TB) *sess, scope permissions.Scope) func(*testing.T) {
		return func(t *testing.T) {
			s := s(t)
			s.must(ask)
			state, mode := s.State, s.Mode
			_ = s.step(scoped(s, permissions.BehaviorAllow, scope)) // refused, or once
			s.stands(state, mode)
			if len(s.Grants) > 0 {
				t.Errorf("grants %+v, want none without an approved plan", s.Grants)
			}
		}
	}
	planning := func(t testing.TB) *sess { return plansIn(t, "gemini") }
	working := func(mode permissions.Mode) func(testing.TB) *sess {
		return func(t testing.TB) *sess { return works(t, "gemini", mode) }
	}
	return claims{
		"pm-263": not(6, never(planning, permissions.ScopePlan)),
		"pm-264": not(6, never(working(defaultMode), permissions.ScopePlan)),
		"pm-266": not(6, never(working(yolo), permissions.ScopePlan)),
		"pm-267": not(4, never(working(defaultMode), permissions.ScopeOnce)), // an answer about a call changes no mode
		"pm-268": is(never(working(defaultMode), permissions.ScopeOnce)),
		"pm-269": not(6, never(working(defaultMode), permissions.ScopePlan)), // a grant is for exactly the words: teammate TestAnswerForThePlanIsAGrant
		"pm-270": not(6, never(working(defaultMode), permissions.ScopePlan)),
		"pm-271": not(6, never(working(defaultMode), permissions.ScopePlan)),
		"pm-272": persisted,
		"pm-274": none("patterns are written by people in files, where Go's take linear time"),
		"pm-275": persisted,
		"pm-276": persisted,
		"pm-278": persisted,
		"pm-280": persisted,
	}
}

func modeClaims() claims {
	capped := func(dialect string) *planmode.Started { return &planmode.Started{Dialect: dialect} }
	aboveCap := func(t *testing.T) {
		ev := *capped("gemini")
		ev.Team, ev.Teammate, ev.Tree, ev.Mode, ev.Epoch = "3f0c", "api", "/project", yolo, 1
		ev.Charter = works(t, "gemini", defaultMode).Charter
		ev.Charter.Caps.Mode = permissions.ModeAcceptEdits
		s := &sess{t: t}
		s.fails(ev, planmode.ErrAboveCap, "cap")
	}
	return claims{
		"pm-291": is(func(t *testing.T) {
			s := works(t, "gemini", permissions.ModePlan)
			s.stands(planmode.Planning, permissions.ModePlan)
			if s.Saved != defaultMode {
				t.Errorf("saved is %s, want default", s.Saved)
			}
		}),
		"pm-292": none("plan mode cannot be switched off: a teammate need not plan where the team does not require it"),
		"pm-294": not(5, aboveCap), // a mode above the cap does not join, whoever wished for it
		"pm-296": adapter("cmd/swarm TestScripts/trust: an untrusted folder's wishes do not run"),
		"pm-297": is(func(t *testing.T) {
			s := works(t, "gemini", defaultMode)
			s.Charter.Caps.Mode = defaultMode
			order := planmode.ModeOrdered{Mode: yolo, Authority: corpusSigned, OrderID: "o1", Signer: "UALICE", Counter: 1}
			s.fails(order, planmode.ErrAboveCap, "cap")
			order.Mode = permissions.ModePlan
			s.must(order)
			s.stands(planmode.Planning, permissions.ModePlan)
		}),
		"pm-298": is(aboveCap),
		"pm-299": adapter("issue 7: the client's key that changes modes; ModeObserved follows it"),
		"pm-301": reminds("gemini", planmode.Reminding{Told: true}, planmode.RemindInput{}, planmode.ReminderLeft),
		"pm-302": is(both(offered(permissions.ModePlan, []string{"exit_plan_mode"}, []string{"enter_plan_mode", "exit_plan_mode"}), offered(defaultMode, []string{"enter_plan_mode"}, []string{"enter_plan_mode", "exit_plan_mode"}))),
		"pm-303": is(func(t *testing.T) {
			if _, err := permissions.ParseMode("nope"); err == nil || !strings.Contains(err.Error(), "nope") {
				t.Errorf("%v, want an error that names it", err)
			}
		}),
		"pm-304": adapter("issue 7: the modes that a client lists"),
		"pm-306": none("which model the client uses in which mode is its own affair"),
		"pm-307": none("which model the client uses in which mode is its own affair"),

		"pm-309": adapter("issue 7: a prompt that goes with the client's /plan"),
		"pm-310": is(func(t *testing.T) {
			r := newRig(t)
			m := r.start()
			m.enter()
			m.submit(corpusPlan)
			r.decide(r.approval(r.open()))
			m.wait()
			v, err := m.ViewPlan()
			if err != nil || !v.Approved || string(v.Content) != corpusPlan || v.Path != m.store.WorkFile() {
				t.Errorf("%+v, %v, want the approved plan", v, err)
			}
		}),
		"pm-311": none("the client's clipboard"),
		"pm-312": none("the client's clipboard"),

		"pm-314": adapter("issue 7: the hook program's exit codes"),
		"pm-315": not(9, waitsFor("gemini", true)),
		"pm-316": not(9, waitsFor("gemini", false)),
		"pm-318": adapter("teammate/adapter/script TestEnvironmentIsTheListAndNoMore: SWARM_PLAN_FILE, SWARM_TREE, SWARM_NAME, SWARM_RUN"),
		"pm-319": adapter("issue 7: a hook's input; ours asks the gate"),
		"pm-321": adapter("issue 7: modes that change without a hook are read back"),
		"pm-323": is(refusedUnattended("  ", plans.ErrEmpty)),
	}
}
