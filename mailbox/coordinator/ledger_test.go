package coordinator_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/mailboxtest"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// audited is a team with a ledger, anna, and api.
func audited(t *testing.T, opts ...mailboxtest.Option) *mailboxtest.Team {
	t.Helper()
	team := mailboxtest.Server(t, append(opts, mailboxtest.Audited())...)
	team.AddLeader("anna", charter.KindPerson)
	team.AddTeammate("api")
	return team
}

// A store that takes nothing is read all the same: then somebody wants to know what is in it.
func TestLedgerOfAFullStoreIsRead(t *testing.T) {
	t.Parallel()
	team := audited(t)
	anna := team.Dial("anna")
	say(t, anna, "anna", "before")
	before, _ := saying(t, team, "joined", 0)
	js := admin(t, team)
	st, err := js.Stream(t.Context(), "AUDIT_shop")
	if err != nil {
		t.Fatal(err)
	}
	cfg := st.CachedInfo().Config
	cfg.MaxMsgs, cfg.Discard = int64(st.CachedInfo().State.Msgs), jetstream.DiscardNew
	if _, err := js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	say(t, anna, "anna", "too much")
	begin := time.Now()
	for range 6 { // the first may come before the store has refused
		if out, _ := chain(t, team); len(out) < len(before) {
			t.Errorf("the ledger has %q, want %q at least", out, before)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("six readings took %v: each waits for what is not stored", took)
	}
}

// chain reads and verifies the ledger, and returns what it is about.
func chain(t *testing.T, team *mailboxtest.Team) ([]string, *audit.Verifier) {
	t.Helper()
	v := audit.NewVerifier(team.Charter())
	var out []string
	err := team.Dial("anna").Audit(t.Context(), func(l audit.Line) error {
		if e, ok := v.Add(l); ok {
			what := string(e.Event) + " " + e.Name + " " + e.Note
			if e.Source != nil {
				what = string(e.Event) + " " + e.Source.Subject
			}
			out = append(out, what)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out, v
}

// saying reads the ledger again until it says something n times.
func saying(t *testing.T, team *mailboxtest.Team, what string, n int) ([]string, *audit.Verifier) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		out, v := chain(t, team)
		have := 0
		for _, s := range out {
			if strings.HasPrefix(s, what) {
				have++
			}
		}
		if have >= n {
			return out, v
		}
		if time.Now().After(end) {
			t.Fatalf("the ledger says %q %d times, want %d: %q", what, have, n, out)
		}
	}
}

func say(t *testing.T, c *natsbox.Conn, from, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, "shop", from, mailbox.Lead, 1, time.Now(), mailbox.Message{Text: text})
	if err == nil {
		_, err = c.Send(ctx, e)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const apisMail = "mail swarm.shop.mb.lead.api.message"

func TestWhatIsStoredIsRecordedOnce(t *testing.T) {
	t.Parallel()
	team := audited(t)
	api := team.Connect("api")
	say(t, api, "api", "one")
	before, v := saying(t, team, apisMail, 1)
	if p := v.Problems(); len(p) > 0 {
		t.Errorf("problems of an honest ledger: %v", p)
	}
	if !slices.Contains(before, "joined api epoch 1") {
		t.Errorf("the ledger %q has no word of api's join", before)
	}
	api.Close()
	team.Stop()
	team.Start()
	say(t, team.Connect("api"), "api", "two")
	out, v := saying(t, team, apisMail, 2)
	if p := v.Problems(); len(p) > 0 || !slices.Equal(out[:len(before)], before) || len(out) != len(before)+2 {
		t.Errorf("after a restart: %q, %v; want what was there before, a join and one piece of mail more", out, p)
	}
}

// What was stored while nobody recorded it is recorded at the next start.
func TestWhatACrashLeftOutIsRecordedLater(t *testing.T) {
	t.Parallel()
	team := audited(t)
	api := team.Connect("api")
	team.StopCoordinator() // the broker goes on
	say(t, api, "api", "x")
	api.Close()
	team.Stop()
	team.Start()
	if _, v := saying(t, team, apisMail, 1); len(v.Problems()) > 0 {
		t.Errorf("problems: %v", v.Problems())
	}
}

// The files of a stream are deleted while nobody runs: the ledger says so, and so does every welcome after it.
func TestAttackDeletedStreamFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	team := audited(t, mailboxtest.StoreDir(dir))
	api := team.Connect("api")
	say(t, api, "api", "one")
	saying(t, team, apisMail, 1)
	api.Close()
	team.Stop()
	gone, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "MB_shop"))
	if err != nil || len(gone) != 1 {
		t.Fatalf("the stream lies in %q (%v)", gone, err)
	}
	if err := os.RemoveAll(gone[0]); err != nil {
		t.Fatal(err)
	}
	team.Start()
	_, v := saying(t, team, "lost ", 1)
	if p := v.Problems(); len(p) != 1 || !strings.Contains(p[0].What, "MB_shop ends at number 0, and was recorded up to 1") {
		t.Errorf("problems = %v, want the loss of MB_shop", p)
	}
	w, err := team.Dial("api").Join(t.Context(), natsbox.JoinRequest{Name: "api"})
	if err != nil || w.Ledger.LostAt == 0 || w.Ledger.Seq < w.Ledger.LostAt {
		t.Errorf("welcome = %+v (%v), want the entry that tells the loss", w.Ledger, err)
	}
	mailboxtest.Refused(t, "delete the files of the mail", "broker's operator", mailboxtest.ByVerify, v.Problems()[0].String())
}

func TestTheLedgerIsForLeaders(t *testing.T) {
	t.Parallel()
	team := audited(t)
	err := team.Connect("api").Audit(t.Context(), func(audit.Line) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "for leaders") {
		t.Errorf("a teammate reads the ledger: %v", err)
	}
}
