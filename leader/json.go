package leader

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/planmode"
	"github.com/planswarm/swarm/plans"
)

// The documents of --json (UX.md 2). Texts in them are foreign and unchanged: JSON escapes control characters itself.

// InboxDoc is what `swarm inbox --json` prints.
type InboxDoc struct {
	Waiting  int          `json:"waiting"`
	Requests []RequestDoc `json:"requests"`
}

// RequestDoc is one request.
type RequestDoc struct {
	ID          string           `json:"id"`
	Handle      string           `json:"handle"`
	Kind        RowKind          `json:"kind"`
	Teammate    string           `json:"teammate"`
	Agent       string           `json:"agent"`
	PlanID      string           `json:"planId,omitempty"`
	Revision    int              `json:"revision,omitempty"`
	Goal        string           `json:"goal"`
	Risk        RiskDoc          `json:"risk"`
	RequestedAt time.Time        `json:"requestedAt"`
	Deadline    *time.Time       `json:"deadline,omitempty"`
	Change      ChangeDoc        `json:"change"`
	Prompts     []PromptDoc      `json:"prompts"`
	ModeBack    permissions.Mode `json:"modeBack,omitempty"`
	ClaimedMode permissions.Mode `json:"claimedMode,omitempty"`
	Moved       *MovedDoc        `json:"moved,omitempty"`
	Signatures  SignaturesDoc    `json:"signatures"`
	Policy      *Advice          `json:"policy,omitempty"`
	Presence    string           `json:"presence,omitempty"`
	Escalated   []string         `json:"escalated,omitempty"` // the leaders to whom it was handed, because nobody decided
	Readers     []string         `json:"readers,omitempty"`   // other leaders who have it open
	Holders     []string         `json:"holders,omitempty"`   // other leaders who are about to decide it
	Problem     string           `json:"problem,omitempty"`
}

// RiskDoc is a request's risk.
type RiskDoc struct {
	Level   string      `json:"level"`
	Reasons []ReasonDoc `json:"reasons"`
}

// ReasonDoc is one reason of a risk, with the rule that found it.
type ReasonDoc struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
	Line int    `json:"line,omitempty"`
}

// ChangeDoc is the difference from the last revision seen; against is 0 when none was.
type ChangeDoc struct {
	Against int `json:"against"`
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// PromptDoc is one asked prompt. An empty intent cannot be granted.
type PromptDoc struct {
	Prompt   string   `json:"prompt"`
	Intent   string   `json:"intent"`
	Class    string   `json:"class"`
	Examples []string `json:"examples"`
}

// MovedDoc says how many of the files that were read have changed.
type MovedDoc struct {
	Of      int      `json:"of"`
	Changed []string `json:"changed"`
}

// SignaturesDoc says how many leaders have signed, and how many must.
type SignaturesDoc struct {
	Have int `json:"have"`
	Need int `json:"need"`
}

// ShowDoc is what `swarm show --json` prints.
type ShowDoc struct {
	RequestDoc
	Plan       *PlanDoc                       `json:"plan,omitempty"`
	Options    []plans.Option                 `json:"options,omitempty"`
	Tasks      []plans.Task                   `json:"tasks,omitempty"`
	Permission *permissions.PermissionRequest `json:"permission,omitempty"`
	Question   *mailbox.Question              `json:"question,omitempty"`
	Answer     *natsbox.AnswerInfo            `json:"answer,omitempty"`   // of a question
	Comments   []CommentDoc                   `json:"comments,omitempty"` // on the revision before, and what became of them
	Signed     *VoteDoc                       `json:"signed,omitempty"`   // what leaders have signed that needs more of them
	Decision   *DecisionDoc                   `json:"decision,omitempty"`
	Verdict    *AnswerDoc                     `json:"verdict,omitempty"` // of a call
	Ended      *EndedDoc                      `json:"ended,omitempty"`   // a request that waits no more
	Receipts   []mailbox.Receipt              `json:"receipts"`
}

// VoteDoc is a decision that needs more signatures than it has.
type VoteDoc struct {
	By         []string      `json:"by"` // who signed these bytes, its maker first
	At         time.Time     `json:"at"` // of the first signature
	Signatures SignaturesDoc `json:"signatures"`
	Code       string        `json:"code"` // for --signed
	Decision   *DecisionDoc  `json:"decision,omitempty"`
	Verdict    *AnswerDoc    `json:"verdict,omitempty"` // of a call
}

// NewVoteDoc is a vote on a request as JSON.
func NewVoteDoc(r *Row, v *Vote, have, need int) VoteDoc {
	d := VoteDoc{By: []string{}, At: docTime(v.At), Signatures: SignaturesDoc{Have: have, Need: need}, Code: v.Code()}
	if v.At.IsZero() {
		d.At = docTime(v.decidedAt())
	}
	for _, m := range v.By {
		d.By = append(d.By, m.Name)
	}
	if v.Answer != nil {
		doc := NewAnswerDoc(r, *v.Answer)
		d.Verdict = &doc
		return d
	}
	doc := NewDecisionDoc(r, *v.Decision)
	d.Decision = &doc
	return d
}

// EndedDoc says how a request ended, as the coordinator knows it.
type EndedDoc struct {
	// Outcome is that of a decision, allow, deny, answered, withdrawn, replaced, or void: no leader signed what is stored.
	Outcome string `json:"outcome"`
	By      string `json:"by,omitempty"`  // who decided or answered; the id of what replaced it
	Via     string `json:"via,omitempty"` // command, console, policy:RULE, deadline
	// Signers are the leaders who have signed it, where those are several; of what was not approved, who had signed.
	Signers  []string   `json:"signers,omitempty"`
	Reason   string     `json:"reason,omitempty"`
	At       *time.Time `json:"at,omitempty"`
	Recalled *time.Time `json:"recalled,omitempty"` // when its teammate was sent back to plan mode
}

func newEndedDoc(r *Row) *EndedDoc {
	var e EndedDoc
	switch d := r.Decision; {
	case d != nil && d.Valid && d.By != nil:
		e.Outcome, e.By, e.Via = d.Outcome, d.By.Name, d.By.Via
		if len(d.Signers) > 1 {
			e.Signers = d.Signers
		}
	case d != nil:
		e.Outcome, e.Reason = endedVoid, d.Reason
	case r.Answer != nil:
		e.Outcome, e.By = endedAnswered, r.Answer.By
	case r.Withdrawn != "":
		e.Outcome, e.Reason = endedWithdrawn, r.Withdrawn
	case r.SupersededBy != "":
		e.Outcome, e.By = endedReplaced, r.SupersededBy
	default:
		return nil
	}
	if at := r.endedAt(); !at.IsZero() {
		at = docTime(at)
		e.At = &at
	}
	if len(e.Signers) == 0 { // they wanted a decision that did not come
		for _, v := range r.Endorsements {
			e.Signers = append(e.Signers, v.From)
		}
		slices.Sort(e.Signers)
	}
	if r.Recalled != nil {
		at := docTime(r.Recalled.At)
		e.Recalled = &at
	}
	return &e
}

// How a request ends that nobody decides.
const (
	endedVoid      = "void"
	endedAnswered  = "answered"
	endedWithdrawn = "withdrawn"
	endedReplaced  = "replaced"
)

// PlanDoc is a plan's text and what a decision names it by.
type PlanDoc struct {
	Content string `json:"content"`
	Digest  string `json:"digest"`
}

// DecisionDoc is what `approve`, `reject` and `wait` print.
type DecisionDoc struct {
	RequestID     string                   `json:"requestId"`
	Handle        string                   `json:"handle"`
	Outcome       planmode.Outcome         `json:"outcome"`
	Mode          permissions.Mode         `json:"mode,omitempty"`
	Grants        []permissions.GrantTerms `json:"grants"`
	NotGranted    []string                 `json:"notGranted,omitempty"` // asked prompts that it leaves out
	Option        string                   `json:"option,omitempty"`
	Feedback      string                   `json:"feedback,omitempty"`
	Comments      []planmode.Comment       `json:"comments,omitempty"`
	MovedSeen     string                   `json:"movedSeen,omitempty"`
	PlanDigest    string                   `json:"planDigest"`
	PlanWasEdited bool                     `json:"planWasEdited"`
	// ApprovedDigest is there when something else than what was asked is approved: an edit, or fewer grants.
	ApprovedDigest string            `json:"approvedDigest,omitempty"`
	EditedPlan     string            `json:"editedPlan,omitempty"` // the plan as it was approved, when a leader changed it
	DecidedBy      mailbox.DecidedBy `json:"decidedBy"`
	DecidedAt      time.Time         `json:"decidedAt"`
	Receipt        *ReceiptDoc       `json:"receipt,omitempty"`
}

// ReceiptDoc is what became of a decision.
type ReceiptDoc struct {
	State  mailbox.ReceiptState `json:"state"`
	Mode   string               `json:"mode,omitempty"`
	Digest string               `json:"digest,omitempty"` // of the plan that is carried out now
	Grants []string             `json:"grants,omitempty"`
	Count  *int                 `json:"count,omitempty"` // grants ended, for a revocation
	Reason string               `json:"reason,omitempty"`
	At     time.Time            `json:"at"`
}

func newReceiptDoc(rec mailbox.Receipt, at time.Time) *ReceiptDoc {
	return &ReceiptDoc{
		State: rec.State, Mode: rec.Mode, Digest: rec.Digest, Grants: rec.Grants, Count: rec.Count, Reason: rec.Reason, At: docTime(at),
	}
}

// ErrorDoc is what is printed on stderr with --json.
type ErrorDoc struct {
	Error *Error `json:"error"`
}

// Doc is the queue as JSON.
func (q *Queue) Doc() InboxDoc {
	d := InboxDoc{Waiting: len(q.Rows), Requests: []RequestDoc{}}
	for i := range q.Rows {
		d.Requests = append(d.Requests, q.Rows[i].Doc())
	}
	return d
}

// Doc is the row as JSON.
func (r *Row) Doc() RequestDoc {
	d := RequestDoc{
		ID: r.EnvelopeID, Handle: r.Handle, Kind: r.Kind, Teammate: r.From, Agent: r.Agent, Revision: r.Revision, Goal: r.Goal,
		Risk:        RiskDoc{Level: string(r.Risk.Level), Reasons: []ReasonDoc{}},
		RequestedAt: docTime(r.StoredAt),
		Change:      ChangeDoc(r.Change), Prompts: []PromptDoc{},
		ModeBack: r.ModeBack, ClaimedMode: r.Claimed, Signatures: SignaturesDoc{Have: r.Have, Need: max(r.Need, 1)}, Presence: r.Presence,
	}
	for _, reason := range r.Risk.Reasons {
		d.Risk.Reasons = append(d.Risk.Reasons, ReasonDoc{Rule: reason.Rule, Text: reason.Text, Line: reason.Line})
	}
	for _, p := range r.Prompts {
		examples := p.Examples
		if examples == nil {
			examples = []string{}
		}
		d.Prompts = append(d.Prompts, PromptDoc{Prompt: p.Prompt, Intent: p.Intent, Class: classOf(p), Examples: examples})
	}
	if r.Request != nil {
		d.PlanID = r.Request.PlanID
	}
	if at, ok := r.deadline(); ok {
		at = docTime(at)
		d.Deadline = &at
	}
	if r.Moved != nil {
		d.Moved = &MovedDoc{Of: r.Moved.Of, Changed: append([]string{}, r.Moved.Changed...)}
	}
	if r.Advice.Outcome != "" {
		d.Policy = &r.Advice
	}
	d.Readers, d.Holders = r.Readers, r.Holders
	for _, e := range r.Escalated {
		d.Escalated = append(d.Escalated, e.To)
	}
	if r.Problem != nil {
		d.Problem = r.Problem.Error()
	}
	return d
}

// ShowDoc is the row with everything in it, as JSON, and what a leader decided on it.
func (r *Row) ShowDoc() ShowDoc {
	s := ShowDoc{RequestDoc: r.Doc(), Permission: r.Permission, Question: r.Question, Answer: r.Answer, Receipts: append([]mailbox.Receipt{}, r.Receipts...)}
	if q := r.Request; q != nil {
		s.Plan = &PlanDoc{Content: string(q.Plan.Content), Digest: q.Digest}
		s.Options, s.Tasks = q.Options, q.Tasks
	}
	if r.Vote != nil {
		doc := NewVoteDoc(r, r.Vote, r.Have, r.Need)
		s.Signed = &doc
	}
	if r.Decided != nil {
		doc := NewDecisionDoc(r, *r.Decided)
		s.Decision = &doc
	}
	if r.Verdict != nil {
		doc := NewAnswerDoc(r, *r.Verdict)
		s.Verdict = &doc
	}
	s.Ended = newEndedDoc(r)
	return s
}

// NewDecisionDoc is a decision as JSON.
func NewDecisionDoc(r *Row, d planmode.Decision) DecisionDoc {
	doc := DecisionDoc{
		Option: d.Option, Comments: d.Comments, MovedSeen: d.MovedSeen, EditedPlan: string(d.EditedPlan),
		RequestID: d.RequestID, Handle: r.Handle, Outcome: d.Outcome, Mode: d.Mode, Feedback: d.Feedback,
		Grants: append([]permissions.GrantTerms{}, d.Grants...), PlanDigest: d.PlanDigest, PlanWasEdited: d.PlanWasEdited,
		ApprovedDigest: d.ApprovedDigest, DecidedBy: d.DecidedBy, DecidedAt: docTime(d.DecidedAt),
	}
	if d.Outcome == planmode.OutcomeApproved {
		for _, p := range r.Prompts {
			if !slices.ContainsFunc(d.Grants, func(g permissions.GrantTerms) bool { return g.Prompt == p.Prompt }) {
				doc.NotGranted = append(doc.NotGranted, p.Prompt)
			}
		}
	}
	return doc
}

// WithReceipt adds what became of the decision, as it was known at at.
func (d DecisionDoc) WithReceipt(rec mailbox.Receipt, at time.Time) DecisionDoc {
	d.Receipt = newReceiptDoc(rec, at)
	return d
}

// docTime is a time in UTC, as JSON can say it: in the years 1 to 9999. What a member claims may lie outside of them, in UTC at
// least, and would fail the whole document.
func docTime(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 1:
		return time.Time{}
	}
	return t
}

// WriteJSON writes a document as one line of JSON in which nothing hides: characters that cannot be seen, or that a
// terminal would obey, are written as \u escapes, which every JSON reader turns back into what they are.
func WriteJSON(w io.Writer, doc any) error {
	text, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("leader: write JSON: %w", err)
	}
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x7f || r > 0x7f && unicode.IsGraphic(r) && !unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
			b.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
	}
	b.WriteByte('\n')
	_, err = io.WriteString(w, b.String())
	return err
}

// AnswerDoc is what `approve` and `reject` print of a permission request.
type AnswerDoc struct {
	RequestID string               `json:"requestId"`
	Handle    string               `json:"handle"`
	Behavior  permissions.Behavior `json:"behavior"`
	Scope     permissions.Scope    `json:"scope,omitempty"`
	Call      string               `json:"call"`
	Message   string               `json:"message,omitempty"`
	DecidedBy mailbox.DecidedBy    `json:"decidedBy"`
	DecidedAt time.Time            `json:"decidedAt"`
	Receipt   *ReceiptDoc          `json:"receipt,omitempty"`
}

// NewAnswerDoc is the answer to a permission request as JSON.
func NewAnswerDoc(r *Row, a planmode.PermissionAnswer) AnswerDoc {
	return AnswerDoc{
		RequestID: a.RequestID, Handle: r.Handle, Behavior: a.Behavior, Scope: a.Scope, Call: r.Goal, Message: a.Message,
		DecidedBy: a.DecidedBy, DecidedAt: docTime(a.DecidedAt),
	}
}

// WithReceipt adds what became of the answer, as it was known at at.
func (d AnswerDoc) WithReceipt(rec mailbox.Receipt, at time.Time) AnswerDoc {
	d.Receipt = newReceiptDoc(rec, at)
	return d
}

// ReplyDoc is what `swarm answer` prints.
type ReplyDoc struct {
	ID         string `json:"id"` // of the question's request
	Handle     string `json:"handle"`
	Teammate   string `json:"teammate"`
	QuestionID string `json:"questionId"`
	Option     string `json:"option,omitempty"`
	Text       string `json:"text,omitempty"`
}

// NewReplyDoc is the answer to a question as JSON.
func NewReplyDoc(r *Row, a mailbox.Answer) ReplyDoc {
	return ReplyDoc{ID: r.ID(), Handle: r.Handle, Teammate: r.From, QuestionID: a.QuestionID, Option: a.Option, Text: a.Text}
}

// OrderDoc is what `mode`, `recall`, `revoke` and `stop` print.
type OrderDoc struct {
	ID       string           `json:"id"`
	Kind     mailbox.Kind     `json:"kind"`
	Teammate string           `json:"teammate"`
	Mode     permissions.Mode `json:"mode,omitempty"`
	GrantID  string           `json:"grantId,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Counter  uint64           `json:"counter"`
	At       time.Time        `json:"at"`
	Receipt  *ReceiptDoc      `json:"receipt,omitempty"`
}

// NewOrderDoc is an order as JSON.
func NewOrderDoc(o Ordered) OrderDoc {
	return OrderDoc{ID: o.ID, Kind: o.Kind, Teammate: o.To, Counter: o.Counter, At: docTime(o.At)}
}

// WithReceipt adds what became of the order, as it was known at at.
func (d OrderDoc) WithReceipt(rec mailbox.Receipt, at time.Time) OrderDoc {
	d.Receipt = newReceiptDoc(rec, at)
	return d
}
