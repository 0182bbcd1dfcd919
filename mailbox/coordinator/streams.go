package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// ErrForeignStream means that a stream of our name is configured as we never do.
var ErrForeignStream = errors.New("coordinator: a stream of this name is not ours")

// What of the store each kind of mail may fill. The rest, more than a quarter, is left to decisions and audit: a flood
// of mail must never stop a decision.
const (
	mailShare  = 60 // percent
	orderShare = 10 // percent
	statusMax  = 32 << 20
)

// Labels of our streams.
const (
	labelVersion = "swarm_v"
	labelTeam    = "swarm_team_id"
)

func mailStream(team string) string     { return "MB_" + team }
func decisionStream(team string) string { return "DEC_" + team }
func orderStream(team string) string    { return "ORD_" + team }
func statusStream(team string) string   { return "STAT_" + team }
func registerStream(team string) string { return "REG_" + team }

// streams is the table of PROTOCOL.md, and the register. Everything that would let a header change what is stored
// (rollup, TTL, schedules, batches, counters) stays off.
func streams(team, teamID string, store int64) []jetstream.StreamConfig {
	base := func(name, branch string) jetstream.StreamConfig {
		return jetstream.StreamConfig{
			Name: name, Subjects: []string{"swarm." + team + "." + branch + ".>"},
			Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy,
			MaxConsumers: -1, MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxMsgsPerSubject: -1,
			Duplicates: 2 * time.Minute, Replicas: 1,
			Metadata: map[string]string{labelVersion: strconv.Itoa(mailbox.Version), labelTeam: teamID},
		}
	}
	mail := func(name, branch string, share int64) jetstream.StreamConfig {
		c := base(name, branch)
		c.MaxMsgsPerSubject, c.Discard, c.DiscardNewPerSubject = natsbox.MaxPerSender, jetstream.DiscardNew, true
		c.MaxMsgSize, c.MaxBytes = natsbox.MaxMail, store/100*share
		return c
	}
	dec := base(decisionStream(team), "dec")
	dec.MaxMsgsPerSubject, dec.Discard, dec.DiscardNewPerSubject = 1, jetstream.DiscardNew, true
	dec.DenyDelete, dec.DenyPurge, dec.AllowDirect = true, true, true
	stat := base(statusStream(team), "stat")
	stat.Storage, stat.MaxMsgsPerSubject, stat.MaxAge = jetstream.MemoryStorage, 1, 5*time.Minute
	stat.MaxBytes, stat.MaxMsgSize, stat.AllowDirect = statusMax, 128<<10, true
	log := base(auditStream(team), "audit")
	log.DenyDelete, log.DenyPurge, log.Discard = true, true, jetstream.DiscardNew
	reg := base(registerStream(team), "reg")
	reg.MaxMsgsPerSubject = 1
	dead := deadConfig(team, base(deadStream(team), "dead"), store)
	return []jetstream.StreamConfig{
		mail(mailStream(team), "mb", mailShare), dec, mail(orderStream(team), "ord", orderShare), stat, reg, log, dead,
	}
}

// makeStreams makes what is missing and refuses what is not ours.
func makeStreams(ctx context.Context, js jetstream.JetStream, want []jetstream.StreamConfig) error {
	if err := otherTeam(ctx, js, want); err != nil {
		return err
	}
	for _, w := range want {
		if err := makeStream(ctx, js, w); err != nil {
			return err
		}
	}
	return nil
}

// otherTeam refuses a store that has the streams of a team, and none of ours: it was put where ours was.
func otherTeam(ctx context.Context, js jetstream.JetStream, want []jetstream.StreamConfig) error {
	other, ours := "", false
	list := js.ListStreams(ctx)
	for s := range list.Info() {
		switch team, ok := strings.CutPrefix(s.Config.Name, mailStream("")); {
		case slices.ContainsFunc(want, func(w jetstream.StreamConfig) bool { return w.Name == s.Config.Name }):
			ours = true
		case ok && s.Config.Metadata[labelVersion] != "":
			other = team
		}
	}
	if err := list.Err(); err != nil {
		return fmt.Errorf("coordinator: look at the streams: %w", err)
	}
	if other != "" && !ours {
		return fmt.Errorf("%w: it is the store of team %s: move it away, or give --team %s", ErrForeignStream, other, other)
	}
	return nil
}

func makeStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) error {
	st, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if _, err := js.CreateStream(ctx, want); err != nil {
			return fmt.Errorf("coordinator: make stream %s: %w: start swarm up with a larger --max-store", want.Name, err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("coordinator: look at stream %s: %w", want.Name, err)
	}
	got := st.CachedInfo().Config
	if why := foreign(want, got); why != "" {
		return fmt.Errorf("%w: %s: %s: use another store folder, or another team name", ErrForeignStream, want.Name, why)
	}
	if got.MaxBytes == want.MaxBytes {
		return nil
	}
	got.MaxBytes = want.MaxBytes // the store has another size now
	if _, err := js.UpdateStream(ctx, got); err != nil {
		return fmt.Errorf("coordinator: give stream %s its share of the store: %w: start swarm up with a larger --max-store", want.Name, err)
	}
	return nil
}

// foreign returns what makes a stream another than ours, or nothing.
func foreign(want, got jetstream.StreamConfig) string {
	if got.Metadata[labelVersion] == "" {
		return "another program made it"
	}
	if g, w := got.Metadata[labelVersion], want.Metadata[labelVersion]; g != w {
		return fmt.Sprintf("its %s is %q, want %q", labelVersion, g, w)
	}
	if got.Metadata[labelTeam] != want.Metadata[labelTeam] {
		return "it is of another team of this name, with another owner"
	}
	w, g := traits(want), traits(got)
	for _, name := range slices.Sorted(maps.Keys(w)) {
		if w[name] != g[name] {
			return fmt.Sprintf("its %s is %s, want %s", name, g[name], w[name])
		}
	}
	return ""
}

// traits are the settings of a stream that its guarantees rest on.
func traits(c jetstream.StreamConfig) map[string]string {
	t := map[string]string{}
	for name, v := range map[string]any{
		"subjects": c.Subjects, "storage": c.Storage, "retention": c.Retention, "discard": c.Discard,
		"discard per subject": c.DiscardNewPerSubject, "messages per subject": c.MaxMsgsPerSubject,
		"age": c.MaxAge, "message size": c.MaxMsgSize, "messages": c.MaxMsgs, "no ack": c.NoAck, "sealed": c.Sealed,
		"deny delete": c.DenyDelete, "deny purge": c.DenyPurge, "rollup": c.AllowRollup, "direct get": c.AllowDirect,
		"message TTL": c.AllowMsgTTL, "counter": c.AllowMsgCounter, "atomic publish": c.AllowAtomicPublish,
		"schedules": c.AllowMsgSchedules, "batches": c.AllowBatchPublish, "mirror": c.Mirror != nil,
		"sources": len(c.Sources), "transform": c.SubjectTransform != nil, "republish": c.RePublish != nil,
	} {
		t[name] = fmt.Sprint(v)
	}
	return t
}
