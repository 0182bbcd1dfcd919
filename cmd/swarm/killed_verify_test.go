//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/embednats"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/teammate"
)

// reckoning is what became of a town.
type reckoning struct {
	kills   int
	took    time.Duration
	charter charter.Charter

	stored, sent, handled, twice, lost int // letters
	decisions, applied                 int
	trips                              []int // from the submit to the answer, in ms
}

// ledger has the audit ledger verified while there is a broker, and finds out whose signatures count.
func (tn *town) ledger() (r reckoning) {
	tn.t.Helper()
	ctx := context.Background()
	if out, err := tn.command(ctx, "audit", "verify"); err != nil {
		tn.t.Errorf("swarm audit verify: %v\n%s", err, out)
	}
	tn.until("an empty inbox", func() bool { // what is decided leaves it a moment later
		out, err := tn.command(ctx, "inbox", "--json")
		var inbox struct {
			Requests []json.RawMessage `json:"requests"`
		}
		return err == nil && json.Unmarshal([]byte(out), &inbox) == nil && len(inbox.Requests) == 0
	})
	file := filepath.Join(tn.t.TempDir(), "ledger.jsonl")
	if _, err := tn.command(ctx, "audit", "export", file); err != nil {
		tn.t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		tn.t.Fatal(err)
	}
	first, _, _ := bytes.Cut(data, []byte("\n"))
	var head struct {
		OwnerKey string         `json:"ownerKey"`
		Charter  charter.Signed `json:"charter"`
	}
	if err := json.Unmarshal(first, &head); err != nil {
		tn.t.Fatal(err)
	}
	if r.charter, err = charter.Open(head.Charter, head.OwnerKey); err != nil {
		tn.t.Fatal(err)
	}
	return r
}

// verify reads the disks when nothing runs any more.
func (tn *town) verify(r *reckoning) {
	mail, decisions := tn.streams()
	letters := map[string]bool{}
	for _, m := range mail {
		if e, err := mailbox.Decode(m.Data); err == nil && e.Kind == mailbox.KindMessage && e.To != mailbox.Lead {
			letters[e.ID] = true
		}
	}
	r.stored = len(letters)
	for _, name := range []string{"api", "db"} {
		peer := map[string]string{"api": "db", "db": "api"}[name]
		tn.letters(r, name, peer, letters)
		for _, field := range tn.words(name, "trips") {
			if ms, err := strconv.Atoi(field); err == nil {
				r.trips = append(r.trips, ms)
			}
		}
	}
	slots := map[string]planmode.Decision{}
	for _, m := range decisions {
		at, err := mailbox.ParseSubject(m.Subject)
		if err != nil {
			tn.t.Fatal(err)
		}
		o := charter.Order{Subject: m.Subject, Payload: m.Data, Sigs: m.Header.Values(charter.SigHeader)}
		_, d, err := charter.OpenOrder[planmode.Decision](r.charter, o)
		if _, two := slots[at.Request]; err != nil || two {
			tn.t.Errorf("the decision on %s: %v; another one before: %t", at.Request, err, two)
		}
		slots[at.Request] = d
	}
	r.decisions = len(slots)
	for _, name := range []string{"api", "db"} {
		tn.journal(r, name, slots)
	}
}

// streams reads the store, as whoever has its files can.
func (tn *town) streams() (mail, decisions []*jetstream.RawStreamMsg) {
	srv, err := embednats.Start(context.Background(), embednats.Config{StoreDir: tn.state("jetstream"), Sync: "1m"})
	if err != nil {
		tn.t.Fatal(err)
	}
	defer srv.Close()
	key := srv.Auth().CoordinatorKey()
	pub, _ := key.PublicKey()
	nc, err := nats.Connect("", nats.InProcessServer(srv), nats.Nkey(pub, key.Sign))
	if err != nil {
		tn.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		tn.t.Fatal(err)
	}
	all := func(stream string) (list []*jetstream.RawStreamMsg) {
		st, err := js.Stream(context.Background(), stream)
		if err != nil {
			tn.t.Fatal(err)
		}
		for seq := st.CachedInfo().State.FirstSeq; seq <= st.CachedInfo().State.LastSeq; seq++ {
			m, err := st.GetMsg(context.Background(), seq)
			if err != nil {
				tn.t.Fatalf("%s %d: %v", stream, seq, err)
			}
			list = append(list, m)
		}
		return list
	}
	return all("MB_t"), all("DEC_t")
}

func (tn *town) words(name, file string) []string {
	data, _ := os.ReadFile(filepath.Join(tn.mate(name), file))
	return strings.Fields(string(data))
}

var (
	storedLine = regexp.MustCompile(`(?m)^stored (\S+) for `)
	letterLine = regexp.MustCompile(`(?m)^(\S+)  from \S+: `)
)

// ids counts the letters that a file of a teammate's program names.
func (tn *town) ids(name, file string, line *regexp.Regexp) map[string]int {
	data, _ := os.ReadFile(filepath.Join(tn.mate(name), file))
	ids := map[string]int{}
	for _, m := range line.FindAllStringSubmatch(string(data), -1) {
		ids[m[1]]++
	}
	return ids
}

// has is what a teammate has of letters: those that its program printed, and those that lie in its inbox.
func (tn *town) has(name string) (got, kept map[string]int) {
	got, kept = tn.ids(name, "got", letterLine), map[string]int{}
	files, _ := filepath.Glob(tn.state("teammates", name, "inbox", "*.json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		var l teammate.Letter
		if err == nil && json.Unmarshal(data, &l) == nil {
			kept[l.ID]++
		}
	}
	return got, kept
}

// missing are the letters that a sender was told are stored, and that the other one does not have.
func (tn *town) missing(from, to string) (ids []string) {
	sent := tn.ids(from, "sent", storedLine)
	got, kept := tn.has(to)
	for id := range sent {
		if got[id]+kept[id] == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// letters follows what one teammate sent and was told is stored: it is stored, and the other one has it, once.
func (tn *town) letters(r *reckoning, from, to string, stored map[string]bool) {
	got, kept := tn.has(to)
	for id, n := range got {
		r.handled++
		if r.twice += n - 1; n > 1 {
			tn.t.Logf("%s was shown letter %s %d times", to, id, n)
		}
	}
	for id, n := range kept {
		if n > 1 {
			tn.t.Errorf("handled twice: letter %s lies %d times with %s", id, n, to)
		}
	}
	for id := range tn.ids(from, "sent", storedLine) {
		r.sent++
		if !stored[id] || got[id]+kept[id] == 0 {
			r.lost++
			tn.t.Errorf("lost: letter %s from %s to %s was acknowledged; stored %t, shown %d times, kept %d", id, from, to, stored[id], got[id], kept[id])
		}
	}
}

// journal holds a teammate's journal against the slots: it left plan mode by signed approvals alone, once by each.
func (tn *town) journal(r *reckoning, name string, slots map[string]planmode.Decision) {
	data, err := os.ReadFile(tn.state("teammates", name, "journal.jsonl"))
	if err != nil {
		tn.t.Fatal(err)
	}
	applied, before := map[string]int{}, planmode.Session{}
	for raw := range bytes.Lines(data) {
		var l struct {
			Event struct {
				Type string `json:"type"`
				Data struct {
					Decision planmode.Decision `json:"decision"`
				} `json:"data"`
			} `json:"event"`
			Session *planmode.Session `json:"session"`
		}
		if json.Unmarshal(raw, &l) != nil || l.Session == nil { // a snapshot's event is a word
			continue
		}
		s := *l.Session
		if err := s.Check(); err != nil {
			tn.t.Errorf("%s: %v", name, err)
		}
		if before.Mode == "plan" && s.State == planmode.Working {
			id := l.Event.Data.Decision.RequestID
			applied[id]++
			if d, ok := slots[id]; !ok || d.Outcome != planmode.OutcomeApproved || before.Pending == nil || d.PlanDigest != before.Pending.Digest {
				tn.t.Errorf("%s left plan mode by %s of request %q, and its slot says %q", name, l.Event.Type, id, d.Outcome)
			}
		}
		before = s
	}
	for id, n := range applied {
		if r.applied++; n > 1 {
			tn.t.Errorf("handled twice: %s applied the decision on %s %d times", name, id, n)
		}
	}
	if len(applied) == 0 && *soak == 0 {
		tn.t.Errorf("%s applied no decision: the test kills too early", name)
	}
	if before.Pending != nil || len(before.Grants) > 0 {
		tn.t.Errorf("%s ends with pending %+v and grants %+v", name, before.Pending, before.Grants)
	}
}

// table is what a person reads after a soak.
func (r reckoning) table(tn *town) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(what, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", what, fmt.Sprintf(format, args...)) }
	row("kills", "%d in %s", r.kills, r.took.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(tn.kills)) {
		row("  "+name, "%d", tn.kills[name])
	}
	row("letters", "%d stored, %d acknowledged to their senders, %d shown, %d again, %d lost", r.stored, r.sent, r.handled, r.twice, r.lost)
	row("decisions", "%d stored, %d applied", r.decisions, r.applied)
	for _, name := range slices.Sorted(maps.Keys(tn.memory)) {
		row("memory of "+name, "%d MiB at the beginning, %d MiB at the end", tn.memory[name][0]/1024, tn.memory[name][1]/1024)
	}
	if n := len(r.trips); n > 0 {
		slices.Sort(r.trips)
		row("approval", "p50 %d ms, p99 %d ms of %d, from the submit to the answer, kills in between", r.trips[n/2], r.trips[n*99/100], n)
	}
	_ = w.Flush()
	return b.String()
}
