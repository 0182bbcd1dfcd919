package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/charter"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// idleConsumer is how long a mailbox keeps its place when nobody reads it. After that the register knows the place.
const idleConsumer = 14 * 24 * time.Hour

// maxDeliver is how often mail is delivered before it stays unread. Decisions have no such end.
const maxDeliver = 8

// box is one consumer of a member: which stream, which subjects of it, how often at most, and how many messages may be
// delivered and not acknowledged (-1 is any number).
type box struct {
	stream     string
	filters    []string
	maxDeliver int
	pending    int
}

// boxes are the consumers that a member of a role has.
func boxes(team string, m charter.Member) []box {
	branch := func(b, to string) string { return "swarm." + team + "." + b + "." + to + ".>" }
	mail := box{mailStream(team), []string{branch("mb", m.Name), branch("mb", mailbox.All)}, maxDeliver, -1} // no amount of unread mail hides the next
	switch m.Role {
	case charter.RoleTeammate:
		return []box{
			mail,
			{decisionStream(team), []string{branch("dec", m.Name)}, -1, -1},
			// One after the other: an order that was on its way as a connection broke would else come after the next one,
			// and be refused as old.
			{orderStream(team), []string{branch("ord", m.Name)}, maxDeliver, 1},
		}
	case charter.RoleLeader:
		mail.filters = append(mail.filters, branch("mb", mailbox.Lead))
		return []box{mail}
	}
	return nil
}

// makeConsumers makes a member's consumers where they are missing. A new one goes on where the last one of this member
// stood.
func makeConsumers(ctx context.Context, js jetstream.JetStream, team string, m charter.Member, durable string, floors map[string]uint64) error {
	for _, b := range boxes(team, m) {
		_, err := js.Consumer(ctx, b.stream, durable)
		if err == nil {
			continue
		}
		if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("coordinator: look at the consumer of %s on %s: %w", m.Name, b.stream, err)
		}
		if _, err := js.CreateConsumer(ctx, b.stream, b.config(durable, floors[b.stream])); err != nil {
			return fmt.Errorf("coordinator: make the consumer of %s on %s: %w", m.Name, b.stream, err)
		}
	}
	return nil
}

func (b box) config(durable string, floor uint64) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: durable, FilterSubjects: b.filters, DeliverPolicy: jetstream.DeliverAllPolicy,
		AckPolicy: jetstream.AckExplicitPolicy, BackOff: natsbox.BackOff(), MaxDeliver: b.maxDeliver,
		MaxAckPending:     b.pending,
		InactiveThreshold: idleConsumer,
	}
	if floor > 0 {
		c.DeliverPolicy, c.OptStartSeq = jetstream.DeliverByStartSequencePolicy, floor+1
	}
	return c
}

// floorsOf returns up to where a member has acknowledged everything, by stream. Where there is no consumer, what was
// known before stays.
func floorsOf(ctx context.Context, js jetstream.JetStream, team string, m charter.Member, durable string, before map[string]uint64) (map[string]uint64, error) {
	floors := map[string]uint64{}
	for _, b := range boxes(team, m) {
		floors[b.stream] = before[b.stream]
		c, err := js.Consumer(ctx, b.stream, durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("coordinator: look at the consumer of %s on %s: %w", m.Name, b.stream, err)
		}
		floors[b.stream] = max(floors[b.stream], c.CachedInfo().AckFloor.Stream)
	}
	return floors, nil
}

// dropConsumers ends the consumers of an instance that lost its name.
func dropConsumers(ctx context.Context, js jetstream.JetStream, team string, m charter.Member, durable string) error {
	for _, b := range boxes(team, m) {
		err := js.DeleteConsumer(ctx, b.stream, durable)
		if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return fmt.Errorf("coordinator: end the consumer of %s on %s: %w", m.Name, b.stream, err)
		}
	}
	return nil
}
