package natsauth_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsauth"
)

// The lists of PROTOCOL.md, word for word.
func TestRightsOfATeammate(t *testing.T) {
	r := natsauth.RightsOf("shop", charter.Member{Name: "api", Role: charter.RoleTeammate}, "api-0f")
	same(t, "publish", r.Publish, `
		swarm.shop.mb.lead.api.plan_approval_request swarm.shop.mb.lead.api.plan_withdrawn
		swarm.shop.mb.lead.api.permission_request swarm.shop.mb.lead.api.mode_changed
		swarm.shop.mb.lead.api.shutdown_response swarm.shop.mb.lead.api.question swarm.shop.mb.lead.api.answer
		swarm.shop.mb.lead.api.task_update swarm.shop.mb.lead.api.message swarm.shop.mb.lead.api.receipt
		swarm.shop.mb.*.api.message swarm.shop.mb.*.api.answer swarm.shop.mb.*.api.receipt
		swarm.shop.stat.api swarm.shop.svc.api.*
		JS.swarm.DIRECT.GET.DEC_shop.swarm.shop.dec.api.*
		JS.swarm.CONSUMER.INFO.MB_shop.api-0f JS.swarm.CONSUMER.MSG.NEXT.MB_shop.api-0f $JS.ACK.MB_shop.api-0f.>
		JS.swarm.CONSUMER.INFO.DEC_shop.api-0f JS.swarm.CONSUMER.MSG.NEXT.DEC_shop.api-0f $JS.ACK.DEC_shop.api-0f.>
		JS.swarm.CONSUMER.INFO.ORD_shop.api-0f JS.swarm.CONSUMER.MSG.NEXT.ORD_shop.api-0f $JS.ACK.ORD_shop.api-0f.>`)
	same(t, "deny", r.Deny, "swarm.shop.mb.all.api.>")
	same(t, "subscribe", r.Subscribe, "_INBOX_api.>")
}

func TestRightsOfALeader(t *testing.T) {
	r := natsauth.RightsOf("shop", charter.Member{Name: "anna", Role: charter.RoleLeader}, "anna-0f")
	same(t, "publish", r.Publish, `
		swarm.shop.mb.*.anna.message swarm.shop.mb.*.anna.question swarm.shop.mb.*.anna.answer
		swarm.shop.mb.*.anna.task_assignment swarm.shop.mb.*.anna.receipt swarm.shop.mb.lead.anna.endorsement
		swarm.shop.dec.*.* swarm.shop.ord.*.anna.mode_set_request swarm.shop.ord.*.anna.grant_revoked
		swarm.shop.ord.*.anna.shutdown_request swarm.shop.stat.anna swarm.shop.svc.anna.*
		JS.swarm.DIRECT.GET.DEC_shop.swarm.shop.dec.*.* JS.swarm.DIRECT.GET.STAT_shop.swarm.shop.stat.*
		JS.swarm.CONSUMER.INFO.MB_shop.anna-0f JS.swarm.CONSUMER.MSG.NEXT.MB_shop.anna-0f $JS.ACK.MB_shop.anna-0f.>`)
	same(t, "subscribe", r.Subscribe, "_INBOX_anna.> swarm.shop.ev.>")
}

func TestRightsOfAnObserver(t *testing.T) {
	r := natsauth.RightsOf("shop", charter.Member{Name: "wall", Role: charter.RoleObserver}, "wall-0f")
	same(t, "publish", r.Publish, `swarm.shop.svc.wall.*
		JS.swarm.DIRECT.GET.DEC_shop.swarm.shop.dec.*.* JS.swarm.DIRECT.GET.STAT_shop.swarm.shop.stat.*`)
	same(t, "subscribe", r.Subscribe, "_INBOX_wall.> swarm.shop.ev.>")
}

// Without an instance there is no consumer to pull from, and none may be guessed.
func TestRightsWithoutADurable(t *testing.T) {
	for _, role := range []charter.Role{charter.RoleTeammate, charter.RoleLeader, charter.RoleObserver} {
		r := natsauth.RightsOf("shop", charter.Member{Name: "api", Role: role}, "")
		for _, s := range r.Publish {
			if strings.Contains(s, "CONSUMER") || strings.Contains(s, "ACK") {
				t.Errorf("%s may use %s without a durable", role, s)
			}
		}
	}
	f := natsauth.Fenced("shop", charter.Member{Name: "api", Role: charter.RoleTeammate})
	same(t, "fenced publish", f.Publish, "swarm.shop.svc.api.*")
}

func same(t *testing.T, what string, got []string, want string) {
	t.Helper()
	w := strings.Fields(want)
	slices.Sort(w)
	g := slices.Sorted(slices.Values(got))
	for _, s := range g {
		if !slices.Contains(w, s) {
			t.Errorf("%s has %s, which it should not", what, s)
		}
	}
	for _, s := range w {
		if !slices.Contains(g, s) {
			t.Errorf("%s lacks %s", what, s)
		}
	}
}
