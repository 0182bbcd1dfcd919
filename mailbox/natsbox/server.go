package natsbox

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
)

// MinServer is the oldest nats-server that the protocol was measured with.
const MinServer = "2.15.2"

var (
	// ErrOldServer means that the broker is a nats-server before [MinServer].
	ErrOldServer = errors.New("natsbox: the broker is too old")
	// ErrForeignServer means that what answers is no broker of a swarm: it asks for no key.
	ErrForeignServer = errors.New("natsbox: this is not a swarm's broker")
)

// checkVersion refuses a server that is older than MinServer, or does not say how old it is.
func checkVersion(version string) error {
	got, ok := parts(version)
	want, _ := parts(MinServer)
	if !ok {
		return fmt.Errorf("%w: its version is %q, and %s or newer is needed: update it", ErrOldServer, version, MinServer)
	}
	if slices.Compare(got, want) < 0 {
		return fmt.Errorf("%w: nats-server %s, and %s or newer is needed: update it", ErrOldServer, version, MinServer)
	}
	return nil
}

// parts takes "2.15.3-RC.1" apart into 2, 15 and 3.
func parts(version string) ([]int, bool) {
	core, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	var out []int
	for p := range strings.SplitSeq(core, ".") {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return nil, false
		}
		out = append(out, n)
	}
	return out, len(out) == 3
}

// foreign reports whether the client library gave up because the server verifies no keys.
func foreign(err error) bool { return errors.Is(err, nats.ErrNkeysNotSupported) }
