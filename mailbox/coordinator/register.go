package coordinator

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/permissions"
)

// record is what is kept of a member over restarts: the last word on its subject of the register.
type record struct {
	V            int               `json:"v"`
	Name         string            `json:"name"`
	Instance     string            `json:"instance"` // that holds the name
	Epoch        uint64            `json:"epoch"`
	JoinSeq      uint64            `json:"joinSeq"` // of the mail stream when the epoch began
	Known        permissions.Mode  `json:"known,omitempty"`
	KnownSeq     uint64            `json:"knownSeq"`        // of the mail stream, up to which Known counts
	Spent        uint64            `json:"spent,omitempty"` // of the decision stream, up to which decisions widen Known no more
	Joined       time.Time         `json:"joined"`
	Agent        string            `json:"agent,omitempty"`
	Version      string            `json:"version,omitempty"`
	Capabilities []string          `json:"capabilities,omitempty"`
	Fenced       []string          `json:"fenced,omitempty"` // instances that lost the name, the last ones
	Floors       map[string]uint64 `json:"floors,omitempty"` // acknowledged, by stream
}

// maxFenced is how many lost instances are remembered. Each is refused for as long.
const maxFenced = 32

// register is the stream that records lie in.
type register struct {
	js   jetstream.JetStream
	team string
}

func (r register) subject(rest string) string { return "swarm." + r.team + ".reg." + rest }

// put replaces the record of a member; it is on disk when put returns.
func (r register) put(ctx context.Context, rec record) error {
	rec.V = mailbox.Version
	data, err := json.Marshal(rec)
	if err == nil {
		_, err = r.js.Publish(ctx, r.subject("member."+rec.Name), data)
	}
	if err != nil {
		return fmt.Errorf("coordinator: register %s: %w", rec.Name, err)
	}
	return nil
}

// load reads all records.
func (r register) load(ctx context.Context) (map[string]record, error) {
	st, err := r.js.Stream(ctx, registerStream(r.team))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(r.subject("member.*")))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	records := map[string]record{}
	for subject := range info.State.Subjects {
		m, err := st.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return nil, fmt.Errorf("coordinator: read the register: %s: %w", subject, err)
		}
		var rec record
		if err := json.Unmarshal(m.Data, &rec); err != nil {
			return nil, fmt.Errorf("coordinator: the register is damaged: %s: %w: restore the store", subject, err)
		}
		if rec.V != mailbox.Version {
			return nil, fmt.Errorf("coordinator: %w: the register has version %d, and this swarm reads %d: update the older one", mailbox.ErrVersion, rec.V, mailbox.Version)
		}
		records[strings.TrimPrefix(subject, r.subject("member."))] = rec
	}
	return records, nil
}

// secret returns the secret of this store that makes consumer names unguessable, and makes it when there is none.
func (r register) secret(ctx context.Context) ([]byte, error) {
	st, err := r.js.Stream(ctx, registerStream(r.team))
	if err != nil {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	m, err := st.GetLastMsgForSubject(ctx, r.subject("secret"))
	if err == nil {
		return m.Data, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("coordinator: read the register: %w", err)
	}
	s := make([]byte, 32)
	_, _ = rand.Read(s) // never fails
	if _, err := r.js.Publish(ctx, r.subject("secret"), s); err != nil {
		return nil, fmt.Errorf("coordinator: write the register: %w", err)
	}
	return s, nil
}
