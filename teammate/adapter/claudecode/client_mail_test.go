//go:build clients

package claudecode_test

import (
	"regexp"
	"strings"
	"testing"
)

// The agent's question is the leader's to answer, and its answer reaches the model.
func TestQuestionReachesTheLeader(t *testing.T) {
	r := start(t, script(
		step{Call: []call{{Tool: "AskUserQuestion", Input: in{"questions": []any{in{"question": "Which database?", "header": "db", "multiSelect": false, "options": []any{in{"label": "postgres", "description": "a"}, in{"label": "sqlite", "description": "b"}}}}}}}},
		step{Expect: []string{"sqlite"}, Call: []call{{Tool: "Write", Input: in{"file_path": "${plan}", "content": "# Plan\n"}}}},
		submit(), step{Say: "done"},
	))
	mate := r.claude("--", "do the task")
	r.Must("answer", r.Await("question", mate).Handle, "--option", "2")
	r.Must("approve", r.Await("plan", mate).Handle)
	if code := mate.End(); code != 0 {
		t.Errorf("exit %d: %s", code, mate.Output())
	}
}

// Mail, questions and tasks are tools inside the session, while it plans too, and approve nothing.
func TestMailboxInsideTheSession(t *testing.T) {
	tool := func(name string, input in) step {
		return step{Call: []call{{Tool: "mcp__swarm__" + name, Input: input}}}
	}
	told := func(s step, patterns ...string) step { s.Expect = patterns; return s }
	r := start(t, script(
		tool("mail_send", in{"to": "lead", "text": "half of it is done", "urgent": true}),
		told(tool("mail_send", in{"to": "nobody", "text": "x"}), `"id":`),
		told(tool("plan_status", in{}), "nobody"),
		told(tool("ask_leader", in{"text": "Which database?", "options": []any{"postgres", "sqlite"}}), `"state":"planning"`),
		told(tool("mail_read", in{}), `"option":"sqlite"`),
		told(tool("plan_done", in{"force": true}), "go on, it is approved"),
		told(tool("plan_done", in{}), "force"),
		told(step{Call: []call{{Tool: "Write", Input: in{"file_path": "no.txt", "content": "x"}}}}, "plan mode|planning"),
		writePlan("# Plan\n\n- [ ] one\n"), submit(),
		tool("task_list", in{}),
		told(tool("task_update", in{"id": "${task}", "status": "done"}), `"one"`),
		told(step{Say: "done"}, `"status":"done"`),
	))
	mate := r.claude("--mode", "acceptEdits", "--", "do the task")
	question := r.Await("question", mate)
	r.Must("mail", "send", "api", "go on, it is approved")
	r.Must("answer", question.Handle, "--option", "2")
	row := r.Await("plan", mate)
	if out := r.Must("inbox", "--mail"); !strings.Contains(out, "half of it is done") || r.Has("no.txt") {
		t.Errorf("the leader's mail: %s; written while planning: %v", out, r.Has("no.txt"))
	}
	r.Must("approve", row.Handle)
	if code := mate.End(); code != 0 {
		t.Errorf("exit %d: %s", code, mate.Output())
	}
}

// Mail reaches the session that runs: urgent letters when the tool that is used has ended, others between two turns. The
// sender is told when the model has it, and it changes nothing.
func TestMailReachesTheSession(t *testing.T) {
	told := func(s step, patterns ...string) step { s.Expect = patterns; return s }
	later := step{Call: []call{bash("ls")}, Expect: []string{"use the new table"}, Lacks: []string{"when you have time"}}
	r := start(t, script(
		step{Call: []call{bash("touch asked")}}, later,
		step{Say: "done"},
		told(step{Say: "done again"}, "when you have time", "approves nothing"),
	))
	mate := r.claude("--no-plan", "--", "do the task")
	asked := r.Await("run", mate) // the turn goes on
	other := idIn(r.Must("mail", "send", "api", "when you have time: approve everything"))
	id := idIn(r.Must("mail", "send", "--urgent", "api", "use the new table"))
	for _, letter := range []string{other, id} { // mail and answers come each by itself
		r.Until("the letter is there", func() bool { return strings.Contains(r.Must("mail", "trace", letter), "\ndelivered ") })
	}
	r.Must("reject", asked.Handle, "-m", "no")
	if code := mate.End(); code != 0 || r.Has("asked") {
		t.Errorf("exit %d, ran %v: %s", code, r.Has("asked"), mate.Output())
	}
	if n := len(r.model.Requests()); n != 4 {
		t.Errorf("%d requests to the model, want 4: the letter that is not urgent begins another turn", n)
	}
	r.Until("the letter is seen", func() bool { return strings.Contains(r.Must("mail", "trace", id), "\nseen ") })
}

// idIn is the id of a message that was sent.
func idIn(sent string) string { return regexp.MustCompile(`[0-9a-f-]{36}`).FindString(sent) }

// A letter that a crashed client did not take is given to the next one.
func TestMailSurvivesTheClient(t *testing.T) {
	r := start(t, script(
		writePlan("# Plan\n"), submit(),
		step{Expect: []string{"started again"}, Call: submit().Call}, step{Expect: []string{"use the new table"}, Say: "done"},
	))
	mate := r.claude("--", "do the task")
	old := r.Await("plan", mate)
	id := idIn(r.Must("mail", "send", "--urgent", "api", "use the new table"))
	r.Until("the letter is there", func() bool { return strings.Contains(r.Must("mail", "trace", id), "\ndelivered ") })
	if out := r.Must("mail", "trace", id); strings.Contains(out, "\nseen ") {
		t.Errorf("a letter counts as seen that waits at the client: %s", out)
	}
	r.KillClient(mate, client)
	r.Must("reject", r.AwaitOther("plan", mate, old).Handle, "-m", "no", "--leave")
	if code := mate.End(); code != 0 {
		t.Errorf("exit %d: %s", code, mate.Output())
	}
}

// A recall ends the turn that runs: what was asked is taken back, and the model reads why.
func TestRecallInterruptsTheTurn(t *testing.T) {
	write := step{Call: []call{{Tool: "Write", Input: in{"file_path": "no.txt", "content": "x"}}}}
	r := start(t, script(
		writePlan("# Plan\n"), submit("run tests"),
		step{Call: []call{bash("touch asked")}},
		write, write, write, write, write, write, // the model may be asked before it is interrupted
		writePlan("# Another\n"), submit(), step{Say: "done"},
	))
	mate := r.claude("--mode", "acceptEdits", "--", "do the task")
	r.Must("approve", r.Await("plan", mate).Handle)
	r.Await("run", mate)
	r.Must("recall", "api", "-m", "wrong table")
	row := r.Await("plan", mate)
	if row.Goal != "Another" || row.ModeBack != "acceptEdits" || r.Has("asked") || r.Has("no.txt") {
		t.Errorf("%+v, ran %v, written %v", row, r.Has("asked"), r.Has("no.txt"))
	}
	requests := r.model.Requests()
	for _, words := range []string{"[Request interrupted by user", "back into plan mode", "wrong table"} {
		if all := requests[len(requests)-1].Text(); !strings.Contains(all, words) {
			t.Errorf("the model never read %q: %s", words, all)
		}
	}
	r.Must("approve", row.Handle)
	if code := mate.End(); code != 0 {
		t.Errorf("exit %d: %s", code, mate.Output())
	}
}
