package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
)

// holdDoc is how a hold stands; hold --json prints one object when it begins, and one when it has ended.
type holdDoc struct {
	RequestID string   `json:"requestId"`
	Handle    string   `json:"handle"`
	State     string   `json:"state"`         // held, released, settled
	End       *waitDoc `json:"end,omitempty"` // what became of it, when it is settled
}

func newHold(sh *shell) *cobra.Command {
	var release bool
	c := &cobra.Command{
		Use: "hold [REQUEST]", Short: "tell the other leaders that you are deciding a request", Args: cobra.MaximumNArgs(1),
		Long: "Hold a request while you look into it: the other leaders' inbox and show say that you decide it. It lasts\n" +
			"as long as this command runs: until the request is settled, Ctrl-C, --timeout, or swarm hold --release\n" +
			"in another terminal. It locks nothing: another leader can decide, and deadlines go on. You hold one\n" +
			"request at a time. approve --hold 5s is another thing: a decision that can be taken back until it is sent.",
		Example:           "  swarm hold api-9w3c\n  swarm hold api-9w3c --timeout 30m\n  swarm hold --release",
		ValidArgsFunction: completeHandles(sh),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !release && len(args) == 0 {
				return usage("hold needs one request, or --release: swarm inbox lists what waits")
			}
			return asLeader(sh, func(ctx context.Context, l *app.Leader) error {
				if release {
					return letGo(ctx, sh, l, args)
				}
				return hold(ctx, sh, l, args[0])
			})(cmd, nil)
		},
	}
	c.Flags().BoolVar(&release, "release", false, "end the hold that another terminal has")
	return c
}

func hold(ctx context.Context, sh *shell, l *app.Leader, handle string) error {
	h, err := l.Hold(ctx, handle, lost(sh), func(h app.Hold) error {
		return printEvent(sh, holdDoc{RequestID: h.Row.ID(), Handle: h.Row.Handle, State: h.State},
			"held "+h.Row.Label()+": the other leaders see that you decide it; Ctrl-C or swarm hold --release ends that")
	})
	if err != nil {
		return err
	}
	d := holdDoc{RequestID: h.Row.ID(), Handle: h.Row.Handle, State: h.State}
	text := "released " + h.Row.Handle
	if h.State == app.HoldSettled {
		end, line, _ := ended(&leader.Queue{}, h.Row)
		d.End, text = &end, "settled: "+line[:len(line)-1]
	}
	return printEvent(sh, d, text)
}

func letGo(ctx context.Context, sh *shell, l *app.Leader, args []string) error {
	handle := ""
	if len(args) == 1 {
		handle = args[0]
	}
	id, released, err := l.Release(ctx, handle)
	if err != nil {
		return err
	}
	return sh.print(holdDoc{RequestID: id, Handle: released, State: app.HoldReleased}, fmt.Sprintf("released %s\n", released))
}
