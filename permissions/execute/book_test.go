package execute_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planswarm/swarm/permissions"
	"github.com/planswarm/swarm/permissions/execute"
)

var now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func TestBook(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  error
	}{
		"at once":           {0, nil},
		"at the last":       {execute.ContractLife, nil},
		"too late":          {execute.ContractLife + 1, execute.ErrContractExpired},
		"clock turned back": {-1, execute.ErrContractExpired},
	} {
		var b execute.Book
		want := &permissions.Contract{Command: name}
		id := b.Issue(want, now)
		got, err := b.Take(id, now.Add(c.after))
		if !errors.Is(err, c.want) || err == nil && got != want {
			t.Errorf("%s: Take = %v, %v, want %v", name, got, err, c.want)
		}
		if _, err := b.Take(id, now); !errors.Is(err, execute.ErrNoContract) || !errors.Is(err, execute.ErrRefused) {
			t.Errorf("%s: second Take = %v, want ErrNoContract", name, err)
		}
	}
}

func TestBookForgets(t *testing.T) {
	var b execute.Book
	if _, err := b.Take("", now); !errors.Is(err, execute.ErrNoContract) {
		t.Errorf("Take of an empty book = %v, want ErrNoContract", err)
	}
	id := b.Issue(&permissions.Contract{}, now)
	b.Clear()
	if _, err := b.Take(id, now); !errors.Is(err, execute.ErrNoContract) {
		t.Errorf("Take after Clear = %v, want ErrNoContract", err)
	}
	first := b.Issue(&permissions.Contract{}, now)
	last := ""
	for i := range 2000 {
		last = b.Issue(&permissions.Contract{}, now.Add(time.Duration(i+1)))
	}
	if _, err := b.Take(first, now.Add(time.Second)); !errors.Is(err, execute.ErrNoContract) {
		t.Errorf("the oldest of 2001: %v, want ErrNoContract", err)
	}
	if _, err := b.Take(last, now.Add(time.Second)); err != nil {
		t.Errorf("the newest of 2001: %v, want nil", err)
	}
}

func TestBookIsTakenOnce(t *testing.T) {
	var b execute.Book
	id := b.Issue(&permissions.Contract{}, now)
	var taken atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := b.Take(id, now); err == nil {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 1 {
		t.Errorf("taken %d times, want once", taken.Load())
	}
}
