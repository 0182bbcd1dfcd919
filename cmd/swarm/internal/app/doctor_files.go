package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/planswarm/swarm/teammate/gate"
)

// maxLooked is how many files and folders are looked at, at most.
const maxLooked = 50_000

// files looks at who could read or replace what belongs to the team, and whether we can write it.
func (d *doctor) files() {
	for _, place := range []struct{ check, dir string }{
		{"state folder", d.state.dir},
		{"bundles", filepath.Join(d.env.Settings.Config, "teams", d.team)},
		{"sockets", filepath.Dir(gate.SocketPath(d.state.dir, "/admin"))},
	} {
		var f Finding
		d.slow("the rights of files in "+place.dir, func() { f = lookAt(place.dir) })
		f.Check = place.check
		d.findings = append(d.findings, f)
	}
	if f, ok := writable(d.state.dir); ok {
		d.findings = append(d.findings, f)
	}
}

// writable tries to write into a folder, and says how much room its disk has.
func writable(dir string) (Finding, bool) {
	if _, err := os.Stat(dir); err != nil {
		return Finding{}, false
	}
	if err := tryWrite(dir); err != nil {
		return Finding{Check: "disk", State: StateBad, Text: fmt.Sprintf("%s cannot be written (%v)", dir, plainCause(err)), Next: "give this user the folder, or choose another with --state"}, true
	}
	f := Finding{Check: "disk", State: StateOK, Text: dir + " can be written"}
	free, total, err := room(dir)
	if err != nil {
		return f, true
	}
	f.Text += fmt.Sprintf(", %d MiB free", free>>20)
	if total > 0 && free < minFree {
		f.State, f.Next = StateWarn, "make room on this disk: a broker without room refuses mail"
	}
	return f, true
}

// minFree is how much room a disk should have, in bytes.
const minFree = 512 << 20

// tryWrite makes a file in a folder, and removes it.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return err
	}
	_, err = f.Write([]byte("x"))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// plainCause is an error of the file system without the path that it repeats.
func plainCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// isSecret reports whether a file of ours holds a key: whoever reads it is somebody.
func isSecret(name string) bool {
	return name == "seed" || strings.HasSuffix(name, ".seed") || strings.HasSuffix(name, ".bundle") || strings.HasSuffix(name, ".key") || strings.HasSuffix(name, ".sealed") || strings.HasSuffix(name, ".recovery")
}

// exposed collects what others could do below a folder.
type exposed struct {
	secrets, writable, readable, foreign []string
	looked                               int
	wide                                 int // wider than 0600 or 0700, in folders that are ours alone
	cut                                  bool
	unread                               error
}

// finding says the worst of it.
func (x exposed) finding(dir string) Finding {
	bad := func(text string, paths []string, next string) Finding {
		return Finding{State: StateBad, Text: text + ": " + some(paths), Next: next}
	}
	switch {
	case len(x.secrets) > 0:
		return bad("others on this machine can read keys", x.secrets, "chmod 600 them, and make new keys: these may be known")
	case len(x.foreign) > 0:
		return bad("another user owns", x.foreign, "chown them to the user who runs swarm, or remove them")
	case len(x.writable) > 0:
		return bad("others on this machine can change", x.writable, "chmod go-w them")
	case len(x.readable) > 0:
		return Finding{State: StateWarn, Text: "others on this machine can read " + some(x.readable), Next: "chmod -R go= " + dir}
	case x.unread != nil:
		return Finding{State: StateWarn, Text: fmt.Sprintf("not all of %s can be looked at (%v)", dir, plainCause(x.unread)), Next: "run swarm doctor as the user who runs swarm"}
	}
	text := fmt.Sprintf("%s: %d files and folders, yours alone", dir, x.looked)
	if x.wide > 0 {
		text += fmt.Sprintf(" (%d have wider modes, in folders that nobody else enters)", x.wide)
	}
	if x.cut {
		text += fmt.Sprintf("; only the first %d were looked at", maxLooked)
	}
	return Finding{State: StateOK, Text: text}
}

// some names a few of many.
func some(paths []string) string {
	if len(paths) > 3 {
		return strings.Join(paths[:3], ", ") + fmt.Sprintf(" and %d more", len(paths)-3)
	}
	return strings.Join(paths, ", ")
}
