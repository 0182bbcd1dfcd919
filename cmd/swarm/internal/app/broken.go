package app

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/planswarm/swarm/mailbox/natsbox"
	"github.com/planswarm/swarm/plans"
)

// serverError says that what answers is no broker of a swarm, or one that is too old.
func serverError(err error, where string) error {
	where = plans.VisibleLine(where)
	if errors.Is(err, natsbox.ErrOldServer) {
		return fail(exitNoBroker, "old_server", fmt.Sprintf("the broker at %s is too old (%s)", where, plans.VisibleLine(plainCode(err, natsbox.ErrOldServer))), "update the swarm that runs there")
	}
	return fail(exitNoBroker, "foreign_server", fmt.Sprintf("what answers at %s is not a swarm's broker: it is %s", where, plans.VisibleLine(plainCode(err, natsbox.ErrForeignServer))), "")
}

// plainCode is an error's text behind that of the sentinel which it wraps.
func plainCode(err, sentinel error) string {
	if text, ok := strings.CutPrefix(err.Error(), sentinel.Error()+": "); ok {
		return text
	}
	return plainText(err)
}

// portFree refuses a wanted address that another program has, or that this machine cannot listen on, before anything is
// started.
func portFree(listen string) error {
	if listen == "" {
		return nil
	}
	l, err := net.Listen("tcp", listen)
	switch {
	case err == nil:
		return l.Close()
	case errors.Is(err, syscall.EADDRINUSE):
		return portTaken(listen)
	}
	var errno syscall.Errno
	if errors.As(err, &errno) { // without the address once more
		err = errno
	}
	return badListen(listen, fmt.Sprintf(" (%v)", err))
}

func badListen(listen, why string) error {
	return fail(exitUsage, "bad_listen", fmt.Sprintf("--listen %s cannot be listened on%s", plans.VisibleLine(listen), why), "write an address of this machine as HOST:PORT, such as 0.0.0.0:4222")
}

func portTaken(listen string) error {
	return fail(exitError, "port_taken", listen+" is taken by another program", "choose another --listen, or leave it out")
}

// notWritable is the error of a state folder that cannot be written.
func notWritable(dir string, err error) error {
	return fail(exitError, "not_writable", fmt.Sprintf("the state folder %s cannot be written (%v)", dir, plainCause(err)), "give this user the folder, or choose another with --state")
}

// check refuses a bundle that lies under another name than its own: its key is not the one that was asked for.
func (b Bundle) check(path, team, me string) error {
	switch {
	case b.Team != team:
		return fail(exitAuth, "other_team", fmt.Sprintf("%s is a key of team %s, not of %s", path, plans.VisibleLine(b.Team), team), "choose another with --as or --team, or move it where it belongs")
	case b.Me != me:
		return fail(exitAuth, "other_member", fmt.Sprintf("%s is the key of %s, not of %s", path, plans.VisibleLine(b.Me), me), "choose another with --as, or give it its own name")
	}
	return nil
}
