package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/planswarm/swarm/planmode"
)

const (
	fileName = "journal.jsonl"
	newName  = "journal.jsonl.new"
	lockName = "lock"
)

// Config adjusts a [Journal]. The zero Config is ready to use.
type Config struct {
	// RewriteAfter is how many bytes the file may grow beyond its last snapshot before it is rewritten as one.
	// Zero means 4 MiB.
	RewriteAfter int64
	// SetAside lets Open go on when the file is damaged: it is renamed and kept, the journal begins anew, and
	// [Journal.Lost] says what happened. A journal of a newer swarm is refused all the same.
	SetAside bool
	// Logger receives warnings. Nil means slog.DiscardHandler.
	Logger *slog.Logger
}

// Journal is one teammate's journal, open and locked. Its methods are safe to call at once.
type Journal struct {
	root *os.Root
	lock *os.File
	cfg  Config

	mu     sync.Mutex
	file   *os.File
	c      contents
	lost   error
	broken error // the file's end is not known: nothing may be added
	quiet  int64 // size up to which a rewrite that failed is not tried again
}

// Open opens the journal in the folder dir, makes it where there is none, and locks it. It returns [ErrLocked] when
// another runner has it, [ErrNewer], or a [*DamagedError].
func Open(dir string, cfg Config) (*Journal, error) {
	if cfg.RewriteAfter == 0 {
		cfg.RewriteAfter = 4 << 20
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("journal: open folder: %w", err)
	}
	lock, err := takeLock(root)
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	j := &Journal{root: root, lock: lock, cfg: cfg}
	if err := j.load(); err != nil {
		return nil, errors.Join(err, j.Close())
	}
	return j, nil
}

// load reads the file, makes it where there is none, and cuts a torn line off.
func (j *Journal) load() error {
	err := j.open()
	if damaged := (*DamagedError)(nil); errors.As(err, &damaged) && j.cfg.SetAside {
		if err := j.setAside(damaged); err != nil {
			return err
		}
		return j.open()
	}
	return err
}

func (j *Journal) open() error {
	_, err := j.root.Lstat(fileName)
	fresh := errors.Is(err, fs.ErrNotExist)
	f, err := j.root.OpenFile(fileName, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	j.file = f
	if err := checkFile(f); err != nil {
		return err
	}
	if fresh {
		return j.syncFolder()
	}
	c, err := scan(f)
	if err != nil {
		path := f.Name()
		if errors.Is(err, ErrNewer) {
			return fmt.Errorf("%w (%s)", err, path)
		}
		return &DamagedError{Path: path, Line: c.lines + 1, Cause: err}
	}
	j.c = c
	if c.torn == 0 {
		return nil
	}
	j.cfg.Logger.Warn("journal: the last line was torn and is cut off", "path", f.Name(), "line", c.lines+1, "bytes", c.torn)
	j.c.torn = 0
	return j.cut()
}

// checkFile refuses what is no regular file, and takes the rights of others away.
func checkFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("journal: %s is no regular file: move it away", f.Name())
	}
	if info.Mode().Perm()&0o077 != 0 {
		return f.Chmod(0o600)
	}
	return nil
}

// setAside keeps the damaged file under another name.
func (j *Journal) setAside(cause *DamagedError) error {
	j.lost = cause
	if err := j.file.Close(); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	name := fmt.Sprintf("%s.damaged-%d", fileName, time.Now().UnixNano())
	if err := j.root.Rename(fileName, name); err != nil {
		return fmt.Errorf("journal: set the damaged file aside: %w", err)
	}
	j.cfg.Logger.Error("journal: damaged, kept under another name", "cause", cause, "kept", name)
	return nil
}

// Session returns the session after the last step. ok is false when the journal is empty.
func (j *Journal) Session() (s planmode.Session, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.c.session, j.c.seq > 0
}

// Seq returns the number of the last step, and when it was taken. Both are zero when the journal is empty.
func (j *Journal) Seq() (uint64, time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.c.seq, j.c.at
}

// Lost returns why what the teammate had written before is not known, or nil: see Config.SetAside.
func (j *Journal) Lost() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

// Unfinished calls yield, oldest first, for each step whose effects were not all carried out, with the plan that the
// session was about then, until it returns false.
func (j *Journal) Unfinished(yield func(seq uint64, planID string, effects []planmode.Effect) bool) {
	j.mu.Lock()
	open := append([]openStep(nil), j.c.open...)
	j.mu.Unlock()
	for _, o := range open {
		effects, err := planmode.UnmarshalEffects(o.Effects) // checked when it was read or written
		if err != nil || !yield(o.Seq, o.Plan, effects) {
			return
		}
	}
}

// Append writes one step and returns its number. When it returns nil, the step is on disk and its effects may begin.
// On error nothing is written and the step must not be taken.
func (j *Journal) Append(ev planmode.Event, next planmode.Session, effects []planmode.Effect, at time.Time) (uint64, error) {
	event, err := planmode.MarshalEvent(ev)
	if err != nil {
		return 0, fmt.Errorf("journal: event: %w", err)
	}
	raw, err := planmode.MarshalEffects(effects)
	if err != nil {
		return 0, fmt.Errorf("journal: effects: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	step := line{V: Version, Seq: j.c.seq + 1, At: at.UTC().Round(0), Event: event, Session: &next, Effects: raw, Prev: j.c.prev}
	if err := j.write(step, true); err != nil {
		return 0, err
	}
	j.rewriteIfLong()
	return step.Seq, nil
}

// Done notes that all effects of a step were carried out. It is not forced to disk: after a crash that loses it, the
// effects are carried out once more, which each of them allows.
func (j *Journal) Done(seq uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.write(line{V: Version, Done: seq, Prev: j.c.prev}, false); err != nil {
		return err
	}
	j.rewriteIfLong()
	return nil
}

// Close releases the lock. The journal can be opened again.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.broken, ErrClosed) {
		return nil
	}
	j.broken = ErrClosed
	var errs []error
	if j.file != nil {
		errs = append(errs, j.file.Close())
	}
	errs = append(errs, j.root.Close(), unlock(j.lock))
	return errors.Join(errs...)
}

// encode returns a line as it is written.
func encode(l line) ([]byte, error) {
	raw, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	raw = append(raw, '\n')
	if len(raw) > maxLine {
		return nil, fmt.Errorf("journal: a line of %d bytes is too long", len(raw))
	}
	return raw, nil
}
