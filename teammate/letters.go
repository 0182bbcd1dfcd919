package teammate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/planswarm/swarm/mailbox"
)

// How much mail is kept for the agent: beyond it the broker keeps it, and what was read is forgotten oldest first, many at
// a time.
const (
	keptUnread  = 256
	keptRead    = 64
	forgetAt    = 2 * keptRead
	keptHandled = 4096
)

const handledFile = "handled.json"

// inbox keeps mail that was acknowledged to the broker. A letter is kept once, however often it is delivered, also after
// it was read and forgotten.
type inbox struct {
	mu      sync.Mutex
	keep    keep
	folder  keep          // that the keep lies in
	letters []*keptLetter // oldest first
	handled []string      // keys of letters that were forgotten, the last ones
}

// keptLetter is a letter as it lies on disk.
type keptLetter struct {
	Letter
	// Told is the furthest receipt about it that is stored.
	Told    mailbox.ReceiptState `json:"told,omitempty"`
	offered bool                 // to somebody who has not said yet whether it was handed over
	telling mailbox.ReceiptState // the furthest receipt that is on its way
}

// due is a receipt that a letter's sender has not had.
type due struct {
	letter Letter
	state  mailbox.ReceiptState
}

func keyOf(l Letter) string { return l.From + "/" + l.ID }

func fileOf(l Letter) string { return fmt.Sprintf("%020d.json", l.Seq) }

func (b *inbox) load(folder, k keep) error {
	b.folder, b.keep = folder, k
	names, err := k.names()
	if err != nil {
		return err
	}
	if err := folder.get(handledFile, &b.handled); err != nil {
		return err
	}
	for _, name := range names {
		l := &keptLetter{}
		if err := k.get(name, l); err != nil || l.ID == "" {
			continue // a torn one was never acknowledged: it comes again
		}
		b.letters = append(b.letters, l)
	}
	return nil
}

// add keeps a letter. The same one again is kept once.
func (b *inbox) add(l Letter) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	unread := 0
	for _, old := range b.letters {
		if keyOf(old.Letter) == keyOf(l) {
			return nil
		}
		if !old.Read {
			unread++
		}
	}
	if slices.Contains(b.handled, keyOf(l)) {
		return nil
	}
	if unread >= keptUnread {
		return ErrInboxFull
	}
	one := &keptLetter{Letter: l}
	if err := b.keep.put(fileOf(l), one); err != nil {
		return err
	}
	b.letters = append(b.letters, one)
	return nil
}

// unread counts the letters that were not read, and names who wrote the first urgent one of them.
func (b *inbox) unread() (n int, urgent string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.letters {
		if l.Read {
			continue
		}
		n++
		if l.Urgent && urgent == "" && !l.offered {
			urgent = l.From
		}
	}
	return n, urgent
}

// offer takes unread letters, the urgent ones first, at most n, until they are settled.
func (b *inbox) offer(n int, which func(Letter) bool) []Letter {
	b.mu.Lock()
	defer b.mu.Unlock()
	var free []*keptLetter
	for _, l := range b.letters {
		if !l.Read && !l.offered && which(l.Letter) {
			free = append(free, l)
		}
	}
	slices.SortStableFunc(free, func(x, y *keptLetter) int { return cmp.Compare(rank(x.Letter), rank(y.Letter)) })
	var out []Letter
	for _, l := range free[:min(n, len(free))] {
		l.offered = true
		out = append(out, l.Letter)
	}
	return out
}

func rank(l Letter) int {
	if l.Urgent {
		return 0
	}
	return 1
}

// settle ends an offer: what was handed over is read, on disk too.
func (b *inbox) settle(letters []Letter, handed bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range letters {
		i := slices.IndexFunc(b.letters, func(k *keptLetter) bool { return keyOf(k.Letter) == keyOf(l) })
		if i < 0 {
			continue
		}
		one := b.letters[i]
		one.offered = false
		if !handed || one.Read {
			continue
		}
		one.Read = true
		if err := b.keep.put(fileOf(l), one); err != nil {
			one.Read = false
			return err
		}
	}
	return b.forget()
}

// untold are the receipts that are due and not on their way, in order.
func (b *inbox) untold() []due {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []due
	for _, l := range b.letters {
		for _, s := range []mailbox.ReceiptState{mailbox.Delivered, mailbox.Seen} {
			if s == mailbox.Seen && !l.Read || progress(s) <= max(progress(l.Told), progress(l.telling)) {
				continue
			}
			l.telling = s
			all = append(all, due{l.Letter, s})
		}
	}
	return all
}

// progress orders the receipts of a letter.
func progress(s mailbox.ReceiptState) int {
	return slices.Index([]mailbox.ReceiptState{"", mailbox.Delivered, mailbox.Seen}, s)
}

// told notes that a receipt is stored.
func (b *inbox) told(d due) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range b.letters {
		if keyOf(l.Letter) == keyOf(d.letter) && progress(l.Told) < progress(d.state) {
			l.Told = d.state
			return b.keep.put(fileOf(l.Letter), l)
		}
	}
	return nil
}

// forget drops the oldest letters that were read, beyond those that are kept. Their keys are kept longer.
func (b *inbox) forget() error {
	var read []*keptLetter
	for _, l := range b.letters {
		if l.Read {
			read = append(read, l)
		}
	}
	if len(read) <= forgetAt {
		return nil
	}
	drop := read[:len(read)-keptRead]
	handled := b.handled
	for _, l := range drop {
		handled = append(handled, keyOf(l.Letter))
	}
	handled = slices.Clone(handled[max(0, len(handled)-keptHandled):])
	if err := b.folder.put(handledFile, handled); err != nil {
		return err
	}
	b.handled = handled
	for _, l := range drop {
		if err := b.keep.remove(fileOf(l.Letter)); err != nil {
			return err
		}
		b.letters = slices.DeleteFunc(b.letters, func(k *keptLetter) bool { return k == l })
	}
	return nil
}

func (b *inbox) find(id string) (Letter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range slices.Backward(b.letters) {
		if l.ID == id || len(id) >= 8 && strings.HasPrefix(l.ID, id) {
			return l.Letter, nil
		}
	}
	return Letter{}, fmt.Errorf("%w: %q: `swarm mail recv` lists what has come", ErrNoMail, id)
}
