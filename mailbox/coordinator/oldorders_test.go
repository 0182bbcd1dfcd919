package coordinator

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// leaders are two who sign orders, and their team.
type leaders struct {
	charter charter.Charter
	keys    map[string]nkeys.KeyPair
}

func twoLeaders(t *testing.T) leaders {
	t.Helper()
	l := leaders{keys: map[string]nkeys.KeyPair{}}
	owner, err := nkeys.CreateAccount()
	if err != nil {
		t.Fatal(err)
	}
	pub, err := owner.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	members := []charter.Member{{Name: "api", Role: charter.RoleTeammate, Kind: charter.KindAgent}, {Name: "db", Role: charter.RoleTeammate, Kind: charter.KindAgent}}
	for _, name := range []string{"anna", "bob"} {
		kp, err := nkeys.CreateUser()
		if err != nil {
			t.Fatal(err)
		}
		key, err := kp.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		l.keys[name] = kp
		members = append(members, charter.Member{Name: name, Role: charter.RoleLeader, Kind: charter.KindPerson, Key: key, Assurance: charter.Plain})
	}
	l.charter = charter.New("shop", pub, members, charter.Caps{Mode: permissions.ModeBypass}, "")
	return l
}

// order is a signed order, as it lies in the stream.
func (l leaders) order(t interface{ Fatal(args ...any) }, by, to string, counter uint64, mode permissions.Mode, seq uint64) message {
	var body any
	m, _ := l.charter.Member(by)
	head := mailbox.OrderHead{
		TeamID: l.charter.TeamID, CharterSerial: l.charter.Serial, Epoch: 1, DecidedAt: stored,
		DecidedBy: mailbox.DecidedBy{Name: by, Kind: string(m.Kind), Via: "command", Assurance: string(m.Assurance)},
	}
	kind := mailbox.KindModeSetRequest
	if body = (planmode.ModeSet{OrderHead: head, Counter: counter, Mode: mode}); mode == "" {
		kind, body = mailbox.KindGrantRevoked, planmode.GrantRevoked{OrderHead: head, Counter: counter, All: true}
	}
	e, err := mailbox.New(natsbox.NewID(), kind, "shop", by, to, 1, stored, body)
	if err != nil {
		t.Fatal(err)
	}
	out := message{name: mailbox.OrderSubject("shop", to, by, kind), seq: seq, stored: stored.Add(time.Duration(seq) * time.Minute)}
	if out.data, err = mailbox.Encode(e); err != nil {
		t.Fatal(err)
	}
	if out.subject, err = mailbox.ParseSubject(out.name); err != nil {
		t.Fatal(err)
	}
	sig, err := charter.SignOrder(l.keys[by], out.name, out.data)
	if err != nil {
		t.Fatal(err)
	}
	out.sigs = []string{sig}
	return out
}

// Whatever orders were given, applied, refused, given twice at once or never answered: a sweep that breaks off anywhere
// leaves each leader's counter, each teammate's applied counters, its known mode and what leaders see of recalls as they
// were, and takes nothing that its teammate has not read and answered.
func TestOldOrdersHoldWhatCountersRestOn(t *testing.T) {
	t.Parallel()
	team := twoLeaders(t)
	swept := 0
	rapid.Check(t, func(t *rapid.T) {
		w := &mails{t: t, charter: team.charter, decisions: map[slot]decided{}}
		w.running = w.index(permissions.ModeAcceptEdits, 0, 0)
		var orders []message
		said := map[uint64]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			seq := uint64(len(orders) + 1)
			to := rapid.SampledFrom([]string{"api", "api", "db"}).Draw(t, "to")
			by := rapid.SampledFrom([]string{"anna", "bob"}).Draw(t, "by")
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0, 1, 2:
				counter := w.running.counters[line{to, by}] + rapid.SampledFrom([]uint64{0, 1, 1, 1, 5}).Draw(t, "more") // 0: two commands at once
				mode := rapid.SampledFrom([]permissions.Mode{"", permissions.ModePlan, permissions.ModeDefault, permissions.ModeAuto}).Draw(t, "mode")
				m := team.order(t, by, to, max(counter, 1), mode, seq)
				if rapid.IntRange(0, 9).Draw(t, "forged") == 9 {
					m.sigs = nil
				}
				orders = append(orders, m)
				w.running.order(m)
			case 3:
				if len(orders) == 0 {
					continue
				}
				m := rapid.SampledFrom(orders).Draw(t, "of")
				e, err := mailbox.Decode(m.data)
				if err != nil {
					t.Fatal(err)
				}
				state := rapid.SampledFrom(receiptStates).Draw(t, "state")
				w.put(mailbox.KindReceipt, m.subject.To, mailbox.Lead, natsbox.NewID(), "", mailbox.Receipt{Of: e.ID, State: state, Mode: "auto"})
				said[m.seq] = said[m.seq] || state == mailbox.Applied || state == mailbox.Refused
			default:
				w.step(t)
			}
		}
		end := uint64(len(orders))
		u := &oldOrders{stock{
			x: w.running, now: stored.Add(rapid.SampledFrom([]time.Duration{settleAge + 5*time.Minute, 30 * time.Minute, keepMail + 20*time.Minute, 20 * keepMail}).Draw(t, "age")), keep: keepMail,
			full:     rapid.SampledFrom([]int{0, 2, 100}).Draw(t, "full"),
			readers:  map[string]reader{"api": {rapid.Uint64Range(0, end).Draw(t, "api"), true}, "db": {end, false}},
			recorded: rapid.SampledFrom([]uint64{end, end, end / 2}).Draw(t, "recorded"), newest: end, dead: map[uint64]bool{rapid.Uint64Range(0, end).Draw(t, "dead"): true},
		}}
		seqs := u.useless()
		swept += len(seqs)
		gone := map[uint64]bool{}
		start := func() *index {
			x := w.index(w.running.members["api"].known, uint64(len(w.all)), 0)
			x.members["db"] = &member{known: permissions.ModeDefault, knownSeq: uint64(len(w.all))}
			maps.Copy(x.decisions, w.decisions)
			for _, m := range orders {
				if !gone[m.seq] {
					x.order(m)
				}
			}
			return w.restart(nil, x)
		}
		before := start()
		for n := 0; ; n++ {
			after := start()
			if !maps.Equal(after.counters, before.counters) {
				t.Fatalf("after %d of %d deletions the counters are %v, want %v", n, len(seqs), after.counters, before.counters)
			}
			for _, mate := range []string{"api", "db"} {
				if got, want := after.appliedOrders(mate), before.appliedOrders(mate); !maps.Equal(got, want) {
					t.Fatalf("after %d of %d deletions %s has applied %v, want %v", n, len(seqs), mate, got, want)
				}
			}
			if got, want := after.knownMode("api"), w.running.knownMode("api"); got != want {
				t.Fatalf("after %d of %d deletions the known mode is %s, want %s", n, len(seqs), got, want)
			}
			for s, r := range before.requests {
				if got, want := after.recallOf(after.requests[s]), before.recallOf(r); !reflect.DeepEqual(got, want) {
					t.Fatalf("after %d of %d deletions %v was recalled by %v, want %v", n, len(seqs), s, got, want)
				}
			}
			if n == len(seqs) {
				break
			}
			o := w.running.issued[seqs[n]]
			switch {
			case gone[o.seq], o.seq == end, u.dead[o.seq], o.seq > u.recorded, u.now.Sub(o.stored) < settleAge, o.seq > u.readers[o.teammate].floor:
				t.Fatalf("order %d goes twice, or is the newest, a dead letter, not recorded, too young or not read", o.seq)
			case o.signed && !said[o.seq]:
				t.Fatalf("order %d goes, and its teammate has not said what it did", o.seq)
			}
			gone[seqs[n]] = true
		}
		w.running.forgetOrders(seqs)
		after := start()
		if got, want := slices.Sorted(maps.Keys(w.running.issued)), slices.Sorted(maps.Keys(after.issued)); !slices.Equal(got, want) {
			t.Fatalf("the index has orders %v, and after a restart %v", got, want)
		}
		if !maps.Equal(w.running.orders, after.orders) || !maps.Equal(w.running.given, after.given) || !maps.Equal(w.running.counters, after.counters) {
			t.Fatalf("the index knows %v, and after a restart %v", w.running.orders, after.orders)
		}
		if got, want := fmt.Sprint(w.running.recalls["api"]), fmt.Sprint(after.recalls["api"]); got != want {
			t.Fatalf("the index has recalls %s, and after a restart %s", got, want)
		}
	})
	if swept == 0 {
		t.Error("nothing was ever deleted")
	}
}

// An order of plan mode stays as long as leaders see it beside a plan that was approved before it.
func TestARecallStaysBesideItsPlan(t *testing.T) {
	t.Parallel()
	team := twoLeaders(t)
	rapid.Check(t, func(t *rapid.T) {
		w := &mails{t: t, charter: team.charter, decisions: map[slot]decided{}}
		w.running = w.index(permissions.ModeDefault, 0, 0)
		id := natsbox.NewRequestID()
		w.put(mailbox.KindPlanApprovalRequest, "api", mailbox.Lead, id, "", planmode.ApprovalRequest{RequestID: id, PlanID: "p", Kind: planmode.AskPlan})
		for seq, mode := range []permissions.Mode{permissions.ModePlan, permissions.ModeDefault, ""} {
			m := team.order(t, "anna", "api", uint64(seq+1), mode, uint64(seq+1))
			w.running.order(m)
			e, err := mailbox.Decode(m.data)
			if err != nil {
				t.Fatal(err)
			}
			w.put(mailbox.KindReceipt, "api", mailbox.Lead, natsbox.NewID(), "", mailbox.Receipt{Of: e.ID, State: mailbox.Applied})
		}
		s, at := slot{"api", id}, rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "approved") // before the order, or after
		w.running.decisions[s] = decided{DecisionInfo: natsbox.DecisionInfo{Valid: true, Outcome: string(planmode.OutcomeApproved), StoredAt: stored.Add(at)}}
		u := &oldOrders{stock{x: w.running, now: stored.Add(2 * keepMail), keep: keepMail, readers: map[string]reader{"api": {3, true}}, recorded: 3, newest: 3}}
		goes := slices.Contains(u.useless(), 1)
		if recalled := w.running.recallOf(w.running.requests[s]) != nil; recalled == goes {
			t.Fatalf("a recall that leaders see = %v goes = %v", recalled, goes)
		}
		w.running.forgetOrders([]uint64{1})
		if w.running.recallOf(w.running.requests[s]) != nil {
			t.Fatal("a recall that was deleted is still shown")
		}
	})
}
