package charter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/planswarm/swarm/mailbox"
)

// SigHeader is the message header that carries an order's signatures, one value for each signer.
const SigHeader = "Swarm-Sig"

// Order is a signed order as it is stored: where, what, and by whom. Payload is the whole envelope.
type Order struct {
	Subject string
	Payload []byte
	Sigs    []string // "<public key>.<signature in base64url>"
}

// SignOrder returns kp's signature for an order, as [SigHeader] carries it. The subject is signed too: an order for one
// request or teammate is none for another.
func SignOrder(kp nkeys.KeyPair, subject string, payload []byte) (string, error) {
	key, err := kp.PublicKey()
	if err != nil {
		return "", fmt.Errorf("charter: sign order: %w", err)
	}
	if err := checkUserKey(key); err != nil {
		return "", err
	}
	if strings.Contains(subject, "\n") {
		return "", fmt.Errorf("%w: subject %q has more than one line: take DecisionSubject or OrderSubject", ErrBadOrder, subject)
	}
	sig, err := sign(kp, orderStart(subject), payload)
	if err != nil {
		return "", fmt.Errorf("charter: sign order: %w", err)
	}
	return key + "." + sig, nil
}

// orderStart is what stands before an order's payload in what is signed.
func orderStart(subject string) []byte { return []byte(orderContext + subject + "\n") }

// OpenOrder verifies that a leader of this team signed the order, and only then reads it: envelope and body strictly, and
// both must be for the team, member, kind and request that the subject names. The body must name the charter's team id,
// and as decidedBy one of the leaders who signed.
//
// Errors are [ErrNotLeader], and [ErrBadOrder] for what a leader signed and nobody can use. Whether that leader's key had
// ended, and whether these leaders may decide this, is for [Judge]; a caller needs both.
func OpenOrder[T any](c Charter, o Order) (mailbox.Envelope, T, error) {
	return openOrder[T](c, o, false)
}

// OpenStored is [OpenOrder] for history and counters: where the order names an earlier charter than c, it may say of its
// leader's key that it is kept otherwise than c says, as the key may have been sealed since, or unsealed. Whoever carries an
// order out takes OpenOrder.
func OpenStored[T any](c Charter, o Order) (mailbox.Envelope, T, error) {
	return openOrder[T](c, o, true)
}

func openOrder[T any](c Charter, o Order, stored bool) (mailbox.Envelope, T, error) {
	var none T
	signers, reason := c.signers(o, func(Member) bool { return true })
	if len(signers) == 0 {
		return mailbox.Envelope{}, none, fmt.Errorf("%w: %s: only a leader decides", ErrNotLeader, reason)
	}
	env, err := c.orderEnvelope(o)
	if err != nil {
		return mailbox.Envelope{}, none, badOrder(signers, err)
	}
	body, err := mailbox.StrictBody[T](env)
	if err != nil {
		return mailbox.Envelope{}, none, badOrder(signers, err)
	}
	if err := c.checkHead(o, env, signers, stored); err != nil {
		return mailbox.Envelope{}, none, badOrder(signers, err)
	}
	return env, body, nil
}

func badOrder(signers []Member, cause error) error {
	return fmt.Errorf("%w: signed by %s: %w", ErrBadOrder, signers[0].Name, cause)
}

// orderEnvelope reads the verified payload, and compares it with the tokens of the subject.
func (c Charter) orderEnvelope(o Order) (mailbox.Envelope, error) {
	s, err := mailbox.ParseSubject(o.Subject)
	if err != nil {
		return mailbox.Envelope{}, err
	}
	if _, err := mailbox.Decode(o.Payload); err != nil { // the version first: another one may have other fields
		return mailbox.Envelope{}, err
	}
	var e mailbox.Envelope
	if err := mailbox.DecodeStrict(o.Payload, &e); err != nil {
		return mailbox.Envelope{}, err
	}
	switch {
	case s.Team != c.Team || e.Team != s.Team:
		err = fmt.Errorf("it is for team %q on a subject of %q, and this is %q", e.Team, s.Team, c.Team)
	case e.To != s.To:
		err = fmt.Errorf("it is to %q on the subject of %q", e.To, s.To)
	case s.Branch == "dec" && !e.Kind.Answers(), s.Branch == "ord" && (!e.Kind.Orders() || e.Kind != s.Kind):
		err = fmt.Errorf("a %s is no order on %s", e.Kind, o.Subject)
	case s.Branch == "ord" && e.From != s.From:
		err = fmt.Errorf("it is from %q on a subject of %q", e.From, s.From)
	case s.Branch != "dec" && s.Branch != "ord":
		err = fmt.Errorf("no order is stored on %s", o.Subject)
	}
	return e, err
}

// checkHead checks what every order's body begins with. The body was read strictly, so each name is there at most once.
func (c Charter) checkHead(o Order, e mailbox.Envelope, signers []Member, stored bool) error {
	var head struct {
		TeamID        string            `json:"teamId"`
		CharterSerial uint64            `json:"charterSerial"`
		RequestID     string            `json:"requestId"`
		DecidedBy     mailbox.DecidedBy `json:"decidedBy"`
	}
	if err := json.Unmarshal(e.Body, &head); err != nil {
		return fmt.Errorf("%w: %w", mailbox.ErrMalformed, err)
	}
	if head.TeamID != c.TeamID {
		return fmt.Errorf("teamId %q is of another team", head.TeamID)
	}
	s, err := mailbox.ParseSubject(o.Subject)
	if err != nil {
		return err
	}
	if s.Branch == "dec" && head.RequestID != s.Request {
		return fmt.Errorf("it answers request %q in the slot of %q", head.RequestID, s.Request)
	}
	return checkDecidedBy(head.DecidedBy, signers, stored && head.CharterSerial < c.Serial)
}

// checkDecidedBy refuses an order that shows people another leader, kind or assurance than the signature proves. By an earlier
// charter the key may have been kept otherwise.
func checkDecidedBy(by mailbox.DecidedBy, signers []Member, earlier bool) error {
	i := slices.IndexFunc(signers, func(m Member) bool { return m.Name == by.Name })
	if i < 0 {
		return fmt.Errorf("decidedBy %q did not sign it", by.Name)
	}
	m := signers[i]
	if by.Kind != string(m.Kind) {
		return fmt.Errorf("decidedBy says that %s is %q, the charter %q", m.Name, by.Kind, m.Kind)
	}
	if !earlier && by.Assurance != "" && m.Assurance != "" && by.Assurance != string(m.Assurance) {
		return fmt.Errorf("decidedBy says that the key of %s is %q, the charter %q", m.Name, by.Assurance, m.Assurance)
	}
	return nil
}
