package leader

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// PastDoc is what `swarm inbox --all --json` prints of the requests that wait no more, the newest end first.
type PastDoc struct {
	Requests []PastRequestDoc `json:"requests"`
}

// PastRequestDoc is one request that waits no more.
type PastRequestDoc struct {
	ID          string    `json:"id"`
	Handle      string    `json:"handle"`
	Kind        RowKind   `json:"kind"`
	Teammate    string    `json:"teammate"`
	Revision    int       `json:"revision,omitempty"`
	Goal        string    `json:"goal"`
	RequestedAt time.Time `json:"requestedAt"`
	Ended       EndedDoc  `json:"ended"`
	// Receipt is the last word of the teammate about it: applied, refused. Empty: none came.
	Receipt mailbox.ReceiptState `json:"receipt,omitempty"`
}

// NewPastDoc is a list of settled requests as JSON.
func NewPastDoc(past []natsbox.Past) PastDoc {
	d := PastDoc{Requests: []PastRequestDoc{}}
	handles := pastHandles(past)
	for i, p := range past {
		doc := PastRequestDoc{
			ID: p.EnvelopeID, Handle: handles[i], Kind: RowKind(p.Kind), Teammate: p.From, Revision: p.Revision, Goal: p.Title,
			RequestedAt: docTime(p.StoredAt),
		}
		if e := newEndedDoc(&Row{Row: p.Row}); e != nil {
			doc.Ended = *e
		}
		doc.Receipt = lastWord(p.Receipts)
		d.Requests = append(d.Requests, doc)
	}
	return d
}

// lastWord is what a teammate last said that it did with a decision, or how far that got. A receipt may come late.
func lastWord(receipts []mailbox.Receipt) (word mailbox.ReceiptState) {
	for _, r := range receipts {
		if r.State == mailbox.Applied || r.State == mailbox.Refused || word != mailbox.Applied && word != mailbox.Refused {
			word = r.State
		}
	}
	return word
}

// pastHandles are the handles of a list, long enough to be different.
func pastHandles(past []natsbox.Past) []string {
	handles := make([]string, len(past))
	for n := minHandle; n <= maxHandle; n++ {
		for i, p := range past {
			handles[i] = handle(p.Row, n)
		}
		sorted := slices.Sorted(slices.Values(handles))
		if len(slices.Compact(sorted)) == len(handles) {
			break
		}
	}
	return handles
}

// WritePast writes the requests that wait no more as a table for a terminal of the given width in cells; 0 is 80. They are
// in the order in which they come, the newest end first. None write nothing: see [PastSummary].
func WritePast(w io.Writer, past []natsbox.Past, now time.Time, columns int) error {
	if len(past) == 0 {
		return nil
	}
	if columns <= 0 {
		columns = defaultColumns
	}
	rows := [][]string{{"ID", "ENDED", "WHO", "PLAN OR REQUEST", "OUTCOME", "BY", "RECEIPT"}}
	bounds := []int{-1, 16, colWho, 0, 12, 12, 8}
	for _, d := range NewPastDoc(past).Requests {
		rows = append(rows, d.cells(now))
	}
	if columns >= wideColumns {
		bounds = []int{-1, 16, 2 * colWho, 0, 20, 30, 8}
	}
	room := planRoom(rows, bounds, columns)
	for i, p := range past {
		if p.Kind == string(RowRun) {
			rows[i+1][3] = cutMiddle(rows[i+1][3], room)
		}
	}
	_, err := io.WriteString(w, table(rows, bounds, columns))
	return err
}

// WritePastTSV writes the requests that wait no more for programs: the columns of [WritePast], uncut, separated by tabs,
// without a header and with whole times.
func WritePastTSV(w io.Writer, past []natsbox.Past) error {
	var b strings.Builder
	for _, d := range NewPastDoc(past).Requests {
		cells := d.cells(time.Time{})
		cells[1] = ""
		if d.Ended.At != nil {
			cells[1] = d.Ended.At.Format(time.RFC3339)
		}
		b.WriteString(strings.Join(cells, "\t") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// PastSummary is the line below the list of settled requests, or what stands in its place.
func PastSummary(past []natsbox.Past) string {
	if len(past) == 0 {
		return "Nothing has been decided yet. swarm inbox lists what waits"
	}
	return "the last " + plural(len(past), "request", "requests") + " that ended. swarm show ID has the decision"
}

func (d *PastRequestDoc) cells(now time.Time) []string {
	at, by, receipt := "-", plans.VisibleLine(d.Ended.By), string(d.Receipt)
	if d.Ended.At != nil {
		at = when(*d.Ended.At, now)
	}
	if rule := RuleOf(mailbox.DecidedBy{Via: d.Ended.Via}); rule != "" {
		by = "rule " + plans.VisibleLine(rule)
	}
	outcome := d.Ended.word()
	switch {
	case d.Ended.Via == viaDeadline:
		outcome, by = string(planmode.OutcomeExpired), "deadline"
		if n := len(d.Ended.Signers); n > 0 {
			by = "deadline, " + strings.Join(visibleAll(d.Ended.Signers), "+") + " had signed"
		}
	case len(d.Ended.Signers) > 1:
		by = strings.Join(visibleAll(d.Ended.Signers), "+")
	case d.Ended.Outcome == endedReplaced:
		by = mailbox.Handle(d.Teammate, d.Ended.By, minHandle)
	case by == "" && d.Ended.Reason != "":
		by = plans.VisibleLine(d.Ended.Reason)
	}
	if d.Ended.Recalled != nil {
		receipt = "recalled"
	}
	goal := plans.VisibleLine(d.Goal)
	if d.Revision > 1 {
		goal = fmt.Sprintf("r%d %s", d.Revision, goal)
	}
	return []string{d.Handle, at, plans.VisibleLine(d.Teammate), goal, outcome, orElse(by, "-"), orElse(plans.VisibleLine(receipt), "-")}
}

// word is how a request ended, in a word or two.
func (e *EndedDoc) word() string {
	switch e.Outcome {
	case "rejected":
		return "changes"
	case "rejectedAndExit":
		return "rejected"
	case "allow":
		return "allowed"
	case "deny":
		return "denied"
	}
	return plans.VisibleLine(e.Outcome)
}
