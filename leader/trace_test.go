package leader_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// A trace tells what is not there any more, when a request expires, and how many have signed it; each line once.
func TestTraceText(t *testing.T) {
	at := time.Date(2026, 11, 3, 9, 0, 0, 0, time.Local)
	soon := at.Add(time.Minute)
	for name, c := range map[string]struct {
		trace natsbox.Trace
		have  leader.SignaturesDoc
		want  string
	}{
		"deleted": {
			trace: natsbox.Trace{
				ID: "m1", Kind: mailbox.KindMessage, From: "mia", To: "api", Gone: "handled\x1b[2J",
				Steps: []natsbox.TraceStep{{State: natsbox.TraceStored, At: at, By: "mia", Stream: "MB_t", Seq: 3}},
			},
			want: "message m1, mia to api\nstored      09:00:00  mia, MB_t 3\ndeleted     handled<1B>[2J\n",
		},
		"waits": {
			trace: natsbox.Trace{
				ID: "q1", Kind: mailbox.KindPlanApprovalRequest, From: "api", To: mailbox.Lead, Expires: &soon,
				Steps: []natsbox.TraceStep{{State: natsbox.TraceSigned, At: at, By: "mia", Stream: "MB_t", Seq: 4}},
				Waits: []natsbox.TraceWait{{For: natsbox.TraceDecided, Who: mailbox.Lead, Live: true}},
			},
			have: leader.SignaturesDoc{Have: 1, Need: 2},
			want: "signed      09:00:00  mia, MB_t 4\nnot decided yet: leaders are connected\n" +
				"expires     09:01:00  it will be rejected then, not approved\n1 of 2 leaders have signed\n",
		},
		"decided": {
			trace: natsbox.Trace{
				ID: "q1", Kind: mailbox.KindPlanApprovalRequest, From: "api", To: mailbox.Lead,
				Steps: []natsbox.TraceStep{{State: natsbox.TraceDecided, At: at, By: "mia", Outcome: "approved", Signers: []string{"bob", "mia"}, Stream: "DEC_t", Seq: 1}},
			},
			have: leader.SignaturesDoc{Have: 1, Need: 2}, // of a moment before
			want: "decided     09:00:00  mia, approved, signed by bob and mia, DEC_t 1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			w := leader.TraceWriter{Signatures: c.have}
			for range 2 {
				if err := w.Write(&b, c.trace, at); err != nil {
					t.Fatal(err)
				}
			}
			if !strings.HasSuffix(b.String(), c.want) {
				t.Errorf("trace\n%swant\n%s", b.String(), c.want)
			}
		})
	}
}
