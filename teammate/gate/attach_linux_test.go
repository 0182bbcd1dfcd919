package gate_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/teammate/gate"
)

// attachedRig is a gate whose client was started by hand: this process is no descendant of any root.
func attachedRig(t *testing.T) (r *rig, file string) {
	t.Helper()
	file = filepath.Join(realDir(t), "attach.json")
	nobody := startSleep(t)
	r = newRig(t, options{roots: func() []int { return []int{nobody} }, attached: file, hook: func(_ context.Context, a gate.HookArgs) (any, error) {
		return map[string]string{"client": a.Client}, nil
	}})
	return r, file
}

// Who holds the token may ask what a hook asks, have a permit carried out, and nothing else.
func TestAttachedClient(t *testing.T) {
	t.Parallel()
	r, file := attachedRig(t)
	a, err := gate.CallAttached(t.Context(), file, gate.VerbHook, gate.HookArgs{Client: "claude", Payload: json.RawMessage(`{}`)}, gate.Streams{})
	if err != nil || string(a.Result) != `{"client":"claude"}` {
		t.Fatalf("a hook: %s, %v", a.Result, err)
	}
	j, err := r.gate.Judge(t.Context(), permissions.Call{Tool: "Bash", Command: "echo judged", Cwd: r.tree}, false)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	permit := r.gate.Permit(j)
	if a, err := gate.CallAttached(t.Context(), file, gate.VerbExec, gate.ExecArgs{Permit: permit}, gate.Streams{Stdout: &out}); err != nil || a.Exit != 0 || out.String() != "judged\n" {
		t.Errorf("a permit: %+v, %v, printed %q", a, err, out.String())
	}
	for verb, args := range map[gate.Verb]any{
		gate.VerbExec: gate.ExecArgs{Line: "echo not judged"}, gate.VerbStatus: nil, gate.VerbSubmit: gate.SubmitArgs{}, gate.VerbLeave: gate.LeaveArgs{},
		gate.VerbEdit: gate.EditArgs{Path: "x"}, gate.VerbSend: gate.SendArgs{To: "lead", Text: "x"}, gate.VerbCheck: gate.CheckArgs{Tool: "Read"},
	} {
		var e *gate.Error
		if _, err := gate.CallAttached(t.Context(), file, verb, args, gate.Streams{}); !errors.As(err, &e) || e.Code != "not_ours" {
			t.Errorf("%s: %v, want it refused", verb, err)
		}
	}
	if s := r.ask(gate.VerbStatus, nil); s.Exit != 4 {
		t.Errorf("without a token: %+v, want it refused", s)
	}
}

// Whatever is in doubt about an address is refused, and says which of both it is: no runner, or one that died.
func TestAddressInDoubt(t *testing.T) {
	t.Parallel()
	r, file := attachedRig(t)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var a gate.Address
	if err := json.Unmarshal(good, &a); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*gate.Address)) []byte {
		b := a
		change(&b)
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for name, c := range map[string]struct {
		data []byte
		mode os.FileMode
		want error // nil: any
	}{
		"open to others": {good, 0o644, nil},
		"not JSON":       {[]byte("x"), 0o600, nil},
		"unknown key":    {[]byte(strings.Replace(string(good), "{", `{"verb":"exec",`, 1)), 0o600, nil},
		"another token":  {with(func(a *gate.Address) { a.Token = strings.Repeat("0", 64) }), 0o600, nil},
		"no token":       {with(func(a *gate.Address) { a.Token = "" }), 0o600, nil},
		"another time":   {with(func(a *gate.Address) { a.Started++ }), 0o600, gate.ErrRunnerGone},
		"another runner": {with(func(a *gate.Address) { a.PID = 1 << 30 }), 0o600, gate.ErrRunnerGone},
		"an impostor":    {with(func(a *gate.Address) { a.PID, a.Started = parentOf(t) }), 0o600, nil},
		"no socket":      {with(func(a *gate.Address) { a.Socket = filepath.Join(r.dir, "none") }), 0o600, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(realDir(t), "attach.json")
			if err := errors.Join(os.WriteFile(path, c.data, 0o600), os.Chmod(path, c.mode)); err != nil {
				t.Fatal(err)
			}
			_, err := gate.CallAttached(t.Context(), path, gate.VerbHook, gate.HookArgs{Client: "claude", Payload: json.RawMessage(`{}`)}, gate.Streams{})
			if err == nil || c.want != nil && !errors.Is(err, c.want) || errors.Is(err, gate.ErrNoAddress) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	if _, err := gate.CallAttached(t.Context(), filepath.Join(r.dir, "none"), gate.VerbHook, nil, gate.Streams{}); !errors.Is(err, gate.ErrNoAddress) {
		t.Errorf("no file: %v", err)
	}
	link := filepath.Join(realDir(t), "attach.json")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if _, err := gate.ReadAddress(link); err == nil {
		t.Error("a link is followed")
	}
}

// A client that knows the socket and not the token gets nothing, however it asks.
func TestProofWithoutToken(t *testing.T) {
	t.Parallel()
	r, _ := attachedRig(t)
	for name, lines := range map[string][]string{
		"a guess":         {`{"attach":"00"}`, `{"proof":"00"}`},
		"no proof":        {`{"attach":"00"}`, `{"v":1,"verb":"hook"}`},
		"the gate's own":  {`{"attach":"00"}`, `echo`},
		"straight to it":  {`{"v":1,"verb":"hook","args":{"client":"claude","payload":{}}}`},
		"an empty hello":  {`{"attach":""}`},
		"a very long one": {`{"attach":"` + strings.Repeat("x", 1<<16) + `"}`},
	} {
		conn, err := net.Dial("unix", r.socket)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(conn)
		var last string
		for i, l := range lines {
			if l == "echo" { // what the gate has shown, shown to it
				var theirs struct{ Proof string }
				_ = json.Unmarshal([]byte(last), &theirs)
				l = fmt.Sprintf(`{"proof":%q}`, theirs.Proof)
			}
			_, _ = conn.Write([]byte(l + "\n")) // it may have been closed
			if i == 0 && in.Scan() {
				last = in.Text()
			}
		}
		if len(lines) > 1 {
			_, _ = conn.Write([]byte(`{"v":1,"verb":"hook","args":{"client":"claude","payload":{}}}` + "\n"))
			in.Scan()
			last = in.Text()
		}
		if !strings.Contains(last, "not_ours") {
			t.Errorf("%s: %.200q, want it refused", name, last)
		}
		conn.Close()
	}
}

// parentOf is a process that lives, and has no gate.
func parentOf(t *testing.T) (pid int, started uint64) {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getppid()))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if _, err := fmt.Sscan(fields[19], &started); err != nil {
		t.Fatal(err)
	}
	return os.Getppid(), started
}

// Whatever an address file holds, it is read or refused.
func FuzzAddress(f *testing.F) {
	f.Add(`{"v":1,"pid":7,"started":9,"socket":"/tmp/x","token":"` + strings.Repeat("ab", 32) + `"}`)
	f.Add(`{"v":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "attach.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := gate.ReadAddress(path); err == nil && (a.PID <= 1 || !filepath.IsAbs(a.Socket) || len(a.Token) != 64) {
			t.Errorf("%q is taken for %+v", text, a)
		}
	})
}
