package leader

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// maxLetterLines is how many lines of one message [WriteMail] shows.
const maxLetterLines = 40

// MailDoc is what `swarm inbox --mail --json` prints: the messages to the leaders, the newest first. Their texts are their
// senders', and nothing in them approves anything.
type MailDoc struct {
	Mail []LetterDoc `json:"mail"`
}

// LetterDoc is one message to the leaders.
type LetterDoc struct {
	ID     string    `json:"id"`
	From   string    `json:"from"`
	To     string    `json:"to"`
	At     time.Time `json:"at"`
	Text   string    `json:"text"`
	Urgent bool      `json:"urgent,omitempty"`
}

// NewMailDoc is the leaders' mail as JSON.
func NewMailDoc(mail []natsbox.MailInfo) MailDoc {
	d := MailDoc{Mail: []LetterDoc{}}
	for _, m := range mail {
		d.Mail = append(d.Mail, LetterDoc{ID: m.ID, From: m.From, To: m.To, At: docTime(m.At), Text: m.Text, Urgent: m.Urgent})
	}
	return d
}

// WriteMail writes the leaders' mail for people: for each message when it came, who wrote it, its id, and its text. Of a very long one
// the first lines are shown, and how many more there are. No mail writes nothing: see [MailSummary].
func WriteMail(w io.Writer, mail []natsbox.MailInfo, now time.Time) error {
	p := &page{}
	for i, m := range mail {
		if i > 0 {
			p.line("")
		}
		head := when(m.At, now) + "  " + plans.VisibleLine(m.From) + "  " + plans.VisibleLine(m.ID)
		if m.Urgent {
			head += "  URGENT"
		}
		p.line("%s", head)
		lines := sourceLines(m.Text)
		for _, l := range lines[:min(len(lines), maxLetterLines)] {
			p.source("", l)
		}
		if more := len(lines) - maxLetterLines; more > 0 {
			p.line("  (%s more: swarm mail read has all)", plural(more, "line", "lines"))
		}
	}
	_, err := io.WriteString(w, p.b.String())
	return err
}

// WriteMailTSV writes the leaders' mail for programs: time, sender, "urgent" or nothing, and the text with its line ends
// made visible, one message a line.
func WriteMailTSV(w io.Writer, mail []natsbox.MailInfo) error {
	var b strings.Builder
	for _, m := range mail {
		urgent := ""
		if m.Urgent {
			urgent = "urgent"
		}
		b.WriteString(strings.Join([]string{m.At.UTC().Format(time.RFC3339), plans.VisibleLine(m.From), urgent, plans.VisibleLine(m.Text)}, "\t") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// MailSummary is the line below the leaders' mail, or what stands in its place.
func MailSummary(mail []natsbox.MailInfo) string {
	if len(mail) == 0 {
		return "No mail to the leaders. swarm inbox lists what waits"
	}
	return fmt.Sprintf("%s to the leaders, the newest first. swarm message NAME TEXT answers, swarm mail read ID shows one whole", plural(len(mail), "message", "messages"))
}
