package leader_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
)

// The commonest mistakes of leaders have exactly the texts, codes and names of UX.md 2. The three others of its ten
// (unknown command, no broker, a bad swarm.yaml) are the command line's own.
func TestCommonestMistakes(t *testing.T) {
	s := newShop(t)
	s.Caps.Mode = permissions.ModeAcceptEdits
	clock := noon.Local().Format("15:04")
	db := s.newRow(t, ask{from: "db", id: fixedID(1), plan: migration, prompts: []string{"run tests", "frobnicate"}})
	h := mailbox.Handle("db", fixedID(1), 4)
	q := s.queue(db)
	row, err := q.Find(h)
	if err != nil {
		t.Fatal(err)
	}
	find := func(q *leader.Queue, id string) error { _, err := q.Find(id); return err }
	choose := func(ch leader.Choice) error {
		ch.Outcome = planmode.OutcomeApproved
		_, err := leader.Prepare(*row, ch, s.Charter, noon)
		return err
	}
	second := s.newRow(t, ask{from: "db", id: fixedID(2), plan: migration, revision: 2})
	replaced := db
	replaced.SupersededBy = fixedID(2)
	api, _ := s.Member("api")
	_, notLeader := leader.OrderStop(t.Context(), noOrders{t}, s.signer(t, "api"), s.Charter, "db", "")
	wrong := h[:len(h)-1] + "0"
	if wrong == h {
		wrong = h[:len(h)-1] + "1"
	}
	for _, c := range []struct {
		name string
		code int
		err  error
		want string
	}{
		{"unknown_request", 15, find(q, wrong), `no request "` + wrong + `": did you mean ` + h + ` (waiting)? swarm inbox lists all`},
		{"name_not_id", 2, find(q, "db"), `"db" is a teammate, not a request: its plan is ` + h + ` r1; read it with swarm show db, then approve ` + h},
		{"superseded", 6, find(s.queue(replaced, second), h), h + ` r1 was replaced by ` + mailbox.Handle("db", fixedID(2), 4) + ` r2 at ` + clock + `: nothing was approved; swarm show ` + mailbox.Handle("db", fixedID(2), 4) + ` --diff`},
		{"already_decided", 13, find(s.queue(s.decidedBy(t, db, "tom", planmode.OutcomeApproved)), h), `tom approved ` + h + ` at ` + clock + `, before you: your decision was not recorded; to take it back: swarm recall db`},
		{"already_decided", 13, find(s.queue(s.decidedBy(t, db, "tom", planmode.OutcomeRejected)), h), `tom rejected ` + h + ` at ` + clock + `, before you: your decision was not recorded; what was decided: swarm show ` + h},
		{"confirm", 2, choose(leader.Choice{}), h + ` is HIGH risk (could destroy (DROP): ALTER TABLE orders DROP COLUMN total;, line 11): repeat with --confirm db after reading swarm show ` + h},
		{"above_cap", 2, choose(leader.Choice{Confirm: "db", Mode: "bypassPermissions"}), `mode "bypassPermissions" is above this team's cap "acceptEdits": choose default or acceptEdits, or raise caps.mode in your config.yaml, and in swarm.yaml`},
		{"not_a_leader", 4, notLeader, `key ` + api.Key[:4] + `…` + api.Key[len(api.Key)-2:] + ` (api) is a teammate, not a leader of team shop: ask the owner for "swarm team invite NAME --role leader"`},
		{"grant_not_asked", 2, choose(leader.Choice{Confirm: "db", Grants: []string{"deploy"}}), `"deploy" was not asked by ` + h + ` (asked: run tests, frobnicate): a grant can only narrow`},
	} {
		var e *leader.Error
		if !errors.As(c.err, &e) || e.Name != c.name || e.Code != c.code || e.Error() != c.want {
			t.Errorf("%s:\n%v\nwant %d\n%s", c.name, c.err, c.code, c.want)
			continue
		}
		var b strings.Builder
		if err := leader.WriteJSON(&b, leader.ErrorDoc{Error: e}); err != nil || !strings.Contains(b.String(), `"code":"`+c.name+`"`) || !strings.Contains(b.String(), `"next":"`) {
			t.Errorf("%s as JSON: %s, %v", c.name, b.String(), err)
		}
	}
}

// decidedBy is a row whose slot holds a leader's signed decision, made at noon.
func (s shop) decidedBy(t testing.TB, r natsbox.Row, name string, outcome planmode.Outcome) natsbox.Row {
	t.Helper()
	m, _ := s.Member(name)
	d := planmode.Decision{
		OrderHead: mailbox.OrderHead{TeamID: s.TeamID, Epoch: 1, DecidedAt: noon, DecidedBy: mailbox.DecidedBy{Name: name, Kind: string(m.Kind), Via: "command"}},
		RequestID: r.EnvelopeID, Revision: 1, Outcome: outcome, Approved: outcome == planmode.OutcomeApproved, PlanDigest: r.Request.Digest,
	}
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindPlanApprovalResponse, "shop", name, r.From, 1, time.Now(), d)
	if err != nil {
		t.Fatal(err)
	}
	o := charter.Order{Subject: mailbox.DecisionSubject("shop", r.From, r.EnvelopeID)}
	if o.Payload, err = mailbox.Encode(env); err != nil {
		t.Fatal(err)
	}
	sig, err := charter.SignOrder(s.keys[name], o.Subject, o.Payload)
	if err != nil {
		t.Fatal(err)
	}
	o.Sigs = []string{sig}
	r.Decision = &natsbox.DecisionInfo{Order: o, Valid: true, Outcome: string(outcome), By: &d.DecidedBy}
	return r
}
