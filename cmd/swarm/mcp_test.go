//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// mcpClient is a client of `swarm mcp` in a teammate: it sends one request after the other, and prints what comes back.
const mcpClient = `coproc swarm mcp --within "$2" 2>"$(dirname "$SWARM_PLAN_FILE")/mcp.err"
in=${COPROC[1]} out=${COPROC[0]} pid=$COPROC_PID
while IFS= read -r request; do
	printf '%s\n' "$request" >&"$in" || break
	case $request in *'"id"'*) IFS= read -r -t 60 answer <&"$out" || break; printf '%s\n' "$answer" ;; esac
done <"$1"
exec {in}>&-
wait "$pid"; echo "ended $?"`

// tool is a request for one tool, with arguments as a model might write them.
func tool(name, arguments string) string {
	return fmt.Sprintf(`"method":"tools/call","params":{"name":%q,"arguments":%s}`, name, arguments)
}

// mcp has a teammate's client send requests, while the leader does something, and returns one result in words for each.
func (m *team) mcp(name, within string, meanwhile func(), requests ...string) []string {
	m.t.Helper()
	lines := []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	}
	for i, r := range requests {
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+1, r))
	}
	m.must(os.WriteFile(m.path("tree", "mcp.sh"), []byte(mcpClient), 0o600))
	m.must(os.WriteFile(m.path("tree", "requests"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	m.ok(m.mate(name, `(bash "$SWARM_TREE/mcp.sh" "$SWARM_TREE/requests" `+within+` >"$(dirname "$SWARM_PLAN_FILE")/mcp.out" 2>&1) &`))
	meanwhile()
	var out string
	m.until("the end of swarm mcp", func() bool {
		data, _ := os.ReadFile(m.state("teammates", name, "work", "mcp.out"))
		out = strings.TrimSpace(string(data))
		return strings.Contains(out, "\nended ")
	})
	answers := strings.Split(out, "\n")
	if len(answers) != len(requests)+2 || answers[len(answers)-1] != "ended 0" {
		m.t.Fatalf("%d answers to %d requests: %s", len(answers)-2, len(requests), out)
	}
	var words []string
	for _, a := range answers[1 : len(answers)-1] {
		words = append(words, wordsOf(m.t, a))
	}
	return words
}

// wordsOf is an answer in words: what a tool says, with "refused: " before its error, or the whole result.
func wordsOf(t testing.TB, answer string) string {
	t.Helper()
	var a struct {
		Error  *struct{ Message string }
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	switch {
	case a.Error != nil:
		return "refused: " + a.Error.Message
	case len(a.Result.Content) != 1:
		return answer
	case a.Result.IsError:
		return "refused: " + a.Result.Content[0].Text
	}
	return a.Result.Content[0].Text
}

// An agent's client has mail, questions and tasks as tools, with the rights of every other program of its teammate.
func TestMCP(t *testing.T) {
	m := newTeam(t)
	m.start("fixer")
	m.start("other")
	question := tool("ask_leader", `{"text":"which currency?","options":["EUR","USD"]}`)
	steps := []struct{ request, want string }{
		{`"method":"tools/list","params":{}`, `"name":"ask_leader"`},
		{tool("plan_status", `{}`), `"state":"planning"`},
		{tool("mail_send", `{"to":"lead","text":"half of it is done","urgent":true}`), `"to":"lead"`},
		{tool("mail_send", `{"to":"other","text":"look at docs"}`), `"to":"other"`},
		{tool("mail_send", `{"to":"othr","text":"x"}`), "refused: *did you mean other"},
		{tool("mail_send", `{"to":"all","text":"x"}`), "refused: *only leaders write to all"},
		{tool("mail_read", `{}`), "[]"},
		{question, "waiting"},
		{question, "waiting"},
		{tool("task_list", `{}`), "[]"},
		{tool("plan_withdraw", `{}`), "refused: *nothing waits"},
		{tool("plan_done", `{}`), "refused: *not done"},
		{tool("plan_status", "null"), `"state":"planning"`},

		{tool("approve", `{}`), `refused: unknown tool "approve"`},
		{tool("plan_status", `{"mode":"bypassPermissions"}`), "refused: *mode"},
		{tool("mail_send", `{"to":"other","To":"lead","text":"x"}`), "refused: *To"},
		{tool("mail_send", `{"to":"other","to":"lead","text":"x"}`), "refused: *to"},
		{tool("mail_send", `{"to":["lead"],"text":"x"}`), "refused: *to"},
		{tool("mail_send", `{"to":"other"}`), "refused: *text"},
		{tool("mail_send", `{"to":"other","text":"`+strings.Repeat("x", 300<<10)+`"}`), "refused: *at most 262144"},
		{tool("mail_send", `[]`), "refused: *"},
		{tool("mail_read", `{"max":0}`), "refused: *from 1 to 100"},
		{tool("mail_read", `{"max":1e99}`), "refused: *max"},
		{tool("task_update", `{"id":"t1","status":"approved"}`), "refused: *none of pending"},
		{tool("ask_leader", `{"text":" "}`), "refused: *text"},
		{tool("ask_leader", strings.Repeat(`{"text":`, 200)+`"x"`+strings.Repeat("}", 200)), "refused: *"},
		{tool("plan_status", `{}`), `"state":"planning"`},
	}
	var requests []string
	for _, s := range steps {
		requests = append(requests, s.request)
	}
	for i, words := range m.mcp("fixer", "300ms", func() {}, requests...) {
		first, rest, _ := strings.Cut(steps[i].want, "*")
		if !strings.HasPrefix(words, first) && first != "" && rest != "" || !strings.Contains(words, rest) || !strings.Contains(words, first) {
			t.Errorf("%.120s: %.300s, want %s", steps[i].request, words, steps[i].want)
		}
	}
	m.until("the leader's mail", func() bool { return strings.Contains(m.lead("inbox", "--mail").out, "half of it is done") })
	m.until("the question is taken back with its server", func() bool { return !strings.Contains(m.lead("inbox").out, "currency") })
}

// A client that does not speak the protocol is told so, and nothing of what it sent is done.
func TestMCPOfNoClient(t *testing.T) {
	m := newTeam(t)
	m.start("fixer")
	for name, sent := range map[string]string{"no JSON": "approve", "too long": `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 2<<20) + `"}`, "binary": "\xff\x00"} {
		m.must(os.WriteFile(m.path("tree", "junk"), []byte(sent+"\n"), 0o600))
		o := m.mate("fixer", `swarm mcp <"$SWARM_TREE/junk"`)
		if o.code != 1 || !strings.HasPrefix(o.err, "swarm: the client's message cannot be read: ") || strings.Count(o.err, "\n") != 1 || o.out != "" {
			t.Errorf("%s: exit %d, %q %q", name, o.code, o.out, o.err)
		}
	}
}

// A question keeps its call open until it is answered, and letters that were read are not there twice.
func TestMCPWaitsForAnAnswer(t *testing.T) {
	m := newTeam(t)
	m.start("fixer")
	answers := m.mcp("fixer", "1m", func() {
		question := m.handle("fixer", "question")
		m.ok(m.lead("message", "fixer", "approved: use the new table"))
		m.ok(m.lead("answer", question, "the euro"))
	}, tool("ask_leader", `{"text":"which currency?"}`), tool("mail_read", `{}`), tool("mail_read", `{}`), tool("plan_status", `{}`))
	if !strings.Contains(answers[0], "the euro") || !strings.Contains(answers[1], "the new table") || answers[2] != "[]" || !strings.Contains(answers[3], `"state":"planning"`) {
		t.Errorf("%q", answers)
	}
}
