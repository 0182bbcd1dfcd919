//go:build linux

package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// valid checks what a command printed against its schema, with the command that people have for it.
func (m *team) valid(schema, text string) {
	m.t.Helper()
	file := m.path("tmp", "document.json")
	m.must(os.WriteFile(file, []byte(text), 0o600))
	if o := m.as(nil, "schema", schema, "--check", file); o.code != 0 {
		m.t.Errorf("%s: %s%s", schema, o.err, text)
	}
	m.checked[schema] = true
}

// printed is a command that succeeds, and whose document is valid.
func (m *team) printed(schema string, o outcome) outcome {
	m.t.Helper()
	if o.code != 0 {
		m.t.Errorf("%s: exit %d\n%s%s", schema, o.code, o.out, o.err)
		return o
	}
	m.valid(schema, o.out)
	return o
}

// joins has somebody invited, who uses the invitation on a machine of its own.
func (m *team) joins(name, role string) <-chan outcome {
	m.t.Helper()
	m.printed("cmd/team-invite", m.lead("team", "invite", name, "--role", role, "--json"))
	m.must(os.WriteFile(m.path("tmp", "invitation"), []byte(m.ok(m.lead("team", "invite", name, "--role", role)).out), 0o600))
	done := make(chan outcome, 1)
	join := func() outcome {
		return m.as([]string{"XDG_CONFIG_HOME=" + m.path("home", name)}, "team", "join", "--file", m.path("tmp", "invitation"), "--json")
	}
	if role == "teammate" {
		done <- m.printed("cmd/team-join", join())
		return done
	}
	go func() { done <- join() }()
	return done
}

// What every verb prints with --json is valid, over the way of a plan from its teammate to its leader and back.
func TestJSONIsValid(t *testing.T) {
	t.Parallel()
	m := newTeam(t)
	m.checked = map[string]bool{}
	m.must(os.WriteFile(m.path("tree", "go.mod"), []byte("module example.com/x\n\ngo 1.26\n"), 0o600))
	m.start("fixer")
	m.printed("cmd/version", m.lead("version", "--json"))
	m.printed("cmd/schema", m.lead("schema", "--json"))
	m.must(os.WriteFile(m.path("tmp", "policy.yaml"), []byte("version: 1\nrules:\n  - deny: Bash(git push:*)\ntests:\n  - {command: git push, want: deny}\n"), 0o600))
	m.printed("cmd/policy-test", m.lead("policy", "test", m.path("tmp", "policy.yaml"), "--json"))
	m.printed("cmd/policy-list", m.lead("policy", "list", "--json"))
	m.printed("cmd/policy-explain", m.lead("policy", "explain", "--json", "--", "echo hi | head -1"))
	m.printed("cmd/doctor", m.lead("doctor", "--json"))
	m.printed("cmd/intent-list", m.lead("intent", "--json"))
	m.printed("cmd/intent-list", m.lead("intent", "list", "--json"))
	m.printed("cmd/intent", m.lead("intent", "run the unit tests", "--json"))
	m.printed("cmd/inbox", m.lead("inbox", "--json"))
	m.printed("cmd/plan-status", m.mate("fixer", "swarm plan status --json"))
	m.printed("cmd/plan-path", m.mate("fixer", "swarm plan path --json"))
	m.printed("cmd/plan-enter", m.mate("fixer", "swarm plan enter --json"))
	m.printed("cmd/plan-on", m.mate("fixer", "swarm plan on --json"))
	m.printed("cmd/plan-guide", m.lead("plan", "guide", "--json"))
	m.printed("cmd/plan-clear", m.mate("fixer", "swarm plan clear --json"))
	m.printed("cmd/check", m.mate("fixer", "swarm check --json -- ls -l"))

	// A plan is handed in, withdrawn, sent back, and approved.
	m.ok(m.mate("fixer", `printf '# Fix it\n\n- [ ] main.go\n' >"$SWARM_PLAN_FILE"`))
	m.printed("cmd/plan-submit", m.mate("fixer", `swarm plan submit --json --prompt "run tests" --option "a: one" --option "b: two" --recommend b`))
	first := m.handle("fixer", "plan")
	m.printed("cmd/plan-withdraw", m.mate("fixer", "swarm plan withdraw --json"))
	o := m.lead("wait", first, "--json")
	m.valid("cmd/wait", o.out)
	m.ok(m.mate("fixer", `swarm plan submit --prompt "run tests"`))
	second := m.handle("fixer", "plan", first)
	m.printed("cmd/inbox", m.lead("inbox", "--json"))
	m.printed("cmd/show", m.lead("show", second, "--json"))
	m.printed("cmd/inbox-all", m.lead("inbox", "--all", "--json"))
	m.printed("cmd/inbox-mail", m.lead("inbox", "--mail", "--json"))
	for schema, verb := range map[string][]string{"cmd/inbox-watch": {"inbox", "--watch"}, "cmd/watch": {"watch"}} {
		watch := m.background(append([]string{"--as", "mia", "--json"}, verb...)...)
		seen := ""
		m.until("what is watched", func() bool { seen = watch.String(); return strings.HasSuffix(seen, "\n") })
		m.valid(schema, seen)
	}
	m.printed("cmd/reject", m.lead("reject", second, "-m", "say how you test it", "--json"))
	m.valid("cmd/plan-wait", m.mate("fixer", "swarm plan wait --json").out)
	m.ok(m.mate("fixer", `echo '- [ ] run the tests' >>"$SWARM_PLAN_FILE"; swarm plan submit --prompt "run tests"`))
	third := m.handle("fixer", "plan")
	held := m.background("--as", "mia", "hold", third, "--json")
	m.until("the hold", func() bool { return strings.Contains(held.String(), `"held"`) })
	m.printed("cmd/hold", m.lead("hold", "--release", "--json"))
	m.until("the end of the hold", func() bool { return strings.Contains(held.String(), `"released"`) })
	for line := range strings.Lines(held.String()) {
		m.valid("cmd/hold", line)
	}
	m.printed("cmd/plan-status", m.mate("fixer", "swarm plan status --json"))
	m.printed("cmd/approve", m.lead("approve", third, "--json", "--limit", "run tests=uses:5,for:30m"))
	m.printed("cmd/plan-wait", m.mate("fixer", "swarm plan wait --json"))
	m.printed("cmd/show", m.lead("show", third, "--json"))
	m.printed("cmd/wait", m.lead("wait", third, "--json"))
	m.printed("cmd/plan-status", m.mate("fixer", "swarm plan status --json"))
	m.printed("cmd/plan-view", m.mate("fixer", "swarm plan view --json"))
	for _, verb := range []string{"start", "block", "done"} {
		m.printed("cmd/task-"+verb, m.mate("fixer", "swarm task "+verb+" t1 --note why --json"))
	}
	m.printed("cmd/task-list", m.mate("fixer", "swarm task list --json"))
	m.printed("cmd/check", m.mate("fixer", "swarm check --json -- go test ./..."))
	m.until("the grant", func() bool { return strings.Contains(m.lead("grants").out, "run tests") })
	m.printed("cmd/grants", m.lead("grants", "fixer", "--all", "--json"))
	m.printed("cmd/status", m.lead("status", "--json"))
	m.printed("cmd/audit-log", m.lead("audit", "log", "-n", "1", "--json"))
	m.printed("cmd/audit-verify", m.lead("audit", "verify", "--json"))
	m.printed("cmd/audit-export", m.lead("audit", "export", m.path("tmp", "ledger.jsonl"), "--json"))

	// Single calls, edits, mail, a question.
	m.ok(m.mate("fixer", "(swarm exec -- mkdir build >/dev/null 2>&1 &)"))
	call := m.handle("fixer", "run")
	m.printed("cmd/show", m.lead("show", call, "--json"))
	m.printed("cmd/approve", m.lead("approve", call, "--json"))
	m.printed("cmd/wait", m.lead("wait", call, "--json"))
	m.ok(m.mate("fixer", `(swarm edit note.txt --json <go.mod >"$(dirname "$SWARM_PLAN_FILE")/edit.json" 2>&1 &)`))
	edit := m.handle("fixer", "run", call)
	m.ok(m.lead("approve", edit))
	m.printed("cmd/edit", m.mate("fixer", `f="$(dirname "$SWARM_PLAN_FILE")/edit.json"; while [ ! -s "$f" ]; do sleep 0.02; done; cat "$f"`))
	m.ok(m.mate("fixer", "(swarm exec -- touch other >/dev/null 2>&1 &)"))
	denied := m.handle("fixer", "run", call, edit)
	m.printed("cmd/reject", m.lead("reject", denied, "-m", "not this", "--json"))
	m.printed("cmd/mail-mute", m.lead("mail", "mute", "fixer", "--for", "10m", "--reason", "a test", "--json"))
	m.printed("cmd/status", m.lead("status", "--json"))
	m.printed("cmd/mail-unmute", m.lead("mail", "unmute", "fixer", "--json"))
	m.printed("cmd/mail-dead-list", m.lead("mail", "dead", "list", "--all", "--json"))
	m.printed("cmd/message", m.lead("message", "fixer", "the schema is in docs", "--json"))
	m.printed("cmd/mail-recv", m.mate("fixer", "swarm mail recv --timeout 1m --json"))
	m.printed("cmd/mail-recv", m.mate("fixer", "swarm mail recv --json"))
	m.printed("cmd/mail-read", m.mate("fixer", `swarm mail read --json "$(swarm mail send fixer hello >/dev/null; swarm mail recv --timeout 1m | head -1 | cut -d' ' -f1)"`))
	m.printed("cmd/mail-send", m.mate("fixer", "swarm mail send lead hello --json"))
	m.printed("cmd/mail-send", m.lead("mail", "send", "fixer", "hello", "--json"))
	m.printed("cmd/mail-recv", m.lead("mail", "recv", "--json"))
	m.printed("cmd/mail-trace", m.lead("mail", "trace", third, "--json"))
	m.printed("cmd/mail-trace", m.mate("fixer", "swarm mail trace fixer --json"))
	m.ok(m.mate("fixer", `(swarm ask --json "which one?" --option a --option b >"$(dirname "$SWARM_PLAN_FILE")/ask.json" 2>&1 &)`))
	question := m.handle("fixer", "question")
	m.printed("cmd/inbox", m.lead("inbox", "--json"))
	m.printed("cmd/show", m.lead("show", question, "--json"))
	m.printed("cmd/answer", m.lead("answer", question, "--option", "2", "because", "--json"))
	m.printed("cmd/wait", m.lead("wait", question, "--json"))
	m.printed("cmd/ask", m.mate("fixer", `f="$(dirname "$SWARM_PLAN_FILE")/ask.json"; while [ ! -s "$f" ]; do sleep 0.02; done; cat "$f"`))

	// Orders.
	m.printed("cmd/revoke", m.lead("revoke", "fixer", "--grant", "run tests", "-m", "enough", "--json"))
	m.printed("cmd/grants", m.lead("grants", "--all", "--json"))
	m.printed("cmd/mode", m.lead("mode", "fixer", "acceptEdits", "--json"))
	m.printed("cmd/plan-done", m.mate("fixer", "swarm plan done --json"))
	m.printed("cmd/recall", m.lead("recall", "fixer", "-m", "wrong table", "--json"))
	m.printed("cmd/plan-leave", m.mate("fixer", "swarm plan leave --reason 'nothing to do' --json"))
	m.printed("cmd/plan-off", m.mate("fixer", "swarm plan off --json"))
	leave := m.handle("fixer", "leave")
	m.printed("cmd/show", m.lead("show", leave, "--json"))
	m.printed("cmd/reject", m.lead("reject", leave, "-m", "there is", "--json"))
	m.ok(m.mate("fixer", `swarm plan submit --prompt "run tests"`))
	m.handle("fixer", "plan", third)
	m.ok(m.mate("fixer", "(sleep 0.5; swarm plan withdraw) >/dev/null 2>&1 &"))
	m.valid("cmd/wait-all", m.lead("wait", "--all", "--json").out)
	m.background("teammate", "script", "--name", "talker", "--", "bash", "-c", `printf 'a\x1b[31mb\n'; sleep 60`)
	m.until("a line of talker", func() bool { return m.lead("logs", "talker").out != "" })
	m.printed("cmd/logs", m.lead("logs", "talker", "--json"))
	m.printed("cmd/stop", m.lead("stop", "fixer", "-m", "done", "--json"))
	m.printed("cmd/team-remove", m.lead("team", "remove", "talker", "--json"))
	m.printed("cmd/team-rotate", m.lead("team", "rotate", "fixer", "--json"))
	m.joins("docs", "teammate")
	done := m.joins("carla", "leader")
	var waiting string
	m.until("who waits", func() bool {
		waiting = m.lead("team", "list", "--json").out
		return strings.Contains(waiting, `"state":"pending"`)
	})
	m.valid("cmd/team-list", waiting)
	m.printed("cmd/team-confirm", m.lead("team", "confirm", "carla", "--json"))
	m.valid("cmd/team-join", (<-done).out)
	m.printed("cmd/team-list", m.lead("team", "list", "--json"))
	m.printed("cmd/status", m.lead("status", "--json"))
	m.must(os.WriteFile(m.path("tmp", "version.json"), []byte(m.lead("version", "--json").out), 0o600))
	m.printed("cmd/schema-check", m.lead("schema", "cmd/version", "--check", m.path("tmp", "version.json"), "--json"))

	// An owner's key, sealed and recovered.
	const pass, next = "correct horse battery", "another one that holds"
	sealed, _ := m.onTerminal([]string{pass, pass}, "team", "init", "--team", "q", "--as", "mia", "--json")
	m.printed("cmd/team-init", sealed)
	var doc struct{ Recovery string }
	m.must(json.Unmarshal([]byte(sealed.out), &doc))
	sealed, _ = m.onTerminal([]string{doc.Recovery, next, next}, "team", "recover", "--team", "q", "--json")
	m.printed("cmd/team-recover", sealed)
	sealed, _ = m.onTerminal([]string{pass, pass}, "team", "seal", "--as", "mia", "--json")
	m.printed("cmd/team-seal", sealed)
	sealed, _ = m.onTerminal([]string{pass}, "team", "unseal", "--as", "mia", "--json")
	m.printed("cmd/team-unseal", sealed)

	// A run of its own, with its report.
	m.must(os.MkdirAll(m.path("project"), 0o700))
	m.must(os.WriteFile(m.path("project", "swarm.yaml"), []byte("version: 1\nteam: p\nteammates:\n  a:\n    run: [\"true\"]\n"), 0o600))
	m.printed("cmd/trust", m.lead("trust", m.path("project"), "--json"))
	run := m.as(nil, "run", m.path("project"), "--json", "--report", m.path("tmp", "report.json"))
	m.valid("cmd/run", run.out)
	report, err := os.ReadFile(m.path("tmp", "report.json"))
	m.must(err)
	m.valid("report", string(report))

	for line := range strings.Lines(m.ok(m.lead("schema")).out) {
		name := strings.Fields(line)[0]
		if strings.HasPrefix(name, "cmd/") && !m.checked[name] && name != "cmd/mail-dead" { // dead.txtar has a dead letter
			t.Errorf("nothing was checked against %s", name)
		}
	}
}
