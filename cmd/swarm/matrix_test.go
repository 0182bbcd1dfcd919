//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

// A cell of the matrix is one command line that must fail: with one of the codes, with one line on standard error, and
// without a trace on the broker.
type cell struct {
	args   []string
	env    []string
	code   []int
	want   []string // what the line has in it
	inside bool     // run by the teammate's own process
}

func (c cell) String() string {
	var words []string
	for _, a := range c.args {
		if len(a) > 60 {
			a = fmt.Sprintf("%s... (%d)", a[:40], len(a))
		}
		words = append(words, fmt.Sprintf("%q", a))
	}
	where := ""
	if c.inside {
		where = " in the teammate"
	}
	if len(c.env) > 0 {
		where += fmt.Sprintf(" with %q", c.env)
	}
	return "swarm " + strings.Join(words, " ") + where
}

// leaderVerb is a command of a leader, with what would succeed.
type leaderVerb struct {
	name    string
	flags   []string
	args    []string // %H is a waiting plan, %Q a question, %R a single call, fixer the teammate
	target  bool     // the first argument names a request or a teammate
	request bool     // ... and it must be a request's handle
	least   int      // arguments
	most    int      // -1: any
	local   bool     // needs no broker
	both    bool     // a teammate's program has it too
}

func leaderVerbs() []leaderVerb {
	return []leaderVerb{
		{name: "inbox"},
		{name: "inbox", flags: []string{"--watch"}},
		{name: "status"},
		{name: "watch"},
		{name: "watch", args: []string{"fixer"}, target: true, most: 1},
		{name: "grants", args: []string{"fixer"}, target: true, most: 1},
		{name: "show", args: []string{"%H"}, target: true, least: 1, most: 1},
		{name: "approve", args: []string{"%H"}, target: true, request: true, least: 1, most: 1},
		{name: "reject", args: []string{"%H"}, flags: []string{"-m", "x"}, target: true, request: true, least: 1, most: 1},
		{name: "answer", args: []string{"%Q", "text"}, target: true, request: true, least: 1, most: -1},
		{name: "revoke", args: []string{"fixer"}, target: true, least: 1, most: 1},
		{name: "mode", args: []string{"fixer", "default"}, target: true, least: 2, most: 2},
		{name: "recall", args: []string{"fixer"}, flags: []string{"-m", "x"}, target: true, least: 1, most: 1},
		{name: "stop", args: []string{"fixer"}, target: true, least: 1, most: 1},
		{name: "hold", args: []string{"%H"}, target: true, request: true, most: 1},
		{name: "wait", args: []string{"%H"}, target: true, least: 1, most: 1},
		{name: "logs", args: []string{"fixer"}, target: true, least: 1, most: 1, local: true},
		{name: "audit", flags: []string{"log"}},
		{name: "audit", flags: []string{"verify"}, most: 1},
		{name: "audit", flags: []string{"export"}, args: []string{"/nowhere/x"}, least: 1, most: 1},
		{name: "message", args: []string{"fixer", "hello"}, target: true, least: 2, most: -1},
		{name: "mail", flags: []string{"send"}, args: []string{"fixer", "hello"}, both: true, least: 2, most: -1},
		{name: "mail", flags: []string{"mute"}, args: []string{"fixer"}, target: true, least: 1, most: 1},
		{name: "mail", flags: []string{"unmute"}, args: []string{"fixer"}, target: true, least: 1, most: 1},
		{name: "mail", flags: []string{"dead", "list"}},
		{name: "mail", flags: []string{"dead", "show"}, args: []string{"fixer.m1"}, least: 1, most: 1},
		{name: "mail", flags: []string{"dead", "retry"}, args: []string{"fixer.m1"}, least: 1, most: 1},
		{name: "mail", flags: []string{"dead", "drop"}, args: []string{"fixer.m1"}, least: 1, most: 1},
		{name: "mail", flags: []string{"recv"}, both: true},
		{name: "mail", flags: []string{"read"}, args: []string{"nothing"}, both: true, least: 1, most: 1},
		{name: "mail", flags: []string{"trace"}, args: []string{"%H"}, both: true, least: 1, most: 1},
		{name: "team", flags: []string{"list"}},
		{name: "team", flags: []string{"invite"}, args: []string{"third"}, least: 1, most: 1},
		{name: "team", flags: []string{"confirm"}, args: []string{"fixer"}, target: true, least: 1, most: 1},
		{name: "team", flags: []string{"rotate"}, args: []string{"fixer"}, target: true, most: 1},
		{name: "team", flags: []string{"remove"}, args: []string{"fixer"}, target: true, least: 1, most: 1},
	}
}

// badWords are arguments that name nothing, with what must be seen of them.
var badWords = []struct{ word, want string }{
	{"", ""},
	{" ", ""},
	{"nobody", "nobody"},
	{"fixr", "did you mean"},
	{"fixer-0000", "fixer-0000"},
	{"../../etc/passwd", "etc/passwd"},
	{strings.Repeat("x", 100_000), "xxxx"},
	{strings.Repeat("表", 30_000), "表"},
	{"fi\x1b[31mxer", "<1B>"},
	{"fi\nxer", "<0A>"},
	{"fi\u202exer", "<U+202E>"},
	{"fi\xffxer", "<FF>"},
	{"fi\u200bxer", "<U+200B>"},
	{"--", ""},
	{"lead", "lead"},
	{"policy", "policy"},
	{"*", "*"},
}

// line is a verb's command line with another target.
func (v leaderVerb) line(target string, more ...string) []string {
	args := append([]string{v.name}, v.flags...)
	args = append(args, more...)
	if len(v.args) > 0 {
		args = append(args, "--", target)
		args = append(args, v.args[1:]...)
	}
	return args
}

func (v leaderVerb) cells(m *team) []cell {
	good := ""
	if len(v.args) > 0 {
		good = v.args[0]
	}
	cells := []cell{
		{args: v.line(good, "--nope"), code: []int{2}, want: []string{"--nope"}},
		{args: v.line(good, "--timeout", "soon"), code: []int{2}, want: []string{`timeout cannot be "soon"`}},
		{args: v.line(good, "--timeout", "-1s"), code: []int{2}, want: []string{`"-1s"`}},
		{args: v.line(good, "--color", "blue\x1b[0m"), code: []int{2}, want: []string{"blue<1B>|blue\\x1b", "auto, always or never"}},
		{args: v.line(good, "--team", "Bad!"), code: []int{2}, want: []string{"Bad!"}},
		{args: v.line(good, "--team", strings.Repeat("t", 100_000)), code: []int{2}, want: []string{"tttt"}},
	}
	if !v.both {
		cells = append(cells,
			cell{args: v.line(good), env: []string{"SWARM_SOCKET=/nowhere"}, code: []int{4}, want: []string{"belongs to a teammate"}},
			cell{args: v.line(good), inside: true, code: []int{4}, want: []string{"belongs to a teammate"}},
		)
	}
	if !v.local {
		cells = append(cells,
			cell{args: v.line(good), env: []string{"SWARM_TEAM=other"}, code: []int{14}, want: []string{"no swarm is running for team other", "swarm up"}},
			cell{args: v.line(good, "--server", "nats://127.0.0.1:1"), code: []int{14}, want: []string{"127.0.0.1:1"}},
			cell{args: v.line(good, "--server", "nonsense\u202e"), code: []int{2}, want: []string{`nonsense\u202e`}},
			cell{args: v.line(good), env: []string{"XDG_CONFIG_HOME=" + m.path("nobody")}, code: []int{4}, want: []string{"no member of team t"}},
			cell{args: v.line(good, "--as", "nobody"), code: []int{4}, want: []string{"nobody"}},
			cell{args: v.line(good, "--as", "Bad\x1b"), code: []int{2}, want: []string{`Bad\x1b`}},
			cell{args: v.line(good, "--as", "fixer"), env: []string{"XDG_CONFIG_HOME=" + m.path("mallory")}, code: []int{4}, want: []string{"fixer", "not a leader"}},
			cell{args: v.line(good, "--as", "mia"), env: []string{"XDG_CONFIG_HOME=" + m.path("mallory")}, code: []int{4}, want: []string{"mia"}},
		)
	}
	if v.least > 0 {
		cells = append(cells, cell{args: append([]string{v.name}, v.flags...), code: []int{2}, want: []string{v.name}})
	}
	if v.most >= 0 {
		cells = append(cells, cell{args: append(v.line(good), "more", "and", "more"), code: []int{2}, want: []string{v.name}})
	}
	for _, bad := range badWords {
		if v.target {
			cells = append(cells, cell{args: v.line(bad.word), code: []int{2, 15}, want: []string{bad.want}})
		}
	}
	if v.request {
		cells = append(cells, cell{args: v.line("fixer"), code: []int{2}, want: []string{"a teammate, not a request|is a plan, not a question"}})
	}
	return cells
}

// ownCells are the mistakes that only one command can be made with.
func ownCells(m *team) []cell {
	usage := func(want string, args ...string) cell { return cell{args: args, code: []int{2}, want: []string{want}} }
	missing := func(want string, args ...string) cell { return cell{args: args, code: []int{15}, want: []string{want}} }
	folder := m.path("tmp")
	return []cell{
		usage(`unknown command "aprove": did you mean "approve"?`, "aprove"), usage("<1B>", "apr\x1bove"), usage("xxx", strings.Repeat("x", 100_000)),
		usage(`did you mean "submit"`, "plan", "sumbit"), usage(`did you mean "send"`, "mail", "sned"), usage(`did you mean "script"`, "teammate", "scirpt"),
		usage(`unknown command "aprove": did you mean "approve"?`, "aprove", "--help"), usage(`did you mean "submit"`, "plan", "sumbit", "-h"), usage("<1B>", "--help", "apr\x1bove"),
		usage(`did you mean "list"`, "mail", "dead", "lst", "--help"),

		usage("--limit", "approve", "%H", "--limit", "x"), usage("uses:x", "approve", "%H", "--limit", "run tests=uses:x"),
		usage("-1", "approve", "%H", "--limit", "run tests=uses:-1"), usage("for:soon", "approve", "%H", "--limit", "run tests=for:soon"),
		usage("..", "approve", "%H", "--limit", "run tests=in:../.."), usage("deploy", "approve", "%H", "--limit", "deploy=uses:1"),
		usage("<U+202E>", "approve", "%H", "--limit", "run\u202e tests=uses:1"), usage("=", "approve", "%H", "--limit", strings.Repeat("x", 100_000)),
		usage(`"x" is no line`, "approve", "%H", "--comment", "x: y"), usage("it has no :", "reject", "%H", "--comment", "<1B>"),
		usage(`"0" is no line`, "reject", "%H", "--comment", "0: y"), usage("it says nothing", "reject", "%H", "--comment", "1: \u2003"),
		usage("is on line 999", "reject", "%H", "--comment", "999: y"), usage("xxx", "reject", "%H", "--comment", strings.Repeat("x", 100_000)),
		usage(`"deploy" was not asked by`, "approve", "%H", "--grant", "deploy"), usage("<1B>", "approve", "%H", "--grant", "\x1b[2J"),
		usage("no-grants", "approve", "%H", "--grant", "run tests", "--no-grants"),
		usage(`unknown mode "sometimes"`, "approve", "%H", "--mode", "sometimes"), usage(`"\x1b"`, "approve", "%H", "--mode", "\x1b"),
		usage(`above this team's cap "acceptEdits"`, "approve", "%H", "--mode", "bypassPermissions"), usage("plan", "approve", "%H", "--mode", "plan"),
		usage("option", "approve", "%H", "--option", "9"), usage("without --option", "approve", "%H", "--option", "\u202e"),
		usage("soon", "approve", "%H", "--hold", "soon"), usage("-1s", "approve", "%H", "--hold", "-1s"), usage("99h", "approve", "%H", "--hold", "99h"),
		usage("nowhere.md", "approve", "%H", "--edit-file", "nowhere.md"), usage(folder, "approve", "%H", "--edit-file", folder),
		usage("not changed", "approve", "%H", "--edit-file", m.path("tree", "same.md")), usage("empty", "approve", "%H", "--edit-file", m.path("tree", "empty.md")),
		usage("UTF-8", "approve", "%H", "--edit-file", m.path("tree", "binary.md")), usage("2 MiB", "approve", "%H", "--edit-file", m.path("tree", "huge.md")),
		usage("edit", "approve", "%H", "--edit", "--edit-file", "x"), usage("VISUAL or EDITOR", "approve", "%H", "--edit"),
		usage("--for-plan is for rows that say run?", "approve", "%H", "--for-plan"), usage("question", "approve", "%Q"), usage("no grants, modes or options", "approve", "%R", "--mode", "default"),
		usage("nothing to edit", "approve", "%R", "--edit-file", "x"),
		usage("-m TEXT", "reject", "%H"), usage("-m TEXT", "reject", "%H", "-m", " \t"), usage("question", "reject", "%Q", "-m", "x"),
		usage("UTF-8", "reject", "%H", "-m", "a\xffb"),
		usage("answer", "answer", "%Q"), usage("answer", "answer", "%Q", " "), usage("is a plan, not a question", "answer", "%H", "x"), usage("not a question", "answer", "%R", "x"),
		usage("9", "answer", "%Q", "--option", "9"), usage("it offers|is empty", "answer", "%Q", "--option", "\u202e"),
		usage(`unknown mode "sometimes"`, "mode", "fixer", "sometimes"), usage("mode", "mode", "fixer", ""), usage("above this team's cap", "mode", "fixer", "bypassPermissions"),
		usage(`"\x1b"`, "mode", "fixer", "\x1b"), usage("xxx", "mode", "fixer", strings.Repeat("x", 100_000)),
		missing("deploy", "revoke", "fixer", "--grant", "deploy"), missing("fixer/1", "revoke", "fixer/1"),
		usage("-m REASON", "recall", "fixer"), usage("-m REASON", "recall", "fixer", "-m", " "),
		usage("empty", "message", "fixer", " "), missing("nobody", "message", "nobody", "hello"), usage("UTF-8", "message", "fixer", "a\xffb"),
		missing(`""`, "mail", "trace", ""), missing("fixer-000", "mail", "trace", "fixer-000"), missing("xxx", "mail", "trace", strings.Repeat("x", 100_000)),
		missing("x1b", "mail", "trace", "fi\x1bxer-0000"), missing("202", "mail", "trace", "fi\u202exer"), missing("nobody", "mail", "trace", "nobody"),
		missing(`""`, "mail", "read", ""), missing("nope", "mail", "read", "nope"), missing("xxx", "mail", "read", strings.Repeat("x", 100_000)), missing("202", "mail", "read", "\u202e"),
		usage("-1", "mail", "recv", "--max", "-1"), usage("many", "mail", "recv", "--max", "many"), usage("-1s", "mail", "recv", "--wait", "-1s"), usage("soon", "mail", "recv", "--wait", "soon"),
		usage("empty", "mail", "send", "fixer", " "), missing("nobody", "mail", "send", "nobody", "hello"), missing("did you mean fixer", "mail", "send", "fixr", "hello"),
		missing("did you mean lead", "mail", "send", "leed", "hello"), usage("UTF-8", "mail", "send", "fixer", "a\xffb"), missing("xxx", "mail", "send", strings.Repeat("x", 100_000), "hello"),
		missing("<1B>", "mail", "send", "fi\x1bxer", "hello"), missing(`""`, "mail", "send", "", "hello"), usage("65536 are sent", "mail", "send", "fixer", strings.Repeat("x", 70_000)),
		usage(`did you mean "drop"`, "mail", "dead", "dorp"), missing(`no dead letter "nobody"`, "mail", "dead", "show", "nobody"), missing("<1B>", "mail", "dead", "show", "fi\x1bxer"), missing("<U+202E>", "mail", "dead", "drop", "\u202e"),
		missing("xxx", "mail", "dead", "retry", strings.Repeat("x", 100_000)), missing(`""`, "mail", "dead", "retry", ""), usage("UTF-8", "mail", "dead", "drop", "x", "-m", "a\xffb"),
		usage("soon", "mail", "mute", "fixer", "--for", "soon"), usage("-1s", "mail", "mute", "fixer", "--for", "-1s"), usage("up to a year", "mail", "mute", "fixer", "--for", "99999h"), usage("UTF-8", "mail", "mute", "fixer", "--reason", "a\xffb"), usage("plain characters", "mail", "mute", "fixer", "--reason", "a\x1bb"),
		usage("mia cannot be muted", "mail", "mute", "mia"), usage("policy cannot be muted", "mail", "mute", "policy"), missing("fixer is not muted", "mail", "unmute", "fixer"),
		usage("--max-store 0", "up", "--max-store", "0"), usage("many", "up", "--max-store", "many"),
		missing("did you mean fixer", "audit", "log", "--of", "fixr"), missing("<U+202E>", "audit", "log", "--of", "\u202e"),
		usage("wait", "wait", "%H", "--all"),
		usage("one request, or --release", "hold"), missing("you hold no request", "hold", "--release"), missing("you hold no request", "hold", "nobody", "--release"),
		{args: []string{"wait", "%H", "--timeout", "500ms"}, code: []int{8}, want: []string{"%H is still pending|--timeout ran out"}},
		{args: []string{"wait", "--all", "--timeout", "500ms"}, code: []int{8}, want: []string{"still pending|--timeout ran out"}},
		usage("-n 0", "logs", "fixer", "-n", "0"), usage("many", "logs", "fixer", "-n", "many"),
		usage("has no revision before it", "show", "%H", "--diff"), usage("raw", "show", "%H", "--diff", "--raw"),

		usage("trust", "trust"), usage("nowhere", "trust", "nowhere"), usage("forget", "trust", m.path("tree"), "--show", "--forget"),
		usage("run", "run"), usage("nowhere", "run", "nowhere"), usage("run", "run", "a", "b"), usage("swarm.yaml", "run", m.path("tree")), usage("<1B>", "run", "\x1b"),
		usage("xxx", "run", strings.Repeat("x", 100_000)), usage(`unknown field "temmates"`, "run", m.path("tree", "bad.yaml")),
		{args: []string{"up"}, code: []int{1, 2}, want: []string{"already running for team t"}},
		usage("up", "up", "more"), usage("Bad!", "up", "--team", "Bad!"),
		usage("nonsense", "up", "--team", "third", "--listen", "nonsense"), usage("0.0.0.0:70000", "up", "--team", "third", "--listen", "0.0.0.0:70000"), usage("192.0.2.3:4222", "up", "--team", "fourth", "--insecure", "--listen", "192.0.2.3:4222"), usage("contradict", "up", "--team", "third", "--insecure", "--tls-name", "a"),
		usage("go together", "up", "--team", "third", "--tls-ca", "a"), usage("go together", "up", "--team", "third", "--tls-key", "a"),
		usage("not a host name", "up", "--team", "third", "--tls-name", "a\x1bb"), usage("not a host name", "up", "--team", "third", "--tls-name", ""), usage("xxx", "up", "--team", "third", "--tls-name", strings.Repeat("x", 100_000)),
		{args: []string{"up", "--team", "third", "--tls-cert", "nowhere", "--tls-key", "nowhere"}, code: []int{1}, want: []string{"nowhere"}},
		usage("script", "teammate", "script"), usage(`unknown mode "sometimes"`, "teammate", "script", "--name", "a", "--mode", "sometimes", "--", "true"),
		usage(`unknown dialect "klingon"`, "teammate", "script", "--name", "a", "--dialect", "klingon", "--", "true"), usage("use one of --plan, --no-plan-mode", "teammate", "script", "--plan", "--no-plan-mode", "--", "true"), usage(`unknown guidance "fierce"`, "teammate", "script", "--name", "a", "--guidance", "fierce", "--", "true"), usage(`unknown role "boss"`, "teammate", "script", "--name", "a", "--role", "boss", "--", "true"), usage("a budget cannot have tokens=3", "teammate", "script", "--name", "a", "--budget", "tokens=3", "--", "true"), usage("use one of --plan, --no-plan", "teammate", "script", "--plan", "--no-plan", "--", "true"),
		usage(`bad name "Bad!"`, "teammate", "script", "--name", "Bad!", "--", "true"), usage("reserved", "teammate", "script", "--name", "lead", "--", "true"),
		usage("xxx", "teammate", "script", "--name", strings.Repeat("x", 100_000), "--", "true"), usage(`a\u202e`, "teammate", "script", "--name", "a\u202e", "--", "true"),
		{args: []string{"teammate", "script", "--name", "a", "--tree", "nowhere", "--", "true"}, code: []int{1, 2}, want: []string{"working tree", "nowhere"}},
		{args: []string{"teammate", "script", "--name", "fixer", "--", "true"}, code: []int{1, 2}, want: []string{"fixer is already running on this machine"}},
		{args: []string{"teammate", "script", "--name", "a", "--", "true"}, env: []string{"SWARM_TEAM=other"}, code: []int{14}, want: []string{"no swarm is running"}},
		usage("unknown flag: --nope", "teammate", "script", "--nope", "--", "true"),
		usage("doctor", "doctor", "more"), usage("unknown flag: --nope", "doctor", "--nope"), usage("Bad!", "doctor", "--team", "Bad!"), usage(`timeout cannot be "soon"`, "doctor", "--timeout", "soon"),
		usage("tttt", "doctor", "--team", strings.Repeat("t", 100_000)), usage(`nonsense\u202e`, "doctor", "--server", "nonsense\u202e"), usage(`Bad\x1b`, "doctor", "--as", "Bad\x1b"),
		usage("version", "version", "more"), usage("unknown flag: --nope", "version", "--nope"),

		usage(`did you mean "test"`, "policy", "tset"), usage("it takes 1 word", "policy", "test"), usage("no such file", "policy", "test", "nowhere.yaml"), usage("xxx", "policy", "test", strings.Repeat("x", 100_000)+".yaml"),
		usage("does not say how it is written", "policy", "test", "x\x1b"), usage("--scope", "policy", "test", "a.yaml", "--scope", "\x1b"),
		usage("at least 1 word", "policy", "explain"), usage("no such file", "policy", "explain", "--policy", "nowhere.toml", "--", "ls"), usage("unknown flag: --nope", "policy", "test", "--nope"),
		missing("a negation", "intent", "do not run tests"), missing("<U+200B>", "intent", "run te\u200bsts"), missing("is empty", "intent", ""), missing("xxx", "intent", strings.Repeat("x", 100_000)),
		usage("unknown flag: --nope", "intent", "--nope"),

		missing("did you mean", "schema", "confg"), missing("did you mean cmd/inbox", "schema", "inbox"), missing("<1B>", "schema", "\x1b"), missing("xxx", "schema", strings.Repeat("x", 100_000)),
		missing(`""`, "schema", ""), usage("schema", "schema", "a", "b"), usage("needs a file", "schema", "error", "--check", ""), usage("no such file", "schema", "error", "--check", "nowhere"),
		usage("is a folder", "schema", "error", "--check", folder), usage("is empty", "schema", "error", "--check", m.path("tree", "empty.md")), usage("not UTF-8", "schema", "error", "--check", m.path("tree", "binary.md")),
		usage("line 1 column 1: is not JSON", "schema", "error", "--check", m.path("tree", "huge.md")), usage("16 MiB", "schema", "error", "--check", m.path("tree", "larger.json")),
		usage("does not say what it is", "schema", "--check", m.path("tree", "what.json")), usage(`unknown field "temmates"`, "schema", "--check", m.path("tree", "bad.yaml")),
		usage("xxx", "schema", "error", "--check", strings.Repeat("x", 100_000)), usage("<1B>", "schema", "error", "--check", "\x1b"), usage("standard input", "schema", "config", "--check", "-"),
		usage("unknown flag: --nope", "schema", "--nope"),

		usage(`did you mean "remove"`, "team", "remov"), usage("mia is the last person who leads", "team", "remove", "mia"),
		usage("keeps its key", "team", "rotate", "policy"), usage("reserved", "team", "invite", "lead"), usage("bad name", "team", "invite", "a\x1b"), usage("bad name", "team", "invite", strings.Repeat("x", 100_000)), usage("fixer already", "team", "invite", "fixer"),
		usage("role", "team", "invite", "new", "--role", "\u202e"), usage("kind", "team", "invite", "new", "--kind", "policy"), usage("soon", "team", "invite", "new", "--expires", "soon"),
		usage("at most 1h", "team", "invite", "new", "--expires", "61m"), usage("at most 1h", "team", "invite", "new", "--expires", "-1s"), missing("waits for your word", "team", "confirm", "nobody"),
		usage("there is no invitation", "team", "join"), usage("nowhere", "team", "join", "--file", "nowhere"), usage("is a directory", "team", "join", "--file", folder), usage("does not begin with", "team", "join", "--file", m.path("tree", "same.md")),
		usage("more than", "team", "join", "--file", m.path("tree", "huge.md")), usage("does not begin with", "team", "join", "--file", m.path("tree", "binary.md")), usage("there is no invitation", "team", "join", "--file", m.path("tree", "empty.md")),
		missing("no invitation waits", "team", "join", "--resume"), usage("cannot be", "team", "join", "--resume", "--team", "../x"), usage("cannot be", "team", "join", "--resume", "--as", "*"), usage("team join", "team", "join", "more"),
		{args: []string{"team", "init"}, code: []int{1}, want: []string{"swarm is running for team t"}},
		{args: []string{"team", "init"}, inside: true, code: []int{4, 2}, want: []string{"belongs to a teammate"}},
		missing("no sealed owner's key", "team", "recover"), usage("team init", "team", "init", "more"), usage("team recover", "team", "recover", "more"), usage("Bad!", "team", "init", "--team", "Bad!"), usage("xxx", "team", "recover", "--team", strings.Repeat("x", 100_000)),
		{args: []string{"team", "init"}, env: []string{"SWARM_SOCKET=/nowhere"}, code: []int{4}, want: []string{"belongs to a teammate"}},
		{args: []string{"team", "recover"}, env: []string{"SWARM_SOCKET=/nowhere"}, code: []int{4}, want: []string{"belongs to a teammate"}},
		{args: []string{"team", "join"}, env: []string{"SWARM_SOCKET=/nowhere"}, code: []int{4}, want: []string{"belongs to a teammate"}},
		{args: []string{"team", "join"}, inside: true, code: []int{4, 2}, want: []string{"belongs to a teammate|there is no invitation"}},
	}
}

// mateVerbs are the commands of an agent: what would succeed, and what is wrong inside of a teammate.
func mateCells() []cell {
	verbs := [][]string{
		{"plan", "enter"},
		{"plan", "path"},
		{"plan", "submit"},
		{"plan", "wait"},
		{"plan", "status"},
		{"plan", "leave"},
		{"plan", "done"},
		{"plan", "withdraw"},
		{"plan", "on"},
		{"plan", "off"},
		{"plan", "view"},
		{"plan", "clear"},
		{"task", "list"},
		{"task", "start", "t1"},
		{"task", "done", "t1"},
		{"task", "block", "t1"},
		{"check", "--", "ls"},
		{"exec", "--", "ls"},
		{"edit", "x"},
		{"ask", "which?"},
		{"mcp"},
	}
	refused := map[string]int{"check": 11, "exec": 126}
	var cells []cell
	for _, v := range verbs {
		code := refused[v[0]]
		if code == 0 {
			code = 4
		}
		flag := append(slices.Clone(v[:min(len(v), 2)]), "--nope")
		if v[0] == "check" || v[0] == "exec" {
			flag = []string{v[0], "--nope", "--", "ls"}
		}
		if v[0] != "check" { // which stands alone outside of a teammate
			cells = append(cells, cell{args: v, code: []int{code}, want: []string{"this is not inside a teammate"}})
		}
		cells = append(cells,
			cell{args: v, env: []string{"SWARM_SOCKET=/nowhere"}, code: []int{code, 14}, want: []string{"/nowhere"}},
			cell{args: v, env: []string{"SWARM_SOCKET=" + strings.Repeat("x", 50_000)}, code: []int{code, 14}, want: []string{"xxx"}},
			cell{args: flag, inside: true, code: []int{2}, want: []string{"--nope"}},
		)
		if len(v) == 2 && v[0] != "edit" && v[0] != "ask" {
			cells = append(cells, cell{args: append(slices.Clone(v), "a", "b"), inside: true, code: []int{2}, want: []string{v[1]}})
		}
	}
	in := func(code int, want string, args ...string) cell {
		return cell{args: args, inside: true, code: []int{code}, want: []string{want}}
	}
	long := strings.Repeat("x", 100_000)
	return append(cells,
		in(2, "soon", "plan", "wait", "--timeout", "soon"), in(8, "wait again", "plan", "wait", "--timeout", "20ms"), in(10, "submit", "plan", "wait", "--revision", "99"),
		in(2, "many", "plan", "wait", "--revision", "many"), in(10, "submit", "plan", "wait", "--revision", "-1"),
		in(15, "nowhere", "plan", "submit", "nowhere"), in(2, "option", "plan", "submit", "--option", "approve"), in(2, "sometimes", "plan", "submit", "--mode", "sometimes"),
		in(2, "recommend", "plan", "submit", "--recommend", "x"), in(2, "passwd", "plan", "submit", "/etc/passwd"), in(15, `\x1b`, "plan", "submit", "\x1b"),
		in(2, "--addresses", "plan", "submit", "--addresses", "c1=x"), in(2, "<1B>", "plan", "submit", "--addresses", "\x1b=0"), in(2, "no comments", "plan", "submit", "--addresses", "c1=1"),
		in(2, "xxx", "plan", "submit", long),
		in(2, "needs something to judge", "check"), in(2, `unknown mode "sometimes"`, "check", "--mode", "sometimes", "--", "ls"), in(2, "has no )", "check", "--rule", "Bash(ls", "--", "ls"),
		in(2, `did you mean "Bash"`, "check", "--rule", "Bsh(ls)", "--", "ls"), in(2, "<1B>", "check", "--rule", "\x1b", "--", "ls"), in(2, "xxx", "check", "--rule", long+" y", "--", "ls"),
		in(2, "leave the words after it out", "check", "--jsonl", "--", "ls"), in(2, "stands alone", "check", "--mode", "plan", "--wait", "--", "ls"), in(2, "exec", "exec"), in(2, "edit", "edit"), in(2, "with", "edit", "x", "--replace", "a"), in(2, "send", "mail", "send"), in(2, "send", "mail", "send", "lead"),
		in(15, "nobody", "mail", "send", "nobody", "x"), in(15, "did you mean", "mail", "send", "fixr", "x"), in(2, `\x1b`, "mail", "send", "\x1b", "x"), in(2, "xxx", "mail", "send", long, "x"),
		in(2, "empty", "mail", "send", "lead", " "), in(2, "read", "mail", "read"), in(15, "nope", "mail", "read", "nope"), in(15, `""`, "mail", "read", ""), in(15, "xxx", "mail", "read", long),
		in(15, `\u202e`, "mail", "read", "\u202e"), in(2, "soon", "mail", "recv", "--timeout", "soon"), in(2, "many", "mail", "recv", "--max", "many"), in(2, "-1", "mail", "recv", "--max", "-1"),
		in(2, "ask", "ask"), in(2, "blank", "ask", " "), in(2, "16", "ask", long), in(2, "options", "ask", "which?", "--option", "a", "--option", "b", "--option", "c", "--option", "d", "--option", "e"),
		in(2, "soon", "ask", "which?", "--timeout", "soon"), in(2, "soon", "exec", "--timeout", "soon", "--", "ls"),
	)
}

func TestBadInputMatrix(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	m := newTeam(t)
	m.start("fixer")
	mallory(m)
	plan := "# Fix it\n\n- [ ] main.go\n"
	for name, text := range map[string]string{
		"same.md": plan, "empty.md": "", "binary.md": "# a\xff\n", "huge.md": strings.Repeat("x", 3<<20), "larger.json": strings.Repeat(" ", 17<<20),
		"what.json": `{"a": 1}`, "bad.yaml": "version: 1\nteam: t\ntemmates: {}\n",
	} {
		m.must(os.WriteFile(m.path("tree", name), []byte(text), 0o600))
	}
	// A single call and a question need a teammate that works; the plan comes last, and everything waits.
	m.ok(m.mate("fixer", `printf '# First\n' >"$SWARM_PLAN_FILE"; swarm plan submit`))
	m.ok(m.lead("approve", m.handle("fixer", "plan")))
	m.ok(m.mate("fixer", `swarm plan wait && swarm plan done`))
	m.start("other", "--no-plan")
	m.ok(m.mate("other", "(swarm exec -- mkdir build >/dev/null 2>&1 &)\n(swarm ask 'which one?' --option a --option b >/dev/null 2>&1 &)"))
	m.ok(m.mate("fixer", fmt.Sprintf(`swarm plan enter; printf '%s' >"$SWARM_PLAN_FILE"; swarm plan submit --prompt "run tests"`, strings.ReplaceAll(plan, "\n", `\n`))))
	plans, questions, runs := m.handle("fixer", "plan"), m.handle("other", "question"), m.handle("other", "run")
	names := strings.NewReplacer("%H", plans, "%Q", questions, "%R", runs)
	for _, asked := range []string{plans, questions, runs} { // the desk's receipt is the last that is stored of them
		m.until("the receipt of "+asked, func() bool { return strings.Contains(m.lead("mail", "trace", asked).out, "\ndelivered ") })
	}

	var cells []cell
	for _, v := range leaderVerbs() {
		cells = append(cells, v.cells(m)...)
	}
	cells = append(append(cells, ownCells(m)...), mateCells()...)
	if raceDetector { // it makes a process take ten times as long, and the cells are much of the same
		for i := range len(cells) / 4 {
			cells[i] = cells[4*i]
		}
		cells = cells[:len(cells)/4]
	}
	for i := range cells {
		for _, words := range [][]string{cells[i].args, cells[i].want} {
			for j := range words {
				if len(words[j]) < 1000 {
					words[j] = names.Replace(words[j])
				}
			}
		}
	}
	rows, stored := m.ok(m.lead("inbox")).out, m.stored()
	plain, twins := m.run(cells, false), m.run(cells, true)
	var errs strings.Builder
	for i, c := range cells {
		c.check(t, plain[i], 1)
		if doc := c.check(t, twins[i], 2); doc != "" {
			errs.WriteString(doc + "\n")
			c.checkDocument(t, doc)
		}
	}
	file := m.path("tmp", "errors.json")
	m.must(os.WriteFile(file, []byte(errs.String()), 0o600))
	if o := m.lead("schema", "error", "--check", file); o.code != 0 {
		t.Errorf("the errors' documents: %s", o.err)
	}
	if now := m.stored(); now != stored {
		t.Errorf("the broker has %s, want %s as before: something was stored", now, stored)
	}
	if now := m.ok(m.lead("inbox")).out; ids(now) != ids(rows) {
		t.Errorf("the inbox was\n%sand is\n%s", rows, now)
	}
	t.Logf("%d cells, each twice, in %v", len(cells), time.Since(begin).Round(100*time.Millisecond))
}

// ids are the handles of an inbox: ages change.
func ids(inbox string) string {
	var list []string
	for line := range strings.Lines(inbox) {
		list = append(list, strings.Split(line, "\t")[0])
	}
	return strings.Join(list, " ")
}

// mallory is a person with a teammate's key: as that teammate, and as mia.
func mallory(m *team) {
	seed, err := os.ReadFile(m.state("teammates", "fixer", "seed"))
	m.must(err)
	bundle, err := os.ReadFile(m.path("config", "swarm", "teams", "t", "mia.bundle"))
	m.must(err)
	var b map[string]any
	m.must(json.Unmarshal(bundle, &b))
	b["seed"] = strings.TrimSpace(string(seed))
	m.must(os.MkdirAll(m.path("mallory", "swarm", "teams", "t"), 0o700))
	for _, me := range []string{"mia", "fixer"} {
		b["me"] = me
		data, err := json.Marshal(b)
		m.must(err)
		m.must(os.WriteFile(m.path("mallory", "swarm", "teams", "t", me+".bundle"), data, 0o600))
	}
}

// run runs the cells: those of a person three at a time, those of the teammate in one go of its shell.
func (m *team) run(cells []cell, asJSON bool) []outcome {
	results := make([]outcome, len(cells))
	var wg sync.WaitGroup
	work := make(chan int)
	for range 3 {
		wg.Go(func() {
			for i := range work {
				results[i] = m.as(cells[i].env, withJSON(cells[i].args, asJSON)...)
			}
		})
	}
	var script strings.Builder
	script.WriteString(`cd "$(dirname "$SWARM_PLAN_FILE")"` + "\n")
	for i, c := range cells {
		if !c.inside {
			work <- i
			continue
		}
		script.WriteString("swarm")
		for _, a := range withJSON(c.args, asJSON) {
			script.WriteString(" '" + strings.ReplaceAll(a, "'", `'\''`) + "'")
		}
		fmt.Fprintf(&script, " >cell.%d.out 2>cell.%d.err </dev/null; echo $? >cell.%d.rc\n", i, i, i)
	}
	close(work)
	m.mate("fixer", script.String())
	wg.Wait()
	for i, c := range cells {
		if c.inside {
			results[i] = m.inside(i)
		}
	}
	return results
}

func (m *team) inside(i int) outcome {
	read := func(kind string) string {
		data, err := os.ReadFile(filepath.Join(m.state("teammates", "fixer", "work"), fmt.Sprintf("cell.%d.%s", i, kind)))
		m.must(err)
		return string(data)
	}
	o := outcome{code: -1, out: read("out"), err: read("err")}
	_, err := fmt.Sscan(read("rc"), &o.code)
	m.must(err)
	return o
}

func withJSON(args []string, yes bool) []string {
	if !yes {
		return args
	}
	return append([]string{"--json"}, args...)
}

// check holds an outcome to the rules of errors. With --json it returns the last line, which is the document.
func (c cell) check(t *testing.T, o outcome, lines int) string {
	t.Helper()
	fail := func(format string, args ...any) string {
		t.Errorf("%v: "+format+"\n  exit %d\n  stdout %.300q\n  stderr %.600s", append(append([]any{c}, args...), o.code, o.out, o.err)...)
		return ""
	}
	got := strings.Split(strings.TrimSuffix(o.err, "\n"), "\n")
	if strings.HasPrefix(got[0], "waiting for ") { // said while it waits
		got = got[1:]
	}
	hidden := func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) || r == unicode.ReplacementChar }
	switch {
	case !slices.Contains(c.code, o.code):
		return fail("exit %d, want %v", o.code, c.code)
	case o.out != "":
		return fail("something on standard output")
	case len(got) != lines:
		return fail("%d lines on standard error, want %d", len(got), lines)
	case !strings.HasPrefix(got[0], "swarm: "):
		return fail("the line does not begin with swarm:")
	case len(got[0]) > 700:
		return fail("the line has %d bytes", len(got[0]))
	case strings.IndexFunc(o.err, hidden) >= 0:
		return fail("the line hides something: %q", o.err)
	}
	for _, want := range c.want {
		if !slices.ContainsFunc(strings.Split(want, "|"), func(w string) bool { return strings.Contains(got[0], w) }) {
			return fail("want %q", want)
		}
	}
	if lines == 1 {
		return ""
	}
	return got[1]
}

// checkDocument wants a code, and what to do: as a field of its own, or after a colon.
func (c cell) checkDocument(t *testing.T, doc string) {
	t.Helper()
	var d struct {
		Error struct{ Code, Message, Next string }
	}
	if err := json.Unmarshal([]byte(doc), &d); err != nil || d.Error.Code == "" {
		t.Errorf("%v: the document %s: %v", c, doc, err)
	}
	if d.Error.Next == "" && !strings.Contains(d.Error.Message, ": ") {
		t.Errorf("%v: nothing says what to do: %s", c, doc)
	}
}
