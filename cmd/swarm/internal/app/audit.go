package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/audit"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// AuditReport is what verifying a ledger has found.
type AuditReport struct {
	Team      string          `json:"team"`
	TeamID    string          `json:"teamId"`
	Entries   int             `json:"entries"`
	Head      audit.Head      `json:"head"`
	Decisions int             `json:"decisions"` // that were read again, and are as they were recorded
	Problems  []audit.Problem `json:"problems"`
}

// auditExport is the first line of an exported ledger: whose it is.
type auditExport struct {
	V        int            `json:"v"`
	Team     string         `json:"team"`
	OwnerKey string         `json:"ownerKey"`
	Charter  charter.Signed `json:"charter"`
}

// AuditLog hands over the ledger, entry by entry, with each one's hash. An entry that cannot be read is an error.
func (l *Leader) AuditLog(ctx context.Context, do func(audit.Entry, string) error) error {
	err := l.box.Audit(ctx, func(line audit.Line) error {
		e, err := audit.Read(line.Entry)
		if err != nil {
			return fail(exitError, "audit_broken", "the ledger cannot be read ("+plans.VisibleLine(plainText(err))+")", "swarm audit verify names what was changed")
		}
		return do(e, line.Hash())
	})
	return l.explain(err)
}

// AuditVerify reads the ledger from its first entry, and what leaders decided, and compares them with each other, with what
// this leader has seen before, and with the heads that are given.
func (l *Leader) AuditVerify(ctx context.Context, heads ...audit.Head) (AuditReport, error) {
	v := audit.NewVerifier(l.charter)
	var decisions []audit.Entry
	err := l.box.Audit(ctx, func(line audit.Line) error {
		if e, ok := v.Add(line); ok && e.Event == audit.EventDecision && e.Source != nil {
			decisions = append(decisions, e)
		}
		return nil
	})
	if err != nil {
		return AuditReport{}, l.explain(err)
	}
	good := 0
	var wrong []audit.Problem
	for _, e := range decisions {
		p, err := l.verifyDecision(ctx, v, e)
		if err != nil {
			return AuditReport{}, l.explain(err)
		}
		if p.What == "" {
			good++
		} else {
			wrong = append(wrong, p)
		}
	}
	v.Expect(l.auditHead(), "an earlier verify")
	for _, h := range heads {
		v.Expect(h, "--head")
	}
	r := auditReport(l.charter, v, wrong)
	r.Decisions = good
	if len(r.Problems) == 0 {
		err = writeJSON(l.auditFile(), r.Head)
	}
	return r, err
}

func auditReport(c charter.Charter, v *audit.Verifier, more []audit.Problem) AuditReport {
	return AuditReport{
		Team: c.Team, TeamID: c.TeamID, Entries: v.Count(), Head: v.Head(),
		Problems: append(append([]audit.Problem{}, v.Problems()...), more...),
	}
}

// verifyDecision reads a slot again. The end of the ledger that its leader signed is held against the chain.
func (l *Leader) verifyDecision(ctx context.Context, v *audit.Verifier, e audit.Entry) (audit.Problem, error) {
	at, err := mailbox.ParseSubject(e.Source.Subject)
	if err != nil || at.Branch != "dec" {
		return audit.Problem{Seq: e.Seq, What: fmt.Sprintf("it is about %s, which is no slot of a decision", plans.VisibleLine(e.Source.Subject))}, nil
	}
	name := "the decision on " + mailbox.Handle(at.To, at.Request, 4)
	o, err := l.box.ReadDecision(ctx, at.To, at.Request)
	switch {
	case errors.Is(err, natsbox.ErrNoDecision):
		return audit.Problem{Seq: e.Seq, What: name + " is not in the store any more"}, nil
	case err != nil:
		return audit.Problem{}, err
	case audit.Digest(o.Payload) != e.Source.Digest:
		return audit.Problem{Seq: e.Seq, What: name + " is another one than was recorded"}, nil
	}
	_, d, err := charter.OpenStored[planmode.Decision](l.charter, o)
	if err != nil { // the answer to a call, or of a leader who has left since
		return audit.Problem{}, nil
	}
	if d.Ledger != nil {
		v.Expect(audit.Head(*d.Ledger), name)
	}
	if _, _, err := charter.OpenOrder[planmode.Decision](l.charter, o); err != nil && e.Note == audit.Void {
		return audit.Problem{}, nil // void by the charter of then, perhaps, as it is by that of now
	}
	if audit.Contradicts(e.Note, string(d.Outcome), d.DecidedBy.Name) {
		is := audit.DecisionNote(string(d.Outcome), d.DecidedBy.Name, nil)
		return audit.Problem{Seq: e.Seq, What: plans.VisibleLine(fmt.Sprintf("of %s it says %q, and that is %s", name, e.Note, is))}, nil
	}
	return audit.Problem{}, nil
}

// auditFile is where a leader keeps the end of the ledger that it has verified last.
func (l *Leader) auditFile() string {
	return l.env.state(l.team).path("desk", "drafts", l.bundle.Me, "ledger.json")
}

func (l *Leader) auditHead() audit.Head {
	var h audit.Head
	if readJSON(l.auditFile(), &h) != nil {
		return audit.Head{} // never verified here
	}
	return h
}

// AuditExport writes the ledger to a new file, one JSON object a line; the first one says whose it is.
func (l *Leader) AuditExport(ctx context.Context, file string) (entries int, err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return 0, fail(exitUsage, "exists", fmt.Sprintf("%s is there already", plans.VisibleLine(file)), "name a new file")
	case err != nil:
		return 0, fail(exitError, "not_writable", fmt.Sprintf("%s cannot be written (%v)", plans.VisibleLine(file), errors.Unwrap(err)), "name another file")
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			_ = os.Remove(file) // half of it is of no use
		}
	}()
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	if err := enc.Encode(auditExport{V: version, Team: l.team, OwnerKey: l.bundle.OwnerKey, Charter: l.signed}); err != nil {
		return 0, err
	}
	err = l.box.Audit(ctx, func(line audit.Line) error {
		entries++
		return enc.Encode(line)
	})
	if err != nil {
		return entries, l.explain(err)
	}
	return entries, w.Flush()
}

// AuditVerifyFile verifies an exported ledger, without a broker. ownerKey is whose team it must be; empty believes the file.
func AuditVerifyFile(file, ownerKey string, heads ...audit.Head) (AuditReport, error) {
	f, err := os.Open(file)
	if err != nil {
		return AuditReport{}, fail(exitUsage, "no_file", fmt.Sprintf("%s cannot be read (%v)", plans.VisibleLine(file), errors.Unwrap(err)), "name a file of swarm audit export")
	}
	defer f.Close()
	r, err := verifyExport(f, ownerKey, heads)
	if err != nil {
		return r, fail(exitUsage, "not_an_export", fmt.Sprintf("%s is no exported ledger (%s)", plans.VisibleLine(file), plans.VisibleLine(plainText(err))), "name a file of swarm audit export")
	}
	return r, nil
}

// maxExportLine bounds a line of an exported ledger: the first one has the whole charter.
const maxExportLine = 8 << 20

func verifyExport(f io.Reader, ownerKey string, heads []audit.Head) (AuditReport, error) {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 64<<10), maxExportLine)
	if !lines.Scan() {
		return AuditReport{}, errors.Join(errors.New("app: it is empty"), lines.Err())
	}
	var head auditExport
	if err := mailbox.DecodeStrict(lines.Bytes(), &head); err != nil {
		return AuditReport{}, err
	}
	if ownerKey != "" && head.OwnerKey != ownerKey {
		return AuditReport{}, fmt.Errorf("app: it is of the owner %s, not of %s", head.OwnerKey, ownerKey)
	}
	c, err := charter.Open(head.Charter, head.OwnerKey)
	if err != nil {
		return AuditReport{}, err
	}
	v := audit.NewVerifier(c)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var l audit.Line
		if err := mailbox.DecodeStrict(lines.Bytes(), &l); err != nil {
			l = audit.Line{Entry: bytes.Clone(lines.Bytes())} // a problem, as all that is no entry
		}
		v.Add(l)
	}
	if err := lines.Err(); err != nil {
		return AuditReport{}, err
	}
	for _, h := range heads {
		v.Expect(h, "--head")
	}
	return auditReport(c, v, nil), nil
}

// OwnerKeyOf is the owner's key that this machine knows of a team, empty when it knows none.
func OwnerKeyOf(e Env) string {
	team, err := e.team()
	if err != nil {
		return ""
	}
	b, err := loadBundle(e.Settings, team)
	if err != nil {
		return ""
	}
	return b.OwnerKey
}

// AuditText is what an entry is about, for people.
func AuditText(e audit.Entry) string {
	if e.Source == nil {
		what := e.Name
		if e.Name != "" && e.Note != "" {
			what += ", "
		}
		return what + e.Note
	}
	s, err := mailbox.ParseSubject(e.Source.Subject)
	switch {
	case err != nil:
		return e.Source.Subject
	case s.Branch == "dec":
		what := "on " + mailbox.Handle(s.To, s.Request, 4)
		if e.Note != "" {
			what += ": " + e.Note
		}
		return what
	}
	what := fmt.Sprintf("%s, %s to %s", s.Kind, s.From, s.To)
	if e.Note != "" {
		what += ", " + e.Note
	}
	return what
}
