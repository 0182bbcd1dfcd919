package leader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// Sender sends mail. [*natsbox.Conn] is one.
type Sender interface {
	Send(context.Context, mailbox.Envelope) (natsbox.Stored, error)
}

// Replies sends answers, and looks which one a question has. [*natsbox.Conn] is one.
type Replies interface {
	Sender
	Request(ctx context.Context, id string) (natsbox.Row, error)
}

// A Replier is a [Decider] that also answers questions. Its rules are Decide's: it returns [ErrAbstain] for what is not
// its to answer. An answer changes nothing but what the teammate reads (invariant 4).
type Replier interface {
	Reply(context.Context, Request) (mailbox.Answer, error)
}

// The limits of a question, as teammates keep them.
const (
	maxQuestion        = 16 << 10 // bytes
	maxQuestionOptions = 4
)

// replyWait is how long an answer that is stored is looked for with the coordinator.
var replyWait = 3 * time.Second // tests on a busy machine wait longer

// Reply answers a question: with one of its options, by label or number, with text, or with both. It is plain mail, and
// never approves anything.
//
// Answers are not write-once: the teammate takes the first that is stored, as the coordinator does. Reply says who was
// first, with a [DecidedError], where the coordinator can tell in time; when it is away, a nil error says only that the
// answer is stored. Other refusals are [Error]s, and nothing was sent then.
func Reply(ctx context.Context, box Replies, c charter.Charter, me string, r Row, option, text string, now time.Time) (mailbox.Answer, error) {
	a, err := PrepareReply(r, option, text)
	if err != nil {
		return mailbox.Answer{}, err
	}
	if err := sendReply(ctx, box, c, me, &r, a, now); err != nil {
		return mailbox.Answer{}, err
	}
	return a, nil
}

// PrepareReply is the answer that [Reply] sends. The errors are [Error]s.
func PrepareReply(r Row, option, text string) (mailbox.Answer, error) {
	switch {
	case r.Question == nil:
		return mailbox.Answer{}, errNotAQuestion(&r)
	case r.Answer != nil:
		return mailbox.Answer{}, errAnswered(&r, *r.Answer)
	case !r.Open():
		return mailbox.Answer{}, errWithdrawn(&r)
	case r.Problem != nil:
		return mailbox.Answer{}, errOdd(&r, r.Problem)
	case blank(option) && blank(text):
		return mailbox.Answer{}, errBadChoice("say something, or choose one of its options", "the answer to %s is empty", r.Handle)
	case len(text) > maxText:
		return mailbox.Answer{}, errBadChoice(fmt.Sprintf("at most %d are sent", maxText), "the answer has %d bytes", len(text))
	}
	if err := checkUTF8("the answer", text); err != nil {
		return mailbox.Answer{}, err
	}
	label, err := questionOption(&r, option)
	return mailbox.Answer{QuestionID: r.Question.QuestionID, Option: label, Text: text}, err
}

// questionOption reads a label or a number.
func questionOption(r *Row, option string) (string, error) {
	offered := r.Question.Options
	switch {
	case option == "":
		return "", nil
	case len(offered) == 0:
		return "", errBadChoice("answer it with text", "%s offers no options to choose from", r.Handle)
	}
	n, err := strconv.Atoi(option)
	numbered := err == nil && n >= 1 && n <= len(offered)
	switch i := slices.Index(offered, option); {
	case i >= 0 && numbered && n != i+1:
		return "", errBadChoice("answer it with text", "%s is the number of one option of %s and the label of another", quote(option), r.Handle)
	case i >= 0:
		return option, nil
	case numbered:
		return offered[n-1], nil
	}
	var names []string
	for i, o := range offered {
		names = append(names, fmt.Sprintf("%d %s", i+1, plans.Cut(plans.VisibleLine(o), 40)))
	}
	return "", errBadChoice("choose "+strings.Join(names, ", "), "%s has no option %s", r.Handle, quote(option))
}

// sendReply sends an answer and finds out whether it is the first.
func sendReply(ctx context.Context, box Replies, c charter.Charter, me string, r *Row, a mailbox.Answer, now time.Time) error {
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindAnswer, c.Team, me, r.From, 0, now, a)
	if err != nil {
		return fmt.Errorf("leader: write the answer: %w", err)
	}
	env.InReplyTo = r.ID()
	if _, err := box.Send(ctx, env); err != nil {
		return err
	}
	return firstAnswer(ctx, box, r, env.ID)
}

// firstAnswer asks the coordinator whose answer the question has. It may be a moment behind the mail.
func firstAnswer(ctx context.Context, box Replies, r *Row, mine string) error {
	ctx, cancel := context.WithTimeout(ctx, replyWait)
	defer cancel()
	for every := receiptEvery; ; every = min(2*every, receiptEveryMax) {
		known, err := box.Request(ctx, r.ID())
		switch {
		case err != nil && !errors.Is(err, natsbox.ErrUnreachable):
			return nil // stored is what counts
		case err == nil && known.Answer != nil && known.Answer.EnvelopeID != mine:
			return errAnswered(r, *known.Answer)
		case err == nil && !known.Open():
			return nil
		}
		if sleep(ctx, every) != nil {
			return nil
		}
	}
}

// Write sends plain mail to a member, or to all of them, and returns its id. It never approves anything.
func Write(ctx context.Context, box Sender, c charter.Charter, me, to string, letter mailbox.Message, now time.Time) (id string, err error) {
	size := len(letter.Text) + len(letter.Summary)
	switch m, ok := c.Member(to); {
	case to != mailbox.All && to != mailbox.Lead && (!ok || m.Retired):
		return "", errNoRecipient(to, c)
	case blank(letter.Text):
		return "", errBadChoice("say something", "the message to %s is empty", quote(to))
	case size > maxText:
		return "", errBadChoice(fmt.Sprintf("at most %d are sent: put it into a file of the project, and name that", maxText), "the message has %d bytes", size)
	}
	if err := checkUTF8("the message", letter.Text+letter.Summary); err != nil {
		return "", err
	}
	env, err := mailbox.New(natsbox.NewID(), mailbox.KindMessage, c.Team, me, to, 0, now, letter)
	if err != nil {
		return "", fmt.Errorf("leader: write the message: %w", err)
	}
	if _, err := box.Send(ctx, env); err != nil {
		return "", err
	}
	return env.ID, nil
}

// blank reports whether nothing can be seen in a text.
func blank(text string) bool { return errors.Is(plans.Check([]byte(text)), plans.ErrEmpty) }

// checkUTF8 refuses what would reach the teammate as other text than was written.
func checkUTF8(what, text string) error {
	if !utf8.ValidString(text) {
		return errBadChoice("save it as UTF-8", "%s is not UTF-8", what)
	}
	return nil
}

// checkQuestion reports why a question cannot be shown as one.
func checkQuestion(r natsbox.Row) error {
	q := r.Question
	switch {
	case blank(q.Text):
		return errors.New("it asks nothing")
	case len(q.Text) > maxQuestion:
		return fmt.Errorf("its question has %d bytes, and %d are allowed", len(q.Text), maxQuestion)
	case len(q.Options) > maxQuestionOptions:
		return fmt.Errorf("it has %d options, and %d are allowed", len(q.Options), maxQuestionOptions)
	case slices.ContainsFunc(q.Options, blank):
		return errors.New("an option is empty")
	case q.QuestionID == "" || r.EnvelopeID == "":
		return errors.New("it has no id")
	}
	return nil
}
