package coordinator

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planswarm/swarm/mailbox/natsauth"
	"github.com/planswarm/swarm/mailbox/natsbox"
)

// Whatever is asked for, and however the clock jumps: what is given is never more than the burst and what came back in the
// time that has passed, what is refused costs nothing, and who waits as long as it is told gets what it asked for.
func TestBucketGivesNoMoreThanItHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := allowance{burst: rapid.Float64Range(1, 500).Draw(t, "burst"), rate: rapid.Float64Range(0.1, 500).Draw(t, "rate")}
		now := time.Unix(1_800_000_000, 0)
		b, given, since := bucket{at: now}, 0.0, 0.0 // of the time since the start, without what the clock was set back
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			jump := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "jump")) / time.Duration(rapid.SampledFrom([]int{1, 1000, 100_000}).Draw(t, "scale"))
			now, since = now.Add(jump), since+max(0, jump.Seconds())
			n := rapid.Float64Range(0, a.burst).Draw(t, "n")
			before := b.used
			wait := b.take(n, a, now)
			if wait == 0 {
				given += n
			} else if b.used > before+1e-6 {
				t.Fatalf("a refused take costs %g", b.used-before)
			}
			if b.used < 0 || given > a.burst+since*a.rate+1e-6 {
				t.Fatalf("%g given in %g s, of %+v; %g used", given, since, a, b.used)
			}
			if wait > 0 {
				wait += time.Microsecond // it is a float
				now, since = now.Add(wait), since+wait.Seconds()
				if more := b.take(n, a, now); more > 0 {
					t.Fatalf("after the wait of %v it is %v more", wait, more)
				}
				given += n
			}
		}
	})
}

// Each has a bucket of its own, and a guest's is small: one that asks in a loop stops nobody else.
func TestEachCallerHasItsOwnAllowance(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	c := callers{all: map[string]*bucket{}}
	for name, want := range map[string]int{"api": 400, "docs": 400, natsauth.GuestName("x"): 30, natsauth.GuestName("y"): 30} {
		got := 0
		for ; got < 1000; got++ {
			if err := c.busy(name, now); err != nil {
				if !errors.Is(err, natsbox.ErrBusy) {
					t.Fatal(err)
				}
				break
			}
		}
		if got != want {
			t.Errorf("%s is answered %d times at once, want %d", name, got, want)
		}
	}
}
