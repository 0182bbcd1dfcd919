package supervise_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/planswarm/swarm/cmd/swarm/internal/supervise"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sh(name, script string) supervise.Member {
	return supervise.Member{Name: name, Args: []string{"-c", script}, Bundle: []byte(`{"seed":"s3cret"}`), Env: os.Environ()}
}

func TestEachMemberGetsItsBundleAndTellsEvents(t *testing.T) {
	var got []string
	out := supervise.Run(t.Context(), "/bin/sh", []supervise.Member{
		sh("a", `read line; echo "a:$line"; exit 3`),
		sh("b", `read line; echo "b:$line"`),
	}, 1, func(name string, line []byte) { got = append(got, name+" "+string(line)) })
	want := []string{`a a:{"seed":"s3cret"}`, `b b:{"seed":"s3cret"}`}
	if fmt.Sprint(got) != fmt.Sprint(want) && fmt.Sprint(got) != fmt.Sprint([]string{want[1], want[0]}) {
		t.Errorf("events = %q, want %q in any order", got, want)
	}
	if out[0].Status != 3 || out[0].Err != nil || out[1].Status != 0 || out[1].Err != nil {
		t.Errorf("outcomes = %+v, want 3 and 0 without errors", out)
	}
}

func TestTheLifelineStaysOpenUntilTheEnd(t *testing.T) {
	dir := t.TempDir()
	end := filepath.Join(dir, "eof")
	out := supervise.Run(t.Context(), "/bin/sh", []supervise.Member{sh("a", `read line; exec 3<&0; (cat <&3; touch `+end+`) >/dev/null 2>&1 & sleep 0.2; test ! -e `+end)}, 0, func(string, []byte) {})
	if out[0].Status != 0 {
		t.Errorf("status = %d, want 0: its standard input ended while it ran", out[0].Status)
	}
}

func TestCancelEndsAllInOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{}, 1)
	done := make(chan []supervise.Outcome)
	go func() {
		done <- supervise.Run(ctx, "/bin/bash", []supervise.Member{sh("a", `trap 'echo bye; exit 7' TERM; echo up; while :; do sleep 0.05; done`)}, 0,
			func(_ string, line []byte) {
				if string(line) == "up" {
					started <- struct{}{}
				}
			})
	}()
	<-started
	cancel()
	select {
	case out := <-done:
		if out[0].Status != 7 {
			t.Errorf("outcome = %+v, want status 7 from its own trap", out[0])
		}
	case <-time.After(time.Minute):
		t.Fatal("Run did not return after cancel")
	}
}

func TestAProgramThatIsMissingIsAnError(t *testing.T) {
	out := supervise.Run(t.Context(), "/no/such/program", []supervise.Member{{Name: "a"}}, 0, func(string, []byte) {})
	if out[0].Err == nil || !strings.Contains(out[0].Err.Error(), "start a") {
		t.Errorf("err = %v, want one that names the member", out[0].Err)
	}
}

func TestAnEndlessLineEndsItsMember(t *testing.T) {
	var stderr bytes.Buffer
	m := sh("a", `head -c 6000000 /dev/zero | tr '\0' x; echo; sleep 60`)
	m.Stderr = &stderr
	out := supervise.Run(t.Context(), "/bin/sh", []supervise.Member{m}, 0, func(string, []byte) {})
	if out[0].Status == 0 {
		t.Errorf("outcome = %+v, want a failure", out[0])
	}
}

// What a runner leaves behind may hold its standard output: that must not keep the supervisor.
func TestAStrayThatHoldsStandardOutputDoesNotKeepUs(t *testing.T) {
	m := sh("a", `sleep 300 & echo up`)
	begin := time.Now()
	out := supervise.Run(t.Context(), "/bin/sh", []supervise.Member{m}, 0, func(string, []byte) {})
	if out[0].Status != 0 || out[0].Err != nil || time.Since(begin) > time.Minute {
		t.Errorf("outcome = %+v after %v, want 0 soon", out[0], time.Since(begin))
	}
}
