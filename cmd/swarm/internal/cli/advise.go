package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planswarm/swarm/cmd/swarm/internal/app"
	"github.com/planswarm/swarm/leader"
)

// advices say what a teammate can do instead of a leader's verb.
var advices = []struct {
	verbs []string
	next  string
}{
	{[]string{"approve", "reject", "wait", "hold"}, "wait for the answer with swarm plan wait"},
	{[]string{"inbox", "show", "status", "watch", "logs"}, "swarm plan status tells how you stand, swarm mail recv takes your mail"},
	{[]string{"grants"}, "swarm plan status names your grants"},
	{[]string{"revoke", "mode", "recall", "stop"}, "swarm plan enter goes back to planning; for the rest, swarm ask TEXT asks a leader"},
	{[]string{"message", "answer"}, "swarm mail send NAME TEXT writes to a member, or to lead"},
	{[]string{"mail"}, "swarm mail send, recv, read and trace are yours"},
	{[]string{"up", "run", "teammate", "team", "trust", "audit"}, "swarm ask TEXT asks a leader for it"},
}

// adviseTeammate gives the error of a leader's verb that a teammate has called the advice that fits the verb.
func adviseTeammate(cmd *cobra.Command, err error) error {
	var e *leader.Error
	if cmd == nil || !errors.As(err, &e) || e.Name != app.InsideTeammate {
		return err
	}
	words := strings.Fields(cmd.CommandPath())
	for _, a := range advices {
		if len(words) > 1 && slices.Contains(a.verbs, words[1]) {
			told := *e
			told.Next = a.next
			return &told
		}
	}
	return err
}
