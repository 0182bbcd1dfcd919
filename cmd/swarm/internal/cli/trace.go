package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
	"github.com/planswarm/swarm/mailbox"
	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/teammate/gate"
)

// traceEvery is how often a followed trace is looked at again.
const traceEvery = 250 * time.Millisecond

func newMailTrace(sh *shell) *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use: "trace ID", Short: "how far mail, a request or an order has come", Args: cobra.ExactArgs(1),
		Long: "Tell what is stored about one piece of mail, a request and its decision, or an order: where it\n" +
			"lies, who has taken it (delivered), who has had it before its eyes (seen), and whether it was\n" +
			"applied or refused. ID is the id that sending printed, its beginning, a request's handle, or a\n" +
			"teammate's name for its newest request. With --follow: until nothing more is waited for.",
		Example:           "  swarm mail trace api-9w3c\n  swarm mail trace 01a22f7c-0591 --follow --timeout 5m",
		ValidArgsFunction: completeHandles(sh),
		RunE: func(cmd *cobra.Command, words []string) error {
			if asTeammate() {
				return traceAsTeammate(cmd, sh, words[0], follow)
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				return trace(ctx, sh, follow, func() (traced, error) { return lookAt(ctx, l, words[0]) })
			})(cmd, nil)
		},
	}
	c.Flags().BoolVar(&follow, "follow", false, "go on until nothing more is waited for")
	return c
}

// traced is a trace, and for leaders how many of them have signed what waits.
type traced struct {
	natsbox.Trace
	signatures leader.SignaturesDoc
}

func lookAt(ctx context.Context, l *app.Leader, id string) (traced, error) {
	t, err := l.Trace(ctx, id)
	out := traced{Trace: t}
	waits := slices.ContainsFunc(t.Waits, func(w natsbox.TraceWait) bool { return w.For == natsbox.TraceDecided })
	if err != nil || !waits || t.Kind == mailbox.KindQuestion {
		return out, err
	}
	q, err := l.Queue(ctx, t.ID)
	if err != nil {
		return out, err
	}
	if row, err := q.FindAny(t.ID); err == nil { // else it has just been settled
		out.signatures = leader.SignaturesDoc{Have: row.Have, Need: row.Need}
	}
	return out, nil
}

func traceAsTeammate(cmd *cobra.Command, sh *shell, id string, follow bool) error {
	t, err := timeoutFlag(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	if t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t)
		defer cancel()
	}
	return trace(ctx, sh, follow, func() (traced, error) {
		var out natsbox.Trace
		_, err := askAnd(ctx, sh, gate.VerbTrace, gate.ReadArgs{ID: id}, func(r gate.Answer) error {
			if err := json.Unmarshal(r.Result, &out); err != nil {
				return fmt.Errorf("the gate's answer to %s cannot be read: %w", gate.VerbTrace, err)
			}
			return nil
		})
		return traced{Trace: out}, err
	})
}

// trace prints what a look tells, and with follow what is new in it, one document a change with --json. A broker that is
// away is waited for then.
func trace(ctx context.Context, sh *shell, follow bool, look func() (traced, error)) error {
	var w leader.TraceWriter
	var before traced
	for begun := false; ; {
		t, err := look()
		switch {
		case err == nil && (!begun || !reflect.DeepEqual(t, before)):
			if err := printTrace(sh, &w, t); err != nil {
				return err
			}
			begun, before = true, t
		case err != nil && !(follow && begun && ctx.Err() == nil && isAway(err)):
			return err
		}
		if !follow || err == nil && len(t.Waits) == 0 {
			return nil
		}
		if err := pause(ctx, traceEvery); err != nil {
			return err
		}
	}
}

// isAway reports whether the broker does not answer.
func isAway(err error) bool {
	code, _ := explain(err)
	return code == ExitNoBroker
}

func printTrace(sh *shell, w *leader.TraceWriter, t traced) error {
	if sh.json {
		doc := leader.NewTraceDoc(t.Trace)
		if t.signatures.Need > 1 {
			doc.Signatures = &t.signatures
		}
		return leader.WriteJSON(sh.out, doc)
	}
	w.Signatures = t.signatures
	return w.Write(sh.out, t.Trace, time.Now())
}

// pause waits, and returns why it ended before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
