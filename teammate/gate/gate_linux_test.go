package gate_test

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
	"github.com/planswarm/swarm/teammate/gate"
)

// The way of one plan, as a script walks it.
func TestPlanVerbs(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{required: true})
	s := r.ask(gate.VerbEnter, nil)
	s.want(t, 0, "")
	if got := result[teammate.Status](t, s); got.State != planmode.Planning || got.Saved != permissions.ModeDefault {
		t.Fatalf("plan.enter = %+v, want planning, default saved", got)
	}
	path := result[gate.PathResult](t, r.ask(gate.VerbPath, nil)).Path
	if path != r.store.WorkFile() {
		t.Fatalf("plan.path = %q, want %q", path, r.store.WorkFile())
	}
	r.ask(gate.VerbSubmit, gate.SubmitArgs{}).want(t, 15, "no_file")
	write(t, path, " \n")
	r.ask(gate.VerbSubmit, gate.SubmitArgs{}).want(t, 2, "bad_plan")
	r.ask(gate.VerbSubmit, gate.SubmitArgs{Path: "/etc/passwd"}).want(t, 2, "outside")
	r.ask(gate.VerbWait, gate.WaitArgs{}).want(t, 10, "no_plan")
	write(t, path, "# Fix it\n")
	s = r.ask(gate.VerbSubmit, gate.SubmitArgs{Path: path, Prompts: []string{"run tests"}})
	s.want(t, 0, "")
	p := result[teammate.PendingStatus](t, s)
	if p.Revision != 1 {
		t.Fatalf("plan.submit = %+v, want the stored revision 1", p)
	}
	if !p.Published { // the broker is slow today
		until(t, "stored", func() bool { return r.status().Pending.Published })
	}
	r.ask(gate.VerbWait, gate.WaitArgs{TimeoutMS: 30}).want(t, 8, "pending")
	r.ask(gate.VerbDone, nil).want(t, 1, "wrong_state")
	r.ask(gate.VerbWithdraw, nil).want(t, 0, "")
	r.ask(gate.VerbWait, gate.WaitArgs{}).want(t, 6, "")
	r.ask(gate.VerbSubmit, gate.SubmitArgs{Path: "none.md"}).want(t, 15, "no_file")
	write(t, filepath.Join(r.tree, "plan.md"), "# Of the tree\n") // where the client is
	r.ask(gate.VerbSubmit, gate.SubmitArgs{Path: "plan.md"}).want(t, 2, "outside")
	write(t, path, "# Another\n")
	s = r.ask(gate.VerbSubmit, gate.SubmitArgs{Path: filepath.Base(path), Prompts: []string{"run tests"}})
	s.want(t, 0, "")
	second := result[teammate.PendingStatus](t, s).RequestID
	waits := make(chan said)
	go func() { waits <- r.ask(gate.VerbWait, gate.WaitArgs{}) }()
	var row natsbox.Row
	until(t, "the second request", func() bool { // the first may still be shown
		row = r.open()
		return row.EnvelopeID == second
	})
	r.approves(row, 3)
	s = <-waits
	s.want(t, 0, "")
	if a := result[teammate.Answer](t, s); a.Outcome != planmode.OutcomeApproved || a.Revision != 2 || len(a.Grants) != 1 {
		t.Fatalf("plan.wait = %+v, want revision 2 approved with one grant", a)
	}
	if got := result[teammate.Status](t, r.ask(gate.VerbStatus, nil)); got.State != planmode.Working || len(got.Grants) != 1 {
		t.Fatalf("plan.status = %+v, want working with one grant", got)
	}
	r.ask(gate.VerbDone, nil).want(t, 0, "")
	r.ask(gate.VerbLeave, gate.LeaveArgs{}).want(t, 0, "")
}

func TestRejectedPlanHasItsExitCode(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.ask(gate.VerbEnter, nil).want(t, 0, "")
	write(t, r.store.WorkFile(), "# Fix it\n")
	r.ask(gate.VerbSubmit, gate.SubmitArgs{}).want(t, 0, "")
	row := r.open()
	d := planmode.Decision{
		OrderHead: r.head(row.Epoch), RequestID: row.EnvelopeID, Revision: 1, Outcome: planmode.OutcomeRejected,
		Feedback: "no", PlanDigest: row.Request.Digest,
	}
	r.put(row.EnvelopeID, mailbox.KindPlanApprovalResponse, row.Epoch, d)
	s := r.ask(gate.VerbWait, gate.WaitArgs{})
	s.want(t, 3, "")
	if a := result[teammate.Answer](t, s); a.Feedback != "no" || a.State != planmode.Planning {
		t.Errorf("plan.wait = %+v, want the feedback, still planning", a)
	}
}

func TestCheckRecordsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.works(1)
	granted := gate.CheckArgs{Tool: "Bash", Command: "go test ./..."}
	for range 3 { // one use, and it is never taken
		s := r.ask(gate.VerbCheck, granted)
		s.want(t, 0, "")
		if d := result[permissions.Decision](t, s); len(d.GrantIDs()) != 1 {
			t.Fatalf("check = %+v, want that it names the grant", d)
		}
	}
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "git push --force"}).want(t, 12, "")
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "swarm approve api-1234"}).want(t, 11, "")
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Read", Path: "go.mod"}).want(t, 0, "")
	r.ask(gate.VerbEnter, nil).want(t, 0, "")
	r.ask(gate.VerbCheck, granted).want(t, 11, "")
}

func TestCheckWaitsForALeader(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	for behavior, exit := range map[permissions.Behavior]int{permissions.BehaviorAllow: 0, permissions.BehaviorDeny: 11} {
		answered := make(chan said)
		go func() {
			answered <- r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "git push", Wait: true})
		}()
		r.answer(behavior, permissions.ScopeOnce)
		(<-answered).want(t, exit, "")
	}
}

// answer answers the open permission request.
func (r *rig) answer(behavior permissions.Behavior, scope permissions.Scope) {
	r.t.Helper()
	row := r.open()
	a := planmode.PermissionAnswer{OrderHead: r.head(row.Epoch), RequestID: row.EnvelopeID}
	a.CallHash, a.Behavior, a.Scope = row.Permission.CallHash, behavior, scope
	r.put(row.EnvelopeID, mailbox.KindPermissionResponse, row.Epoch, a)
}

func TestMailVerbs(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	r.ask(gate.VerbSend, gate.SendArgs{To: "lead", Text: "a question"}).want(t, 0, "")
	r.ask(gate.VerbSend, gate.SendArgs{To: "ana", Text: "x"}).want(t, 15, "no_recipient")
	r.ask(gate.VerbSend, gate.SendArgs{To: "all", Text: "x"}).want(t, 4, "forbidden")
	s := r.ask(gate.VerbRecv, gate.RecvArgs{})
	s.want(t, 0, "")
	if string(s.Result) != "[]" {
		t.Errorf("mail.recv = %s, want an empty list", s.Result)
	}
	r.ask(gate.VerbRecv, gate.RecvArgs{TimeoutMS: 20}).want(t, 8, "pending")
	waits := make(chan said)
	go func() { waits <- r.ask(gate.VerbRecv, gate.RecvArgs{TimeoutMS: -1}) }()
	env, err := mailbox.New("0190", mailbox.KindMessage, r.team.Name, "anna", "api", 1, time.Now(), mailbox.Message{Text: "approved"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.anna.Send(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	s = <-waits
	s.want(t, 0, "")
	if l := result[[]teammate.Letter](t, s); len(l) != 1 || l[0].Text != "approved" || l[0].From != "anna" {
		t.Errorf("mail.recv = %+v, want the message", l)
	}
	r.ask(gate.VerbRead, gate.ReadArgs{ID: "0190"}).want(t, 0, "")
	r.ask(gate.VerbRead, gate.ReadArgs{ID: "nonesuch"}).want(t, 15, "no_mail")
}

// The verbs are a closed list, and each is read strictly.
func TestUnknownRequests(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{mode: permissions.ModeBypass})
	for _, verb := range []gate.Verb{"plan.approve", "decide", "grant", "mode", "revoke", "plan.enter.now", ""} {
		if verb != "" {
			r.ask(verb, nil).want(t, 2, "unknown_verb")
		}
	}
	r.ask(gate.VerbExec, map[string]any{"line": "true", "grant": "all"}).want(t, 2, "bad_request")
	r.ask(gate.VerbCheck, nil).want(t, 2, "bad_request")
	for name, raw := range map[string]string{
		"not JSON":       "hello\n",
		"other version":  `{"v":9,"verb":"plan.status"}` + "\n",
		"twice":          `{"v":1,"verb":"plan.status","verb":"plan.done"}` + "\n",
		"other case":     `{"v":1,"Verb":"plan.done"}` + "\n",
		"relative cwd":   `{"v":1,"verb":"plan.status","cwd":"here"}` + "\n",
		"no end of line": `{"v":1,"verb":"plan.status"}`,
	} {
		conn, err := net.Dial("unix", r.socket)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, raw)
		_ = conn.(*net.UnixConn).CloseWrite()
		answer, _ := io.ReadAll(conn)
		_ = conn.Close()
		var l struct {
			Exit  *int        `json:"exit"`
			Error *gate.Error `json:"error"`
		}
		if err := json.Unmarshal(answer, &l); err != nil || l.Exit == nil || *l.Exit != 2 || l.Error == nil {
			t.Errorf("%s: the gate answered %q, want exit 2 and why", name, answer)
		}
	}
}

// A gate answers nobody but the processes of its own teammate.
func TestForeignProcessIsRefused(t *testing.T) {
	t.Parallel()
	other := startSleep(t)
	r := newRig(t, options{mode: permissions.ModeBypass, roots: func() []int { return []int{other} }})
	r.ask(gate.VerbStatus, nil).want(t, 4, "not_ours")
	r.ask(gate.VerbExec, gate.ExecArgs{Line: "touch x"}).want(t, 126, "not_ours")
	r.ask(gate.VerbCheck, gate.CheckArgs{Tool: "Bash", Command: "ls"}).want(t, 11, "not_ours")
	r.ask(gate.VerbDone, nil).want(t, 4, "not_ours")
	if exists(filepath.Join(r.tree, "x")) {
		t.Error("the command ran all the same")
	}
}

// A socket that somebody else listens on, or could replace, is not believed: the client denies.
func TestImpostorIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	check := gate.CheckArgs{Tool: "Bash", Command: "ls"}
	deny := func(t *testing.T, socket string) {
		t.Helper()
		r.askAt(socket, gate.VerbCheck, check).want(t, 11, "no_gate")
		r.askAt(socket, gate.VerbExec, gate.ExecArgs{Line: "ls"}).want(t, 126, "no_gate")
		r.askAt(socket, gate.VerbStatus, nil).want(t, 4, "no_gate")
	}
	t.Run("a process that is no ancestor", func(t *testing.T) {
		socket := filepath.Join(socketDir(t), "x.sock")
		startImpostor(t, socket)
		deny(t, socket)
	})
	t.Run("nobody", func(t *testing.T) { deny(t, filepath.Join(socketDir(t), "x.sock")) })
	t.Run("no socket", func(t *testing.T) {
		path := filepath.Join(socketDir(t), "x.sock")
		write(t, path, "")
		deny(t, path)
	})
	t.Run("a relative path", func(t *testing.T) { deny(t, "x.sock") })
	t.Run("no path", func(t *testing.T) { deny(t, "") })
	t.Run("a folder that others enter", func(t *testing.T) {
		dir := filepath.Dir(r.socket)
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		deny(t, r.socket)
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a folder behind a link", func(t *testing.T) {
		link := filepath.Join(realDir(t), "l")
		if err := os.Symlink(filepath.Dir(r.socket), link); err != nil {
			t.Fatal(err)
		}
		deny(t, filepath.Join(link, "api.sock"))
	})
	if os.Getuid() == 0 { // only root can give a folder away
		t.Run("a folder of somebody else", func(t *testing.T) {
			dir := filepath.Dir(r.socket)
			if err := os.Chown(dir, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			deny(t, r.socket)
			if err := os.Chown(dir, 0, 0); err != nil {
				t.Fatal(err)
			}
		})
	}
	r.ask(gate.VerbCheck, check).want(t, 0, "") // the true one is believed
}

func TestSocketIsClosedToOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t, options{})
	info, err := os.Lstat(r.socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v (%v), want 0600", info.Mode(), err)
	}
	shared := filepath.Join(t.TempDir(), "shared")
	if err := os.Mkdir(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := gate.Listen(gate.Config{Runner: r.runner, Socket: filepath.Join(shared, "x.sock")}); err == nil {
		t.Error("Listen took a folder that others write to")
	}
}

func TestSocketPath(t *testing.T) {
	dir := socketDir(t)
	t.Setenv("XDG_RUNTIME_DIR", dir)
	long := strings.Repeat("x", 300)
	a, b := gate.SocketPath("/state"+long, "api"), gate.SocketPath("/state"+long, "api2")
	if a == b || filepath.Dir(a) != filepath.Join(dir, "swarm") || len(a) > 104 {
		t.Errorf("SocketPath = %q and %q, want two short ones in the runtime folder", a, b)
	}
	deep := filepath.Join(t.TempDir(), strings.Repeat("y", 100))
	if err := os.Mkdir(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, none := range []string{deep, filepath.Join(dir, "missing"), "relative", ""} {
		t.Setenv("XDG_RUNTIME_DIR", none)
		if got := gate.SocketPath("/state", "api"); len(got) > 104 || filepath.Dir(filepath.Dir(got)) != "/tmp" {
			t.Errorf("SocketPath = %q for runtime folder %q, want one in /tmp", got, none)
		}
	}
}
